//! Conversations in a store in memory.

use crate::session::message::Message;
use crate::session::store::history_store::{
    ConversationInfo, ConversationKey, ConversationPlace, ConversationSummary, HistoryStore,
    HistoryStoreError, StoredConversation,
};
use crate::session::store::memory::MemoryStore;
use crate::session::store::memory_conversations::MemoryConversation;
use crate::session::store::stored_messages::{BranchCut, ConversationSize, StoredMessages};
use std::ops::Bound;

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
        let messages = texts.iter().zip(from..);
        let messages = messages.map(|(text, position)| StoredMessages::read(key, position, text));
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
        let mut cut = BranchCut::new(at.min(source.texts.len() as u64));
        loop {
            let next = usize::try_from(cut.position()).unwrap_or(usize::MAX);
            let Some(text) = source.texts.get(next) else {
                break;
            };
            let message = StoredMessages::read(key, cut.position(), text)?;
            if !cut.goes_on_after(&message) {
                break;
            }
        }
        let end = usize::try_from(cut.messages()).unwrap_or(usize::MAX);
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
