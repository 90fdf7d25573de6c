//! Conversations in this process's memory.

use crate::session::message::Message;
use crate::session::store::history_store::{
    ConversationInfo, ConversationKey, ConversationPlace, ConversationSummary, HistoryStore,
    HistoryStoreError, StoredConversation,
};
use crate::session::store::memory::MemoryStore;
use crate::session::store::stored_messages::{ConversationSize, StoredMessages};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;
use std::sync::Arc;
use tokio::time::Instant;

/// The conversations of a [`MemoryStore`].
pub(crate) struct MemoryConversations(Mutex<AllConversations>);

struct AllConversations {
    by_key: BTreeMap<ConversationKey, MemoryConversation>,
    /// The moment at which the store was created, by two clocks. Tests move the first one.
    created: Instant,
    created_at: u64,
    /// The time of the last change.
    last_change: u64,
}

struct MemoryConversation {
    summary: ConversationSummary,
    /// As other stores keep them, so that all of them give the same messages back.
    texts: Vec<Arc<str>>,
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
        let now = self.created_at + crate::time::whole_milliseconds(passed);
        self.last_change = now.max(self.last_change + 1);
        self.last_change
    }

    /// Returns a conversation that changes, and creates it if it is not there.
    fn changed(&mut self, key: &ConversationKey) -> &mut MemoryConversation {
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
    fn size(&self) -> ConversationSize {
        ConversationSize {
            messages: self.summary.messages,
            bytes: self.summary.bytes,
        }
    }

    fn add(&mut self, texts: impl Iterator<Item = Arc<str>>, size: ConversationSize) {
        self.texts.extend(texts);
        self.summary.messages = size.messages;
        self.summary.bytes = size.bytes;
    }
}

impl HistoryStore for MemoryStore {
    async fn append(
        &self,
        key: &ConversationKey,
        expected: u64,
        messages: &[Message],
    ) -> Result<u64, HistoryStoreError> {
        let stored = StoredMessages::new(key, messages)?;
        let mut all = self.conversations().0.lock();
        let found = all.by_key.get(key).map(MemoryConversation::size);
        let size = stored.after(key, expected, found.unwrap_or_default())?;
        let texts = stored.texts().iter().map(|text| text.as_str().into());
        all.changed(key).add(texts, size);
        Ok(size.messages)
    }

    async fn load(
        &self,
        key: &ConversationKey,
        from: u64,
    ) -> Result<Option<StoredConversation>, HistoryStoreError> {
        key.check()?;
        let (summary, texts) = {
            let all = self.conversations().0.lock();
            let Some(conversation) = all.by_key.get(key) else {
                return Ok(None);
            };
            let first = usize::try_from(from).unwrap_or(usize::MAX);
            let texts = conversation.texts.get(first..).unwrap_or_default().to_vec();
            (conversation.summary.clone(), texts)
        };
        // Without the lock, as a long conversation takes a while.
        let messages = (from..).zip(&texts);
        let messages = messages.map(|(position, text)| StoredMessages::read(key, position, text));
        let messages = messages.collect::<Result<_, _>>()?;
        Ok(Some(StoredConversation::new(summary, from, messages)))
    }

    async fn list(
        &self,
        principal: &str,
        after: Option<&ConversationPlace>,
        limit: u32,
    ) -> Result<Vec<ConversationSummary>, HistoryStoreError> {
        let all = self.conversations().0.lock();
        let first = ConversationKey::new("", principal);
        let own = all
            .by_key
            .range((Bound::Included(first), Bound::Unbounded))
            .take_while(|(key, _)| key.principal() == principal);
        let mut summaries = own
            .map(|(_, conversation)| &conversation.summary)
            .filter(|summary| after.is_none_or(|after| summary.place() < *after))
            .collect::<Vec<_>>();
        summaries.sort_by_key(|summary| std::cmp::Reverse(summary.place()));
        let page = summaries.into_iter().take(limit as usize);
        Ok(page.cloned().collect())
    }

    async fn describe(
        &self,
        key: &ConversationKey,
        info: &ConversationInfo,
    ) -> Result<(), HistoryStoreError> {
        key.check()?;
        info.to_stored(key)?;
        let mut all = self.conversations().0.lock();
        all.changed(key).summary.info = info.clone();
        Ok(())
    }

    async fn branch(
        &self,
        key: &ConversationKey,
        at: u64,
        branch: &str,
    ) -> Result<u64, HistoryStoreError> {
        let new = ConversationKey::new(branch, key.principal());
        key.check()?;
        new.check()?;
        let mut all = self.conversations().0.lock();
        if all.by_key.contains_key(&new) {
            return Err(HistoryStoreError::Exists {
                conversation: branch.to_owned(),
            });
        }
        let Some(source) = all.by_key.get(key) else {
            return Err(HistoryStoreError::Missing {
                conversation: key.id().to_owned(),
            });
        };
        let mut end = usize::try_from(at).unwrap_or(usize::MAX);
        while let Some(text) = source.texts.get(end) {
            let message = StoredMessages::read(key, end as u64, text)?;
            if !matches!(message, Message::Result { .. }) {
                break;
            }
            end += 1;
        }
        let texts = source.texts.get(..end).unwrap_or(&source.texts).to_vec();
        let size = ConversationSize {
            messages: texts.len() as u64,
            bytes: texts.iter().map(|text| text.len() as u64).sum(),
        };
        let info = source.summary.info.clone().of_branch();
        let conversation = all.changed(&new);
        conversation.add(texts.into_iter(), size);
        conversation.summary.info = info;
        Ok(size.messages)
    }

    async fn delete(&self, key: &ConversationKey) -> Result<bool, HistoryStoreError> {
        key.check()?;
        let mut all = self.conversations().0.lock();
        Ok(all.by_key.remove(key).is_some())
    }

    async fn delete_unused(&self, since: u64) -> Result<u64, HistoryStoreError> {
        let mut all = self.conversations().0.lock();
        let before = all.by_key.len();
        all.by_key
            .retain(|_, conversation| conversation.summary.updated_at >= since);
        Ok((before - all.by_key.len()) as u64)
    }
}
