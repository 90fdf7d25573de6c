//! From the parameter table to the canonical schema of a tool.
//!
//! One schema is published and enforced. It is assembled from what schemars says of each parameter's type, brought
//! into one form, and merged with what the signature and `#[arg]` add.

pub(crate) mod canonical;
pub(crate) mod constraints;
pub(crate) mod drafts;
pub(crate) mod enums;
pub(crate) mod example;
pub(crate) mod flatten;
pub(crate) mod normalize;
pub(crate) mod nullable;
pub(crate) mod numbers;
pub(crate) mod parameter;
pub(crate) mod proof;
pub(crate) mod timestamp;
pub(crate) mod validator;
pub(crate) mod walk;

pub use drafts::to_draft_2020_12;
pub use walk::{LIST_KEYWORDS, MAP_KEYWORDS, SCHEMA_KEYWORDS, is_annotation, is_schema, join_pointer, percent_decode};

#[cfg(test)]
mod tests;

use crate::json::keys::Names;
use crate::schema::nullable::{Null, Nulls, allows_null};
use crate::schema::parameter::Constraint;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// One row of the parameter table, with its functions called.
pub(crate) struct ParameterInput<'a> {
    /// The name in JSON.
    pub(crate) name: &'a str,
    /// Further names.
    pub(crate) aliases: &'a [&'a str],
    /// What the model reads; empty where nothing was written.
    pub(crate) description: &'a str,
    /// The schema as schemars wrote it.
    pub(crate) schema: Value,
    /// Whether the type decodes from nothing.
    pub(crate) optional: bool,
    /// The default, where there is one.
    pub(crate) default: Option<Value>,
    /// Limits from `#[arg]`.
    pub(crate) constraints: &'a [Constraint],
    /// Example values.
    pub(crate) examples: Vec<Value>,
    /// Whether the type's properties stand among the tool's own.
    pub(crate) flatten: bool,
}

/// Checks the default and the examples of a parameter against its schema and `$defs`. Returns one line for each problem.
pub(crate) type CheckValues = fn(&ParameterInput<'_>, &Value, &Map<String, Value>) -> Vec<String>;

/// The schema of a tool's arguments, as it is published and enforced.
#[derive(Clone, Debug)]
pub(crate) struct Canonical {
    /// As a value.
    pub(crate) value: Value,
    /// As compact JSON, parameters in the order of the signature.
    pub(crate) text: String,
    /// Whether the types alone do not uphold all of it.
    pub(crate) needs_validator: bool,
    /// What `null` means for each parameter.
    pub(crate) nulls: Nulls,
    /// The names that are published.
    pub(crate) names: Names,
}

/// What writes the schemas of arguments.
pub(crate) fn generator() -> SchemaGenerator {
    settings().for_deserialize().into_generator()
}

/// What writes the schemas of results.
pub(crate) fn output_generator() -> SchemaGenerator {
    settings().for_serialize().into_generator()
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None)
}

/// The root while it is put together.
#[derive(Default)]
pub(crate) struct Root {
    properties: Vec<(String, Value)>,
    required: Vec<String>,
    /// What a property without a name of its own must be; unknown names are refused where there is nothing.
    additional: Option<Value>,
    /// Flattened types that are more than a list of properties.
    unions: Vec<Value>,
    /// Rules between properties.
    rules: Vec<Value>,
    dependent: Map<String, Value>,
    problems: Vec<String>,
}

impl Root {
    fn problem(&mut self, parameter: &str, text: impl AsRef<str>) {
        self.problems.push(format!("parameter `{parameter}`: {}", text.as_ref()));
    }

    fn property(&mut self, parameter: &str, name: String, schema: Value) {
        if self.properties.iter().any(|(there, _)| *there == name) {
            self.problem(parameter, format!("the name `{name}` is already used by another parameter"));
        } else {
            self.properties.push((name, schema));
        }
    }
}

/// Builds the schema of a tool, or says everything that is wrong with it.
pub(crate) fn canonical(
    parameters: Vec<ParameterInput<'_>>,
    mut definitions: Map<String, Value>,
    check: CheckValues,
) -> Result<Canonical, Vec<String>> {
    let mut needs_validator =
        proof::needs_validator(parameters.iter().map(|parameter| &parameter.schema), &definitions);
    needs_validator |=
        parameters.iter().any(|parameter| !parameter.constraints.is_empty() && proof::rounds(&parameter.schema));
    definitions.values_mut().for_each(normalize::normalize);
    let named = json!({ "$defs": definitions });
    let mut root = Root::default();
    let nulls =
        parameters.into_iter().map(|parameter| add(&mut root, parameter, &named, &definitions, check)).collect();
    if !root.problems.is_empty() {
        return Err(root.problems);
    }
    // Whether a flattened type is there at all is decided by a rule that no type upholds.
    needs_validator |= !root.dependent.is_empty() || !root.unions.is_empty();
    let used: Vec<&Value> =
        root.properties.iter().map(|(_, schema)| schema).chain(&root.unions).chain(&root.additional).collect();
    normalize::prune(&used, &mut definitions);
    let (value, text) = write(root, definitions);
    let known = normalize::of(&value);
    Ok(Canonical { value, text, needs_validator, nulls, names: known })
}

