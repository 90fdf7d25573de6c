//! Putting a run context together by hand.

use super::scope::{Run, Scope};
use super::{CancellationToken, Progress, RunContext};
use crate::call::ToolCall;
use crate::tool::Mode;
use serde_json::Value;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

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
