//! Text results, nothing and stops, with every provider.

use crate::Provider;
use crate::protocol::protocol;
use crate::tests::fixtures::{self, request, user};
use serde_json::{Value, json};
use std::borrow::Cow;
use tool_core::call::ResultForm;
use tool_core::session::{Message, ToolChoice};
use tool_core::{RunContext, ToolCall, ToolContext, ToolOutput, ToolResponse, tool};

const ID: &str = "call_12345";

/// A text that is JSON too.
const TEXT: &str = "{\"a\": \"b\"}";

/// Give a text back.
#[tool]
fn owned(text: String) -> String {
    text
}

/// Give a text.
#[tool]
fn borrowed() -> &'static str {
    TEXT
}

/// Give a text that may be borrowed.
#[tool]
fn either(text: String) -> Cow<'static, str> {
    text.into()
}

/// Give nothing.
#[tool]
fn nothing() {}

/// Give nothing and end the reply.
#[tool]
fn stop() -> ToolOutput {
    ToolOutput::stop()
}

/// Calls a tool, with an id for its response.
async fn called(tool: &str, arguments: Value) -> ToolResponse {
    let builder = ToolContext::builder()
        .with(owned)
        .with(borrowed)
        .with(either)
        .with(nothing)
        .with(stop);
    let ctx = RunContext::builder().call_id(ID).build();
    builder
        .build()
        .expect("sound")
        .call(tool, arguments, &ctx)
        .await
}

/// Returns what the provider is sent for a response: as an answer, and in the history of a request.
fn sent(provider: Provider, response: &ToolResponse) -> [Value; 2] {
    let result = response.for_model(ResultForm::Plain);
    let call = ToolCall::new(ID, "look", r#"{"place": "x"}"#);
    let history = [
        user("Hi"),
        Message::Assistant {
            text: None,
            calls: vec![call],
            native: None,
        },
        Message::Result {
            call_id: ID.to_owned(),
            tool: "look".to_owned(),
            result,
        },
    ];
    [
        protocol(provider).encode(std::slice::from_ref(response)),
        request(provider, &history, ToolChoice::Auto),
    ]
}

fn has_text(value: &Value, text: &str) -> bool {
    match value {
        Value::String(found) => found == text,
        Value::Array(items) => items.iter().any(|item| has_text(item, text)),
        Value::Object(members) => members.values().any(|member| has_text(member, text)),
        _ => false,
    }
}

/// Returns true for providers whose requests have no history, as the provider keeps it.
fn keeps_the_history(provider: Provider) -> bool {
    [
        Provider::Mcp,
        Provider::GeminiLive,
        Provider::OpenAiRealtime,
    ]
    .contains(&provider)
}

// L18
#[tokio::test]
async fn text_result_reaches_every_provider_unchanged() {
    for text in [
        TEXT,
        "\"quoted\" \\ line\nbreak \u{1f600}",
        "null",
        "[1]",
        "\"a\"",
    ] {
        let of = |tool| called(tool, json!({"text": text}));
        for response in [
            of("owned").await,
            of("either").await,
            called("borrowed", json!({})).await,
        ] {
            let text = if response.meta().tool() == "borrowed" {
                TEXT
            } else {
                text
            };
            for provider in Provider::ALL {
                let [answer, request] = sent(provider, &response);
                assert!(
                    has_text(&answer, text),
                    "{provider}: {text:?} is not in {answer}"
                );
                assert!(
                    keeps_the_history(provider) || has_text(&request, text),
                    "{provider}: {text:?}: {request}"
                );
                let quoted = Value::from(text).to_string();
                assert!(
                    !has_text(&answer, &quoted) && !has_text(&request, &quoted),
                    "{provider}: {answer} {request}"
                );
                assert!(
                    answer.pointer("/0/result/structuredContent").is_none(),
                    "{provider}: {answer}"
                );
            }
        }
    }
}

// L18
#[tokio::test]
async fn unit_is_an_empty_text_with_every_provider() {
    let nothing = called("nothing", json!({})).await;
    let empty = called("owned", json!({"text": ""})).await;
    let rename = |answer: Value| answer.to_string().replace("owned", "nothing");
    for provider in Provider::ALL {
        let [answers, requests] = [sent(provider, &nothing), sent(provider, &empty)];
        assert_eq!(answers.map(rename), requests.map(rename), "{provider}");
    }
}

// L18
#[tokio::test]
async fn stop_is_an_empty_output_with_every_provider() {
    let stop = called("stop", json!({})).await;
    let nothing = called("nothing", json!({})).await;
    let result = stop.for_model(ResultForm::Plain);
    assert_eq!(
        (&*result.text, result.is_error, result.reply),
        ("", false, false)
    );
    for provider in Provider::ALL {
        let [[mut stopped, _], [mut silent, _]] = [sent(provider, &stop), sent(provider, &nothing)];
        match provider {
            // These ask the model to reply, or not to.
            Provider::OpenAiRealtime => drop(silent.as_array_mut().and_then(Vec::pop)),
            Provider::GeminiLive => {
                let response = &mut stopped["toolResponse"]["functionResponses"][0];
                assert_eq!(
                    response
                        .as_object_mut()
                        .and_then(|map| map.remove("scheduling")),
                    Some(json!("SILENT"))
                );
            }
            _ => {}
        }
        assert_eq!(
            stopped.to_string().replace("stop", "nothing"),
            silent.to_string(),
            "{provider}"
        );
    }
}

// P5
#[test]
fn a_result_of_no_parts_is_no_empty_list() {
    let empty = fixtures::response(ID, "look", "content", &json!([]));
    for provider in Provider::ALL
        .iter()
        .filter(|provider| **provider != Provider::Mcp)
    {
        for written in sent(*provider, &empty) {
            let written = written.to_string();
            assert!(
                !written.contains("\"content\":[]") && !written.contains("\"output\":[]"),
                "{provider}: {written}"
            );
        }
    }
}
