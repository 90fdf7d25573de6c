//! The smallest instance of a schema, which shows a model valid arguments.

use crate::json::number::{exact, whole};
use crate::schema::compiled::CompiledSchema;
use crate::schema::evaluation::is_valid;
use crate::schema::pattern;
use crate::schema::walk;
use serde_json::{Map, Number, Value};

/// The depth at which a type that contains itself is given up.
const DEPTH: usize = 24;
/// The number of values and schemas that are looked at before an example is given up.
const STEPS: usize = 20_000;
/// The number of bytes at which a text is given up or cut.
const LENGTH: usize = 4_096;

/// Returns a value with the required properties only. It is best effort: patterns and rules between
/// properties may refuse it.
pub(crate) fn minimal_example(schema: &Value, root: &Value) -> Value {
    ExampleBuilder { root, steps: STEPS }
        .build(schema, DEPTH)
        .unwrap_or(Value::Null)
}

struct ExampleBuilder<'a> {
    root: &'a Value,
    /// The steps that are left. References may lead to one schema in very many ways.
    steps: usize,
}

impl ExampleBuilder<'_> {
    /// Returns `None` for a schema that refuses everything, contains itself without end or takes
    /// too many steps.
    fn build(&mut self, schema: &Value, depth: usize) -> Option<Value> {
        let map = match schema {
            Value::Object(map) => map,
            Value::Bool(false) => return None,
            _ => return Some("value".into()),
        };
        let depth = depth.checked_sub(1)?;
        self.spend(schema)?;
        if let Some(value) = given_value(map) {
            return Some(value);
        }
        for keyword in ["$ref", "allOf"] {
            if let Some(value) = map.get(keyword) {
                let merged = merged(map, keyword, parts(value, self.root));
                return self.build(&Value::Object(merged), depth);
            }
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(branches) = map.get(keyword).and_then(Value::as_array) {
                let mut try_branch = |branch: &Value| {
                    self.build(
                        &Value::Object(merged(map, keyword, vec![branch.clone()])),
                        depth,
                    )
                };
                return branches.iter().find_map(&mut try_branch);
            }
        }
        self.by_type(map, depth)
    }

    /// Takes the steps that copying a schema takes.
    fn spend(&mut self, schema: &Value) -> Option<()> {
        self.steps = self.steps.checked_sub(1)?;
        match schema {
            Value::Array(items) => items.iter().try_for_each(|item| self.spend(item)),
            Value::Object(members) => {
                let mut inside = members.iter().filter(|(keyword, _)| *keyword != "$defs");
                inside.try_for_each(|(_, member)| self.spend(member))
            }
            _ => Some(()),
        }
    }

    fn by_type(&mut self, map: &Map<String, Value>, depth: usize) -> Option<Value> {
        match type_of(map) {
            "object" => self.object(map, depth),
            "array" => self.array(map, depth),
            "string" => Some(text(map).into()),
            "integer" | "number" => Some(number(map)),
            "boolean" => Some(true.into()),
            "null" => Some(Value::Null),
            _ => Some("value".into()),
        }
    }

    fn object(&mut self, map: &Map<String, Value>, depth: usize) -> Option<Value> {
        let mut object = Map::new();
        for name in map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            let declared = map.get("properties").and_then(|all| all.get(name));
            let schema = declared
                .or_else(|| map.get("additionalProperties"))
                .unwrap_or(&Value::Bool(true));
            object.insert(name.to_owned(), self.build(schema, depth)?);
        }
        Some(object.into())
    }

    fn array(&mut self, map: &Map<String, Value>, depth: usize) -> Option<Value> {
        let wanted = usize::try_from(map.get("minItems").and_then(Value::as_u64).unwrap_or(0))
            .ok()?
            .min(64);
        let first = map
            .get("prefixItems")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let mut items = Vec::with_capacity(wanted);
        for position in 0..wanted {
            let schema = first
                .get(position)
                .or_else(|| map.get("items"))
                .unwrap_or(&Value::Bool(true));
            items.push(self.build(schema, depth)?);
        }
        if map.get("uniqueItems").and_then(Value::as_bool) == Some(true) {
            items
                .iter_mut()
                .enumerate()
                .for_each(|(position, item)| differ(item, position));
        }
        Some(items.into())
    }
}

/// Returns a value that the schema itself gives.
fn given_value(map: &Map<String, Value>) -> Option<Value> {
    let first = |keyword: &str| map.get(keyword).and_then(Value::as_array)?.first().cloned();
    let default = || map.get("default").filter(|value| !value.is_null()).cloned();
    map.get("const")
        .cloned()
        .or_else(|| first("examples"))
        .or_else(default)
        .or_else(|| first("enum"))
}

