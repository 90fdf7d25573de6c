//! What the server of a Live session sends.

use crate::protocol::fields::{Json, Object, Objects, Text};
use crate::protocol::gemini::{Call, Content, Counts};
use serde::Deserialize;

/// A message.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Message<'a> {
    #[serde(borrow, default, alias = "server_content")]
    pub(super) server_content: Object<ServerContent<'a>>,
    #[serde(borrow, default, alias = "tool_call")]
    pub(super) tool_call: Object<ToolCall<'a>>,
    #[serde(borrow, default, alias = "tool_call_cancellation")]
    pub(super) tool_call_cancellation: Object<Cancellation<'a>>,
    #[serde(default, alias = "usage_metadata")]
    pub(super) usage_metadata: Object<Counts>,
    #[serde(borrow, default)]
    pub(super) error: Json<'a>,
    /// For the transport: the connection will be closed soon.
    #[serde(borrow, default, alias = "go_away")]
    pub(super) go_away: Json<'a>,
    /// For the transport: what the session can be taken up again with.
    #[serde(borrow, default, alias = "session_resumption_update")]
    pub(super) session_resumption_update: Json<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServerContent<'a> {
    #[serde(borrow, default, alias = "model_turn")]
    pub(super) model_turn: Object<Content<'a>>,
    #[serde(borrow, default, alias = "turn_complete")]
    pub(super) turn_complete: Text<'a>,
    #[serde(borrow, default, alias = "turn_complete_reason")]
    pub(super) turn_complete_reason: Text<'a>,
    #[serde(borrow, default, alias = "generation_complete")]
    pub(super) generation_complete: Text<'a>,
    #[serde(borrow, default)]
    pub(super) interrupted: Text<'a>,
    /// What the user has said, as it is understood.
    #[serde(borrow, default, alias = "input_transcription")]
    pub(super) input_transcription: Json<'a>,
    #[serde(borrow, default, alias = "output_transcription")]
    pub(super) output_transcription: Object<Transcription<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Transcription<'a> {
    #[serde(borrow, default)]
    pub(super) text: Text<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolCall<'a> {
    #[serde(borrow, default, alias = "function_calls")]
    pub(super) function_calls: Objects<Call<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Cancellation<'a> {
    #[serde(borrow, default)]
    pub(super) ids: Json<'a>,
}
