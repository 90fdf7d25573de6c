//! The meaning of `null` for a parameter.

use crate::schema::nullable::NullMeaning;
use crate::schema::parameter::Parameter;
use crate::schema::tests::types::{Color, Point};
use crate::schema::tests::{built, property};
use serde_json::{Value, json};

fn null(parameter: Parameter) -> NullMeaning {
    built(&[parameter]).fields[0].null
}

#[test]
fn an_optional_type_publishes_its_own_schema_and_a_default_of_null() {
    assert_eq!(
        property(Parameter::new::<Option<bool>>("x", "")),
        json!({"type": "boolean", "default": null})
    );
    assert_eq!(
        property(Parameter::new::<Option<Point>>("x", "")),
        json!({"$ref": "#/$defs/Point", "default": null})
    );
    assert_eq!(
        property(Parameter::new::<Option<Option<bool>>>("x", "")),
        json!({"type": "boolean", "default": null})
    );
}

#[test]
fn an_optional_parameter_with_a_default_publishes_that() {
    let schema = property(Parameter::new::<Option<u8>>("x", "").default_literal("3"));
    assert_eq!(schema["default"], json!(3));
}

#[test]
fn null_is_absence_where_it_is_the_default() {
    assert_eq!(
        null(Parameter::new::<Option<Color>>("x", "")),
        NullMeaning::Absent
    );
}

#[test]
fn null_is_coerced_where_the_default_is_another_value() {
    assert_eq!(
        null(Parameter::new::<u8>("x", "").default_literal("3")),
        NullMeaning::Coerced
    );
    assert_eq!(
        null(Parameter::new::<Option<u8>>("x", "").default_literal("3")),
        NullMeaning::Coerced
    );
}

#[test]
fn null_is_a_value_where_the_type_has_it() {
    assert_eq!(null(Parameter::new::<Value>("x", "")), NullMeaning::Allowed);
    assert_eq!(
        null(Parameter::new::<Option<Value>>("x", "")),
        NullMeaning::Allowed
    );
    assert_eq!(null(Parameter::new::<()>("x", "")), NullMeaning::Allowed);
    assert_eq!(
        null(Parameter::new::<Option<()>>("x", "")),
        NullMeaning::Allowed
    );
}

#[test]
fn null_is_a_mistake_for_what_is_required() {
    assert_eq!(null(Parameter::new::<Color>("x", "")), NullMeaning::Refused);
    assert_eq!(
        null(Parameter::new::<String>("x", "")),
        NullMeaning::Refused
    );
}

#[test]
fn the_elements_of_an_array_keep_their_null() {
    let schema = property(Parameter::new::<Option<Vec<Option<bool>>>>("x", ""));
    assert_eq!(schema["items"], json!({"type": ["boolean", "null"]}));
}
