//! An action and its parameters, as plain data.

use crate::schema::parameter::DefaultValue;
use crate::schema::walk;
use crate::tool::action_facts::Facts;
use crate::tool::definition::ToolDefinition;
use crate::tool::registration::Linked;
use crate::tool::spec::ToolFacts;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

/// Something that a toolset can do: a function to the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Action {
    /// The name by which a model calls it, prefix included.
    pub name: String,
    /// What the model reads.
    pub description: String,
    /// In the order of the signature, what flattened types add after the others.
    pub parameters: Vec<ActionParameter>,
    /// What it returns, in words; `any` where nothing was written.
    pub returns: String,
}

/// A parameter of an action. Its figures are those of the schema, which is what is enforced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ActionParameter {
    /// The name in JSON.
    pub name: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: ParameterType,
    /// What the model reads; may be empty.
    pub description: String,
    /// Whether it has to be given.
    pub required: bool,
    /// What it is where it is not given. Absent too where not giving it means just that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// All values it may have; of an array, all values its items may have.
    #[serde(default, rename = "enum", skip_serializing_if = "Option::is_none")]
    pub one_of: Option<Vec<Value>>,
    /// The least value of a number, the least length of a text, the least number of items of an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<Number>,
    /// The same at the other end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Number>,
    /// Whether `min` itself is refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclusive_min: bool,
    /// Whether `max` itself is refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclusive_max: bool,
    /// The format of a text, such as `email`; of an array, that of its items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

/// What a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ParameterType {
    /// A text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// Yes or no.
    Boolean,
    /// A list.
    Array,
    /// An object, or JSON of several shapes.
    Object,
    /// An instant, as RFC 3339 text.
    DateTime,
}

// ---- From a tool's definition to an action.

impl Action {
    pub(crate) fn of(tool: &ToolDefinition) -> Self {
        let root = tool.parameters();
        let mut found = Vec::new();
        properties(root, root, 8, &mut found);
        // The properties of a schema have no order; the signature has one.
        let order = tool.parameter_order();
        let place = |name: &str| order.iter().position(|known| *known == name).unwrap_or(order.len());
        found.sort_by_key(|(name, _)| place(name));
        let mut parameters: Vec<ActionParameter> = Vec::with_capacity(found.len());
        for (name, schema) in found {
            let parameter = ActionParameter::of(name, schema, root);
            match parameters.iter_mut().find(|known| known.name == name) {
                Some(known) => merge(known, parameter),
                None if is_alias(&parameter, order) => {}
                None => parameters.push(parameter),
            }
        }
        Self {
            name: tool.name().to_owned(),
            description: tool.description().to_owned(),
            parameters,
            returns: tool.returns().unwrap_or("any").to_owned(),
        }
    }
}

impl ActionParameter {
    fn of(name: &str, schema: &Value, root: &Value) -> Self {
        let facts = Facts::of(schema, root);
        let kind = facts.kind();
        let items = facts.find("items").filter(|_| kind == ParameterType::Array).map(|items| Facts::of(items, root));
        let inner = items.as_ref().unwrap_or(&facts);
        let [min, max] = facts.bounds(kind);
        Self {
            name: name.to_owned(),
            kind,
            description: facts.find("description").and_then(Value::as_str).unwrap_or_default().to_owned(),
            required: is_required(root, name),
            default: facts.own("default").filter(|default| !default.is_null()).cloned(),
            one_of: inner.one_of(),
            exclusive_min: min.as_ref().is_some_and(|(_, exclusive)| *exclusive),
            min: min.map(|(limit, _)| limit),
            exclusive_max: max.as_ref().is_some_and(|(_, exclusive)| *exclusive),
            max: max.map(|(limit, _)| limit),
            format: inner.find("format").and_then(Value::as_str).map(str::to_owned),
        }
    }
}

/// All properties of an object's schema, in its branches too.
fn properties<'a>(schema: &'a Value, root: &'a Value, depth: usize, found: &mut Vec<(&'a str, &'a Value)>) {
    let (Some(map), Some(depth)) = (schema.as_object(), depth.checked_sub(1)) else { return };
    let own = map.get("properties").and_then(Value::as_object).into_iter().flatten();
    found.extend(own.map(|(name, schema)| (name.as_str(), schema)));
    if let Some(target) = map.get("$ref").and_then(Value::as_str).and_then(|name| walk::resolve(root, name)) {
        properties(target, root, depth, found);
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for branch in map.get(keyword).and_then(Value::as_array).into_iter().flatten() {
            properties(branch, root, depth, found);
        }
    }
}

/// A property that several shapes of a flattened type have, such as the one that tells them apart.
fn merge(known: &mut ActionParameter, other: ActionParameter) {
    known.one_of = match (known.one_of.take(), other.one_of) {
        (Some(mut values), Some(others)) => {
            values.extend(others);
            values.dedup();
            Some(values)
        }
        _ => None,
    };
    if known.kind != other.kind {
        known.kind = ParameterType::Object;
    }
}

/// A further name of a parameter is published as a property, which says so.
fn is_alias(parameter: &ActionParameter, order: &[&str]) -> bool {
    let target = parameter.description.strip_prefix("alias of `").and_then(|rest| rest.strip_suffix('`'));
    !order.contains(&parameter.name.as_str()) && target.is_some_and(|target| order.contains(&target))
}

fn is_required(root: &Value, name: &str) -> bool {
    let names = |schema: &Value| {
        schema.get("required").and_then(Value::as_array).is_some_and(|all| all.iter().any(|required| required == name))
    };
    // A parameter with aliases is required by a rule: one of its names, its own first.
    let by_rule = |rule: &Value| rule.pointer("/anyOf/0").is_some_and(|first| rule_of_names(rule) && names(first));
    names(root) || root.get("allOf").and_then(Value::as_array).is_some_and(|rules| rules.iter().any(by_rule))
}

fn rule_of_names(rule: &Value) -> bool {
    let only_names = |branch: &Value| branch.as_object().is_some_and(|map| map.keys().eq(["required"]));
    rule.get("anyOf").and_then(Value::as_array).is_some_and(|branches| branches.iter().all(only_names))
}

// ---- The actions of a toolset's type, before there is a value of it.

/// What a type's values can do. A default that an instance decides is not known here; its parameter is optional all the
/// same.
pub(crate) fn of_type(linked: &Linked) -> Vec<Action> {
    (linked.tools)().into_iter().map(|facts| action(facts, linked.facts.prefix)).collect()
}

fn action(facts: &ToolFacts, prefix: Option<&str>) -> Action {
    let mut action = Action::of(&ToolDefinition::of_facts(facts, &[], prefix));
    let decided_later = facts.parameters.iter().filter(|row| matches!(row.default, DefaultValue::Instance));
    for row in decided_later {
        if let Some(parameter) = action.parameters.iter_mut().find(|parameter| parameter.name == row.name) {
            parameter.required = false;
        }
    }
    action
}
