//! The constraints of a parameter as keywords of its schema: those of `#[arg]`, and the range of a
//! numeric type.

use crate::json::number::{TWO_127, compare, whole};
use crate::schema::parameter::{self, Constraint, Literal};
use crate::schema::{nullable, walk};
use serde_json::{Map, Value, json};
use std::cmp::Ordering;

/// The formats that are checked. Any other format is an annotation.
pub(crate) const ASSERTED_FORMATS: &[&str] = &[
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
];

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

fn merge(
    map: &mut Map<String, Value>,
    constraint: &Constraint,
    takes_null: bool,
    problems: &mut Vec<String>,
) {
    match constraint {
        Constraint::Range(range) => {
            range
                .min
                .into_iter()
                .for_each(|min| raise_minimum(map, number(min)));
            range
                .max
                .into_iter()
                .for_each(|max| lower_maximum(map, number(max), range.exclusive));
        }
        Constraint::Length(min, max) => tighten_counts(map, "minLength", *min, "maxLength", *max),
        Constraint::Items(min, max) => tighten_counts(map, "minItems", *min, "maxItems", *max),
        Constraint::Pattern(pattern) => add(map, "pattern", pattern),
        Constraint::Format(format) if ASSERTED_FORMATS.contains(format) => {
            add(map, "format", format);
        }
        Constraint::Format(format) => {
            problems.push(format!(
                "unknown format `{format}`, expected one of {}",
                ASSERTED_FORMATS.join(", ")
            ));
        }
        Constraint::OneOf(literals) => choose(map, literals, takes_null, problems),
    }
}

/// Returns the schema of an array's innermost elements. Returns any other schema itself.
fn element_or_self<'a>(schema: &'a mut Value, root: &Value) -> &'a mut Value {
    if !is_array(schema, root) {
        return schema;
    }
    // Beside a reference there is no `items` yet. The constraint is added to what the named type
    // says.
    let inherited = inherited_items(schema, root);
    match schema {
        Value::Object(map) => element_or_self(map.entry("items").or_insert(inherited), root),
        other => other,
    }
}

/// Returns the elements of a named array type if they are arrays themselves, so that the constraint
/// reaches the innermost elements.
fn inherited_items(schema: &Value, root: &Value) -> Value {
    let reached = walk::follow(root, schema).get("items");
    match reached {
        Some(items)
            if !std::ptr::eq(walk::follow(root, schema), schema) && is_array(items, root) =>
        {
            items.clone()
        }
        _ => json!({}),
    }
}

fn is_array(schema: &Value, root: &Value) -> bool {
    walk::follow(root, schema)
        .as_object()
        .is_some_and(|map| walk::type_names(map).any(|name| name == "array"))
}

/// Returns the schema as an object that keywords can be added to. `true` becomes `{}`, which means
/// the same.
fn as_object(schema: &mut Value) -> Option<&mut Map<String, Value>> {
    if *schema == Value::Bool(true) {
        *schema = json!({});
    }
    schema.as_object_mut()
}

/// Raises the lower and lowers the upper bound of a count.
fn tighten_counts(
    map: &mut Map<String, Value>,
    lower: &str,
    min: Option<u64>,
    upper: &str,
    max: Option<u64>,
) {
    let present =
        |map: &Map<String, Value>, keyword: &str| map.get(keyword).and_then(Value::as_u64);
    if let Some(min) = min.filter(|min| present(map, lower).is_none_or(|present| present < *min)) {
        map.insert(lower.to_owned(), min.into());
    }
    if let Some(max) = max.filter(|max| present(map, upper).is_none_or(|present| present > *max)) {
        map.insert(upper.to_owned(), max.into());
    }
}

