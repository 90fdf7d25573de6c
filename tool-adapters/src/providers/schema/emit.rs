//! One node's facts, written out.

use crate::providers::report::ChangeKind;
use crate::providers::schema::facts::NodeFacts;
use crate::providers::schema::node;
use crate::providers::schema::projector::Projector;
use crate::providers::schema::rules::SchemaSubset;
use crate::providers::schema::subset::{SchemaObject, insert_after_type, is_anything};
use crate::providers::schema::types::TypeSet;
use crate::providers::schema::words::words;
use serde_json::{Value, json};

impl<'a> Projector<'a> {
    /// Writes facts as a schema: where the form has one type a schema, as a union of as many as there are types.
    pub(crate) fn alternatives(&mut self, subset: &SchemaSubset, mut facts: NodeFacts<'a>) -> Option<SchemaObject> {
        let values = facts.values.take();
        if subset.typed && facts.types == TypeSet::ALL && facts.inside.is_empty() {
            self.tell_kept(&mut facts, TypeSet::NONE);
        }
        let types = facts.types;
        self.tell_kept(&mut facts, types);
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

    /// With one type a schema, each keyword stands with the type that it is about.
    fn report_split(&mut self, facts: &NodeFacts<'a>) {
        if facts.types.without(TypeSet::NULL).name().is_some() {
            return;
        }
        let kept = facts.kept.iter().map(|kept| (&kept.pointer, kept.source.0));
        for (pointer, keyword) in kept.chain(facts.inside.iter().map(|(pointer, keyword)| (pointer, *keyword))) {
            self.log.add(pointer, keyword, ChangeKind::Rewritten, "in an `anyOf`, in the branch of its type");
        }
    }

    /// Keywords that say nothing of the types at hand go; with no type at hand, the description tells them.
    fn tell_kept(&mut self, facts: &mut NodeFacts<'a>, types: TypeSet) {
        for kept in std::mem::take(&mut facts.kept) {
            if types == TypeSet::NONE {
                self.lose(facts, &kept.pointer, kept.source.0, kept.source.1);
            } else if types.overlaps(types_of_keyword(kept.keyword)) {
                facts.kept.push(kept);
            } else {
                self.log.add(
                    &kept.pointer,
                    kept.source.0,
                    ChangeKind::Dropped,
                    "it says nothing of a value of the type",
                );
            }
        }
    }

    /// A schema of some of the types; nothing where none of them has a value.
    pub(crate) fn one(
        &mut self,
        subset: &SchemaSubset,
        facts: &mut NodeFacts<'a>,
        types: TypeSet,
    ) -> Option<SchemaObject> {
        let mut written = SchemaObject::new();
        name_type(subset, types, &mut written);
        for kept in facts.kept.iter().filter(|kept| types.overlaps(types_of_keyword(kept.keyword))) {
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

    /// Schemas of listed values: as `enum` where the form takes such values, else of their type, in words and bounds.
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
            // An empty text is refused among the values of the typed form.
            let empty = subset.typed && group.iter().any(|value| *value == "");
            if subset.enums.contains(one) && !empty {
                branch.insert("enum".to_owned(), group.into_iter().cloned().collect());
            } else if one != TypeSet::NULL && !(one == TypeSet::BOOLEAN && group.len() > 1) {
                self.tell_values(subset, facts, &mut branch, &group);
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

    fn tell_values(
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
                "told in the description: the form has no such values",
            );
        }
        let list: Value = group.iter().copied().cloned().collect();
        let told = match group {
            [only] => words(&[("const", only)]),
            _ => words(&[("enum", &list)]),
        };
        if let ([(_, listed)], Some(_)) = (facts.listed.as_slice(), facts.types.name()) {
            facts.dropped.push(*listed);
        } else if let Some(told) = told {
            insert_after_type(branch, "description", told.into());
        }
        for (keyword, lowest) in [("minimum", true), ("maximum", false)] {
            if subset.keeps.contains(&keyword)
                && let Some(bound) = extreme(group, lowest)
            {
                // All values lie within what else is said of them, so theirs is the tighter bound.
                branch.insert(keyword.to_owned(), bound.clone());
            }
        }
    }

    /// A schema in a place where the typed form wants a type: what accepts anything is spelled out. The innermost
    /// items cannot be.
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

/// The types that a keyword says something of.
fn types_of_keyword(keyword: &str) -> TypeSet {
    match keyword {
        "minLength" | "maxLength" | "pattern" => TypeSet::STRING,
        "minimum" | "maximum" => TypeSet::NUMBER,
        "minItems" | "maxItems" => TypeSet::ARRAY,
        "minProperties" | "maxProperties" => TypeSet::OBJECT,
        _ => TypeSet::ALL,
    }
}
