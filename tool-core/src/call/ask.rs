//! Asking the user, or the user's client, in the middle of a call.

use crate::call::ask_error::AskError;
use crate::call::asker::{CallQuestions, QuestionLimits};
use crate::call::context::{RunContext, SessionHandle};
use crate::call::form::Form;
use crate::call::handlers::{Handler, Handlers, LogListener};
use crate::call::host_request::HostRequest;
use crate::call::questions::{Answer, Question};
use crate::call::raw_question::RawQuestion;
use crate::call::roots::{Root, RootsRequest, checked_roots};
use crate::call::sampling::{SamplingAnswer, SamplingRequest};
use crate::schema::parameter::AnswerType;
use crate::trace;
use crate::trace::redaction::Redaction;
use crate::trace::usage::ModelUsage;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// The answer that is being waited for, or the reason for which the host was not asked.
type Started<T> = Result<BoxFuture<'static, Result<T, AskError>>, AskError>;

/// Finds the handler for a context and the name of the request, and asks it.
type Start<'a, T> = dyn FnOnce(&RunContext, Option<String>) -> Started<T> + Send + 'a;

/// A request that is about to be made. Await it for the answer. Created by [`RunContext::ask`], [`RunContext::sample`] and
/// [`RunContext::roots`].
#[must_use = "the host is asked when the request is awaited"]
pub struct Ask<'a, T> {
    ctx: &'a RunContext,
    timeout: Option<Duration>,
    key: Option<String>,
    start: Box<Start<'a, T>>,
}

