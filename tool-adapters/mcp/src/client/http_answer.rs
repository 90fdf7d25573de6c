//! The answers of a server to what is sent to it over HTTP.
//!
//! rmcp's client reads JSON as each type of answer in turn, and does not tell the size of an answer
//! that is too long.

use crate::client::answer::{MAX_MESSAGE, too_long};
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, poll_fn as poll_fn_stream};
use hyper::Response;
use hyper::body::Body as _;
use reqwest::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use reqwest::{Body, StatusCode};
use rmcp::model::ErrorData;
use rmcp::transport::common::http_header::HEADER_SESSION_ID;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpError,
};
use serde::Deserialize;
use sse_stream::{Error as SseError, Sse, SseStream};
use std::future::{self, poll_fn};
use std::pin::Pin;
use std::task::{Poll, ready};
use tokio::task::consume_budget;
use tokio::task::coop::poll_proceed;
use tokio_util::bytes::Bytes;

/// Maximum number of bytes of the body of a refusal.
const MAX_REFUSAL: usize = 64 << 10;

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

pub(crate) type HttpResult<T> = Result<T, HttpError>;

pub(crate) type HttpError = StreamableHttpError<reqwest::Error>;

/// An answer to a message.
pub(crate) enum Posted {
    /// A message, with the session that it opens.
    Text(Bytes, Option<String>),
    /// A message that cannot be read, as the error of its request.
    Failed(ErrorData),
    /// A stream, with the session that it opens.
    Events(Events, Option<String>),
    Accepted,
    /// A refusal that is no message: its status and its body.
    Refused(StatusCode, String),
}

/// The events of a stream.
pub(crate) type Events = BoxStream<'static, Result<Sse, SseError>>;

/// Fails if a server wants another token. Some servers answer in the same way if they do not know
/// the session.
pub(crate) async fn check_token(
    response: Response<Body>,
    has_session: bool,
) -> HttpResult<Response<Body>> {
    match (response.status(), challenges(&response)) {
        (status @ StatusCode::UNAUTHORIZED, None) if has_session => {
            let text = body(response, MAX_REFUSAL)
                .await
                .ok()
                .and_then(Result::ok)
                .unwrap_or_default();
            if is_lost_session(status, &text) {
                return Err(StreamableHttpError::SessionExpired);
            }
            Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(
                String::new(),
            )))
        }
        (StatusCode::UNAUTHORIZED, challenge) => {
            let challenge = AuthRequiredError::new(challenge.unwrap_or_default());
            Err(StreamableHttpError::AuthRequired(challenge))
        }
        (StatusCode::FORBIDDEN, Some(challenge)) => Err(StreamableHttpError::InsufficientScope(
            InsufficientScopeError::new(challenge, None),
        )),
        _ => Ok(response),
    }
}

/// Returns all challenges of a refusal, which may be in several headers.
fn challenges(response: &Response<Body>) -> Option<String> {
    let headers = response.headers().get_all(WWW_AUTHENTICATE);
    let texts = headers.iter().filter_map(|header| header.to_str().ok());
    let texts = texts.collect::<Vec<_>>();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// Returns the error of a refusal.
pub(crate) fn refused(status: StatusCode, text: &str) -> HttpError {
    StreamableHttpError::UnexpectedServerResponse(format!("HTTP {status}: {text}").into())
}

/// Reads the answer to a request of the protocol, or to another message. In a session, fails if the
/// server does not know it.
pub(crate) async fn read(
    response: Response<Body>,
    is_request: bool,
    has_session: bool,
) -> HttpResult<Posted> {
    let status = response.status();
    let header = |name| {
        response
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let kind = header(CONTENT_TYPE.as_str()).unwrap_or_default();
    let is_json = kind.starts_with(JSON);
    if status == StatusCode::ACCEPTED || status == StatusCode::NO_CONTENT {
        return Ok(Posted::Accepted);
    }
    if !status.is_success() {
        return refusal(response, is_json, has_session).await;
    }
    let session = header(HEADER_SESSION_ID).map(str::to_owned);
    if is_json {
        return Ok(match body(response, MAX_MESSAGE).await? {
            Ok(text) => Posted::Text(text, session),
            Err(size) => Posted::Failed(too_long(size)),
        });
    }
    if kind.starts_with(EVENTS) {
        return Ok(Posted::Events(events(response), session));
    }
    if response.body().is_end_stream() && !is_request {
        // Some servers accept a message so.
        return Ok(Posted::Accepted);
    }
    Err(StreamableHttpError::UnexpectedContentType(
        header(CONTENT_TYPE.as_str()).map(str::to_owned),
    ))
}

/// The words of servers for a session that they do not know, in lower case. The protocol has 404
/// alone for it.
const LOST_SESSION: [&str; 12] = [
    "no valid session",
    "session not found",
    "session not initialized",
    "server not initialized",
    "invalid session",
    "unknown session",
    "session expired",
    "session has expired",
    "session does not exist",
    "no such session",
    "missing session",
    "session id not found",
];

/// Returns true if a refusal of a message in a session says that the server does not know the
/// session.
fn is_lost_session(status: StatusCode, text: &[u8]) -> bool {
    match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => true,
        StatusCode::BAD_REQUEST
        | StatusCode::UNAUTHORIZED
        | StatusCode::FORBIDDEN
        | StatusCode::UNPROCESSABLE_ENTITY => {
            // `Mcp-Session-Id` is written in several ways.
            let text = String::from_utf8_lossy(text).to_ascii_lowercase();
            let text = text
                .replace(['-', '_'], " ")
                .replace("mcp session", "session");
            LOST_SESSION.iter().any(|words| text.contains(words))
        }
        _ => false,
    }
}

/// Reads the answer of a server that does not serve a message.
async fn refusal(response: Response<Body>, is_json: bool, has_session: bool) -> HttpResult<Posted> {
    #[derive(Deserialize)]
    struct Failure {
        #[serde(rename = "error")]
        _error: ErrorData,
    }
    let status = response.status();
    let is_limit = status == StatusCode::TOO_MANY_REQUESTS;
    let failed = HttpStatusError::new(status.as_u16(), None).into();
    if is_limit || (status.is_server_error() && !is_json) {
        return Err(failed);
    }
    let text = body(response, MAX_REFUSAL)
        .await
        .ok()
        .and_then(Result::ok)
        .unwrap_or_default();
    if has_session && is_lost_session(status, &text) {
        return Err(StreamableHttpError::SessionExpired);
    }
    if is_json
        && status != StatusCode::FORBIDDEN
        && serde_json::from_slice::<Failure>(&text).is_ok()
    {
        return Ok(Posted::Text(text, None));
    }
    if status.is_server_error() {
        return Err(failed);
    }
    Ok(Posted::Refused(
        status,
        String::from_utf8_lossy(&text).into_owned(),
    ))
}

/// Reads a body. Returns its size if it is over a maximum.
async fn body(response: Response<Body>, max: usize) -> HttpResult<Result<Bytes, String>> {
    let mut body = response.into_body();
    if let Some(length) = body
        .size_hint()
        .exact()
        .filter(|length| *length > max as u64)
    {
        return Ok(Err(length.to_string()));
    }
    let mut read = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let Ok(chunk) = frame.map_err(StreamableHttpError::Client)?.into_data() else {
            continue;
        };
        if chunk.len() > max - read.len() {
            return Ok(Err(format!("more than {max}")));
        }
        read.extend_from_slice(&chunk);
        if body.is_end_stream() {
            break;
        }
        // A body in single bytes is there at once, and the deadline needs its turn.
        consume_budget().await;
    }
    Ok(Ok(read.into()))
}

