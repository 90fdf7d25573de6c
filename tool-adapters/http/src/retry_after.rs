//! The delay that a server asks for in its answer.

use http::StatusCode;
use http::header::{DATE, HeaderMap};
use serde_json::Value;
use std::time::{Duration, SystemTime};
use tool_adapters_providers::retry_delay::{
    delay_in_body, delay_in_message, delay_in_repeated_headers, delay_of_reset,
};
use tool_adapters_providers::retry_delay::{delay_in_headers, parse_http_date};

/// Returns the delay in the headers of any server: `Retry-After`, or its forms in milliseconds.
pub fn requested_delay(headers: &HeaderMap) -> Option<Duration> {
    delay_in_headers(&|name| header(headers, name), server_time(headers))
}

/// Returns the delay in an error of a model's server. [`retry_delay`](tool_adapters_providers::retry_delay) has the order in which the
/// places are read.
pub fn delay_of_error(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    message: &str,
) -> Option<Duration> {
    let now = server_time(headers);
    let body = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let is_limit = status == StatusCode::TOO_MANY_REQUESTS;
    let reset = || {
        is_limit
            .then(|| delay_of_reset(&|name| header(headers, name), now))
            .flatten()
    };
    requested_delay(headers)
        .or_else(|| delay_in_body(&body))
        .or_else(reset)
        .or_else(|| delay_in_repeated_headers(&body, now))
        .or_else(|| delay_in_message(message))
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// Returns the time at the server, which may differ from that of this machine.
fn server_time(headers: &HeaderMap) -> SystemTime {
    header(headers, DATE.as_str())
        .and_then(|date| parse_http_date(&date))
        .unwrap_or_else(SystemTime::now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::HeaderValue;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            (
                http::header::HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        });
        pairs.collect()
    }

    #[test]
    fn a_date_is_compared_with_the_servers_clock() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:30 GMT");
        let later = ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(
            requested_delay(&headers(&[date, later])),
            Some(Duration::from_secs(7))
        );
        // By the clock of this machine it is past.
        assert_eq!(requested_delay(&headers(&[later])), Some(Duration::ZERO));
    }

    #[test]
    fn milliseconds_come_before_seconds() {
        for name in ["retry-after-ms", "x-ms-retry-after-ms"] {
            assert_eq!(
                requested_delay(&headers(&[(name, "250"), ("retry-after", "9")])),
                Some(Duration::from_millis(250))
            );
            assert_eq!(
                requested_delay(&headers(&[(name, "soon"), ("retry-after", "9")])),
                Some(Duration::from_secs(9))
            );
        }
    }
}
