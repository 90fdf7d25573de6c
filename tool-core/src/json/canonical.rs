//! Canonical JSON: equal values have the same text, and different values have different ones.
//!
//! Keys are sorted by their bytes, numbers are written by their exact value (`1.0` and `1e0` are
//! `1`, an integer beyond 2^53 is not rounded), and there is no white space. Versions are hashed
//! from it, and calls are compared by it.

use crate::json::number::exact;
use crate::json::string::push_string;
use crate::json::value::RoundedNumbers;
use serde_json::{Number, Value};
use std::fmt::Write as _;

/// Returns the canonical text of a value.
pub(crate) fn canonical(value: &Value) -> String {
    canonical_exact(value, &RoundedNumbers::None)
}

/// Returns the canonical text of a value, with all digits of the integers that the value holds
/// rounded.
pub(crate) fn canonical_exact(value: &Value, rounded: &RoundedNumbers) -> String {
    write(value, rounded, true)
}

/// Returns the text of a value with its keys in their order, and with all digits of its integers.
pub(crate) fn ordered_exact(value: &Value, rounded: &RoundedNumbers) -> String {
    write(value, rounded, false)
}

/// Returns the first eight hexadecimal digits of the SHA-256 of the canonical text.
#[cfg(feature = "session")]
pub(crate) fn short_hash(value: &Value) -> String {
    use sha2::{Digest, Sha256};

    let digest = Sha256::digest(canonical(value));
    let head = digest
        .iter()
        .take(4)
        .fold(0_u32, |head, byte| head << 8 | u32::from(*byte));
    format!("{head:08x}")
}

fn write(value: &Value, rounded: &RoundedNumbers, is_canonical: bool) -> String {
    let mut writer = ValueWriter {
        text: String::new(),
        is_canonical,
    };
    writer.value(value, rounded);
    writer.text
}

struct ValueWriter {
    text: String,
    is_canonical: bool,
}

impl ValueWriter {
    /// Appends a value. The recursion is bounded by the depth of arguments and of schemas.
    fn value(&mut self, value: &Value, rounded: &RoundedNumbers) {
        match value {
            Value::Null => self.text.push_str("null"),
            Value::Bool(value) => self.text.push_str(if *value { "true" } else { "false" }),
            Value::Number(number) => self.number(number, rounded),
            Value::String(string) => push_string(&mut self.text, string),
            Value::Array(items) => {
                self.text.push('[');
                for (position, item) in items.iter().enumerate() {
                    self.text.push_str(if position > 0 { "," } else { "" });
                    let inside = if rounded.is_none() {
                        rounded
                    } else {
                        rounded.member(&position.to_string())
                    };
                    self.value(item, inside);
                }
                self.text.push(']');
            }
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                if self.is_canonical {
                    members.sort_unstable_by_key(|(name, _)| *name);
                }
                self.text.push('{');
                for (position, (name, member)) in members.into_iter().enumerate() {
                    self.text.push_str(if position > 0 { "," } else { "" });
                    push_string(&mut self.text, name);
                    self.text.push(':');
                    self.value(member, rounded.member(name));
                }
                self.text.push('}');
            }
        }
    }

    fn number(&mut self, number: &Number, rounded: &RoundedNumbers) {
        if rounded.is_none() && !number.is_f64() {
            let _ = write!(self.text, "{number}");
            return;
        }
        // No integer has the sign of a negative zero, which is 0 in canonical JSON only.
        let negative_zero = number
            .as_f64()
            .is_some_and(|float| float == 0.0 && float.is_sign_negative());
        let text = match (rounded, exact(number)) {
            (RoundedNumbers::Digits(digits), _) => digits.clone(),
            (_, Some(whole)) if self.is_canonical || !negative_zero => whole.to_string(),
            (_, _) => number.to_string(),
        };
        self.text.push_str(&text);
    }
}
