//! Where the schemas inside a schema stand, and what a `$ref` points at.
//!
//! Everything here follows keywords, never names: a property may be called `title` or `$ref`, and a default may look
//! like a schema.

use serde_json::{Map, Value};

/// Keywords that hold one schema.
pub const ONE: &[&str] = &[
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
pub const LIST: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems", "items"];
/// Keywords that hold schemas by name.
pub const NAMED: &[&str] =
    &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

/// Shows `visit` every schema that stands directly under `schema`.
pub(crate) fn for_each_child<'a>(schema: &'a Map<String, Value>, visit: &mut dyn FnMut(&'a Value)) {
    for child in ONE.iter().filter_map(|keyword| schema.get(*keyword)) {
        visit_if_schema(child, visit);
    }
    for list in LIST.iter().filter_map(|keyword| schema.get(*keyword)?.as_array()) {
        for child in list {
            visit_if_schema(child, visit);
        }
    }
    for named in NAMED.iter().filter_map(|keyword| schema.get(*keyword)?.as_object()) {
        for child in named.values() {
            visit_if_schema(child, visit);
        }
    }
}

/// As [`for_each_child`], for changing them.
pub(crate) fn for_each_child_mut(schema: &mut Map<String, Value>, visit: &mut dyn FnMut(&mut Value)) {
    for keyword in ONE {
        if let Some(child @ (Value::Object(_) | Value::Bool(_))) = schema.get_mut(*keyword) {
            visit(child);
        }
    }
    for keyword in LIST {
        if let Some(list) = schema.get_mut(*keyword).and_then(Value::as_array_mut) {
            list.iter_mut().filter(|child| is_schema(child)).for_each(&mut *visit);
        }
    }
    for keyword in NAMED {
        if let Some(named) = schema.get_mut(*keyword).and_then(Value::as_object_mut) {
            named.values_mut().filter(|child| is_schema(child)).for_each(&mut *visit);
        }
    }
}

/// The schema that a local reference names, or nothing where it leads nowhere or outside.
pub(crate) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    root.pointer(&percent_decoded(pointer)?)
}

/// Follows `$ref` while it is all that the schema says about its value, so that what comes back has keywords.
/// A reference that leads back to itself ends where the chain closes.
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

/// Whether the keyword says nothing about which values are accepted.
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

/// Whether a value can be a schema.
pub fn is_schema(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Bool(_))
}

fn visit_if_schema<'a>(value: &'a Value, visit: &mut dyn FnMut(&'a Value)) {
    if is_schema(value) {
        visit(value);
    }
}

// ---- JSON pointers (RFC 6901), and the escapes that they have in a URI.

/// A pointer to `name` below `pointer`.
pub fn child(pointer: &str, name: &str) -> String {
    let mut joined = String::with_capacity(pointer.len() + name.len() + 1);
    joined.push_str(pointer);
    joined.push('/');
    for letter in name.chars() {
        match letter {
            '~' => joined.push_str("~0"),
            '/' => joined.push_str("~1"),
            other => joined.push(other),
        }
    }
    joined
}

/// The text behind the percent escapes of a URI fragment; nothing where they are broken.
pub fn percent_decoded(text: &str) -> Option<String> {
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
