//! The run context: the view that a running tool has of its call and its session, and the values
//! that it takes from it.

use crate::call::asker::{Asker, CallQuestions, QuestionLimits};
use crate::call::error::ToolError;
use crate::call::handlers::{Handlers, SharedHandlers, handler_setters};
use crate::call::intent::Intent;
use crate::call::meta::Confirmation;
use crate::call::mode::Mode;
use crate::call::progress::{Progress, Reporting};
use crate::call::response::ToolResponse;
use crate::call::state_key::StateKey;
use crate::call::tool_call::{Arguments, ThreadPlace, ToolCall};
use crate::json::nested::unless_too_deep;
use crate::text::Name;
use crate::time::{self, CallInstant};
use crate::trace;
use crate::trace::cost::Cost;
use crate::trace::instrumented::WithSpan;
use crate::trace::record::SpanKind;
use crate::trace::redaction::Redaction;
use crate::trace::span::{self, OpenSpan};
use crate::trace::usage::ModelUsage;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::any::{Any, TypeId, type_name};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

/// The view that a tool has of the run it is part of: the call, the session, user data, state and
/// cancellation.
///
/// A tool takes it as a parameter of type `&RunContext` or `RunContext`, at any position; the model
/// does not see that parameter. Cloning is cheap, and a clone belongs to the same call.
///
/// ```
/// use tool_core::{Mode, RunContext};
///
/// let ctx = RunContext::builder().session("s-1").mode(Mode::Voice).user_data(42_u32).build();
/// assert_eq!(ctx.session(), Some("s-1"));
/// assert_eq!(ctx.user_data::<u32>(), Some(&42));
/// ```
pub struct RunContext {
    session: Arc<SessionContext>,
    call: Arc<CallContext>,
    tool: Option<Name>,
    /// Allocated at the first intent or clone, so that a call with neither allocates nothing.
    intents: OnceLock<Arc<Mutex<Vec<Intent>>>>,
}

/// The part of a run context that all calls of a session share.
#[derive(Clone, Default)]
pub(crate) struct SessionContext {
    pub(crate) id: Option<Arc<str>>,
    pub(crate) mode: Mode,
    /// The host's values for its tools, one per type.
    pub(crate) user_data: FxHashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    /// The host's settings for the run, or null.
    pub(crate) config: Arc<Value>,
    /// The handlers of what tools ask of the host.
    pub(crate) handlers: SharedHandlers,
    /// The running session; `None` for calls outside a session.
    pub(crate) handle: Option<Weak<dyn SessionHandle>>,
}

/// The part of a run context that belongs to one call. Members that few tools use are created on
/// first access.
#[derive(Default)]
pub(crate) struct CallContext {
    pub(crate) call: Option<ToolCall>,
    pub(crate) turn: u64,
    pub(crate) deadline: Option<CallDeadline>,
    pub(crate) state: OnceLock<Arc<Value>>,
    pub(crate) cancellation: OnceLock<CancellationToken>,
    pub(crate) progress: OnceLock<Progress>,
    pub(crate) idempotency_key: OnceLock<Option<Arc<str>>>,
    pub(crate) uninterruptible: AtomicBool,
    /// The number of calls that the tool itself has made.
    pub(crate) nested_calls: AtomicU32,
    /// The span of a call under caps, for work that is in no span, for example a task that was
    /// spawned without one.
    pub(crate) span: OnceLock<Arc<OpenSpan>>,
    /// The pending approvals of these calls. The host gets them with the response; the tool must
    /// not, as it might repeat a token to the model.
    pub(crate) confirmations: OnceLock<Box<Mutex<Vec<Confirmation>>>>,
    /// Set once a `blocking` tool has one of the threads of its session.
    pub(crate) thread_place: OnceLock<ThreadPlace>,
    /// True once the call's response has been made.
    pub(crate) answered: AtomicBool,
    pub(crate) questions: OnceLock<Arc<CallQuestions>>,
}

/// The end of a call's time. That of a session's call is computed when it is read.
#[derive(Clone, Copy)]
pub(crate) enum CallDeadline {
    At(Instant),
    After(CallInstant, Duration),
}

