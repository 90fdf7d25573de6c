//! The formats that are checked.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A check of a text.
pub(crate) type Format = fn(&str) -> bool;

/// The formats that are checked, by name. Any other format is an annotation.
const FORMATS: &[(&str, Format)] = &[
    ("date-time", is_date_time),
    ("date", |text| is_date(text.as_bytes())),
    ("time", |text| is_time(text.as_bytes())),
    ("duration", is_duration),
    ("email", is_email),
    ("hostname", is_hostname),
    ("ipv4", |text| text.parse::<Ipv4Addr>().is_ok()),
    ("ipv6", |text| text.parse::<Ipv6Addr>().is_ok()),
    ("uuid", is_uuid),
];

/// Returns the check of a format, and `None` for one that is an annotation.
pub(crate) fn asserted(name: &str) -> Option<Format> {
    FORMATS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, check)| *check)
}

/// Checks the `date-time` of RFC 3339.
pub(crate) fn is_date_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (Some(date), Some(b'T' | b't'), Some(time)) =
        (bytes.get(..10), bytes.get(10), bytes.get(11..))
    else {
        return false;
    };
    is_date(date) && is_time(time)
}

/// Reads what follows the seconds. Returns the number of digits of a fraction, and the minutes of
/// `Z` or `+hh:mm`, of which `jiff` accepts up to 25 hours.
pub(crate) fn ending(rest: &[u8]) -> Option<(usize, i32)> {
    let (digits, rest) = match rest.strip_prefix(b".") {
        Some(fraction) => {
            let digits = fraction
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            (digits, fraction.get(digits..).filter(|_| digits > 0)?)
        }
        None => (0, rest),
    };
    let (sign, hours, minutes) = match rest {
        [b'Z' | b'z'] => return Some((digits, 0)),
        [b'+', h1, h2, b':', m1, m2] => (1, [*h1, *h2], [*m1, *m2]),
        [b'-', h1, h2, b':', m1, m2] => (-1, [*h1, *h2], [*m1, *m2]),
        _ => return None,
    };
    let hours = two_digits(&hours).filter(|hours| *hours < 24)?;
    let minutes = two_digits(&minutes).filter(|minutes| *minutes < 60)?;
    Some((digits, sign * (hours * 60 + minutes)))
}

pub(crate) fn two_digits(bytes: &[u8]) -> Option<i32> {
    bytes.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit()
            .then(|| number * 10 + i32::from(byte - b'0'))
    })
}

/// Checks the `full-date` of RFC 3339.
fn is_date(text: &[u8]) -> bool {
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else {
        return false;
    };
    let numbers = [[y1, y2], [y3, y4], [m1, m2], [d1, d2]].map(|pair| two_digits(&pair));
    let [Some(century), Some(year), Some(month), Some(day)] = numbers else {
        return false;
    };
    let (Ok(year), Ok(month), Ok(day)) = (
        (century * 100 + year).try_into(),
        month.try_into(),
        day.try_into(),
    ) else {
        return false;
    };
    jiff::civil::Date::new(year, month, day).is_ok()
}

/// Checks the `full-time` of RFC 3339.
fn is_time(text: &[u8]) -> bool {
    let Some(&[h1, h2, b':', m1, m2, b':', s1, s2]) = text.first_chunk::<8>() else {
        return false;
    };
    let [Some(hour), Some(minute), Some(second)] =
        [[h1, h2], [m1, m2], [s1, s2]].map(|pair| two_digits(&pair))
    else {
        return false;
    };
    let Some((_, offset)) = text.get(8..).and_then(ending) else {
        return false;
    };
    let minutes = hour * 60 + minute;
    // A leap second is the last second of a day in UTC.
    let is_leap = second == 60 && (minutes - offset).rem_euclid(24 * 60) == 24 * 60 - 1;
    hour < 24 && minute < 60 && (second < 60 || is_leap)
}

/// Checks the `duration` of RFC 3339, appendix A. Its units are in order, without a gap, and weeks
/// are alone.
fn is_duration(text: &str) -> bool {
    let Some(text) = text.strip_prefix('P') else {
        return false;
    };
    if let Some(weeks) = text.strip_suffix('W') {
        return is_digits(weeks);
    }
    match text.split_once('T') {
        None => has_units(text, "YMD"),
        Some((date, time)) => (date.is_empty() || has_units(date, "YMD")) && has_units(time, "HMS"),
    }
}

/// Returns true for one or more numbers, each with its unit, where no unit between the first and
/// the last is missing.
fn has_units(text: &str, units: &str) -> bool {
    let mut written = String::new();
    for part in text.split_inclusive(|character: char| !character.is_ascii_digit()) {
        let Some(unit) = part.chars().last() else {
            return false;
        };
        if !part.strip_suffix(unit).is_some_and(is_digits) {
            return false;
        }
        written.push(unit);
    }
    !written.is_empty() && units.contains(&written)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Checks the `Mailbox` of RFC 5321.
fn is_email(text: &str) -> bool {
    // `email_address` refuses an empty quoted local part, which the RFC allows.
    let filled = text
        .strip_prefix("\"\"@")
        .map(|domain| format!("\"a\"@{domain}"));
    let Ok(email) = email_address::EmailAddress::from_str(filled.as_deref().unwrap_or(text)) else {
        return false;
    };
    let domain = email.domain();
    let is_known = match domain
        .strip_prefix('[')
        .and_then(|domain| domain.strip_suffix(']'))
    {
        None => is_hostname(domain),
        Some(address) => match address.split_at_checked(5) {
            Some((tag, address)) if tag.eq_ignore_ascii_case("IPv6:") => {
                address.parse::<Ipv6Addr>().is_ok()
            }
            _ => address.parse::<Ipv4Addr>().is_ok(),
        },
    };
    email.local_part().is_ascii() && is_known
}

/// Checks a host name of RFC 1123. The Punycode of an internationalised label is not decoded.
fn is_hostname(text: &str) -> bool {
    let is_label = |label: &str| {
        let hyphens = label.starts_with('-') || label.ends_with('-');
        let reserved = label.get(2..4) == Some("--") && !label.starts_with("xn--");
        matches!(label.len(), 1..=63) && !hyphens && !reserved && label.bytes().all(is_label_byte)
    };
    matches!(text.len(), 1..=253) && text.split('.').all(is_label)
}

fn is_label_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// Checks the text form of RFC 9562, with its hyphens.
fn is_uuid(text: &str) -> bool {
    let is_sound = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_sound)
}
