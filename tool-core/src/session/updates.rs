//! Word from tools that still work: shown by the transport, or kept. L24

use crate::call::output::ToolOutput;
use crate::call::progress::{Progress, ProgressUpdate};
use crate::call::refusal;
use crate::call::response::ToolResponse;
use crate::call::tool_call::ToolCall;
use crate::session::pipeline;
use crate::session::pipeline::How;
use crate::session::session::Core;
use crate::session::state::StateChange;
use crate::trace;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Where a transport takes updates.
pub(crate) type Sink = dyn Fn(ToolResponse) + Send + Sync;

/// An update that no transport was there to show.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CallUpdate {
    /// The id of the call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// What it said.
    pub update: ProgressUpdate,
}

/// The updates that are kept.
const KEPT: usize = 100;

/// What the session has been told and nobody has heard.
#[derive(Default)]
pub(crate) struct Updates(Mutex<Option<Box<Kept>>>);

#[derive(Default)]
struct Kept {
    updates: VecDeque<CallUpdate>,
    /// The pending message that was handed over last.
    handed: Option<String>,
}

impl Updates {
    fn lock(&self) -> MutexGuard<'_, Option<Box<Kept>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn keep(&self, call_id: &str, tool: &str, updates: Vec<ProgressUpdate>) {
        let mut kept = self.lock();
        let kept = kept.get_or_insert_default();
        for update in updates {
            if kept.updates.len() == KEPT {
                kept.updates.pop_front();
            }
            kept.updates.push_back(CallUpdate { call_id: call_id.to_owned(), tool: tool.to_owned(), update });
        }
    }

    pub(crate) fn take(&self) -> Vec<CallUpdate> {
        self.lock().as_mut().map_or_else(Vec::new, |kept| std::mem::take(&mut kept.updates).into())
    }

    /// A message was set: it is to be handed over, even if it says what the last one said.
    pub(crate) fn message_set(&self, changes: &[StateChange]) {
        if changes.iter().any(|change| matches!(change, StateChange::PendingMessage(_)))
            && let Some(kept) = self.lock().as_mut()
        {
            kept.handed = None;
        }
    }

    /// Whether this message is handed over for the first time.
    pub(crate) fn hand_over(&self, message: &str) -> bool {
        let mut kept = self.lock();
        let handed = &mut kept.get_or_insert_default().handed;
        if handed.as_deref() == Some(message) {
            *handed = None;
            return false;
        }
        *handed = Some(message.to_owned());
        true
    }
}

/// Makes a call whose first update, or else its result, is its answer; the tool goes on by itself after an update.
pub(crate) async fn call(core: &Arc<Core>, sink: &Arc<Sink>, call: ToolCall) -> ToolResponse {
    let speaks = core.toolbox.find(call.name()).is_some_and(|(_, tool)| tool.definition().body.uses_context);
    if !speaks {
        let how = How::of(&call);
        return pipeline::run(core, call, how).await;
    }
    let (answer, answered) = oneshot::channel();
    let teller = Arc::new(Teller {
        call: call.clone(),
        began: Instant::now(),
        said: Mutex::new(Said { answer: Some(answer), count: 0 }),
        sink: Arc::clone(sink),
    });
    let told = Arc::clone(&teller);
    let progress = Progress::listened(move |update| told.update(update));
    let (core, kept) = (Arc::clone(core), call.clone());
    let mut task = Aborted(Some(tokio::spawn(trace::in_current_span(async move {
        // Until the last word is said, the session has not ended.
        let inside = core.drain.enter();
        let how = How { progress: Some(progress), approval: call.approval().cloned(), ..How::default() };
        let response = pipeline::run(&core, call, Some(Box::new(how))).await;
        teller.finish(response);
        drop(inside);
    }))));
    let response = answered.await;
    // From here on the tool is on its own: dropping the answer does not end it.
    task.0 = None;
    response.unwrap_or_else(|_| refusal::outside_session(&kept))
}

/// A task that ends with whoever waits for it.
struct Aborted(Option<tokio::task::JoinHandle<()>>);

impl Drop for Aborted {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

struct Teller {
    call: ToolCall,
    began: Instant,
    said: Mutex<Said>,
    sink: Arc<Sink>,
}

struct Said {
    answer: Option<oneshot::Sender<ToolResponse>>,
    count: usize,
}

impl Teller {
    fn lock(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, update: &ProgressUpdate) {
        let mut said = self.lock();
        let output = ToolOutput::new(&update.message);
        if let Some(answer) = said.answer.take() {
            let _ = answer.send(ToolResponse::of_call(&self.call, output, self.began));
            return;
        }
        said.count += 1;
        let call = self.call.clone().with_id(format!("{}_update_{}", self.call.id(), said.count));
        drop(said);
        (self.sink)(ToolResponse::of_call(&call, output, self.began));
    }

    fn finish(&self, mut response: ToolResponse) {
        if let Some(answer) = self.lock().answer.take() {
            let _ = answer.send(response);
            return;
        }
        response.slim.call_id = Some(format!("{}_final", self.call.id()).into());
        (self.sink)(response);
    }
}
