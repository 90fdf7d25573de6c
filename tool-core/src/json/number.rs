//! JSON numbers. Whole numbers of 64 bits are exact, however they are written; every other number
//! is an `f64`, as in `serde_json::Value`. Where an integer is read, a number is exact or refused.

use crate::json::error::Error;
use serde_json::{Number, Value};
use std::borrow::Cow;
use std::cmp::Ordering;

/// 2^127, exact as a float.
pub(crate) const TWO_127: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;

/// Powers of ten, exact as floats. A short decimal has at most as many places.
const POWERS: [f64; 18] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17,
];

/// A number by the form of its text.
#[derive(Clone, Copy)]
pub(crate) enum ParsedNumber {
    /// An integer, also one with a point or an exponent that no float holds.
    Unsigned(u64),
    /// An integer below zero.
    Signed(i64),
    /// An integer beyond 64 bits.
    Big(f64),
    /// A fraction, an exponent, or `-0`.
    Float(f64),
    /// A fraction whose nearest float is a whole number.
    Rounded(f64),
}

/// A number where an integer is expected.
pub(crate) enum ParsedInteger {
    Unsigned(u128),
    /// An integer below zero.
    Signed(i128),
    Fraction(f64),
}

/// The text of a number that satisfies the grammar.
struct NumberToken<'de> {
    text: &'de str,
    /// Digits only, after an optional `-`.
    is_plain: bool,
    has_exponent: bool,
}

#[inline]
fn byte(text: &str, at: usize) -> u8 {
    text.as_bytes().get(at).copied().unwrap_or(0)
}

/// Reads a non-negative integer of up to 19 digits, which cannot overflow, and returns the place
/// behind it. Returns `None` for anything else.
#[inline]
pub(crate) fn small_integer(text: &str, at: usize) -> Option<(u64, usize)> {
    let (value, end) = digit_run(text, at, 0);
    let count = end - at;
    let leading_zero = count > 1 && byte(text, at) == b'0';
    if count == 0 || count > 19 || leading_zero || matches!(byte(text, end), b'.' | b'e' | b'E') {
        return None;
    }
    Some((value, end))
}

/// Appends the digits from `at` on to a value, which may wrap. Returns it with the place behind the
/// digits.
#[inline]
fn digit_run(text: &str, mut at: usize, mut value: u64) -> (u64, usize) {
    loop {
        let digit = byte(text, at).wrapping_sub(b'0');
        if digit > 9 {
            return (value, at);
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
}

/// Reads the number at `at` and returns the place behind it.
pub(crate) fn number(text: &str, at: usize) -> Result<(ParsedNumber, usize), Error> {
    if let Some((value, end)) = small_integer(text, at) {
        return Ok((ParsedNumber::Unsigned(value), end));
    }
    if let Some((value, end)) = short_negative(text, at) {
        return Ok((ParsedNumber::Signed(value), end));
    }
    if let Some((value, end)) = short_decimal(text, at) {
        return Ok((ParsedNumber::Float(value), end));
    }
    let token = number_token(text, at)?;
    let number = if !token.is_plain {
        decimal(token.text, finite(&token, at)?)
    } else if token.text == "-0" {
        ParsedNumber::Float(-0.0)
    } else {
        let unsigned = token.text.parse().map(ParsedNumber::Unsigned);
        let integer = unsigned.or_else(|_| token.text.parse().map(ParsedNumber::Signed));
        integer.or_else(|_| finite(&token, at).map(ParsedNumber::Big))?
    };
    Ok((number, at + token.text.len()))
}

/// Returns the number of a text with a point or an exponent, whose nearest float is given.
fn decimal(text: &str, float: f64) -> ParsedNumber {
    if float.fract() != 0.0 || float.abs() >= TWO_127 {
        return ParsedNumber::Float(float);
    }
    let Some(digits) = whole_digits(text) else {
        return ParsedNumber::Rounded(float);
    };
    // Below 2^53 a float holds every whole number.
    if float.abs() < 9_007_199_254_740_992.0 || !is_rounded(float, &digits) {
        return ParsedNumber::Float(float);
    }
    let unsigned = digits.parse().map(ParsedNumber::Unsigned);
    unsigned
        .or_else(|_| digits.parse().map(ParsedNumber::Signed))
        .unwrap_or(ParsedNumber::Big(float))
}

/// Returns the digits of a whole number, however it is written: `1200` for `1.2e3`. Returns `None`
/// for a fraction.
fn whole_digits(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(['.', 'e', 'E']) {
        return Some(Cow::Borrowed(text));
    }
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let (sign, whole) = whole
        .strip_prefix('-')
        .map_or(("", whole), |whole| ("-", whole));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some(Cow::Borrowed("0"));
    }
    // An exponent beyond 64 bits is below zero, because the number has a float.
    let places = i128::from(exponent.parse::<i64>().ok()?) + digits.len() as i128;
    let zeros =
        usize::try_from(places - fraction.len() as i128 - significant.len() as i128).ok()?;
    Some(
        format!(
            "{sign}{}{}",
            significant.trim_start_matches('0'),
            "0".repeat(zeros)
        )
        .into(),
    )
}

/// Returns the text of a number that its float does not hold: all digits of a whole number, or the
/// fraction as it is. From 2^127 on, the text of a float has fewer digits than the number.
#[inline]
pub(crate) fn unheld(number: ParsedNumber, text: &str) -> Option<Cow<'_, str>> {
    match number {
        ParsedNumber::Big(float) => {
            whole_digits(text).filter(|digits| float.abs() >= TWO_127 || is_rounded(float, digits))
        }
        ParsedNumber::Rounded(_) => Some(Cow::Borrowed(text)),
        ParsedNumber::Unsigned(_) | ParsedNumber::Signed(_) | ParsedNumber::Float(_) => None,
    }
}

