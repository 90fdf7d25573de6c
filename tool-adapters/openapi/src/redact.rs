//! Credentials in the texts of a server, which may repeat a request.

use crate::encode;
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use tool_core::Secret;

/// Replaces a credential.
const KEY: &str = "[key]";

/// Shorter texts are words that an answer may have of itself.
const MIN_SECRET: usize = 6;

/// JSON may have JSON as a text, which has JSON as a text. Deeper credentials are not found.
const MAX_DEPTH: usize = 3;

/// The credentials of a call, in the notations that a request has.
#[derive(Default)]
pub(crate) struct Secrets(Vec<Secret>);

impl Secrets {
    pub(crate) fn add(&mut self, secret: &Secret) {
        let text = secret.expose();
        let quoted = Value::from(text).to_string();
        let user_and_password = text
            .split_once(':')
            .map(|(_, password)| password.to_owned());
        let notations = [
            text.to_owned(),
            encode::escape(text),
            encode::escape_cookie(text),
            quoted.trim_matches('"').to_owned(),
        ];
        for notation in notations.into_iter().chain(user_and_password) {
            if notation.len() >= MIN_SECRET
                && !self.0.iter().any(|known| known.expose() == notation)
            {
                self.0.push(notation.into());
            }
        }
        // A server may repeat what follows the scheme of a header.
        for scheme in ["Basic ", "Bearer "] {
            if let Some(token) = text.strip_prefix(scheme) {
                self.add(&token.to_owned().into());
            }
        }
        // A part of one may be another.
        self.0
            .sort_by_key(|secret| std::cmp::Reverse(secret.expose().len()));
    }

    /// Replaces the credentials in a text, also those that it has with the escapes of JSON, or of
    /// JSON in a text of JSON. A text without any stays borrowed.
    pub(crate) fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut redacted = Cow::Borrowed(text);
        if self.0.is_empty() {
            return redacted;
        }
        for secret in &self.0 {
            if redacted.contains(secret.expose()) {
                redacted = Cow::Owned(redacted.replace(secret.expose(), KEY));
            }
        }

        // The JSON of a server may write any character as an escape.
        let mut unescaped = String::new();
        for depth in 1..=MAX_DEPTH {
            let escaped = match depth {
                1 => &*redacted,
                _ => unescaped.as_str(),
            };
            if !escaped.contains('\\') {
                break;
            }
            unescaped = unescape(escaped);
            if self.is_in_text(&unescaped) {
                for secret in &self.0 {
                    redacted = Cow::Owned(replace_escaped(&redacted, secret.expose(), depth));
                }
            }
        }
        redacted
    }

    fn is_in_text(&self, text: &str) -> bool {
        self.0.iter().any(|secret| text.contains(secret.expose()))
    }

    /// Replaces the credentials in all texts, numbers and names of an answer. Returns true if there
    /// were any.
    pub(crate) fn redact_value(&self, value: &mut Value) -> bool {
        if self.0.is_empty() {
            return false;
        }
        match value {
            Value::String(text) => {
                let Cow::Owned(redacted) = self.redact(text) else {
                    return false;
                };
                *text = redacted;
                true
            }
            Value::Number(number) if self.is_in_number(number) => {
                *value = KEY.into();
                true
            }
            Value::Array(items) => {
                let mut has_secret = false;
                for item in items {
                    has_secret |= self.redact_value(item);
                }
                has_secret
            }
            Value::Object(members) => self.redact_members(members),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    fn redact_members(&self, members: &mut Map<String, Value>) -> bool {
        let is_secret = |name: &String| matches!(self.redact(name), Cow::Owned(_));
        let mut has_secret = members.keys().any(is_secret);
        if has_secret {
            for (name, value) in std::mem::take(members) {
                members.insert(self.redact(&name).into_owned(), value);
            }
        }
        for member in members.values_mut() {
            has_secret |= self.redact_value(member);
        }
        has_secret
    }

    /// Returns true for a number with the digits of a credential, also if a float has rounded them.
    fn is_in_number(&self, number: &Number) -> bool {
        let is_same = |secret: &Secret| secret.expose().parse().ok() == number.as_f64();
        self.is_in_text(&number.to_string()) || self.0.iter().any(is_same)
    }
}

/// Replaces a credential in a text that may have it with the escapes of JSON, one in another up to a
/// depth.
fn replace_escaped(text: &str, secret: &str, depth: usize) -> String {
    let unescaped = Unescaped::new(text, depth);
    let mut replaced = String::new();
    let mut end = 0;
    for (at, _) in unescaped.text.match_indices(secret) {
        let before = text.get(end..unescaped.place(at));
        replaced.push_str(before.unwrap_or_default());
        replaced.push_str(KEY);
        end = unescaped.place(at + secret.len());
    }
    replaced.push_str(text.get(end..).unwrap_or_default());
    replaced
}

/// Returns a text without the escapes of JSON.
fn unescape(escaped: &str) -> String {
    let mut text = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some(at) = rest.find('\\') {
        let (plain, from_escape) = rest.split_at(at);
        text.push_str(plain);
        let Some(next) = next_character(from_escape) else {
            break;
        };
        text.push(next.character);
        rest = from_escape.get(next.length..).unwrap_or_default();
    }
    text.push_str(rest);
    text
}

/// A text without the escapes of JSON, and the place where each of its bytes was written.
struct Unescaped {
    text: String,
    places: Vec<usize>,
    /// The length of the text with the escapes.
    end: usize,
}

impl Unescaped {
    /// Removes the escapes as often as the depth says.
    fn new(escaped: &str, depth: usize) -> Self {
        let mut unescaped = Self::once(escaped);
        for _ in 1..depth {
            let deeper = Self::once(&unescaped.text);
            let places = deeper.places.iter().map(|at| unescaped.place(*at));
            unescaped.places = places.collect();
            unescaped.text = deeper.text;
        }
        unescaped
    }

    fn once(escaped: &str) -> Self {
        let mut text = String::new();
        let mut places = Vec::new();
        let mut at = 0;
        while let Some(next) = escaped.get(at..).and_then(next_character) {
            text.push(next.character);
            places.resize(text.len(), at);
            at += next.length;
        }
        Self {
            text,
            places,
            end: escaped.len(),
        }
    }

    /// Returns the place of a byte in the text with the escapes.
    fn place(&self, at: usize) -> usize {
        self.places.get(at).copied().unwrap_or(self.end)
    }
}

/// A character, with the length of its text, which may be an escape of JSON.
struct Escape {
    character: char,
    length: usize,
}

/// Returns the character with which a text begins, which may be an escape.
fn next_character(text: &str) -> Option<Escape> {
    let first = text.chars().next()?;
    let plain = Escape {
        character: first,
        length: first.len_utf8(),
    };
    Some(escape(text).unwrap_or(plain))
}

/// Returns the escape with which a text begins.
fn escape(text: &str) -> Option<Escape> {
    let escaped = text.strip_prefix('\\')?;
    let character = match escaped.bytes().next()? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode_escape(text),
        _ => return None,
    };
    Some(Escape {
        character,
        length: 2,
    })
}

