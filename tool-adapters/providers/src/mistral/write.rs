//! Results and requests, which differ from those of Chat Completions in ids and in the order of messages.

use crate::chat_steps::{ChatCall, ChatForm, ChatStep, chat_messages};
use crate::codec::{CallIds, ToolAnswer};
use crate::hosts::Host;
use crate::openai_chat::write::write_call;
use crate::request::{self, Request, RequestBody};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use tool_core::call::ModelResult;

struct MistralMessages;

/// Writes one message for each result.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], _ids: &CallIds) -> Value {
    let message = |answer: &ToolAnswer<'_>| {
        result_message(&answer.wire_id(short_id), &answer.name(), &answer.result)
    };
    answers.iter().map(message).collect()
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

    fn result(call: &ChatCall<'_>, result: &ModelResult, _host: &Host) -> Value {
        result_message(&call.id, &call.name, result)
    }

    fn conforming_id(id: &str) -> Cow<'_, str> {
        short_id(id)
    }
}

/// Writes a result. There is no mark for an error: its message says so.
fn result_message(id: &str, name: &str, result: &ModelResult) -> Value {
    json!({"role": "tool", "tool_call_id": id, "name": name, "content": request::text(result)})
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
