//! The texts under which a store keeps the messages of a conversation, and their limits.

use crate::session::history::History;
use crate::session::json_form::limits::HistoryLimits;
use crate::session::json_form::write::VERSION;
use crate::session::message::Message;
use crate::session::notes::is_note;
use crate::session::store::history_store::{ConversationKey, HistoryStoreError};
use crate::session::store::session_store::StoreError;
use serde::Serialize;

/// Messages as a store keeps them: each is a text of its own, a [`History`] of one message with its
/// version. For stores.
///
/// ```
/// use tool_core::session::{ConversationKey, Message, StoredMessages};
///
/// let key = ConversationKey::new("chat-42", "user:7");
/// let stored = StoredMessages::new(&key, &[Message::user("Hello")])?;
/// assert_eq!(stored.texts()[0], r#"{"version":1,"messages":[{"role":"user","content":[{"type":"text","text":"Hello"}]}]}"#);
/// assert_eq!(StoredMessages::read(&key, 0, &stored.texts()[0])?, Message::user("Hello"));
/// # Ok::<(), tool_core::session::HistoryStoreError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMessages {
    texts: Vec<String>,
    bytes: u64,
}

/// A message in the form of a history.
#[derive(Serialize)]
struct StoredForm<'a> {
    version: u64,
    messages: [&'a Message; 1],
}

impl StoredMessages {
    /// The bytes that one message may take: the files that providers accept fit.
    pub const MAX_MESSAGE_BYTES: usize = 64 << 20;
    /// The messages that a conversation may have.
    pub const MAX_MESSAGES: u64 = 1_000_000;
    /// The bytes that a conversation may take.
    pub const MAX_BYTES: u64 = 1 << 30;

    /// Writes messages, each of which may take 64 MiB. One that [`read`](Self::read) would not take
    /// is an error: it would damage the conversation.
    pub fn new(key: &ConversationKey, messages: &[Message]) -> Result<Self, HistoryStoreError> {
        key.check()?;
        let mut texts = Vec::with_capacity(messages.len());
        let mut bytes = 0;
        for message in messages {
            let form = StoredForm {
                version: VERSION,
                messages: [message],
            };
            let text = serde_json::to_string(&form).map_err(|error| {
                StoreError::with_source("failed to write a message as JSON", error)
            })?;
            if text.len() > Self::MAX_MESSAGE_BYTES {
                let limit = format!("{} bytes in a message", Self::MAX_MESSAGE_BYTES);
                return Err(too_large(key, limit));
            }
            parse(&text).map_err(|problem| HistoryStoreError::InvalidMessage {
                conversation: key.id().to_owned(),
                problem,
            })?;
            bytes += text.len() as u64;
            texts.push(text);
        }
        Ok(Self { texts, bytes })
    }

    /// Returns the texts, in order.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Returns the bytes that the texts take.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the size of the conversation with these messages, if its writer knows it and the
    /// messages fit: 1,000,000 messages and 1 GiB.
    pub fn after(
        &self,
        key: &ConversationKey,
        expected: u64,
        found: ConversationSize,
    ) -> Result<ConversationSize, HistoryStoreError> {
        if found.messages != expected {
            return Err(HistoryStoreError::Conflict {
                conversation: key.id().to_owned(),
                expected,
                found: found.messages,
            });
        }
        let size = ConversationSize {
            messages: found.messages.saturating_add(self.texts.len() as u64),
            bytes: found.bytes.saturating_add(self.bytes),
        };
        size.check(key)?;
        Ok(size)
    }

    /// Reads a message. A stored text is not trusted: its size and its depth are bounded.
    pub fn read(
        key: &ConversationKey,
        position: u64,
        text: &str,
    ) -> Result<Message, HistoryStoreError> {
        parse(text).map_err(|problem| Self::damaged(key, position, problem))
    }

    /// Creates the error of a message that cannot be read. The problem must show nothing of the
    /// message.
    pub fn damaged(
        key: &ConversationKey,
        position: u64,
        problem: impl Into<String>,
    ) -> HistoryStoreError {
        HistoryStoreError::Damaged {
            conversation: key.id().to_owned(),
            position,
            problem: problem.into(),
        }
    }
}

/// Reads a message. The problem shows nothing of it.
fn parse(text: &str) -> Result<Message, String> {
    let limits = HistoryLimits::default()
        .bytes(StoredMessages::MAX_MESSAGE_BYTES)
        .messages(1);
    let history = History::from_json_within(text, limits).map_err(|error| {
        // Without what was found there, which is a part of the message.
        let problems = error.problems().iter().map(|problem| {
            let place = problem.pointer.trim_start_matches("/messages/0");
            format!("expected {} at `{place}`", problem.expected)
        });
        problems.collect::<Vec<_>>().join("; ")
    })?;
    let message = history.into_messages().into_iter().next();
    message.ok_or_else(|| "expected one message, got none".to_owned())
}

/// The size of a stored conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConversationSize {
    /// The number of messages.
    pub messages: u64,
    /// The bytes that they take.
    pub bytes: u64,
}

impl ConversationSize {
    /// Checks the limits of a conversation. A store does so before it reads one, because what is
    /// stored is not trusted.
    pub fn check(self, key: &ConversationKey) -> Result<(), HistoryStoreError> {
        let limit = if self.messages > StoredMessages::MAX_MESSAGES {
            format!("{} messages", StoredMessages::MAX_MESSAGES)
        } else if self.bytes > StoredMessages::MAX_BYTES {
            format!("{} bytes", StoredMessages::MAX_BYTES)
        } else {
            return Ok(());
        };
        Err(too_large(key, limit))
    }
}

/// The place at which a branch ends. If its last message is a call or a result of it, the other
/// results are taken too, with the notes of the application between them. For stores.
///
/// ```
/// use tool_core::session::{BranchCut, Message, NOTE};
///
/// let mut cut = BranchCut::new(3);
/// assert!(cut.goes_on_after(&Message::user(format!("{NOTE} Another agent speaks."))));
/// assert!(!cut.goes_on_after(&Message::user("Hi")));
/// assert_eq!(cut.messages(), 3, "no result has followed");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BranchCut {
    messages: u64,
    next: u64,
}

impl BranchCut {
    /// Creates the end of a branch that has this number of messages, and perhaps more.
    pub fn new(messages: u64) -> Self {
        Self {
            messages,
            next: messages,
        }
    }

    /// Returns the number of the message to look at next.
    pub fn position(&self) -> u64 {
        self.next
    }

    /// Looks at the next message. Returns false if no later one can belong to the branch.
    pub fn goes_on_after(&mut self, message: &Message) -> bool {
        self.next += 1;
        match message {
            Message::Result { .. } => {
                self.messages = self.next;
                true
            }
            // It is a part of the branch if another result follows.
            Message::User(said) => is_note(&said.text()),
            Message::Assistant { .. } => false,
        }
    }

    /// Returns the number of messages of the branch, once all have been looked at.
    pub fn messages(&self) -> u64 {
        self.messages
    }
}

fn too_large(key: &ConversationKey, limit: String) -> HistoryStoreError {
    HistoryStoreError::TooLarge {
        conversation: key.id().to_owned(),
        limit,
    }
}
