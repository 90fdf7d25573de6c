//! A reader of JSON texts, value by value.
//!
//! Its grammar is that of `serde_json`, whose errors it returns. It borrows names and strings
//! without escapes, and passes over other values without making anything of them.

use crate::event::{ProtocolError, unparsed};
use serde::de::{Error as _, IgnoredAny};
use serde_json::{Error, Result, Value};
use std::borrow::Cow;
use tool_core::json::{run_end, run_length};

/// The maximum depth of values that are read, as in `serde_json`. Values that are passed over may
/// be deeper.
const MAX_DEPTH: usize = 128;

/// A value that is read from JSON. A value of another kind is read as absent.
pub(crate) trait FromJson<'json>: Default {
    /// Reads the next value.
    fn read_json(&mut self, json: &mut JsonReader<'json>) -> Result<()>;
}

/// A struct that is read from a JSON object.
pub(crate) trait JsonObject<'json>: Default {
    /// Reads the object that is the next value. Members that it does not have stay as they are.
    fn read_members(&mut self, json: &mut JsonReader<'json>) -> Result<()>;
}

/// Defines structs that are read from JSON objects. A member has the name of its field, or one of
/// the names after `=`. Other members are passed over, or kept in the [`OtherMembers`] after `..`.
/// A repeated member is an error.
macro_rules! json_objects {
    ($($(#[$meta:meta])* $vis:vis struct $name:ident $(<$life:lifetime>)? {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty $(= $($wire:literal)|+)?,)*
        $(..$rest_vis:vis $rest:ident: $rest_type:ty,)?
    })*) => {$(
        $(#[$meta])*
        #[derive(Debug, Default)]
        $vis struct $name $(<$life>)? {
            $($(#[$field_meta])* $field_vis $field: $type,)*
            $($rest_vis $rest: $rest_type,)?
        }

        impl<$($life,)? 'json $(: $life)?> $crate::json_reader::JsonObject<'json> for $name $(<$life>)? {
            fn read_members(
                &mut self,
                json: &mut $crate::json_reader::JsonReader<'json>,
            ) -> serde_json::Result<()> {
                const KNOWN: &[&[&str]] = &[$(json_objects!(@names $field $($($wire)|+)?)),*];
                let mut seen = 0_u32;
                let mut doubtful = $crate::json_reader::DoubtfulNames::default();
                json.object(|name, json| {
                    let bit = 1_u32;
                    $(
                        if json_objects!(@is name $field $($($wire)|+)?) {
                            $crate::json_reader::note_member(&mut seen, bit, name)?;
                            return $crate::json_reader::FromJson::read_json(&mut self.$field, json);
                        }
                        let bit = bit << 1;
                    )*
                    let _ = bit;
                    doubtful.note(name, KNOWN);
                    $(return self.$rest.read(name, json);)?
                    #[allow(unreachable_code, reason = "some structs keep the other members")]
                    json.skip()
                })?;
                doubtful.check(seen, KNOWN)
            }
        }
    )*};
    (@names $field:ident) => { &[stringify!($field)] };
    (@names $field:ident $($wire:literal)|+) => { &[$($wire),+] };
    (@is $name:ident $field:ident) => { $name == stringify!($field) };
    (@is $name:ident $field:ident $($wire:literal)|+) => { matches!($name, $($wire)|+) };
}

pub(crate) use json_objects;

/// The length from which on a name is compared with those that are known: shorter names have too
/// many neighbours.
const COMPARED_NAME: usize = 4;

/// The names that servers give to members of their own, although they differ in one byte from
/// known ones: Azure's `context` has the sources of an answer.
const REAL_NAMES: [&str; 6] = ["context", "date", "mode", "next", "node", "test"];

/// The names of an object's members that differ in one byte from known ones.
#[derive(Default)]
pub(crate) struct DoubtfulNames(Vec<String>);

impl DoubtfulNames {
    /// Notes the name of a member that is not known.
    pub(crate) fn note(&mut self, name: &str, known: &[&[&str]]) {
        if name.len() < COMPARED_NAME || REAL_NAMES.contains(&name) {
            return;
        }
        if known.iter().any(|names| resembled(names, name).is_some()) {
            self.0.push(name.to_owned());
        }
    }

    /// Returns an error for a name that differs in one byte from that of a member which did not
    /// come. The event was damaged on its way, and passing over the member would lose a part of the
    /// answer. `seen` has a bit for each member that came.
    pub(crate) fn check(&self, seen: u32, known: &[&[&str]]) -> Result<()> {
        for name in &self.0 {
            for (place, names) in known.iter().enumerate() {
                let has_come = seen & (1 << place) != 0;
                if !has_come && let Some(expected) = resembled(names, name) {
                    return Err(Error::custom(format_args!(
                        "unknown member `{name}`, expected `{expected}`"
                    )));
                }
            }
        }
        Ok(())
    }
}

/// Returns the name of a member from which another name differs in one byte.
fn resembled<'a>(names: &[&'a str], other: &str) -> Option<&'a str> {
    let mut names = names.iter().copied();
    names.find(|name| differs_in_one_byte(name.as_bytes(), other.as_bytes()))
}

