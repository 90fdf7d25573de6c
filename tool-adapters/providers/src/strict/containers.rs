//! Arrays, with one schema for all items, and objects, which are closed.

use crate::report::{ChangeKind, NotStrict};
use crate::schema::document::{SchemaObject, SchemaPlace, list_places, named_places};
use crate::schema::node::{KeywordFilter, KeywordSet, is_union};
use crate::schema::rules::TypeSet;
use crate::strict::projector::{
    PlacedKeyword, StrictFacts, StrictProjector, StrictSchema, joined, nullable,
};
use indexmap::IndexSet;
use serde_json::{Map, Number, Value};
use std::collections::{BTreeMap, BTreeSet};
use tool_core::schema::join_pointer as join;

impl<'a> StrictProjector<'a> {
    fn array(
        &mut self,
        facts: &mut StrictFacts<'_, 'a>,
        written: &mut SchemaObject,
    ) -> Result<(), NotStrict> {
        let holder = facts.pointer();
        let most = of_type(facts, &["maxItems"])
            .into_iter()
            .filter_map(|keyword| keyword.value.as_u64())
            .min();
        let (first, rest) = items(facts).ok_or_else(|| NotStrict::Untyped {
            pointer: join(&holder, "items"),
        })?;
        let places = first.len();
        let follow = most.is_none_or(|most| usize::try_from(most).is_ok_and(|most| most > places));
        let rest = rest.filter(|_| follow || places == 0);
        let mut branches = IndexSet::new();
        for place in first.into_iter().chain(rest.clone()) {
            branches.extend(self.node(place)?);
        }
        let alike = joined(branches.into_iter().collect()).ok_or_else(|| NotStrict::Untyped {
            pointer: join(&holder, "items"),
        })?;
        written.insert("items".to_owned(), alike.into());
        for keyword in of_type(facts, &["minItems", "maxItems"]) {
            let few = keyword.name == "minItems"
                && keyword.value.as_u64().is_some_and(|least| least <= 1);
            self.keep(facts, written, keyword, self.form.lengths || few);
        }
        if places > 0 {
            for keyword in of_type(facts, &["prefixItems", "items"])
                .into_iter()
                .filter(|keyword| keyword.value.is_array())
            {
                self.describe_or_drop(facts, keyword);
                self.base.log.weakened(
                    &holder,
                    keyword.name,
                    "one schema for all items, whatever their positions",
                );
            }
            let closed = rest.is_none() && most.is_none() && self.form.lengths;
            if closed {
                written.insert("maxItems".to_owned(), places.into());
            }
        }
        Ok(())
    }

    /// Writes a node by its types; `None` without any.
    pub(crate) fn write_types(&mut self, mut facts: StrictFacts<'_, 'a>) -> StrictSchema {
        if facts.types == TypeSet::ALL {
            let pointer = facts.pointer();
            return Err(NotStrict::Untyped { pointer });
        }
        for keyword in facts.rest.clone() {
            let means = facts.types.intersects(types_of(keyword.name));
            if !means {
                let detail = "it does not constrain values of these types";
                self.base
                    .log
                    .dropped(&keyword.own.pointer, keyword.name, detail);
            }
        }
        let mut branches = Vec::new();
        for (name, types) in facts.types.each() {
            let mut written = SchemaObject::from_iter([("type".to_owned(), Value::from(name))]);
            match name {
                "object" => self.object(&mut facts, &mut written)?,
                "array" => self.array(&mut facts, &mut written)?,
                "string" => self.string(&mut facts, &mut written),
                "number" | "integer" => self.number(&mut facts, &mut written),
                _ => {}
            }
            if name != "null" {
                list_values(&facts, types, &mut written);
            }
            branches.push(written);
        }
        let Some(mut written) = joined(branches) else {
            return Ok(None);
        };
        facts.describe(&mut written);
        Ok(Some(written))
    }

    fn string(&mut self, facts: &mut StrictFacts<'_, 'a>, written: &mut SchemaObject) {
        for keyword in of_type(facts, &["pattern", "format"]) {
            let text = keyword.value.as_str().unwrap_or_default();
            let known = match keyword.name {
                "pattern" => (self.form.pattern)(text),
                _ => self.form.formats.contains(&text),
            };
            self.keep(facts, written, keyword, known);
        }
    }

    fn number(&mut self, facts: &mut StrictFacts<'_, 'a>, written: &mut SchemaObject) {
        let bounds = [
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ];
        for keyword in of_type(facts, &bounds) {
            let known = self.form.bounds && compiles(keyword.name, keyword.value);
            self.keep(facts, written, keyword, known);
        }
    }

