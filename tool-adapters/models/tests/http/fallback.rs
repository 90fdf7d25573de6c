//! A model of one provider that answers where that of another fails.

use crate::scripts::{call, text};
use crate::server::{Answer, Server};
use crate::spans_support::collector;
use crate::support::{EventRecorder, attributes, model, session};
use serde_json::json;
use tool_adapters::Provider;
use tool_adapters::agent::{AgentLoop, RetryPolicy};
use tool_adapters::transport::http::HttpModel;
use tool_core::ErrorKind;
use tool_core::trace::SpanRecord;

const CHAT: Provider = Provider::OpenAiChat;
const ANTHROPIC: Provider = Provider::Anthropic;

fn busy() -> Answer {
    Answer::new(529, &[], r#"{"error": {"message": "overloaded"}}"#)
}

/// A model that is asked once.
fn once(provider: Provider, server: &Server) -> HttpModel {
    model(provider, server).retry(RetryPolicy::never())
}

fn calls(provider: Provider, id: &str) -> Answer {
    Answer::events(&call(provider, id, &json!({"a": 1, "b": 2})))
}

fn says(provider: Provider, said: &str) -> Answer {
    Answer::events(&text(provider, said))
}

#[tokio::test]
async fn another_provider_goes_on_in_the_middle_of_a_reply() {
    let first = Server::start([calls(ANTHROPIC, "toolu_1"), busy()]).await;
    let second = Server::start([says(CHAT, "It is 3.")]).await;
    let (session, runs) = session().await;
    let models = once(ANTHROPIC, &first).or(once(CHAT, &second));
    let reply = AgentLoop::new(session, models).prompt("1 + 2?").await;
    assert_eq!(reply.text.as_deref(), Some("It is 3."), "{reply:?}");
    assert_eq!(runs.count(), 1);
    let asked = second.requests()[0].body.to_string();
    assert!(asked.contains("toolu_1"), "{asked}");
}

#[tokio::test]
async fn an_invalid_request_is_not_sent_to_another_provider() {
    let refusal = Answer::new(400, &[], r#"{"error": {"message": "bad"}}"#);
    let first = Server::start([refusal]).await;
    let second = Server::start([]).await;
    let (session, _) = session().await;
    let models = once(ANTHROPIC, &first).or(once(CHAT, &second));
    let error = AgentLoop::new(session, models).prompt("Hi").await.error;
    assert_eq!(error.map(|error| error.kind), Some(ErrorKind::Permanent));
    assert!(second.requests().is_empty());
}

/// Plays an answer that breaks off after a text, and returns whether the second server was asked.
async fn asks_second_after_text(shows: bool, begins_again: bool) -> bool {
    let whole = text(ANTHROPIC, "It is");
    let (cut, _) = whole.split_once("event: message_delta").expect("ends");
    let first = Server::start([Answer::events(cut).breaks()]).await;
    let second = Server::start([says(CHAT, "It is 3.")]).await;
    let mut asked = once(ANTHROPIC, &first);
    if shows {
        asked = asked.on_event(EventRecorder::default().listener());
    }
    let mut models = asked.or(once(CHAT, &second));
    if begins_again {
        models = models.even_if_shown();
    }
    let _reply = AgentLoop::new(session().await.0, models)
        .prompt("1 + 2?")
        .await;
    !second.requests().is_empty()
}

#[tokio::test]
async fn a_text_that_was_shown_is_not_said_again() {
    assert!(asks_second_after_text(false, false).await);
    assert!(!asks_second_after_text(true, false).await);
    assert!(asks_second_after_text(true, true).await);
}

#[tokio::test]
async fn the_tokens_of_a_broken_answer_count() {
    let whole = text(ANTHROPIC, "It is");
    let (cut, _) = whole.split_once("event: message_delta").expect("ends");
    let first = Server::start([Answer::events(cut).breaks()]).await;
    let second = Server::start([says(ANTHROPIC, "It is 3.")]).await;
    let models = once(ANTHROPIC, &first).or(once(ANTHROPIC, &second));
    let reply = AgentLoop::new(session().await.0, models)
        .prompt("1 + 2?")
        .await;
    assert_eq!((reply.usage.input, reply.usage.output), (20, 6));
}

#[tokio::test]
async fn the_span_names_the_model_that_answered() {
    let first = Server::start([busy()]).await;
    let second = Server::start([says(ANTHROPIC, "Hello")]).await;
    let spare = HttpModel::new(ANTHROPIC, "the-spare").base_url(&second.url);
    let models = once(CHAT, &first).or(spare.api_key("sk-canary"));
    let mut agent = AgentLoop::new(session().await.0, models).named("planner");
    let collector = collector();
    let reply = collector.run(agent.prompt("Hi")).await;
    assert_eq!(reply.text.as_deref(), Some("Hello"), "{reply:?}");

    let report = collector.report();
    let is_asked = |span: &&SpanRecord| !span.spent().is_empty();
    let asked = report
        .spans()
        .iter()
        .find(is_asked)
        .expect("a span with usage");
    assert_eq!(asked.spent()[0].used.provider.as_deref(), Some("anthropic"));
    let attributes = attributes(asked);
    assert_eq!(attributes["gen_ai.provider.name"], "anthropic");
    assert_eq!(attributes["tool_core.failed_model"], "the-model: TRANSIENT");
}

#[tokio::test]
async fn each_provider_gets_its_own_steps_back() {
    let first = Server::start([
        calls(ANTHROPIC, "toolu_1"),
        busy(),
        says(ANTHROPIC, "Done."),
    ])
    .await;
    let second = Server::start([calls(Provider::Gemini, "g-1")]).await;
    let models = once(ANTHROPIC, &first).or(once(Provider::Gemini, &second));
    let reply = AgentLoop::new(session().await.0, models)
        .prompt("1 + 2?")
        .await;
    assert_eq!(reply.text.as_deref(), Some("Done."), "{reply:?}");
    let at_gemini = second.requests()[0].body.to_string();
    assert!(!at_gemini.contains("tool_use"), "{at_gemini}");
    let at_anthropic = first.requests()[2].body.to_string();
    assert!(!at_anthropic.contains("thoughtSignature"), "{at_anthropic}");
}
