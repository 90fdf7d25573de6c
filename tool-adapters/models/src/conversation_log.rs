//! The messages of a conversation on their way to a store.

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tool_core::ToolError;
use tool_core::session::{
    ConversationKey, DynHistoryStore, HistoryStoreError, Message, MessageLog,
};

/// Stores the messages of a conversation, in the order in which they are added. A task writes them,
/// so that a message is stored even if the reply is dropped meanwhile. It ends once it has written
/// the last message.
pub(crate) struct ConversationLog {
    orders: mpsc::UnboundedSender<Order>,
}

/// An order for the task that writes.
enum Order {
    Add(Message),
    /// To tell once all earlier messages are stored.
    Tell(oneshot::Sender<Result<(), ToolError>>),
}

impl ConversationLog {
    /// Creates the log of a conversation that has this number of messages in its store.
    pub(crate) fn new(store: Arc<dyn DynHistoryStore>, key: ConversationKey, stored: u64) -> Self {
        Self::resumed(store, key, stored, Vec::new())
    }

    /// Creates the log of a conversation that an engine runs again. After the number of messages the store has those that an
    /// earlier run has said, which this run says again and which are not stored twice.
    pub(crate) fn resumed(
        store: Arc<dyn DynHistoryStore>,
        key: ConversationKey,
        stored: u64,
        said_before: Vec<Message>,
    ) -> Self {
        let (orders, received) = mpsc::unbounded_channel();
        let writer = LogWriter {
            store,
            key,
            stored,
            waiting: Vec::new(),
            said_before: said_before.into(),
            is_uncertain: false,
        };
        tokio::spawn(writer.run(received));
        Self { orders }
    }
}

impl fmt::Debug for ConversationLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConversationLog").finish_non_exhaustive()
    }
}

impl MessageLog for ConversationLog {
    fn add(&mut self, message: &Message) {
        // The task ends with the runtime only, and then `stored` fails.
        let _ = self.orders.send(Order::Add(message.clone()));
    }

    fn stored(&mut self) -> futures_util::future::BoxFuture<'_, Result<(), ToolError>> {
        let (tell, told) = oneshot::channel();
        let _ = self.orders.send(Order::Tell(tell));
        Box::pin(async move {
            let gone = |_| ToolError::transient("the task that stores the conversation has ended");
            told.await.map_err(gone)?
        })
    }
}

/// Writes the messages of a conversation.
struct LogWriter {
    store: Arc<dyn DynHistoryStore>,
    key: ConversationKey,
    /// The number of messages in the store, as far as this writer knows.
    stored: u64,
    /// The messages that are not stored.
    waiting: Vec<Message>,
    /// The messages that an earlier run has stored after those.
    said_before: VecDeque<Message>,
    /// True if an append has failed and may have taken effect, or may do so later.
    is_uncertain: bool,
}

impl LogWriter {
    async fn run(mut self, mut orders: mpsc::UnboundedReceiver<Order>) {
        const AT_ONCE: usize = 256;
        let mut received = Vec::new();
        while orders.recv_many(&mut received, AT_ONCE).await > 0 {
            let mut to_tell = Vec::new();
            for order in mem::take(&mut received) {
                match order {
                    Order::Add(message) => self.waiting.push(message),
                    Order::Tell(tell) => to_tell.push(tell),
                }
            }
            let stored = self.write().await.map_err(|error| {
                tracing::error!(conversation = %self.key.id().escape_debug(), %error, "failed to store messages");
                tool_error(&error)
            });
            for tell in to_tell {
                // It fails if the reply was dropped.
                let _ = tell.send(stored.clone());
            }
        }
    }

    /// Stores all messages that wait. After an error they wait for the next time.
    async fn write(&mut self) -> Result<(), HistoryStoreError> {
        if self.is_uncertain {
            self.find_out().await?;
        }
        self.leave_out_said()?;
        let appended = self.append().await;
        let is_conflict = matches!(appended, Err(HistoryStoreError::Conflict { .. }));
        if is_conflict && self.is_uncertain && self.find_out().await? {
            // The conflict was with this writer's own messages, which have come late.
            return self.append().await;
        }
        appended
    }

    /// Appends all messages that wait.
    async fn append(&mut self) -> Result<(), HistoryStoreError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let appended = self.store.append(&self.key, self.stored, &self.waiting);
        match appended.await {
            Ok(stored) => {
                self.stored = stored;
                self.waiting.clear();
                self.is_uncertain = false;
                Ok(())
            }
            Err(error) => {
                self.is_uncertain |= matches!(error, HistoryStoreError::Store(_));
                Err(error)
            }
        }
    }

    /// Leaves out the messages that an earlier run has stored. If it has said others, another program writes the conversation,
    /// too.
    fn leave_out_said(&mut self) -> Result<(), HistoryStoreError> {
        let pairs = self.waiting.iter().zip(&self.said_before);
        let count = pairs.take_while(|(waiting, said)| waiting == said).count();
        self.waiting.drain(..count);
        self.said_before.drain(..count);
        self.stored += count as u64;
        if self.waiting.is_empty() || self.said_before.is_empty() {
            return Ok(());
        }
        Err(HistoryStoreError::Conflict {
            conversation: self.key.id().to_owned(),
            expected: self.stored,
            found: self.stored + self.said_before.len() as u64,
        })
    }

    /// Looks if the append that has failed has taken effect. Returns true if it has. Otherwise it may
    /// still do so.
    async fn find_out(&mut self) -> Result<bool, HistoryStoreError> {
        let found = self.store.load(&self.key, self.stored).await?;
        let stored = found.map(|found| found.messages).unwrap_or_default();
        if stored.is_empty() || !self.waiting.starts_with(&stored) {
            return Ok(false);
        }
        self.is_uncertain = false;
        self.stored += stored.len() as u64;
        self.waiting.drain(..stored.len());
        Ok(true)
    }
}

/// Returns the error of a reply whose messages could not be stored.
fn tool_error(error: &HistoryStoreError) -> ToolError {
    match error {
        HistoryStoreError::Conflict { .. } => ToolError::conflict(format!(
            "another process goes on with this conversation: {error}; open the conversation again"
        )),
        HistoryStoreError::Store(error) => {
            ToolError::transient(format!("the conversation could not be stored: {error}"))
        }
        // The messages would fail each time that they are stored again.
        error => ToolError::permanent(format!(
            "the conversation could not be stored: {error}; open the conversation again"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_that_cannot_be_stored_asks_to_open_again() {
        let error = tool_error(&HistoryStoreError::InvalidMessage {
            conversation: "chat-42".to_owned(),
            problem: "expected a text".to_owned(),
        });
        let message = error.message();
        assert!(
            message.ends_with("open the conversation again"),
            "{message}"
        );
    }
}
