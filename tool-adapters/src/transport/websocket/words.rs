//! What the host says, in the provider's words; and what only the transport reads.

use crate::providers::provider::Provider;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

/// A message, and whether the model is to answer to it. Gemini Live decides that itself.
pub(crate) struct Words {
    pub(crate) messages: Vec<Value>,
    pub(crate) asks: bool,
}

impl Words {
    fn of(message: Value, asks: bool) -> Self {
        Self { messages: vec![message], asks }
    }
}

/// A text of the user's, or a note.
pub(crate) fn text(provider: Provider, text: &str) -> Words {
    match provider {
        Provider::OpenAiRealtime => {
            let content = json!([{"type": "input_text", "text": text}]);
            let item = json!({"type": "message", "role": "user", "content": content});
            Words::of(json!({"type": "conversation.item.create", "item": item}), true)
        }
        _ => Words::of(json!({"realtimeInput": {"text": text}}), false),
    }
}

/// A piece of what the user says.
pub(crate) fn audio(provider: Provider, sound: &[u8], mime_type: &str) -> Words {
    let data = BASE64_STANDARD.encode(sound);
    match provider {
        Provider::OpenAiRealtime => Words::of(json!({"type": "input_audio_buffer.append", "audio": data}), false),
        _ => Words::of(json!({"realtimeInput": {"audio": {"data": data, "mimeType": mime_type}}}), false),
    }
}

/// The user has said what there was to say, for where the provider does not listen for that itself.
pub(crate) fn audio_end(provider: Provider) -> Words {
    match provider {
        Provider::OpenAiRealtime => Words::of(json!({"type": "input_audio_buffer.commit"}), true),
        _ => Words::of(json!({"realtimeInput": {"audioStreamEnd": true}}), false),
    }
}

/// The model is to stop speaking, where the provider can be told.
pub(crate) fn stop(provider: Provider) -> Option<Value> {
    (provider == Provider::OpenAiRealtime).then(|| json!({"type": "response.cancel"}))
}

/// The model is to speak, where it has to be told.
pub(crate) fn answer(provider: Provider) -> Option<Value> {
    (provider == Provider::OpenAiRealtime).then(|| json!({"type": "response.create"}))
}

/// The results of calls, message by message. The request for an answer is taken out: it has its time.
pub(crate) fn results(encoded: Value) -> Words {
    let mut messages = match encoded {
        Value::Array(messages) => messages,
        Value::Null => Vec::new(),
        message => vec![message],
    };
    let before = messages.len();
    messages.retain(|message| message["type"] != "response.create");
    Words { asks: messages.len() < before, messages }
}

/// Asks that the session can be resumed, or resumes it.
pub(crate) fn resumable(provider: Provider, mut setup: Value, handle: Option<&str>) -> Value {
    if provider == Provider::GeminiLive
        && let Some(setup) = setup.get_mut("setup").and_then(Value::as_object_mut)
    {
        let resumption = setup.entry("sessionResumption").or_insert_with(|| json!({}));
        if let (Some(handle), Some(resumption)) = (handle, resumption.as_object_mut()) {
            resumption.insert("handle".into(), handle.into());
        }
    }
    setup
}

/// Keeps the handle by which the session can be resumed from here on, or forgets it where that cannot be at the moment.
pub(crate) fn keep_handle(message: &Value, kept: &mut Option<String>) {
    let Some(update) = message.get("sessionResumptionUpdate") else { return };
    let handle = update.get("newHandle").and_then(Value::as_str).filter(|handle| !handle.is_empty());
    let resumable = update.get("resumable").and_then(Value::as_bool).unwrap_or(handle.is_some());
    *kept = handle.filter(|_| resumable).map(str::to_owned);
}

/// Whether the provider says that the setup is done.
pub(crate) fn is_set_up(message: &Value) -> bool {
    message.get("setupComplete").is_some()
}

/// Whether the provider says that the model begins to speak.
pub(crate) fn begins(message: &Value) -> bool {
    message["type"] == "response.created"
}
