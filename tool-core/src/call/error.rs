//! Errors of calls: their kinds, the error that a tool returns, and the error that the model reads.

use crate::call::ask_error::AskError;
use crate::text::truncate;
use crate::trace::redaction::Redaction;
use serde::{Deserialize, Serialize};
use std::any::type_name;
use std::borrow::Cow;
use std::error::Error;
use std::io::Write as _;
use std::num::NonZeroU32;
use std::ops::Deref;
use std::time::Duration;
use std::{fmt, io};

/// The message that the model reads instead of an internal error's own text.
pub(crate) const MASKED: &str = "An internal error occurred";

/// The words in a message between the text of an error and the items that a stream had returned
/// before it, as JSON.
pub(crate) const ITEMS_BEFORE_ERROR: &str = "\nIt had returned these items before the error: ";

/// The maximum length of a message that the model reads, in characters. Longer ones are cut.
const MAX_MESSAGE_CHARS: usize = 10_000;

/// Declares the kinds with the names that the envelope uses for them.
macro_rules! error_kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// The kind of an error, by the layer that reports it.
        ///
        /// ```
        /// use tool_core::{ErrorKind, RunContext, ToolContext};
        ///
        /// # #[tokio::main(flavor = "current_thread")]
        /// # async fn main() -> Result<(), tool_core::RegistryErrors> {
        /// let tools = ToolContext::builder().build()?;
        /// let response = tools.call("serch", "{}", &RunContext::detached()).await;
        /// assert_eq!(response.error().map(|error| error.kind), Some(ErrorKind::NotFound));
        /// assert_eq!(ErrorKind::NotFound.as_str(), "NOT_FOUND");
        /// # Ok(())
        /// # }
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[$doc])* #[serde(rename = $name)] $kind,)*
        }

        impl ErrorKind {
            /// All kinds, in declaration order.
            pub(crate) const ALL: [Self; [$($name),*].len()] = [$(Self::$kind),*];

            /// Returns the kind's name in the envelope, for example `RATE_LIMIT`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

error_kinds! {
    /// The arguments do not fit the tool's schema.
    Validation = "VALIDATION",
    /// No tool has that name.
    NotFound = "NOT_FOUND",
    /// Something broke, and the model can do nothing about it.
    Internal = "INTERNAL",
    /// The tool is not available in the session's mode.
    ModeRestricted = "MODE_RESTRICTED",
    /// A limit on calls is used up.
    BudgetExceeded = "BUDGET_EXCEEDED",
    /// A person must approve the call first.
    ConfirmationRequired = "CONFIRMATION_REQUIRED",
    /// The same call was repeated too often.
    LoopDetected = "LOOP_DETECTED",
    /// The tool took too long.
    Timeout = "TIMEOUT",
    /// The call was cancelled.
    Cancelled = "CANCELLED",
    /// A person denied the call.
    Denied = "DENIED",
    /// The session has ended.
    SessionInactive = "SESSION_INACTIVE",
    /// The call failed and may succeed later.
    Transient = "TRANSIENT",
    /// The call cannot succeed with these arguments.
    Permanent = "PERMANENT",
    /// The call conflicts with the current state.
    Conflict = "CONFLICT",
    /// The caller is not authenticated or not authorized.
    Auth = "AUTH",
    /// The service behind the tool received too many requests.
    RateLimit = "RATE_LIMIT",
    /// The call was started, and its process or its server ended before the outcome was known.
    Unknown = "UNKNOWN",
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error as a host reads it: that of a [`ToolResponse`](crate::ToolResponse::error), as the
/// `error` member of the envelope, or that of a [`Reply`](crate::session::Reply::error).
///
/// ```
/// use tool_core::call::ErrorBody;
///
/// let json = r#"{"type": "RATE_LIMIT", "message": "wait 30 s", "retryable": true, "partialSideEffects": false}"#;
/// let error: ErrorBody = serde_json::from_str(json)?;
/// assert!(error.retryable);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorBody {
    /// The kind of the error.
    #[serde(rename = "type")]
    pub kind: ErrorKind,
    /// The text that the model reads: the problem first, then what to do.
    pub message: String,
    /// True if the same call may succeed later.
    pub retryable: bool,
    /// True if the call may have had effects before it failed.
    pub partial_side_effects: bool,
}

impl ErrorBody {
    /// Returns the text of the error itself, without the items that a stream had returned before
    /// it.
    pub(crate) fn text(&self) -> &str {
        self.message
            .split_once(ITEMS_BEFORE_ERROR)
            .map_or(&self.message, |(text, _)| text)
    }

    /// Returns true if the text of an internal error is hidden from the model. That of this process
    /// always is; one that was read from JSON may not be.
    pub(crate) fn is_masked(&self) -> bool {
        self.kind != ErrorKind::Internal || self.text() == MASKED
    }
}

impl fmt::Display for ErrorBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}

