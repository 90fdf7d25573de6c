//! A parameter whose type's own properties stand among the tool's.

use crate::schema::{ParameterInput, Root, nullable, walk};
use serde_json::{Map, Value, json};

/// Merges the parameter's type into the root, and says why where it cannot.
pub(crate) fn merge(root: &mut Root, parameter: &ParameterInput<'_>, schema: &Value, definitions: &Value) {
    let mut own = schema.clone();
    let may_be_absent = parameter.optional || parameter.default.is_some();
    if may_be_absent {
        nullable::strip_null(&mut own);
    }
    let mut object = walk::follow(definitions, &own).clone();
    if object == Value::Bool(true) {
        root.additional = Some(Value::Bool(true));
        return;
    }
    if !is_object(&object, definitions, 0) {
        root.problem(parameter.name, "`flatten` needs a type that is an object in JSON");
        return;
    }
    if let Some(map) = object.as_object_mut().filter(|map| is_plain(map)) {
        merge_plain(root, parameter.name, map, may_be_absent);
    } else {
        open(&mut object, definitions);
        root.unions.push(object);
    }
}

fn merge_plain(root: &mut Root, parameter: &str, map: &mut Map<String, Value>, may_be_absent: bool) {
    let required: Vec<String> = texts(map.get("required"));
    if let Some(Value::Object(properties)) = map.remove("properties") {
        for (name, schema) in properties {
            if may_be_absent {
                depend(root, &name, &required);
            }
            root.property(parameter, name, schema);
        }
    }
    if !may_be_absent {
        root.required.extend(required);
    }
    if let Some(rest @ (Value::Object(_) | Value::Bool(true))) = map.remove("additionalProperties") {
        root.additional = Some(rest);
    }
}

/// All or nothing: one property of a type that may be absent means that its required ones are there, too.
fn depend(root: &mut Root, name: &str, required: &[String]) {
    let others: Vec<Value> = required.iter().filter(|other| *other != name).cloned().map(Value::from).collect();
    if !others.is_empty() {
        root.dependent.insert(name.to_owned(), others.into());
    }
}

/// Whether nothing but properties stands in the way of writing them out among the tool's.
fn is_plain(map: &Map<String, Value>) -> bool {
    map.keys().all(|keyword| {
        matches!(keyword.as_str(), "type" | "properties" | "required" | "additionalProperties")
            || walk::is_annotation(keyword)
    })
}

fn is_object(schema: &Value, root: &Value, depth: usize) -> bool {
    let Some(map) = walk::follow(root, schema).as_object() else { return false };
    if depth > 32 {
        return false;
    }
    if let Some(kind) = map.get("type") {
        return kind == "object";
    }
    let branches = |keyword: &str| map.get(keyword).and_then(Value::as_array);
    let reference = map.get("$ref").and_then(Value::as_str).and_then(|name| walk::resolve(root, name));
    reference.is_some_and(|target| is_object(target, root, depth + 1))
        || ["oneOf", "anyOf"]
            .iter()
            .filter_map(|keyword| branches(keyword))
            .any(|list| list.iter().all(|branch| is_object(branch, root, depth + 1)))
        || branches("allOf").is_some_and(|list| list.iter().any(|branch| is_object(branch, root, depth + 1)))
        || map.contains_key("properties")
}

/// Lets the tool's other properties pass: which names are unknown is decided at the root.
fn open(schema: &mut Value, root: &Value) {
    let closed = |value: &Value| {
        value.get("additionalProperties") == Some(&Value::Bool(false))
            || value.get("unevaluatedProperties") == Some(&Value::Bool(false))
    };
    // A named branch that closes itself is written out here, because others may refer to it as it is.
    let target = walk::follow(root, schema);
    if closed(target) {
        *schema = target.clone();
    }
    let Some(map) = schema.as_object_mut() else { return };
    for keyword in ["additionalProperties", "unevaluatedProperties"] {
        if map.get(keyword) == Some(&Value::Bool(false)) {
            map.remove(keyword);
        }
    }
    for keyword in ["oneOf", "anyOf", "allOf"] {
        if let Some(Value::Array(branches)) = map.get_mut(keyword) {
            for branch in branches {
                open(branch, root);
            }
        }
    }
}

fn texts(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

// ---- Further names of a parameter, published as properties of their own.

/// Publishes the aliases of a parameter whose property has the given schema.
pub(crate) fn publish(root: &mut Root, parameter: &ParameterInput<'_>, schema: &Value, required: bool) {
    for alias in parameter.aliases {
        let mut same = if *schema == Value::Bool(true) { json!({}) } else { schema.clone() };
        if let Some(map) = same.as_object_mut() {
            // The default is the parameter's, and would otherwise be said twice.
            map.remove("default");
            map.remove("examples");
            map.insert("description".to_owned(), format!("alias of `{}`", parameter.name).into());
        }
        root.property(parameter.name, (*alias).to_owned(), same);
    }
    let names: Vec<&str> = std::iter::once(parameter.name).chain(parameter.aliases.iter().copied()).collect();
    if required {
        let any: Vec<Value> = names.iter().map(|name| json!({"required": [name]})).collect();
        root.rules.push(json!({"anyOf": any}));
    }
    // Two names of one parameter are the same key twice.
    for (position, first) in names.iter().enumerate() {
        for second in names.iter().skip(position + 1) {
            root.rules.push(json!({"not": {"required": [first, second]}}));
        }
    }
}
