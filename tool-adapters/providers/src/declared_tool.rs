//! The declaration of one function tool, as JSON text.

use crate::schema::renames::PropertyRenames;
use serde_json::{Map, Value};
use std::collections::HashMap;
use tool_core::ToolDefinition;

/// A function tool in the form of a provider, before the provider's folder writes it.
pub(crate) struct DeclaredTool<'a> {
    pub(crate) definition: &'a ToolDefinition,
    /// The name at the provider.
    pub(crate) name: &'a str,
    /// The projected schema as JSON.
    pub(crate) schema: &'a str,
    pub(crate) strict: bool,
    /// True if the model finds the tool by the provider's own search.
    pub(crate) deferred: bool,
}

impl<'a> DeclaredTool<'a> {
    /// Returns the description; `None` if it is blank.
    pub(crate) fn description(&self) -> Option<&'a str> {
        Some(self.definition.description()).filter(|text| !text.trim().is_empty())
    }

    /// Returns the description, the title or the name, for providers that require a description.
    pub(crate) fn some_description(&self) -> &'a str {
        let title = self
            .definition
            .title()
            .filter(|text| !text.trim().is_empty());
        self.description()
            .or(title)
            .unwrap_or(self.definition.name())
    }

    /// Returns `Some(true)` for a strict tool, for providers that are not strict unless a
    /// declaration says so.
    pub(crate) fn strict_flag(&self) -> Option<bool> {
        self.strict.then_some(true)
    }

    /// Returns `Some(true)` for a deferred tool.
    pub(crate) fn deferred_flag(&self) -> Option<bool> {
        self.deferred.then_some(true)
    }

    /// Writes a function in OpenAI's form, with a `type` among its members.
    pub(crate) fn flat_function(&self, strict: Option<bool>) -> String {
        self.function(ObjectText::new().with("type", "function"), strict)
    }

    /// Writes a function in OpenAI's form, inside a `function` member.
    pub(crate) fn nested_function(&self, strict: Option<bool>) -> String {
        let function = self.function(ObjectText::new(), strict);
        ObjectText::new()
            .with("type", "function")
            .raw("function", &function)
            .finish()
    }

    fn function(&self, object: ObjectText, strict: Option<bool>) -> String {
        object
            .with("name", self.name)
            .with_some("description", self.description())
            .raw("parameters", self.schema)
            .with_some("strict", strict)
            .with_some("defer_loading", self.deferred_flag())
            .finish()
    }
}

/// The first members of the root, as in the canonical text.
const FIRST_MEMBERS: [&str; 3] = ["type", "properties", "required"];

/// Writes a projection of the tool's parameters, with the parameters in the order of the tool:
/// models write arguments in the order in which they read parameters.
pub(crate) fn write_schema(
    tool: &ToolDefinition,
    schema: &Value,
    renames: Option<&PropertyRenames>,
) -> String {
    if schema == tool.parameters() {
        return tool.parameters_json().to_owned();
    }
    let wire_name = |name| renames.map_or(name, |renames| renames.wire_name(name));
    let positions = tool
        .parameter_order()
        .iter()
        .enumerate()
        .map(|(at, name)| (wire_name(*name), at));
    let positions = positions.collect::<HashMap<_, _>>();
    match schema {
        Value::Object(root) if positions.len() > 1 => {
            Value::Object(order_parameters(root, &positions)).to_string()
        }
        other => other.to_string(),
    }
}

/// Sorts the members of a root: the first as in the canonical text, and parameters by their
/// positions in the signature.
fn order_parameters(
    root: &Map<String, Value>,
    positions: &HashMap<&str, usize>,
) -> Map<String, Value> {
    let position = |name: &str| positions.get(name).copied().unwrap_or(usize::MAX);
    let first = FIRST_MEMBERS
        .iter()
        .filter_map(|keyword| root.get_key_value(*keyword));
    let rest = root
        .iter()
        .filter(|(keyword, _)| !FIRST_MEMBERS.contains(&keyword.as_str()));
    let mut ordered = first
        .chain(rest)
        .map(|(keyword, value)| (keyword.clone(), value.clone()))
        .collect::<Map<_, _>>();
    if let Some(Value::Object(named)) = ordered.get_mut("properties") {
        let mut members = std::mem::take(named).into_iter().collect::<Vec<_>>();
        members.sort_by_key(|(name, _)| position(name));
        named.extend(members);
    }
    for keyword in ["required", "propertyOrdering"] {
        if let Some(Value::Array(names)) = ordered.get_mut(keyword) {
            names.sort_by_key(|name| name.as_str().map_or(usize::MAX, position));
        }
    }
    ordered
}

/// An object, member by member.
pub(crate) struct ObjectText(String);

impl ObjectText {
    pub(crate) fn new() -> Self {
        Self("{".to_owned())
    }

    /// Adds a member whose value is JSON text.
    pub(crate) fn raw(mut self, name: &str, json: &str) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&Value::from(name).to_string());
        self.0.push(':');
        self.0.push_str(json);
        self
    }

    /// Adds a member.
    pub(crate) fn with(self, name: &str, value: impl Into<Value>) -> Self {
        self.raw(name, &value.into().to_string())
    }

    /// Adds a member where there is a value.
    pub(crate) fn with_some(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(crate) fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// Writes an array of JSON texts.
pub(crate) fn json_array(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}
