//! The names that a type accepts, beside those that its tool publishes.

use crate::json::decoder::Decoder;
use crate::json::keys::PublishedNames;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[allow(dead_code)]
struct Point {
    x: i32,
    #[serde(alias = "why")]
    y: i32,
}

#[derive(Deserialize)]
#[allow(dead_code)]
enum Level {
    #[serde(alias = "lo")]
    Low,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[allow(dead_code)]
struct Text(String);

fn set(names: &[&str]) -> Vec<Box<str>> {
    names.iter().map(|name| Box::from(*name)).collect()
}

/// Returns true if the validator has to check the text.
fn suspects<T: for<'de> Deserialize<'de>>(text: &str, names: &PublishedNames) -> bool {
    let mut decoder = Decoder::new(text);
    decoder.compare_with(Some(names));
    T::deserialize(&mut decoder).unwrap_or_else(|error| panic!("{text}: {error}"));
    decoder.buffered()
}

#[test]
fn a_struct_that_knows_other_fields_than_are_published_is_suspect() {
    let text = r#"[{"x":1,"y":2},{"x":1,"y":2}]"#;
    let with = |fields: &[&str]| PublishedNames { fields: vec![set(&["a"]), set(fields)], ..PublishedNames::default() };
    assert!(!suspects::<Vec<Point>>(text, &with(&["y", "why", "x"])));
    assert!(suspects::<Vec<Point>>(text, &with(&["x", "y"])));
    assert!(suspects::<Vec<Point>>(text, &with(&["x", "y", "z"])));
}

#[test]
fn an_enum_that_knows_other_variants_than_are_published_is_suspect() {
    let with = |variants: &[&str]| PublishedNames { variants: vec![set(variants)], ..PublishedNames::default() };
    assert!(!suspects::<Level>("\"Low\"", &with(&["Low", "lo", "Other"])));
    assert!(suspects::<Level>("\"Low\"", &with(&["Low", "Other"])));
    assert!(suspects::<Level>("\"anything else\"", &with(&["Low", "lo", "Other"])));
}

#[test]
fn a_map_is_suspect_where_none_is_published() {
    let with = |maps: bool| PublishedNames { maps, ..PublishedNames::default() };
    assert!(!suspects::<BTreeMap<String, bool>>("{\"a\":true}", &with(true)));
    assert!(suspects::<BTreeMap<String, bool>>("{\"a\":true}", &with(false)));
}

#[test]
fn a_struct_around_a_text_is_suspect_where_an_enum_is_published() {
    let with = |name: &str| PublishedNames { enums: set(&[name]), ..PublishedNames::default() };
    assert!(suspects::<Text>("\"a\"", &with("Text")));
    assert!(!suspects::<Text>("\"a\"", &with("Other")));
}
