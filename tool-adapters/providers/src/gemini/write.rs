//! Results, requests, and declarations with their schemas.

use crate::accepted_parts::{AcceptedMedia, AcceptedParts};
use crate::codec::{CallIds, ToolAnswer};
use crate::declared_tool::{DeclaredTool, ObjectText};
use crate::gemini::generation::generation_of;
use crate::hosts::Host;
use crate::message_parts::{MediaPart, MediaSource, MessagePart, read_result_part};
use crate::part_form::{PartForm, write_media};
use crate::request::{Request, RequestBody, choice_name, tools};
use crate::schema::rules::{SchemaForm, SchemaSubset, TypeSet};
use crate::turns::{ChatTurn, TurnForm, exact_json, turns};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use tool_core::call::ModelResult;
use tool_core::schema::is_standard_format;

/// The signature of a call that no model of this provider made, or an older one: newer models refuse
/// the first call of a step without one.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The largest whole number that Gemini keeps: its objects hold doubles.
const MAX_EXACT: u64 = 1 << 53;

/// The parts that a result may have beside text.
const IN_RESULTS: AcceptedParts = AcceptedParts {
    images: AcceptedMedia::bytes(&["image/png", "image/jpeg", "image/webp"]),
    documents: AcceptedMedia::bytes(&["application/pdf"]),
    ..AcceptedParts::TEXT
};

/// The provider's form of the parts of a turn.
pub(crate) struct GeminiTurns;

impl PartForm for GeminiTurns {
    fn text(text: &str) -> Value {
        json!({"text": text})
    }

    fn image(image: &MediaPart<'_>) -> Option<Value> {
        Some(data_part(image))
    }

    fn sound(sound: &MediaPart<'_>) -> Option<Value> {
        Some(data_part(sound))
    }

    fn video(video: &MediaPart<'_>) -> Option<Value> {
        Some(data_part(video))
    }

    fn document(document: &MediaPart<'_>) -> Option<Value> {
        Some(data_part(document))
    }
}

/// Writes a part of any kind, which the provider tells apart by the type.
fn data_part(media: &MediaPart<'_>) -> Value {
    match media.source {
        MediaSource::Base64(data) => {
            json!({"inlineData": {"mimeType": media.mime_type, "data": data}})
        }
        MediaSource::Url(url) => json!({"fileData": {"mimeType": media.mime_type, "fileUri": url}}),
    }
}

impl TurnForm for GeminiTurns {
    const SEPARATE_RESULTS: bool = true;
    const IDS: bool = false;

    fn call(_id: &str, name: &str, input: Map<String, Value>, position: usize) -> Value {
        let call = json!({"name": name, "args": input});
        match position {
            0 => json!({"functionCall": call, "thoughtSignature": NO_SIGNATURE}),
            _ => json!({"functionCall": call}),
        }
    }

    fn result(id: &str, name: &str, result: &ModelResult, accepted: &AcceptedParts) -> Value {
        json!({"functionResponse": function_response(id, name, result, accepted)})
    }

    fn call_id(item: &Value) -> Option<&str> {
        let call = member(item, "functionCall", "function_call")?;
        Some(call.get("id").and_then(Value::as_str).unwrap_or_default())
    }

    fn set_call(item: &mut Value, id: &str, name: &str, input: Map<String, Value>) {
        let member = if item.get("functionCall").is_some() {
            "functionCall"
        } else {
            "function_call"
        };
        if let Some(call) = item.get_mut(member).and_then(Value::as_object_mut) {
            call.insert("name".to_owned(), name.into());
            call.insert("args".to_owned(), input.into());
            if !id.is_empty() {
                call.insert("id".to_owned(), id.into());
            }
        }
    }

    fn echo(item: &Value, _host: &Host) -> Option<Value> {
        let unsigned = signature(item).is_none();
        let is_empty = item.as_object()?.is_empty() || unsigned && item["text"] == "";
        (!is_empty).then(|| item.clone())
    }

    /// Models before Gemini 3 need no signature, and may have made a step without one.
    fn sign(content: &mut [Value], model: &str) {
        let needs_none = generation_of(model).is_some_and(|generation| generation < 3);
        let is_call = |item: &Value| Self::call_id(item).is_some();
        let is_signed = |item: &Value| is_call(item) && signature(item).is_some();
        if needs_none || content.iter().any(is_signed) {
            return;
        }
        if let Some(first) = content.iter_mut().find(|item| is_call(item)) {
            first["thoughtSignature"] = NO_SIGNATURE.into();
        }
    }

