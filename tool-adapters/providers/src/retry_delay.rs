//! The delay that a provider asks for, in the headers and in the body of an error.
//!
//! Providers say it in many places. The first of these that can be read decides:
//!
//! 1. `retry-after-ms` and `x-ms-retry-after-ms`: milliseconds
//! 2. `Retry-After`: seconds, or a date
//! 3. the body: `google.rpc.RetryInfo` among `error.details` (`"retryDelay": "34.07s"`), and
//!    members such as `retry_after`
//! 4. the time at which a limit is reset, of a refusal because of a limit:
//!    `x-ratelimit-reset-tokens: 6m0s` and its like, of the limit of which least is left
//! 5. the same headers where they are repeated in the body, as `error.metadata.headers`
//!    (OpenRouter)
//! 6. the message: `Please try again in 1.2s`
//!
//! A reset is a duration with units, a number of seconds, a time in seconds or milliseconds since
//! 1970, or a date as RFC 3339 writes it. What is negative or no number says nothing, and neither
//! does a reset that is past, or anything but `Retry-After` that names more than 31 days. A number
//! in `Retry-After` that is a time soon is that time.

use serde_json::Value;
use std::time::{Duration, SystemTime};

/// The longest delay that is believed.
const LONGEST: Duration = Duration::from_secs(31 * 24 * 60 * 60);

/// The headers that name a delay in milliseconds.
pub const IN_MILLISECONDS: [&str; 2] = ["retry-after-ms", "x-ms-retry-after-ms"];

/// The headers that say when a limit is reset, what is left of it, and how large it is.
const LIMITS: [LimitHeaders; 13] = [
    LimitHeaders::new(
        "x-ratelimit-reset-requests",
        "x-ratelimit-remaining-requests",
        "x-ratelimit-limit-requests",
    ),
    LimitHeaders::new(
        "x-ratelimit-reset-tokens",
        "x-ratelimit-remaining-tokens",
        "x-ratelimit-limit-tokens",
    ),
    LimitHeaders::new(
        "x-ratelimit-reset-requests-minute",
        "x-ratelimit-remaining-requests-minute",
        "x-ratelimit-limit-requests-minute",
    ),
    LimitHeaders::new(
        "x-ratelimit-reset-requests-hour",
        "x-ratelimit-remaining-requests-hour",
        "x-ratelimit-limit-requests-hour",
    ),
    LimitHeaders::new(
        "x-ratelimit-reset-requests-day",
        "x-ratelimit-remaining-requests-day",
        "x-ratelimit-limit-requests-day",
    ),
    LimitHeaders::new(
        "x-ratelimit-reset-tokens-minute",
        "x-ratelimit-remaining-tokens-minute",
        "x-ratelimit-limit-tokens-minute",
    ),
    LimitHeaders::new(
        "x-ratelimit-reset-tokens-day",
        "x-ratelimit-remaining-tokens-day",
        "x-ratelimit-limit-tokens-day",
    ),
    LimitHeaders::new(
        "anthropic-ratelimit-requests-reset",
        "anthropic-ratelimit-requests-remaining",
        "anthropic-ratelimit-requests-limit",
    ),
    LimitHeaders::new(
        "anthropic-ratelimit-tokens-reset",
        "anthropic-ratelimit-tokens-remaining",
        "anthropic-ratelimit-tokens-limit",
    ),
    LimitHeaders::new(
        "anthropic-ratelimit-input-tokens-reset",
        "anthropic-ratelimit-input-tokens-remaining",
        "anthropic-ratelimit-input-tokens-limit",
    ),
    LimitHeaders::new(
        "anthropic-ratelimit-output-tokens-reset",
        "anthropic-ratelimit-output-tokens-remaining",
        "anthropic-ratelimit-output-tokens-limit",
    ),
    LimitHeaders::new(
        "x-ratelimit-reset",
        "x-ratelimit-remaining",
        "x-ratelimit-limit",
    ),
    LimitHeaders::new("ratelimit-reset", "ratelimit-remaining", "ratelimit-limit"),
];

