//! Results and requests.

use crate::accepted_parts::{AcceptedMedia, AcceptedParts, extension_of};
use crate::anthropic::write::leave_out_thinking;
use crate::bedrock::models;
use crate::codec::{CallIds, ToolAnswer};
use crate::hosts::Host;
use crate::message_parts::MediaPart;
use crate::part_form::{PartForm, write_result_parts};
use crate::request::{Request, RequestBody, UNAVAILABLE, choice_name, declare_called, tools};
use crate::turns::{
    self, ACKNOWLEDGEMENT, ChatTurn, TurnForm, exact_json, goes_on_without_thought,
};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use tool_core::call::ModelResult;

/// The text beside a document in a message without one: the provider refuses such a message.
const SEE_DOCUMENT: &str = "See the document.";

/// The provider's form of the parts of a turn.
pub(crate) struct ConverseTurns;

impl PartForm for ConverseTurns {
    fn text(text: &str) -> Value {
        json!({"text": text})
    }

    fn image(image: &MediaPart<'_>) -> Option<Value> {
        block("image", image.mime_type.strip_prefix("image/")?, image)
    }

    fn sound(sound: &MediaPart<'_>) -> Option<Value> {
        let format = match sound.mime_type.strip_prefix("audio/")? {
            "mpeg" => "mp3",
            "mp4" => "m4a",
            format => format,
        };
        block("audio", format, sound)
    }

    fn video(video: &MediaPart<'_>) -> Option<Value> {
        let format = match video.mime_type.strip_prefix("video/")? {
            "quicktime" => "mov",
            "x-matroska" => "mkv",
            "x-flv" => "flv",
            "3gpp" => "three_gp",
            format => format,
        };
        block("video", format, video)
    }

    fn document(document: &MediaPart<'_>) -> Option<Value> {
        let mut written = block("document", extension_of(&document.mime_type)?, document)?;
        written["document"]["name"] = document_name(&document.file_name()).into();
        Some(written)
    }
}

/// Writes a block with bytes. The provider loads no URLs.
fn block(kind: &str, format: &str, media: &MediaPart<'_>) -> Option<Value> {
    Some(json!({kind: {"format": format, "source": {"bytes": media.base64()?}}}))
}

/// Returns a name as the provider takes it: letters, digits, single spaces, hyphens, parentheses
/// and brackets, without the extension.
fn document_name(file_name: &str) -> String {
    const MAX_NAME: usize = 100;
    let stem = file_name
        .rsplit_once('.')
        .map_or(file_name, |(stem, _)| stem);
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "-()[]".contains(letter);
    let words = stem.split(|letter| !is_allowed(letter));
    let words = words.filter(|word| !word.is_empty()).collect::<Vec<_>>();
    let name = words.join(" ").chars().take(MAX_NAME).collect::<String>();
    if name.trim().is_empty() {
        "document".to_owned()
    } else {
        name.trim().to_owned()
    }
}

/// Gives the documents of a request names of their own ("Messages can't contain duplicate document
/// names"), and each message with a document a text.
fn tidy_documents(messages: &mut [Value]) {
    let mut names = HashSet::new();
    for message in messages {
        let Some(content) = message["content"].as_array_mut() else {
            continue;
        };
        let has_document = content.iter().any(|block| block.get("document").is_some());
        let has_text = content.iter().any(|block| block.get("text").is_some());
        for block in content.iter_mut() {
            rename_document(block, &mut names);
            let in_result = block
                .pointer_mut("/toolResult/content")
                .and_then(Value::as_array_mut);
            for block in in_result.into_iter().flatten() {
                rename_document(block, &mut names);
            }
        }
        if has_document && !has_text {
            content.push(ConverseTurns::text(SEE_DOCUMENT));
        }
    }
}

fn rename_document(block: &mut Value, names: &mut HashSet<String>) {
    let Some(Value::String(name)) = block.pointer_mut("/document/name") else {
        return;
    };
    let given = name.clone();
    let mut number = 1;
    // The provider does not tell capital letters from small ones.
    while !names.insert(name.to_ascii_lowercase()) {
        number += 1;
        *name = format!("{given} ({number})");
    }
}

/// Writes one message with all results of a step.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], ids: &CallIds, host: &Host) -> Value {
    let mut message = turns::encode::<ConverseTurns>(answers, ids, host);
    tidy_documents(std::slice::from_mut(&mut message));
    message
}

impl TurnForm for ConverseTurns {
    fn call(id: &str, name: &str, input: Map<String, Value>, _position: usize) -> Value {
        json!({"toolUse": {"toolUseId": id, "name": name, "input": input}})
    }

    fn result(id: &str, _name: &str, result: &ModelResult, accepted: &AcceptedParts) -> Value {
        // A result has no sounds.
        let accepted = AcceptedParts {
            sounds: AcceptedMedia::NONE,
            ..*accepted
        };
        let mut content = match result.content() {
            Some(parts) => write_result_parts::<Self>(&parts, &accepted),
            None => data_content(result).into_iter().collect::<Vec<_>>(),
        };
        // Blank texts are refused, and so is empty content.
        if content.is_empty() {
            content.push(json!({"json": {}}));
        }
        json!({"toolResult": {"toolUseId": id, "content": content}})
    }

