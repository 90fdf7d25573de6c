//! Strings that are exactly a JSON number, array or object.

use crate::json::number::{exact, number_end, whole};
use crate::json::value;
use serde_json::{Number, Value};

/// Returns the integer that the text spells in any way: `5`, `5.0`, `1e2`. Returns `None` if a JSON number would not hold
/// it exactly.
pub(crate) fn integer(text: &str) -> Option<Number> {
    let number = NumberText::read(text)?;
    let digits = number.whole_digits()?;
    let value: i128 = digits.parse().ok()?;
    let value = if number.negative { -value } else { value };
    match whole(value) {
        // A number beyond 64 bits is a float, which may hold it exactly.
        Value::Number(number) if exact(&number) == Some(value) => Some(number),
        _ => None,
    }
}

/// Returns the number that the text spells, as if it had no quotes. Plain digits must be held exactly. A number with a
/// point or an exponent is a float and rounded like any other.
pub(crate) fn number(text: &str) -> Option<Number> {
    let number = NumberText::read(text)?;
    let is_plain = number.fraction.is_empty() && number.exponent == 0;
    if !number.is_negative_zero() {
        match integer(text) {
            None if is_plain => return None,
            None => {}
            whole => return whole,
        }
    }
    let value: f64 = text.parse().ok()?;
    // A number too small for a float would become zero.
    if value == 0.0 && !number.is_zero() {
        return None;
    }
    Number::from_f64(value)
}

/// Returns the array or object whose JSON the text is.
pub(crate) fn structure(text: &str) -> Option<Value> {
    if !text.trim_start().starts_with(['[', '{']) {
        return None;
    }
    let parsed = value::parse(text).ok()?;
    (parsed.duplicates.is_empty() && parsed.rounded.is_empty()).then_some(parsed.value)
}

/// Returns the depth of the nested arrays and objects.
pub(crate) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// The parts of a JSON number.
struct NumberText<'a> {
    negative: bool,
    integer: &'a str,
    fraction: &'a str,
    exponent: i64,
}

impl<'a> NumberText<'a> {
    fn read(text: &'a str) -> Option<Self> {
        number_end(text, 0).ok().filter(|end| *end == text.len())?;
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        // A longer exponent is beyond any number that can be held.
        let beyond = if exponent.starts_with('-') { -1 << 40 } else { 1 << 40 };
        Some(Self { negative, integer, fraction, exponent: exponent.parse().unwrap_or(beyond) })
    }

    fn is_zero(&self) -> bool {
        self.integer.bytes().chain(self.fraction.bytes()).all(|digit| digit == b'0')
    }

    fn is_negative_zero(&self) -> bool {
        self.negative && self.is_zero()
    }

    /// Returns the digits of the value if it is an integer of at most 40 digits.
    fn whole_digits(&self) -> Option<String> {
        if self.is_zero() {
            return Some("0".to_owned());
        }
        let fraction = self.fraction.trim_end_matches('0');
        let mut digits = format!("{}{fraction}", self.integer);
        let shift = self.exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
        if shift >= 0 {
            let zeros = usize::try_from(shift).ok().filter(|zeros| *zeros <= 40)?;
            digits.push_str(&"0".repeat(zeros));
        } else {
            let cut = usize::try_from(shift.unsigned_abs()).ok()?;
            let kept = digits.len().checked_sub(cut)?;
            let (whole, rest) = digits.split_at_checked(kept)?;
            if rest.bytes().any(|digit| digit != b'0') {
                return None;
            }
            digits = whole.to_owned();
        }
        let digits = digits.trim_start_matches('0');
        (!digits.is_empty() && digits.len() <= 40).then(|| digits.to_owned())
    }
}
