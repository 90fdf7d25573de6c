//! The run context: what a call knows of its session, and how it speaks back.

use super::user_data::UserDataMap;
use super::{CancellationToken, Progress};
use crate::name::Name;
use crate::response::Intent;
use crate::tool::Mode;
use serde_json::Value;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;
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
    shared: Arc<Shared>,
    tool: Option<Name>,
    intents: OnceLock<Arc<Mutex<Vec<Intent>>>>,
}

struct Shared {
    session: Option<Arc<str>>,
    call_id: Option<Arc<str>>,
    idempotency_key: Option<Arc<str>>,
    mode: Mode,
    turn: u64,
    user_data: UserDataMap,
    state: Arc<Value>,
    cancellation: CancellationToken,
    deadline: Option<Instant>,
    progress: Progress,
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
        self.shared.call_id.as_deref()
    }

    /// The name of the tool that is running.
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// The session's id.
    pub fn session(&self) -> Option<&str> {
        self.shared.session.as_deref()
    }

    /// How the conversation is held.
    pub fn mode(&self) -> Mode {
        self.shared.mode
    }

    /// The number of the turn, counted from 0.
    pub fn turn(&self) -> u64 {
        self.shared.turn
    }

    /// The host's value of type `T`.
    pub fn user_data<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.shared.user_data.get()
    }

    /// The session's state, read-only: tools change it by intents. Null where there is none.
    pub fn state(&self) -> &Value {
        &self.shared.state
    }

    /// Cancelled when the call's answer is no longer wanted.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.shared.cancellation
    }

    /// When the call will be given up.
    pub fn deadline(&self) -> Option<Instant> {
        self.shared.deadline
    }

    /// Where to tell how the work goes.
    pub fn progress(&self) -> &Progress {
        &self.shared.progress
    }

    /// Tells how the work goes, in words.
    pub fn update(&self, message: impl Into<String>) {
        self.shared.progress.message(message);
    }

    /// Asks the runtime for something beside the result. The intents of a call stand in its response, in order.
    pub fn emit(&self, intent: Intent) {
        self.emitted().lock().unwrap_or_else(PoisonError::into_inner).push(intent);
    }

    /// A key that is the same for every attempt at the same call, for services that take one.
    ///
    /// A session sets it; `None` outside of one.
    pub fn idempotency_key(&self) -> Option<&str> {
        self.shared.idempotency_key.as_deref()
    }

    /// Runs `work` on the tokio runtime, inside the span of this call.
    pub fn spawn<F>(&self, work: F) -> tokio::task::JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        tokio::spawn(work.in_current_span())
    }

    /// The context of one call in this run: the same run, intents of its own.
    pub(crate) fn for_call(&self, tool: &Name) -> Self {
        Self { shared: Arc::clone(&self.shared), tool: Some(tool.clone()), intents: OnceLock::new() }
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
        self.shared.call_id.as_ref()
    }

    pub(crate) fn user_data_map(&self) -> &UserDataMap {
        &self.shared.user_data
    }

    pub(crate) fn shared_state(&self) -> Arc<Value> {
        Arc::clone(&self.shared.state)
    }

    /// Made only when somebody emits or clones, so that a call that does neither allocates nothing.
    fn emitted(&self) -> &Arc<Mutex<Vec<Intent>>> {
        self.intents.get_or_init(Arc::default)
    }
}

impl Clone for RunContext {
    fn clone(&self) -> Self {
        let intents = Arc::clone(self.emitted());
        Self { shared: Arc::clone(&self.shared), tool: self.tool.clone(), intents: OnceLock::from(intents) }
    }
}

impl std::fmt::Debug for RunContext {
    // User data and state may hold secrets, so neither is shown.
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

/// Makes a [`RunContext`].
#[derive(Default)]
#[must_use]
pub struct RunContextBuilder {
    session: Option<Arc<str>>,
    call_id: Option<Arc<str>>,
    idempotency_key: Option<Arc<str>>,
    mode: Mode,
    turn: u64,
    user_data: UserDataMap,
    state: Option<Value>,
    cancellation: Option<CancellationToken>,
    deadline: Option<Instant>,
    progress: Progress,
}

impl RunContextBuilder {
    /// The session's id.
    pub fn session(mut self, id: impl Into<Arc<str>>) -> Self {
        self.session = Some(id.into());
        self
    }

    /// The id that the model gave the call.
    pub fn call_id(mut self, id: impl Into<Arc<str>>) -> Self {
        self.call_id = Some(id.into());
        self
    }

    /// The key that every attempt at the same call shares.
    pub fn idempotency_key(mut self, key: impl Into<Arc<str>>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// How the conversation is held; text unless told.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The number of the turn, counted from 0.
    pub fn turn(mut self, turn: u64) -> Self {
        self.turn = turn;
        self
    }

    /// A value for tools to find by its type; a second one of a type replaces the first.
    pub fn user_data<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.user_data.insert(Arc::new(value));
        self
    }

    /// The same for a value that several contexts share, such as a pool.
    pub fn user_data_shared<T: Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.user_data.insert(value);
        self
    }

    /// The session's state.
    pub fn state(mut self, state: Value) -> Self {
        self.state = Some(state);
        self
    }

    /// Cancels the call.
    pub fn cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = Some(token);
        self
    }

    /// When the call will be given up.
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Where updates go.
    pub fn progress(mut self, progress: Progress) -> Self {
        self.progress = progress;
        self
    }

    /// The context.
    pub fn build(self) -> RunContext {
        let shared = Shared {
            session: self.session,
            call_id: self.call_id,
            idempotency_key: self.idempotency_key,
            mode: self.mode,
            turn: self.turn,
            user_data: self.user_data,
            state: Arc::new(self.state.unwrap_or(Value::Null)),
            cancellation: self.cancellation.unwrap_or_default(),
            deadline: self.deadline,
            progress: self.progress,
        };
        RunContext { shared: Arc::new(shared), tool: None, intents: OnceLock::new() }
    }
}
