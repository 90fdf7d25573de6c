//! Texts from other programs, made safe for errors, logs and terminals.

use std::borrow::Cow;

/// Escapes control characters, which a terminal would obey.
pub fn escape_control(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| {
        if c.is_control() {
            c.escape_default().to_string()
        } else {
            c.to_string()
        }
    };
    Cow::Owned(text.chars().map(escape).collect())
}

/// Returns the first 500 characters of a text without its surrounding white space, escaped.
pub(crate) fn excerpt(text: &str) -> String {
    const MAX: usize = 500;
    let text = text.trim();
    match text.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", escape_control(text.split_at(end).0)),
        None => escape_control(text).into_owned(),
    }
}
