//! Enums of plain texts as one flat `enum`.
//!
//! schemars writes an enum whose variants are documented as a choice among one-value schemas, which some models and
//! providers handle badly. The documentation of the variants moves into the description.

use serde_json::{Map, Value};
use std::fmt::Write as _;

/// One variant: its text in JSON, and what is said about it.
struct Variant {
    name: String,
    about: String,
}

/// Turns a choice among texts into `{"type": "string", "enum": [...]}`, where it is nothing else.
pub(crate) fn flatten(map: &mut Map<String, Value>) {
    for keyword in ["oneOf", "anyOf"] {
        if map.contains_key("enum") || map.contains_key("const") {
            return;
        }
        if map.get("type").is_some_and(|kind| kind != "string") {
            return;
        }
        let Some(variants) = map.get(keyword).and_then(Value::as_array).and_then(|list| variants(list)) else {
            continue;
        };
        map.remove(keyword);
        map.insert("type".to_owned(), "string".into());
        let described = describe(&variants);
        if !described.is_empty() {
            append_description(map, &described);
        }
        map.insert("enum".to_owned(), variants.into_iter().map(|variant| Value::String(variant.name)).collect());
    }
}

/// Whether the schema is a choice among texts: what an enum without data looks like before it is made flat.
pub(crate) fn is_choice_of_texts(map: &Map<String, Value>) -> bool {
    map.get("oneOf").and_then(Value::as_array).is_some_and(|list| variants(list).is_some())
}

/// Adds a paragraph to a description.
pub(crate) fn append_description(map: &mut Map<String, Value>, text: &str) {
    let joined = match map.get("description").and_then(Value::as_str) {
        Some(there) if !there.is_empty() => format!("{there}\n\n{text}"),
        _ => text.to_owned(),
    };
    map.insert("description".to_owned(), joined.into());
}

/// The variants, where every branch is a text or several, and none stands twice: in a `oneOf` that would refuse it.
fn variants(branches: &[Value]) -> Option<Vec<Variant>> {
    let mut all: Vec<Variant> = Vec::with_capacity(branches.len());
    for branch in branches {
        for variant in of_branch(branch.as_object()?)? {
            if all.iter().any(|there| there.name == variant.name) {
                return None;
            }
            all.push(variant);
        }
    }
    (!all.is_empty()).then_some(all)
}

fn of_branch(branch: &Map<String, Value>) -> Option<Vec<Variant>> {
    let known = ["type", "const", "enum", "description", "title", "deprecated"];
    if !branch.keys().all(|keyword| known.contains(&keyword.as_str())) {
        return None;
    }
    if branch.get("type").is_some_and(|kind| kind != "string") {
        return None;
    }
    let names: Vec<&str> = match (branch.get("const"), branch.get("enum")) {
        (Some(value), None) => vec![value.as_str()?],
        (None, Some(values)) => values.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?,
        _ => return None,
    };
    let mut about = branch.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    if branch.get("deprecated").and_then(Value::as_bool) == Some(true) {
        about.push_str(if about.is_empty() { "deprecated" } else { " (deprecated)" });
    }
    Some(names.into_iter().map(|name| Variant { name: name.to_owned(), about: about.clone() }).collect())
}

/// One line for each variant that has something said about it.
fn describe(variants: &[Variant]) -> String {
    let mut text = String::new();
    for variant in variants.iter().filter(|variant| !variant.about.is_empty()) {
        if !text.is_empty() {
            text.push('\n');
        }
        // A paragraph of documentation is one line of the list.
        let about = variant.about.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = write!(text, "- `{}`: {about}", variant.name);
    }
    text
}
