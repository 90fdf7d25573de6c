//! The request that follows a redirect.

use crate::egress::error::EgressError;
use reqwest::header::{self, HeaderMap, HeaderName};
use reqwest::{Method, Request, Response, StatusCode, Url};

/// The headers that another origin gets too. All others may hold keys.
const PUBLIC_HEADERS: [HeaderName; 6] = [
    header::ACCEPT,
    header::ACCEPT_ENCODING,
    header::ACCEPT_LANGUAGE,
    header::CONTENT_TYPE,
    header::RANGE,
    header::USER_AGENT,
];

/// Returns the request that a redirect asks for, or `None` if the response is not a redirect.
/// `request` is a copy of the request, which is missing if its body is a stream.
pub(crate) fn next_request(
    response: &Response,
    request: Option<Request>,
) -> Result<Option<Request>, EgressError> {
    let Some(location) = location(response)? else {
        return Ok(None);
    };
    let host = || location.host_str().unwrap_or_default().to_owned();
    let mut request = request.ok_or_else(|| EgressError::RedirectedBody { host: host() })?;
    if drops_body(response.status(), request.method()) {
        *request.method_mut() = Method::GET;
        *request.body_mut() = None;
        for name in [
            header::CONTENT_TYPE,
            header::CONTENT_LENGTH,
            header::CONTENT_ENCODING,
            header::TRANSFER_ENCODING,
        ] {
            request.headers_mut().remove(name);
        }
    }
    if location.origin() != request.url().origin() {
        if request.body().is_some() {
            return Err(EgressError::RedirectedBody { host: host() });
        }
        keep_public(request.headers_mut());
    }
    *request.url_mut() = location;
    Ok(Some(request))
}

fn location(response: &Response) -> Result<Option<Url>, EgressError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(header::LOCATION) else {
        return Ok(None);
    };
    let text = std::str::from_utf8(location.as_bytes()).ok();
    let url = text.and_then(|text| response.url().join(text).ok());
    let invalid = || EgressError::InvalidUrl {
        reason: "the address of the redirect is not a URL".to_owned(),
    };
    url.map(Some)
        .ok_or_else(|| EgressError::Redirect(Box::new(invalid())))
}

fn drops_body(status: StatusCode, method: &Method) -> bool {
    match status {
        StatusCode::SEE_OTHER => !matches!(*method, Method::GET | Method::HEAD),
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => *method == Method::POST,
        _ => false,
    }
}

fn keep_public(headers: &mut HeaderMap) {
    let secret = headers
        .keys()
        .filter(|name| !PUBLIC_HEADERS.contains(name))
        .cloned()
        .collect::<Vec<_>>();
    for name in secret {
        headers.remove(name);
    }
}
