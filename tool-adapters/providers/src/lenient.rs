//! Members that are read in the forms that servers send them, and texts with invalid escapes.

use crate::json_reader::{FromJson, JsonObject, JsonReader};
use serde::Deserialize;
use serde_json::{Number, Result};
use std::borrow::Cow;
use std::ops::Deref;

/// A text. Numbers and booleans are read as their text, anything else as none.
#[derive(Debug, Default)]
pub(crate) struct LenientText<'a>(pub(crate) Option<Cow<'a, str>>);

/// A count. A text with digits is read as its number, null as no count, and anything else as 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LenientCount(pub(crate) u64);

/// The name of a service tier in lower case, or none for the standard one. Bedrock writes it as an
/// object with the `type`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServiceTier(pub(crate) Option<String>);

/// An object. Anything else is read as none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LenientObject<T>(pub(crate) Option<T>);

/// The objects of an array. A single object is read as an array of one, anything else as an empty
/// one.
#[derive(Debug, Default)]
pub(crate) struct LenientObjects<T> {
    /// Most arrays have one object.
    first: Option<T>,
    rest: Vec<T>,
    /// True for a value that is neither an array nor an object, or an array with other values.
    has_others: bool,
}

/// The JSON of any value but null.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawJson<'a>(pub(crate) Option<&'a str>);

/// A value and its JSON.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WithRaw<'a, T> {
    pub(crate) raw: &'a str,
    pub(crate) value: T,
}

/// An object and its JSON. An object with members that cannot be read is none, and so is another
/// value.
#[derive(Debug, Default)]
pub(crate) struct RawObject<'a, T> {
    pub(crate) raw: &'a str,
    /// Boxed, so that arrays of other values take little memory.
    pub(crate) object: Option<Box<T>>,
}

/// The items of an array; `None` for another value.
#[derive(Debug, Default)]
pub(crate) struct RawObjects<'a, T>(pub(crate) Option<Vec<RawObject<'a, T>>>);

/// Parses an object; `None` for another value.
pub(crate) fn parse_object<'a, T: JsonObject<'a>>(text: &'a str) -> Result<Option<T>> {
    let mut json = JsonReader::new(text);
    let mut object = LenientObject::default();
    object.read_json(&mut json)?;
    json.end().map(|()| object.0)
}

/// Parses the items of an array.
pub(crate) fn parse_items(text: &str) -> Result<Vec<&str>> {
    let mut json = JsonReader::new(text);
    let mut items = Vec::new();
    json.array(|json| json.raw().map(|item| items.push(item)))?;
    json.end().map(|()| items)
}

impl<'a> RawJson<'a> {
    /// Returns a string's text, the JSON of any other value, and nothing for null or no value.
    pub(crate) fn text(self) -> Cow<'a, str> {
        let raw = self.0.unwrap_or_default();
        if raw.starts_with('"') {
            unescaped(raw)
        } else {
            Cow::Borrowed(raw)
        }
    }

    /// Parses the value; `None` if it is of another type.
    pub(crate) fn parse<T: Deserialize<'a>>(self) -> Option<T> {
        serde_json::from_str(self.0?).ok()
    }

    /// Parses an object; `None` for another value.
    pub(crate) fn object<T: JsonObject<'a>>(self) -> Option<T> {
        parse_object(self.0?).ok().flatten()
    }

    /// Parses an object, or the objects of an array. Of a value that cannot be read, there are only
    /// [`others`](LenientObjects::has_others).
    pub(crate) fn objects<T: JsonObject<'a>>(self) -> LenientObjects<T> {
        let mut objects = LenientObjects::default();
        match self
            .0
            .map(|raw| objects.read_json(&mut JsonReader::new(raw)))
        {
            None | Some(Ok(())) => objects,
            Some(Err(_)) => LenientObjects {
                has_others: true,
                ..LenientObjects::default()
            },
        }
    }

    /// Returns the text of a string; `None` for another value.
    pub(crate) fn string(self) -> Option<Cow<'a, str>> {
        self.0.filter(|raw| raw.starts_with('"')).map(unescaped)
    }

    /// Returns a member of an object; none of another value.
    pub(crate) fn member(self, name: &str) -> Self {
        let mut found = Self::default();
        let read = |member: &str, json: &mut JsonReader<'a>| {
            if member == name {
                found.read_json(json)
            } else {
                json.skip()
            }
        };
        let is_read = self
            .0
            .is_some_and(|raw| JsonReader::new(raw).object(read).is_ok());
        if is_read { found } else { Self::default() }
    }

    /// Returns the items of an array; none for another value.
    pub(crate) fn items(self) -> Vec<&'a str> {
        self.0
            .and_then(|raw| parse_items(raw).ok())
            .unwrap_or_default()
    }
}

