//! Gemini Live: calls beside the reading, withdrawals, interruptions, updates, approvals.

use crate::peer::Server;
use crate::support::{answer, call, gemini, model, said, talk_with, turn_complete};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;
use tool_adapters::Provider;
use tool_adapters::providers::{Event, ProtocolError};
use tool_adapters::transport::websocket::LiveEvent;
use tool_core::ErrorKind;

#[tokio::test]
async fn nothing_is_sent_before_the_setup_is_done() {
    let server = Server::start().await;
    let talk =
        talk_with(model(Provider::GeminiLive, &server).setting("generationConfig", json!({"temperature": 0}))).await;
    talk.live.input().text("Hello").await.expect("is taken");
    let mut peer = server.peer().await;
    let setup = peer.hear().await;
    assert_eq!(setup["setup"]["model"], "models/the-model");
    assert_eq!(setup["setup"]["generationConfig"]["temperature"], 0);
    assert_eq!(setup["setup"]["sessionResumption"], json!({}));
    assert_eq!(setup["setup"]["tools"][0]["functionDeclarations"][0]["name"], "add");
    assert!(peer.hears_nothing().await);
    peer.say(json!({"setupComplete": {}})).await;
    assert_eq!(peer.hear().await, json!({"realtimeInput": {"text": "Hello"}}));
}

#[tokio::test]
async fn a_call_is_answered_and_the_model_speaks_of_it() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.say(call("c1", "add", &json!({"a": 1, "b": 2}))).await;
    let (id, response) = answer(&peer.hear().await);
    assert_eq!((id.as_str(), response.contains('3')), ("c1", true), "{response}");
    peer.say(said("It is 3.")).await;
    peer.say(turn_complete()).await;
    let text = |event: &LiveEvent| match event {
        LiveEvent::Model(Event::Text(text)) => Some(text.clone()),
        _ => None,
    };
    assert_eq!(talk.until(text).await, "It is 3.");
    assert_eq!(talk.desk.runs(), 1);
}

#[tokio::test]
async fn the_socket_is_read_while_calls_run_and_each_result_goes_when_it_is_there() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.say(call("slow", "look_up", &json!({"subject": "taxis"}))).await;
    peer.say(said("One moment.")).await;
    let text = |event: &LiveEvent| matches!(event, LiveEvent::Model(Event::Text(_))).then_some(());
    talk.until(text).await;
    peer.say(call("fast", "add", &json!({"a": 1, "b": 2}))).await;
    assert_eq!(answer(&peer.hear().await).0, "fast");
    talk.desk.gate.add_permits(1);
    let (id, response) = answer(&peer.hear().await);
    assert_eq!((id.as_str(), response.contains("all about taxis")), ("slow", true), "{response}");
}

#[tokio::test]
async fn a_call_that_the_provider_withdraws_is_cancelled_and_not_answered() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.say(call("c1", "look_up", &json!({"subject": "x"}))).await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Call(_))).then_some(())).await;
    peer.say(json!({"toolCallCancellation": {"ids": ["c1"]}})).await;
    assert!(peer.hears_nothing().await);
    peer.say(call("c2", "add", &json!({"a": 1, "b": 2}))).await;
    assert_eq!(answer(&peer.hear().await).0, "c2");
}

#[tokio::test]
async fn who_speaks_interrupts_the_calls_and_they_are_answered_as_cancelled() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.say(call("c1", "look_up", &json!({"subject": "x"}))).await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Call(_))).then_some(())).await;
    peer.say(json!({"serverContent": {"interrupted": true}})).await;
    let answered = |event: &LiveEvent| match event {
        LiveEvent::Answered(response) => Some(response.error().map(|error| error.kind)),
        _ => None,
    };
    assert_eq!(talk.until(answered).await, Some(ErrorKind::Cancelled));
    assert_eq!(answer(&peer.hear().await).0, "c1");
}

#[tokio::test]
async fn a_turn_ends_when_the_model_has_ended_and_no_call_is_left() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    for number in 1..=2 {
        // Gemini ends a turn once, after the calls and what it says of them.
        peer.say(call(&format!("c{number}"), "add", &json!({"a": 1, "b": number}))).await;
        peer.hear().await;
        peer.say(said("Hello")).await;
        peer.say(turn_complete()).await;
        let turn = |event: &LiveEvent| if let LiveEvent::Turn(turn) = event { Some(turn.number) } else { None };
        assert_eq!(talk.until(turn).await, number);
    }
}

