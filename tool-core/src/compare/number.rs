//! Numbers that are more than a few digits, by the value that a decoder holds of them.

use super::mix::{Keys, Lanes, Mark};
use crate::schema::numbers::exact;
use serde_json::Number;

/// What a number's text comes to: one form for each number, as in the canonical text.
enum Form<'a> {
    Whole(i128),
    Float(f64),
    /// Of a whole number that no type here holds.
    Digits(&'a str),
}

/// Takes in the number that a text spells.
pub(super) fn hash(keys: &Keys, lanes: Lanes, text: &str) -> Lanes {
    match form(text) {
        Form::Whole(value) => whole(keys, lanes, value),
        Form::Float(value) => keys.marked(lanes, value.to_bits(), Mark::Float),
        Form::Digits(digits) => keys.text(keys.marked(lanes, 0, Mark::Digits), digits),
    }
}

fn form(text: &str) -> Form<'_> {
    let plain = !text.contains(['.', 'e', 'E']);
    // A whole float counts as an integer only above the least of the type.
    if let Some(value) = text.parse().ok().filter(|value| plain && *value != i128::MIN) {
        return Form::Whole(value);
    }
    let float: f64 = text.parse().unwrap_or(f64::NAN);
    if plain && format!("{float:.0}") != text {
        return Form::Digits(text);
    }
    match Number::from_f64(float).as_ref().and_then(exact) {
        Some(value) => Form::Whole(value),
        None => Form::Float(float),
    }
}

fn whole(keys: &Keys, lanes: Lanes, value: i128) -> Lanes {
    let size = value.unsigned_abs();
    let [short, wide] =
        if value < 0 { [Mark::Negative, Mark::NegativeWide] } else { [Mark::Positive, Mark::PositiveWide] };
    match u64::try_from(size) {
        Ok(size) => keys.marked(lanes, size, short),
        #[expect(clippy::cast_possible_truncation)]
        Err(_) => keys.marked_pair(lanes, size as u64, (size >> 64) as u64, wide),
    }
}
