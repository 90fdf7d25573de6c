//! A session: one conversation, and the calls that are made in it.

use crate::call::context::RunContext;
use crate::call::error::ToolError;
use crate::call::intent::Intent;
use crate::call::mode::Mode;
use crate::call::response::ToolResponse;
use crate::call::scope::{Boxed, Governor, Scope};
use crate::call::tool_call::ToolCall;
use crate::registry::ToolContext;
use crate::registry::lifecycle::Kept;
use crate::session::concurrency::{Drain, Slots};
use crate::session::journal::Recovered;
use crate::session::metrics::context::ContextMetrics;
use crate::session::metrics::history::{Measured, SessionMetrics};
use crate::session::pipeline::How;
use crate::session::pipeline::record::Reuse;
use crate::session::policy::Policy;
use crate::session::running::Running;
use crate::session::runtime::{Shared, Toolbox};
use crate::session::state::{AuditEntry, SessionState, StateChange};
use crate::session::store::{Operation, SessionRecord, StoreError};
use crate::session::updates::{CallUpdate, Sink, Updates};
use crate::session::{approvals, pipeline, steps, updates};
use crate::tool::definition::ToolDefinition;
use serde_json::Value;
use std::fmt;
use std::fmt::Write as _;
use std::future::IntoFuture;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::{RwLock, watch};
use tokio::time::timeout;
use tracing::Instrument;

/// One conversation: its turns, its budgets, its state. Every call of it is answered, and none panics.
///
/// Cheap to clone; a clone is the same session.
#[derive(Clone)]
pub struct Session(pub(crate) Arc<Core>);

impl Session {
    /// Makes a call under the session's limits. Whatever happens, there is an answer.
    ///
    /// In this order: the tool is found, its mode checked, the arguments decoded and validated, the call held against
    /// the loop limits and the budgets, a person asked where the tool wants one, and only then it runs: under its
    /// deadline, guarded against panics, its result bounded.
    ///
    /// The id is what the answer goes by; two calls under one id are two calls. Only a journal knows a call by its id.
    pub async fn call(&self, call: ToolCall) -> ToolResponse {
        Core::call(&self.0, call).await
    }

    /// Makes the calls of one step, side by side: exactly one answer for each id, in the order of the calls.
    ///
    /// A call with an empty id is given one. A second call under an id that was used already is not run: the answer of
    /// the first says so. `sequential` tools wait for the calls before them and hold up those after.
    pub async fn call_all(&self, calls: impl IntoIterator<Item = ToolCall>) -> Vec<ToolResponse> {
        steps::call_all(&self.0, calls.into_iter().collect()).await
    }

    /// Ends the turn and begins the next: budgets and loop counts begin anew, and an `END_VOICE_SESSION` of the turn is
    /// carried out.
    pub async fn next_turn(&self) -> Turn {
        next(&self.0).await
    }

    /// Runs a call that waited for a person, who agreed to it. The model does not send it again.
    ///
    /// Mode, arguments and budgets are checked once more, and the call is charged to the current turn. `NOT_FOUND` where
    /// nothing waits under the token: it was used, it has expired, or it is for somebody else.
    pub async fn approve(&self, token: &str) -> ToolResponse {
        approvals::approve(&self.0, token).await
    }

    /// Answers a call that waited for a person, who did not agree to it: DENIED.
    pub async fn deny(&self, token: &str) -> ToolResponse {
        approvals::deny(&self.0, token).await
    }

    /// Cancels a running call, whatever its tool allows the model: it is answered CANCELLED. False where no call of
    /// that id runs here.
    pub fn cancel(&self, call_id: &str) -> bool {
        self.0.running.cancel(call_id)
    }

    /// Cancels all running calls that have not disallowed interruptions: the user has spoken. How many there were.
    pub fn interrupt(&self) -> usize {
        self.0.running.interrupt()
    }

    /// Ends the session: running calls are cancelled and answered, later ones are answered `SESSION_INACTIVE`.
    pub async fn end(&self) {
        self.0.end().await;
    }

    /// The session's id.
    pub fn id(&self) -> &SessionId {
        &self.0.id
    }

    /// How the conversation is held.
    pub fn mode(&self) -> Mode {
        self.0.mode
    }

    /// The number of the turn, counted from 0.
    pub fn turn(&self) -> u64 {
        self.0.record.turn()
    }

