//! `{"do": "history", "provider", "base_url"?, "messages": [..]}`: the body of a request with any history, whole or not.
//!
//! A message is `{"user": text}` or `{"parts": [content]}` of the user, `{"text"?, "calls": [{"id", "name", "arguments": text}],
//! "native"?: [items], "from"?: base URL}` for a step of the model, as the server of that URL sent it, or `{"result": text, "id",
//! "tool", "shown"?: [content]}`.

use crate::{Answer, list, provider, text};
use serde_json::{Map, Value, json};
use tool_adapters::providers::{Host, Request};
use tool_adapters::{Provider, declare, protocol};
use tool_core::call::ModelResult;
use tool_core::serde::Deserialize;
use tool_core::session::{Message, RawTurn, ToolChoice};
use tool_core::{Content, FunctionTool, RawTool, RunContext, ToolCall, ToolContext, ToolError};

pub(crate) fn history(command: &Value) -> Answer {
    let provider = provider(command)?;
    let tools = ToolContext::builder()
        .with(tool("look"))
        .with(tool("files.read"))
        .build()?;
    let messages = list(&command["messages"])
        .iter()
        .map(|message| read(provider, message))
        .collect::<Vec<_>>();
    let mut protocol = protocol(provider);
    protocol.host(Host::at(provider, text(&command["base_url"])));
    Ok(protocol.request(&Request {
        model: command["model"].as_str().unwrap_or("a-model"),
        instructions: "Be brief.",
        history: &messages,
        declarations: &declare(provider, &tools),
        tool_choice: ToolChoice::Auto,
        stream: false,
        max_tokens: Some(100),
        extra: &Map::new(),
    }))
}

fn read(provider: Provider, message: &Value) -> Message {
    if let Some(said) = message["user"].as_str() {
        return Message::user(said);
    }
    if let Some(parts) = message.get("parts") {
        return Message::user(contents(parts));
    }
    if let Some(result) = message["result"].as_str() {
        let shown = message.get("shown");
        let result = ModelResult {
            text: shown.map_or_else(|| result.to_owned(), Value::to_string),
            is_error: message["is_error"] == true,
            reply: true,
            parts: shown.is_some(),
            is_text: shown.is_none(),
            goes_on: false,
        };
        let (call_id, tool) = (
            text(&message["id"]).to_owned(),
            text(&message["tool"]).to_owned(),
        );
        return Message::Result {
            call_id,
            tool,
            result,
        };
    }
    let calls = list(&message["calls"]).iter().map(|call| {
        ToolCall::new(
            text(&call["id"]),
            text(&call["name"]),
            text(&call["arguments"]).to_owned(),
        )
    });
    let native = message.get("native").map(|items| RawTurn {
        provider: Host::at(provider, text(&message["from"])).turn_id(),
        items: list(items).to_vec(),
    });
    Message::Assistant {
        text: message["text"].as_str().map(str::to_owned),
        calls: calls.collect(),
        native,
    }
}

fn contents(parts: &Value) -> Vec<Content> {
    Vec::deserialize(parts).unwrap_or_default()
}

fn tool(name: &str) -> FunctionTool {
    let raw = RawTool {
        name: name.to_owned(),
        description: "Look.".into(),
        parameters: json!({"type": "object", "properties": {"place": {"type": "string"}}}),
    };
    FunctionTool::raw(raw, |_: Value, _: &RunContext| {
        std::future::ready(Ok::<_, ToolError>(json!(1)))
    })
}