fn parts(value: &Value, root: &Value) -> Vec<Value> {
    match value {
        Value::String(reference) => walk::resolve(root, reference)
            .cloned()
            .into_iter()
            .collect(),
        Value::Array(list) => list.clone(),
        _ => Vec::new(),
    }
}

/// Returns the schema with `keyword` replaced by the schemas that it refers to. The schema's own
/// keywords win, except that properties and required names are joined.
fn merged(map: &Map<String, Value>, keyword: &str, parts: Vec<Value>) -> Map<String, Value> {
    let mut all = map.clone();
    all.remove(keyword);
    for part in parts {
        let Value::Object(part) = part else { continue };
        for (key, value) in part {
            match (all.get_mut(&key), value) {
                (Some(Value::Object(present)), Value::Object(more)) if key == "properties" => {
                    present.extend(more);
                }
                (Some(Value::Array(present)), Value::Array(more))
                    if key == "required" || key == "allOf" =>
                {
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

fn type_of(map: &Map<String, Value>) -> &str {
    match map.get("type") {
        Some(_) => walk::type_names(map)
            .find(|name| *name != "null")
            .unwrap_or("null"),
        _ if map.contains_key("properties") || map.contains_key("required") => "object",
        _ if map.contains_key("items") || map.contains_key("prefixItems") => "array",
        _ if map.contains_key("minimum") || map.contains_key("maximum") => "number",
        _ if map.contains_key("format") || map.contains_key("pattern") => "string",
        _ => "",
    }
}

/// Makes an item differ from the items before it, if that is easy.
fn differ(item: &mut Value, position: usize) {
    let step = i128::try_from(position).unwrap_or(0);
    match item {
        Value::Number(number) => {
            *item =
                exact(number).map_or_else(|| Value::Number(number.clone()), |n| whole(n + step));
        }
        Value::String(text) if position > 0 => text.push_str(&position.to_string()),
        _ => {}
    }
}

fn text(map: &Map<String, Value>) -> String {
    if let Some(known) = map
        .get("format")
        .and_then(Value::as_str)
        .and_then(of_format)
    {
        return known.to_owned();
    }
    if let Some(sample) = map
        .get("pattern")
        .and_then(Value::as_str)
        .and_then(|pattern| pattern::sample(pattern, LENGTH))
    {
        return sample;
    }
    let count = |keyword: &str| {
        map.get(keyword)
            .and_then(Value::as_u64)
            .and_then(|n| usize::try_from(n).ok())
    };
    let mut text = "text".to_owned();
    while text.chars().count() < count("minLength").unwrap_or(0).min(LENGTH) {
        text.push_str(" text");
    }
    text.chars()
        .take(count("maxLength").unwrap_or(usize::MAX).min(LENGTH))
        .collect()
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

/// Returns 1, or a number at the edge or in the middle of the range.
fn number(map: &Map<String, Value>) -> Value {
    let bound = |keyword: &str| map.get(keyword).and_then(Value::as_number);
    let above = bound("exclusiveMinimum");
    let below = bound("exclusiveMaximum");
    let low = bound("minimum");
    let high = bound("maximum");
    let compiled = CompiledSchema::new(&map.clone().into()).ok();
    let fits = |number: &Value| {
        compiled
            .as_ref()
            .is_some_and(|compiled| is_valid(compiled, number))
    };
    let next = |bound: Option<&Number>, step: i8| match exact(bound?) {
        Some(number) => Some(whole(number.saturating_add(step.into()))),
        None => Some(
            if step > 0 {
                bound?.as_f64()?.ceil()
            } else {
                bound?.as_f64()?.floor()
            }
            .into(),
        ),
    };
    let float = |bound: Option<&Number>| bound.and_then(Number::as_f64);
    let middle = float(low.or(above))
        .zip(float(high.or(below)))
        .map(|(low, high)| f64::midpoint(low, high));
    let first = bound("multipleOf").map_or_else(|| 1.into(), |step| step.clone().into());
    let edges = [low, high].map(|bound| bound.cloned().map(Value::Number));
    let inside = [
        next(low.or(above), 1),
        next(high.or(below), -1),
        middle.map(Value::from),
    ];
    std::iter::once(first)
        .chain(edges.into_iter().chain(inside).flatten())
        .find(fits)
        .unwrap_or_else(|| 1.into())
}