/// The operations of a session that a run context needs. The session implements it, so this module
/// does not depend on it.
pub(crate) trait SessionHandle: Any + Send + Sync {
    /// Makes a call from inside another one, under the session's limits.
    fn call(self: Arc<Self>, call: ToolCall) -> BoxFuture<'static, ToolResponse>;

    /// Denies a call that waits for approval.
    fn deny(self: Arc<Self>, token: String) -> BoxFuture<'static, ToolResponse>;

    /// Returns the session's state as tools read it.
    fn state(&self) -> Arc<Value>;

    /// Returns the idempotency key of a call in a turn.
    fn idempotency_key(&self, call: &ToolCall, turn: u64) -> Option<Arc<str>>;

    /// Waits until the user has heard the current speech.
    fn playout(self: Arc<Self>) -> BoxFuture<'static, ()>;

    /// Returns the mode of the conversation.
    fn mode(&self) -> Mode;

    /// Returns the principal of the session.
    fn principal(&self) -> Arc<str>;

    /// Returns the rules by which texts are redacted before they are logged.
    fn redaction(&self) -> Redaction;

    /// Returns the limits on questions to the user.
    fn question_limits(&self) -> QuestionLimits;

    /// Returns the number of questions that wait for the user.
    fn waiting_questions(&self) -> &AtomicU32;

    /// Returns the values that tools keep for the session.
    fn memos(&self) -> &SessionMemos;
}

/// The values that tools keep for a session, one of each type.
pub(crate) type SessionMemos = Mutex<FxHashMap<TypeId, Arc<dyn Any + Send + Sync>>>;

/// # The call
impl RunContext {
    /// Returns the id that the model gave the call.
    pub fn call_id(&self) -> Option<&str> {
        self.call.call.as_ref().map(ToolCall::id)
    }

    /// Returns the call as the model made it: id, tool name and arguments. `None` outside a
    /// session.
    pub fn function_call(&self) -> Option<&ToolCall> {
        self.call
            .call
            .as_ref()
            .filter(|call| !call.name().is_empty())
    }

    /// Returns the name of the running tool.
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// Returns the session's id.
    pub fn session(&self) -> Option<&str> {
        self.session.id.as_deref()
    }

    /// Returns the conversation's mode.
    pub fn mode(&self) -> Mode {
        // A session can be handed over to the other mode.
        self.session_handle()
            .map_or(self.session.mode, |session| session.mode())
    }

    /// Returns the number of the turn, counted from 0.
    pub fn turn(&self) -> u64 {
        self.call.turn
    }

    /// Returns the principal of the session. The text is empty outside a session.
    pub(crate) fn principal(&self) -> Arc<str> {
        let session = self.session_handle();
        session.map_or_else(Arc::default, |session| session.principal())
    }

    /// Returns a key that is the same for every attempt at the same call. Send it to services that
    /// accept idempotency keys.
    ///
    /// The same call in another session has another key, even if that session is opened later under
    /// the same id. Outside a session there is no key.
    pub fn idempotency_key(&self) -> Option<&str> {
        let key = self.call.idempotency_key.get_or_init(|| {
            let call = self.call.call.as_ref()?;
            self.session_handle()?.idempotency_key(call, self.call.turn)
        });
        key.as_deref()
    }
}

/// # What the host gives
impl RunContext {
    /// Returns the host's value of type `T`.
    pub fn user_data<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.session
            .user_data
            .get(&TypeId::of::<T>())?
            .downcast_ref()
    }

    /// Returns the host's settings for the run, for example a language or a tenant. They are null
    /// if the host has set none.
    ///
    /// The settings of a toolset are separate: they reach its methods through `self`
    /// ([`Configure`](crate::Configure)).
    ///
    /// ```
    /// use tool_core::RunContext;
    /// use tool_core::serde_json::json;
    ///
    /// let ctx = RunContext::builder().config(json!({"language": "de"})).build();
    /// assert_eq!(ctx.config()["language"], "de");
    /// assert!(RunContext::detached().config().is_null());
    /// ```
    pub fn config(&self) -> &Value {
        &self.session.config
    }
}

/// # Time and cancellation
impl RunContext {
    /// Returns a token that is cancelled when the call's result is no longer wanted.
    pub fn cancellation(&self) -> &CancellationToken {
        self.call.cancellation.get_or_init(CancellationToken::new)
    }

