//! Texts from other programs, made safe for errors, logs and terminals.

use std::borrow::Cow;

/// Escapes control characters, which a terminal would obey.
pub(crate) fn escape_control(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if character.is_control() {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

/// Returns the first 500 characters of a text without its surrounding white space, escaped.
#[cfg(any(feature = "http", feature = "websocket"))]
pub(crate) fn excerpt(text: &str) -> String {
    const MAX: usize = 500;
    let text = text.trim();
    match text.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", escape_control(text.split_at(end).0)),
        None => escape_control(text).into_owned(),
    }
}
