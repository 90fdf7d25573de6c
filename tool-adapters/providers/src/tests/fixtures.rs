//! Shared by the tests of Anthropic, Bedrock, Gemini and MCP: recorded events and conversations.

use crate::Provider;
use crate::declarations::{Declarations, DeclareOptions};
use crate::declare::declare_tools;
use crate::event::{Event, ProtocolError};
use crate::protocol::protocol;
use crate::request::Request;
use crate::tests::streams::{events, usage_text};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};
use tool_core::call::ModelResult;
use tool_core::session::{Message, RawTurn, ToolChoice};
use tool_core::{ToolCall, ToolContext, ToolResponse, tool};

/// The events of a stream, which are the same wherever it is cut.
pub(crate) fn read(provider: Provider, stream: &str) -> Vec<Event> {
    let bytes = stream.as_bytes();
    let whole = events(provider, [bytes]);
    assert_eq!(
        events(provider, bytes.chunks(1)),
        whole,
        "one byte at a time"
    );
    for at in 0..=bytes.len() {
        let (before, after) = bytes.split_at(at);
        assert_eq!(events(provider, [before, after]), whole, "cut at {at}");
    }
    let lengths = proptest::collection::vec(1..40_usize, bytes.len());
    TestRunner::new(ProptestConfig {
        cases: 32,
        failure_persistence: None,
        ..ProptestConfig::default()
    })
    .run(&lengths, |lengths| {
        let mut rest = bytes;
        let mut chunks = Vec::new();
        for length in lengths {
            let (chunk, after) = rest.split_at(length.min(rest.len()));
            chunks.push(chunk);
            rest = after;
        }
        prop_assert_eq!(&events(provider, chunks), &whole);
        Ok(())
    })
    .expect("any chunks");
    whole
}

/// Ends a stream at every byte before `whole_from`: an error says so, the message has no end, and no call runs.
pub(crate) fn read_cut_off(provider: Provider, stream: &str, whole_from: usize) {
    // Before the first event has begun, nothing is cut off.
    let begun = stream.find('{').expect("an event") + 1;
    for at in begun..whole_from {
        let told = events(provider, [stream.as_bytes().get(..at).expect("within")]);
        let is_cut =
            |error: &ProtocolError| matches!(error, ProtocolError::Truncated { call_id: None });
        assert!(
            errors(&told).iter().any(is_cut),
            "cut off at {at}: {told:?}"
        );
        let is_end = |event: &Event| matches!(event, Event::Finished(_) | Event::Call(_));
        assert!(!told.iter().any(is_end), "cut off at {at}: {told:?}");
    }
}

/// A line of JSON each.
pub(crate) fn lines(values: &[Value]) -> String {
    values
        .iter()
        .map(Value::to_string)
        .collect::<Vec<_>>()
        .join("\n")
        + "\n"
}

/// Server-sent events.
pub(crate) fn sse(events: &[Value]) -> String {
    let name = |event: &Value| {
        event
            .get("type")
            .and_then(Value::as_str)
            .map(|name| format!("event: {name}\n"))
    };
    let event = |event: &Value| format!("{}data: {event}\n\n", name(event).unwrap_or_default());
    events.iter().map(event).collect::<Vec<_>>().concat()
}

pub(crate) fn calls(events: &[Event]) -> Vec<ToolCall> {
    let call = |event: &Event| {
        if let Event::Call(call) = event {
            Some(call.clone())
        } else {
            None
        }
    };
    events.iter().filter_map(call).collect()
}

/// The calls of an answer that was cut off.
pub(crate) fn cut_calls(events: &[Event]) -> Vec<ToolCall> {
    let call = |event: &Event| {
        if let Event::CutCall(call) = event {
            Some(call.clone())
        } else {
            None
        }
    };
    events.iter().filter_map(call).collect()
}

pub(crate) fn errors(events: &[Event]) -> Vec<ProtocolError> {
    let error = |event: &Event| {
        if let Event::Error(error) = event {
            Some(error.clone())
        } else {
            None
        }
    };
    events.iter().filter_map(error).collect()
}

pub(crate) fn items(events: &[Event]) -> Vec<Value> {
    let item = |event: &Event| {
        if let Event::Item(item) = event {
            Some(item.clone())
        } else {
            None
        }
    };
    events.iter().filter_map(item).collect()
}

