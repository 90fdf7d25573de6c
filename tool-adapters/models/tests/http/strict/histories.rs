//! Random histories, however they were cut or invented: each request keeps the rules of its provider.

use crate::strict::parts::{
    CHAT_PARTS, COHERE_PARTS, CONVERSE_PARTS, GENERATE_CONTENT_PARTS, MESSAGES_PARTS,
    MISTRAL_PARTS, OLLAMA_PARTS, RESPONSES_PARTS,
};
use crate::strict::rules::{
    CHAT, CLOSED, COHERE, CONVERSE, GEMINI_CHAT, GENERATE_CONTENT, GROQ, LONE_RESULTS,
    MAX_COMPLETION_TOKENS, MAX_TOKENS, MESSAGES, MISTRAL, NEEDS_REASONING, OLLAMA, PERPLEXITY,
    RESPONSES, Rule, TEXT_RESULTS, broken,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tool_adapters::providers::{Declarations, Host, Request};
use tool_adapters::{Provider, declare, protocol};
use tool_core::call::ModelResult;
use tool_core::session::{Message, RawTurn, ToolChoice, UserMessage};
use tool_core::{Content, FunctionTool, RawTool, RunContext, ToolCall, ToolContext, ToolError};

/// A server, and the rules that it holds requests to.
struct Row {
    provider: Provider,
    base_url: &'static str,
    model: &'static str,
    rules: &'static [&'static [Rule]],
}

