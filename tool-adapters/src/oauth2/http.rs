//! The way to a token endpoint.

use super::normal;
use oauth2::http::{Response, StatusCode};
use oauth2::{HttpRequest, HttpResponse};
use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

/// For the whole exchange: less than a refresh may take.
const TIMEOUT: Duration = Duration::from_secs(15);
const CONNECT: Duration = Duration::from_secs(5);
/// A longer answer is none of tokens.
const MOST: usize = 256 * 1024;

/// A client made at its first use, which follows no redirect: codes, tokens and secrets would go along.
#[derive(Default)]
pub(super) struct Http(OnceLock<reqwest::Client>);

/// Why there is no answer.
#[derive(Debug, PartialEq)]
pub(super) enum Failure {
    /// Nobody answers, or not in time.
    Unreachable(String),
    /// The server failed, or wants to be left alone for now.
    Busy(StatusCode),
    /// The server sends elsewhere.
    Redirected,
    TooLong,
}

impl Http {
    /// The client.
    pub(super) fn client(&self) -> Result<reqwest::Client, Failure> {
        if let Some(client) = self.0.get() {
            return Ok(client.clone());
        }
        let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        let client = builder.timeout(TIMEOUT).connect_timeout(CONNECT).build();
        let client = client.map_err(|error| Failure::Unreachable(words(&error)))?;
        Ok(self.0.get_or_init(|| client).clone())
    }
}

/// Sends a request of the crate's.
pub(super) async fn send(client: reqwest::Client, request: HttpRequest) -> Result<HttpResponse, Failure> {
    let (parts, body) = request.into_parts();
    let sent = client.request(parts.method, parts.uri.to_string()).headers(parts.headers).body(body).send().await;
    let mut response = sent.map_err(unreachable)?;
    let status = response.status();
    if status.is_redirection() {
        return Err(Failure::Redirected);
    }
    if status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429) {
        return Err(Failure::Busy(status));
    }
    let mut body = zeroize::Zeroizing::new(Vec::with_capacity(4096));
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        if body.len() + chunk.len() > MOST {
            return Err(Failure::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    let (status, body) = normal::answer(status, &body);
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    Ok(answer)
}

#[allow(clippy::needless_pass_by_value)] // for `map_err`
fn unreachable(error: reqwest::Error) -> Failure {
    Failure::Unreachable(words(&error))
}

/// What went wrong, without the URL, whose query may hold anything.
fn words(error: &reqwest::Error) -> String {
    let what = match error {
        error if error.is_timeout() => "it did not answer in time",
        error if error.is_connect() => "no connection to it",
        error if error.is_builder() => "the request could not be made",
        _ => "the connection broke",
    };
    what.to_owned()
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => f.write_str(why),
            Self::Busy(status) => write!(f, "it answered with status {}", status.as_u16()),
            Self::Redirected => {
                f.write_str("it redirects, which is not followed; put its own URL into the toolset's grant")
            }
            Self::TooLong => write!(f, "its answer is longer than {MOST} bytes"),
        }
    }
}

impl std::error::Error for Failure {}
