//! Shared by the tests of the protocols: streams that are cut at every byte, and golden texts.

use crate::Provider;
use crate::declarations::DeclareOptions;
use crate::declare::declare_tools;
use crate::event::{Event, ProtocolError};
use crate::protocol::protocol;
use crate::request::Request;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use tool_core::session::{Message, RawTurn, ToolChoice};
use tool_core::trace::TokenUsage;
use tool_core::{
    FunctionTool, RawTool, RunContext, ToolCall, ToolContext, ToolError, ToolResponse,
};

/// The events of a message that comes in chunks.
pub(crate) fn events<'a>(
    provider: Provider,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Event> {
    let mut protocol = protocol(provider);
    let mut events = chunks
        .into_iter()
        .flat_map(|chunk| protocol.push(chunk))
        .collect::<Vec<_>>();
    events.extend(protocol.finish());
    assert_eq!(protocol.finish(), [], "a message is over once");
    events
}

/// Server-sent events without names.
pub(crate) fn sse<'a>(events: impl IntoIterator<Item = &'a str>) -> String {
    events.into_iter().fold(String::new(), |stream, event| {
        stream + "data: " + event + "\n\n"
    })
}

/// Returns a message in short, the same for each cut. Also checks that a cut-off message loses nothing.
pub(crate) fn read(provider: Provider, stream: &str) -> String {
    let bytes = stream.as_bytes();
    let whole = events(provider, [stream.as_bytes()]);
    assert_eq!(
        events(provider, bytes.chunks(1)),
        whole,
        "one byte at a time"
    );
    for at in 0..=bytes.len() {
        let (before, after) = bytes.split_at(at);
        assert_eq!(events(provider, [before, after]), whole, "cut at {at}");
    }
    proptest!(ProptestConfig::with_cases(32), |(sizes in prop::collection::vec(1..200_usize, 1..20))| {
        let mut rest = bytes;
        let mut chunks = Vec::new();
        for size in sizes.iter().cycle() {
            let (chunk, after) = rest.split_at((*size).min(rest.len()));
            chunks.push(chunk);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(&events(provider, chunks), &whole);
    });
    // Every second event is written otherwise, so that none repeats the one before.
    let mut at = 0;
    let lines = stream.split_inclusive('\n').map(|line| {
        at += usize::from(line.starts_with("data: {"));
        if at % 2 == 0 {
            line.replacen("data: {", "data: { ", 1)
        } else {
            line.to_owned()
        }
    });
    let apart = events(provider, [lines.collect::<String>().as_bytes()]);
    if !whole
        .iter()
        .any(|event| matches!(event, Event::Error(ProtocolError::Malformed { .. })))
    {
        assert_eq!(apart, whole, "each event by itself");
    }
    truncated(provider, bytes, &whole);
    summary(&whole)
}

/// A message that ends early says so and has no call. Live protocols have each call as soon as it is whole.
fn truncated(provider: Provider, stream: &[u8], whole: &[Event]) {
    let all = calls(whole);
    let is_live = provider == Provider::OpenAiRealtime;
    for at in 0..stream.len() {
        let events = events(provider, [&stream[..at]]);
        let over = events
            .iter()
            .any(|event| matches!(event, Event::Finished(_)));
        let lost = events
            .iter()
            .any(|event| matches!(event, Event::Error(error) if error.is_loss()));
        let outside = |event: &Event| {
            matches!(
                event,
                Event::Unknown(_) | Event::Error(_) | Event::Interrupted
            )
        };
        let begun = events.iter().any(|event| !outside(event));
        assert!(
            over || lost || !begun,
            "cut off at {at}: {}",
            summary(&events)
        );
        let had = calls(&events);
        if is_live {
            assert!(
                had.iter().all(|call| all.contains(call)),
                "cut off at {at}: {}",
                summary(&events)
            );
        } else {
            let expected = if over { all.as_slice() } else { &[] };
            assert_eq!(had, expected, "cut off at {at}: {}", summary(&events));
        }
    }
}

/// The calls, each of which was started before.
pub(crate) fn calls(events: &[Event]) -> Vec<&ToolCall> {
    let mut started = Vec::new();
    let mut calls = Vec::new();
    for event in events {
        match event {
            Event::CallStarted { id, name } => started.push((id.as_str(), name.as_str())),
            Event::Arguments { id, .. } => {
                assert!(started.iter().any(|(known, _)| known == id), "{id}");
            }
            Event::Call(call) => {
                assert_eq!(
                    started
                        .iter()
                        .filter(|start| **start == (call.id(), call.name()))
                        .count(),
                    1,
                    "{call:?}"
                );
                calls.push(call);
            }
            _ => {}
        }
    }
    calls
}

/// Events in short: texts joined, a call with its arguments.
pub(crate) fn summary(events: &[Event]) -> String {
    let mut lines = String::new();
    let mut open = "";
    for event in events {
        let (kind, text) = match event {
            Event::Text(text) => ("text", text.clone()),
            Event::Reasoning(text) => ("reasoning", text.clone()),
            Event::CallStarted { .. } | Event::Arguments { .. } => continue,
            Event::Call(call) => (
                "call",
                format!("{} {} {}", call.id(), call.name(), call.arguments()),
            ),
            Event::CutCall(call) => (
                "cut call",
                format!("{} {} {}", call.id(), call.name(), call.arguments()),
            ),
            Event::Cancelled(ids) => ("cancelled", ids.join(" ")),
            Event::Item(item) => ("item", item.to_string()),
            Event::Usage(usage) => ("usage", usage_text(*usage)),
            Event::ServiceTier(tier) => ("service tier", tier.clone()),
            Event::Response { id, model } => ("response", format!("{id:?} {model:?}")),
            Event::Interrupted => ("interrupted", String::new()),
            Event::Audio { data, mime_type } => ("audio", format!("{mime_type} {data}")),
            Event::Finished(finish) => ("finished", format!("{finish:?}")),
            Event::Unknown(value) => ("unknown", value.to_string()),
            Event::Error(error) => ("error", error.to_string()),
        };
        if kind == open && matches!(kind, "text" | "reasoning") {
            lines += &text;
        } else {
            let line = if open.is_empty() { "" } else { "\n" };
            let _ = write!(lines, "{line}{kind}: {text}");
        }
        open = kind;
    }
    lines
}

/// The answers to calls, in the order of their ids: a result, an error, an empty result, parts, and no reply wanted.
pub(crate) fn responses(ids: [&str; 5]) -> Vec<ToolResponse> {
    let parts = json!([
        {"type": "text", "text": "a cat"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
        {"type": "resource", "uri": "file:///a.md", "mimeType": "text/markdown", "text": "# A"},
        {"type": "resource", "uri": "file:///b.pdf", "mimeType": "application/pdf"},
    ]);
    let error = json!({
        "type": "CONFLICT", "message": "the slot is taken", "retryable": false, "partialSideEffects": false,
    });
    let confirmation = json!({"token": "canary", "summary": "canary", "digest": "canary", "expiresAt": "2000-01-01T00:00:00Z"});
    let envelopes = [
        json!({"ok": true, "data": {"sum": 3}, "intents": [], "meta": {}}),
        json!({"ok": false, "error": error, "meta": {"confirmation": confirmation}}),
        json!({"ok": true, "data": null, "intents": [], "meta": {"form": "unit"}}),
        json!({"ok": true, "data": parts, "intents": [], "meta": {"form": "content"}}),
        json!({"ok": true, "data": null, "intents": [], "meta": {"form": "stop"}}),
    ];
    let with_id = |(mut envelope, id): (Value, &str)| {
        envelope["meta"]["schemaVersion"] = "1.0.0".into();
        envelope["meta"]["tool"] = "add".into();
        envelope["meta"]["callId"] = id.into();
        envelope["meta"]["durationMs"] = 1.into();
        serde_json::from_value(envelope).expect("an envelope")
    };
    envelopes.into_iter().zip(ids).map(with_id).collect()
}

/// Returns the responses to a provider's calls in its form.
pub(crate) fn encoded(provider: Provider, message: &str, ids: [&str; 5]) -> String {
    let mut protocol = protocol(provider);
    protocol.push(message.as_bytes());
    protocol.finish();
    pretty(&protocol.encode(&responses(ids)))
}

/// A conversation: two calls, one of which failed, then one of a tool that shows parts, of which `native` is the form
/// of the provider, and one step in the form of a foreign one.
pub(crate) fn history(native: Option<RawTurn>) -> Vec<Message> {
    let call = |id: &str, name: &str, arguments: &str| ToolCall::new(id, name, arguments);
    let result = |response: &ToolResponse| Message::Result {
        call_id: response.meta().call_id().unwrap_or_default().to_owned(),
        tool: "add".to_owned(),
        result: response.for_model(tool_core::call::ResultForm::Plain),
    };
    let told = responses(["call_1", "call 2 ä", "", "abcDEF123", ""]);
    let foreign = RawTurn {
        provider: tool_core::tool::ProviderId::new("elsewhere"),
        items: vec![json!({"canary": 1})],
    };
    vec![
        Message::user("What is 1 + 2?"),
        Message::Assistant {
            text: Some("Let me see.".into()),
            calls: vec![
                call("call_1", "add", r#"{"a":1,"b":2}"#),
                call("call 2 ä", "add", "oops"),
            ],
            native: Some(foreign),
        },
        result(&told[0]),
        result(&told[1]),
        Message::Assistant {
            text: None,
            calls: vec![call("abcDEF123", "add", "{}")],
            native,
        },
        result(&told[3]),
        Message::Assistant {
            text: Some("It is 3.".into()),
            calls: Vec::new(),
            native: None,
        },
        Message::user("Thanks"),
    ]
}

/// The body of a request that says all there is to say; the tools are counted only.
pub(crate) fn asked(
    provider: Provider,
    history: &[Message],
    tool_choice: ToolChoice,
    extra: Value,
) -> String {
    let parameters = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}});
    let raw = RawTool {
        name: "add".into(),
        description: "Add.".into(),
        parameters,
    };
    let handler = |_: Value, _: &RunContext| std::future::ready(Ok::<_, ToolError>(json!(3)));
    let tools = ToolContext::builder()
        .with(FunctionTool::raw(raw, handler))
        .build()
        .expect("a tool");
    let declarations = declare_tools(
        provider,
        tools.definitions(),
        &[],
        DeclareOptions::default(),
    );
    let Value::Object(extra) = extra else {
        panic!("an object")
    };
    let mut body = protocol(provider).request(&Request {
        model: "some-model",
        instructions: "Be brief.",
        history,
        declarations: &declarations,
        tool_choice,
        stream: true,
        max_tokens: Some(500),
        extra: &extra,
    });
    for place in ["/tools", "/session/tools"] {
        if let Some(tools) = body.pointer_mut(place) {
            *tools = tools.as_array().map_or(0, Vec::len).into();
        }
    }
    pretty(&body)
}