const fn row(provider: Provider, base_url: &'static str, rules: &'static [&'static [Rule]]) -> Row {
    Row {
        provider,
        base_url,
        model: "a-model",
        rules,
    }
}

const ROWS: &[Row] = &[
    row(
        Provider::OpenAiChat,
        "",
        &[CHAT, CLOSED, MAX_COMPLETION_TOKENS, CHAT_PARTS],
    ),
    row(
        Provider::OpenAiChat,
        "https://team.openai.azure.com/openai/v1",
        &[CHAT, CLOSED, MAX_COMPLETION_TOKENS, CHAT_PARTS],
    ),
    row(
        Provider::OpenAiChat,
        "https://models.github.ai/inference",
        &[CHAT, CLOSED, MAX_TOKENS, CHAT_PARTS],
    ),
    row(
        Provider::OpenAiChat,
        "https://api.deepseek.com",
        &[CHAT, MAX_TOKENS, TEXT_RESULTS, NEEDS_REASONING, CHAT_PARTS],
    ),
    row(
        Provider::OpenAiChat,
        "https://api.moonshot.ai/v1",
        &[CHAT, MAX_TOKENS, TEXT_RESULTS, NEEDS_REASONING, CHAT_PARTS],
    ),
    row(
        Provider::OpenAiChat,
        "https://generativelanguage.googleapis.com/v1beta/openai",
        &[CHAT, GEMINI_CHAT, CHAT_PARTS],
    ),
    row(
        Provider::OpenAiChat,
        "https://api.mistral.ai/v1",
        &[CHAT, MAX_TOKENS, TEXT_RESULTS, MISTRAL, MISTRAL_PARTS],
    ),
    row(
        Provider::OpenAiChat,
        "https://openrouter.ai/api/v1",
        &[CHAT, MAX_TOKENS, TEXT_RESULTS, CHAT_PARTS],
    ),
    row(
        Provider::OpenAiChat,
        "https://api.groq.com/openai/v1",
        &[CHAT, GROQ, MAX_COMPLETION_TOKENS, TEXT_RESULTS, CHAT_PARTS],
    ),
    row(
        Provider::OpenAiChat,
        "https://api.cerebras.ai/v1",
        &[CHAT, GROQ, TEXT_RESULTS, CHAT_PARTS],
    ),
    row(
        Provider::OpenAiChat,
        "https://api.perplexity.ai",
        &[
            CHAT,
            CLOSED,
            MAX_TOKENS,
            TEXT_RESULTS,
            PERPLEXITY,
            CHAT_PARTS,
        ],
    ),
    row(
        Provider::OpenAiChat,
        "http://localhost:8000/v1",
        &[CHAT, MAX_TOKENS, TEXT_RESULTS, CHAT_PARTS],
    ),
    row(Provider::OpenAiResponses, "", &[RESPONSES, RESPONSES_PARTS]),
    row(
        Provider::OpenAiResponses,
        "http://localhost:1234/v1",
        &[RESPONSES, RESPONSES_PARTS],
    ),
    row(Provider::Anthropic, "", &[MESSAGES, MESSAGES_PARTS]),
    row(
        Provider::Gemini,
        "",
        &[GENERATE_CONTENT, GENERATE_CONTENT_PARTS],
    ),
    row(
        Provider::GeminiJsonSchema,
        "",
        &[GENERATE_CONTENT, GENERATE_CONTENT_PARTS],
    ),
    row(
        Provider::Bedrock,
        "",
        &[CONVERSE, LONE_RESULTS, CONVERSE_PARTS],
    ),
    Row {
        provider: Provider::Bedrock,
        base_url: "",
        model: "eu.anthropic.claude-sonnet-5",
        rules: &[CONVERSE, CONVERSE_PARTS],
    },
    row(
        Provider::Mistral,
        "",
        &[CHAT, MAX_TOKENS, TEXT_RESULTS, MISTRAL, MISTRAL_PARTS],
    ),
    row(Provider::Cohere, "", &[CHAT, COHERE, COHERE_PARTS]),
    row(Provider::Ollama, "", &[OLLAMA, OLLAMA_PARTS]),
];

/// A part of a history.
#[derive(Clone, Debug)]
enum Piece {
    User(&'static str),
    /// A message with files, some of which the provider does not take.
    Files,
    Step(Step),
    /// A result that belongs to no call, or to one that has a result.
    Result {
        id: &'static str,
        text: &'static str,
    },
}

#[derive(Clone, Debug)]
struct Step {
    text: Option<&'static str>,
    calls: Vec<Call>,
    native: Native,
    /// What follows the step, in place of its results in order.
    after: Vec<After>,
}

#[derive(Clone, Debug)]
struct Call {
    id: &'static str,
    name: &'static str,
    arguments: &'static str,
}

/// The raw turn of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Native {
    None,
    /// The server's own, with these parts beside the text and the calls.
    Own {
        has_thought: bool,
        has_server_tool: bool,
    },
    /// The server's own, whose calls are not in the message.
    Cut,
    Foreign,
}

#[derive(Clone, Copy, Debug)]
enum After {
    Result(usize),
    User(&'static str),
}

const TEXTS: [&str; 4] = ["Look around.", "", " \n", "And up?"];
const NAMES: [&str; 8] = [
    "look",
    "$READFILE",
    "",
    "füße gehen",
    "files.read",
    "mcp__files__read",
    "files/read:now",
    LONG_NAME,
];
const LONG_NAME: &str =
    "read_the_file_that_the_user_has_opened_most_recently_in_the_editor_of_the_left_window";
const IDS: [&str; 7] = [
    "call_1",
    "",
    "a b/ü",
    "functions.look:0",
    "call_0",
    "D681PevKs",
    LONG_ID,
];
const LONG_ID: &str = "call_0123456789012345678901234567890123456789012345678901234567890123456789";
const ARGUMENTS: [&str; 9] = [
    "{}",
    r#"{"place":"left"}"#,
    "oops",
    "",
    "null",
    "[1]",
    r#"{"place":"#,
    r#"{"place":"\ud800"}"#,
    r#""{}""#,
];

fn any_of<T: Clone + std::fmt::Debug + 'static>(values: &'static [T]) -> impl Strategy<Value = T> {
    prop::sample::select(values)
}

fn any_native() -> impl Strategy<Value = Native> {
    let own =
        (any::<bool>(), any::<bool>()).prop_map(|(has_thought, has_server_tool)| Native::Own {
            has_thought,
            has_server_tool,
        });
    prop_oneof![2 => Just(Native::None), 4 => own, 1 => Just(Native::Cut), 1 => Just(Native::Foreign)]
}

fn any_step() -> impl Strategy<Value = Piece> {
    let call =
        (any_of(&IDS), any_of(&NAMES), any_of(&ARGUMENTS)).prop_map(|(id, name, arguments)| Call {
            id,
            name,
            arguments,
        });
    let after = prop_oneof![4 => (0..4_usize).prop_map(After::Result), 1 => any_of(&TEXTS).prop_map(After::User)];
    let after = prop_oneof![
        // Most steps have all their results.
        3 => Just((0..4).map(After::Result).collect::<Vec<_>>()),
        1 => prop::collection::vec(after, 0..5),
    ];
    let step = (
        prop::option::of(any_of(&TEXTS)),
        prop::collection::vec(call, 0..4),
        any_native(),
        after,
    );
    step.prop_map(|(text, calls, native, after)| {
        Piece::Step(Step {
            text,
            calls,
            native,
            after,
        })
    })
}

fn any_history() -> impl Strategy<Value = Vec<Piece>> {
    let result = (any_of(&IDS), any_of(&TEXTS)).prop_map(|(id, text)| Piece::Result { id, text });
    let piece = prop_oneof![3 => any_of(&TEXTS).prop_map(Piece::User), 1 => Just(Piece::Files), 6 => any_step(), 1 => result];
    prop::collection::vec(piece, 0..7)
}

fn result(id: &str, tool: &str, text: &str) -> Message {
    let is_error = text.is_empty();
    let result = ModelResult {
        text: text.to_owned(),
        is_error,
        reply: true,
        parts: false,
        is_text: true,
        goes_on: false,
    };
    Message::Result {
        call_id: id.to_owned(),
        tool: tool.to_owned(),
        result,
    }
}

fn files() -> UserMessage {
    let plan = Content::Resource {
        uri: "data:application/pdf;base64,JVBERi0=".into(),
        mime_type: Some("application/pdf".into()),
        text: None,
        name: Some("floor plan_1.pdf".into()),
    };
    UserMessage::default()
        .image("iVBORw0KGgo=", "image/png")
        .image("not base64", "image/png")
        .image("R0lGODlh", "image/tiff")
        .audio("UklGRg==", "audio/wav")
        .with(plan)
        .with_url("https://example.com/harbour.jpg", "image/jpeg")
        .with_url("ftp://example.com/harbour.jpg", "image/jpeg")
        .with("data:")
}

/// A result with a text, an image, a document and a link.
fn pictures(id: &str, tool: &str) -> Message {
    let parts = files().into_parts();
    let result = ModelResult {
        text: serde_json::to_string(&parts).expect("JSON"),
        is_error: false,
        reply: true,
        parts: true,
        is_text: false,
        goes_on: false,
    };
    Message::Result {
        call_id: id.to_owned(),
        tool: tool.to_owned(),
        result,
    }
}

/// Returns the messages of a history with a server.
fn messages(pieces: &[Piece], row: &Row) -> Vec<Message> {
    let mut messages = Vec::new();
    for (number, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::User(text) => messages.push(Message::user(*text)),
            Piece::Files => messages.push(Message::User(files())),
            Piece::Result { id, text } => messages.push(result(id, "look", text)),
            Piece::Step(step) => add_step(step, number, row, &mut messages),
        }
    }
    messages
}

