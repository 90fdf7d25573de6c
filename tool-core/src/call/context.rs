//! The run context: what a call knows of its session, and how it speaks back.

use crate::call::extract::UserDataMap;
use crate::call::intent::Intent;
use crate::call::mode::Mode;
use crate::call::progress::Progress;
use crate::call::refusal::outside_session;
use crate::call::response::ToolResponse;
use crate::call::scope::{Governor, Run, Scope};
use crate::call::tool_call::{Arguments, ToolCall};
use crate::text::Name;
use crate::trace;
use crate::trace::cost::Cost;
use crate::trace::open_span;
use crate::trace::record::SpanKind;
use crate::trace::usage::ModelUsage;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

/// What a tool sees of the run that it is part of: the call, the session, user data, state, cancellation.
///
/// Cheap to clone; a clone speaks for the same call. A tool takes it as a parameter of type `&RunContext` or
/// `RunContext`, wherever in the list that stands; the model never sees it.
///
/// ```
/// use tool_core::{Mode, RunContext};
///
/// let ctx = RunContext::builder().session("s-1").mode(Mode::Voice).user_data(42_u32).build();
/// assert_eq!(ctx.session(), Some("s-1"));
/// assert_eq!(ctx.user_data::<u32>(), Some(&42));
/// ```
pub struct RunContext {
    run: Arc<Run>,
    scope: Arc<Scope>,
    tool: Option<Name>,
    intents: OnceLock<Arc<Mutex<Vec<Intent>>>>,
}

impl RunContext {
    /// A context for calls outside any session: text mode, turn 0, no user data.
    pub fn detached() -> Self {
        Self::builder().build()
    }

    /// A context with what the host knows.
    pub fn builder() -> RunContextBuilder {
        RunContextBuilder::default()
    }

    /// The id that the model gave the call.
    pub fn call_id(&self) -> Option<&str> {
        self.scope.call.as_ref().map(ToolCall::id)
    }

    /// The name of the tool that is running.
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// The session's id.
    pub fn session(&self) -> Option<&str> {
        self.run.session.as_deref()
    }

    /// How the conversation is held.
    pub fn mode(&self) -> Mode {
        self.run.mode
    }

    /// The number of the turn, counted from 0.
    pub fn turn(&self) -> u64 {
        self.scope.turn
    }

