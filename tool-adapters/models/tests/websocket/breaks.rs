//! Connections that break, are refused, or cannot be opened.

use crate::peer::Server;
use crate::support::{
    Talk, answer, call, gemini, model, resumable, set_up, talk_with, text_message,
};
use serde_json::json;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tool_adapters::Provider;
use tool_adapters::providers::Event;
use tool_adapters::transport::websocket::LiveEvent;
use tool_core::ErrorKind;

const GEMINI: Provider = Provider::GeminiLive;

async fn call_is_made(talk: &mut Talk) {
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Call(_))).then_some(()))
        .await;
}

async fn connected(talk: &mut Talk) -> bool {
    talk.until(|event| {
        if let LiveEvent::Connected { resumed } = event {
            Some(*resumed)
        } else {
            None
        }
    })
    .await
}

#[tokio::test]
async fn sends_a_result_after_the_conversation_is_resumed() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.send(resumable("h-1")).await;
    peer.send(call("c1", "look_up", &json!({"subject": "x"})))
        .await;
    assert!(!connected(&mut talk).await);
    call_is_made(&mut talk).await;
    drop(peer);
    let (mut peer, setup) = set_up(&server).await;
    assert_eq!(setup["setup"]["sessionResumption"]["handle"], "h-1");
    assert!(connected(&mut talk).await);
    talk.desk.gate.add_permits(1);
    assert_eq!(answer(&peer.receive().await).0, "c1");
    assert_eq!(talk.desk.runs(), 1);
}

#[tokio::test]
async fn new_conversation_reads_late_results_as_notes() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.send(call("c1", "look_up", &json!({"subject": "x"})))
        .await;
    call_is_made(&mut talk).await;
    peer.close(1011, "internal error").await;
    let (mut peer, setup) = set_up(&server).await;
    assert_eq!(setup["setup"]["sessionResumption"], json!({}));
    assert!(!connected(&mut talk).await);
    talk.desk.gate.add_permits(1);
    let note = peer.receive().await["realtimeInput"]["text"].to_string();
    assert!(
        note.contains("The call `c1` of `look_up` has ended") && note.contains("all about x"),
        "{note}"
    );
    let answered = |event: &LiveEvent| match event {
        LiveEvent::Answered(response) => response.meta().call_id().map(str::to_owned),
        _ => None,
    };
    assert_eq!(talk.until(answered).await, "c1");
}

#[tokio::test]
async fn answers_a_repeated_call_without_running_it_again() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.send(resumable("h-1")).await;
    let add = call("c1", "add", &json!({"a": 1, "b": 2}));
    peer.send(add.clone()).await;
    assert_eq!(answer(&peer.receive().await).0, "c1");
    drop(peer);
    let (mut peer, _) = set_up(&server).await;
    peer.send(add).await;
    let (id, response) = answer(&peer.receive().await);
    assert_eq!(
        (id.as_str(), response.contains('3'), talk.desk.runs()),
        ("c1", true, 1),
        "{response}"
    );
    // A call with the same id and other arguments is another call.
    peer.send(call("c1", "add", &json!({"a": 3, "b": 4}))).await;
    let (id, response) = answer(&peer.receive().await);
    assert_eq!(
        (id.as_str(), response.contains('7'), talk.desk.runs()),
        ("c1", true, 2),
        "{response}"
    );
    assert!(talk.next().await.is_some());
}

#[tokio::test]
async fn call_repeated_over_one_connection_is_answered_once() {
    let server = Server::start().await;
    let (talk, mut peer) = gemini(&server).await;
    for _ in 0..2 {
        peer.send(call("c1", "add", &json!({"a": 1, "b": 2}))).await;
    }
    peer.send(call("c2", "add", &json!({"a": 3, "b": 4}))).await;
    let ids = [
        answer(&peer.receive().await).0,
        answer(&peer.receive().await).0,
    ];
    assert!(
        ids.contains(&"c1".to_owned()) && ids.contains(&"c2".to_owned()),
        "{ids:?}"
    );
    assert!(peer.receives_nothing().await);
    // The model cannot know yet.
    peer.send(call("c1", "add", &json!({"a": 1, "b": 2}))).await;
    assert!(peer.receives_nothing().await);
    assert_eq!(talk.desk.runs(), 2);
}

