//! The trait of a store of conversations, and what it keeps beside the messages.

#![allow(clippy::elidable_lifetime_names, clippy::needless_lifetimes)] // needed where an operation borrows its arguments

use crate::session::journal::object_safe;
use crate::session::message::Message;
use crate::session::store::session_store::StoreError;
use crate::trace::Redaction;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// Keeps conversations, each for one principal. [`MemoryStore`](crate::session::MemoryStore) is
/// one; `tool-adapters` has stores over SQLite, PostgreSQL and Redis.
///
/// Appending costs the same however long the conversation is: messages that are stored are never
/// written again. A writer says how many messages it knows, so that two writers cannot mix their
/// messages. A conversation of another principal is as if it was not there. Each operation takes
/// effect as a whole or not at all.
///
/// ```
/// use tool_core::session::{ConversationKey, HistoryStore, HistoryStoreError, MemoryStore, Message};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), HistoryStoreError> {
/// let store = MemoryStore::new();
/// let key = ConversationKey::new("chat-42", "user:7");
/// let known = store.append(&key, 0, &[Message::user("Good morning")]).await?;
///
/// // Another writer that also knows one message is faster.
/// store.append(&key, known, &[Message::user("Anyone there?")]).await?;
/// let late = store.append(&key, known, &[Message::user("Hello?")]).await;
/// assert!(matches!(late, Err(HistoryStoreError::Conflict { expected: 1, found: 2, .. })));
///
/// let stored = store.load(&key, 0).await?.expect("it is there");
/// assert_eq!(stored.messages.len(), 2);
/// let of_another = store.load(&ConversationKey::new("chat-42", "user:8"), 0).await?;
/// assert!(of_another.is_none());
/// # Ok(())
/// # }
/// ```
///
/// Implementations write each method as an `async fn`. [`crate::testing::history`] is the test
/// suite that a store must pass.
pub trait HistoryStore: Send + Sync + 'static {
    /// Adds messages to a conversation that has `expected` messages, and returns how many it has
    /// then. A conversation that is not there has none: the first append creates it.
    fn append(
        &self,
        key: &ConversationKey,
        expected: u64,
        messages: &[Message],
    ) -> impl Future<Output = Result<u64, HistoryStoreError>> + Send;

    /// Reads a conversation from a message on, counted from 0. Returns `None` if it is not there.
    fn load(
        &self,
        key: &ConversationKey,
        from: u64,
    ) -> impl Future<Output = Result<Option<StoredConversation>, HistoryStoreError>> + Send;

    /// Lists at most `limit` conversations of a principal, beginning after a place in the list. The
    /// conversation that was used last comes first.
    fn list(
        &self,
        principal: &str,
        after: Option<&ConversationPlace>,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<ConversationSummary>, HistoryStoreError>> + Send;

    /// Replaces what the host keeps beside the messages, and creates the conversation if it is not
    /// there.
    fn describe(
        &self,
        key: &ConversationKey,
        info: &ConversationInfo,
    ) -> impl Future<Output = Result<(), HistoryStoreError>> + Send;

    /// Creates a conversation of the same principal under the id `branch`, with the first `at`
    /// messages and with the info but for the session, and returns how many messages it has. If the
    /// last of them is a call, its results are taken too, with the notes between them: a call and
    /// its results stay together. See [`BranchCut`](super::BranchCut).
    fn branch(
        &self,
        key: &ConversationKey,
        at: u64,
        branch: &str,
    ) -> impl Future<Output = Result<u64, HistoryStoreError>> + Send;

    /// Deletes a conversation. Returns false if it is not there.
    fn delete(
        &self,
        key: &ConversationKey,
    ) -> impl Future<Output = Result<bool, HistoryStoreError>> + Send;

    /// Deletes the conversations of all principals that were not used since a time, in milliseconds
    /// since 1970 by the store's clock. Returns their number. Conversations do not expire by
    /// themselves.
    fn delete_unused(
        &self,
        since: u64,
    ) -> impl Future<Output = Result<u64, HistoryStoreError>> + Send;
}

