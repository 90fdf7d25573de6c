//! Errors: their kinds, what a tool returns, and what the model reads.

use crate::call::MASKED;
use crate::text::truncate;
use crate::trace::redaction::Redaction;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// The characters of a message that a model is shown; a longer one is cut.
const MESSAGE: usize = 10_000;

/// What went wrong, by the layer that tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The arguments do not fit the tool's schema.
    Validation,
    /// No tool has that name.
    NotFound,
    /// Something broke that the model can do nothing about.
    Internal,
    /// The tool does not serve the session's mode.
    ModeRestricted,
    /// A limit on calls is used up.
    BudgetExceeded,
    /// A person has to agree first.
    ConfirmationRequired,
    /// The same call came too often.
    LoopDetected,
    /// The tool took too long.
    Timeout,
    /// The call was cancelled.
    Cancelled,
    /// A person said no.
    Denied,
    /// The session has ended.
    SessionInactive,
    /// It may work the next time.
    Transient,
    /// It will not work as asked.
    Permanent,
    /// It collides with what is there.
    Conflict,
    /// The caller is not known or not allowed.
    Auth,
    /// Too many calls for the service behind the tool.
    RateLimit,
    /// An earlier process started the call, and nobody knows what came of it.
    Unknown,
}

impl ErrorKind {
    /// All there are, in their order.
    pub(crate) const ALL: [Self; 17] = [
        Self::Validation,
        Self::NotFound,
        Self::Internal,
        Self::ModeRestricted,
        Self::BudgetExceeded,
        Self::ConfirmationRequired,
        Self::LoopDetected,
        Self::Timeout,
        Self::Cancelled,
        Self::Denied,
        Self::SessionInactive,
        Self::Transient,
        Self::Permanent,
        Self::Conflict,
        Self::Auth,
        Self::RateLimit,
        Self::Unknown,
    ];

    /// The word that stands in the envelope.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Validation => "VALIDATION",
            Self::NotFound => "NOT_FOUND",
            Self::Internal => "INTERNAL",
            Self::ModeRestricted => "MODE_RESTRICTED",
            Self::BudgetExceeded => "BUDGET_EXCEEDED",
            Self::ConfirmationRequired => "CONFIRMATION_REQUIRED",
            Self::LoopDetected => "LOOP_DETECTED",
            Self::Timeout => "TIMEOUT",
            Self::Cancelled => "CANCELLED",
            Self::Denied => "DENIED",
            Self::SessionInactive => "SESSION_INACTIVE",
            Self::Transient => "TRANSIENT",
            Self::Permanent => "PERMANENT",
            Self::Conflict => "CONFLICT",
            Self::Auth => "AUTH",
            Self::RateLimit => "RATE_LIMIT",
            Self::Unknown => "UNKNOWN",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The `error` member of the envelope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorBody {
    /// What went wrong.
    #[serde(rename = "type")]
    pub kind: ErrorKind,
    /// What the model reads: the problem first, then what to do.
    pub message: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// Whether something may have happened already.
    pub partial_side_effects: bool,
}

/// The error of a tool. The message is for the model, except that an internal error's goes to the log.
///
/// ```
/// use tool_core::{ErrorKind, ToolError};
///
/// let error = ToolError::rate_limit("the calendar takes 10 calls a minute; wait 30 s").retryable(true);
/// assert_eq!(error.kind(), ErrorKind::RateLimit);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError {
    kind: ErrorKind,
    message: String,
    retryable: bool,
    partial_side_effects: bool,
    /// It ended in a way that the tool did not foresee, so nobody knows how far it came.
    unexpected: bool,
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident => $kind:ident, $retryable:literal;)*) => {
        $($(#[$doc])*
        pub fn $name(message: impl Into<String>) -> Self {
            Self::new(ErrorKind::$kind, message, $retryable)
        })*
    };
}

