//! The keywords of a schema that apply to one value: its own, those behind `$ref`, and those in `allOf`.

use crate::schema::nullable::is_null_only;
use crate::schema::walk;
use serde_json::{Map, Value};

/// A set of JSON types.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct TypeSet(u8);

impl TypeSet {
    pub(crate) const BOOLEAN: Self = Self(1);
    pub(crate) const INTEGER: Self = Self(2);
    /// A number that need not be an integer.
    pub(crate) const FRACTION: Self = Self(4);
    pub(crate) const STRING: Self = Self(8);
    pub(crate) const ARRAY: Self = Self(16);
    pub(crate) const OBJECT: Self = Self(32);
    const NULL: Self = Self(64);
    const ALL: Self = Self(127);

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn named(name: &str) -> Self {
        match name {
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self(Self::INTEGER.0 | Self::FRACTION.0),
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            "null" => Self::NULL,
            _ => Self::ALL,
        }
    }

    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(_) => Self::named("number"),
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    fn any(types: impl Iterator<Item = Self>) -> Self {
        types.fold(Self(0), |all, next| Self(all.0 | next.0))
    }
}

/// The schemas that a value has to satisfy, all of them.
pub(crate) struct SchemaView<'a> {
    /// The schemas, the nearest first.
    pub(crate) parts: Vec<&'a Map<String, Value>>,
}

impl<'a> SchemaView<'a> {
    pub(crate) fn of(schemas: &[&'a Value], root: &'a Value) -> Self {
        let mut view = Self { parts: Vec::new() };
        for schema in schemas {
            view.add(schema, root);
        }
        view
    }

    fn add(&mut self, schema: &'a Value, root: &'a Value) {
        let Some(map) = schema.as_object() else { return };
        if self.parts.iter().any(|part| std::ptr::eq(*part, map)) {
            return;
        }
        self.parts.push(map);
        for schema in walk::referenced(map, root).into_iter().chain(walk::branches(map, "allOf")) {
            self.add(schema, root);
        }
    }

    /// Returns the view of a schema, and of the only branch beside `null` in each choice, as for an `Option`.
    pub(crate) fn with_only_branches(schema: &'a Value, root: &'a Value) -> Self {
        let mut view = Self::of(&[schema], root);
        let mut next = 0;
        while let Some(part) = view.parts.get(next).copied() {
            for keyword in ["anyOf", "oneOf"] {
                let mut branches = walk::branches(part, keyword).filter(|branch| !is_null_only(branch));
                if let (Some(only), None) = (branches.next(), branches.next()) {
                    view.add(only, root);
                }
            }
            next += 1;
        }
        view
    }

    /// Returns the types that the schemas allow. Their choices are not considered.
    pub(crate) fn types(&self) -> TypeSet {
        let mut left = TypeSet::ALL.0;
        for part in &self.parts {
            if part.contains_key("type") {
                left &= TypeSet::any(walk::type_names(part).map(TypeSet::named)).0;
            }
            if let Some(values) = part.get("enum").and_then(Value::as_array) {
                left &= TypeSet::any(values.iter().map(TypeSet::of)).0;
            }
            if let Some(value) = part.get("const") {
                left &= TypeSet::of(value).0;
            }
        }
        TypeSet(left)
    }

    /// Returns true if the property is required.
    pub(crate) fn requires(&self, name: &str) -> bool {
        let lists = self.parts.iter().filter_map(|part| part.get("required")?.as_array());
        lists.flatten().any(|required| required == name)
    }

    /// Returns the names of the declared properties, each once.
    pub(crate) fn names(&self) -> Vec<&'a str> {
        let mut names = Vec::new();
        for name in self.parts.iter().filter_map(|part| part.get("properties")?.as_object()).flat_map(Map::keys) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// Returns the value of a keyword in the first schema that has it.
    pub(crate) fn find(&self, keyword: &str) -> Option<&'a Value> {
        self.parts.iter().find_map(|part| part.get(keyword))
    }