/// Reads a short integer below zero.
fn short_negative(text: &str, at: usize) -> Option<(i64, usize)> {
    let (value, end) = small_integer(text, at + 1).filter(|_| byte(text, at) == b'-')?;
    if value == 0 {
        return None;
    }
    Some((0_i64.checked_sub_unsigned(value)?, end))
}

/// Reads a decimal of few digits without an exponent. Its digits and its divisor are exact as
/// floats, so their quotient is rounded once, correctly.
fn short_decimal(text: &str, at: usize) -> Option<(f64, usize)> {
    let negative = byte(text, at) == b'-';
    let start = at + usize::from(negative);
    let (whole, point) = digit_run(text, start, 0);
    let leading_zero = point > start + 1 && byte(text, start) == b'0';
    if point == start || leading_zero || byte(text, point) != b'.' {
        return None;
    }
    let (mantissa, end) = digit_run(text, point + 1, whole);
    let places = end - point - 1;
    if places == 0
        || end - start > 18
        || mantissa >= 1 << 53
        || matches!(byte(text, end), b'e' | b'E')
    {
        return None;
    }
    #[allow(clippy::cast_precision_loss)] // below 2^53
    let value = mantissa as f64 / POWERS.get(places)?;
    Some((if negative { -value } else { value }, end))
}

/// Reads an integer of up to 128 bits. `5.0` and `1e2` are integers.
pub(crate) fn integer(text: &str, at: usize) -> Result<(ParsedInteger, usize), Error> {
    let (number, end) = number(text, at)?;
    let integer = match number {
        ParsedNumber::Unsigned(value) => Some(ParsedInteger::Unsigned(value.into())),
        ParsedNumber::Signed(value) => Some(ParsedInteger::Signed(value.into())),
        ParsedNumber::Float(value) if value.abs() < TWO_127 => Some(integral(value)),
        ParsedNumber::Rounded(value) => Some(ParsedInteger::Fraction(value)),
        ParsedNumber::Big(_) | ParsedNumber::Float(_) => {
            let digits = whole_digits(text.get(at..end).unwrap_or_default()).unwrap_or_default();
            let unsigned = digits.parse().map(ParsedInteger::Unsigned);
            let integer = unsigned
                .or_else(|_| digits.parse().map(ParsedInteger::Signed))
                .ok();
            // A validator sees 2^127 in the float of an integer right below it.
            let is_below = |value: u128| {
                i128::try_from(value).is_ok() && matches!(number, ParsedNumber::Float(_))
            };
            integer.filter(
                |integer| !matches!(integer, ParsedInteger::Unsigned(value) if is_below(*value)),
            )
        }
    };
    integer
        .map(|integer| (integer, end))
        .ok_or_else(|| out_of_range(at))
}

