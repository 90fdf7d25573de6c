//! JSON values one after another, and where each ends.

use crate::event::{ProtocolError, malformed};
use crate::framing::frame::{Frame, FrameSink, MAX_EVENT_BYTES, emit_event, joined};
use memchr::memchr2;
use tool_core::json::{StringPart, StringScanner};

/// Reads JSON values: one, several in lines, or the items of an array.
#[derive(Debug, Default)]
pub(crate) struct JsonDecoder {
    state: State,
    /// The part of the current value or line that has arrived.
    buffer: Vec<u8>,
    /// True if the current value or line is too large or too broken to be kept.
    dropped: bool,
    /// True inside an array whose items are the events.
    in_array: bool,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Between,
    Value(JsonScanner),
    /// In a line that is not JSON, or in the rest of one that cannot be read and is dropped.
    Garbage,
}

impl JsonDecoder {
    /// Returns true inside a value or an array.
    pub(crate) fn is_open(&self) -> bool {
        self.in_array || matches!(self.state, State::Value(_))
    }

    pub(crate) fn push(&mut self, bytes: &[u8], sink: FrameSink<'_>) {
        let mut rest = bytes;
        // Offered once: bytes with many values would be looked at again for each.
        let mut may_be_whole = true;
        while !rest.is_empty() {
            let read = match &mut self.state {
                State::Between => self.read_between(rest, &mut may_be_whole, sink),
                State::Value(_) => self.read_value(rest, sink),
                State::Garbage => self.read_garbage(rest, sink),
            };
            rest = rest.get(read..).unwrap_or_default();
        }
    }

    /// Ends the message; returns true if it is cut off.
    pub(crate) fn finish(mut self, sink: FrameSink<'_>) -> bool {
        let cut = matches!(self.state, State::Value(_));
        if matches!(self.state, State::Garbage) {
            self.end_garbage(b"", sink);
        }
        cut || self.in_array
    }

    fn read_between(
        &mut self,
        bytes: &[u8],
        may_be_whole: &mut bool,
        sink: FrameSink<'_>,
    ) -> usize {
        match bytes.first() {
            Some(b'\n' | b'\r' | b' ' | b'\t') => 1,
            Some(b',') if self.in_array => 1,
            Some(b']') if self.in_array => {
                self.in_array = false;
                1
            }
            Some(b'[') if !self.in_array => {
                self.in_array = true;
                1
            }
            Some(b'{' | b'[') => {
                if std::mem::take(may_be_whole) && is_whole_value(bytes, sink) {
                    return bytes.len();
                }
                self.state = State::Value(JsonScanner::default());
                0
            }
            _ => {
                self.state = State::Garbage;
                0
            }
        }
    }

    fn read_value(&mut self, bytes: &[u8], sink: FrameSink<'_>) -> usize {
        let State::Value(scanner) = &mut self.state else {
            return 0;
        };
        let scan = scanner.scan(bytes);
        let end = match scan {
            Scan::Open => bytes.len(),
            Scan::End(at) | Scan::Broken { at, .. } => at,
        };
        let part = bytes.get(..end).unwrap_or_default();
        self.check_size(part, sink);
        match scan {
            Scan::Open if !self.dropped => self.buffer.extend_from_slice(part),
            Scan::Open => {}
            Scan::End(_) => {
                if !std::mem::take(&mut self.dropped) {
                    emit_event("", &joined(&mut self.buffer, part), sink);
                }
                self.state = State::Between;
            }
            Scan::Broken { restarts, .. } => {
                if !std::mem::replace(&mut self.dropped, !restarts) {
                    let text = joined(&mut self.buffer, part);
                    sink(Frame::Problem(malformed(
                        "a JSON value is broken off",
                        &String::from_utf8_lossy(&text),
                    )));
                }
                self.state = if restarts {
                    State::Between
                } else {
                    State::Garbage
                };
            }
        }
        end
    }

    fn read_garbage(&mut self, bytes: &[u8], sink: FrameSink<'_>) -> usize {
        let end = memchr2(b'\n', b'\r', bytes);
        let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        self.check_size(part, sink);
        if end.is_some() {
            self.end_garbage(part, sink);
        } else if !self.dropped {
            self.buffer.extend_from_slice(part);
        }
        part.len()
    }

