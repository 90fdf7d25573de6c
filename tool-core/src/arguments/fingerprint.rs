//! Arguments as an identity: compared to find loops and duplicates, and hashed to name a call.

use crate::arguments::equality::{EqualityRules, hash_opaque};
use crate::text::hex;
use sha2::{Digest, Sha256};

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
        Self { rules: Some(rules), tool, text }
    }

    /// Identifies a text that does not decode.
    pub(crate) fn opaque(tool: &'a str, text: &'a str) -> Self {
        Self { rules: None, tool, text }
    }

    /// Returns a 64-bit hash for counters in memory, made by foldhash under a random key of this process. It is not an
    /// identity that may be stored or that grants anything: use [`digest`](Self::digest) for that.
    pub fn fast(&self) -> u64 {
        let accepted = self.rules.and_then(|rules| rules.hash(self.tool, self.text).ok());
        accepted.unwrap_or_else(|| hash_opaque(self.tool, self.text))
    }

    /// Returns the text if it was accepted, for [`certainly_differs`](Self::certainly_differs).
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

    /// Returns true if these arguments certainly differ from another accepted text of the same tool. Otherwise they may
    /// be equal or not, and [`fast`](Self::fast) decides.
    pub(crate) fn certainly_differs(&self, text: &str) -> bool {
        certainly_differ(self.text.as_bytes(), text.as_bytes())
    }

    /// Returns the SHA-256 of the tool's name and the canonical arguments, as 64 hexadecimal digits. It is the same in
    /// every process.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update([u8::from(self.rules.is_some())]);
        // The length keeps the end of the name apart from the beginning of the text.
        hash.update(u64::try_from(self.tool.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(self.tool);
        match self.rules {
            Some(rules) => hash.update(rules.canonical_text(self.text)),
            None => hash.update(self.text),
        }
        hex(&hash.finalize())
    }
}

/// Returns true if two texts of accepted arguments certainly differ. Most often this is enough, and costs little.
///
/// Up to the first byte in which they differ, both texts have the same tokens, so that byte has the same place in the
/// value. If it is inside a string or an integer without escapes in both, the values differ there.
fn certainly_differ(one: &[u8], other: &[u8]) -> bool {
    let at = same_prefix(one, other);
    let (Some(prefix), Some(a), Some(b)) = (one.get(..at), one.get(at), other.get(at)) else { return false };
    // With escapes a string has many spellings, and quotes cannot be counted.
    let (quotes, escapes) = prefix.iter().fold((0_u8, 0_u8), |(quotes, escapes), byte| {
        (quotes ^ u8::from(*byte == b'"'), escapes | u8::from(*byte == b'\\'))
    });
    if escapes != 0 || *a == b'\\' || *b == b'\\' {
        return false;
    }
    if quotes == 1 { is_value(prefix) } else { numbers_differ(one, other, at) }
}

/// Returns the length of the common prefix, compared eight bytes at a time.
fn same_prefix(one: &[u8], other: &[u8]) -> usize {
    let (ones, _) = one.as_chunks::<8>();
    let (others, _) = other.as_chunks::<8>();
    let words = ones.iter().zip(others).take_while(|(a, b)| a == b).count() * 8;
    let rest = one.iter().zip(other).skip(words).take_while(|(a, b)| a == b).count();
    words + rest
}

/// Returns true if the string that is open at the end of `prefix` is a value. After a comma it might be a key.
fn is_value(prefix: &[u8]) -> bool {
    let open = prefix.iter().rposition(|byte| *byte == b'"').unwrap_or(0);
    let before = prefix.get(..open).unwrap_or_default().trim_ascii_end();
    matches!(before.last(), Some(b':' | b'['))
}

/// Returns true if both texts have an integer here, in plain digits, and not the same one.
fn numbers_differ(one: &[u8], other: &[u8], at: usize) -> bool {
    let begin =
        one.get(..at).unwrap_or_default().iter().rposition(|byte| !is_of_number(*byte)).map_or(0, |last| last + 1);
    match (plain_number(one, begin), plain_number(other, begin)) {
        (Some(a), Some(b)) => a != b,
        _ => false,
    }
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E')
}

/// Returns the digits of an integer with its sign. `-0` is not returned, because it equals `0`.
fn plain_number(text: &[u8], begin: usize) -> Option<&[u8]> {
    let rest = text.get(begin..)?;
    let end = rest.iter().position(|byte| !is_of_number(*byte))?;
    let number = rest.get(..end)?;
    let digits = number.strip_prefix(b"-").unwrap_or(number);
    let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) && number != b"-0";
    plain.then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differ(one: &str, other: &str) -> bool {
        let both =
            [certainly_differ(one.as_bytes(), other.as_bytes()), certainly_differ(other.as_bytes(), one.as_bytes())];
        assert_eq!(both[0], both[1], "{one} {other}");
        both[0]
    }

    #[test]
    fn strings_and_integers_in_one_place_differ() {
        assert!(differ(r#"{"a":"x","b":1}"#, r#"{"a":"y","b":1}"#));
        assert!(differ(r#"{"a":"x"}"#, r#"{"a":"xy"}"#));
        assert!(differ(r#"{"a":["x"]}"#, r#"{"a":["y"]}"#));
        assert!(differ(r#"{"a": 12}"#, r#"{"a": 13}"#));
        assert!(differ(r#"{"a":12}"#, r#"{"a":120}"#));
        assert!(differ(r#"{"a":9007199254740992}"#, r#"{"a":9007199254740993}"#));
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
            (r#"{"a":1}"#, r#"{"a":1,"b":5}"#),
            ("", "{}"),
        ] {
            assert!(!differ(one, other), "{one} {other}");
        }
    }
}
