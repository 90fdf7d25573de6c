//! Asking the user in the middle of a call.

use crate::call::ask_error::AskError;
use crate::call::context::{RunContext, SessionHandle};
use crate::call::form::Form;
use crate::call::questions::{Answer, CallQuestions, Question, QuestionLimits};
use crate::call::raw_question::RawQuestion;
use crate::schema::parameter::ToolParameter;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::marker::PhantomData;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// A question that is about to be asked. Await it for the answer. Created by [`RunContext::ask`] and
/// [`RunContext::ask_raw`].
#[must_use = "the user is asked when the question is awaited"]
pub struct Ask<'a, T> {
    ctx: &'a RunContext,
    question: RawQuestion,
    form: fn(&RawQuestion) -> Result<Form, AskError>,
    timeout: Option<Duration>,
    answer: PhantomData<fn() -> T>,
}

impl RunContext {
    /// Asks the user a question in the middle of the call, and waits for the answer.
    ///
    /// `T` is a `bool`, a number, a text, an enum of names, or a struct of these: a form that a person fills in. The answer is
    /// checked as the arguments of a call are. The host answers by its own handler
    /// ([`RuntimeBuilder::on_question`](crate::session::RuntimeBuilder::on_question)), and an MCP server asks the client's user
    /// by elicitation.
    ///
    /// The time of the user does not count toward the call's deadline. It is bounded by
    /// [`Policy::question_timeout`](crate::Policy::question_timeout), or by [`within`](Ask::within). The wait ends at once when
    /// the call is cancelled or its session ends. Do not ask for passwords, keys or other secrets: the answer passes through the
    /// host or an MCP client, and the protocol forbids it.
    ///
    /// ```
    /// use tool_core::call::{Answer, Question};
    /// use tool_core::serde_json::json;
    /// use tool_core::{Mode, RunContext, Runtime, ToolCall, ToolContext, ToolError, tool, tool_type};
    ///
    /// /// A seat.
    /// #[tool_type]
    /// struct Seat {
    ///     row: u8,
    ///     window: bool,
    /// }
    ///
    /// /// Book a flight.
    /// #[tool]
    /// async fn book(ctx: &RunContext) -> Result<String, ToolError> {
    ///     match ctx.ask::<Seat>("Which seat would you like?").await? {
    ///         Answer::Accepted(seat) => Ok(format!("booked row {}", seat.row)),
    ///         Answer::Declined | Answer::Cancelled => Ok("nothing was booked".to_owned()),
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let runtime = Runtime::builder(ToolContext::builder().with(book).build()?)
    ///     .on_question(async |_: Question| Ok(Answer::Accepted(json!({"row": 12, "window": true}))))
    ///     .build()?;
    /// let session = runtime.session("s-1", Mode::Text).await?;
    /// let response = session.call(ToolCall::new("call_1", "book", "{}")).await;
    /// assert_eq!(response.data_json(), Some(r#""booked row 12""#));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Awaiting it returns an [`AskError`].
    pub fn ask<T: ToolParameter>(&self, message: impl Into<String>) -> Ask<'_, T> {
        let question = RawQuestion::confirm(message);
        Ask { ctx: self, question, form: |_| Form::of::<T>(), timeout: None, answer: PhantomData }
    }

    /// Asks the user a question whose form is known at run time only, such as one of a server that the tool calls.
    ///
    /// It has the limits of [`ask`](Self::ask). The form is checked first, as it may come from another program, and the answer
    /// is checked against it.
    ///
    /// ```
    /// use tool_core::call::{Answer, Question, RawQuestion};
    /// use tool_core::serde_json::json;
    /// use tool_core::{RunContext, ToolContext, ToolError, tool};
    ///
    /// /// Choose a room that is free.
    /// #[tool]
    /// async fn choose(ctx: &RunContext) -> Result<String, ToolError> {
    ///     let free = ["12", "14"]; // known at run time
    ///     let form = json!({"type": "object", "properties": {"room": {"type": "string", "enum": free}}, "required": ["room"]});
    ///     let answer = ctx.ask_raw(RawQuestion::form("Which room?", form)).await?.required()?;
    ///     Ok(answer["room"].to_string())
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let tools = ToolContext::builder().with(choose).build()?;
    /// let answer = async |_: Question| Ok(Answer::Accepted(json!({"room": "14"})));
    /// let ctx = RunContext::builder().on_question(answer).build();
    /// assert_eq!(tools.call("choose", "{}", &ctx).await.data_json(), Some(r#""\"14\"""#));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Awaiting it returns an [`AskError`]: [`InvalidForm`](AskError::InvalidForm) with each problem of the form.
    pub fn ask_raw(&self, question: RawQuestion) -> Ask<'_, Value> {
        Ask { ctx: self, question, form: RawQuestion::checked_form, timeout: None, answer: PhantomData }
    }

    /// Returns the time for which the call has waited for its user, which counts toward no deadline.
    pub fn waited_for_user(&self) -> Duration {
        self.asked_questions().map_or(Duration::ZERO, CallQuestions::waited)
    }
}

