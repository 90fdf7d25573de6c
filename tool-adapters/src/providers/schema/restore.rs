//! Arguments of a strict declaration in the form of the tool's own schema.
//!
//! Members are cut from the text, so that the rest stays as the model wrote it, with numbers of any size.

use crate::providers::schema::document::{SchemaDocument, SchemaPlace};
use crate::providers::schema::node::same;
use crate::providers::schema::rules::TypeSet;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
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
    let mut restorer = Restorer { text: arguments, sight: SchemaMatcher::new(schema), cuts: Vec::new() };
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
        for (name, member) in members(value) {
            let end = self.at(member) + member.get().len();
            if member.get() == "null" && self.sight.stands_for_absent(schemas, &name) {
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
    if let Some(place) = schema.list("prefixItems").nth(at) {
        return Some(place);
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
    depth: usize,
}

impl<'s> SchemaMatcher<'s> {
    fn new(root: &'s Value) -> Self {
        Self { document: SchemaDocument::new(root), known: HashMap::new(), depth: 0 }
    }

    /// Returns all schemas of a value.
    fn schemas(&mut self, place: SchemaPlace<'s>, value: &RawValue) -> Vec<SchemaPlace<'s>> {
        let base = self.base(place);
        match unions_of(&base) {
            unions if unions.is_empty() => base,
            unions => self.choose(base, unions, value).0,
        }
    }

    /// Returns true for a null that stands for an absent property: the property is optional and does not accept null.
    fn stands_for_absent(&mut self, schemas: &[SchemaPlace<'s>], name: &str) -> bool {
        let is_required = required(schemas).any(|required| required == name);
        !is_required && named(schemas, name).any(|place| self.fit(place, RawValue::NULL) == SchemaFit::Not)
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
        value: &RawValue,
    ) -> (Vec<SchemaPlace<'s>>, SchemaFit) {
        let Some(union) = unions.pop() else {
            let fit = self.fit_all(&base, value);
            return (base, fit);
        };
        let mut best: Option<(Vec<SchemaPlace<'s>>, SchemaFit)> = None;
        for branch in union.into_iter().filter(|_| base.len() < FOLLOWED) {
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
        if self.depth >= DEEPEST {
            return SchemaFit::Not;
        }
        self.depth += 1;
        let base = self.base(place);
        let unions = unions_of(&base);
        let (_, fit) = self.choose(base, unions, value);
        self.depth -= 1;
        self.known.insert(key, fit);
        fit
    }

    fn fit_all(&mut self, schemas: &[SchemaPlace<'s>], value: &RawValue) -> SchemaFit {
        if !schemas.iter().all(|place| takes(place.schema, value)) {
            return SchemaFit::Not;
        }
        match type_of(value) {
            TypeSet::OBJECT => self.fit_members(schemas, value),
            TypeSet::ARRAY => self.fit_elements(schemas, value),
            _ => SchemaFit::Fully,
        }
    }

    fn fit_members(&mut self, schemas: &[SchemaPlace<'s>], value: &RawValue) -> SchemaFit {
        let members = members(value);
        let given = |name: &str| members.iter().any(|(known, _)| known == name);
        if !required(schemas).all(given) {
            return SchemaFit::Not;
        }
        let mut fit = SchemaFit::Fully;
        for (name, member) in members {
            let mut places = named(schemas, &name).peekable();
            // A strict object accepts no others.
            if places.peek().is_none() {
                return SchemaFit::Not;
            }
            if member.get() == "null" && self.stands_for_absent(schemas, &name) {
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

    fn fit_elements(&mut self, schemas: &[SchemaPlace<'s>], value: &RawValue) -> SchemaFit {
        let mut fit = SchemaFit::Fully;
        for (at, element) in elements(value).into_iter().enumerate() {
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

/// Returns true if the type and the listed values of one schema accept the value.
fn takes(schema: &Value, value: &RawValue) -> bool {
    if *schema == Value::Bool(false) {
        return false;
    }
    let types = TypeSet::of_schema(schema);
    let listed = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice);
    let only = schema.get("const").map(std::slice::from_ref);
    let parsed = || serde_json::from_str::<Value>(value.get()).ok();
    types.intersects(type_of(value))
        && [listed, only]
            .into_iter()
            .flatten()
            .all(|values| parsed().is_some_and(|it| values.iter().any(|one| same(one, &it))))
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
