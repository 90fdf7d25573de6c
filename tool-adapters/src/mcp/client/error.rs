//! Errors of importing.

use crate::mcp::client::http_answer::HttpError;
use crate::mcp::client::pins::PinError;
use rmcp::service::ServiceError;
use std::io;

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
        /// Up to 5 last lines of its standard error, escaped and with secrets masked, of up to 200 characters each.
        lines: String,
    },
    /// The server could not be reached, or refused the connection.
    #[error("failed to connect to the server: {0}")]
    Connection(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The server broke the protocol or closed the connection.
    #[error("the server does not follow the protocol: {0}")]
    Protocol(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The URL of the server is invalid.
    #[error("invalid URL of the server: {0}")]
    Url(&'static str),
    /// A key would be sent unencrypted to another machine.
    #[error(
        "expected https, as requests to `{host}` have a key; use it, or call `allow_unencrypted` on a trusted network"
    )]
    Unencrypted {
        /// The host of the URL.
        host: String,
    },
    /// A header that [`McpClient::header`](super::McpClient::header) set has an invalid name or value.
    #[error("invalid name or value of the header `{0}`; a value has visible ASCII characters only")]
    Header(String),
    /// Parts of the server's default name are masked, so that other servers may have the same name, and their pins.
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
    /// The server lists more than 10,000 tools or 8 MiB of them, or its pages form a loop.
    #[error("the server's list of tools has no end")]
    EndlessList,
    /// A login at the server was not possible.
    #[cfg(feature = "mcp-auth")]
    #[error("failed to log in: {0}")]
    Login(#[from] crate::mcp::auth::LoginError),
    /// The pins could not be written.
    #[error(transparent)]
    Pins(#[from] PinError),
}

/// Returns the text of an error and of its causes that it does not repeat.
pub(crate) fn text_with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    const MAX_CAUSES: usize = 8;
    let mut text = error.to_string();
    for cause in std::iter::successors(error.source(), |error| error.source()).take(MAX_CAUSES) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Returns the status with which a server over HTTP has refused a request, if it may take it later.
pub(crate) fn http_status(error: &ServiceError) -> Option<u16> {
    let ServiceError::TransportSend(error) = error else { return None };
    match error.error.downcast_ref() {
        Some(HttpError::HttpStatus(status)) => Some(status.status),
        _ => None,
    }
}

/// Returns the text of an error, without rmcp's names of types.
pub(crate) fn describe(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => {
            format!("the server answered with the error {}: {}", error.code.0, error.message)
        }
        ServiceError::TransportSend(error) => text_with_causes(&*error.error),
        error => error.to_string(),
    }
}
