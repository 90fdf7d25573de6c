//! The messages of a conversation, stored as they are said.

use crate::call::{ToolCall, ToolError, ToolResponse};
use crate::session::history::History;
use crate::session::message::Message;
use futures_util::future::{BoxFuture, Either, select};
use futures_util::{Stream, StreamExt};
use std::collections::VecDeque;
use std::pin::pin;

/// Stores the messages of a conversation as they are said, so that nothing that was said is lost if
/// the process ends.
///
/// The loop adds the user's message before it asks the model, and the model's step before its calls
/// run. It waits for both with
/// [`stored`](Self::stored). It adds the result of each call as it comes, and waits for all before it asks the model again, and
/// before it shows a reader that a call waits for approval. The results of a step may therefore come in another order than its
/// calls.
///
/// ```
/// use futures_util::future::BoxFuture;
/// use tool_core::ToolError;
/// use tool_core::session::{History, Message, MessageLog, ReplyOptions};
/// use tool_core::testing::ScriptedModel;
/// # use tool_core::{Mode, Runtime, ToolContext};
///
/// /// Keeps the messages in memory.
/// #[derive(Default)]
/// struct Minutes(Vec<Message>);
///
/// impl MessageLog for Minutes {
///     fn add(&mut self, message: &Message) {
///         self.0.push(message.clone());
///     }
///
///     fn stored(&mut self) -> BoxFuture<'_, Result<(), ToolError>> {
///         Box::pin(async { Ok(()) }) // a real log waits until its messages are durable
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let session = Runtime::builder(ToolContext::builder().build()?).build()?.session("s-1", Mode::Text).await?;
/// let mut minutes = Minutes::default();
/// let mut history = History::new();
/// let mut model = ScriptedModel::new().says("Hello");
/// let options = ReplyOptions::new("Hi").log(&mut minutes);
/// let _reply = session.reply_with_options(&mut model, &mut history, options).await;
/// assert_eq!(minutes.0, history.messages());
/// # Ok(())
/// # }
/// ```
pub trait MessageLog: Send {
    /// Adds a message. It must not wait.
    fn add(&mut self, message: &Message);

    /// Waits until all messages that were added are stored.
    ///
    /// An error ends the reply: the model is not asked, and the calls of the step do not run. The
    /// future may be dropped.
    fn stored(&mut self) -> BoxFuture<'_, Result<(), ToolError>>;
}

/// A history, and the log that stores it, if there is one.
pub(crate) struct LoggedHistory<'a> {
    pub(crate) history: &'a mut History,
    pub(crate) log: Option<&'a mut (dyn MessageLog + 'static)>,
    /// The parts of an answer that no guard has passed yet. They are at the end of the history, as
    /// the model continues them, and not in the log.
    drafts: Vec<Message>,
}

impl<'a> LoggedHistory<'a> {
    pub(crate) fn new(
        history: &'a mut History,
        log: Option<&'a mut (dyn MessageLog + 'static)>,
    ) -> Self {
        Self {
            history,
            log,
            drafts: Vec::new(),
        }
    }
}

/// # Drafts
impl LoggedHistory<'_> {
    pub(crate) fn has_drafts(&self) -> bool {
        !self.drafts.is_empty()
    }

    /// Adds a part of an answer that no guard has passed yet.
    pub(crate) fn push_draft(&mut self, message: Message) {
        self.drafts.push(message.clone());
        self.history.push(message);
    }

    /// Adds the drafts to the log.
    pub(crate) fn accept_drafts(&mut self) {
        for draft in std::mem::take(&mut self.drafts) {
            self.note(&draft);
        }
    }

    /// Removes the drafts from the history, unless it was shortened by some.
    pub(crate) fn discard_drafts(&mut self) {
        for _ in std::mem::take(&mut self.drafts) {
            if !self.history.pop_text_step() {
                return;
            }
        }
    }
}

impl Drop for LoggedHistory<'_> {
    fn drop(&mut self) {
        self.discard_drafts();
    }
}

impl LoggedHistory<'_> {
    pub(crate) fn messages(&self) -> &[Message] {
        self.history.messages()
    }

    pub(crate) fn push(&mut self, message: Message) {
        self.note(&message);
        self.history.push(message);
    }

    /// Adds a message to the log alone.
    pub(crate) fn note(&mut self, message: &Message) {
        if let Some(log) = &mut self.log {
            log.add(message);
        }
    }

    /// Adds the result of a call.
    pub(crate) fn push_result(&mut self, call: &ToolCall, response: &ToolResponse) {
        self.push(self.result_message(call, response));
    }

    /// Returns the result of a call as a message of this conversation.
    pub(crate) fn result_message(&self, call: &ToolCall, response: &ToolResponse) -> Message {
        self.history.result_message(call, response)
    }

    /// Waits until the log has stored all messages.
    pub(crate) async fn stored(&mut self) -> Result<(), ToolError> {
        match &mut self.log {
            Some(log) => log.stored().await,
            None => Ok(()),
        }
    }

    pub(crate) fn reborrow(&mut self) -> LoggedHistory<'_> {
        LoggedHistory::new(self.history, self.log.as_deref_mut())
    }
}

/// Waits for work, and polls calls meanwhile. Those that have ended are added to `ended`.
pub(crate) async fn beside_calls<T, S: Stream + Unpin>(
    work: impl Future<Output = T>,
    calls: &mut S,
    ended: &mut VecDeque<S::Item>,
) -> T {
    let mut work = pin!(work);
    loop {
        match select(work.as_mut(), calls.next()).await {
            Either::Left((done, _)) => return done,
            Either::Right((Some(call), _)) => ended.push_back(call),
            Either::Right((None, _)) => return work.await,
        }
    }
}
