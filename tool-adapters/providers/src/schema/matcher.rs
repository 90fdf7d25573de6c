//! The schemas of a value: those that references and `allOf` lead to, and of each union the branch
//! that matches best.

use crate::json_reader::JsonReader;
use crate::lenient::parse_items;
use crate::schema::document::{SchemaDocument, SchemaPlace};
use crate::schema::node::{ValueSet, same};
use crate::schema::rules::TypeSet;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use tool_core::schema::join_pointer as join;

/// The maximum depth of arguments, as in their decoders.
const DEEPEST: usize = 128;

/// Returns the schema of the element at an index.
pub(super) fn item<'s>(schema: &SchemaPlace<'s>, at: usize) -> Option<SchemaPlace<'s>> {
    if let Some(first) = schema
        .schema
        .get("prefixItems")
        .and_then(|first| first.get(at))
    {
        let pointer = join(&join(&schema.pointer, "prefixItems"), &at.to_string());
        return Some(SchemaPlace {
            schema: first,
            pointer,
        });
    }
    let pointer = || join(&schema.pointer, "items");
    schema.schema.get("items").map(|items| SchemaPlace {
        schema: items,
        pointer: pointer(),
    })
}

/// Returns the type of a value. `1.0` is an integer.
fn type_of(value: &str) -> TypeSet {
    match value.as_bytes().first() {
        Some(b'{') => TypeSet::OBJECT,
        Some(b'[') => TypeSet::ARRAY,
        Some(b'"') => TypeSet::STRING,
        Some(b't' | b'f') => TypeSet::BOOLEAN,
        Some(b'n') => TypeSet::NULL,
        _ if value
            .parse::<f64>()
            .is_ok_and(|number| number.fract() != 0.0) =>
        {
            TypeSet::NUMBER.difference(TypeSet::INTEGER)
        }
        _ => TypeSet::INTEGER,
    }
}

/// Returns the elements of an array; none for another value.
fn elements(value: &str) -> Vec<&str> {
    parse_items(value).unwrap_or_default()
}

/// Returns the members of an object in their order; none for another value.
fn members(value: &str) -> Vec<(String, &str)> {
    let mut members = Vec::new();
    let read = JsonReader::new(value).object(|name, json| {
        json.raw()
            .map(|member| members.push((name.to_owned(), member)))
    });
    if read.is_ok() { members } else { Vec::new() }
}

/// The maximum number of schemas that references and `allOf` lead to.
const FOLLOWED: usize = 64;

/// The number of branches of unions that may always be tried, and one more for each byte of the
/// arguments. Reading 64 bytes again counts as a trial. Beyond the number, nulls stay.
pub(super) const MIN_TRIALS: usize = 200_000;

/// The degree to which a value matches a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SchemaFit {
    Not,
    /// With null for absent properties.
    Strictly,
    /// Without such nulls.
    Fully,
}

/// Finds the schemas of values, with a memory of values that were matched.
pub(super) struct SchemaMatcher<'s> {
    document: SchemaDocument<'s>,
    /// By schema and value, as unions inside unions would be matched again and again.
    known: HashMap<(*const Value, *const u8), SchemaFit>,
    /// The values of each `enum` that was compared.
    listed: HashMap<*const Value, ValueSet<'s>>,
    depth: usize,
    /// The number of branches that may still be tried.
    pub(super) trials: usize,
}

/// A value, with its members if it is an object, and its elements if it is an array.
struct MatchedValue<'v> {
    raw: &'v str,
    members: Vec<(String, &'v str)>,
    names: HashSet<String>,
    elements: Vec<&'v str>,
}

impl<'v> MatchedValue<'v> {
    fn new(raw: &'v str) -> Self {
        let members = members(raw);
        let names = members.iter().map(|(name, _)| name.clone()).collect();
        Self {
            raw,
            members,
            names,
            elements: elements(raw),
        }
    }
}

impl<'s> SchemaMatcher<'s> {
    pub(super) fn new(root: &'s Value, trials: usize) -> Self {
        let document = SchemaDocument::new(root);
        Self {
            document,
            known: HashMap::new(),
            listed: HashMap::new(),
            depth: 0,
            trials,
        }
    }