#[tokio::test]
async fn further_call_does_not_confirm_a_result() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.send(resumable("h-1")).await;
    peer.send(call("c1", "add", &json!({"a": 1, "b": 2}))).await;
    talk.until(|event| matches!(event, LiveEvent::Answered(_)).then_some(()))
        .await;
    peer.send(call("c2", "look_up", &json!({"subject": "x"})))
        .await;
    call_is_made(&mut talk).await;
    drop(peer);
    let (mut peer, _) = set_up(&server).await;
    assert_eq!(answer(&peer.receive().await).0, "c1");
}

#[tokio::test]
async fn drops_a_handle_that_the_provider_refuses() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.send(resumable("stale")).await;
    peer.send(text_message("Hello")).await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Text(_))).then_some(()))
        .await;
    drop(peer);
    let mut peer = server.peer().await;
    assert_eq!(
        peer.receive().await["setup"]["sessionResumption"]["handle"],
        "stale"
    );
    peer.close(1007, "no such session").await;
    let (_, setup) = set_up(&server).await;
    assert_eq!(setup["setup"]["sessionResumption"], json!({}));
}

#[tokio::test]
async fn sends_input_after_reconnecting() {
    let server = Server::start().await;
    let (talk, peer) = gemini(&server).await;
    drop(peer);
    let mut peer = server.peer().await;
    talk.live
        .input()
        .text("Are you there?")
        .await
        .expect("accepted");
    let _setup = peer.receive().await;
    peer.send(json!({"setupComplete": {}})).await;
    assert_eq!(
        peer.receive().await,
        json!({"realtimeInput": {"text": "Are you there?"}})
    );
}

#[tokio::test]
async fn fails_after_the_last_attempt() {
    let server = Server::start().await;
    let (mut talk, peer) = gemini(&server).await;
    drop((peer, server));
    let error = talk.failure().await;
    assert_eq!(error.kind(), ErrorKind::Transient);
    assert!(talk.next().await.is_none());
}

#[tokio::test]
async fn reports_a_wrong_key_as_auth_without_the_key() {
    let server = Server::start().await;
    let mut talk = talk_with(model(GEMINI, &server)).await;
    let mut stream = server.stream().await;
    let mut request = vec![0; 4096];
    let read = stream.read(&mut request).await.expect("a request");
    let request = String::from_utf8_lossy(&request[..read]).to_lowercase();
    assert!(
        request.contains("x-goog-api-key: sk-canary")
            && !request.lines().next().unwrap_or("").contains("canary")
    );
    let body = "API key sk-canary not valid";
    let answer = format!(
        "HTTP/1.1 401 Unauthorized\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await.expect("sent");
    let error = talk.failure().await;
    assert_eq!(error.kind(), ErrorKind::Auth);
    assert!(!error.message().contains("canary"), "{error}");
    assert!(talk.next().await.is_none(), "the conversation is over");
    assert!(server.has_no_connection().await);
}

#[tokio::test]
async fn fails_at_once_if_the_provider_refuses_the_setup() {
    let server = Server::start().await;
    let mut talk = talk_with(model(GEMINI, &server)).await;
    let mut peer = server.peer().await;
    peer.receive().await;
    peer.close(1007, "Invalid JSON payload\u{7}").await;
    let error = talk.failure().await;
    assert_eq!(error.kind(), ErrorKind::Permanent);
    assert!(
        error
            .message()
            .contains("(1007): Invalid JSON payload\\u{7}"),
        "{error}"
    );
}

#[tokio::test]
async fn fails_on_an_oversized_message() {
    let server = Server::start().await;
    let mut talk = talk_with(model(GEMINI, &server).max_message(10_000)).await;
    let (mut peer, _) = set_up(&server).await;
    peer.send(text_message(&"x".repeat(20_000))).await;
    let error = talk.failure().await;
    assert!(error.message().contains("raise `max_message`"), "{error}");
}

#[tokio::test]
async fn reconnects_if_the_provider_answers_no_ping() {
    let server = Server::start().await;
    let mut talk = talk_with(model(GEMINI, &server).heartbeat(Duration::from_millis(30))).await;
    // The server does not read, so it answers no ping.
    let (_silent, _) = set_up(&server).await;
    let lost = |event: &LiveEvent| match event {
        LiveEvent::Disconnected { error, .. } => Some(error.message().to_owned()),
        _ => None,
    };
    assert_eq!(talk.until(lost).await, "the provider does not answer pings");
    let _again = server.peer().await;
}

#[tokio::test]
async fn reconnects_if_the_setup_is_not_confirmed() {
    let server = Server::start().await;
    let mut talk =
        talk_with(model(GEMINI, &server).connect_timeout(Duration::from_millis(50))).await;
    let _first = server.peer().await;
    let lost = |event: &LiveEvent| matches!(event, LiveEvent::Disconnected { .. }).then_some(());
    talk.until(lost).await;
    let _second = server.peer().await;
}

#[tokio::test]
async fn fails_without_a_panic_if_tls_fails() {
    let server = Server::start().await;
    let there = format!("wss://{}", server.address());
    tokio::spawn(async move {
        while let Ok(mut stream) =
            tokio::time::timeout(Duration::from_secs(5), server.stream()).await
        {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let nowhere = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("binds");
        format!("wss://{}", listener.local_addr().expect("has an address"))
    };
    for url in [there, nowhere] {
        let other = Server::start().await;
        let mut talk = talk_with(model(GEMINI, &other).base_url(url)).await;
        assert_eq!(talk.failure().await.kind(), ErrorKind::Transient);
    }
}

#[tokio::test]
async fn refuses_a_provider_without_a_websocket() {
    let server = Server::start().await;
    let mut talk = talk_with(model(Provider::Anthropic, &server)).await;
    assert_eq!(talk.failure().await.kind(), ErrorKind::Permanent);
}

#[tokio::test]
async fn withdrawing_a_repeated_call_cancels_it() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.send(resumable("h-1")).await;
    let look_up = call("c1", "look_up", &json!({"subject": "x"}));
    peer.send(look_up.clone()).await;
    call_is_made(&mut talk).await;
    drop(peer);
    let (mut peer, _) = set_up(&server).await;
    peer.send(look_up).await;
    peer.send(json!({"toolCallCancellation": {"ids": ["c1"]}}))
        .await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Cancelled(_))).then_some(()))
        .await;
    talk.desk.gate.add_permits(1);
    assert!(peer.receives_nothing().await);
    assert_eq!(talk.desk.runs(), 1);
}