impl LenientText<'_> {
    /// Returns the text; empty for none.
    pub(crate) fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    /// Returns true for the boolean `true`, or a text of it.
    pub(crate) fn is_true(&self) -> bool {
        self.as_str() == "true"
    }
}

impl<T> Deref for WithRaw<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Deref for LenientObject<T> {
    type Target = Option<T>;

    fn deref(&self) -> &Option<T> {
        &self.0
    }
}

impl<'a, 'json: 'a> FromJson<'json> for RawJson<'a> {
    fn read_json(&mut self, json: &mut JsonReader<'json>) -> Result<()> {
        self.0 = Some(json.raw()?).filter(|raw| *raw != "null");
        Ok(())
    }
}

impl<'a, 'json: 'a> FromJson<'json> for LenientText<'a> {
    fn read_json(&mut self, json: &mut JsonReader<'json>) -> Result<()> {
        self.0 = match json.peek() {
            b'"' => Some(json.string()?),
            b'n' | b'{' | b'[' => json.skip().map(|()| None)?,
            b'-' | b'0'..=b'9' => Some(number_text(json.raw()?)?),
            _ => Some(Cow::Borrowed(json.raw()?)),
        };
        Ok(())
    }
}

impl<'a, 'json: 'a, T: FromJson<'json>> FromJson<'json> for WithRaw<'a, T> {
    fn read_json(&mut self, json: &mut JsonReader<'json>) -> Result<()> {
        json.peek();
        let start = json.place();
        self.value.read_json(json)?;
        self.raw = json.since(start);
        Ok(())
    }
}

impl<'a, 'json: 'a, T: JsonObject<'json>> FromJson<'json> for RawObject<'a, T> {
    fn read_json(&mut self, json: &mut JsonReader<'json>) -> Result<()> {
        let is_object = json.peek() == b'{';
        let before = json.clone();
        self.object = is_object.then(Box::default);
        if self
            .object
            .as_mut()
            .is_none_or(|object: &mut Box<T>| object.read_members(json).is_err())
        {
            self.object = None;
            json.clone_from(&before);
            json.skip()?;
        }
        self.raw = json.since(before.place());
        Ok(())
    }
}

impl<'a, 'json: 'a, T: JsonObject<'json>> FromJson<'json> for RawObjects<'a, T> {
    fn read_json(&mut self, json: &mut JsonReader<'json>) -> Result<()> {
        self.0 = None;
        if json.peek() != b'[' {
            return json.skip();
        }
        let items = self.0.insert(Vec::new());
        json.array(|json| {
            let mut item = RawObject {
                raw: "",
                object: None,
            };
            item.read_json(json)?;
            items.push(item);
            Ok(())
        })
    }
}

/// Returns a number as a text without an exponent.
fn number_text(raw: &str) -> Result<Cow<'_, str>> {
    if raw.len() < 19 && raw.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(Cow::Borrowed(raw));
    }
    let number = serde_json::from_str::<Number>(raw)?;
    let float = number.as_f64().filter(|_| number.is_f64());
    Ok(Cow::Owned(float.map_or_else(
        || number.to_string(),
        |float| float.to_string(),
    )))
}

impl<'json> FromJson<'json> for LenientCount {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Saturates.
    fn read_json(&mut self, json: &mut JsonReader<'json>) -> Result<()> {
        self.0 = match json.peek() {
            b'-' | b'0'..=b'9' => {
                let raw = json.raw()?;
                // Cohere counts in floats.
                let float = || serde_json::from_str::<f64>(raw).map(|float| float as u64);
                raw.parse().or_else(|_| float())?
            }
            b'"' => json.string()?.parse().unwrap_or(0),
            b'n' => return json.skip(),
            _ => json.skip().map(|()| 0)?,
        };
        Ok(())
    }
}

