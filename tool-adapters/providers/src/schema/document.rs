//! A schema as a document: its subschemas, and the targets of its references.

use indexmap::IndexSet;
use serde_json::{Map, Value};
use std::cell::OnceCell;
use std::collections::HashMap;
use tool_core::schema::{
    LIST_KEYWORDS, MAP_KEYWORDS, SCHEMA_KEYWORDS, is_schema, join_pointer, percent_decode,
};

/// A schema of draft 2020-12 with an index of its references. The index is made when the first
/// reference is resolved.
pub struct SchemaDocument<'a> {
    root: &'a Value,
    index: OnceCell<DocumentIndex<'a>>,
}

/// A schema inside a document, with its pointer from the root.
#[derive(Clone, Debug)]
pub struct SchemaPlace<'a> {
    /// The schema at the place.
    pub schema: &'a Value,
    /// The JSON pointer of the place.
    pub pointer: String,
}

#[derive(Default)]
struct DocumentIndex<'a> {
    /// The schemas with an `$id`, and the root, by pointer. Inside them `#` means them.
    resources: HashMap<String, SchemaPlace<'a>>,
    /// The pointers of the resources by `$id`.
    ids: HashMap<&'a str, String>,
    /// The schemas with an `$anchor` or a `$dynamicAnchor`, by the resource's pointer and name.
    anchors: HashMap<(String, &'a str), SchemaPlace<'a>>,
}

impl<'a> SchemaPlace<'a> {
    /// Creates the place of a whole schema.
    pub fn root(schema: &'a Value) -> Self {
        Self {
            schema,
            pointer: String::new(),
        }
    }

    /// Returns the schemas of a list keyword.
    pub fn list(&self, keyword: &str) -> impl Iterator<Item = Self> {
        let list = self.schema.get(keyword);
        list.into_iter()
            .flat_map(move |list| list_places(list, &self.pointer, keyword))
    }
}

/// Returns the schemas in the value of a list keyword of the schema at `pointer`.
pub(crate) fn list_places<'a>(
    list: &'a Value,
    pointer: &str,
    keyword: &str,
) -> impl Iterator<Item = SchemaPlace<'a>> + use<'a> {
    let under = join_pointer(pointer, keyword);
    let place = move |(at, schema): (usize, _)| SchemaPlace {
        schema,
        pointer: join_pointer(&under, &at.to_string()),
    };
    list.as_array().into_iter().flatten().enumerate().map(place)
}

/// Returns the schemas in the value of a keyword that has schemas by name, of the schema at
/// `pointer`.
pub fn named_places<'a>(
    named: &'a Value,
    pointer: &str,
    keyword: &str,
) -> impl Iterator<Item = (&'a str, SchemaPlace<'a>)> + use<'a> {
    let under = join_pointer(pointer, keyword);
    let place = move |name: &'a String, schema| SchemaPlace {
        schema,
        pointer: join_pointer(&under, name),
    };
    named
        .as_object()
        .into_iter()
        .flatten()
        .map(move |(name, schema)| (name.as_str(), place(name, schema)))
}

impl<'a> SchemaDocument<'a> {
    /// Creates a document of a schema.
    pub fn new(root: &'a Value) -> Self {
        Self {
            root,
            index: OnceCell::new(),
        }
    }

    /// Returns the whole schema.
    pub fn root(&self) -> &'a Value {
        self.root
    }

    /// Returns the target of a reference in the schema at `from`; `None` for a reference out of the
    /// document, which is never fetched, and for one without a target.
    pub fn resolve(&self, from: &str, reference: &str) -> Option<SchemaPlace<'a>> {
        let index = self.index.get_or_init(|| DocumentIndex::of(self.root));
        let (resource, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let base = index.resource(from, resource)?;
        let fragment = percent_decode(fragment)?;
        if !fragment.is_empty() && !fragment.starts_with('/') {
            return index.anchor(&fragment, &base.pointer);
        }
        let schema = base
            .schema
            .pointer(&fragment)
            .filter(|target| is_schema(target))?;
        Some(SchemaPlace {
            schema,
            pointer: base.pointer + &fragment,
        })
    }
}

impl<'a> DocumentIndex<'a> {
    fn of(root: &'a Value) -> Self {
        let mut index = Self::default();
        index
            .resources
            .insert(String::new(), SchemaPlace::root(root));
        let mut anchors = Vec::new();
        let mut open = vec![SchemaPlace::root(root)];
        while let Some(SchemaPlace { schema, pointer }) = open.pop() {
            let Some(map) = schema.as_object() else {
                continue;
            };
            let text = |keyword: &str| map.get(keyword).and_then(Value::as_str);
            let place = || SchemaPlace {
                schema,
                pointer: pointer.clone(),
            };
            if let Some(id) = text("$id") {
                index.resources.entry(pointer.clone()).or_insert_with(place);
                index
                    .ids
                    .entry(id.trim_end_matches('#'))
                    .or_insert_with(|| pointer.clone());
            }
            anchors.extend(
                ["$anchor", "$dynamicAnchor"]
                    .into_iter()
                    .filter_map(text)
                    .map(|name| (name, place())),
            );
            for_each_subschema(map, &pointer, &mut |child| open.push(child.place));
        }
        for (name, place) in anchors {
            let around = index
                .around(&place.pointer)
                .map_or_else(String::new, |around| around.pointer.clone());
            index.anchors.entry((around, name)).or_insert(place);
        }
        index
    }

