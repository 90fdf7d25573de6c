//! What went wrong with a request, in one word of few.

use reqwest::StatusCode;

/// What kind of error an answer is; `None` for one that is none. To a client every 4xx is one.
pub(super) fn of_status(status: StatusCode) -> Option<&'static str> {
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
pub(super) fn of_transport(error: &reqwest::Error) -> &'static str {
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
