//! Strict schemas, with the schemas that references and `allOf` lead to.

use crate::providers::report::{Change, ChangeKind, ChangeLog, NotStrict};
use crate::providers::schema::document::{SchemaDocument, SchemaPlace, is_annotation};
use crate::providers::strict::budget::StrictForm;
use serde_json::{Map, Value};
use std::collections::HashMap;
use tool_core::schema::join_pointer as join;

/// The maximum number of schemas that are written. References multiply: `a` refers to `b` twice, `b` to `c` twice, and so on.
const MOST: usize = 20_000;
/// The maximum depth of nested schemas. Every provider accepts less.
const DEEPEST: usize = 64;

pub(crate) type SchemaObject = Map<String, Value>;

/// Projects one schema to a strict form.
pub(crate) struct StrictProjector<'a> {
    pub(crate) form: &'static StrictForm,
    pub(crate) document: SchemaDocument<'a>,
    pub(crate) log: ChangeLog,
    pub(crate) definitions: StrictDefinitions<'a>,
    /// The schemas around the current one.
    pub(crate) active: Vec<&'a Value>,
    depth: usize,
    nodes: usize,
}

/// The keywords of one schema of a node.
#[derive(Clone)]
pub(crate) struct KeywordSet<'a> {
    pub(crate) map: &'a Map<String, Value>,
    pub(crate) pointer: String,
    pub(crate) reads: KeywordFilter,
}

/// The keywords of a schema that count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeywordFilter {
    All,
    /// The keywords beside a union, which each of its branches has.
    Assertions,
    /// The keywords around a union or a reference.
    Annotations,
}

impl<'a> KeywordSet<'a> {
    pub(crate) fn reading(&self, reads: KeywordFilter) -> Self {
        Self { reads, ..self.clone() }
    }

    pub(crate) fn keywords(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let reads = self.reads;
        self.map.iter().map(|(keyword, value)| (keyword.as_str(), value)).filter(move |(keyword, _)| match reads {
            KeywordFilter::All => true,
            KeywordFilter::Assertions => !is_note(keyword) && !is_union(keyword),
            KeywordFilter::Annotations => is_note(keyword),
        })
    }
}

/// Returns true for a keyword that does not constrain values.
fn is_note(keyword: &str) -> bool {
    is_annotation(keyword) || keyword == "discriminator"
}

pub(crate) fn is_union(keyword: &str) -> bool {
    matches!(keyword, "anyOf" | "oneOf")
}

/// Returns true for a keyword about the structure of the document.
pub(crate) fn is_plumbing(keyword: &str) -> bool {
    matches!(keyword, "$schema" | "$id" | "$anchor" | "$dynamicAnchor" | "$vocabulary" | "$comment" | "$defs")
}

impl<'a> StrictProjector<'a> {
    pub(crate) fn new(form: &'static StrictForm, root: &'a Value) -> Self {
        Self {
            form,
            document: SchemaDocument::new(root),
            log: ChangeLog::default(),
            definitions: StrictDefinitions::default(),
            active: Vec::new(),
            depth: 0,
            nodes: 0,
        }
    }

    /// Writes a schema; `None` if it accepts no value.
    pub(crate) fn node(&mut self, place: SchemaPlace<'a>) -> Result<Option<SchemaObject>, NotStrict> {
        match place.schema {
            Value::Bool(false) => return Ok(None),
            // A root is written out, even if it is a reference.
            Value::Object(_) if place.pointer.is_empty() => {}
            Value::Object(map) => {
                if let Some(written) = self.reference(map, &place)? {
                    return Ok(Some(written));
                }
            }
            _ => return Err(NotStrict::Untyped { pointer: place.pointer }),
        }
        let floor = self.active.len();
        let mut own = Vec::new();
        self.gather(place, &mut own)?;
        let written = self.own(&own);
        self.active.truncate(floor);
        written
    }

