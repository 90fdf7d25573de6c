//! A second and plain implementation of the coercions of rule V3, to compare with.

use crate::json::{self, Json};
use crate::oracle::accepts;
use serde_json::{Map, Value};

/// Returns the arguments as the tool should see them, or an error if they are not an object.
pub(crate) fn arguments(sent: &Json) -> Option<Value> {
    match sent {
        Json::Raw(text) if text == "null" => Some(Value::Object(Map::new())),
        Json::Text(text) if text.trim().is_empty() => Some(Value::Object(Map::new())),
        Json::Text(text) => match json::parse(text)? {
            inner @ Json::Object(_) if !inner.repeats() => inner.value(),
            Json::Raw(null) if null == "null" => Some(Value::Object(Map::new())),
            _ => None,
        },
        Json::Object(_) if !sent.repeats() => sent.value(),
        _ => None,
    }
}

/// Coerces the value. A value that the schema accepts is unchanged.
pub(crate) fn coerced(value: &Value, schema: &Value) -> Value {
    if accepts(schema, schema, value) {
        value.clone()
    } else {
        fix(value, &[schema], schema, 0)
    }
}

/// Coerces a value that must satisfy all of the schemas.
fn fix(value: &Value, schemas: &[&Value], root: &Value, depth: usize) -> Value {
    if depth > 200 {
        return value.clone();
    }
    let parts = parts(schemas, root);
    let mut value = text(value, &parts).unwrap_or_else(|| value.clone());
    match &mut value {
        Value::Array(items) => {
            for (at, item) in items.iter_mut().enumerate() {
                *item = fix(
                    item,
                    &each(&parts, |part| of_item(part, at)),
                    root,
                    depth + 1,
                );
            }
        }
        Value::Object(map) => {
            map.retain(|name, member| {
                !(member.is_null() && stands_for_absence(name, &parts, root))
            });
            for (name, member) in map {
                *member = fix(
                    member,
                    &each(&parts, |part| of_member(part, name)),
                    root,
                    depth + 1,
                );
            }
        }
        _ => {}
    }
    for branches in parts
        .iter()
        .flat_map(|part| ["anyOf", "oneOf"].map(|keyword| part.get(keyword)))
    {
        value = chosen(value, branches.and_then(Value::as_array), root, depth);
    }
    value
}

/// Coerces the value to the only one of several shapes that it can take.
fn chosen(value: Value, branches: Option<&Vec<Value>>, root: &Value, depth: usize) -> Value {
    let Some(branches) = branches else {
        return value;
    };
    if branches.iter().any(|branch| accepts(branch, root, &value)) {
        return value;
    }
    let fixed = |branch: &Value| fix(&value, &[branch], root, depth + 1);
    let fitting = branches.iter().map(|branch| (branch, fixed(branch)));
    let mut fitting = fitting
        .filter(|(branch, better)| accepts(branch, root, better))
        .map(|(_, better)| better);
    match (fitting.next(), fitting.next()) {
        (Some(only), None) => only,
        _ => value,
    }
}

/// Returns the schemas and everything that they refer to.
fn parts<'a>(schemas: &[&'a Value], root: &'a Value) -> Vec<&'a Map<String, Value>> {
    let mut all: Vec<&'a Map<String, Value>> = Vec::new();
    let mut left: Vec<&'a Value> = schemas.iter().rev().copied().collect();
    while let Some(schema) = left.pop() {
        let Some(map) = schema.as_object() else {
            continue;
        };
        if all.iter().any(|there| std::ptr::eq(*there, map)) {
            continue;
        }
        all.push(map);
        let target = map
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|name| root.pointer(name.trim_start_matches('#')));
        left.extend(
            map.get("allOf")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .rev(),
        );
        left.extend(target);
    }
    all
}

fn each<'a>(
    parts: &[&'a Map<String, Value>],
    one: impl Fn(&'a Map<String, Value>) -> Option<&'a Value>,
) -> Vec<&'a Value> {
    parts.iter().filter_map(|part| one(part)).collect()
}