    fn end_garbage(&mut self, part: &[u8], sink: FrameSink<'_>) {
        self.state = State::Between;
        let line = joined(&mut self.buffer, part);
        if std::mem::take(&mut self.dropped) {
            return;
        }
        // The bracket of `[DONE]` was taken for that of an array.
        if self.in_array && *line == *b"DONE]" {
            self.in_array = false;
            sink(Frame::Done);
        } else {
            sink(Frame::Problem(malformed(
                "expected JSON",
                &String::from_utf8_lossy(&line),
            )));
        }
    }

    /// Drops a value or a line that grows too large.
    fn check_size(&mut self, part: &[u8], sink: FrameSink<'_>) {
        if self.buffer.len() + part.len() > MAX_EVENT_BYTES
            && !std::mem::replace(&mut self.dropped, true)
        {
            self.buffer = Vec::new();
            sink(Frame::Problem(ProtocolError::TooLarge {
                most: MAX_EVENT_BYTES,
            }));
        }
    }
}

/// Offers bytes that begin and end as an object does to the sink. Most are one value, and parsing
/// them costs less than looking for the end first.
fn is_whole_value(bytes: &[u8], sink: FrameSink<'_>) -> bool {
    let blank = bytes
        .iter()
        .rev()
        .take_while(|byte| matches!(byte, b'\n' | b'\r' | b' ' | b'\t'))
        .count();
    let value = bytes.get(..bytes.len() - blank).unwrap_or_default();
    let whole = value.starts_with(b"{") && value.ends_with(b"}") && value.len() <= MAX_EVENT_BYTES;
    whole && std::str::from_utf8(value).is_ok_and(|text| sink(Frame::Attempt(text)))
}

/// Finds the end of one JSON object or array in any number of chunks. It knows as much of the
/// grammar as it takes to notice that a value is broken off and another one begins.
#[derive(Debug, Default)]
pub(crate) struct JsonScanner {
    /// The open objects (`true`) and arrays.
    open: Vec<bool>,
    strings: StringScanner,
    /// The last byte that is not white space.
    last: u8,
    /// True if nothing precedes on the line.
    at_line_start: bool,
}

/// The part of a value in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scan {
    /// The value goes on.
    Open,
    /// The value ends before this index.
    End(usize),
    /// The byte at this index cannot follow. `restarts` if another value begins with it.
    Broken { at: usize, restarts: bool },
}

impl JsonScanner {
    /// Reads on. The first byte of all must be `{` or `[`.
    pub(crate) fn scan(&mut self, bytes: &[u8]) -> Scan {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if self.strings.is_in_string() {
                match self
                    .strings
                    .skip_string(bytes.get(at..).unwrap_or_default())
                {
                    StringPart::Open => return Scan::Open,
                    StringPart::End(read) => at += read,
                    StringPart::Broken(read) => {
                        return Scan::Broken {
                            at: at + read,
                            restarts: false,
                        };
                    }
                }
                continue;
            }
            self.strings.step(byte);
            match byte {
                b' ' | b'\t' => {}
                b'\n' | b'\r' => self.at_line_start = true,
                b'{' | b'[' if !self.may_open() || self.open.len() >= MAX_EVENT_BYTES => {
                    return Scan::Broken {
                        at,
                        restarts: self.at_line_start,
                    };
                }
                b'{' | b'[' => {
                    self.open.push(byte == b'{');
                    self.note(byte);
                }
                b'}' | b']' => {
                    if self.open.pop() != Some(byte == b'}') {
                        return Scan::Broken {
                            at,
                            restarts: false,
                        };
                    }
                    if self.open.is_empty() {
                        return Scan::End(at + 1);
                    }
                    self.note(byte);
                }
                _ => self.note(byte),
            }
            at += 1;
        }
        Scan::Open
    }

    /// Returns true if an object or array may begin: after `:` in an object, after `[` or `,` in an
    /// array.
    fn may_open(&self) -> bool {
        match self.open.last() {
            None => true,
            Some(true) => self.last == b':',
            Some(false) => matches!(self.last, b'[' | b','),
        }
    }

    fn note(&mut self, byte: u8) {
        self.last = byte;
        self.at_line_start = false;
    }
}
