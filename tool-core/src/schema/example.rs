//! The smallest instance of a schema, which shows a model valid arguments.

use crate::json::number::{compare, exact, whole};
use crate::schema::walk;
use serde_json::{Map, Number, Value};
use std::iter::Peekable;
use std::str::Chars;

/// The depth at which a type that contains itself is given up.
const DEPTH: usize = 24;

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
    if let Some(sample) = map.get("pattern").and_then(Value::as_str).and_then(sample) {
        return sample;
    }
    let count = |keyword: &str| map.get(keyword).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let mut text = "text".to_owned();
    while text.chars().count() < count("minLength").unwrap_or(0).min(4096) {
        text.push_str(" text");
    }
    text.chars().take(count("maxLength").unwrap_or(usize::MAX).min(4096)).collect()
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

/// Returns a string that the pattern matches. Literals, classes, groups, alternatives and counts are known; a pattern with
/// any other construct gives `None`.
fn sample(pattern: &str) -> Option<String> {
    let mut input = pattern.chars().peekable();
    let text = alternatives(&mut input, 0)?;
    input.next().is_none().then_some(text)
}

/// Reads the alternatives up to the end of the group, and returns a match of the first.
fn alternatives(input: &mut Peekable<Chars<'_>>, depth: usize) -> Option<String> {
    if depth > 16 {
        return None;
    }
    let first = sequence(input, depth)?;
    while input.next_if_eq(&'|').is_some() {
        sequence(input, depth)?;
    }
    Some(first)
}

fn sequence(input: &mut Peekable<Chars<'_>>, depth: usize) -> Option<String> {
    let mut text = String::new();
    while let Some(next) = input.next_if(|next| !matches!(next, '|' | ')')) {
        let piece = match next {
            '^' | '$' => continue,
            '(' => group(input, depth)?,
            '[' => class(input)?.to_string(),
            '\\' => escape(input.next()?)?.to_string(),
            '.' => "a".to_owned(),
            '*' | '+' | '?' | '{' => return None,
            literal => literal.to_string(),
        };
        let count = count(input)?;
        if text.len() + piece.len() * count > 4096 {
            return None;
        }
        text.push_str(&piece.repeat(count));
    }
    Some(text)
}

fn group(input: &mut Peekable<Chars<'_>>, depth: usize) -> Option<String> {
    if input.next_if_eq(&'?').is_some() {
        input.next_if_eq(&':')?;
    }
    let text = alternatives(input, depth + 1)?;
    input.next_if_eq(&')')?;
    Some(text)
}

/// Returns the first character of a class.
fn class(input: &mut Peekable<Chars<'_>>) -> Option<char> {
    let first = match input.next()? {
        '^' | '[' | ']' => return None,
        '\\' => escape(input.next()?)?,
        literal => literal,
    };
    loop {
        match input.next()? {
            ']' => return Some(first),
            '[' => return None,
            '\\' => {
                input.next()?;
            }
            _ => {}
        }
    }
}

fn escape(letter: char) -> Option<char> {
    match letter {
        'd' => Some('1'),
        'w' => Some('a'),
        's' => Some(' '),
        other if other.is_ascii_alphanumeric() => None,
        other => Some(other),
    }
}

/// Reads how often the element before is repeated. Returns the smallest count allowed, but 1 rather than 0.
fn count(input: &mut Peekable<Chars<'_>>) -> Option<usize> {
    let least = match input.peek() {
        Some('*' | '?' | '+') => {
            input.next();
            1
        }
        Some('{') => {
            input.next();
            braces(input)?
        }
        _ => return Some(1),
    };
    input.next_if_eq(&'?');
    Some(least)
}

fn braces(input: &mut Peekable<Chars<'_>>) -> Option<usize> {
    let mut inside = String::new();
    loop {
        match input.next()? {
            '}' => break,
            other => inside.push(other),
        }
    }
    let (least, most) = inside.split_once(',').unwrap_or((&inside, &inside));
    let least: usize = least.parse().ok()?;
    Some(if least == 0 && most != "0" { 1 } else { least })
}
