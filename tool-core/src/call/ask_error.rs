//! The reasons for which a tool gets no answer from the user or the user's client.

use crate::arguments::Problem;
use std::error::Error;
use std::time::Duration;

/// The reason for which a tool has no answer from the user, or from the user's client. `?` converts
/// it to a [`ToolError`](struct@crate::ToolError) whose text says to the model what it can do.
///
/// ```
/// use tool_core::call::AskError;
/// use tool_core::{ErrorKind, ToolError};
///
/// let error = ToolError::from(AskError::Unavailable("this client shows no forms".into()));
/// assert_eq!(error.kind(), ErrorKind::Permanent);
/// assert!(error.message().contains("this client shows no forms"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// There is no answer for this call. The text is the reason. PERMANENT.
    #[error("this cannot be asked here: {0}")]
    Unavailable(String),
    /// There was no answer within this time. TIMEOUT.
    #[error("the user or the client did not answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The call has asked as many questions as it may, or as many of its session wait as may wait.
    /// The text names the limit. `BUDGET_EXCEEDED`.
    #[error("too many questions: {0}")]
    TooMany(String),
    /// The call has ended or was cancelled, or its session has ended. CANCELLED.
    #[error("the call has ended, so nothing can be asked")]
    Ended,
    /// The handler failed. INTERNAL, so that its text goes to the log only.
    #[error("failed to get an answer from the user or the client")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
    /// The answer has no form: one problem for each field that a form cannot show. INTERNAL.
    #[error("the answer has no form: {}", listed(.0))]
    InvalidForm(Vec<Problem>),
    /// The answer does not fit: all its problems. TRANSIENT.
    #[error("the answer does not fit: {}", listed(.0))]
    InvalidAnswer(Vec<Problem>),
}

impl AskError {
    /// Creates the error of a handler that failed.
    pub fn failed(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed(error.into())
    }

    /// Creates the error of an answer with too many bytes.
    pub(crate) fn too_large(limit: usize, bytes: usize) -> Self {
        Self::InvalidAnswer(vec![Problem::new(
            "",
            format!("at most {limit} bytes"),
            format!("{bytes} bytes"),
        )])
    }
}

fn listed(problems: &[Problem]) -> String {
    let lines = problems.iter().map(Problem::to_string);
    lines.collect::<Vec<_>>().join("; ")
}
