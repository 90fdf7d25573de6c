//! One kind of value after the other.

use crate::json::tests::writer::{same, written};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;
use std::fmt::{Display, Formatter};

#[test]
fn every_ascii_byte_is_written_alike_at_every_place_of_a_string_of_every_short_length() {
    for byte in 0..128 {
        for length in 0..20 {
            for at in 0..length {
                let mut text = "x".repeat(length);
                text.replace_range(at..=at, &char::from(byte).to_string());
                same(&text);
            }
        }
    }
}

#[test]
fn characters_of_several_bytes_stand_between_escapes_as_they_are() {
    for before in 0..9 {
        for character in [
            "\u{80}",
            "\u{e9}",
            "\u{a2}",
            "\u{2028}",
            "\u{FFFF}",
            "\u{1F600}",
            "\u{10FFFF}",
        ] {
            for after in ["", "\"", "\n", "\u{1f}", "\\", "plain text that is long"] {
                same(&format!(
                    "{}{character}{after}{character}\u{0}{after}",
                    "a".repeat(before)
                ));
            }
        }
    }
}

#[test]
fn the_ends_of_all_numbers_are_written_alike() {
    same(&(
        i8::MIN,
        i16::MIN,
        i32::MIN,
        i64::MIN,
        i128::MIN,
        i8::MAX,
        i16::MAX,
        i32::MAX,
        i64::MAX,
        i128::MAX,
    ));
    same(&(
        u8::MAX,
        u16::MAX,
        u32::MAX,
        u64::MAX,
        u128::MAX,
        0u8,
        0i128,
        9,
        10,
        99,
        100,
    ));
    same(&[
        f64::MIN,
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::EPSILON,
        5e-324,
        -0.0,
        0.0,
        1.0,
        0.1,
        1e15,
        1e16,
        1e17,
        1e-5,
        1e21,
    ]);
    same(&[
        f32::MIN,
        f32::MAX,
        f32::MIN_POSITIVE,
        f32::EPSILON,
        1e-45,
        -0.0,
        0.0,
        1.0,
        0.1,
        1e7,
        1e16,
        1e17,
        1e-5,
    ]);
}

// T10
#[test]
fn what_is_no_number_is_null_and_no_key() {
    same(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
    same(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY]);
    same(&Pairs(f64::NAN));
    same(&Pairs(f32::INFINITY));
}

/// A map of one entry with a key of any type.
struct Pairs<K>(K);

impl<K: Serialize> Serialize for Pairs<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(&self.0, 1)])
    }
}

#[derive(Serialize)]
enum Kind {
    Unit,
    Newtype(u8),
    Tuple(u8, u8),
    Struct { a: u8 },
}

#[test]
fn keys_that_have_one_text_are_that_text() {
    same(&BTreeMap::from([("b", 1), ("a\n", 2)]));
    same(&Pairs(-1i8));
    same(&Pairs(u128::MAX));
    same(&Pairs(true));
    same(&Pairs('\''));
    same(&Pairs(1.0));
    same(&Pairs(0.1f32));
    same(&Pairs(Kind::Unit));
    same(&Pairs(Some("text")));
    same(&Pairs(std::net::Ipv4Addr::LOCALHOST));
}

#[test]
fn other_keys_are_refused_with_the_same_words() {
    assert_eq!(written(&Pairs(())), Err("key must be a string".to_owned()));
    same(&Pairs(()));
    same(&Pairs([1]));
    same(&Pairs((1, 2)));
    same(&Pairs(None::<u8>));
    same(&Pairs(json!({})));
    same(&Pairs(Kind::Newtype(1)));
    same(&Pairs(Kind::Tuple(1, 2)));
    same(&Pairs(Kind::Struct { a: 1 }));
    same(&Pairs(
        RawValue::from_string("\"a\"".to_owned()).expect("JSON"),
    ));
}

#[test]
fn variants_are_objects_of_one_member() {
    same(&[
        Kind::Unit,
        Kind::Newtype(1),
        Kind::Tuple(1, 2),
        Kind::Struct { a: 1 },
    ]);
}

#[test]
fn raw_values_are_written_as_they_stand() {
    let raw = RawValue::from_string(r#"{ "a" : [ "\u00e9" ] }"#.to_owned()).expect("JSON");
    same(&raw);
    same(&[&raw, &raw]);
    same(&BTreeMap::from([("k", &raw)]));
}

/// Says that it is a raw value.
struct Forged<T>(&'static str, T);

impl<T: Serialize> Serialize for Forged<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut raw = serializer.serialize_struct("$serde_json::private::RawValue", 1)?;
        raw.serialize_field(self.0, &self.1)?;
        raw.end()
    }
}

#[test]
fn raw_values_of_something_else_than_text_are_refused_with_the_same_words() {
    const NAME: &str = "$serde_json::private::RawValue";
    assert_eq!(
        written(&Forged(NAME, 1)),
        Err("expected RawValue".to_owned())
    );
    same(&Forged(NAME, 1));
    same(&Forged(NAME, ()));
    same(&Forged(NAME, vec!["a", "b"]));
    same(&Forged(NAME, Kind::Struct { a: 1 }));
    same(&Forged("other", "text"));
}

#[test]
fn raw_values_may_be_displayed() {
    same(&Forged(
        "$serde_json::private::RawValue",
        std::net::Ipv4Addr::LOCALHOST,
    ));
    same(&Forged(
        "$serde_json::private::RawValue",
        Spelt("[1,", "2]"),
    ));
}

/// Displays in two parts.
struct Spelt(&'static str, &'static str);

impl Display for Spelt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)?;
        f.write_str(self.1)
    }
}

impl Serialize for Spelt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[test]
fn what_is_displayed_is_escaped_part_by_part() {
    same(&Spelt("say \"", "\u{e9}\n"));
    same(&Spelt("", ""));
}

struct Undisplayable;

impl Display for Undisplayable {
    fn fmt(&self, _: &mut Formatter<'_>) -> fmt::Result {
        Err(fmt::Error)
    }
}

impl Serialize for Undisplayable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[test]
fn what_cannot_be_displayed_is_an_error_where_serde_json_panics() {
    assert_eq!(
        written(&Undisplayable),
        Err("a value's `Display` failed".to_owned())
    );
}
