//! Defaults and examples are values that the published schema accepts, or the tool is not built.

use super::ParameterInput;
use crate::arguments::{Validator, validate};
use serde_json::{Map, Value, json};

/// What is wrong with the default and the examples of one parameter.
pub(super) fn values(parameter: &ParameterInput<'_>, schema: &Value, definitions: &Map<String, Value>) -> Vec<String> {
    let default = parameter.default.as_ref().filter(|value| !(value.is_null() && parameter.optional));
    let values: Vec<(&str, &Value)> = default
        .map(|value| ("default", value))
        .into_iter()
        .chain(parameter.examples.iter().map(|value| ("example", value)))
        .collect();
    if values.is_empty() || accepts_anything(schema) {
        return Vec::new();
    }
    let validator = Validator::new(json!({"allOf": [schema], "$defs": definitions}));
    let mut found = Vec::new();
    for (kind, value) in values {
        for problem in validate(&validator, value) {
            found.push(format!("the {kind} `{value}` does not fit: {problem}"));
        }
    }
    found
}

fn accepts_anything(schema: &Value) -> bool {
    *schema == Value::Bool(true) || schema.as_object().is_some_and(Map::is_empty)
}
