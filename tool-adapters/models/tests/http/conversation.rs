//! Conversations of three steps with each provider, and with changing providers.

use crate::scripts::{call, text};
use crate::server::{Answer, Server};
use crate::support::{model, session};
use serde_json::{Value, json};
use tool_adapters::Provider;
use tool_adapters::agent::AgentLoop;
use tool_adapters::transport::http::HttpModel;
use tool_core::ToolResponse;

const PROVIDERS: [Provider; 4] = [
    Provider::OpenAiChat,
    Provider::OpenAiResponses,
    Provider::Anthropic,
    Provider::Gemini,
];

/// Two steps with a call each, then a text.
fn three_steps(provider: Provider) -> [Answer; 3] {
    [
        Answer::events(&call(
            provider,
            &format!("{provider}-1"),
            &json!({"a": 1, "b": 2}),
        )),
        Answer::events(&call(
            provider,
            &format!("{provider}-2"),
            &json!({"a": 3, "b": 4}),
        )),
        Answer::events(&text(provider, "It is 7.")),
    ]
}

fn results(responses: &[ToolResponse]) -> Vec<&str> {
    responses
        .iter()
        .filter_map(ToolResponse::data_json)
        .collect()
}

/// Returns true if a value is anywhere in a request.
fn contains(body: &Value, wanted: &Value) -> bool {
    match body {
        Value::Array(items) => items.iter().any(|item| contains(item, wanted)),
        Value::Object(members) => members.values().any(|member| contains(member, wanted)),
        _ => false,
    }
    .max(body == wanted)
}

#[tokio::test]
async fn runs_three_steps_with_each_provider() {
    for provider in PROVIDERS {
        let server = Server::start(three_steps(provider)).await;
        let (session, runs) = session().await;
        let mut agent = AgentLoop::new(session, model(provider, &server));
        let reply = agent.prompt("1 + 2, then + 4?").await;
        assert_eq!(
            reply.text.as_deref(),
            Some("It is 7."),
            "{provider}: {reply:?}"
        );
        assert_eq!(
            (results(&reply.responses), runs.count(), reply.steps),
            (vec!["3", "7"], 2, 2)
        );
        assert!(reply.usage.input >= 20, "{provider}: {:?}", reply.usage);
    }
}

// T9
#[tokio::test]
async fn leaves_out_a_setting_that_nests_100_000_deep() {
    let server = Server::start([Answer::events(&text(Provider::OpenAiChat, "Hello."))]).await;
    let deep = (0..100_000).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
    let model = model(Provider::OpenAiChat, &server)
        .setting("user", "u-1")
        .setting("logit_bias", deep);
    let reply = AgentLoop::new(session().await.0, model)
        .prompt("Hello?")
        .await;
    assert!(reply.error.is_none(), "{reply:?}");
    let requests = server.requests();
    assert!(requests[0].body["user"] == "u-1" && requests[0].body.get("logit_bias").is_none());
}

#[tokio::test]
async fn continues_a_history_with_another_provider() {
    for (first, second) in PROVIDERS
        .into_iter()
        .zip(PROVIDERS.into_iter().cycle().skip(1))
    {
        let old = Server::start(three_steps(first)).await;
        let new = Server::start(three_steps(second)).await;
        let (session, runs) = session().await;
        let mut agent = AgentLoop::new(session, model(first, &old));
        assert!(agent.prompt("1 + 2, then + 4?").await.error.is_none());
        agent.set_model(model(second, &new));
        let reply = agent.prompt("Once more").await;
        assert_eq!(
            reply.text.as_deref(),
            Some("It is 7."),
            "{first} to {second}: {reply:?}"
        );
        assert_eq!(runs.count(), 4);
        let requests = new.requests();
        let said = ["1 + 2, then + 4?", "It is 7.", "Once more"];
        assert!(
            said.iter()
                .all(|text| contains(&requests[0].body, &json!(text))),
            "{}",
            requests[0].body
        );
    }
}

/// An answer of Responses with a thought.
fn thoughtful_answer() -> Answer {
    let content = json!([{"type": "output_text", "text": "Hello.", "annotations": []}]);
    let output = json!([
        {"type": "reasoning", "id": "rs_canary", "summary": []},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content},
    ]);
    let whole = json!({"id": "r", "object": "response", "status": "completed", "output": output});
    let headers = [("content-type", "application/json")];
    Answer::new(200, &headers, &whole.to_string())
}

// P5
#[tokio::test]
async fn a_thought_goes_back_to_its_own_model_only() {
    let answers = [(); 3].map(|()| thoughtful_answer());
    let server = Server::start(answers).await;
    let own = model(Provider::OpenAiResponses, &server).stream(false);
    let other = HttpModel::new(Provider::OpenAiResponses, "another-model")
        .base_url(&server.url)
        .api_key("sk-canary")
        .stream(false);
    let (session, _) = session().await;
    let mut agent = AgentLoop::new(session, own);
    for said in ["Hello?", "Again?"] {
        assert!(agent.prompt(said).await.error.is_none());
    }
    agent.set_model(other);
    assert!(agent.prompt("And you?").await.error.is_none());

    let requests = server.requests();
    let has_thought = |at: usize| requests[at].body.to_string().contains("rs_canary");
    assert_eq!([has_thought(1), has_thought(2)], [true, false]);
}

#[tokio::test]
async fn continues_one_history_with_all_providers() {
    let (session, runs) = session().await;
    let server = Server::start(three_steps(Provider::Mistral)).await;
    let mut agent = AgentLoop::new(session, model(Provider::OpenAiChat, &server));
    let around = PROVIDERS.into_iter().chain(PROVIDERS);
    for (round, provider) in around.enumerate() {
        let server = Server::start(three_steps(provider)).await;
        agent.set_model(model(provider, &server));
        let reply = agent.prompt("Go on").await;
        assert_eq!(
            reply.text.as_deref(),
            Some("It is 7."),
            "{round} {provider}: {reply:?}"
        );
    }
    assert_eq!(runs.count(), 16);
}
