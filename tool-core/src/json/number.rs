//! Numbers: plain integers are exact, everything else is an `f64`, as in `serde_json::Value`.

use crate::json::decoder::Decoder;
use crate::json::error::Error;

/// 2^63, 2^64 and 2^127, all exact as floats.
const TWO_63: f64 = 9_223_372_036_854_775_808.0;
const TWO_64: f64 = 18_446_744_073_709_551_616.0;
const TWO_127: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;

/// Powers of ten, exact as floats: as many as a short decimal has places.
const POWERS: [f64; 18] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17];

/// A number as its text has it.
#[derive(Clone, Copy)]
pub(crate) enum Number {
    Unsigned(u64),
    /// Below zero.
    Signed(i64),
    /// Integer text beyond 64 bits.
    Big(f64),
    /// A fraction, an exponent, or `-0`.
    Float(f64),
}

/// An integer of up to 64 bits, or what the text holds in its place.
pub(crate) enum Integer {
    Unsigned(u64),
    Signed(i64),
    Fraction(f64),
}

/// An integer of up to 128 bits.
pub(crate) enum Wide {
    Unsigned(u128),
    Signed(i128),
}

/// The parts of a number's text.
struct Token<'de> {
    text: &'de str,
    /// Digits only, after an optional `-`.
    plain: bool,
    exponent: bool,
}

impl<'de> Decoder<'de> {
    /// Reads an integer that is not negative and of up to 19 digits (so that it cannot overflow). Stays where
    /// it is for any other value, sound or not.
    #[inline]
    pub(crate) fn small_integer(&mut self) -> Option<u64> {
        let (value, end) = self.digit_run(self.at, 0);
        let count = end - self.at;
        let zero_led = count > 1 && self.byte(self.at) == b'0';
        if count == 0 || count > 19 || zero_led || matches!(self.byte(end), b'.' | b'e' | b'E') {
            return None;
        }
        self.at = end;
        Some(value)
    }

