//! Reading a document into structs with serde. Every problem is reported with its place, and no
//! value is shown, as it may be a secret.
//!
//! serde stops at the first error. [`read`] reports it, removes the value that caused it, and reads
//! again.

use crate::document::kind;
use crate::problems::{Problems, join};
use crate::value::Expand;
use serde::de::value::{Error as EmptyError, MapDeserializer};
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};
use serde_json::{Map, Value, map};
use std::fmt::{self, Display};
use std::iter;
use tool_core::arguments::nearest;

/// Maximum number of times that a document is read. It bounds the work for a file that is no
/// policy.
const MAX_READS: usize = 1_000;

/// Reads a document. Placeholders in its texts are replaced. What cannot be read is reported, and
/// has its default.
pub(crate) fn read<T: DeserializeOwned>(
    mut document: Value,
    problems: &Problems,
    expand: &Expand,
) -> T {
    expand_texts(&mut document, "", problems, expand);
    for _ in 0..MAX_READS {
        let error = match T::deserialize(Reader(&document)) {
            Ok(read) => return read,
            Err(error) => error,
        };
        for unread in error.0 {
            problems.add(&unread.place(), &unread.text);
            unread.remove_from(&mut document);
        }
    }
    problems.add(
        "",
        format_args!("expected at most {MAX_READS} problems, got more"),
    );
    empty_table()
}

/// Reads a table without members, so that all of them have their defaults.
pub(crate) fn empty_table<T: DeserializeOwned>() -> T {
    let members = iter::empty::<(&str, &str)>();
    let table = MapDeserializer::<_, EmptyError>::new(members);
    T::deserialize(table).expect("each setting has a default")
}

/// Replaces the placeholders of all texts. A text with one that has no value is reported and
/// removed.
fn expand_texts(value: &mut Value, place: &str, problems: &Problems, expand: &Expand) {
    match value {
        Value::String(text) => {
            if let Some(variable) = expand.unreplaced(text) {
                problems.warn(
                    place,
                    format_args!(
                        "`${variable}` is not replaced; write `${{{variable}}}` for the variable"
                    ),
                );
            }
            match expand.expand(text) {
                Ok(expanded) => *text = expanded,
                Err(problem) => {
                    problems.add(place, problem);
                    *value = Value::Null;
                }
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter_mut().enumerate() {
                expand_texts(item, &format!("{place}[{at}]"), problems, expand);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                expand_texts(member, &join(place, name), problems, expand);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The values that ended a read.
#[derive(Debug)]
struct ReadError(Vec<Unread>);

/// A value that cannot be read.
#[derive(Debug)]
struct Unread {
    /// The way to the value, from the inside out.
    steps: Vec<Step>,
    text: String,
    /// The value that is read in its place: null, which counts as absent, or a table without
    /// members.
    instead: Value,
}

#[derive(Debug)]
enum Step {
    Member(String),
    Item(usize),
}

impl Unread {
    fn place(&self) -> String {
        let mut place = String::new();
        for step in self.steps.iter().rev() {
            place = match step {
                Step::Member(name) => join(&place, name),
                Step::Item(at) => format!("{place}[{at}]"),
            };
        }
        place
    }

    fn remove_from(self, document: &mut Value) {
        let mut found = Some(document);
        for step in self.steps.iter().rev() {
            found = found.and_then(|value| match step {
                Step::Member(name) => value.get_mut(name),
                Step::Item(at) => value.get_mut(at),
            });
        }
        if let Some(value) = found {
            *value = self.instead;
        }
    }
}

impl ReadError {
    fn expected(expected: impl Display, value: &Value) -> Self {
        de::Error::custom(format_args!("expected {expected}, got {}", kind(value)))
    }

    /// Adds a step of the way to the values.
    fn within(mut self, step: impl Fn() -> Step) -> Self {
        for unread in &mut self.0 {
            unread.steps.push(step());
        }
        self
    }
}

impl Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for unread in &self.0 {
            f.write_str(&unread.text)?;
        }
        Ok(())
    }
}

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: Display>(text: T) -> Self {
        Self(vec![Unread {
            steps: Vec::new(),
            text: text.to_string(),
            instead: Value::Null,
        }])
    }

    fn invalid_type(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let expected = expected.to_string();
        let expected = match &*expected {
            "a boolean" => "true or false",
            "a nonzero u32" | "a nonzero usize" => "a whole number from 1 on",
            "a sequence" => "a list",
            "a string" | "path string" => "a text",
            // Only ports have this type.
            "u16" => "a port from 0 to 65535",
            other => other,
        };
        let found = match found {
            de::Unexpected::Bool(_) => "a boolean",
            de::Unexpected::Unsigned(_) | de::Unexpected::Signed(_) | de::Unexpected::Float(_) => {
                "a number"
            }
            de::Unexpected::Str(_) => "a text",
            de::Unexpected::Seq => "a list",
            de::Unexpected::Map => "a table",
            _ => "another value",
        };
        Self::custom(format_args!("expected {expected}, got {found}"))
    }

    fn invalid_value(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(format_args!(
            "expected {}, got `{variant}`",
            names(expected, " or ")
        ))
    }
}

fn names(names: &[&str], separator: &str) -> String {
    let quoted = names.iter().map(|name| format!("`{name}`"));
    quoted.collect::<Vec<_>>().join(separator)
}

/// Says that a key is not known, and which was probably meant.
fn unknown(name: &str, known: &[&'static str]) -> Unread {
    let key = name.escape_debug();
    let text = match nearest(name, known.iter().copied()) {
        Some(near) => format!("unknown key `{key}`, did you mean `{near}`?"),
        None => format!(
            "unknown key `{key}`; expected one of {}",
            names(known, ", ")
        ),
    };
    Unread {
        steps: vec![Step::Member(name.to_owned())],
        text,
        instead: Value::Null,
    }
}

/// A value that is read.
struct Reader<'de>(&'de Value);

impl<'de> Reader<'de> {
    fn table(&self) -> Result<&'de Map<String, Value>, ReadError> {
        let table = self.0.as_object();
        table.ok_or_else(|| {
            let mut error = ReadError::expected("a table", self.0);
            for unread in &mut error.0 {
                unread.instead = Value::Object(Map::new());
            }
            error
        })
    }
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(*flag),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), ..) => visitor.visit_u64(number),
                (None, Some(number), _) => visitor.visit_i64(number),
                (None, None, number) => visitor.visit_f64(number.unwrap_or(f64::NAN)),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(_) => self.deserialize_seq(visitor),
            Value::Object(_) => self.deserialize_map(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    /// Reads a list. A text is a list of one text.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let items = match self.0 {
            Value::Array(items) => items.as_slice(),
            Value::String(_) => {
                let text = iter::once(Reader(self.0));
                return visitor.visit_seq(de::value::SeqDeserializer::new(text));
            }
            Value::Object(_) => {
                return Err(de::Error::custom(
                    "expected a list, got a table; write `[[NAME]]` for a table in a list",
                ));
            }
            other => return Err(ReadError::expected("a list", other)),
        };
        visitor.visit_seq(Items {
            items: items.iter().enumerate(),
        })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_map(Members {
            members: self.table()?.iter(),
            next: None,
        })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let members = self.table()?.iter();
        let others =
            members.filter(|(name, value)| !value.is_null() && !known.contains(&name.as_str()));
        let others = others.map(|(name, _)| unknown(name, known));
        let others = others.collect::<Vec<_>>();
        if others.is_empty() {
            self.deserialize_map(visitor)
        } else {
            Err(ReadError(others))
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self.0.as_str() {
            Some(variant) => visitor.visit_enum(variant.into_deserializer()),
            None => Err(ReadError::expected(names(variants, " or "), self.0)),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct tuple
        tuple_struct identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, ReadError> for Reader<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The items of a list that were not removed.
struct Items<'de> {
    items: iter::Enumerate<std::slice::Iter<'de, Value>>,
}

impl<'de> de::SeqAccess<'de> for Items<'de> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ReadError> {
        let Some((at, item)) = self.items.find(|(_, item)| !item.is_null()) else {
            return Ok(None);
        };
        let read = seed.deserialize(Reader(item));
        read.map(Some)
            .map_err(|error| error.within(|| Step::Item(at)))
    }
}