/// Reports an integer that its type does not hold.
#[cold]
pub(crate) fn out_of_range(at: usize) -> Error {
    Error::syntax("integer out of range", at)
}

/// Checks the number at `at` and returns the place behind it.
pub(crate) fn number_end(text: &str, at: usize) -> Result<usize, Error> {
    let token = number_token(text, at)?;
    // Without an exponent, only a number of more than 300 digits can exceed the largest `f64`.
    if token.has_exponent || token.text.len() > 300 {
        finite(&token, at)?;
    }
    Ok(at + token.text.len())
}

/// Finds the number at `at` by the grammar.
fn number_token(text: &str, start: usize) -> Result<NumberToken<'_>, Error> {
    let mut at = start + usize::from(byte(text, start) == b'-');
    if byte(text, at) == b'0' {
        at += 1;
        if byte(text, at).is_ascii_digit() {
            return Err(Error::syntax("leading zero in a number", at));
        }
    } else {
        at = digits_end(text, at)?;
    }
    let integer_end = at;
    if byte(text, at) == b'.' {
        at = digits_end(text, at + 1)?;
    }
    let has_exponent = matches!(byte(text, at), b'e' | b'E');
    if has_exponent {
        at += 1;
        at = digits_end(
            text,
            at + usize::from(matches!(byte(text, at), b'+' | b'-')),
        )?;
    }
    let token = text
        .get(start..at)
        .ok_or_else(|| Error::syntax("text cut inside a character", start))?;
    Ok(NumberToken {
        text: token,
        is_plain: at == integer_end,
        has_exponent,
    })
}

/// Returns the place behind one or more digits.
fn digits_end(text: &str, at: usize) -> Result<usize, Error> {
    match digit_run(text, at, 0) {
        (_, end) if end > at => Ok(end),
        _ => Err(Error::unexpected_byte(text, at, "expected a digit")),
    }
}

/// Parses the number as a float, and refuses one that overflows to infinity.
fn finite(token: &NumberToken<'_>, at: usize) -> Result<f64, Error> {
    match token.text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(Error::syntax("number out of range", at)),
    }
}

/// Converts a float below 2^127 to the integer that it is.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the ranges are checked
fn integral(float: f64) -> ParsedInteger {
    match float {
        _ if float.fract() != 0.0 => ParsedInteger::Fraction(float),
        0.0.. => ParsedInteger::Unsigned(float as u128),
        _ => ParsedInteger::Signed(float as i128),
    }
}

// Numbers by their exact value.

/// Compares two JSON numbers by value. An integer beyond 2^53 is not rounded to compare it with a
/// float.
pub(crate) fn compare(left: &Number, right: &Number) -> Ordering {
    if let (Some(left), Some(right)) = (exact(left), exact(right)) {
        return left.cmp(&right);
    }
    let [left, right] = [left, right].map(|number| number.as_f64().unwrap_or(0.0));
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}

/// Compares a whole number, given by its digits, with a JSON number.
pub(crate) fn compare_digits(digits: &str, number: &Number) -> Ordering {
    let float = number.as_f64().unwrap_or(0.0);
    let below = exact(number).map_or_else(
        || format!("{:.0}", float.floor()),
        |whole| whole.to_string(),
    );
    let order = match (digits.strip_prefix('-'), below.strip_prefix('-')) {
        (None, None) => compare_natural(digits, &below),
        (Some(left), Some(right)) => compare_natural(right, left),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
    };
    if float.fract() == 0.0 {
        order
    } else {
        order.then(Ordering::Less)
    }
}

/// Compares two numbers of digits alone, without zeros in front.
fn compare_natural(left: &str, right: &str) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

/// Returns the digits of a JSON number if it is whole, or else its shortest text.
pub(crate) fn digits_of(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e40 => {
            format!("{float:.0}")
        }
        _ => number.to_string(),
    }
}

