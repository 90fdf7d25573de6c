//! One form for what schemars and raw schemas say in several.

use crate::json::keys::Names;
use crate::schema::walk::percent_decode;
use crate::schema::{enums, numbers, walk};
use serde_json::{Map, Value, json};

/// The formats that are checked; any other is a note to the reader.
pub(crate) const ASSERTED_FORMATS: &[&str] =
    &["date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// The keyword by which a schema says that its type refuses by itself whatever the schema refuses.
pub(crate) const PROVEN: &str = "x-proven";

/// Brings a schema and all that stand inside it into the canonical form.
pub(crate) fn normalize(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    for noise in ["$schema", "title", PROVEN] {
        map.remove(noise);
    }
    walk::for_each_child_mut(map, &mut normalize);
    numbers::publish_bounds(map);
    single_keys(map);
    split_ip(map);
    enums::flatten(map);
}

/// Keys that are integers, in one spelling: `7` and `007` would be the same key twice.
fn single_keys(map: &mut Map<String, Value>) {
    let Some(patterns) = map.get_mut("patternProperties").and_then(Value::as_object_mut) else { return };
    for (loose, single) in [(r"^\d+$", r"^(0|[1-9]\d*)$"), (r"^-?\d+$", r"^(0|-?[1-9]\d*)$")] {
        if let Some(schema) = patterns.remove(loose) {
            patterns.insert(single.to_owned(), schema);
        }
    }
}

/// `format: "ip"` is no format of JSON Schema: it is either of two that are.
fn split_ip(map: &mut Map<String, Value>) {
    if map.get("format").and_then(Value::as_str) != Some("ip") {
        return;
    }
    map.remove("format");
    let either = json!([{"format": "ipv4"}, {"format": "ipv6"}]);
    if map.contains_key("anyOf") {
        push_all_of(map, json!({"anyOf": either}));
    } else {
        map.insert("anyOf".to_owned(), either);
    }
}

/// Adds a schema that must hold as well.
pub(crate) fn push_all_of(map: &mut Map<String, Value>, schema: Value) {
    let list = map.entry("allOf").or_insert_with(|| Value::Array(Vec::new()));
    if let Some(list) = list.as_array_mut() {
        list.push(schema);
    }
}

/// Keeps the definitions that something still refers to, directly or through another definition.
pub(crate) fn prune(used_by: &[&Value], definitions: &mut Map<String, Value>) {
    let mut used = Vec::new();
    for schema in used_by {
        collect(schema, &mut used);
    }
    let mut next = 0;
    while let Some(name) = used.get(next).cloned() {
        if let Some(definition) = definitions.get(&name) {
            collect(definition, &mut used);
        }
        next += 1;
    }
    definitions.retain(|name, _| used.contains(name));
}

fn collect(schema: &Value, used: &mut Vec<String>) {
    let Some(map) = schema.as_object() else { return };
    if let Some(name) = map.get("$ref").and_then(Value::as_str).and_then(definition_name)
        && !used.contains(&name)
    {
        used.push(name);
    }
    walk::for_each_child(map, &mut |child| collect(child, used));
}

/// The name in `#/$defs/Name`, read back from its pointer form.
pub(crate) fn definition_name(reference: &str) -> Option<String> {
    let rest = reference.strip_prefix("#/$defs/")?;
    let first = rest.split('/').next().unwrap_or(rest);
    Some(percent_decode(first)?.replace("~1", "/").replace("~0", "~"))
}

// ---- The names that a schema publishes, gathered for the decoder.

/// Every name in the schema of a tool.
pub(crate) fn of(schema: &Value) -> Names {
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
