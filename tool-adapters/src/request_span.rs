//! The span of one HTTP request, under the names that OpenTelemetry gives.

use reqwest::{Method, StatusCode, Url};
use tool_core::trace::{SpanHandle, SpanKind};

/// Opens it. Of the address neither the query nor a password is told: they may hold keys.
pub(crate) fn open(method: &Method, url: &Url) -> SpanHandle {
    let host = url.host_str().unwrap_or_default();
    let span = SpanHandle::open(SpanKind::Http, format!("{method} {host}"));
    span.attribute("http.request.method", method.as_str());
    span.attribute("server.address", host);
    if let Some(port) = url.port_or_known_default() {
        span.attribute("server.port", port);
    }
    span.attribute("url.path", url.path());
    span
}

/// The name under which an answer's status is told.
pub(crate) const STATUS: &str = "http.response.status_code";

/// What kind of error an answer is; `None` for one that is none. To a client every 4xx is one.
pub(crate) fn error_of(status: StatusCode) -> Option<&'static str> {
    Some(match status.as_u16() {
        ..400 => return None,
        400 => "400",
        401 => "401",
        402 => "402",
        403 => "403",
        404 => "404",
        405 => "405",
        408 => "408",
        409 => "409",
        410 => "410",
        413 => "413",
        415 => "415",
        422 => "422",
        424 => "424",
        429 => "429",
        500 => "500",
        501 => "501",
        502 => "502",
        503 => "503",
        504 => "504",
        529 => "529",
        code if code < 500 => "4xx",
        _ => "5xx",
    })
}

/// What kind of error it is that no answer came, or not all of it.
pub(crate) fn kind_of(error: &reqwest::Error) -> &'static str {
    if error.is_timeout() {
        "timeout"
    } else if error.is_connect() {
        "connect"
    } else if error.is_redirect() {
        "redirect"
    } else if error.is_builder() {
        "request"
    } else if error.is_body() || error.is_decode() {
        "body"
    } else {
        "transport"
    }
}