/// Events in short, a line each; pieces of one kind that follow each other are one.
pub(crate) fn brief(events: &[Event]) -> String {
    let mut lines = Vec::<(String, String)>::new();
    for event in events {
        let (what, text) = match event {
            Event::Text(text) => ("text".to_owned(), text.clone()),
            Event::Reasoning(text) => ("reasoning".to_owned(), text.clone()),
            Event::CallStarted { id, name } => (format!("started {id}"), name.clone()),
            Event::Arguments { id, delta } => (format!("arguments {id}"), delta.clone()),
            Event::Call(call) => (
                format!("call {} {}", call.id(), call.name()),
                call.arguments().to_owned(),
            ),
            Event::CutCall(call) => (
                format!("cut call {} {}", call.id(), call.name()),
                call.arguments().to_owned(),
            ),
            Event::Cancelled(ids) => ("cancelled".to_owned(), ids.join(" ")),
            Event::Item(item) => (String::from("item"), sorted(item).to_string()),
            Event::Usage(usage) => ("usage".to_owned(), usage_text(*usage)),
            Event::Audio { data, mime_type } => (format!("audio {mime_type}"), data.clone()),
            Event::Finished(finish) => ("finished".to_owned(), format!("{finish:?}")),
            Event::Unknown(value) => ("unknown".to_owned(), sorted(value).to_string()),
            Event::Error(error) => ("error".to_owned(), error.to_string()),
            Event::ServiceTier(tier) => ("service tier".to_owned(), tier.clone()),
            Event::Response { id, model } => ("response".to_owned(), format!("{id:?} {model:?}")),
            Event::Interrupted => ("interrupted".to_owned(), String::new()),
        };
        let pieces = ["text", "reasoning", "arguments"]
            .iter()
            .any(|kind| what.starts_with(kind));
        match lines
            .last_mut()
            .filter(|(before, _)| pieces && *before == what)
        {
            Some((_, before)) => before.push_str(&text),
            None => lines.push((what, text)),
        }
    }
    lines.into_iter().fold(String::new(), |all, (what, text)| {
        all + &what + ": " + &text + "\n"
    })
}

/// An answer that went well, of a form: an empty text for data, or `unit`, `stop`, `content`.
pub(crate) fn response(id: &str, tool: &str, form: &str, data: &Value) -> ToolResponse {
    let mut envelope =
        json!({"ok": true, "data": data, "intents": [], "meta": {"tool": tool, "callId": id}});
    if let (false, Some(meta)) = (
        form.is_empty(),
        envelope.get_mut("meta").and_then(Value::as_object_mut),
    ) {
        meta.insert("form".to_owned(), form.into());
    }
    serde_json::from_value(envelope).expect("a response")
}

/// One that did not.
pub(crate) fn failure(id: &str, tool: &str, kind: &str, message: &str) -> ToolResponse {
    serde_json::from_value(json!({
        "ok": false,
        "error": {"type": kind, "message": message, "retryable": false, "partialSideEffects": false},
        "meta": {"tool": tool, "callId": id, "confirmation": {
            "token": "canary", "summary": "canary", "digest": "canary", "expiresAt": "2000-01-01T00:00:00Z",
        }},
    }))
    .expect("a response")
}

