//! Arguments of a strict declaration in the form of the tool's own schema.
//!
//! Members are cut from the text, so that the rest stays as the model wrote it, with numbers of any size.

use crate::providers::schema::document::{SchemaDocument, SchemaPlace};
use crate::providers::schema::node::{ValueSet, same};
use crate::providers::schema::rules::TypeSet;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use tool_core::schema::join_pointer as join;

/// The maximum depth of arguments, as in their decoders.
const DEEPEST: usize = 128;

/// Removes the nulls that stand for absent properties: those of optional properties whose schemas do not accept null.
/// A text that is not JSON stays as it is.
pub(crate) fn restore<'a>(schema: &Value, arguments: &'a str) -> Cow<'a, str> {
    if !arguments.contains("null") {
        return Cow::Borrowed(arguments);
    }
    let Ok(value) = serde_json::from_str::<&RawValue>(arguments) else { return Cow::Borrowed(arguments) };
    let sight = SchemaMatcher::new(schema, MIN_TRIALS + arguments.len());
    let mut restorer = Restorer { text: arguments, sight, cuts: Vec::new() };
    if may_hold_null(value) {
        restorer.value(&[SchemaPlace { schema, pointer: String::new() }], value, 0);
    }
    restorer.finish()
}

struct Restorer<'s, 't> {
    text: &'t str,
    sight: SchemaMatcher<'s>,
    /// The ranges to remove, in order.
    cuts: Vec<Range<usize>>,
}

impl<'s, 't> Restorer<'s, 't> {
    /// Restores a value by all of its schemas together, so that nothing is cut twice.
    fn value(&mut self, places: &[SchemaPlace<'s>], value: &RawValue, depth: usize) {
        if depth >= DEEPEST {
            return;
        }
        let schemas = places.iter().flat_map(|place| self.sight.schemas(place.clone(), value)).collect::<Vec<_>>();
        if type_of(value) == TypeSet::OBJECT {
            return self.object(&schemas, value, depth);
        }
        for (at, element) in elements(value).into_iter().enumerate() {
            if may_hold_null(element) {
                let places = schemas.iter().filter_map(|schema| item(schema, at)).collect::<Vec<_>>();
                self.value(&places, element, depth + 1);
            }
        }
    }

    fn object(&mut self, schemas: &[SchemaPlace<'s>], value: &RawValue, depth: usize) {
        // After the brace, or after the last member.
        let mut from = self.at(value) + 1;
        let mut first = true;
        let required = required(schemas).collect::<HashSet<_>>();
        for (name, member) in members(value) {
            let end = self.at(member) + member.get().len();
            let is_optional_null = member.get() == "null" && !required.contains(&*name);
            if is_optional_null && self.sight.refuses_null(schemas, &name) {
                // With the comma before it or, for the first member, the one after it.
                let until = if first { self.behind_comma(end) } else { end };
                self.cuts.push(from..until);
                from = until;
                continue;
            }
            if may_hold_null(member) {
                self.value(&named(schemas, &name).collect::<Vec<_>>(), member, depth + 1);
            }
            first = false;
            from = end;
        }
    }

    /// Returns the position of a part of the text.
    fn at(&self, part: &RawValue) -> usize {
        part.get().as_ptr().addr().saturating_sub(self.text.as_ptr().addr())
    }

    fn behind_comma(&self, end: usize) -> usize {
        let rest = self.text.get(end..).unwrap_or_default();
        let trimmed = rest.trim_start();
        if trimmed.starts_with(',') { end + (rest.len() - trimmed.len()) + 1 } else { end }
    }

    fn finish(self) -> Cow<'t, str> {
        if self.cuts.is_empty() {
            return Cow::Borrowed(self.text);
        }
        let mut kept = String::with_capacity(self.text.len());
        let mut from = 0;
        for cut in self.cuts {
            kept.push_str(self.text.get(from..cut.start).unwrap_or_default());
            from = cut.end;
        }
        kept.push_str(self.text.get(from..).unwrap_or_default());
        Cow::Owned(kept)
    }
}

/// Returns true for an object or array that may contain null.
fn may_hold_null(value: &RawValue) -> bool {
    value.get().starts_with(['{', '[']) && value.get().contains("null")
}

/// Returns the schema of the element at an index.
fn item<'s>(schema: &SchemaPlace<'s>, at: usize) -> Option<SchemaPlace<'s>> {
    if let Some(first) = schema.schema.get("prefixItems").and_then(|first| first.get(at)) {
        let pointer = join(&join(&schema.pointer, "prefixItems"), &at.to_string());
        return Some(SchemaPlace { schema: first, pointer });
    }
    let pointer = || join(&schema.pointer, "items");
    schema.schema.get("items").map(|items| SchemaPlace { schema: items, pointer: pointer() })
}

/// Returns the type of a value. `1.0` is an integer.
fn type_of(value: &RawValue) -> TypeSet {
    let text = value.get();
    match text.as_bytes().first() {
        Some(b'{') => TypeSet::OBJECT,
        Some(b'[') => TypeSet::ARRAY,
        Some(b'"') => TypeSet::STRING,
        Some(b't' | b'f') => TypeSet::BOOLEAN,
        Some(b'n') => TypeSet::NULL,
        _ if text.parse::<f64>().is_ok_and(|number| number.fract() != 0.0) => {
            TypeSet::NUMBER.difference(TypeSet::INTEGER)
        }
        _ => TypeSet::INTEGER,
    }
}

/// Returns the elements of an array; none for another value.
fn elements(value: &RawValue) -> Vec<&RawValue> {
    serde_json::from_str(value.get()).unwrap_or_default()
}

