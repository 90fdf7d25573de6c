//! What the dialects share: places in a schema, references, types, and what a description can say.

use crate::providers::schema::restore::restore;
use crate::providers::schema::types::Types;
use serde_json::{Map, Value};
use std::cell::OnceCell;
use tool_core::schema::{LIST_KEYWORDS, MAP_KEYWORDS, SCHEMA_KEYWORDS, percent_decode};
pub(crate) use tool_core::schema::{SCHEMA_KEYWORDS as HOLDS_ONE, is_schema, join_pointer as join};

// ---- A schema as a whole: which draft it is of, and what its references lead to.

/// A schema with what its references need. Cheap to make: it is searched when the first reference is followed.
pub(crate) struct Document<'a> {
    root: &'a Value,
    draft: Draft,
    index: OnceCell<Index<'a>>,
}

/// A schema inside the document, and its pointer from the root.
#[derive(Clone, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) schema: &'a Value,
    pub(crate) pointer: String,
}

/// The draft that a schema is of. It decides which keywords mean something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Draft {
    D4,
    D6,
    D7,
    D2019,
    D2020,
}

#[derive(Default)]
struct Index<'a> {
    /// Schemas with an `$id` of their own, by pointer: `#` inside them means them. The root is one.
    resources: Vec<(Option<&'a str>, Place<'a>)>,
    /// Names by `$anchor` or `$dynamicAnchor`.
    anchors: Vec<(&'a str, Place<'a>)>,
}

impl Draft {
    fn of(root: &Value) -> Self {
        let name = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
        let known = [("draft-03", Self::D4), ("draft-04", Self::D4), ("draft-06", Self::D6), ("draft-07", Self::D7)];
        let by_name = known.into_iter().chain([("2019-09", Self::D2019)]).find(|(part, _)| name.contains(part));
        by_name.map_or(Self::D2020, |(_, draft)| draft)
    }

    /// Whether a keyword means something in the draft, given that it does in a later one.
    pub(crate) fn knows(self, keyword: &str) -> bool {
        self >= match keyword {
            "const" | "contains" | "propertyNames" | "examples" => Self::D6,
            "if" | "then" | "else" | "readOnly" | "writeOnly" | "contentEncoding" | "contentMediaType" => Self::D7,
            "$anchor"
            | "dependentRequired"
            | "dependentSchemas"
            | "unevaluatedItems"
            | "unevaluatedProperties"
            | "minContains"
            | "maxContains"
            | "contentSchema"
            | "deprecated" => Self::D2019,
            "prefixItems" | "$dynamicRef" | "$dynamicAnchor" => Self::D2020,
            _ => Self::D4,
        }
    }

    /// Whether keywords beside a `$ref` hold as well.
    pub(crate) fn reads_beside_references(self) -> bool {
        self >= Self::D2019
    }
}

impl<'a> Document<'a> {
    pub(crate) fn new(root: &'a Value) -> Self {
        Self { root, draft: Draft::of(root), index: OnceCell::new() }
    }

    pub(crate) fn root(&self) -> &'a Value {
        self.root
    }

    pub(crate) fn draft(&self) -> Draft {
        self.draft
    }

    /// What a reference that stands at the pointer `from` leads to; nothing where that is outside of the document,
    /// which is never fetched, or nowhere.
    pub(crate) fn resolve(&self, from: &str, reference: &str) -> Option<Place<'a>> {
        let index = self.index.get_or_init(|| Index::of(self.root));
        let (resource, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let base = index.resource(from, resource)?;
        let fragment = percent_decode(fragment)?;
        if !fragment.is_empty() && !fragment.starts_with('/') {
            return index.anchor(&fragment, &base.pointer);
        }
        let schema = base.schema.pointer(&fragment).filter(|target| is_schema(target))?;
        Some(Place { schema, pointer: base.pointer + &fragment })
    }
}