    /// The policy by which its calls are governed.
    pub fn policy(&self) -> &Policy {
        self.0.policy()
    }

    /// The tools that it began with, and keeps.
    pub fn tools(&self) -> &ToolContext {
        &self.0.toolbox.context
    }

    /// Of these, the ones that its model may see now, in their order: those of its mode, without what a `dynamic`
    /// toolset hides from it.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        let now = self.0.now();
        let shown = self.tools().definitions_for(&now);
        shown.filter(|tool| tool.modes().contains(self.mode())).cloned().collect()
    }

    /// What the session remembers, as it is known here: [`refresh`](Self::refresh) asks a shared store again.
    pub fn state(&self) -> Arc<SessionState> {
        self.0.record.state()
    }

    /// Changes the state for the host, such as when the transport has said the pending message.
    pub async fn change(&self, changes: &[StateChange]) -> Result<(), StoreError> {
        self.0.updates.message_set(changes);
        self.0.store(self.0.record.change(changes)).await
    }

    /// The intents that the runtime has seen to, and what came of each, oldest first.
    pub fn audit(&self) -> Vec<AuditEntry> {
        self.0.record.audit()
    }

    /// The intents that the runtime has seen to, oldest first.
    pub fn intents(&self) -> Vec<Intent> {
        self.audit().into_iter().map(|entry| entry.intent).collect()
    }

    /// Reads again what other processes have changed.
    pub async fn refresh(&self) -> Result<(), StoreError> {
        self.0.store(self.0.record.refresh()).await
    }

    /// The updates of calls that nobody was there to be shown, oldest first. They are then forgotten here.
    pub fn updates(&self) -> Vec<CallUpdate> {
        self.0.updates.take()
    }

    /// What the model is told of the tools of this mode: guides in full for text, their summaries for voice, unless the
    /// policy says otherwise.
    pub fn instructions(&self) -> String {
        of(&self.0)
    }

    /// All there is to read about a tool: its guide, or its description where it has none.
    pub fn guide(&self, tool: &str) -> Option<&str> {
        Some(self.tools().function_tool(tool)?.definition().documentation())
    }

    /// What this process has measured of the session: its calls, its turns, its context. R-M5
    pub fn metrics(&self) -> SessionMetrics {
        SessionMetrics::of(&self.0)
    }

    /// How full its model's context window is.
    pub fn context(&self) -> ContextMetrics {
        self.0.context()
    }

    /// The model had so many tokens before it, as its provider counted them: the log warns at 0.9 of the policy's window.
    /// [`reply`](Self::reply) tells it by itself. R-M4
    pub fn observe_context(&self, tokens: u64) {
        self.0.observe_context(tokens);
    }

    /// The transport has begun to say something: `ctx.wait_for_playout()` waits from here on.
    pub fn playout_started(&self) {
        self.0.playout.set(true);
    }

    /// The user has heard it.
    pub fn playout_finished(&self) {
        self.0.playout.set(false);
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.0.id).field("mode", &self.0.mode).finish_non_exhaustive()
    }
}

// ---- What stands behind the handles of one session.

// In this order, so that what every call reads stands in one place: of very many sessions most are in no cache.
#[repr(C, align(128))]
pub(crate) struct Core {
    pub(crate) drain: Drain,
    /// Of the calls that may run at once.
    pub(crate) slots: Slots,
    pub(crate) record: Arc<dyn SessionRecord>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) mode: Mode,
    /// Where the transport that came last takes updates.
    pub(crate) sink: OnceLock<Box<Mutex<Arc<Sink>>>>,
    pub(crate) running: Running,
    /// One that no other session has, even one of the same text.
    pub(crate) id: SessionId,
    pub(crate) principal: Box<str>,
    /// What every call's context is made of.
    pub(crate) base: RunContext,
    /// Held for reading by calls, for writing by those of `sequential` tools.
    pub(crate) barrier: RwLock<()>,
    pub(crate) measured: Measured,
    pub(crate) updates: Updates,
    pub(crate) playout: Playout,
    /// What earlier processes wrote down.
    pub(crate) recovered: Mutex<Vec<Recovered>>,
    /// The ids of calls that are written down and have not ended.
    pub(crate) journaled: Mutex<Vec<Arc<str>>>,
    pub(crate) reuse: Reuse,
    /// What its tools need for as long as they may be called.
    pub(crate) kept: Mutex<Option<Kept>>,
}

