//! Prompt caching in the requests of each provider.

use crate::Provider;
use crate::hosts::Host;
use crate::prompt_cache::{cache_prompt, mark_bedrock};
use crate::protocol::protocol;
use crate::request::Request;
use crate::tests::fixtures::{assistant, declared, result, user};
use serde_json::{Map, Value, json};
use tool_core::session::{Message, ToolChoice};

struct Sent<'a> {
    provider: Provider,
    base_url: &'a str,
    model: &'a str,
    history: &'a [Message],
    extra: Map<String, Value>,
}

impl<'a> Sent<'a> {
    fn to(provider: Provider, history: &'a [Message]) -> Self {
        Self {
            provider,
            base_url: "",
            model: "a-model",
            history,
            extra: Map::new(),
        }
    }

    fn body(&self) -> Value {
        let declarations = declared(self.provider, true);
        let request = Request {
            model: self.model,
            instructions: "Be brief.",
            history: self.history,
            declarations: &declarations,
            tool_choice: ToolChoice::Auto,
            stream: false,
            max_tokens: None,
            extra: &self.extra,
        };
        let host = Host::at(self.provider, self.base_url);
        let mut protocol = protocol(self.provider);
        protocol.host(host.clone());
        let mut body = protocol.request(&request);
        cache_prompt(self.provider, &host, &request, &mut body);
        body
    }
}

fn two_steps() -> Vec<Message> {
    vec![
        user("Look around."),
        assistant("", &[("call_1", "{}")], None),
        result("call_1", "a door", false),
        assistant("", &[("call_2", "{}")], None),
        result("call_2", "a wall", false),
    ]
}

/// Returns the pointers to the members with a name.
fn places(value: &Value, name: &str, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, name, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(members) => {
            for (member, value) in members {
                if member == name {
                    found.push(at.to_owned());
                }
                places(value, name, &format!("{at}/{member}"), found);
            }
        }
        _ => {}
    }
}

fn marks(body: &Value, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    places(body, name, "", &mut found);
    found
}

#[test]
fn anthropic_gets_marks_at_tools_system_and_last_turns() {
    let history = two_steps();
    let body = Sent::to(Provider::Anthropic, &history).body();
    let mut found = marks(&body, "cache_control");
    found.sort();
    assert_eq!(
        found,
        [
            "/messages/2/content/0",
            "/messages/4/content/0",
            "/system/0",
            "/tools/0"
        ]
    );
}

#[test]
fn anthropic_gets_at_most_four_marks() {
    let history = two_steps();
    let system = json!([
        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "c", "cache_control": {"type": "ephemeral"}},
    ]);
    let sent = Sent {
        extra: Map::from_iter([("system".to_owned(), system)]),
        ..Sent::to(Provider::Anthropic, &history)
    };
    assert_eq!(marks(&sent.body(), "cache_control").len(), 4);
}

/// Returns the places of the marks in a body, each with the life of its mark.
fn lives(body: &Value, name: &str) -> Vec<String> {
    let with_life = |place: String| {
        let life = body.pointer(&format!("{place}/{name}/ttl"));
        let life = life.and_then(Value::as_str).unwrap_or("5m");
        format!("{place} {life}")
    };
    let mut lives = marks(body, name)
        .into_iter()
        .map(with_life)
        .collect::<Vec<_>>();
    lives.sort();
    lives
}

// P5: the server refuses a longer life after a shorter one.
#[test]
fn marks_before_one_for_an_hour_are_for_an_hour() {
    let history = two_steps();
    let mark = json!({"type": "ephemeral", "ttl": "1h"});
    let system = json!([{"type": "text", "text": "a", "cache_control": mark}]);
    let sent = Sent {
        extra: Map::from_iter([("system".to_owned(), system)]),
        ..Sent::to(Provider::Anthropic, &history)
    };
    assert_eq!(
        lives(&sent.body(), "cache_control"),
        [
            "/messages/2/content/0 5m",
            "/messages/4/content/0 5m",
            "/system/0 1h",
            "/tools/0 1h",
        ]
    );
}

// P5
#[test]
fn a_mark_of_the_whole_request_is_that_of_its_last_block() {
    let history = two_steps();
    let mark = json!({"type": "ephemeral", "ttl": "1h"});
    let sent = Sent {
        extra: Map::from_iter([("cache_control".to_owned(), mark)]),
        ..Sent::to(Provider::Anthropic, &history)
    };
    assert_eq!(
        lives(&sent.body(), "cache_control"),
        [
            " 1h",
            "/messages/2/content/0 1h",
            "/system/0 1h",
            "/tools/0 1h",
        ]
    );
}

// P5
#[test]
fn points_before_one_for_an_hour_are_for_an_hour() {
    let history = two_steps();
    let point = json!({"cachePoint": {"type": "default", "ttl": "1h"}});
    let sent = Sent {
        model: "anthropic.claude-sonnet-4-5",
        extra: Map::from_iter([("system".to_owned(), json!([{"text": "a"}, point]))]),
        ..Sent::to(Provider::Bedrock, &history)
    };
    assert_eq!(
        lives(&sent.body(), "cachePoint"),
        [
            "/messages/2/content/1 5m",
            "/messages/4/content/1 5m",
            "/system/1 1h",
            "/toolConfig/tools/1 1h",
        ]
    );
}