impl<'a> Index<'a> {
    fn of(root: &'a Value) -> Self {
        let mut index = Self::default();
        let id = root.get("$id").and_then(Value::as_str);
        index.resources.push((id, Place { schema: root, pointer: String::new() }));
        let mut open = vec![Place { schema: root, pointer: String::new() }];
        while let Some(Place { schema, pointer }) = open.pop() {
            let Some(map) = schema.as_object() else { continue };
            index.add(map, schema, &pointer);
            for_each_child(map, &pointer, &mut |child| {
                open.push(Place { schema: child.schema, pointer: child.pointer });
            });
        }
        index
    }

    fn add(&mut self, map: &'a Map<String, Value>, schema: &'a Value, pointer: &str) {
        let text = |keyword: &str| map.get(keyword).and_then(Value::as_str);
        let place = || Place { schema, pointer: pointer.to_owned() };
        match text("$id") {
            // Before 2019 a bare fragment was how a name was given.
            Some(id) if id.starts_with('#') => self.anchors.push((id.trim_start_matches('#'), place())),
            Some(id) if !pointer.is_empty() => self.resources.push((Some(id), place())),
            _ => {}
        }
        for name in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text) {
            self.anchors.push((name, place()));
        }
    }

    /// The resource that a reference names, or that it stands in where it names none.
    fn resource(&self, from: &str, name: &str) -> Option<Place<'a>> {
        if name.is_empty() {
            return self.around(from).cloned();
        }
        // Only what is spelled alike: to resolve relative names, one would have to know where the document came from.
        let same = |id: &str| id.trim_end_matches('#') == name;
        self.resources.iter().find(|(id, _)| id.is_some_and(same)).map(|(_, place)| place.clone())
    }

    fn around(&self, pointer: &str) -> Option<&Place<'a>> {
        let holds =
            |outer: &str| pointer.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let around = self.resources.iter().map(|(_, place)| place).filter(|place| holds(&place.pointer));
        around.max_by_key(|place| place.pointer.len())
    }

    fn anchor(&self, name: &str, resource: &str) -> Option<Place<'a>> {
        let inside = |place: &Place<'_>| self.around(&place.pointer).is_some_and(|around| around.pointer == resource);
        self.anchors.iter().find(|(known, place)| *known == name && inside(place)).map(|(_, place)| place.clone())
    }
}

// ---- Where the schemas inside a schema stand.
//
// Everything here follows keywords, never names: a property may be called `title` or `$ref`, and a default may look
// like a schema.

/// Shows `visit` every schema that stands directly under `schema`, with its keyword, its name where the keyword holds
/// schemas by name, and its pointer.
pub(crate) fn for_each_child<'a>(schema: &'a Map<String, Value>, pointer: &str, visit: &mut dyn FnMut(Child<'a>)) {
    for (keyword, value) in schema {
        let keyword = keyword.as_str();
        if SCHEMA_KEYWORDS.contains(&keyword) && is_schema(value) {
            visit(Child { keyword, name: None, schema: value, pointer: join(pointer, keyword) });
        } else if LIST_KEYWORDS.contains(&keyword) {
            let under = join(pointer, keyword);
            for (at, child) in value.as_array().into_iter().flatten().enumerate().filter(|(_, child)| is_schema(child))
            {
                visit(Child { keyword, name: None, schema: child, pointer: join(&under, &at.to_string()) });
            }
        } else if MAP_KEYWORDS.contains(&keyword) {
            let under = join(pointer, keyword);
            for (name, child) in value.as_object().into_iter().flatten().filter(|(_, child)| is_schema(child)) {
                visit(Child { keyword, name: Some(name), schema: child, pointer: join(&under, name) });
            }
        }
    }
}

/// A schema that stands directly under another.
#[derive(Debug)]
pub(crate) struct Child<'a> {
    pub(crate) keyword: &'a str,
    pub(crate) name: Option<&'a str>,
    pub(crate) schema: &'a Value,
    pub(crate) pointer: String,
}

/// Whether the keyword says nothing about which values are accepted. Of what other people write, too.
pub(crate) fn is_annotation(keyword: &str) -> bool {
    tool_core::schema::is_annotation(keyword) || matches!(keyword, "example" | "$dynamicAnchor" | "$vocabulary")
}