object_safe! {
    /// The object-safe form of [`HistoryStore`]: the same methods with boxed futures. Every store
    /// implements it, and so does an `Arc` of a store or of a `dyn DynHistoryStore`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tool_core::session::{DynHistoryStore, MemoryStore};
    ///
    /// let store: Arc<dyn DynHistoryStore> = Arc::new(MemoryStore::new());
    /// # drop(store);
    /// ```
    #[allow(missing_docs)] // `HistoryStore` documents the methods
    pub trait DynHistoryStore: HistoryStore, HistoryStoreError;
    append(key: &'a ConversationKey, expected: u64, messages: &'a [Message]) -> u64;
    load(key: &'a ConversationKey, from: u64) -> Option<StoredConversation>;
    list(principal: &'a str, after: Option<&'a ConversationPlace>, limit: u32) -> Vec<ConversationSummary>;
    describe(key: &'a ConversationKey, info: &'a ConversationInfo) -> ();
    branch(key: &'a ConversationKey, at: u64, branch: &'a str) -> u64;
    delete(key: &'a ConversationKey) -> bool;
    delete_unused(since: u64) -> u64;
}

/// The id of a conversation and the principal whose it is. Two principals may use the same id for
/// two conversations.
///
/// ```
/// use tool_core::session::ConversationKey;
///
/// let key = ConversationKey::new("chat-42", "user:7");
/// assert_eq!((key.id(), key.principal()), ("chat-42", "user:7"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConversationKey {
    principal: Arc<str>,
    id: Arc<str>,
}

/// The bytes of the longest id and of the longest principal.
const MAX_ID_BYTES: usize = 512;

impl ConversationKey {
    /// Creates a key. The principal is empty if the host has none.
    pub fn new(id: impl AsRef<str>, principal: impl AsRef<str>) -> Self {
        Self {
            principal: principal.as_ref().into(),
            id: id.as_ref().into(),
        }
    }

    /// Returns the id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the principal.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// Checks that an id has 1 to 512 bytes, and the principal at most 512. For stores, which call
    /// it first.
    pub fn check(&self) -> Result<(), HistoryStoreError> {
        let is_valid = !self.id.is_empty()
            && self.id.len() <= MAX_ID_BYTES
            && self.principal.len() <= MAX_ID_BYTES;
        if is_valid {
            Ok(())
        } else {
            Err(HistoryStoreError::InvalidId)
        }
    }
}

/// The texts that the host keeps beside the messages of a conversation, so that it can go on with
/// it.
///
/// ```
/// use tool_core::session::ConversationInfo;
///
/// let mut info = ConversationInfo::default();
/// info.title = Some("The trip to Lisbon".into());
/// info.session = Some("s-17".into());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[non_exhaustive]
pub struct ConversationInfo {
    /// The title that people see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The id of the session under which the conversation's calls run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The name of the instructions, or of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The version of the host or of its tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Other texts of the host, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
}

/// The bytes that the info of a conversation may take as JSON.
const MAX_INFO_BYTES: usize = 16 * 1024;

impl ConversationInfo {
    /// Returns the info as JSON. For stores.
    ///
    /// # Errors
    ///
    /// The JSON takes more than 16 KiB.
    pub fn to_stored(&self, key: &ConversationKey) -> Result<String, HistoryStoreError> {
        let text = serde_json::to_string(self).map_err(|error| {
            StoreError::with_source("failed to write the info of a conversation as JSON", error)
        })?;
        if text.len() > MAX_INFO_BYTES {
            return Err(HistoryStoreError::TooLarge {
                conversation: key.id.to_string(),
                limit: format!("{MAX_INFO_BYTES} bytes of info"),
            });
        }
        Ok(text)
    }

    /// Returns the info of a branch: the session stays with the conversation that it belongs to.
    #[must_use]
    pub fn of_branch(mut self) -> Self {
        self.session = None;
        self
    }
}

/// One conversation of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversationSummary {
    /// The id.
    pub id: String,
    /// The texts that the host keeps beside the messages.
    pub info: ConversationInfo,
    /// True if the stored info cannot be read. It is empty then; the messages are not affected.
    pub is_info_damaged: bool,
    /// The number of messages.
    pub messages: u64,
    /// The bytes that they take in the store.
    pub bytes: u64,
    /// The time of the first message, in milliseconds since 1970 by the store's clock.
    pub created_at: u64,
    /// The time of the last change, in milliseconds since 1970 by the store's clock.
    pub updated_at: u64,
}

