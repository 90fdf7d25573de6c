//! Null for optional properties.

use crate::providers::strict::node::is_null;
use crate::providers::strict::projector::SchemaObject;
use serde_json::{Value, json};

/// Returns a schema that accepts null too.
pub(crate) fn nullable(mut written: SchemaObject) -> SchemaObject {
    if written.contains_key("$ref") {
        return either(written);
    }
    if written.contains_key("anyOf") || has_type(&written) {
        add_null(&mut written);
        return written;
    }
    either(written)
}

/// Lets a schema with a type or a union accept null too.
pub(crate) fn add_null(written: &mut SchemaObject) {
    match written.get_mut("anyOf") {
        Some(Value::Array(branches)) => {
            let nulls = |branch: &Value| branch.as_object().is_some_and(|map| is_null(map) || accepts_null(map));
            if !branches.iter().any(nulls) {
                branches.push(json!({"type": "null"}));
            }
        }
        _ => add_to_type(written),
    }
}

fn add_to_type(written: &mut SchemaObject) {
    match written.get_mut("type") {
        Some(Value::Array(names)) if !names.iter().any(|name| name == "null") => names.push("null".into()),
        Some(kind @ Value::String(_)) if *kind != "null" => {
            let name = kind.take();
            *kind = json!([name, "null"]);
        }
        _ => {}
    }
    if let Some(Value::Array(values)) = written.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
}

fn has_type(written: &SchemaObject) -> bool {
    written.contains_key("type") && !written.contains_key("const")
}

fn accepts_null(written: &SchemaObject) -> bool {
    written.get("type").and_then(Value::as_array).is_some_and(|names| names.iter().any(|name| name == "null"))
}

/// Returns a union with null, and with the description around it.
fn either(mut written: SchemaObject) -> SchemaObject {
    let description = written.remove("description");
    let mut union = SchemaObject::from_iter([("anyOf".to_owned(), json!([written, {"type": "null"}]))]);
    union.extend(description.map(|text| ("description".to_owned(), text)));
    union
}
