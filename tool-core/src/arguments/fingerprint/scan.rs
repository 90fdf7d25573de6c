//! One pass over a text that was decoded before, and so is known to be JSON without a key that repeats.
//!
//! Of any other text it makes nothing, or something; it always ends.

use super::mix::{Keys, Lanes, Mark};
use super::number;
use super::table::Table;
use serde_json::Deserializer;

/// Deeper than any text that is decoded.
const DEPTH: u8 = 200;

pub(super) struct Scanner<'a> {
    text: &'a str,
    keys: &'a Keys,
    at: usize,
    depth: u8,
    failed: bool,
}

impl<'a> Scanner<'a> {
    #[inline]
    pub(super) fn new(text: &'a str, keys: &'a Keys) -> Self {
        Self { text, keys, at: 0, depth: DEPTH, failed: false }
    }

    /// The sum of the hashes of the entries, those of the defaults among them.
    #[inline]
    pub(super) fn arguments(mut self, table: &Table) -> Option<Lanes> {
        let mut sum = table.defaults();
        let mut guess = 0;
        let mut first = true;
        if self.peek() != b'{' {
            return None;
        }
        self.at += 1;
        while let Some(key) = self.next_key(std::mem::take(&mut first)) {
            let Some((index, slot)) = table.find(key, guess) else {
                sum = sum.plus(self.entry(key));
                continue;
            };
            guess = index + 1;
            if slot.null_is_absent && self.peek() == b'n' {
                self.at += 4;
                continue;
            }
            sum = sum.minus(slot.default).plus(self.entry(slot.parameter));
        }
        let ended = self.peek() == 0 && self.at >= self.text.len();
        (ended && !self.failed).then_some(sum)
    }

    /// The hash of a single value, as the value of a key.
    pub(super) fn only_value(mut self, key: Lanes) -> Option<Lanes> {
        let entry = self.entry(key);
        (!self.failed).then_some(entry)
    }

    #[inline]
    fn entry(&mut self, key: Lanes) -> Lanes {
        let lanes = self.value(key);
        self.keys.finished(lanes)
    }

    /// Goes past the next key and its `:`; nothing at the end of the object.
    #[inline]
    fn next_key(&mut self, first: bool) -> Option<Lanes> {
        let mut byte = self.peek();
        if byte == b',' && !first {
            self.at += 1;
            byte = self.peek();
        }
        if byte != b'"' {
            if byte == b'}' {
                self.at += 1;
            } else {
                self.fail();
            }
            return None;
        }
        let key = self.string(self.keys.entry);
        if self.peek() != b':' {
            self.fail();
            return None;
        }
        self.at += 1;
        Some(key)
    }

    fn value(&mut self, lanes: Lanes) -> Lanes {
        match self.peek() {
            b'"' => self.string(lanes),
            b'-' | b'0'..=b'9' => self.number(lanes),
            b'{' => self.object(lanes),
            b'[' => self.array(lanes),
            b't' => self.literal(lanes, 4, Mark::True),
            b'f' => self.literal(lanes, 5, Mark::False),
            b'n' => self.literal(lanes, 4, Mark::Null),
            _ => {
                self.fail();
                lanes
            }
        }
    }

    #[inline]
    fn literal(&mut self, lanes: Lanes, length: usize, mark: Mark) -> Lanes {
        self.at += length;
        self.keys.marked(lanes, 0, mark)
    }

    #[inline]
    fn array(&mut self, lanes: Lanes) -> Lanes {
        let mut lanes = self.keys.marked(lanes, 0, Mark::Open);
        self.open();
        loop {
            match self.peek() {
                b']' => break,
                b',' => self.at += 1,
                // A failure goes to the end of the text, too.
                0 => {
                    self.fail();
                    break;
                }
                _ => lanes = self.value(lanes),
            }
        }
        self.close();
        self.at += 1;
        self.keys.marked(lanes, 0, Mark::Close)
    }

    fn object(&mut self, lanes: Lanes) -> Lanes {
        let mut sum = Lanes::default();
        let mut first = true;
        self.open();
        while let Some(key) = self.next_key(std::mem::take(&mut first)) {
            sum = sum.plus(self.entry(key));
        }
        self.close();
        self.keys.marked_pair(lanes, sum.a, sum.b, Mark::Object)
    }

    /// The string whose opening quote is the next byte.
    #[inline]
    fn string(&mut self, before: Lanes) -> Lanes {
        let start = self.at;
        let mut lanes = before;
        let mut at = start + 1;
        loop {
            let (with, length) = self.keys.text_block(lanes, self.chunk(at));
            lanes = with;
            at += length;
            if length < 16 {
                break;
            }
        }
        if self.byte(at) == b'"' {
            self.at = at + 1;
            return lanes;
        }
        self.escaped(start, before)
    }

    /// A string with an escape, decoded first. Those of a text that is not JSON have no end, or are none.
    #[cold]
    fn escaped(&mut self, start: usize, before: Lanes) -> Lanes {
        let mut strings = Deserializer::from_str(self.text.get(start..).unwrap_or_default()).into_iter::<String>();
        let Some(Ok(string)) = strings.next() else {
            self.fail();
            return before;
        };
        self.at = start + strings.byte_offset();
        self.keys.text(before, &string)
    }

    /// The number that begins at the next byte.
    #[inline]
    fn number(&mut self, lanes: Lanes) -> Lanes {
        let negative = self.byte(self.at) == b'-';
        let start = self.at + usize::from(negative);
        let (mut at, mut value) = (start, 0_u64);
        let after = loop {
            let byte = self.byte(at);
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break byte;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            at += 1;
        };
        // So many digits cannot overflow.
        if matches!(after, b'.' | b'e' | b'E') || at - start > 19 {
            return self.other_number(lanes);
        }
        self.at = at;
        let mark = if negative && value != 0 { Mark::Negative } else { Mark::Positive };
        self.keys.marked(lanes, value, mark)
    }

    fn other_number(&mut self, lanes: Lanes) -> Lanes {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let ends = |byte: u8| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let token = rest.get(..rest.bytes().position(ends).unwrap_or(rest.len())).unwrap_or_default();
        self.at += token.len();
        number::hash(self.keys, lanes, token)
    }

    /// The 16 bytes from a place on; beyond the end of the text stand quotes.
    #[inline]
    fn chunk(&self, at: usize) -> [u8; 16] {
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        match rest.first_chunk() {
            Some(chunk) => *chunk,
            None => padded(rest),
        }
    }

    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// Skips white space and looks at the byte after it; 0 at the end.
    #[inline]
    fn peek(&mut self) -> u8 {
        let byte = self.byte(self.at);
        if byte > b' ' { byte } else { self.peek_after_space() }
    }

    fn peek_after_space(&mut self) -> u8 {
        while matches!(self.byte(self.at), b' ' | b'\n' | b'\t' | b'\r') {
            self.at += 1;
        }
        self.byte(self.at)
    }

    #[inline]
    fn open(&mut self) {
        self.at += 1;
        match self.depth.checked_sub(1) {
            Some(depth) => self.depth = depth,
            None => self.fail(),
        }
    }

    #[inline]
    fn close(&mut self) {
        self.depth = self.depth.saturating_add(1);
    }

    /// Nothing more is read.
    #[cold]
    fn fail(&mut self) {
        self.failed = true;
        self.at = self.text.len();
    }
}

#[cold]
fn padded(rest: &[u8]) -> [u8; 16] {
    let mut chunk = [b'"'; 16];
    for (place, byte) in chunk.iter_mut().zip(rest) {
        *place = *byte;
    }
    chunk
}
