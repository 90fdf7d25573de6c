//! The host's checks of what a user says and of what a model answers.

use crate::call::{Mode, RunContext, ToolError};
use crate::session::hooks::{HookFn, HookFuture};
use crate::session::message::Message;
use crate::session::timer;
use crate::session::user_message::UserMessage;
use futures_util::FutureExt;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

/// The host's checks of what a user says and of what a model answers, for
/// [`RuntimeBuilder::guards`](super::RuntimeBuilder::guards). They run in the order in which they
/// were added, and each one sees what those before it have rewritten.
///
/// Like a hook, a guard is an `async fn`, or an `async` closure whose parameter has its type. Each
/// check runs a clone of it, so share what it captures in an `Arc`.
///
/// If a guard fails, panics or takes too long, nothing passes: the reply ends with
/// [`Failed`](super::ReplyFinish::Failed) and an error that says so.
///
/// ```
/// use tool_core::session::{
///     AnswerVerdict, GuardedAnswer, GuardedInput, Guards, History, InputVerdict, ReplyFinish,
/// };
/// use tool_core::testing::ScriptedModel;
/// use tool_core::{Mode, Runtime, ToolContext, ToolError};
///
/// async fn no_secrets(answer: GuardedAnswer<'_>) -> Result<AnswerVerdict, ToolError> {
///     Ok(AnswerVerdict::Rewrite(answer.text.replace("swordfish", "***")))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let guards = Guards::new().answer(no_secrets).input(async |input: GuardedInput<'_>| {
///     let is_short = input.message.text().len() < 2_000;
///     Ok(if is_short { InputVerdict::Pass } else { InputVerdict::Refuse("Please be brief.".into()) })
/// });
/// let runtime = Runtime::builder(ToolContext::builder().build()?).guards(guards).build()?;
/// let session = runtime.session("s-1", Mode::Text).await?;
///
/// let mut model = ScriptedModel::new().says("It is swordfish.");
/// let mut history = History::new();
/// let reply = session.reply(&mut model, &mut history, "The password?").await;
/// assert_eq!(reply.text.as_deref(), Some("It is ***."));
///
/// let reply = session.reply(&mut model, &mut history, "x".repeat(3_000)).await;
/// assert_eq!(reply.finish, ReplyFinish::Blocked);
/// assert_eq!(reply.text.as_deref(), Some("Please be brief."));
/// assert_eq!(history.messages().len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct Guards {
    input: Vec<Arc<dyn InputGuard>>,
    answer: Vec<Arc<dyn AnswerGuard>>,
    time_limit: Duration,
}

/// The message of a user, as a guard sees it.
///
/// ```
/// use tool_core::session::{GuardedInput, InputVerdict};
/// use tool_core::{Content, ToolError};
///
/// async fn no_pictures(input: GuardedInput<'_>) -> Result<InputVerdict, ToolError> {
///     let has_picture = input.message.parts().iter().any(|part| matches!(part, Content::Image { .. }));
///     Ok(if has_picture { InputVerdict::Refuse("I cannot look at pictures.".into()) } else { InputVerdict::Pass })
/// }
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GuardedInput<'a> {
    /// The session's id.
    pub session: &'a str,
    /// The principal of the session; empty if the host gave none.
    pub principal: &'a str,
    /// The session's mode.
    pub mode: Mode,
    /// The number of the turn.
    pub turn: u64,
    /// The message, with its files. Of an agent that is a tool, it is the task.
    pub message: &'a UserMessage,
    /// The conversation before the message.
    pub history: &'a [Message],
}

/// The final answer of a model, as a guard sees it.
///
/// ```
/// use tool_core::ToolError;
/// use tool_core::session::{AnswerVerdict, GuardedAnswer};
///
/// async fn no_promises(answer: GuardedAnswer<'_>) -> Result<AnswerVerdict, ToolError> {
///     let promises = answer.text.contains("guarantee");
///     Ok(if promises { AnswerVerdict::AskAgain("promise nothing".into()) } else { AnswerVerdict::Pass })
/// }
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GuardedAnswer<'a> {
    /// The session's id.
    pub session: &'a str,
    /// The principal of the session; empty if the host gave none.
    pub principal: &'a str,
    /// The session's mode.
    pub mode: Mode,
    /// The number of the turn.
    pub turn: u64,
    /// The text. Of a typed answer, it is the JSON of the value.
    pub text: &'a str,
    /// The conversation before the answer.
    pub history: &'a [Message],
}

