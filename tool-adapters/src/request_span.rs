//! The span of one HTTP request, under the names that OpenTelemetry gives.

use reqwest::{Method, Url};
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
