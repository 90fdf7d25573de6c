//! What one node says, sorted by what a strict form does with it.

use crate::providers::report::{ChangeKind, NotStrict};
use crate::providers::schema::document::SchemaPlace;
use crate::providers::schema::rules::is_well_formed;
use crate::providers::schema::types::TypeSet;
use crate::providers::schema::words::{DroppedKeyword, can_describe, describe};
use crate::providers::strict::nullable;
use crate::providers::strict::projector::{
    KeywordFilter, KeywordSet, SchemaObject, StrictProjector, is_plumbing, is_union,
};
use serde_json::Value;
use tool_core::schema::join_pointer as join;

/// What the schemas of one node say together.
pub(crate) struct StrictFacts<'a> {
    pub(crate) types: TypeSet,
    /// The values that `enum` and `const` leave.
    pub(crate) values: Option<Vec<&'a Value>>,
    /// Whether `const` has said so.
    pub(crate) constant: bool,
    /// The keywords that stay to be written type by type, with where they stand.
    pub(crate) rest: Vec<PlacedKeyword<'a>>,
    descriptions: Vec<&'a str>,
    /// What the description tells.
    dropped: Vec<DroppedKeyword<'a>>,
}

#[derive(Clone, Copy)]
pub(crate) struct PlacedKeyword<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a Value,
    /// The index of the schema among those of the node.
    pub(crate) own: usize,
}

/// A union: its branches, and the index of the schema that holds it.
struct StrictUnion<'a> {
    keyword: &'a str,
    branches: &'a [Value],
    own: usize,
}