    /// A turn of thoughts alone, or of a signature, says nothing.
    fn tidy(turns: &mut [ChatTurn], _request: &Request<'_>) {
        let says_something = |item: &Value| match item.get("text") {
            Some(text) => {
                item["thought"] != true && text.as_str().is_some_and(|text| !text.trim().is_empty())
            }
            None => true,
        };
        for turn in turns.iter_mut().filter(|turn| turn.is_model) {
            if !turn.content.iter().any(says_something) {
                turn.content.clear();
            }
        }
    }

    /// Models before Gemini 3 refuse them: "`function_response.parts` is not supported for this
    /// model".
    fn takes_files_in_results(model: &str) -> bool {
        generation_of(model).is_none_or(|generation| generation >= 3)
    }

    fn conforming_id(id: &str) -> Cow<'_, str> {
        Cow::Borrowed(id)
    }
}

fn signature(item: &Value) -> Option<&Value> {
    member(item, "thoughtSignature", "thought_signature")
}

fn member<'a>(item: &'a Value, camel: &str, snake: &str) -> Option<&'a Value> {
    item.get(camel)
        .or_else(|| item.get(snake))
        .filter(|value| !value.is_null())
}

/// Writes one content with all results of a step. Calls without an id are answered without one.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], _ids: &CallIds, host: &Host) -> Value {
    let accepted = host.accepted_parts();
    let result = |answer: &ToolAnswer<'_>| {
        let id = answer.given_id();
        GeminiTurns::result(id, &answer.name(), &answer.result, accepted)
    };
    let results = answers.iter().map(result);
    json!({"role": "user", "parts": results.collect::<Vec<_>>()})
}

/// Writes the body of a request. The model is named by the URL.
pub(crate) fn request(request: &Request<'_>, host: &Host) -> Value {
    let contents = turns::<GeminiTurns>(request, host)
        .into_iter()
        .map(write_turn)
        .collect::<Vec<_>>();
    let tools = (!request.declarations.is_empty()).then(|| tools(request));
    with_settings(
        RequestBody::new(request).with("contents", contents),
        request,
    )
    .with_some("tools", tools)
    .with_some("toolConfig", tool_choice(request))
    .finish_merged()
}

/// Adds the system instruction and the limit of tokens, which Live has too.
pub(crate) fn with_settings<'a>(body: RequestBody<'a>, request: &Request<'_>) -> RequestBody<'a> {
    let instruction = Some(request.instructions).filter(|text| !text.trim().is_empty());
    body.with_some(
        "systemInstruction",
        instruction.map(|text| json!({"parts": [{"text": text}]})),
    )
    .with_some(
        "generationConfig",
        request
            .max_tokens
            .map(|most| json!({"maxOutputTokens": most})),
    )
}

/// The choice concerns functions only.
fn tool_choice(request: &Request<'_>) -> Option<Value> {
    let mode = choice_name(request, "NONE", "ANY")?;
    let has_functions = request
        .declarations
        .report()
        .tools
        .iter()
        .any(|tool| tool.declared_as.is_some());
    has_functions.then(|| json!({"functionCallingConfig": {"mode": mode}}))
}

/// Writes a turn. The model's text in pieces becomes one text; signed pieces stay apart.
fn write_turn(turn: ChatTurn) -> Value {
    let mut parts = Vec::<Value>::new();
    for part in turn.content {
        match parts
            .last_mut()
            .filter(|last| turn.is_model && can_join(last, &part))
        {
            Some(last) => {
                if let (Some(Value::String(text)), Some(piece)) =
                    (last.get_mut("text"), part["text"].as_str())
                {
                    text.push_str(piece);
                }
            }
            None => parts.push(part),
        }
    }
    json!({"role": if turn.is_model { "model" } else { "user" }, "parts": parts})
}

/// Returns true for two texts, or two thoughts, without further members.
fn can_join(before: &Value, after: &Value) -> bool {
    let thought = |part: &Value| {
        let part = part.as_object().filter(|part| part.contains_key("text"))?;
        let plain = part.keys().all(|name| name == "text" || name == "thought");
        plain.then(|| {
            part.get("thought")
                .and_then(Value::as_bool)
                .unwrap_or_default()
        })
    };
    thought(before).is_some() && thought(before) == thought(after)
}

