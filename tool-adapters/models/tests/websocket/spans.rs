//! The spans of live conversations.

use crate::peer::{Peer, Server};
use crate::spans_support::{collector, span, tree};
use crate::support::{
    Talk, call, model, resumable, set_up, talk_with, text_message, turn_complete,
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;
use tool_adapters::Provider;
use tool_adapters::providers::Event;
use tool_adapters::transport::websocket::LiveEvent;
use tool_core::trace::{self, Collector, Cost, SpanStatus};

/// Starts a conversation inside a span of the host.
async fn start(collector: &Collector, provider: Provider, server: &Server) -> Talk {
    collector
        .run(trace::agent(
            "host",
            talk_with(model(provider, server).named("clerk")),
        ))
        .await
}

async fn gemini(collector: &Collector, server: &Server) -> (Talk, Peer) {
    let talk = start(collector, Provider::GeminiLive, server).await;
    (talk, set_up(server).await.0)
}

async fn realtime(collector: &Collector, server: &Server) -> (Talk, Peer) {
    let talk = start(collector, Provider::OpenAiRealtime, server).await;
    let mut peer = server.peer().await;
    peer.receive().await;
    (talk, peer)
}

/// Adds a usage of 10 input and 5 output tokens to a message.
fn with_usage(mut message: Value) -> Value {
    message["usageMetadata"] = json!({"promptTokenCount": 10, "responseTokenCount": 5});
    message
}

/// Reads events until the conversation has ended.
async fn wait_for_end(mut talk: Talk) {
    while talk.next().await.is_some() {}
}

async fn finished(talk: &mut Talk) {
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Finished(_))).then_some(()))
        .await;
}

async fn usage(talk: &mut Talk) {
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Usage(_))).then_some(()))
        .await;
}

fn used(collector: &Collector) -> (u64, Cost) {
    let totals = collector.report().totals().clone();
    assert_eq!(totals.untracked.uses, 0);
    (totals.total.uses, totals.total.cost)
}

const CLERK: &str = "agent:host/agent:clerk";

// S1, S2, S8
#[tokio::test]
async fn responses_and_calls_are_children_of_the_agents_span() {
    let (collector, server) = (collector(), Server::start().await);
    let (mut talk, mut peer) = gemini(&collector, &server).await;
    let both = json!({"toolCall": {"functionCalls": [
        {"id": "c1", "name": "add", "args": {"a": 1, "b": 2}}, {"id": "c2", "name": "look_up", "args": {"subject": "x"}}
    ]}});
    peer.send(with_usage(both)).await;
    peer.receive().await;
    talk.desk.gate.add_permits(1);
    peer.receive().await;
    peer.send(text_message("It is 3.")).await;
    peer.send(with_usage(turn_complete())).await;
    usage(&mut talk).await;
    usage(&mut talk).await;
    talk.live.input().close();
    wait_for_end(talk).await;
    let mut found = tree(&collector);
    assert_eq!(found.pop().as_deref(), Some(CLERK), "{found:?}");
    found.sort();
    let mut expected = [
        "agent:host",
        "/llm:the-model",
        "/llm:the-model",
        "/tool:add",
        "/tool:look_up",
    ]
    .map(|path| {
        if path == "agent:host" {
            path.to_owned()
        } else {
            format!("{CLERK}{path}")
        }
    });
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(used(&collector), (2, Cost::micros(30)));
    let report = collector.report();
    let first = report
        .spans()
        .iter()
        .find(|span| !span.spent().is_empty())
        .expect("an answer");
    let spent = &first.spent()[0].used;
    assert_eq!(
        (&*spent.model, spent.provider.as_deref()),
        ("the-model", Some("google"))
    );
    assert_eq!(spent.tool_calls.len(), 2);
}

// S1
#[tokio::test]
async fn cancels_the_span_of_an_interrupted_response() {
    let (collector, server) = (collector(), Server::start().await);
    let (mut talk, mut peer) = gemini(&collector, &server).await;
    peer.send(text_message("Once upon a time")).await;
    peer.send(json!({"serverContent": {"interrupted": true}}))
        .await;
    peer.send(with_usage(turn_complete())).await;
    usage(&mut talk).await;
    talk.live.input().close();
    wait_for_end(talk).await;
    assert_eq!(
        span(&collector, "llm:the-model").status(),
        SpanStatus::Cancelled
    );
    assert_eq!(span(&collector, "agent:clerk").status(), SpanStatus::Ok);
    assert_eq!(used(&collector), (1, Cost::micros(15)));
}

