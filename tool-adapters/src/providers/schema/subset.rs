//! Schemas in a form with few keywords.

use crate::providers::report::ChangeKind;
use crate::providers::schema::document::is_annotation;
use crate::providers::schema::facts::NodeFacts;
use crate::providers::schema::node::{self, KeywordFilter, KeywordSet, NodePart, SchemaNode, SchemaUnion};
use crate::providers::schema::references::Projector;
use crate::providers::schema::rules::{SchemaSubset, TypeSet};
use crate::providers::schema::words::{describe, words};
use serde_json::{Map, Value, json};

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

impl<'a> Projector<'a> {
    /// Writes a schema, which is a union if the form has one type in each schema and there are several.
    pub(crate) fn alternatives(&mut self, subset: &SchemaSubset, mut facts: NodeFacts<'a>) -> Option<SchemaObject> {
        let values = facts.values.take();
        if subset.typed && facts.types == TypeSet::ALL && facts.inside.is_empty() {
            self.drop_unrelated(&mut facts, TypeSet::NONE);
        }
        let types = facts.types;
        self.drop_unrelated(&mut facts, types);
        let branches = match values {
            Some(values) => self.values(subset, &mut facts, &values),
            None if subset.typed && facts.types == TypeSet::ALL && facts.inside.is_empty() => vec![SchemaObject::new()],
            None if subset.typed => {
                self.report_split(&facts);
                let each = facts.types.each();
                each.filter_map(|(_, one)| self.one(subset, &mut facts, one)).collect()
            }
            None => self.one(subset, &mut facts, types).into_iter().collect(),
        };
        self.join(subset, branches, facts)
    }

    /// Reports keywords that move to the branch of their type.
    fn report_split(&mut self, facts: &NodeFacts<'a>) {
        if facts.types.without(TypeSet::NULL).name().is_some() {
            return;
        }
        let kept = facts.kept.iter().map(|kept| (&kept.pointer, kept.source.0));
        for (pointer, keyword) in kept.chain(facts.inside.iter().map(|(pointer, keyword)| (pointer, *keyword))) {
            self.log.add(pointer, keyword, ChangeKind::Rewritten, "in an `anyOf`, in the branch of its type");
        }
    }

    /// Drops keywords that are about other types. Without a type, the description has the keywords.
    fn drop_unrelated(&mut self, facts: &mut NodeFacts<'a>, types: TypeSet) {
        for kept in std::mem::take(&mut facts.kept) {
            if types == TypeSet::NONE {
                self.describe_or_drop(facts, &kept.pointer, kept.source.0, kept.source.1);
            } else if types.overlaps(TypeSet::of_assertion(kept.keyword)) {
                facts.kept.push(kept);
            } else {
                self.log.add(
                    &kept.pointer,
                    kept.source.0,
                    ChangeKind::Dropped,
                    "it does not constrain values of the type",
                );
            }
        }
    }

    /// Writes a schema of some of the types; `None` if it accepts no value.
    pub(crate) fn one(
        &mut self,
        subset: &SchemaSubset,
        facts: &mut NodeFacts<'a>,
        types: TypeSet,
    ) -> Option<SchemaObject> {
        let mut written = SchemaObject::new();
        name_type(subset, types, &mut written);
        for kept in facts.kept.iter().filter(|kept| types.overlaps(TypeSet::of_assertion(kept.keyword))) {
            written.insert(kept.keyword.to_owned(), kept.value.clone());
        }
        if types.overlaps(TypeSet::ARRAY) {
            let items = std::mem::take(&mut facts.items);
            self.array(subset, items, &mut written);
        }
        if types.overlaps(TypeSet::OBJECT) {
            let shape = std::mem::take(&mut facts.shape);
            if self.object(subset, shape, &mut written).is_none() {
                let others = types.without(TypeSet::OBJECT);
                if others == TypeSet::NONE {
                    return None;
                }
                name_type(subset, others, &mut written);
            }
        }
        Some(written)
    }

