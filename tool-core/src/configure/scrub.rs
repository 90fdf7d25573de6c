//! Values taken out of a message that may quote them.

use serde_json::Value;
use zeroize::Zeroize;

/// Texts that no message may show. Wiped when they go.
pub(super) struct Hidden(Vec<String>);

impl Hidden {
    /// The texts and numbers of a value that have so many characters or more, as they stand there, as `{:?}` and JSON
    /// write them, and as they stand in a URL.
    pub(super) fn of(value: &Value, characters: usize) -> Self {
        let mut texts = Vec::new();
        collect(value, &mut |text| {
            if text.chars().count() >= characters {
                texts.extend([text.to_owned(), text.escape_debug().to_string(), percent_encoded(text)]);
            }
        });
        // The longest first, so that what is left of one does not show the rest of another.
        texts.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        texts.dedup();
        Self(texts)
    }

    /// The message with each of them replaced. One of a few letters only where it stands as a word of its own, or the
    /// message would be unreadable.
    pub(super) fn removed_from(&self, message: &str) -> String {
        self.0.iter().fold(message.to_owned(), |message, text| match text.chars().count() {
            0 => message,
            1..4 => word_removed(&message, text),
            _ => message.replace(text.as_str(), MARK),
        })
    }
}

const MARK: &str = "[hidden]";

fn collect(value: &Value, found: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => found(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(members) => members.values().for_each(|member| collect(member, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn word_removed(message: &str, word: &str) -> String {
    let mut shown = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, after)) = rest.split_once(word) {
        shown.push_str(before);
        let joined = shown.ends_with(char::is_alphanumeric) || after.starts_with(char::is_alphanumeric);
        shown.push_str(if joined { word } else { MARK });
        rest = after;
    }
    shown.push_str(rest);
    shown
}

/// As it stands in the query or the user name of a URL.
fn percent_encoded(text: &str) -> String {
    let encoded = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(encoded).collect()
}

impl Drop for Hidden {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(Zeroize::zeroize);
    }
}
