//! The conversations that are in this process's memory.

use crate::session::store::history_store::{ConversationKey, ConversationSummary};
use crate::session::store::stored_messages::ConversationSize;
use crate::time::whole_milliseconds;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use tokio::time::Instant;

/// The conversations of a [`MemoryStore`](crate::session::MemoryStore).
pub(crate) struct MemoryConversations(pub(crate) Mutex<AllConversations>);

pub(crate) struct AllConversations {
    pub(crate) by_key: BTreeMap<ConversationKey, MemoryConversation>,
    /// The moment at which the store was created, by two clocks. Tests move the first one.
    created: Instant,
    created_at: u64,
    /// The time of the last change.
    last_change: u64,
}

pub(crate) struct MemoryConversation {
    pub(crate) summary: ConversationSummary,
    /// As other stores keep them, so that all of them give the same messages back.
    pub(crate) texts: Vec<Arc<str>>,
}

impl Default for MemoryConversations {
    fn default() -> Self {
        let now = jiff::Timestamp::now().as_millisecond();
        Self(Mutex::new(AllConversations {
            by_key: BTreeMap::new(),
            created: Instant::now(),
            created_at: u64::try_from(now).unwrap_or_default(),
            last_change: 0,
        }))
    }
}

#[cfg(test)]
impl MemoryConversations {
    /// Replaces a stored message, as only a fault of the memory could.
    pub(crate) fn overwrite(&self, key: &ConversationKey, position: u64, text: &str) {
        let mut all = self.0.lock();
        let conversation = all.by_key.get_mut(key).expect("it is there");
        conversation.texts[usize::try_from(position).expect("small")] = text.into();
    }
}

impl AllConversations {
    /// Returns the time of a change, which is later than that of the change before.
    fn next_change(&mut self) -> u64 {
        let passed = Instant::now().saturating_duration_since(self.created);
        let now = self.created_at + whole_milliseconds(passed);
        self.last_change = now.max(self.last_change + 1);
        self.last_change
    }

    /// Returns a conversation that changes, and creates it if it is not there.
    pub(crate) fn changed(&mut self, key: &ConversationKey) -> &mut MemoryConversation {
        let now = self.next_change();
        let conversation = match self.by_key.entry(key.clone()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(MemoryConversation {
                summary: ConversationSummary::new(key.id(), now),
                texts: Vec::new(),
            }),
        };
        conversation.summary.updated_at = now;
        conversation
    }
}

impl MemoryConversation {
    pub(crate) fn size(&self) -> ConversationSize {
        ConversationSize {
            messages: self.summary.messages,
            bytes: self.summary.bytes,
        }
    }

    pub(crate) fn add(&mut self, texts: impl Iterator<Item = Arc<str>>, size: ConversationSize) {
        self.texts.extend(texts);
        self.summary.messages = size.messages;
        self.summary.bytes = size.bytes;
    }
}
