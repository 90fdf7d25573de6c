//! Objects, which are closed in a strict form.

use crate::providers::report::{ChangeKind, NotStrict};
use crate::providers::schema::document::SchemaPlace;
use crate::providers::strict::array::of_type;
use crate::providers::strict::node::StrictFacts;
use crate::providers::strict::node::nullable;
use crate::providers::strict::projector::{KeywordFilter, KeywordSet, SchemaObject, StrictProjector, is_union};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use tool_core::schema::join_pointer as join;

impl<'a> StrictProjector<'a> {
    pub(crate) fn object(
        &mut self,
        own: &[KeywordSet<'a>],
        facts: &mut StrictFacts<'a>,
        written: &mut SchemaObject,
    ) -> Result<(), NotStrict> {
        self.close(own, facts)?;
        let properties = self.properties(own, facts);
        let required = required(facts);
        let mut named = Map::new();
        let mut optional = false;
        for (name, place) in &properties {
            let needed = required.contains(name);
            let Some(mut schema) = self.property(place.clone(), needed)? else { continue };
            if !needed && self.form.all_required {
                optional = true;
                // A constant is never null.
                if !schema.contains_key("const") {
                    schema = nullable(schema);
                } else if !self.always(place) {
                    return Err(NotStrict::Keyword { pointer: place.pointer.clone(), keyword: "const".to_owned() });
                }
            }
            named.insert((*name).to_owned(), schema.into());
        }
        if let Some(missing) = required.iter().find(|name| !named.contains_key(**name)) {
            let holder = own.first().map(|own| own.pointer.as_str()).unwrap_or_default();
            return Err(NotStrict::Untyped { pointer: join(&join(holder, "properties"), missing) });
        }
        if optional && let Some(own) = own.first() {
            self.log.add(
                &own.pointer,
                "required",
                ChangeKind::Rewritten,
                "every property is required; null stands for absent",
            );
        }
        let required: Vec<Value> = if self.form.all_required {
            named.keys().map(|name| name.as_str().into()).collect()
        } else {
            required.into_iter().map(Value::from).collect()
        };
        written.insert("properties".to_owned(), named.into());
        if self.form.all_required || !required.is_empty() {
            written.insert("required".to_owned(), required.into());
        }
        written.insert("additionalProperties".to_owned(), false.into());
        Ok(())
    }

    fn property(&mut self, place: SchemaPlace<'a>, needed: bool) -> Result<Option<SchemaObject>, NotStrict> {
        let pointer = place.pointer.clone();
        match self.node(place)? {
            // A property without a value cannot be given, and is left out if it is optional.
            None if needed => Err(NotStrict::Keyword { pointer, keyword: "false".to_owned() }),
            written => Ok(written),
        }
    }

    /// Returns true for a constant that is its own default: giving it means the same as leaving it out.
    fn always(&self, place: &SchemaPlace<'a>) -> bool {
        let map = place.schema.as_object();
        let target = map.and_then(|map| map.get("$ref")?.as_str());
        let target = target.and_then(|reference| self.document.resolve(&place.pointer, reference));
        let of = |keyword: &str| {
            let there = map.and_then(|map| map.get(keyword));
            there.or_else(|| target.as_ref().and_then(|target| target.schema.get(keyword)))
        };
        of("default").is_some_and(|default| of("const") == Some(default))
    }

    /// Closes the object, or returns an error if that would refuse properties that the schema accepts.
    fn close(&mut self, own: &[KeywordSet<'a>], facts: &StrictFacts<'a>) -> Result<(), NotStrict> {
        let keywords = |name: &str| of_type(facts, &[name]);
        let pointer = |at: usize| own.get(at).map(|own| own.pointer.clone()).unwrap_or_default();
        let first = || own.first().map(|own| own.pointer.clone()).unwrap_or_default();
        if let Some(patterns) = keywords("patternProperties").first() {
            return Err(NotStrict::OpenObject { pointer: pointer(patterns.own) });
        }
        let additional = keywords("additionalProperties").into_iter().chain(keywords("unevaluatedProperties"));
        let additional = additional.collect::<Vec<_>>();
        let closes = |name: &str| additional.iter().find(|it| it.name == name && *it.value == Value::Bool(false));
        if closes("additionalProperties").is_some() {
            return Ok(());
        }
        if let Some(keyword) = closes("unevaluatedProperties") {
            if own.iter().any(names_elsewhere) || own.iter().map(unions_beside).sum::<usize>() > 1 {
                return Err(NotStrict::OpenObject { pointer: pointer(keyword.own) });
            }
            if own.iter().any(|own| own.reads == KeywordFilter::Assertions) {
                let detail = "each branch accepts its own properties only";
                self.log.add(&pointer(keyword.own), keyword.name, ChangeKind::Closed, detail);
            }
            return Ok(());
        }
        if let Some(open) = additional.first() {
            return Err(NotStrict::OpenObject { pointer: pointer(open.own) });
        }
        let named = keywords("properties");
        let some = named.iter().any(|named| named.value.as_object().is_some_and(|named| !named.is_empty()));
        // A tool without parameters has an empty `properties`.
        let none_at_root = !named.is_empty() && first().is_empty();
        if !some && !none_at_root {
            return Err(NotStrict::OpenObject { pointer: first() });
        }
        self.log.add(
            &first(),
            "additionalProperties",
            ChangeKind::Closed,
            "an object that does not mention further properties accepts none",
        );
        Ok(())
    }

    /// Returns the properties of all schemas of the node by name. The first schema of a property is kept.
    fn properties(&mut self, own: &[KeywordSet<'a>], facts: &StrictFacts<'a>) -> BTreeMap<&'a str, SchemaPlace<'a>> {
        let mut all: BTreeMap<&str, SchemaPlace<'_>> = BTreeMap::new();
        for keyword in of_type(facts, &["properties"]) {
            let holder = own.get(keyword.own).map(|own| own.pointer.as_str()).unwrap_or_default();
            let under = join(holder, "properties");
            for (name, schema) in keyword.value.as_object().into_iter().flatten() {
                let place = SchemaPlace { schema, pointer: join(&under, name) };
                match all.get(name.as_str()) {
                    Some(there) if there.schema == schema => {}
                    Some(_) => {
                        let detail = format!("of two schemas for `{}`, one is kept", name.escape_debug());
                        self.log.add(holder, "properties", ChangeKind::Weakened, detail);
                    }
                    None => {
                        all.insert(name, place);
                    }
                }
            }
        }
        all
    }
}

fn required<'a>(facts: &StrictFacts<'a>) -> BTreeSet<&'a str> {
    let lists = of_type(facts, &["required"]).into_iter().filter_map(|keyword| keyword.value.as_array());
    lists.flatten().filter_map(Value::as_str).collect()
}

/// Returns true if a schema accepts properties by keywords that no strict form has.
fn names_elsewhere(own: &KeywordSet<'_>) -> bool {
    ["if", "then", "else", "dependentSchemas", "$dynamicRef"].iter().any(|keyword| own.map.contains_key(*keyword))
}

/// Counts the unions of a schema in a branch, besides the union of the branch.
fn unions_beside(own: &KeywordSet<'_>) -> usize {
    if own.reads == KeywordFilter::Assertions { own.map.keys().filter(|keyword| is_union(keyword)).count() } else { 0 }
}
