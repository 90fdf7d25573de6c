//! Structs: nested, recursive, and with every serde attribute that changes the accepted values.

use super::echoes;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Point {
    x: i32,
    y: i32,
    label: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Route {
    from: Point,
    to: Point,
    via: Vec<Point>,
    name: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Tree {
    size: u8,
    left: Option<Box<Tree>>,
    children: Vec<Tree>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Closed {
    id: u64,
    note: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Renamed {
    first_name: String,
    #[serde(rename = "age")]
    years: u8,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Aliased {
    #[serde(alias = "nick", alias = "handle")]
    name: String,
    #[serde(alias = "n", default)]
    count: u8,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct FlattenedAliased {
    title: String,
    #[serde(alias = "where")]
    place: String,
    #[serde(flatten)]
    inner: Aliased,
}

/// A text that schemars describes as an enum.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(extend("enum" = ["red", "green"]))]
pub(crate) struct Tint(String);

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Defaulted {
    retries: u8,
    label: String,
    ratio: f64,
    tags: Vec<String>,
}

impl Default for Defaulted {
    fn default() -> Self {
        Self {
            retries: 3,
            label: "none".to_owned(),
            ratio: 0.5,
            tags: vec!["new".to_owned()],
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Flattened {
    title: String,
    #[serde(flatten)]
    at: Point,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct FlattenedClosed {
    title: String,
    #[serde(flatten)]
    inner: Closed,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Newtype(u16);

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct TextNewtype(String);

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct TupleStruct(u8, String);

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Unit;

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Transparent {
    inner: Point,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct With {
    /// A number that is encoded as hexadecimal text.
    #[serde(with = "hexadecimal")]
    #[schemars(with = "String", regex(pattern = "^[0-9a-f]{1,8}$"))]
    id: u32,
    name: String,
}

mod hexadecimal {
    use super::{Deserialize, Deserializer, Serializer};
    use serde::de::Error;

    #[allow(clippy::trivially_copy_pass_by_ref)]
    pub(super) fn serialize<S: Serializer>(value: &u32, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{value:x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        u32::from_str_radix(&String::deserialize(deserializer)?, 16).map_err(D::Error::custom)
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Skipping {
    #[serde(skip)]
    #[allow(dead_code)]
    hidden: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    shown: Option<bool>,
    #[serde(default = "seven")]
    level: u8,
}

fn seven() -> u8 {
    7
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Numbers {
    a: u8,
    b: i64,
    c: u64,
    d: f64,
    e: Option<i16>,
}

/// Assertions for schemars only.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Asserted {
    #[schemars(range(min = 1, max = 10))]
    rank: u8,
    #[schemars(length(min = 2, max = 4))]
    code: String,
    #[schemars(length(max = 2))]
    list: Vec<u8>,
    #[schemars(regex(pattern = "^[a-c]+$"))]
    word: String,
    #[schemars(extend("enum" = ["red", "green"]))]
    colour: String,
    #[schemars(extend("format" = "email"))]
    mail: Option<String>,
    #[schemars(extend("multipleOf" = 5))]
    step: Option<i32>,
    #[schemars(email)]
    other_mail: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Formats {
    #[schemars(extend("format" = "date"))]
    date: Option<String>,
    #[schemars(extend("format" = "time"))]
    time: Option<String>,
    #[schemars(extend("format" = "duration"))]
    duration: Option<String>,
    #[schemars(extend("format" = "uuid"))]
    uuid: Option<String>,
    #[schemars(url)]
    url: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Generic<T> {
    item: T,
    others: Vec<T>,
}

fn renamed_back(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (alias, name) in [
                ("nick", "name"),
                ("handle", "name"),
                ("n", "count"),
                ("where", "place"),
            ] {
                if let Some(value) = map.remove(alias) {
                    map.insert(name.to_owned(), value);
                }
            }
            map.values_mut().for_each(renamed_back);
        }
        Value::Array(items) => items.iter_mut().for_each(renamed_back),
        _ => {}
    }
}

/// `00ff` and `ff` are the same number.
fn hex(value: &mut Value) {
    if let Some(Value::String(text)) = value.pointer_mut("/value/id") {
        let short = text.trim_start_matches('0');
        *text = if short.is_empty() {
            "0".to_owned()
        } else {
            short.to_owned()
        };
    }
}

echoes! {
    point: Point;
    route: Route;
    option_point: Option<Point>;
    tree: Tree;
    boxed_tree: Option<Box<Tree>>;
    closed: Closed;
    renamed: Renamed;
    aliased: Aliased, renamed_back;
    aliased_list: Vec<Aliased>, renamed_back;
    flattened_aliased: FlattenedAliased, renamed_back;
    tint: Tint;
    tints: Vec<Tint>;
    defaulted: Defaulted;
    defaulted_list: Vec<Defaulted>;
    flattened: Flattened;
    flattened_closed: FlattenedClosed;
    newtype: Newtype;
    text_newtype: TextNewtype;
    tuple_struct: TupleStruct;
    unit_struct: Unit;
    unit: ();
    transparent: Transparent;
    with: With, hex;
    skipping: Skipping;
    numbers: Numbers;
    asserted: Asserted;
    asserted_list: Vec<Asserted>;
    formats: Formats;
    generic: Generic<Newtype>;
}
