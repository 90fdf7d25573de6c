//! Results and requests.

use crate::hosts::Host;
use crate::request::{
    Request, RequestBody, UNAVAILABLE, choice_name, declare_called, tools, visible_text,
};
use crate::turns::{ChatTurn, TurnForm, exact_json, turns};
use serde_json::{Map, Value, json};
use tool_core::Content;
use tool_core::call::ModelResult;

/// The provider's form of the parts of a turn.
pub(crate) struct ConverseTurns;

impl TurnForm for ConverseTurns {
    fn text(text: &str) -> Value {
        json!({"text": text})
    }

    fn call(id: &str, name: &str, input: Map<String, Value>, _position: usize) -> Value {
        json!({"toolUse": {"toolUseId": id, "name": name, "input": input}})
    }

    fn result(id: &str, _name: &str, result: &ModelResult) -> Value {
        let mut content = match result.content() {
            Some(parts) => parts.iter().filter_map(write_part).collect(),
            None => data_content(result).into_iter().collect::<Vec<_>>(),
        };
        // Blank texts are refused, and so is empty content.
        if content.is_empty() {
            content.push(json!({"json": {}}));
        }
        let mut block = json!({"toolUseId": id, "content": content});
        if result.is_error {
            block["status"] = "error".into();
        }
        json!({"toolResult": block})
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

    /// Llama's and Mistral's models refuse a turn that has more than results. Which model a profile stands for is not known.
    fn acknowledgement(model: &str) -> Option<&'static str> {
        let takes_both = ["anthropic.", "claude", "nova"]
            .iter()
            .any(|name| model.contains(name));
        (!takes_both).then_some("I see.")
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

fn write_part(part: &Content) -> Option<Value> {
    if let Content::Image { data, mime_type } = part
        && let Some(format) = image_format(mime_type)
    {
        return Some(json!({"image": {"format": format, "source": {"bytes": data}}}));
    }
    visible_text(part).map(|text| json!({"text": text}))
}

fn image_format(mime_type: &str) -> Option<&str> {
    let format = mime_type.strip_prefix("image/")?;
    ["png", "jpeg", "gif", "webp"]
        .contains(&format)
        .then_some(format)
}

/// Writes the body of a request. The model is named by the URL. The provider has no word for a choice of no calls, so
/// calls that come nevertheless are ignored by the session.
pub(crate) fn request(request: &Request<'_>, host: &Host) -> Value {
    let messages = turns::<ConverseTurns>(request, host)
        .into_iter()
        .map(ChatTurn::into_message)
        .collect::<Vec<_>>();
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

/// A request without tools declares those of its calls: calls and results are refused without a `toolConfig`.
fn tool_config(request: &Request<'_>) -> Option<Value> {
    if request.declarations.is_empty() {
        let schema = json!({"json": {"type": "object", "properties": {}}});
        let declare = |name: &str| json!({"toolSpec": {"name": name, "description": UNAVAILABLE, "inputSchema": schema}});
        return declare_called(request, declare).map(|tools| json!({"tools": tools}));
    }
    let mut config = json!({"tools": tools(request)});
    if choice_name(request, "none", "any") == Some("any") {
        config["toolChoice"] = json!({"any": {}});
    }
    Some(config)
}
