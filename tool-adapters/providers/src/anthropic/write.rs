//! Results and requests.

use crate::accepted_parts::AcceptedParts;
use crate::anthropic::read::CONTAINER;
use crate::hosts::Host;
use crate::message_parts::{MediaPart, MediaSource, TextFile};
use crate::part_form::{PartForm, write_result_parts};
use crate::request::{Request, RequestBody, UNAVAILABLE, choice_name, declare_called, tools};
use crate::turns::{ChatTurn, TurnForm, begin_of_turn, goes_on_without_thought, turns};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use tool_core::call::ModelResult;
use tool_core::session::Message;

/// The limit of an answer's tokens where the request has none: the provider requires one.
const DEFAULT_MAX_TOKENS: u64 = 8192;

/// The tools that a search of the provider's has found, in the item of its result.
const REFERENCES: &str = "/content/tool_references";

/// The maximum number of characters of the title of a document.
const MAX_TITLE: usize = 500;

/// The provider's form of the parts of a turn.
pub(crate) struct AnthropicTurns;

impl PartForm for AnthropicTurns {
    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    fn text_file(file: &TextFile<'_>) -> Option<Value> {
        if file.text.trim().is_empty() {
            return None;
        }
        let title = file.name.chars().take(MAX_TITLE).collect::<String>();
        let source = json!({"type": "text", "media_type": "text/plain", "data": file.text});
        Some(json!({"type": "document", "title": title, "source": source}))
    }

    fn result_file(file: &TextFile<'_>) -> Option<Value> {
        Self::text_file(file)
    }

    fn image(image: &MediaPart<'_>) -> Option<Value> {
        Some(json!({"type": "image", "source": source(image)}))
    }

    fn document(document: &MediaPart<'_>) -> Option<Value> {
        let mut block = json!({"type": "document", "source": source(document)});
        if let Some(name) = document.name {
            block["title"] = name.chars().take(MAX_TITLE).collect::<String>().into();
        }
        Some(block)
    }
}

fn source(media: &MediaPart<'_>) -> Value {
    match media.source {
        MediaSource::Base64(data) => {
            json!({"type": "base64", "media_type": media.mime_type, "data": data})
        }
        MediaSource::Url(url) => json!({"type": "url", "url": url}),
    }
}

impl TurnForm for AnthropicTurns {
    fn call(id: &str, name: &str, input: Map<String, Value>, _position: usize) -> Value {
        json!({"type": "tool_use", "id": id, "name": name, "input": input})
    }

    fn result(id: &str, _name: &str, result: &ModelResult, accepted: &AcceptedParts) -> Value {
        let mut block = json!({"type": "tool_result", "tool_use_id": id});
        let content = match result.content() {
            Some(parts) => write_result_parts::<Self>(&parts, accepted).into(),
            // The provider requires a text for an error.
            None if result.is_error && result.text.trim().is_empty() => {
                Value::from("The call failed.")
            }
            None => Value::from(result.text.as_str()),
        };
        // Empty content is refused.
        if content != json!("") && content != json!([]) {
            block["content"] = content;
        }
        if result.is_error {
            block["is_error"] = true.into();
        }
        block
    }

    fn call_id(item: &Value) -> Option<&str> {
        (item["type"] == "tool_use").then(|| item["id"].as_str().unwrap_or_default())
    }

    fn set_call(item: &mut Value, id: &str, name: &str, input: Map<String, Value>) {
        item["id"] = id.into();
        item["name"] = name.into();
        item["input"] = input.into();
    }

    fn echo(item: &Value, host: &Host) -> Option<Value> {
        let is_blank = |member: &str| {
            item[member]
                .as_str()
                .is_none_or(|text| text.trim().is_empty())
        };
        let refused = match item["type"].as_str() {
            Some("text") => is_blank("text"),
            // Cut off before it was signed. Other servers with this protocol sign nothing, and need
            // the thoughts of a step again.
            Some("thinking") => host.is_own && is_blank("signature"),
            // The request names it.
            Some(CONTAINER) => true,
            _ => false,
        };
        if refused {
            return None;
        }
        let mut item = item.clone();
        remove_file_ids(&mut item);
        Some(item)
    }

    fn is_thought(item: &Value) -> bool {
        item["type"] == "thinking" || item["type"] == "redacted_thinking"
    }

