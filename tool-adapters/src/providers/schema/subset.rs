//! Schemas in a form with few keywords.

use crate::providers::report::ChangeKind;
use crate::providers::schema::document::is_annotation;
use crate::providers::schema::facts::NodeFacts;
use crate::providers::schema::node::{KeywordFilter, KeywordSet, NodePart, SchemaNode, SchemaUnion};
use crate::providers::schema::projector::Projector;
use crate::providers::schema::rules::SchemaSubset;
use crate::providers::schema::types::TypeSet;
use crate::providers::schema::words::describe;
use serde_json::{Map, Value};

/// A written schema. Without a type, a union, a reference and an `enum` it accepts any value.
pub(crate) type SchemaObject = Map<String, Value>;

impl<'a> Projector<'a> {
    /// Writes a node; `None` if it accepts no value.
    pub(crate) fn node(&mut self, subset: &SchemaSubset, node: SchemaNode<'a>) -> Option<SchemaObject> {
        if node.0.is_empty() {
            return Some(SchemaObject::new());
        }
        if self.is_exhausted() {
            return self.stub(subset, &node);
        }
        if let Some(written) = self.reference(subset, &node) {
            return Some(written);
        }
        let floor = self.active.len();
        self.depth += 1;
        self.nodes += 1;
        let written = self.gather(node).and_then(|mut gathered| {
            if gathered.unions.is_empty() {
                let facts = self.facts(subset, &gathered.own, gathered.types);
                return self.alternatives(subset, facts);
            }
            let union = gathered.unions.remove(0);
            self.report_unions(&gathered.unions);
            self.union(subset, &gathered.own, gathered.types, &union)
        });
        self.depth -= 1;
        self.active.truncate(floor);
        written
    }

    /// Writes a union. The keywords beside it become part of each branch.
    fn union(
        &mut self,
        subset: &SchemaSubset,
        own: &[KeywordSet<'a>],
        types: TypeSet,
        union: &SchemaUnion<'a>,
    ) -> Option<SchemaObject> {
        if let Some(("oneOf", pointer)) = &union.place {
            self.log.add(pointer, "oneOf", ChangeKind::Weakened, "`anyOf`: more than one may fit");
        }
        self.report_shared(own);
        let asserts = |own: &&KeywordSet<'a>| {
            own.reading(KeywordFilter::Assertions).keywords().any(|(keyword, _)| !is_structure(keyword))
        };
        let shared = own.iter().filter(|own| own.reads != KeywordFilter::Annotations).filter(asserts);
        let mut beside: Vec<NodePart<'a>> =
            shared.map(|own| NodePart::KeywordSet(own.reading(KeywordFilter::Assertions))).collect();
        if types != TypeSet::ALL {
            beside.push(NodePart::TypeSet(types));
        }
        let branches = union.nodes.iter().cloned().map(|node| SchemaNode(beside.clone()).and(node));
        let written: Vec<SchemaObject> = branches.filter_map(|branch| self.node(subset, branch)).collect();
        let notes: Vec<KeywordSet<'a>> = own.iter().map(|own| own.reading(KeywordFilter::Annotations)).collect();
        let facts = self.facts(subset, &notes, TypeSet::ALL);
        let joined = self.join(subset, written, facts);
        if let (Some((keyword, pointer)), Some(false)) =
            (&union.place, joined.as_ref().map(|it| it.contains_key("anyOf")))
        {
            self.log.add(pointer, keyword, ChangeKind::Rewritten, "the branches are one schema");
        }
        joined
    }

    /// Joins branches to one schema. `facts` has the annotations of all of them.
    pub(crate) fn join(
        &mut self,
        subset: &SchemaSubset,
        branches: Vec<SchemaObject>,
        mut facts: NodeFacts<'a>,
    ) -> Option<SchemaObject> {
        let mut flat: Vec<SchemaObject> = Vec::with_capacity(branches.len());
        for branch in branches {
            match branch.get("anyOf") {
                Some(Value::Array(inner)) if branch.len() == 1 => {
                    for one in inner.iter().filter_map(Value::as_object) {
                        push_new(&mut flat, one.clone());
                    }
                }
                _ => push_new(&mut flat, branch),
            }
        }
        let null = subset.typed && flat.iter().any(is_null) && flat.len() > 1;
        if null {
            flat.retain(|branch| !is_null(branch));
        }
        if flat.iter().any(is_anything) {
            return Some(self.anything(subset, &flat, &mut facts));
        }
        if null && let Some(first) = flat.first_mut() {
            insert_after_type(first, "nullable", Value::Bool(true));
        }
        match flat.len() {
            0 => None,
            1 => {
                let mut only = flat.pop()?;
                annotate(&mut only, &mut facts);
                Some(only)
            }
            _ if subset.typed => {
                self.describe_notes(&mut facts);
                share_description(&mut flat, &facts);
                Some(any_of(flat))
            }
            _ => {
                let mut written = any_of(flat);
                annotate(&mut written, &mut facts);
                Some(written)
            }
        }
    }

    /// Writes a schema for any value, with the descriptions of the branches.
    fn anything(
        &mut self,
        subset: &SchemaSubset,
        branches: &[SchemaObject],
        facts: &mut NodeFacts<'a>,
    ) -> SchemaObject {
        if subset.typed {
            self.describe_notes(facts);
        }
        let mut written = SchemaObject::new();
        annotate(&mut written, facts);
        let inner = branches.iter().filter_map(|branch| branch.get("description")?.as_str());
        let texts: Vec<&str> = written.get("description").and_then(Value::as_str).into_iter().chain(inner).collect();
        if let Some(text) = describe(&texts, &[]) {
            written.insert("description".to_owned(), text.into());
        }
        written
    }

