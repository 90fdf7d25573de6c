//! Actions: the tools of a toolset as plain data, for a user interface that does not read JSON
//! Schema.

use crate::arguments::view::{SchemaView, visit_in_place};
use crate::json::number::compare;
use crate::schema::nullable::is_null_only;
use crate::schema::parameter::DefaultValue;
use crate::schema::walk;
use crate::tool::definition::{ToolDefinition, ToolDescriptor};
use crate::tool::spec::LinkedToolset;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use std::cmp::Ordering;

/// The maximum depth of references and branches that are followed.
const MAX_DEPTH: usize = 8;

/// An action of a toolset: a function, to the model.
///
/// ```
/// use tool_core::tool::ParameterType;
/// use tool_core::{ToolContext, tool};
///
/// /// Reserve a table.
/// #[tool(category = "action")]
/// fn reserve(#[arg(range(1..=8))] guests: u8, name: Option<String>) -> String {
///     format!("a table for {guests} on the name {}", name.unwrap_or_default())
/// }
///
/// let toolsets = ToolContext::builder().with(reserve).build()?.actions();
/// let action = &toolsets[0].actions[0];
/// assert_eq!((&*action.name, &*action.description), ("reserve", "Reserve a table."));
///
/// // A form shows a number field from 1 to 8, and an optional text field.
/// let [guests, name] = &action.parameters[..] else { panic!("expected two parameters") };
/// assert_eq!((guests.kind, guests.required, guests.max.clone()), (ParameterType::Integer, true, Some(8.into())));
/// assert_eq!((name.kind, name.required), (ParameterType::String, false));
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Action {
    /// The name by which a model calls it, with its prefix.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// The parameters in the order of the signature, followed by those of flattened types.
    pub parameters: Vec<ActionParameter>,
    /// A description of the result; `any` where none was written.
    pub returns: String,
}

/// A parameter of an action. Its limits are those of the enforced schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ActionParameter {
    /// The name in JSON.
    pub name: String,
    /// The type.
    #[serde(rename = "type")]
    pub kind: ParameterType,
    /// The description for the model; may be empty.
    pub description: String,
    /// True where a call has to include the parameter.
    pub required: bool,
    /// The value of an omitted parameter; absent also where an omitted parameter has no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The allowed values; of an array, the allowed values of its items.
    #[serde(default, rename = "enum", skip_serializing_if = "Option::is_none")]
    pub one_of: Option<Vec<Value>>,
    /// The minimum value of a number, minimum length of a text, or minimum number of items of an
    /// array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<Number>,
    /// The maximum value of a number, maximum length of a text, or maximum number of items of an
    /// array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Number>,
    /// True where `min` itself is not allowed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclusive_min: bool,
    /// True where `max` itself is not allowed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclusive_max: bool,
    /// The format of a text, such as `email`; of an array, the format of its items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

/// The type of a parameter.
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
    /// True or false.
    Boolean,
    /// A list.
    Array,
    /// An object, or JSON of several types.
    Object,
    /// A timestamp, as RFC 3339 text.
    DateTime,
}