fn add_step(step: &Step, number: usize, row: &Row, messages: &mut Vec<Message>) {
    let own_id = Host::at(row.provider, row.base_url).turn_id();
    let native = match step.native {
        Native::None => None,
        Native::Own { .. } => Some(RawTurn {
            provider: own_id,
            items: native_items(row.provider, step, number),
        }),
        Native::Cut => {
            let more = Step {
                calls: [
                    step.calls.clone(),
                    vec![Call {
                        id: "gone",
                        name: "look",
                        arguments: "{}",
                    }],
                ]
                .concat(),
                ..step.clone()
            };
            Some(RawTurn {
                provider: own_id,
                items: native_items(row.provider, &more, number),
            })
        }
        Native::Foreign => {
            let provider = tool_core::tool::ProviderId::new("elsewhere");
            Some(RawTurn {
                provider,
                items: vec![json!({"role": "assistant", "reasoning_content": "canary"})],
            })
        }
    };
    let calls = step
        .calls
        .iter()
        .map(|call| ToolCall::new(call.id, call.name, call.arguments))
        .collect::<Vec<_>>();
    let text = step.text.map(str::to_owned);
    messages.push(Message::Assistant {
        text,
        calls,
        native,
    });
    for after in &step.after {
        match after {
            After::User(text) => messages.push(Message::user(*text)),
            After::Result(place) => {
                let call = step.calls.get(*place);
                messages.extend(call.map(|call| match place {
                    1 => pictures(call.id, call.name),
                    _ => result(call.id, call.name, "a door"),
                }));
            }
        }
    }
}