    /// Writes the schemas of a node as one.
    pub(crate) fn own(&mut self, own: &[KeywordSet<'a>]) -> Result<Option<SchemaObject>, NotStrict> {
        self.depth += 1;
        self.nodes += 1;
        if self.depth > DEEPEST {
            return Err(NotStrict::Limit { what: "levels", found: self.depth, most: DEEPEST });
        }
        if self.is_spent() {
            return Err(NotStrict::Limit { what: "schemas, with what they refer to", found: self.nodes, most: MOST });
        }
        let written = self.write(own);
        self.depth -= 1;
        written
    }

    fn is_spent(&self) -> bool {
        self.nodes > MOST
    }

    /// Writes a reference that stays one; `None` if the target replaces it, as it does beside other keywords. Of a recursive
    /// schema, which has no end, annotations become part of a schema around the reference.
    fn reference(
        &mut self,
        map: &'a Map<String, Value>,
        place: &SchemaPlace<'a>,
    ) -> Result<Option<SchemaObject>, NotStrict> {
        let Some(reference) = map.get("$ref").and_then(Value::as_str).filter(|_| self.form.references) else {
            return Ok(None);
        };
        let Some(target) = self.document.resolve(&place.pointer, reference) else { return Ok(None) };
        let beside = map.keys().filter(|keyword| *keyword != "$ref" && !is_plumbing(keyword)).count();
        let copied = self.active.iter().any(|active| std::ptr::eq(*active, target.schema));
        if beside > 0 && !copied && self.nodes < MOST / 2 {
            return Ok(None);
        }
        let around = KeywordSet { map, pointer: place.pointer.clone(), reads: KeywordFilter::Annotations };
        let asserts = around.reading(KeywordFilter::Assertions).keywords().any(|(keyword, _)| keyword != "$ref");
        if asserts {
            return Err(NotStrict::Recursive { pointer: place.pointer.clone() });
        }
        let new = self.definitions.refer(target);
        if new != reference {
            self.log.add(&place.pointer, "$ref", ChangeKind::Rewritten, format!("`{new}`"));
        }
        let written = SchemaObject::from_iter([("$ref".to_owned(), Value::from(new))]);
        Ok(Some(self.around(written, &[around])))
    }

    /// Collects the schemas of a node: a schema, and those that it refers to or includes.
    pub(crate) fn gather(&mut self, place: SchemaPlace<'a>, own: &mut Vec<KeywordSet<'a>>) -> Result<(), NotStrict> {
        let SchemaPlace { schema, pointer } = place;
        let Value::Object(map) = schema else {
            // `true` does not constrain the other schemas.
            return match schema {
                Value::Bool(true) => Ok(()),
                _ => Err(NotStrict::Keyword { pointer, keyword: "false".to_owned() }),
            };
        };
        if self.active.iter().any(|active| std::ptr::eq(*active, schema)) {
            return Err(NotStrict::Recursive { pointer });
        }
        self.active.push(schema);
        let reference = map.get("$ref").and_then(Value::as_str);
        own.push(KeywordSet { map, pointer: pointer.clone(), reads: KeywordFilter::All });
        if let Some(reference) = reference {
            let Some(target) = self.document.resolve(&pointer, reference) else {
                return Err(NotStrict::Untyped { pointer });
            };
            self.log.add(&pointer, "$ref", ChangeKind::Rewritten, "its target replaces it");
            self.gather(target, own)?;
        }
        let all = map.get("allOf").and_then(Value::as_array);
        if all.is_some() {
            self.log.add(&pointer, "allOf", ChangeKind::Rewritten, "its schemas are one");
        }
        let under = join(&pointer, "allOf");
        for (at, part) in all.into_iter().flatten().enumerate() {
            self.gather(SchemaPlace { schema: part, pointer: join(&under, &at.to_string()) }, own)?;
        }
        Ok(())
    }
}

/// The schemas of `$defs`, in the order of the first references to them.
#[derive(Default)]
pub(crate) struct StrictDefinitions<'a> {
    needed: Vec<(String, SchemaPlace<'a>)>,
    names: HashMap<String, usize>,
}

impl<'a> StrictDefinitions<'a> {
    /// Returns the reference to a schema in the projection.
    pub(crate) fn refer(&mut self, place: SchemaPlace<'a>) -> String {
        if place.pointer.is_empty() {
            return "#".to_owned();
        }
        if let Some((name, _)) = self.needed.iter().find(|(_, known)| std::ptr::eq(known.schema, place.schema)) {
            return format!("#/$defs/{name}");
        }
        let base = base_name(&place.pointer);
        let uses = self.names.entry(base.clone()).or_default();
        *uses += 1;
        // No base name has `__`, so the name is new.
        let name = if *uses == 1 { base } else { format!("{base}__{uses}") };
        let reference = format!("#/$defs/{name}");
        self.needed.push((name, place));
        reference
    }
}

/// Returns a name for a schema: `Point` for `/$defs/Point`, `properties_a_items` for `/properties/a/items`.
fn base_name(pointer: &str) -> String {
    let under = pointer.strip_prefix("/$defs/");
    let mut name = String::new();
    for letter in under.unwrap_or(pointer).trim_start_matches('/').chars() {
        match letter {
            letter if letter.is_ascii_alphanumeric() => name.push(letter),
            _ if name.ends_with('_') => {}
            _ => name.push('_'),
        }
    }
    name
}

impl StrictProjector<'_> {
    /// Writes the targets of references, and the targets of references in them.
    pub(crate) fn write_definitions(&mut self) -> Result<Map<String, Value>, NotStrict> {
        let mut written = Map::new();
        let mut next = 0;
        while let Some((name, place)) = self.definitions.needed.get(next).cloned() {
            let pointer = place.pointer.clone();
            let schema = self.node(place)?;
            written.insert(name, schema.ok_or(NotStrict::Untyped { pointer })?.into());
            next += 1;
        }
        Ok(written)
    }
}

/// Projects a schema to a strict form, and returns the changes. The projection accepts all values that the schema does,
/// with null for absent properties where the form requires every property.
///
/// # Errors
///
/// The reason for which the schema has no such form.
pub(crate) fn project_strict(form: &'static StrictForm, schema: &Value) -> Result<(Value, Vec<Change>), NotStrict> {
    let mut projector = StrictProjector::new(form, schema);
    let root = projector.node(SchemaPlace::root(schema))?;
    let mut root = root.ok_or(NotStrict::Untyped { pointer: String::new() })?;
    if root.contains_key("anyOf") {
        return Err(NotStrict::Keyword { pointer: String::new(), keyword: "anyOf".to_owned() });
    }
    let definitions = projector.write_definitions()?;
    if !definitions.is_empty() {
        root.insert("$defs".to_owned(), definitions.into());
    }
    (form.check_size)(&root)?;
    Ok((root.into(), projector.log.finish()))
}
