//! Schemas in a form with few keywords.

use crate::report::Change;
use crate::schema::containers::{ArrayItems, ObjectShape, is_any, is_merged};
use crate::schema::document::{
    SchemaObject, SchemaPlace, any_of, insert_after_type, is_annotation, push_branch,
};
use crate::schema::facts::{KeywordSorter, NodeFacts};
use crate::schema::grammar::name_types;
use crate::schema::node::{KeywordFilter, KeywordSet, NodePart, SchemaNode, SchemaUnion, compare};
use crate::schema::projector::{PLAIN_NAMES, Projector};
use crate::schema::rules::{SchemaSubset, TypeSet};
use crate::schema::words::{describe, describe_or_drop, words};
use indexmap::IndexSet;
use serde_json::{Map, Number, Value, json};
use std::collections::HashSet;

/// Projects a schema to a form with few keywords, and returns the changes; `None` if it accepts no
/// object.
pub(crate) fn project_subset(
    subset: &'static SchemaSubset,
    schema: &Value,
) -> Option<(Value, Vec<Change>)> {
    let mut projector = SubsetProjector {
        subset,
        base: Projector::new(schema, &PLAIN_NAMES),
    };
    let written = projector.root()?;
    Some((written, projector.base.log.finish()))
}

/// Writes schemas in a form with few keywords.
pub(crate) struct SubsetProjector<'a> {
    subset: &'static SchemaSubset,
    base: Projector<'a>,
}

impl<'a> SubsetProjector<'a> {
    /// Writes the root in a form with few keywords.
    fn root(&mut self) -> Option<Value> {
        let root = self.base.document.root();
        let merged = self
            .base
            .merged(SchemaNode::of(SchemaPlace::root(root)), false)?;
        self.base.active.insert(root);
        let mut facts = self.facts(&merged.own, TypeSet::OBJECT);
        self.base.report_root_type();
        for (pointer, (keyword, _)) in &facts.listed {
            self.base
                .log
                .dropped(pointer, keyword, "the root may not be a list of values");
        }
        facts.values = None;
        facts.shape = merged.shape;
        facts.dropped.extend(merged.dropped);
        let mut written = self.one(&mut facts, TypeSet::OBJECT)?;
        let refuses_nameless =
            self.subset.typed || (self.subset.maps && self.subset.grammar.is_none());
        if refuses_nameless
            && !written.contains_key("properties")
            && !written.contains_key("required")
        {
            self.base.active.pop();
            return Some(self.no_parameters(&merged.own));
        }
        if !facts.is_open
            && written
                .get("additionalProperties")
                .is_some_and(|rest| *rest == Value::Bool(true))
        {
            // A tool without parameters takes any object and reads none of it.
            written.remove("additionalProperties");
        }
        annotate(&mut written, &mut facts);
        if !written.contains_key("properties") {
            insert_after_type(&mut written, "properties", Value::Object(Map::new()));
        }
        self.base.active.pop();
        let mut definitions = Map::new();
        while let Some((name, place)) = self.base.next_definition() {
            self.base.active.insert(place.schema);
            // The form has no schema that accepts no value. One that accepts any value is wider.
            let written = self.node(SchemaNode::of(place)).unwrap_or_default();
            self.base.active.pop();
            definitions.insert(name, Value::Object(written));
        }
        if self.subset.references {
            self.base.report_definitions();
        }
        if !definitions.is_empty() {
            written.insert("$defs".to_owned(), Value::Object(definitions));
        }
        let mut written = Value::Object(written);
        if let Some(grammar) = self.subset.grammar {
            name_types(grammar, &mut written);
        }
        Some(written)
    }