pub(crate) fn differs_in_one_byte(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .filter(|(one, other)| one != other)
            .count()
            == 1
}

/// The members of an object that its struct does not name, with their JSON. Those that are null are
/// left out.
#[derive(Debug, Default)]
pub(crate) struct OtherMembers<'a>(pub(crate) Vec<OtherMember<'a>>);

/// A member of an object that its struct does not name.
#[derive(Debug)]
pub(crate) struct OtherMember<'a> {
    pub(crate) name: String,
    pub(crate) json: &'a str,
}

impl OtherMember<'_> {
    /// Parses the value. Some JSON is no value, such as a number that is too large.
    pub(crate) fn value(&self) -> std::result::Result<Value, ProtocolError> {
        serde_json::from_str(self.json).map_err(|error| unparsed(error, self.json))
    }
}

impl<'a> OtherMembers<'a> {
    /// Reads the value of a member.
    pub(crate) fn read<'json: 'a>(
        &mut self,
        name: &str,
        json: &mut JsonReader<'json>,
    ) -> Result<()> {
        let value = json.raw()?;
        if value != "null" {
            self.0.push(OtherMember {
                name: name.to_owned(),
                json: value,
            });
        }
        Ok(())
    }
}

/// Notes a member of an object; returns the error of a repeated one.
pub(crate) fn note_member(seen: &mut u32, bit: u32, name: &str) -> Result<()> {
    if *seen & bit != 0 {
        return Err(Error::custom(format_args!("duplicate field `{name}`")));
    }
    *seen |= bit;
    Ok(())
}

/// A position in a JSON text.
#[derive(Clone, Debug)]
pub(crate) struct JsonReader<'json> {
    text: &'json str,
    /// The next byte to read. Between values it is on a character's boundary.
    at: usize,
    depth: usize,
}

