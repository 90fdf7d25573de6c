//! `{"do": "encode", "provider", "asked"?: [events], "calls": [{"id", "arguments"}]}`: the messages that answer calls of the
//! tool `answer`, which answers what its arguments say.
//!
//! `{"do": "request", "provider", "strict", "asked"?: [events], "calls", "turns"?}`: the body of a request, with a
//! conversation in which those calls were made and answered.

use crate::{Answer, list, provider, text};
use serde_json::{Map, Value, json};
use std::error::Error;
use tool_adapters::providers::{Event, Protocol, Request};
use tool_adapters::{DeclareOptions, Provider, declare_with, protocol};
use tool_core::call::ResultForm;
use tool_core::session::{Message, RawTurn, ToolChoice};
use tool_core::{
    Content, Mode, Runtime, ToolCall, ToolContext, ToolError, ToolOutput, ToolResponse, tool,
};

/// Answer as the arguments say.
#[allow(
    clippy::needless_pass_by_value,
    reason = "a tool as its author writes it"
)]
#[tool]
fn answer(kind: String, data: Option<Value>) -> Result<ToolOutput, ToolError> {
    match kind.as_str() {
        "error" => Err(ToolError::permanent("it went wrong")),
        "unit" => Ok(ToolOutput::new(())),
        "stop" => Ok(ToolOutput::stop()),
        "parts" => Ok(ToolOutput::content([
            Content::text("a picture"),
            Content::image("aGk=", "image/png"),
            Content::resource("https://example.com/a"),
        ])),
        _ => Ok(ToolOutput::new(data)),
    }
}

pub(crate) async fn encode(command: &Value) -> Answer {
    let (protocol, _) = listen(command)?;
    let (_, responses) = answered(command).await?;
    Ok(protocol.encode(&responses))
}

pub(crate) async fn request(command: &Value) -> Answer {
    let provider = provider(command)?;
    let (protocol, native) = listen(command)?;
    let tools = ToolContext::builder().with(answer).build()?;
    let options = DeclareOptions {
        strict: command["strict"] == true,
        ..DeclareOptions::default()
    };
    let declared = declare_with(provider, &tools, options);
    let (calls, responses) = answered(command).await?;
    let mut history = vec![Message::user("Go ahead.")];
    if !calls.is_empty() {
        history.push(Message::Assistant {
            text: Some("One moment.".to_owned()),
            calls,
            native,
        });
        history.extend(responses.iter().map(result));
    }
    Ok(protocol.request(&Request {
        model: "a-model",
        instructions: "Be brief.",
        history: &history,
        declarations: &declared,
        tool_choice: choice(text(&command["choice"])),
        stream: command["stream"] == true,
        max_tokens: Some(100),
        extra: &Map::new(),
    }))
}

fn choice(name: &str) -> ToolChoice {
    match name {
        "none" => ToolChoice::None,
        "required" => ToolChoice::Required,
        _ => ToolChoice::Auto,
    }
}

fn result(response: &ToolResponse) -> Message {
    let meta = response.meta();
    Message::Result {
        call_id: meta.call_id().unwrap_or_default().to_owned(),
        tool: meta.tool().to_owned(),
        result: response.for_model(ResultForm::Plain),
    }
}

/// A protocol that has read what asks for the calls, and the items of it.
#[allow(clippy::type_complexity, reason = "a pair that one caller takes apart")]
fn listen(command: &Value) -> Result<(Box<dyn Protocol>, Option<RawTurn>), Box<dyn Error>> {
    let provider = provider(command)?;
    let mut protocol = protocol(provider);
    let mut events: Vec<Event> = list(&command["asked"])
        .iter()
        .flat_map(|event| protocol.push_event(event))
        .collect();
    events.extend(protocol.finish());
    let items = events.into_iter().filter_map(|event| match event {
        Event::Item(item) => Some(item),
        _ => None,
    });
    let items = items.collect::<Vec<_>>();
    let whose = if provider == Provider::GeminiJsonSchema {
        Provider::Gemini
    } else {
        provider
    };
    let native = (!items.is_empty()).then(|| RawTurn {
        provider: whose.id(),
        items,
    });
    Ok((protocol, native))
}

async fn answered(command: &Value) -> Result<(Vec<ToolCall>, Vec<ToolResponse>), Box<dyn Error>> {
    let tools = ToolContext::builder().with(answer).build()?;
    let session = Runtime::builder(tools)
        .build()?
        .session("s", Mode::Text)
        .await?;
    let calls = list(&command["calls"]).iter().map(|call| {
        let arguments = call
            .get("arguments")
            .cloned()
            .unwrap_or_else(|| json!({"kind": "data"}));
        ToolCall::new(text(&call["id"]), "answer", arguments)
    });
    let calls = calls.collect::<Vec<_>>();
    let responses = session.call_all(calls.clone()).await;
    Ok((calls, responses))
}
