//! Server-sent events, line by line.

use crate::event::{ProtocolError, malformed};
use crate::framing::frame::{Frame, FrameSink, MAX_EVENT_BYTES, emit_event, joined};
use crate::framing::json::{JsonDecoder, JsonScanner, Scan};
use crate::json_reader::differs_in_one_byte;
use memchr::{memchr, memchr2};
use serde::de::IgnoredAny;
use std::borrow::Cow;

const DONE: &[u8] = b"[DONE]";

/// Reads server-sent events.
#[derive(Debug, Default)]
pub(crate) struct SseDecoder {
    /// The part of the current line that has arrived.
    line: Vec<u8>,
    /// True if the current line is too long to be kept.
    line_dropped: bool,
    /// True after a carriage return: a line feed that follows belongs to the same line end.
    after_return: bool,
    event: PendingEvent,
    /// The JSON values between events.
    json: JsonDecoder,
}

impl SseDecoder {
    pub(crate) fn push(&mut self, bytes: &[u8], sink: FrameSink<'_>) {
        let mut rest = bytes;
        while let Some((first, after)) = rest.split_first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                rest = after;
                continue;
            }
            if self.is_between()
                && let Some((name, data, after)) = whole_event(rest)
            {
                emit_data(name, data, sink);
                rest = after;
                continue;
            }
            let end = memchr2(b'\n', b'\r', rest);
            let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
            if self.line.len() + part.len() > MAX_EVENT_BYTES
                && !std::mem::replace(&mut self.line_dropped, true)
            {
                self.line = Vec::new();
                self.event.drop_data(sink);
            }
            let Some((line_end, after)) = after.split_first() else {
                if !self.line_dropped {
                    self.line.extend_from_slice(part);
                }
                return;
            };
            self.after_return = *line_end == b'\r';
            if !std::mem::take(&mut self.line_dropped) {
                self.end_line(part, sink);
            }
            rest = after;
        }
    }

    /// Ends the message; returns true if it is cut off.
    pub(crate) fn finish(mut self, sink: FrameSink<'_>) -> bool {
        let mut cut = false;
        if is_partial_field(&self.line) && !self.json.is_open() {
            cut = true;
        } else if !self.line.is_empty() {
            self.end_line(b"", sink);
        }
        if self.event.has_begun() {
            cut |= !self.event.is_complete();
            if self.event.is_complete() {
                self.event.dispatch(sink);
            }
        }
        self.json.finish(sink) || cut
    }

    /// Returns true if nothing is open.
    fn is_between(&self) -> bool {
        let event = &self.event;
        self.line.is_empty()
            && !self.line_dropped
            && !event.dropped
            && !event.has_begun()
            && !self.json.is_open()
    }

    fn end_line(&mut self, part: &[u8], sink: FrameSink<'_>) {
        let line = joined(&mut self.line, part);
        self.read_line(&line, sink);
        // The buffer is used again.
        if let Cow::Owned(mut line) = line {
            line.clear();
            self.line = line;
        }
    }

    fn read_line(&mut self, line: &[u8], sink: FrameSink<'_>) {
        if self.json.is_open() {
            return self.read_json(line, sink);
        }
        let indent = line
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        match line.get(indent..).unwrap_or_default() {
            DONE => {
                self.event.dispatch(sink);
                sink(Frame::Done);
            }
            json @ [b'{' | b'[', ..] => self.read_json(json, sink),
            [] => self.event.dispatch(sink),
            line => self.event.read_field(line, sink),
        }
    }

    fn read_json(&mut self, line: &[u8], sink: FrameSink<'_>) {
        self.event.dispatch(sink);
        self.json.push(line, sink);
        self.json.push(b"\n", sink);
    }
}

/// Splits off an event in the usual form, which is read in place: its name, its data and a blank
/// line.
fn whole_event(bytes: &[u8]) -> Option<(&str, &[u8], &[u8])> {
    let line = |bytes: &'_ [u8]| memchr2(b'\n', b'\r', bytes).filter(|end| *end < MAX_EVENT_BYTES);
    let (name, rest) = match bytes.strip_prefix(b"event: ") {
        Some(rest) => rest.split_at_checked(line(rest)?)?,
        None => (&[][..], bytes),
    };
    let rest = if name.is_empty() {
        rest
    } else {
        rest.strip_prefix(b"\n")?
    };
    let rest = rest.strip_prefix(b"data: ")?;
    let (data, rest) = rest.split_at_checked(line(rest)?)?;
    let after = rest.strip_prefix(b"\n\n")?;
    let data = Some(data.trim_ascii()).filter(|data| !data.is_empty())?;
    Some((std::str::from_utf8(name).ok()?, data, after))
}

