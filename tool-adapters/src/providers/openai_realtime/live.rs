//! The messages of a Realtime session that are not part of the conversation.

use crate::providers::spec::{LiveMessage, LiveMessages};
use serde_json::{Value, json};

/// The messages of a Realtime session.
pub(crate) struct RealtimeMessages;

impl LiveMessages for RealtimeMessages {
    fn text(&self, text: &str) -> LiveMessage {
        let content = json!([{"type": "input_text", "text": text}]);
        let item = json!({"type": "message", "role": "user", "content": content});
        LiveMessage::wanting_response(json!({"type": "conversation.item.create", "item": item}))
    }

    fn audio(&self, base64: &str, _mime_type: &str) -> LiveMessage {
        json!({"type": "input_audio_buffer.append", "audio": base64}).into()
    }

    fn audio_end(&self) -> LiveMessage {
        LiveMessage::wanting_response(json!({"type": "input_audio_buffer.commit"}))
    }

    fn cancel_response(&self) -> Option<Value> {
        Some(json!({"type": "response.cancel"}))
    }

    fn request_response(&self) -> Option<Value> {
        Some(json!({"type": "response.create"}))
    }

    /// Takes the request for a response out of the results: the transport sends it once the model may answer.
    fn results(&self, encoded: Value) -> LiveMessage {
        let Value::Array(mut messages) = encoded else { return encoded.into() };
        let before = messages.len();
        messages.retain(|message| message["type"] != "response.create");
        LiveMessage { wants_response: messages.len() < before, messages }
    }

    fn begins_response(&self, message: &Value) -> bool {
        message["type"] == "response.created"
    }
}
