//! Questions to the user, their answers, and the handler that the host gives for them; and the time that a call has spent
//! on its questions.

use crate::call::ask_error::AskError;
use crate::call::error::{ErrorKind, ToolError};
use futures_util::future::BoxFuture;
use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Context;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A question of a running tool to the user, for the host to show.
///
/// The message and the texts of the form may come from a model. Characters that a person does not see, or that change the
/// order of others, are escaped in the message, and so are line ends.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Question {
    /// The session's id; empty outside a session.
    pub session: String,
    /// The id of the call, which the model gave; empty where it has none.
    pub call_id: String,
    /// The name of the tool that asks.
    pub tool: String,
    /// The question, of at most 2,000 characters before they are escaped. It begins with the name of `asked_by`.
    pub message: String,
    /// The form of the answer: the JSON schema of an object whose properties are texts, numbers, integers, booleans and
    /// choices of texts. It is an `ElicitRequestFormParams.requestedSchema` of the Model Context Protocol. The form of a
    /// [`RawQuestion`](crate::call::RawQuestion) may also have titles, and lists of choices.
    pub schema: Value,
    /// The address of a page on which the user is to do something, such as signing in, instead of filling in a form. The
    /// answer is [`Accepted`](Answer::Accepted), with any value, once the user agrees to open it. Show the whole address
    /// before, and open it in the user's own browser.
    pub url: Option<String>,
    /// The other program that asks, such as a server whose tool is called: the name that the host gave it. `None` if the
    /// tool itself asks.
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
        let message =
            format!("the user {did}, so the tool did not go on; do not call it again unless the user asks for it");
        Err(ToolError::new(kind, message, false))
    }
}

/// Answers the questions of running tools for the user.
///
/// A function from a [`Question`] to a future of the answer implements it. The future is dropped when the time for the answer
/// is over, or when the call ends: its drop is the moment to take the form away.
///
/// ```
/// use tool_core::call::{Answer, Question};
/// use tool_core::serde_json::json;
/// use tool_core::{Runtime, ToolContext};
///
/// # let tools = ToolContext::builder().build()?;
/// let runtime = Runtime::builder(tools).on_question(async |question: Question| {
///     println!("{} asks: {}", question.tool, question.message);
///     Ok(Answer::Accepted(json!({"row": 12})))
/// });
/// # runtime.build()?;
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
pub trait QuestionHandler: Send + Sync + 'static {
    /// Shows the question and waits for the answer. An accepted answer is an object that fits the question's schema; it is
    /// checked as the arguments of a call are.
    ///
    /// # Errors
    ///
    /// Returns [`AskError::Unavailable`] if this user cannot be asked, and [`AskError::failed`] for other failures.
    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Answer<Value>, AskError>>;
}

impl<F, A> QuestionHandler for F
where
    F: Fn(Question) -> A + Send + Sync + 'static,
    A: Future<Output = Result<Answer<Value>, AskError>> + Send + 'static,
{
    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Answer<Value>, AskError>> {
        Box::pin(self(question))
    }
}

/// The limits on the questions of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QuestionLimits {
    /// The time that the user has for an answer.
    pub(crate) timeout: Duration,
    /// The questions of one call, with those of the calls that it makes.
    pub(crate) call: u32,
    /// The questions of a session that may wait at once.
    pub(crate) session: u32,
}

impl Default for QuestionLimits {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(5 * 60), call: 8, session: 16 }
    }
}

/// The way from a call to its handler: the call's own, or that of the call that made it.
#[derive(Clone)]
pub(crate) enum Asker {
    Handler(Arc<dyn QuestionHandler>),
    Caller(Arc<CallQuestions>),
}

impl PartialEq for Asker {
    /// Returns true for the same handler, or the same caller.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Handler(one), Self::Handler(other)) => Arc::ptr_eq(one, other),
            (Self::Caller(one), Self::Caller(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Eq for Asker {}

impl fmt::Debug for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asker").finish_non_exhaustive()
    }
}

/// The questions of one call, and the time for which they waited. Its deadline waits for as long.
pub(crate) struct CallQuestions {
    asker: Option<Asker>,
    times: Mutex<WaitingTimes>,
    /// The questions that were asked. Counted at the outermost call.
    asked: AtomicU32,
    /// Wakes the call when no question waits any more.
    waker: AtomicWaker,
    /// Cancelled when the call is answered.
    pub(crate) ended: CancellationToken,
}

#[derive(Default)]
struct WaitingTimes {
    waiting: u32,
    /// The time since which a question waits.
    since: Option<Instant>,
    /// The time for which questions waited before.
    before: Duration,
}

impl CallQuestions {
    pub(crate) fn new(asker: Option<Asker>) -> Arc<Self> {
        Arc::new(Self {
            asker,
            times: Mutex::default(),
            asked: AtomicU32::new(0),
            waker: AtomicWaker::new(),
            ended: CancellationToken::new(),
        })
    }

    fn caller(&self) -> Option<&Arc<Self>> {
        match &self.asker {
            Some(Asker::Caller(caller)) => Some(caller),
            Some(Asker::Handler(_)) | None => None,
        }
    }

    /// Returns the handler of the call, or of a call above it.
    pub(crate) fn handler(&self) -> Option<&Arc<dyn QuestionHandler>> {
        match self.asker.as_ref()? {
            Asker::Handler(handler) => Some(handler),
            Asker::Caller(caller) => caller.handler(),
        }
    }

    /// Counts a question at the outermost call. Returns false if it has asked as many.
    pub(crate) fn count(&self, limit: u32) -> bool {
        if let Some(caller) = self.caller() {
            return caller.count(limit);
        }
        let more = |asked| (asked < limit).then_some(asked + 1);
        self.asked.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Stops the clock of the call and of the calls above it, until the guard is dropped.
    pub(crate) fn wait(self: &Arc<Self>) -> WaitingQuestion {
        let mut call = Some(self);
        while let Some(questions) = call {
            let mut times = questions.times.lock();
            times.waiting += 1;
            times.since.get_or_insert_with(Instant::now);
            call = questions.caller();
        }
        WaitingQuestion(Arc::clone(self))
    }

    /// Returns the time for which questions have waited. Two that wait at once count once.
    pub(crate) fn waited(&self) -> Duration {
        let times = self.times.lock();
        times.before + times.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Returns the time for which questions have waited, or `None` while one waits. The call is polled again after that.
    pub(crate) fn poll_waited(&self, cx: &Context<'_>) -> Option<Duration> {
        self.waker.register(cx.waker());
        let times = self.times.lock();
        times.since.is_none().then_some(times.before)
    }
}

/// A question that waits. The clocks of its calls go on when it is dropped.
pub(crate) struct WaitingQuestion(Arc<CallQuestions>);

impl Drop for WaitingQuestion {
    fn drop(&mut self) {
        let mut call = Some(&self.0);
        while let Some(questions) = call {
            let mut times = questions.times.lock();
            times.waiting -= 1;
            if times.waiting == 0 {
                let waited = times.since.take().map_or(Duration::ZERO, |since| since.elapsed());
                times.before += waited;
                drop(times);
                questions.waker.wake();
            }
            call = questions.caller();
        }
    }
}