impl Action {
    pub(crate) fn of(tool: &ToolDefinition) -> Self {
        let root = tool.parameters();
        let mut found = Vec::new();
        visit_in_place(root, root, MAX_DEPTH, &mut |schema| {
            found.extend(
                schema
                    .get("properties")
                    .and_then(Value::as_object)
                    .into_iter()
                    .flatten(),
            );
        });
        // A variant refuses the names of others by `false`, which says nothing about their type.
        found.retain(|(_, schema)| **schema != Value::Bool(false));
        // The properties of a schema have no order, but the signature has one.
        let order = tool.parameter_order();
        let position = |name: &str| {
            order
                .iter()
                .position(|known| *known == name)
                .unwrap_or(order.len())
        };
        found.sort_by_key(|(name, _)| position(name));
        let mut parameters: Vec<ActionParameter> = Vec::with_capacity(found.len());
        for (name, schema) in found {
            let parameter = ActionParameter::of(name, schema, root);
            match parameters.iter_mut().find(|known| known.name == *name) {
                Some(known) => known.merge(parameter),
                None if parameter.is_alias(order) => {}
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

/// Returns the actions of a toolset's type. Defaults that an instance decides are not known yet;
/// their parameters are optional.
pub(crate) fn actions_of_type(linked: &LinkedToolset) -> Vec<Action> {
    (linked.tools)()
        .into_iter()
        .map(|tool| action_of_descriptor(tool, linked.toolset.prefix))
        .collect()
}

fn action_of_descriptor(tool: &ToolDescriptor, prefix: Option<&str>) -> Action {
    let mut action = Action::of(&ToolDefinition::of_descriptor(tool, &[], prefix));
    for row in tool
        .parameters
        .iter()
        .filter(|row| matches!(row.default, DefaultValue::Instance))
    {
        if let Some(parameter) = action
            .parameters
            .iter_mut()
            .find(|parameter| parameter.name == row.name)
        {
            parameter.required = false;
        }
    }
    action
}

impl ActionParameter {
    fn of(name: &str, schema: &Value, root: &Value) -> Self {
        let default = schema
            .get("default")
            .filter(|default| !default.is_null())
            .cloned();
        let schema = ResolvedSchema::new(schema, root);
        let kind = schema.kind();
        let items = schema
            .find("items")
            .filter(|_| kind == ParameterType::Array);
        let items = items.map(|items| ResolvedSchema::new(items, root));
        let inner = items.as_ref().unwrap_or(&schema);
        let [min, max] = schema.bounds(kind);
        Self {
            name: name.to_owned(),
            kind,
            description: schema
                .find("description")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            required: is_required(root, name),
            default,
            one_of: inner.one_of(),
            exclusive_min: min.as_ref().is_some_and(|min| min.exclusive),
            min: min.map(|min| min.value),
            exclusive_max: max.as_ref().is_some_and(|max| max.exclusive),
            max: max.map(|max| max.value),
            format: inner
                .find("format")
                .and_then(Value::as_str)
                .map(str::to_owned),
        }
    }

    /// Merges the property of another variant of a flattened type, such as its tag. What is left
    /// holds for all variants.
    fn merge(&mut self, other: Self) {
        let kinds = [self.kind, other.kind].map(Some);
        self.kind = common_kind(kinds.into_iter()).unwrap_or(ParameterType::Object);
        let is_comparable = self.kind != ParameterType::Object;
        let min = wider(self.min_limit(), other.min_limit(), true).filter(|_| is_comparable);
        let max = wider(self.max_limit(), other.max_limit(), false).filter(|_| is_comparable);
        self.exclusive_min = min.as_ref().is_some_and(|min| min.exclusive);
        self.min = min.map(|min| min.value);
        self.exclusive_max = max.as_ref().is_some_and(|max| max.exclusive);
        self.max = max.map(|max| max.value);

        self.one_of = match (self.one_of.take(), other.one_of) {
            (Some(mut values), Some(others)) => {
                for value in others {
                    if !values.contains(&value) {
                        values.push(value);
                    }
                }
                Some(values)
            }
            _ => None,
        };
        if self.default != other.default {
            self.default = None;
        }
        if self.format != other.format {
            self.format = None;
        }
    }

    fn min_limit(&self) -> Option<Limit> {
        Some(Limit {
            value: self.min.clone()?,
            exclusive: self.exclusive_min,
        })
    }

    fn max_limit(&self) -> Option<Limit> {
        Some(Limit {
            value: self.max.clone()?,
            exclusive: self.exclusive_max,
        })
    }

    /// Returns true for an alias of another parameter. The schema publishes it as a property with
    /// such a description.
    fn is_alias(&self, order: &[&str]) -> bool {
        let target = self
            .description
            .strip_prefix("alias of `")
            .and_then(|rest| rest.strip_suffix('`'));
        !order.contains(&self.name.as_str()) && target.is_some_and(|target| order.contains(&target))
    }
}

fn is_required(root: &Value, name: &str) -> bool {
    // A parameter with aliases is required by a rule over all of its names, its own name first.
    let by_rule = |rule: &Value| {
        rule.pointer("/anyOf/0")
            .is_some_and(|first| is_rule_of_names(rule) && lists_as_required(first, name))
    };
    requires(root, root, name, MAX_DEPTH)
        || root
            .get("allOf")
            .and_then(Value::as_array)
            .is_some_and(|rules| rules.iter().any(by_rule))
}

/// Returns true if every object that a schema accepts has the property.
fn requires(schema: &Value, root: &Value, name: &str, depth: usize) -> bool {
    let (Some(map), Some(depth)) = (schema.as_object(), depth.checked_sub(1)) else {
        return false;
    };
    let requires = |schema: &Value| requires(schema, root, name, depth);
    let by_variants = ["anyOf", "oneOf"].into_iter().any(|keyword| {
        let mut variants = walk::branches(map, keyword).peekable();
        variants.peek().is_some() && variants.all(requires)
    });
    lists_as_required(schema, name)
        || by_variants
        || walk::branches(map, "allOf").any(requires)
        || walk::referenced(map, root).is_some_and(requires)
}

fn lists_as_required(schema: &Value, name: &str) -> bool {
    let names = schema.get("required").and_then(Value::as_array);
    names.is_some_and(|names| names.iter().any(|required| required == name))
}

fn is_rule_of_names(rule: &Value) -> bool {
    let only_names = |branch: &Value| {
        branch
            .as_object()
            .is_some_and(|map| map.keys().eq(["required"]))
    };
    rule.get("anyOf")
        .and_then(Value::as_array)
        .is_some_and(|branches| branches.iter().all(only_names))
}

/// A limit of a value.
struct Limit {
    value: Number,
    /// True where the value itself is not allowed.
    exclusive: bool,
}

/// A schema together with the schemas it refers to: all of them apply to the same value. The
/// nearest comes first.
struct ResolvedSchema<'a> {
    view: SchemaView<'a>,
    root: &'a Value,
}

impl<'a> ResolvedSchema<'a> {
    fn new(schema: &'a Value, root: &'a Value) -> Self {
        Self {
            view: SchemaView::with_only_branches(schema, root),
            root,
        }
    }

    /// Returns the nearest value of a keyword.
    fn find(&self, keyword: &str) -> Option<&'a Value> {
        self.view.find(keyword)
    }

    fn kind(&self) -> ParameterType {
        self.kind_within(MAX_DEPTH).unwrap_or(ParameterType::Object)
    }

    fn kind_within(&self, depth: usize) -> Option<ParameterType> {
        let depth = depth.checked_sub(1)?;
        if let Some(names) = self.find("type") {
            let names = names
                .as_array()
                .map_or(std::slice::from_ref(names), Vec::as_slice);
            let names = names
                .iter()
                .filter_map(Value::as_str)
                .filter(|name| *name != "null");
            return common_kind(names.map(|name| Some(self.kind_named(name))));
        }
        if let Some(values) = self.one_of() {
            let values = values.iter().filter(|value| !value.is_null());
            return common_kind(values.map(|value| Some(self.kind_named(type_name(value)))));
        }
        let branches = self
            .find("anyOf")
            .or_else(|| self.find("oneOf"))?
            .as_array()?;
        let branches = branches.iter().filter(|branch| !is_null_only(branch));
        common_kind(
            branches.map(|branch| ResolvedSchema::new(branch, self.root).kind_within(depth)),
        )
    }

    fn kind_named(&self, name: &str) -> ParameterType {
        match name {
            "string"
                if self
                    .find("format")
                    .is_some_and(|format| format == "date-time") =>
            {
                ParameterType::DateTime
            }
            "string" => ParameterType::String,
            "integer" => ParameterType::Integer,
            "number" => ParameterType::Number,
            "boolean" => ParameterType::Boolean,
            "array" => ParameterType::Array,
            _ => ParameterType::Object,
        }
    }

    /// Returns the allowed values without null, where the schema lists them.
    fn one_of(&self) -> Option<Vec<Value>> {
        if let Some(value) = self.find("const") {
            return Some(vec![value.clone()]);
        }
        let values = self.find("enum")?.as_array()?;
        Some(
            values
                .iter()
                .filter(|value| !value.is_null())
                .cloned()
                .collect(),
        )
    }

    /// Returns the lower and the upper limit of a number, or of the length of a text or an array.
    fn bounds(&self, kind: ParameterType) -> [Option<Limit>; 2] {
        let [lower, upper]: [&[&str]; 2] = match kind {
            ParameterType::Integer | ParameterType::Number => [
                &["minimum", "exclusiveMinimum"],
                &["maximum", "exclusiveMaximum"],
            ],
            ParameterType::String | ParameterType::DateTime => [&["minLength"], &["maxLength"]],
            ParameterType::Array => [&["minItems"], &["maxItems"]],
            ParameterType::Boolean | ParameterType::Object => return [None, None],
        };
        [self.tightest(lower, true), self.tightest(upper, false)]
    }

    /// Returns the tightest limit that the keywords set.
    fn tightest(&self, keywords: &[&str], lower: bool) -> Option<Limit> {
        let limits = keywords.iter().flat_map(|keyword| {
            let values = self
                .view
                .parts
                .iter()
                .filter_map(|part| part.get(*keyword)?.as_number());
            values.map(|value| Limit {
                value: value.clone(),
                exclusive: keyword.starts_with("exclusive"),
            })
        });
        limits.reduce(|a, b| tighter(a, b, lower))
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns the type that covers all of `kinds`; `None` where there is none, or where one is not
/// known.
fn common_kind(kinds: impl Iterator<Item = Option<ParameterType>>) -> Option<ParameterType> {
    use ParameterType::{DateTime, Integer, Number, String};
    kinds.reduce(|a, b| match (a?, b?) {
        (a, b) if a == b => Some(a),
        (Integer, Number) | (Number, Integer) => Some(Number),
        (String, DateTime) | (DateTime, String) => Some(String),
        _ => None,
    })?
}

fn tighter(a: Limit, b: Limit, lower: bool) -> Limit {
    if tightness(&a, &b, lower).is_ge() {
        a
    } else {
        b
    }
}

/// Returns the wider one of two limits. Without a limit, every value is allowed.
fn wider(a: Option<Limit>, b: Option<Limit>, lower: bool) -> Option<Limit> {
    let a = a?;
    let b = b?;
    let wider = if tightness(&a, &b, lower).is_le() {
        a
    } else {
        b
    };
    Some(wider)
}

/// Compares two limits. Of two with the same value, the exclusive one is tighter.
fn tightness(a: &Limit, b: &Limit, lower: bool) -> Ordering {
    let order = compare(&a.value, &b.value);
    let order = if lower { order } else { order.reverse() };
    order.then(a.exclusive.cmp(&b.exclusive))
}