/// # Questions to the user, the model and the client
impl RunContext {
    /// Asks the user a question in the middle of the call, and waits for the answer.
    ///
    /// `T` is a `bool`, a number, a text, an enum of names, or a struct of these: a form that a
    /// person fills in. The answer is checked as the arguments of a call are. The host answers by
    /// its own handler
    /// ([`RuntimeBuilder::on_question`](crate::session::RuntimeBuilder::on_question)), and an MCP
    /// server asks the client's user by elicitation.
    ///
    /// The time of the user does not count toward the call's deadline. It is bounded by
    /// [`Policy::question_timeout`](crate::Policy::question_timeout), or by [`within`](Ask::within). The wait ends at once when
    /// the call is cancelled or its session ends. Do not ask for passwords, keys or other secrets:
    /// the answer passes through the host or an MCP client, and the protocol forbids it.
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
    pub fn ask<T: AnswerType + Send + 'static>(
        &self,
        message: impl Into<String>,
    ) -> Ask<'_, Answer<T>> {
        let question = RawQuestion::confirm(message);
        Ask::new(self, move |ctx, key| {
            question.start(ctx, key, Form::of::<T>()?)
        })
    }

    /// Asks the user a question whose form is known at run time only, for example one of a server
    /// that the tool calls.
    ///
    /// It has the limits of [`ask`](Self::ask). The form is checked first, as it may come from
    /// another program, and the answer is checked against it.
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
    /// Awaiting it returns an [`AskError`]: [`InvalidForm`](AskError::InvalidForm) with each
    /// problem of the form.
    pub fn ask_raw(&self, question: RawQuestion) -> Ask<'_, Answer<Value>> {
        Ask::new(self, move |ctx, key| {
            let form = question.checked_form()?;
            question.start(ctx, key, form)
        })
    }

    /// Returns the time for which the call has waited for its user, which counts toward no
    /// deadline.
    pub fn waited_for_user(&self) -> Duration {
        self.asked_questions()
            .map_or(Duration::ZERO, CallQuestions::waited)
    }

    /// Asks the user's model in the middle of the call, and waits for its answer.
    ///
    /// The host answers by its own handler
    /// ([`RuntimeBuilder::on_sampling`](crate::session::RuntimeBuilder::on_sampling)), and an MCP
    /// server asks the model of the client (`sampling/createMessage`). The user pays for it, and
    /// may change or refuse it. The answer is text that the tool must not trust.
    ///
    /// The time and the number of these requests are bounded together with those of [`ask`](Self::ask), and the tokens by
    /// [`Policy::max_sampling_tokens`](crate::Policy::max_sampling_tokens).
    ///
    /// ```
    /// use tool_core::call::{SamplingAnswer, SamplingRequest};
    /// use tool_core::testing::Client;
    /// use tool_core::{Content, RunContext, ToolContext, ToolError, tool};
    ///
    /// /// Summarise a text.
    /// #[tool]
    /// async fn summarise(ctx: &RunContext, text: String) -> Result<String, ToolError> {
    ///     let request = SamplingRequest::new(text).system_prompt("Answer in one sentence.").max_tokens(200);
    ///     Ok(ctx.sample(request).await?.text())
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_core::RegistryErrors> {
    /// let client = Client::new(ToolContext::builder().with(summarise).build()?)
    ///     .on_sampling(async |_: SamplingRequest| Ok(SamplingAnswer::new("small-1", [Content::text("It rained.")])));
    /// assert_eq!(client.call_ok::<String>("summarise", r#"{"text": "Rain, rain"}"#).await, "It rained.");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Awaiting it returns an [`AskError`].
    pub fn sample(&self, mut request: SamplingRequest) -> Ask<'_, SamplingAnswer> {
        Ask::new(self, |ctx, key| {
            let handler = ctx.handler(|handlers| handlers.sampling.as_ref(), "on_sampling")?;
            (request.session, request.call_id, request.tool) = ctx.origin();
            request.key = key;
            request.max_tokens = request.max_tokens.min(ctx.question_limits().tokens);
            let asked = async move {
                let answer = handler.ask(request).await?.checked()?;
                trace::attribute("gen_ai.response.model", answer.model.as_str());
                if let Some(usage) = answer.usage {
                    trace::record(ModelUsage::new(answer.model.clone(), usage));
                }
                Ok(answer)
            };
            Ok(Box::pin(trace::llm("sampling", asked)))
        })
    }

    /// Asks for the folders that the user lets tools work with.
    ///
    /// The host answers by its own handler
    /// ([`RuntimeBuilder::on_roots`](crate::session::RuntimeBuilder::on_roots)), and an MCP server
    /// asks the client (`roots/list`). At most 1,000 are returned. Invisible characters of names
    /// are escaped, and a root whose URI has some, or is too long, is left out. The requests are
    /// bounded together with those of [`ask`](Self::ask).
    ///
    /// ```
    /// use tool_core::call::{Root, RootsRequest};
    /// use tool_core::testing::Client;
    /// use tool_core::{RunContext, ToolContext, ToolError, tool};
    ///
    /// /// List the projects.
    /// #[tool]
    /// async fn projects(ctx: &RunContext) -> Result<Vec<String>, ToolError> {
    ///     Ok(ctx.roots().await?.into_iter().map(|root| root.uri).collect())
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_core::RegistryErrors> {
    /// let client = Client::new(ToolContext::builder().with(projects).build()?)
    ///     .on_roots(async |_: RootsRequest| Ok(vec![Root::new("file:///home/ada/project")]));
    /// assert_eq!(client.call_ok::<Vec<String>>("projects", "{}").await, ["file:///home/ada/project"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Awaiting it returns an [`AskError`].
    pub fn roots(&self) -> Ask<'_, Vec<Root>> {
        Ask::new(self, |ctx, key| {
            let handler = ctx.handler(|handlers| handlers.roots.as_ref(), "on_roots")?;
            let (session, call_id, tool) = ctx.origin();
            let request = RootsRequest {
                session,
                call_id,
                tool,
                key,
            };
            Ok(Box::pin(async move {
                Ok(checked_roots(handler.ask(request).await?))
            }))
        })
    }

    /// Returns the nearest handler of a kind of request: that of the call, of the calls above it,
    /// or of its session.
    pub(crate) fn handler<R: HostRequest>(
        &self,
        of: fn(&Handlers) -> Option<&Handler<R>>,
        setter: &str,
    ) -> Result<Handler<R>, AskError> {
        self.questions().asker.find(of).or_else(|| self.host_handlers().and_then(of)).cloned().ok_or_else(|| {
            AskError::Unavailable(if self.belongs_to_session() {
                format!("the host answers no such requests; it sets `{setter}` on the runtime, the session or the call")
            } else {
                format!("the call runs outside of a session, and its context has no `{setter}`")
            })
        })
    }

    /// Returns the nearest function that takes log messages, unless the call has ended.
    pub(crate) fn log_listener(&self) -> Option<LogListener> {
        let of: fn(&Handlers) -> Option<&LogListener> = |handlers| handlers.log.as_ref();
        let own = self.asker().and_then(|asker| asker.find(of));
        let found = own.or_else(|| self.host_handlers().and_then(of))?;
        (!self.call_context().answered.load(Ordering::SeqCst)).then(|| Arc::clone(found))
    }

    pub(crate) fn question_limits(&self) -> QuestionLimits {
        self.session_handle()
            .map(|session| session.question_limits())
            .unwrap_or_default()
    }

    pub(crate) fn redaction(&self) -> Redaction {
        self.session_handle()
            .map(|session| session.redaction())
            .unwrap_or_default()
    }

    /// Returns the session, the call and the tool, as requests name them.
    pub(crate) fn origin(&self) -> (String, String, String) {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        (
            text(self.session()),
            text(self.call_id()),
            text(self.tool()),
        )
    }
}