/// Returns true for a value that may be the data of an event.
fn begins_event(value: &[u8]) -> bool {
    matches!(value.first(), Some(b'{' | b'['))
}

/// Returns true for a field that was cut off before its value.
fn is_partial_field(line: &[u8]) -> bool {
    const FIELDS: [&[u8]; 4] = [b"data", b"event", b"id", b"retry"];
    let is_part = |field: &&[u8]| field.starts_with(line) || line.strip_suffix(b":") == Some(field);
    !line.is_empty() && FIELDS.iter().any(is_part)
}

/// The event that is being read.
#[derive(Debug, Default)]
struct PendingEvent {
    name: String,
    data: Vec<u8>,
    /// The number of `data` lines.
    lines: usize,
    /// True if the data is too large to be kept.
    dropped: bool,
}

impl PendingEvent {
    fn read_field(&mut self, line: &[u8], sink: FrameSink<'_>) {
        let colon = memchr(b':', line);
        let (field, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => self.add_data(value, sink),
            b"event" => match std::str::from_utf8(value) {
                Ok(name) => name.clone_into(&mut self.name),
                Err(_) => self.name = String::from_utf8_lossy(value).into_owned(),
            },
            // A comment, or a field that has no meaning here.
            b"" | b"id" | b"retry" => {}
            b"date" if !begins_event(value) => {}
            // Damaged on its way.
            field if differs_in_one_byte(field, b"data") => {
                let message = "expected `data` as the field of a server-sent event";
                sink(Frame::Problem(malformed(
                    message,
                    &String::from_utf8_lossy(line),
                )));
            }
            _ if colon.is_some()
                && field
                    .iter()
                    .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-') => {}
            _ => {
                let message = "expected JSON or a field of a server-sent event";
                sink(Frame::Problem(malformed(
                    message,
                    &String::from_utf8_lossy(line),
                )));
            }
        }
    }

    fn add_data(&mut self, value: &[u8], sink: FrameSink<'_>) {
        if self.data.len() + value.len() >= MAX_EVENT_BYTES {
            return self.drop_data(sink);
        }
        if !self.dropped {
            self.data
                .extend_from_slice(if self.lines > 0 { b"\n" } else { b"" });
            self.data.extend_from_slice(value);
        }
        self.lines += 1;
    }

    fn drop_data(&mut self, sink: FrameSink<'_>) {
        self.data = Vec::new();
        if !std::mem::replace(&mut self.dropped, true) {
            sink(Frame::Problem(ProtocolError::TooLarge {
                most: MAX_EVENT_BYTES,
            }));
        }
    }

    fn has_begun(&self) -> bool {
        !self.dropped && (self.lines > 0 || !self.name.is_empty())
    }

    /// Returns true if the data is whole although no blank line has ended the event.
    fn is_complete(&self) -> bool {
        let is_whole =
            |value: &[u8]| value == DONE || serde_json::from_slice::<IgnoredAny>(value).is_ok();
        self.lines > 0 && values(self.data.trim_ascii()).all(is_whole)
    }

    /// Emits the event.
    fn dispatch(&mut self, sink: FrameSink<'_>) {
        let data = self.data.trim_ascii();
        if !self.dropped && !data.is_empty() {
            match self.lines {
                ..=1 => emit_data(&self.name, data, sink),
                _ => emit_lines(&self.name, data, sink),
            }
        }
        self.name.clear();
        self.data.clear();
        (self.lines, self.dropped) = (0, false);
    }
}

fn emit_data(name: &str, data: &[u8], sink: FrameSink<'_>) {
    if data == DONE {
        sink(Frame::Done);
    } else {
        emit_event(name, data, sink);
    }
}

/// Emits data of several lines. It is one JSON text, or one a line from servers that leave out the
/// blank lines.
fn emit_lines(name: &str, data: &[u8], sink: FrameSink<'_>) {
    values(data).for_each(|value| emit_data(name, value, sink));
}

/// Returns the JSON texts in the data of an event.
fn values(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = data;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = match JsonScanner::default().scan(rest) {
            Scan::End(end) if rest != DONE => end,
            _ => rest.len(),
        };
        let (value, after) = rest.split_at(end);
        rest = after.trim_ascii();
        Some(value)
    })
}
