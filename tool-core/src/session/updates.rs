//! Updates of tools that are still working: shown by the transport, or kept until the host asks for them.

use crate::call::context::SessionHandle;
use crate::call::newest_items::{NewestItems, QueueLimits};
use crate::call::{ProgressUpdate, ToolCall, ToolOutput, ToolResponse};
use crate::session::calls_in_progress::CallsInProgress;
use crate::time::CallInstant;
use crate::trace;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

/// A transport's function that shows an update.
pub(crate) type UpdateSink = dyn Fn(ToolResponse) + Send + Sync;

/// An update that no transport could show.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CallUpdate {
    /// The id of the call.
    pub call_id: String,
    /// The tool's name.
    pub tool: String,
    /// The update.
    pub update: ProgressUpdate,
}

/// The updates of a session that were not shown.
pub(crate) struct UpdateLog(Mutex<NewestItems<CallUpdate>>);

impl Default for UpdateLog {
    fn default() -> Self {
        let limits = QueueLimits { items: 100, bytes: 256 << 10 };
        Self(Mutex::new(NewestItems::new(limits, |kept| kept.call_id.len() + kept.update.message.len())))
    }
}

impl UpdateLog {
    /// Keeps updates of a call.
    pub(crate) fn push(&self, call_id: &str, tool: &str, updates: Vec<ProgressUpdate>) {
        let mut kept = self.0.lock();
        for update in updates {
            kept.push(CallUpdate { call_id: call_id.to_owned(), tool: tool.to_owned(), update });
        }
    }

    /// Removes and returns all updates, oldest first.
    pub(crate) fn take(&self) -> Vec<CallUpdate> {
        self.0.lock().take()
    }
}

/// Makes a call whose first update, or else its result, is its answer. After an update the tool continues in the
/// background, and its later updates and its result go to the sink.
///
/// The end of the session waits until the result is delivered.
pub(crate) async fn call_with_updates<S: SessionHandle + AsRef<CallsInProgress> + 'static>(
    session: Arc<S>,
    call: ToolCall,
    sink: Arc<UpdateSink>,
) -> ToolResponse {
    let (answer, answered) = oneshot::channel();
    let relay = Arc::new(UpdateRelay {
        call: call.clone(),
        began: CallInstant::now(),
        sent: Mutex::new(SentUpdates { answer: Some(answer), count: 0 }),
        sink,
    });
    let listener = Arc::clone(&relay);
    let unanswered = call.clone();
    let call = call.on_update(move |update| listener.update(update));
    let task = AbortOnDropHandle::new(tokio::spawn(trace::in_current_span(async move {
        let _delivery = (*session).as_ref().enter();
        relay.send(Arc::clone(&session).call(call).await, |_| "final".to_owned());
    })));
    let response = answered.await;
    // The call is answered, so the tool continues even when the caller drops this future.
    drop(task.detach());
    response.unwrap_or_else(|_| ToolResponse::outside_session(&unanswered))
}

/// Sends the first update or the result as the answer, and everything after it to the sink.
struct UpdateRelay {
    call: ToolCall,
    began: CallInstant,
    sent: Mutex<SentUpdates>,
    sink: Arc<UpdateSink>,
}

struct SentUpdates {
    /// Taken when the call is answered.
    answer: Option<oneshot::Sender<ToolResponse>>,
    /// The responses after the answer.
    count: usize,
}

impl UpdateRelay {
    fn update(&self, update: &ProgressUpdate) {
        let response = ToolResponse::of_call(&self.call, ToolOutput::new(&update.message), self.began);
        self.send(response, |number| format!("update_{number}"));
    }

    /// Sends a response. `suffix` turns its number after the answer into the end of its id.
    fn send(&self, mut response: ToolResponse, suffix: impl FnOnce(usize) -> String) {
        let mut sent = self.sent.lock();
        if let Some(answer) = sent.answer.take() {
            // The caller may be gone.
            let _ = answer.send(response);
            return;
        }
        sent.count += 1;
        let id = format!("{}_{}", self.call.id(), suffix(sent.count));
        drop(sent);
        response.meta.call_id = Some(id.into());
        (self.sink)(response);
    }
}