    /// Writes the schemas of listed values: an `enum` if the form accepts such values, or their type with words and bounds.
    fn values(&mut self, subset: &SchemaSubset, facts: &mut NodeFacts<'a>, values: &[&'a Value]) -> Vec<SchemaObject> {
        if subset.enums == TypeSet::ALL {
            let types = facts.types;
            let mut all: Vec<SchemaObject> = self.one(subset, facts, types).into_iter().collect();
            for one in &mut all {
                one.insert("enum".to_owned(), values.iter().copied().cloned().collect());
            }
            return all;
        }
        let mut branches = Vec::new();
        for (_, one) in facts.types.each() {
            let group: Vec<&Value> =
                values.iter().copied().filter(|value| one.contains(TypeSet::of_value(value))).collect();
            let Some(mut branch) = self.one(subset, facts, one) else { continue };
            // The typed form refuses an empty text in an `enum`.
            let empty = subset.typed && group.iter().any(|value| *value == "");
            if subset.enums.contains(one) && !empty {
                branch.insert("enum".to_owned(), group.into_iter().cloned().collect());
            } else if one != TypeSet::NULL && !(one == TypeSet::BOOLEAN && group.len() > 1) {
                self.describe_values(subset, facts, &mut branch, &group);
            }
            branches.push(branch);
        }
        if branches.len() > 1 {
            for (pointer, (keyword, _)) in &facts.listed {
                self.log.add(pointer, keyword, ChangeKind::Rewritten, "a schema for the values of each type");
            }
        }
        branches
    }

    fn describe_values(
        &mut self,
        subset: &SchemaSubset,
        facts: &mut NodeFacts<'a>,
        branch: &mut SchemaObject,
        group: &[&Value],
    ) {
        for (pointer, (keyword, _)) in &facts.listed {
            self.log.add(
                pointer,
                keyword,
                ChangeKind::Described,
                "the description has the values, which the form does not accept",
            );
        }
        let list: Value = group.iter().copied().cloned().collect();
        let text = match group {
            [only] => words(&[("const", only)]),
            _ => words(&[("enum", &list)]),
        };
        if let ([(_, listed)], Some(_)) = (facts.listed.as_slice(), facts.types.name()) {
            facts.dropped.push(*listed);
        } else if let Some(text) = text {
            insert_after_type(branch, "description", text.into());
        }
        for (keyword, lowest) in [("minimum", true), ("maximum", false)] {
            if subset.keeps.contains(&keyword)
                && let Some(bound) = extreme(group, lowest)
            {
                // All values are within the other bounds, so this bound is tighter.
                branch.insert(keyword.to_owned(), bound.clone());
            }
        }
    }

    /// Returns a schema for a position where the typed form requires a type. A schema for any value becomes a union of all
    /// types, whose own items have no type.
    pub(crate) fn placed(subset: &SchemaSubset, written: SchemaObject) -> Value {
        if !subset.typed || !is_anything(&written) {
            return Value::Object(written);
        }
        let mut text = json!({"type": "STRING"});
        if let (Some(text), Some(description)) = (text.as_object_mut(), written.get("description")) {
            text.insert("description".to_owned(), description.clone());
        }
        if let Some(text) = text.as_object_mut() {
            text.insert("nullable".to_owned(), Value::Bool(true));
        }
        json!({"anyOf": [text, {"type": "NUMBER"}, {"type": "BOOLEAN"}, {"type": "OBJECT"}, {"type": "ARRAY", "items": {}}]})
    }
}

fn name_type(subset: &SchemaSubset, types: TypeSet, written: &mut SchemaObject) {
    let name =
        if subset.typed { types.name().map(|name| name.to_ascii_uppercase().into()) } else { types.to_keyword() };
    written.extend(name.map(|name| ("type".to_owned(), name)));
}

fn extreme<'v>(values: &[&'v Value], lowest: bool) -> Option<&'v Value> {
    let numbers = values.iter().filter_map(|value| match value {
        Value::Number(number) => Some((*value, number)),
        _ => None,
    });
    let order =
        |left: &(&Value, &serde_json::Number), right: &(&Value, &serde_json::Number)| node::compare(left.1, right.1);
    let found = if lowest { numbers.min_by(order) } else { numbers.max_by(order) };
    found.map(|(value, _)| value)
}
