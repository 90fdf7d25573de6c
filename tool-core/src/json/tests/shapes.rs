//! Each kind of Rust type is read from its one kind of JSON value, to its exact end.

use crate::json::decoder::Decoder;
use crate::json::error::Error;
use crate::json::tests::{decode, path_of, refuses, takes};
use serde::Deserialize;
use serde::de::{Error as _, IgnoredAny};
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Deserialize, PartialEq, Debug)]
struct Point {
    x: i32,
    y: i32,
}

#[derive(Deserialize, PartialEq, Debug)]
struct Pair(i32, String);

#[derive(Deserialize, PartialEq, Debug)]
struct Wrapped(Vec<Point>);

#[derive(Deserialize, PartialEq, Debug)]
struct Nothing;

#[test]
fn a_struct_is_read_from_an_object_in_any_order_and_white_space() {
    assert!(takes(
        "\t{ \"y\" : 2 ,\r\n \"x\":1 } ",
        Point { x: 1, y: 2 }
    ));
}

#[test]
fn a_struct_is_never_read_from_an_array() {
    assert!(refuses::<Point>("[1,2]"));
}

#[test]
fn a_map_is_never_read_from_an_array() {
    assert!(refuses::<BTreeMap<String, i32>>("[]"));
}

#[test]
fn a_sequence_is_never_read_from_an_object() {
    assert!(refuses::<Vec<i32>>("{}"));
}

#[test]
fn a_tuple_takes_exactly_its_elements() {
    assert!(takes("[1,\"a\"]", (1, "a".to_owned())));
    assert!(refuses::<(i32, String)>("[1]"));
    assert!(refuses::<(i32, String)>("[1,\"a\",2]"));
    assert!(refuses::<(i32, String)>("[1,\"a\",]"));
}

#[test]
fn a_tuple_struct_takes_exactly_its_elements() {
    assert!(takes("[1,\"a\"]", Pair(1, "a".to_owned())));
    assert!(refuses::<Pair>("[1,\"a\",2]"));
    assert!(refuses::<Pair>("{\"0\":1,\"1\":\"a\"}"));
}

#[test]
fn a_newtype_is_read_as_what_it_holds() {
    assert!(takes(
        "[{\"x\":1,\"y\":2}]",
        Wrapped(vec![Point { x: 1, y: 2 }])
    ));
}

#[test]
fn null_is_none_and_anything_else_is_some() {
    assert!(takes::<Option<i32>>("null", None));
    assert!(takes("3", Some(3)));
    assert!(refuses::<Option<i32>>("nul"));
    assert!(refuses::<Option<i32>>("\"3\""));
}

#[test]
fn a_unit_is_null_only() {
    assert!(takes("null", ()));
    assert!(takes("null", Nothing));
    assert!(refuses::<()>("{}"));
    assert!(refuses::<()>("[]"));
    assert!(refuses::<Nothing>("\"Nothing\""));
}

#[test]
fn a_char_is_text_of_one_scalar() {
    assert!(takes("\"\u{1F600}\"", '\u{1F600}'));
    assert!(takes("\"\\u00e4\"", 'ä'));
    assert!(refuses::<char>("\"ab\""));
    assert!(refuses::<char>("\"\""));
    assert!(refuses::<char>("97"));
}

#[test]
fn a_bool_is_the_word_alone() {
    assert!(takes("true", true));
    assert!(takes(" false ", false));
    for text in ["True", "tru", "truex", "1", "\"true\"", "null"] {
        assert!(refuses::<bool>(text), "{text}");
    }
}

struct Bytes(Vec<u8>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Bytes;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut items: A,
            ) -> Result<Bytes, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = items.next_element()? {
                    bytes.push(byte);
                }
                Ok(Bytes(bytes))
            }
        }
        deserializer.deserialize_bytes(Visitor)
    }
}

#[test]
fn bytes_are_text_or_an_array_of_u8() {
    assert!(decode::<Bytes>("\"a\\n\"").is_ok_and(|bytes| bytes.0 == b"a\n"));
    assert!(decode::<Bytes>("[1,255]").is_ok_and(|bytes| bytes.0 == [1, 255]));
    assert!(refuses::<Bytes>("[256]"));
    assert!(refuses::<Bytes>("5"));
}

