//! The instructions of the host, beside those about the tools.

use std::borrow::Cow;

/// Puts the host's instructions before those about the tools.
pub(crate) fn join_instructions<'a>(host: &'a str, tools: &'a str) -> Cow<'a, str> {
    match (host, tools) {
        ("", text) | (text, "") => Cow::Borrowed(text),
        _ => Cow::Owned(format!("{host}\n\n{tools}")),
    }
}