    /// Returns all schemas of a value.
    pub(super) fn schemas(&mut self, place: SchemaPlace<'s>, value: &str) -> Vec<SchemaPlace<'s>> {
        let base = self.base(place);
        match unions_of(&base) {
            unions if unions.is_empty() => base,
            unions => self.choose(base, unions, &MatchedValue::new(value)).0,
        }
    }

    /// Returns true for a property that does not accept null. If it is optional, null stands for an
    /// absent one.
    pub(super) fn refuses_null(&mut self, schemas: &[SchemaPlace<'s>], name: &str) -> bool {
        named(schemas, name).any(|place| self.fit(place, "null") == SchemaFit::Not)
    }

    /// Returns a schema with the schemas that it refers to and includes.
    pub(super) fn base(&self, place: SchemaPlace<'s>) -> Vec<SchemaPlace<'s>> {
        let mut all = Vec::new();
        let mut open = vec![place];
        while let Some(place) = open.pop().filter(|_| all.len() < FOLLOWED) {
            let target = place.schema.get("$ref").and_then(Value::as_str);
            open.extend(
                target.and_then(|reference| self.document.resolve(&place.pointer, reference)),
            );
            open.extend(place.list("allOf"));
            all.push(place);
        }
        all
    }

    /// Adds the best matching branch of each union, if one matches.
    fn choose(
        &mut self,
        base: Vec<SchemaPlace<'s>>,
        mut unions: Vec<Vec<SchemaPlace<'s>>>,
        value: &MatchedValue<'_>,
    ) -> (Vec<SchemaPlace<'s>>, SchemaFit) {
        let Some(union) = unions.pop() else {
            let fit = self.fit_all(&base, value);
            return (base, fit);
        };
        let mut best: Option<(Vec<SchemaPlace<'s>>, SchemaFit)> = None;
        for branch in union.into_iter().filter(|_| base.len() < FOLLOWED) {
            let Some(left) = self.trials.checked_sub(1) else {
                break;
            };
            self.trials = left;
            let inside = self.base(branch);
            let mut rest = unions.clone();
            rest.extend(unions_of(&inside));
            let with = base.iter().chain(&inside).cloned().collect();
            let found = self.choose(with, rest, value);
            if best.as_ref().map_or(SchemaFit::Not, |(_, fit)| *fit) < found.1 {
                best = Some(found);
            }
            if matches!(best, Some((_, SchemaFit::Fully))) {
                break;
            }
        }
        best.unwrap_or((base, SchemaFit::Not))
    }

    fn fit(&mut self, place: SchemaPlace<'s>, value: &str) -> SchemaFit {
        let key = (std::ptr::from_ref(place.schema), value.as_ptr());
        if let Some(fit) = self.known.get(&key) {
            return *fit;
        }
        let Some(left) = self
            .trials
            .checked_sub(value.len() / 64)
            .filter(|_| self.depth < DEEPEST)
        else {
            return SchemaFit::Not;
        };
        self.trials = left;
        self.depth += 1;
        let base = self.base(place);
        let unions = unions_of(&base);
        let (_, fit) = self.choose(base, unions, &MatchedValue::new(value));
        self.depth -= 1;
        self.known.insert(key, fit);
        fit
    }

    fn fit_all(&mut self, schemas: &[SchemaPlace<'s>], value: &MatchedValue<'_>) -> SchemaFit {
        if !schemas
            .iter()
            .all(|place| self.takes(place.schema, value.raw))
        {
            return SchemaFit::Not;
        }
        match type_of(value.raw) {
            TypeSet::OBJECT => self.fit_members(schemas, value),
            TypeSet::ARRAY => self.fit_elements(schemas, value),
            _ => SchemaFit::Fully,
        }
    }

    fn fit_members(&mut self, schemas: &[SchemaPlace<'s>], value: &MatchedValue<'_>) -> SchemaFit {
        if !required(schemas).all(|name| value.names.contains(name)) {
            return SchemaFit::Not;
        }
        let required = required(schemas).collect::<HashSet<_>>();
        let mut fit = SchemaFit::Fully;
        for (name, member) in &value.members {
            let mut places = named(schemas, name).peekable();
            // A strict object accepts no others.
            if places.peek().is_none() {
                return SchemaFit::Not;
            }
            if *member == "null" && !required.contains(&**name) && self.refuses_null(schemas, name)
            {
                fit = fit.min(SchemaFit::Strictly);
                continue;
            }
            for place in places {
                fit = fit.min(self.fit(place, member));
            }
            if fit == SchemaFit::Not {
                return fit;
            }
        }
        fit
    }

    /// Returns true if the type and the listed values of one schema accept the value.
    fn takes(&mut self, schema: &'s Value, value: &str) -> bool {
        if *schema == Value::Bool(false) || !TypeSet::of_schema(schema).intersects(type_of(value)) {
            return false;
        }
        let listed = schema.get("enum").filter(|values| values.is_array());
        let only = schema.get("const");
        if listed.is_none() && only.is_none() {
            return true;
        }
        let Ok(value) = serde_json::from_str::<Value>(value) else {
            return false;
        };
        only.is_none_or(|only| same(only, &value))
            && listed.is_none_or(|values| {
                let set = || ValueSet::of(values.as_array().into_iter().flatten());
                self.listed
                    .entry(std::ptr::from_ref(values))
                    .or_insert_with(set)
                    .contains(&value)
            })
    }

    fn fit_elements(&mut self, schemas: &[SchemaPlace<'s>], value: &MatchedValue<'_>) -> SchemaFit {
        let mut fit = SchemaFit::Fully;
        for (at, element) in value.elements.iter().enumerate() {
            for place in schemas.iter().filter_map(|schema| item(schema, at)) {
                fit = fit.min(self.fit(place, element));
            }
            if fit == SchemaFit::Not {
                return fit;
            }
        }
        fit
    }
}

/// Returns the schemas of a property.
pub(super) fn named<'s>(
    schemas: &[SchemaPlace<'s>],
    name: &str,
) -> impl Iterator<Item = SchemaPlace<'s>> {
    schemas.iter().filter_map(move |place| {
        let schema = place.schema.get("properties")?.get(name)?;
        Some(SchemaPlace {
            schema,
            pointer: join(&join(&place.pointer, "properties"), name),
        })
    })
}

pub(super) fn required<'s>(schemas: &[SchemaPlace<'s>]) -> impl Iterator<Item = &'s str> {
    schemas
        .iter()
        .filter_map(|place| place.schema.get("required")?.as_array())
        .flatten()
        .filter_map(Value::as_str)
}

/// Returns the unions of schemas, each as its branches. Unions that only combine required
/// properties are left out, as they do not describe values.
pub(super) fn unions_of<'s>(schemas: &[SchemaPlace<'s>]) -> Vec<Vec<SchemaPlace<'s>>> {
    let all = schemas.iter().flat_map(|place| {
        ["anyOf", "oneOf"].map(|keyword| place.list(keyword).collect::<Vec<_>>())
    });
    let only_requires = |branch: &SchemaPlace<'s>| {
        branch
            .schema
            .as_object()
            .is_some_and(|map| map.keys().all(|keyword| keyword == "required"))
    };
    all.filter(|union: &Vec<SchemaPlace<'s>>| !union.iter().all(only_requires))
        .collect()
}
