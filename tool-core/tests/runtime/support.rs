//! What the tests share: sessions of given tools, calls with ids of their own, and a counter that tools advance.

use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tool_core::{ErrorKind, Mode, Policy, Runtime, Session, ToolCall, ToolContext, ToolResponse};

/// The tools, as a context: `tools![add, Search { .. }]`.
macro_rules! tools {
    ($($tool:expr),* $(,)?) => {
        tool_core::ToolContext::builder()$(.with($tool))*.build().expect("sound tools")
    };
}
pub(crate) use tools;

/// A runtime of these tools, under one policy in both modes.
pub(crate) fn runtime(tools: ToolContext, policy: Policy) -> Runtime {
    Runtime::builder(tools).policy(policy).build().expect("a runtime")
}

/// A text session of a runtime of its own.
pub(crate) async fn text(tools: ToolContext, policy: Policy) -> Session {
    open(&runtime(tools, policy), "s-1", Mode::Text).await
}

/// A voice session of a runtime of its own.
pub(crate) async fn voice(tools: ToolContext, policy: Policy) -> Session {
    open(&runtime(tools, policy), "s-1", Mode::Voice).await
}

pub(crate) async fn open(runtime: &Runtime, id: &str, mode: Mode) -> Session {
    runtime.session(id, mode).await.expect("a session")
}

/// Makes a call under an id of its own.
pub(crate) async fn call(session: &Session, tool: &str, arguments: Value) -> ToolResponse {
    session.call(asked(tool, arguments)).await
}

/// A call under an id of its own.
pub(crate) fn asked(tool: &str, arguments: Value) -> ToolCall {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    ToolCall::new(format!("call_{}", NEXT.fetch_add(1, Ordering::Relaxed)), tool, arguments)
}

/// The kind of error; `None` for a success.
pub(crate) fn kind(response: &ToolResponse) -> Option<ErrorKind> {
    response.error().map(|error| error.kind)
}

/// The error's message; empty for a success.
pub(crate) fn message(response: &ToolResponse) -> &str {
    response.error().map_or("", |error| error.message.as_str())
}

/// Counts what happens, such as the runs of a tool. A clone counts the same.
#[derive(Clone, Default)]
pub(crate) struct Counter(Arc<AtomicU32>);

impl Counter {
    /// Counts one more, and tells how many that makes.
    pub(crate) fn add(&self) -> u32 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Counts when it is dropped.
pub(crate) struct OnDrop(pub(crate) Counter);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.add();
    }
}
