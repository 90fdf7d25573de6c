//! The secrets of a toolset as JSON, and their removal from messages that may quote them.

use crate::call::error::ToolError;
use crate::json::nested::{drop_iteratively, is_nested_too_deep};
use crate::tool::configure::credentials::{TokenSource, debug_as_secret};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// The secrets of a toolset: the text of a JSON object. Its memory is wiped on drop, `Debug` does
/// not show it, and it does not serialise.
#[derive(Clone)]
pub struct SecretDocument {
    text: Zeroizing<String>,
    grant: Option<Arc<dyn TokenSource>>,
}

impl SecretDocument {
    /// Creates a document without secrets: `{}`.
    pub fn none() -> Self {
        Self::from_json("{}".to_owned())
    }

    /// Creates a document from a value, and wipes the value. Of a value that nests deeper than 128,
    /// the document has an empty text, which is not JSON.
    pub fn from_value(mut value: Value) -> Self {
        let text = if is_nested_too_deep(&value) {
            String::new()
        } else {
            value.to_string()
        };
        wipe(&mut value);
        drop_iteratively(value);
        Self::from_json(text)
    }

    /// Creates a document from JSON text, which is parsed at first use.
    pub fn from_json(text: String) -> Self {
        Self {
            text: Zeroizing::new(text),
            grant: None,
        }
    }

    /// Adds a grant, whose access tokens it refreshes.
    #[must_use]
    pub fn with_grant(self, grant: Arc<dyn TokenSource>) -> Self {
        Self {
            grant: Some(grant),
            ..self
        }
    }

    /// Returns the JSON text.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// Removes the secrets from a toolset's error, which may quote them.
    pub(crate) fn scrub(&self, error: ToolError) -> ToolError {
        let Some(value) = self.parsed() else {
            return error;
        };
        let secrets = SecretTexts::of_secrets(&value);
        error.map_message(|message| secrets.remove_from(&message))
    }

    pub(crate) fn grant(&self) -> Option<&Arc<dyn TokenSource>> {
        self.grant.as_ref()
    }

    /// Passes the parsed value to `inspect`, and wipes it. `None` where the text is not JSON.
    #[cfg(feature = "agents")]
    pub(crate) fn with_value<R>(&self, inspect: impl FnOnce(&Value) -> R) -> Option<R> {
        self.parsed().map(|value| inspect(&value))
    }

    /// Returns the document with changed members, without its grant. All copies are wiped. `None`
    /// where it is not an object.
    #[cfg(feature = "agents")]
    pub(crate) fn with_members(
        &self,
        change: impl FnOnce(&mut serde_json::Map<String, Value>),
    ) -> Option<Self> {
        let mut value = self.parsed()?;
        change(value.as_object_mut()?);
        Some(Self::from_json(value.to_string()))
    }

    /// Parses the text. `None` where it is not JSON.
    pub(crate) fn parsed(&self) -> Option<WipedValue> {
        serde_json::from_str(&self.text).ok().map(WipedValue)
    }
}

impl From<Value> for SecretDocument {
    fn from(value: Value) -> Self {
        Self::from_value(value)
    }
}

debug_as_secret!(SecretDocument);

/// A value whose texts are wiped on drop.
pub(crate) struct WipedValue(Value);

