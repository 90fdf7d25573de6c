//! The events of the protocol.

use serde::Serialize;
use serde_json::Value;

/// An event of the protocol. It serialises into the protocol's JSON.
///
/// ```
/// use tool_adapters::ag_ui::RunEvent;
///
/// let event = RunEvent::TextMessageContent { message_id: "m-1".into(), delta: "Hi".into() };
/// assert_eq!(event.to_sse(), "data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m-1\",\"delta\":\"Hi\"}\n\n");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(
    tag = "type",
    rename_all = "SCREAMING_SNAKE_CASE",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
#[allow(
    missing_docs,
    reason = "the members have the names and meanings of the protocol"
)]
pub enum RunEvent {
    /// The first event of a run.
    RunStarted {
        thread_id: String,
        run_id: String,
        protocol_version: &'static str,
    },
    /// The model begins to reason.
    ReasoningStart { message_id: String },
    /// A message of reasoning begins.
    ReasoningMessageStart {
        message_id: String,
        role: &'static str,
    },
    /// A piece of reasoning.
    ReasoningMessageContent { message_id: String, delta: String },
    /// The message of reasoning has ended.
    ReasoningMessageEnd { message_id: String },
    /// The model has ended to reason.
    ReasoningEnd { message_id: String },
    /// A text begins.
    TextMessageStart {
        message_id: String,
        role: &'static str,
    },
    /// A piece of text.
    TextMessageContent { message_id: String, delta: String },
    /// The text has ended.
    TextMessageEnd { message_id: String },
    /// A call begins.
    ToolCallStart {
        tool_call_id: String,
        tool_call_name: String,
        parent_message_id: String,
    },
    /// The arguments of a call.
    ToolCallArgs { tool_call_id: String, delta: String },
    /// The arguments of a call are whole.
    ToolCallEnd { tool_call_id: String },
    /// The result of a call.
    ToolCallResult {
        message_id: String,
        tool_call_id: String,
        content: String,
        role: &'static str,
    },
    /// The work of a tool, which replaces what was shown of it before.
    ActivitySnapshot {
        message_id: String,
        activity_type: &'static str,
        content: Value,
    },
    /// An event that the protocol does not have.
    Custom { name: &'static str, value: Value },
    /// The last event of a run that has not failed.
    RunFinished {
        thread_id: String,
        run_id: String,
        outcome: Value,
        usage: Vec<Value>,
    },
    /// The last event of a run that has failed.
    RunError {
        message: String,
        code: &'static str,
        usage: Vec<Value>,
    },
}

impl RunEvent {
    /// Returns the event as a server-sent event.
    pub fn to_sse(&self) -> String {
        // No member has a key that is not a text, so it serialises.
        let json = serde_json::to_string(self).unwrap_or_default();
        format!("data: {json}\n\n")
    }
}
