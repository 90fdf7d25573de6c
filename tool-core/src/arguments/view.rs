//! The keywords of a schema that apply to one value: its own, those behind `$ref`, and those in
//! `allOf`.

use crate::schema::nullable::is_null_only;
use crate::schema::type_set::TypeSet;
use crate::schema::walk;
use rustc_hash::FxHashSet;
use serde_json::{Map, Value};
use std::cell::OnceCell;

/// The number of schemas that a view holds. The others are missing: a user of the view that must
/// not miss any checks this.
pub(crate) const MAX_PARTS: usize = 64;

/// The schemas that a value must satisfy.
pub(crate) struct SchemaView<'a> {
    /// The schemas, the nearest first.
    pub(crate) parts: Vec<&'a Map<String, Value>>,
    types: OnceCell<TypeSet>,
}

impl<'a> SchemaView<'a> {
    pub(crate) fn of(schemas: &[&'a Value], root: &'a Value) -> Self {
        let mut view = Self {
            parts: Vec::new(),
            types: OnceCell::new(),
        };
        for schema in schemas {
            view.add(schema, root);
        }
        view
    }

    fn add(&mut self, schema: &'a Value, root: &'a Value) {
        let Some(map) = schema.as_object() else {
            return;
        };
        if self.parts.len() == MAX_PARTS || self.parts.iter().any(|part| std::ptr::eq(*part, map)) {
            return;
        }
        self.parts.push(map);
        for schema in walk::referenced(map, root)
            .into_iter()
            .chain(walk::branches(map, "allOf"))
        {
            self.add(schema, root);
        }
    }

    /// Returns the view of a schema, and of the only branch beside `null` in each choice, as for an
    /// `Option`.
    pub(crate) fn with_only_branches(schema: &'a Value, root: &'a Value) -> Self {
        let mut view = Self::of(&[schema], root);
        let mut next = 0;
        while let Some(part) = view.parts.get(next).copied() {
            for keyword in ["anyOf", "oneOf"] {
                let mut branches =
                    walk::branches(part, keyword).filter(|branch| !is_null_only(branch));
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
        *self.types.get_or_init(|| self.find_types())
    }

    fn find_types(&self) -> TypeSet {
        let mut left = TypeSet::ALL;
        for part in &self.parts {
            if part.contains_key("type") {
                left = left.and(TypeSet::of_schema(part));
            }
            if let Some(values) = part.get("enum").and_then(Value::as_array) {
                left = left.and(TypeSet::of_values(values));
            }
            if let Some(value) = part.get("const") {
                left = left.and(TypeSet::of_values(std::slice::from_ref(value)));
            }
        }
        left
    }

    /// Returns the names of the required properties.
    pub(crate) fn required(&self) -> FxHashSet<&'a str> {
        let lists = self
            .parts
            .iter()
            .filter_map(|part| part.get("required")?.as_array());
        lists.flatten().filter_map(Value::as_str).collect()
    }

    /// Returns the names of the declared properties, each once.
    pub(crate) fn names(&self) -> Vec<&'a str> {
        let mut known = FxHashSet::default();
        let names = self
            .parts
            .iter()
            .filter_map(|part| part.get("properties")?.as_object())
            .flat_map(Map::keys);
        names
            .map(String::as_str)
            .filter(|name| known.insert(*name))
            .collect()
    }

    /// Returns the value of a keyword in the first schema that has it.
    pub(crate) fn find(&self, keyword: &str) -> Option<&'a Value> {
        self.parts.iter().find_map(|part| part.get(keyword))
    }

