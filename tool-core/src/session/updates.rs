//! Updates of tools that are still working. A listener hears them, the host takes those that
//! nothing has heard, and with background answers the model reads them.

use crate::call::newest_items::{NewestItems, QueueLimits};
use crate::call::progress::call_listener;
use crate::call::{OutputKind, Progress, ProgressUpdate, ToolCall, ToolOutput, ToolResponse};
use crate::session::notes::{ended_note, update_note};
use crate::time::CallInstant;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::sync::Notify;

/// A host's function that hears updates.
pub(crate) type UpdateListener = dyn Fn(ToolResponse) + Send + Sync;

/// An update that no listener has heard. [`Session::updates`](crate::Session::updates) returns
/// them.
///
/// ```
/// use tool_core::{Mode, RunContext, Runtime, ToolCall, ToolContext, tool};
///
/// /// Copy the files.
/// #[tool]
/// fn copy(ctx: &RunContext) {
///     ctx.update("half of the files");
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().with(copy).build()?).build()?;
/// let session = runtime.session("s-1", Mode::Text).await?;
/// session.call(ToolCall::new("call_1", "copy", "{}")).await;
///
/// let updates = session.updates();
/// assert_eq!((&*updates[0].tool, &*updates[0].update.message), ("copy", "half of the files"));
/// # Ok(())
/// # }
/// ```
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

/// The updates of a session that no listener has heard.
pub(crate) struct UpdateLog(Mutex<NewestItems<CallUpdate>>);

impl Default for UpdateLog {
    fn default() -> Self {
        let limits = QueueLimits {
            items: 100,
            bytes: 256 << 10,
        };
        Self(Mutex::new(NewestItems::new(limits, |kept| {
            kept.call_id.len() + kept.update.message.len()
        })))
    }
}

impl UpdateLog {
    /// Keeps updates of a call.
    pub(crate) fn push(&self, call_id: &str, tool: &str, updates: Vec<ProgressUpdate>) {
        let mut kept = self.0.lock();
        for update in updates {
            kept.push(CallUpdate {
                call_id: call_id.to_owned(),
                tool: tool.to_owned(),
                update,
            });
        }
    }

    /// Removes and returns all updates, oldest first.
    pub(crate) fn take(&self) -> Vec<CallUpdate> {
        self.0.lock().take()
    }
}

/// The host's wishes about the updates of a session. Most sessions have none.
#[derive(Default)]
pub(crate) struct UpdateOptions {
    listener: Mutex<Option<Arc<UpdateListener>>>,
    background: OnceLock<Arc<BackgroundAnswers>>,
}

impl UpdateOptions {
    pub(crate) fn set_listener(&self, listener: Arc<UpdateListener>) {
        *self.listener.lock() = Some(listener);
    }

    pub(crate) fn answer_in_background(&self) {
        self.background.get_or_init(Arc::default);
    }

    /// Returns the answers of calls that go on in the background, if the session answers calls in
    /// this way.
    pub(crate) fn background(&self) -> Option<&Arc<BackgroundAnswers>> {
        self.background.get()
    }

    /// Returns the progress of a call whose updates the session's listener hears, beside the call's
    /// own.
    pub(crate) fn progress_of(&self, call: &ToolCall, began: CallInstant) -> Option<Progress> {
        let listener = self.listener.lock().clone()?;
        let own = call.progress().cloned();
        let count = AtomicUsize::new(0);
        let call = call.clone();
        Some(Progress::listened(move |update| {
            if let Some(own) = &own {
                own.show(update);
            }
            let number = count.fetch_add(1, Ordering::Relaxed) + 1;
            let response = response_of(&call, update, began, &format!("update_{number}"));
            call_listener("updates", || listener(response));
        }))
    }
}

/// Returns an update as a response of its call, under the call's id and a suffix.
pub(crate) fn response_of(
    call: &ToolCall,
    update: &ProgressUpdate,
    began: CallInstant,
    suffix: &str,
) -> ToolResponse {
    let response = ToolResponse::of_call(call, ToolOutput::new(&update.message), began);
    with_suffix(response, call, suffix)
}

pub(crate) fn with_suffix(
    mut response: ToolResponse,
    call: &ToolCall,
    suffix: &str,
) -> ToolResponse {
    response.meta.call_id = Some(format!("{}_{suffix}", call.id()).into());
    response
}

