//! Server-sent events, line by line.

use super::find::find;
use super::values::{Scan, Scanner};
use super::{Frame, MOST, Sink, event, malformed};
use crate::protocol::event::ProtocolError;

/// The event that is being read.
#[derive(Debug, Default)]
pub(super) struct Lines {
    name: String,
    data: Vec<u8>,
    /// How many `data` lines there were: two empty ones are an event too.
    count: usize,
    /// It is too long to be kept.
    dropped: bool,
}

const FIELDS: [&[u8]; 4] = [b"data", b"event", b"id", b"retry"];

/// Whether this is a field of an event that was cut off before its value: what it says is not known.
pub(super) fn is_field_begun(line: &[u8]) -> bool {
    FIELDS.iter().any(|field| field.starts_with(line) || line.strip_suffix(b":") == Some(field))
}

impl Lines {
    /// A line, without its end.
    pub(super) fn line(&mut self, line: &[u8], sink: Sink<'_>) {
        let colon = find(*b":", line);
        let (field, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => self.add(value, sink),
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            // A comment, or a field that the format knows, or may know one day.
            b"" | b"id" | b"retry" => {}
            _ if colon.is_some() && field.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-') => {}
            _ => {
                let message = "a line is neither JSON nor a field of a server-sent event";
                sink(Frame::Problem(malformed(message, &String::from_utf8_lossy(line))));
            }
        }
    }

    fn add(&mut self, value: &[u8], sink: Sink<'_>) {
        if self.data.len() + value.len() >= MOST {
            return self.drop_event(sink);
        }
        if !self.dropped {
            self.data.extend_from_slice(if self.count > 0 { b"\n" } else { b"" });
            self.data.extend_from_slice(value);
        }
        self.count += 1;
    }

    /// The event is too long: it is passed over.
    pub(super) fn drop_event(&mut self, sink: Sink<'_>) {
        self.data = Vec::new();
        if !std::mem::replace(&mut self.dropped, true) {
            sink(Frame::Problem(ProtocolError::TooLarge { most: MOST }));
        }
    }

    /// Whether an event has begun.
    pub(super) fn has_event(&self) -> bool {
        !self.dropped && (self.count > 0 || !self.name.is_empty())
    }

    /// What it says so far; `None` where it has said nothing.
    pub(super) fn data(&self) -> Option<&[u8]> {
        (self.count > 0).then_some(self.data.as_slice())
    }

    /// The event is over.
    pub(super) fn dispatch(&mut self, sink: Sink<'_>) {
        let data = self.data.trim_ascii();
        match data {
            _ if self.dropped => {}
            b"" => {}
            data if self.count > 1 => several(&self.name, data, sink),
            data => one(&self.name, data, sink),
        }
        self.name.clear();
        self.data.clear();
        (self.count, self.dropped) = (0, false);
    }
}

/// The data of several lines: one JSON text, as a rule; from servers that leave out the blank line, one a line.
fn several(name: &str, data: &[u8], sink: Sink<'_>) {
    let mut rest = data;
    while !rest.is_empty() {
        let end = match Scanner::default().scan(rest, MOST) {
            Scan::End(end) if rest != b"[DONE]" => end,
            _ => rest.len(),
        };
        let (value, after) = rest.split_at(end);
        one(name, value, sink);
        rest = after.trim_ascii();
    }
}

fn one(name: &str, data: &[u8], sink: Sink<'_>) {
    match data {
        b"[DONE]" => _ = sink(Frame::Done),
        data => event(name, data, sink),
    }
}
