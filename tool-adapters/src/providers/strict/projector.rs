//! From a schema to the schemas that say it: references and `allOf` are followed.

use crate::providers::report::{ChangeKind, ChangeLog, NotStrict};
use crate::providers::schema::document::{SchemaDocument, SchemaPlace, is_annotation};
use crate::providers::strict::budget::StrictForm;
use serde_json::{Map, Value};
use std::collections::HashMap;
use tool_core::schema::join_pointer as join;

/// Schemas that may be written: references fan out, `a` twice `b`, `b` twice `c` ...
const MOST: usize = 20_000;
/// The deepest that schemas are written inside each other; every provider takes less.
const DEEPEST: usize = 64;

pub(crate) type SchemaObject = Map<String, Value>;

/// What a projection knows while it walks a schema.
pub(crate) struct StrictProjector<'a> {
    pub(crate) form: &'static StrictForm,
    pub(crate) document: SchemaDocument<'a>,
    pub(crate) log: ChangeLog,
    pub(crate) definitions: StrictDefinitions<'a>,
    /// What is being written out on the way here.
    pub(crate) active: Vec<&'a Value>,
    depth: usize,
    nodes: usize,
}

/// One of the schemas that together say what a node is.
#[derive(Clone)]
pub(crate) struct KeywordSet<'a> {
    pub(crate) map: &'a Map<String, Value>,
    pub(crate) pointer: String,
    pub(crate) reads: KeywordFilter,
}

/// Which keywords of a schema count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeywordFilter {
    All,
    /// What stands beside a union, as each of its branches has it.
    Assertions,
    /// What stands around a union, or beside a reference in an old draft.
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

/// Whether a keyword accepts whatever it stands beside.
fn is_note(keyword: &str) -> bool {
    is_annotation(keyword) || keyword == "discriminator"
}

pub(crate) fn is_union(keyword: &str) -> bool {
    matches!(keyword, "anyOf" | "oneOf")
}

/// Whether a keyword makes up the structure of a document: it says nothing of a value itself.
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

    /// Writes a schema; nothing where it accepts nothing.
    pub(crate) fn node(&mut self, place: SchemaPlace<'a>) -> Result<Option<SchemaObject>, NotStrict> {
        match place.schema {
            Value::Bool(false) => return Ok(None),
            // The root is an object itself.
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

    /// Writes what some schemas say together.
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

    /// A reference that stays one. What is said beside it is said of a copy, as nothing may stand beside it; where
    /// copies would never end, it stands around.
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

    /// The schemas that say what `place` is: itself, and what it refers to or includes.
    pub(crate) fn gather(&mut self, place: SchemaPlace<'a>, own: &mut Vec<KeywordSet<'a>>) -> Result<(), NotStrict> {
        let SchemaPlace { schema, pointer } = place;
        let Value::Object(map) = schema else {
            // As part of another, `true` says nothing.
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
            self.log.add(&pointer, "$ref", ChangeKind::Rewritten, "what it leads to stands in its place");
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

// ---- What references lead to: the root, or what stands under `$defs`.

/// The definitions that are needed, in the order in which they were first referred to.
#[derive(Default)]
pub(crate) struct StrictDefinitions<'a> {
    needed: Vec<(String, SchemaPlace<'a>)>,
    names: HashMap<String, usize>,
}

impl<'a> StrictDefinitions<'a> {
    /// The reference by which a place is known in the projection.
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
        // No base ends so: what is not a letter or a digit is one `_`.
        let name = if *uses == 1 { base } else { format!("{base}__{uses}") };
        let reference = format!("#/$defs/{name}");
        self.needed.push((name, place));
        reference
    }
}

/// `Point` for `/$defs/Point`, `properties_a_items` for `/properties/a/items`.
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
    /// Writes what was referred to, and what that refers to.
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
