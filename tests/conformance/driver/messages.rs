//! `{"do": "encode", "provider", "asked"?: [events], "calls": [{"id", "arguments"}]}`: the messages that answer calls of the
//! tool `answer`, which answers what its arguments say.
//!
//! `{"do": "request", "provider", "strict", "asked"?: [events], "calls", "turns"?}`: the body of a request, with a
//! conversation in which those calls were made and answered. With `settings`, an object of the settings of a model, and with
//! `cache`, which asks the provider to cache the prompt: `{"body"}`, or `{"missing": [problems]}`.

use crate::{Answer, list, provider, text};
use serde_json::{Map, Value, json};
use std::error::Error;
use tool_adapters::providers::{
    Event, Host, ModelSettings, Protocol, ReasoningEffort, Request, cache_prompt,
};
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
    let extra = Map::new();
    let request = Request {
        model: command["model"].as_str().unwrap_or("a-model"),
        instructions: "Be brief.",
        history: &history,
        declarations: &declared,
        tool_choice: choice(text(&command["choice"])),
        stream: command["stream"] == true,
        max_tokens: Some(100),
        extra: &extra,
    };
    let mut body = protocol.request(&request);
    if command["settings"].is_null() {
        return Ok(body);
    }
    let host = Host::of(provider);
    let settings = model_settings(&command["settings"]);
    if let Err(error) = settings.write(provider, &host, &request, &mut body) {
        return Ok(json!({"missing": error.problems()}));
    }
    if command["cache"] == true {
        cache_prompt(provider, &host, &request, &mut body);
    }
    Ok(json!({"body": body}))
}

fn model_settings(values: &Value) -> ModelSettings {
    let mut settings = ModelSettings::default();
    settings.temperature = values["temperature"].as_f64();
    settings.top_p = values["top_p"].as_f64();
    settings.seed = values["seed"].as_i64();
    settings.stop = list(&values["stop"])
        .iter()
        .map(|stop| text(stop).to_owned())
        .collect();
    settings.reasoning_effort = match text(&values["reasoning_effort"]) {
        "none" => Some(ReasoningEffort::None),
        "low" => Some(ReasoningEffort::Low),
        "high" => Some(ReasoningEffort::High),
        "max" => Some(ReasoningEffort::Max),
        _ => None,
    };
    settings.parallel_tool_calls = values["parallel_tool_calls"].as_bool();
    settings.first_tool = values["first_tool"].as_str().map(str::to_owned);
    settings
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
