//! From the parameter table to the canonical schema of a tool.
//!
//! One schema is published and enforced. It is assembled from what schemars says of each parameter's type, brought
//! into one form, and merged with what the signature and `#[arg]` add.

mod aliases;
mod check;
mod constraints;
mod enums;
mod example;
mod flatten;
mod integers;
mod names;
mod normalize;
mod nullable;
pub(crate) mod numbers;
mod pattern;
mod proof;
mod text;
pub(crate) mod walk;

#[cfg(test)]
mod tests;

use crate::__private::Constraint;
use crate::json::Names;
pub(crate) use example::minimal_example;
pub(crate) use normalize::ASSERTED_FORMATS;
pub(crate) use nullable::{Null, Nulls, allows_null};
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
struct Root {
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
) -> Result<Canonical, Vec<String>> {
    let mut needs_validator =
        proof::needs_validator(parameters.iter().map(|parameter| &parameter.schema), &definitions);
    needs_validator |=
        parameters.iter().any(|parameter| !parameter.constraints.is_empty() && proof::rounds(&parameter.schema));
    definitions.values_mut().for_each(normalize::normalize);
    let named = json!({ "$defs": definitions });
    let mut root = Root::default();
    let nulls = parameters.into_iter().map(|parameter| add(&mut root, parameter, &named, &definitions)).collect();
    if !root.problems.is_empty() {
        return Err(root.problems);
    }
    // Whether a flattened type is there at all is decided by a rule that no type upholds.
    needs_validator |= !root.dependent.is_empty() || !root.unions.is_empty();
    let used: Vec<&Value> =
        root.properties.iter().map(|(_, schema)| schema).chain(&root.unions).chain(&root.additional).collect();
    normalize::prune(&used, &mut definitions);
    let (value, text) = text::write(root, definitions);
    let known = names::of(&value);
    Ok(Canonical { value, text, needs_validator, nulls, names: known })
}

/// Adds one parameter to the root and says what `null` means for it.
fn add(root: &mut Root, mut parameter: ParameterInput<'_>, named: &Value, definitions: &Map<String, Value>) -> Null {
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
    for problem in check::values(&parameter, &schema, definitions) {
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
        aliases::publish(root, &parameter, &schema, required);
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