    /// Returns the instant at which the call times out. The time for which it has waited for the
    /// user is added.
    pub fn deadline(&self) -> Option<Instant> {
        match self.call.deadline? {
            CallDeadline::At(instant) => Some(instant),
            CallDeadline::After(began, limit) => {
                let waited = self
                    .call
                    .questions
                    .get()
                    .map_or(Duration::ZERO, |questions| questions.waited());
                Some(time::after(began.to_instant(), limit.saturating_add(waited)).into_std())
            }
        }
    }

    /// Protects the call from now on: neither the user's interruption nor the model can cancel it.
    /// Call it before a step that must not be cut off.
    pub fn disallow_interruptions(&self) {
        self.call.uninterruptible.store(true, Ordering::Relaxed);
    }

    /// Waits until the user has heard the current speech. Returns at once if there is none, and
    /// outside a session.
    pub async fn wait_for_playout(&self) {
        if let Some(session) = self.session_handle() {
            session.playout().await;
        }
    }
}

/// # Progress, other tools and tasks
impl RunContext {
    /// Reports progress as a message. The host and the user's client see it while the call runs.
    pub fn update(&self, message: impl Into<String>) {
        self.progress().message(message);
    }

    /// Returns the call's progress, to which the tool reports updates.
    pub fn progress(&self) -> &Progress {
        self.call.progress.get_or_init(Progress::default)
    }

    /// Calls another tool from inside this one, under the same session's limits.
    ///
    /// The nested call spends the same budget and fails beyond the policy's depth. Its id is this
    /// call's id, a dot and a number: `call_1.1`. Outside a session the response is
    /// `SESSION_INACTIVE`.
    pub async fn call(
        &self,
        name: impl AsRef<str>,
        arguments: impl Into<Arguments<'_>>,
    ) -> ToolResponse {
        let number = self.call.nested_calls.fetch_add(1, Ordering::Relaxed) + 1;
        let call = ToolCall::new(
            format!("{}.{number}", self.call_id().unwrap_or_default()),
            name,
            arguments,
        );
        let caller = self.call.call.as_ref();
        let depth = caller.map_or(0, ToolCall::depth) + 1;
        let of_caller = caller.and_then(ToolCall::thread_place);
        let thread_place = self.call.thread_place.get().or(of_caller);
        match self.session_handle() {
            Some(session) => {
                let span = self.call.span.get().filter(|_| span::current().is_none());
                let call = call
                    .at_depth(depth)
                    .on_thread(thread_place.cloned())
                    .called_by(Arc::clone(self.questions()));
                let call = Arc::clone(&session).call(call);
                self.keep_confirmations(session, WithSpan::new(span.cloned(), call).await)
                    .await
            }
            None => ToolResponse::outside_session(&call),
        }
    }

    /// Moves the pending approvals of a nested call to this call. Denies them if this call was
    /// answered already, because the host would never see them.
    async fn keep_confirmations(
        &self,
        session: Arc<dyn SessionHandle>,
        mut response: ToolResponse,
    ) -> ToolResponse {
        if response.meta().confirmations().next().is_none() {
            return response;
        }
        let mut late = response.optional_meta().take_confirmations();
        let kept = self.call.confirmations.get_or_init(Box::default);
        {
            let mut kept = kept.lock();
            // Set before the response takes what is kept.
            if !self.call.answered.load(Ordering::SeqCst) {
                kept.append(&mut late);
            }
        }
        for confirmation in late {
            response = Arc::clone(&session).deny(confirmation.token).await;
        }
        response
    }

    /// Spawns `work` on the tokio runtime, inside the span of this call. Under a cap on cost, the
    /// task is aborted once the call has cost more than was left for it, even after its response.
    pub fn spawn<F>(&self, work: F) -> tokio::task::JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let span = span::current().or_else(|| self.call.span.get().cloned());
        let task = tokio::spawn(WithSpan::new(span.clone(), work.in_current_span()));
        for meter in span.iter().flat_map(|span| span.meters()) {
            meter.abort_when_over(task.abort_handle());
        }
        task
    }
}

/// # The state of the session
impl RunContext {
    /// Returns the session's state, or null outside a session. It is read-only: tools change it
    /// with intents, for example that of [`set_state`](Self::set_state).
    pub fn state(&self) -> &Value {
        self.call.state.get_or_init(|| {
            self.session_handle()
                .map_or_else(Arc::default, |session| session.state())
        })
    }