impl<'json> JsonReader<'json> {
    pub(crate) fn new(text: &'json str) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
        }
    }

    /// Returns the position in the text, in bytes.
    pub(crate) fn place(&self) -> usize {
        self.at
    }

    /// Returns the first byte of the next value or mark; 0 at the end.
    #[inline]
    pub(crate) fn peek(&mut self) -> u8 {
        let mut byte = self.byte(self.at);
        while matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
            self.at += 1;
            byte = self.byte(self.at);
        }
        byte
    }

    /// Returns the text from a position up to this one.
    pub(crate) fn since(&self, start: usize) -> &'json str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Passes over a text; `None` if another one comes.
    pub(crate) fn literal(&mut self, literal: &str) -> Option<()> {
        self.text
            .as_bytes()
            .get(self.at..)?
            .starts_with(literal.as_bytes())
            .then(|| self.at += literal.len())
    }

    /// Checks that no text is left but white space.
    pub(crate) fn end(&mut self) -> Result<()> {
        self.peek();
        if self.at < self.text.len() {
            Err(self.error())
        } else {
            Ok(())
        }
    }

    /// Reads the object that comes next: calls `member` with each name, at its value.
    #[inline]
    pub(crate) fn object(
        &mut self,
        mut member: impl FnMut(&str, &mut Self) -> Result<()>,
    ) -> Result<()> {
        self.members(|json| {
            if json.peek() == b'"'
                && let Some(name) = json.plain_string()
            {
                json.mark(b':')?;
                return member(name, json);
            }
            let name = json.name()?;
            member(&name, json)
        })
    }

    /// Reads the object that comes next: calls `member` at the name of each member.
    #[inline]
    pub(crate) fn members(&mut self, member: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.entries(b'{', b'}', member)
    }

    /// Reads the name of a member.
    #[inline]
    pub(crate) fn name(&mut self) -> Result<Cow<'json, str>> {
        let name = self.string()?;
        self.mark(b':')?;
        Ok(name)
    }

    /// Reads the array that comes next: calls `element` at each element.
    #[inline]
    pub(crate) fn array(&mut self, element: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.entries(b'[', b']', element)
    }

    #[inline]
    fn entries(
        &mut self,
        first: u8,
        last: u8,
        mut entry: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.mark(first)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::custom("recursion limit exceeded"));
        }
        let mut more = self.peek() != last;
        while more {
            entry(self)?;
            more = self.peek() == b',';
            self.at += usize::from(more);
        }
        self.depth -= 1;
        self.mark(last)
    }

    /// Reads a string. A surrogate without its other half is an error.
    pub(crate) fn string(&mut self) -> Result<Cow<'json, str>> {
        if self.peek() != b'"' {
            return Err(self.error());
        }
        match self.plain_string() {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => self.escaped_string().map(Cow::Owned),
        }
    }

    fn escaped_string(&mut self) -> Result<String> {
        let bytes = self.text.as_bytes();
        let mut text = Vec::with_capacity((bytes.len() - self.at).min(256));
        let mut at = self.at + 1;
        loop {
            // Most runs are shorter than a word: a word is copied, and what does not belong to the
            // run is cut off.
            let end = loop {
                let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) else {
                    let end = run_end(bytes, at);
                    text.extend_from_slice(bytes.get(at..end).unwrap_or_default());
                    break end;
                };
                let run = run_length(*word);
                text.extend_from_slice(word);
                text.truncate(text.len() + run - 8);
                at += run;
                if run < 8 {
                    break at;
                }
            };
            match (self.byte(end), self.byte(end + 1)) {
                (b'"', _) => {
                    self.at = end + 1;
                    return String::from_utf8(text).map_err(Error::custom);
                }
                (b'\\', escaped @ (b'"' | b'\\' | b'/')) => text.push(escaped),
                (b'\\', b'n') => text.push(b'\n'),
                _ => return serde_json::from_str(self.raw()?),
            }
            at = end + 2;
        }
    }

    /// Reads the string at the position, unless it has an escape or does not end.
    fn plain_string(&mut self) -> Option<&'json str> {
        let start = self.at + 1;
        self.skip_plain_string()
            .then(|| self.text.get(start..self.at - 1))?
    }

    /// Passes over the string at the position; false if it has an escape or does not end.
    fn skip_plain_string(&mut self) -> bool {
        let end = run_end(self.text.as_bytes(), self.at + 1);
        let is_plain = self.byte(end) == b'"';
        if is_plain {
            self.at = end + 1;
        }
        is_plain
    }

    /// Passes over the next value and returns its text.
    pub(crate) fn raw(&mut self) -> Result<&'json str> {
        self.peek();
        let start = self.at;
        self.skip()?;
        Ok(self.since(start))
    }

    /// Passes over the next value and returns its text, which is expected to be the same as an
    /// earlier one.
    pub(crate) fn raw_like(&mut self, expected: &str) -> Result<&'json str> {
        let start = self.at;
        // The end of a number is known by what follows.
        if expected.ends_with(['}', '"']) && self.literal(expected).is_some() {
            return Ok(self.since(start));
        }
        self.raw()
    }

    /// Passes over the next value.
    pub(crate) fn skip(&mut self) -> Result<()> {
        match self.peek() {
            b'"' if self.skip_plain_string() => Ok(()),
            b'"' => self.skip_string(),
            b'{' | b'[' if self.depth >= MAX_DEPTH => self.skip_deep(),
            b'{' => self.entries(b'{', b'}', |json| {
                if json.peek() != b'"' || !json.skip_plain_string() {
                    json.skip_string()?;
                }
                json.mark(b':')?;
                json.skip()
            }),
            b'[' => self.array(Self::skip),
            b't' | b'f' | b'n' => self.skip_word(),
            _ => self.skip_number(),
        }
    }

    /// Passes over a value that is nested too deep for recursion.
    fn skip_deep(&mut self) -> Result<()> {
        let mut values =
            serde_json::Deserializer::from_str(self.text.get(self.at..).unwrap_or_default())
                .into_iter();
        values
            .next()
            .transpose()?
            .map(|IgnoredAny| ())
            .ok_or_else(|| self.error())?;
        self.at += values.byte_offset();
        Ok(())
    }

    fn skip_string(&mut self) -> Result<()> {
        let mut at = self.at;
        if self.byte(at) != b'"' {
            return Err(self.error());
        }
        at += 1;
        loop {
            at = run_end(self.text.as_bytes(), at);
            match (self.byte(at), self.byte(at + 1)) {
                (b'"', _) => break,
                (b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at += 2,
                (b'\\', b'u') if self.has_digits(at + 2) => at += 6,
                _ => return Err(self.error()),
            }
        }
        self.at = at + 1;
        Ok(())
    }

    /// Returns true before four hexadecimal digits.
    fn has_digits(&self, at: usize) -> bool {
        self.text
            .as_bytes()
            .get(at..at + 4)
            .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    }

    fn skip_word(&mut self) -> Result<()> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let word = ["null", "false", "true"]
            .iter()
            .find(|word| rest.starts_with(**word));
        self.at += word.ok_or_else(|| self.error())?.len();
        Ok(())
    }

    fn skip_number(&mut self) -> Result<()> {
        let start = self.at;
        while self.byte(self.at).is_ascii_digit() {
            self.at += 1;
        }
        let is_plain = self.at == start + 1 || self.at > start && self.byte(start) != b'0';
        if is_plain && !matches!(self.byte(self.at), b'.' | b'e' | b'E') {
            return Ok(());
        }
        while matches!(
            self.byte(self.at),
            b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'
        ) {
            self.at += 1;
        }
        let number = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str::<IgnoredAny>(number)
            .map(|_| ())
            .map_err(|_| self.error())
    }

    /// Passes over a mark.
    #[inline]
    fn mark(&mut self, mark: u8) -> Result<()> {
        if self.peek() != mark {
            return Err(self.error());
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// Returns the error of a text that is not JSON, in the words of `serde_json`.
    #[cold]
    fn error(&self) -> Error {
        let error = serde_json::from_str::<IgnoredAny>(self.text).err();
        error.unwrap_or_else(|| {
            Error::custom(format_args!(
                "expected another JSON value at byte {}",
                self.at
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    fn is_json(text: &str) -> bool {
        let mut json = JsonReader::new(text);
        json.skip().is_ok() && json.end().is_ok()
    }

    fn read_string(text: &str) -> Result<Cow<'_, str>> {
        let mut json = JsonReader::new(text);
        let string = json.string()?;
        json.end().map(|()| string)
    }

    #[test]
    fn passes_over_values_of_any_depth() {
        for depth in [127, 128, 129, 20_000] {
            let text = format!(
                r#"{{"a":{}1{},"b":"x"}}"#,
                r#"[{"x":"#.repeat(depth),
                "}]".repeat(depth)
            );
            assert!(is_json(&text), "{depth}");
            assert!(!is_json(&text.replace("1}", "1]")), "{depth}");
        }
    }

    #[test]
    fn refuses_what_is_not_json() {
        for text in [
            "",
            "{",
            r#"{"a":}"#,
            "[1,]",
            "01",
            "\"\n\"",
            "nul",
            r#""\x""#,
            "1 2",
        ] {
            assert!(!is_json(text), "{text}");
        }
    }

    #[test]
    fn names_errors_as_serde_json_does() {
        let theirs = serde_json::from_str::<IgnoredAny>("[1,]").expect_err("no JSON");
        assert_eq!(
            JsonReader::new("[1,]")
                .skip()
                .expect_err("no JSON")
                .to_string(),
            theirs.to_string()
        );
    }

    fn json_like() -> impl Strategy<Value = String> {
        let token = prop_oneof![
            4 => "[\\[\\]{},: \\n\"]",
            2 => "-?[0-9]{1,2}(\\.[0-9]?)?([eE][-+]?[0-9]?)?",
            2 => "\"[a-zä]{0,9}(\\\\[\"nu/xb0]|\\\\u[0-9a-f]{3,4}|\t)?[a-z]{0,9}\"",
            1 => "true|false|null|nul|\"a\":",
        ];
        prop_oneof![
            proptest::collection::vec(token, 0..8).prop_map(|tokens| tokens.concat()),
            any::<Vec<(String, i64, f64)>>().prop_map(|value| serde_json::json!(value).to_string()),
            any::<std::collections::BTreeMap<String, Vec<bool>>>()
                .prop_map(|value| serde_json::json!(value).to_string()),
        ]
    }

    // M1
    #[test]
    fn a_name_that_is_wrong_in_one_byte_is_an_error() {
        json_objects! {
            struct Piece<'a> {
                content: RawObject<'a, Inner>,
                kind: RawObject<'a, Inner> = "type",
            }

            struct Inner {
                x: LenientCount,
            }
        }
        use crate::lenient::{LenientCount, RawObject, parse_object};
        for (text, is_read) in [
            (r#"{"content":{"x":1}}"#, true),
            (
                r#"{"contents":1,"other":2,"conten":3,"tip":4,"cantant":5}"#,
                true,
            ),
            (r#"{"contemt":{"x":1}}"#, false),
            (r#"{"Content":{"x":1}}"#, false),
        ] {
            assert_eq!(parse_object::<Piece<'_>>(text).is_ok(), is_read, "{text}");
        }
    }

    // P1
    #[test]
    fn a_name_like_that_of_a_member_that_came_is_read() {
        json_objects! {
            struct Piece<'a> {
                content: LenientText<'a>,
                number: LenientText<'a>,
            }
        }
        use crate::lenient::{LenientText, parse_object};
        for (text, is_read) in [
            (r#"{"contend":1,"content":"x"}"#, true),
            (r#"{"content":"x","contend":1}"#, true),
            (r#"{"number":"x","contend":1}"#, false),
        ] {
            assert_eq!(parse_object::<Piece<'_>>(text).is_ok(), is_read, "{text}");
        }
    }

    proptest! {
        #[test]
        fn accepts_what_serde_json_accepts(text in json_like()) {
            let theirs = serde_json::from_str::<&RawValue>(&text);
            prop_assert_eq!(is_json(&text), theirs.is_ok());
            if let Ok(theirs) = theirs {
                prop_assert_eq!(JsonReader::new(&text).raw().ok(), Some(theirs.get()));
            }
            prop_assert_eq!(read_string(&text).ok(), serde_json::from_str::<String>(&text).ok().map(Cow::Owned));
        }
    }
}