    /// Others refuse the mark: "This model doesn't support the status field".
    fn mark_error(result: &mut Value, model: &str) {
        if models::is_claude_or_nova(model) {
            result["toolResult"]["status"] = "error".into();
        }
    }

    fn call_id(item: &Value) -> Option<&str> {
        let call = item
            .get("toolUse")
            .filter(|call| call.get("type").is_none_or(Value::is_null))?;
        Some(
            call.get("toolUseId")
                .and_then(Value::as_str)
                .unwrap_or_default(),
        )
    }

    fn set_call(item: &mut Value, id: &str, name: &str, input: Map<String, Value>) {
        if let Some(call) = item.get_mut("toolUse").and_then(Value::as_object_mut) {
            call.insert("toolUseId".to_owned(), id.into());
            call.insert("name".to_owned(), name.into());
            call.insert("input".to_owned(), input.into());
        }
    }

    fn echo(item: &Value, _host: &Host) -> Option<Value> {
        let is_blank = item["text"]
            .as_str()
            .is_some_and(|text| text.trim().is_empty());
        // Models that do not sign their reasoning do not take it back.
        let reasoning = item
            .get("reasoningContent")
            .and_then(|reasoning| reasoning.get("reasoningText"));
        let is_unsigned = reasoning.is_some_and(|reasoning| {
            reasoning["signature"]
                .as_str()
                .is_none_or(|signature| signature.trim().is_empty())
        });
        (!is_blank && !is_unsigned).then(|| item.clone())
    }

    fn is_thought(item: &Value) -> bool {
        item.get("reasoningContent").is_some()
    }

    fn takes_stored_thoughts(model: &str) -> bool {
        models::takes_stored_thoughts(model)
    }

    fn takes_files_in_results(model: &str) -> bool {
        models::takes_files_in_results(model)
    }

    /// Llama's and Mistral's models refuse a turn that has more than results. Which model a profile
    /// stands for is not known.
    fn acknowledgement(model: &str) -> Option<&'static str> {
        (!models::is_claude_or_nova(model)).then_some(ACKNOWLEDGEMENT)
    }
}

/// Writes an object as JSON, other data as its text.
fn data_content(result: &ModelResult) -> Option<Value> {
    if result.text.trim().is_empty() {
        return None;
    }
    let json = Some(&result.text).filter(|_| !result.is_text);
    let object = json
        .and_then(|text| exact_json(text, u64::MAX))
        .filter(Value::is_object);
    Some(object.map_or_else(
        || json!({"text": result.text}),
        |object| json!({"json": object}),
    ))
}

/// Writes the body of a request. The model is named by the URL. The provider has no word for a
/// choice of no calls, so calls that come nevertheless are ignored by the session.
pub(crate) fn request(request: &Request<'_>, host: &Host) -> Value {
    let turns = turns::turns::<ConverseTurns>(request, host);
    let mut settings = request.extra.clone();
    if goes_on_without_thought::<ConverseTurns>(&turns) {
        leave_out_fields_of_thinking(&mut settings);
    }
    let request = &Request {
        extra: &settings,
        ..*request
    };
    let mut messages = turns
        .into_iter()
        .map(ChatTurn::into_message)
        .collect::<Vec<_>>();
    tidy_documents(&mut messages);

    let system = Some(request.instructions).filter(|text| !text.trim().is_empty());
    RequestBody::new(request)
        .with("messages", messages)
        .with_some("system", system.map(|text| json!([{"text": text}])))
        .with_some(
            "inferenceConfig",
            request.max_tokens.map(|most| json!({"maxTokens": most})),
        )
        .with_some("toolConfig", tool_config(request))
        .finish_merged()
}

/// Leaves Claude's thinking with a budget out of the settings of a request.
fn leave_out_fields_of_thinking(settings: &mut Map<String, Value>) {
    const FIELDS: &str = "additionalModelRequestFields";
    let Some(fields) = settings.get_mut(FIELDS).and_then(Value::as_object_mut) else {
        return;
    };
    leave_out_thinking(fields);
    if fields.is_empty() {
        settings.remove(FIELDS);
    }
}

/// A request without tools declares those of its calls: calls and results are refused without a
/// `toolConfig`.
fn tool_config(request: &Request<'_>) -> Option<Value> {
    if request.declarations.is_empty() {
        let schema = json!({"json": {"type": "object", "properties": {}}});
        let declare = |name: &str| json!({"toolSpec": {"name": name, "description": UNAVAILABLE, "inputSchema": schema}});
        return declare_called(request, declare).map(|tools| json!({"tools": tools}));
    }
    let mut config = json!({"tools": tools(request)});
    let is_forced = choice_name(request, "none", "any") == Some("any");
    if is_forced && models::takes_any_choice(request.model) {
        config["toolChoice"] = json!({"any": {}});
    }
    Some(config)
}