impl<'a> StrictProjector<'a> {
    /// Writes what some schemas say together; nothing where they accept nothing.
    pub(crate) fn write(&mut self, own: &[KeywordSet<'a>]) -> Result<Option<SchemaObject>, NotStrict> {
        if let Some(union) = self.union(own) {
            return self.write_union(own, &union);
        }
        let facts = self.facts(own);
        self.write_types(own, facts)
    }

    /// The first union that has to be written as one.
    fn union(&self, own: &[KeywordSet<'a>]) -> Option<StrictUnion<'a>> {
        let mut all = own.iter().enumerate().flat_map(|(at, own)| {
            own.keywords()
                .filter(|(keyword, value)| is_union(keyword) && is_well_formed(keyword, value))
                .map(move |found| (at, found))
        });
        all.find_map(|(at, (keyword, value))| {
            let branches = value.as_array().map(Vec::as_slice)?;
            // Which of the properties are needed together is told, not enforced.
            (!branches.iter().all(only_requires)).then_some(StrictUnion { keyword, branches, own: at })
        })
    }

    /// A union stands alone: what is said beside it is said in each of its branches.
    fn write_union(
        &mut self,
        own: &[KeywordSet<'a>],
        union: &StrictUnion<'a>,
    ) -> Result<Option<SchemaObject>, NotStrict> {
        let holder = own.get(union.own).map(|own| own.pointer.as_str()).unwrap_or_default();
        if union.keyword == "oneOf" {
            self.log.add(holder, "oneOf", ChangeKind::Weakened, "`anyOf`: more than one may fit");
        }
        for (at, one) in own.iter().enumerate() {
            for (keyword, _) in one.keywords().filter(|(keyword, _)| is_union(keyword)) {
                if (at, keyword) != (union.own, union.keyword) {
                    self.log.add(
                        &one.pointer,
                        keyword,
                        ChangeKind::Dropped,
                        "of two unions in one schema, one is kept",
                    );
                }
            }
        }
        let beside = own.iter().map(|own| own.reading(KeywordFilter::Assertions));
        let beside = beside.filter(|own| own.keywords().any(|(keyword, _)| !is_followed(keyword))).collect::<Vec<_>>();
        let under = join(holder, union.keyword);
        let mut branches = Vec::with_capacity(union.branches.len());
        for (at, schema) in union.branches.iter().enumerate() {
            let place = SchemaPlace { schema, pointer: join(&under, &at.to_string()) };
            let written = if beside.is_empty() { self.node(place)? } else { self.branch(place, &beside)? };
            for branch in written.into_iter().flat_map(flat) {
                if !branches.contains(&branch) {
                    branches.push(branch);
                }
            }
        }
        let Some(written) = joined(branches) else { return Ok(None) };
        if !written.contains_key("anyOf") {
            self.log.add(holder, union.keyword, ChangeKind::Rewritten, "one schema says it");
        }
        let notes = own.iter().map(|own| own.reading(KeywordFilter::Annotations)).collect::<Vec<_>>();
        Ok(Some(self.around(written, &notes)))
    }

    fn branch(&mut self, place: SchemaPlace<'a>, beside: &[KeywordSet<'a>]) -> Result<Option<SchemaObject>, NotStrict> {
        if *place.schema == Value::Bool(false) {
            return Ok(None);
        }
        let floor = self.active.len();
        let mut own = Vec::new();
        self.gather(place, &mut own)?;
        own.extend_from_slice(beside);
        let written = self.own(&own);
        self.active.truncate(floor);
        written
    }

    /// Adds the description that stands around what is written.
    pub(crate) fn around(&mut self, mut written: SchemaObject, notes: &[KeywordSet<'a>]) -> SchemaObject {
        let facts = self.facts(notes);
        if written.contains_key("$ref") && describe(&facts.descriptions, &facts.dropped).is_some() {
            written = SchemaObject::from_iter([("anyOf".to_owned(), Value::Array(vec![written.into()]))]);
        }
        facts.describe(&mut written);
        written
    }

    /// Sorts the keywords of a node that is no union.
    pub(crate) fn facts(&mut self, own: &[KeywordSet<'a>]) -> StrictFacts<'a> {
        let at_root = own.first().is_some_and(|own| own.pointer.is_empty());
        let mut facts = StrictFacts {
            // Arguments are an object, said or not.
            types: if at_root { TypeSet::OBJECT } else { TypeSet::ALL },
            values: None,
            constant: false,
            rest: Vec::new(),
            descriptions: Vec::new(),
            dropped: Vec::new(),
        };
        for (at, one) in own.iter().enumerate() {
            for (name, value) in one.keywords() {
                self.fact(&mut facts, &one.pointer, PlacedKeyword { name, value, own: at });
            }
        }
        if let Some(values) = &mut facts.values {
            values.retain(|value| facts.types.contains(TypeSet::of_value(value)));
            let types = values.iter().fold(TypeSet::NONE, |all, value| all | TypeSet::of_value(value));
            facts.types = facts.types & types;
        }
        facts
    }

    fn fact(&mut self, facts: &mut StrictFacts<'a>, pointer: &str, keyword: PlacedKeyword<'a>) {
        let PlacedKeyword { name, value, .. } = keyword;
        if !is_well_formed(name, value) {
            self.log.add(pointer, name, ChangeKind::Dropped, "the keyword may not have this value");
            return;
        }
        match name {
            "$defs" => {}
            _ if is_plumbing(name) => self.log.add(pointer, name, ChangeKind::Dropped, "it says nothing to a model"),
            _ if is_followed(name) => {}
            "type" => facts.types = facts.types & TypeSet::of_keyword(value).unwrap_or(TypeSet::ALL),
            "description" => facts.descriptions.extend(value.as_str()),
            "enum" | "const" => self.values(facts, pointer, keyword),
            "title" => self.log.add(pointer, name, ChangeKind::Dropped, "strict forms have no titles"),
            "default" if value.is_null() => {
                self.log.add(pointer, name, ChangeKind::Dropped, "what is absent is absent");
            }
            _ if is_written(name) => facts.rest.push(keyword),
            _ => self.lose(facts, pointer, keyword),
        }
    }

    fn values(&mut self, facts: &mut StrictFacts<'a>, pointer: &str, keyword: PlacedKeyword<'a>) {
        let constant = keyword.name == "const";
        let values = if constant {
            std::slice::from_ref(keyword.value)
        } else {
            keyword.value.as_array().map(Vec::as_slice).unwrap_or_default()
        };
        if values.iter().any(|value| value.is_array() || value.is_object()) {
            self.lose(facts, pointer, keyword);
            return;
        }
        let known = facts.values.take();
        let both = |value: &&Value| known.as_ref().is_none_or(|known| known.contains(value));
        facts.values = Some(values.iter().filter(both).collect());
        facts.constant |= constant;
    }

    /// Moves a keyword into the description, or reports that it is gone.
    pub(crate) fn lose(&mut self, facts: &mut StrictFacts<'a>, pointer: &str, keyword: PlacedKeyword<'a>) {
        let PlacedKeyword { name, value, .. } = keyword;
        if can_describe((name, value)) {
            self.log.add(pointer, name, ChangeKind::Described, "told in the description");
            facts.dropped.push((name, value));
        } else {
            self.log.add(pointer, name, ChangeKind::Dropped, "the strict form does not have it");
        }
    }
}

impl StrictFacts<'_> {
    /// Adds the description to what is written.
    pub(crate) fn describe(&self, written: &mut SchemaObject) {
        let inner = written.get("description").and_then(Value::as_str).map(str::to_owned);
        let texts = self.descriptions.iter().copied().chain(inner.as_deref()).collect::<Vec<_>>();
        if let Some(text) = describe(&texts, &self.dropped) {
            written.insert("description".to_owned(), text.into());
        }
    }
}

/// Keywords that were followed when the node was gathered, or are written as a union.
fn is_followed(keyword: &str) -> bool {
    matches!(keyword, "$ref" | "allOf")
}

/// Keywords that some type of a strict form has, or that decide what is written of it.
fn is_written(keyword: &str) -> bool {
    matches!(
        keyword,
        "properties"
            | "required"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "patternProperties"
            | "items"
            | "prefixItems"
            | "minItems"
            | "maxItems"
            | "minimum"
            | "maximum"
            | "exclusiveMinimum"
            | "exclusiveMaximum"
            | "multipleOf"
            | "pattern"
            | "format"
    )
}

/// Whether a branch says no more than which properties are needed.
fn only_requires(branch: &Value) -> bool {
    branch
        .as_object()
        .is_some_and(|map| map.contains_key("required") && map.keys().all(|keyword| keyword == "required"))
}

/// The branches of a union that says nothing itself.
fn flat(mut written: SchemaObject) -> Vec<SchemaObject> {
    if written.len() != 1 {
        return vec![written];
    }
    match written.remove("anyOf") {
        Some(Value::Array(branches)) => branches
            .into_iter()
            .filter_map(|branch| if let Value::Object(map) = branch { Some(map) } else { None })
            .collect(),
        Some(other) => vec![SchemaObject::from_iter([("anyOf".to_owned(), other)])],
        None => vec![written],
    }
}

/// Branches as one schema; nothing where there are none. One type or null is one schema of both.
pub(crate) fn joined(mut branches: Vec<SchemaObject>) -> Option<SchemaObject> {
    if let [first, second] = branches.as_slice() {
        let null = [first, second].into_iter().position(is_null);
        let other = null.and_then(|null| branches.get(1 - null)).filter(|other| has_one_type(other));
        if let Some(mut both) = other.cloned() {
            nullable::add_null(&mut both);
            return Some(both);
        }
    }
    match branches.len() {
        0 => None,
        1 => branches.pop(),
        _ => Some(SchemaObject::from_iter([("anyOf".to_owned(), branches.into_iter().map(Value::Object).collect())])),
    }
}

pub(crate) fn is_null(written: &SchemaObject) -> bool {
    written.get("type").is_some_and(|kind| kind == "null")
}

fn has_one_type(written: &SchemaObject) -> bool {
    written.get("type").is_some_and(Value::is_string) && !written.contains_key("const")
}
