//! The root of a tool's schema, as text and as a value.
//!
//! The text lists the parameters in the order of the signature, because models read in that order; a map of
//! `serde_json` would sort them.

use super::Root;
use serde_json::{Map, Value, json};

/// Writes the root. `Err` only where a value cannot be written as JSON, which no schema that was read as JSON is.
pub(super) fn write(root: Root, definitions: Map<String, Value>) -> (Value, String) {
    let (mut value, mut text) = open(root.properties, root.required);
    let closes = if root.unions.is_empty() { "additionalProperties" } else { "unevaluatedProperties" };
    let empty = value.pointer("/properties").and_then(Value::as_object).is_none_or(Map::is_empty);
    let mut rest: Vec<(&str, Value)> = Vec::new();
    match root.additional {
        Some(schema) => rest.push((closes, schema)),
        // A tool without parameters says no more than that it takes an object.
        None if empty && root.unions.is_empty() => {}
        None => rest.push((closes, Value::Bool(false))),
    }
    if !root.dependent.is_empty() {
        rest.push(("dependentRequired", root.dependent.into()));
    }
    let all: Vec<Value> = root.unions.into_iter().chain(root.rules).collect();
    if !all.is_empty() {
        rest.push(("allOf", all.into()));
    }
    if !definitions.is_empty() {
        rest.push(("$defs", definitions.into()));
    }
    for (keyword, schema) in rest {
        push_member(&mut text, keyword, &schema);
        if let Some(map) = value.as_object_mut() {
            map.insert(keyword.to_owned(), schema);
        }
    }
    text.push('}');
    (value, text)
}

/// Everything up to and with `required`; the text is left open.
fn open(properties: Vec<(String, Value)>, required: Vec<String>) -> (Value, String) {
    let mut text = String::from(r#"{"type":"object","properties":{"#);
    let mut map = Map::new();
    for (name, schema) in properties {
        if !map.is_empty() {
            text.push(',');
        }
        text.push_str(&Value::String(name.clone()).to_string());
        text.push(':');
        text.push_str(&schema.to_string());
        map.insert(name, schema);
    }
    text.push('}');
    let mut value = json!({"type": "object", "properties": map});
    if !required.is_empty() {
        let required = Value::from(required);
        push_member(&mut text, "required", &required);
        if let Some(map) = value.as_object_mut() {
            map.insert("required".to_owned(), required);
        }
    }
    (value, text)
}

fn push_member(text: &mut String, keyword: &str, value: &Value) {
    text.push_str(",\"");
    text.push_str(keyword);
    text.push_str("\":");
    text.push_str(&value.to_string());
}