// P5: the server refuses a point right after a document that is no PDF.
#[test]
fn a_point_stands_before_documents_that_are_no_pdf() {
    let mut body = json!({"messages": [{"role": "user", "content": [
        {"text": "Compare."},
        {"document": {"format": "pdf", "name": "a"}},
        {"document": {"format": "docx", "name": "b"}},
        {"document": {"format": "csv", "name": "c"}},
    ]}]});
    mark_bedrock("anthropic.claude", &mut body);
    assert_eq!(marks(&body, "cachePoint"), ["/messages/0/content/2"]);
    let mut only = json!({"messages": [{"role": "user", "content": [
        {"document": {"format": "docx", "name": "b"}},
    ]}]});
    mark_bedrock("anthropic.claude", &mut only);
    assert!(marks(&only, "cachePoint").is_empty(), "{only}");
}

#[test]
fn bedrock_gets_points_for_the_models_that_take_them() {
    let history = two_steps();
    let points = |model| {
        let sent = Sent {
            model,
            ..Sent::to(Provider::Bedrock, &history)
        };
        marks(&sent.body(), "cachePoint").len()
    };
    assert_eq!(points("eu.anthropic.claude-sonnet-5"), 4);
    assert_eq!(points("amazon.nova-pro-v1:0"), 3);
    assert_eq!(points("meta.llama4"), 0);
}

#[test]
fn servers_that_know_the_key_get_one() {
    let history = two_steps();
    let key = |provider, base_url| {
        let sent = Sent {
            base_url,
            ..Sent::to(provider, &history)
        };
        sent.body().get("prompt_cache_key").cloned()
    };
    for (provider, url) in [
        (Provider::OpenAiChat, ""),
        (
            Provider::OpenAiChat,
            "https://team.openai.azure.com/openai/v1",
        ),
        (Provider::OpenAiChat, "https://api.mistral.ai/v1"),
        (Provider::OpenAiResponses, ""),
        (Provider::Mistral, ""),
    ] {
        let key = key(provider, url);
        let text = key.as_ref().and_then(Value::as_str).unwrap_or_default();
        assert_eq!(text.len(), 32, "{provider} {url}");
    }
    for (provider, url) in [
        (Provider::OpenAiChat, "http://localhost:8000/v1"),
        (Provider::OpenAiChat, "https://api.deepseek.com"),
        (Provider::Gemini, ""),
        (Provider::Ollama, ""),
        (Provider::LlamaCpp, ""),
    ] {
        assert_eq!(key(provider, url), None, "{provider} {url}");
    }
}

#[test]
fn a_conversation_keeps_its_key() {
    let history = two_steps();
    let key =
        |history| Sent::to(Provider::OpenAiResponses, history).body()["prompt_cache_key"].clone();
    assert_eq!(key(&history[..1]), key(&history));
    assert_ne!(key(&history), key(&[user("Another question")]));
}

#[test]
fn a_key_of_the_caller_stays() {
    let history = two_steps();
    let sent = Sent {
        extra: Map::from_iter([("prompt_cache_key".to_owned(), json!("ours"))]),
        ..Sent::to(Provider::OpenAiChat, &history)
    };
    assert_eq!(sent.body()["prompt_cache_key"], "ours");
}

/// Removes the marks of the cache, which are no part of the prompt. Bedrock's are blocks of their own.
fn without_marks(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.retain(|item| item.get("cachePoint").is_none());
            items.iter_mut().for_each(without_marks);
        }
        Value::Object(members) => {
            members.remove("cache_control");
            members.values_mut().for_each(without_marks);
        }
        _ => {}
    }
}

/// Returns the parts of a body that a cache compares: its tools, its instructions, and its messages one by one.
fn prefix(mut body: Value) -> Vec<String> {
    without_marks(&mut body);
    let fixed = [
        "tools",
        "toolConfig",
        "system",
        "instructions",
        "systemInstruction",
    ];
    let mut parts = fixed
        .iter()
        .map(|name| body[*name].to_string())
        .collect::<Vec<_>>();
    let conversation = ["messages", "input", "contents"]
        .iter()
        .find_map(|name| body[*name].as_array());
    parts.extend(conversation.into_iter().flatten().map(Value::to_string));
    parts
}

#[test]
fn each_request_begins_with_the_one_before() {
    let history = [
        two_steps(),
        vec![
            assistant("There is a wall.", &[], None),
            user("And up?"),
            assistant("One moment.", &[("call_3", r#"{"place":"up"}"#)], None),
            result("call_3", "the sky", false),
            assistant("The sky.", &[], None),
            user("Thanks."),
        ],
    ]
    .concat();
    let ends = [1, 3, 5, 7, 9, 11];
    for provider in Provider::ALL {
        let body_at = |end: usize| {
            let sent = Sent {
                model: "claude",
                ..Sent::to(provider, &history[..end])
            };
            sent.body()
        };
        for pair in ends.windows(2) {
            let [before, after] = [prefix(body_at(pair[0])), prefix(body_at(pair[1]))];
            assert!(
                after.starts_with(&before),
                "{provider}: {before:?} {after:?}"
            );
        }
    }
}
