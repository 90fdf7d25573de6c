//! The names that a schema publishes, gathered for the decoder.

use super::walk;
use crate::json::Names;
use serde_json::Value;

/// Every name in the schema of a tool.
pub(super) fn of(schema: &Value) -> Names {
    let mut names = Names { parameters: properties(schema).unwrap_or_default(), ..Names::default() };
    gather(schema, &mut names);
    let definitions = schema.get("$defs").and_then(Value::as_object).into_iter().flatten();
    let enums = definitions.filter(|(_, definition)| definition.get("enum").is_some());
    names.enums = enums.map(|(name, _)| name.as_str().into()).collect();
    names
}

fn gather(schema: &Value, names: &mut Names) {
    let Some(map) = schema.as_object() else { return };
    match properties(schema) {
        Some(fields) => names.fields.push(fields),
        None => names.maps |= map.get("type").is_some_and(|kind| kind == "object" || kind.is_array()),
    }
    if let Some(values) = map.get("enum").and_then(Value::as_array) {
        names.variants.push(values.iter().filter_map(Value::as_str).map(Box::from).collect());
    }
    walk::for_each_child(map, &mut |child| gather(child, names));
}

fn properties(schema: &Value) -> Option<Vec<Box<str>>> {
    let named = schema.get("properties")?.as_object()?;
    Some(named.keys().map(|name| name.as_str().into()).collect())
}
