//! Enums: text for a unit variant, an object of one entry for any other.

use crate::json::tests::{path_of, refuses, takes};
use serde::Deserialize;

#[derive(Deserialize, PartialEq, Debug)]
enum Shape {
    Dot,
    Circle(f64),
    Line(i32, i32),
    Box { width: u8 },
    Maybe(Option<i32>),
}

#[test]
fn text_is_a_unit_variant() {
    assert!(takes("\"Dot\"", Shape::Dot));
    assert!(takes("\"D\\u006ft\"", Shape::Dot));
    assert!(refuses::<Shape>("\"Circle\""));
    assert!(refuses::<Shape>("\"Maybe\""));
    assert!(refuses::<Shape>("\"Dash\""));
}

#[test]
fn an_object_is_never_a_unit_variant() {
    assert!(refuses::<Shape>("{\"Dot\":null}"));
    assert!(refuses::<Shape>("{\"Dot\":{}}"));
}

#[test]
fn an_object_of_one_entry_is_a_variant_with_data() {
    assert!(takes("{\"Circle\":1.5}", Shape::Circle(1.5)));
    assert!(takes(" { \"Line\" : [ 1 , 2 ] } ", Shape::Line(1, 2)));
    assert!(takes("{\"Box\":{\"width\":3}}", Shape::Box { width: 3 }));
    assert!(takes("{\"Maybe\":null}", Shape::Maybe(None)));
}

#[test]
fn an_enum_ends_with_its_one_entry() {
    for text in [
        "{\"Circle\":1,\"Circle\":1}",
        "{\"Circle\":1,\"Dot\":null}",
        "{\"Circle\":1,}",
        "{\"Circle\":1",
        "{}",
        "{\"Circle\"}",
    ] {
        assert!(refuses::<Shape>(text), "{text}");
    }
}

#[test]
fn a_variant_with_fields_takes_no_array_and_a_tuple_its_exact_length() {
    assert!(refuses::<Shape>("{\"Box\":[3]}"));
    assert!(refuses::<Shape>("{\"Line\":[1,2,3]}"));
    assert!(refuses::<Shape>("{\"Line\":[1]}"));
}

#[test]
fn an_enum_is_no_number_array_or_null() {
    for text in ["0", "[\"Dot\"]", "null", "true"] {
        assert!(refuses::<Shape>(text), "{text}");
    }
}

#[test]
fn a_failure_within_a_variant_leads_through_its_name() {
    assert_eq!(
        path_of::<Vec<Shape>>("[{\"Box\":{\"width\":300}}]"),
        "/0/Box/width"
    );
    assert_eq!(path_of::<Shape>("{ \"Line\" : [1,null]}"), "/Line/1");
}

#[test]
fn enums_count_towards_the_depth() {
    #[derive(Deserialize, PartialEq, Debug)]
    enum Chain {
        End,
        Link(Box<Chain>),
    }
    let chain = |depth: usize| "{\"Link\":".repeat(depth) + "\"End\"" + &"}".repeat(depth);
    assert!(!refuses::<Chain>(&chain(128)));
    assert!(refuses::<Chain>(&chain(129)));
    assert!(refuses::<Chain>(&chain(100_000)));
}