impl Deref for WipedValue {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl DerefMut for WipedValue {
    fn deref_mut(&mut self) -> &mut Value {
        &mut self.0
    }
}

impl Drop for WipedValue {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

/// Wipes the texts of a value from memory.
pub(crate) fn wipe(value: &mut Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => text.zeroize(),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values_mut()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Texts that no message may show, in every form in which a message may quote them. They are wiped
/// on drop.
pub(crate) struct SecretTexts(Zeroizing<Vec<String>>);

/// The text that replaces a secret.
const MARK: &str = "[hidden]";

/// The minimum length of a secret that is removed, in characters. Shorter texts occur in any
/// sentence.
const MIN_SECRET_CHARS: usize = 4;

/// The minimum length of a base64 form, in characters. Shorter ones occur in other words.
const MIN_BASE64_CHARS: usize = 5;

impl SecretTexts {
    /// Collects the texts of settings: plain, as `{:?}` and JSON write them, and percent-encoded.
    /// Numbers may be shown.
    pub(crate) fn of_settings(settings: &Value) -> Self {
        let mut forms = Vec::new();
        visit_texts(settings, &mut |text, is_number| {
            if !is_number {
                forms.extend(plain_forms(text));
            }
        });
        Self::new(forms)
    }

    /// Collects the texts and numbers of secrets, unless they are too short. Their base64 forms are
    /// included, also as a part of a longer text (`user:password`).
    pub(crate) fn of_secrets(secrets: &Value) -> Self {
        let mut forms = Vec::new();
        visit_texts(secrets, &mut |text, _| {
            if text.chars().count() >= MIN_SECRET_CHARS {
                forms.extend(plain_forms(text));
                forms.extend(base64_forms(text));
            }
        });
        Self::new(forms)
    }

    /// Sorts the longest first, so that the rest of a removed text does not reveal another one.
    fn new(mut texts: Vec<String>) -> Self {
        texts.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        texts.dedup();
        Self(Zeroizing::new(texts))
    }

    /// Replaces each text in the message. A text of fewer than four characters is replaced only
    /// where it is a whole word, so that the message remains readable.
    pub(crate) fn remove_from(&self, message: &str) -> String {
        self.0.iter().fold(message.to_owned(), |message, text| {
            match text.chars().count() {
                0 => message,
                1..4 => replace_word(&message, text),
                _ => message.replace(text.as_str(), MARK),
            }
        })
    }
}

/// Calls `visit` with each text and number in a value. The flag is true for a number.
fn visit_texts(value: &Value, visit: &mut dyn FnMut(&str, bool)) {
    match value {
        Value::String(text) => visit(text, false),
        Value::Array(items) => items.iter().for_each(|item| visit_texts(item, visit)),
        Value::Object(members) => members
            .values()
            .for_each(|member| visit_texts(member, visit)),
        Value::Number(number) => visit(&Zeroizing::new(number.to_string()), true),
        Value::Null | Value::Bool(_) => {}
    }
}

fn replace_word(message: &str, word: &str) -> String {
    let mut shown = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, after)) = rest.split_once(word) {
        shown.push_str(before);
        let inside_word =
            shown.ends_with(char::is_alphanumeric) || after.starts_with(char::is_alphanumeric);
        shown.push_str(if inside_word { word } else { MARK });
        rest = after;
    }
    shown.push_str(rest);
    shown
}

fn plain_forms(text: &str) -> [String; 3] {
    // The characters that the query or the user name of a URL escapes.
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~');
    [
        text.to_owned(),
        text.escape_debug().to_string(),
        utf8_percent_encode(text, ESCAPED).to_string(),
    ]
}

/// Returns the base64 forms of a text at every offset in the encoded bytes, in both alphabets.
/// Characters that the text shares with its neighbours are left out.
fn base64_forms(text: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for offset in 0..3_usize {
        let mut bytes = Zeroizing::new(vec![0; offset]);
        bytes.extend_from_slice(text.as_bytes());
        let first = (offset * 8).div_ceil(6);
        let bits = bytes.len() * 8;
        for alphabet in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let encoded = Zeroizing::new(alphabet.encode(&*bytes));
            // The last character is shared unless the text is the end of the encoded bytes.
            let ends = [bits / 6, bits.div_ceil(6)];
            forms.extend(
                ends.iter()
                    .filter_map(|end| encoded.get(first..*end))
                    .map(str::to_owned),
            );
        }
    }
    forms.retain(|form| form.len() >= MIN_BASE64_CHARS);
    forms
}
