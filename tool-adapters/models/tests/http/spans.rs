//! The spans of conversations with models over HTTP, and their costs.

use crate::scripts::{call, text};
use crate::server::{Answer, Server};
use crate::spans_support::{collector, span, tree};
use crate::support::{EventRecorder, attributes, model, quick, session};
use serde_json::json;
use std::time::Duration;
use tokio::time::timeout;
use tool_adapters::Provider;
use tool_adapters::agent::{AgentLoop, RetryPolicy};
use tool_adapters::transport::http::HttpModel;
use tool_core::session::{Message, Model, ModelRequest, ToolChoice};
use tool_core::testing::ScriptedModel;
use tool_core::trace::{self, Collector, Cost, SpanRecord};
use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};

/// Returns an answer of Anthropic, which reports 10 input tokens at the beginning and 5 output tokens at the end.
fn answer(id: &str, script: &str) -> Answer {
    Answer::events(&script.replace(r#""id":"m""#, &format!(r#""id":"{id}""#)))
}

fn says(id: &str) -> Answer {
    answer(id, &text(Provider::Anthropic, "It is 3."))
}

fn calls(id: &str) -> Answer {
    answer(
        id,
        &call(Provider::Anthropic, "toolu_1", &json!({"a": 1, "b": 2})),
    )
}

/// Returns the beginning of an answer, with its input tokens and some text.
fn begins(id: &str) -> Answer {
    beginning(id, &text(Provider::Anthropic, "It is 3."))
}

fn beginning(id: &str, script: &str) -> Answer {
    answer(
        id,
        &script
            .split("event: ")
            .take(5)
            .collect::<Vec<_>>()
            .join("event: "),
    )
    .hangs()
}

fn busy() -> Answer {
    Answer::new(503, &[], r#"{"error": {"message": "busy"}}"#)
}

async fn planner(server: &Server) -> AgentLoop<HttpModel> {
    AgentLoop::new(session().await.0, model(Provider::Anthropic, server)).named("planner")
}

fn used(collector: &Collector) -> (u64, u64, u64, Cost) {
    let total = collector.report().totals().total;
    (
        total.uses,
        total.usage.input,
        total.usage.output,
        total.cost,
    )
}

const LLM: &str = "agent:planner/llm:the-model";

// S1, S6, S8
#[tokio::test]
async fn a_reply_contains_spans_of_requests_attempts_and_calls() {
    let server = Server::start([busy(), calls("m1"), says("m2")]).await;
    let (collector, mut agent) = (collector(), planner(&server).await);
    let reply = collector.run(agent.prompt("What is 1 + 2?")).await;
    assert_eq!(reply.text.as_deref(), Some("It is 3."), "{reply:?}");
    assert_eq!(
        tree(&collector),
        [
            format!("{LLM}/http:POST 127.0.0.1 error"),
            format!("{LLM}/http:POST 127.0.0.1"),
            LLM.to_owned(),
            "agent:planner/tool:add".to_owned(),
            format!("{LLM}/http:POST 127.0.0.1"),
            LLM.to_owned(),
            "agent:planner".to_owned(),
        ]
    );
    assert_eq!(used(&collector), (2, 20, 10, Cost::micros(30)));

    let report = collector.report();
    let [refused, answered, asked, ..] = report.spans() else {
        panic!("{report:?}")
    };
    let port = server
        .url
        .rsplit(':')
        .next()
        .expect("a port")
        .parse::<u16>()
        .expect("a number");
    let known = |status: u16| {
        json!({"http.request.method": "POST", "server.address": "127.0.0.1", "server.port": port,
            "url.path": "/v1/messages", "http.response.status_code": status})
    };
    assert_eq!(
        (attributes(refused), attributes(answered)),
        (known(503), known(200))
    );
    assert_eq!(refused.error().map(|error| error.kind), Some("TRANSIENT"));
    let [spent] = asked.spent() else {
        panic!("{:?}", asked.spent())
    };
    // The model and the response id are those of the answer.
    assert_eq!(
        (&*spent.used.model, spent.used.response_id.as_deref()),
        ("m", Some("m1"))
    );
    assert_eq!(spent.used.provider.as_deref(), Some("anthropic"));
    assert_eq!(
        spent.used.tool_calls,
        [("toolu_1".to_owned(), "add".to_owned())]
    );
}

// S6
#[tokio::test]
async fn records_the_service_tier_of_each_answer() {
    let script = text(Provider::Anthropic, "It is 3.")
        .replace(r#""usage":{"#, r#""usage":{"service_tier":"priority","#);
    let server = Server::start([beginning("m1", &script).breaks(), answer("m2", &script)]).await;
    let (collector, mut agent) = (collector(), planner(&server).await);
    let reply = collector.run(agent.prompt("What is 1 + 2?")).await;
    assert_eq!(reply.text.as_deref(), Some("It is 3."), "{reply:?}");
    let report = collector.report();
    let tiers = report.spans().iter().flat_map(SpanRecord::spent);
    let tiers = tiers.map(|spent| spent.used.service_tier.as_deref());
    assert_eq!(tiers.collect::<Vec<_>>(), [Some("priority"); 2]);
    assert_eq!(
        report
            .to_json()
            .matches(r#""service_tier":"priority""#)
            .count(),
        2
    );
}

// S6
#[tokio::test]
async fn counts_the_usage_of_a_broken_answer_and_its_retry() {
    let server = Server::start([begins("m1").breaks(), says("m2")]).await;
    let (collector, mut agent) = (collector(), planner(&server).await);
    let reply = collector.run(agent.prompt("What is 1 + 2?")).await;
    assert_eq!(reply.text.as_deref(), Some("It is 3."), "{reply:?}");
    // Both answers are billed: 10 and 1 tokens, 10 and 5 tokens.
    assert_eq!(used(&collector), (2, 20, 6, Cost::micros(26)));
}

// S1, S5
#[tokio::test]
async fn a_failed_reply_fails_each_span() {
    let server = Server::start([Answer::new(
        401,
        &[],
        r#"{"error": {"message": "no such key"}}"#,
    )])
    .await;
    let (collector, mut agent) = (collector(), planner(&server).await);
    let reply = collector.run(agent.prompt("Hi")).await;
    assert!(reply.error.is_some());
    let http = format!("{LLM}/http:POST 127.0.0.1 error");
    assert_eq!(
        tree(&collector),
        [
            http,
            format!("{LLM} error"),
            "agent:planner error".to_owned()
        ]
    );
    for span in collector.report().spans() {
        let error = span.error().expect("an error");
        assert_eq!(error.kind, "AUTH");
        assert!(
            !format!("{error:?} {}", attributes(span)).contains("canary"),
            "{error:?}"
        );
    }
    assert_eq!(used(&collector).0, 0);
}

// S1
#[tokio::test]
async fn an_interrupted_reply_cancels_its_spans_and_counts_usage() {
    let mut server = Server::start([begins("m1")]).await;
    let shown = EventRecorder::default();
    let model = model(Provider::Anthropic, &server).on_event(shown.listener());
    let mut agent = AgentLoop::new(session().await.0, model).named("planner");
    let (collector, interrupter) = (collector(), agent.interrupt_handle());
    let work = collector.clone();
    let reply = tokio::spawn(async move { work.run(agent.prompt("Hi")).await });
    shown.wait_for_text().await;
    interrupter.interrupt();
    let reply = reply.await.expect("ends");
    assert!(reply.interrupted && reply.error.is_none(), "{reply:?}");
    assert!(server.was_closed().await);
    all_cancelled(&collector);
}

// S1
#[tokio::test]
async fn a_dropped_reply_cancels_its_spans_and_counts_usage() {
    let mut server = Server::start([begins("m1")]).await;
    let shown = EventRecorder::default();
    let model = model(Provider::Anthropic, &server).on_event(shown.listener());
    let (collector, mut agent) = (
        collector(),
        AgentLoop::new(session().await.0, model).named("planner"),
    );
    tokio::select! {
        _ = collector.run(agent.prompt("Hi")) => panic!("it hangs"),
        () = shown.wait_for_text() => {}
    }
    assert!(server.was_closed().await);
    all_cancelled(&collector);
}

fn all_cancelled(collector: &Collector) {
    let http = format!("{LLM}/http:POST 127.0.0.1 cancelled");
    assert_eq!(
        tree(collector),
        [
            http,
            format!("{LLM} cancelled"),
            "agent:planner cancelled".to_owned()
        ]
    );
    // Anthropic has reported its input tokens and one output token.
    assert_eq!(used(collector), (1, 10, 1, Cost::micros(11)));
}

// S6
#[tokio::test]
async fn a_step_without_the_loop_counts_for_the_current_span() {
    let server = Server::start([says("m1")]).await;
    let (collector, mut model) = (collector(), model(Provider::Anthropic, &server));
    let history = [Message::user("Hi")];
    let request = ModelRequest {
        instructions: "",
        history: &history,
        tools: &[],
        searchable: &[],
        provider_tools: &[],
        tool_choice: ToolChoice::Auto,
        events: None,
    };
    collector
        .run(trace::agent("by hand", model.step(request)))
        .await
        .expect("answers");
    assert_eq!(
        tree(&collector),
        ["agent:by hand/http:POST 127.0.0.1", "agent:by hand"]
    );
    let agent = span(&collector, "agent:by hand");
    assert_eq!((agent.spent().len(), agent.spent()[0].observed), (1, true));
    assert_eq!(used(&collector), (1, 10, 5, Cost::micros(15)));
}

// S1
#[tokio::test]
async fn each_attempt_to_reach_a_missing_provider_fails_its_span() {
    let unused = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("binds");
    let url = format!("http://{}", unused.local_addr().expect("has an address"));
    drop(unused);
    let retry = RetryPolicy {
        attempts: 2,
        ..quick()
    };
    let model = HttpModel::new(Provider::OpenAiChat, "m")
        .base_url(url)
        .retry(retry);
    let (collector, mut agent) = (collector(), AgentLoop::new(session().await.0, model));
    let said = timeout(Duration::from_secs(10), collector.run(agent.prompt("Hi")))
        .await
        .expect("ends");
    assert!(said.error.is_some());
    let attempt = "agent:agent/llm:m/http:POST 127.0.0.1 error";
    assert_eq!(
        tree(&collector),
        [
            attempt,
            attempt,
            "agent:agent/llm:m error",
            "agent:agent error"
        ]
    );
}

// S8
#[test]
fn a_model_names_its_biller() {
    let paid = |provider| {
        HttpModel::new(provider, "m")
            .base_url("http://host")
            .about()
            .provider
    };
    for provider in Provider::ALL {
        assert_eq!(
            paid(provider).as_deref(),
            provider.spec().names.biller,
            "{provider}"
        );
    }
    assert_eq!(paid(Provider::Gemini).as_deref(), Some("google"));
    // The URL decides among the servers with OpenAI's protocol.
    for (address, paid) in [
        ("https://api.openai.com/v1", "openai"),
        ("https://api.groq.com/openai/v1", "groq"),
    ] {
        let about = HttpModel::new(Provider::OpenAiChat, "gpt-5")
            .base_url(address)
            .about();
        assert_eq!(
            (&*about.model, about.provider.as_deref()),
            ("gpt-5", Some(paid))
        );
    }
}

/// Erase everything.
#[tool(category = "action", confirm)]
fn erase() {}

// S1
#[tokio::test]
async fn runs_an_approved_call_in_the_agents_span() {
    let tools = ToolContext::builder().with(erase).build().expect("builds");
    let runtime = Runtime::builder(tools).build().expect("builds");
    let session = runtime.session("s-1", Mode::Text).await.expect("opens");
    let script = ScriptedModel::new()
        .calls([ToolCall::new("c1", "erase", json!({}))])
        .says("Shall I?")
        .says("Done.");
    let (collector, mut agent) = (
        collector(),
        AgentLoop::new(session, script).named("planner"),
    );
    collector
        .run(async {
            let reply = agent.prompt("Erase it").await;
            let token = &reply.confirmations().next().expect("asks").token;
            assert!(agent.approve(token).await.is_ok());
            assert_eq!(agent.resume().await.text.as_deref(), Some("Done."));
        })
        .await;
    let (agent, llm, tool) = (
        "agent:planner",
        "agent:planner/llm:model",
        "agent:planner/tool:erase",
    );
    // The request for confirmation is a response.
    assert_eq!(
        tree(&collector),
        [llm, tool, llm, agent, tool, agent, llm, agent]
    );
}