/// No settings of the caller's own.
pub(crate) fn nothing() -> Value {
    Value::Object(Map::new())
}

/// JSON with one member of the outer array, or of `messages` or `input`, a line.
fn pretty(value: &Value) -> String {
    let lines = |items: &[Value]| {
        items
            .iter()
            .map(|item| format!("\n  {item}"))
            .collect::<Vec<_>>()
            .join(",")
    };
    match value {
        Value::Array(items) => format!("[{}\n]", lines(items)),
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| match value {
                Value::Array(items) if items.len() > 1 => format!("{key}: [{}\n]", lines(items)),
                value => format!("{key}: {value}"),
            });
            members.collect::<Vec<_>>().join("\n")
        }
        value => value.to_string(),
    }
}

/// Writes the counts that every provider has, and the others by name unless they are 0.
pub(crate) fn usage_text(usage: TokenUsage) -> String {
    let parts = [
        usage.input,
        usage.cached,
        usage.cache_written,
        usage.output,
        usage.reasoning,
    ];
    let others = [
        ("written_1h", usage.cache_written_1h),
        ("audio", usage.input_audio),
        ("image", usage.input_image),
        ("cached_audio", usage.cached_audio),
        ("cached_image", usage.cached_image),
        ("output_audio", usage.output_audio),
        ("output_image", usage.output_image),
    ];
    let others = others
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{name}={count}"));
    parts
        .iter()
        .map(u64::to_string)
        .chain(others)
        .collect::<Vec<_>>()
        .join(" ")
}