/// Adds a schema that must hold as well.
pub(crate) fn push_all_of(map: &mut Map<String, Value>, schema: Value) {
    let list = map
        .entry("allOf")
        .or_insert_with(|| Value::Array(Vec::new()));
    if let Some(list) = list.as_array_mut() {
        list.push(schema);
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

fn choose(
    map: &mut Map<String, Value>,
    literals: &[Literal],
    takes_null: bool,
    problems: &mut Vec<String>,
) {
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
    let at = |keyword: &str| map.get(keyword).and_then(Value::as_number);
    let pairs = [
        ("minimum", "maximum"),
        ("minLength", "maxLength"),
        ("minItems", "maxItems"),
    ];
    for (lower, upper) in pairs {
        if let (Some(low), Some(high)) = (at(lower), at(upper))
            && compare(low, high).is_gt()
        {
            problems.push(format!(
                "no value fits: `{lower}` {low} is above `{upper}` {high}"
            ));
        }
    }
    if let (Some(low), Some(high)) = (at("minimum"), at("exclusiveMaximum"))
        && compare(low, high).is_ge()
    {
        problems.push(format!(
            "no value fits: `minimum` {low} is not below `exclusiveMaximum` {high}"
        ));
    }
}

fn literal(literal: &Literal) -> Value {
    match literal {
        Literal::Str(text) => Value::from(*text),
        Literal::Number(value) => number(*value),
    }
}

fn number(value: parameter::Number) -> Value {
    match value {
        parameter::Number::Int(value) => whole(value),
        parameter::Number::Float(value) => Value::from(value),
    }
}

/// Sets the lower bound if it is higher than the present one.
fn raise_minimum(map: &mut Map<String, Value>, limit: Value) {
    let Value::Number(new) = &limit else { return };
    // An exclusive bound at or above the new one is tighter.
    if map
        .get("exclusiveMinimum")
        .and_then(Value::as_number)
        .is_some_and(|present| compare(present, new).is_ge())
    {
        return;
    }
    if map
        .get("minimum")
        .and_then(Value::as_number)
        .is_none_or(|present| compare(present, new).is_lt())
    {
        map.insert("minimum".to_owned(), limit);
    }
}

/// Sets the upper bound if it is lower than the present one, which it replaces.
fn lower_maximum(map: &mut Map<String, Value>, limit: Value, exclusive: bool) {
    let Value::Number(new) = &limit else { return };
    let (keyword, other) = if exclusive {
        ("exclusiveMaximum", "maximum")
    } else {
        ("maximum", "exclusiveMaximum")
    };
    if map
        .get(keyword)
        .and_then(Value::as_number)
        .is_some_and(|present| compare(present, new).is_le())
    {
        return;
    }
    let other_is_tighter = map
        .get(other)
        .and_then(Value::as_number)
        .is_some_and(|present| match compare(present, new) {
            Ordering::Less => true,
            Ordering::Equal => !exclusive,
            Ordering::Greater => false,
        });
    if other_is_tighter {
        return;
    }
    map.remove(other);
    map.insert(keyword.to_owned(), limit);
}

/// Returns true for a format by which schemars names a numeric type.
pub(crate) fn is_number_format(format: &str) -> bool {
    number_range(format).is_some()
}

/// Returns the minimum and the maximum of a numeric type, published as bounds because no validator
/// checks schemars' formats for numbers. Each is `null` without a bound.
fn number_range(format: &str) -> Option<(Value, Value)> {
    Some(match format {
        "int8" => (i8::MIN.into(), i8::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        // `isize` and `usize` are published as 64 bits, so that a schema is the same on every
        // machine.
        "int64" | "int" => (i64::MIN.into(), i64::MAX.into()),
        "uint8" => (0.into(), u8::MAX.into()),
        "uint16" => (0.into(), u16::MAX.into()),
        "uint32" => (0.into(), u32::MAX.into()),
        "uint64" | "uint" => (0.into(), u64::MAX.into()),
        "int128" => ((-TWO_127).into(), TWO_127.into()),
        "uint128" => (0.into(), (TWO_127 * 2.0).into()),
        "float" => (f64::from(f32::MIN).into(), f64::from(f32::MAX).into()),
        "double" => (Value::Null, Value::Null),
        _ => return None,
    })
}

/// Replaces a numeric format by the bounds of its type. A tighter bound stays.
pub(crate) fn publish_bounds(map: &mut Map<String, Value>) {
    let Some(format) = map.get("format").and_then(Value::as_str) else {
        return;
    };
    let Some((minimum, maximum)) = number_range(format) else {
        return;
    };
    // 2^127 and 2^128 are floats, the integers below them are not: the maximum itself is refused.
    let exclusive = matches!(format, "int128" | "uint128");
    map.remove("format");
    raise_minimum(map, minimum);
    lower_maximum(map, maximum, exclusive);
}

/// Returns true if the bounds beside a numeric format are exactly those that schemars writes for
/// the type itself.
pub(crate) fn are_bounds_of_type(map: &Map<String, Value>, format: &str) -> bool {
    let written = [
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
    ];
    let Some((minimum, maximum)) = number_range(format) else {
        return false;
    };
    let is_short = matches!(format, "int8" | "int16" | "uint8" | "uint16");
    let expected = |keyword: &&str| match *keyword {
        "minimum" if is_short || format.starts_with("uint") => Some(&minimum),
        "maximum" if is_short => Some(&maximum),
        _ => None,
    };
    written
        .iter()
        .all(|keyword| map.get(*keyword) == expected(keyword))
}