/// Adds one parameter to the root and says what `null` means for it.
fn add(
    root: &mut Root,
    mut parameter: ParameterInput<'_>,
    named: &Value,
    definitions: &Map<String, Value>,
    check: CheckValues,
) -> Null {
    let mut schema = std::mem::take(&mut parameter.schema);
    normalize::normalize(&mut schema);
    if parameter.flatten {
        flatten::merge(root, &parameter, &schema, named);
        return Null::Refused;
    }
    let required = !parameter.optional && parameter.default.is_none();
    if parameter.optional {
        nullable::strip_null(&mut schema);
    }
    for problem in constraints::apply(&mut schema, parameter.constraints, named) {
        root.problem(parameter.name, problem);
    }
    for problem in check(&parameter, &schema, definitions) {
        root.problem(parameter.name, problem);
    }
    let null = match (allows_null(&schema, named), required) {
        (true, _) => Null::Allowed,
        (false, true) => Null::Refused,
        (false, false) => Null::Absent,
    };
    annotate(&mut schema, &mut parameter, required);
    if required && parameter.aliases.is_empty() {
        root.required.push(parameter.name.to_owned());
    }
    root.property(parameter.name, parameter.name.to_owned(), schema.clone());
    if !parameter.aliases.is_empty() {
        flatten::publish(root, &parameter, &schema, required);
    }
    null
}

/// Writes description, default and examples beside the type.
fn annotate(schema: &mut Value, parameter: &mut ParameterInput<'_>, required: bool) {
    let silent = parameter.description.is_empty() && required && parameter.examples.is_empty();
    if *schema == Value::Bool(true) && !silent {
        *schema = json!({});
    }
    let Some(map) = schema.as_object_mut() else { return };
    if !parameter.description.is_empty() {
        // What an enum says of its variants stays readable below what the parameter says of itself.
        let variants = map.remove("description").filter(|_| map.contains_key("enum"));
        map.insert("description".to_owned(), parameter.description.into());
        if let Some(text) = variants.as_ref().and_then(Value::as_str) {
            enums::append_description(map, text);
        }
    }
    if !required {
        map.insert("default".to_owned(), parameter.default.take().unwrap_or(Value::Null));
    }
    if !parameter.examples.is_empty() {
        map.insert("examples".to_owned(), std::mem::take(&mut parameter.examples).into());
    }
}

/// The same form for a schema that is no tool's own: that of a result, or one given at run time.
pub(crate) fn canonical_value(mut schema: Value) -> Value {
    normalize::normalize(&mut schema);
    let Some(map) = schema.as_object_mut() else { return schema };
    if let Some(Value::Object(mut definitions)) = map.remove("$defs") {
        let rest = Value::Object(std::mem::take(map));
        normalize::prune(&[&rest], &mut definitions);
        schema = rest;
        if let (false, Some(map)) = (definitions.is_empty(), schema.as_object_mut()) {
            map.insert("$defs".to_owned(), definitions.into());
        }
    }
    schema
}

// ---- The root of a tool's schema, as text and as a value.
//
// The text lists the parameters in the order of the signature, because models read in that order; a map of
// `serde_json` would sort them.

/// Writes the root. `Err` only where a value cannot be written as JSON, which no schema that was read as JSON is.
pub(crate) fn write(root: Root, definitions: Map<String, Value>) -> (Value, String) {
    let (mut value, mut text) = open(root.properties, root.required);
    let closes = if root.unions.is_empty() { "additionalProperties" } else { "unevaluatedProperties" };
    let empty = value.pointer("/properties").and_then(Value::as_object).is_none_or(Map::is_empty);
    let mut rest: Vec<(&str, Value)> = Vec::new();
    match root.additional {
        Some(schema) => rest.push((closes, schema)),
        // A tool without parameters says no more than that it takes an object.
        None if empty && root.unions.is_empty() => {}
        None => rest.push((closes, Value::Bool(false))),
    }
    if !root.dependent.is_empty() {
        rest.push(("dependentRequired", root.dependent.into()));
    }
    let all: Vec<Value> = root.unions.into_iter().chain(root.rules).collect();
    if !all.is_empty() {
        rest.push(("allOf", all.into()));
    }
    if !definitions.is_empty() {
        rest.push(("$defs", definitions.into()));
    }
    for (keyword, schema) in rest {
        push_member(&mut text, keyword, &schema);
        if let Some(map) = value.as_object_mut() {
            map.insert(keyword.to_owned(), schema);
        }
    }
    text.push('}');
    (value, text)
}

/// Everything up to and with `required`; the text is left open.
fn open(properties: Vec<(String, Value)>, required: Vec<String>) -> (Value, String) {
    let mut text = String::from(r#"{"type":"object","properties":{"#);
    let mut map = Map::new();
    for (name, schema) in properties {
        if !map.is_empty() {
            text.push(',');
        }
        text.push_str(&Value::String(name.clone()).to_string());
        text.push(':');
        text.push_str(&schema.to_string());
        map.insert(name, schema);
    }
    text.push('}');
    let mut value = json!({"type": "object", "properties": map});
    if !required.is_empty() {
        let required = Value::from(required);
        push_member(&mut text, "required", &required);
        if let Some(map) = value.as_object_mut() {
            map.insert("required".to_owned(), required);
        }
    }
    (value, text)
}

fn push_member(text: &mut String, keyword: &str, value: &Value) {
    text.push_str(",\"");
    text.push_str(keyword);
    text.push_str("\":");
    text.push_str(&value.to_string());
}
