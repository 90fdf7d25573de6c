//! What stands behind a run context: the part that a whole session shares, and the part of one call.

use crate::call::error::ToolError;
use crate::call::extract::UserDataMap;
use crate::call::mode::Mode;
use crate::call::progress::Progress;
use crate::call::response::ToolResponse;
use crate::call::tool_call::ToolCall;
use serde_json::Value;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// What all calls of a session share.
#[derive(Default)]
pub(crate) struct Run {
    pub(crate) session: Option<Arc<str>>,
    pub(crate) mode: Mode,
    pub(crate) user_data: UserDataMap,
    /// What the host sets for the run; null where it does not.
    pub(crate) config: Arc<Value>,
    /// The session, where there is one.
    pub(crate) governor: Option<Weak<dyn Governor>>,
}

/// What belongs to one call. What few tools ask for is made when it is asked for.
#[derive(Default)]
pub(crate) struct Scope {
    pub(crate) call: Option<ToolCall>,
    pub(crate) turn: u64,
    /// How many tools stand above this one.
    pub(crate) depth: u32,
    pub(crate) deadline: Option<Instant>,
    pub(crate) state: OnceLock<Arc<Value>>,
    pub(crate) cancellation: OnceLock<CancellationToken>,
    pub(crate) progress: OnceLock<Progress>,
    pub(crate) idempotency_key: OnceLock<Option<Arc<str>>>,
    pub(crate) uninterruptible: AtomicBool,
    /// The calls that the tool itself has made.
    pub(crate) made: AtomicU32,
}

/// A future of which only the output is known.
pub(crate) type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a run context asks of its session.
pub(crate) trait Governor: Send + Sync {
    /// Makes a call under the session's limits, from inside another.
    fn call(self: Arc<Self>, call: ToolCall, depth: u32) -> Boxed<'static, ToolResponse>;

    /// The session's state, as tools read it.
    fn state(&self) -> Arc<Value>;

    /// The key of a call that runs in a turn.
    fn idempotency_key(&self, call: &ToolCall, turn: u64) -> Option<Arc<str>>;

    /// Done when the user has heard what was said.
    fn playout(self: Arc<Self>) -> Boxed<'static, ()>;

    /// Cancels a running call, where its tool allows the model to.
    fn cancel_for_model(&self, call_id: &str) -> Result<(), ToolError>;

    /// The running calls, as the model reads them.
    fn running_for_model(&self) -> Value;
}

impl Run {
    pub(crate) fn governor(&self) -> Option<Arc<dyn Governor>> {
        self.governor.as_ref()?.upgrade()
    }
}
