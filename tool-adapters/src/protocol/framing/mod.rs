//! From bytes, cut anywhere, to JSON texts: server-sent events, lines of JSON, whole values, an array of values.

mod find;
mod lines;
mod values;

#[cfg(test)]
mod tests;

use super::event::ProtocolError;
use find::find;
use lines::{Lines, is_field_begun};
use serde::de::IgnoredAny;
use std::borrow::Cow;
use values::{Scan, Scanner};

/// The most bytes of an event that are kept.
pub(super) const MOST: usize = 16 * 1024 * 1024;

/// What stands between two frames of a stream.
#[derive(Debug, PartialEq)]
pub(super) enum Frame<'a> {
    /// An event: a JSON text, as a rule; whoever reads it finds out.
    Event {
        /// The event's name, where it came as a server-sent event that has one.
        name: &'a str,
        /// The text.
        text: &'a str,
    },
    /// What may be one JSON value, of which the end was not looked for. Who reads it says whether it is; where it is
    /// none it is as if it had not been told.
    Guess(&'a str),
    /// The mark that says that a stream is over: `[DONE]`.
    Done,
    /// Something that is no event.
    Problem(ProtocolError),
}

/// Where frames go. It says whether it could read a guess.
pub(super) type Sink<'a> = &'a mut dyn FnMut(Frame<'_>) -> bool;

/// Reads frames off bytes.
#[derive(Debug, Default)]
pub(super) struct Framing {
    state: State,
    /// What came of the line or value that is being read.
    buffer: Vec<u8>,
    lines: Lines,
    /// The values stand in an array, as Gemini sends them.
    in_array: bool,
    /// The line end before was a carriage return: a line feed belongs to it.
    after_return: bool,
    /// Only the first bytes can be a byte order mark.
    begun: bool,
}

#[derive(Debug, Default)]
enum State {
    /// Between lines and values.
    #[default]
    Between,
    /// In a line; whether it is too long to be kept.
    Line { dropped: bool },
    /// In a value; whether it is too long to be kept.
    Value { scanner: Scanner, dropped: bool },
    /// In the rest of a line in which nothing can be read.
    Skip,
}

const MARK: &[u8] = b"\xEF\xBB\xBF";

impl Framing {
    /// Reads the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8], sink: Sink<'_>) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let read = match &mut self.state {
                State::Between => self.between(rest, sink),
                State::Line { .. } => self.line(rest, sink),
                State::Value { .. } => self.value(rest, sink),
                State::Skip => self.skip(rest),
            };
            rest = rest.get(read..).unwrap_or_default();
        }
    }

    /// The stream is over: what is left is read where it can be, and what is cut off is told. Then another may begin.
    pub(super) fn finish(&mut self, sink: Sink<'_>) {
        let mut over = std::mem::take(self);
        let mut cut = false;
        match over.state {
            State::Value { .. } => cut = true,
            State::Line { dropped: false } if is_field_begun(&over.buffer) => cut = true,
            State::Line { dropped: false } => over.whole_line(b"", sink),
            State::Line { dropped: true } | State::Between | State::Skip => {}
        }
        cut |= over.in_array;
        if over.lines.has_event() {
            let whole = |text: &str| text.trim() == "[DONE]" || serde_json::from_str::<IgnoredAny>(text).is_ok();
            if over.lines.data().is_some_and(|data| whole(&String::from_utf8_lossy(data))) {
                over.lines.dispatch(sink);
            } else {
                cut = true;
            }
        }
        if cut {
            sink(Frame::Problem(ProtocolError::Truncated { call_id: None }));
        }
    }

    /// Looks at what begins: a line or a value.
    fn between(&mut self, bytes: &[u8], sink: Sink<'_>) -> usize {
        let Some(&byte) = bytes.first() else { return 0 };
        let after_return = std::mem::take(&mut self.after_return);
        match byte {
            b'\n' if after_return => {}
            b'\n' | b'\r' => {
                self.after_return = byte == b'\r';
                self.lines.dispatch(sink);
            }
            b' ' | b'\t' => {}
            b',' if self.in_array => {}
            b']' if self.in_array => self.in_array = false,
            b'[' if !self.in_array => {
                self.lines.dispatch(sink);
                self.in_array = true;
            }
            b'{' | b'[' => {
                self.lines.dispatch(sink);
                self.begun = true;
                if guess(bytes, sink) {
                    return bytes.len();
                }
                self.state = State::Value { scanner: Scanner::default(), dropped: false };
                return 0;
            }
            _ => {
                self.state = State::Line { dropped: false };
                return 0;
            }
        }
        self.begun = true;
        1
    }

    /// Reads on in a line. Its end is not part of it.
    fn line(&mut self, bytes: &[u8], sink: Sink<'_>) -> usize {
        if !self.begun {
            return self.mark(bytes);
        }
        let end = find(*b"\n\r", bytes);
        let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        let State::Line { dropped } = &mut self.state else { return 0 };
        if self.buffer.len() + part.len() > MOST && !*dropped {
            *dropped = true;
            self.buffer.clear();
            self.lines.drop_event(sink);
        }
        let dropped = *dropped;
        let Some(end) = end else {
            if !dropped {
                self.buffer.extend_from_slice(part);
            }
            return bytes.len();
        };
        if !dropped {
            self.whole_line(part, sink);
        }
        self.state = State::Between;
        self.after_return = bytes.get(end) == Some(&b'\r');
        end + 1
    }

    fn whole_line(&mut self, part: &[u8], sink: Sink<'_>) {
        let line = joined(&mut self.buffer, part);
        // The mark of the end without its `data:`: its bracket was taken for that of an array.
        if self.in_array && *line == *b"DONE]" {
            self.in_array = false;
            sink(Frame::Done);
        } else {
            self.lines.line(&line, sink);
        }
        if let Cow::Owned(mut line) = line {
            line.clear();
            self.buffer = line;
        }
    }

    /// Takes the first bytes for a byte order mark, as far as they are one.
    fn mark(&mut self, bytes: &[u8]) -> usize {
        let read = self.buffer.len();
        let expected = MARK.get(read);
        if expected.is_some() && expected == bytes.first() {
            self.buffer.extend_from_slice(bytes.get(..1).unwrap_or_default());
            if self.buffer == MARK {
                self.buffer.clear();
                self.begun = true;
                self.state = State::Between;
            }
            return 1;
        }
        self.begun = true;
        0
    }

    /// Reads on in a value.
    fn value(&mut self, bytes: &[u8], sink: Sink<'_>) -> usize {
        let State::Value { scanner, dropped } = &mut self.state else { return 0 };
        let scan = scanner.scan(bytes, MOST);
        let end = match scan {
            Scan::Open => bytes.len(),
            Scan::End(end) => end,
            Scan::Broken { at, .. } => at,
        };
        let part = bytes.get(..end).unwrap_or_default();
        if self.buffer.len() + part.len() > MOST && !*dropped {
            *dropped = true;
            self.buffer = Vec::new();
            sink(Frame::Problem(ProtocolError::TooLarge { most: MOST }));
        }
        let dropped = *dropped;
        match scan {
            Scan::Open if dropped => {}
            Scan::Open => self.buffer.extend_from_slice(part),
            Scan::End(_) => {
                if !dropped {
                    event("", &joined(&mut self.buffer, part), sink);
                }
                self.state = State::Between;
            }
            Scan::Broken { anew, .. } => {
                if !dropped {
                    let text = joined(&mut self.buffer, part);
                    sink(Frame::Problem(malformed("a JSON value is broken off", &String::from_utf8_lossy(&text))));
                }
                self.state = if anew { State::Between } else { State::Skip };
            }
        }
        end
    }

    /// Passes over the rest of a line.
    fn skip(&mut self, bytes: &[u8]) -> usize {
        let end = find(*b"\n\r", bytes);
        if end.is_some() {
            self.state = State::Between;
        }
        end.unwrap_or(bytes.len())
    }
}