    /// The host's value of type `T`.
    pub fn user_data<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.run.user_data.get()
    }

    /// What the host has set for the run: a language, a tenant, what else its tools go by. Null where it has set nothing.
    ///
    /// The settings of a toolset are another thing: they reach its methods through `self`
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
        &self.run.config
    }

    /// The session's state, read-only: tools change it by intents. Null where there is none.
    pub fn state(&self) -> &Value {
        self.scope.state.get_or_init(|| self.run.governor().map_or_else(Arc::default, |session| session.state()))
    }

    /// Cancelled when the call's answer is no longer wanted.
    pub fn cancellation(&self) -> &CancellationToken {
        self.scope.cancellation.get_or_init(CancellationToken::new)
    }

    /// When the call will be given up.
    pub fn deadline(&self) -> Option<Instant> {
        self.scope.deadline
    }

    /// Where to tell how the work goes.
    pub fn progress(&self) -> &Progress {
        self.scope.progress.get_or_init(Progress::default)
    }

    /// Tells how the work goes, in words.
    pub fn update(&self, message: impl Into<String>) {
        self.progress().message(message);
    }

    /// Asks the runtime for something beside the result. The intents of a call stand in its response, in order.
    pub fn emit(&self, intent: Intent) {
        self.emitted().lock().unwrap_or_else(PoisonError::into_inner).push(intent);
    }

    /// A key that is the same for every attempt at the same call, for services that take one.
    ///
    /// A session sets it; `None` outside of one.
    pub fn idempotency_key(&self) -> Option<&str> {
        let key = self.scope.idempotency_key.get_or_init(|| {
            let call = self.scope.call.as_ref()?;
            self.run.governor()?.idempotency_key(call, self.scope.turn)
        });
        key.as_deref()
    }

    /// The call as the model made it: its id, the tool's name, the arguments' text. `None` outside a session.
    pub fn function_call(&self) -> Option<&ToolCall> {
        self.scope.call.as_ref().filter(|call| !call.name().is_empty())
    }

    /// Calls another tool from inside this one, under the same session's limits: it spends the same budget, and is
    /// refused past the depth that the policy allows. Its id is this call's with a number behind it: `call_1.1`.
    /// `SESSION_INACTIVE` outside a session.
    pub async fn call(&self, name: impl Into<String>, arguments: impl Into<Arguments<'_>>) -> ToolResponse {
        let made = self.scope.made.fetch_add(1, Ordering::Relaxed) + 1;
        let call = ToolCall::new(format!("{}.{made}", self.call_id().unwrap_or_default()), name, arguments);
        match self.run.governor() {
            Some(session) => session.call(call, self.scope.depth + 1).await,
            None => outside_session(&call),
        }
    }

    /// From here on the call is not given up when the user interrupts, nor may the model cancel it.
    pub fn disallow_interruptions(&self) {
        self.scope.uninterruptible.store(true, Ordering::Relaxed);
    }

    /// Waits until the user has heard what is being said. Returns at once where nothing is, and outside a session.
    pub async fn wait_for_playout(&self) {
        if let Some(session) = self.run.governor() {
            session.playout().await;
        }
    }

    /// Runs `work` on the tokio runtime, inside the span of this call.
    pub fn spawn<F>(&self, work: F) -> tokio::task::JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        tokio::spawn(trace::in_current_span(work.in_current_span()))
    }

    /// Tells what a model used that the tool itself asked: it counts for the tool.
    pub fn record_model_use(&self, used: ModelUsage) {
        self.counted(|| trace::record(used));
    }

    /// Tells what something else has cost that the tool made use of: a search, a geocoder.
    pub fn record_cost(&self, what: impl Into<Cow<'static, str>>, cost: Cost) {
        self.counted(|| trace::record_cost(what, cost));
    }

    /// Counts what is spent for this tool, also where nobody looked when it was called and it has no span.
    fn counted(&self, spend: impl FnOnce()) {
        match self.tool.as_deref() {
            Some(tool) if !open_span::is_inside() => trace::in_scope(SpanKind::Tool, tool.to_owned(), spend),
            _ => spend(),
        }
    }

    /// The context of one call of a tool in this run: the same run, intents of its own.
    pub(crate) fn for_call(&self, tool: &Name) -> Self {
        let (run, scope) = (Arc::clone(&self.run), Arc::clone(&self.scope));
        Self { run, scope, tool: Some(tool.clone()), intents: OnceLock::new() }
    }

    /// The same run with another call's part.
    pub(crate) fn with_scope(&self, scope: &Arc<Scope>, tool: &Name) -> Self {
        let (run, scope) = (Arc::clone(&self.run), Arc::clone(scope));
        Self { run, scope, tool: Some(tool.clone()), intents: OnceLock::new() }
    }

    /// The same run, and nothing seen of it yet.
    pub(crate) fn with_fresh(&self, scope: Arc<Scope>) -> Self {
        Self { run: Arc::clone(&self.run), scope, tool: None, intents: OnceLock::new() }
    }

    pub(crate) fn governor(&self) -> Option<Arc<dyn Governor>> {
        self.run.governor()
    }

    pub(crate) fn of(run: Arc<Run>, scope: Arc<Scope>) -> Self {
        Self { run, scope, tool: None, intents: OnceLock::new() }
    }

    pub(crate) fn scope(&self) -> &Arc<Scope> {
        &self.scope
    }

    /// Whether there is anything to take: cheaper to ask than to take nothing.
    #[inline]
    pub(crate) fn may_have_intents(&self) -> bool {
        self.intents.get().is_some()
    }

    pub(crate) fn take_intents(&self) -> Vec<Intent> {
        self.intents.get().map_or_else(Vec::new, |intents| {
            std::mem::take(&mut *intents.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }

    pub(crate) fn call_id_shared(&self) -> Option<&Arc<str>> {
        self.scope.call.as_ref().map(ToolCall::shared_id)
    }

    pub(crate) fn user_data_map(&self) -> &UserDataMap {
        &self.run.user_data
    }

    pub(crate) fn shared_state(&self) -> Arc<Value> {
        _ = self.state();
        self.scope.state.get().map(Arc::clone).unwrap_or_default()
    }

    /// Made only when somebody emits or clones, so that a call that does neither allocates nothing.
    fn emitted(&self) -> &Arc<Mutex<Vec<Intent>>> {
        self.intents.get_or_init(Arc::default)
    }
}

impl Clone for RunContext {
    fn clone(&self) -> Self {
        let intents = Arc::clone(self.emitted());
        let (run, scope) = (Arc::clone(&self.run), Arc::clone(&self.scope));
        Self { run, scope, tool: self.tool.clone(), intents: OnceLock::from(intents) }
    }
}

impl std::fmt::Debug for RunContext {
    // User data, config and state may hold secrets, so none is shown.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunContext")
            .field("session", &self.session())
            .field("call_id", &self.call_id())
            .field("tool", &self.tool())
            .field("mode", &self.mode())
            .field("turn", &self.turn())
            .finish_non_exhaustive()
    }
}

// ---- Putting a run context together by hand.

/// Makes a [`RunContext`] for calls outside a session.
#[derive(Default)]
#[must_use]
pub struct RunContextBuilder {
    run: Run,
    scope: Scope,
    call_id: Option<Arc<str>>,
}

impl RunContextBuilder {
    /// The session's id.
    pub fn session(mut self, id: impl Into<Arc<str>>) -> Self {
        self.run.session = Some(id.into());
        self
    }

    /// The id that the model gave the call.
    pub fn call_id(mut self, id: impl Into<Arc<str>>) -> Self {
        self.call_id = Some(id.into());
        self
    }

    /// The key that every attempt at the same call shares.
    pub fn idempotency_key(mut self, key: impl Into<Arc<str>>) -> Self {
        self.scope.idempotency_key = OnceLock::from(Some(key.into()));
        self
    }

    /// How the conversation is held; text unless told.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.run.mode = mode;
        self
    }

    /// The number of the turn, counted from 0.
    pub fn turn(mut self, turn: u64) -> Self {
        self.scope.turn = turn;
        self
    }

    /// A value for tools to find by its type; a second one of a type replaces the first.
    pub fn user_data<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.run.user_data.insert(Arc::new(value));
        self
    }

    /// The same for a value that several contexts share, such as a pool.
    pub fn user_data_shared<T: Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.run.user_data.insert(value);
        self
    }

    /// What the host sets for the run.
    pub fn config(mut self, config: impl Into<Value>) -> Self {
        self.run.config = Arc::new(config.into());
        self
    }

    /// The session's state.
    pub fn state(mut self, state: Value) -> Self {
        self.scope.state = OnceLock::from(Arc::new(state));
        self
    }

    /// Cancels the call.
    pub fn cancellation(mut self, token: CancellationToken) -> Self {
        self.scope.cancellation = OnceLock::from(token);
        self
    }

    /// When the call will be given up.
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.scope.deadline = Some(deadline);
        self
    }

    /// Where updates go.
    pub fn progress(mut self, progress: Progress) -> Self {
        self.scope.progress = OnceLock::from(progress);
        self
    }

    /// The context.
    pub fn build(mut self) -> RunContext {
        self.scope.call = self.call_id.map(|id| ToolCall::new(id, "", ""));
        RunContext::of(Arc::new(self.run), Arc::new(self.scope))
    }
}
