//! Where the schemas inside a schema stand.
//!
//! Everything here follows keywords, never names: a property may be called `title` or `$ref`, and a default may look
//! like a schema.

use super::join;
use serde_json::{Map, Value};

/// Keywords that hold one schema.
const ONE: [&str; 12] = [
    "additionalProperties",
    "unevaluatedProperties",
    "items",
    "unevaluatedItems",
    "additionalItems",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
];
/// Keywords that hold a list of schemas; `items` held one before draft 2020-12.
const LIST: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
/// Keywords that hold schemas by name.
const NAMED: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

/// Shows `visit` every schema that stands directly under `schema`, with its keyword, its name where the keyword holds
/// schemas by name, and its pointer.
pub(crate) fn for_each_child<'a>(schema: &'a Map<String, Value>, pointer: &str, visit: &mut dyn FnMut(Child<'a>)) {
    for (keyword, value) in schema {
        let keyword = keyword.as_str();
        if ONE.contains(&keyword) && is_schema(value) {
            visit(Child { keyword, name: None, schema: value, pointer: join(pointer, keyword) });
        } else if LIST.contains(&keyword) {
            let under = join(pointer, keyword);
            for (at, child) in value.as_array().into_iter().flatten().enumerate().filter(|(_, child)| is_schema(child))
            {
                visit(Child { keyword, name: None, schema: child, pointer: join(&under, &at.to_string()) });
            }
        } else if NAMED.contains(&keyword) {
            let under = join(pointer, keyword);
            for (name, child) in value.as_object().into_iter().flatten().filter(|(_, child)| is_schema(child)) {
                visit(Child { keyword, name: Some(name), schema: child, pointer: join(&under, name) });
            }
        }
    }
}

/// A schema that stands directly under another.
#[derive(Debug)]
pub(crate) struct Child<'a> {
    pub(crate) keyword: &'a str,
    pub(crate) name: Option<&'a str>,
    pub(crate) schema: &'a Value,
    pub(crate) pointer: String,
}

/// Whether a value can be a schema.
pub(crate) fn is_schema(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Bool(_))
}

/// Whether the keyword says nothing about which values are accepted.
pub(crate) fn is_annotation(keyword: &str) -> bool {
    matches!(
        keyword,
        "title"
            | "description"
            | "default"
            | "examples"
            | "example"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "$schema"
            | "$id"
            | "$anchor"
            | "$dynamicAnchor"
            | "$vocabulary"
            | "$comment"
            | "$defs"
            | "definitions"
    ) || keyword.starts_with("x-")
}
