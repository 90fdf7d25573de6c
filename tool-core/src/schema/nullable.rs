//! The meaning of `null` for a schema.

use crate::schema::walk;
use serde_json::{Map, Value};

/// The meaning of `null` for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NullMeaning {
    /// The parameter is absent. It may be left out, and its schema does not accept `null`.
    Absent,
    /// A value like any other.
    Allowed,
    /// A mistake.
    Refused,
}

/// Removes the `null` that `Option<T>` adds to the schema of `T`.
pub(crate) fn strip_null(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    strip_from_type(map);
    strip_from_enum(map);
    for keyword in ["anyOf", "oneOf"] {
        strip_branch(map, keyword);
    }
}

fn strip_from_type(map: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = map.get_mut("type") else { return };
    if types.len() > 1 {
        types.retain(|name| name != "null");
    }
    if types.len() == 1 {
        let only = types.remove(0);
        map.insert("type".to_owned(), only);
    }
}

fn strip_from_enum(map: &mut Map<String, Value>) {
    if let Some(Value::Array(values)) = map.get_mut("enum")
        && values.len() > 1
    {
        values.retain(|value| !value.is_null());
    }
}

fn strip_branch(map: &mut Map<String, Value>, keyword: &str) {
    let Some(Value::Array(mut branches)) = map.remove(keyword) else { return };
    if branches.len() > 1 {
        branches.retain(|branch| !is_null_only(branch));
    }
    // A choice of one branch is that branch, unless a keyword beside it would be lost.
    let collapses = |only: &Map<String, Value>| only.keys().all(|key| key == "description" || !map.contains_key(key));
    match branches.as_slice() {
        [Value::Object(only)] if collapses(only) => {
            for (key, value) in only {
                map.entry(key.as_str()).or_insert_with(|| value.clone());
            }
        }
        _ => {
            map.insert(keyword.to_owned(), branches.into());
        }
    }
}

/// Returns true if the schema accepts only `null`.
pub(crate) fn is_null_only(schema: &Value) -> bool {
    schema.as_object().is_some_and(|map| {
        map.get("type").is_some_and(|kind| kind == "null")
            && map.keys().all(|keyword| keyword == "type" || walk::is_annotation(keyword))
    })
}

/// Returns true if the schema accepts `null`.
pub(crate) fn allows_null(schema: &Value, root: &Value) -> bool {
    allows(schema, root, 0)
}

fn allows(schema: &Value, root: &Value, depth: usize) -> bool {
    let map = match schema {
        Value::Bool(answer) => return *answer,
        Value::Object(map) => map,
        _ => return true,
    };
    // A chain of references without any assertion refuses nothing.
    if depth > 64 {
        return true;
    }
    let deeper = |schema: &Value| allows(schema, root, depth + 1);
    let each = |keyword: &str| map.get(keyword).and_then(Value::as_array);
    let by_type = !map.contains_key("type") || walk::type_names(map).any(|name| name == "null");
    by_type
        && each("enum").is_none_or(|values| values.contains(&Value::Null))
        && map.get("const").is_none_or(Value::is_null)
        && walk::referenced(map, root).is_none_or(deeper)
        && each("allOf").is_none_or(|all| all.iter().all(deeper))
        && each("anyOf").is_none_or(|any| any.iter().any(deeper))
        && each("oneOf").is_none_or(|one| one.iter().filter(|branch| deeper(branch)).count() == 1)
        && map.get("not").is_none_or(|not| !deeper(not))
}