    /// The digits from a place on, appended to a value (which may wrap), and the place after them.
    #[inline]
    fn digit_run(&self, mut at: usize, mut value: u64) -> (u64, usize) {
        loop {
            let digit = self.byte(at).wrapping_sub(b'0');
            if digit > 9 {
                return (value, at);
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            at += 1;
        }
    }

    /// Reads the number that begins at the next byte.
    pub(crate) fn number(&mut self) -> Result<Number, Error> {
        if let Some(value) = self.small_integer() {
            return Ok(Number::Unsigned(value));
        }
        if let Some(value) = self.short_negative() {
            return Ok(Number::Signed(value));
        }
        match self.short_decimal() {
            Some(value) => Ok(Number::Float(value)),
            None => self.any_number(),
        }
    }

    /// As `small_integer`, for one below zero.
    fn short_negative(&mut self) -> Option<i64> {
        let start = self.at;
        if self.byte(start) != b'-' {
            return None;
        }
        self.at += 1;
        let value = self.small_integer().filter(|&value| value > 0).and_then(|value| 0_i64.checked_sub_unsigned(value));
        if value.is_none() {
            self.at = start;
        }
        value
    }

    /// As `small_integer`, for a decimal of few digits without an exponent: value and divisor are exact as
    /// floats, so that their quotient is rounded once, and rightly.
    fn short_decimal(&mut self) -> Option<f64> {
        let negative = self.byte(self.at) == b'-';
        let start = self.at + usize::from(negative);
        let (whole, point) = self.digit_run(start, 0);
        let zero_led = point > start + 1 && self.byte(start) == b'0';
        if point == start || zero_led || self.byte(point) != b'.' {
            return None;
        }
        let (mantissa, end) = self.digit_run(point + 1, whole);
        let places = end - point - 1;
        if places == 0 || end - start > 18 || mantissa >= 1 << 53 || matches!(self.byte(end), b'e' | b'E') {
            return None;
        }
        #[allow(clippy::cast_precision_loss)] // below 2^53
        let value = mantissa as f64 / POWERS.get(places)?;
        self.at = end;
        Some(if negative { -value } else { value })
    }

    /// Reads the number that begins at the next byte, of whatever length.
    fn any_number(&mut self) -> Result<Number, Error> {
        let start = self.at;
        let token = self.number_token()?;
        if !token.plain {
            return finite(&token, start).map(Number::Float);
        }
        if token.text == "-0" {
            return Ok(Number::Float(-0.0));
        }
        if let Ok(value) = token.text.parse() {
            return Ok(Number::Unsigned(value));
        }
        match token.text.parse() {
            Ok(value) => Ok(Number::Signed(value)),
            Err(_) => finite(&token, start).map(Number::Big),
        }
    }

    /// Reads an integer of up to 64 bits. `5.0` and `1e2` are integers, by their value as `f64`.
    pub(crate) fn integer(&mut self) -> Result<Integer, Error> {
        let start = self.at;
        let float = match self.number()? {
            Number::Unsigned(value) => return Ok(Integer::Unsigned(value)),
            Number::Signed(value) => return Ok(Integer::Signed(value)),
            Number::Big(_) => return Err(Error::syntax("integer out of range", start)),
            Number::Float(value) => value,
        };
        if float.fract() != 0.0 {
            return Ok(Integer::Fraction(float));
        }
        integral(float).ok_or_else(|| Error::syntax("integer out of range", start))
    }

    /// Reads an integer of up to 128 bits; `None` for a fraction.
    pub(crate) fn wide_integer(&mut self) -> Result<Option<Wide>, Error> {
        let start = self.at;
        let token = self.number_token()?;
        let wide = if token.plain && token.text != "-0" {
            token.text.parse().map(Wide::Unsigned).or_else(|_| token.text.parse().map(Wide::Signed)).ok()
        } else {
            let float = finite(&token, start)?;
            if float.fract() != 0.0 {
                return Ok(None);
            }
            integral_wide(float)
        };
        wide.map(Some).ok_or_else(|| Error::syntax("integer out of range", start))
    }

    /// Checks the number that begins at the next byte.
    pub(crate) fn check_number(&mut self) -> Result<(), Error> {
        let start = self.at;
        let token = self.number_token()?;
        // Without an exponent it takes more digits than this to pass the largest `f64`.
        if token.exponent || token.text.len() > 300 {
            finite(&token, start)?;
        }
        Ok(())
    }

    /// Holds a number to the grammar.
    fn number_token(&mut self) -> Result<Token<'de>, Error> {
        let start = self.at;
        if self.byte(self.at) == b'-' {
            self.at += 1;
        }
        if self.byte(self.at) == b'0' {
            self.at += 1;
            if self.byte(self.at).is_ascii_digit() {
                return Err(self.syntax("leading zero in a number"));
            }
        } else {
            self.digits()?;
        }
        let mut plain = true;
        if self.byte(self.at) == b'.' {
            plain = false;
            self.at += 1;
            self.digits()?;
        }
        let exponent = matches!(self.byte(self.at), b'e' | b'E');
        if exponent {
            plain = false;
            self.at += 1;
            if matches!(self.byte(self.at), b'+' | b'-') {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(Token { text: self.slice(start, self.at)?, plain, exponent })
    }

    fn digits(&mut self) -> Result<(), Error> {
        if !self.byte(self.at).is_ascii_digit() {
            return Err(self.syntax("expected a digit"));
        }
        while self.byte(self.at).is_ascii_digit() {
            self.at += 1;
        }
        Ok(())
    }
}

/// The number as a float; one that overflows to infinity is refused.
fn finite(token: &Token<'_>, start: usize) -> Result<f64, Error> {
    match token.text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(Error::syntax("number out of range", start)),
    }
}

/// An integral float as an integer of 64 bits.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the ranges are checked
fn integral(float: f64) -> Option<Integer> {
    if (0.0..TWO_64).contains(&float) {
        return Some(Integer::Unsigned(float as u64)); // `-0.0` equals 0.0
    }
    (-TWO_63..0.0).contains(&float).then_some(Integer::Signed(float as i64))
}

/// An integral float as an integer of 128 bits.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the ranges are checked
fn integral_wide(float: f64) -> Option<Wide> {
    if (0.0..TWO_127 * 2.0).contains(&float) {
        return Some(Wide::Unsigned(float as u128));
    }
    (-TWO_127..0.0).contains(&float).then_some(Wide::Signed(float as i128))
}
