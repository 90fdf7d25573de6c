//! Which tools need the validator, because decoding alone would accept more than is published.

use crate::schema::parameter;
use crate::schema::parameter::{Constraint, Parameter};
use crate::schema::tests::built;
use crate::schema::tests::types::{
    Adjacent, Closed, Color, Everything, External, Inline, Level, Named, Paging, Point, Shape,
    Tree, Untagged, Validated, Window,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use std::collections::{BTreeSet, HashMap};

fn needs<T: JsonSchema + for<'de> Deserialize<'de>>() -> bool {
    built(&[Parameter::new::<T>("x", "")]).needs_validator
}

#[test]
fn types_that_uphold_their_schema_need_none() {
    assert!(!needs::<String>());
    assert!(!needs::<(i8, u16, i64, u128, f32, f64)>());
    assert!(!needs::<Option<Vec<Option<u8>>>>());
    assert!(!needs::<Point>());
    assert!(!needs::<Option<Point>>());
    assert!(!needs::<Closed>());
    assert!(!needs::<Paging>());
    assert!(!needs::<Named>());
    assert!(!needs::<HashMap<String, Point>>());
    assert!(!needs::<HashMap<Color, u8>>());
    assert!(!needs::<serde_json::Value>());
}

// An `f32` has been rounded before its limit sees it.
#[test]
fn limits_on_what_is_rounded_need_it() {
    const LIMITS: &[Constraint] = &[Constraint::Range(parameter::Range {
        min: None,
        max: Some(parameter::Number::Int(1)),
        exclusive: false,
    })];
    fn limited<T: JsonSchema + for<'de> Deserialize<'de>>() -> bool {
        built(&[Parameter::new::<T>("x", "").constraints(LIMITS)]).needs_validator
    }
    assert!(limited::<f32>() && limited::<Option<f32>>() && limited::<Vec<Vec<f32>>>());
    assert!(!limited::<f64>() && !limited::<u8>());
}

#[test]
fn enums_of_texts_need_none() {
    assert!(!needs::<Color>());
    assert!(!needs::<Level>());
    assert!(!needs::<Option<Level>>());
}

#[test]
fn recursion_needs_none() {
    assert!(!needs::<Tree>());
}

#[test]
fn choices_of_shapes_need_it() {
    assert!(needs::<Shape>());
    assert!(needs::<External>());
    assert!(needs::<Adjacent>());
    assert!(needs::<Untagged>());
    assert!(needs::<Inline>());
}

#[test]
fn assertions_that_no_type_upholds_need_it() {
    assert!(needs::<Validated>());
    assert!(needs::<BTreeSet<u8>>());
    assert!(needs::<[u8; 3]>());
    assert!(needs::<HashMap<u32, u8>>());
    assert!(needs::<std::net::IpAddr>());
    assert!(needs::<std::num::NonZeroU8>());
    assert!(needs::<char>());
    assert!(needs::<Everything>());
}

#[test]
fn limits_of_a_parameter_are_checked_on_its_field() {
    let canonical =
        built(&[Parameter::new::<String>("x", "").constraints(&[Constraint::Format("email")])]);
    assert!(!canonical.needs_validator);
}

#[test]
fn a_flattened_type_that_may_be_absent_needs_it() {
    assert!(built(&[Parameter::flattened::<Option<Window>>("window")]).needs_validator);
    assert!(!built(&[Parameter::flattened::<Window>("window")]).needs_validator);
}

#[derive(Deserialize)]
struct Proven;

impl JsonSchema for Proven {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Proven".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date-time", "x-proven": true})
    }
}

#[test]
fn a_type_may_say_that_it_upholds_its_schema() {
    let canonical = built(&[Parameter::new::<Vec<Proven>>("x", "")]);
    assert!(!canonical.needs_validator);
    assert!(!canonical.text.contains("x-proven"));
}
