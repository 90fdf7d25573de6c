//! Strict schemas: the keywords of a node, the schemas that its references and `allOf` lead to, and
//! null for optional properties.

use crate::report::{Change, NotStrict};
use crate::schema::document::{SchemaObject, SchemaPlace, any_of, list_places, push_branch};
use crate::schema::node::{KeywordFilter, KeywordSet, is_union};
use crate::schema::projector::{DefinitionNames, MAX_DEPTH, Projector};
use crate::schema::rules::{TypeSet, is_meant, is_well_formed, narrow_to_each_other};
use crate::schema::words::{DroppedKeyword, describe, describe_or_drop};
use crate::strict::budget::{StrictForm, check_limits};
use indexmap::IndexSet;
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// The maximum number of schemas that are written. References multiply: `a` refers to `b` twice,
/// `b` to `c` twice, and so on.
const MOST: usize = 20_000;

/// Projects one schema to a strict form.
pub(crate) struct StrictProjector<'a> {
    pub(crate) form: &'static StrictForm,
    pub(crate) base: Projector<'a>,
}

/// A schema in the strict form; `None` if it accepts no value.
pub(crate) type StrictSchema = Result<Option<SchemaObject>, NotStrict>;

/// Returns true for a keyword about the structure of the document.
fn is_plumbing(keyword: &str) -> bool {
    matches!(
        keyword,
        "$schema" | "$id" | "$anchor" | "$dynamicAnchor" | "$vocabulary" | "$comment" | "$defs"
    )
}

impl<'a> StrictProjector<'a> {
    /// Writes a schema; `None` if it accepts no value.
    pub(crate) fn node(&mut self, place: SchemaPlace<'a>) -> StrictSchema {
        match place.schema {
            Value::Bool(false) => return Ok(None),
            // A root is written out, even if it is a reference.
            Value::Object(_) if place.pointer.is_empty() => {}
            Value::Object(map) => {
                if let Some(written) = self.reference(map, &place)? {
                    return Ok(Some(written));
                }
            }
            _ => {
                return Err(NotStrict::Untyped {
                    pointer: place.pointer,
                });
            }
        }
        self.branch(place, &[])
    }