/// How long the end of a session waits for its calls, all of which it has cancelled.
const CLOSING: Duration = Duration::from_secs(5);

impl Core {
    #[inline]
    pub(crate) fn policy(&self) -> &Policy {
        self.shared.policy(self.mode)
    }

    /// Makes a call, through the host's layers where there are any.
    #[inline]
    pub(crate) async fn call(self: &Arc<Self>, call: ToolCall) -> ToolResponse {
        match &self.shared.stack {
            None => self.run(call).await,
            // The runtime's own tools must not wait for the calls that they are there to cancel.
            Some(_) if self.toolbox.is_own(call.name()) => Box::pin(self.run(call)).await,
            Some(stack) => Box::pin(stack.call(call.in_session(self.id.shared()))).await,
        }
    }

    /// Makes a call.
    #[inline]
    pub(crate) async fn run(self: &Arc<Self>, call: ToolCall) -> ToolResponse {
        match self.sink.get().filter(|_| call.heard().is_none()) {
            None => {
                let how = How::of(&call);
                pipeline::run(self, call, how).await
            }
            Some(sink) => {
                let sink = Arc::clone(&sink.lock().unwrap_or_else(PoisonError::into_inner));
                Box::pin(updates::call(self, &sink, call)).await
            }
        }
    }

    /// A transport shows the updates from here on.
    pub(crate) fn shown_by(&self, sink: Arc<Sink>) {
        let mine = self.sink.get_or_init(|| Box::new(Mutex::new(Arc::clone(&sink))));
        *mine.lock().unwrap_or_else(PoisonError::into_inner) = sink;
    }

    /// Waits for the store, but not for long.
    pub(crate) async fn store<T: Unpin>(
        &self,
        operation: Operation<'_, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        operation.within(self.policy().store_deadline).await
    }

    /// Ends the session, whoever stops waiting for it: a call that is cancelled by it, or a hook that is given up.
    pub(crate) async fn end(self: &Arc<Self>) {
        if self.drain.is_idle() {
            return self.finish().await;
        }
        let core = Arc::clone(self);
        let _ = tokio::spawn(async move { core.finish().await }.in_current_span()).await;
    }

    async fn finish(&self) {
        self.close().await;
        if let Err(error) = self.store(self.record.end()).await {
            tracing::error!(session = %self.id.as_str().escape_debug(), %error, "the session did not end in its store");
        }
        self.forget().await;
    }

    /// Lets the journal forget the session, which is over.
    pub(crate) async fn forget(&self) {
        let Some(journal) = &self.shared.journal else { return };
        let session = self.id.as_str();
        match timeout(self.policy().store_deadline, journal.forget(session).into_future()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::error!(session = %session.escape_debug(), %error, "the journal keeps an ended session");
            }
            Err(_) => tracing::error!(session = %session.escape_debug(), "the journal does not answer"),
        }
    }

    /// A context for predicates, which sees the session as it is now.
    pub(crate) fn now(&self) -> RunContext {
        let scope = Scope { turn: self.record.turn(), ..Scope::default() };
        self.base.with_fresh(Arc::new(scope))
    }

    /// Lets no more calls in, cancels those that run, and waits until they are answered.
    pub(crate) async fn close(&self) {
        self.drain.close();
        self.measured.ended();
        self.running.cancel_all();
        // A call that nothing ends, or that itself waits for this end, is not waited for.
        if !self.drain.is_idle() && timeout(CLOSING, self.drain.idle()).await.is_err() {
            tracing::error!(session = %self.id.as_str().escape_debug(), "a call goes on after its session's end");
        } else {
            // Nobody calls them any more, whoever still has a handle. What goes with it may ask for locks.
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
            drop(kept);
        }
        let mut live = self.shared.live();
        if live.get(self.id.as_str()).is_some_and(|known| std::ptr::eq(known.as_ptr(), self)) {
            live.remove(self.id.as_str());
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let mut live = self.shared.live();
        if live.get(self.id.as_str()).is_some_and(|known| known.strong_count() == 0) {
            live.remove(self.id.as_str());
        }
    }
}

// ---- What a tool's run context reaches of its session.