/// The names of the standard tier, and those that a response has before its tier is known.
const STANDARD_TIERS: [&str; 6] = [
    "",
    "auto",
    "default",
    "standard",
    "on_demand",
    "unspecified",
];

impl<'json> FromJson<'json> for ServiceTier {
    fn read_json(&mut self, json: &mut JsonReader<'json>) -> Result<()> {
        let mut raw = RawJson::default();
        raw.read_json(json)?;
        let name = raw
            .string()
            .or_else(|| raw.member("type").string())
            .unwrap_or_default()
            .trim()
            .to_lowercase();
        // Vertex AI names traffic: `ON_DEMAND_PRIORITY`.
        let name = name
            .strip_prefix("traffic_type_")
            .or(name.strip_prefix("on_demand_"))
            .unwrap_or(&name);
        self.0 = (!STANDARD_TIERS.contains(&name)).then(|| name.to_owned());
        Ok(())
    }
}

impl<'json, T: JsonObject<'json>> FromJson<'json> for LenientObject<T> {
    fn read_json(&mut self, json: &mut JsonReader<'json>) -> Result<()> {
        if json.peek() == b'{' {
            return self.0.get_or_insert_default().read_members(json);
        }
        self.0 = None;
        json.skip()
    }
}

impl<'json, T: JsonObject<'json>> FromJson<'json> for LenientObjects<T> {
    fn read_json(&mut self, json: &mut JsonReader<'json>) -> Result<()> {
        match json.peek() {
            b'[' => json.array(|json| {
                if json.peek() == b'{' {
                    self.read_one(json)
                } else {
                    self.skip_other(json)
                }
            }),
            b'{' => self.read_one(json),
            b'n' => json.skip(),
            _ => self.skip_other(json),
        }
    }
}

impl<T> LenientObjects<T> {
    fn read_one<'json>(&mut self, json: &mut JsonReader<'json>) -> Result<()>
    where
        T: JsonObject<'json>,
    {
        if self.first.is_none() {
            return self.first.get_or_insert_default().read_members(json);
        }
        self.rest.push(T::default());
        self.rest
            .last_mut()
            .map_or(Ok(()), |object| object.read_members(json))
    }

    fn skip_other(&mut self, json: &mut JsonReader<'_>) -> Result<()> {
        self.has_others = true;
        json.skip()
    }

    /// Returns true if the value was not null, an object, or an array of objects.
    pub(crate) fn has_others(&self) -> bool {
        self.has_others
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Returns the only object.
    pub(crate) fn only(&self) -> Option<&T> {
        self.first.as_ref().filter(|_| self.rest.is_empty())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.rest)
    }
}

impl<'json, T: FromJson<'json>> FromJson<'json> for Option<T> {
    fn read_json(&mut self, json: &mut JsonReader<'json>) -> Result<()> {
        if json.peek() == b'n' {
            return json.skip();
        }
        self.get_or_insert_default().read_json(json)
    }
}

/// Returns the text of a valid JSON string. Halves of characters are marks by now.
fn unescaped(string: &str) -> Cow<'_, str> {
    JsonReader::new(string).string().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_every_escape() {
        for (json, expected) in [
            (r#"{\"a\":\"b\\\/\"}"#, "{\"a\":\"b\\/\"}"),
            (r"\b\f\n\r\t", "\u{8}\u{c}\n\r\t"),
            (r"\u00e4\u20AC\ud83d\ude00ä", "ä€😀ä"),
            ("plain ä", "plain ä"),
            ("", ""),
        ] {
            assert_eq!(unescaped(&format!("\"{json}\"")), expected, "{json}");
        }
    }

    proptest! {
        #[test]
        fn reads_what_a_json_parser_reads(text in any::<String>()) {
            let json = serde_json::to_string(&text).expect("JSON");
            prop_assert_eq!(unescaped(&json), text);
        }
    }
}