/// Returns the items of a step as a server sends them.
fn native_items(provider: Provider, step: &Step, number: usize) -> Vec<Value> {
    let (has_thought, has_server_tool) = match step.native {
        Native::Own {
            has_thought,
            has_server_tool,
        } => (has_thought, has_server_tool),
        _ => (true, false),
    };
    let said = step.text.map(str::to_owned);
    match provider {
        Provider::OpenAiResponses => responses_items(step, number, has_thought, has_server_tool),
        Provider::Anthropic => {
            let thought = has_thought
                .then(|| json!({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}));
            let own = has_server_tool.then(|| json!({"type": "server_tool_use", "id": format!("srvtoolu_{number}"), "name": "web_search", "input": {}}));
            let text = said.map(|text| json!({"type": "text", "text": text}));
            let calls = step.calls.iter().map(
                |call| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}}),
            );
            thought
                .into_iter()
                .chain(own)
                .chain(text)
                .chain(calls)
                .collect()
        }
        Provider::Bedrock => {
            let signed = json!({"text": "Hm.", "signature": "c2ln"});
            let unsigned = json!({"text": "Hm."});
            let thought = has_thought.then(
                || json!({"reasoningContent": {"reasoningText": if has_server_tool { unsigned } else { signed }}}),
            );
            let text = said.map(|text| json!({"text": text}));
            let calls = step.calls.iter().map(
                |call| json!({"toolUse": {"toolUseId": call.id, "name": call.name, "input": {}}}),
            );
            thought.into_iter().chain(text).chain(calls).collect()
        }
        Provider::Gemini | Provider::GeminiJsonSchema => {
            let thought = has_thought.then(|| json!({"text": "Hm.", "thought": true}));
            let text = said.map(|text| json!({"text": text}));
            let calls = step.calls.iter().enumerate().map(|(place, call)| {
                let called = json!({"functionCall": {"name": call.name, "args": {}}});
                if place == 0 {
                    json!({"functionCall": called["functionCall"], "thoughtSignature": "c2ln"})
                } else {
                    called
                }
            });
            let end = has_server_tool.then(|| json!({"text": "", "thoughtSignature": "c2ln"}));
            thought
                .into_iter()
                .chain(text)
                .chain(calls)
                .chain(end)
                .collect()
        }
        _ => vec![chat_item(step, has_thought, has_server_tool)],
    }
}

fn responses_items(
    step: &Step,
    number: usize,
    has_thought: bool,
    has_server_tool: bool,
) -> Vec<Value> {
    let mut items = Vec::new();
    if has_server_tool {
        items.push(json!({"type": "custom_tool_call", "id": "ctc", "call_id": "xs_call_1", "name": "view_x_video", "input": "x"}));
    }
    // Every item has reasoning of its own, or none has.
    let thought =
        |number: &str| json!({"type": "reasoning", "id": format!("rs_{number}"), "summary": []});
    if let Some(text) = step.text {
        let number = format!("{number}t");
        items.extend(has_thought.then(|| thought(&number)));
        let id = if has_thought {
            json!(format!("msg_{number}"))
        } else {
            Value::Null
        };
        let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
        items
            .push(json!({"type": "message", "id": id, "role": "assistant", "status": "completed", "content": content}));
    }
    for (place, call) in step.calls.iter().enumerate() {
        let number = format!("{number}c{place}");
        items.extend(has_thought.then(|| thought(&number)));
        let id = if has_thought {
            json!(format!("fc_{number}"))
        } else {
            Value::Null
        };
        items.push(json!({"type": "function_call", "id": id, "call_id": call.id, "name": call.name, "arguments": call.arguments}));
    }
    if has_thought && step.text.is_none() {
        items.push(thought("last"));
    }
    items
}