/// The share of a limit up to which it may be the one that refused the request.
const USED_UP: f64 = 0.05;

struct LimitHeaders {
    reset: &'static str,
    remaining: &'static str,
    limit: &'static str,
}

impl LimitHeaders {
    const fn new(reset: &'static str, remaining: &'static str, limit: &'static str) -> Self {
        Self {
            reset,
            remaining,
            limit,
        }
    }

    /// Returns true for a limit that cannot be the one which refused the request.
    fn has_much_left(&self, header: &dyn Fn(&str) -> Option<String>) -> bool {
        header(self.limit).is_some() && self.share_left(header) > USED_UP
    }

    /// Returns the share of the limit that is left. A limit without figures may be the one that is
    /// used up.
    fn share_left(&self, header: &dyn Fn(&str) -> Option<String>) -> f64 {
        let figure = |name: &str| header(name).and_then(|text| text.trim().parse::<f64>().ok());
        let Some(remaining) = figure(self.remaining) else {
            return 0.0;
        };
        match figure(self.limit) {
            Some(limit) if limit > 0.0 => (remaining / limit).clamp(0.0, 1.0),
            _ if remaining > 0.0 => 1.0,
            _ => 0.0,
        }
    }
}

/// Reads a delay from headers that ask for one. `header` returns the value of a header by its name
/// in lower case.
pub fn delay_in_headers(
    header: &dyn Fn(&str) -> Option<String>,
    now: SystemTime,
) -> Option<Duration> {
    let milliseconds = IN_MILLISECONDS
        .into_iter()
        .find_map(|name| parse_milliseconds(&header(name)?));
    milliseconds.or_else(|| parse_retry_after(&header("retry-after")?, now))
}

/// Reads the time until the limit is reset of which the least is left.
pub fn delay_of_reset(
    header: &dyn Fn(&str) -> Option<String>,
    now: SystemTime,
) -> Option<Duration> {
    let mut found: Option<(f64, Duration)> = None;
    for limit in &LIMITS {
        let Some(delay) = header(limit.reset).and_then(|text| parse_reset(&text, now)) else {
            continue;
        };
        if limit.has_much_left(header) {
            continue;
        }
        let share = limit.share_left(header);
        let is_tighter = found
            .is_none_or(|(least, longest)| share < least || (share <= least && delay > longest));
        if is_tighter {
            found = Some((share, delay));
        }
    }
    found.map(|(_, delay)| delay)
}

/// Reads a delay from the body of an error.
pub fn delay_in_body(body: &Value) -> Option<Duration> {
    let error = error_of(body);
    let details = error
        .get("details")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let mut retry_info = details.filter_map(|detail| delay_of_value(detail.get("retryDelay")?));
    let members = || {
        [error, error.get("metadata").unwrap_or(&Value::Null), body]
            .into_iter()
            .find_map(delay_of_member)
    };
    retry_info.next().or_else(members)
}

/// Reads a delay from the headers that the body of an error repeats.
pub fn delay_in_repeated_headers(body: &Value, now: SystemTime) -> Option<Duration> {
    let headers = error_of(body).pointer("/metadata/headers")?.as_object()?;
    let header = |name: &str| {
        let (_, value) = headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        text_of(value)
    };
    delay_in_headers(&header, now).or_else(|| delay_of_reset(&header, now))
}

/// Reads a delay from an error in a stream, whose headers came before it.
pub(crate) fn delay_in_event(event: &str, message: &str) -> Option<Duration> {
    let in_event = serde_json::from_str::<Value>(event).ok().and_then(|body| {
        let repeated = || delay_in_repeated_headers(&body, SystemTime::now());
        delay_in_body(&body).or_else(repeated)
    });
    in_event.or_else(|| delay_in_message(message))
}

