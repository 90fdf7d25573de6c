//! Conversations in Redis: a hash and a list for each. Scripts on the server make every change, in
//! one round trip.
//!
//! The conversations of a principal are in one of 256 buckets, with the list of them and the list
//! of all conversations of the bucket, so that each change is one script, and a store spreads over
//! a cluster.

use crate::redis::connection::Connection;
use crate::redis::conversation_keys::{ConversationKeys, bucket_key};
use crate::redis::keys::{conversation_bucket, original, part};
use crate::redis::scripts::{
    APPEND, BRANCH, DELETE_CONVERSATION, DESCRIBE, PAGE, READ_CONVERSATION,
};
use crate::redis::store::RedisStore;
use std::collections::HashMap;
use tool_core::session::{
    BranchCut, ConversationInfo, ConversationKey, ConversationPlace, ConversationSummary,
    HistoryStore, HistoryStoreError, Message, StoreError, StoredConversation, StoredMessages,
};

/// The messages that are read at once to find the end of the results of a call.
const RESULTS_AT_ONCE: u64 = 16;

/// The bytes of messages that are read in one round trip, unless one message takes more: the answer to a request has to come
/// in time, and others wait behind it.
const BYTES_AT_ONCE: u64 = 4 << 20;

/// The attempts to read a conversation that is deleted and created again at the same time.
const ATTEMPTS: usize = 3;

/// The conversations of a list that are read in one round trip.
const LISTED_AT_ONCE: usize = 200;

/// The unused conversations that are looked for in one round trip.
const UNUSED_AT_ONCE: u32 = 200;

/// The fields of a conversation's hash.
type Fields = HashMap<String, String>;

fn figure(fields: &Fields, name: &str) -> Result<u64, StoreError> {
    let text = fields.get(name).map(String::as_str);
    text.and_then(|text| text.parse().ok())
        .ok_or_else(|| StoreError::new("the server holds an invalid conversation"))
}

/// Reads a conversation without its messages. Returns `None` if it is not there.
fn summary(id: &str, fields: &Fields) -> Result<Option<ConversationSummary>, StoreError> {
    if fields.is_empty() {
        return Ok(None);
    }
    let mut summary = ConversationSummary::new(id, figure(fields, "created")?);
    summary.updated_at = figure(fields, "updated")?;
    summary.messages = figure(fields, "messages")?;
    summary.bytes = figure(fields, "bytes")?;
    let info = fields.get("info").map_or("", String::as_str);
    Ok(Some(summary.stored_info(info)))
}

fn unexpected_answer() -> HistoryStoreError {
    StoreError::new("the server sent an unexpected answer").into()
}

fn missing(key: &ConversationKey) -> HistoryStoreError {
    HistoryStoreError::Missing {
        conversation: key.id().to_owned(),
    }
}

/// A part of a conversation at one moment.
struct ConversationPart {
    summary: ConversationSummary,
    /// Bytes, because a foreign text may be no UTF-8.
    texts: Vec<Vec<u8>>,
}

impl ConversationPart {
    /// Returns true if a part that was read later is of the same conversation.
    fn goes_on_in(&self, later: &Self) -> bool {
        let now = &later.summary;
        now.created_at == self.summary.created_at && now.messages >= self.summary.messages
    }

    fn check_size(&self, key: &ConversationKey) -> Result<(), HistoryStoreError> {
        let bytes = self.texts.iter().map(|text| text.len() as u64).sum::<u64>();
        if bytes <= StoredMessages::MAX_BYTES {
            return Ok(());
        }
        Err(HistoryStoreError::TooLarge {
            conversation: key.id().to_owned(),
            limit: format!("{} bytes", StoredMessages::MAX_BYTES),
        })
    }
}

/// Reads the messages from one on up to another, or the first of them if all take too many bytes. Returns `None` if the
/// conversation is not there.
async fn read(
    connection: &Connection,
    keys: &ConversationKeys,
    key: &ConversationKey,
    messages: std::ops::Range<u64>,
) -> Result<Option<ConversationPart>, HistoryStoreError> {
    let [head, list, ..] = &keys.keys;
    let mut call = READ_CONVERSATION.key(head);
    call.key(list);
    // A number that the scripts can compare.
    let most = StoredMessages::MAX_MESSAGES;
    call.arg(messages.start.min(most))
        .arg(messages.end.min(most))
        .arg(BYTES_AT_ONCE);
    let (fields, texts): (Fields, Vec<Vec<u8>>) = connection.script(&call).await?;
    let summary = summary(key.id(), &fields)?;
    Ok(summary.map(|summary| ConversationPart { summary, texts }))
}