impl ToolError {
    constructors! {
        /// It may work the next time. Retryable unless told otherwise.
        transient => Transient, true;
        /// It will not work as asked.
        permanent => Permanent, false;
        /// It collides with what is there.
        conflict => Conflict, false;
        /// The caller is not known or not allowed.
        auth => Auth, false;
        /// The service behind the tool has had enough for now. Retryable unless told otherwise.
        rate_limit => RateLimit, true;
        /// The session that the tool works for has ended.
        session_inactive => SessionInactive, false;
        /// Something broke. The message goes to the log; the model reads `An internal error occurred`.
        internal => Internal, false;
    }

    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>, retryable: bool) -> Self {
        Self { kind, message: message.into(), retryable, partial_side_effects: false, unexpected: false }
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn retryable(mut self, yes: bool) -> Self {
        self.retryable = yes;
        self
    }

    /// Whether something may have happened already.
    #[must_use]
    pub fn partial_side_effects(mut self, yes: bool) -> Self {
        self.partial_side_effects = yes;
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The text, unmasked.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The same with another text.
    pub(crate) fn reworded(mut self, reword: impl FnOnce(String) -> String) -> Self {
        self.message = reword(self.message);
        self
    }

    pub(crate) fn unexpected(mut self) -> Self {
        self.unexpected = true;
        self
    }

    /// It ended before anything was done.
    pub(crate) fn did_not_run(mut self) -> Self {
        (self.unexpected, self.partial_side_effects) = (false, false);
        self
    }

    /// What the model gets. An internal error's own text is logged here and goes no further. A tool that is
    /// `harmless` leaves nothing behind, however it ends. R-E3
    pub(crate) fn into_body(self, tool: &str, harmless: bool) -> ErrorBody {
        let message = if self.unexpected {
            // The panic is in the log already.
            self.message
        } else if self.kind == ErrorKind::Internal {
            let error = Redaction::new().text(&self.message);
            tracing::error!(tool = %tool.escape_debug(), %error, "tool failed internally");
            MASKED.to_owned()
        } else {
            truncate(&self.message, MESSAGE)
        };
        ErrorBody {
            kind: self.kind,
            message,
            retryable: self.retryable,
            partial_side_effects: self.partial_side_effects || (self.unexpected && !harmless),
        }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}

impl std::error::Error for ToolError {}

/// An error whose text was written for the model.
///
/// `ToolError`, `String` and `&str` are; your own type is with `#[derive(ToolError)]`. Any other `std::error::Error`,
/// and `anyhow::Error`, may be returned too: it becomes INTERNAL, and its text goes to the log only.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what the model should read of it",
    note = "derive `ToolError` and implement `Display`, or return `ToolError`, `String` or any `std::error::Error`"
)]
pub trait IntoToolError {
    /// The error to answer with.
    fn into_tool_error(self) -> ToolError;
}

impl IntoToolError for ToolError {
    fn into_tool_error(self) -> ToolError {
        self
    }
}

impl IntoToolError for String {
    fn into_tool_error(self) -> ToolError {
        ToolError::permanent(self)
    }
}

impl IntoToolError for &str {
    fn into_tool_error(self) -> ToolError {
        ToolError::permanent(self)
    }
}

impl IntoToolError for Cow<'_, str> {
    fn into_tool_error(self) -> ToolError {
        ToolError::permanent(self)
    }
}

// As `clippy::result_large_err` suggests.
impl<E: IntoToolError> IntoToolError for Box<E> {
    fn into_tool_error(self) -> ToolError {
        (*self).into_tool_error()
    }
}

impl IntoToolError for Box<str> {
    fn into_tool_error(self) -> ToolError {
        ToolError::permanent(self)
    }
}

#[cfg(test)]
mod tests {
    use crate::call::error::ErrorKind;

    #[test]
    fn all_kinds_are_listed_where_they_belong() {
        assert!(ErrorKind::ALL.into_iter().enumerate().all(|(at, kind)| kind as usize == at));
        assert_eq!(ErrorKind::Unknown as usize + 1, ErrorKind::ALL.len());
    }
}