    /// Returns a value of the session's state: the one that this call has set, otherwise the one
    /// from before the call. `None` if there is none, and outside a session.
    ///
    /// # Errors
    ///
    /// The value is not a `T`, because another tool or the host has set it under the same name.
    pub fn get_state<T: DeserializeOwned>(&self, key: StateKey<T>) -> Result<Option<T>, ToolError> {
        let is_own = |intent: &&Intent| intent.name() == key.name();
        let intents = self.intents.get().map(|intents| intents.lock());
        if let Some(Intent::Custom { payload, .. }) =
            intents.iter().flat_map(|all| all.iter()).rfind(is_own)
        {
            return key.read(Some(payload));
        }
        drop(intents);
        key.read(
            self.state()
                .get("values")
                .and_then(|values| values.get(key.name())),
        )
    }

    /// Sets a value of the session's state.
    ///
    /// The tool emits an intent, as [`emit`](Self::emit) does, and the session sets the value when
    /// the call has succeeded. A call that fails sets nothing. Of two calls at the same time, the
    /// one that ends last wins, so a tool that changes a value which it has read is `sequential`.
    ///
    /// In text the state is emptied at the next turn, and in voice it lasts as long as the session.
    /// A store that processes share keeps it for all of them.
    ///
    /// ```
    /// use tool_core::call::StateKey;
    /// use tool_core::{Mode, RunContext, Runtime, ToolCall, ToolContext, ToolError, tool};
    ///
    /// const VISITS: StateKey<u32> = StateKey::new("hotel.visits");
    ///
    /// /// Count a visit.
    /// #[tool(sequential)]
    /// fn visit(ctx: &RunContext) -> Result<u32, ToolError> {
    ///     let visits = ctx.get_state(VISITS)?.unwrap_or_default() + 1;
    ///     ctx.set_state(VISITS, &visits)?;
    ///     Ok(visits)
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let runtime = Runtime::builder(ToolContext::builder().with(visit).build()?).build()?;
    /// let session = runtime.session("s-1", Mode::Voice).await?;
    /// session.call(ToolCall::new("c1", "visit", "{}")).await;
    /// session.call(ToolCall::new("c2", "visit", "{}")).await;
    /// assert_eq!(session.state().get(VISITS), Ok(Some(2)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The value does not serialise, or nests deeper than 100.
    pub fn set_state<T: Serialize>(&self, key: StateKey<T>, value: &T) -> Result<(), ToolError> {
        let intent = Intent::custom(key.name(), key.write(value)?).map_err(ToolError::internal)?;
        self.intents().lock().push(intent);
        Ok(())
    }

    /// Removes a value of the session's state when the call has succeeded.
    pub fn remove_state<T>(&self, key: StateKey<T>) {
        self.intents().lock().push(Intent::Custom {
            name: key.name().to_owned(),
            payload: Value::Null,
        });
    }

    // Not for tools, which keep their values in the session's state. The packages of the project
    // use it for what belongs to one process.
    #[doc(hidden)]
    pub fn session_memo<T: Any + Send + Sync + Default>(&self) -> Option<Arc<T>> {
        let session = self.session_handle()?;
        let memo = Arc::clone(
            session
                .memos()
                .lock()
                .entry(TypeId::of::<T>())
                .or_insert_with(|| Arc::new(T::default())),
        );
        // Each value has the type of its key.
        memo.downcast().ok()
    }

    /// Emits an intent: a request to the runtime beside the result. A call's intents are part of
    /// its response, in order.
    pub fn emit(&self, intent: Intent) {
        match intent.checked() {
            Ok(intent) => self.intents().lock().push(intent),
            Err(problem) => tracing::error!(%problem, "failed to emit an intent"),
        }
    }
}

/// # Cost
impl RunContext {
    /// Records the usage of a model that the tool called. It counts toward the tool.
    pub fn record_model_use(&self, used: ModelUsage) {
        self.in_tool_span(|| trace::record(used));
    }

    /// Records the cost of another service that the tool used, for example a search or a geocoder.
    pub fn record_cost(&self, what: impl Into<Cow<'static, str>>, cost: Cost) {
        self.in_tool_span(|| trace::record_cost(what, cost));
    }

