//! Results and requests, which differ from those of Chat Completions in ids and in the order of messages.

use crate::providers::codec::{CallIds, ToolAnswer};
use crate::providers::request::{self, Request, RequestBody, chat_messages, function_call};
use crate::providers::turns::CONTINUE;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use tool_core::ToolCall;
use tool_core::call::ModelResult;

/// The model's text between results and the user's next message: the provider refuses the one right after the other.
const ACKNOWLEDGEMENT: &str = "I see.";

/// Writes one message for each result.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], _ids: &CallIds) -> Value {
    let message = |answer: &ToolAnswer<'_>| result_message(&answer.wire_id(short_id), answer.name(), &answer.result);
    answers.iter().map(message).collect()
}

/// Writes the body of a request.
pub(crate) fn request(request: &Request<'_>) -> Value {
    let messages = chat_messages(
        request,
        |text, calls, _| assistant_message(text.unwrap_or_default(), calls, request),
        |id, tool, result| result_message(&short_id(id), &request.declarations.written_name(tool), result),
    );
    RequestBody::new(request)
        .with("model", request.model)
        .with("messages", ordered(messages))
        .with_tools("none", "any")
        .with("stream", request.stream)
        .with_some("max_tokens", request.max_tokens)
        .finish()
}

/// Brings messages into an order that the provider accepts: the model says something between results and the user, and
/// does not have the last word.
fn ordered(messages: Vec<Value>) -> Vec<Value> {
    let mut ordered = Vec::<Value>::with_capacity(messages.len());
    let last_role = |messages: &[Value]| messages.last().map(|last| last["role"].clone()).unwrap_or_default();
    for message in messages {
        if message["role"] == "user" && last_role(&ordered) == "tool" {
            ordered.push(json!({"role": "assistant", "content": ACKNOWLEDGEMENT}));
        }
        ordered.push(message);
    }
    if last_role(&ordered) == "assistant" {
        ordered.push(json!({"role": "user", "content": CONTINUE}));
    }
    ordered
}

fn assistant_message(text: &str, calls: &[ToolCall], request: &Request<'_>) -> Option<Value> {
    if calls.is_empty() {
        return (!text.is_empty()).then(|| json!({"role": "assistant", "content": text}));
    }
    let calls = calls.iter().map(|call| function_call(&short_id(call.id()), call, request));
    Some(json!({"role": "assistant", "content": text, "tool_calls": calls.collect::<Value>()}))
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
            assert!(made.len() == 9 && made.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{made}");
            assert_eq!(made, short_id(id));
        }
        assert_ne!(short_id("call_1"), short_id("call_2"));
    }
}