    /// Calls of tools that the provider runs itself need their results, once the user has spoken. A
    /// result may come in a later step: a tool that runs code calls ours.
    fn tidy(turns: &mut [ChatTurn], request: &Request<'_>) {
        drop_lost_references(turns, request);
        drop_lost_advice(turns, request);
        let items = turns.iter().flat_map(|turn| &turn.content);
        let results = items
            .filter_map(|item| item["tool_use_id"].as_str())
            .map(str::to_owned)
            .collect::<HashSet<_>>();
        let Some(last) = turns.iter().rposition(ChatTurn::has_users_text) else {
            return;
        };
        for turn in turns.iter_mut().take(last).filter(|turn| turn.is_model) {
            turn.content.retain(|item| {
                let is_own = item["type"]
                    .as_str()
                    .is_some_and(|kind| kind != "tool_use" && kind.ends_with("tool_use"));
                !is_own || item["id"].as_str().is_some_and(|id| results.contains(id))
            });
        }
    }
}

/// Removes from citations what the server adds to them, and refuses in a request.
fn remove_file_ids(item: &mut Value) {
    let citations = item.get_mut("citations").and_then(Value::as_array_mut);
    for citation in citations.into_iter().flatten() {
        if let Some(members) = citation.as_object_mut() {
            members.remove("file_id");
        }
    }
}

/// Removes the references to tools that the request does not declare: the server refuses them. A
/// search of which no reference is left goes with its result.
fn drop_lost_references(turns: &mut [ChatTurn], request: &Request<'_>) {
    let has_references = |item: &Value| item.pointer(REFERENCES).is_some();
    let mut items = turns.iter().flat_map(|turn| &turn.content);
    if !items.any(has_references) {
        return;
    }
    let Some(declared) = declared_names(request) else {
        return;
    };

    let is_declared = |reference: &Value| {
        let name = reference["tool_name"].as_str();
        name.is_none_or(|name| declared.contains(name))
    };
    let mut lost = HashSet::new();
    for item in turns.iter_mut().flat_map(|turn| &mut turn.content) {
        let found = item.pointer_mut(REFERENCES).and_then(Value::as_array_mut);
        let Some(references) = found.filter(|references| !references.is_empty()) else {
            continue;
        };
        references.retain(is_declared);
        if references.is_empty() {
            lost.extend(item["tool_use_id"].as_str().map(str::to_owned));
        }
    }

    for turn in turns.iter_mut().filter(|turn| turn.is_model) {
        turn.content.retain(|item| {
            let id = item["tool_use_id"].as_str().or(item["id"].as_str());
            id.is_none_or(|id| !lost.contains(id))
        });
    }
}

/// Returns the names of the request's tools; `None` if the provider gets further ones from MCP
/// servers.
fn declared_names(request: &Request<'_>) -> Option<HashSet<String>> {
    if request.extra.contains_key("mcp_servers") {
        return None;
    }
    let tools = declared_tools(request);
    let names = tools.as_array().into_iter().flatten();
    let names = names.filter_map(|tool| Some(tool["name"].as_str()?.to_owned()));
    Some(names.collect())
}

/// Returns the request's tools.
fn declared_tools(request: &Request<'_>) -> Value {
    match request.extra.get("tools") {
        Some(tools) => tools.clone(),
        None => tools_and_choice(request).0.unwrap_or_default(),
    }
}

/// Removes the advisor's calls and results from a request that does not declare the advisor: the
/// server refuses them.
fn drop_lost_advice(turns: &mut [ChatTurn], request: &Request<'_>) {
    let is_advice = |item: &Value| {
        let is_call = item["type"] == "server_tool_use" && item["name"] == "advisor";
        is_call || item["type"] == "advisor_tool_result"
    };
    let mut items = turns.iter().flat_map(|turn| &turn.content);
    if !items.any(is_advice) {
        return;
    }
    let is_advisor = |tool: &Value| {
        let kind = tool["type"].as_str();
        kind.is_some_and(|kind| kind.starts_with("advisor_"))
    };
    let tools = declared_tools(request);
    if tools.as_array().into_iter().flatten().any(is_advisor) {
        return;
    }
    for turn in turns.iter_mut().filter(|turn| turn.is_model) {
        turn.content.retain(|item| !is_advice(item));
    }
}

