//! Questions to the user, and their answers.

use crate::call::error::{ErrorKind, ToolError};
use crate::call::host_request::HostRequest;
use serde_json::Value;

/// A question of a running tool to the user, for the host to show.
///
/// The message and the texts of the form may come from a model. Characters that a person does not
/// see, or that change the order of others, are escaped in the message, and so are line ends.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Question {
    /// The session's id; empty outside a session.
    pub session: String,
    /// The id of the call, which the model gave; empty if it has none.
    pub call_id: String,
    /// The name of the tool that asks.
    pub tool: String,
    /// The name that the tool gave the request ([`Ask::named`](super::Ask::named)).
    pub key: Option<String>,
    /// The question, of at most 2,000 characters before they are escaped. It begins with the name
    /// of `asked_by`.
    pub message: String,
    /// The form of the answer: the JSON schema of an object whose properties are texts, numbers,
    /// integers, booleans and choices of texts. It is an `ElicitRequestFormParams.requestedSchema`
    /// of the Model Context Protocol. The form of a
    /// [`RawQuestion`](crate::call::RawQuestion) may also have titles, and lists of choices.
    pub schema: Value,
    /// The address of a page on which the user is to do something, for example signing in, instead
    /// of filling in a form. The answer is [`Accepted`](Answer::Accepted), with any value, once the
    /// user agrees to open it. Show the whole address before, and open it in the user's own
    /// browser.
    pub url: Option<String>,
    /// The other program that asks, for example a server whose tool is called: the name that the
    /// host gave it. `None` if the tool itself asks.
    pub asked_by: Option<String>,
}

/// The user's answer to a question.
///
/// ```
/// use tool_core::call::Answer;
///
/// assert_eq!(Answer::Accepted(7).accepted(), Some(7));
/// assert_eq!(Answer::<u8>::Declined.accepted(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    /// The user has filled in the form.
    Accepted(T),
    /// The user does not want to answer.
    Declined,
    /// The user has closed the form without a decision.
    Cancelled,
}

impl<T> Answer<T> {
    /// Returns the value of an accepted answer.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(value) => Some(value),
            Self::Declined | Self::Cancelled => None,
        }
    }

    /// Returns the value of an accepted answer, for a tool that cannot go on without it.
    ///
    /// # Errors
    ///
    /// Returns DENIED if the user has declined, and CANCELLED if the user has closed the form.
    pub fn required(self) -> Result<T, ToolError> {
        let (kind, did) = match self {
            Self::Accepted(value) => return Ok(value),
            Self::Declined => (ErrorKind::Denied, "declined to answer"),
            Self::Cancelled => (ErrorKind::Cancelled, "closed the form without an answer"),
        };
        let message = format!(
            "the user {did}, so the tool did not go on; do not call it again unless the user asks for it"
        );
        Err(ToolError::new(kind, message, false))
    }
}

impl HostRequest for Question {
    type Answer = Answer<Value>;
}
