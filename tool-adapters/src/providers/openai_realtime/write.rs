//! Messages to the session: results, settings, and the user's text and audio.

use crate::providers::call_ids::{CallIds, short_id};
use crate::providers::codec::ToolAnswer;
use crate::providers::request::{self, Request, RequestBody};
use crate::providers::spec::{LiveMessage, LiveMessages};
use serde_json::{Value, json};
use tool_core::session::ToolChoice;

/// Writes an event that adds each result, and one that asks the model to answer, unless no result wants a reply.
/// Results are text only.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], _ids: &CallIds) -> Value {
    let results = answers.iter().map(|answer| {
        json!({"type": "conversation.item.create", "item": {
            "type": "function_call_output",
            "call_id": answer.wire_id(short_id),
            "output": request::text(&answer.result),
        }})
    });
    let reply = answers.iter().any(|answer| answer.result.reply);
    results.chain(reply.then(|| json!({"type": "response.create"}))).collect()
}

/// Writes the event that sets up the session. The model is named by the URL, the server keeps the conversation, and the
/// caller's settings are those of the session.
pub(crate) fn request(request: &Request<'_>) -> Value {
    let instructions = Some(request.instructions).filter(|text| !text.is_empty());
    let no_tools = request.declarations.is_empty();
    let auto = !no_tools && request.tool_choice == ToolChoice::Auto;
    let session = RequestBody::new(request)
        .with("type", "realtime")
        .with_some("instructions", instructions)
        .with_tools("none", "required")
        // A setting that is left out stays as the session has it.
        .with_some("tools", no_tools.then(|| json!([])))
        .with_some("tool_choice", auto.then_some("auto"))
        .with_some("max_output_tokens", request.max_tokens)
        .finish();
    json!({"type": "session.update", "session": session})
}

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
