//! A projected schema as text, its parameters in the order of the tool.
//!
//! Models write arguments in the order in which they read parameters; a map of `serde_json` would sort them.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::HashMap;
use tool_core::ToolDefinition;

/// What comes first in the root, as in the canonical text.
const FIRST: [&str; 3] = ["type", "properties", "required"];

/// The text of `schema`, which is a projection of the tool's parameters.
pub(super) fn write(tool: &ToolDefinition, schema: &Value) -> serde_json::Result<Box<RawValue>> {
    if schema == tool.parameters() {
        return RawValue::from_string(tool.parameters_json().to_owned());
    }
    let order = Order::of(tool);
    let text = match schema {
        Value::Object(root) if order.says_something() => order.root(root),
        other => other.to_string(),
    };
    RawValue::from_string(text)
}

struct Order<'a>(HashMap<&'a str, usize>);

impl<'a> Order<'a> {
    fn of(tool: &'a ToolDefinition) -> Self {
        Self(tool.parameter_order().iter().enumerate().map(|(at, name)| (*name, at)).collect())
    }

    fn says_something(&self) -> bool {
        self.0.len() > 1
    }

    /// Those of the signature first, then the others by name.
    fn sort<T>(&self, members: &mut [T], name: impl Fn(&T) -> Option<&str>) {
        members.sort_by_key(|member| name(member).and_then(|name| self.0.get(name)).copied().unwrap_or(usize::MAX));
    }

    fn root(&self, root: &Map<String, Value>) -> String {
        let mut text = String::from("{");
        let first = FIRST.iter().filter_map(|keyword| root.get_key_value(*keyword));
        let rest = root.iter().filter(|(keyword, _)| !FIRST.contains(&keyword.as_str()));
        for (keyword, value) in first.chain(rest) {
            match (keyword.as_str(), value) {
                ("properties", Value::Object(named)) => self.properties(named, &mut text),
                ("required" | "propertyOrdering", Value::Array(names)) => {
                    let mut names = names.clone();
                    self.sort(&mut names, Value::as_str);
                    push(&mut text, keyword, &Value::Array(names).to_string());
                }
                _ => push(&mut text, keyword, &value.to_string()),
            }
        }
        text.push('}');
        text
    }

    fn properties(&self, named: &Map<String, Value>, text: &mut String) {
        let mut members = named.iter().collect::<Vec<_>>();
        self.sort(&mut members, |(name, _)| Some(name.as_str()));
        let mut inner = String::from("{");
        for (name, schema) in members {
            push(&mut inner, name, &schema.to_string());
        }
        inner.push('}');
        push(text, "properties", &inner);
    }
}

/// Adds a member whose value is JSON already.
fn push(text: &mut String, name: &str, json: &str) {
    if !text.ends_with('{') {
        text.push(',');
    }
    text.push_str(&Value::from(name).to_string());
    text.push(':');
    text.push_str(json);
}
