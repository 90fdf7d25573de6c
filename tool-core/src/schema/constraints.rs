//! The constraints of `#[arg]`, as keywords of the parameter's schema.

use crate::json::number::{compare, whole};
use crate::schema::bounds::{lower_maximum, raise_minimum, tighten_count};
use crate::schema::normalize::{ASSERTED_FORMATS, push_all_of};
use crate::schema::parameter::{Constraint, Literal, Number, Range};
use crate::schema::{nullable, walk};
use serde_json::{Map, Value, json};

/// Merges the constraints into the schema, and returns one line for each that cannot hold.
pub(crate) fn apply(schema: &mut Value, constraints: &[Constraint], root: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    for constraint in constraints {
        let target = match constraint {
            Constraint::Items(..) => &mut *schema,
            _ => element_or_self(schema, root),
        };
        let takes_null = nullable::allows_null(target, root);
        let Some(map) = as_object(target) else {
            problems.push(
                "its type accepts no value, so a constraint on it has no effect; remove the constraint".to_owned(),
            );
            continue;
        };
        merge(map, constraint, takes_null, &mut problems);
        check_bounds(map, &mut problems);
    }
    problems
}

fn merge(map: &mut Map<String, Value>, constraint: &Constraint, takes_null: bool, problems: &mut Vec<String>) {
    match constraint {
        Constraint::Range(range) => bound(map, range),
        Constraint::Length(min, max) => count(map, ["minLength", "maxLength"], *min, *max),
        Constraint::Items(min, max) => count(map, ["minItems", "maxItems"], *min, *max),
        Constraint::Pattern(pattern) => add(map, "pattern", pattern),
        Constraint::Format(format) if ASSERTED_FORMATS.contains(format) => add(map, "format", format),
        Constraint::Format(format) => {
            problems.push(format!("unknown format `{format}`, expected one of {}", ASSERTED_FORMATS.join(", ")));
        }
        Constraint::OneOf(literals) => choose(map, literals, takes_null, problems),
    }
}

/// Returns the schema of an array's innermost elements. Returns any other schema itself.
fn element_or_self<'a>(schema: &'a mut Value, root: &Value) -> &'a mut Value {
    if !is_array(schema, root) {
        return schema;
    }
    // Beside a reference there is no `items` yet. The constraint is added to what the named type says.
    let inherited = inherited_items(schema, root);
    match schema {
        Value::Object(map) => element_or_self(map.entry("items").or_insert(inherited), root),
        other => other,
    }
}

/// Returns the elements of a named array type if they are arrays themselves, so that the constraint reaches the innermost
/// elements.
fn inherited_items(schema: &Value, root: &Value) -> Value {
    let reached = walk::follow(root, schema).get("items");
    match reached {
        Some(items) if !std::ptr::eq(walk::follow(root, schema), schema) && is_array(items, root) => items.clone(),
        _ => json!({}),
    }
}

fn is_array(schema: &Value, root: &Value) -> bool {
    match walk::follow(root, schema).get("type") {
        Some(Value::String(name)) => name == "array",
        Some(Value::Array(names)) => names.iter().any(|name| name == "array"),
        _ => false,
    }
}

/// Returns the schema as an object that keywords can be added to. `true` becomes `{}`, which means the same.
fn as_object(schema: &mut Value) -> Option<&mut Map<String, Value>> {
    if *schema == Value::Bool(true) {
        *schema = json!({});
    }
    schema.as_object_mut()
}

fn bound(map: &mut Map<String, Value>, range: &Range) {
    if let Some(min) = range.min {
        raise_minimum(map, number(min));
    }
    if let Some(max) = range.max {
        lower_maximum(map, number(max), range.exclusive);
    }
}

fn count(map: &mut Map<String, Value>, [lower, upper]: [&str; 2], min: Option<u64>, max: Option<u64>) {
    if let Some(min) = min {
        tighten_count(map, lower, min, true);
    }
    if let Some(max) = max {
        tighten_count(map, upper, max, false);
    }
}

/// Adds a keyword that cannot be made tighter. A second value must hold beside the first.
fn add(map: &mut Map<String, Value>, keyword: &str, text: &str) {
    match map.get(keyword) {
        None => {
            map.insert(keyword.to_owned(), text.into());
        }
        Some(present) if present == text => {}
        Some(_) => push_all_of(map, json!({ keyword: text })),
    }
}

fn choose(map: &mut Map<String, Value>, literals: &[Literal], takes_null: bool, problems: &mut Vec<String>) {
    let mut values: Vec<Value> = literals.iter().map(literal).collect();
    if takes_null {
        values.push(Value::Null);
    }
    if let Some(present) = map.get("enum").and_then(Value::as_array) {
        values.retain(|value| present.iter().any(|present| is_equal(present, value)));
        if values.is_empty() {
            problems.push("no value of `one_of` is a value of its type".to_owned());
            return;
        }
    }
    map.insert("enum".to_owned(), values.into());
}

fn is_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare(left, right).is_eq(),
        _ => left == right,
    }
}

fn check_bounds(map: &Map<String, Value>, problems: &mut Vec<String>) {
    let at = |keyword: &str| match map.get(keyword) {
        Some(Value::Number(number)) => Some(number),
        _ => None,
    };
    let pairs = [("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems")];
    for (lower, upper) in pairs {
        if let (Some(low), Some(high)) = (at(lower), at(upper))
            && compare(low, high).is_gt()
        {
            problems.push(format!("no value fits: `{lower}` {low} is above `{upper}` {high}"));
        }
    }
    if let (Some(low), Some(high)) = (at("minimum"), at("exclusiveMaximum"))
        && compare(low, high).is_ge()
    {
        problems.push(format!("no value fits: `minimum` {low} is not below `exclusiveMaximum` {high}"));
    }
}

fn literal(literal: &Literal) -> Value {
    match literal {
        Literal::Str(text) => Value::from(*text),
        Literal::Number(value) => number(*value),
    }
}

fn number(value: Number) -> Value {
    match value {
        Number::Int(value) => whole(value),
        Number::Float(value) => Value::from(value),
    }
}