/// Reads a delay from the message of an error: `Please try again in 1.2s`,
/// `Please retry after 26 seconds.`
pub fn delay_in_message(message: &str) -> Option<Duration> {
    const PHRASES: [&str; 4] = [
        "try again in ",
        "try again after ",
        "retry in ",
        "retry after ",
    ];
    let lower = message.to_ascii_lowercase();
    let found = PHRASES
        .into_iter()
        .find_map(|phrase| Some(lower.split_once(phrase)?.1))?;

    let mut words = found.split_whitespace();
    let first = words.next()?;
    if let Some(delay) = parse_units(first.trim_end_matches(['.', ',', ';', ')'])) {
        return Some(delay);
    }
    let unit = words
        .next()?
        .trim_end_matches(|last: char| !last.is_ascii_alphabetic());
    let unit = match unit {
        "millisecond" | "milliseconds" => "ms",
        "second" | "seconds" | "sec" | "secs" => "s",
        "minute" | "minutes" | "min" | "mins" => "m",
        "hour" | "hours" => "h",
        other => other,
    };
    parse_units(&format!("{first}{unit}"))
}

/// Parses the value of a `Retry-After` header: seconds, or an HTTP date.
pub(crate) fn parse_retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        let said = Duration::try_from_secs_f64(number).ok()?;
        return time_of(number, now).or(Some(said));
    }
    Some(
        parse_http_date(text)?
            .duration_since(now)
            .unwrap_or_default(),
    )
}

/// Parses the date in a header.
pub fn parse_http_date(text: &str) -> Option<SystemTime> {
    let date = jiff::fmt::rfc2822::parse(text.trim()).ok()?;
    Some(date.timestamp().into())
}

fn parse_milliseconds(text: &str) -> Option<Duration> {
    seconds_of(text.trim().parse::<f64>().ok()? / 1_000.0)
}

/// Parses the time of a reset, or the time until it. `None` for one that is past.
fn parse_reset(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    let delay = match text.parse::<f64>() {
        Ok(number) if number >= FIRST_TIME => time_of(number, now),
        Ok(number) => seconds_of(number),
        Err(_) => parse_units(text).or_else(|| {
            let time = SystemTime::from(text.parse::<jiff::Timestamp>().ok()?);
            believed(time.duration_since(now).ok()?)
        }),
    };
    delay.filter(|delay| !delay.is_zero())
}

/// A number from here on is a time in seconds since 1970, and not a delay.
const FIRST_TIME: f64 = 1e9;
/// A number from here on is a time in milliseconds.
const FIRST_MILLISECOND: f64 = 1e11;

/// Returns the delay until a time since 1970; `None` if the number is none, or is past.
fn time_of(number: f64, now: SystemTime) -> Option<Duration> {
    let seconds = match number {
        time if time >= FIRST_MILLISECOND => time / 1_000.0,
        time if time >= FIRST_TIME => time,
        _ => return None,
    };
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(seconds).ok()?)?;
    believed(time.duration_since(now).ok()?)
}

/// Parses a duration with units: `6m0s`, `1h2m3.5s`, `34.07s`, `20ms`.
fn parse_units(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|next: char| !next.is_ascii_digit() && next != '.')?;
        let (number, after) = rest.split_at(digits);
        let unit_end = after
            .find(|next: char| !next.is_ascii_alphabetic() && next != 'µ')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let seconds = match unit {
            "d" => 86_400.0,
            "h" => 3_600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * seconds;
        rest = after;
    }
    seconds_of(total)
}

/// Returns the error in a body. Gemini wraps that of a stream in an array.
fn error_of(body: &Value) -> &Value {
    let body = body.get(0).unwrap_or(body);
    let error = body
        .get("error")
        .or_else(|| body.pointer("/response/error"));
    error.filter(|error| error.is_object()).unwrap_or(body)
}

fn delay_of_member(error: &Value) -> Option<Duration> {
    const MILLISECONDS: [&str; 2] = ["retry_after_ms", "retryAfterMs"];
    const SECONDS: [&str; 5] = [
        "retry_after",
        "retryAfter",
        "retry_after_seconds",
        "retryAfterSeconds",
        "resets_in_seconds",
    ];
    let milliseconds = MILLISECONDS
        .into_iter()
        .find_map(|name| parse_milliseconds(&text_of(error.get(name)?)?));
    milliseconds.or_else(|| {
        SECONDS
            .into_iter()
            .find_map(|name| delay_of_value(error.get(name)?))
    })
}

