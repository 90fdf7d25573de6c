//! Tools that take their time, on a clock that stands still until all wait, and calls that run beside the test.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinHandle;
use tool_core::{Session, ToolCall, ToolResponse};

/// What happened, in order. A clone writes into the same.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn add(&self, what: impl Into<String>) {
        self.0.lock().expect("the log").push(what.into());
    }

    /// All that happened, in order.
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().expect("the log").clone()
    }

    /// Writes that something has begun, lets time pass, and writes that it has ended.
    pub(crate) async fn work(&self, what: &str, millis: u64) {
        self.add(format!("{what} begins"));
        ms(millis).await;
        self.add(format!("{what} ends"));
    }
}

/// Lets time pass, and whatever can happen in it.
pub(crate) async fn ms(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

/// Makes a call that runs beside the test, and lets it come as far as it can at once.
pub(crate) async fn begin(session: &Session, id: &str, tool: &str, arguments: &str) -> JoinHandle<ToolResponse> {
    let (session, call) = (session.clone(), ToolCall::new(id, tool, arguments));
    let task = tokio::spawn(async move { session.call(call).await });
    ms(1).await;
    task
}

/// The answer of a call that runs beside the test.
pub(crate) async fn answer(task: JoinHandle<ToolResponse>) -> ToolResponse {
    task.await.expect("calls do not panic")
}
