//! The outcome of asking a model.

use crate::call::{Confirmation, ErrorBody, ErrorKind, ToolResponse};
use crate::json::raw::RawJson;
use crate::session::reply_finish::ReplyFinish;
use crate::trace::TokenUsage;
use serde::ser::SerializeSeq;
use serde::{Deserialize, Serialize, Serializer};

/// The outcome of asking a model.
///
/// ```
/// use tool_core::session::{History, Model, ModelRequest, ModelStep, ReplyFinish};
/// use tool_core::{Mode, Runtime, ToolCall, ToolContext, ToolError, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// /// Calls a tool, and then answers.
/// struct Calculator;
///
/// impl Model for Calculator {
///     async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
///         let call = ToolCall::new("call_1", "add", r#"{"a": 1, "b": 2}"#);
///         Ok(if request.history.len() == 1 { ModelStep::calls([call]) } else { ModelStep::says("It is 3.") })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().with(add).build()?).build()?;
/// let session = runtime.session("s-1", Mode::Text).await?;
/// let reply = session.reply(&mut Calculator, &mut History::new(), "1 + 2?").await;
/// assert_eq!((reply.text.as_deref(), reply.steps), (Some("It is 3."), 1));
/// assert_eq!(reply.responses[0].data_json(), Some("3"));
/// assert_eq!(reply.finish, ReplyFinish::Complete);
/// # Ok(())
/// # }
/// ```
///
/// Its JSON is for the host alone: the confirmations in it have the tokens that approve calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[non_exhaustive]
#[must_use]
pub struct Reply {
    /// The last text that the model said in the reply, in a step of its own or beside calls. `None` if it said none. It may be a
    /// part of what the model wanted to say: see [`finish`](Self::finish). With a [guard](super::Guards) of answers it is what
    /// the guard has passed, or its own text for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The reason for which the reply ended.
    pub finish: ReplyFinish,
    /// The number of steps in which tools were called.
    pub steps: u32,
    /// The responses to all calls, in order. Calls that wait for approval carry a confirmation in
    /// their `meta`. The results of calls that have ended in the background are among them.
    #[serde(serialize_with = "serialize_responses")]
    pub responses: Vec<ToolResponse>,
    /// True if the turn was interrupted or the session ended before the model had replied.
    pub interrupted: bool,
    /// The tokens of all answers that were paid for: of every step, and of attempts that failed,
    /// were repeated or were broken off, as far as the provider has reported them. Tokens that a tool
    /// has used, for example one that is an agent, are in the span of its call instead.
    pub usage: TokenUsage,
    /// The model's error, or the reason for which its last answer has no content. Calls that ran
    /// before it have run: their responses are here and in the history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

/// Returns what a user can do about an error of a model. `None` if the error is about what the user
/// has sent.
fn message_for_user(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::Auth | ErrorKind::Internal | ErrorKind::Permanent | ErrorKind::Unknown => {
            Some("the assistant cannot answer; tell its operator")
        }
        ErrorKind::Transient | ErrorKind::Timeout => {
            Some("the assistant cannot answer at the moment; try again")
        }
        ErrorKind::RateLimit => Some("the assistant is busy; try again in a minute"),
        _ => None,
    }
}

/// Writes responses with all that is read back.
fn serialize_responses<S: Serializer>(
    responses: &[ToolResponse],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(Some(responses.len()))?;
    for response in responses {
        list.serialize_element(&RawJson(&response.to_stored_json()))?;
    }
    list.end()
}

impl Reply {
    /// Returns the error as a user may read it. The error of a model tells the host of servers, keys
    /// and settings, so that of a reply that failed says only what the user can do. The log has the
    /// whole text. Other errors are as they are.
    ///
    /// [`AgentEvent::Finished`](super::AgentEvent::Finished) has this error in its JSON form.
    ///
    /// ```
    /// use tool_core::session::History;
    /// use tool_core::testing::ScriptedModel;
    /// use tool_core::{Mode, Runtime, ToolContext, ToolError};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let runtime = Runtime::builder(ToolContext::builder().build()?).build()?;
    /// let session = runtime.session("s-1", Mode::Text).await?;
    /// let mut model = ScriptedModel::new().fails(ToolError::auth("the provider answered 401: key sk-1"));
    /// let reply = session.reply(&mut model, &mut History::new(), "Hi").await;
    ///
    /// let shown = reply.error_for_user().ok_or("it failed")?;
    /// assert_eq!(shown.message, "the assistant cannot answer; tell its operator");
    /// # Ok(())
    /// # }
    /// ```
    pub fn error_for_user(&self) -> Option<ErrorBody> {
        let mut error = self.error.clone()?;
        if self.finish == ReplyFinish::Failed
            && let Some(message) = message_for_user(error.kind)
        {
            message.clone_into(&mut error.message);
        }
        Some(error)
    }

    /// Returns the confirmations that await a person's decision, in the order of the calls.
    pub fn confirmations(&self) -> impl Iterator<Item = &Confirmation> {
        self.responses
            .iter()
            .flat_map(|response| response.meta().confirmations())
    }
}
