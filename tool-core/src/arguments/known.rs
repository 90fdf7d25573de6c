//! The names that an object's schema knows.

use super::nearest::nearest;
use super::words;
use crate::schema::walk;
use serde_json::{Map, Value};

/// The property names that the schema knows, in its branches too.
pub(super) fn names<'a>(schema: &'a Value, root: &'a Value) -> Vec<&'a str> {
    let mut known = Vec::new();
    in_place(schema, root, 8, &mut |map| {
        for name in map.get("properties").and_then(Value::as_object).into_iter().flat_map(|all| all.keys()) {
            if !known.contains(&name.as_str()) {
                known.push(name);
            }
        }
    });
    known
}

/// What to do about a name that is not among these.
pub(super) fn hint(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "there are none".to_owned(),
        None => {
            let listed: Vec<String> =
                known.iter().take(20).map(|name| format!("`{}`", words::shortened(name, 60))).collect();
            format!("known: {}", listed.join(", "))
        }
    }
}

/// Whether the schema has a place for a property of that name. JSON Schema lets everything pass that a schema does not
/// speak of; here only a schema does that says so (`additionalProperties`), or says nothing at all.
pub(super) fn takes(schema: &Value, name: &str) -> bool {
    let root = schema;
    let Some(map) = walk::follow(root, schema).as_object() else { return schema != &Value::Bool(false) };
    let mut taken = !map.keys().any(|keyword| !walk::is_annotation(keyword));
    in_place(schema, root, 8, &mut |map| {
        let open = |keyword: &str| map.get(keyword).is_some_and(|rest| rest != &Value::Bool(false));
        let declared = map.get("properties").is_some_and(|all| all.get(name).is_some());
        let patterns = map.get("patternProperties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
        taken |= declared || patterns || open("additionalProperties") || open("unevaluatedProperties");
    });
    taken
}

/// Shows `visit` every schema that speaks of the same value.
fn in_place<'a>(schema: &'a Value, root: &'a Value, depth: usize, visit: &mut dyn FnMut(&'a Map<String, Value>)) {
    let (Some(map), Some(depth)) = (schema.as_object(), depth.checked_sub(1)) else { return };
    visit(map);
    if let Some(target) = map.get("$ref").and_then(Value::as_str).and_then(|name| walk::resolve(root, name)) {
        in_place(target, root, depth, visit);
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for branch in map.get(keyword).and_then(Value::as_array).into_iter().flatten() {
            in_place(branch, root, depth, visit);
        }
    }
    for branch in ["if", "then", "else"].iter().filter_map(|keyword| map.get(*keyword)) {
        in_place(branch, root, depth, visit);
    }
    for branch in map.get("dependentSchemas").and_then(Value::as_object).into_iter().flat_map(|all| all.values()) {
        in_place(branch, root, depth, visit);
    }
}
