//! The meaning of `null` for a schema.

use crate::schema::walk;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

/// The meaning of `null` for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NullMeaning {
    /// The parameter is absent, as its published default is `null`.
    Absent,
    /// The parameter is absent, although its default is another value, or it has none. Reported as
    /// a coercion.
    Coerced,
    /// A value like any other.
    Allowed,
    /// A mistake.
    Refused,
}

/// Removes the `null` that `Option<T>` adds to the schema of `T`.
pub(crate) fn strip_null(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else {
        return;
    };
    strip_from_type(map);
    strip_from_enum(map);
    for keyword in ["anyOf", "oneOf"] {
        strip_branch(map, keyword);
    }
}

fn strip_from_type(map: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = map.get_mut("type") else {
        return;
    };
    if types.len() > 1 {
        types.retain(|name| name != "null");
    }
    if types.len() == 1 {
        let only = types.remove(0);
        map.insert("type".to_owned(), only);
    }
}

fn strip_from_enum(map: &mut Map<String, Value>) {
    if let Some(Value::Array(values)) = map.get_mut("enum")
        && values.len() > 1
    {
        values.retain(|value| !value.is_null());
    }
}

fn strip_branch(map: &mut Map<String, Value>, keyword: &str) {
    let Some(Value::Array(mut branches)) = map.remove(keyword) else {
        return;
    };
    if branches.len() > 1 {
        branches.retain(|branch| !is_null_only(branch));
    }
    // A choice of one branch is that branch, unless a keyword beside it would be lost.
    let collapses = |only: &Map<String, Value>| {
        only.keys()
            .all(|key| key == "description" || !map.contains_key(key))
    };
    match branches.as_slice() {
        [Value::Object(only)] if collapses(only) => {
            for (key, value) in only {
                map.entry(key.as_str()).or_insert_with(|| value.clone());
            }
        }
        _ => {
            map.insert(keyword.to_owned(), branches.into());
        }
    }
}

/// Returns true if the schema accepts only `null`.
pub(crate) fn is_null_only(schema: &Value) -> bool {
    schema.as_object().is_some_and(|map| {
        map.get("type").is_some_and(|kind| kind == "null")
            && map
                .keys()
                .all(|keyword| keyword == "type" || walk::is_annotation(keyword))
    })
}

/// Returns true if the schema accepts `null`.
pub(crate) fn allows_null(schema: &Value, root: &Value) -> bool {
    NullWalk {
        root,
        answers: FxHashMap::default(),
    }
    .allows(schema, 0)
}

struct NullWalk<'a> {
    root: &'a Value,
    /// The answers by the addresses of the schemas. Many references may lead to one schema.
    answers: FxHashMap<usize, bool>,
}

impl<'a> NullWalk<'a> {
    fn allows(&mut self, schema: &'a Value, depth: usize) -> bool {
        let map = match schema {
            Value::Bool(answer) => return *answer,
            Value::Object(map) => map,
            _ => return true,
        };
        let address = walk::address(schema);
        if let Some(answer) = self.answers.get(&address) {
            return *answer;
        }
        // A chain of references without any assertion refuses nothing.
        if depth > 64 {
            return true;
        }
        self.answers.insert(address, true);
        let answer = self.keywords_allow(map, depth + 1);
        self.answers.insert(address, answer);
        answer
    }

    fn keywords_allow(&mut self, map: &'a Map<String, Value>, depth: usize) -> bool {
        let each = |keyword: &str| map.get(keyword).and_then(Value::as_array);
        let by_type = !map.contains_key("type") || walk::type_names(map).any(|name| name == "null");
        let root = self.root;
        let mut deeper = |schema: &'a Value| self.allows(schema, depth);
        by_type
            && each("enum").is_none_or(|values| values.contains(&Value::Null))
            && map.get("const").is_none_or(Value::is_null)
            && walk::referenced(map, root).is_none_or(&mut deeper)
            && each("allOf").is_none_or(|all| all.iter().all(&mut deeper))
            && each("anyOf").is_none_or(|any| any.iter().any(&mut deeper))
            && each("oneOf")
                .is_none_or(|one| one.iter().filter(|branch| deeper(branch)).count() == 1)
            && map.get("not").is_none_or(|not| !deeper(not))
    }
}