/// Reads one entry and stops.
#[derive(PartialEq)]
struct FirstEntry(String, i32);

impl<'de> Deserialize<'de> for FirstEntry {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = FirstEntry;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an entry")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<FirstEntry, A::Error> {
                let entry = map.next_entry()?.unwrap_or_default();
                Ok(FirstEntry(entry.0, entry.1))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

#[test]
fn an_object_whose_reader_stops_early_must_end_there() {
    assert!(takes("{\"a\":1}", FirstEntry("a".to_owned(), 1)));
    assert!(takes(
        "[{\"a\":1 },{\"b\":2}]",
        vec![FirstEntry("a".to_owned(), 1), FirstEntry("b".to_owned(), 2)]
    ));
    for text in ["{\"a\":1,\"b\":2}", "{\"a\":1,}", "{\"a\":1", "{\"a\":1]"] {
        assert!(refuses::<FirstEntry>(text), "{text}");
    }
}

#[test]
fn text_after_the_value_is_refused() {
    assert!(refuses::<i32>("1 2"));
    assert!(refuses::<Point>("{\"x\":1,\"y\":2}}"));
    assert!(refuses::<i32>("1\0"));
}

#[test]
fn depth_is_128_containers_and_no_more() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let objects = |depth: usize| "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth);
    for make in [&nested as &dyn Fn(usize) -> String, &objects] {
        assert!(decode::<Value>(&make(128)).is_ok());
        assert!(refuses::<Value>(&make(129)));
        assert!(decode::<IgnoredAny>(&make(128)).is_ok());
        assert!(refuses::<IgnoredAny>(&make(129)));
        assert!(Decoder::new(&make(128)).raw().is_ok());
        assert!(Decoder::new(&make(100_000)).raw().is_err());
        assert!(refuses::<Value>(&make(100_000)));
    }
}

#[test]
fn containers_beside_one_another_do_not_add_to_the_depth() {
    let text = format!("[{}{{\"a\":[]}}]", "[[]],{\"a\":{}},".repeat(200));
    assert!(decode::<Value>(&text).is_ok());
    assert!(decode::<IgnoredAny>(&text).is_ok());
}

#[test]
fn an_error_is_one_pointer_wide() {
    assert_eq!(size_of::<Error>(), size_of::<usize>());
    assert_eq!(size_of::<Result<(), Error>>(), size_of::<usize>());
}

#[test]
fn errors_of_a_text_get_words_up_to_a_quarter_megabyte() {
    let words = "w".repeat(1_000);
    let worded = || {
        let _decoder = Decoder::new("");
        (0..1_000)
            .filter(|_| Error::custom(&words).message() == words)
            .count()
    };
    assert_eq!((worded(), worded()), (247, 247));
}

#[test]
fn an_error_leads_to_its_place_by_a_json_pointer() {
    assert_eq!(
        path_of::<Vec<Point>>("[{\"x\":1,\"y\":2}, { \"x\" : 1 , \"y\" : \"a\"}]"),
        "/1/y"
    );
    assert_eq!(
        path_of::<BTreeMap<String, Vec<i32>>>("{\"a/b~\\n\":[1,true]}"),
        "/a~1b~0\n/1"
    );
    assert_eq!(path_of::<Point>("{\"x\":1}"), "");
    assert_eq!(path_of::<IgnoredAny>("{\"a\":[0,{\"b\":01}]}"), "/a/1/b");
}

#[test]
fn an_error_tells_what_was_found_and_what_was_wanted() {
    let message = |text| {
        decode::<Point>(text)
            .map_err(|error| error.to_string())
            .err()
    };
    assert_eq!(
        message("{\"x\":\"five\"}").as_deref(),
        Some("invalid type: string \"five\", expected i32 at `/x`")
    );
    assert_eq!(
        message("{\"x\":1 \"y\"}").as_deref(),
        Some("expected `,` or `}` (byte 7)")
    );
    assert_eq!(
        message("{\"x\":").as_deref(),
        Some("unexpected end of the text at `/x` (byte 5)")
    );
}