    /// Writes a keyword, or adds it to the description.
    fn keep(
        &mut self,
        facts: &mut StrictFacts<'_, 'a>,
        written: &mut SchemaObject,
        keyword: PlacedKeyword<'_, 'a>,
        known: bool,
    ) {
        match written.get(keyword.name) {
            None if known => {
                written.insert(keyword.name.to_owned(), keyword.value.clone());
            }
            Some(there) if there == keyword.value => {}
            _ => self.describe_or_drop(facts, keyword),
        }
    }

    fn object(
        &mut self,
        facts: &mut StrictFacts<'_, 'a>,
        written: &mut SchemaObject,
    ) -> Result<(), NotStrict> {
        self.close(facts)?;
        let properties = self.properties(facts);
        let required = required(facts);
        let mut named = Map::new();
        let mut optional = false;
        for (name, place) in &properties {
            let needed = required.contains(name);
            let Some(mut schema) = self.node(place.clone())? else {
                if needed {
                    return Err(NotStrict::Keyword {
                        pointer: place.pointer.clone(),
                        keyword: "false".to_owned(),
                    });
                }
                continue;
            };
            if !needed && self.form.all_required {
                optional = true;
                // A constant is never null.
                if !schema.contains_key("const") {
                    schema = nullable(schema);
                } else if !self.always(place) {
                    return Err(NotStrict::Keyword {
                        pointer: place.pointer.clone(),
                        keyword: "const".to_owned(),
                    });
                }
            }
            named.insert((*name).to_owned(), schema.into());
        }
        if let Some(missing) = required.iter().find(|name| !named.contains_key(**name)) {
            return Err(NotStrict::Untyped {
                pointer: join(&join(&facts.pointer(), "properties"), missing),
            });
        }
        if optional {
            self.base.log.rewritten(
                &facts.pointer(),
                "required",
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

    /// Returns true for a constant that is its own default: giving it means the same as leaving it
    /// out.
    fn always(&self, place: &SchemaPlace<'a>) -> bool {
        let map = place.schema.as_object();
        let target = map.and_then(|map| map.get("$ref")?.as_str());
        let target =
            target.and_then(|reference| self.base.document.resolve(&place.pointer, reference));
        let of = |keyword: &str| {
            let there = map.and_then(|map| map.get(keyword));
            there.or_else(|| {
                target
                    .as_ref()
                    .and_then(|target| target.schema.get(keyword))
            })
        };
        of("default").is_some_and(|default| of("const") == Some(default))
    }

    /// Closes the object, or returns an error if that would refuse properties that the schema
    /// accepts.
    fn close(&mut self, facts: &StrictFacts<'_, 'a>) -> Result<(), NotStrict> {
        let keywords = |name: &str| of_type(facts, &[name]);
        if let Some(patterns) = keywords("patternProperties").first() {
            return Err(NotStrict::OpenObject {
                pointer: patterns.own.pointer.clone(),
            });
        }
        let additional = keywords("additionalProperties")
            .into_iter()
            .chain(keywords("unevaluatedProperties"));
        let additional = additional.collect::<Vec<_>>();
        let closes = |name: &str| {
            additional
                .iter()
                .find(|it| it.name == name && *it.value == Value::Bool(false))
        };
        if closes("additionalProperties").is_some() {
            return Ok(());
        }
        if let Some(keyword) = closes("unevaluatedProperties") {
            if facts.own.iter().any(names_elsewhere)
                || facts.own.iter().map(unions_beside).sum::<usize>() > 1
            {
                return Err(NotStrict::OpenObject {
                    pointer: keyword.own.pointer.clone(),
                });
            }
            if facts
                .own
                .iter()
                .any(|own| own.reads == KeywordFilter::Assertions)
            {
                let detail = "each branch accepts its own properties only";
                self.base.log.add(
                    &keyword.own.pointer,
                    keyword.name,
                    ChangeKind::Closed,
                    detail,
                );
            }
            return Ok(());
        }
        if let Some(open) = additional.first() {
            return Err(NotStrict::OpenObject {
                pointer: open.own.pointer.clone(),
            });
        }
        let named = keywords("properties");
        let some = named.iter().any(|named| {
            named
                .value
                .as_object()
                .is_some_and(|named| !named.is_empty())
        });
        // A tool without parameters has an empty `properties`.
        let none_at_root = !named.is_empty() && facts.pointer().is_empty();
        if !some && !none_at_root {
            return Err(NotStrict::OpenObject {
                pointer: facts.pointer(),
            });
        }
        let detail = "an object that does not mention further properties accepts none";
        self.base.log.add(
            &facts.pointer(),
            "additionalProperties",
            ChangeKind::Closed,
            detail,
        );
        Ok(())
    }

    /// Returns the properties of all schemas of the node by name. The first schema of a property is
    /// kept.
    fn properties(&mut self, facts: &StrictFacts<'_, 'a>) -> BTreeMap<&'a str, SchemaPlace<'a>> {
        let mut all: BTreeMap<&str, SchemaPlace<'_>> = BTreeMap::new();
        for keyword in of_type(facts, &["properties"]) {
            let holder = keyword.own.pointer.as_str();
            for (name, place) in named_places(keyword.value, holder, "properties") {
                match all.get(name) {
                    Some(there) if there.schema == place.schema => {}
                    Some(_) => {
                        let detail =
                            format!("of two schemas for `{}`, one is kept", name.escape_debug());
                        self.base.log.weakened(holder, "properties", detail);
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

/// Returns the schemas of the first items, and that of the others if there may be more. Returns
/// `None` if an item may have any value.
fn items<'a>(
    facts: &StrictFacts<'_, 'a>,
) -> Option<(Vec<SchemaPlace<'a>>, Option<SchemaPlace<'a>>)> {
    let keywords = of_type(facts, &["prefixItems", "items"]);
    let own = keywords.first()?.own;
    let first = own.map.get("prefixItems").into_iter();
    let first = first
        .flat_map(|list| list_places(list, &own.pointer, "prefixItems"))
        .collect::<Vec<_>>();
    let most = own
        .map
        .get("maxItems")
        .and_then(Value::as_u64)
        .and_then(|most| usize::try_from(most).ok());
    let rest = own.map.get("items").map(|schema| SchemaPlace {
        schema,
        pointer: join(&own.pointer, "items"),
    });
    match rest {
        Some(rest) if *rest.schema == Value::Bool(false) => Some((first, None)),
        Some(rest) => Some((first, Some(rest))),
        None if !first.is_empty() && most.is_some_and(|most| most <= first.len()) => {
            Some((first, None))
        }
        None => None,
    }
}

/// Returns true for a number that compilers of grammars accept: each digit of a bound is a branch,
/// and a multiple is counted in units of its last decimal.
fn compiles(keyword: &str, value: &Value) -> bool {
    /// Up to this, every integer is a double.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let Some(mut number) = value.as_f64() else {
        return false;
    };
    if keyword != "multipleOf" {
        return number.abs() <= EXACT;
    }
    while number.fract() != 0.0 && number <= f64::from(u32::MAX) {
        number *= 10.0;
    }
    number <= f64::from(u32::MAX)
}

/// Returns the keywords of these names.
fn of_type<'o, 'a>(facts: &StrictFacts<'o, 'a>, names: &[&str]) -> Vec<PlacedKeyword<'o, 'a>> {
    facts
        .rest
        .iter()
        .filter(|keyword| names.contains(&keyword.name))
        .copied()
        .collect()
}

/// Writes the values of a type.
fn list_values(facts: &StrictFacts<'_, '_>, types: TypeSet, written: &mut SchemaObject) {
    let Some(values) = &facts.values else { return };
    let mut values = values
        .iter()
        .filter(|value| types.contains(TypeSet::of_value(value)))
        .copied()
        .collect::<Vec<_>>();
    values.dedup();
    match values.as_slice() {
        [only] if facts.constant => written.insert("const".to_owned(), (*only).clone()),
        _ => written.insert(
            "enum".to_owned(),
            values.into_iter().cloned().map(whole).collect(),
        ),
    };
}

/// Returns `5` for `5.0`, as models write it.
fn whole(value: Value) -> Value {
    match value.as_f64() {
        #[allow(clippy::cast_possible_truncation)] // it is whole, and small enough
        Some(float) if value.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
            Number::from(float as i64).into()
        }
        _ => value,
    }
}

/// Returns the types that a keyword constrains.
fn types_of(keyword: &str) -> TypeSet {
    match keyword {
        "format" => TypeSet::STRING,
        keyword => TypeSet::of_assertion(keyword),
    }
}

fn required<'a>(facts: &StrictFacts<'_, 'a>) -> BTreeSet<&'a str> {
    let lists = of_type(facts, &["required"])
        .into_iter()
        .filter_map(|keyword| keyword.value.as_array());
    lists.flatten().filter_map(Value::as_str).collect()
}

/// Returns true if a schema accepts properties by keywords that no strict form has.
fn names_elsewhere(own: &KeywordSet<'_>) -> bool {
    ["if", "then", "else", "dependentSchemas", "$dynamicRef"]
        .iter()
        .any(|keyword| own.map.contains_key(*keyword))
}

/// Counts the unions of a schema in a branch, besides the union of the branch.
fn unions_beside(own: &KeywordSet<'_>) -> usize {
    if own.reads == KeywordFilter::Assertions {
        own.map.keys().filter(|keyword| is_union(keyword)).count()
    } else {
        0
    }
}
