//! Types that read more than their schemas publish.

#![allow(clippy::needless_pass_by_value)] // a tool owns its parameters

use super::structs::Point;
use super::{Case, Echo, echo, echoes, exactly};
use schemars::JsonSchema;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use tool_core::tool;

/// Its alias is a field of [`Span`].
#[derive(Serialize, Deserialize, JsonSchema)]
struct Start {
    from: u8,
    #[serde(alias = "until")]
    to: u8,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Span {
    from: u8,
    to: u8,
    until: u8,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Spans {
    start: Start,
    span: Span,
}

/// Its alias is a variant of [`Pace`].
#[derive(Serialize, Deserialize, JsonSchema)]
enum Speed {
    #[serde(alias = "Slow")]
    Low,
    High,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Pace {
    Low,
    High,
    Slow,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Speeds {
    speed: Speed,
    pace: Pace,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Named {
    #[serde(alias = "nick")]
    name: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Titled {
    title: u8,
    #[serde(flatten)]
    named: Named,
}

/// Flattens an alias beside a map.
#[derive(Serialize, Deserialize, JsonSchema)]
struct TitledBesideMap {
    titled: Titled,
    map: BTreeMap<String, u8>,
}

/// Knows a name that it does not publish, and takes any other for it.
#[derive(Serialize, Deserialize, JsonSchema)]
enum Caught {
    Known,
    #[serde(other)]
    Rest,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Converted {
    #[serde(deserialize_with = "flag")]
    flag: bool,
    #[serde(deserialize_with = "lines")]
    lines: Vec<String>,
    /// A type whose fields are read as they are published, once.
    at: Point,
    #[serde(deserialize_with = "point")]
    other: Point,
}

fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(String::deserialize(deserializer)? == "yes")
}

/// Reads a list, and a text line by line.
fn lines<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct Lines;

    impl<'de> Visitor<'de> for Lines {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("lines")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Vec<String>, E> {
            Ok(text.lines().map(str::to_owned).collect())
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(
            self,
            mut all: A,
        ) -> Result<Vec<String>, A::Error> {
            std::iter::from_fn(|| all.next_element().transpose()).collect()
        }
    }

    deserializer.deserialize_any(Lines)
}

fn point<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Point, D::Error> {
    let mut members = BTreeMap::<String, serde_json::Value>::deserialize(deserializer)?;
    members.entry("y".to_owned()).or_insert(0.into());
    serde_json::from_value(members.into_iter().collect()).map_err(D::Error::custom)
}

/// A number or a text, published as a number.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
struct Loose(u32);

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl Visitor<'_> for Any {
            type Value = Loose;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a text")
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Loose, E> {
                value.try_into().map(Loose).map_err(E::custom)
            }

            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the test is about texts
            fn visit_f64<E: Error>(self, value: f64) -> Result<Loose, E> {
                Ok(Loose(value as u32))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Loose, E> {
                Ok(Loose(text.len().try_into().unwrap_or(0)))
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Loose, E> {
                Ok(Loose(value.into()))
            }
        }

        deserializer.deserialize_any(Any)
    }
}

/// Published as closed and with two required members, and read as neither.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Open {
    #[schemars(required)]
    id: Option<u8>,
    name: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Page {
    #[serde(alias = "offset")]
    page: u32,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Shift {
    offset: Option<u32>,
}

/// Flattens a type whose alias is a field of another.
#[tool]
fn flattened_alias_of_another(#[arg(flatten)] page: Page, #[arg(flatten)] shift: Shift) -> Echo {
    echo(serde_json::json!({"page": page.page, "offset": shift.offset}))
}

/// Takes a number that is read by a function.
#[tool]
fn converted_parameter(#[serde(deserialize_with = "flag")] value: bool) -> Echo {
    echo(serde_json::json!({"value": value}))
}

mod listing {
    use super::{BTreeMap, Caught, Converted, Loose, Open, Spans, Speeds, TitledBesideMap, echoes};

    echoes! {
        alias_of_another_struct: Spans;
        alias_of_another_enum: Speeds;
        alias_beside_a_map: TitledBesideMap;
        caught_variants: Vec<Caught>;
        converted_fields: Converted;
        loose: Loose;
        loose_map: BTreeMap<String, Option<Loose>>;
        open: Open;
        #[arg(one_of(1, 9_007_199_254_740_993))] one_of_large_float: f64;
        #[arg(one_of(9_007_199_254_740_993, 1))] one_of_large_integer: i64;
        #[arg(range(9_007_199_254_740_993..))] range_from_large_float: f64;
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let own = ["flattened_alias_of_another", "converted_parameter"];
    let own = own.into_iter().map(|name| Case {
        name,
        loosen: exactly,
    });
    listing::cases().into_iter().chain(own).collect()
}

pub(crate) fn tools(
    tools: tool_core::registry::ToolContextBuilder,
) -> tool_core::registry::ToolContextBuilder {
    listing::tools(tools)
        .with(flattened_alias_of_another)
        .with(converted_parameter)
}
