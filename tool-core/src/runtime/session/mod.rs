//! A session: one conversation, and the calls that are made in it.

mod approve;
mod core;
mod door;
mod drain;
mod governor;
mod instructions;
mod open;
mod playout;
mod running;
mod slots;
mod step;
mod turn;
mod updates;

pub use open::Open;
pub use turn::Turn;
pub use updates::CallUpdate;

pub(crate) use self::core::Core;
pub(crate) use instructions::told;
pub(crate) use running::{Entry, Running};
pub(crate) use slots::Slot;

use super::metrics::{ContextMetrics, SessionMetrics};
use super::policy::Policy;
use super::session_id::SessionId;
use super::state::{AuditEntry, SessionState, StateChange};
use super::store::StoreError;
use crate::call::ToolCall;
use crate::context::ToolContext;
use crate::response::{Intent, ToolResponse};
use crate::tool::{Mode, ToolDefinition};
use std::sync::Arc;

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
        self.0.call(call).await
    }

    /// Makes the calls of one step, side by side: exactly one answer for each id, in the order of the calls.
    ///
    /// A call with an empty id is given one. A second call under an id that was used already is not run: the answer of
    /// the first says so. `sequential` tools wait for the calls before them and hold up those after.
    pub async fn call_all(&self, calls: impl IntoIterator<Item = ToolCall>) -> Vec<ToolResponse> {
        step::call_all(&self.0, calls.into_iter().collect()).await
    }

    /// Ends the turn and begins the next: budgets and loop counts begin anew, and an `END_VOICE_SESSION` of the turn is
    /// carried out.
    pub async fn next_turn(&self) -> Turn {
        turn::next(&self.0).await
    }

    /// Runs a call that waited for a person, who agreed to it. The model does not send it again.
    ///
    /// Mode, arguments and budgets are checked once more, and the call is charged to the current turn. `NOT_FOUND` where
    /// nothing waits under the token: it was used, it has expired, or it is for somebody else.
    pub async fn approve(&self, token: &str) -> ToolResponse {
        approve::approve(&self.0, token).await
    }

    /// Answers a call that waited for a person, who did not agree to it: DENIED.
    pub async fn deny(&self, token: &str) -> ToolResponse {
        approve::deny(&self.0, token).await
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
        instructions::of(&self.0)
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

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.0.id).field("mode", &self.0.mode).finish_non_exhaustive()
    }
}
