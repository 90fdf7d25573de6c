//! Connections that break, are refused, or never come about.

use crate::peer::Server;
use crate::support::{Talk, answer, call, gemini, model, said, set_up, talk_with};
use serde_json::json;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tool_adapters::Provider;
use tool_adapters::providers::Event;
use tool_adapters::transport::websocket::LiveEvent;
use tool_core::ErrorKind;

const GEMINI: Provider = Provider::GeminiLive;

fn resumable(handle: &str) -> serde_json::Value {
    json!({"sessionResumptionUpdate": {"newHandle": handle, "resumable": true}})
}

async fn call_is_made(talk: &mut Talk) {
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Call(_))).then_some(())).await;
}

async fn connected(talk: &mut Talk) -> bool {
    talk.until(|event| if let LiveEvent::Connected { resumed } = event { Some(*resumed) } else { None }).await
}

#[tokio::test]
async fn a_result_that_comes_after_the_connection_broke_is_sent_where_the_conversation_goes_on() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.say(resumable("h-1")).await;
    peer.say(call("c1", "look_up", &json!({"subject": "x"}))).await;
    assert!(!connected(&mut talk).await);
    call_is_made(&mut talk).await;
    drop(peer);
    let (mut peer, setup) = set_up(&server).await;
    assert_eq!(setup["setup"]["sessionResumption"]["handle"], "h-1");
    assert!(connected(&mut talk).await);
    talk.desk.gate.add_permits(1);
    assert_eq!(answer(&peer.hear().await).0, "c1");
    assert_eq!(talk.desk.runs(), 1);
}

#[tokio::test]
async fn a_result_for_a_conversation_that_is_over_is_told_to_the_host() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.say(call("c1", "look_up", &json!({"subject": "x"}))).await;
    call_is_made(&mut talk).await;
    peer.close(1011, "internal error").await;
    let (mut peer, setup) = set_up(&server).await;
    assert_eq!(setup["setup"]["sessionResumption"], json!({}));
    assert!(!connected(&mut talk).await);
    talk.desk.gate.add_permits(1);
    let unsent = |event: &LiveEvent| match event {
        LiveEvent::Unsent(response) => response.meta().call_id().map(str::to_owned),
        _ => None,
    };
    assert_eq!(talk.until(unsent).await, "c1");
    assert!(peer.hears_nothing().await);
}

#[tokio::test]
async fn a_call_that_comes_again_after_the_break_runs_once_and_is_answered() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.say(resumable("h-1")).await;
    let add = call("c1", "add", &json!({"a": 1, "b": 2}));
    peer.say(add.clone()).await;
    assert_eq!(answer(&peer.hear().await).0, "c1");
    drop(peer);
    let (mut peer, _) = set_up(&server).await;
    peer.say(add).await;
    let (id, response) = answer(&peer.hear().await);
    assert_eq!((id.as_str(), response.contains('3'), talk.desk.runs()), ("c1", true, 1), "{response}");
    // Another call under the same id is another call.
    peer.say(call("c1", "add", &json!({"a": 3, "b": 4}))).await;
    let (id, response) = answer(&peer.hear().await);
    assert_eq!((id.as_str(), response.contains('7'), talk.desk.runs()), ("c1", true, 2), "{response}");
    assert!(talk.next().await.is_some());
}

#[tokio::test]
async fn a_handle_that_the_provider_does_not_take_is_given_up() {
    let server = Server::start().await;
    let (_talk, mut peer) = gemini(&server).await;
    peer.say(resumable("stale")).await;
    peer.say(said("Hello")).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop(peer);
    let mut peer = server.peer().await;
    assert_eq!(peer.hear().await["setup"]["sessionResumption"]["handle"], "stale");
    peer.close(1007, "no such session").await;
    let (_, setup) = set_up(&server).await;
    assert_eq!(setup["setup"]["sessionResumption"], json!({}));
}

#[tokio::test]
async fn what_the_host_says_meanwhile_is_sent_afterwards() {
    let server = Server::start().await;
    let (talk, peer) = gemini(&server).await;
    drop(peer);
    let mut peer = server.peer().await;
    talk.live.input().text("Are you there?").await.expect("is taken");
    let _setup = peer.hear().await;
    peer.say(json!({"setupComplete": {}})).await;
    assert_eq!(peer.hear().await, json!({"realtimeInput": {"text": "Are you there?"}}));
}

