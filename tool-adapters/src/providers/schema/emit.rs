//! The sorted keywords of a node as a schema.

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