#[tokio::test]
async fn the_first_update_is_the_result_and_what_comes_later_is_a_note() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.say(call("c1", "order_taxi", &json!({}))).await;
    let mut heard = [peer.hear().await, peer.hear().await, peer.hear().await].map(|message| message.to_string());
    heard.sort();
    assert!(
        heard[0].contains("The call `c1` of `order_taxi` goes on") && heard[0].contains("one is on its way"),
        "{heard:?}"
    );
    assert!(
        heard[1].contains("The call `c1` of `order_taxi` has ended") && heard[1].contains("it is here"),
        "{heard:?}"
    );
    assert!(heard[2].contains("toolResponse") && heard[2].contains("is being looked for"), "{heard:?}");
    let last = |event: &LiveEvent| match event {
        LiveEvent::Updated(response) => {
            response.meta().call_id().filter(|id| id.ends_with("_final")).map(str::to_owned)
        }
        _ => None,
    };
    assert_eq!(talk.until(last).await, "c1_final");
}

#[tokio::test]
async fn what_a_person_approves_runs_and_the_model_is_told_but_never_the_token() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.say(call("c1", "cancel_booking", &json!({"number": 7}))).await;
    let token = |event: &LiveEvent| match event {
        LiveEvent::Answered(response) => response.meta().confirmation().map(|waits| waits.token.clone()),
        _ => None,
    };
    let token = talk.until(token).await;
    assert!(!peer.hear().await.to_string().contains(&token));
    talk.live.input().approve(token).await.expect("is taken");
    let note = peer.hear().await.to_string();
    assert!(note.contains("A person has approved it") && note.contains("booking 7 is cancelled"), "{note}");
}

#[tokio::test]
async fn what_the_user_says_goes_out_in_order_as_sound_and_as_text() {
    let server = Server::start().await;
    let (talk, mut peer) = gemini(&server).await;
    let input = talk.live.input();
    input.audio([1, 2, 3]).await.expect("is taken");
    input.audio_end().await.expect("is taken");
    input.raw(json!({"realtimeInput": {"activityStart": {}}})).await.expect("is taken");
    let audio = json!({"data": "AQID", "mimeType": "audio/pcm;rate=16000"});
    assert_eq!(peer.hear().await, json!({"realtimeInput": {"audio": audio}}));
    assert_eq!(peer.hear().await, json!({"realtimeInput": {"audioStreamEnd": true}}));
    assert_eq!(peer.hear().await, json!({"realtimeInput": {"activityStart": {}}}));
}

#[tokio::test]
async fn a_message_that_is_no_json_is_told_and_the_conversation_goes_on() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.say_raw(Message::text("{oops")).await;
    peer.say_raw(Message::text("[1]")).await;
    let malformed = |event: &LiveEvent| match event {
        LiveEvent::Model(Event::Error(ProtocolError::Malformed { .. })) => Some(()),
        _ => None,
    };
    talk.until(malformed).await;
    peer.say(call("c1", "add", &json!({"a": 1, "b": 2}))).await;
    assert_eq!(answer(&peer.hear().await).0, "c1");
}

#[tokio::test]
async fn a_host_that_does_not_look_holds_up_no_call() {
    let server = Server::start().await;
    let (_talk, mut peer) = gemini(&server).await;
    for _ in 0..500 {
        peer.say(said("word ")).await;
    }
    peer.say(call("c1", "add", &json!({"a": 1, "b": 2}))).await;
    assert_eq!(answer(&peer.hear().await).0, "c1");
}

#[tokio::test]
async fn a_conversation_is_closed_after_what_was_said() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    let input = talk.live.input();
    input.text("Bye").await.expect("is taken");
    assert_eq!(peer.hear().await, json!({"realtimeInput": {"text": "Bye"}}));
    input.close();
    assert!(peer.is_left().await);
    drop(peer);
    while talk.next().await.is_some() {}
    assert!(input.text("Still there?").await.is_err());
    assert!(server.is_left_alone().await);
}

#[tokio::test]
async fn dropping_the_conversation_closes_the_connection() {
    let server = Server::start().await;
    let (talk, mut peer) = gemini(&server).await;
    drop(talk);
    assert!(peer.is_left().await);
}

#[tokio::test]
async fn a_session_that_has_ended_ends_the_conversation() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    talk.session.end().await;
    peer.say(said("Good-bye")).await;
    peer.say(turn_complete()).await;
    let ended = |event: &LiveEvent| if let LiveEvent::Turn(turn) = event { Some(turn.ended) } else { None };
    assert!(talk.until(ended).await);
    assert!(peer.is_left().await);
}
