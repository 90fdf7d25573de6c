//! Results and requests.

use crate::accepted_parts::AcceptedParts;
use crate::chat_steps::{ChatCall, ChatForm, ChatStep, chat_messages, encode_results};
use crate::codec::{CallIds, ToolAnswer, chat_id};
use crate::hosts::Host;
use crate::message_parts::MediaPart;
use crate::mistral;
use crate::part_form::PartForm;
use crate::request::{Request, RequestBody, argument_text};
use crate::result_files::SplitResult;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use tool_core::call::ModelResult;

/// The reasoning of a message that another server's model wrote, or that has none. The servers that
/// need one refuse an empty text.
const NO_REASONING: &str = " ";

/// The signature of a call that no model of Google's made, or an older one, in its OpenAI form.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

pub(crate) struct ChatMessages;

/// Writes one message for each result, and one with their files.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], ids: &CallIds, host: &Host) -> Value {
    if host.rules.is_mistral {
        return mistral::write::encode(answers, ids, host);
    }
    let accepted = host.accepted_parts();
    let result = |answer: &ToolAnswer<'_>| {
        let id = answer.wire_id(chat_id);
        result_message(&id, &answer.result, accepted, host.rules.result_parts)
    };
    let results = answers.iter().map(result).collect();
    encode_results::<ChatMessages>(results, answers, accepted, host.rules.alternates)
}

impl PartForm for ChatMessages {
    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    fn image(image: &MediaPart<'_>) -> Option<Value> {
        Some(json!({"type": "image_url", "image_url": {"url": image.url()}}))
    }

    fn sound(sound: &MediaPart<'_>) -> Option<Value> {
        let format = match sound.mime_type.strip_prefix("audio/")? {
            "mpeg" => "mp3",
            format => format,
        };
        let sound = json!({"data": sound.base64()?, "format": format});
        Some(json!({"type": "input_audio", "input_audio": sound}))
    }

    fn document(document: &MediaPart<'_>) -> Option<Value> {
        let file = json!({"filename": document.file_name(), "file_data": document.url()});
        Some(json!({"type": "file", "file": file}))
    }
}

/// Writes the body of a request.
pub(crate) fn request(request: &Request<'_>, host: &Host) -> Value {
    let messages = if host.rules.is_mistral {
        mistral::write::messages(request, host)
    } else {
        chat_messages::<ChatMessages>(request, host)
    };
    // Without the option a stream does not report its usage.
    let reports_usage = request.stream && host.rules.stream_options;
    let stream_options = reports_usage.then(|| json!({"include_usage": true}));
    let required = if host.rules.forces_calls {
        "required"
    } else {
        "auto"
    };
    RequestBody::new(request)
        .with("model", request.model)
        .with("messages", messages)
        .with_tools("none", required)
        .with_some("stream", request.stream.then_some(true))
        .with_some("stream_options", stream_options)
        .with_some(host.rules.token_limit_name(), request.max_tokens)
        .finish()
}

impl ChatForm for ChatMessages {
    fn step(step: &ChatStep<'_>, host: &Host) -> Value {
        let mut message = Map::from_iter([("role".to_owned(), Value::from("assistant"))]);
        let parts = step
            .content_parts(&[])
            .filter(|_| host.rules.takes_member("content"));
        let content = parts.map_or_else(|| step.some_text().into(), Value::from);
        message.insert("content".to_owned(), content);

        let further = step.further_members(host);
        message.extend(further.map(|(name, value)| (name.clone(), value.clone())));
        if host.rules.needs_reasoning {
            message
                .entry("reasoning_content")
                .or_insert_with(|| NO_REASONING.into());
        }

        if !step.calls.is_empty() {
            let calls = step.calls.iter().map(|call| write_call(call, host));
            let mut calls = calls.collect::<Vec<_>>();
            if host.rules.needs_signature {
                sign(&mut calls);
            }
            message.insert("tool_calls".to_owned(), calls.into());
        }
        Value::Object(message)
    }

    fn result(call: &ChatCall<'_>, result: &ModelResult, host: &Host) -> Value {
        let accepted = host.accepted_parts();
        result_message(&call.id, result, accepted, host.rules.result_parts)
    }

    fn conforming_id(id: &str) -> Cow<'_, str> {
        chat_id(id)
    }
}

/// Signs the first call of a step, unless a call of it has a signature.
fn sign(calls: &mut [Value]) {
    let is_signed = |call: &Value| {
        let signature = call.pointer("/extra_content/google/thought_signature");
        signature.is_some_and(|signature| !signature.is_null())
    };
    if calls.iter().any(is_signed) {
        return;
    }
    if let Some(first) = calls.first_mut() {
        first["extra_content"] = json!({"google": {"thought_signature": NO_SIGNATURE}});
    }
}

/// Writes a call, with the members that the server sent beside it.
pub(crate) fn write_call(call: &ChatCall<'_>, host: &Host) -> Value {
    let native = call.native.as_ref();
    let is_custom =
        native.is_some_and(|native| native.get("type").is_some_and(|kind| kind == "custom"));
    let kind = if is_custom { "custom" } else { "function" };
    let mut written = Map::from_iter([
        ("id".to_owned(), call.id.as_str().into()),
        ("type".to_owned(), kind.into()),
    ]);

    let mut function = Map::from_iter([("name".to_owned(), Value::from(&*call.name))]);
    if is_custom {
        function.insert("input".to_owned(), call.call.arguments().into());
    } else {
        function.insert(
            "arguments".to_owned(),
            argument_text(call.call.arguments()).into(),
        );
    }
    // A server that takes few members in a message takes none in a call.
    let native = native.filter(|_| host.rules.members.is_none());
    add_further(
        &mut function,
        native.and_then(|native| native.get(kind)?.as_object()),
    );
    written.insert(kind.to_owned(), function.into());
    add_further(&mut written, native);
    Value::Object(written)
}

/// Adds the members that are not there.
fn add_further(written: &mut Map<String, Value>, native: Option<&Map<String, Value>>) {
    for (name, value) in native.into_iter().flatten() {
        written
            .entry(name.as_str())
            .or_insert_with(|| value.clone());
    }
}

/// Writes a result as text or text parts. There is no mark for an error: its message says so.
fn result_message(
    id: &str,
    result: &ModelResult,
    accepted: &AcceptedParts,
    takes_parts: bool,
) -> Value {
    let split = SplitResult::of(result, accepted);
    // An empty list of parts is refused.
    let has_parts = result.parts && !split.texts.is_empty();
    let content = if takes_parts && has_parts {
        let texts = split.texts.iter().map(|text| ChatMessages::text(text));
        texts.collect()
    } else {
        Value::from(split.text())
    };
    json!({"role": "tool", "tool_call_id": id, "content": content})
}
