//! The subschemas of a JSON Schema, its references, and JSON pointers.
//!
//! All functions follow keywords, never names: a property may be called `title` or `$ref`, and a
//! default may look like a schema.

use crate::json::pointer::pointer_token;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::slice;

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
/// The keywords whose value is an object of schemas by name. An entry of `dependencies` may also be
/// a list of names.
pub const MAP_KEYWORDS: &[&str] = &[
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
];

/// Calls `visit` with each direct subschema.
pub(crate) fn for_each_child<'a>(schema: &'a Map<String, Value>, visit: &mut dyn FnMut(&'a Value)) {
    let children = SCHEMA_KEYWORDS
        .iter()
        .filter_map(|keyword| schema.get(*keyword));
    let listed = LIST_KEYWORDS
        .iter()
        .filter_map(|keyword| schema.get(*keyword)?.as_array())
        .flatten();
    let named = MAP_KEYWORDS
        .iter()
        .filter_map(|keyword| schema.get(*keyword)?.as_object())
        .flat_map(Map::values);
    children
        .chain(listed)
        .chain(named)
        .filter(|child| is_schema(child))
        .for_each(visit);
}

/// Calls `visit` with each direct subschema, mutably.
pub(crate) fn for_each_child_mut(
    schema: &mut Map<String, Value>,
    visit: &mut dyn FnMut(&mut Value),
) {
    for (keyword, value) in schema.iter_mut() {
        let keyword = keyword.as_str();
        match value {
            Value::Array(list) if LIST_KEYWORDS.contains(&keyword) => {
                list.iter_mut()
                    .filter(|child| is_schema(child))
                    .for_each(&mut *visit);
            }
            Value::Object(named) if MAP_KEYWORDS.contains(&keyword) => {
                named
                    .values_mut()
                    .filter(|child| is_schema(child))
                    .for_each(&mut *visit);
            }
            child if SCHEMA_KEYWORDS.contains(&keyword) && is_schema(child) => visit(child),
            _ => {}
        }
    }
}

/// Resolves a reference into the same document, for example `#/$defs/Name`. Returns `None` for any
/// other reference, and for one without a target.
pub(crate) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    root.pointer(&percent_decode(pointer)?)
}

/// Returns the schema that the `$ref` of a schema leads to.
pub(crate) fn referenced<'a>(schema: &Map<String, Value>, root: &'a Value) -> Option<&'a Value> {
    resolve(root, schema.get("$ref")?.as_str()?)
}

/// Returns the types that the `type` of a schema names.
pub(crate) fn type_names(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let named = schema.get("type").map(|named| {
        named
            .as_array()
            .map_or(slice::from_ref(named), Vec::as_slice)
    });
    named.into_iter().flatten().filter_map(Value::as_str)
}

/// Returns the branches under `allOf`, `anyOf` or `oneOf`.
pub(crate) fn branches<'a>(
    schema: &'a Map<String, Value>,
    keyword: &str,
) -> impl Iterator<Item = &'a Value> {
    schema
        .get(keyword)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// Follows `$ref` for as long as a schema has no other assertion. A cycle of references ends after
/// 64 steps.
pub(crate) fn follow<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut current = schema;
    for _ in 0..64 {
        let target = current
            .as_object()
            .filter(|map| is_bare_reference(map))
            .and_then(|map| map.get("$ref")?.as_str());
        match target.and_then(|reference| resolve(root, reference)) {
            Some(next) => current = next,
            None => break,
        }
    }
    current
}

/// Returns true for a keyword that does not constrain which values are accepted, for example
/// `description` or `$defs`.
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
    map.keys()
        .all(|keyword| keyword == "$ref" || is_annotation(keyword))
}

/// Returns the address of a value, by which a walk recognises it while it is borrowed.
pub(crate) fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

/// Returns true for an object or a boolean, the two forms of a schema.
pub fn is_schema(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Bool(_))
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

/// Decodes the percent escapes of a URI fragment. Returns `None` for an incomplete escape, and for
/// bytes that are not UTF-8.
///
/// ```
/// use tool_core::schema::percent_decode;
///
/// assert_eq!(percent_decode("/$defs/a%20b").as_deref(), Some("/$defs/a b"));
/// assert_eq!(percent_decode("%2"), None);
/// ```
pub fn percent_decode(text: &str) -> Option<String> {
    let is_escape = |rest: &str| {
        rest.as_bytes()
            .first_chunk::<2>()
            .is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit))
    };
    if !text.split('%').skip(1).all(is_escape) {
        return None;
    }
    percent_decode_str(text)
        .decode_utf8()
        .ok()
        .map(Cow::into_owned)
}
