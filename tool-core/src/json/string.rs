//! JSON strings. Reading borrows a string without escapes; writing copies the runs between escapes.
//! Both look for special characters eight bytes at a time.

use crate::json::error::Error;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = ONES << 7;

/// Marks, in the high bit of its byte, the first of eight bytes that is special in a JSON string: a
/// quote, a backslash or a control character. Later bytes may be marked wrongly, because a
/// subtraction borrows from the bytes above.
#[inline]
fn special(word: u64) -> u64 {
    // Flipping bit 1 moves the quote (0x22) to 0x20, next to the control characters, which stay
    // below it.
    let quote_or_control = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
    let backslash = (word ^ (ONES * 0x5C)).wrapping_sub(ONES);
    (quote_or_control | backslash) & !word & HIGH
}

fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// Returns the number of bytes before the first that is special in a JSON string: a quote, a
/// backslash or a control character. That is 8 if there is none.
///
/// ```
/// use tool_core::json::run_length;
///
/// assert_eq!(run_length(*b"plain\"en"), 5);
/// assert_eq!(run_length(*b"all of 8"), 8);
/// ```
#[inline]
pub fn run_length(word: [u8; 8]) -> usize {
    first_mark(special(u64::from_le_bytes(word)))
}

/// Returns the index of the first marked byte; 8 without marks.
#[inline]
fn first_mark(marks: u64) -> usize {
    (marks.trailing_zeros() / 8) as usize
}

// Reading.

/// Returns the place of the first byte from `at` on that is a quote, a backslash or a control
/// character, or the end of the text.
///
/// ```
/// use tool_core::json::run_end;
///
/// assert_eq!(run_end(b"\"seven\\u0041\"", 1), 6);
/// ```
#[inline]
pub fn run_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let run = run_length(*word);
        at += run;
        if run < 8 {
            return at;
        }
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let special = rest.iter().position(|byte| is_special(*byte));
    at + special.unwrap_or(rest.len())
}

/// Reads the string whose opening quote is at `at`, as plain runs of which each but the last is
/// followed by an escaped character. Returns the place behind the closing quote.
pub(crate) fn read_runs<'de>(
    text: &'de str,
    at: usize,
    mut run: impl FnMut(&'de str, Option<char>),
) -> Result<usize, Error> {
    let mut start = at + 1;
    loop {
        let end = run_end(text.as_bytes(), start);
        let plain = text
            .get(start..end)
            .ok_or_else(|| Error::syntax("text cut inside a character", start))?;
        match text.as_bytes().get(end) {
            Some(b'"') => {
                run(plain, None);
                return Ok(end + 1);
            }
            Some(b'\\') => {
                let (character, length) = read_escape(text, end)?;
                run(plain, Some(character));
                start = end + length;
            }
            _ => {
                return Err(Error::unexpected_byte(
                    text,
                    end,
                    "control character in a string",
                ));
            }
        }
    }
}

/// Reads the escape whose backslash is at `at`. Returns its character and its length.
fn read_escape(text: &str, at: usize) -> Result<(char, usize), Error> {
    let character = match text.as_bytes().get(at + 1) {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return read_unicode_escape(text, at),
        _ => return Err(Error::syntax("unknown escape in a string", at)),
    };
    Ok((character, 2))
}

/// Reads `\uXXXX`, or the two of them that make a surrogate pair. Half a pair is an error.
fn read_unicode_escape(text: &str, at: usize) -> Result<(char, usize), Error> {
    let lone_surrogate = || Error::syntax("lone surrogate in a string", at);
    let first = code_unit(text, at)?;
    let (scalar, length) = match first {
        0xD800..=0xDBFF => match code_unit(text, at + 6) {
            Ok(second @ 0xDC00..=0xDFFF) => {
                (0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00), 12)
            }
            _ => return Err(lone_surrogate()),
        },
        other => (other, 6),
    };
    // A low surrogate without a high one is no scalar.
    char::from_u32(scalar)
        .map(|character| (character, length))
        .ok_or_else(lone_surrogate)
}

/// Reads the four hexadecimal digits of the `\uXXXX` at `at`.
fn code_unit(text: &str, at: usize) -> Result<u32, Error> {
    let error = || Error::syntax("expected `\\u` and four hex digits", at);
    let escape = text
        .as_bytes()
        .get(at..at + 6)
        .and_then(|escape| escape.strip_prefix(b"\\u"))
        .ok_or_else(error)?;
    escape.iter().try_fold(0, |unit, byte| {
        let digit = char::from(*byte).to_digit(16).ok_or_else(error)?;
        Ok(unit * 16 + digit)
    })
}

// Writing.

/// Appends a string with its quotes.
#[inline]
pub(crate) fn push_string(text: &mut String, value: &str) {
    text.push('"');
    push_escaped(text, value);
    text.push('"');
}

/// Appends a string without its quotes.
#[inline]
pub(crate) fn push_escaped(text: &mut String, value: &str) {
    if is_plain(value.as_bytes()) {
        text.push_str(value);
    } else {
        push_runs(text, value);
    }
}

/// Appends a string that has something to escape.
#[inline(never)]
fn push_runs(text: &mut String, value: &str) {
    let mut rest = value;
    loop {
        let end = plain_length(rest.as_bytes());
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

/// Returns true for a string without anything to escape.
#[inline]
fn is_plain(bytes: &[u8]) -> bool {
    match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        // Most names and words fit in two words of eight bytes, which may overlap.
        (Some(first), Some(last)) if bytes.len() <= 16 => {
            special(u64::from_le_bytes(*first)) | special(u64::from_le_bytes(*last)) == 0
        }
        _ => plain_length(bytes) == bytes.len(),
    }
}

/// Returns the number of bytes before the first one to escape.
fn plain_length(bytes: &[u8]) -> usize {
    let Some(last) = bytes.last_chunk::<8>() else {
        return short_plain_length(bytes);
    };
    let mut rest = bytes;
    while let Some((chunk, tail)) = rest.split_first_chunk::<8>() {
        let marks = special(u64::from_le_bytes(*chunk));
        if marks != 0 {
            return bytes.len() - rest.len() + first_mark(marks);
        }
        rest = tail;
    }
    // The last eight bytes overlap with what was searched before, which holds no mark.
    match special(u64::from_le_bytes(*last)) {
        0 => bytes.len(),
        marks => bytes.len() - 8 + first_mark(marks),
    }
}

/// Returns the number of bytes before the first one to escape, of fewer than eight.
#[inline]
fn short_plain_length(bytes: &[u8]) -> usize {
    let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) else {
        return bytes
            .iter()
            .position(|byte| is_special(*byte))
            .unwrap_or(bytes.len());
    };
    let word = u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32;
    match special(word) {
        0 => bytes.len(),
        marks if first_mark(marks) < 4 => first_mark(marks),
        marks => bytes.len() + first_mark(marks) - 8,
    }
}