    /// Returns the resource of this name, or the one around `from` for an empty name.
    fn resource(&self, from: &str, name: &str) -> Option<SchemaPlace<'a>> {
        if name.is_empty() {
            return self.around(from).cloned();
        }
        // Names are compared as they are written: the base of relative names is not known.
        self.resources.get(self.ids.get(name)?).cloned()
    }

    fn around(&self, mut pointer: &str) -> Option<&SchemaPlace<'a>> {
        // Most documents are one resource.
        while self.resources.len() > 1 && !pointer.is_empty() {
            if let Some(place) = self.resources.get(pointer) {
                return Some(place);
            }
            pointer = pointer.rsplit_once('/').map_or("", |(outer, _)| outer);
        }
        self.resources.get("")
    }

    fn anchor(&self, name: &str, resource: &str) -> Option<SchemaPlace<'a>> {
        self.anchors.get(&(resource.to_owned(), name)).cloned()
    }
}

/// A direct subschema.
#[derive(Debug)]
pub(crate) struct Subschema<'a> {
    pub(crate) keyword: &'a str,
    /// The name, for a keyword that has schemas by name.
    pub(crate) name: Option<&'a str>,
    pub(crate) place: SchemaPlace<'a>,
}

/// Visits each direct subschema. It follows keywords, never names: a property may be called `title`
/// or `$ref`, and a default may look like a schema.
pub(crate) fn for_each_subschema<'a>(
    schema: &'a Map<String, Value>,
    pointer: &str,
    visit: &mut dyn FnMut(Subschema<'a>),
) {
    for (keyword, value) in schema {
        let keyword = keyword.as_str();
        let mut visit = |name, place: SchemaPlace<'a>| {
            if is_schema(place.schema) {
                visit(Subschema {
                    keyword,
                    name,
                    place,
                });
            }
        };
        match value {
            Value::Array(_) if LIST_KEYWORDS.contains(&keyword) => {
                list_places(value, pointer, keyword).for_each(|place| visit(None, place));
            }
            Value::Object(_) if MAP_KEYWORDS.contains(&keyword) => {
                named_places(value, pointer, keyword)
                    .for_each(|(name, place)| visit(Some(name), place));
            }
            _ if SCHEMA_KEYWORDS.contains(&keyword) => {
                visit(
                    None,
                    SchemaPlace {
                        schema: value,
                        pointer: join_pointer(pointer, keyword),
                    },
                );
            }
            _ => {}
        }
    }
}

/// Visits a schema and all schemas inside it.
pub(crate) fn for_each_schema<'a>(root: &'a Value, visit: &mut dyn FnMut(&'a Value)) {
    let mut open = vec![root];
    while let Some(schema) = open.pop() {
        visit(schema);
        if let Value::Object(map) = schema {
            for_each_subschema(map, "", &mut |child| open.push(child.place.schema));
        }
    }
}

/// Returns true for a keyword that does not constrain which values are accepted.
pub(crate) fn is_annotation(keyword: &str) -> bool {
    tool_core::schema::is_annotation(keyword)
        || matches!(keyword, "example" | "$dynamicAnchor" | "$vocabulary")
}

/// A written schema. Without a type, a union, a reference and an `enum` it accepts any value.
pub(crate) type SchemaObject = Map<String, Value>;

/// Adds a written schema to the branches of a union, unless one is the same. Of a schema that is
/// nothing but a union, its branches are added.
pub(crate) fn push_branch(branches: &mut IndexSet<SchemaObject>, mut written: SchemaObject) {
    let is_union = written.len() == 1;
    if is_union && let Some(Value::Array(inner)) = written.get_mut("anyOf") {
        for branch in std::mem::take(inner) {
            if let Value::Object(branch) = branch {
                push_branch(branches, branch);
            }
        }
    } else {
        branches.insert(written);
    }
}

/// Returns the union of branches.
pub(crate) fn any_of(branches: Vec<SchemaObject>) -> SchemaObject {
    SchemaObject::from_iter([(
        "anyOf".to_owned(),
        branches.into_iter().map(Value::Object).collect(),
    )])
}

/// Inserts a keyword after `type`, so that a model reads it before the schemas inside.
pub(crate) fn insert_after_type(written: &mut SchemaObject, keyword: &str, value: Value) {
    written.shift_remove(keyword);
    let at = written.keys().take_while(|known| *known == "type").count();
    written.shift_insert(at, keyword.to_owned(), value);
}