impl Governor for Core {
    fn call(self: Arc<Self>, call: ToolCall, depth: u32) -> Boxed<'static, ToolResponse> {
        Box::pin(async move { pipeline::run(&self, call, Some(Box::new(How { depth, ..How::default() }))).await })
    }

    fn state(&self) -> Arc<Value> {
        Arc::new(serde_json::to_value(&*self.record.state()).unwrap_or_default())
    }

    fn idempotency_key(&self, call: &ToolCall, turn: u64) -> Option<Arc<str>> {
        let (_, tool) = self.toolbox.find(call.name())?;
        let arguments = pipeline::canonical_of_sent(self, tool, call.arguments());
        Some(pipeline::idempotency_key(self.id.as_str(), turn, call.name(), &arguments).into())
    }

    fn playout(self: Arc<Self>) -> Boxed<'static, ()> {
        Box::pin(async move { self.playout.finished().await })
    }

    fn cancel_for_model(&self, call_id: &str) -> Result<(), ToolError> {
        self.running.cancel_for_model(call_id)
    }

    fn running_for_model(&self) -> Value {
        self.running.for_model()
    }
}

// ---- What the model is told of the tools, beside their declarations. R-F4

pub(crate) fn of(core: &Core) -> String {
    let full = core.policy().full_guides[core.mode as usize];
    let now = core.now();
    let tools = core.toolbox.context.definitions_for(&now);
    told(tools.filter(|tool| tool.modes().contains(core.mode)), full)
}

/// What is told of these tools.
pub(crate) fn told<'a>(tools: impl Iterator<Item = &'a ToolDefinition>, full: bool) -> String {
    let mut text = String::from("# Tools\n");
    for tool in tools {
        // Writing to a `String` does not fail.
        let _ = write!(text, "\n## {}\n\n{}\n", tool.name(), about(tool, full));
    }
    text
}

fn about(tool: &ToolDefinition, full: bool) -> String {
    if full { tool.documentation().trim().to_owned() } else { tool.summary().into_owned() }
}

// ---- Whether the user is hearing something.

/// Made when a transport first says something: a session in text has none.
#[derive(Default)]
pub(crate) struct Playout(OnceLock<watch::Sender<bool>>);

impl Playout {
    pub(crate) fn set(&self, playing: bool) {
        self.0.get_or_init(|| watch::Sender::new(false)).send_replace(playing);
    }

    /// Done when nothing plays.
    pub(crate) async fn finished(&self) {
        if let Some(playing) = self.0.get() {
            // The sender lives as long as the session.
            let _ = playing.subscribe().wait_for(|playing| !playing).await;
        }
    }
}

// ---- From one turn to the next.

/// A turn that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Turn {
    /// Its number, counted from 0.
    pub number: u64,
    /// What a tool of the turn before wanted said in this one.
    pub pending_message: Option<String>,
    /// Whether the session is over instead: it has ended, has expired, or a tool of the turn before ended it.
    pub ended: bool,
}

pub(crate) async fn next(core: &Arc<Core>) -> Turn {
    let before = core.record.state();
    let number = match core.store(core.record.next_turn()).await {
        Ok(Some(number)) => number,
        Ok(None) => {
            core.close().await;
            core.forget().await;
            // What the last turn left to be said is handed over once.
            let pending_message = before.pending_message.clone().filter(|_| !before.ended);
            return Turn { number: core.record.turn(), pending_message, ended: true };
        }
        Err(error) => {
            // The turn goes on with the counters that it has: nothing is admitted that was not before.
            tracing::error!(session = %core.id.as_str().escape_debug(), %error, "the turn did not end in its store");
            core.record.turn()
        }
    };
    Turn { number, pending_message: handed_over(core, before.pending_message.clone()).await, ended: false }
}

/// The message of the turn that ended, once. In voice the state still shows it during the turn that begins; at the end
/// of that one it goes.
async fn handed_over(core: &Core, message: Option<String>) -> Option<String> {
    let message = message?;
    if core.mode == Mode::Text || core.updates.hand_over(&message) {
        return Some(message);
    }
    let cleared = core.store(core.record.change(&[StateChange::PendingMessage(None)])).await;
    if let Err(error) = cleared {
        tracing::error!(session = %core.id.as_str().escape_debug(), %error, "a message stays that was handed over");
    }
    None
}

// ---- The id of a session.

/// The id of a session: whatever the host calls a conversation. Not a secret, and no proof of anything.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// An id of this text.
    pub fn new(id: impl AsRef<str>) -> Self {
        Self(id.as_ref().into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

impl<T: AsRef<str>> From<T> for SessionId {
    fn from(id: T) -> Self {
        Self::new(id)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
