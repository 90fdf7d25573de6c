//! An instant as RFC 3339 text.

use crate::schema::format::{ending, is_date_time, two_digits};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// An instant, written as RFC 3339 text such as `2026-11-20T09:30:00+01:00`. Derefs to [`jiff::Timestamp`].
///
/// Its schema is `{"type":"string","format":"date-time"}`, and it accepts exactly what that format
/// allows, before 9999-12-30T22:00:00Z. A date alone, a space instead of the `T`, or the name of a time zone is refused. Digits
/// beyond nanoseconds are cut off.
///
/// ```
/// use tool_core::Timestamp;
///
/// let start: Timestamp = "2026-11-20T09:30:00+01:00".parse()?;
/// assert_eq!(start.to_string(), "2026-11-20T08:30:00Z");
/// assert!("2026-11-20".parse::<Timestamp>().is_err());
/// # Ok::<(), tool_core::schema::ParseTimestampError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(inline, description = "", extend("format" = "date-time", "x-proven" = true))]
pub struct Timestamp(#[schemars(with = "String")] pub jiff::Timestamp);

impl std::ops::Deref for Timestamp {
    type Target = jiff::Timestamp;

    fn deref(&self) -> &jiff::Timestamp {
        &self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An error for text that is not an RFC 3339 date and time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {} such as `2026-11-20T09:30:00Z`, got `{}`", expected(.0), .0.escape_debug())]
pub struct ParseTimestampError(String);

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    fn from_str(text: &str) -> Result<Self, ParseTimestampError> {
        parse(text).ok_or_else(|| ParseTimestampError(text.to_owned()))
    }
}

/// Returns what a text is refused for. The last hours of the year 9999 are beyond what an instant
/// of `jiff` holds, and models write them for "without end".
fn expected(text: &str) -> &'static str {
    if is_date_time(text) {
        "an RFC 3339 date and time before 9999-12-30T22:00:00Z"
    } else {
        "an RFC 3339 date and time"
    }
}

/// Parses `2026-11-20T09:30:00.5+01:00`, in exactly the form of RFC 3339. `jiff` accepts more.
fn parse(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let punctuated = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
    let sound = punctuated
        .iter()
        .all(|(at, byte)| bytes.get(*at) == Some(byte))
        && bytes
            .get(10)
            .is_some_and(|byte| byte.eq_ignore_ascii_case(&b'T'));
    let (digits, offset) = ending(bytes.get(19..)?).filter(|_| sound)?;
    // A leap second is the last second of a day in UTC. `jiff` accepts one anywhere.
    let minutes = two_digits(bytes.get(11..13)?)? * 60 + two_digits(bytes.get(14..16)?)?;
    if bytes.get(17..19) == Some(b"60") && (minutes - offset).rem_euclid(24 * 60) != 24 * 60 - 1 {
        return None;
    }
    // RFC 3339 allows any number of digits, and an instant holds nanoseconds. Further digits are
    // cut off.
    let instant = match digits.checked_sub(NANOSECONDS).filter(|more| *more > 0) {
        None => text.parse(),
        Some(more) => {
            let end = 20 + NANOSECONDS;
            format!("{}{}", text.get(..end)?, text.get(end + more..)?).parse()
        }
    };
    instant.ok().map(Timestamp)
}

/// The number of digits of a fraction of a second that `jiff` reads.
const NANOSECONDS: usize = 9;

impl From<jiff::Timestamp> for Timestamp {
    fn from(instant: jiff::Timestamp) -> Self {
        Self(instant)
    }
}

impl From<Timestamp> for jiff::Timestamp {
    fn from(timestamp: Timestamp) -> Self {
        timestamp.0
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = Timestamp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an RFC 3339 date and time")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                parse(text)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &expected(text)))
            }
        }

        deserializer.deserialize_str(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<String> {
        text.parse::<Timestamp>()
            .ok()
            .map(|instant| instant.to_string())
    }

    #[test]
    fn digits_beyond_nanoseconds_are_cut_off() {
        let instant = Some("2026-11-20T08:30:00.123456789Z".to_owned());
        assert_eq!(read("2026-11-20T08:30:00.123456789Z"), instant);
        assert_eq!(read("2026-11-20T08:30:00.1234567891234Z"), instant);
        assert_eq!(read("2026-11-20T09:30:00.1234567899999+01:00"), instant);
        assert_eq!(read("2026-11-20T08:30:00.Z"), None);
    }

    #[test]
    fn offsets_are_less_than_a_day() {
        assert!(read("2026-11-20T09:30:00+23:59").is_some());
        for text in [
            "+24:00", "+25:00", "-24:00", "+01:60", "+1:00", "+0100", "Z[UTC]", "",
        ] {
            assert_eq!(read(&format!("2026-11-20T09:30:00{text}")), None, "{text}");
        }
    }

    #[test]
    fn a_leap_second_ends_a_day_in_utc() {
        assert!(read("2016-12-31T23:59:60Z").is_some());
        assert!(read("2017-01-01T00:59:60+01:00").is_some());
        assert_eq!(read("2016-12-31T22:59:60Z"), None);
        assert_eq!(read("2016-12-31T23:59:60+01:00"), None);
        assert_eq!(read("2016-12-31T23:59:61Z"), None);
    }
}