/// Reads a message.
fn message(
    key: &ConversationKey,
    position: u64,
    text: &[u8],
) -> Result<Message, HistoryStoreError> {
    match std::str::from_utf8(text) {
        Ok(text) => StoredMessages::read(key, position, text),
        Err(_) => Err(StoredMessages::damaged(key, position, "it is no text")),
    }
}

/// The place at which a branch ends.
struct BranchEnd {
    messages: u64,
    /// The conversation that it leaves.
    source: ConversationSummary,
}

impl RedisStore {
    /// Finds the number of messages that a branch takes, whose last one may be a call or a result
    /// of it.
    async fn branch_end(
        &self,
        keys: &ConversationKeys,
        key: &ConversationKey,
        at: u64,
    ) -> Result<BranchEnd, HistoryStoreError> {
        let mut cut = BranchCut::new(at);
        loop {
            let first = cut.position();
            let part = read(
                self.conversations().await?,
                keys,
                key,
                first..first.saturating_add(RESULTS_AT_ONCE),
            );
            let ConversationPart { summary, texts } = part.await?.ok_or_else(|| missing(key))?;
            let mut is_over = texts.is_empty();
            for text in &texts {
                let message = message(key, cut.position(), text)?;
                is_over = !cut.goes_on_after(&message);
                if is_over {
                    break;
                }
            }
            if is_over {
                return Ok(BranchEnd {
                    messages: cut.messages().min(summary.messages),
                    source: summary,
                });
            }
        }
    }
}

impl RedisStore {
    /// Reads the messages behind those of a part, up to the end that it knows. Returns false if the conversation is not there
    /// any more.
    async fn read_rest(
        &self,
        keys: &ConversationKeys,
        key: &ConversationKey,
        from: u64,
        part: &mut ConversationPart,
    ) -> Result<bool, HistoryStoreError> {
        let end = part.summary.messages;
        loop {
            part.check_size(key)?;
            let next = from.saturating_add(part.texts.len() as u64);
            if next >= end {
                return Ok(true);
            }
            let later = read(self.conversations().await?, keys, key, next..end).await?;
            let Some(later) = later.filter(|later| part.goes_on_in(later)) else {
                return Ok(false);
            };
            if later.texts.is_empty() {
                return Err(StoredMessages::damaged(key, next, "it is missing"));
            }
            part.texts.extend(later.texts);
        }
    }
}

impl RedisStore {
    /// Deletes the conversations of a bucket that were not used since then.
    async fn delete_unused_of(&self, bucket: u8, since: u64) -> Result<u64, HistoryStoreError> {
        let mut deleted = 0;
        loop {
            let mut query = redis::cmd("ZRANGEBYSCORE");
            query
                .arg(bucket_key(self.keys(), bucket))
                .arg("-inf")
                .arg(format!("({since}"))
                .arg("LIMIT")
                .arg(0)
                .arg(UNUSED_AT_ONCE);
            let unused: Vec<String> = self.conversations().await?.command(query).await?;
            if unused.is_empty() {
                return Ok(deleted);
            }
            for member in &unused {
                let keys = ConversationKeys::of_member(self.keys(), bucket, member);
                let mut call = keys.call(&DELETE_CONVERSATION);
                call.arg(since);
                let is_deleted: u64 = self.conversations().await?.script(&call).await?;
                deleted += is_deleted;
            }
        }
    }
}

impl HistoryStore for RedisStore {
    async fn append(
        &self,
        key: &ConversationKey,
        expected: u64,
        messages: &[Message],
    ) -> Result<u64, HistoryStoreError> {
        let added = StoredMessages::new(key, messages)?;
        let keys = ConversationKeys::new(self.keys(), key)?;
        let mut call = keys.call(&APPEND);
        call.arg(expected)
            .arg(StoredMessages::MAX_MESSAGES)
            .arg(StoredMessages::MAX_BYTES);
        for text in added.texts() {
            call.arg(text);
        }
        let answer: (String, String) = self.conversations().await?.script(&call).await?;
        match (answer.0.as_str(), answer.1.as_str()) {
            ("appended", messages) => messages.parse().map_err(|_| unexpected_answer()),
            ("conflict", found) => Err(HistoryStoreError::Conflict {
                conversation: key.id().to_owned(),
                expected,
                found: found.parse().map_err(|_| unexpected_answer())?,
            }),
            ("full", what) => {
                let most = match what {
                    "messages" => StoredMessages::MAX_MESSAGES,
                    _ => StoredMessages::MAX_BYTES,
                };
                Err(HistoryStoreError::TooLarge {
                    conversation: key.id().to_owned(),
                    limit: format!("{most} {what}"),
                })
            }
            _ => Err(unexpected_answer()),
        }
    }

