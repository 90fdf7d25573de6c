//! One pass over a text that was decoded before, and so is known to be JSON without a key that repeats.
//!
//! Of any other text it makes nothing, or something; it always ends. One function does nearly all, because what is
//! read next fits into registers there, and a call would cost as much as a short string does.

use super::mix::{Keys, Lanes, Mark};
use super::number;
use super::table::{Slot, Table};
use serde_json::Deserializer;

/// Objects lie less deep in one another in any text that is decoded.
const DEPTH: u8 = 200;

/// A key that was read.
struct Key<'t> {
    /// What its entry begins with.
    lanes: Lanes,
    /// Which parameter it is, if it is one.
    parameter: Option<(usize, &'t Slot)>,
    /// The place behind it.
    end: usize,
}

pub(super) struct Scanner<'a> {
    text: &'a [u8],
    keys: &'a Keys,
    table: &'a Table,
}

impl<'a> Scanner<'a> {
    #[inline]
    pub(super) fn new(text: &'a str, keys: &'a Keys, table: &'a Table) -> Self {
        Self { text: text.as_bytes(), keys, table }
    }

    /// The sum of the hashes of the entries, those of the defaults among them.
    #[inline]
    pub(super) fn arguments(&self) -> Option<Lanes> {
        let (byte, at) = self.peek(0);
        if byte != b'{' {
            return None;
        }
        let (sum, at) = self.object(at + 1, self.table, DEPTH)?;
        let (_, at) = self.peek(at);
        (at >= self.text.len()).then_some(sum)
    }

    /// The sum of the hashes of the entries of an object that was entered, and the place behind it.
    fn object(&self, at: usize, table: &Table, depth: u8) -> Option<(Lanes, usize)> {
        let keys = self.keys;
        let mut sum = table.defaults();
        let mut guess = 0;
        let (mut byte, mut at) = self.peek(at);
        while byte == b'"' {
            let key = self.key(table, guess, at)?;
            let mut lanes = key.lanes;
            (byte, at) = self.peek(key.end);
            if byte != b':' {
                return None;
            }
            (byte, at) = self.peek(at + 1);
            let mut absent = false;
            if let Some((index, slot)) = key.parameter {
                guess = index + 1;
                absent = slot.null_is_absent && byte == b'n';
                sum = if absent { sum } else { sum.minus(slot.default) };
            }
            (lanes, at) = self.value(lanes, byte, at, depth)?;
            sum = if absent { sum } else { sum.plus(keys.finished(lanes)) };
            (byte, at) = self.peek(at);
            if byte == b',' {
                (byte, at) = self.peek(at + 1);
            }
        }
        (byte == b'}').then_some((sum, at + 1))
    }

