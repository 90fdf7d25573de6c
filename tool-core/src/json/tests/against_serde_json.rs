//! The differential property: both decoders agree, but for the rules that make this one strict.

use crate::json::tests::decode;
use crate::json::value::parse;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Debug;

#[derive(Serialize, Deserialize, Debug)]
struct Nested {
    id: u64,
    inner: Inner,
    list: Option<Vec<Inner>>,
}

#[derive(Serialize, Deserialize, Debug)]
struct Inner {
    name: String,
    #[serde(default)]
    score: f64,
}

#[derive(Serialize, Deserialize, Debug)]
enum External {
    A,
    B(i64),
    C(i32, String),
    D { id: u64 },
}

#[derive(Serialize, Deserialize, Debug)]
#[serde(tag = "t")]
enum Internal {
    A,
    D { id: u64, name: Option<String> },
}

#[derive(Serialize, Deserialize, Debug)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    A,
    B(i64),
    C(i32, String),
}

#[derive(Serialize, Deserialize, Debug)]
#[serde(untagged)]
enum Untagged {
    Number(i64),
    Text(String),
    List(Vec<bool>),
}

/// Texts that the types above accept, for mutation to start from.
const SEEDS: &[&str] = &[
    r#"{"id":7,"inner":{"name":"a","score":1.5},"list":[{"name":"b"},{"name":"\u00e4\n"}]}"#,
    r#"{"id":18446744073709551615,"inner":{"name":"a","score":-2e3},"list":null,"x":{"y":[1,"2"]}}"#,
    r#"{ "id" : 5.0 , "inner" : { "score":0.25, "name":"\ud83d\ude00" } }"#,
    r#""A""#,
    r#"{"A":null}"#,
    r#"{"B":-9}"#,
    r#"{"C":[1,"x"]}"#,
    r#"{"D":{"id":3}}"#,
    r#"{"D":[3]}"#,
    r#"{"t":"A"}"#,
    r#"{"t":"D","id":1,"name":null}"#,
    r#"{"id":1,"t":"D"}"#,
    r#"{"t":"B","c":4}"#,
    r#"{"c":[4,"x"],"t":"C"}"#,
    r#"[[1,"a"],[-2,"b"]]"#,
    r#"[7,{"name":"a"},null]"#,
    r#"{"a":null,"b":3,"c":2}"#,
    "[true,false]",
    "12",
    "-12",
    "1e2",
    "3.0",
    "-0",
    "0.1",
    "\"text \\\" \\\\ \"",
    "null",
    "[null,[null],[3]]",
    "170141183460469231731687303715884105727",
    "9223372036854775808",
    "-9223372036854775809",
];

const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "0",
    "1",
    "-",
    ".",
    "e",
    "E",
    "+",
    " ",
    "\n",
    "null",
    "true",
    "\"a\":",
    "\"id\":1,",
    "\"name\":\"n\",",
    "\\u0061",
    "\\ud800",
    "\u{1}",
    "ä",
    ".0",
    "e0",
    "e400",
    "9999999999",
    "\"A\"",
    "/**/",
    "\u{feff}",
];

fn value_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        proptest::sample::select(SEEDS).prop_map(str::to_owned),
        any::<i64>().prop_map(|number| number.to_string()),
        (-10_000_000_i64..10_000_000, 0..8)
            .prop_map(|(number, power)| format!("{number}e-{power}")),
        any::<String>().prop_map(|text| Value::from(text).to_string()),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let key = proptest::sample::select(
            &[
                "id", "inner", "name", "score", "list", "a", "t", "c", "A", "B",
            ][..],
        );
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| format!("[{}]", items.join(","))),
            proptest::collection::vec((key, inner), 0..4).prop_map(|entries| {
                let entries: Vec<String> = entries
                    .into_iter()
                    .map(|(key, value)| format!("\"{key}\": {value}"))
                    .collect();
                format!("{{{}}}", entries.join(", "))
            }),
        ]
    })
}

/// Replaces a run of characters by a piece, for each of a few random places.
fn mutated() -> impl Strategy<Value = String> {
    let edit = (
        any::<proptest::sample::Index>(),
        0_usize..3,
        proptest::option::of(proptest::sample::select(PIECES)),
    );
    (value_text(), proptest::collection::vec(edit, 0..3)).prop_map(|(text, edits)| {
        edits
            .into_iter()
            .fold(text, |text, (place, removed, piece)| {
                let characters: Vec<char> = text.chars().collect();
                let start = place.index(characters.len() + 1);
                let head: String = characters.iter().take(start).collect();
                let tail: String = characters.iter().skip(start + removed).collect();
                head + piece.unwrap_or_default() + &tail
            })
    })
}