    /// Writes the schemas of a node as one.
    fn own(&mut self, own: &[KeywordSet<'a>]) -> StrictSchema {
        self.base.depth += 1;
        self.base.nodes += 1;
        check_limits([
            ("levels", self.base.depth, MAX_DEPTH),
            ("schemas, with what they refer to", self.base.nodes, MOST),
        ])?;
        // A union of required properties becomes part of the description.
        let is_written = |union: &PlacedKeyword<'_, 'a>| {
            is_well_formed(union.name, union.value)
                && union
                    .value
                    .as_array()
                    .is_some_and(|branches| !branches.iter().all(only_requires))
        };
        let written = if let Some(union) = unions(own).find(is_written) {
            self.write_union(own, union)
        } else {
            let facts = self.facts(own);
            self.write_types(facts)
        };
        self.base.depth -= 1;
        written
    }

    /// Writes a reference that stays one; `None` if the target replaces it, as it does beside other
    /// keywords. Of a recursive schema, which has no end, annotations become part of a schema
    /// around the reference.
    fn reference(&mut self, map: &'a Map<String, Value>, place: &SchemaPlace<'a>) -> StrictSchema {
        let Some(reference) = map
            .get("$ref")
            .and_then(Value::as_str)
            .filter(|_| self.form.references)
        else {
            return Ok(None);
        };
        let Some(target) = self.base.document.resolve(&place.pointer, reference) else {
            return Ok(None);
        };
        let beside = map
            .keys()
            .filter(|keyword| *keyword != "$ref" && !is_plumbing(keyword))
            .count();
        let copied = self
            .base
            .active
            .contains(&std::ptr::from_ref(target.schema));
        if beside > 0 && !copied && self.base.nodes < MOST / 2 {
            return Ok(None);
        }
        let around = KeywordSet {
            map,
            pointer: place.pointer.clone(),
            reads: KeywordFilter::Annotations,
        };
        let asserts = around
            .reading(KeywordFilter::Assertions)
            .keywords()
            .any(|(keyword, _)| keyword != "$ref");
        if asserts {
            return Err(NotStrict::Recursive {
                pointer: place.pointer.clone(),
            });
        }
        let new = self.base.refer_to(target, reference, &place.pointer);
        let written = SchemaObject::from_iter([("$ref".to_owned(), Value::from(new))]);
        Ok(Some(self.around(written, &[around])))
    }

    /// Collects the schemas of a node: a schema, and those that it refers to or includes.
    fn gather(
        &mut self,
        place: SchemaPlace<'a>,
        own: &mut Vec<KeywordSet<'a>>,
    ) -> Result<(), NotStrict> {
        let SchemaPlace { schema, pointer } = place;
        let Value::Object(map) = schema else {
            // `true` does not constrain the other schemas.
            return match schema {
                Value::Bool(true) => Ok(()),
                _ => Err(NotStrict::Keyword {
                    pointer,
                    keyword: "false".to_owned(),
                }),
            };
        };
        if !self.base.active.insert(schema) {
            return Err(NotStrict::Recursive { pointer });
        }
        let reference = map.get("$ref").and_then(Value::as_str);
        own.push(KeywordSet {
            map,
            pointer: pointer.clone(),
            reads: KeywordFilter::All,
        });
        if let Some(reference) = reference {
            let Some(target) = self.base.document.resolve(&pointer, reference) else {
                return Err(NotStrict::Untyped { pointer });
            };
            self.base
                .log
                .rewritten(&pointer, "$ref", "its target replaces it");
            self.gather(target, own)?;
        }
        if let Some(all) = map.get("allOf").filter(|all| all.is_array()) {
            self.base
                .log
                .rewritten(&pointer, "allOf", "its schemas are one");
            for place in list_places(all, &pointer, "allOf") {
                self.gather(place, own)?;
            }
        }
        Ok(())
    }

    /// Writes a union. The keywords beside it become part of each branch.
    fn write_union(
        &mut self,
        own: &[KeywordSet<'a>],
        union: PlacedKeyword<'_, 'a>,
    ) -> StrictSchema {
        let holder = union.own.pointer.as_str();
        if union.name == "oneOf" {
            self.base
                .log
                .weakened(holder, "oneOf", "`anyOf`: more than one may fit");
        }
        for other in unions(own).filter(|other| !std::ptr::eq(other.value, union.value)) {
            self.base.log.dropped(
                &other.own.pointer,
                other.name,
                "of two unions in one schema, one is kept",
            );
        }
        let beside = own.iter().map(|own| own.reading(KeywordFilter::Assertions));
        let beside = beside
            .filter(|own| own.keywords().any(|(keyword, _)| !is_followed(keyword)))
            .collect::<Vec<_>>();
        let mut branches = IndexSet::new();
        for place in list_places(union.value, holder, union.name) {
            let written = if beside.is_empty() {
                self.node(place)?
            } else {
                self.branch(place, &beside)?
            };
            if let Some(written) = written {
                push_branch(&mut branches, written);
            }
        }
        let Some(written) = joined(branches.into_iter().collect()) else {
            return Ok(None);
        };
        if !written.contains_key("anyOf") {
            self.base
                .log
                .rewritten(holder, union.name, "the branches are one schema");
        }
        let notes = own
            .iter()
            .map(|own| own.reading(KeywordFilter::Annotations))
            .collect::<Vec<_>>();
        Ok(Some(self.around(written, &notes)))
    }

    /// Writes a schema with the keywords beside a union that has it.
    fn branch(&mut self, place: SchemaPlace<'a>, beside: &[KeywordSet<'a>]) -> StrictSchema {
        if *place.schema == Value::Bool(false) {
            return Ok(None);
        }
        let floor = self.base.active.len();
        let mut own = Vec::new();
        self.gather(place, &mut own)?;
        // Each branch has all keywords beside the union.
        self.base.nodes += beside.len();
        own.extend_from_slice(beside);
        let written = self.own(&own);
        self.base.active.truncate(floor);
        written
    }

    /// Adds the description of the schemas around it.
    fn around(&mut self, mut written: SchemaObject, notes: &[KeywordSet<'a>]) -> SchemaObject {
        let facts = self.facts(notes);
        if written.contains_key("$ref") && describe(&facts.descriptions, &facts.dropped).is_some() {
            written =
                SchemaObject::from_iter([("anyOf".to_owned(), Value::Array(vec![written.into()]))]);
        }
        facts.describe(&mut written);
        written
    }

    /// Sorts the keywords of a node without a union.
    fn facts<'o>(&mut self, own: &'o [KeywordSet<'a>]) -> StrictFacts<'o, 'a> {
        let at_root = own.first().is_some_and(|own| own.pointer.is_empty());
        let mut facts = StrictFacts {
            own,
            // Arguments are an object, with or without a `type`.
            types: if at_root {
                TypeSet::OBJECT
            } else {
                TypeSet::ALL
            },
            ..StrictFacts::default()
        };
        for own in own {
            for (name, value) in own.keywords() {
                self.sort_keyword(&mut facts, PlacedKeyword { name, value, own });
            }
        }
        if let Some(values) = &mut facts.values {
            narrow_to_each_other(values, &mut facts.types);
        }
        facts
    }

    fn sort_keyword<'o>(
        &mut self,
        facts: &mut StrictFacts<'o, 'a>,
        keyword: PlacedKeyword<'o, 'a>,
    ) {
        let PlacedKeyword { name, value, own } = keyword;
        let pointer = own.pointer.as_str();
        if !is_meant(&mut self.base.log, pointer, (name, value), false) {
            return;
        }
        match name {
            "$defs" => {}
            _ if is_plumbing(name) => {
                self.base
                    .log
                    .dropped(pointer, name, "it means nothing to a model");
            }
            _ if is_followed(name) => {}
            "type" => facts.types &= TypeSet::of_keyword(value).unwrap_or(TypeSet::ALL),
            "description" => facts.descriptions.extend(value.as_str()),
            "enum" | "const" => self.values(facts, keyword),
            "title" => self
                .base
                .log
                .dropped(pointer, name, "strict forms have no titles"),
            "default" if value.is_null() => {
                self.base
                    .log
                    .dropped(pointer, name, "an absent parameter means the same");
            }
            _ if is_written(name) => facts.rest.push(keyword),
            _ => self.describe_or_drop(facts, keyword),
        }
    }

    fn values(&mut self, facts: &mut StrictFacts<'_, 'a>, keyword: PlacedKeyword<'_, 'a>) {
        let constant = keyword.name == "const";
        let values = if constant {
            std::slice::from_ref(keyword.value)
        } else {
            keyword
                .value
                .as_array()
                .map(Vec::as_slice)
                .unwrap_or_default()
        };
        if values
            .iter()
            .any(|value| value.is_array() || value.is_object())
        {
            self.describe_or_drop(facts, keyword);
            return;
        }
        let known = facts.values.take();
        let known = known.map(HashSet::<&Value>::from_iter);
        let both = |value: &&Value| known.as_ref().is_none_or(|known| known.contains(value));
        facts.values = Some(values.iter().filter(both).collect());
        facts.constant |= constant;
    }

    /// Moves a keyword into the description, or drops it if it cannot be described.
    pub(crate) fn describe_or_drop(
        &mut self,
        facts: &mut StrictFacts<'_, 'a>,
        keyword: PlacedKeyword<'_, 'a>,
    ) {
        let log = &mut self.base.log;
        describe_or_drop(
            log,
            &mut facts.dropped,
            &keyword.own.pointer,
            (keyword.name, keyword.value),
        );
    }
}

/// No name has `__`, so that a number behind it makes a new one.
const STRICT_NAMES: DefinitionNames = DefinitionNames {
    of_pointer: strict_name,
    separator: "__",
};

/// Returns a name for a schema: `Point` for `/$defs/Point`, `properties_a_items` for
/// `/properties/a/items`.
fn strict_name(pointer: &str) -> String {
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

/// Projects a schema to a strict form, and returns the changes. The projection accepts all values
/// that the schema does, with null for absent properties where the form requires every property.
///
/// # Errors
///
/// The reason for which the schema has no such form.
pub(crate) fn project_strict(
    form: &'static StrictForm,
    schema: &Value,
) -> Result<(Value, Vec<Change>), NotStrict> {
    let mut projector = StrictProjector {
        form,
        base: Projector::new(schema, &STRICT_NAMES),
    };
    projector.base.definitions.root_stays = true;
    let root = projector.node(SchemaPlace::root(schema))?;
    let mut root = root.ok_or(NotStrict::Untyped {
        pointer: String::new(),
    })?;
    if root.contains_key("anyOf") {
        return Err(NotStrict::Keyword {
            pointer: String::new(),
            keyword: "anyOf".to_owned(),
        });
    }
    let mut definitions = Map::new();
    while let Some((name, place)) = projector.base.next_definition() {
        let pointer = place.pointer.clone();
        let schema = projector
            .node(place)?
            .ok_or(NotStrict::Untyped { pointer })?;
        definitions.insert(name, schema.into());
    }
    if !definitions.is_empty() {
        root.insert("$defs".to_owned(), definitions.into());
    }
    (form.check_size)(&root)?;
    Ok((root.into(), projector.base.log.finish()))
}

/// The sorted keywords of a node.
#[derive(Default)]
pub(crate) struct StrictFacts<'o, 'a> {
    /// The schemas of the node.
    pub(crate) own: &'o [KeywordSet<'a>],
    pub(crate) types: TypeSet,
    /// The values that `enum` and `const` leave.
    pub(crate) values: Option<Vec<&'a Value>>,
    /// True if a `const` gave the value.
    pub(crate) constant: bool,
    /// The keywords that are written type by type.
    pub(crate) rest: Vec<PlacedKeyword<'o, 'a>>,
    descriptions: Vec<&'a str>,
    /// The keywords that become part of the description.
    dropped: Vec<DroppedKeyword<'a>>,
}

#[derive(Clone, Copy)]
pub(crate) struct PlacedKeyword<'o, 'a> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a Value,
    /// The schema that has the keyword.
    pub(crate) own: &'o KeywordSet<'a>,
}

