//! What a schema says of a value in the end: its own keywords, and those of what it refers to.

use crate::schema::numbers::compare;
use crate::schema::walk;
use crate::tool::action::ParameterType;
use serde_json::{Map, Number, Value};

/// A limit, and whether it is itself refused.
type Limit = (Number, bool);

/// The schemas that all hold of one value, the nearest first.
pub(crate) struct Facts<'a> {
    layers: Vec<&'a Map<String, Value>>,
    root: &'a Value,
}

impl<'a> Facts<'a> {
    pub(crate) fn of(schema: &'a Value, root: &'a Value) -> Self {
        let mut layers = Vec::new();
        add(schema, root, 8, &mut layers);
        Self { layers, root }
    }

    /// What the nearest schema says under the keyword.
    pub(crate) fn find(&self, keyword: &str) -> Option<&'a Value> {
        self.layers.iter().find_map(|layer| layer.get(keyword))
    }

    /// What the schema itself says, and not what it refers to.
    pub(crate) fn own(&self, keyword: &str) -> Option<&'a Value> {
        self.layers.first().and_then(|layer| layer.get(keyword))
    }

    pub(crate) fn kind(&self) -> ParameterType {
        self.stated(8).unwrap_or(ParameterType::Object)
    }

    fn stated(&self, depth: usize) -> Option<ParameterType> {
        let depth = depth.checked_sub(1)?;
        if let Some(stated) = self.find("type") {
            return joined(names(stated).filter(|name| *name != "null").map(|name| Some(self.named(name))));
        }
        if let Some(values) = self.one_of() {
            return joined(
                values.iter().filter(|value| !value.is_null()).map(|value| Some(self.named(type_of(value)))),
            );
        }
        let branches = self.find("anyOf").or_else(|| self.find("oneOf"))?.as_array()?;
        let branches = branches.iter().filter(|branch| !is_null(branch));
        joined(branches.map(|branch| Facts::of(branch, self.root).stated(depth)))
    }

    fn named(&self, name: &str) -> ParameterType {
        match name {
            "string" if self.find("format").is_some_and(|format| format == "date-time") => ParameterType::DateTime,
            "string" => ParameterType::String,
            "integer" => ParameterType::Integer,
            "number" => ParameterType::Number,
            "boolean" => ParameterType::Boolean,
            "array" => ParameterType::Array,
            _ => ParameterType::Object,
        }
    }

    /// The values that are listed, without null.
    pub(crate) fn one_of(&self) -> Option<Vec<Value>> {
        if let Some(value) = self.find("const") {
            return Some(vec![value.clone()]);
        }
        let values = self.find("enum")?.as_array()?;
        Some(values.iter().filter(|value| !value.is_null()).cloned().collect())
    }

    /// The lower and the upper limit, of what there is to limit.
    pub(crate) fn bounds(&self, kind: ParameterType) -> [Option<Limit>; 2] {
        match kind {
            ParameterType::Integer | ParameterType::Number => [
                tighter(self.limit("minimum", false, true), self.limit("exclusiveMinimum", true, true), true),
                tighter(self.limit("maximum", false, false), self.limit("exclusiveMaximum", true, false), false),
            ],
            ParameterType::String | ParameterType::DateTime => {
                [self.limit("minLength", false, true), self.limit("maxLength", false, false)]
            }
            ParameterType::Array => [self.limit("minItems", false, true), self.limit("maxItems", false, false)],
            ParameterType::Boolean | ParameterType::Object => [None, None],
        }
    }

    /// The tightest of what all layers say.
    fn limit(&self, keyword: &str, exclusive: bool, lower: bool) -> Option<Limit> {
        let stated = self.layers.iter().filter_map(|layer| layer.get(keyword)?.as_number());
        stated.fold(None, |best, limit| tighter(best, Some((limit.clone(), exclusive)), lower))
    }
}

fn add<'a>(schema: &'a Value, root: &'a Value, depth: usize, layers: &mut Vec<&'a Map<String, Value>>) {
    let (Some(map), Some(depth)) = (schema.as_object(), depth.checked_sub(1)) else { return };
    layers.push(map);
    if let Some(target) = map.get("$ref").and_then(Value::as_str).and_then(|name| walk::resolve(root, name)) {
        add(target, root, depth, layers);
    }
    for part in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        add(part, root, depth, layers);
    }
    for keyword in ["anyOf", "oneOf"] {
        let branches = map.get(keyword).and_then(Value::as_array).into_iter().flatten();
        // Something or null: the something.
        if let [only] = branches.filter(|branch| !is_null(branch)).collect::<Vec<_>>().as_slice() {
            add(only, root, depth, layers);
        }
    }
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "null")
}

fn names(stated: &Value) -> impl Iterator<Item = &str> {
    let several = stated.as_array().into_iter().flatten().filter_map(Value::as_str);
    stated.as_str().into_iter().chain(several)
}

fn type_of(value: &Value) -> &'static str {
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

/// The one type that covers several; nothing where there is none, or one is not known.
fn joined(kinds: impl Iterator<Item = Option<ParameterType>>) -> Option<ParameterType> {
    use crate::tool::action::ParameterType::DateTime;
    use crate::tool::action::ParameterType::Integer;
    use crate::tool::action::ParameterType::Number;
    use crate::tool::action::ParameterType::String;
    kinds.reduce(|a, b| match (a?, b?) {
        (a, b) if a == b => Some(a),
        (Integer, Number) | (Number, Integer) => Some(Number),
        (String, DateTime) | (DateTime, String) => Some(String),
        _ => None,
    })?
}

fn tighter(a: Option<Limit>, b: Option<Limit>, lower: bool) -> Option<Limit> {
    let (Some(a), Some(b)) = (&a, &b) else { return a.or(b) };
    let order = compare(&a.0, &b.0);
    let order = if lower { order } else { order.reverse() };
    // At the same figure the one that refuses it is tighter.
    Some(if order.then(a.1.cmp(&b.1)).is_ge() { a.clone() } else { b.clone() })
}