/// The decision of a guard on the message of a user.
///
/// ```
/// use tool_core::session::{GuardedInput, InputVerdict};
///
/// fn verdict(input: GuardedInput<'_>) -> InputVerdict {
///     if input.principal.is_empty() {
///         return InputVerdict::Refuse("Please log in.".into());
///     }
///     InputVerdict::Pass
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum InputVerdict {
    /// The message is sent as it is.
    Pass,
    /// This message is sent and stored in its place. The original is not kept. A blank one is an
    /// error.
    Rewrite(UserMessage),
    /// Nothing is sent, and nothing is added to the history. The text is for the user: it is the
    /// text of the reply.
    Refuse(String),
}

/// The decision of a guard on the answer of a model.
///
/// ```
/// use tool_core::session::{AnswerVerdict, GuardedAnswer};
///
/// fn verdict(answer: GuardedAnswer<'_>) -> AnswerVerdict {
///     let text = answer.text.replace("Hotel Blue", "our partner");
///     if text.len() > 2_000 { AnswerVerdict::AskAgain("it is too long".into()) } else { AnswerVerdict::Rewrite(text) }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum AnswerVerdict {
    /// The answer is shown and stored as it is.
    Pass,
    /// This text is shown and stored in its place. A blank one is an error, and so is one that is
    /// not of the type of a typed answer.
    Rewrite(String),
    /// The model answers again, at most [`MAX_ASKED_AGAIN`](Guards::MAX_ASKED_AGAIN) times in a
    /// reply. It reads this reason, and not the answer, which is not kept.
    AskAgain(String),
    /// The answer is not shown, and not kept. The text is for the user: it is the text of the
    /// reply, and the answer in the history.
    Refuse(String),
}

/// The part of a conversation that a guard has refused.
///
/// ```
/// use tool_core::session::{AgentEvent, GuardedPart};
///
/// fn is_refused_answer(event: &AgentEvent) -> bool {
///     matches!(event, AgentEvent::Blocked { part: GuardedPart::Answer, .. })
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GuardedPart {
    /// The message of the user.
    Input,
    /// The answer of the model.
    Answer,
}

impl fmt::Display for GuardedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "the message",
            Self::Answer => "the answer",
        })
    }
}

/// A guard of messages.
trait InputGuard: Send + Sync {
    fn check<'a>(&'a self, input: GuardedInput<'a>) -> Checking<'a, InputVerdict>;
}

/// A guard of answers.
trait AnswerGuard: Send + Sync {
    fn check<'a>(&'a self, answer: GuardedAnswer<'a>) -> Checking<'a, AnswerVerdict>;
}

type Checking<'a, V> = HookFuture<'a, Result<V, ToolError>>;