impl<T: DeserializeOwned + Send + 'static> Ask<'_, T> {
    /// Sets the time that the user has for the answer. Defaults to the policy's
    /// [`question_timeout`](crate::Policy::question_timeout), and to 5 minutes outside a session.
    pub fn within(self, time: Duration) -> Self {
        Self { timeout: Some(time), ..self }
    }

    /// Asks, and blocks the thread until the answer. For `blocking` tools, which are not `async`. The thread of the tool is
    /// taken meanwhile.
    ///
    /// # Errors
    ///
    /// Returns the same errors as awaiting it.
    ///
    /// # Panics
    ///
    /// Panics outside of tokio, and on a thread that drives futures, as that of a tool that is not `blocking`.
    pub fn blocking(self) -> Result<Answer<T>, AskError> {
        Handle::current().block_on(self.into_future())
    }

    async fn send(self) -> Result<Answer<T>, AskError> {
        let form = (self.form)(&self.question)?;
        let ctx = self.ctx;
        let session = ctx.session_handle();
        if session.is_none() && ctx.belongs_to_session() {
            return Err(AskError::Ended);
        }
        let questions = ctx.questions();
        let own = questions.handler().or_else(|| ctx.question_handler()).cloned();
        let Some(handler) = own else { return Err(AskError::Unavailable(no_handler(session.is_some()).to_owned())) };
        let limits = session.as_ref().map(|session| session.question_limits()).unwrap_or_default();
        let _place = session.map(|session| Place::take(session, questions, &limits)).transpose()?;
        let question = Question {
            session: ctx.session().unwrap_or_default().to_owned(),
            call_id: ctx.call_id().unwrap_or_default().to_owned(),
            tool: ctx.tool().unwrap_or_default().to_owned(),
            message: self.question.shown_message(),
            schema: form.schema.clone(),
            url: self.question.url,
            asked_by: self.question.asked_by,
        };
        let limit = self.timeout.unwrap_or(limits.timeout);
        let answer = async move { handler.ask(question).await };
        let answer = wait(ctx, questions, limit, answer).await?;
        Ok(match answer {
            Answer::Accepted(value) => Answer::Accepted(form.read(value)?),
            Answer::Declined => Answer::Declined,
            Answer::Cancelled => Answer::Cancelled,
        })
    }
}

impl<'a, T: DeserializeOwned + Send + 'static> IntoFuture for Ask<'a, T> {
    type Output = Result<Answer<T>, AskError>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

/// Waits for the answer, while the clock of the call is paused. Ends with the call and with the time for the answer.
async fn wait(
    ctx: &RunContext,
    questions: &Arc<CallQuestions>,
    limit: Duration,
    answer: impl Future<Output = Result<Answer<Value>, AskError>>,
) -> Result<Answer<Value>, AskError> {
    // `questions` exists before this check, so the end of the call is seen here, or it cancels `questions.ended`.
    if ctx.call_context().answered.load(Ordering::SeqCst) {
        return Err(AskError::Ended);
    }
    let _waiting = questions.wait();
    let answer = timeout(limit, AssertUnwindSafe(answer).catch_unwind());
    let answer = questions.ended.run_until_cancelled(ctx.cancellation().run_until_cancelled(answer)).await;
    match answer.flatten() {
        None => Err(AskError::Ended),
        Some(Err(_)) => Err(AskError::TimedOut(limit)),
        Some(Ok(Err(_))) => Err(AskError::failed("the handler of questions panicked")),
        Some(Ok(Ok(answer))) => answer,
    }
}

fn no_handler(in_session: bool) -> &'static str {
    if in_session {
        "the host answers no questions; it sets `on_question` on the runtime, the session or the call"
    } else {
        "the call runs outside of a session, and its context has no `on_question`"
    }
}

/// The place of a question among those of its session that wait.
struct Place(Arc<dyn SessionHandle>);

impl Place {
    fn take(
        session: Arc<dyn SessionHandle>,
        questions: &CallQuestions,
        limits: &QuestionLimits,
    ) -> Result<Self, AskError> {
        let more = |waiting| (waiting < limits.session).then_some(waiting + 1);
        if session.waiting_questions().fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).is_err() {
            return Err(AskError::TooMany(format!("{} of this session wait for the user", limits.session)));
        }
        let place = Self(session);
        if !questions.count(limits.call) {
            return Err(AskError::TooMany(format!("a call may ask {}", limits.call)));
        }
        Ok(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.waiting_questions().fetch_sub(1, Ordering::SeqCst);
    }
}
