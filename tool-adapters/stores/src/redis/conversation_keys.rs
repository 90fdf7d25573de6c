//! The keys of a conversation.

use crate::redis::keys::{KeySpace, conversation_bucket, part};
use crate::redis::script::{LuaScript, ScriptCall};
use tool_core::session::{ConversationKey, HistoryStoreError};

/// The keys and the names of a conversation.
pub(crate) struct ConversationKeys {
    /// The hash, the list of messages, the list of the principal's conversations, and that of all
    /// in the bucket.
    pub(crate) keys: [String; 4],
    /// The name in the list of the principal.
    pub(crate) id: String,
    /// The name in the list of the bucket: the parts of principal and id, with a colon between
    /// them.
    pub(crate) member: String,
}

impl ConversationKeys {
    pub(crate) fn new(keys: &KeySpace, key: &ConversationKey) -> Result<Self, HistoryStoreError> {
        key.check()?;
        let bucket = conversation_bucket(key.principal());
        let member = format!("{}:{}", part(key.principal()), part(key.id()));
        Ok(Self::of_member(keys, bucket, &member))
    }

    /// Returns the keys of the conversation with this name in the list of a bucket.
    pub(crate) fn of_member(keys: &KeySpace, bucket: u8, member: &str) -> Self {
        let base = keys.conversations(bucket);
        let (principal, id) = member.split_once(':').unwrap_or((member, ""));
        Self {
            keys: [
                format!("{base}:{member}:conversation"),
                format!("{base}:{member}:messages"),
                format!("{base}:{principal}:conversations"),
                bucket_key(keys, bucket),
            ],
            id: id.to_owned(),
            member: member.to_owned(),
        }
    }

    pub(crate) fn head(&self) -> &str {
        let [head, ..] = &self.keys;
        head
    }

    /// Begins a call of a script that changes the conversation.
    pub(crate) fn call(&self, script: &'static LuaScript) -> ScriptCall {
        let mut call = script.key(&self.keys[..]);
        call.arg(&self.id).arg(&self.member);
        call
    }
}

/// Returns the key of the list of all conversations of a bucket.
pub(crate) fn bucket_key(keys: &KeySpace, bucket: u8) -> String {
    format!("{}:all", keys.conversations(bucket))
}
