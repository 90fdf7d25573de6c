//! Typed settings, prompt caching and repeated requests, as a server sees them.

use crate::scripts::{call, text};
use crate::server::{Answer, Request, Server};
use crate::support::{model, session};
use serde_json::{Value, json};
use tool_adapters::Provider;
use tool_adapters::agent::AgentLoop;
use tool_adapters::providers::ReasoningEffort;
use tool_adapters::transport::http::HttpModel;
use tool_core::ErrorKind;
use tool_core::session::{Message, Model, ModelRequest, ToolChoice};

fn says(provider: Provider) -> Answer {
    Answer::events(&text(provider, "It is 3."))
}

fn calls(provider: Provider, id: &str) -> Answer {
    Answer::events(&call(provider, id, &json!({"a": 1, "b": 2})))
}

async fn prompt(model: HttpModel) -> tool_core::session::Reply {
    AgentLoop::new(session().await.0, model)
        .prompt("1 + 2?")
        .await
}

#[tokio::test]
async fn settings_reach_the_server_in_its_own_form() {
    let server = Server::start([says(Provider::Gemini)]).await;
    let model = model(Provider::Gemini, &server)
        .temperature(0.5)
        .top_p(0.9)
        .seed(7)
        .stop(["END"])
        .reasoning_effort(ReasoningEffort::Low);
    assert!(prompt(model).await.error.is_none());
    assert_eq!(
        server.requests()[0].body["generationConfig"],
        json!({"temperature": 0.5, "topP": 0.9, "seed": 7, "stopSequences": ["END"],
            "thinkingConfig": {"thinkingLevel": "low"}})
    );
}