    /// Returns the schemas under `properties` for a property.
    pub(crate) fn declared(&self, name: &str) -> Vec<&'a Value> {
        self.parts
            .iter()
            .filter_map(|part| part.get("properties")?.get(name))
            .collect()
    }

    /// Returns the schemas for a property, declared or not.
    pub(crate) fn property(&self, name: &str) -> Vec<&'a Value> {
        self.parts
            .iter()
            .filter_map(|part| property_in(part, name))
            .collect()
    }

    /// Returns the schemas for an item of an array.
    pub(crate) fn item(&self, position: usize) -> Vec<&'a Value> {
        let of_part = |part: &&'a Map<String, Value>| {
            let first = part.get("prefixItems").and_then(Value::as_array);
            first
                .and_then(|first| first.get(position))
                .or_else(|| part.get("items"))
        };
        self.parts.iter().filter_map(of_part).collect()
    }

    /// Returns the number of items that have schemas by their position.
    pub(crate) fn prefix(&self) -> usize {
        self.parts
            .iter()
            .filter_map(|part| Some(part.get("prefixItems")?.as_array()?.len()))
            .max()
            .unwrap_or(0)
    }

    /// Returns the branches of each `anyOf` and `oneOf`.
    pub(crate) fn choices(&self) -> Vec<&'a [Value]> {
        let of_part = |part: &&'a Map<String, Value>| {
            let map: &'a Map<String, Value> = part;
            ["anyOf", "oneOf"]
                .into_iter()
                .filter_map(move |keyword| map.get(keyword)?.as_array().map(Vec::as_slice))
        };
        self.parts.iter().flat_map(of_part).collect()
    }
}

fn property_in<'a>(part: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if let Some(declared) = part.get("properties").and_then(|all| all.get(name)) {
        return Some(declared);
    }
    let rest = part.get("additionalProperties");
    match part
        .get("patternProperties")
        .and_then(Value::as_object)
        .filter(|patterns| !patterns.is_empty())
    {
        None => rest,
        // With one pattern and no other names allowed, every accepted property is one of the
        // pattern.
        Some(patterns) if patterns.len() == 1 && rest == Some(&Value::Bool(false)) => {
            patterns.values().next()
        }
        Some(_) => None,
    }
}

/// Returns the property names that a schema declares, also in its branches.
pub(crate) fn property_names<'a>(schema: &'a Value, root: &'a Value) -> Vec<&'a str> {
    let mut names = Vec::new();
    let mut known = FxHashSet::default();
    visit_in_place(schema, root, 8, &mut |map| {
        let declared = map
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::keys);
        names.extend(
            declared
                .map(String::as_str)
                .filter(|name| known.insert(*name)),
        );
    });
    names
}

/// Returns true if a schema accepts a property of that name explicitly. JSON Schema accepts any
/// property that no keyword refuses. Here, only a schema with `additionalProperties` or without any
/// assertion does.
pub(crate) fn accepts_property(schema: &Value, name: &str) -> bool {
    let root = schema;
    let Some(map) = walk::follow(root, schema).as_object() else {
        return schema != &Value::Bool(false);
    };
    let mut taken = !map.keys().any(|keyword| !walk::is_annotation(keyword));
    visit_in_place(schema, root, 8, &mut |map| {
        let open = |keyword: &str| {
            map.get(keyword)
                .is_some_and(|rest| rest != &Value::Bool(false))
        };
        let declared = map
            .get("properties")
            .is_some_and(|all| all.get(name).is_some());
        let patterns = map
            .get("patternProperties")
            .and_then(Value::as_object)
            .is_some_and(|all| !all.is_empty());
        taken |=
            declared || patterns || open("additionalProperties") || open("unevaluatedProperties");
    });
    taken
}

/// Calls `visit` once with each schema that applies to the same value, down to a depth.
pub(crate) fn visit_in_place<'a>(
    schema: &'a Value,
    root: &'a Value,
    depth: usize,
    visit: &mut dyn FnMut(&'a Map<String, Value>),
) {
    visit_once(schema, root, depth, &mut FxHashSet::default(), visit);
}

fn visit_once<'a>(
    schema: &'a Value,
    root: &'a Value,
    depth: usize,
    visited: &mut FxHashSet<usize>,
    visit: &mut dyn FnMut(&'a Map<String, Value>),
) {
    let (Some(map), Some(depth)) = (schema.as_object(), depth.checked_sub(1)) else {
        return;
    };
    if !visited.insert(std::ptr::from_ref(map).addr()) {
        return;
    }
    visit(map);
    let branches = ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .flat_map(|keyword| walk::branches(map, keyword));
    let conditions = ["if", "then", "else"]
        .into_iter()
        .filter_map(|keyword| map.get(keyword));
    let dependent = map
        .get("dependentSchemas")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::values);
    for schema in walk::referenced(map, root)
        .into_iter()
        .chain(branches)
        .chain(conditions)
        .chain(dependent)
    {
        visit_once(schema, root, depth, visited, visit);
    }
}