/// The same value, with every integral float in its integer form.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the ranges are checked
fn with_integers(value: Value) -> Value {
    match value {
        Value::Number(number) => {
            let float = number
                .as_f64()
                .filter(|float| number.is_f64() && float.fract() == 0.0);
            match float {
                Some(float) if (0.0..18_446_744_073_709_551_616.0).contains(&float) => {
                    Value::from(float as u64)
                }
                Some(float) if (-9_223_372_036_854_775_808.0..0.0).contains(&float) => {
                    Value::from(float as i64)
                }
                _ => Value::Number(number),
            }
        }
        Value::Array(items) => items.into_iter().map(with_integers).collect(),
        Value::Object(entries) => entries
            .into_iter()
            .map(|(key, value)| (key, with_integers(value)))
            .collect(),
        other => other,
    }
}

/// Equal but for the last digit of a float, which `serde_json` does not promise.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() || b.is_f64() => {
            let a = a.as_f64().unwrap_or(f64::NAN);
            let b = b.as_f64().unwrap_or(f64::NAN);
            (a - b).abs() <= a.abs() * 1e-15
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => left == right,
    }
}

/// Somewhere an array may stand for a struct, or an object for a unit variant: `serde_json` takes those.
fn loose_shape(value: &Value) -> bool {
    match value {
        Value::Array(_) => true,
        Value::Object(entries) => entries
            .values()
            .any(|value| value.is_null() || loose_shape(value)),
        _ => false,
    }
}

/// `shaped` types hold a struct or an enum, whose looser forms only `serde_json` takes.
fn agree<T: DeserializeOwned + Serialize + Debug>(
    text: &str,
    shaped: bool,
) -> Result<(), TestCaseError> {
    let ours = decode::<T>(text);
    let theirs = serde_json::from_str::<T>(text);
    let plain = |value: &T| serde_json::to_value(value).unwrap_or_default();
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => prop_assert!(
            same(&plain(&ours), &plain(&theirs)),
            "{text}: {ours:?} {theirs:?}"
        ),
        (Ok(ours), Err(_)) => {
            let value = parse(text)
                .map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?
                .value;
            let theirs = serde_json::from_value::<T>(with_integers(value));
            let equal = theirs
                .as_ref()
                .is_ok_and(|theirs| same(&plain(&ours), &plain(theirs)));
            prop_assert!(equal, "only we take {text}: {ours:?} {theirs:?}");
        }
        (Err(error), Ok(theirs)) => {
            let strict = parse(text).map_or(true, |parsed| {
                !parsed.duplicates.is_empty() || (shaped && loose_shape(&parsed.value))
            });
            prop_assert!(strict, "only we refuse {text}: {error} {theirs:?}");
        }
        (Err(_), Err(_)) => {}
    }
    Ok(())
}

/// 128-bit integers do not fit a `Value`, so they are compared as they are.
fn agree_on_wide(text: &str) -> Result<(), TestCaseError> {
    match (decode::<i128>(text), serde_json::from_str::<i128>(text)) {
        (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours, theirs),
        (Ok(_), Err(_)) => prop_assert!(
            text.contains(['.', 'e', 'E']) || text.trim() == "-0",
            "only we take {}",
            text
        ),
        (Err(error), Ok(_)) => prop_assert!(false, "only we refuse {text}: {error}"),
        (Err(_), Err(_)) => {}
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn both_decoders_agree_but_for_the_strict_rules(text in mutated()) {
        agree::<Nested>(&text, true)?;
        agree::<External>(&text, true)?;
        agree::<Internal>(&text, false)?;
        agree::<Adjacent>(&text, true)?;
        agree::<Untagged>(&text, false)?;
        agree::<HashMap<String, Option<i64>>>(&text, false)?;
        agree::<Vec<(i32, String)>>(&text, false)?;
        agree::<Vec<Option<Vec<Option<u8>>>>>(&text, false)?;
        agree::<(u64, Inner, Option<Inner>)>(&text, true)?;
        agree::<f64>(&text, false)?;
        agree::<u64>(&text, false)?;
        agree::<String>(&text, false)?;
        agree::<Value>(&text, false)?;
        agree_on_wide(&text)?;
    }

    #[test]
    fn any_text_at_all_is_decoded_or_refused_alike(text in any::<String>()) {
        agree::<Value>(&text, false)?;
        agree::<String>(&format!("\"{text}\""), false)?;
    }

    #[test]
    fn every_string_that_serde_json_writes_is_read_back(text in any::<String>()) {
        let written = Value::from(text.as_str()).to_string();
        prop_assert_eq!(decode::<String>(&written).ok(), Some(text));
    }

    #[test]
    fn every_float_that_is_written_is_read_back_to_the_bit(bits in any::<u64>()) {
        let float = f64::from_bits(bits);
        prop_assume!(float.is_finite());
        prop_assert_eq!(decode::<f64>(&format!("{float:?}")).map(f64::to_bits).ok(), Some(bits));
    }

    #[test]
    fn short_decimals_are_rounded_as_the_standard_library_does(mantissa in any::<u32>(), places in 1_usize..9) {
        let digits = format!("{mantissa:0>10}");
        let (whole, fraction) = digits.split_at(digits.len() - places);
        let text = format!("-{}.{fraction}", whole.trim_start_matches('0').parse().unwrap_or(0_u64));
        prop_assert_eq!(decode::<f64>(&text).map(f64::to_bits).ok(), text.parse().map(f64::to_bits).ok());
    }
}
