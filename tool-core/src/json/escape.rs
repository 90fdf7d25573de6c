//! Strings: what must be escaped is found eight bytes at a time, what stands between is copied whole.

use crate::json::string::special;
use crate::json::writer::{Error, Writer};
use std::fmt;
use std::fmt::Write;

/// The place of the first mark.
#[inline]
fn place(marks: u64) -> usize {
    (marks.trailing_zeros() / 8) as usize
}

/// Whether nothing is to be escaped.
#[inline]
fn is_plain(bytes: &[u8]) -> bool {
    match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        // Two words, which may overlap, hold all of most names and words.
        (Some(first), Some(last)) if bytes.len() <= 16 => {
            special(u64::from_le_bytes(*first)) | special(u64::from_le_bytes(*last)) == 0
        }
        _ => plain(bytes) == bytes.len(),
    }
}

/// How many bytes stand before the first to be escaped.
fn plain(bytes: &[u8]) -> usize {
    let Some(last) = bytes.last_chunk::<8>() else {
        return plain_short(bytes);
    };
    let mut rest = bytes;
    while let Some((chunk, tail)) = rest.split_first_chunk::<8>() {
        let marks = special(u64::from_le_bytes(*chunk));
        if marks != 0 {
            return bytes.len() - rest.len() + place(marks);
        }
        rest = tail;
    }
    // The end again with what stands before it, which holds no mark.
    match special(u64::from_le_bytes(*last)) {
        0 => bytes.len(),
        marks => bytes.len() - 8 + place(marks),
    }
}

/// As [`plain`], for less than eight bytes.
#[inline]
fn plain_short(bytes: &[u8]) -> usize {
    let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) else {
        let special = |&byte: &u8| byte < b' ' || byte == b'"' || byte == b'\\';
        return bytes.iter().position(special).unwrap_or(bytes.len());
    };
    let word = u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32;
    match special(word) {
        0 => bytes.len(),
        marks if place(marks) < 4 => place(marks),
        marks => bytes.len() + place(marks) - 8,
    }
}

/// Adds a string with its quotes.
#[inline]
pub(crate) fn push_string(text: &mut String, value: &str) {
    text.push('"');
    push_escaped(text, value);
    text.push('"');
}

/// Adds a string without its quotes.
#[inline]
fn push_escaped(text: &mut String, value: &str) {
    if is_plain(value.as_bytes()) {
        text.push_str(value);
    } else {
        push_runs(text, value);
    }
}

/// Adds a string that holds something to be escaped.
#[inline(never)]
fn push_runs(text: &mut String, value: &str) {
    let mut rest = value;
    loop {
        let end = plain(rest.as_bytes());
        let (Some(run), Some(&byte)) = (rest.get(..end), rest.as_bytes().get(end)) else {
            break;
        };
        text.push_str(run);
        push_escape(text, byte);
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    text.push_str(rest);
}

fn push_escape(text: &mut String, byte: u8) {
    let short = match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        b'\n' => "\\n",
        b'\r' => "\\r",
        b'\t' => "\\t",
        0x08 => "\\b",
        0x0C => "\\f",
        _ => {
            let digit = |nibble| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
            text.push_str("\\u00");
            text.push(digit(byte >> 4));
            text.push(digit(byte & 0xF));
            return;
        }
    };
    text.push_str(short);
}

impl Writer {
    /// Whether a string with up to six more characters around it fits even if each of its bytes is escaped, which
    /// takes six at most.
    #[inline]
    fn surely_fits(&self, value: &str) -> bool {
        value.len() < self.room() / 8
    }

    /// Writes a string value.
    pub(crate) fn string(&mut self, value: &str) -> Result<(), Error> {
        if !self.surely_fits(value) {
            return self.tight_string(value);
        }
        push_string(&mut self.text, value);
        Ok(())
    }

    /// Writes a struct's key, with what stands around it.
    pub(crate) fn field(&mut self, first: bool, key: &'static str) -> Result<(), Error> {
        if !self.surely_fits(key) {
            return self.tight_field(first, key);
        }
        let text = &mut self.text;
        if first {
            text.push('"');
        } else {
            text.push_str(",\"");
        }
        push_escaped(text, key);
        text.push_str("\":");
        Ok(())
    }

    #[cold]
    fn tight_field(&mut self, first: bool, key: &str) -> Result<(), Error> {
        if !first {
            self.push(",")?;
        }
        self.tight_string(key)?;
        self.push(":")
    }

    /// As [`Writer::string`], close to the limit or verbatim.
    #[cold]
    fn tight_string(&mut self, value: &str) -> Result<(), Error> {
        if let Some(limit) = self.verbatim.take() {
            self.limit = limit;
            return self.push(value);
        }
        self.push("\"")?;
        self.part(value)?;
        self.push("\"")
    }

    /// Writes part of a string.
    fn part(&mut self, value: &str) -> Result<(), Error> {
        // An escape is no shorter than what it stands for: what is cut off here is past the limit in any case.
        let kept = value.get(..value.floor_char_boundary(self.room())).unwrap_or_default();
        push_escaped(&mut self.text, kept);
        if kept.len() < value.len() || self.text.len() > self.limit {
            return Err(self.fill());
        }
        Ok(())
    }

    /// Writes what a value displays as a string value.
    pub(crate) fn display(&mut self, value: fmt::Arguments<'_>) -> Result<(), Error> {
        if self.verbatim.is_some() {
            return self.tight_string(&value.to_string());
        }
        self.push("\"")?;
        let mut parts = Parts { writer: self, error: None };
        if parts.write_fmt(value).is_err() {
            return Err(parts.error.unwrap_or_else(Error::display));
        }
        self.push("\"")
    }

    /// Has the next string, which is JSON, written as it stands.
    #[cold]
    pub(crate) fn expect_verbatim(&mut self) {
        self.verbatim = Some(self.limit);
        self.limit = 0;
    }
}

struct Parts<'a> {
    writer: &'a mut Writer,
    error: Option<Error>,
}

impl Write for Parts<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.writer.part(part).map_err(|error| {
            self.error = Some(error);
            fmt::Error
        })
    }
}
