//! The errors of a document, and the reasons for which an operation is no tool.

use std::fmt;
use tool_core::text::escape_invisible;

/// Maximum size of a document in bytes.
pub const MAX_DOCUMENT: usize = 64 << 20;

/// A document cannot be read, or the settings do not fit it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenApiError {
    /// The text is not JSON.
    #[error(
        "expected an OpenAPI document in JSON, got {problem}; `OpenApi::from_text` reads YAML too"
    )]
    Json {
        /// The problem and its place.
        problem: String,
    },
    /// The text is not YAML.
    #[error("expected an OpenAPI document in JSON or YAML, got {problem}")]
    Yaml {
        /// The problem and its place.
        problem: String,
    },
    /// The document has another version.
    #[error("expected an OpenAPI document of version 3.0 or 3.1, got {found}")]
    Version {
        /// The version that the document names.
        found: String,
    },
    /// The document is too large or nests too deep.
    #[error("expected {expected}, got a larger document")]
    TooLarge {
        /// The limit.
        expected: String,
    },
    /// The settings are invalid or name what the document does not have.
    #[error("invalid settings for the OpenAPI document: {}", .problems.join("; "))]
    Settings {
        /// All problems.
        problems: Vec<String>,
    },
}

/// The reason for which an operation is no tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RefusalReason {
    /// The document contradicts the specification here.
    #[error("malformed: {0}")]
    Malformed(String),
    /// A reference leads nowhere, out of the document, or in a circle.
    #[error("reference {0}")]
    Reference(String),
    /// The path cannot be requested as it is written.
    #[error("path: {0}")]
    Path(String),
    /// A parameter has no notation that is known.
    #[error("parameter {0}")]
    Parameter(String),
    /// The body has none of the media types that can be written.
    #[error("expected a body of JSON, a form or text, got {}", .0.join(", "))]
    Body(Vec<String>),
    /// The server's URL is missing or invalid.
    #[error("server: {0}")]
    Server(String),
    /// The program does not allow the host of the server.
    #[error("`{0}` is not an allowed host; allow it with `allow_host`, or set `base_url`")]
    Host(String),
    /// The program has no credential that the operation needs.
    #[error(
        "expected credentials for {0}; set them with `credential`, or allow requests without with `allow_missing_credentials`"
    )]
    Credentials(String),
    /// A credential would be sent over `http`.
    #[error(
        "`{0}` would get a credential without encryption; set a `base_url` with https, or with http to allow it"
    )]
    Unencrypted(String),
    /// The schema of the arguments cannot be registered.
    #[error("schema: {0}")]
    Schema(String),
    /// A limit of size is exceeded.
    #[error("too large: {0}")]
    TooLarge(String),
}

impl RefusalReason {
    /// Returns the name of the reason, for counts: `body` for [`Body`](Self::Body).
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::Reference(_) => "reference",
            Self::Path(_) => "path",
            Self::Parameter(_) => "parameter",
            Self::Body(_) => "body",
            Self::Server(_) => "server",
            Self::Host(_) => "host",
            Self::Credentials(_) => "credentials",
            Self::Unencrypted(_) => "unencrypted",
            Self::Schema(_) => "schema",
            Self::TooLarge(_) => "too_large",
        }
    }
}

/// An operation that is no tool, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedOperation {
    /// The method, such as `GET`.
    pub method: String,
    /// The path, as the document writes it.
    pub path: String,
    /// The `operationId`, where there is one.
    pub id: Option<String>,
    /// The reason.
    pub reason: RefusalReason,
}

impl fmt::Display for RefusedOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.reason.to_string();
        write!(
            f,
            "{} {}: {}",
            self.method,
            escape_invisible(&self.path),
            escape_invisible(&reason)
        )
    }
}
