//! The limits of bytes and of depth.

use crate::json::tests::writer::{bounded, expected};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Every limit from nothing to one byte more than the text has.
#[track_caller]
fn at_every_limit<T: Serialize + ?Sized>(value: &T) {
    let whole = expected(value).expect("JSON");
    for limit in 0..=whole.len() + 1 {
        let (text, full, error) = bounded(value, limit);
        assert_eq!(
            text,
            whole[..whole.floor_char_boundary(limit)],
            "limit {limit}"
        );
        assert_eq!(
            (full, error.is_some()),
            (limit < whole.len(), limit < whole.len()),
            "limit {limit}"
        );
    }
}

#[derive(Serialize)]
struct Event {
    title: &'static str,
    größe: Option<f64>,
    #[serde(rename = "a \"key\"\n")]
    kind: Kind,
    bytes: (u8, i64, bool, char),
}

#[derive(Serialize)]
enum Kind {
    Tuple(u8, ()),
    Struct { text: &'static str },
}

// T9
#[test]
fn a_limit_anywhere_keeps_the_whole_characters_before_it() {
    at_every_limit(
        &json!({"a": [1, 22, "three \" \u{1F600} \n"], "b": {"c": null}, "gr\u{f6}\u{df}e": -1.5e10, "t": "\u{1}x"}),
    );
    at_every_limit(&Event {
        title: "caf\u{e9} \u{1F600}\\ \u{7}",
        größe: Some(0.1),
        kind: Kind::Tuple(255, ()),
        bytes: (1, -1, true, '\u{1F600}'),
    });
    at_every_limit(&Kind::Struct {
        text: "\u{20ac}\u{20ac}\u{20ac}",
    });
    at_every_limit("\u{1F600}\u{1F600}");
    at_every_limit("\u{0}\u{0}\"\\");
}

#[test]
fn a_limit_holds_for_raw_values_and_displayed_ones() {
    at_every_limit(
        &RawValue::from_string(r#"["\u{e9}", 1 ]"#.replace("\\u{e9}", "\u{e9}")).expect("JSON"),
    );
    at_every_limit(&[std::net::Ipv4Addr::LOCALHOST]);
}

#[test]
fn a_limit_holds_for_keys_of_numbers_and_booleans() {
    at_every_limit(&BTreeMap::from([(-120, "a"), (7, "b")]));
    at_every_limit(&BTreeMap::from([(u128::MAX, 1)]));
    at_every_limit(&BTreeMap::from([(false, 1), (true, 2)]));
    at_every_limit(&BTreeMap::from([(
        Some('\u{20ac}'),
        BTreeMap::from([(1_u8, None::<u8>)]),
    )]));
}

#[test]
fn a_string_far_longer_than_the_limit_is_kept_up_to_it() {
    let (text, full, _) = bounded(&"\u{e9}".repeat(100_000), 10);
    assert_eq!((text.as_str(), full), ("\"\u{e9}\u{e9}\u{e9}\u{e9}", true));
    let (text, full, _) = bounded(&"\u{0}".repeat(100_000), 10);
    assert_eq!((text.as_str(), full), ("\"\\u0000\\u0", true));
}

/// Goes on after an error.
struct Stubborn;

impl Serialize for Stubborn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for item in ["\u{1F600}", "", "1"] {
            let _ = list.serialize_element(item);
        }
        list.end()
    }
}

#[test]
fn a_value_that_goes_on_past_the_limit_adds_nothing() {
    for limit in 0..8 {
        let (text, full, _) = bounded(&Stubborn, limit);
        let whole = "[\"\u{1F600}\",\"\",\"1\"]";
        assert_eq!(
            (text.as_str(), full),
            (&whole[..whole.floor_char_boundary(limit)], true)
        );
    }
}

fn lists(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| Value::Array(vec![inner]))
}

fn objects(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!({"a": inner}))
}

#[derive(Serialize)]
enum Chain {
    End,
    Newtype(Box<Chain>),
    Tuple(Box<Chain>, u8),
    Struct { next: Box<Chain> },
}

// T9
#[test]
fn results_nest_128_deep_and_no_deeper() {
    let too_deep = Some("it nests deeper than 128".to_owned());
    for value in [lists, objects] {
        assert_eq!(
            bounded(&value(128), usize::MAX),
            (value(128).to_string(), false, None)
        );
        assert_eq!(bounded(&value(129), usize::MAX).2, too_deep);
    }
}

#[test]
fn a_variant_is_as_deep_as_the_containers_it_is_written_as() {
    let chain = |links, link: fn(Box<Chain>) -> Chain| {
        (0..links).fold(Chain::End, |inner, _| link(inner.into()))
    };
    let fits = |chain: &Chain| bounded(chain, usize::MAX).2.is_none();
    assert!(fits(&chain(128, Chain::Newtype)));
    assert!(!fits(&chain(129, Chain::Newtype)));
    assert!(fits(&chain(64, |next| Chain::Tuple(next, 1))));
    assert!(!fits(&chain(65, |next| Chain::Tuple(next, 1))));
    assert!(fits(&chain(64, |next| Chain::Struct { next })));
    assert!(!fits(&chain(65, |next| Chain::Struct { next })));
}

#[test]
fn depth_counts_what_is_open_only() {
    let wide = Value::Array(vec![lists(127); 300]);
    assert_eq!(bounded(&wide, usize::MAX), (wide.to_string(), false, None));
}
