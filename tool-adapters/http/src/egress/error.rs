//! The errors of guarded requests.

use reqwest::StatusCode;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tool_core::ToolError;
use tool_core::call::IntoToolError;

/// A guarded request was refused or failed. A tool may return it, and the model reads its text,
/// which shows no path, query or address behind a name.
///
/// ```
/// use tool_adapters::egress::{EgressClient, EgressError, EgressPolicy};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), EgressError> {
/// let client = EgressClient::new(EgressPolicy::new())?;
/// match client.post("http://169.254.169.254/latest/meta-data").json(&[1, 2]).send().await {
///     Ok(response) => println!("{}", response.status()),
///     // The order may have been placed: do not send it again without a look.
///     Err(error) if error.was_sent() => eprintln!("{error}"),
///     Err(error) => assert!(matches!(error, EgressError::NotPublic { kind: "a link-local address", .. }), "{error}"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EgressError {
    /// The policy has invalid settings, or the client cannot be built.
    #[error("invalid egress policy: {}", .problems.join("; "))]
    Policy {
        /// All problems.
        problems: Vec<String>,
    },
    /// The text is not a URL, or the request is invalid.
    #[error("expected a URL such as https://host/path, got an invalid one: {reason}")]
    InvalidUrl {
        /// The problem.
        reason: String,
    },
    /// The scheme is neither `http` nor `https`.
    #[error("expected a URL with http or https, got the scheme `{scheme}`")]
    Scheme {
        /// The scheme of the URL.
        scheme: String,
    },
    /// The URL contains a user name or a password.
    #[error("expected a URL without a user name and a password; remove the part before the `@`")]
    Credentials,
    /// The host is an address that is not public, or its name resolves to such addresses only.
    #[error(
        "expected a public host, got `{}`, which is {kind}; use a public host, or let the operator allow this one",
        .host.escape_debug()
    )]
    NotPublic {
        /// The host of the URL.
        host: String,
        /// The kind of the address.
        kind: &'static str,
    },
    /// The policy limits requests to named hosts, and this is another one.
    #[error("`{}` is not among the hosts that the operator allows; use one of these", .host.escape_debug())]
    NotAllowed {
        /// The host of the URL.
        host: String,
    },
    /// The name has no address.
    #[error("failed to find the address of `{}`; check the name", .host.escape_debug())]
    Resolve {
        /// The host of the URL.
        host: String,
        /// The resolver's error.
        #[source]
        source: Arc<dyn Error + Send + Sync>,
    },
    /// No connection was made.
    #[error("failed to connect to `{}`", .host.escape_debug())]
    Connect {
        /// The host of the URL.
        host: String,
        /// The transport's error.
        #[source]
        source: Arc<dyn Error + Send + Sync>,
    },
    /// The connection broke before the answer was complete.
    #[error("the connection to `{}` broke", .host.escape_debug())]
    Interrupted {
        /// The host of the URL.
        host: String,
        /// The transport's error.
        #[source]
        source: Arc<dyn Error + Send + Sync>,
    },
    /// The time for the whole exchange ran out.
    #[error("`{}` sent no complete answer within {} s", .host.escape_debug(), .limit.as_secs_f32())]
    Timeout {
        /// The host of the URL.
        host: String,
        /// The limit.
        limit: Duration,
    },
    /// A request that follows a redirect was refused or failed.
    #[error("a redirect failed: {0}")]
    Redirect(#[source] Box<Self>),
    /// There are too many redirects.
    #[error("expected at most {limit} redirects, got more; request the final address")]
    TooManyRedirects {
        /// The limit.
        limit: usize,
    },
    /// A redirect asks for the body of the request at another origin.
    #[error("the redirect would send the body of the request to `{}`; send it there yourself if that is intended", .host.escape_debug())]
    RedirectedBody {
        /// The host to which the redirect leads.
        host: String,
    },
    /// The body of the answer is too large.
    #[error(
        "expected an answer of at most {limit} bytes, got a longer one; request a smaller part"
    )]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// The body is not the JSON that was expected.
    #[error("expected JSON from `{}`, got {problem}", .host.escape_debug())]
    Json {
        /// The host of the URL.
        host: String,
        /// The problem and its place, without the values of the body, which may repeat a key of the
        /// request.
        problem: String,
    },
    /// The status is an error's.
    #[error("`{}` answered with status {status}", .host.escape_debug())]
    Status {
        /// The host of the URL.
        host: String,
        /// The status.
        status: StatusCode,
    },
}

impl EgressError {
    /// Returns true if the server may have received the request, so that it may have had effects.
    pub fn was_sent(&self) -> bool {
        match self {
            Self::Policy { .. }
            | Self::InvalidUrl { .. }
            | Self::Scheme { .. }
            | Self::Credentials
            | Self::NotPublic { .. }
            | Self::NotAllowed { .. }
            | Self::Resolve { .. }
            | Self::Connect { .. } => false,
            Self::Interrupted { .. }
            | Self::Timeout { .. }
            | Self::Redirect(_)
            | Self::TooManyRedirects { .. }
            | Self::RedirectedBody { .. }
            | Self::TooLarge { .. }
            | Self::Json { .. }
            | Self::Status { .. } => true,
        }
    }

    /// Converts the error of a request to `host`.
    pub(crate) fn from_transport(
        error: reqwest_middleware::Error,
        host: &str,
        limit: Duration,
    ) -> Self {
        match error {
            reqwest_middleware::Error::Reqwest(error) => Self::from_reqwest(error, host, limit),
            reqwest_middleware::Error::Middleware(error) => Self::InvalidUrl {
                reason: error.to_string(),
            },
        }
    }

    /// Converts the error of decoding the body of an answer.
    pub(crate) fn from_json(error: &serde_json::Error, host: String) -> Self {
        let problem = if error.is_data() {
            format!(
                "a value of another form at line {} column {}",
                error.line(),
                error.column()
            )
        } else {
            format!("something else: {error}")
        };
        Self::Json { host, problem }
    }

    pub(crate) fn from_reqwest(error: reqwest::Error, host: &str, limit: Duration) -> Self {
        let causes = || std::iter::successors(error.source(), |cause| (*cause).source());
        if let Some(refused) = causes().find_map(|cause| cause.downcast_ref::<Self>()) {
            return refused.clone();
        }
        let host = host.to_owned();
        match error {
            error if error.is_timeout() => Self::Timeout { host, limit },
            error if error.is_connect() => Self::Connect {
                host,
                source: Arc::new(error.without_url()),
            },
            error if error.is_builder() => Self::InvalidUrl {
                reason: error.without_url().to_string(),
            },
            error => Self::Interrupted {
                host,
                source: Arc::new(error.without_url()),
            },
        }
    }
}

impl IntoToolError for EgressError {
    fn into_tool_error(self) -> ToolError {
        let kind = match self.innermost() {
            Self::Policy { .. } => ToolError::internal,
            Self::Resolve { .. }
            | Self::Connect { .. }
            | Self::Interrupted { .. }
            | Self::Timeout { .. } => ToolError::transient,
            Self::Status { status, .. } => match status.as_u16() {
                401 | 403 => ToolError::auth,
                429 => ToolError::rate_limit,
                408 | 500.. => ToolError::transient,
                _ => ToolError::permanent,
            },
            _ => ToolError::permanent,
        };
        kind(self)
    }
}

impl EgressError {
    /// Returns the error behind redirects.
    fn innermost(&self) -> &Self {
        match self {
            Self::Redirect(inner) => inner.innermost(),
            error => error,
        }
    }
}
