//! The messages of a Gemini Live session that are not part of the conversation.

use crate::providers::spec::{LiveMessage, LiveMessages, ResumptionHandle};
use serde_json::{Value, json};

/// The messages of a Gemini Live session.
pub(crate) struct GeminiLiveMessages;

impl LiveMessages for GeminiLiveMessages {
    fn text(&self, text: &str) -> LiveMessage {
        json!({"realtimeInput": {"text": text}}).into()
    }

    fn audio(&self, base64: &str, mime_type: &str) -> LiveMessage {
        json!({"realtimeInput": {"audio": {"data": base64, "mimeType": mime_type}}}).into()
    }

    fn audio_end(&self) -> LiveMessage {
        json!({"realtimeInput": {"audioStreamEnd": true}}).into()
    }

    fn resumable(&self, mut setup: Value, handle: Option<&str>) -> Value {
        if let Some(setup) = setup.get_mut("setup").and_then(Value::as_object_mut) {
            let resumption = setup.entry("sessionResumption").or_insert_with(|| json!({}));
            if let (Some(handle), Some(resumption)) = (handle, resumption.as_object_mut()) {
                resumption.insert("handle".into(), handle.into());
            }
        }
        setup
    }

    fn resumption_handle(&self, message: &Value) -> Option<ResumptionHandle> {
        let update = message.get("sessionResumptionUpdate")?;
        let handle = update.get("newHandle").and_then(Value::as_str).filter(|handle| !handle.is_empty());
        let resumable = update.get("resumable").and_then(Value::as_bool).unwrap_or(handle.is_some());
        Some(handle.filter(|_| resumable).map(str::to_owned))
    }

    fn confirms_setup(&self, message: &Value) -> bool {
        message.get("setupComplete").is_some()
    }
}