impl ConversationSummary {
    /// Creates a summary of an empty conversation. For stores.
    pub fn new(id: impl Into<String>, created_at: u64) -> Self {
        Self {
            id: id.into(),
            info: ConversationInfo::default(),
            is_info_damaged: false,
            messages: 0,
            bytes: 0,
            created_at,
            updated_at: created_at,
        }
    }

    /// Sets the info to what a store has of it.
    #[must_use]
    pub fn stored_info(mut self, stored: &str) -> Self {
        let info = (stored.len() <= MAX_INFO_BYTES)
            .then(|| serde_json::from_str(stored).ok())
            .flatten();
        self.is_info_damaged = info.is_none();
        self.info = info.unwrap_or_default();
        self
    }

    /// Returns the place in the list after which the next page begins.
    pub fn place(&self) -> ConversationPlace {
        ConversationPlace {
            updated_at: self.updated_at,
            id: self.id.clone(),
        }
    }
}

/// A place in a list of conversations: that of [`ConversationSummary::place`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationPlace {
    /// The time of the conversation's last change.
    pub updated_at: u64,
    /// Its id, as several conversations may have changed in one millisecond.
    pub id: String,
}

/// A conversation as it was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredConversation {
    /// The conversation as a list shows it.
    pub summary: ConversationSummary,
    /// The number of the first message that was loaded.
    pub from: u64,
    /// The messages from there on, oldest first.
    pub messages: Vec<Message>,
}

impl StoredConversation {
    /// Creates a loaded conversation. For stores.
    pub fn new(summary: ConversationSummary, from: u64, messages: Vec<Message>) -> Self {
        Self {
            summary,
            from,
            messages,
        }
    }
}

/// An operation on stored conversations that failed. Errors show nothing of the messages.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HistoryStoreError {
    /// The conversation does not have the number of messages that the writer expected.
    #[error(
        "conversation `{}` has {found} messages, and this writer knows {expected}; load it from message {}, and append again",
        .conversation.escape_debug(), (*expected).min(*found)
    )]
    Conflict {
        /// The conversation's id.
        conversation: String,
        /// The number of messages that the writer knows.
        expected: u64,
        /// The number of messages that are stored.
        found: u64,
    },
    /// The principal has no conversation of this id.
    #[error("there is no conversation `{}`", .conversation.escape_debug())]
    Missing {
        /// The conversation's id.
        conversation: String,
    },
    /// The principal has a conversation of the id that a branch was to get.
    #[error("there is a conversation `{}` already; choose another id for the branch", .conversation.escape_debug())]
    Exists {
        /// The branch's id.
        conversation: String,
    },
    /// The conversation would exceed a limit.
    #[error("conversation `{}` may have at most {limit}", .conversation.escape_debug())]
    TooLarge {
        /// The conversation's id.
        conversation: String,
        /// The limit.
        limit: String,
    },
    /// A message cannot be stored, because it could not be read again. Nothing was stored.
    #[error("a message of conversation `{}` cannot be stored: {problem}", .conversation.escape_debug())]
    InvalidMessage {
        /// The conversation's id.
        conversation: String,
        /// The problem, without anything of the message.
        problem: String,
    },
    /// An id is empty, or an id or a principal is longer than 512 bytes.
    #[error("expected a conversation's id of 1 to 512 bytes, and a principal of at most 512 bytes")]
    InvalidId,
    /// A stored message cannot be read. The other messages can: load the conversation from the next
    /// message on.
    #[error("message {position} of conversation `{}` is damaged: {}", .conversation.escape_debug(), Redaction::new().text(problem))]
    Damaged {
        /// The conversation's id.
        conversation: String,
        /// The number of the message, counted from 0.
        position: u64,
        /// The problem, without anything of the message.
        problem: String,
    },
    /// The store cannot be reached or gives an invalid answer. After a lost connection, an append
    /// may have taken effect: load the conversation to find out.
    #[error(transparent)]
    Store(#[from] StoreError),
}