fn of_item(part: &Map<String, Value>, at: usize) -> Option<&Value> {
    part.get("prefixItems")
        .and_then(|first| first.get(at))
        .or_else(|| part.get("items"))
}

fn of_member<'a>(part: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let declared = part.get("properties").and_then(|all| all.get(name));
    let by_pattern = || part.get("patternProperties")?.as_object()?.values().next();
    declared
        .or_else(by_pattern)
        .or_else(|| part.get("additionalProperties"))
}

fn stands_for_absence(name: &str, parts: &[&Map<String, Value>], root: &Value) -> bool {
    let required = parts
        .iter()
        .filter_map(|part| part.get("required")?.as_array())
        .flatten()
        .any(|there| there == name);
    let declared = parts
        .iter()
        .filter_map(|part| part.get("properties")?.get(name));
    !required
        && declared
            .into_iter()
            .any(|schema| !accepts(schema, root, &Value::Null))
}

/// Returns the value that a text spells.
fn text(value: &Value, parts: &[&Map<String, Value>]) -> Option<Value> {
    let text = value.as_str()?;
    let wanted = |kind: &str| parts.iter().all(|part| may_be(part, kind));
    if wanted("string") {
        return None;
    }
    let meant = json::parse(text).filter(|meant| !meant.repeats())?;
    let plain = text.trim() == text;
    match meant {
        Json::Raw(word) if word == "null" => None,
        Json::Raw(word) if word == "true" || word == "false" => {
            (wanted("boolean") && plain).then(|| Value::Bool(word == "true"))
        }
        // Uses the text, as parsing may have rounded the number.
        Json::Raw(_) => number(text, wanted("number"), wanted("integer")).filter(|_| plain),
        Json::List(_) => meant.value().filter(|_| wanted("array")),
        Json::Object(_) => meant.value().filter(|_| wanted("object")),
        Json::Text(_) => None,
    }
}

/// Returns the number that a text spells. Digits alone are exact or refused, and any other spelling is a float.
fn number(text: &str, fraction: bool, integer: bool) -> Option<Value> {
    let value = Json::raw(text).value()?;
    if value.as_f64()? == 0.0
        && text
            .split(['e', 'E'])
            .next()?
            .bytes()
            .any(|byte| (b'1'..=b'9').contains(&byte))
    {
        return None; // too small for a float
    }
    match whole(text) {
        Some(digits) => {
            let exact = Json::raw(&digits).value()?;
            let held =
                exact.is_i64() || exact.is_u64() || format!("{:.0}", exact.as_f64()?) == digits;
            let digits_alone = text
                .trim_start_matches('-')
                .bytes()
                .all(|byte| byte.is_ascii_digit());
            if held && integer {
                Some(exact)
            } else {
                (fraction && !digits_alone).then_some(value)
            }
        }
        None => fraction.then_some(value),
    }
}

/// Returns the digits of a whole number.
pub(crate) fn whole(text: &str) -> Option<String> {
    let (sign, text) = text
        .strip_prefix('-')
        .map_or(("", text), |rest| ("-", rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = format!("{before}{after}");
    let mut places = i64::try_from(after.len()).ok()? - exponent.parse::<i64>().ok()?;
    if digits.bytes().all(|digit| digit == b'0') {
        return Some("0".to_owned());
    }
    while places > 0 && digits.ends_with('0') {
        digits.pop();
        places -= 1;
    }
    if !(-400..=0).contains(&places) {
        return None;
    }
    digits.push_str(&"0".repeat(usize::try_from(-places).ok()?));
    Some(format!("{sign}{}", digits.trim_start_matches('0')))
}

fn may_be(part: &Map<String, Value>, kind: &str) -> bool {
    let is = |name: &str| name == kind || (name == "number" && kind == "integer");
    let by_type = match part.get("type") {
        Some(Value::String(name)) => is(name),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    };
    let of = |value: &Value| match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(_) => matches!(kind, "number" | "integer"),
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    };
    let by_enum = part
        .get("enum")
        .and_then(Value::as_array)
        .is_none_or(|values| values.iter().any(of));
    by_type && by_enum && part.get("const").is_none_or(of)
}