    /// Records in a new span of this tool where the call itself has no span.
    fn in_tool_span(&self, record: impl FnOnce()) {
        match self.tool.as_deref() {
            Some(tool) if span::current().is_none() => {
                let _inside = self.call.span.get().map(span::enter);
                trace::in_scope(SpanKind::Tool, tool.to_owned(), record);
            }
            _ => record(),
        }
    }
}

/// # Contexts outside a session
impl RunContext {
    /// Creates a context for calls outside any session: text mode, turn 0, no user data.
    pub fn detached() -> Self {
        Self::builder().build()
    }

    /// Returns a builder for a context outside any session.
    pub fn builder() -> RunContextBuilder {
        RunContextBuilder::default()
    }
}

impl RunContext {
    pub(crate) fn from_parts(session: Arc<SessionContext>, call: Arc<CallContext>) -> Self {
        Self {
            session,
            call,
            tool: None,
            intents: OnceLock::new(),
        }
    }

    /// Returns the context of one call of `tool`: the same session, the given call, and its own
    /// intents.
    pub(crate) fn for_tool_in(&self, call: &Arc<CallContext>, tool: &Name) -> Self {
        let session = Arc::clone(&self.session);
        let call = Arc::clone(call);
        Self {
            session,
            call,
            tool: Some(tool.clone()),
            intents: OnceLock::new(),
        }
    }

    /// Returns a context of the same session for another call.
    pub(crate) fn with_new_call(&self, call: Arc<CallContext>) -> Self {
        Self::from_parts(Arc::clone(&self.session), call)
    }

    pub(crate) fn session_handle(&self) -> Option<Arc<dyn SessionHandle>> {
        self.session.handle.as_ref()?.upgrade()
    }

    /// Returns true if the call belongs to a session, which may have ended.
    pub(crate) fn belongs_to_session(&self) -> bool {
        self.session.handle.is_some()
    }

    pub(crate) fn host_handlers(&self) -> Option<&Handlers> {
        self.session.handlers.get()
    }

    pub(crate) fn asker(&self) -> Option<&Asker> {
        let own = self.call.call.as_ref().and_then(ToolCall::asker);
        own.or_else(|| Some(&self.call.questions.get()?.asker))
    }

    /// Returns the questions of this call to its host.
    pub(crate) fn questions(&self) -> &Arc<CallQuestions> {
        self.call
            .questions
            .get_or_init(|| CallQuestions::new(self.asker().cloned().unwrap_or_default()))
    }

    /// Returns the questions of this call, if it has asked any.
    pub(crate) fn asked_questions(&self) -> Option<&CallQuestions> {
        self.call.questions.get().map(|questions| &**questions)
    }

    /// Returns the handlers, to change them in this context only.
    #[cfg(feature = "testing")]
    pub(crate) fn own_handlers(&mut self) -> &mut SharedHandlers {
        &mut Arc::make_mut(&mut self.session).handlers
    }

    pub(crate) fn call_context(&self) -> &Arc<CallContext> {
        &self.call
    }

    /// Returns true if an intent may have been emitted. Cheaper than [`take_intents`](Self::take_intents).
    #[inline]
    pub(crate) fn may_have_intents(&self) -> bool {
        self.intents.get().is_some()
    }

    pub(crate) fn take_intents(&self) -> Vec<Intent> {
        self.intents
            .get()
            .map_or_else(Vec::new, |intents| std::mem::take(&mut *intents.lock()))
    }

    pub(crate) fn call_id_shared(&self) -> Option<&Arc<str>> {
        self.call.call.as_ref().map(ToolCall::shared_id)
    }

    fn intents(&self) -> &Arc<Mutex<Vec<Intent>>> {
        self.intents.get_or_init(Arc::default)
    }
}

impl Reporting for RunContext {
    fn progress(&self) -> &Progress {
        self.progress()
    }
}

impl Clone for RunContext {
    fn clone(&self) -> Self {
        let intents = Arc::clone(self.intents());
        let session = Arc::clone(&self.session);
        let call = Arc::clone(&self.call);
        Self {
            session,
            call,
            tool: self.tool.clone(),
            intents: OnceLock::from(intents),
        }
    }
}