impl From<ToolError> for ErrorBody {
    /// Converts for the host. The message of an internal error stays, so do not show it to a model.
    fn from(error: ToolError) -> Self {
        Self {
            kind: error.kind,
            message: error.message,
            retryable: error.retryable,
            partial_side_effects: error.partial_side_effects,
        }
    }
}

/// The error that a tool returns. The model reads its message, except that of an internal error,
/// which goes to the log.
///
/// ```
/// use tool_core::{ErrorKind, ToolError};
///
/// let error = ToolError::rate_limit("the calendar takes 10 calls a minute; wait 30 s").retryable(true);
/// assert_eq!(error.kind(), ErrorKind::RateLimit);
/// ```
///
/// `?` converts any error. Text becomes a permanent error, which the model reads. Every other error becomes an internal one,
/// whose text with its causes goes to the log; [`show_error`](ResultExt::show_error) gives it to the model instead.
///
/// ```
/// use tool_core::{ErrorKind, ToolError};
///
/// fn parse(text: &str) -> Result<u8, ToolError> {
///     if text.is_empty() {
///         return Err("the number is missing".into());
///     }
///     Ok(text.parse()?)
/// }
///
/// assert_eq!(parse("").unwrap_err().kind(), ErrorKind::Permanent);
/// assert_eq!(parse("x").unwrap_err().kind(), ErrorKind::Internal);
/// ```
///
/// It is not a `std::error::Error` itself, so that `From` can convert all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError {
    kind: ErrorKind,
    message: String,
    retryable: bool,
    partial_side_effects: bool,
    /// The tool ended in a way that it did not foresee (a panic, a timeout), so its effects are not
    /// known.
    unexpected: bool,
    /// The milliseconds after which the call may succeed.
    retry_after: Option<NonZeroU32>,
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident => $kind:ident, $retryable:literal;)*) => {
        $($(#[$doc])*
        pub fn $name(message: impl fmt::Display) -> Self {
            Self::new(ErrorKind::$kind, message.to_string(), $retryable)
        })*
    };
}

impl ToolError {
    constructors! {
        /// Creates the error of a call that may succeed later. Retryable by default.
        transient => Transient, true;
        /// Creates the error of a call that cannot succeed with these arguments.
        permanent => Permanent, false;
        /// Creates the error of a call that conflicts with the current state.
        conflict => Conflict, false;
        /// Creates the error of a caller that is not authenticated or not authorized.
        auth => Auth, false;
        /// Creates the error of something that does not exist, or no longer.
        not_found => NotFound, false;
        /// Creates the error of a call that took too long. Not retryable by default.
        timeout => Timeout, false;
        /// Creates the error of a service that received too many requests. Retryable by default.
        rate_limit => RateLimit, true;
        /// Creates the error of a tool whose session has ended.
        session_inactive => SessionInactive, false;
        /// Creates the error of a call whose caller has given it up.
        cancelled => Cancelled, false;
        /// Creates the error of a call that may have run, or not, and is not repeated.
        unknown => Unknown, false;
        /// Creates an internal error. The message goes to the log; the model reads
        /// `An internal error occurred`.
        internal => Internal, false;
    }