    async fn load(
        &self,
        key: &ConversationKey,
        from: u64,
    ) -> Result<Option<StoredConversation>, HistoryStoreError> {
        let keys = ConversationKeys::new(self.keys(), key)?;
        for _ in 0..ATTEMPTS {
            let part = read(self.conversations().await?, &keys, key, from..u64::MAX).await?;
            let Some(mut part) = part else {
                return Ok(None);
            };
            if !self.read_rest(&keys, key, from, &mut part).await? {
                continue;
            }
            let mut messages = Vec::with_capacity(part.texts.len());
            for (text, position) in part.texts.iter().zip(from..) {
                messages.push(message(key, position, text)?);
            }
            return Ok(Some(StoredConversation::new(part.summary, from, messages)));
        }
        Err(StoreError::new("the conversation was replaced each time while it was read").into())
    }

    async fn list(
        &self,
        principal: &str,
        after: Option<&ConversationPlace>,
        limit: u32,
    ) -> Result<Vec<ConversationSummary>, HistoryStoreError> {
        let bucket = conversation_bucket(principal);
        let base = self.keys().conversations(bucket);
        let principal = part(principal);
        let mut call = PAGE.key(format!("{base}:{principal}:conversations"));
        call.arg(limit);
        match after {
            Some(place) => call.arg(place.updated_at).arg(part(&place.id)),
            None => call.arg("").arg(""),
        };
        let ids: Vec<String> = self.conversations().await?.script(&call).await?;

        let mut summaries = Vec::with_capacity(ids.len());
        for ids in ids.chunks(LISTED_AT_ONCE) {
            let mut queries = Vec::with_capacity(ids.len());
            for id in ids {
                let member = format!("{principal}:{id}");
                let keys = ConversationKeys::of_member(self.keys(), bucket, &member);
                let mut query = redis::cmd("HGETALL");
                query.arg(keys.head());
                queries.push(query);
            }
            let answers = self.conversations().await?.each(queries).await?;
            for (id, answer) in ids.iter().zip(answers) {
                let fields: Fields =
                    redis::from_redis_value(answer).map_err(|_| unexpected_answer())?;
                // One that was deleted in the meantime is left out.
                summaries.extend(summary(&original(id), &fields)?);
            }
        }
        Ok(summaries)
    }

    async fn describe(
        &self,
        key: &ConversationKey,
        info: &ConversationInfo,
    ) -> Result<(), HistoryStoreError> {
        let keys = ConversationKeys::new(self.keys(), key)?;
        let mut call = keys.call(&DESCRIBE);
        call.arg(info.to_stored(key)?);
        let _: u8 = self.conversations().await?.script(&call).await?;
        Ok(())
    }

    async fn branch(
        &self,
        key: &ConversationKey,
        at: u64,
        branch: &str,
    ) -> Result<u64, HistoryStoreError> {
        let keys = ConversationKeys::new(self.keys(), key)?;
        let new_key = ConversationKey::new(branch, key.principal());
        let new_keys = ConversationKeys::new(self.keys(), &new_key)?;
        let BranchEnd { messages, source } = self.branch_end(&keys, key, at).await?;

        let mut call = BRANCH.key(&keys.keys[..]);
        let [new_head, new_list, ..] = &new_keys.keys;
        call.key(new_head).key(new_list);
        call.arg(&new_keys.id).arg(&new_keys.member);
        let created_at = source.created_at;
        let info = source.info.of_branch().to_stored(&new_key)?;
        call.arg(created_at).arg(messages).arg(info);
        let answer: String = self.conversations().await?.script(&call).await?;
        match answer.as_str() {
            "branched" => Ok(messages),
            "missing" => Err(missing(key)),
            "exists" => Err(HistoryStoreError::Exists {
                conversation: branch.to_owned(),
            }),
            _ => Err(unexpected_answer()),
        }
    }

    async fn delete(&self, key: &ConversationKey) -> Result<bool, HistoryStoreError> {
        let keys = ConversationKeys::new(self.keys(), key)?;
        let mut call = keys.call(&DELETE_CONVERSATION);
        call.arg("");
        let deleted: u64 = self.conversations().await?.script(&call).await?;
        Ok(deleted > 0)
    }

    async fn delete_unused(&self, since: u64) -> Result<u64, HistoryStoreError> {
        let mut deleted = 0;
        for bucket in 0..=u8::MAX {
            deleted += self.delete_unused_of(bucket, since).await?;
        }
        Ok(deleted)
    }
}