#[tokio::test]
async fn missing_settings_are_told_before_anything_is_sent() {
    let server = Server::start([]).await;
    let model = model(Provider::OpenAiResponses, &server)
        .seed(7)
        .stop(["END"]);
    let error = prompt(model).await.error.expect("refused");
    assert_eq!(error.kind, ErrorKind::Permanent);
    assert_eq!(
        error.message,
        "the settings cannot be sent: openai-responses has no `seed`; openai-responses has no `stop`"
    );
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn the_first_tool_is_forced_in_the_first_step() {
    let server = Server::start([
        calls(Provider::OpenAiChat, "call_1"),
        says(Provider::OpenAiChat),
    ])
    .await;
    let model = model(Provider::OpenAiChat, &server).first_tool("add");
    assert!(prompt(model).await.error.is_none());
    let choices = server
        .requests()
        .iter()
        .map(|request| request.body["tool_choice"]["function"]["name"].clone())
        .collect::<Vec<_>>();
    assert_eq!(choices, [json!("add"), Value::Null]);
}

/// Returns the parts of a request that the provider's cache compares, without the marks.
fn prefix(request: &Request) -> Vec<String> {
    let body = request.body.to_string();
    let plain = body.replace(r#""cache_control":{"type":"ephemeral"},"#, "");
    let plain = plain.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    let body = serde_json::from_str::<Value>(&plain).expect("JSON");
    let mut parts = vec![body["tools"].to_string(), body["system"].to_string()];
    let messages = body["messages"].as_array().expect("messages").iter();
    parts.extend(messages.map(Value::to_string));
    parts
}

#[tokio::test]
async fn a_cached_prompt_begins_in_the_same_way_at_each_step() {
    let anthropic = Provider::Anthropic;
    let steps = ["toolu_1", "toolu_2", "toolu_3"].map(|id| calls(anthropic, id));
    let server = Server::start(steps.into_iter().chain([says(anthropic), says(anthropic)])).await;
    let model = model(anthropic, &server).cache_prompt(true);
    let mut agent = AgentLoop::new(session().await.0, model).instructions("Be brief.");
    assert!(agent.prompt("1 + 2?").await.error.is_none());
    assert!(agent.prompt("And again?").await.error.is_none());

    let requests = server.requests();
    assert_eq!(requests.len(), 5);
    for pair in requests.windows(2) {
        let marks = pair[1].body.to_string().matches("cache_control").count();
        assert_eq!(marks, 4);
        assert!(prefix(&pair[1]).starts_with(&prefix(&pair[0])), "{pair:?}");
    }
}

#[tokio::test]
async fn a_prompt_is_not_cached_unless_the_host_says_so() {
    let server = Server::start([says(Provider::Anthropic)]).await;
    assert!(
        prompt(model(Provider::Anthropic, &server))
            .await
            .error
            .is_none()
    );
    assert!(
        !server.requests()[0]
            .body
            .to_string()
            .contains("cache_control")
    );
}

#[tokio::test]
async fn cached_tokens_are_in_the_usage() {
    let script = text(Provider::Anthropic, "It is 3.").replace(
        r#""input_tokens":10"#,
        r#""input_tokens":10,"cache_read_input_tokens":300,"cache_creation_input_tokens":40"#,
    );
    let server = Server::start([Answer::events(&script)]).await;
    let reply = prompt(model(Provider::Anthropic, &server).cache_prompt(true)).await;
    let usage = reply.usage;
    assert_eq!(
        (usage.input, usage.cached, usage.cache_written),
        (350, 300, 40)
    );
}

/// Returns the value of the header that tells repeated requests.
pub(crate) fn key(request: &Request) -> Option<String> {
    let line = request
        .head
        .lines()
        .find_map(|line| line.strip_prefix("idempotency-key: "));
    line.map(str::to_owned)
}

#[tokio::test]
async fn repetitions_of_a_request_have_one_key() {
    let busy = || Answer::new(503, &[], "{}");
    for provider in [
        Provider::OpenAiChat,
        Provider::OpenAiResponses,
        Provider::Anthropic,
    ] {
        let answers = [busy(), busy(), says(provider), says(provider)];
        let server = Server::start(answers).await;
        let mut agent = AgentLoop::new(session().await.0, model(provider, &server));
        assert!(agent.prompt("1 + 2?").await.error.is_none());
        assert!(agent.prompt("Again").await.error.is_none());
        let keys = server.requests().iter().map(key).collect::<Vec<_>>();
        assert!(keys[0].is_some(), "{provider}");
        assert_eq!((&keys[1], &keys[2]), (&keys[0], &keys[0]), "{provider}");
        assert_ne!(keys[3], keys[0], "{provider}");
    }
}

#[tokio::test]
async fn the_key_of_a_request_can_be_the_hosts() {
    let server = Server::start([says(Provider::OpenAiChat)]).await;
    let model = model(Provider::OpenAiChat, &server).header("Idempotency-Key", "ours");
    assert!(prompt(model).await.error.is_none());
    assert_eq!(key(&server.requests()[0]).as_deref(), Some("ours"));
}

/// The server does not document such a key.
#[tokio::test]
async fn other_providers_get_no_key() {
    let server = Server::start([says(Provider::Gemini)]).await;
    assert!(
        prompt(model(Provider::Gemini, &server))
            .await
            .error
            .is_none()
    );
    assert_eq!(key(&server.requests()[0]), None);
}

#[tokio::test]
async fn a_step_without_a_session_has_settings_too() {
    let server = Server::start([says(Provider::OpenAiChat)]).await;
    let mut model = model(Provider::OpenAiChat, &server).parallel_tool_calls(false);
    let request = ModelRequest {
        instructions: "",
        history: &[Message::User("Hi".into())],
        tools: &[],
        searchable: &[],
        provider_tools: &[],
        tool_choice: ToolChoice::Auto,
        events: None,
    };
    assert!(model.step(request).await.is_ok());
    let body = &server.requests()[0].body;
    assert_eq!(
        body.get("parallel_tool_calls"),
        None,
        "OpenAI refuses it without tools"
    );
}