/// Most chunks that begin with a value and end as one does are one: reading it tells whether it is, for less than
/// looking for its end does.
fn guess(bytes: &[u8], sink: Sink<'_>) -> bool {
    let trimmed = bytes.trim_ascii_end();
    let whole = trimmed.starts_with(b"{") && trimmed.ends_with(b"}") && trimmed.len() <= MOST;
    whole && std::str::from_utf8(trimmed).is_ok_and(|text| sink(Frame::Guess(text)))
}

/// What was kept and what comes now; without a copy where nothing was kept.
fn joined<'a>(kept: &mut Vec<u8>, part: &'a [u8]) -> Cow<'a, [u8]> {
    if kept.is_empty() {
        return Cow::Borrowed(part);
    }
    let mut whole = std::mem::take(kept);
    whole.extend_from_slice(part);
    Cow::Owned(whole)
}

/// Hands on a text. Bytes that are no UTF-8 are told and replaced, so that what stands beside them is not lost.
fn event(name: &str, bytes: &[u8], sink: Sink<'_>) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        sink(Frame::Event { name, text });
        return;
    }
    let text = String::from_utf8_lossy(bytes);
    sink(Frame::Problem(malformed("bytes that are no UTF-8 were replaced", &text)));
    sink(Frame::Event { name, text: &text });
}

/// The error of a text that is not what it should be.
pub(super) fn malformed(message: impl Into<String>, text: &str) -> ProtocolError {
    ProtocolError::Malformed { message: message.into(), text: text.chars().take(200).collect() }
}
