//! The frames of a message, and what the decoders of all framings share.

use crate::event::{ProtocolError, malformed};
use crate::half_characters::{has_cut_texts_only, mark_bytes};
use std::borrow::Cow;
use tool_core::json::outside_strings;

/// The largest event in bytes. A larger one is reported and passed over.
pub(crate) const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// The size up to which any event is parsed.
const SMALL_EVENT_BYTES: usize = 256 * 1024;
/// The memory that the values of a larger event may take. `[[],[],..` takes forty times its size.
const MAX_PARSED_BYTES: usize = 64 * 1024 * 1024;

/// Returns true for an event whose values would take too much memory. It is estimated by the
/// brackets and commas outside of strings.
pub fn is_too_large_to_parse(json: &[u8]) -> bool {
    if json.len() <= SMALL_EVENT_BYTES {
        return false;
    }
    let size_of = |byte| match byte {
        b'{' => 600,
        b'[' | b',' => 150,
        _ => 0,
    };
    json.len() + outside_strings(json).map(size_of).sum::<usize>() > MAX_PARSED_BYTES
}

/// Returns true for JSON that nests deeper than a limit.
pub fn nests_deeper(json: &[u8], limit: usize) -> bool {
    let mut depth = 0_usize;
    for byte in outside_strings(json) {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > limit {
            return true;
        }
    }
    false
}

/// A part of a message.
#[derive(Debug, PartialEq)]
pub(crate) enum Frame<'a> {
    /// An event: a JSON text, unless the provider sent something else.
    Event {
        /// The name of a server-sent event; empty without one.
        name: &'a str,
        text: &'a str,
        /// True if bytes that are not UTF-8 became marks of half characters.
        has_halves: bool,
    },
    /// A text that is one JSON value if it can be parsed. The sink returns false if it cannot: the
    /// decoder then looks for the end of the value, as if the frame had not been there.
    Attempt(&'a str),
    /// `[DONE]`, the end of a stream.
    Done,
    Problem(ProtocolError),
}

impl<'a> Frame<'a> {
    /// Returns the text of an event; empty for a frame without one.
    pub(crate) fn text(&self) -> &'a str {
        match self {
            Self::Event { text, .. } | Self::Attempt(text) => text,
            Self::Done | Self::Problem(_) => "",
        }
    }
}

/// Takes frames. The result counts for [`Frame::Attempt`] only.
pub(crate) type FrameSink<'a> = &'a mut dyn FnMut(Frame<'_>) -> bool;

/// Emits an event. A server may have cut a character in two, so bytes that are not UTF-8 become
/// marks of halves.
pub(crate) fn emit_event(name: &str, bytes: &[u8], sink: FrameSink<'_>) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        sink(Frame::Event {
            name,
            text,
            has_halves: false,
        });
        return;
    }
    match mark_bytes(bytes).filter(|text| has_cut_texts_only(text)) {
        Some(text) => sink(Frame::Event {
            name,
            text: &text,
            has_halves: true,
        }),
        None => sink(Frame::Problem(malformed(
            "expected UTF-8",
            &String::from_utf8_lossy(bytes),
        ))),
    };
}

/// Joins what a decoder has kept and the bytes that follow; without a copy if it has kept nothing.
pub(crate) fn joined<'a>(kept: &mut Vec<u8>, part: &'a [u8]) -> Cow<'a, [u8]> {
    if kept.is_empty() {
        return Cow::Borrowed(part);
    }
    let mut whole = std::mem::take(kept);
    whole.extend_from_slice(part);
    Cow::Owned(whole)
}
