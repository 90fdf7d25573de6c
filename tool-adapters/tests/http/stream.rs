//! How an answer comes: in odd pieces, whole, and not to its end.

use crate::scripts::{call, chat_call_begins, text};
use crate::server::{Answer, Server};
use crate::support::{Shown, chat, model, session};
use serde_json::json;
use tool_adapters::Provider;
use tool_adapters::agent::AgentLoop;
use tool_core::ErrorKind;
use tool_core::trace::TokenUsage;

const CHAT: Provider = Provider::OpenAiChat;

fn adds() -> String {
    call(CHAT, "call_1", &json!({"a": 1, "b": 2}))
}

#[tokio::test]
async fn a_stream_is_read_however_it_is_cut() {
    for piece in [1, 2, 3, 7, 64, 1_000] {
        let said = Answer::events(&text(CHAT, "It is 3 – naïvely. 👍")).in_pieces_of(piece);
        let server = Server::start([Answer::events(&adds()).in_pieces_of(piece), said]).await;
        let (mut agent, runs) = chat(&server).await;
        let reply = agent.say("1 + 2?").await;
        assert_eq!(reply.text.as_deref(), Some("It is 3 – naïvely. 👍"), "{piece}: {reply:?}");
        assert_eq!(runs.count(), 1);
        assert_eq!(reply.usage, TokenUsage { input: 10, output: 5, ..TokenUsage::default() });
    }
}

#[tokio::test]
async fn pieces_are_shown_as_they_come_and_calls_under_the_tools_names() {
    let server = Server::start([Answer::events(&adds()), Answer::events(&text(CHAT, "It is 3."))]).await;
    let (session, _) = session().await;
    let shown = Shown::default();
    let mut agent = AgentLoop::new(session, model(CHAT, &server).on_event(shown.listener()));
    let reply = agent.say("1 + 2?").await;
    assert_eq!((reply.text.as_deref(), shown.text().as_str()), (Some("It is 3."), "It is 3."));
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_read_as_well() {
    let message = json!({"role": "assistant", "content": "Hello"});
    let body = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
    let server = Server::start([Answer::new(200, &[("content-type", "application/json")], &body.to_string())]).await;
    let (session, _) = session().await;
    let mut agent = AgentLoop::new(session, model(CHAT, &server).stream(false));
    assert_eq!(agent.say("Hi").await.text.as_deref(), Some("Hello"));
    assert_ne!(server.requests()[0].body["stream"], json!(true));
}

#[tokio::test]
async fn a_stream_that_breaks_before_a_call_is_whole_is_asked_for_again_and_the_call_runs_once() {
    let half = chat_call_begins("call_1", 0, r#"{"a": 1, "#);
    let server =
        Server::start([Answer::events(&half).breaks(), Answer::events(&adds()), Answer::events(&text(CHAT, "3"))])
            .await;
    let (mut agent, runs) = chat(&server).await;
    let reply = agent.say("1 + 2?").await;
    assert_eq!((reply.text.as_deref(), runs.count(), server.requests().len()), (Some("3"), 1, 3), "{reply:?}");
    assert_eq!(reply.responses[0].meta().call_id(), Some("call_1"));
}

#[tokio::test]
async fn a_stream_that_ends_as_if_it_were_whole_is_no_answer_either() {
    let half = chat_call_begins("call_1", 0, "");
    let server = Server::start([Answer::events(&half), Answer::events(&text(CHAT, "Sorry"))]).await;
    let (mut agent, runs) = chat(&server).await;
    assert_eq!(agent.say("1 + 2?").await.text.as_deref(), Some("Sorry"));
    assert_eq!(runs.count(), 0, "a call that was cut off before its arguments is no call without arguments");
}

#[tokio::test]
async fn calls_that_were_whole_when_the_stream_broke_run_once_and_the_half_one_is_left_out() {
    let anthropic = Provider::Anthropic;
    let whole = call(anthropic, "toolu_1", &json!({"a": 1, "b": 2}));
    let (whole, _) = whole.split_once("event: message_delta").expect("ends");
    let half = call(anthropic, "toolu_2", &json!({"a": 3, "b": 4})).replace("\"index\":0", "\"index\":1");
    let half = half.split("\n\n").skip(1).take(2).collect::<Vec<_>>().join("\n\n");
    let first = Answer::events(&format!("{whole}{half}\n\n")).breaks();
    let server = Server::start([first, Answer::events(&text(anthropic, "It is 3."))]).await;
    let (session, runs) = session().await;
    let mut agent = AgentLoop::new(session, model(anthropic, &server));
    let reply = agent.say("1 + 2, and 3 + 4?").await;
    assert_eq!((reply.text.as_deref(), runs.count()), (Some("It is 3."), 1), "{reply:?}");
    assert_eq!((reply.responses.len(), server.requests().len()), (1, 2));
}

#[tokio::test]
async fn what_the_host_was_shown_is_not_asked_for_again() {
    let cut = text(CHAT, "It is ").split("data: ").take(2).collect::<Vec<_>>().join("data: ");
    let server = Server::start([Answer::events(&cut).breaks(), Answer::events(&text(CHAT, "It is 3."))]).await;
    let (session, _) = session().await;
    let shown = Shown::default();
    let mut agent = AgentLoop::new(session, model(CHAT, &server).on_event(shown.listener()));
    let reply = agent.say("1 + 2?").await;
    assert_eq!(reply.error.map(|error| error.kind()), Some(ErrorKind::Transient));
    assert_eq!((shown.text().as_str(), server.requests().len()), ("It is ", 1));
    // The conversation goes on.
    assert_eq!(agent.say("Again?").await.text.as_deref(), Some("It is 3."));
}

#[tokio::test]
async fn a_piece_that_is_no_json_loses_nothing_else() {
    let broken = format!("data: {{oops\n\n{}", text(CHAT, "Hello"));
    let server = Server::start([Answer::events(&broken)]).await;
    let (mut agent, _) = chat(&server).await;
    assert_eq!(agent.say("Hi").await.text.as_deref(), Some("Hello"));
}

#[tokio::test]
async fn calls_that_come_twice_run_once() {
    let twice = adds().replace("data: [DONE]\n\n", "") + &adds();
    let server = Server::start([Answer::events(&twice), Answer::events(&text(CHAT, "3"))]).await;
    let (mut agent, runs) = chat(&server).await;
    let reply = agent.say("1 + 2?").await;
    assert_eq!((reply.text.as_deref(), runs.count()), (Some("3"), 1), "{reply:?}");
}