/// Returns the unions of a node.
fn unions<'o, 'a>(own: &'o [KeywordSet<'a>]) -> impl Iterator<Item = PlacedKeyword<'o, 'a>> {
    let keywords = |own: &'o KeywordSet<'a>| {
        own.keywords()
            .map(move |(name, value)| PlacedKeyword { name, value, own })
    };
    own.iter()
        .flat_map(keywords)
        .filter(|keyword| is_union(keyword.name))
}

impl StrictFacts<'_, '_> {
    /// Returns the pointer to the first schema.
    pub(crate) fn pointer(&self) -> String {
        self.own
            .first()
            .map(|own| own.pointer.clone())
            .unwrap_or_default()
    }

    /// Adds the description to a schema.
    pub(crate) fn describe(&self, written: &mut SchemaObject) {
        let inner = written
            .get("description")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let texts = self
            .descriptions
            .iter()
            .copied()
            .chain(inner.as_deref())
            .collect::<Vec<_>>();
        if let Some(text) = describe(&texts, &self.dropped) {
            written.insert("description".to_owned(), text.into());
        }
    }
}

/// Returns true for a keyword that `gather` follows.
fn is_followed(keyword: &str) -> bool {
    matches!(keyword, "$ref" | "allOf")
}

/// Returns true for a keyword that is written by type.
fn is_written(keyword: &str) -> bool {
    match keyword {
        "format" => true,
        "minLength" | "maxLength" | "minProperties" | "maxProperties" => false,
        _ => TypeSet::of_assertion(keyword) != TypeSet::ALL,
    }
}

