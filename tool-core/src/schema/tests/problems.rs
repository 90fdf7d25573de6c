//! Declarations that are refused.

use crate::schema::parameter::{Constraint, Literal, Number, Parameter, Range};
use crate::schema::tests::types::{Filter, Paging, Shape, Window};
use crate::schema::tests::{build, types};
use serde_json::{Value, json};
use std::collections::HashMap;

fn problems(parameters: &[Parameter]) -> Vec<String> {
    build(parameters).err().unwrap_or_default()
}

const FIVE_UP: &[Constraint] = &[Constraint::Range(Range {
    min: Some(Number::Int(5)),
    max: None,
    exclusive: false,
})];

#[test]
fn a_default_must_hold_to_the_limits() {
    assert_eq!(
        problems(&[Parameter::new::<u8>("x", "")
            .default_literal("3")
            .constraints(FIVE_UP)]),
        [
            "parameter `x`: the default `3` does not fit: arguments: expected a number of at least 5, got 3"
        ]
    );
}

#[test]
fn a_default_must_be_of_the_type() {
    assert_eq!(
        problems(&[Parameter::new::<u8>("x", "").default_literal("\"a\"")]).len(),
        1
    );
    assert_eq!(
        problems(&[Parameter::new::<u8>("x", "").default_literal("null")]).len(),
        1
    );
    assert_eq!(
        problems(&[Parameter::new::<Option<u8>>("x", "").default_literal("null")]),
        [""; 0]
    );
}

#[test]
fn an_example_must_fit() {
    assert_eq!(
        problems(&[Parameter::new::<u8>("x", "").examples(&[|| json!(256)])]).len(),
        1
    );
}

#[test]
fn all_problems_are_told_at_once() {
    const FORMAT: &[Constraint] = &[Constraint::Format("phone")];
    const EMPTY: &[Constraint] = &[Constraint::Range(Range {
        min: Some(Number::Int(300)),
        max: Some(Number::Int(400)),
        exclusive: false,
    })];
    let found = problems(&[
        Parameter::new::<String>("a", "").constraints(FORMAT),
        Parameter::new::<u8>("b", "").constraints(EMPTY),
        Parameter::new::<u8>("c", "").aliases(&["a"]),
        Parameter::flattened::<Vec<u8>>("d"),
        Parameter::flattened::<Paging>("e"),
        Parameter::new::<u8>("limit", ""),
    ]);
    assert_eq!(found.len(), 5, "{found:#?}");
    assert!(found[0].starts_with("parameter `a`: unknown format `phone`"));
    assert_eq!(
        found[1],
        "parameter `b`: no value fits: `minimum` 300 is above `maximum` 255"
    );
    assert_eq!(
        found[2],
        "parameter `c`: the name `a` is already used by another parameter"
    );
    assert_eq!(
        found[3],
        "parameter `d`: `flatten` needs a type that is an object in JSON"
    );
    assert_eq!(
        found[4],
        "parameter `limit`: the name `limit` is already used by another parameter"
    );
}

#[test]
fn one_of_must_name_a_value_that_the_type_has() {
    const CHOICE: &[Constraint] = &[Constraint::OneOf(&[Literal::Str("blue")])];
    let found = problems(&[Parameter::new::<types::Inline>("x", "").constraints(CHOICE)]);
    assert_eq!(
        found,
        ["parameter `x`: no value of `one_of` is a value of its type"]
    );
}

// D6
#[test]
fn a_variant_has_no_name_of_another_parameter() {
    let taken = "the name `radius` is already used by another parameter";
    assert_eq!(
        problems(&[
            Parameter::new::<u8>("radius", ""),
            Parameter::flattened::<Shape>("shape"),
        ]),
        [format!("parameter `shape`: {taken}")]
    );
    assert_eq!(
        problems(&[
            Parameter::flattened::<Shape>("shape"),
            Parameter::new::<u8>("radius", ""),
        ]),
        [format!("parameter `radius`: {taken}")]
    );
}

// D6
#[test]
fn a_flattened_enum_may_not_be_absent() {
    let found = problems(&[Parameter::flattened::<Option<Shape>>("shape")]);
    assert_eq!(
        found,
        [
            "parameter `shape`: `flatten` needs a struct where the parameter may be absent; remove the `Option` or the `flatten`"
        ]
    );
    assert_eq!(
        problems(&[Parameter::flattened::<Option<Window>>("window")]),
        [""; 0]
    );
}

// D6
#[test]
fn one_flattened_type_takes_all_other_names() {
    let found = problems(&[
        Parameter::flattened::<HashMap<String, u8>>("a"),
        Parameter::flattened::<HashMap<String, bool>>("b"),
    ]);
    assert_eq!(
        found,
        ["parameter `b`: another flattened parameter takes all other names already"]
    );
}

const TAKEN: &str = "another flattened parameter takes all other names already";

// D6
#[test]
fn names_are_taken_by_patterns_and_by_variants() {
    let by_pattern = problems(&[
        Parameter::flattened::<HashMap<u32, bool>>("a"),
        Parameter::flattened::<HashMap<String, u8>>("b"),
    ]);
    assert_eq!(by_pattern, [format!("parameter `b`: {TAKEN}")]);
    let by_variant = problems(&[
        Parameter::flattened::<HashMap<String, u8>>("a"),
        Parameter::flattened::<Filter<Value>>("b"),
    ]);
    assert_eq!(by_variant, [format!("parameter `b`: {TAKEN}")]);
}

// D6
#[test]
fn a_variant_does_not_check_other_parameters() {
    let limit = Parameter::new::<u32>("limit", "");
    assert_eq!(
        problems(&[limit, Parameter::flattened::<Filter<String>>("filter")]),
        [
            "parameter `filter`: a variant takes all other names, so its type would check the other parameters; put its map into a field, or remove the `flatten`"
        ]
    );
    assert_eq!(
        problems(&[limit, Parameter::flattened::<Filter<Value>>("filter")]),
        [""; 0]
    );
    assert_eq!(
        problems(&[Parameter::flattened::<Filter<String>>("filter")]),
        [""; 0]
    );
}