#[tokio::test]
async fn a_provider_that_never_comes_back_is_given_up_after_the_last_attempt() {
    let server = Server::start().await;
    let (mut talk, peer) = gemini(&server).await;
    drop((peer, server));
    let error = talk.failure().await;
    assert_eq!(error.kind(), ErrorKind::Transient);
    assert!(talk.next().await.is_none());
}

#[tokio::test]
async fn a_wrong_key_is_auth_at_once_and_is_in_no_error() {
    let server = Server::start().await;
    let mut talk = talk_with(model(GEMINI, &server)).await;
    let mut stream = server.stream().await;
    let mut request = vec![0; 4096];
    let read = stream.read(&mut request).await.expect("a request");
    let request = String::from_utf8_lossy(&request[..read]).to_lowercase();
    assert!(request.contains("x-goog-api-key: sk-canary") && !request.lines().next().unwrap_or("").contains("canary"));
    let body = "API key sk-canary not valid";
    let answer = format!("HTTP/1.1 401 Unauthorized\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(answer.as_bytes()).await.expect("is heard");
    let error = talk.failure().await;
    assert_eq!(error.kind(), ErrorKind::Auth);
    assert!(!error.message().contains("canary"), "{error}");
    assert!(server.is_left_alone().await);
}

#[tokio::test]
async fn a_setup_that_the_provider_does_not_take_is_an_error_at_once() {
    let server = Server::start().await;
    let mut talk = talk_with(model(GEMINI, &server)).await;
    let mut peer = server.peer().await;
    peer.hear().await;
    peer.close(1007, "Invalid JSON payload\u{7}").await;
    let error = talk.failure().await;
    assert_eq!(error.kind(), ErrorKind::Permanent);
    assert!(error.message().contains("(1007): Invalid JSON payload\\u{7}"), "{error}");
}

#[tokio::test]
async fn a_message_over_the_cap_is_an_error_and_not_a_full_memory() {
    let server = Server::start().await;
    let mut talk = talk_with(model(GEMINI, &server).max_message(10_000)).await;
    let (mut peer, _) = set_up(&server).await;
    peer.say(said(&"x".repeat(20_000))).await;
    let error = talk.failure().await;
    assert!(error.message().contains("raise `max_message`"), "{error}");
}

#[tokio::test]
async fn a_provider_that_gives_no_sign_of_life_is_left_for_another_connection() {
    let server = Server::start().await;
    let mut talk = talk_with(model(GEMINI, &server).heartbeat(Duration::from_millis(30))).await;
    // It does not read, so it answers no ping.
    let (_silent, _) = set_up(&server).await;
    let lost = |event: &LiveEvent| match event {
        LiveEvent::Disconnected { error, .. } => Some(error.message().to_owned()),
        _ => None,
    };
    assert_eq!(talk.until(lost).await, "the provider gives no sign of life");
    let _again = server.peer().await;
}

#[tokio::test]
async fn a_provider_that_never_says_that_it_is_ready_is_left() {
    let server = Server::start().await;
    let mut talk = talk_with(model(GEMINI, &server).connect_timeout(Duration::from_millis(50))).await;
    let _first = server.peer().await;
    let lost = |event: &LiveEvent| matches!(event, LiveEvent::Disconnected { .. }).then_some(());
    talk.until(lost).await;
    let _second = server.peer().await;
}

#[tokio::test]
async fn a_server_without_tls_and_one_that_is_not_there_are_errors_of_a_wss_address_and_no_panic() {
    let server = Server::start().await;
    let there = format!("wss://{}", server.address());
    tokio::spawn(async move {
        while let Ok(mut stream) = tokio::time::timeout(Duration::from_secs(5), server.stream()).await {
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
async fn a_provider_without_a_websocket_is_told_without_asking() {
    let server = Server::start().await;
    let mut talk = talk_with(model(Provider::Anthropic, &server)).await;
    assert_eq!(talk.failure().await.kind(), ErrorKind::Permanent);
}
