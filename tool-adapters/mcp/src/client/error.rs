//! Errors of importing.

use crate::client::http_answer::HttpError;
#[cfg(feature = "auth")]
use crate::client::logins::is_failed_login;
use crate::client::pins::PinError;
use hyper_util::client;
use rmcp::service::ServiceError;
use std::error::Error;
use std::io;
use std::iter::successors;

/// An error of importing a server's tools.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The server's process could not be started.
    #[error("failed to start the server: {0}")]
    Start(#[source] io::Error),
    /// The server's process ended before it answered.
    #[error(
        "the server ended at its start ({status}){}{lines}",
        if lines.is_empty() { "" } else { "; its standard error ends with: " }
    )]
    Ended {
        /// The status of the process, such as `exit status: 1`.
        status: String,
        /// Up to 5 last lines of its standard error, escaped and with secrets masked, of up to 200
        /// characters each.
        lines: String,
    },
    /// The server could not be reached, or refused the connection.
    #[error("failed to connect to the server: {0}")]
    Connection(#[source] Box<dyn Error + Send + Sync>),
    /// The server broke the protocol or closed the connection.
    #[error("the server does not follow the protocol: {0}")]
    Protocol(#[source] Box<dyn Error + Send + Sync>),
    /// The URL of the server is invalid.
    #[error("invalid URL of the server: {0}")]
    Url(&'static str),
    /// A key would be sent unencrypted to another machine.
    #[error(
        "expected https, as requests to `{host}` have a key; use it, or set `allow_unencrypted` on a trusted network"
    )]
    Unencrypted {
        /// The host of the URL.
        host: String,
    },
    /// A header that [`McpClient::header`](super::McpClient::header) set has an invalid name or
    /// value.
    #[error("invalid name or value of the header `{0}`; a value has visible ASCII characters only")]
    Header(String),
    /// Parts of the server's default name are masked, so that other servers may have the same name,
    /// and their pins.
    #[error(
        "`{name}` is not the name of one server only, as keys are masked in it; set one with `McpClient::name` to use pins"
    )]
    Unnamed {
        /// The default name.
        name: String,
    },
    /// The server did not answer within [`McpClient::timeout`](super::McpClient::timeout).
    #[error("the server did not answer in time")]
    Timeout,
    /// A login at the server was not possible.
    #[cfg(feature = "auth")]
    #[error("failed to log in: {0}")]
    Login(#[from] crate::auth::LoginError),
    /// The pins could not be written.
    #[error(transparent)]
    Pins(#[from] PinError),
}

/// Returns the text of a connection's error and of its causes that it does not repeat, without the
/// names that rmcp, reqwest and hyper give to their steps.
pub(crate) fn text_with_causes(error: &(dyn Error + 'static)) -> String {
    const MAX_CAUSES: usize = 8;
    let mut text = String::new();
    for error in successors(Some(error), |error| cause_of(*error)).take(MAX_CAUSES) {
        let part = text_of(error);
        if !text.contains(&part) {
            text = if text.is_empty() {
                part
            } else {
                format!("{text}: {part}")
            };
        }
    }
    text
}

fn cause_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref() {
        Some(HttpError::Client(error)) => Some(error),
        Some(HttpError::Io(error)) => Some(error),
        Some(_) => None,
        None => error.source(),
    }
}

/// Returns the text of an error without its causes. It is empty for one that only names a step of
/// which the cause says more.
fn text_of(error: &(dyn Error + 'static)) -> String {
    const STEPS: [&str; 3] = ["tcp connect error", "dns error", "error resolving DNS"];
    if let Some(error) = error.downcast_ref::<HttpError>() {
        return match error {
            HttpError::Client(_) | HttpError::Io(_) => String::new(),
            HttpError::HttpStatus(status) => format!("the server answered HTTP {}", status.status),
            HttpError::UnexpectedServerResponse(answer) => format!("the server answered {answer}"),
            HttpError::UnexpectedContentType(kind) => format!(
                "expected an answer in JSON or as events, got `{}`; check the path of the URL",
                kind.as_deref().unwrap_or("no type")
            ),
            HttpError::AuthRequired(challenge) => {
                format!(
                    "the server wants a login or another key (HTTP 401: {})",
                    challenge.www_authenticate_header
                )
            }
            HttpError::InsufficientScope(challenge) => {
                format!(
                    "the key does not allow this (HTTP 403: {})",
                    challenge.www_authenticate_header
                )
            }
            HttpError::Sse(_) | HttpError::UnexpectedEndOfStream => {
                "the server broke off its answer".to_owned()
            }
            HttpError::Deserialize(error) => format!("a message cannot be read: {error}"),
            HttpError::SessionExpired => "the server has ended the session (HTTP 404)".to_owned(),
            HttpError::TransportChannelClosed | HttpError::TokioJoinError(_) => {
                "the connection is closed".to_owned()
            }
            error => error.to_string(),
        };
    }
    if let Some(error) = error.downcast_ref::<hyper::Error>() {
        if error.is_parse() {
            return "the answer is not HTTP; check the URL".to_owned();
        }
        if error.is_incomplete_message() || error.is_closed() {
            return "the server closed the connection before it answered".to_owned();
        }
    }
    let text = error.to_string();
    let is_step = error.is::<reqwest::Error>() || error.is::<client::legacy::Error>();
    match error.downcast_ref().map(io::Error::kind) {
        _ if error.source().is_some()
            && (is_step || error.is::<hyper::Error>() || STEPS.contains(&&*text)) =>
        {
            String::new()
        }
        Some(io::ErrorKind::ConnectionRefused) => {
            format!(
                "nothing takes connections at this address; check that the server runs ({text})"
            )
        }
        Some(io::ErrorKind::BrokenPipe) => format!("the server has closed its input ({text})"),
        Some(io::ErrorKind::ConnectionReset) => {
            format!("the server broke off the connection ({text})")
        }
        Some(io::ErrorKind::UnexpectedEof) => "the server broke off its answer".to_owned(),
        Some(_) if text.starts_with("received corrupt message") => {
            "the answer is not TLS; check that the URL has the right scheme and port".to_owned()
        }
        _ => text,
    }
}

/// Returns the error of a request over HTTP.
pub(crate) fn http_error(error: &ServiceError) -> Option<&HttpError> {
    match error {
        ServiceError::TransportSend(error) => error.error.downcast_ref(),
        _ => None,
    }
}

/// The status of a server that takes no more requests for now.
pub(crate) const TOO_MANY_REQUESTS: u16 = 429;

/// Returns the status with which a server over HTTP has refused a request, if it may take it later.
pub(crate) fn http_status(error: &ServiceError) -> Option<u16> {
    match http_error(error) {
        Some(HttpError::HttpStatus(status)) => Some(status.status),
        _ => None,
    }
}

/// Returns true for an error after which a request can be made again: the server is not reached, or
/// cannot answer at the moment. A person who has denied a login is not asked again.
pub(crate) fn is_temporary(error: &HttpError) -> bool {
    #[cfg(feature = "auth")]
    if is_failed_login(error) {
        return false;
    }
    matches!(
        error,
        HttpError::Io(_) | HttpError::Client(_) | HttpError::HttpStatus(_)
    )
}

/// Returns true if a request has not begun, as the server does not know its session any more.
pub(crate) fn has_expired(error: &ServiceError) -> bool {
    matches!(http_error(error), Some(HttpError::SessionExpired))
}

/// The error of a request that was not sent, as there is no connection or no token for it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unsent(pub(crate) String);

impl From<Unsent> for HttpError {
    fn from(error: Unsent) -> Self {
        Self::Io(io::Error::other(error))
    }
}

/// Returns true if a request was not sent.
pub(crate) fn was_not_sent(error: &ServiceError) -> bool {
    let Some(HttpError::Io(error)) = http_error(error) else {
        return false;
    };
    error
        .get_ref()
        .is_some_and(<dyn Error + Send + Sync>::is::<Unsent>)
}

/// Returns the text of an error, without rmcp's names of types.
pub(crate) fn describe(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => {
            format!(
                "the server answered with the error {}: {}",
                error.code.0, error.message
            )
        }
        ServiceError::TransportSend(error) => text_with_causes(&*error.error),
        ServiceError::TransportClosed => "the connection is closed".to_owned(),
        ServiceError::UnexpectedResponse => "the answer is not one to this request".to_owned(),
        error => error.to_string(),
    }
}