/// Returns the digits of a JSON number if it is whole, or else its shortest text. Beyond 2^127 the
/// digits are those of the shortest text, as a float has no more.
pub(crate) fn exact_text(number: &Number) -> String {
    if let Some(whole) = exact(number) {
        return whole.to_string();
    }
    let text = number.to_string();
    whole_digits(&text).map_or_else(|| text.clone(), Cow::into_owned)
}

/// Returns true if a number divided by another one, which is above zero, is whole. Both are taken
/// as the decimals that they are written as, so that `0.3` is a multiple of `0.1`.
pub(crate) fn is_multiple(number: &Number, divisor: &Number) -> bool {
    let (Some((value, scale)), Some((step, step_scale))) =
        (decimal_parts(number), decimal_parts(divisor))
    else {
        return false;
    };
    if value == 0 || step == 0 {
        return value == 0;
    }
    // The quotient is value / step * 10^places.
    let places = scale - step_scale;
    match u32::try_from(places) {
        Ok(places) => (0..places).fold(value % step, |rest, _| rest * 10 % step) == 0,
        // A step too large for the type is larger than the value.
        Err(_) => 10_u128
            .checked_pow(places.unsigned_abs())
            .and_then(|power| step.checked_mul(power))
            .is_some_and(|step| value.is_multiple_of(step)),
    }
}

/// Returns true if a whole number, given by its digits, divided by another one, which is above
/// zero, is whole.
pub(crate) fn is_multiple_of_digits(digits: &str, divisor: &Number) -> bool {
    let Some((step, scale)) = decimal_parts(divisor).filter(|(step, _)| *step != 0) else {
        return false;
    };
    // The quotient is digits / (step * 10^scale).
    let zeros = "0".repeat(usize::try_from(scale).unwrap_or(0));
    let places = usize::try_from(-scale).unwrap_or(0);
    let Some(counted) = digits.trim_start_matches('-').strip_suffix(&zeros) else {
        return false;
    };
    counted
        .bytes()
        .chain(std::iter::repeat_n(b'0', places))
        .fold(0, |rest, digit| {
            (rest * 10 + u128::from(digit - b'0')) % step
        })
        == 0
}

/// Returns the digits of the shortest decimal of a number, without its sign, and the power of ten
/// that they count.
fn decimal_parts(number: &Number) -> Option<(u128, i32)> {
    if let Some(integer) = number
        .as_u64()
        .or_else(|| number.as_i64().map(i64::unsigned_abs))
    {
        return Some((integer.into(), 0));
    }
    let written = format!("{:e}", number.as_f64()?.abs());
    let (mantissa, exponent) = written.split_once('e')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let places = i32::try_from(fraction.len()).ok()?;
    Some((
        format!("{whole}{fraction}").parse().ok()?,
        exponent.parse::<i32>().ok()? - places,
    ))
}

/// Returns the integer that a number is, if it has no fraction and fits.
pub(crate) fn exact(number: &Number) -> Option<i128> {
    let integer = number
        .as_i64()
        .map(i128::from)
        .or_else(|| number.as_u64().map(i128::from));
    integer.or_else(|| exact_float(number.as_f64()?))
}

/// Returns the integer that a float is, if it has no fraction and fits.
#[expect(clippy::cast_possible_truncation)] // 2^127 is the first float beyond the type
pub(crate) fn exact_float(value: f64) -> Option<i128> {
    (value.fract() == 0.0 && value.abs() < TWO_127).then_some(value as i128)
}

/// Returns true if a float stands for an integer of more digits than it holds.
fn is_rounded(value: f64, digits: &str) -> bool {
    format!("{value:.0}") != digits
}

/// Returns an integer as a JSON number. One of more than 64 bits becomes the nearest float.
pub(crate) fn whole(value: i128) -> Value {
    if let Ok(small) = i64::try_from(value) {
        return Value::from(small);
    }
    if let Ok(large) = u64::try_from(value) {
        return Value::from(large);
    }
    #[expect(clippy::cast_precision_loss)]
    Value::from(value as f64)
}