impl fmt::Debug for RunContext {
    // User data, config and state may hold secrets, so they are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunContext")
            .field("session", &self.session())
            .field("call_id", &self.call_id())
            .field("tool", &self.tool())
            .field("mode", &self.mode())
            .field("turn", &self.turn())
            .finish_non_exhaustive()
    }
}

/// Builds a [`RunContext`] for calls outside a session.
///
/// ```
/// use std::time::{Duration, Instant};
/// use tool_core::{Mode, RunContext};
///
/// let ctx = RunContext::builder()
///     .session("s-1")
///     .call_id("call_1")
///     .mode(Mode::Voice)
///     .turn(2)
///     .user_data(String::from("Ada"))
///     .deadline(Instant::now() + Duration::from_secs(5))
///     .build();
/// assert_eq!((ctx.call_id(), ctx.turn()), (Some("call_1"), 2));
/// assert_eq!(ctx.user_data::<String>().map(String::as_str), Some("Ada"));
/// ```
#[derive(Default)]
#[must_use]
pub struct RunContextBuilder {
    session: SessionContext,
    call: CallContext,
}

impl RunContextBuilder {
    /// Sets the session's id.
    pub fn session(mut self, id: impl Into<Arc<str>>) -> Self {
        self.session.id = Some(id.into());
        self
    }

    /// Sets the id that the model gave the call.
    pub fn call_id(mut self, id: impl AsRef<str>) -> Self {
        self.call.call = Some(ToolCall::new(id, "", ""));
        self
    }

    /// Sets the key that every attempt at the same call shares.
    pub fn idempotency_key(mut self, key: impl Into<Arc<str>>) -> Self {
        self.call.idempotency_key = OnceLock::from(Some(key.into()));
        self
    }

    /// Sets the conversation's mode. Defaults to text.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.session.mode = mode;
        self
    }

    /// Sets the number of the turn, counted from 0. Defaults to 0.
    pub fn turn(mut self, turn: u64) -> Self {
        self.call.turn = turn;
        self
    }

    /// Adds a value that tools look up by its type. A second value of a type replaces the first.
    pub fn user_data<T: Send + Sync + 'static>(self, value: T) -> Self {
        self.user_data_shared(Arc::new(value))
    }

    /// Adds a value that several contexts share, for example a connection pool.
    pub fn user_data_shared<T: Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.session.user_data.insert(TypeId::of::<T>(), value);
        self
    }

    /// Sets the host's settings for the run. Defaults to null, which replaces settings that nest
    /// deeper than 128.
    pub fn config(mut self, config: impl Into<Value>) -> Self {
        self.session.config = Arc::new(flat_or_null(config.into()));
        self
    }

    /// Sets the session's state. Defaults to null, which replaces a state that nests deeper than
    /// 128.
    pub fn state(mut self, state: Value) -> Self {
        self.call.state = OnceLock::from(Arc::new(flat_or_null(state)));
        self
    }

    /// Sets the token that cancels the call.
    pub fn cancellation(mut self, token: CancellationToken) -> Self {
        self.call.cancellation = OnceLock::from(token);
        self
    }

    /// Sets the instant at which the call times out.
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.call.deadline = Some(CallDeadline::At(deadline));
        self
    }

    handler_setters!(|builder| builder.session.handlers);

    /// Sets the receiver of progress updates.
    pub fn progress(mut self, progress: Progress) -> Self {
        self.call.progress = OnceLock::from(progress);
        self
    }

    /// Builds the context.
    pub fn build(self) -> RunContext {
        RunContext::from_parts(Arc::new(self.session), Arc::new(self.call))
    }
}

/// A type that a tool takes from the run context instead of from the model.
///
/// The parameter is marked `#[context]`; `&RunContext` and `RunContext` need no mark.
///
/// ```
/// use tool_core::{FromRunContext, RunContext, ToolError, tool};
///
/// struct Caller(String);
///
/// impl FromRunContext<'_> for Caller {
///     fn from_run_context(ctx: &RunContext) -> Result<Self, ToolError> {
///         ctx.user_data::<String>().cloned().map(Caller).ok_or_else(|| ToolError::auth("the user is not signed in"))
///     }
/// }
///
/// /// Greet the user.
/// #[tool]
/// fn greet(#[context] caller: Caller) -> String {
///     format!("Hello {}", caller.0)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be taken from the run context",
    note = "a `#[context]` parameter implements `FromRunContext`: `&RunContext`, `CancellationToken`, `Progress`, `UserData<T>`, or your own type"
)]
pub trait FromRunContext<'a>: Sized {
    /// Takes the value, or returns the error with which the call fails.
    fn from_run_context(ctx: &'a RunContext) -> Result<Self, ToolError>;
}