impl<F> InputGuard for F
where
    F: for<'a> HookFn<
            'a,
            (GuardedInput<'a>,),
            Output = Result<InputVerdict, ToolError>,
            Future: Send,
        > + 'static,
{
    fn check<'a>(&'a self, input: GuardedInput<'a>) -> Checking<'a, InputVerdict> {
        Box::pin(self.call((input,)))
    }
}

impl<F> AnswerGuard for F
where
    F: for<'a> HookFn<
            'a,
            (GuardedAnswer<'a>,),
            Output = Result<AnswerVerdict, ToolError>,
            Future: Send,
        > + 'static,
{
    fn check<'a>(&'a self, answer: GuardedAnswer<'a>) -> Checking<'a, AnswerVerdict> {
        Box::pin(self.call((answer,)))
    }
}

impl Default for Guards {
    fn default() -> Self {
        Self {
            input: Vec::new(),
            answer: Vec::new(),
            time_limit: Duration::from_secs(30),
        }
    }
}

/// # Settings
impl Guards {
    /// The number of times that a model answers again in one reply. After that the answer is
    /// refused.
    pub const MAX_ASKED_AGAIN: u32 = 2;

    /// Creates guards that check nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a guard of the user's messages. It runs before anything is sent or stored.
    pub fn input<F>(mut self, guard: F) -> Self
    where
        F: for<'a> HookFn<
                'a,
                (GuardedInput<'a>,),
                Output = Result<InputVerdict, ToolError>,
                Future: Send,
            > + 'static,
    {
        self.input.push(Arc::new(guard));
        self
    }

    /// Adds a guard of the model's final answers. It sees texts, and no calls.
    ///
    /// No text is shown before it has passed, so the answer of a stream comes whole. Reasoning, and
    /// texts beside calls, are not shown at all.
    pub fn answer<F>(mut self, guard: F) -> Self
    where
        F: for<'a> HookFn<
                'a,
                (GuardedAnswer<'a>,),
                Output = Result<AnswerVerdict, ToolError>,
                Future: Send,
            > + 'static,
    {
        self.answer.push(Arc::new(guard));
        self
    }

    /// Sets the time that each guard may take. Defaults to 30 seconds.
    pub fn time_limit(self, limit: Duration) -> Self {
        Self {
            time_limit: limit,
            ..self
        }
    }
}

/// # Checks
///
/// The loops call these themselves. Use them for what no loop of this library sends.
impl Guards {
    /// Returns the decision of all guards on the message of a user. It is the first refusal;
    /// otherwise the message of the last guard that rewrote it.
    ///
    /// ```
    /// use tool_core::RunContext;
    /// use tool_core::session::{GuardedInput, Guards, InputVerdict, UserMessage};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_core::ToolError> {
    /// let guards = Guards::new().input(async |input: GuardedInput<'_>| {
    ///     Ok(InputVerdict::Rewrite(UserMessage::new(input.message.text().to_lowercase())))
    /// });
    /// let verdict = guards.check_input(&RunContext::detached(), &UserMessage::new("HELLO"), &[]).await?;
    /// assert_eq!(verdict, InputVerdict::Rewrite(UserMessage::new("hello")));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// A guard has failed, panicked, taken too long, or rewritten the message into a blank one.
    pub async fn check_input(
        &self,
        ctx: &RunContext,
        message: &UserMessage,
        history: &[Message],
    ) -> Result<InputVerdict, ToolError> {
        let principal = ctx.principal();
        let mut rewritten = None;
        for guard in &self.input {
            let input = GuardedInput {
                session: ctx.session().unwrap_or_default(),
                principal: &principal,
                mode: ctx.mode(),
                turn: ctx.turn(),
                message: rewritten.as_ref().unwrap_or(message),
                history,
            };
            let checking = async { guard.check(input).await };
            match self.run(GuardedPart::Input, checking).await? {
                InputVerdict::Pass => {}
                InputVerdict::Rewrite(message) if message.is_blank() => {
                    return Err(blank_rewrite(GuardedPart::Input));
                }
                InputVerdict::Rewrite(message) => rewritten = Some(message.without_notes()),
                refusal @ InputVerdict::Refuse(_) => return Ok(refusal),
            }
        }
        Ok(rewritten.map_or(InputVerdict::Pass, InputVerdict::Rewrite))
    }

    /// Returns the decision of all guards on the answer of a model. It is the first one that
    /// refuses it or asks again; otherwise the text of the last guard that rewrote it.
    ///
    /// # Errors
    ///
    /// A guard has failed, panicked, taken too long, or rewritten the answer into a blank one.
    pub async fn check_answer(
        &self,
        ctx: &RunContext,
        text: &str,
        history: &[Message],
    ) -> Result<AnswerVerdict, ToolError> {
        let principal = ctx.principal();
        let mut rewritten = None::<String>;
        for guard in &self.answer {
            let answer = GuardedAnswer {
                session: ctx.session().unwrap_or_default(),
                principal: &principal,
                mode: ctx.mode(),
                turn: ctx.turn(),
                text: rewritten.as_deref().unwrap_or(text),
                history,
            };
            let checking = async { guard.check(answer).await };
            match self.run(GuardedPart::Answer, checking).await? {
                AnswerVerdict::Pass => {}
                AnswerVerdict::Rewrite(text) if text.trim().is_empty() => {
                    return Err(blank_rewrite(GuardedPart::Answer));
                }
                AnswerVerdict::Rewrite(text) => rewritten = Some(text),
                verdict => return Ok(verdict),
            }
        }
        let rewritten = rewritten.filter(|rewritten| rewritten != text);
        Ok(rewritten.map_or(AnswerVerdict::Pass, AnswerVerdict::Rewrite))
    }

    pub(crate) fn has_input(&self) -> bool {
        !self.input.is_empty()
    }

    pub(crate) fn has_answer(&self) -> bool {
        !self.answer.is_empty()
    }

    /// Runs one guard. It fails if the guard panics or takes too long.
    async fn run<V>(
        &self,
        part: GuardedPart,
        checking: impl Future<Output = Result<V, ToolError>>,
    ) -> Result<V, ToolError> {
        let checking = AssertUnwindSafe(checking).catch_unwind();
        let limit = self.time_limit;
        match timer::at_most(limit, checking).await {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(_)) => {
                tracing::error!("a guard of {part} panicked");
                let message = format!("a guard of {part} panicked, so {part} did not pass");
                Err(ToolError::permanent(message))
            }
            Err(_) => {
                tracing::error!("a guard of {part} took longer than {limit:?}");
                let message =
                    format!("a guard of {part} took longer than {limit:?}, so {part} did not pass");
                Err(ToolError::timeout(message))
            }
        }
    }
}

fn blank_rewrite(part: GuardedPart) -> ToolError {
    ToolError::permanent(format!(
        "a guard rewrote {part} into a blank text; let it refuse {part} instead"
    ))
}

impl fmt::Debug for Guards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guards")
            .field("input", &self.input.len())
            .field("answer", &self.answer.len())
            .field("time_limit", &self.time_limit)
            .finish()
    }
}
