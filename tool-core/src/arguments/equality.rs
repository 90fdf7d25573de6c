//! Which arguments are equal: loops are found by it, approvals and the journal name a call by it.
//!
//! - `fingerprint`: arguments as something to compare; `canonical_text`: one text for all that are equal
//! - `differ`: a look that costs next to nothing and most often is enough
//! - `mix`: the hash, keyed with what this process drew by lot
//! - `scan`: one pass over the text, without a value and without a copy
//! - `number`: numbers by their value
//! - `parameters`, `table`: the names and the defaults of a tool's parameters, and their hashes, made once

use crate::arguments::digest::{Keys, Parameters, Scanner, keys};
use crate::json::value;
use crate::schema::canonical::canonical;
use crate::schema::walk::join_pointer;
use crate::text::hex;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

// ---- Arguments as something to compare.

/// Arguments, to be compared with those of other calls of a session.
///
/// Equal exactly where the tool has the same name and the arguments are equal as JSON after the defaults of the
/// parameters are filled in: the order of keys, white space, escapes, and `1` for `1.0` do not matter, every digit of a
/// whole number does. An alias counts as the parameter that it names, and a `null` that stands for an absent parameter
/// as its absence. Text that did not decode is compared as it is, and equals nothing that did.
#[derive(Clone, Copy)]
pub struct Fingerprint<'a> {
    parameters: Option<&'a Parameters>,
    tool: &'a str,
    text: &'a str,
}

impl<'a> Fingerprint<'a> {
    /// Of arguments that the tool has accepted.
    pub(crate) fn of(parameters: &'a Parameters, tool: &'a str, text: &'a str) -> Self {
        Self { parameters: Some(parameters), tool, text }
    }

    /// Of a text that does not decode.
    pub(crate) fn opaque(tool: &'a str, text: &'a str) -> Self {
        Self { parameters: None, tool, text }
    }

    /// A hash under a key that each process draws anew: for stores in memory. Nobody who cannot read this process's
    /// memory can make two arguments that collide.
    pub fn fast(&self) -> u128 {
        let keys = keys();
        let scanned = self.parameters.and_then(|parameters| {
            let table = &parameters.table;
            Scanner::new(self.text, keys, table).arguments()
        });
        match scanned {
            Some(sum) => keys.decoded(self.tool, sum),
            None => self.fast_as_text(keys),
        }
    }

    #[cold]
    fn fast_as_text(&self, keys: &Keys) -> u128 {
        keys.opaque(self.tool, self.text)
    }

    /// The text, where it decoded: what [`certainly_differs`](Self::certainly_differs) can be asked of later.
    pub(crate) fn decoded(&self) -> Option<&'a str> {
        self.parameters.and(Some(self.text))
    }

    /// The same for another accepted text of the same tool.
    pub(crate) fn with_text<'b>(&self, text: &'b str) -> Fingerprint<'b>
    where
        'a: 'b,
    {
        Fingerprint { text, ..*self }
    }

    /// Whether these arguments are other ones than those of an accepted text of the same tool, for certain. Where this
    /// is false they may be either: ask [`fast`](Self::fast).
    pub(crate) fn certainly_differs(&self, text: &str) -> bool {
        certainly_differ(self.text.as_bytes(), text.as_bytes())
    }

    /// The same in every process, for stores that processes share: 32 hexadecimal digits, half of the SHA-256 of the
    /// tool's name and the canonical text.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        // Behind its length the name cannot run into the text.
        hash.update([u8::from(self.parameters.is_some())]);
        hash.update(u64::try_from(self.tool.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(self.tool);
        match self.parameters {
            Some(parameters) => hash.update(canonical_text(parameters, self.text)),
            None => hash.update(self.text),
        }
        hex(hash.finalize().get(..16).unwrap_or_default())
    }
}

// ---- A cheap look at two texts, which most often tells that they are not equal.
//
// Up to the first byte in which they differ both texts have the same tokens, and so stand at the same place of the same
// value. If that is inside a text or a number that is written in the plain way in both, the values differ there.

/// Whether two texts of accepted arguments are different for certain. Where this is false they may be either.
pub(crate) fn certainly_differ(one: &[u8], other: &[u8]) -> bool {
    let at = same_prefix(one, other);
    let (Some(prefix), Some(a), Some(b)) = (one.get(..at), one.get(at), other.get(at)) else { return false };
    // With escapes one text has many spellings, and quotes are not to be counted.
    let (quotes, escapes) = prefix.iter().fold((0_u8, 0_u8), |(quotes, escapes), byte| {
        (quotes ^ u8::from(*byte == b'"'), escapes | u8::from(*byte == b'\\'))
    });
    if escapes != 0 || *a == b'\\' || *b == b'\\' {
        return false;
    }
    if quotes == 1 { is_value(prefix) } else { numbers_differ(one, other, at) }
}

