//! Helpers of the conformance tests. They panic if the store fails.

use crate::call::{ModelResult, ToolCall};
use crate::session::message::Message;
use crate::session::raw_turn::RawTurn;
use crate::session::store::{ConversationKey, DynHistoryStore, StoredConversation};
use crate::session::user_message::UserMessage;
use crate::tool::ProviderId;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// A store under test, which no other test uses. It begins without conversations.
pub trait HistoryStoreUnderTest: Send + Sync {
    /// The shortest time that the store distinguishes from none.
    const TICK: Duration;

    /// Returns a handle of the store, as another process would have it.
    fn handle(&self) -> impl Future<Output = Arc<dyn DynHistoryStore>> + Send;

    /// Lets this much of the store's time pass.
    fn pass(&self, time: Duration) -> impl Future<Output = ()> + Send;

    /// Replaces the stored text of a message by hand, as another program may. Returns false if
    /// nobody can.
    fn overwrite(
        &self,
        key: &ConversationKey,
        position: u64,
        text: &str,
    ) -> impl Future<Output = bool> + Send;
}

/// Returns the key of a conversation of the principal that most tests have.
pub fn key(id: &str) -> ConversationKey {
    ConversationKey::new(id, "ada")
}

/// Returns a message of the user that differs for each number.
pub fn said(number: u64) -> Message {
    Message::user(format!("message {number}"))
}

/// Returns messages of the user with these numbers.
pub fn said_each(numbers: std::ops::Range<u64>) -> Vec<Message> {
    numbers.map(said).collect()
}

/// Returns a step of the model with two calls.
pub fn calls() -> Message {
    let arguments = r#"{"exact":123456789012345678901234567890,"price":1.10,"text":"\u0000 ü"}"#;
    let native = RawTurn {
        provider: ProviderId::from_static("anthropic"),
        items: vec![json!({"type": "thinking", "thinking": "\u{0} Hm.", "signature": "c2ln"})],
    };
    Message::Assistant {
        text: Some("I look. \u{0} \u{1F980}".to_owned()),
        calls: ["call_1", "call_2"]
            .map(|id| ToolCall::new(id, "look", arguments))
            .to_vec(),
        native: Some(native),
    }
}

/// Returns the result of a call of [`calls`].
pub fn result(call_id: &str) -> Message {
    Message::Result {
        call_id: call_id.to_owned(),
        tool: "look".to_owned(),
        result: ModelResult {
            text: r#"{"found":["\u0000"],"of":9007199254740993}"#.to_owned(),
            is_error: false,
            reply: true,
            parts: false,
            is_text: false,
            goes_on: false,
        },
    }
}

/// Returns a conversation with messages of each kind.
pub fn all_kinds() -> Vec<Message> {
    let picture =
        UserMessage::new("What is this?\u{0} \"'\\").image("R0lGODlhAQABAAAAADs=", "image/gif");
    vec![
        Message::User(picture),
        calls(),
        result("call_1"),
        result("call_2"),
        Message::Assistant {
            text: None,
            calls: Vec::new(),
            native: None,
        },
        Message::user(""),
    ]
}

/// Appends messages to a conversation of which the writer knows `expected`.
pub async fn append(
    store: &dyn DynHistoryStore,
    key: &ConversationKey,
    expected: u64,
    messages: &[Message],
) -> u64 {
    let appended = store.append(key, expected, messages).await;
    appended.expect("the store appends")
}

/// Loads a conversation that is there.
pub async fn load(store: &dyn DynHistoryStore, key: &ConversationKey) -> StoredConversation {
    let loaded = store.load(key, 0).await.expect("the store loads");
    loaded.expect("the conversation is there")
}

/// Returns true if a conversation is there.
pub async fn exists(store: &dyn DynHistoryStore, key: &ConversationKey) -> bool {
    let loaded = store.load(key, 0).await.expect("the store loads");
    loaded.is_some()
}

/// Returns the ids of the conversations of a principal, in the order of the list.
pub async fn listed(store: &dyn DynHistoryStore, principal: &str) -> Vec<String> {
    let page = store.list(principal, None, 1_000).await;
    let page = page.expect("the store lists").into_iter();
    page.map(|summary| summary.id).collect()
}
