//! Texts that are exactly a number, a boolean or a structure of JSON.

use crate::json::value;
use crate::schema::numbers;
use serde_json::{Number, Value};

/// The whole number that the text spells, however it spells it: `5`, `5.0`, `1e2`. Nothing where the value would
/// change by being held.
pub(crate) fn integer(text: &str) -> Option<Number> {
    let spelled = Spelled::read(text)?;
    let digits = spelled.whole_digits()?;
    let value: i128 = digits.parse().ok()?;
    let value = if spelled.negative { -value } else { value };
    match numbers::whole(value) {
        // Beyond 64 bits a float holds it, where it holds it exactly.
        Value::Number(number) if numbers::exact(&number) == Some(value) => Some(number),
        _ => None,
    }
}

/// The number that the text spells, just as if the quotes were not there. Digits alone are a whole number, which is
/// held exactly or not at all; with a point or an exponent it is a float, and rounded like any.
pub(crate) fn number(text: &str) -> Option<Number> {
    let spelled = Spelled::read(text)?;
    let is_plain = spelled.fraction.is_empty() && spelled.exponent == 0;
    if !spelled.is_negative_zero() {
        match integer(text) {
            None if is_plain => return None,
            None => {}
            whole => return whole,
        }
    }
    let value: f64 = text.parse().ok()?;
    // A number too small for a float would become zero.
    if value == 0.0 && !spelled.is_zero() {
        return None;
    }
    Number::from_f64(value)
}

/// The array or object that the text spells.
pub(crate) fn structure(text: &str) -> Option<Value> {
    if !text.trim_start().starts_with(['[', '{']) {
        return None;
    }
    let parsed = value::parse(text).ok()?;
    (parsed.duplicates.is_empty() && parsed.rounded.is_empty()).then_some(parsed.value)
}

/// How many containers lie inside one another.
pub(crate) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// A number by the grammar of JSON, taken apart.
struct Spelled<'a> {
    negative: bool,
    integer: &'a str,
    fraction: &'a str,
    exponent: i64,
}

impl<'a> Spelled<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (integer, rest) = digits(rest);
        if integer.is_empty() || (integer.len() > 1 && integer.starts_with('0')) {
            return None;
        }
        let (fraction, rest) = match rest.strip_prefix('.') {
            None => ("", rest),
            Some(rest) => Some(digits(rest)).filter(|(fraction, _)| !fraction.is_empty())?,
        };
        let exponent = match rest.strip_prefix(['e', 'E']) {
            None => Some(0).filter(|_| rest.is_empty()),
            Some(rest) => exponent(rest),
        }?;
        Some(Self { negative, integer, fraction, exponent })
    }

    fn is_zero(&self) -> bool {
        self.integer.bytes().chain(self.fraction.bytes()).all(|digit| digit == b'0')
    }

    fn is_negative_zero(&self) -> bool {
        self.negative && self.is_zero()
    }

    /// The digits of the value where it is whole and of a length that some integer has.
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

fn digits(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn exponent(text: &str) -> Option<i64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (number, rest) = digits(unsigned);
    if number.is_empty() || !rest.is_empty() {
        return None;
    }
    // Whatever needs more than a few digits is beyond any number that can be held.
    let value: i64 = number.parse().unwrap_or(1 << 40);
    Some(if text.starts_with('-') { -value } else { value })
}
