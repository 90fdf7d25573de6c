//! Headers that a document cannot leave to the model.

/// Returns true for a header that belongs to the connection or to the client, and never to a
/// parameter or a key.
pub(crate) fn is_of_the_connection(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "date",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "via",
    ];
    let name = name.to_ascii_lowercase();
    NAMES.contains(&name.as_str()) || name.starts_with("proxy-") || name.starts_with("sec-")
}

/// Returns true for a header whose value would change who calls, from where, or which method the
/// server runs.
pub(crate) fn is_of_the_program(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "accept",
        "authorization",
        "baggage",
        "content-type",
        "cookie",
        "cookie2",
        "forwarded",
        "origin",
        "referer",
        "set-cookie",
        "traceparent",
        "tracestate",
        "x-http-method",
        "x-http-method-override",
        "x-method-override",
        "x-original-url",
        "x-real-ip",
        "x-rewrite-url",
    ];
    let lower = name.to_ascii_lowercase();
    NAMES.contains(&lower.as_str())
        || lower.starts_with("x-forwarded-")
        || is_of_the_connection(name)
}

/// Returns a media type without its parameters.
pub(crate) fn essence(media_type: &str) -> String {
    media_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
}

/// Returns true for a media type whose body is text and not JSON.
pub(crate) fn is_text(media_type: &str) -> bool {
    const TEXTS: &[&str] = &[
        "application/xml",
        "application/yaml",
        "application/x-ndjson",
        "application/x-www-form-urlencoded",
    ];
    let essence = essence(media_type);
    essence.starts_with("text/") || essence.ends_with("+xml") || TEXTS.contains(&essence.as_str())
}

/// Returns true for a media type of JSON, and for ranges that contain it.
pub(crate) fn is_json(media_type: &str) -> bool {
    let essence = essence(media_type);
    is_range_of_json(media_type)
        || matches!(essence.as_str(), "application/json" | "text/json")
        || (essence.contains('/') && essence.ends_with("+json"))
}

/// Returns true for a range of media types that contains JSON.
pub(crate) fn is_range_of_json(media_type: &str) -> bool {
    matches!(essence(media_type).as_str(), "*/*" | "application/*")
}
