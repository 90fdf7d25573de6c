//! The smallest instance of a schema, which shows a model valid arguments.

use crate::json::number::{compare, exact, whole};
use crate::schema::walk;
use regex_syntax::hir::{Class, ClassUnicodeRange, Hir, HirKind};
use serde_json::{Map, Number, Value};

/// The depth at which a type that contains itself is given up.
const DEPTH: usize = 24;
/// The number of bytes at which a text is given up or cut.
const LENGTH: usize = 4_096;

/// Returns a value with the required properties only. It is best effort: patterns and rules between properties may refuse
/// it.
pub(crate) fn minimal_example(schema: &Value, root: &Value) -> Value {
    build(schema, root, DEPTH).unwrap_or(Value::Null)
}

/// Returns `None` for a schema that refuses everything or contains itself without end.
fn build(schema: &Value, root: &Value, depth: usize) -> Option<Value> {
    let map = match schema {
        Value::Object(map) => map,
        Value::Bool(false) => return None,
        _ => return Some("value".into()),
    };
    let depth = depth.checked_sub(1)?;
    if let Some(value) = given_value(map) {
        return Some(value);
    }
    for keyword in ["$ref", "allOf"] {
        if let Some(value) = map.get(keyword) {
            return build(&Value::Object(merged(map, keyword, parts(value, root))), root, depth);
        }
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(branches) = map.get(keyword).and_then(Value::as_array) {
            let try_branch =
                |branch: &Value| build(&Value::Object(merged(map, keyword, vec![branch.clone()])), root, depth);
            return branches.iter().find_map(try_branch);
        }
    }
    by_type(map, root, depth)
}

/// Returns a value that the schema itself gives.
fn given_value(map: &Map<String, Value>) -> Option<Value> {
    let first = |keyword: &str| map.get(keyword).and_then(Value::as_array)?.first().cloned();
    let default = || map.get("default").filter(|value| !value.is_null()).cloned();
    map.get("const").cloned().or_else(|| first("examples")).or_else(default).or_else(|| first("enum"))
}

fn parts(value: &Value, root: &Value) -> Vec<Value> {
    match value {
        Value::String(reference) => walk::resolve(root, reference).cloned().into_iter().collect(),
        Value::Array(list) => list.clone(),
        _ => Vec::new(),
    }
}

/// Returns the schema with `keyword` replaced by the schemas that it refers to. The schema's own keywords win, except that
/// properties and required names are joined.
fn merged(map: &Map<String, Value>, keyword: &str, parts: Vec<Value>) -> Map<String, Value> {
    let mut all = map.clone();
    all.remove(keyword);
    for part in parts {
        let Value::Object(part) = part else { continue };
        for (key, value) in part {
            match (all.get_mut(&key), value) {
                (Some(Value::Object(present)), Value::Object(more)) if key == "properties" => present.extend(more),
                (Some(Value::Array(present)), Value::Array(more)) if key == "required" || key == "allOf" => {
                    present.extend(more);
                }
                (None, value) => {
                    all.insert(key, value);
                }
                _ => {}
            }
        }
    }
    all
}

fn by_type(map: &Map<String, Value>, root: &Value, depth: usize) -> Option<Value> {
    match type_of(map) {
        "object" => object(map, root, depth),
        "array" => array(map, root, depth),
        "string" => Some(text(map).into()),
        "integer" => Some(number(map, true)),
        "number" => Some(number(map, false)),
        "boolean" => Some(true.into()),
        "null" => Some(Value::Null),
        _ => Some("value".into()),
    }
}

fn type_of(map: &Map<String, Value>) -> &str {
    match map.get("type") {
        Some(Value::String(name)) => name,
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or("null")
        }
        _ if map.contains_key("properties") || map.contains_key("required") => "object",
        _ if map.contains_key("items") || map.contains_key("prefixItems") => "array",
        _ if map.contains_key("minimum") || map.contains_key("maximum") => "number",
        _ if map.contains_key("format") || map.contains_key("pattern") => "string",
        _ => "",
    }
}

fn object(map: &Map<String, Value>, root: &Value, depth: usize) -> Option<Value> {
    let mut object = Map::new();
    for name in map.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        let schema = map.get("properties").and_then(|all| all.get(name)).or_else(|| map.get("additionalProperties"));
        object.insert(name.to_owned(), build(schema.unwrap_or(&Value::Bool(true)), root, depth)?);
    }
    Some(object.into())
}