/// The members of a table that were not removed.
struct Members<'de> {
    members: map::Iter<'de>,
    next: Option<(&'de String, &'de Value)>,
}

impl<'de> de::MapAccess<'de> for Members<'de> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ReadError> {
        self.next = self.members.find(|(_, member)| !member.is_null());
        let name = self.next.map(|(name, _)| name.as_str());
        name.map(|name| seed.deserialize(name.into_deserializer()))
            .transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let Some((name, member)) = self.next else {
            return Err(de::Error::custom("expected a member, got none"));
        };
        let read = seed.deserialize(Reader(member));
        read.map_err(|error| error.within(|| Step::Member(name.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source;
    use serde::Deserialize;
    use std::num::NonZeroU32;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Rule {
        names: Vec<String>,
        calls: Option<NonZeroU32>,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Document {
        rules: Vec<Rule>,
        limits: Rule,
    }

    fn read_toml(text: &str) -> (Document, Vec<String>) {
        let problems = Problems::new("f");
        let document = source::toml(text, &problems);
        let document = read(document, &problems, &Expand::default());
        (document, problems.into_vec())
    }

    // C14
    #[test]
    fn what_can_be_read_is_read_beside_every_problem() {
        let (document, problems) = read_toml(
            "limits = 7\nrules = [true, {calls = 0, names = ['a', 1, 'b'], call = 2}, {names = 'c'}]",
        );
        assert_eq!(
            problems,
            [
                "f:1:1: limits: expected a table, got a number",
                "f:2:10: rules[0]: expected a table, got a boolean",
                "f:2:17: rules[1].calls: expected a whole number from 1 on, got a number",
                "f:2:42: rules[1].names[1]: expected a text, got a number",
                "f:2:51: rules[1].call: unknown key `call`, did you mean `calls`?",
            ]
        );
        let rule = |names: &[&str]| Rule {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            calls: None,
        };
        assert_eq!(
            document,
            Document {
                rules: vec![rule(&[]), rule(&["a", "b"]), rule(&["c"])],
                limits: rule(&[]),
            }
        );
    }

    #[test]
    fn no_value_is_shown() {
        for text in ["limits.calls = 's-1'", "limits = 's-1'", "rules = ['s-1']"] {
            let (_, problems) = read_toml(text);
            assert!(
                problems.len() == 1 && !problems[0].contains("s-1"),
                "{problems:?}"
            );
        }
    }

    #[test]
    fn a_file_that_is_no_policy_ends() {
        let text = format!("rules = [{}]", "1,".repeat(2 * MAX_READS));
        let (_, problems) = read_toml(&text);
        assert_eq!(problems.len(), MAX_READS + 1);
    }
}
