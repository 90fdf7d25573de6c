//! Values that nest deeper than recursion can follow. Dropping one, comparing it or writing it would end the process.

use serde_json::Value;

/// The deepest that a value may nest, as in texts.
const MAX_DEPTH: usize = 128;

/// Returns true for a value that nests deeper than 128.
pub fn is_nested_too_deep(value: &Value) -> bool {
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        // Most members are texts and numbers.
        let inside = |value: &&Value| value.is_array() || value.is_object();
        match value {
            Value::Array(items) => open.extend(items.iter().filter(inside).map(|item| (item, depth + 1))),
            Value::Object(members) => open.extend(members.values().filter(inside).map(|member| (member, depth + 1))),
            _ => {}
        }
        if depth >= MAX_DEPTH && inside(&value) {
            return true;
        }
    }
    false
}

/// Returns the value, unless it nests deeper than 128. That one is dropped without recursion.
pub(crate) fn unless_too_deep(value: Value) -> Option<Value> {
    if is_nested_too_deep(&value) {
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
