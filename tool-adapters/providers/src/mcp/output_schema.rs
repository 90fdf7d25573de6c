//! The schema of a result, and the structured content that satisfies it.
//!
//! Both are JSON objects in every revision of the protocol but the newest. Other values are wrapped
//! as `{"result": ..}`, as other servers do.

use crate::schema::document::{SchemaDocument, for_each_subschema};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use tool_core::schema::join_pointer;

/// The member that wraps a result.
const MEMBER: &str = "result";

/// Returns the `outputSchema` for a result's schema.
pub(crate) fn declared(output: &Value) -> Value {
    if !has_object_root(output) {
        return wrapped(output);
    }
    let mut schema = output.clone();
    schema["type"] = "object".into();
    schema
}

/// Returns the `structuredContent` of a result whose schema is `output`, as JSON.
pub fn structured<'a>(output: &Value, result: &'a str) -> Cow<'a, str> {
    if has_object_root(output) {
        result.into()
    } else {
        format!(r#"{{"{MEMBER}":{result}}}"#).into()
    }
}

/// Returns true for a schema of the type `object`, and for a reference to one.
fn has_object_root(output: &Value) -> bool {
    let is_object = |schema: &Value| schema.get("type").is_some_and(|kind| kind == "object");
    let document = SchemaDocument::new(output);
    let target = || {
        output
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|name| document.resolve("", name))
    };
    let refers =
        || output.get("type").is_none() && target().is_some_and(|place| is_object(place.schema));
    is_object(output) || refers()
}

/// Returns a schema of an object with one property. References are moved with their targets.
fn wrapped(output: &Value) -> Value {
    let mut schema = output.clone();
    let dialect = schema.as_object_mut().and_then(|map| map.remove("$schema"));
    let pointer = join_pointer("/properties", MEMBER);
    if schema.get("$id").is_none() {
        rebase(&mut schema, &pointer);
    }
    let mut wrapped = Map::from_iter([
        ("type".to_owned(), "object".into()),
        ("properties".to_owned(), json!({ MEMBER: schema })),
        ("required".to_owned(), json!([MEMBER])),
    ]);
    wrapped.extend(dialect.map(|dialect| ("$schema".to_owned(), dialect)));
    wrapped.into()
}

/// Adds a prefix to the pointers of references from the root.
fn rebase(schema: &mut Value, prefix: &str) {
    let mut places = Vec::new();
    references(schema, "", &mut places);
    for place in places {
        if let Some(Value::String(reference)) = schema.pointer_mut(&place)
            && let Some(pointer) = reference
                .strip_prefix('#')
                .filter(|rest| rest.is_empty() || rest.starts_with('/'))
        {
            *reference = format!("#{prefix}{pointer}");
        }
    }
}

/// Collects the pointers of all `$ref` in a schema.
fn references(schema: &Value, pointer: &str, places: &mut Vec<String>) {
    let Some(map) = schema.as_object() else {
        return;
    };
    // Inside a schema with an `$id`, `#` is that schema.
    if !pointer.is_empty() && map.contains_key("$id") {
        return;
    }
    if map.get("$ref").is_some_and(Value::is_string) {
        places.push(join_pointer(pointer, "$ref"));
    }
    for_each_subschema(map, pointer, &mut |child| {
        references(child.place.schema, &child.place.pointer, places);
    });
}
