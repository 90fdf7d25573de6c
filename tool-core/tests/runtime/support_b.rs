//! Slow tools on a paused clock, and calls in the background.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinHandle;
use tool_core::{Session, ToolCall, ToolResponse};

/// A log of events, in order. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn add(&self, what: impl Into<String>) {
        self.0.lock().expect("the log").push(what.into());
    }

    /// Returns all events, in order.
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().expect("the log").clone()
    }

    /// Logs a beginning, lets time pass, and logs the end.
    pub(crate) async fn work(&self, what: &str, millis: u64) {
        self.add(format!("{what} begins"));
        ms(millis).await;
        self.add(format!("{what} ends"));
    }
}

/// Lets time pass for all tasks.
pub(crate) async fn ms(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

/// Starts a call in the background, and lets it run until it waits.
pub(crate) async fn begin(
    session: &Session,
    id: &str,
    tool: &str,
    arguments: &str,
) -> JoinHandle<ToolResponse> {
    let (session, call) = (session.clone(), ToolCall::new(id, tool, arguments));
    let task = tokio::spawn(async move { session.call(call).await });
    ms(1).await;
    task
}

/// Returns the response of a call in the background.
pub(crate) async fn answer(task: JoinHandle<ToolResponse>) -> ToolResponse {
    task.await.expect("calls do not panic")
}