impl RawQuestion {
    /// Finds the handler, and returns the future that asks it and reads its answer by `form`.
    fn start<T: DeserializeOwned + Send + 'static>(
        self,
        ctx: &RunContext,
        key: Option<String>,
        form: Form,
    ) -> Started<Answer<T>> {
        let handler = ctx.handler(|handlers| handlers.question.as_ref(), "on_question")?;
        let (session, call_id, tool) = ctx.origin();
        let message = self.shown_message();
        let schema = form.schema.clone();
        let is_page = self.url.is_some();
        let question = Question {
            session,
            call_id,
            tool,
            key,
            message,
            schema,
            url: self.url,
            asked_by: self.asked_by,
        };
        Ok(Box::pin(async move {
            Ok(match handler.ask(question).await? {
                // The user has filled in no form.
                Answer::Accepted(_) if is_page => Answer::Accepted(form.read(json!({}))?),
                Answer::Accepted(value) => Answer::Accepted(form.read(value)?),
                Answer::Declined => Answer::Declined,
                Answer::Cancelled => Answer::Cancelled,
            })
        }))
    }
}

impl<'a, T: Send + 'static> Ask<'a, T> {
    /// Creates a request. `start` finds the handler and asks it.
    pub(crate) fn new(
        ctx: &'a RunContext,
        start: impl FnOnce(&RunContext, Option<String>) -> Started<T> + Send + 'a,
    ) -> Self {
        Self {
            ctx,
            timeout: None,
            key: None,
            start: Box::new(start),
        }
    }

    /// Names the request among those of its call. An MCP client of revision 2026-07-28 gets it
    /// under this name, and may send its answer with the call itself. Defaults to a name that the
    /// host chooses.
    pub fn named(self, key: impl Into<String>) -> Self {
        Self {
            key: Some(key.into()),
            ..self
        }
    }

    /// Sets the time that the user has for the answer. Defaults to the policy's
    /// [`question_timeout`](crate::Policy::question_timeout), and to 5 minutes outside a session.
    pub fn within(self, time: Duration) -> Self {
        Self {
            timeout: Some(time),
            ..self
        }
    }

    /// Asks, and blocks the thread until the answer. For `blocking` tools, which are not `async`.
    /// The thread of the tool is taken meanwhile.
    ///
    /// # Errors
    ///
    /// Returns the same errors as awaiting it.
    ///
    /// # Panics
    ///
    /// Panics outside of tokio, and on a thread that drives futures, as that of a tool that is not
    /// `blocking`.
    pub fn blocking(self) -> Result<T, AskError> {
        Handle::current().block_on(self.into_future())
    }

    async fn send(self) -> Result<T, AskError> {
        let ctx = self.ctx;
        let session = ctx.session_handle();
        if session.is_none() && ctx.belongs_to_session() {
            return Err(AskError::Ended);
        }
        // The handler is found, and asked when the answer is first polled.
        let answer = (self.start)(ctx, self.key)?;
        let questions = ctx.questions();
        let limits = ctx.question_limits();
        let _place = session
            .map(|session| SessionQuestion::take(session, questions, &limits))
            .transpose()?;
        wait(
            ctx,
            questions,
            self.timeout.unwrap_or(limits.timeout),
            answer,
        )
        .await
    }
}

impl<'a, T: Send + 'static> IntoFuture for Ask<'a, T> {
    type Output = Result<T, AskError>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

/// Waits for the answer, while the clock of the call is paused. Ends with the call and with the
/// time for the answer.
async fn wait<T>(
    ctx: &RunContext,
    questions: &Arc<CallQuestions>,
    limit: Duration,
    answer: impl Future<Output = Result<T, AskError>>,
) -> Result<T, AskError> {
    // `questions` exists before this check, so the end of the call is seen here, or it cancels
    // `questions.ended`.
    if ctx.call_context().answered.load(Ordering::SeqCst) {
        return Err(AskError::Ended);
    }
    let _waiting = questions.wait();
    let answer = timeout(limit, AssertUnwindSafe(answer).catch_unwind());
    let answer = questions
        .ended
        .run_until_cancelled(ctx.cancellation().run_until_cancelled(answer))
        .await;
    match answer.flatten() {
        None => Err(AskError::Ended),
        Some(Err(_)) => Err(AskError::TimedOut(limit)),
        Some(Ok(Err(_))) => Err(AskError::failed("the handler panicked")),
        Some(Ok(Ok(answer))) => answer,
    }
}

/// A question that counts among those of its session that wait, until it is dropped.
struct SessionQuestion(Arc<dyn SessionHandle>);

impl SessionQuestion {
    fn take(
        session: Arc<dyn SessionHandle>,
        questions: &CallQuestions,
        limits: &QuestionLimits,
    ) -> Result<Self, AskError> {
        let more = |waiting| (waiting < limits.session).then_some(waiting + 1);
        if session
            .waiting_questions()
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, more)
            .is_err()
        {
            return Err(AskError::TooMany(format!(
                "{} of this session wait for the user",
                limits.session
            )));
        }
        let place = Self(session);
        if !questions.count(limits.call) {
            return Err(AskError::TooMany(format!("a call may ask {}", limits.call)));
        }
        Ok(place)
    }
}

impl Drop for SessionQuestion {
    fn drop(&mut self) {
        self.0.waiting_questions().fetch_sub(1, Ordering::SeqCst);
    }
}