/// Returns the `\uXXXX` with which a text begins, or the two that make up one character.
fn unicode_escape(text: &str) -> Option<Escape> {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
    };
    let first = unit(0)?;
    let units = [Some(first), unit(6)].into_iter().flatten();
    let character = char::decode_utf16(units).next()?.ok()?;
    Some(Escape {
        character,
        length: 6 * character.len_utf16(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn replaces_credentials_in_every_notation() {
        let mut secrets = Secrets::default();
        secrets.add(&Secret::from("ab c\"d/e+f"));
        secrets.add(&Secret::from("user:pass-word"));
        let text = r#"ab c"d/e+f ab%20c%22d%2Fe%2Bf ab c\"d/e+f pass-word user:pass-word"#;
        assert_eq!(secrets.redact(text), "[key] [key] [key] [key] [key]");
        let mut value = json!({"x": ["=pass-word"], "pass-word": 1});
        secrets.redact_value(&mut value);
        assert_eq!(value, json!({"x": ["=[key]"], "[key]": 1}));
    }

    #[test]
    fn replaces_keys_that_json_escapes() {
        let mut secrets = Secrets::default();
        secrets.add(&Secret::from("abc/def+é😀"));
        for text in [
            r#"{"echo":"abc\/def+é😀"}"#,
            r#"{"echo":"abc/def\u002B\u00e9\ud83d\uDE00"}"#,
            r#"{"echo":"\u0061bc\/d\u0065f\u002b\u00E9\uD83D\ude00"}"#,
        ] {
            assert_eq!(secrets.redact(text), r#"{"echo":"[key]"}"#, "{text}");
        }
        let cut = r#"{"one":"\"abc\/def+é😀\" and abc\/def+é😀, \u00"#;
        let expected = r#"{"one":"\"[key]\" and [key], \u00"#;
        assert_eq!(secrets.redact(cut), expected);
        let other = r#"{"path":"C:\\abc","half":"\ud83d \u00"}"#;
        assert!(matches!(secrets.redact(other), Cow::Borrowed(_)));
    }

    #[test]
    fn replaces_keys_in_json_that_is_a_text_of_json() {
        let mut secrets = Secrets::default();
        secrets.add(&Secret::from("canary/one"));
        let mut text = r#"{"key":"canary\/one"}, \"#.to_owned();
        let mut expected = r#"{"key":"[key]"}, \"#.to_owned();
        for depth in 1..=MAX_DEPTH {
            assert_eq!(secrets.redact(&text), expected, "{depth}");
            text = Value::from(text).to_string();
            expected = Value::from(expected).to_string();
        }
    }

    #[test]
    fn replaces_keys_that_are_numbers() {
        let mut secrets = Secrets::default();
        secrets.add(&Secret::from("12345678"));
        secrets.add(&Secret::from("123456789012345678901234"));
        let text = r#"[12345678,-12345678,{"a":123456789012345678901234},12345]"#;
        let mut value = serde_json::from_str(text).expect("JSON");
        secrets.redact_value(&mut value);
        assert_eq!(value, json!(["[key]", "[key]", {"a": "[key]"}, 12345]));
    }

    #[test]
    fn replaces_a_key_as_a_cookie_has_it() {
        let mut secrets = Secrets::default();
        secrets.add(&Secret::from("key a/b=c"));
        assert_eq!(secrets.redact("sid=key%20a/b=c"), "sid=[key]");
    }
}