impl<'a> FromRunContext<'a> for &'a RunContext {
    fn from_run_context(ctx: &'a RunContext) -> Result<Self, ToolError> {
        Ok(ctx)
    }
}

impl FromRunContext<'_> for RunContext {
    fn from_run_context(ctx: &RunContext) -> Result<Self, ToolError> {
        Ok(ctx.clone())
    }
}

impl FromRunContext<'_> for CancellationToken {
    fn from_run_context(ctx: &RunContext) -> Result<Self, ToolError> {
        Ok(ctx.cancellation().clone())
    }
}

impl FromRunContext<'_> for Progress {
    fn from_run_context(ctx: &RunContext) -> Result<Self, ToolError> {
        Ok(ctx.progress().clone())
    }
}

impl<'a, T: FromRunContext<'a>> FromRunContext<'a> for Option<T> {
    fn from_run_context(ctx: &'a RunContext) -> Result<Self, ToolError> {
        Ok(T::from_run_context(ctx).ok())
    }
}

/// A value that the host put into the run context with [`user_data`](RunContextBuilder::user_data). It derefs to
/// the value. A session gets it with [`SessionBuilder::user_data`](crate::session::SessionBuilder::user_data).
///
/// ```
/// use tool_core::{RunContext, ToolContext, UserData, tool};
///
/// struct Db {
///     guests: Vec<String>,
/// }
///
/// /// List the guests.
/// #[tool]
/// fn guests(#[context] UserData(db): UserData<Db>) -> Vec<String> {
///     db.guests.clone() // `db` is an `Arc<Db>`
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// let tools = ToolContext::builder().with(guests).build()?;
/// let ctx = RunContext::builder().user_data(Db { guests: vec!["Ada".into()] }).build();
/// assert_eq!(tools.call("guests", "{}", &ctx).await.data_json(), Some(r#"["Ada"]"#));
/// # Ok(())
/// # }
/// ```
///
/// The call fails with INTERNAL if the host has set none, and the reason is logged. Take an
/// `Option<UserData<T>>` to handle that case in the tool, or implement [`FromRunContext`] for your
/// own type to fail with AUTH.
///
/// ```
/// use tool_core::{Mode, Runtime, ToolCall, ToolContext, UserData, tool};
///
/// struct User {
///     name: String,
/// }
///
/// /// Greet the user.
/// #[tool]
/// fn greet(#[context] user: UserData<User>) -> String {
///     format!("Hello {}", user.name)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().with(greet).build()?).build()?;
/// let session = runtime.session("s-1", Mode::Text).user_data(User { name: "Ada".into() }).await?;
/// let response = session.call(ToolCall::new("call_1", "greet", "{}")).await;
/// assert_eq!(response.data_json(), Some(r#""Hello Ada""#));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct UserData<T>(pub Arc<T>);

impl<T> Clone for UserData<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for UserData<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// User data of a host that a person runs: what to do if a tool misses other user data. The person
/// reads it in the error of the call, and without it the error is for the log.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct MissingUserData(pub String);

impl<T: Send + Sync + 'static> FromRunContext<'_> for UserData<T> {
    fn from_run_context(ctx: &RunContext) -> Result<Self, ToolError> {
        let value = ctx.session.user_data.get(&TypeId::of::<T>()).cloned();
        value.and_then(|value| value.downcast().ok()).map(Self).ok_or_else(|| {
            let name = type_name::<T>();
            if let Some(MissingUserData(hint)) = ctx.user_data() {
                return ToolError::permanent(format!("the tool needs user data of type `{name}`; {hint}"));
            }
            ToolError::internal(format!(
                "no user data of type `{name}` in the run context; add it with `RunContext::builder().user_data(..)`"
            ))
        })
    }
}

fn flat_or_null(value: Value) -> Value {
    unless_too_deep(value).unwrap_or_else(|| {
        tracing::error!(
            "settings or a state of a run context nest deeper than 128; they are left out"
        );
        Value::Null
    })
}
