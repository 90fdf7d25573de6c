//! Keys: never twice, and read by the map's key type.

use crate::json::decoder::Decoder;
use crate::json::tests::{decode, path_of, refuses, takes};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

#[derive(Deserialize, Debug)]
#[allow(dead_code)]
struct Known {
    a: i32,
    inner: Option<Box<Known>>,
}

#[test]
fn a_repeated_key_of_a_map_is_refused() {
    assert!(refuses::<HashMap<String, i32>>("{\"a\":1,\"a\":1}"));
    assert!(refuses::<BTreeMap<String, i32>>(
        "{\"a\":1,\"b\":1,\"\\u0061\":1}"
    ));
}

#[test]
fn a_repeated_key_of_a_value_is_refused_at_every_level() {
    assert!(refuses::<Value>("{\"a\":1,\"a\":1}"));
    assert!(refuses::<Value>("[{\"a\":{\"b\":1,\"c\":2,\"b\":1}}]"));
    assert!(refuses::<Value>(
        "{\"a\":{\"b\":1},\"c\":{\"b\":1},\"a\":1}"
    ));
}

#[test]
fn a_repeated_key_is_refused_where_nobody_reads_it() {
    assert!(refuses::<IgnoredAny>("{\"a\":1,\"a\":1}"));
    assert!(refuses::<Known>("{\"a\":1,\"x\":{\"b\":1,\"b\":1}}"));
    assert!(Decoder::new("[{\"a\":1,\"a\":1}]").raw().is_err());
}

#[test]
fn a_repeated_field_of_a_struct_is_refused_known_or_not() {
    assert!(refuses::<Known>("{\"a\":1,\"a\":1}"));
    assert!(refuses::<Known>("{\"x\":1,\"a\":1,\"x\":2}"));
    assert!(refuses::<Known>(
        "{ \"x\" : 1 , \"a\" : 1 , \"\\u0078\" : 2 }"
    ));
    assert!(refuses::<Known>(
        "{\"x\":1,\"inner\":{\"a\":2,\"x\":2},\"a\":1,\"x\":2}"
    ));
}

#[test]
fn a_repeated_field_of_a_flattened_struct_is_refused() {
    #[derive(Deserialize)]
    #[allow(dead_code)]
    struct Outer {
        #[serde(flatten)]
        rest: HashMap<String, Value>,
    }
    assert!(decode::<Outer>("{\"a\":1,\"b\":1}").is_ok());
    assert!(refuses::<Outer>("{\"a\":1,\"a\":1}"));
}

#[test]
fn the_same_key_in_different_objects_is_no_repetition() {
    assert!(decode::<Value>("[{\"a\":{\"a\":[{\"a\":1}]}},{\"a\":1}]").is_ok());
    assert!(decode::<Known>("{\"x\":1,\"inner\":{\"x\":1,\"a\":1},\"a\":1}").is_ok());
    assert!(decode::<Vec<Known>>("[{\"x\":1,\"a\":1},{\"x\":1,\"a\":1}]").is_ok());
}

#[test]
fn repetition_is_found_among_many_keys() {
    let entries: Vec<String> = (0..500)
        .map(|n| format!("\"k{n}\":{{\"k{n}\":{n}}}"))
        .collect();
    let object = |more: &str| format!("{{{}{more}}}", entries.join(","));
    assert!(decode::<Value>(&object("")).is_ok());
    assert!(decode::<Value>(&format!("[{},{}]", object(""), object(""))).is_ok());
    for repeated in ["k0", "k15", "k16", "k17", "k499"] {
        assert!(
            refuses::<Value>(&object(&format!(",\"{repeated}\":0"))),
            "{repeated}"
        );
        assert!(
            refuses::<IgnoredAny>(&object(&format!(",\"{repeated}\":0"))),
            "{repeated}"
        );
    }
}

#[test]
fn a_repetition_leads_to_the_key() {
    assert_eq!(path_of::<Value>("{\"o\":[{\"a\":1,\"a\":1}]}"), "/o/0/a");
    assert_eq!(path_of::<Known>("{\"x\":1,\"x\":1}"), "/x");
}

#[test]
fn integer_keys_are_parsed_in_their_one_spelling() {
    assert!(takes(
        "{\"-5\":1,\"70\":2,\"0\":3}",
        BTreeMap::from([(-5_i32, 1), (70, 2), (0, 3)])
    ));
    for text in ["007", "-0", "-05", "00"] {
        assert!(
            refuses::<BTreeMap<i32, i32>>(&format!("{{\"{text}\":1}}")),
            "{text}"
        );
    }
    assert!(takes(
        "{\"18446744073709551615\":1}",
        BTreeMap::from([(u64::MAX, 1)])
    ));
    for text in ["+1", "1.0", "1e2", " 1", "", "-", "a", "256", "-1"] {
        assert!(
            refuses::<BTreeMap<u8, i32>>(&format!("{{\"{text}\":1}}")),
            "{text}"
        );
    }
    assert!(
        refuses::<BTreeMap<i8, i32>>("{\"+1\":1}") && refuses::<BTreeMap<i128, i32>>("{\"1.0\":1}")
    );
}

#[test]
fn bool_char_option_newtype_and_unit_enum_keys_are_read() {
    #[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
    struct Id(u32);
    #[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
    enum Day {
        Monday,
        Other(i32),
    }
    assert!(
        takes("{\"true\":1}", BTreeMap::from([(true, 1)]))
            && refuses::<BTreeMap<bool, i32>>("{\"1\":1}")
    );
    assert!(takes("{\"x\":1}", BTreeMap::from([('x', 1)])));
    assert!(takes(
        "{\"x\":1}",
        BTreeMap::from([(Some("x".to_owned()), 1)])
    ));
    assert!(
        takes("{\"12\":1}", BTreeMap::from([(Id(12), 1)]))
            && refuses::<BTreeMap<Id, i32>>("{\"x\":1}")
    );
    assert!(takes("{\"Monday\":1}", BTreeMap::from([(Day::Monday, 1)])));
    assert!(refuses::<BTreeMap<Day, i32>>("{\"Other\":1}"));
}

#[test]
fn float_keys_are_whole_json_numbers_in_range() {
    #[derive(Deserialize)]
    struct Floats(#[serde(deserialize_with = "pairs")] Vec<(f32, i32)>);
    fn pairs<'de, D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(f32, i32)>, D::Error> {
        struct Pairs;
        impl<'de> serde::de::Visitor<'de> for Pairs {
            type Value = Vec<(f32, i32)>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a map")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(pairs)
            }
        }
        deserializer.deserialize_map(Pairs)
    }
    assert!(
        decode::<Floats>("{\"1.5\":1,\"-2e1\":2}")
            .is_ok_and(|floats| floats.0 == [(1.5, 1), (-20.0, 2)])
    );
    for text in ["inf", "NaN", "1.", "+1", "1 ", " 1", "1e39", ""] {
        assert!(refuses::<Floats>(&format!("{{\"{text}\":1}}")), "{text}");
    }
}

#[test]
fn a_key_is_text() {
    for text in ["{1:1}", "{null:1}", "{a:1}", "{'a':1}", "{[]:1}"] {
        assert!(refuses::<BTreeMap<String, i32>>(text), "{text}");
    }
}