/// Returns true for a branch that has no keyword but `required`.
fn only_requires(branch: &Value) -> bool {
    branch.as_object().is_some_and(|map| {
        map.contains_key("required") && map.keys().all(|keyword| keyword == "required")
    })
}

/// Joins branches to one schema; `None` without branches. A branch of one type and one of null
/// become one schema.
pub(crate) fn joined(mut branches: Vec<SchemaObject>) -> Option<SchemaObject> {
    let is_null = |written: &SchemaObject| written.get("type").is_some_and(|kind| kind == "null");
    let has_one_type = |written: &SchemaObject| {
        written.get("type").is_some_and(Value::is_string) && !written.contains_key("const")
    };
    match branches.as_slice() {
        [null, other] | [other, null] if is_null(null) && has_one_type(other) => {
            Some(nullable(other.clone()))
        }
        [] | [_] => branches.pop(),
        _ => Some(any_of(branches)),
    }
}

/// Returns a schema that accepts null too.
pub(crate) fn nullable(mut written: SchemaObject) -> SchemaObject {
    if let Some(Value::Array(branches)) = written.get_mut("anyOf") {
        if !branches.iter().any(has_null_type) {
            branches.push(json!({"type": "null"}));
        }
        return written;
    }
    if written.contains_key("const") || !written.contains_key("type") {
        let description = written.remove("description");
        let mut union =
            SchemaObject::from_iter([("anyOf".to_owned(), json!([written, {"type": "null"}]))]);
        union.extend(description.map(|text| ("description".to_owned(), text)));
        return union;
    }
    match written.get_mut("type") {
        Some(Value::Array(names)) if !names.iter().any(|name| name == "null") => {
            names.push("null".into());
        }
        Some(kind @ Value::String(_)) if *kind != "null" => *kind = json!([kind.take(), "null"]),
        _ => {}
    }
    if let Some(Value::Array(values)) = written.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    written
}

fn has_null_type(schema: &Value) -> bool {
    schema
        .get("type")
        .and_then(TypeSet::of_keyword)
        .is_some_and(|types| types.contains(TypeSet::NULL))
}
