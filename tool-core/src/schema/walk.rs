//! The subschemas of a JSON Schema, its references, and JSON pointers.
//!
//! All functions follow keywords, never names: a property may be called `title` or `$ref`, and a default may look like
//! a schema.

use crate::json::error::pointer_token;
use serde_json::{Map, Value};

/// The keywords whose value is one schema. Before draft 2020-12 `items` could also be a list: see [`LIST_KEYWORDS`].
pub const SCHEMA_KEYWORDS: &[&str] = &[
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
/// The keywords whose value is a list of schemas.
pub const LIST_KEYWORDS: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems", "items"];
/// The keywords whose value is an object of schemas by name. An entry of `dependencies` may also be a list of names.
pub const MAP_KEYWORDS: &[&str] =
    &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

/// Calls `visit` with each direct subschema.
pub(crate) fn for_each_child<'a>(schema: &'a Map<String, Value>, visit: &mut dyn FnMut(&'a Value)) {
    for child in SCHEMA_KEYWORDS.iter().filter_map(|keyword| schema.get(*keyword)) {
        visit_if_schema(child, visit);
    }
    for list in LIST_KEYWORDS.iter().filter_map(|keyword| schema.get(*keyword)?.as_array()) {
        for child in list {
            visit_if_schema(child, visit);
        }
    }
    for named in MAP_KEYWORDS.iter().filter_map(|keyword| schema.get(*keyword)?.as_object()) {
        for child in named.values() {
            visit_if_schema(child, visit);
        }
    }
}

/// Calls `visit` with each direct subschema, mutably.
pub(crate) fn for_each_child_mut(schema: &mut Map<String, Value>, visit: &mut dyn FnMut(&mut Value)) {
    for keyword in SCHEMA_KEYWORDS {
        if let Some(child @ (Value::Object(_) | Value::Bool(_))) = schema.get_mut(*keyword) {
            visit(child);
        }
    }
    for keyword in LIST_KEYWORDS {
        if let Some(list) = schema.get_mut(*keyword).and_then(Value::as_array_mut) {
            list.iter_mut().filter(|child| is_schema(child)).for_each(&mut *visit);
        }
    }
    for keyword in MAP_KEYWORDS {
        if let Some(named) = schema.get_mut(*keyword).and_then(Value::as_object_mut) {
            named.values_mut().filter(|child| is_schema(child)).for_each(&mut *visit);
        }
    }
}

/// Resolves a reference into the same document, such as `#/$defs/Name`. Returns `None` for any other reference, and
/// for one without a target.
pub(crate) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    root.pointer(&percent_decode(pointer)?)
}

/// Follows `$ref` for as long as a schema has no other assertion. A cycle of references ends after 64 steps.
pub(crate) fn follow<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut current = schema;
    for _ in 0..64 {
        let target = current.as_object().filter(|map| is_bare_reference(map)).and_then(|map| map.get("$ref")?.as_str());
        match target.and_then(|reference| resolve(root, reference)) {
            Some(next) => current = next,
            None => break,
        }
    }
    current
}

/// Returns true for a keyword that does not constrain which values are accepted, such as `description` or `$defs`.
///
/// ```
/// use tool_core::schema::is_annotation;
///
/// assert!(is_annotation("title") && is_annotation("x-order"));
/// assert!(!is_annotation("minimum"));
/// ```
pub fn is_annotation(keyword: &str) -> bool {
    matches!(
        keyword,
        "title"
            | "description"
            | "default"
            | "examples"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "$schema"
            | "$id"
            | "$anchor"
            | "$comment"
            | "$defs"
            | "definitions"
    ) || keyword.starts_with("x-")
}

fn is_bare_reference(map: &Map<String, Value>) -> bool {
    map.keys().all(|keyword| keyword == "$ref" || is_annotation(keyword))
}

/// Returns true for an object or a boolean, the two forms of a schema.
pub fn is_schema(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Bool(_))
}

fn visit_if_schema<'a>(value: &'a Value, visit: &mut dyn FnMut(&'a Value)) {
    if is_schema(value) {
        visit(value);
    }
}

/// Appends a reference token to a JSON pointer (RFC 6901), with `~` and `/` escaped.
///
/// ```
/// use tool_core::schema::join_pointer;
///
/// assert_eq!(join_pointer("/properties", "a/b"), "/properties/a~1b");
/// ```
pub fn join_pointer(pointer: &str, token: &str) -> String {
    pointer.to_owned() + &pointer_token(token)
}

/// Decodes the percent escapes of a URI fragment. Returns `None` for an incomplete escape, and for bytes that are not
/// UTF-8.
///
/// ```
/// use tool_core::schema::percent_decode;
///
/// assert_eq!(percent_decode("/$defs/a%20b").as_deref(), Some("/$defs/a b"));
/// assert_eq!(percent_decode("%2"), None);
/// ```
pub fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
