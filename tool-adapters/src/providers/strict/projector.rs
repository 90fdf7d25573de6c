//! Strict schemas, with the schemas that references and `allOf` lead to.

use crate::providers::report::{Change, ChangeKind, NotStrict};
use crate::providers::schema::document::{SchemaObject, SchemaPlace};
use crate::providers::schema::node::{KeywordFilter, KeywordSet};
use crate::providers::schema::projector::{DefinitionNames, MAX_DEPTH, Projector};
use crate::providers::strict::budget::StrictForm;
use serde_json::{Map, Value};
use tool_core::schema::join_pointer as join;

/// The maximum number of schemas that are written. References multiply: `a` refers to `b` twice, `b` to `c` twice, and so on.
const MOST: usize = 20_000;

/// Projects one schema to a strict form.
pub(crate) struct StrictProjector<'a> {
    pub(crate) form: &'static StrictForm,
    pub(crate) base: Projector<'a>,
}

/// Returns true for a keyword about the structure of the document.
pub(crate) fn is_plumbing(keyword: &str) -> bool {
    matches!(keyword, "$schema" | "$id" | "$anchor" | "$dynamicAnchor" | "$vocabulary" | "$comment" | "$defs")
}

impl<'a> StrictProjector<'a> {
    /// Writes a schema; `None` if it accepts no value.
    pub(crate) fn node(&mut self, place: SchemaPlace<'a>) -> Result<Option<SchemaObject>, NotStrict> {
        match place.schema {
            Value::Bool(false) => return Ok(None),
            // A root is written out, even if it is a reference.
            Value::Object(_) if place.pointer.is_empty() => {}
            Value::Object(map) => {
                if let Some(written) = self.reference(map, &place)? {
                    return Ok(Some(written));
                }
            }
            _ => return Err(NotStrict::Untyped { pointer: place.pointer }),
        }
        let floor = self.base.active.len();
        let mut own = Vec::new();
        self.gather(place, &mut own)?;
        let written = self.own(&own);
        self.base.active.truncate(floor);
        written
    }

    /// Writes the schemas of a node as one.
    pub(crate) fn own(&mut self, own: &[KeywordSet<'a>]) -> Result<Option<SchemaObject>, NotStrict> {
        self.base.depth += 1;
        self.base.nodes += 1;
        if self.base.depth > MAX_DEPTH {
            return Err(NotStrict::Limit { what: "levels", found: self.base.depth, most: MAX_DEPTH });
        }
        if self.base.nodes > MOST {
            return Err(NotStrict::Limit {
                what: "schemas, with what they refer to",
                found: self.base.nodes,
                most: MOST,
            });
        }
        let written = self.write(own);
        self.base.depth -= 1;
        written
    }

    /// Writes a reference that stays one; `None` if the target replaces it, as it does beside other keywords. Of a recursive
    /// schema, which has no end, annotations become part of a schema around the reference.
    fn reference(
        &mut self,
        map: &'a Map<String, Value>,
        place: &SchemaPlace<'a>,
    ) -> Result<Option<SchemaObject>, NotStrict> {
        let Some(reference) = map.get("$ref").and_then(Value::as_str).filter(|_| self.form.references) else {
            return Ok(None);
        };
        let Some(target) = self.base.document.resolve(&place.pointer, reference) else { return Ok(None) };
        let beside = map.keys().filter(|keyword| *keyword != "$ref" && !is_plumbing(keyword)).count();
        let copied = self.base.active.iter().any(|active| std::ptr::eq(*active, target.schema));
        if beside > 0 && !copied && self.base.nodes < MOST / 2 {
            return Ok(None);
        }
        let around = KeywordSet { map, pointer: place.pointer.clone(), reads: KeywordFilter::Annotations };
        let asserts = around.reading(KeywordFilter::Assertions).keywords().any(|(keyword, _)| keyword != "$ref");
        if asserts {
            return Err(NotStrict::Recursive { pointer: place.pointer.clone() });
        }
        let new = self.base.definitions.refer(target);
        if new != reference {
            self.base.log.add(&place.pointer, "$ref", ChangeKind::Rewritten, format!("`{new}`"));
        }
        let written = SchemaObject::from_iter([("$ref".to_owned(), Value::from(new))]);
        Ok(Some(self.around(written, &[around])))
    }

    /// Collects the schemas of a node: a schema, and those that it refers to or includes.
    pub(crate) fn gather(&mut self, place: SchemaPlace<'a>, own: &mut Vec<KeywordSet<'a>>) -> Result<(), NotStrict> {
        let SchemaPlace { schema, pointer } = place;
        let Value::Object(map) = schema else {
            // `true` does not constrain the other schemas.
            return match schema {
                Value::Bool(true) => Ok(()),
                _ => Err(NotStrict::Keyword { pointer, keyword: "false".to_owned() }),
            };
        };
        if self.base.active.iter().any(|active| std::ptr::eq(*active, schema)) {
            return Err(NotStrict::Recursive { pointer });
        }
        self.base.active.push(schema);
        let reference = map.get("$ref").and_then(Value::as_str);
        own.push(KeywordSet { map, pointer: pointer.clone(), reads: KeywordFilter::All });
        if let Some(reference) = reference {
            let Some(target) = self.base.document.resolve(&pointer, reference) else {
                return Err(NotStrict::Untyped { pointer });
            };
            self.base.log.add(&pointer, "$ref", ChangeKind::Rewritten, "its target replaces it");
            self.gather(target, own)?;
        }
        let all = map.get("allOf").and_then(Value::as_array);
        if all.is_some() {
            self.base.log.add(&pointer, "allOf", ChangeKind::Rewritten, "its schemas are one");
        }
        let under = join(&pointer, "allOf");
        for (at, part) in all.into_iter().flatten().enumerate() {
            self.gather(SchemaPlace { schema: part, pointer: join(&under, &at.to_string()) }, own)?;
        }
        Ok(())
    }
}

/// No name has `__`, so that a number behind it makes a new one.
const STRICT_NAMES: DefinitionNames = DefinitionNames { of_pointer: strict_name, separator: "__" };

/// Returns a name for a schema: `Point` for `/$defs/Point`, `properties_a_items` for `/properties/a/items`.
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

/// Projects a schema to a strict form, and returns the changes. The projection accepts all values that the schema does,
/// with null for absent properties where the form requires every property.
///
/// # Errors
///
/// The reason for which the schema has no such form.
pub(crate) fn project_strict(form: &'static StrictForm, schema: &Value) -> Result<(Value, Vec<Change>), NotStrict> {
    let mut projector = StrictProjector { form, base: Projector::new(schema, &STRICT_NAMES) };
    projector.base.definitions.root_stays = true;
    let root = projector.node(SchemaPlace::root(schema))?;
    let mut root = root.ok_or(NotStrict::Untyped { pointer: String::new() })?;
    if root.contains_key("anyOf") {
        return Err(NotStrict::Keyword { pointer: String::new(), keyword: "anyOf".to_owned() });
    }
    let mut definitions = Map::new();
    while let Some((name, place)) = projector.base.next_definition() {
        let pointer = place.pointer.clone();
        let schema = projector.node(place)?.ok_or(NotStrict::Untyped { pointer })?;
        definitions.insert(name, schema.into());
    }
    if !definitions.is_empty() {
        root.insert("$defs".to_owned(), definitions.into());
    }
    (form.check_size)(&root)?;
    Ok((root.into(), projector.base.log.finish()))
}