fn array(map: &Map<String, Value>, root: &Value, depth: usize) -> Option<Value> {
    let wanted = usize::try_from(map.get("minItems").and_then(Value::as_u64).unwrap_or(0)).ok()?.min(64);
    let first = map.get("prefixItems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut items = Vec::with_capacity(wanted);
    for position in 0..wanted {
        let schema = first.get(position).or_else(|| map.get("items")).unwrap_or(&Value::Bool(true));
        items.push(build(schema, root, depth)?);
    }
    if map.get("uniqueItems").and_then(Value::as_bool) == Some(true) {
        items.iter_mut().enumerate().for_each(|(position, item)| differ(item, position));
    }
    Some(items.into())
}

/// Makes an item differ from the items before it, if that is easy.
fn differ(item: &mut Value, position: usize) {
    let step = i128::try_from(position).unwrap_or(0);
    match item {
        Value::Number(number) => {
            *item = exact(number).map_or_else(|| Value::Number(number.clone()), |n| whole(n + step));
        }
        Value::String(text) if position > 0 => text.push_str(&position.to_string()),
        _ => {}
    }
}

fn text(map: &Map<String, Value>) -> String {
    if let Some(known) = map.get("format").and_then(Value::as_str).and_then(of_format) {
        return known.to_owned();
    }
    let pattern = map.get("pattern").and_then(Value::as_str).and_then(|pattern| regex_syntax::parse(pattern).ok());
    if let Some(sample) = pattern.as_ref().and_then(sample) {
        return sample;
    }
    let count = |keyword: &str| map.get(keyword).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let mut text = "text".to_owned();
    while text.chars().count() < count("minLength").unwrap_or(0).min(LENGTH) {
        text.push_str(" text");
    }
    text.chars().take(count("maxLength").unwrap_or(usize::MAX).min(LENGTH)).collect()
}

fn of_format(format: &str) -> Option<&'static str> {
    Some(match format {
        "date-time" => "2026-01-31T09:00:00Z",
        "date" => "2026-01-31",
        "time" => "09:00:00Z",
        "duration" => "PT30M",
        "email" => "name@example.com",
        "hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "uuid" => "0190a6f0-7b3c-7cc4-8e6f-2f9d1c5b4a32",
        "uri" => "https://example.com/",
        _ => return None,
    })
}

/// Returns 1, or the nearest number within the bounds.
fn number(map: &Map<String, Value>, is_whole: bool) -> Value {
    let bound = |keyword: &str| match map.get(keyword) {
        Some(Value::Number(number)) => Some(number.clone()),
        _ => None,
    };
    let mut value = Number::from(1);
    if let Some(step) = bound("multipleOf") {
        value = step;
    }
    if let Some(high) = bound("maximum").filter(|high| compare(&value, high).is_gt()) {
        value = if is_whole { rounded(&high, f64::floor) } else { high };
    }
    if let Some(high) = bound("exclusiveMaximum").filter(|high| compare(&value, high).is_ge()) {
        value = shifted(&high, -1, bound("minimum").or_else(|| bound("exclusiveMinimum")).as_ref(), is_whole);
    }
    if let Some(low) = bound("minimum").filter(|low| compare(&value, low).is_lt()) {
        value = if is_whole { rounded(&low, f64::ceil) } else { low };
    }
    if let Some(low) = bound("exclusiveMinimum").filter(|low| compare(&value, low).is_le()) {
        value = shifted(&low, 1, bound("maximum").or_else(|| bound("exclusiveMaximum")).as_ref(), is_whole);
    }
    Value::Number(value)
}

fn rounded(number: &Number, round: fn(f64) -> f64) -> Number {
    if exact(number).is_some() {
        return number.clone();
    }
    number.as_f64().and_then(|value| Number::from_f64(round(value))).unwrap_or_else(|| number.clone())
}

/// Returns a number beside an exclusive bound: the next integer, or the middle of the range.
fn shifted(bound: &Number, step: i128, other: Option<&Number>, is_whole: bool) -> Number {
    if is_whole && let Some(Value::Number(next)) = exact(bound).map(|value| whole(value.saturating_add(step))) {
        return next;
    }
    let here = bound.as_f64().unwrap_or(0.0);
    let there = other.and_then(Number::as_f64).unwrap_or(if step < 0 { here - 2.0 } else { here + 2.0 });
    Number::from_f64(f64::midpoint(here, there)).unwrap_or_else(|| bound.clone())
}

/// Returns a string that the pattern matches, with the fewest repetitions, but one rather than none. It is best effort:
/// assertions other than `^` and `$` may refuse it. Returns `None` for a pattern that the `regex` crate does not know.
fn sample(pattern: &Hir) -> Option<String> {
    Some(match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => String::new(),
        HirKind::Literal(literal) => String::from_utf8(literal.0.to_vec()).ok()?,
        HirKind::Class(Class::Unicode(class)) => {
            let has = |letter: &char| class.iter().any(|range| (range.start()..=range.end()).contains(letter));
            let plain = ['a', '1', 'A', ' '].into_iter().find(has);
            plain.or_else(|| class.iter().next().map(ClassUnicodeRange::start))?.to_string()
        }
        HirKind::Class(Class::Bytes(_)) => return None,
        HirKind::Repetition(repetition) => {
            let count = if repetition.max == Some(0) { 0 } else { repetition.min.max(1) as usize };
            let once = sample(&repetition.sub)?;
            (once.len().saturating_mul(count) <= LENGTH).then(|| once.repeat(count))?
        }
        HirKind::Capture(capture) => sample(&capture.sub)?,
        HirKind::Concat(parts) => parts.iter().map(sample).collect::<Option<_>>()?,
        HirKind::Alternation(branches) => sample(branches.first()?)?,
    })
}
