//! One rule of the canonical form each.

use crate::schema::build::normalize_result;
use crate::schema::parameter::{Constraint, Literal, Number, Parameter, Range};
use crate::schema::tests::types::{Level, Paging, Point, Tree};
use crate::schema::tests::{built, property};
use serde_json::{Value, json};
use std::collections::HashMap;

const fn range(min: i128, max: i128, exclusive: bool) -> Constraint {
    Constraint::Range(Range {
        min: Some(Number::Int(min)),
        max: Some(Number::Int(max)),
        exclusive,
    })
}

#[test]
fn integer_formats_become_bounds() {
    assert_eq!(
        property(Parameter::new::<i32>("x", "")),
        json!({"type": "integer", "minimum": -2_147_483_648_i64, "maximum": 2_147_483_647})
    );
    assert_eq!(
        property(Parameter::new::<usize>("x", "")),
        json!({"type": "integer", "minimum": 0, "maximum": u64::MAX})
    );
}

#[test]
fn the_widest_integers_end_below_a_power_of_two() {
    assert_eq!(
        property(Parameter::new::<u128>("x", "")),
        json!({"type": "integer", "minimum": 0, "exclusiveMaximum": 3.402_823_669_209_385e38})
    );
}

#[test]
fn a_float_of_32_bits_publishes_its_range() {
    assert_eq!(
        property(Parameter::new::<f32>("x", "")),
        json!({"type": "number", "minimum": -3.402_823_466_385_288_6e38, "maximum": 3.402_823_466_385_288_6e38})
    );
    assert_eq!(
        property(Parameter::new::<f64>("x", "")),
        json!({"type": "number"})
    );
}

#[test]
fn the_tighter_of_two_bounds_stays() {
    let tight =
        property(Parameter::new::<u8>("x", "").constraints(const { &[range(-5, 300, false)] }));
    assert_eq!(
        tight,
        json!({"type": "integer", "minimum": 0, "maximum": 255})
    );
    let given = property(Parameter::new::<std::num::NonZeroU8>("x", ""));
    assert_eq!(
        given,
        json!({"type": "integer", "minimum": 1, "maximum": 255})
    );
}

#[test]
fn an_exclusive_end_is_published_as_one() {
    let half_open =
        property(Parameter::new::<u8>("x", "").constraints(const { &[range(0, 10, true)] }));
    assert_eq!(
        half_open,
        json!({"type": "integer", "minimum": 0, "exclusiveMaximum": 10})
    );
    let beyond =
        property(Parameter::new::<u8>("x", "").constraints(const { &[range(0, 256, true)] }));
    assert_eq!(
        beyond,
        json!({"type": "integer", "minimum": 0, "maximum": 255})
    );
}

#[test]
fn limits_on_an_array_go_to_its_elements_but_for_their_number() {
    let schema = property(Parameter::new::<Vec<String>>("x", "").constraints(&[
        Constraint::Items(Some(1), Some(3)),
        Constraint::Length(Some(2), None),
        Constraint::Pattern("^a"),
    ]));
    assert_eq!(
        schema,
        json!({"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "string", "minLength": 2, "pattern": "^a"}})
    );
}

#[test]
fn limits_reach_the_innermost_elements() {
    let schema = property(
        Parameter::new::<Vec<Vec<u8>>>("x", "").constraints(const { &[range(1, 2, false)] }),
    );
    assert_eq!(
        schema["items"]["items"],
        json!({"type": "integer", "minimum": 1, "maximum": 2})
    );
}

#[test]
fn one_of_is_an_enum() {
    const CHOICE: &[Literal] = &[Literal::Str("a"), Literal::Str("b")];
    let schema =
        property(Parameter::new::<String>("x", "").constraints(&[Constraint::OneOf(CHOICE)]));
    assert_eq!(schema, json!({"type": "string", "enum": ["a", "b"]}));
}

#[test]
fn limits_on_a_named_type_stand_beside_its_reference() {
    const ONE: &[Literal] = &[Literal::Str("low")];
    let schema = property(Parameter::new::<Level>("x", "").constraints(&[Constraint::OneOf(ONE)]));
    assert_eq!(schema, json!({"$ref": "#/$defs/Level", "enum": ["low"]}));
}

#[test]
fn a_type_that_accepts_anything_stays_so() {
    assert_eq!(property(Parameter::new::<Value>("x", "")), json!(true));
    assert_eq!(
        property(Parameter::new::<Value>("x", "Whatever")),
        json!({"description": "Whatever"})
    );
}

#[test]
fn the_documentation_of_variants_moves_into_the_description() {
    let schema = built(&[Parameter::new::<Level>("x", "")]).value;
    let level = &schema["$defs"]["Level"];
    assert_eq!(level["enum"], json!(["off", "low", "high"]));
    assert_eq!(
        level["description"],
        "How loud\n\n- `low`: Hardly heard\n- `high`: Over two lines of documentation"
    );
}

#[test]
fn definitions_that_nothing_uses_are_left_out() {
    let schema = built(&[
        Parameter::flattened::<Paging>("paging"),
        Parameter::new::<Tree>("tree", ""),
    ])
    .value;
    assert_eq!(
        schema["$defs"]
            .as_object()
            .expect("some")
            .keys()
            .collect::<Vec<_>>(),
        ["Tree"]
    );
}

#[test]
fn what_looks_like_a_schema_in_a_default_is_left_alone() {
    let schema = json!({
        "$schema": "x", "title": "T", "type": "object",
        "properties": {"title": {"type": "string", "title": "T"}},
        "default": {"title": "kept", "$schema": "kept"},
        "examples": [{"title": "kept"}],
        "enum": [{"title": "kept"}],
        "const": {"format": "int32"},
    });
    assert_eq!(
        normalize_result(schema),
        json!({
            "type": "object",
            "properties": {"title": {"type": "string"}},
            "default": {"title": "kept", "$schema": "kept"},
            "examples": [{"title": "kept"}],
            "enum": [{"title": "kept"}],
            "const": {"format": "int32"},
        })
    );
}

#[test]
fn an_address_of_either_kind_is_a_choice_of_formats() {
    let schema = property(Parameter::new::<std::net::IpAddr>("x", ""));
    assert_eq!(
        schema,
        json!({"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]})
    );
}

#[test]
fn a_description_beats_that_of_the_type() {
    let schema = property(Parameter::new::<Point>("x", "Mine"));
    assert_eq!(
        schema,
        json!({"$ref": "#/$defs/Point", "description": "Mine"})
    );
}

#[test]
fn examples_are_published() {
    let schema = property(Parameter::new::<u8>("x", "").examples(&[|| json!(3)]));
    assert_eq!(schema["examples"], json!([3]));
}

#[test]
fn a_flattened_map_says_what_other_properties_are() {
    let schema = built(&[
        Parameter::new::<u8>("x", ""),
        Parameter::flattened::<HashMap<String, bool>>("rest"),
    ])
    .value;
    assert_eq!(schema["additionalProperties"], json!({"type": "boolean"}));
}

#[test]
fn the_marker_of_a_proven_type_is_not_published() {
    let schema =
        normalize_result(json!({"type": "string", "format": "date-time", "x-proven": true}));
    assert_eq!(schema, json!({"type": "string", "format": "date-time"}));
}
