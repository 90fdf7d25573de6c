//! Schemas of older drafts, rewritten as draft 2020-12.

use crate::schema::walk::{
    LIST_KEYWORDS, MAP_KEYWORDS, SCHEMA_KEYWORDS, for_each_child, is_annotation, percent_decode,
};
use serde_json::{Map, Value};

/// Rewrites a schema of an older draft as draft 2020-12, so that its readers know one draft only.
///
/// These forms are rewritten in every schema, because draft 2020-12 has no other meaning for them:
///
/// | older form | draft 2020-12 |
/// |---|---|
/// | `definitions`, and references into it | `$defs` |
/// | `items: [..]` with `additionalItems` | `prefixItems: [..]` with `items` |
/// | `minimum: 3` with `exclusiveMinimum: true`, and likewise the maximum | `exclusiveMinimum: 3` as well |
/// | `dependencies` | `dependentRequired` and `dependentSchemas` |
/// | `$id: "#name"` | `$anchor: "name"` |
///
/// If `$schema` names an older draft, its rules apply too: `id` of draft 4 becomes `$id`,
/// `$recursiveRef` of draft 2019-09 becomes `$ref`, assertions that the draft does not know are
/// removed, and before draft 2019-09 so are assertions beside a `$ref`. If anything was rewritten,
/// such a `$schema` is removed.
///
/// Everything else stays as it is: property names, the values in `enum`, `const`, `default` and
/// `examples`, unknown keywords, and the order of the keywords.
///
/// ```
/// use serde_json::json;
/// use tool_core::schema::to_draft_2020_12;
///
/// let pair = json!({"items": [{"type": "string"}, {"type": "integer"}], "additionalItems": false});
/// let upgraded = json!({"prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false});
/// assert_eq!(to_draft_2020_12(&pair), upgraded);
/// ```
pub fn to_draft_2020_12(schema: &Value) -> Value {
    let mut upgrade = Upgrade {
        draft: Draft::of(schema),
        resources: Vec::new(),
    };
    upgrade.collect_resources(schema);
    let mut upgraded = upgrade.schema(schema, schema);
    if upgraded == *schema || upgrade.draft == Draft::Draft202012 {
        return upgraded;
    }
    if let Some(map) = upgraded.as_object_mut() {
        map.shift_remove("$schema");
    }
    upgraded
}

#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub(crate) enum Draft {
    Draft4,
    Draft6,
    Draft7,
    Draft201909,
    Draft202012,
}

impl Draft {
    /// Returns the draft that `$schema` names, and 2020-12 if it names none of these.
    pub(crate) fn of(root: &Value) -> Self {
        let name = root
            .get("$schema")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let known = [
            ("draft-03", Self::Draft4),
            ("draft-04", Self::Draft4),
            ("draft-06", Self::Draft6),
            ("draft-07", Self::Draft7),
            ("2019-09", Self::Draft201909),
        ];
        known
            .into_iter()
            .find(|(part, _)| name.contains(part))
            .map_or(Self::Draft202012, |(_, draft)| draft)
    }

    /// Returns the draft that introduced an assertion or a reference keyword.
    pub(crate) fn introducing(keyword: &str) -> Self {
        match keyword {
            "const" | "contains" | "propertyNames" => Self::Draft6,
            "if" | "then" | "else" => Self::Draft7,
            "$anchor"
            | "$recursiveRef"
            | "dependentRequired"
            | "dependentSchemas"
            | "maxContains"
            | "minContains"
            | "unevaluatedItems"
            | "unevaluatedProperties" => Self::Draft201909,
            "$dynamicAnchor" | "$dynamicRef" | "prefixItems" => Self::Draft202012,
            _ => Self::Draft4,
        }
    }
}

struct Upgrade<'a> {
    draft: Draft,
    /// The schemas with an identifier. References name them by it.
    resources: Vec<(&'a str, &'a Value)>,
}

impl<'a> Upgrade<'a> {
    fn collect_resources(&mut self, schema: &'a Value) {
        let Some(map) = schema.as_object() else {
            return;
        };
        self.resources
            .extend(self.identifier(map).map(|id| (id, schema)));
        for_each_child(map, &mut |child| self.collect_resources(child));
    }

    /// Returns true for a schema in which only `$ref` and annotations count.
    fn is_reference(&self, map: &Map<String, Value>) -> bool {
        self.draft < Draft::Draft201909 && map.contains_key("$ref")
    }

