//! Updates of a running call as `notifications/progress`.

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tool_core::ToolCall;
use tool_core::call::ProgressUpdate;

/// The updates that may wait to be sent; a tool that says more meanwhile is not held up, and the rest is left out.
const WAITING: usize = 256;

/// Sends what a call says, where the client wants to know.
pub(super) struct Teller {
    token: Option<ProgressToken>,
    peer: Peer<RoleServer>,
    updates: Receiver<ProgressUpdate>,
    last: f64,
}

impl Teller {
    /// Has the call speak to it.
    pub(super) fn of(call: ToolCall, token: Option<ProgressToken>, peer: Peer<RoleServer>) -> (ToolCall, Self) {
        let (said, updates): (Sender<ProgressUpdate>, _) = channel(WAITING);
        let call = match token {
            Some(_) => call.on_update(move |update| _ = said.try_send(update.clone())),
            None => call,
        };
        (call, Self { token, peer, updates, last: -1.0 })
    }

    /// Tells what is said next. Never returns where nobody wants to know.
    pub(super) async fn next(&mut self) {
        match self.updates.recv().await {
            Some(update) => self.tell(update).await,
            None => std::future::pending().await,
        }
    }

    /// Tells what was said and has not been told, before the result is.
    pub(super) async fn rest(&mut self) {
        while let Ok(update) = self.updates.try_recv() {
            self.tell(update).await;
        }
    }

    async fn tell(&mut self, update: ProgressUpdate) {
        let Some(token) = &self.token else { return };
        // In hundredths. The protocol wants each greater than the last, also where a tool does not count.
        let reached = update.fraction.map_or(f64::MIN, |fraction| fraction * 100.0);
        let step = if self.last < 0.0 { 1.0 } else { 0.01 };
        self.last = if reached > self.last { reached } else { self.last + step };
        let mut told = ProgressNotificationParam::new(token.clone(), self.last).with_message(update.message);
        if update.fraction.is_some() {
            told = told.with_total(100.0);
        }
        if let Err(error) = self.peer.notify_progress(told).await {
            tracing::debug!(%error, "an update could not be sent");
        }
    }
}