/// Writes the body of a request.
pub(crate) fn request(request: &Request<'_>, host: &Host) -> Value {
    let turns = turns::<AnthropicTurns>(request, host);
    let mut settings = request.extra.clone();
    if goes_on_without_thought::<AnthropicTurns>(&turns) {
        leave_out_thinking(&mut settings);
    }
    let request = &Request {
        extra: &settings,
        ..*request
    };
    let messages = turns
        .into_iter()
        .map(ChatTurn::into_message)
        .collect::<Vec<_>>();
    let system = Some(request.instructions).filter(|text| !text.trim().is_empty());
    let (tools, choice) = tools_and_choice(request);
    let max_tokens = match request.max_tokens {
        Some(max_tokens) => u64::from(max_tokens),
        None => default_max_tokens(&settings),
    };
    let mut body = RequestBody::new(request)
        .with("model", request.model)
        .with("max_tokens", max_tokens)
        .with("messages", messages)
        .with_some("system", system)
        .with_some("stream", request.stream.then_some(true))
        .with_some("tools", tools)
        .with_some("tool_choice", choice.map(|choice| json!({"type": choice})))
        .finish();
    if let Some(container) = container(request, host) {
        name_container(&mut body, container);
    }
    body
}

/// Returns the limit of an answer's tokens where the request has none. Thinking counts too, and the
/// provider refuses a budget of thinking that is not below the limit.
fn default_max_tokens(settings: &Map<String, Value>) -> u64 {
    let thinking = settings.get("thinking").filter(|it| is_with_budget(it));
    let budget = thinking.and_then(|thinking| thinking["budget_tokens"].as_u64());
    budget.unwrap_or(0).saturating_add(DEFAULT_MAX_TOKENS)
}

/// Returns true for thinking with a budget.
fn is_with_budget(thinking: &Value) -> bool {
    thinking["type"] == "enabled"
}

/// Leaves thinking with a budget out of the settings of a request in which the model's turn has
/// begun without a thought, such as one of another provider's model: "Expected `thinking` or
/// `redacted_thinking`, but found `tool_use`". The edit that clears thoughts goes too, as it needs
/// thinking.
///
/// On Bedrock the settings are the fields of the model.
pub(crate) fn leave_out_thinking(settings: &mut Map<String, Value>) {
    let mut is_left_out = false;
    for name in ["thinking", "reasoning_config"] {
        if settings.get(name).is_some_and(is_with_budget) {
            settings.remove(name);
            is_left_out = true;
        }
    }
    let edits = settings
        .get_mut("context_management")
        .and_then(|management| management.get_mut("edits")?.as_array_mut());
    let Some(edits) = edits.filter(|_| is_left_out) else {
        return;
    };
    edits.retain(|edit| {
        let kind = edit["type"].as_str().unwrap_or_default();
        !kind.starts_with("clear_thinking_")
    });
    if edits.is_empty() {
        settings.remove("context_management");
    }
}

/// Returns the id of the container in which code of the model waits for results, or in which a
/// paused turn goes on: the server refuses a request without it.
///
/// A container of an earlier turn stays behind. Once it has expired, the server refuses each
/// request that names it.
fn container<'a>(request: &Request<'a>, host: &Host) -> Option<&'a str> {
    let turn_begins = begin_of_turn(request.history);
    let mut goes_on = false;
    for (place, message) in request.history.iter().enumerate().rev() {
        match message {
            Message::Assistant { calls, native, .. } => {
                goes_on |= place > turn_begins || !calls.is_empty();
                if !goes_on {
                    return None;
                }
                let native = native
                    .as_ref()
                    .filter(|native| native.provider == host.turn_id());
                let items = native.map_or(&[][..], |native| &native.items);
                let named = items.iter().rfind(|item| item["type"] == CONTAINER);
                if let Some(id) = named.and_then(|item| item["id"].as_str()) {
                    return Some(id);
                }
            }
            Message::User(said) if goes_on && !said.is_blank() => return None,
            _ => {}
        }
    }
    None
}

/// Names a container in a request, unless the caller's settings name one. Settings of a container
/// may have skills without its id.
fn name_container(body: &mut Value, id: &str) {
    match body.get_mut("container") {
        None => body["container"] = id.into(),
        Some(Value::Object(settings)) => {
            settings.entry("id").or_insert_with(|| id.into());
        }
        Some(_) => {}
    }
}

/// A request without tools declares those of its calls: calls and results are refused without
/// tools.
fn tools_and_choice(request: &Request<'_>) -> (Option<Value>, Option<&'static str>) {
    if !request.declarations.is_empty() {
        return (Some(tools(request)), choice_name(request, "none", "any"));
    }
    let schema = json!({"type": "object", "properties": {}});
    let declare =
        |name: &str| json!({"name": name, "description": UNAVAILABLE, "input_schema": schema});
    let called = declare_called(request, declare);
    let choice = called.is_some().then_some("none");
    (called, choice)
}
