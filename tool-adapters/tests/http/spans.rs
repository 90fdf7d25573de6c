//! The spans of conversations with models over HTTP, and that each answer costs once.

use crate::scripts::{call, text};
use crate::server::{Answer, Server};
use crate::spans_support::{collector, span, tree};
use crate::support::{Shown, attributes, model, quick, session};
use serde_json::json;
use std::time::Duration;
use tokio::time::timeout;
use tool_adapters::Provider;
use tool_adapters::agent::{AgentLoop, RetryPolicy};
use tool_adapters::transport::http::HttpModel;
use tool_core::session::{Message, Model, ModelRequest, ToolChoice};
use tool_core::testing::ScriptedModel;
use tool_core::trace::{self, Collector, Cost};
use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};

/// An answer of Anthropic's, who says what it used at its beginning and at its end: 10 and 5.
fn answer(id: &str, script: &str) -> Answer {
    Answer::events(&script.replace(r#""id":"m""#, &format!(r#""id":"{id}""#)))
}

fn says(id: &str) -> Answer {
    answer(id, &text(Provider::Anthropic, "It is 3."))
}

fn calls(id: &str) -> Answer {
    answer(id, &call(Provider::Anthropic, "toolu_1", &json!({"a": 1, "b": 2})))
}

/// Begins with what was read, says something, and no more.
fn begins(id: &str) -> Answer {
    let script = text(Provider::Anthropic, "It is 3.");
    answer(id, &script.split("event: ").take(5).collect::<Vec<_>>().join("event: ")).hangs()
}

fn busy() -> Answer {
    Answer::new(503, &[], r#"{"error": {"message": "busy"}}"#)
}

async fn planner(server: &Server) -> AgentLoop<HttpModel> {
    AgentLoop::new(session().await.0, model(Provider::Anthropic, server)).named("planner")
}

fn used(collector: &Collector) -> (u64, u64, u64, Cost) {
    let total = collector.report().totals().total;
    (total.uses, total.usage.input, total.usage.output, total.cost)
}

const LLM: &str = "agent:planner/llm:the-model";

// S1, S6, S8
#[tokio::test]
async fn a_reply_is_the_agents_span_with_its_questions_their_attempts_and_the_calls() {
    let server = Server::start([busy(), calls("m1"), says("m2")]).await;
    let (collector, mut agent) = (collector(), planner(&server).await);
    let reply = collector.run(agent.say("What is 1 + 2?")).await;
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
    let [refused, answered, asked, ..] = report.spans() else { panic!("{report:?}") };
    let port = server.url.rsplit(':').next().expect("a port").parse::<u16>().expect("a number");
    let known = |status: u16| {
        json!({"http.request.method": "POST", "server.address": "127.0.0.1", "server.port": port,
            "url.path": "/v1/messages", "http.response.status_code": status})
    };
    assert_eq!((attributes(refused), attributes(answered)), (known(503), known(200)));
    assert_eq!(refused.error().map(|error| error.kind), Some("TRANSIENT"));
    let [spent] = asked.spent() else { panic!("{:?}", asked.spent()) };
    // The model that answered, and the response, as the provider says them.
    assert_eq!((&*spent.used.model, spent.used.response_id.as_deref()), ("m", Some("m1")));
    assert_eq!(spent.used.provider.as_deref(), Some("anthropic"));
    assert_eq!(spent.used.tool_calls, [("toolu_1".to_owned(), "add".to_owned())]);
}

// S6
#[tokio::test]
async fn an_answer_that_breaks_off_costs_what_it_said_by_then_and_the_next_one_its_own() {
    let server = Server::start([begins("m1").breaks(), says("m2")]).await;
    let (collector, mut agent) = (collector(), planner(&server).await);
    let reply = collector.run(agent.say("What is 1 + 2?")).await;
    assert_eq!(reply.text.as_deref(), Some("It is 3."), "{reply:?}");
    // Anthropic bills both: 10 and 1, 10 and 5.
    assert_eq!(used(&collector), (2, 20, 6, Cost::micros(26)));
}

// S1, S5
#[tokio::test]
async fn a_reply_that_fails_is_an_error_of_each_span_on_the_way() {
    let server = Server::start([Answer::new(401, &[], r#"{"error": {"message": "no such key"}}"#)]).await;
    let (collector, mut agent) = (collector(), planner(&server).await);
    let reply = collector.run(agent.say("Hi")).await;
    assert!(reply.error.is_some());
    let http = format!("{LLM}/http:POST 127.0.0.1 error");
    assert_eq!(tree(&collector), [http, format!("{LLM} error"), "agent:planner error".to_owned()]);
    for span in collector.report().spans() {
        let error = span.error().expect("an error");
        assert_eq!(error.kind, "AUTH");
        assert!(!format!("{error:?} {}", attributes(span)).contains("canary"), "{error:?}");
    }
    assert_eq!(used(&collector).0, 0);
}

// S1
#[tokio::test]
async fn an_interrupted_reply_is_cancelled_and_what_was_read_by_then_counts() {
    let mut server = Server::start([begins("m1")]).await;
    let shown = Shown::default();
    let model = model(Provider::Anthropic, &server).on_event(shown.listener());
    let mut agent = AgentLoop::new(session().await.0, model).named("planner");
    let (collector, interrupter) = (collector(), agent.interrupter());
    let work = collector.clone();
    let reply = tokio::spawn(async move { work.run(agent.say("Hi")).await });
    shown.begins().await;
    interrupter.interrupt();
    let reply = reply.await.expect("ends");
    assert!(reply.interrupted && reply.error.is_none(), "{reply:?}");
    assert!(server.was_left().await);
    all_cancelled(&collector);
}

// S1
#[tokio::test]
async fn a_reply_that_is_dropped_is_cancelled_and_what_was_read_by_then_counts() {
    let mut server = Server::start([begins("m1")]).await;
    let shown = Shown::default();
    let model = model(Provider::Anthropic, &server).on_event(shown.listener());
    let (collector, mut agent) = (collector(), AgentLoop::new(session().await.0, model).named("planner"));
    tokio::select! {
        _ = collector.run(agent.say("Hi")) => panic!("it hangs"),
        () = shown.begins() => {}
    }
    assert!(server.was_left().await);
    all_cancelled(&collector);
}

fn all_cancelled(collector: &Collector) {
    let http = format!("{LLM}/http:POST 127.0.0.1 cancelled");
    assert_eq!(tree(collector), [http, format!("{LLM} cancelled"), "agent:planner cancelled".to_owned()]);
    // Anthropic has said what it read, and that one token was written.
    assert_eq!(used(collector), (1, 10, 1, Cost::micros(11)));
}

// S6
#[tokio::test]
async fn a_step_that_is_asked_for_by_itself_has_its_cost_where_it_is_asked() {
    let server = Server::start([says("m1")]).await;
    let (collector, mut model) = (collector(), model(Provider::Anthropic, &server));
    let history = [Message::User("Hi".into())];
    let request = ModelRequest {
        instructions: "",
        history: &history,
        tools: &[],
        provider_tools: &[],
        tool_choice: ToolChoice::Auto,
    };
    collector.run(trace::agent("by hand", model.step(request))).await.expect("answers");
    assert_eq!(tree(&collector), ["agent:by hand/http:POST 127.0.0.1", "agent:by hand"]);
    let agent = span(&collector, "agent:by hand");
    assert_eq!((agent.spent().len(), agent.spent()[0].observed), (1, true));
    assert_eq!(used(&collector), (1, 10, 5, Cost::micros(15)));
}

// S1
#[tokio::test]
async fn a_provider_that_is_not_there_is_an_error_of_every_attempt() {
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let url = format!("http://{}", nobody.local_addr().expect("has an address"));
    drop(nobody);
    let retry = RetryPolicy { attempts: 2, ..quick() };
    let model = HttpModel::new(Provider::OpenAiChat, "m").base_url(url).retry(retry);
    let (collector, mut agent) = (collector(), AgentLoop::new(session().await.0, model));
    let said = timeout(Duration::from_secs(10), collector.run(agent.say("Hi"))).await.expect("ends");
    assert!(said.error.is_some());
    let attempt = "agent:agent/llm:m/http:POST 127.0.0.1 error";
    assert_eq!(tree(&collector), [attempt, attempt, "agent:agent/llm:m error", "agent:agent error"]);
}

// S8
#[test]
fn a_model_says_who_is_paid_for_it() {
    let paid = |provider| HttpModel::new(provider, "m").base_url("http://host").about().provider;
    let named = Provider::ALL.map(|provider| paid(provider).map(|paid| format!("{provider} {paid}")));
    assert_eq!(
        named.into_iter().flatten().collect::<Vec<_>>(),
        [
            "openai-realtime openai",
            "anthropic anthropic",
            "gemini google",
            "gemini-json-schema google",
            "gemini-live google",
            "bedrock aws",
            "mistral mistral",
            "cohere cohere",
            "ollama ollama",
        ]
    );
    // Many speak as OpenAI does: the address tells.
    for (address, paid) in [("https://api.openai.com/v1", "openai"), ("https://api.groq.com/openai/v1", "groq")] {
        let about = HttpModel::new(Provider::OpenAiChat, "gpt-5").base_url(address).about();
        assert_eq!((&*about.model, about.provider.as_deref()), ("gpt-5", Some(paid)));
    }
}

/// Erase everything.
#[tool(category = "action", confirm)]
fn erase() {}

// S1
#[tokio::test]
async fn what_a_person_approves_runs_in_the_agents_span() {
    let tools = ToolContext::builder().with(erase).build().expect("builds");
    let runtime = Runtime::builder(tools).build().expect("builds");
    let session = runtime.session("s-1", Mode::Text).await.expect("opens");
    let script = ScriptedModel::new().calls([ToolCall::new("c1", "erase", json!({}))]).says("Shall I?").says("Done.");
    let (collector, mut agent) = (collector(), AgentLoop::new(session, script).named("planner"));
    collector
        .run(async {
            let reply = agent.say("Erase it").await;
            let token = &reply.confirmations().next().expect("asks").token;
            assert!(agent.approve(token).await.is_ok());
            assert_eq!(agent.resume().await.text.as_deref(), Some("Done."));
        })
        .await;
    let (agent, llm, tool) = ("agent:planner", "agent:planner/llm:model", "agent:planner/tool:erase");
    // That a person is asked is an answer.
    assert_eq!(tree(&collector), [llm, tool, llm, agent, tool, agent, llm, agent]);
}