/// Returns the events of a stream. It fails at one that is over the maximum.
pub(crate) fn events(response: Response<Body>) -> Events {
    let mut sizes = EventSize::default();
    let mut has_failed = false;
    let mut chunks = reqwest::Response::from(response).bytes_stream();
    let chunks = poll_fn_stream(move |cx| {
        // Chunks that bring no event, such as comments, are there at once, and the deadline needs
        // its turn.
        let budget = ready!(poll_proceed(cx));
        let chunk = ready!(chunks.poll_next_unpin(cx));
        budget.made_progress();
        Poll::Ready(chunk)
    });
    let chunks = chunks.map(move |chunk| match chunk {
        Ok(chunk) if sizes.add(&chunk) => Ok(chunk),
        Ok(_) => Err(StreamError::TooLong),
        Err(error) => Err(StreamError::Broken(error)),
    });
    let chunks = chunks.take_while(move |chunk| {
        future::ready(!std::mem::replace(&mut has_failed, chunk.is_err()))
    });
    SseStream::from_bytes_stream(chunks).boxed()
}

#[derive(Debug, thiserror::Error)]
enum StreamError {
    #[error("an event has more than {MAX_MESSAGE} bytes")]
    TooLong,
    #[error(transparent)]
    Broken(reqwest::Error),
}

/// Returns the error of a request in whose stream an event is over the maximum.
pub(crate) fn too_long_event(error: &SseError) -> Option<ErrorData> {
    let SseError::Body(error) = error else {
        return None;
    };
    let is_too_long = matches!(error.downcast_ref(), Some(StreamError::TooLong));
    is_too_long.then(|| too_long(format_args!("more than {MAX_MESSAGE}")))
}

/// The size of an event that is being read.
#[derive(Default)]
struct EventSize {
    event: usize,
    line: usize,
    last: u8,
}

impl EventSize {
    /// Adds bytes. Returns false if the event is over the maximum.
    fn add(&mut self, bytes: &[u8]) -> bool {
        bytes.iter().all(|&byte| {
            match byte {
                b'\n' if self.last == b'\r' => {}
                b'\n' | b'\r' => {
                    // An empty line ends an event.
                    self.event = if self.line == 0 { 0 } else { self.event + 1 };
                    self.line = 0;
                }
                _ => (self.event, self.line) = (self.event + 1, self.line + 1),
            }
            self.last = byte;
            self.event <= MAX_MESSAGE
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn challenges_of_several_headers_are_read() {
        let response = Response::builder()
            .status(StatusCode::UNAUTHORIZED)
            .header(WWW_AUTHENTICATE, "Basic realm=\"a\"")
            .header(WWW_AUTHENTICATE, "Bearer scope=\"b\"")
            .body(Body::from(""))
            .expect("an answer");
        let Err(StreamableHttpError::AuthRequired(refusal)) = check_token(response, false).await
        else {
            panic!("a refusal");
        };
        let expected = "Basic realm=\"a\", Bearer scope=\"b\"";
        assert_eq!(refusal.www_authenticate_header, expected);
    }

    #[test]
    fn an_event_has_a_size_in_all_forms_of_lines() {
        let line = format!("data: {}", "x".repeat(1 << 20));
        for end in ["\n", "\r", "\r\n"] {
            let fits = |lines: usize| {
                let mut size = EventSize::default();
                let line = format!("{line}{end}");
                (0..lines).all(|_| size.add(line.as_bytes()))
            };
            assert!(fits(15) && !fits(16), "{end:?}");
            let mut size = EventSize::default();
            let event = format!("{line}{end}{end}");
            assert!((0..100).all(|_| size.add(event.as_bytes())), "{end:?}");
        }
    }
}
