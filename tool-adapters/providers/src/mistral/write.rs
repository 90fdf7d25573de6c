//! Results and requests, which differ from those of Chat Completions in ids and in the order of
//! messages.

use crate::accepted_parts::AcceptedParts;
use crate::chat_steps::{ChatCall, ChatForm, ChatStep, chat_messages, encode_results};
use crate::codec::{CallIds, ToolAnswer};
use crate::hosts::Host;
use crate::message_parts::{MediaPart, MediaSource};
use crate::openai_chat::write::write_call;
use crate::part_form::PartForm;
use crate::request::{Request, RequestBody};
use crate::result_files::SplitResult;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use tool_core::call::ModelResult;

pub(crate) struct MistralMessages;

/// Writes one message for each result, and one with their files.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], _ids: &CallIds, host: &Host) -> Value {
    let accepted = host.accepted_parts();
    let message = |answer: &ToolAnswer<'_>| {
        let id = answer.wire_id(short_id);
        result_message(&id, &answer.name(), &answer.result, accepted)
    };
    let results = answers.iter().map(message).collect();
    encode_results::<MistralMessages>(results, answers, accepted, true)
}

impl PartForm for MistralMessages {
    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    fn image(image: &MediaPart<'_>) -> Option<Value> {
        Some(json!({"type": "image_url", "image_url": image.url()}))
    }

    /// Writes the URL, or the base64 without its type.
    fn sound(sound: &MediaPart<'_>) -> Option<Value> {
        let (MediaSource::Base64(sound) | MediaSource::Url(sound)) = sound.source;
        Some(json!({"type": "input_audio", "input_audio": sound}))
    }

    fn document(document: &MediaPart<'_>) -> Option<Value> {
        let mut written = json!({"type": "document_url", "document_url": document.url()});
        if let Some(name) = document.name {
            written["document_name"] = name.into();
        }
        Some(written)
    }
}

/// Writes the body of a request.
pub(crate) fn request(request: &Request<'_>, host: &Host) -> Value {
    RequestBody::new(request)
        .with("model", request.model)
        .with("messages", messages(request, host))
        .with_tools("none", "any")
        .with("stream", request.stream)
        .with_some("max_tokens", request.max_tokens)
        .finish()
}

/// Returns the history in the form of Mistral's messages.
pub(crate) fn messages(request: &Request<'_>, host: &Host) -> Vec<Value> {
    chat_messages::<MistralMessages>(request, host)
}

impl ChatForm for MistralMessages {
    fn step(step: &ChatStep<'_>, host: &Host) -> Value {
        let parts = step.content_parts(&["text", "thinking"]);
        let content = parts.map_or_else(|| step.text.into(), Value::from);
        let mut message = json!({"role": "assistant", "content": content});
        if !step.calls.is_empty() {
            message["tool_calls"] = step
                .calls
                .iter()
                .map(|call| write_call(call, host))
                .collect();
        }
        message
    }

    fn result(call: &ChatCall<'_>, result: &ModelResult, host: &Host) -> Value {
        result_message(&call.id, &call.name, result, host.accepted_parts())
    }

    fn conforming_id(id: &str) -> Cow<'_, str> {
        short_id(id)
    }
}

/// Writes a result. There is no mark for an error: its message says so.
fn result_message(id: &str, name: &str, result: &ModelResult, accepted: &AcceptedParts) -> Value {
    let content = SplitResult::of(result, accepted).text();
    json!({"role": "tool", "tool_call_id": id, "name": name, "content": content})
}

/// Returns an id of the form `[a-zA-Z0-9]{9}`: the id itself, or one that depends on it alone.
fn short_id(id: &str) -> Cow<'_, str> {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    if id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Cow::Borrowed(id);
    }
    let digits = Sha256::digest(id).into_iter().take(9).map(|byte| {
        let digit = DIGITS.get(usize::from(byte) % DIGITS.len());
        char::from(digit.copied().unwrap_or(b'0'))
    });
    Cow::Owned(digits.collect())
}

#[cfg(test)]
mod tests {
    use super::short_id;

    #[test]
    fn keeps_an_id_of_nine_letters_and_digits() {
        assert_eq!(short_id("D681PevKs"), "D681PevKs");
    }

    #[test]
    fn replaces_any_other_id_by_one_that_depends_on_it_alone() {
        let long = "x".repeat(65);
        for id in ["", "a b", "ä", &long, "call_1"] {
            let made = short_id(id);
            assert!(
                made.len() == 9 && made.bytes().all(|byte| byte.is_ascii_alphanumeric()),
                "{made}"
            );
            assert_eq!(made, short_id(id));
        }
        assert_ne!(short_id("call_1"), short_id("call_2"));
    }
}