    /// Returns the identifier by which references name a schema.
    fn identifier(&self, map: &'a Map<String, Value>) -> Option<&'a str> {
        if self.is_reference(map) {
            return None;
        }
        let keyword = if self.draft == Draft::Draft4 {
            "id"
        } else {
            "$id"
        };
        let id = map.get(keyword).and_then(Value::as_str)?;
        (!id.starts_with('#')).then(|| id.trim_end_matches('#'))
    }

    /// Rewrites a schema. A reference that begins with `#` leads into `resource`.
    fn schema(&self, schema: &'a Value, resource: &'a Value) -> Value {
        let Some(map) = schema.as_object() else {
            return schema.clone();
        };
        let is_root = std::ptr::eq(schema, resource);
        let is_reference = self.is_reference(map);
        let resource = if self.identifier(map).is_some() {
            schema
        } else {
            resource
        };
        let mut written = Map::new();
        for (keyword, value) in map {
            let ignored = is_reference && keyword != "$ref" && !is_annotation(keyword)
                || is_reference && !is_root && matches!(keyword.as_str(), "$id" | "id")
                || self.draft < Draft::introducing(keyword);
            if !ignored {
                self.keyword(map, keyword, value, resource, &mut written);
            }
        }
        Value::Object(written)
    }

    fn keyword(
        &self,
        map: &'a Map<String, Value>,
        keyword: &str,
        value: &'a Value,
        resource: &'a Value,
        written: &mut Map<String, Value>,
    ) {
        let schema = |value: &'a Value| self.schema(value, resource);
        let (name, new) = match (keyword, value) {
            ("id", Value::String(id)) if self.draft == Draft::Draft4 => identified(id),
            ("$id", Value::String(id)) => identified(id),
            ("$ref", Value::String(reference)) => {
                ("$ref", self.reference(reference, resource).into())
            }
            ("$recursiveRef", _)
                if self.draft == Draft::Draft201909 && !map.contains_key("$ref") =>
            {
                ("$ref", value.clone())
            }
            ("$recursiveAnchor", _) if self.draft == Draft::Draft201909 => return,
            ("exclusiveMinimum" | "exclusiveMaximum", Value::Bool(exclusive)) => {
                let inclusive = if keyword == "exclusiveMinimum" {
                    "minimum"
                } else {
                    "maximum"
                };
                match map
                    .get(inclusive)
                    .filter(|bound| *exclusive && bound.is_number())
                {
                    Some(bound) => (keyword, bound.clone()),
                    None => return,
                }
            }
            ("dependencies", Value::Object(all)) if renamed(map, keyword) != keyword => {
                let (names, schemas): (Vec<_>, Vec<_>) =
                    all.iter().partition(|(_, value)| value.is_array());
                let names: Map<_, _> = names
                    .into_iter()
                    .map(|(name, list)| (name.clone(), list.clone()))
                    .collect();
                if !names.is_empty() {
                    written.insert("dependentRequired".to_owned(), names.into());
                }
                if schemas.is_empty() {
                    return;
                }
                (
                    "dependentSchemas",
                    schemas
                        .into_iter()
                        .map(|(name, value)| (name.clone(), schema(value)))
                        .collect(),
                )
            }
            // Draft 2020-12 does not allow an empty list.
            ("items", Value::Array(list)) if list.is_empty() => return,
            (_, Value::Array(list)) if LIST_KEYWORDS.contains(&keyword) => {
                (renamed(map, keyword), list.iter().map(schema).collect())
            }
            (_, Value::Object(all)) if MAP_KEYWORDS.contains(&keyword) => (
                renamed(map, keyword),
                all.iter()
                    .map(|(name, value)| (name.clone(), schema(value)))
                    .collect(),
            ),
            _ if SCHEMA_KEYWORDS.contains(&keyword) => (renamed(map, keyword), schema(value)),
            _ => (keyword, value.clone()),
        };
        written.insert(name.to_owned(), new);
    }

    /// Rewrites the JSON pointer of a reference into this document.
    fn reference(&self, reference: &str, resource: &'a Value) -> String {
        let Some((name, pointer)) = reference.split_once('#') else {
            return reference.to_owned();
        };
        let named = || {
            self.resources
                .iter()
                .find(|(id, _)| *id == name)
                .map(|(_, resource)| *resource)
        };
        let target = if name.is_empty() {
            Some(resource)
        } else {
            named()
        };
        match target {
            Some(target) if pointer.starts_with('/') => {
                format!("{name}#{}", rewritten_pointer(target, pointer))
            }
            _ => reference.to_owned(),
        }
    }
}

/// Returns the name that a keyword has in draft 2020-12. A keyword keeps its name if the new one is
/// taken.
fn renamed<'k>(map: &Map<String, Value>, keyword: &'k str) -> &'k str {
    let has_list =
        map.get("items").is_some_and(Value::is_array) && !map.contains_key("prefixItems");
    match keyword {
        "definitions" if !map.contains_key("$defs") => "$defs",
        "items" if has_list => "prefixItems",
        "additionalItems" if has_list => "items",
        "dependencies"
            if !map.contains_key("dependentRequired") && !map.contains_key("dependentSchemas") =>
        {
            "dependentSchemas"
        }
        other => other,
    }
}

/// Rewrites a pointer in step with the original schema, so that names of properties stay what they
/// are.
fn rewritten_pointer(root: &Value, pointer: &str) -> String {
    /// The kind of value that a token is looked up in.
    enum Holder {
        Schema,
        Schemas,
        Other,
    }
    let mut node = Some(root);
    let mut holder = Holder::Schema;
    let mut written = String::with_capacity(pointer.len());
    for token in pointer.split('/').skip(1) {
        let name = percent_decode(token).unwrap_or_default();
        let child = node.and_then(|node| node.pointer(&format!("/{name}")));
        let map = node.and_then(Value::as_object);
        written.push('/');
        holder = match (holder, map) {
            (Holder::Schema, Some(map)) => {
                let new = renamed(map, &name);
                written.push_str(if new == name { token } else { new });
                let holds_many =
                    MAP_KEYWORDS.contains(&&*name) || child.is_some_and(Value::is_array);
                let holds_schemas =
                    SCHEMA_KEYWORDS.contains(&&*name) || LIST_KEYWORDS.contains(&&*name);
                match (holds_many, holds_schemas) {
                    (true, _) => Holder::Schemas,
                    (false, true) => Holder::Schema,
                    (false, false) => Holder::Other,
                }
            }
            (before, _) => {
                written.push_str(token);
                if matches!(before, Holder::Schemas) {
                    Holder::Schema
                } else {
                    Holder::Other
                }
            }
        };
        node = child;
    }
    written
}

/// Returns the keyword and the value for an identifier. One that is only a fragment was an anchor
/// before draft 2019-09.
fn identified(id: &str) -> (&'static str, Value) {
    match id.strip_prefix('#') {
        Some(anchor) if !anchor.is_empty() => ("$anchor", anchor.into()),
        _ => ("$id", id.into()),
    }
}