/// Returns the members of an object in their order; none for another value.
fn members(value: &RawValue) -> Vec<(Cow<'_, str>, &RawValue)> {
    serde_json::from_str::<Members<'_>>(value.get()).map(|members| members.0).unwrap_or_default()
}

struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Name(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(All)
    }
}

/// A member's name, borrowed unless it has escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// The maximum number of schemas that references and `allOf` lead to.
const FOLLOWED: usize = 64;

/// The number of branches of unions that may always be tried, and one more for each byte of the arguments. Reading 64 bytes
/// again counts as a trial. Beyond the number, nulls stay.
const MIN_TRIALS: usize = 200_000;

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
struct SchemaMatcher<'s> {
    document: SchemaDocument<'s>,
    /// By schema and value, as unions inside unions would be matched again and again.
    known: HashMap<(*const Value, *const u8), SchemaFit>,
    /// The values of each `enum` that was compared.
    listed: HashMap<*const Value, ValueSet<'s>>,
    depth: usize,
    /// The number of branches that may still be tried.
    trials: usize,
}

/// A value, with its members if it is an object, and its elements if it is an array.
struct MatchedValue<'v> {
    raw: &'v RawValue,
    members: Vec<(Cow<'v, str>, &'v RawValue)>,
    names: HashSet<Cow<'v, str>>,
    elements: Vec<&'v RawValue>,
}

impl<'v> MatchedValue<'v> {
    fn new(raw: &'v RawValue) -> Self {
        let members = members(raw);
        let names = members.iter().map(|(name, _)| name.clone()).collect();
        Self { raw, members, names, elements: elements(raw) }
    }
}

impl<'s> SchemaMatcher<'s> {
    fn new(root: &'s Value, trials: usize) -> Self {
        let document = SchemaDocument::new(root);
        Self { document, known: HashMap::new(), listed: HashMap::new(), depth: 0, trials }
    }

    /// Returns all schemas of a value.
    fn schemas(&mut self, place: SchemaPlace<'s>, value: &RawValue) -> Vec<SchemaPlace<'s>> {
        let base = self.base(place);
        match unions_of(&base) {
            unions if unions.is_empty() => base,
            unions => self.choose(base, unions, &MatchedValue::new(value)).0,
        }
    }

    /// Returns true for a property that does not accept null. If it is optional, null stands for an absent one.
    fn refuses_null(&mut self, schemas: &[SchemaPlace<'s>], name: &str) -> bool {
        named(schemas, name).any(|place| self.fit(place, RawValue::NULL) == SchemaFit::Not)
    }

    /// Returns a schema with the schemas that it refers to and includes.
    fn base(&self, place: SchemaPlace<'s>) -> Vec<SchemaPlace<'s>> {
        let mut all = Vec::new();
        let mut open = vec![place];
        while let Some(place) = open.pop().filter(|_| all.len() < FOLLOWED) {
            let target = place.schema.get("$ref").and_then(Value::as_str);
            open.extend(target.and_then(|reference| self.document.resolve(&place.pointer, reference)));
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
            let Some(left) = self.trials.checked_sub(1) else { break };
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

    fn fit(&mut self, place: SchemaPlace<'s>, value: &RawValue) -> SchemaFit {
        let key = (std::ptr::from_ref(place.schema), value.get().as_ptr());
        if let Some(fit) = self.known.get(&key) {
            return *fit;
        }
        let Some(left) = self.trials.checked_sub(value.get().len() / 64).filter(|_| self.depth < DEEPEST) else {
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
        if !schemas.iter().all(|place| self.takes(place.schema, value.raw)) {
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
            if member.get() == "null" && !required.contains(&**name) && self.refuses_null(schemas, name) {
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
    fn takes(&mut self, schema: &'s Value, value: &RawValue) -> bool {
        if *schema == Value::Bool(false) || !TypeSet::of_schema(schema).intersects(type_of(value)) {
            return false;
        }
        let listed = schema.get("enum").filter(|values| values.is_array());
        let only = schema.get("const");
        if listed.is_none() && only.is_none() {
            return true;
        }
        let Ok(value) = serde_json::from_str::<Value>(value.get()) else { return false };
        only.is_none_or(|only| same(only, &value))
            && listed.is_none_or(|values| {
                let set = || ValueSet::of(values.as_array().into_iter().flatten());
                self.listed.entry(std::ptr::from_ref(values)).or_insert_with(set).contains(&value)
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
fn named<'s>(schemas: &[SchemaPlace<'s>], name: &str) -> impl Iterator<Item = SchemaPlace<'s>> {
    schemas.iter().filter_map(move |place| {
        let schema = place.schema.get("properties")?.get(name)?;
        Some(SchemaPlace { schema, pointer: join(&join(&place.pointer, "properties"), name) })
    })
}

fn required<'s>(schemas: &[SchemaPlace<'s>]) -> impl Iterator<Item = &'s str> {
    schemas.iter().filter_map(|place| place.schema.get("required")?.as_array()).flatten().filter_map(Value::as_str)
}

/// Returns the unions of schemas, each as its branches. Unions that only combine required properties are left out, as they
/// do not describe values.
fn unions_of<'s>(schemas: &[SchemaPlace<'s>]) -> Vec<Vec<SchemaPlace<'s>>> {
    let all =
        schemas.iter().flat_map(|place| ["anyOf", "oneOf"].map(|keyword| place.list(keyword).collect::<Vec<_>>()));
    let only_requires = |branch: &SchemaPlace<'s>| {
        branch.schema.as_object().is_some_and(|map| map.keys().all(|keyword| keyword == "required"))
    };
    all.filter(|union: &Vec<SchemaPlace<'s>>| !union.iter().all(only_requires)).collect()
}
