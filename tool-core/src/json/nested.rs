//! Values that nest deeper than recursion can follow. Dropping one, comparing it or writing it
//! would end the process.

use crate::json::scan::outside_strings;
use serde_json::Value;

/// The deepest that a value may nest, as in texts.
pub(crate) const MAX_DEPTH: usize = 128;

/// The deepest that a value may nest which is stored. JSON parsers limit the depth, and a store
/// wraps the value in others.
pub(crate) const MAX_STORED_DEPTH: usize = 100;

/// Returns true for a value that nests deeper than 128.
pub fn is_nested_too_deep(value: &Value) -> bool {
    is_deeper(value, MAX_DEPTH)
}

/// Returns true for a value that nests deeper than a limit.
pub(crate) fn is_deeper(value: &Value, limit: usize) -> bool {
    // Most values and most members are texts and numbers.
    let is_container = |value: &Value| value.is_array() || value.is_object();
    if !is_container(value) {
        return false;
    }
    let mut open = vec![(value, 1)];
    while let Some((value, depth)) = open.pop() {
        if depth > limit {
            return true;
        }
        let inside = |value: &&Value| is_container(value);
        match value {
            Value::Array(items) => {
                open.extend(items.iter().filter(inside).map(|item| (item, depth + 1)));
            }
            Value::Object(members) => open.extend(
                members
                    .values()
                    .filter(inside)
                    .map(|member| (member, depth + 1)),
            ),
            _ => {}
        }
    }
    false
}

/// Returns the value, unless it nests deeper than 128. That one is dropped without recursion.
pub fn unless_too_deep(value: Value) -> Option<Value> {
    unless_deeper(value, MAX_DEPTH)
}

/// Returns the value, unless it nests deeper than a limit. That one is dropped without recursion.
pub(crate) fn unless_deeper(value: Value, limit: usize) -> Option<Value> {
    if is_deeper(&value, limit) {
        drop_iteratively(value);
        return None;
    }
    Some(value)
}

/// Drops a value of any depth.
#[cold]
pub(crate) fn drop_iteratively(value: Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.into_iter().map(|(_, member)| member)),
            _ => {}
        }
    }
}

/// Returns true for a JSON text whose values nest deeper than a limit.
pub(crate) fn is_text_deeper(json: &str, limit: usize) -> bool {
    let mut depth = 0_usize;
    for byte in outside_strings(json.as_bytes()) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > limit {
            return true;
        }
    }
    false
}
