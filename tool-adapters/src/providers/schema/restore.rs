//! Arguments of a strict declaration in the form of the tool's own schema.
//!
//! Members are cut from the text, so that the rest stays as the model wrote it, with numbers of any size.

use crate::providers::schema::document::SchemaPlace;
use crate::providers::schema::fit::{SchemaMatcher, named};
use crate::providers::schema::types::TypeSet;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use tool_core::schema::join_pointer as join;

/// The maximum depth of arguments, as in their decoders.
pub(crate) const DEEPEST: usize = 128;

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
    sight: SchemaMatcher<'s, 't>,
    /// The ranges to remove, in order.
    cuts: Vec<Range<usize>>,
}

impl<'s, 't> Restorer<'s, 't> {
    /// Restores a value by all of its schemas together, so that nothing is cut twice.
    fn value(&mut self, places: &[SchemaPlace<'s>], value: &'t RawValue, depth: usize) {
        let kind = kind(value);
        if depth < DEEPEST {
            let schemas = places.iter().flat_map(|place| self.sight.schemas(place.clone(), value)).collect::<Vec<_>>();
            self.inside(&schemas, value, kind, depth);
        }
    }

    fn inside(&mut self, schemas: &[SchemaPlace<'s>], value: &'t RawValue, kind: JsonKind, depth: usize) {
        if kind == JsonKind::Object {
            self.object(schemas, value, depth);
            return;
        }
        for (at, element) in elements(value).into_iter().enumerate() {
            if may_hold_null(element) {
                let places = schemas.iter().filter_map(|schema| item(schema, at)).collect::<Vec<_>>();
                self.value(&places, element, depth + 1);
            }
        }
    }

    fn object(&mut self, schemas: &[SchemaPlace<'s>], value: &'t RawValue, depth: usize) {
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
    kind(value) != JsonKind::Scalar && value.get().contains("null")
}

/// Returns the schema of the element at an index.
pub(crate) fn item<'s>(schema: &SchemaPlace<'s>, at: usize) -> Option<SchemaPlace<'s>> {
    if let Some(place) = schema.list("prefixItems").nth(at) {
        return Some(place);
    }
    let pointer = || join(&schema.pointer, "items");
    schema.schema.get("items").map(|items| SchemaPlace { schema: items, pointer: pointer() })
}

/// The kind of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonKind {
    Object,
    Array,
    Scalar,
}

pub(crate) fn kind(value: &RawValue) -> JsonKind {
    match value.get().as_bytes().first() {
        Some(b'{') => JsonKind::Object,
        Some(b'[') => JsonKind::Array,
        _ => JsonKind::Scalar,
    }
}

/// Returns the type of a value. `1.0` is an integer.
pub(crate) fn type_of(value: &RawValue) -> TypeSet {
    let text = value.get();
    match text.as_bytes().first() {
        Some(b'{') => TypeSet::OBJECT,
        Some(b'[') => TypeSet::ARRAY,
        Some(b'"') => TypeSet::STRING,
        Some(b't' | b'f') => TypeSet::BOOLEAN,
        Some(b'n') => TypeSet::NULL,
        _ if text.parse::<f64>().is_ok_and(|number| number.fract() != 0.0) => TypeSet::NUMBER.without(TypeSet::INTEGER),
        _ => TypeSet::INTEGER,
    }
}

/// Returns the elements of an array; none for another value.
pub(crate) fn elements(value: &RawValue) -> Vec<&RawValue> {
    serde_json::from_str(value.get()).unwrap_or_default()
}

/// Returns the members of an object in their order; none for another value.
pub(crate) fn members(value: &RawValue) -> Vec<(Cow<'_, str>, &RawValue)> {
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
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}
