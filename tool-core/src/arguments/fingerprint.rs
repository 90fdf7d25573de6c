//! Arguments as an identity: compared to find loops and duplicates, and hashed to name a call.

use crate::arguments::equality::{EqualityRules, hash_opaque};
use crate::json::string::run_end;
use crate::text::hex;
use rustc_hash::FxBuildHasher;
use sha2::{Digest, Sha256};
use std::hash::BuildHasher;

/// The identity of a call's arguments, to compare it with other calls of a session.
///
/// Two fingerprints are equal if the tools have the same name and the arguments are equal as JSON after the defaults of
/// the parameters are filled in. The order of keys, white space, escapes, and `1` for `1.0` do not matter; every digit of
/// an integer does. An alias counts as the parameter that it names, and a `null` that stands for an absent parameter as
/// its absence. Text that did not decode is compared as it is, and equals no text that did.
#[derive(Clone, Copy)]
pub struct Fingerprint<'a> {
    /// The rules of the tool that accepted the text, if one did.
    rules: Option<&'a EqualityRules>,
    tool: &'a str,
    text: &'a str,
}

impl<'a> Fingerprint<'a> {
    /// Identifies arguments that the tool has accepted.
    pub(crate) fn of(rules: &'a EqualityRules, tool: &'a str, text: &'a str) -> Self {
        Self {
            rules: Some(rules),
            tool,
            text,
        }
    }

    /// Identifies a text that does not decode.
    pub(crate) fn opaque(tool: &'a str, text: &'a str) -> Self {
        Self {
            rules: None,
            tool,
            text,
        }
    }

    /// Returns a 64-bit hash for counters in memory, made by foldhash under a random key of this process. It is not an
    /// identity that may be stored or that grants anything: use [`digest`](Self::digest) for that.
    pub fn fast(&self) -> u64 {
        let accepted = self
            .rules
            .and_then(|rules| rules.hash(self.tool, self.text).ok());
        accepted.unwrap_or_else(|| hash_opaque(self.tool, self.text))
    }

    /// Returns the text if it was accepted, for [`first_difference`](Self::first_difference).
    pub(crate) fn accepted(&self) -> Option<&'a str> {
        self.rules.and(Some(self.text))
    }

    /// Identifies another accepted text of the same tool.
    pub(crate) fn with_text<'b>(&self, text: &'b str) -> Fingerprint<'b>
    where
        'a: 'b,
    {
        Fingerprint { text, ..*self }
    }

    /// Returns a hash of the token in which these arguments first differ from another accepted text of the same tool, and of
    /// its place, if they differ for certain. Otherwise they may be equal or not, and [`fast`](Self::fast) decides.
    ///
    /// Equal arguments return equal hashes. Arguments that return different hashes differ from each other.
    pub(crate) fn first_difference(&self, text: &[u8]) -> Option<u64> {
        let (start, token) = differing_token(text, self.text)?;
        Some(FxBuildHasher.hash_one((start, hash_opaque("", token))))
    }

    /// Returns the SHA-256 of the tool's name and the canonical arguments, as 64 hexadecimal digits. It is the same in
    /// every process.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update([u8::from(self.rules.is_some())]);
        // The length keeps the end of the name apart from the beginning of the text.
        hash.update(
            u64::try_from(self.tool.len())
                .unwrap_or(u64::MAX)
                .to_le_bytes(),
        );
        hash.update(self.tool);
        match self.rules {
            Some(rules) => hash.update(rules.canonical_text(self.text)),
            None => hash.update(self.text),
        }
        hex(&hash.finalize())
    }
}

/// Returns the first token of a text of accepted arguments in which it certainly differs from another one, and its place.
/// Most often this is enough to compare them, and costs little.
///
/// Up to the first byte in which they differ, both texts have the same tokens, so that byte has the same place in the
/// value. If it is inside a string without escapes, a plain number or a truth value in both, the values differ there.
fn differing_token<'t>(other: &[u8], text: &'t str) -> Option<(usize, &'t str)> {
    let one = text.as_bytes();
    let at = same_prefix(one, other);
    let (prefix, a, b) = (one.get(..at)?, *one.get(at)?, *other.get(at)?);
    let in_string = ends_in_string(prefix).filter(|_| a != b'\\' && b != b'\\')?;
    let (start, end) = if in_string {
        (value_start(prefix)?, run_end(one, at))
    } else if matches!((a, b), (b't', b'f') | (b'f', b't')) {
        (at, at + 1)
    } else {
        let start = prefix
            .iter()
            .rposition(|byte| !is_of_number(*byte))
            .map_or(0, |last| last + 1);
        let (number, before) = (plain_number(one, start)?, plain_number(other, start)?);
        if number == before {
            return None;
        }
        (start, start + number.len())
    };
    let is_whole = !in_string || one.get(end) == Some(&b'"');
    text.get(start..end)
        .filter(|_| is_whole)
        .map(|token| (start, token))
}

/// Returns the length of the common prefix, compared eight bytes at a time.
fn same_prefix(one: &[u8], other: &[u8]) -> usize {
    let (ones, _) = one.as_chunks::<8>();
    let (others, _) = other.as_chunks::<8>();
    let words = ones.iter().zip(others).take_while(|(a, b)| a == b).count() * 8;
    let rest = one
        .iter()
        .zip(other)
        .skip(words)
        .take_while(|(a, b)| a == b)
        .count();
    words + rest
}

