//! A stored conversation goes on with another provider.

use crate::Provider;
use crate::hosts::Host;
use crate::spec::Endpoint;
use crate::tests::fixtures::{request, result, user};
use serde_json::{Value, json};
use tool_core::ToolCall;
use tool_core::session::{History, Message, RawTurn, ToolChoice};

const SIGNATURE: &str = "c2lnbmF0dXJl";

/// Returns a step as a provider has sent it, with the signature of its thoughts.
fn signed_items(provider: Provider) -> Vec<Value> {
    let place = json!({"place": "left"});
    match provider {
        Provider::Anthropic => vec![
            json!({"type": "thinking", "thinking": "Where?", "signature": SIGNATURE}),
            json!({"type": "text", "text": "I look."}),
            json!({"type": "tool_use", "id": "call_1", "name": "look", "input": place}),
        ],
        Provider::Gemini => vec![
            json!({"text": "I look."}),
            json!({
                "functionCall": {"id": "call_1", "name": "look", "args": place},
                "thoughtSignature": SIGNATURE,
            }),
        ],
        _ => vec![
            json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": SIGNATURE}),
            json!({
                "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
            }),
            json!({
                "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look",
                "arguments": place.to_string(), "status": "completed",
            }),
        ],
    }
}

/// Returns a conversation that began with a provider, as it comes out of a store.
fn stored(provider: Provider) -> History {
    let mut history = History::new();
    let native = RawTurn {
        provider: Host::of(provider).turn_id(),
        items: signed_items(provider),
    };
    history.extend([
        user("Look around."),
        Message::Assistant {
            text: Some("I look.".into()),
            calls: vec![ToolCall::new("call_1", "look", r#"{"place":"left"}"#)],
            native: Some(native),
        },
        result("call_1", "a door", false),
    ]);
    let read = History::from_json(&history.to_json()).expect("is a history");
    assert_eq!(read, history);
    read
}

fn over_http() -> impl Iterator<Item = Provider> {
    let all = Provider::ALL.iter().copied();
    all.filter(|provider| matches!(provider.spec().endpoint, Endpoint::Http(_)))
}

const BEGINNINGS: [Provider; 3] = [
    Provider::Anthropic,
    Provider::Gemini,
    Provider::OpenAiResponses,
];

#[test]
fn texts_calls_and_results_go_to_every_provider() {
    for began in BEGINNINGS {
        let history = stored(began);
        for next in over_http() {
            let body = request(next, history.messages(), ToolChoice::Auto).to_string();
            for said in ["Look around.", "I look.", "look", "left", "a door"] {
                assert!(body.contains(said), "{began:?} to {next:?}: {said}: {body}");
            }
        }
    }
}

#[test]
fn signatures_go_back_to_the_same_provider_only() {
    for began in BEGINNINGS {
        let history = stored(began);
        for next in over_http() {
            let body = request(next, history.messages(), ToolChoice::Auto).to_string();
            let is_same = Host::of(began).turn_id() == Host::of(next).turn_id();
            assert_eq!(
                body.contains(SIGNATURE),
                is_same,
                "{began:?} to {next:?}: {body}"
            );
        }
    }
}

#[test]
fn large_numbers_reach_the_next_provider() {
    let number = "123456789012345678901234567890";
    let mut history = History::new();
    history.extend([
        user("Look around."),
        Message::Assistant {
            text: None,
            calls: vec![ToolCall::new(
                "call_1",
                "look",
                format!(r#"{{"place":{number}}}"#),
            )],
            native: None,
        },
        result("call_1", "a door", false),
    ]);
    let read = History::from_json(&history.to_json()).expect("is a history");
    for next in [Provider::OpenAiChat, Provider::OpenAiResponses] {
        let body = request(next, read.messages(), ToolChoice::Auto).to_string();
        assert!(body.contains(number), "{next:?}: {body}");
    }
}