    /// The key in a place.
    #[inline]
    fn key<'t>(&self, table: &'t Table, guess: usize, at: usize) -> Option<Key<'t>> {
        if let (Some(slot), Some(chunk)) = (table.get(guess), self.text.get(at + 1..).and_then(<[u8]>::first_chunk))
            && slot.spelling.begins(chunk)
        {
            let end = at + 1 + slot.spelling.length;
            return Some(Key { lanes: slot.parameter, parameter: Some((guess, slot)), end });
        }
        let (lanes, end) = self.key_of_any_spelling(at)?;
        let parameter = table.find(lanes);
        Some(Key { lanes: parameter.map_or(lanes, |(_, slot)| slot.parameter), parameter, end })
    }

    #[inline(never)]
    fn key_of_any_spelling(&self, at: usize) -> Option<(Lanes, usize)> {
        self.string(self.keys.entry, at)
    }

    /// Takes in the value that begins with a byte in a place. An array is taken in item by item, without its commas.
    #[inline]
    fn value(&self, mut lanes: Lanes, mut byte: u8, mut at: usize, depth: u8) -> Option<(Lanes, usize)> {
        let mut inside = 0_usize;
        loop {
            (lanes, at) = match byte {
                b'"' => self.string(lanes, at)?,
                b'-' | b'0'..=b'9' => self.number(lanes, at),
                b'[' => {
                    inside += 1;
                    (self.keys.marked(lanes, 0, Mark::Open), at + 1)
                }
                b']' => {
                    inside = inside.checked_sub(1)?;
                    (self.keys.marked(lanes, 0, Mark::Close), at + 1)
                }
                b'{' => {
                    let (sum, at) = self.object(at + 1, Table::NONE, depth.checked_sub(1)?)?;
                    (self.keys.marked_pair(lanes, sum.a, sum.b, Mark::Object), at)
                }
                b't' => (self.keys.marked(lanes, 0, Mark::True), at + 4),
                b'f' => (self.keys.marked(lanes, 0, Mark::False), at + 5),
                b'n' => (self.keys.marked(lanes, 0, Mark::Null), at + 4),
                _ => return None,
            };
            if inside == 0 {
                return Some((lanes, at));
            }
            (byte, at) = self.peek(at);
            if byte == b',' {
                (byte, at) = self.peek(at + 1);
            }
        }
    }

    /// The string whose opening quote is in a place.
    #[expect(clippy::inline_always, reason = "a call costs as much as a short string")]
    #[inline(always)]
    fn string(&self, before: Lanes, start: usize) -> Option<(Lanes, usize)> {
        let mut lanes = before;
        let mut rest = self.text.get(start + 1..)?;
        while let Some((chunk, after)) = rest.split_first_chunk::<16>() {
            let (with, stop) = self.keys.text_block(lanes, chunk);
            lanes = with;
            if let Some(length) = stop {
                return self.closed(lanes, self.text.len() - rest.len() + length, before, start);
            }
            rest = after;
        }
        let (lanes, length) = self.keys.text_block(lanes, &self.pad(rest));
        self.closed(lanes, self.text.len() - rest.len() + length?, before, start)
    }

    /// A string whose end is in a place, unless that is something else there.
    #[inline]
    fn closed(&self, lanes: Lanes, end: usize, before: Lanes, start: usize) -> Option<(Lanes, usize)> {
        if self.text.get(end) == Some(&b'"') { Some((lanes, end + 1)) } else { self.escaped(before, start) }
    }

    /// What is left of the text, and quotes behind it.
    #[inline]
    fn pad(&self, rest: &[u8]) -> [u8; 16] {
        const QUOTES: u128 = u128::from_le_bytes([b'"'; 16]);
        let Some(last) = self.text.last_chunk::<16>().filter(|_| !rest.is_empty()) else { return pad_short(rest) };
        let gone = 8 * (16 - rest.len());
        (u128::from_le_bytes(*last) >> gone | QUOTES << (128 - gone)).to_le_bytes()
    }

    /// A string with an escape, decoded first. Those of a text that is not JSON have no end, or are none.
    #[cold]
    fn escaped(&self, before: Lanes, start: usize) -> Option<(Lanes, usize)> {
        let mut strings = Deserializer::from_slice(self.text.get(start..)?).into_iter::<String>();
        let string = strings.next()?.ok()?;
        Some((self.keys.text(before, &string), start + strings.byte_offset()))
    }

    /// The number that begins in a place.
    #[inline]
    fn number(&self, lanes: Lanes, start: usize) -> (Lanes, usize) {
        let negative = self.byte(start) == b'-';
        let first = start + usize::from(negative);
        let (mut at, mut value) = (first, 0_u64);
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
        if matches!(after, b'.' | b'e' | b'E') || at - first > 19 {
            return self.other_number(lanes, start);
        }
        let mark = if negative && value != 0 { Mark::Negative } else { Mark::Positive };
        (self.keys.marked(lanes, value, mark), at)
    }

    #[inline(never)]
    fn other_number(&self, lanes: Lanes, start: usize) -> (Lanes, usize) {
        let rest = self.text.get(start..).unwrap_or_default();
        let ends = |byte: &u8| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let token = rest.iter().position(ends).and_then(|end| rest.get(..end)).unwrap_or(rest);
        let text = str::from_utf8(token).unwrap_or_default();
        (number::hash(self.keys, lanes, text), start + token.len())
    }

    /// The byte in a place, or 0 at the end of the text.
    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    /// The next byte that is no white space, and its place; 0 at the end of the text.
    #[inline]
    fn peek(&self, at: usize) -> (u8, usize) {
        let byte = self.byte(at);
        if byte > b' ' { (byte, at) } else { self.peek_after_space(at) }
    }

    #[cold]
    fn peek_after_space(&self, mut at: usize) -> (u8, usize) {
        while matches!(self.byte(at), b' ' | b'\n' | b'\t' | b'\r') {
            at += 1;
        }
        (self.byte(at), at)
    }
}

#[cold]
fn pad_short(rest: &[u8]) -> [u8; 16] {
    let mut chunk = [b'"'; 16];
    for (place, byte) in chunk.iter_mut().zip(rest) {
        *place = *byte;
    }
    chunk
}
