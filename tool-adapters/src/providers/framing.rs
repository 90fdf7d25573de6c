//! From bytes, cut anywhere, to JSON texts: server-sent events, lines of JSON, whole values, an array of values.

use crate::providers::event::ProtocolError;
use serde::de::IgnoredAny;
use std::borrow::Cow;

/// The most bytes of an event that are kept.
pub(crate) const MOST: usize = 16 * 1024 * 1024;

/// What stands between two frames of a stream.
#[derive(Debug, PartialEq)]
pub(crate) enum Frame<'a> {
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
pub(crate) type Sink<'a> = &'a mut dyn FnMut(Frame<'_>) -> bool;

/// Reads frames off bytes.
#[derive(Debug, Default)]
pub(crate) struct Framing {
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
    pub(crate) fn push(&mut self, bytes: &[u8], sink: Sink<'_>) {
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
    pub(crate) fn finish(&mut self, sink: Sink<'_>) {
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
pub(crate) fn malformed(message: impl Into<String>, text: &str) -> ProtocolError {
    ProtocolError::Malformed { message: message.into(), text: text.chars().take(200).collect() }
}

// ---- Where a byte stands, eight bytes at a time.

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The place of the first byte that is one of `needles`.
pub(crate) fn find<const N: usize>(needles: [u8; N], bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let hits = needles.iter().fold(0, |hits, needle| {
            // A byte that is the needle is zero here, and only below the first zero byte is no other taken for one.
            let other = word ^ (LOW * u64::from(*needle));
            hits | (other.wrapping_sub(LOW) & !other & HIGH)
        });
        if hits != 0 {
            return Some(at * 8 + hits.trailing_zeros() as usize / 8);
        }
    }
    let at = rest.iter().position(|byte| needles.contains(byte))?;
    Some(words.len() * 8 + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_first_one(bytes in prop::collection::vec(prop_oneof![any::<u8>(), 8..16_u8], 0..40)) {
            let plain = bytes.iter().position(|byte| b"\n\r".contains(byte));
            prop_assert_eq!(find(*b"\n\r", &bytes), plain);
        }
    }
}

// ---- Server-sent events, line by line.

/// The event that is being read.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    name: String,
    data: Vec<u8>,
    /// How many `data` lines there were: two empty ones are an event too.
    count: usize,
    /// It is too long to be kept.
    dropped: bool,
}

const FIELDS: [&[u8]; 4] = [b"data", b"event", b"id", b"retry"];

/// Whether this is a field of an event that was cut off before its value: what it says is not known.
pub(crate) fn is_field_begun(line: &[u8]) -> bool {
    FIELDS.iter().any(|field| field.starts_with(line) || line.strip_suffix(b":") == Some(field))
}

impl Lines {
    /// A line, without its end.
    pub(crate) fn line(&mut self, line: &[u8], sink: Sink<'_>) {
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
    pub(crate) fn drop_event(&mut self, sink: Sink<'_>) {
        self.data = Vec::new();
        if !std::mem::replace(&mut self.dropped, true) {
            sink(Frame::Problem(ProtocolError::TooLarge { most: MOST }));
        }
    }

    /// Whether an event has begun.
    pub(crate) fn has_event(&self) -> bool {
        !self.dropped && (self.count > 0 || !self.name.is_empty())
    }

    /// What it says so far; `None` where it has said nothing.
    pub(crate) fn data(&self) -> Option<&[u8]> {
        (self.count > 0).then_some(self.data.as_slice())
    }

    /// The event is over.
    pub(crate) fn dispatch(&mut self, sink: Sink<'_>) {
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

// ---- Where a JSON value ends, found byte by byte.

/// Follows one JSON object or array over any number of chunks. It knows as much of the grammar as it takes to notice
/// that a value was broken off and another one begins.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    /// The objects (`true`) and arrays that are open.
    open: Vec<bool>,
    in_text: bool,
    escaped: bool,
    /// The last byte that is no white space.
    last: u8,
    /// Nothing stands before on this line.
    at_line_start: bool,
}

/// What a chunk holds of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scan {
    /// All of the chunk belongs to it, and it is not over.
    Open,
    /// It ends before this byte.
    End(usize),
    /// It is no JSON: this byte cannot stand here.
    Broken {
        /// Where.
        at: usize,
        /// Another value begins there.
        anew: bool,
    },
}

impl Scanner {
    /// Goes on with `bytes`; the first byte of all has to be `{` or `[`. At most `most` levels deep.
    pub(crate) fn scan(&mut self, bytes: &[u8], most: usize) -> Scan {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if self.in_text {
                match self.text(bytes.get(at..).unwrap_or_default()) {
                    Ok(read) => at += read,
                    Err(read) => return Scan::Broken { at: at + read, anew: false },
                }
                continue;
            }
            match byte {
                b' ' | b'\t' => {}
                b'\n' | b'\r' => self.at_line_start = true,
                b'{' | b'[' if !self.may_open() || self.open.len() >= most => {
                    return Scan::Broken { at, anew: self.at_line_start };
                }
                b'{' | b'[' => {
                    self.open.push(byte == b'{');
                    self.significant(byte);
                }
                b'}' | b']' => {
                    if self.open.pop() != Some(byte == b'}') {
                        return Scan::Broken { at, anew: false };
                    }
                    if self.open.is_empty() {
                        return Scan::End(at + 1);
                    }
                    self.significant(byte);
                }
                _ => {
                    self.in_text = byte == b'"';
                    self.significant(byte);
                }
            }
            at += 1;
        }
        Scan::Open
    }

    /// Reads on in a text: how many bytes, up to its end; or the one that no text may have, a raw line end.
    fn text(&mut self, bytes: &[u8]) -> Result<usize, usize> {
        let mut at = usize::from(std::mem::take(&mut self.escaped));
        while let Some(next) = find(*b"\"\\\n\r", bytes.get(at..).unwrap_or_default()) {
            at += next;
            match bytes.get(at) {
                Some(b'"') => {
                    self.in_text = false;
                    return Ok(at + 1);
                }
                Some(b'\\') => at += 2,
                _ => return Err(at),
            }
        }
        self.escaped = at > bytes.len();
        Ok(bytes.len())
    }

    /// Whether an object or array may begin here: after `:` in an object, after `[` or `,` in an array.
    fn may_open(&self) -> bool {
        match self.open.last() {
            None => true,
            Some(true) => self.last == b':',
            Some(false) => matches!(self.last, b'[' | b','),
        }
    }

    fn significant(&mut self, byte: u8) {
        self.last = byte;
        self.at_line_start = false;
    }
}