/// Returns true if a string is open at the end of `prefix`. Returns `None` if there are escapes: with them a string has many
/// spellings, and quotes cannot be counted. Looks at eight bytes at a time.
fn ends_in_string(prefix: &[u8]) -> Option<bool> {
    const LOW: u64 = u64::from_ne_bytes([0x7F; 8]);
    // Marks each byte of a word that equals another byte.
    let marks = |word: u64, byte: u8| {
        let other = word ^ u64::from_ne_bytes([byte; 8]);
        !(((other & LOW) + LOW) | other | LOW)
    };
    let (words, rest) = prefix.as_chunks::<8>();
    let rest = rest
        .iter()
        .fold(0, |word, byte| word << 8 | u64::from(*byte));
    let words = words
        .iter()
        .map(|word| u64::from_ne_bytes(*word))
        .chain([rest]);
    let (quotes, escapes) = words.fold((0, 0), |(quotes, escapes), word| {
        (quotes ^ marks(word, b'"'), escapes | marks(word, b'\\'))
    });
    (escapes == 0).then_some(quotes.count_ones() % 2 == 1)
}

/// Returns the place of the string that is open at the end of `prefix`, if it is a value. After a comma it might be a key.
fn value_start(prefix: &[u8]) -> Option<usize> {
    let open = prefix.iter().rposition(|byte| *byte == b'"')?;
    let before = prefix.get(..open).unwrap_or_default().trim_ascii_end();
    matches!(before.last(), Some(b':' | b'[')).then_some(open + 1)
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E')
}

/// Returns a number that has one spelling without exponent: an integer, or a decimal of so few digits that its float is no
/// other decimal's. `-0` is not returned, because it equals `0`.
fn plain_number(text: &[u8], begin: usize) -> Option<&[u8]> {
    let rest = text.get(begin..)?;
    let end = rest.iter().position(|byte| !is_of_number(*byte))?;
    let number = rest.get(..end)?;
    let digits = number.strip_prefix(b"-").unwrap_or(number);
    let has_digits = !digits.is_empty()
        && digits
            .iter()
            .all(|byte| byte.is_ascii_digit() || *byte == b'.');
    let is_decimal = digits.contains(&b'.');
    let is_plain = if is_decimal {
        digits.len() <= 16 && !digits.ends_with(b"0")
    } else {
        number != b"-0"
    };
    (has_digits && is_plain).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Fingerprint<'_> {
        pub(crate) fn certainly_differs(&self, text: &str) -> bool {
            self.first_difference(text.as_bytes()).is_some()
        }
    }

    fn differ(one: &str, other: &str) -> bool {
        let both = [(one, other), (other, one)]
            .map(|(one, other)| differing_token(one.as_bytes(), other).is_some());
        assert_eq!(both[0], both[1], "{one} {other}");
        both[0]
    }

    #[test]
    fn strings_and_numbers_in_one_place_differ() {
        assert!(differ(r#"{"a":"x","b":1}"#, r#"{"a":"y","b":1}"#));
        assert!(differ(r#"{"a":"x"}"#, r#"{"a":"xy"}"#));
        assert!(differ(r#"{"a":["x"]}"#, r#"{"a":["y"]}"#));
        assert!(differ(r#"{"a": 12}"#, r#"{"a": 13}"#));
        assert!(differ(r#"{"a":12}"#, r#"{"a":120}"#));
        assert!(differ(
            r#"{"a":9007199254740992}"#,
            r#"{"a":9007199254740993}"#
        ));
        assert!(differ(r#"{"a":1.5}"#, r#"{"a":1.25}"#));
        assert!(differ(r#"{"a":-0.5}"#, r#"{"a":0.5}"#));
        assert!(differ(
            r#"{"a":99999999999999.9}"#,
            r#"{"a":99999999999999}"#
        ));
        assert!(differ(r#"{"a":true}"#, r#"{"a":false}"#));
    }

    #[test]
    fn possible_spellings_of_one_value_stay_open() {
        for (one, other) in [
            (r#"{"a":"x"}"#, r#"{"a":"x"}"#),
            (r#"{"a":"x"}"#, r#"{"a":"\u0078"}"#),
            (r#"{"a":"\\","b":"x"}"#, r#"{"a":"\\","b":"y"}"#),
            (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#),
            (r#"{"z":[],"a":1,"b":2}"#, r#"{"z":[],"b":2,"a":1}"#),
            (r#"{"a":1}"#, r#"{"a":1.0}"#),
            (r#"{"a":1}"#, r#"{"a": 1}"#),
            (r#"{"a":10}"#, r#"{"a":1e1}"#),
            (r#"{"a":0}"#, r#"{"a":-0}"#),
            (r#"{"a":1.5}"#, r#"{"a":1.50}"#),
            (r#"{"a":0.1}"#, r#"{"a":0.10000000000000001}"#),
            (r#"{"a":null}"#, r#"{"a":true}"#),
            (r#"{"a":1}"#, r#"{"a":1,"b":5}"#),
            ("", "{}"),
        ] {
            assert!(!differ(one, other), "{one} {other}");
        }
    }
}
