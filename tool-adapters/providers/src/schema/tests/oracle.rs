//! The values that a schema and its projection accept, by an independent validator.

use crate::Provider;
use crate::schema::document::{SchemaDocument, for_each_subschema};
use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};
use tool_core::schema::is_schema;

/// The validator of a schema, whose references lead somewhere. Formats count, as they do for tools.
pub(crate) fn validator(schema: &Value) -> Option<Validator> {
    let options = jsonschema::options().should_validate_formats(true);
    if schema.get("$schema").is_some() {
        options.build(schema)
    } else {
        options.with_draft(Draft::Draft202012).build(schema)
    }
    .ok()
}

/// A projection as JSON Schema. Gemini's types are in upper case, and `nullable` adds null.
pub(crate) fn read(provider: Provider, schema: &Value) -> Value {
    match provider {
        Provider::Gemini | Provider::GeminiLive => read_typed(schema),
        _ => schema.clone(),
    }
}

fn read_typed(schema: &Value) -> Value {
    let Some(map) = schema.as_object() else {
        return schema.clone();
    };
    let mut read = Map::new();
    for (keyword, value) in map {
        let value = match keyword.as_str() {
            "nullable" | "propertyOrdering" => continue,
            "type" => value
                .as_str()
                .expect("one type")
                .to_ascii_lowercase()
                .into(),
            "items" => read_typed(value),
            "anyOf" => value
                .as_array()
                .expect("a list")
                .iter()
                .map(read_typed)
                .collect(),
            "properties" => {
                let named = value.as_object().expect("properties");
                Value::Object(
                    named
                        .iter()
                        .map(|(name, schema)| (name.clone(), read_typed(schema)))
                        .collect(),
                )
            }
            _ => value.clone(),
        };
        read.insert(keyword.clone(), value);
    }
    match map.get("nullable") {
        Some(Value::Bool(true)) => json!({"anyOf": [read, {"type": "null"}]}),
        _ => Value::Object(read),
    }
}

/// The schema without references that lead nowhere: any value is taken there.
pub(crate) fn without_dead_references(root: &Value) -> Value {
    let document = SchemaDocument::new(root);
    let mut dead = Vec::new();
    each_schema(root, &mut |map, pointer| {
        let reference = map.get("$ref").and_then(Value::as_str);
        if reference.is_some_and(|reference| document.resolve(pointer, reference).is_none()) {
            dead.push(pointer.to_owned());
        }
    });
    let mut live = root.clone();
    for pointer in dead {
        live.pointer_mut(&pointer)
            .and_then(Value::as_object_mut)
            .expect("a schema")
            .remove("$ref");
    }
    live
}

/// Returns true if a schema applies itself to the same value, which accepts nothing and everything.
pub(crate) fn is_endless(root: &Value) -> bool {
    let document = SchemaDocument::new(root);
    let mut endless = false;
    each_schema(root, &mut |map, pointer| {
        let mut seen: Vec<*const Value> = Vec::new();
        let mut open = in_place(&document, map, pointer);
        while let Some((schema, at)) = open.pop() {
            endless |= schema
                .as_object()
                .is_some_and(|other| std::ptr::eq(other, map));
            if seen.contains(&std::ptr::from_ref(schema)) {
                continue;
            }
            seen.push(schema);
            if let Some(map) = schema.as_object() {
                open.extend(in_place(&document, map, &at));
            }
        }
    });
    endless
}

fn in_place<'a>(
    document: &SchemaDocument<'a>,
    map: &'a Map<String, Value>,
    pointer: &str,
) -> Vec<(&'a Value, String)> {
    let mut found = Vec::new();
    for_each_subschema(map, pointer, &mut |child| {
        if matches!(
            child.keyword,
            "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas"
        ) {
            found.push((child.place.schema, child.place.pointer));
        }
    });
    let target = map
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| document.resolve(pointer, reference));
    found.extend(target.map(|place| (place.schema, place.pointer)));
    found
}

fn each_schema<'a>(root: &'a Value, visit: &mut dyn FnMut(&'a Map<String, Value>, &str)) {
    let mut open = vec![(root, String::new())];
    while let Some((schema, pointer)) = open.pop() {
        let Some(map) = schema.as_object() else {
            continue;
        };
        visit(map, &pointer);
        for_each_subschema(map, &pointer, &mut |child| {
            open.push((child.place.schema, child.place.pointer));
        });
    }
}

