//! One form for what schemars can write in several.

use crate::schema::constraints::{publish_bounds, push_all_of};
use crate::schema::walk;
use serde_json::{Map, Value, json};

/// The keyword by which a schema declares that its Rust type refuses whatever the schema refuses.
pub(crate) const PROVEN: &str = "x-proven";

/// The keyword by which the schema of a setting declares whether secrets are bound to it.
pub(crate) const BINDS_SECRET: &str = "x-binds-secret";

/// Normalizes a schema and all its subschemas.
pub(crate) fn normalize(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else {
        return;
    };
    for noise in ["$schema", "title", PROVEN, BINDS_SECRET] {
        map.remove(noise);
    }
    walk::for_each_child_mut(map, &mut normalize);
    publish_bounds(map);
    tighten_integer_keys(map);
    split_ip(map);
    flatten_enum(map);
}

/// Allows one spelling of an integer key. `7` and `007` would be the same key twice.
fn tighten_integer_keys(map: &mut Map<String, Value>) {
    let Some(patterns) = map
        .get_mut("patternProperties")
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    for (loose, tight) in [
        (r"^\d+$", r"^(0|[1-9]\d*)$"),
        (r"^-?\d+$", r"^(0|-?[1-9]\d*)$"),
    ] {
        if let Some(schema) = patterns.remove(loose) {
            patterns.insert(tight.to_owned(), schema);
        }
    }
}

/// Replaces `format: "ip"`, which JSON Schema does not have, by a choice of the two formats that it
/// has.
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

/// Adds a paragraph to a description.
pub(crate) fn append_description(map: &mut Map<String, Value>, text: &str) {
    let joined = match map.get("description").and_then(Value::as_str) {
        Some(existing) if !existing.is_empty() => format!("{existing}\n\n{text}"),
        _ => text.to_owned(),
    };
    map.insert("description".to_owned(), joined.into());
}

/// Keeps the definitions that the schemas refer to, directly or through another definition.
pub(crate) fn prune(schemas: &[&Value], definitions: &mut Map<String, Value>) {
    let mut used = Vec::new();
    for schema in schemas {
        collect_references(schema, &mut used);
    }
    let mut next = 0;
    while let Some(name) = used.get(next).cloned() {
        if let Some(definition) = definitions.get(&name) {
            collect_references(definition, &mut used);
        }
        next += 1;
    }
    definitions.retain(|name, _| used.contains(name));
}

fn collect_references(schema: &Value, used: &mut Vec<String>) {
    let Some(map) = schema.as_object() else {
        return;
    };
    if let Some(name) = map
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(definition_name)
        && !used.contains(&name)
    {
        used.push(name);
    }
    walk::for_each_child(map, &mut |child| collect_references(child, used));
}

/// Returns the name in a reference such as `#/$defs/Name`, without the escapes of its pointer.
pub(crate) fn definition_name(reference: &str) -> Option<String> {
    let rest = reference.strip_prefix("#/$defs/")?;
    let first = rest.split('/').next().unwrap_or(rest);
    Some(
        walk::percent_decode(first)?
            .replace("~1", "/")
            .replace("~0", "~"),
    )
}

/// A variant of an enum: its text in JSON and its documentation.
struct EnumVariant {
    name: String,
    description: String,
}

/// Turns a choice among strings into `{"type": "string", "enum": [...]}`.
///
/// schemars writes an enum whose variants are documented as a choice among one-value schemas, which
/// some models and providers handle badly. The documentation of the variants moves into the
/// description.
fn flatten_enum(map: &mut Map<String, Value>) {
    if map.contains_key("enum")
        || map.contains_key("const")
        || map.get("type").is_some_and(|kind| kind != "string")
    {
        return;
    }
    let choice = |keyword| Some((keyword, enum_variants(map.get(keyword)?.as_array()?)?));
    let Some((keyword, variants)) = ["oneOf", "anyOf"].into_iter().find_map(choice) else {
        return;
    };
    map.remove(keyword);
    map.insert("type".to_owned(), "string".into());
    let described = describe_variants(&variants);
    if !described.is_empty() {
        append_description(map, &described);
    }
    map.insert(
        "enum".to_owned(),
        variants
            .into_iter()
            .map(|variant| Value::String(variant.name))
            .collect(),
    );
}

/// Returns the strings of a choice among strings, as schemars writes an enum without data.
pub(crate) fn choice_of_strings(map: &Map<String, Value>) -> Option<Vec<String>> {
    let variants = enum_variants(map.get("oneOf")?.as_array()?)?;
    Some(variants.into_iter().map(|variant| variant.name).collect())
}

/// Returns the variants if every branch is one or more strings and none is repeated. A `oneOf`
/// would refuse a repeated one.
fn enum_variants(branches: &[Value]) -> Option<Vec<EnumVariant>> {
    let mut all: Vec<EnumVariant> = Vec::with_capacity(branches.len());
    for branch in branches {
        for variant in branch_variants(branch.as_object()?)? {
            if all.iter().any(|other| other.name == variant.name) {
                return None;
            }
            all.push(variant);
        }
    }
    (!all.is_empty()).then_some(all)
}

fn branch_variants(branch: &Map<String, Value>) -> Option<Vec<EnumVariant>> {
    let known = [
        "type",
        "const",
        "enum",
        "description",
        "title",
        "deprecated",
    ];
    if !branch
        .keys()
        .all(|keyword| known.contains(&keyword.as_str()))
    {
        return None;
    }
    if branch.get("type").is_some_and(|kind| kind != "string") {
        return None;
    }
    let names: Vec<&str> = match (branch.get("const"), branch.get("enum")) {
        (Some(value), None) => vec![value.as_str()?],
        (None, Some(values)) => values
            .as_array()?
            .iter()
            .map(Value::as_str)
            .collect::<Option<_>>()?,
        _ => return None,
    };
    let mut description = branch
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if branch.get("deprecated").and_then(Value::as_bool) == Some(true) {
        description.push_str(if description.is_empty() {
            "deprecated"
        } else {
            " (deprecated)"
        });
    }
    let variant = |name: &str| EnumVariant {
        name: name.to_owned(),
        description: description.clone(),
    };
    Some(names.into_iter().map(variant).collect())
}

/// Returns one line for each documented variant.
fn describe_variants(variants: &[EnumVariant]) -> String {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let documented = variants
        .iter()
        .filter(|variant| !variant.description.is_empty());
    let lines =
        documented.map(|variant| format!("- `{}`: {}", variant.name, words(&variant.description)));
    lines.collect::<Vec<_>>().join("\n")
}