    /// Creates an error about arguments that do not fit.
    pub(crate) fn validation(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Validation, message, false)
    }

    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>, retryable: bool) -> Self {
        Self {
            kind,
            message: message.into(),
            retryable,
            partial_side_effects: false,
            unexpected: false,
            retry_after: None,
        }
    }

    /// Sets whether the same call may succeed later.
    #[must_use]
    pub fn retryable(mut self, yes: bool) -> Self {
        self.retryable = yes;
        self
    }

    /// Sets whether the call may have had effects before it failed.
    #[must_use]
    pub fn partial_side_effects(mut self, yes: bool) -> Self {
        self.partial_side_effects = yes;
        self
    }

    /// Sets the time after which the same call may succeed, as a service has said. An automatic retry
    /// waits for it, and the host finds it in
    /// [`ResponseMeta::retry_after`](crate::call::ResponseMeta::retry_after). Say it in the message
    /// too: that is what the model reads.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tool_core::ToolError;
    ///
    /// let error = ToolError::rate_limit("the calendar is busy; wait 2 s").retry_after(Duration::from_secs(2));
    /// assert_eq!(error.requested_delay(), Some(Duration::from_secs(2)));
    /// ```
    #[must_use]
    pub fn retry_after(mut self, time: Duration) -> Self {
        // Rounded up, as a call that comes too early is refused again.
        let milliseconds = time.as_micros().div_ceil(1_000);
        let milliseconds = u32::try_from(milliseconds).unwrap_or(u32::MAX);
        self.retry_after = NonZeroU32::new(milliseconds);
        self
    }

    /// Returns the time after which the same call may succeed, if it is known: whole milliseconds,
    /// and at most 49 days.
    pub fn requested_delay(&self) -> Option<Duration> {
        let milliseconds = self.retry_after?.get();
        Some(Duration::from_millis(milliseconds.into()))
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the message, even of an internal error.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Makes the text of an internal error the model's.
    #[doc(hidden)]
    #[must_use]
    pub fn shown(self) -> Self {
        if self.kind == ErrorKind::Internal {
            Self {
                kind: ErrorKind::Permanent,
                ..self
            }
        } else {
            self
        }
    }

    /// Replaces the message.
    pub(crate) fn map_message(mut self, map: impl FnOnce(String) -> String) -> Self {
        self.message = map(self.message);
        self
    }

    /// Marks that the tool ended in a way it did not foresee.
    pub(crate) fn unexpected(mut self) -> Self {
        self.unexpected = true;
        self
    }

    /// Marks that the tool did not start.
    pub(crate) fn did_not_run(mut self) -> Self {
        (self.unexpected, self.partial_side_effects) = (false, false);
        self
    }

    /// Converts to the error that the model reads, and logs an internal error's own text. A
    /// `harmless` tool has no lasting effects, even where it ends unexpectedly.
    pub(crate) fn into_body(self, tool: &str, harmless: bool) -> ErrorBody {
        let message = if self.unexpected {
            // The panic was logged where it was caught.
            self.message
        } else if self.kind == ErrorKind::Internal {
            let error = Redaction::new().text(&self.message);
            tracing::error!(tool = %tool.escape_debug(), %error, "tool failed internally");
            print_unlogged(tool, &error);
            MASKED.to_owned()
        } else {
            truncate(&self.message, MAX_MESSAGE_CHARS)
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

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for ToolError {
    fn from(error: E) -> Self {
        // A text may be borrowed, so it has no `TypeId`. Only these types have these names.
        let texts = [
            type_name::<&str>(),
            type_name::<String>(),
            type_name::<Cow<'_, str>>(),
        ];
        let is_text = texts.contains(&type_name::<E>());
        let error = error.into();
        match error.downcast::<AskError>() {
            Ok(error) => error.into_tool_error(),
            Err(error) if is_text => Self::permanent(error),
            Err(error) => Self::internal(with_causes(error.as_ref())),
        }
    }
}

/// `?` converts an error for a `main` that returns `Box<dyn Error>`.
impl From<ToolError> for Box<dyn Error> {
    fn from(error: ToolError) -> Self {
        Box::new(StandardError(error))
    }
}

/// A tool's error as a standard one.
#[derive(thiserror::Error)]
#[error("{0}")]
struct StandardError(ToolError);

impl fmt::Debug for StandardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The errors of other crates, as the model's.
///
/// ```
/// use tool_core::{ResultExt, RunContext, ToolContext, ToolError, tool};
///
/// /// Add up numbers, one a line.
/// #[tool]
/// fn sum(lines: &str) -> Result<i64, ToolError> {
///     lines.lines().map(str::parse::<i64>).sum::<Result<_, _>>().show_error()
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// let tools = ToolContext::builder().with(sum).build()?;
/// let response = tools.call("sum", r#"{"lines": "1\n2b"}"#, &RunContext::detached()).await;
/// // A plain `?` would give the model `An internal error occurred`.
/// assert_eq!(response.into_text(), "invalid digit found in string");
/// # Ok(())
/// # }
/// ```
pub trait ResultExt<T> {
    /// Makes the text of an error with its causes the model's: a permanent error.
    ///
    /// ```
    /// use tool_core::{ResultExt, ToolError};
    ///
    /// fn parse(text: &str) -> Result<u8, ToolError> {
    ///     text.parse().show_error()
    /// }
    ///
    /// assert_eq!(parse("x").unwrap_err().message(), "invalid digit found in string");
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error as a [`ToolError`].
    fn show_error(self) -> Result<T, ToolError>;
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> ResultExt<T> for Result<T, E> {
    fn show_error(self) -> Result<T, ToolError> {
        self.map_err(|error| ToolError::from(error).shown())
    }
}

/// Prints what the model does not read to standard error while a tool is developed, where no
/// subscriber logs it.
pub(crate) fn print_unlogged(tool: &str, error: &str) {
    if cfg!(debug_assertions) && !tracing::dispatcher::has_been_set() {
        // Standard error may be closed.
        let _ = writeln!(
            io::stderr(),
            "tool `{}` failed: {}",
            tool.escape_debug(),
            error.escape_debug()
        );
    }
}

/// An error whose text was written for the model.
///
/// `ToolError`, `String` and `&str` implement it, and `#[derive(ToolError)]` implements it for your
/// own type. A tool may return any other `std::error::Error` or `anyhow::Error` too: that becomes
/// INTERNAL, and its text goes to the log only.
///
/// ```
/// use tool_core::call::IntoToolError;
/// use tool_core::{ToolError, tool};
///
/// struct SoldOut;
///
/// impl IntoToolError for SoldOut {
///     fn into_tool_error(self) -> ToolError {
///         ToolError::conflict("it is sold out; offer another one")
///     }
/// }
///
/// /// Buy a ticket.
/// #[tool(category = "action")]
/// fn buy() -> Result<(), SoldOut> {
///     Err(SoldOut)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be converted to a `ToolError`",
    note = "derive `ToolError` and implement `Display`, or return `ToolError`, `String` or any `std::error::Error`"
)]
pub trait IntoToolError {
    /// Converts to the error that the model reads.
    fn into_tool_error(self) -> ToolError;
}

impl IntoToolError for ToolError {
    fn into_tool_error(self) -> ToolError {
        self
    }
}

impl IntoToolError for AskError {
    fn into_tool_error(self) -> ToolError {
        let (kind, advice) = match &self {
            Self::Unavailable(_) => (
                ErrorKind::Permanent,
                "ask in the conversation, if the tool takes the answer",
            ),
            Self::TimedOut(_) => (
                ErrorKind::Timeout,
                "do not call the tool again unless the user asks for it",
            ),
            Self::TooMany(_) => (
                ErrorKind::BudgetExceeded,
                "wait until the user has answered, or go on without",
            ),
            Self::Ended => (ErrorKind::Cancelled, "nothing else was done"),
            Self::InvalidAnswer(_) => {
                (ErrorKind::Transient, "call the tool again to ask once more")
            }
            Self::Failed(_) | Self::InvalidForm(_) => {
                return ToolError::internal(with_causes(&self));
            }
        };
        ToolError::new(
            kind,
            format!("{self}; {advice}"),
            kind == ErrorKind::Transient,
        )
    }
}

macro_rules! into_permanent_error {
    ($($text:ty),*) => {$(
        impl IntoToolError for $text {
            fn into_tool_error(self) -> ToolError {
                ToolError::permanent(self)
            }
        }
    )*};
}

into_permanent_error!(String, &str, Cow<'_, str>, Box<str>);

// A boxed error, as `clippy::result_large_err` suggests.
impl<E: IntoToolError> IntoToolError for Box<E> {
    fn into_tool_error(self) -> ToolError {
        (*self).into_tool_error()
    }
}

/// A list of errors that are reported together. It is never empty, and derefs to a slice.
///
/// It displays one error a line, each with its causes. `Debug` shows the same, so that a `main`
/// which returns the list prints it readably.
///
/// ```
/// use tool_core::{ToolContext, tool};
///
/// /// Say hello.
/// #[tool]
/// fn hello() -> &'static str {
///     "hello"
/// }
///
/// /// Say hello to a person.
/// #[tool(name = "Hello")]
/// fn hello_to(name: &str) -> String {
///     format!("hello {name}")
/// }
///
/// let errors = ToolContext::builder().with(hello).with(hello_to).build().unwrap_err();
/// assert_eq!(errors.len(), 1); // it has the methods of a slice
/// for error in &*errors {
///     println!("{error}");
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ErrorList<E>(Vec<E>);

impl<E> ErrorList<E> {
    /// Returns the errors as a list, or `Ok` where there are none.
    pub(crate) fn check(errors: Vec<E>) -> Result<(), Self> {
        if errors.is_empty() {
            Ok(())
        } else {
            Err(Self(errors))
        }
    }

    /// Appends the errors of another list.
    #[cfg(feature = "agents")]
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Converts each error.
    #[cfg(feature = "agents")]
    pub(crate) fn map<F>(self, map: impl FnMut(E) -> F) -> ErrorList<F> {
        ErrorList(self.0.into_iter().map(map).collect())
    }
}

impl<E> Deref for ErrorList<E> {
    type Target = [E];

    fn deref(&self) -> &[E] {
        &self.0
    }
}

impl<E> From<E> for ErrorList<E> {
    fn from(error: E) -> Self {
        Self(vec![error])
    }
}

impl<E> IntoIterator for ErrorList<E> {
    type Item = E;
    type IntoIter = std::vec::IntoIter<E>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Returns the text of an error, followed by those of its causes.
pub(crate) fn with_causes(error: &(dyn Error + '_)) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

impl<E: Error> fmt::Display for ErrorList<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { "\n" };
            write!(f, "{separator}{}", with_causes(error))?;
        }
        Ok(())
    }
}

impl<E: Error> fmt::Debug for ErrorList<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<E: Error> Error for ErrorList<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_are_listed_in_their_order() {
        assert!(
            ErrorKind::ALL
                .into_iter()
                .enumerate()
                .all(|(at, kind)| kind as usize == at)
        );
        assert_eq!(ErrorKind::Unknown as usize + 1, ErrorKind::ALL.len());
    }

    #[derive(Debug, thiserror::Error)]
    #[error("failed to read `{0}`")]
    struct ReadError(&'static str, #[source] io::Error);

    #[test]
    fn a_list_displays_one_error_a_line_with_its_causes() {
        let error = |name| ReadError(name, io::Error::other("disk on fire"));
        let list = ErrorList::check(vec![error("a"), error("b")]).expect_err("errors");
        let expected = "failed to read `a`: disk on fire\nfailed to read `b`: disk on fire";
        assert_eq!(
            (list.len(), list.to_string(), format!("{list:?}")),
            (2, expected.into(), expected.into())
        );
        assert!(ErrorList::<ReadError>::check(Vec::new()).is_ok());
    }
}
