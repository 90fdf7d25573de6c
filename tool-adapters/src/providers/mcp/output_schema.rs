//! MCP: the schema of a result, and the structured content that satisfies it.
//!
//! Both are JSON objects in every revision of the protocol but the newest. What is no object is wrapped as
//! `{"result": ..}`, as other servers do.

use crate::providers::schema::document::{SchemaDocument, for_each_subschema};
use serde_json::{Map, Value, json};
use tool_core::schema::join_pointer;

/// The member that a result stands in which is no object.
const MEMBER: &str = "result";

/// The `outputSchema` of a result's schema.
pub(crate) fn declared(output: &Value) -> Value {
    match root(output) {
        Root::Object => output.clone(),
        Root::Reference => {
            let mut schema = output.clone();
            if let Some(map) = schema.as_object_mut() {
                map.insert("type".to_owned(), "object".into());
            }
            schema
        }
        Root::Other => wrapped(output),
    }
}

/// The `structuredContent` of a result whose schema is `output`.
#[cfg_attr(not(feature = "mcp"), allow(dead_code))] // Whoever serves asks for it.
pub(crate) fn structured(output: &Value, result: Value) -> Value {
    match root(output) {
        Root::Object | Root::Reference => result,
        Root::Other => json!({ MEMBER: result }),
    }
}

enum Root {
    /// Says itself that it is an object.
    Object,
    /// Refers to a schema that does.
    Reference,
    Other,
}

fn root(output: &Value) -> Root {
    let is_object = |schema: &Value| schema.get("type").is_some_and(|kind| kind == "object");
    if is_object(output) {
        return Root::Object;
    }
    let document = SchemaDocument::new(output);
    let target = output.get("$ref").and_then(Value::as_str).and_then(|name| document.resolve("", name));
    match target {
        Some(place) if output.get("type").is_none() && is_object(place.schema) => Root::Reference,
        _ => Root::Other,
    }
}

/// An object with the schema as that of its one property. References are led to where their targets now stand.
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

/// Puts `prefix` before every pointer that a reference has to the root.
fn rebase(schema: &mut Value, prefix: &str) {
    let mut places = Vec::new();
    references(schema, "", &mut places);
    for place in places {
        if let Some(Value::String(reference)) = schema.pointer_mut(&place)
            && let Some(pointer) = reference.strip_prefix('#').filter(|rest| rest.is_empty() || rest.starts_with('/'))
        {
            *reference = format!("#{prefix}{pointer}");
        }
    }
}

/// The pointers of all `$ref` in a schema.
fn references(schema: &Value, pointer: &str, places: &mut Vec<String>) {
    let Some(map) = schema.as_object() else { return };
    // With an `$id` of its own, `#` is the schema itself.
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