/// The answers that every protocol's `encode` is held to: data, an error, one that may say no more, one that waits for a
/// person, nothing, no reply, parts.
pub(crate) fn answers(id: &str) -> Vec<ToolResponse> {
    vec![
        response(id, "look", "", &json!({"$ref": "#/a", "n": 1})),
        response(id, "look", "", &json!("hello")),
        failure(id, "look", "CONFLICT", "the slot is taken"),
        failure(id, "look", "INTERNAL", "password=hunter2"),
        failure(id, "look", "CONFIRMATION_REQUIRED", "a person has to agree"),
        response(id, "look", "unit", &json!(null)),
        response(id, "look", "stop", &json!(null)),
        response(
            id,
            "look",
            "content",
            &json!([
                {"type": "text", "text": "a chart"},
                {"type": "text", "text": ""},
                {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
                {"type": "image", "data": "SUkq", "mimeType": "image/tiff"},
                {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
                {"type": "resource", "uri": "file:///a.md", "mimeType": "text/markdown", "text": "# A"},
                {"type": "resource", "uri": "https://example.com/b"},
            ]),
        ),
    ]
}

/// Look at something.
#[tool]
fn look(place: String) -> String {
    place
}

/// One tool, `look`; or none.
pub(crate) fn declared(provider: Provider, any: bool) -> Declarations {
    let tools = ToolContext::builder()
        .with(look)
        .build()
        .expect("a context");
    declare_tools(
        provider,
        tools.definitions().filter(|_| any),
        &[],
        DeclareOptions::default(),
    )
}

/// A request with that history.
pub(crate) fn request(provider: Provider, history: &[Message], choice: ToolChoice) -> Value {
    request_with(provider, history, choice, &Map::new())
}

pub(crate) fn request_with(
    provider: Provider,
    history: &[Message],
    choice: ToolChoice,
    extra: &Map<String, Value>,
) -> Value {
    request_of(provider, model_of(provider), history, choice, extra)
}

/// A model of the provider. What Bedrock takes depends on the company of the model.
pub(crate) fn model_of(provider: Provider) -> &'static str {
    match provider {
        Provider::Bedrock => "anthropic.a-model",
        _ => "a-model",
    }
}

/// A request to that model.
pub(crate) fn request_of(
    provider: Provider,
    model: &str,
    history: &[Message],
    tool_choice: ToolChoice,
    extra: &Map<String, Value>,
) -> Value {
    let declarations = declared(provider, true);
    protocol(provider).request(&Request {
        model,
        instructions: "Be brief.",
        history,
        declarations: &declarations,
        tool_choice,
        stream: true,
        max_tokens: Some(100),
        extra,
    })
}

pub(crate) fn user(text: &str) -> Message {
    Message::user(text)
}

pub(crate) fn assistant(text: &str, calls: &[(&str, &str)], native: Option<RawTurn>) -> Message {
    let calls = calls
        .iter()
        .map(|(id, arguments)| ToolCall::new(id, "look", *arguments))
        .collect();
    Message::Assistant {
        text: Some(text.to_owned()).filter(|text| !text.is_empty()),
        calls,
        native,
    }
}

pub(crate) fn result(id: &str, text: &str, is_error: bool) -> Message {
    let result = ModelResult {
        text: text.to_owned(),
        is_error,
        reply: true,
        parts: false,
        is_text: is_error,
        goes_on: false,
    };
    Message::Result {
        call_id: id.to_owned(),
        tool: "look".to_owned(),
        result,
    }
}

/// A conversation with what protocols stumble over: it begins with the model, has empty texts, an id that most do not
/// take, arguments that are no object, two results of a step, a step of another provider, and two users in a row.
pub(crate) fn history() -> Vec<Message> {
    let foreign = RawTurn {
        provider: tool::ProviderId::from_static("elsewhere"),
        items: vec![json!({"x": 1})],
    };
    vec![
        assistant("Hello.", &[], None),
        user("Look around."),
        assistant(
            " ",
            &[("a b/ü", r#"{"place":"left"}"#), ("call_1", r#"{"place":"#)],
            Some(foreign),
        ),
        result("a b/ü", "\"a door\"", false),
        result("call_1", "arguments are no JSON", true),
        user(""),
        user("And up?"),
        user("Please."),
    ]
}

/// The native step of what was read.
pub(crate) fn native(provider: Provider, events: &[Event]) -> RawTurn {
    RawTurn {
        provider: provider.id(),
        items: items(events),
    }
}

/// A value as text to compare: keys in order, a line for what fits into one.
pub(crate) fn pretty(value: &Value) -> String {
    layout(&sorted(value), 0) + "\n"
}

/// The same of a request, without the tools, which are declared elsewhere.
pub(crate) fn pretty_request(body: &Value) -> String {
    pretty(&without_tools(body))
}

fn layout(value: &Value, indent: usize) -> String {
    let line = value.to_string();
    if line.len() + indent <= 100 {
        return line;
    }
    let inner = " ".repeat(indent + 2);
    let outer = " ".repeat(indent);
    match value {
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                format!("{inner}{key:?}: {}", layout(value, indent + 2))
            };
            format!(
                "{{\n{}\n{outer}}}",
                members.iter().map(member).collect::<Vec<_>>().join(",\n")
            )
        }
        Value::Array(items) => {
            let item = |item: &Value| format!("{inner}{}", layout(item, indent + 2));
            format!(
                "[\n{}\n{outer}]",
                items.iter().map(item).collect::<Vec<_>>().join(",\n")
            )
        }
        _ => line,
    }
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| (key.clone(), sorted(value)));
            members
                .collect::<std::collections::BTreeMap<_, _>>()
                .into_iter()
                .collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

fn without_tools(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let tools = |key: &String, value: &Value| {
                if key == "tools" {
                    json!("declared")
                } else {
                    without_tools(value)
                }
            };
            members
                .iter()
                .map(|(key, value)| (key.clone(), tools(key, value)))
                .collect()
        }
        other => other.clone(),
    }
}
