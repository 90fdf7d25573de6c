//! The forms of values in a policy: times, sizes, amounts of money, addresses and keys.

use crate::document::kind;
use crate::value::Secret;
use jiff::{Span, SpanRelativeTo};
use serde::de::{Deserialize, Deserializer, Error};
use serde_json::Value;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;
use tool_adapters_http::bearer::BearerToken;
use tool_core::trace::Cost;
use zeroize::Zeroizing;

/// A time, for example `30s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) Duration);

/// A number of bytes, for example `4MiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) usize);

/// An amount of US dollars, down to a billionth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dollars(pub(crate) Cost);

/// A number of calls in a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    pub(crate) calls: NonZeroU32,
    pub(crate) per: Duration,
}

/// An address and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Address(pub(crate) SocketAddr);

/// The key that signs approvals.
#[derive(Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "Secret")]
pub(crate) struct SigningKey(pub(crate) Zeroizing<[u8; 32]>);

/// Returns a default of so many seconds.
pub(crate) fn seconds<const SECONDS: u64>() -> Time {
    Time(Duration::from_secs(SECONDS))
}

/// Returns a default of so many bytes.
pub(crate) fn mebibytes<const MEBIBYTES: usize>() -> Size {
    Size(MEBIBYTES << 20)
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a time such as \"800ms\", \"30s\" or \"10m\"";
        parse(deserializer, expected, duration).map(Self)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a size such as \"4MiB\", or a number of bytes";
        parse(deserializer, expected, size).map(Self)
    }
}

impl<'de> Deserialize<'de> for Dollars {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "an amount of US dollars such as 0.05";
        parse(deserializer, expected, dollars).map(Self)
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a number of calls and a time such as \"60/1m\"";
        parse(deserializer, expected, rate)
    }
}

/// Reads a value by a function. A value for which it returns `None` is a problem.
fn parse<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    expected: &str,
    parse: fn(&Value) -> Option<T>,
) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let found = || D::Error::custom(format_args!("expected {expected}, got {}", kind(&value)));
    parse(&value).ok_or_else(found)
}

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let problem =
            |_| format!("expected an address and a port such as \"127.0.0.1:8080\", got `{text}`");
        text.parse().map(Self).map_err(problem)
    }
}

impl TryFrom<Secret> for SigningKey {
    type Error = &'static str;

    fn try_from(text: Secret) -> Result<Self, &'static str> {
        let expected = "expected 64 hexadecimal digits, such as of `openssl rand -hex 32`";
        let mut key = Zeroizing::new([0; 32]);
        if text.len() != 2 * key.len() || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(expected);
        }
        for (at, byte) in key.iter_mut().enumerate() {
            let digits = text.get(2 * at..2 * at + 2).unwrap_or_default();
            *byte = u8::from_str_radix(digits, 16).map_err(|_| expected)?;
        }
        Ok(Self(key))
    }
}

/// The token of a client.
pub(crate) const CLIENT_TOKEN: &str =
    "expected at least 16 visible ASCII characters, such as of `openssl rand -hex 24`";

/// Reads the token of a client, of which only the digest is kept.
pub(crate) fn client_token<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BearerToken, D::Error> {
    let token = BearerToken::new(&Secret::deserialize(deserializer)?);
    match token.problem() {
        Some(_) => Err(D::Error::custom(CLIENT_TOKEN)),
        None => Ok(token),
    }
}

/// Reads the token of a page. It is at least as long as one of a client.
pub(crate) fn page_token<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Secret>, D::Error> {
    let token = Secret::deserialize(deserializer)?;
    match BearerToken::new(&token).problem() {
        Some(_) => Err(D::Error::custom(
            "expected at least 16 visible ASCII characters",
        )),
        None => Ok(Some(token)),
    }
}

/// Reads a time such as `800ms`, `30s`, `10m`, `2h` or `1d`, or a number of seconds.
fn duration(value: &Value) -> Option<Duration> {
    let time = if let Some(seconds) = value.as_u64() {
        Duration::from_secs(seconds)
    } else {
        let time = value.as_str()?.parse::<Span>().ok()?;
        let time = time.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
        time.try_into().ok()?
    };
    Some(time).filter(|time| !time.is_zero())
}

/// Reads a number of calls and a time, such as `60/1m`.
fn rate(value: &Value) -> Option<Rate> {
    let (calls, per) = value.as_str()?.split_once('/')?;
    Some(Rate {
        calls: calls.trim().parse().ok()?,
        per: duration(&Value::from(per.trim()))?,
    })
}

/// Reads an amount of US dollars, down to a billionth.
fn dollars(value: &Value) -> Option<Cost> {
    let billionths = Duration::try_from_secs_f64(value.as_f64()?)
        .ok()?
        .as_nanos();
    u64::try_from(billionths * 1_000)
        .ok()
        .filter(|amount| *amount > 0)
        .map(Cost::pico)
}

/// Reads a size such as `64KiB` or `4MiB`, or a number of bytes.
fn size(value: &Value) -> Option<usize> {
    let (number, unit) = if let Some(bytes) = value.as_u64() {
        (bytes, "B")
    } else {
        let text = value.as_str()?;
        let end = text.find(|letter: char| !letter.is_ascii_digit())?;
        let (number, unit) = text.split_at(end);
        (number.parse().ok()?, unit.trim_start())
    };
    let bytes: u64 = match unit {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    usize::try_from(number.checked_mul(bytes)?)
        .ok()
        .filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rates_are_calls_and_a_time() {
        let read = |text: &str| rate(&Value::from(text)).map(|rate| (rate.calls.get(), rate.per));
        let minute = Duration::from_secs(60);
        assert_eq!(read("60/1m"), Some((60, minute)));
        assert_eq!(read("5 / 60s"), Some((5, minute)));
        for text in [
            "", "60", "0/1m", "60/", "60/0s", "-1/1m", "60/m", "1.5/1m", "60/1m/1s",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn times_and_sizes_have_units() {
        for (value, expected) in [
            (json!("800ms"), Some(800)),
            (json!("30s"), Some(30_000)),
            (json!("10 m"), Some(600_000)),
            (json!("2h"), Some(7_200_000)),
            (json!("1d"), Some(86_400_000)),
            (json!("1h 30m"), Some(5_400_000)),
            (json!(5), Some(5_000)),
            (json!(0), None),
            (json!("0s"), None),
            (json!("30"), None),
            (json!("s"), None),
            (json!("-1s"), None),
            (json!("99999999999999999999s"), None),
            (json!(true), None),
        ] {
            assert_eq!(
                duration(&value),
                expected.map(Duration::from_millis),
                "{value}"
            );
        }
        for (value, expected) in [
            (json!(0.05), Some(Cost::micros(50_000))),
            (json!(2), Some(Cost::micros(2_000_000))),
            (json!(0), None),
            (json!(-1), None),
            (json!(1e9), None),
            (json!("1"), None),
        ] {
            assert_eq!(dollars(&value), expected, "{value}");
        }
        for (value, expected) in [
            (json!("4MiB"), Some(4 << 20)),
            (json!("64 KiB"), Some(64 << 10)),
            (json!(100), Some(100)),
            (json!("4MB"), None),
            (json!(0), None),
        ] {
            assert_eq!(size(&value), expected, "{value}");
        }
    }
}