    /// Describes annotations that cannot be beside a union.
    fn describe_notes(&mut self, facts: &mut NodeFacts<'a>) {
        for note in std::mem::take(&mut facts.notes) {
            self.describe_or_drop(facts, &note.pointer, note.source.0, note.source.1);
        }
    }

    fn report_shared(&mut self, own: &[KeywordSet<'a>]) {
        for own in own {
            let assertions = own.reading(KeywordFilter::Assertions);
            for (keyword, _) in assertions.keywords().filter(|(keyword, _)| !is_structure(keyword)) {
                self.log.add(
                    &own.pointer,
                    keyword,
                    ChangeKind::Rewritten,
                    "part of each branch of the union beside it",
                );
            }
        }
    }

    /// Reports unions that are dropped beside the first.
    fn report_unions(&mut self, unions: &[SchemaUnion<'a>]) {
        for (keyword, pointer) in unions.iter().filter_map(|union| union.place.as_ref()) {
            self.log.add(pointer, keyword, ChangeKind::Dropped, "of two unions in one schema, one is kept");
        }
    }

    /// Writes a reference that stays one; annotations become part of a schema around it. Returns `None` for another node.
    fn reference(&mut self, subset: &SchemaSubset, node: &SchemaNode<'a>) -> Option<SchemaObject> {
        let [NodePart::Schema(place)] = node.0.as_slice() else { return None };
        let map = place.schema.as_object().filter(|_| subset.references)?;
        let reference = map.get("$ref")?.as_str()?;
        if map.keys().any(|keyword| keyword != "$ref" && !is_annotation(keyword))
            || self.closes_cycle(reference, &place.pointer)
        {
            return None;
        }
        let own = KeywordSet { map, pointer: place.pointer.clone(), reads: KeywordFilter::Annotations };
        let new = self.refer(reference, &place.pointer)?;
        let mut facts = self.facts(subset, std::slice::from_ref(&own), TypeSet::ALL);
        let written = SchemaObject::from_iter([("$ref".to_owned(), Value::from(new))]);
        let mut around = SchemaObject::new();
        annotate(&mut around, &mut facts);
        if around.is_empty() {
            return Some(written);
        }
        self.log.add(&place.pointer, "$ref", ChangeKind::Rewritten, "inside an `anyOf` of one");
        around.insert("anyOf".to_owned(), Value::Array(vec![Value::Object(written)]));
        Some(around)
    }

    /// Writes a schema with its type only.
    fn stub(&mut self, subset: &SchemaSubset, node: &SchemaNode<'a>) -> Option<SchemaObject> {
        let mut types = TypeSet::ALL;
        for part in &node.0 {
            match part {
                NodePart::TypeSet(one) => types = types & *one,
                NodePart::Schema(place) => {
                    self.report_exhausted(&place.pointer);
                    types = types & TypeSet::of_schema(place.schema);
                }
                NodePart::KeywordSet(own) => {
                    types = types & own.map.get("type").and_then(TypeSet::of_keyword).unwrap_or(TypeSet::ALL);
                }
                NodePart::Any(_) => {}
            }
        }
        self.alternatives(subset, NodeFacts::new(types))
    }
}

/// Adds the description and the annotations to a schema.
pub(crate) fn annotate(written: &mut SchemaObject, facts: &mut NodeFacts<'_>) {
    let mut texts: Vec<&str> = std::mem::take(&mut facts.descriptions);
    let inner = written.get("description").and_then(Value::as_str).map(str::to_owned);
    texts.extend(inner.as_deref());
    if let Some(text) = describe(&texts, &facts.dropped) {
        insert_after_type(written, "description", text.into());
    }
    for note in facts.notes.drain(..) {
        written.entry(note.keyword).or_insert(note.value);
    }
}

/// Adds the description to each branch without one, or to the first if all have one.
fn share_description(branches: &mut [SchemaObject], facts: &NodeFacts<'_>) {
    let Some(text) = describe(&facts.descriptions, &facts.dropped) else { return };
    let all_have = branches.iter().all(|branch| branch.contains_key("description"));
    for (at, branch) in branches.iter_mut().enumerate() {
        let own = branch.get("description").and_then(Value::as_str);
        let joined = match own {
            None => text.clone(),
            Some(own) if all_have && at == 0 => format!("{text}\n{own}"),
            Some(_) => continue,
        };
        insert_after_type(branch, "description", joined.into());
    }
}

/// Inserts a keyword after `type`, so that a model reads it before the schemas inside.
pub(crate) fn insert_after_type(written: &mut SchemaObject, keyword: &str, value: Value) {
    let mut new = Some(value);
    for (known, value) in std::mem::take(written) {
        if known != "type"
            && let Some(new) = new.take()
        {
            written.insert(keyword.to_owned(), new);
        }
        if known != keyword {
            written.insert(known, value);
        }
    }
    written.extend(new.map(|new| (keyword.to_owned(), new)));
}

fn push_new(branches: &mut Vec<SchemaObject>, branch: SchemaObject) {
    if !branches.contains(&branch) {
        branches.push(branch);
    }
}

fn any_of(branches: Vec<SchemaObject>) -> SchemaObject {
    SchemaObject::from_iter([("anyOf".to_owned(), branches.into_iter().map(Value::Object).collect())])
}

pub(crate) fn is_anything(written: &SchemaObject) -> bool {
    written.keys().all(|keyword| is_annotation(keyword))
}

fn is_null(written: &SchemaObject) -> bool {
    written.get("type").is_some_and(|name| name == "NULL")
}

/// Returns true for a keyword that `gather` follows.
fn is_structure(keyword: &str) -> bool {
    matches!(keyword, "$ref" | "$dynamicRef" | "allOf" | "anyOf" | "oneOf")
}
