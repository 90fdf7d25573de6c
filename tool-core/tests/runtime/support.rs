//! Helpers of the tests: sessions with given tools, calls with unique ids, and a counter for tools.

use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tool_core::{ErrorKind, Mode, Policy, Runtime, Session, ToolCall, ToolContext, ToolResponse};

/// Builds a context: `tools![add, Search { .. }]`.
macro_rules! tools {
    ($($tool:expr),* $(,)?) => {
        tool_core::ToolContext::builder()$(.with($tool))*.build().expect("sound tools")
    };
}
pub(crate) use tools;

/// Builds a runtime with these tools and one policy for both modes.
pub(crate) fn runtime(tools: ToolContext, policy: Policy) -> Runtime {
    Runtime::builder(tools)
        .policy(policy)
        .build()
        .expect("a runtime")
}

/// Opens a text session of a new runtime.
pub(crate) async fn text(tools: ToolContext, policy: Policy) -> Session {
    open(&runtime(tools, policy), "s-1", Mode::Text).await
}

/// Opens a voice session of a new runtime.
pub(crate) async fn voice(tools: ToolContext, policy: Policy) -> Session {
    open(&runtime(tools, policy), "s-1", Mode::Voice).await
}

pub(crate) async fn open(runtime: &Runtime, id: &str, mode: Mode) -> Session {
    runtime.session(id, mode).await.expect("a session")
}

/// Opens a session that is open already anew, with the current tools.
pub(crate) async fn renew(runtime: &Runtime, id: &str, mode: Mode) -> Session {
    let renewed = runtime.session(id, mode).renewed();
    renewed.await.expect("the same session")
}

/// Makes a call under a unique id.
pub(crate) async fn call(session: &Session, tool: &str, arguments: Value) -> ToolResponse {
    session.call(asked(tool, arguments)).await
}

/// Returns a call with a unique id.
pub(crate) fn asked(tool: &str, arguments: Value) -> ToolCall {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    ToolCall::new(
        format!("call_{}", NEXT.fetch_add(1, Ordering::Relaxed)),
        tool,
        arguments,
    )
}

/// Returns the kind of the error, or `None` for a success.
pub(crate) fn kind(response: &ToolResponse) -> Option<ErrorKind> {
    response.error().map(|error| error.kind)
}

/// Returns the message of the error, or an empty text for a success.
pub(crate) fn message(response: &ToolResponse) -> &str {
    response.error().map_or("", |error| error.message.as_str())
}

/// A counter, for example of the runs of a tool. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Counter(Arc<AtomicU32>);

impl Counter {
    /// Adds one, and returns the count.
    pub(crate) fn add(&self) -> u32 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn reset(&self) {
        self.0.store(0, Ordering::SeqCst);
    }
}

/// Adds one to a counter when it is dropped.
pub(crate) struct OnDrop(pub(crate) Counter);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.add();
    }
}