/// A further answer of a call that was answered by its first update and went on in the background.
///
/// [`Session::reply`](crate::Session::reply) and the live loop take these answers and tell the model. A host with a loop of its
/// own does the same, for example by [`note`](Self::note).
///
/// ```
/// use tool_core::{Mode, RunContext, Runtime, ToolCall, ToolContext, tool};
///
/// /// Bake a cake.
/// #[tool]
/// async fn bake(ctx: &RunContext) -> &'static str {
///     ctx.update("it is in the oven");
///     tokio::task::yield_now().await;
///     "a cake"
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().with(bake).build()?).build()?;
/// let session = runtime.session("s-1", Mode::Text).background_answers().await?;
/// let response = session.call(ToolCall::new("call_1", "bake", "{}")).await;
/// assert_eq!(response.data_json(), Some(r#""it is in the oven""#));
///
/// session.background_answers_ready().await;
/// let answers = session.take_background_answers();
/// assert_eq!((answers[0].call_id.as_str(), answers[0].is_end), ("call_1", true));
/// assert_eq!(answers[0].response.meta().call_id(), Some("call_1_final"));
/// assert_eq!(answers[0].response.data_json(), Some(r#""a cake""#));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BackgroundAnswer {
    /// The id of the call.
    pub call_id: String,
    /// True if the call has ended: the response is its result. Otherwise the response is an update.
    pub is_end: bool,
    /// The response, with the id `<id>_update_N` of an update or `<id>_final` of the result.
    pub response: ToolResponse,
}

impl BackgroundAnswer {
    /// Returns the note by which the model learns of the answer, in a message of the user. It names
    /// the call, and marks what the tool says as data. Returns `None` for a tool that wants no
    /// reply.
    pub fn note(&self) -> Option<String> {
        let is_stop = self.response.is_ok() && self.response.kind() == OutputKind::Stop;
        let note = if self.is_end { ended_note } else { update_note };
        (!is_stop).then(|| note(&self.call_id, &self.response))
    }

    /// Returns the note about the end of the call, also if its tool wants no reply.
    pub(crate) fn end_note(&self) -> String {
        ended_note(&self.call_id, &self.response)
    }
}

/// The further answers of calls in the background, until a loop tells the model.
#[derive(Default)]
pub(crate) struct BackgroundAnswers {
    waiting: Mutex<WaitingAnswers>,
    arrived: Notify,
}

#[derive(Default)]
struct WaitingAnswers {
    answers: VecDeque<BackgroundAnswer>,
    /// The ids of the calls that were answered, and whose ends were not taken.
    open: Vec<String>,
    updates: usize,
}

impl WaitingAnswers {
    fn close(&mut self, call_id: &str) {
        if let Some(at) = self.open.iter().position(|id| id == call_id) {
            self.open.swap_remove(at);
        }
    }
}

/// The most calls of a session that go on after their answer. Of further ones the model reads the
/// result, so that no answer is lost if nothing takes them.
const MAX_OPEN: usize = 64;

/// The most updates that wait. Older ones are dropped.
const MAX_UPDATES: usize = 1_000;

impl BackgroundAnswers {
    /// Returns true if one more call may be answered before its end.
    pub(crate) fn begin(&self, call_id: &str) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.open.len() == MAX_OPEN {
            return false;
        }
        waiting.open.push(call_id.to_owned());
        true
    }

    /// Takes back a beginning whose answer reached no caller, and the updates after it.
    pub(crate) fn withdraw(&self, call_id: &str) {
        let mut waiting = self.waiting.lock();
        waiting.close(call_id);
        let before = waiting.answers.len();
        waiting
            .answers
            .retain(|answer| answer.is_end || answer.call_id != call_id);
        waiting.updates -= before - waiting.answers.len();
    }

    /// Returns true if the call goes on in this process, or if its end waits to be taken.
    pub(crate) fn has_open(&self, call_id: &str) -> bool {
        self.waiting.lock().open.iter().any(|id| id == call_id)
    }

    pub(crate) fn push(&self, answer: BackgroundAnswer) {
        let mut waiting = self.waiting.lock();
        waiting.updates += usize::from(!answer.is_end);
        waiting.answers.push_back(answer);
        if waiting.updates > MAX_UPDATES
            && let Some(oldest) = waiting.answers.iter().position(|answer| !answer.is_end)
        {
            waiting.answers.remove(oldest);
            waiting.updates -= 1;
        }
        drop(waiting);
        self.arrived.notify_waiters();
    }

    /// Removes and returns all answers, oldest first.
    pub(crate) fn take(&self) -> Vec<BackgroundAnswer> {
        let mut waiting = self.waiting.lock();
        waiting.updates = 0;
        let answers = std::mem::take(&mut waiting.answers);
        for end in answers.iter().filter(|answer| answer.is_end) {
            waiting.close(&end.call_id);
        }
        answers.into()
    }

    /// Waits until there is an answer to take.
    pub(crate) async fn ready(&self) {
        loop {
            let mut arrived = pin!(self.arrived.notified());
            // Enabled before the look, so that no answer comes in between.
            arrived.as_mut().enable();
            if !self.waiting.lock().answers.is_empty() {
                return;
            }
            arrived.await;
        }
    }
}