/// The item of Chat Completions, Mistral, Cohere and Ollama.
fn chat_item(step: &Step, has_thought: bool, has_more: bool) -> Value {
    let mut item = Map::from_iter([("role".to_owned(), Value::from("assistant"))]);
    if has_thought {
        item.insert("reasoning_content".to_owned(), "Hm.".into());
        item.insert("tool_plan".to_owned(), "Hm.".into());
    }
    if has_more {
        let text = step.text.unwrap_or_default();
        let thinking = json!({"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]});
        let reference = json!({"type": "reference", "reference_ids": [1]});
        item.insert(
            "content".to_owned(),
            json!([thinking, {"type": "text", "text": text}, reference]),
        );
    }
    let calls = step.calls.iter().enumerate().map(|(place, call)| {
        let signature = json!({"google": {"thought_signature": "c2ln"}});
        let function = json!({"name": call.name, "arguments": ""});
        match place {
            0 => json!({"id": call.id, "type": "function", "function": function, "extra_content": signature}),
            _ => json!({"id": call.id, "type": "function", "function": function}),
        }
    });
    item.insert("tool_calls".to_owned(), calls.collect());
    item.into()
}

fn tools(provider: Provider) -> Declarations {
    let tool = |name: &str| {
        let raw = RawTool {
            name: name.to_owned(),
            description: "Look.".into(),
            parameters: json!({"type": "object"}),
        };
        FunctionTool::raw(raw, |_: Value, _: &RunContext| {
            std::future::ready(Ok::<_, ToolError>(json!(1)))
        })
    };
    let tools = ToolContext::builder()
        .with(tool("look"))
        .with(tool("files.read"))
        .build()
        .expect("tools");
    declare(provider, &tools)
}

fn body(row: &Row, history: &[Message], declarations: &Declarations) -> Value {
    let mut protocol = protocol(row.provider);
    protocol.host(Host::at(row.provider, row.base_url));
    protocol.request(&Request {
        model: row.model,
        instructions: "Be brief.",
        history,
        declarations,
        tool_choice: ToolChoice::Required,
        stream: true,
        max_tokens: Some(100),
        extra: &Map::new(),
    })
}

// M4, M5
#[test]
fn any_history_keeps_the_rules_of_its_provider() {
    for row in ROWS {
        let declarations = tools(row.provider);
        let config = ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        };
        proptest!(config, |(pieces in any_history())| {
            let history = messages(&pieces, row);
            let body = body(row, &history, &declarations);
            let broken = broken(row.rules, &body);
            prop_assert!(
                broken.is_none(),
                "{} at {}: {} ({})\n{:#}",
                row.provider, row.base_url, broken.map_or("", |rule| rule.says), broken.map_or("", |rule| rule.source), body
            );
            prop_assert!(!body.to_string().contains("canary"), "a step went to another server");
        });
    }
}

// M5
#[test]
fn results_have_names_that_the_provider_takes() {
    let name_of = |result: &Value| {
        let places = ["/parts/0/functionResponse/name", "/0/name", "/0/tool_name"];
        places
            .iter()
            .find_map(|place| result.pointer(place)?.as_str().map(str::to_owned))
    };
    for name in NAMES {
        let function = json!({"name": name, "arguments": "{}"});
        let message = json!({"role": "assistant", "tool_calls": [{"id": "abcDEF123", "type": "function", "function": function}]});
        let function_of_ollama = json!({"name": name, "arguments": {}});
        let called = json!({"functionCall": {"id": "call_1", "name": name, "args": {}}});
        let answers = [
            (
                Provider::Mistral,
                json!({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}),
                64,
            ),
            (
                Provider::Ollama,
                json!({"message": {"role": "assistant", "tool_calls": [{"id": "call_1", "function": function_of_ollama}]}, "done": true}),
                128,
            ),
            (
                Provider::Gemini,
                json!({"candidates": [{"content": {"role": "model", "parts": [called]}, "finishReason": "STOP"}]}),
                128,
            ),
        ];
        for (provider, answer, max_length) in answers {
            let mut protocol = protocol(provider);
            let events = protocol
                .push(answer.to_string().as_bytes())
                .into_iter()
                .chain(protocol.finish());
            let call = events.into_iter().find_map(|event| match event {
                tool_adapters::providers::Event::Call(call) => Some(call),
                _ => None,
            });
            let call = call.unwrap_or_else(|| panic!("{provider}: no call of `{name}`"));
            let id = call.id().to_owned();
            let response = serde_json::from_value(
                json!({"ok": true, "data": 1, "intents": [], "meta": {"tool": name, "callId": id}}),
            );
            let written =
                name_of(&protocol.encode(&[response.expect("a response")])).expect("a name");
            assert_eq!(
                written,
                tools(provider).written_name(name),
                "{provider}: the name that a request has"
            );
            let is_taken = |letter: char| letter.is_ascii_alphanumeric() || "_-.:".contains(letter);
            assert!(
                matches!(written.len(), 1..)
                    && written.len() <= max_length
                    && written.chars().all(is_taken),
                "{written}"
            );
        }
    }
}