/// Adds a usage with these tokens to a message.
fn with_tokens(mut message: Value, input: u64, output: u64) -> Value {
    message["usageMetadata"] = json!({"promptTokenCount": input, "responseTokenCount": output});
    message
}

// S7
#[tokio::test]
async fn counts_a_usage_that_grows_or_repeats_once() {
    let (collector, server) = (collector(), Server::start().await);
    let (mut talk, mut peer) = gemini(&collector, &server).await;
    peer.send(with_tokens(text_message("Once "), 10, 2)).await;
    peer.send(with_tokens(text_message("upon"), 10, 4)).await;
    peer.send(with_tokens(turn_complete(), 10, 5)).await;
    // After the end of the response.
    for output in [5, 7, 6, 7] {
        peer.send(with_tokens(json!({}), 10, output)).await;
    }
    peer.send(text_message("And then")).await;
    peer.send(with_tokens(turn_complete(), 20, 5)).await;
    for _ in 0..8 {
        usage(&mut talk).await;
    }
    talk.live.input().close();
    wait_for_end(talk).await;
    assert_eq!(used(&collector), (3, Cost::micros(17 + 25)));
}

// S7
#[tokio::test]
async fn counts_a_usage_once_over_a_reconnect() {
    let (collector, server) = (collector(), Server::start().await);
    let (mut talk, mut peer) = gemini(&collector, &server).await;
    peer.send(resumable("h-1")).await;
    peer.send(with_usage(call("c1", "add", &json!({"a": 1, "b": 2}))))
        .await;
    usage(&mut talk).await;
    drop(peer);
    let (mut peer, _) = set_up(&server).await;
    // The provider sends the call again, and its usage.
    peer.send(with_usage(call("c1", "add", &json!({"a": 1, "b": 2}))))
        .await;
    usage(&mut talk).await;
    peer.send(text_message("It is 3.")).await;
    peer.send(with_tokens(turn_complete(), 20, 5)).await;
    usage(&mut talk).await;
    talk.live.input().close();
    wait_for_end(talk).await;
    assert_eq!(used(&collector), (2, Cost::micros(15 + 25)));
}

// S7
#[tokio::test]
async fn records_kinds_and_the_tier_of_a_live_response() {
    let (collector, server) = (collector(), Server::start().await);
    let (mut talk, mut peer) = gemini(&collector, &server).await;
    peer.send(text_message("Hello")).await;
    let mut end = with_usage(turn_complete());
    end["usageMetadata"]["responseTokensDetails"] = json!([{"modality": "AUDIO", "tokenCount": 4}]);
    end["usageMetadata"]["serviceTier"] = "priority".into();
    peer.send(end).await;
    usage(&mut talk).await;
    talk.live.input().close();
    wait_for_end(talk).await;
    let report = collector.report();
    let used = &report
        .spans()
        .iter()
        .find_map(|span| span.spent().first())
        .expect("a usage")
        .used;
    assert_eq!((used.usage.output, used.usage.output_audio), (5, 4));
    assert_eq!(used.service_tier.as_deref(), Some("priority"));
}

async fn response(peer: &mut Peer, id: &str, status: &str) {
    peer.send(json!({"type": "response.created", "response": {"id": id, "status": "in_progress"}}))
        .await;
    let usage = json!({"input_tokens": 10, "output_tokens": 5, "total_tokens": 15});
    let error = json!({"type": "failed", "error": {"code": "server_error", "message": "it broke"}});
    let mut response = json!({"id": id, "status": status, "output": [], "usage": usage});
    if status == "failed" {
        response["status_details"] = error;
    }
    peer.send(json!({"type": "response.done", "response": response}))
        .await;
}

