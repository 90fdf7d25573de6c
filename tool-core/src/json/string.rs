//! Strings: found eight bytes at a time, borrowed where they hold no escape.

use crate::json::decoder::{Decoder, Key};
use crate::json::error::Error;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = ONES << 7;

/// Marks (in the high bit of its byte) the first of eight bytes that is special in a JSON string: a quote, a backslash
/// or a control character. Bytes after the first may be marked wrongly, as subtraction borrows upwards only.
#[inline]
pub(crate) fn special(word: u64) -> u64 {
    // Flipping bit 1 brings the quote (0x22) down to 0x20, next to the control characters, and keeps those there.
    let quote_or_control = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
    let backslash = (word ^ (ONES * 0x5C)).wrapping_sub(ONES);
    (quote_or_control | backslash) & !word & HIGH
}

/// The first quote, backslash or control character from a place on, or the end of the text.
#[inline]
fn run_end(bytes: &[u8], at: usize) -> usize {
    let mut rest = bytes.get(at..).unwrap_or_default();
    while let Some((chunk, tail)) = rest.split_first_chunk::<8>() {
        let found = special(u64::from_le_bytes(*chunk));
        if found != 0 {
            return bytes.len() - rest.len() + (found.trailing_zeros() / 8) as usize;
        }
        rest = tail;
    }
    let ends = |&byte: &u8| byte < b' ' || byte == b'"' || byte == b'\\';
    bytes.len() - rest.len() + rest.iter().position(ends).unwrap_or(rest.len())
}

impl<'de> Decoder<'de> {
    /// Reads the string whose opening quote is the next byte.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<Key<'de>, Error> {
        match self.plain() {
            Some(text) => Ok(Key::Borrowed(text)),
            None => self.escaped().map(Key::Owned),
        }
    }

    /// As [`Decoder::string`], if the string is well formed and holds no escape; otherwise stays where it is.
    /// Apart from [`Decoder::escaped`] so that the common result fits two registers.
    pub(crate) fn plain(&mut self) -> Option<&'de str> {
        let start = self.at + 1;
        let end = run_end(self.text.as_bytes(), start);
        if self.byte(end) != b'"' {
            return None;
        }
        self.at = end + 1;
        self.text.get(start..end)
    }

    /// Goes to the next key of an object and reads it with its `:`, in the form that most texts have: no escape,
    /// and at most one space, after the comma. Stays where it is for anything else.
    pub(crate) fn plain_key(&mut self, first: bool) -> Option<&'de str> {
        let mut at = self.at;
        if !first {
            if self.byte(at) != b',' {
                return None;
            }
            at += 1;
            at += usize::from(self.byte(at) == b' ');
        }
        if self.byte(at) != b'"' {
            return None;
        }
        let start = at + 1;
        let end = run_end(self.text.as_bytes(), start);
        if self.byte(end) != b'"' || self.byte(end + 1) != b':' {
            return None;
        }
        self.at = end + 2;
        self.text.get(start..end)
    }

    /// As [`Decoder::string`], for a string that holds an escape or is malformed.
    #[cold]
    pub(crate) fn escaped(&mut self) -> Result<String, Error> {
        let mut text = String::new();
        self.runs(|run, escape| {
            text.push_str(run);
            text.extend(escape);
        })?;
        Ok(text)
    }

    /// Checks the string whose opening quote is the next byte.
    #[inline]
    pub(crate) fn check_string(&mut self) -> Result<(), Error> {
        match self.plain() {
            Some(_) => Ok(()),
            None => self.runs(|_, _| ()),
        }
    }

    /// Reads a string as plain runs, each but the last followed by an escaped character.
    fn runs(&mut self, mut part: impl FnMut(&'de str, Option<char>)) -> Result<(), Error> {
        self.at += 1;
        loop {
            let start = self.at;
            self.at = run_end(self.text.as_bytes(), start);
            let run = self.slice(start, self.at)?;
            match self.byte(self.at) {
                b'"' => {
                    self.at += 1;
                    part(run, None);
                    return Ok(());
                }
                b'\\' => part(run, Some(self.escape()?)),
                _ => return Err(self.syntax("control character in a string")),
            }
        }
    }

    /// Reads an escape at its backslash.
    fn escape(&mut self) -> Result<char, Error> {
        let character = match self.byte(self.at + 1) {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(),
            _ => return Err(self.syntax("unknown escape in a string")),
        };
        self.at += 2;
        Ok(character)
    }

    /// Reads `\uXXXX`, or the two of them that make a surrogate pair. Half a pair is no character.
    fn unicode_escape(&mut self) -> Result<char, Error> {
        let first = self.code_unit(self.at)?;
        let (scalar, length) = match first {
            0xD800..=0xDBFF => match self.code_unit(self.at + 6) {
                Ok(second @ 0xDC00..=0xDFFF) => (0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00), 12),
                _ => return Err(self.syntax("lone surrogate in a string")),
            },
            other => (other, 6),
        };
        // What is left to refuse here is a low surrogate on its own.
        let character = char::from_u32(scalar).ok_or_else(|| self.syntax("lone surrogate in a string"))?;
        self.at += length;
        Ok(character)
    }

    /// The four hex digits of a `\uXXXX` at a place.
    fn code_unit(&self, at: usize) -> Result<u32, Error> {
        let wrong = || Error::syntax("expected `\\u` and four hex digits", at);
        if self.byte(at) != b'\\' || self.byte(at + 1) != b'u' {
            return Err(wrong());
        }
        (at + 2..at + 6).try_fold(0, |unit, place| {
            let digit = char::from(self.byte(place)).to_digit(16).ok_or_else(wrong)?;
            Ok(unit * 16 + digit)
        })
    }
}