    /// Returns the schemas under `properties` for a property.
    pub(crate) fn declared(&self, name: &str) -> Vec<&'a Value> {
        self.parts.iter().filter_map(|part| part.get("properties")?.get(name)).collect()
    }

    /// Returns the schemas for a property, declared or not.
    pub(crate) fn property(&self, name: &str) -> Vec<&'a Value> {
        self.parts.iter().filter_map(|part| property_in(part, name)).collect()
    }

    /// Returns the schemas for an item of an array.
    pub(crate) fn item(&self, position: usize) -> Vec<&'a Value> {
        let of_part = |part: &&'a Map<String, Value>| {
            let first = part.get("prefixItems").and_then(Value::as_array);
            first.and_then(|first| first.get(position)).or_else(|| part.get("items"))
        };
        self.parts.iter().filter_map(of_part).collect()
    }

    /// Returns the branches of each `anyOf` and `oneOf`.
    pub(crate) fn choices(&self) -> Vec<&'a [Value]> {
        let of_part = |part: &&'a Map<String, Value>| {
            let map: &'a Map<String, Value> = part;
            ["anyOf", "oneOf"].into_iter().filter_map(move |keyword| map.get(keyword)?.as_array().map(Vec::as_slice))
        };
        self.parts.iter().flat_map(of_part).collect()
    }
}

fn property_in<'a>(part: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if let Some(declared) = part.get("properties").and_then(|all| all.get(name)) {
        return Some(declared);
    }
    let rest = part.get("additionalProperties");
    match part.get("patternProperties").and_then(Value::as_object).filter(|patterns| !patterns.is_empty()) {
        None => rest,
        // With one pattern and no other names allowed, every accepted property is one of the pattern.
        Some(patterns) if patterns.len() == 1 && rest == Some(&Value::Bool(false)) => patterns.values().next(),
        Some(_) => None,
    }
}

/// Returns the property names that a schema declares, also in its branches.
pub(crate) fn property_names<'a>(schema: &'a Value, root: &'a Value) -> Vec<&'a str> {
    let mut known = Vec::new();
    visit_in_place(schema, root, 8, &mut |map| {
        for name in map.get("properties").and_then(Value::as_object).into_iter().flat_map(|all| all.keys()) {
            if !known.contains(&name.as_str()) {
                known.push(name);
            }
        }
    });
    known
}

/// Returns true if a schema accepts a property of that name explicitly. JSON Schema accepts any property that no keyword
/// refuses. Here, only a schema with `additionalProperties` or without any assertion does.
pub(crate) fn accepts_property(schema: &Value, name: &str) -> bool {
    let root = schema;
    let Some(map) = walk::follow(root, schema).as_object() else { return schema != &Value::Bool(false) };
    let mut taken = !map.keys().any(|keyword| !walk::is_annotation(keyword));
    visit_in_place(schema, root, 8, &mut |map| {
        let open = |keyword: &str| map.get(keyword).is_some_and(|rest| rest != &Value::Bool(false));
        let declared = map.get("properties").is_some_and(|all| all.get(name).is_some());
        let patterns = map.get("patternProperties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
        taken |= declared || patterns || open("additionalProperties") || open("unevaluatedProperties");
    });
    taken
}

/// Calls `visit` with each schema that applies to the same value.
pub(crate) fn visit_in_place<'a>(
    schema: &'a Value,
    root: &'a Value,
    depth: usize,
    visit: &mut dyn FnMut(&'a Map<String, Value>),
) {
    let (Some(map), Some(depth)) = (schema.as_object(), depth.checked_sub(1)) else { return };
    visit(map);
    let branches = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|keyword| walk::branches(map, keyword));
    let conditions = ["if", "then", "else"].into_iter().filter_map(|keyword| map.get(keyword));
    let dependent = map.get("dependentSchemas").and_then(Value::as_object).into_iter().flat_map(Map::values);
    for schema in walk::referenced(map, root).into_iter().chain(branches).chain(conditions).chain(dependent) {
        visit_in_place(schema, root, depth, visit);
    }
}