#[tokio::test]
async fn text_on_its_way_is_sent_again_when_resumed() {
    let server = Server::start().await;
    let (talk, mut peer) = gemini(&server).await;
    peer.send(resumable("h-1")).await;
    talk.live.input().text("Hello").await.expect("accepted");
    let hello = json!({"realtimeInput": {"text": "Hello"}});
    assert_eq!(peer.receive().await, hello);
    drop(peer);
    let (mut peer, _) = set_up(&server).await;
    assert_eq!(peer.receive().await, hello);
    peer.send(text_message("Hello!")).await;
    peer.send(resumable("h-2")).await;
    talk.live.input().audio([0; 2]).await.expect("accepted");
    peer.receive().await;
    drop(peer);
    let (mut peer, _) = set_up(&server).await;
    assert!(peer.receives_nothing().await, "the model has responded");
}

#[tokio::test]
async fn an_error_about_the_setup_ends_the_conversation() {
    let server = Server::start().await;
    let mut talk = talk_with(model(Provider::OpenAiRealtime, &server)).await;
    let mut peer = server.peer().await;
    let setup = peer.receive().await;
    let error = json!({"type": "invalid_request_error", "code": "invalid_value", "param": "session.audio.output.voice",
        "message": "Invalid value: 'sk-canary'.", "event_id": setup["event_id"]});
    peer.send(json!({"type": "error", "event_id": "e1", "error": error}))
        .await;
    let failure = talk.failure().await;
    assert_eq!(failure.kind(), ErrorKind::Permanent);
    let reason = "the provider refused the setup: Invalid value:";
    assert!(failure.message().starts_with(reason), "{failure}");
    assert!(!failure.message().contains("canary"), "{failure}");
    assert!(server.has_no_connection().await);
}

#[tokio::test]
async fn an_error_about_another_event_is_none_of_the_setup() {
    let server = Server::start().await;
    let mut talk = talk_with(model(Provider::OpenAiRealtime, &server)).await;
    let mut peer = server.peer().await;
    peer.receive().await;
    let error = json!({"type": "invalid_request_error", "code": "x", "message": "no", "event_id": "another"});
    peer.send(json!({"type": "error", "event_id": "e1", "error": error}))
        .await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Error(_))).then_some(()))
        .await;
    talk.live.input().text("Hello").await.expect("accepted");
    assert_eq!(peer.receive().await["type"], "conversation.item.create");
}