/// Small and cheap randomness for instances.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % sides.max(1)
    }

    fn whole(&mut self) -> i32 {
        i32::try_from(self.roll(12)).expect("small")
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        list.get(self.roll(list.len()))
    }

    /// A value that a schema may well accept.
    pub(crate) fn instance(
        &mut self,
        document: &SchemaDocument<'_>,
        schema: &Value,
        pointer: &str,
        depth: usize,
    ) -> Value {
        let Some(map) = schema.as_object().filter(|_| depth < 8) else {
            return self.any();
        };
        if let Some(value) = map.get("const") {
            return value.clone();
        }
        if let Some(value) = map
            .get("enum")
            .and_then(Value::as_array)
            .and_then(|values| self.pick(values))
        {
            return value.clone();
        }
        let mut made = self.plain(document, map, pointer, depth);
        let mut further = Vec::new();
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let list: Vec<&Value> = map
                .get(keyword)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .collect();
            if keyword == "allOf" {
                further.extend(
                    list.iter()
                        .map(|schema| self.instance(document, schema, pointer, depth + 1)),
                );
            } else if let Some(schema) = self.pick(&list) {
                further.push(self.instance(document, schema, pointer, depth + 1));
            }
        }
        let target = map
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|it| document.resolve(pointer, it));
        further.extend(
            target.map(|place| self.instance(document, place.schema, &place.pointer, depth + 1)),
        );
        let typed = map.contains_key("type") || map.contains_key("properties");
        for value in further {
            match (&mut made, value) {
                (Value::Object(made), Value::Object(more)) => made.extend(more),
                (made, value) if !typed || self.roll(2) == 0 => *made = value,
                _ => {}
            }
        }
        made
    }

    fn plain(
        &mut self,
        document: &SchemaDocument<'_>,
        map: &Map<String, Value>,
        pointer: &str,
        depth: usize,
    ) -> Value {
        let kinds: Vec<&str> = match map.get("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ if map.contains_key("properties") || map.contains_key("required") => vec!["object"],
            _ if map.contains_key("items") || map.contains_key("prefixItems") => vec!["array"],
            _ => Vec::new(),
        };
        match self.pick(&kinds).copied() {
            Some("object") => self.object(document, map, pointer, depth),
            Some("array") => self.array(document, map, pointer, depth),
            Some("integer") => json!(self.whole() - 2),
            Some("number") => json!((f64::from(self.whole()) - 2.0) / 2.0),
            Some("boolean") => json!(self.roll(2) == 0),
            Some("null") => Value::Null,
            Some("string") => self.text(),
            _ => self.any(),
        }
    }

    fn object(
        &mut self,
        document: &SchemaDocument<'_>,
        map: &Map<String, Value>,
        pointer: &str,
        depth: usize,
    ) -> Value {
        let mut made = Map::new();
        for (name, schema) in map
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            if self.roll(3) > 0 && is_schema(schema) {
                made.insert(
                    name.clone(),
                    self.instance(document, schema, pointer, depth + 1),
                );
            }
        }
        for name in map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            if !made.contains_key(name) {
                let schema = map
                    .get("properties")
                    .and_then(|it| it.get(name))
                    .unwrap_or(&Value::Bool(true));
                made.insert(
                    name.to_owned(),
                    self.instance(document, schema, pointer, depth + 1),
                );
            }
        }
        if self.roll(4) == 0 {
            let schema = map
                .get("additionalProperties")
                .unwrap_or(&Value::Bool(true));
            let name = ["x1", "b", "other"][self.roll(3)];
            let value = self.instance(document, schema, pointer, depth + 1);
            made.entry(name).or_insert(value);
        }
        Value::Object(made)
    }

    fn array(
        &mut self,
        document: &SchemaDocument<'_>,
        map: &Map<String, Value>,
        pointer: &str,
        depth: usize,
    ) -> Value {
        let places = map
            .get("prefixItems")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let rest = map.get("items").cloned().unwrap_or(Value::Bool(true));
        let count = self.roll(4);
        (0..count)
            .map(|at| {
                self.instance(
                    document,
                    places.get(at).unwrap_or(&rest),
                    pointer,
                    depth + 1,
                )
            })
            .collect()
    }

    fn text(&mut self) -> Value {
        json!(["", "a", "x1", "abc", "2026-01-01", "b"][self.roll(6)])
    }

    fn any(&mut self) -> Value {
        match self.roll(8) {
            0 => Value::Null,
            1 => json!(self.roll(2) == 0),
            2 => json!(self.whole() - 2),
            3 => json!(f64::from(self.whole()) / 2.0),
            4 => json!([1, "a"]),
            5 => json!({"a": 1}),
            6 => json!({"b": "x1", "a": []}),
            _ => self.text(),
        }
    }
}