/// Writes a result, under the id of the call if it has one.
pub(crate) fn function_response(
    id: &str,
    name: &str,
    result: &ModelResult,
    accepted: &AcceptedParts,
) -> Map<String, Value> {
    let mut response = Map::new();
    if !id.is_empty() {
        response.insert("id".to_owned(), id.into());
    }
    response.insert("name".to_owned(), name.into());
    let mut media = Vec::new();
    let output = match result.content() {
        Some(parts) => {
            let mut texts = Vec::new();
            for part in &parts {
                match read_result_part(part, &in_results(accepted)) {
                    MessagePart::Text(text) if text.is_empty() => {}
                    MessagePart::Text(text) => texts.push(text.into_owned()),
                    MessagePart::TextFile(file) => texts.push(file.text.into_owned()),
                    MessagePart::Media(part) => media.extend(write_media::<GeminiTurns>(&part)),
                }
            }
            Value::from(texts.join("\n"))
        }
        None => data(result),
    };
    let member = if result.is_error { "error" } else { "output" };
    response.insert("response".to_owned(), json!({member: output}));
    if !media.is_empty() {
        response.insert("parts".to_owned(), media.into());
    }
    response
}

/// Returns what a result may have, of the kinds that the model takes.
fn in_results(accepted: &AcceptedParts) -> AcceptedParts {
    let both = |of_user: &AcceptedMedia, of_result: AcceptedMedia| {
        if of_user.is_accepted() {
            of_result
        } else {
            AcceptedMedia::NONE
        }
    };
    AcceptedParts {
        images: both(&accepted.images, IN_RESULTS.images),
        documents: both(&accepted.documents, IN_RESULTS.documents),
        ..AcceptedParts::TEXT
    }
}

/// Returns the data as a value if it keeps its digits, otherwise as its text.
fn data(result: &ModelResult) -> Value {
    let value = Some(&result.text)
        .filter(|_| !result.is_text)
        .and_then(|text| exact_json(text, MAX_EXACT));
    value.map_or_else(|| Value::from(result.text.as_str()), escape_references)
}

/// Adds a `$` to members named `$ref`: the API takes them for references to media, and refuses
/// them.
fn escape_references(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let is_reference = |name: &str| name.trim_start_matches('$') == "ref" && name != "ref";
            let escape = |name: String| {
                if is_reference(&name) {
                    format!("${name}")
                } else {
                    name
                }
            };
            members
                .into_iter()
                .map(|(name, value)| (escape(name), escape_references(value)))
                .collect()
        }
        Value::Array(items) => items.into_iter().map(escape_references).collect(),
        other => other,
    }
}

/// The schemas of `parameters`: a typed subset of `OpenAPI`'s. `anyOf` stands alone in it ("when
/// using `any_of`, it must be the only field set"), and newer models refuse a schema without a
/// type.
pub(crate) const SCHEMA_RULES: SchemaForm = SchemaForm::Subset(&SchemaSubset {
    keeps: &[
        "title",
        "default",
        "format",
        "pattern",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "example",
    ],
    typed: true,
    references: false,
    maps: false,
    enums: TypeSet::STRING,
    // Others are refused: "only 'enum' and 'date-time' are supported for STRING type".
    formats: |types, format| match format {
        "float" | "double" => types == TypeSet::NUMBER,
        "int32" | "int64" => types == TypeSet::INTEGER,
        "date-time" | "enum" => types == TypeSet::STRING,
        _ => false,
    },
    grammar: None,
});

/// The schemas of `parametersJsonSchema`.
pub(crate) const JSON_SCHEMA_RULES: SchemaForm = SchemaForm::Subset(&SchemaSubset {
    keeps: &[
        "title", "format", "minimum", "maximum", "minItems", "maxItems",
    ],
    typed: false,
    references: true,
    maps: true,
    enums: TypeSet::STRING.union(TypeSet::NUMBER),
    formats: |_, format| is_standard_format(format),
    grammar: None,
});

/// Writes a declaration, with the schema under `member`. A schema without parameters is left out,
/// as Gemini refuses an object without properties.
pub(crate) fn write_declaration(tool: &DeclaredTool<'_>, member: &str) -> String {
    let declaration = ObjectText::new()
        .with("name", tool.name)
        .with("description", tool.some_description());
    if has_parameters(tool.schema) {
        declaration.raw(member, tool.schema)
    } else {
        declaration
    }
    .finish()
}

fn has_parameters(schema: &str) -> bool {
    let Ok(schema) = serde_json::from_str::<Value>(schema) else {
        return false;
    };
    let has_names = schema
        .get("properties")
        .and_then(Value::as_object)
        .is_some_and(|names| !names.is_empty());
    has_names
        || schema
            .get("required")
            .and_then(Value::as_array)
            .is_some_and(|names| !names.is_empty())
}