// S1, S8
#[tokio::test]
async fn opens_a_span_with_an_id_for_each_response() {
    let (collector, server) = (collector(), Server::start().await);
    let (mut talk, mut peer) = realtime(&collector, &server).await;
    for (id, status) in [
        ("r1", "completed"),
        ("r2", "cancelled"),
        ("r3", "failed"),
        ("r3", "completed"),
    ] {
        response(&mut peer, id, status).await;
    }
    // The repeated response is not counted again.
    for _ in 0..3 {
        finished(&mut talk).await;
    }
    talk.live.input().close();
    wait_for_end(talk).await;
    let report = collector.report();
    let responses = report
        .spans()
        .iter()
        .filter(|span| span.label() == "llm:the-model")
        .map(|span| {
            let id = span
                .spent()
                .first()
                .and_then(|spent| spent.used.response_id.clone())
                .unwrap_or_default();
            (id, span.status())
        });
    let expected = [
        ("r1", SpanStatus::Ok),
        ("r2", SpanStatus::Cancelled),
        ("r3", SpanStatus::Error),
    ];
    let found = responses
        .filter(|(id, _)| !id.is_empty())
        .collect::<Vec<_>>();
    assert_eq!(found, expected.map(|(id, status)| (id.to_owned(), status)));
    assert_eq!(used(&collector), (3, Cost::micros(45)));
}

// S1
#[tokio::test]
async fn a_broken_connection_fails_the_response_and_the_agent() {
    let (collector, server) = (collector(), Server::start().await);
    let (mut talk, mut peer) = gemini(&collector, &server).await;
    peer.send(text_message("Once upon")).await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Text(_))).then_some(()))
        .await;
    peer.close(1002, "no such thing").await;
    talk.failure().await;
    wait_for_end(talk).await;
    let found = [
        span(&collector, "llm:the-model"),
        span(&collector, "agent:clerk"),
    ];
    let kinds = found
        .each_ref()
        .map(|span| span.error().map(|error| error.kind));
    assert_eq!(kinds, [Some("connection"), Some("PERMANENT")]);
    // The response had not reported its usage.
    assert_eq!(used(&collector).0, 0);
}

// S1
#[tokio::test]
async fn closes_every_span_at_the_end_or_when_dropped() {
    for dropped in [true, false] {
        let (collector, server) = (collector(), Server::start().await);
        let (mut talk, mut peer) = gemini(&collector, &server).await;
        peer.send(call("c1", "look_up", &json!({"subject": "x"})))
            .await;
        talk.until(|event| matches!(event, LiveEvent::Model(Event::Call(_))).then_some(()))
            .await;
        let runs = async {
            while talk.desk.runs() == 0 {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(5), runs)
            .await
            .expect("the call runs");
        if dropped {
            drop(talk);
            // The tasks end soon after.
            let gone = async {
                while collector.report().spans().len() < 4 {
                    tokio::task::yield_now().await;
                }
            };
            timeout(Duration::from_secs(5), gone)
                .await
                .expect("every span is closed");
        } else {
            talk.live.input().close();
            wait_for_end(talk).await;
        }
        let (agent, cancelled) = (
            format!("{CLERK}{}", if dropped { " cancelled" } else { "" }),
            "cancelled",
        );
        let mut found = tree(&collector);
        found.sort();
        let mut expected = [
            "agent:host".to_owned(),
            agent,
            format!("{CLERK}/llm:the-model {cancelled}"),
            format!("{CLERK}/tool:look_up {cancelled}"),
        ];
        expected.sort();
        assert_eq!(found, expected, "dropped: {dropped}");
    }
}

// S7
#[tokio::test]
async fn the_transcription_of_speech_is_counted() {
    let collector = collector();
    let server = Server::start().await;
    let (mut talk, mut peer) = realtime(&collector, &server).await;
    let usage = json!({"type": "tokens", "total_tokens": 27, "input_tokens": 17, "output_tokens": 10,
        "input_token_details": {"text_tokens": 4, "audio_tokens": 13}});
    let kind = "conversation.item.input_audio_transcription.completed";
    peer.send(json!({"type": kind, "item_id": "u", "content_index": 0, "transcript": "Hello", "usage": usage}))
        .await;
    talk.until(|event| matches!(event, LiveEvent::Heard(_)).then_some(()))
        .await;
    assert_eq!(talk.session.context().peak_tokens, 0, "it is no context");
    talk.live.input().close();
    wait_for_end(talk).await;
    assert_eq!(used(&collector), (1, Cost::micros(27)));
    let agent = span(&collector, "agent:clerk");
    let spent = &agent.spent()[0].used;
    assert_eq!(
        (&*spent.model, spent.provider.as_deref()),
        ("gpt-4o-mini-transcribe", Some("openai"))
    );
    assert_eq!(spent.usage.input_audio, 13);
}