    /// Writes a root without named parameters, which the provider would refuse, and reports its
    /// keywords.
    fn no_parameters(&mut self, own: &[KeywordSet<'a>]) -> Value {
        for own in own {
            for (keyword, value) in own.keywords() {
                let open = matches!(keyword, "additionalProperties" | "unevaluatedProperties")
                    && (value.is_boolean() || value.as_object().is_some_and(Map::is_empty));
                if !open && (!is_merged(keyword) || keyword == "additionalProperties") {
                    let detail = "parameters without a name are left out, as an object without properties is refused";
                    self.base.log.dropped(&own.pointer, keyword, detail);
                }
            }
        }
        json!({"type": if self.subset.typed { "OBJECT" } else { "object" }, "properties": {}})
    }

    fn facts(&mut self, own: &[KeywordSet<'a>], types: TypeSet) -> NodeFacts<'a> {
        let log = &mut self.base.log;
        KeywordSorter {
            subset: self.subset,
            log,
            facts: NodeFacts::new(types),
        }
        .sort(own)
    }

    /// Writes a node; `None` if it accepts no value.
    fn node(&mut self, node: SchemaNode<'a>) -> Option<SchemaObject> {
        if node.0.is_empty() {
            return Some(SchemaObject::new());
        }
        if self.base.is_exhausted() {
            return self.stub(&node);
        }
        if let Some(written) = self.reference(&node) {
            return Some(written);
        }
        let floor = self.base.active.len();
        self.base.depth += 1;
        self.base.nodes += 1;
        let written = self.base.gather(node).and_then(|mut gathered| {
            if gathered.unions.is_empty() {
                let facts = self.facts(&gathered.own, gathered.types);
                return self.alternatives(facts);
            }
            let union = gathered.unions.remove(0);
            self.report_unions(&gathered.unions);
            self.union(&gathered.own, gathered.types, &union)
        });
        self.base.depth -= 1;
        self.base.active.truncate(floor);
        written
    }

    /// Writes a union. The keywords beside it become part of each branch.
    fn union(
        &mut self,
        own: &[KeywordSet<'a>],
        types: TypeSet,
        union: &SchemaUnion<'a>,
    ) -> Option<SchemaObject> {
        if let Some(("oneOf", pointer)) = &union.place {
            self.base
                .log
                .weakened(pointer, "oneOf", "`anyOf`: more than one may fit");
        }
        self.report_shared(own);
        let asserts = |own: &&KeywordSet<'a>| {
            own.reading(KeywordFilter::Assertions)
                .keywords()
                .any(|(keyword, _)| !is_structure(keyword))
        };
        let shared = own
            .iter()
            .filter(|own| own.reads != KeywordFilter::Annotations)
            .filter(asserts);
        let mut beside: Vec<NodePart<'a>> = shared
            .map(|own| NodePart::KeywordSet(own.reading(KeywordFilter::Assertions)))
            .collect();
        if types != TypeSet::ALL {
            beside.push(NodePart::TypeSet(types));
        }
        let mut written = Vec::with_capacity(union.nodes.len());
        for node in union.nodes.iter().cloned() {
            // Each branch has all keywords beside the union.
            self.base.nodes += beside.len();
            let beside = if self.base.is_exhausted() {
                Vec::new()
            } else {
                beside.clone()
            };
            written.extend(self.node(SchemaNode(beside).and(node)));
        }
        let notes: Vec<KeywordSet<'a>> = own
            .iter()
            .map(|own| own.reading(KeywordFilter::Annotations))
            .collect();
        let facts = self.facts(&notes, TypeSet::ALL);
        let joined = self.join(written, facts);
        if let (Some((keyword, pointer)), Some(false)) = (
            &union.place,
            joined.as_ref().map(|it| it.contains_key("anyOf")),
        ) {
            self.base
                .log
                .rewritten(pointer, keyword, "the branches are one schema");
        }
        joined
    }

    /// Joins branches to one schema. `facts` has the annotations of all of them.
    fn join(
        &mut self,
        branches: Vec<SchemaObject>,
        mut facts: NodeFacts<'a>,
    ) -> Option<SchemaObject> {
        let mut distinct = IndexSet::with_capacity(branches.len());
        for branch in branches {
            push_branch(&mut distinct, branch);
        }
        let mut flat = distinct.into_iter().collect::<Vec<_>>();
        let null = self.subset.typed && flat.iter().any(is_null) && flat.len() > 1;
        if null {
            flat.retain(|branch| !is_null(branch));
        }
        if flat.iter().any(is_anything) {
            return Some(self.anything(&flat, &mut facts));
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
            _ if self.subset.typed => {
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
    fn anything(&mut self, branches: &[SchemaObject], facts: &mut NodeFacts<'a>) -> SchemaObject {
        if self.subset.typed {
            self.describe_notes(facts);
        }
        let mut written = SchemaObject::new();
        annotate(&mut written, facts);
        let inner = branches
            .iter()
            .filter_map(|branch| branch.get("description")?.as_str());
        let texts: Vec<&str> = written
            .get("description")
            .and_then(Value::as_str)
            .into_iter()
            .chain(inner)
            .collect();
        if let Some(text) = describe(&texts, &[]) {
            written.insert("description".to_owned(), text.into());
        }
        written
    }

    /// Describes annotations that cannot be beside a union.
    fn describe_notes(&mut self, facts: &mut NodeFacts<'a>) {
        for note in std::mem::take(&mut facts.notes) {
            describe_or_drop(
                &mut self.base.log,
                &mut facts.dropped,
                &note.pointer,
                note.source,
            );
        }
    }

    fn report_shared(&mut self, own: &[KeywordSet<'a>]) {
        for own in own {
            let assertions = own.reading(KeywordFilter::Assertions);
            for (keyword, _) in assertions
                .keywords()
                .filter(|(keyword, _)| !is_structure(keyword))
            {
                self.base.log.rewritten(
                    &own.pointer,
                    keyword,
                    "part of each branch of the union beside it",
                );
            }
        }
    }

    /// Reports unions that are dropped beside the first.
    fn report_unions(&mut self, unions: &[SchemaUnion<'a>]) {
        for (keyword, pointer) in unions.iter().filter_map(|union| union.place.as_ref()) {
            self.base
                .log
                .dropped(pointer, keyword, "of two unions in one schema, one is kept");
        }
    }

    /// Writes a reference that stays one; annotations become part of a schema around it. Returns
    /// `None` for another node.
    fn reference(&mut self, node: &SchemaNode<'a>) -> Option<SchemaObject> {
        let [NodePart::Schema(place)] = node.0.as_slice() else {
            return None;
        };
        let map = place
            .schema
            .as_object()
            .filter(|_| self.subset.references)?;
        let reference = map.get("$ref")?.as_str()?;
        if map
            .keys()
            .any(|keyword| keyword != "$ref" && !is_annotation(keyword))
            || self.base.closes_cycle(reference, &place.pointer)
        {
            return None;
        }
        let own = KeywordSet {
            map,
            pointer: place.pointer.clone(),
            reads: KeywordFilter::Annotations,
        };
        let new = self.base.refer(reference, &place.pointer)?;
        let mut facts = self.facts(std::slice::from_ref(&own), TypeSet::ALL);
        let written = SchemaObject::from_iter([("$ref".to_owned(), Value::from(new))]);
        let mut around = SchemaObject::new();
        annotate(&mut around, &mut facts);
        if around.is_empty() {
            return Some(written);
        }
        self.base
            .log
            .rewritten(&place.pointer, "$ref", "inside an `anyOf` of one");
        around.insert(
            "anyOf".to_owned(),
            Value::Array(vec![Value::Object(written)]),
        );
        Some(around)
    }

    /// Writes a schema with its type only.
    fn stub(&mut self, node: &SchemaNode<'a>) -> Option<SchemaObject> {
        let mut types = TypeSet::ALL;
        for part in &node.0 {
            match part {
                NodePart::TypeSet(one) => types &= *one,
                NodePart::Schema(place) => {
                    self.base.report_exhausted(&place.pointer);
                    types &= TypeSet::of_schema(place.schema);
                }
                NodePart::KeywordSet(own) => {
                    types &= own
                        .map
                        .get("type")
                        .and_then(TypeSet::of_keyword)
                        .unwrap_or(TypeSet::ALL);
                }
                NodePart::Any(_) => {}
            }
        }
        self.alternatives(NodeFacts::new(types))
    }

    /// Writes a schema, which is a union if the form has one type in each schema and there are
    /// several.
    fn alternatives(&mut self, mut facts: NodeFacts<'a>) -> Option<SchemaObject> {
        let values = facts.values.take();
        if self.subset.typed && facts.types == TypeSet::ALL && facts.inside.is_empty() {
            self.drop_unrelated(&mut facts, TypeSet::NONE);
        }
        let types = facts.types;
        self.drop_unrelated(&mut facts, types);
        let branches = match values {
            Some(values) => self.values(&mut facts, &values),
            None if self.subset.typed && facts.types == TypeSet::ALL && facts.inside.is_empty() => {
                vec![SchemaObject::new()]
            }
            None if self.subset.typed => {
                self.report_split(&facts);
                let each = facts.types.each();
                each.filter_map(|(_, one)| self.one(&mut facts, one))
                    .collect()
            }
            None => self.one(&mut facts, types).into_iter().collect(),
        };
        self.join(branches, facts)
    }

    /// Reports keywords that move to the branch of their type.
    fn report_split(&mut self, facts: &NodeFacts<'a>) {
        if facts.types.difference(TypeSet::NULL).name().is_some() {
            return;
        }
        let kept = facts.kept.iter().map(|kept| (&kept.pointer, kept.source.0));
        for (pointer, keyword) in kept.chain(
            facts
                .inside
                .iter()
                .map(|(pointer, keyword)| (pointer, *keyword)),
        ) {
            self.base
                .log
                .rewritten(pointer, keyword, "in an `anyOf`, in the branch of its type");
        }
    }

    /// Drops keywords that are about other types. Without a type, the description has the keywords.
    fn drop_unrelated(&mut self, facts: &mut NodeFacts<'a>, types: TypeSet) {
        for kept in std::mem::take(&mut facts.kept) {
            if types == TypeSet::NONE {
                describe_or_drop(
                    &mut self.base.log,
                    &mut facts.dropped,
                    &kept.pointer,
                    kept.source,
                );
            } else if types.intersects(TypeSet::of_assertion(kept.keyword)) {
                facts.kept.push(kept);
            } else {
                self.base.log.dropped(
                    &kept.pointer,
                    kept.source.0,
                    "it does not constrain values of the type",
                );
            }
        }
    }

    /// Writes a schema of some of the types; `None` if it accepts no value.
    fn one(&mut self, facts: &mut NodeFacts<'a>, types: TypeSet) -> Option<SchemaObject> {
        let mut written = SchemaObject::new();
        name_type(self.subset, types, &mut written);
        for kept in facts
            .kept
            .iter()
            .filter(|kept| types.intersects(TypeSet::of_assertion(kept.keyword)))
        {
            written.insert(kept.keyword.to_owned(), kept.value.clone());
        }
        if types.intersects(TypeSet::ARRAY) {
            let items = std::mem::take(&mut facts.items);
            self.array(items, &mut written);
        }
        if types.intersects(TypeSet::OBJECT) {
            let shape = std::mem::take(&mut facts.shape);
            let is_open = facts.is_open && is_any(shape.rest.as_ref());
            let is_nameless = shape.properties.is_empty() && is_any(shape.rest.as_ref());
            let is_written = self.object(shape, &mut written).is_some();
            // A grammar closes an object that says nothing of further properties.
            if is_written
                && self.subset.grammar.is_some()
                && (is_open || is_nameless && types != TypeSet::ALL)
            {
                written.insert("additionalProperties".to_owned(), Value::Bool(true));
            }
            if !is_written {
                let others = types.difference(TypeSet::OBJECT);
                if others == TypeSet::NONE {
                    return None;
                }
                name_type(self.subset, others, &mut written);
            }
        }
        Some(written)
    }

    /// Writes the schemas of listed values: an `enum` if the form accepts such values, or their
    /// type with words and bounds.
    fn values(&mut self, facts: &mut NodeFacts<'a>, values: &[&'a Value]) -> Vec<SchemaObject> {
        if self.subset.enums == TypeSet::ALL {
            let types = facts.types;
            let mut all: Vec<SchemaObject> = self.one(facts, types).into_iter().collect();
            for one in &mut all {
                one.insert("enum".to_owned(), values.iter().copied().cloned().collect());
            }
            return all;
        }
        let mut branches = Vec::new();
        for (_, one) in facts.types.each() {
            let group: Vec<&Value> = values
                .iter()
                .copied()
                .filter(|value| one.contains(TypeSet::of_value(value)))
                .collect();
            let Some(mut branch) = self.one(facts, one) else {
                continue;
            };
            // The typed form refuses an empty text in an `enum`.
            let empty = self.subset.typed && group.iter().any(|value| *value == "");
            if self.subset.enums.contains(one) && !empty {
                branch.insert("enum".to_owned(), group.into_iter().cloned().collect());
            } else if one != TypeSet::NULL && !(one == TypeSet::BOOLEAN && group.len() > 1) {
                self.describe_values(facts, &mut branch, &group);
            }
            branches.push(branch);
        }
        if branches.len() > 1 {
            for (pointer, (keyword, _)) in &facts.listed {
                self.base
                    .log
                    .rewritten(pointer, keyword, "a schema for the values of each type");
            }
        }
        branches
    }

    fn describe_values(
        &mut self,
        facts: &mut NodeFacts<'a>,
        branch: &mut SchemaObject,
        group: &[&Value],
    ) {
        for (pointer, (keyword, _)) in &facts.listed {
            self.base.log.described(
                pointer,
                keyword,
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
            if self.subset.keeps.contains(&keyword)
                && let Some(bound) = extreme(group, lowest)
            {
                // All values are within the other bounds, so this bound is tighter.
                branch.insert(keyword.to_owned(), Value::Number(bound.clone()));
            }
        }
    }

    /// Returns a schema for a position where the typed form requires a type. A schema for any value
    /// becomes a union of all types, whose own items have no type.
    fn placed(&self, written: SchemaObject) -> Value {
        if !self.subset.typed || !is_anything(&written) {
            return Value::Object(written);
        }
        let mut text = SchemaObject::from_iter([("type".to_owned(), "STRING".into())]);
        text.extend(
            written
                .get_key_value("description")
                .map(|(keyword, value)| (keyword.clone(), value.clone())),
        );
        text.insert("nullable".to_owned(), Value::Bool(true));
        json!({"anyOf": [text, {"type": "NUMBER"}, {"type": "BOOLEAN"}, {"type": "OBJECT"}, {"type": "ARRAY", "items": {}}]})
    }

    /// Writes the keywords about items.
    fn array(&mut self, items: ArrayItems<'a>, inside: &mut SchemaObject) {
        let closed = items.closed();
        let stated = inside
            .get("maxItems")
            .and_then(Value::as_u64)
            .and_then(|most| usize::try_from(most).ok());
        let most = closed.into_iter().chain(stated).min();
        let item = items.alike(most).and_then(|node| self.node(node));
        // Without a schema for items, only the empty array is accepted.
        let most = if item.is_none() { Some(0) } else { most };
        let limit = self
            .subset
            .grammar
            .map_or(u64::MAX, |grammar| grammar.max_items);
        if self.subset.keeps.contains(&"maxItems")
            && let Some(most) = most.filter(|most| *most as u64 <= limit)
        {
            inside.insert("maxItems".to_owned(), most.into());
        }
        let item = item.unwrap_or_default();
        // Gemini refuses an array without `items` in both of its forms.
        let wanted = self.subset.typed || self.subset.maps && inside.contains_key("type");
        if wanted || !item.is_empty() {
            inside.insert("items".to_owned(), self.placed(item));
        }
    }

    /// Writes the keywords about properties; `None` if no object is accepted.
    fn object(&mut self, shape: ObjectShape<'a>, inside: &mut SchemaObject) -> Option<()> {
        let mut missing: HashSet<&str> = shape.required.iter().copied().collect();
        let mut properties = SchemaObject::new();
        for (name, node) in shape.properties {
            let required = missing.remove(name);
            self.report_absent(&node);
            match self.property(node, required) {
                Some(written) => {
                    properties.insert(name.to_owned(), self.placed(written));
                }
                None if required => return None,
                None => {}
            }
        }
        if self.subset.typed {
            // Required properties have to be declared.
            for name in shape.required.iter().filter(|name| missing.contains(*name)) {
                let written = self.property(shape.rest.clone()?, true)?;
                properties.insert((*name).to_owned(), self.placed(written));
            }
            let order: Vec<&str> = properties.keys().map(String::as_str).collect();
            if !order.is_empty() {
                inside.insert("propertyOrdering".to_owned(), order.into());
            }
        }
        if !properties.is_empty() {
            inside.insert("properties".to_owned(), Value::Object(properties));
        }
        if !shape.required.is_empty() {
            inside.insert(
                "required".to_owned(),
                shape.required.iter().copied().collect(),
            );
        }
        if self.subset.maps && !is_any(shape.rest.as_ref()) {
            let further = shape.rest.and_then(|node| self.property(node, false));
            let further = further.map_or(Value::Bool(false), Value::Object);
            inside.insert("additionalProperties".to_owned(), further);
        }
        Some(())
    }

    fn property(&mut self, node: SchemaNode<'a>, required: bool) -> Option<SchemaObject> {
        let before = self.base.definitions.optional;
        self.base.definitions.optional = before || !required;
        let written = self.node(node);
        self.base.definitions.optional = before;
        written
    }

    /// Reports a property whose schema accepts no value.
    fn report_absent(&mut self, node: &SchemaNode<'_>) {
        let Some(NodePart::Schema(place)) = node.0.iter().find(|part| is_false(part)) else {
            return;
        };
        let holder = place
            .pointer
            .rsplit_once("/properties/")
            .map_or("", |(holder, _)| holder);
        self.base.log.dropped(
            holder,
            "properties",
            "a property that accepts no value is left out",
        );
    }
}

/// Adds the description and the annotations to a schema.
fn annotate(written: &mut SchemaObject, facts: &mut NodeFacts<'_>) {
    let mut texts: Vec<&str> = std::mem::take(&mut facts.descriptions);
    let inner = written
        .get("description")
        .and_then(Value::as_str)
        .map(str::to_owned);
    texts.extend(inner.as_deref());
    if let Some(text) = describe(&texts, &facts.dropped) {
        insert_after_type(written, "description", text.into());
    }
    for note in facts.notes.drain(..) {
        written.entry(note.keyword).or_insert(note.value);
    }
}

/// The maximum size of all copies of a description.
const MAX_COPIES: usize = 64 * 1024;

/// Adds the description to each branch without one, or to the first if all have one.
fn share_description(branches: &mut [SchemaObject], facts: &NodeFacts<'_>) {
    let Some(text) = describe(&facts.descriptions, &facts.dropped) else {
        return;
    };
    let all_have = branches
        .iter()
        .all(|branch| branch.contains_key("description"));
    let copies = (MAX_COPIES / text.len().max(1)).max(1);
    let mut written = 0;
    for (at, branch) in branches.iter_mut().enumerate() {
        let own = branch.get("description").and_then(Value::as_str);
        let joined = match own {
            None if written >= copies => continue,
            None => {
                written += 1;
                text.clone()
            }
            Some(own) if all_have && at == 0 => format!("{text}\n{own}"),
            Some(_) => continue,
        };
        insert_after_type(branch, "description", joined.into());
    }
}

fn is_anything(written: &SchemaObject) -> bool {
    written.keys().all(|keyword| is_annotation(keyword))
}

fn is_null(written: &SchemaObject) -> bool {
    written.get("type").is_some_and(|name| name == "NULL")
}

/// Returns true for a keyword that `gather` follows.
fn is_structure(keyword: &str) -> bool {
    matches!(
        keyword,
        "$ref" | "$dynamicRef" | "allOf" | "anyOf" | "oneOf"
    )
}

fn name_type(subset: &SchemaSubset, types: TypeSet, written: &mut SchemaObject) {
    let name = if subset.typed {
        types.name().map(|name| name.to_ascii_uppercase().into())
    } else {
        types.to_keyword()
    };
    written.extend(name.map(|name| ("type".to_owned(), name)));
}

fn extreme<'v>(values: &[&'v Value], lowest: bool) -> Option<&'v Number> {
    let numbers = values.iter().filter_map(|value| value.as_number());
    if lowest {
        numbers.min_by(|a, b| compare(a, b))
    } else {
        numbers.max_by(|a, b| compare(a, b))
    }
}

fn is_false(part: &NodePart<'_>) -> bool {
    matches!(part, NodePart::Schema(place) if *place.schema == Value::Bool(false))
}