/// Reads a delay: a number of seconds, a text with or without units, or an object of seconds and
/// nanoseconds.
fn delay_of_value(value: &Value) -> Option<Duration> {
    if let Some(fields) = value.as_object() {
        let field = |name: &str| {
            fields
                .get(name)
                .and_then(|value| text_of(value)?.parse::<f64>().ok())
        };
        let seconds = field("seconds");
        let nanoseconds = field("nanos");
        seconds.or(nanoseconds)?;
        return seconds_of(seconds.unwrap_or_default() + nanoseconds.unwrap_or_default() / 1e9);
    }
    let text = text_of(value)?;
    match text.trim().parse::<f64>() {
        Ok(seconds) => seconds_of(seconds),
        Err(_) => parse_units(&text),
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn seconds_of(seconds: f64) -> Option<Duration> {
    believed(Duration::try_from_secs_f64(seconds).ok()?)
}

fn believed(delay: Duration) -> Option<Duration> {
    (delay <= LONGEST).then_some(delay)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// 31 January 2026, 09:00 UTC.
    const NOW: u64 = 1_769_850_000;

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(NOW)
    }

    fn milliseconds(delay: Option<Duration>) -> Option<u128> {
        delay.map(|delay| delay.as_millis())
    }

    #[test]
    fn parses_retry_after_as_seconds_or_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
        assert_eq!(parse_retry_after("7", now), Some(Duration::from_secs(7)));
        assert_eq!(
            parse_retry_after(" 0.5 ", now),
            Some(Duration::from_millis(500))
        );
        assert_eq!(
            parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", now),
            Some(Duration::from_secs(7))
        );
        assert_eq!(
            parse_retry_after("Sun, 06 Nov 1994 08:49:00 GMT", now),
            Some(Duration::ZERO)
        );
        for text in ["", "-1", "soon", "NaN", "inf", "1e400"] {
            assert_eq!(parse_retry_after(text, now), None, "{text}");
        }
    }

    #[test]
    fn a_time_in_place_of_a_delay_is_that_time() {
        assert_eq!(
            parse_retry_after("1769850042", now()),
            Some(Duration::from_secs(42))
        );
        assert_eq!(
            parse_retry_after("1769850042000", now()),
            Some(Duration::from_secs(42))
        );
        // The server wants no further request for now.
        assert_eq!(
            parse_retry_after("3600000", now()),
            Some(Duration::from_secs(3_600_000))
        );
        assert_eq!(
            parse_retry_after("1e12", now()),
            Some(Duration::from_secs(1_000_000_000_000))
        );
    }

    #[test]
    fn resets_are_read_in_every_form() {
        let cases = [
            ("6m0s", 360_000),
            ("1h2m3.5s", 3_723_500),
            ("1s", 1_000),
            ("20ms", 20),
            ("2m59.56s", 179_560),
            ("7.66", 7_660),
            ("12", 12_000),
            ("1769850030", 30_000),
            ("1769850030500", 30_500),
            ("2026-01-31T09:00:42Z", 42_000),
            ("2026-01-31T10:00:42+01:00", 42_000),
        ];
        for (text, expected) in cases {
            assert_eq!(
                milliseconds(parse_reset(text, now())),
                Some(expected),
                "{text}"
            );
        }
        let nothing = [
            "",
            "s",
            "6x",
            "6m0",
            "-5",
            "-5s",
            "NaN",
            "inf",
            "0",
            "0s",
            "1e300",
            "1769840000",
            "1769840000000",
            "9999d",
            "2026-01-31T08:00:00Z",
            "2099-01-31T08:00:00Z",
            "soon",
            "1.2.3s",
        ];
        for text in nothing {
            assert_eq!(parse_reset(text, now()), None, "{text}");
        }
    }

    fn of_reset(headers: &[(&str, &str)]) -> Option<u128> {
        let header = |name: &str| {
            headers
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        };
        milliseconds(delay_of_reset(&header, now()))
    }

    #[test]
    fn the_limit_with_the_least_left_decides() {
        let openai = [
            ("x-ratelimit-limit-requests", "500"),
            ("x-ratelimit-remaining-requests", "499"),
            ("x-ratelimit-reset-requests", "6m0s"),
            ("x-ratelimit-limit-tokens", "30000"),
            ("x-ratelimit-remaining-tokens", "12"),
            ("x-ratelimit-reset-tokens", "59.9s"),
        ];
        assert_eq!(of_reset(&openai), Some(59_900));
        let anthropic = [
            ("anthropic-ratelimit-requests-remaining", "0"),
            ("anthropic-ratelimit-requests-reset", "2026-01-31T09:00:02Z"),
            ("anthropic-ratelimit-tokens-remaining", "8000"),
            ("anthropic-ratelimit-tokens-reset", "2026-01-31T09:01:00Z"),
        ];
        assert_eq!(of_reset(&anthropic), Some(2_000));
        // Without figures, the request waits for all.
        assert_eq!(
            of_reset(&[
                ("x-ratelimit-reset-requests", "1s"),
                ("x-ratelimit-reset-tokens", "20ms")
            ]),
            Some(1_000)
        );
        assert_eq!(
            of_reset(&[
                ("x-ratelimit-reset-requests", "0s"),
                ("x-ratelimit-reset-tokens", "soon")
            ]),
            None
        );
    }

    #[test]
    fn a_body_asks_for_a_delay_in_many_forms() {
        let retry_info =
            json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.07s"});
        let details =
            json!([{"@type": "type.googleapis.com/google.rpc.Help", "links": []}, retry_info]);
        let gemini =
            json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": details}});
        let seconds_and_nanos =
            json!({"error": {"details": [{"retryDelay": {"seconds": "2", "nanos": 500_000_000}}]}});
        let cases = [
            (gemini.clone(), Some(34_070)),
            (json!([gemini]), Some(34_070)),
            (seconds_and_nanos, Some(2_500)),
            (
                json!({"error": {"message": "slow down", "retry_after": 1.5}}),
                Some(1_500),
            ),
            (
                json!({"error": {"metadata": {"retry_after_seconds": 12}}}),
                Some(12_000),
            ),
            (json!({"retry_after_ms": "250"}), Some(250)),
            (
                json!({"error": {"details": [{"retryDelay": "-3s"}, {"retryDelay": "NaN"}], "retry_after": -1}}),
                None,
            ),
            (json!({"error": {"details": {"retryDelay": "3s"}}}), None),
            (json!({"error": "busy"}), None),
            (json!(null), None),
        ];
        for (body, expected) in cases {
            assert_eq!(milliseconds(delay_in_body(&body)), expected, "{body}");
        }
    }

    #[test]
    fn headers_that_a_body_repeats_are_read() {
        let body = json!({"error": {"code": 429, "metadata": {"headers": {
            "X-RateLimit-Limit": "20", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1769850042000"}}}});
        assert_eq!(
            milliseconds(delay_in_repeated_headers(&body, now())),
            Some(42_000)
        );
        let later = now() + Duration::from_secs(60);
        assert_eq!(delay_in_repeated_headers(&body, later), None);
    }

    #[test]
    fn a_message_may_name_a_delay() {
        let cases = [
            (
                "Rate limit reached for gpt-5. Please try again in 1.898s. Visit https://x.example",
                Some(1_898),
            ),
            ("Please try again in 6m0s.", Some(360_000)),
            ("Please try again in 20ms.", Some(20)),
            ("Please retry in 34.074824224s.", Some(34_074)),
            ("Please retry after 26 seconds. To increase", Some(26_000)),
            ("Try again after 1 minute.", Some(60_000)),
            ("Please try again in a moment", None),
            ("Please try again later", None),
            ("try again in -5s", None),
            ("try again in 5", None),
            ("retry in 9999999d", None),
        ];
        for (message, expected) in cases {
            assert_eq!(
                milliseconds(delay_in_message(message)),
                expected,
                "{message}"
            );
        }
    }
}