/// How many bytes both begin with, found eight at a time.
fn same_prefix(one: &[u8], other: &[u8]) -> usize {
    let (ones, _) = one.as_chunks::<8>();
    let (others, _) = other.as_chunks::<8>();
    let words = ones.iter().zip(others).take_while(|(a, b)| a == b).count() * 8;
    let rest = one.iter().zip(other).skip(words).take_while(|(a, b)| a == b).count();
    words + rest
}

/// Whether the text that is open at the end of `prefix` is a value: after a comma it might be a key.
fn is_value(prefix: &[u8]) -> bool {
    let open = prefix.iter().rposition(|byte| *byte == b'"').unwrap_or(0);
    let before = prefix.get(..open).unwrap_or_default().trim_ascii_end();
    matches!(before.last(), Some(b':' | b'['))
}

/// Whether both have a number here, as plain digits, and not the same.
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

/// The digits of a whole number, with its sign. `-0` is not one: it is written in two ways.
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
    use crate::arguments::equality::certainly_differ;

    fn differ(one: &str, other: &str) -> bool {
        let both =
            [certainly_differ(one.as_bytes(), other.as_bytes()), certainly_differ(other.as_bytes(), one.as_bytes())];
        assert_eq!(both[0], both[1], "{one} {other}");
        both[0]
    }

    // R-L3
    #[test]
    fn texts_and_whole_numbers_in_one_place_are_told_apart() {
        assert!(differ(r#"{"a":"x","b":1}"#, r#"{"a":"y","b":1}"#));
        assert!(differ(r#"{"a":"x"}"#, r#"{"a":"xy"}"#));
        assert!(differ(r#"{"a":["x"]}"#, r#"{"a":["y"]}"#));
        assert!(differ(r#"{"a": 12}"#, r#"{"a": 13}"#));
        assert!(differ(r#"{"a":12}"#, r#"{"a":120}"#));
        assert!(differ(r#"{"a":9007199254740992}"#, r#"{"a":9007199254740993}"#));
    }

    // R-L3
    #[test]
    fn what_may_be_another_spelling_is_left_open() {
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

// ---- Arguments as one text for all that are equal.

/// The canonical JSON of arguments that the tool has accepted, with the defaults of its parameters filled in: the text
/// that goes into the history, that a person agrees to, and that a call is recognised by. Decoded again it gives the
/// same arguments. Text that is no JSON object is given back as it is.
pub(crate) fn canonical_text(parameters: &Parameters, text: &str) -> String {
    let Ok(parsed) = value::parse(text) else { return text.to_owned() };
    let Value::Object(mut members) = parsed.value else { return text.to_owned() };
    if !parsed.duplicates.is_empty() {
        return text.to_owned();
    }
    let mut spelled = parsed.rounded;
    fill(parameters, &mut members, &mut spelled);
    let mut out = String::with_capacity(text.len());
    write(&Value::Object(members), "", &spelled, &mut out);
    out
}

fn fill(parameters: &Parameters, members: &mut Map<String, Value>, spelled: &mut [(String, String)]) {
    for parameter in &parameters.all {
        for alias in parameter.aliases {
            let Some(value) = members.remove(*alias) else { continue };
            members.insert(parameter.name.clone(), value);
            lead_from(&join_pointer("", alias), &join_pointer("", &parameter.name), spelled);
        }
        if parameter.null_is_absent && members.get(&parameter.name).is_some_and(Value::is_null) {
            members.remove(&parameter.name);
        }
        if let (Some(default), false) = (&parameter.default, members.contains_key(&parameter.name)) {
            members.insert(parameter.name.clone(), default.clone());
        }
    }
}

/// The pointers into a member, after it got another name.
fn lead_from(before: &str, now: &str, pointers: &mut [(String, String)]) {
    for (pointer, _) in pointers {
        let rest = pointer.strip_prefix(before).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        if let Some(rest) = rest {
            *pointer = format!("{now}{rest}");
        }
    }
}

/// Writes the canonical text, in which whole numbers that the value holds rounded stand with their digits.
/// Recursion is bounded by the depth that arguments may have.
fn write(value: &Value, pointer: &str, spelled: &[(String, String)], out: &mut String) {
    let here = |(place, _): &&(String, String)| {
        place.strip_prefix(pointer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match (value, spelled.iter().find(here)) {
        (Value::Array(items), Some(_)) => {
            for (position, item) in items.iter().enumerate() {
                out.push(if position == 0 { '[' } else { ',' });
                write(item, &join_pointer(pointer, &position.to_string()), spelled, out);
            }
            out.push(']');
        }
        (Value::Object(members), Some(_)) => {
            let mut members = members.iter().collect::<Vec<_>>();
            members.sort_unstable_by_key(|(name, _)| *name);
            for (position, (name, member)) in members.into_iter().enumerate() {
                out.push(if position == 0 { '{' } else { ',' });
                out.push_str(&canonical(&Value::from(name.as_str())));
                out.push(':');
                write(member, &join_pointer(pointer, name), spelled, out);
            }
            out.push('}');
        }
        (_, Some((_, digits))) => out.push_str(digits),
        (value, None) => out.push_str(&canonical(value)),
    }
}
