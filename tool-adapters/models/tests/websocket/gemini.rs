//! Gemini Live: concurrent calls, withdrawals, interruptions, updates and approvals.

use crate::peer::{Peer, Server};
use crate::support::{
    Talk, answer, call, gemini, model, resumable, set_up, talk_with, text_message, turn_complete,
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio_tungstenite::tungstenite::Message;
use tool_adapters::Provider;
use tool_adapters::providers::{Event, ProtocolError};
use tool_adapters::transport::websocket::LiveEvent;
use tool_core::session::{StateChange, UserMessage};
use tool_core::{ErrorKind, Intent};

#[tokio::test]
async fn sends_nothing_before_the_setup_is_confirmed() {
    let server = Server::start().await;
    let talk = talk_with(
        model(Provider::GeminiLive, &server).setting("generationConfig", json!({"temperature": 0})),
    )
    .await;
    talk.live.input().text("Hello").await.expect("accepted");
    let mut peer = server.peer().await;
    let setup = peer.receive().await;
    assert_eq!(setup["setup"]["model"], "models/the-model");
    assert_eq!(setup["setup"]["generationConfig"]["temperature"], 0);
    assert_eq!(setup["setup"]["sessionResumption"], json!({}));
    assert_eq!(
        setup["setup"]["tools"][0]["functionDeclarations"][0]["name"],
        "add"
    );
    assert!(peer.receives_nothing().await);
    peer.send(json!({"setupComplete": {}})).await;
    assert_eq!(
        peer.receive().await,
        json!({"realtimeInput": {"text": "Hello"}})
    );
}

#[tokio::test]
async fn an_image_of_the_user_comes_before_its_text() {
    let server = Server::start().await;
    let (talk, mut peer) = gemini(&server).await;
    let message = UserMessage::new("What is this?").image("aGk=", "image/jpeg");
    talk.live.input().message(message).await.expect("accepted");
    assert_eq!(
        peer.receive().await,
        json!({"realtimeInput": {"video": {"data": "aGk=", "mimeType": "image/jpeg"}}})
    );
    assert_eq!(
        peer.receive().await,
        json!({"realtimeInput": {"text": "What is this?"}})
    );
}

#[tokio::test]
async fn time_limits_of_a_live_model_can_be_endless() {
    let server = Server::start().await;
    let endless = model(Provider::GeminiLive, &server)
        .connect_timeout(Duration::MAX)
        .heartbeat(Duration::MAX);
    let talk = talk_with(endless).await;
    talk.live.input().text("Hello").await.expect("accepted");
    let mut peer = server.peer().await;
    peer.receive().await;
    peer.send(json!({"setupComplete": {}})).await;
    assert_eq!(
        peer.receive().await,
        json!({"realtimeInput": {"text": "Hello"}})
    );
}

#[tokio::test]
async fn answers_a_call() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.send(call("c1", "add", &json!({"a": 1, "b": 2}))).await;
    let (id, response) = answer(&peer.receive().await);
    assert_eq!(
        (id.as_str(), response.contains('3')),
        ("c1", true),
        "{response}"
    );
    peer.send(text_message("It is 3.")).await;
    peer.send(turn_complete()).await;
    let text = |event: &LiveEvent| match event {
        LiveEvent::Model(Event::Text(text)) => Some(text.clone()),
        _ => None,
    };
    assert_eq!(talk.until(text).await, "It is 3.");
    assert_eq!(talk.desk.runs(), 1);
}

#[tokio::test]
async fn reads_the_socket_and_sends_results_while_calls_run() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.send(call("slow", "look_up", &json!({"subject": "taxis"})))
        .await;
    peer.send(text_message("One moment.")).await;
    let text = |event: &LiveEvent| matches!(event, LiveEvent::Model(Event::Text(_))).then_some(());
    talk.until(text).await;
    peer.send(call("fast", "add", &json!({"a": 1, "b": 2})))
        .await;
    assert_eq!(answer(&peer.receive().await).0, "fast");
    talk.desk.gate.add_permits(1);
    let (id, response) = answer(&peer.receive().await);
    assert_eq!(
        (id.as_str(), response.contains("all about taxis")),
        ("slow", true),
        "{response}"
    );
}

#[tokio::test]
async fn cancels_a_withdrawn_call_without_an_answer() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.send(call("c1", "look_up", &json!({"subject": "x"})))
        .await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Call(_))).then_some(()))
        .await;
    peer.send(json!({"toolCallCancellation": {"ids": ["c1"]}}))
        .await;
    assert!(peer.receives_nothing().await);
    peer.send(call("c2", "add", &json!({"a": 1, "b": 2}))).await;
    assert_eq!(answer(&peer.receive().await).0, "c2");
}

#[tokio::test]
async fn answers_interrupted_calls_as_cancelled() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.send(call("c1", "look_up", &json!({"subject": "x"})))
        .await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Call(_))).then_some(()))
        .await;
    peer.send(json!({"serverContent": {"interrupted": true}}))
        .await;
    let answered = |event: &LiveEvent| match event {
        LiveEvent::Answered(response) => Some(response.error().map(|error| error.kind)),
        _ => None,
    };
    assert_eq!(talk.until(answered).await, Some(ErrorKind::Cancelled));
    assert_eq!(answer(&peer.receive().await).0, "c1");
}

#[tokio::test]
async fn ends_the_turn_after_the_message_and_its_calls() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    for number in 1..=2 {
        // Gemini ends a turn once, after the calls and its response to them.
        peer.send(call(
            &format!("c{number}"),
            "add",
            &json!({"a": 1, "b": number}),
        ))
        .await;
        peer.receive().await;
        peer.send(text_message("Hello")).await;
        peer.send(turn_complete()).await;
        let turn = |event: &LiveEvent| {
            if let LiveEvent::Turn(turn) = event {
                Some(turn.number)
            } else {
                None
            }
        };
        assert_eq!(talk.until(turn).await, number);
    }
}

#[tokio::test]
async fn sends_the_first_update_as_result_and_later_ones_as_notes() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.send(call("c1", "order_taxi", &json!({}))).await;
    let mut received = [
        peer.receive().await,
        peer.receive().await,
        peer.receive().await,
    ]
    .map(|message| message.to_string());
    received.sort();
    assert!(
        received[0].contains("The call `c1` of `order_taxi` goes on")
            && received[0].contains("one is on its way"),
        "{received:?}"
    );
    assert!(
        received[1].contains("The call `c1` of `order_taxi` has ended")
            && received[1].contains("it is here"),
        "{received:?}"
    );
    assert!(
        received[2].contains("toolResponse") && received[2].contains("is being looked for"),
        "{received:?}"
    );
    let last = |event: &LiveEvent| match event {
        LiveEvent::Updated(response) => response
            .meta()
            .call_id()
            .filter(|id| id.ends_with("_final"))
            .map(str::to_owned),
        _ => None,
    };
    assert_eq!(talk.until(last).await, "c1_final");
}

#[tokio::test]
async fn runs_an_approved_call_and_hides_the_token() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.send(call("c1", "cancel_booking", &json!({"number": 7})))
        .await;
    let token = |event: &LiveEvent| match event {
        LiveEvent::Answered(response) => response
            .meta()
            .confirmation()
            .map(|waits| waits.token.clone()),
        _ => None,
    };
    let token = talk.until(token).await;
    assert!(!peer.receive().await.to_string().contains(&token));
    talk.live.input().approve(token).await.expect("accepted");
    let note = peer.receive().await.to_string();
    assert!(
        note.contains("A person has approved it") && note.contains("booking 7 is cancelled"),
        "{note}"
    );
}

#[tokio::test]
async fn sends_audio_and_raw_messages_in_order() {
    let server = Server::start().await;
    let (talk, mut peer) = gemini(&server).await;
    let input = talk.live.input();
    input.audio([1, 2, 3]).await.expect("accepted");
    input.audio_end().await.expect("accepted");
    let video = json!({"realtimeInput": {"video": {"data": "/9j/", "mimeType": "image/jpeg"}}});
    input.raw(video.clone()).await.expect("accepted");
    let audio = json!({"data": "AQID", "mimeType": "audio/pcm;rate=16000"});
    assert_eq!(
        peer.receive().await,
        json!({"realtimeInput": {"audio": audio}})
    );
    assert_eq!(
        peer.receive().await,
        json!({"realtimeInput": {"audioStreamEnd": true}})
    );
    assert_eq!(peer.receive().await, video);
}

// T9
#[tokio::test]
async fn does_not_send_a_raw_message_that_nests_100_000_deep() {
    let server = Server::start().await;
    let (talk, mut peer) = gemini(&server).await;
    let deep = (0..100_000).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
    talk.live.input().raw(deep).await.expect("accepted");
    talk.live.input().audio_end().await.expect("accepted");
    assert_eq!(
        peer.receive().await,
        json!({"realtimeInput": {"audioStreamEnd": true}})
    );
}

#[tokio::test]
async fn reports_invalid_json_and_goes_on() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.send_raw(Message::text("{oops")).await;
    peer.send_raw(Message::text("[1]")).await;
    let malformed = |event: &LiveEvent| match event {
        LiveEvent::Model(Event::Error(ProtocolError::Malformed { .. })) => Some(()),
        _ => None,
    };
    talk.until(malformed).await;
    peer.send(call("c1", "add", &json!({"a": 1, "b": 2}))).await;
    assert_eq!(answer(&peer.receive().await).0, "c1");
}

#[tokio::test]
async fn runs_calls_even_if_the_host_reads_no_events() {
    let server = Server::start().await;
    let (_talk, mut peer) = gemini(&server).await;
    for _ in 0..500 {
        peer.send(text_message("word ")).await;
    }
    peer.send(call("c1", "add", &json!({"a": 1, "b": 2}))).await;
    assert_eq!(answer(&peer.receive().await).0, "c1");
}

#[tokio::test]
async fn closes_after_sending_earlier_input() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    let input = talk.live.input();
    talk.until(|event| matches!(event, LiveEvent::Connected { .. }).then_some(()))
        .await;
    input.text("Bye").await.expect("accepted");
    input.close();
    assert_eq!(
        peer.receive().await,
        json!({"realtimeInput": {"text": "Bye"}})
    );
    assert!(peer.is_closed().await);
    drop(peer);
    while talk.next().await.is_some() {}
    assert!(input.text("Still there?").await.is_err());
    assert!(server.has_no_connection().await);
}

#[tokio::test]
async fn dropping_the_conversation_closes_the_connection() {
    let server = Server::start().await;
    let (talk, mut peer) = gemini(&server).await;
    drop(talk);
    assert!(peer.is_closed().await);
}

#[tokio::test]
async fn an_ended_session_ends_the_conversation() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    talk.session.end().await;
    peer.send(text_message("Good-bye")).await;
    peer.send(turn_complete()).await;
    let ended = |event: &LiveEvent| {
        if let LiveEvent::Turn(turn) = event {
            Some(turn.ended)
        } else {
            None
        }
    };
    assert!(talk.until(ended).await);
    assert!(peer.is_closed().await);
}

fn declared(setup: &Value) -> Vec<&str> {
    let tools = setup["setup"]["tools"][0]["functionDeclarations"].as_array();
    tools
        .into_iter()
        .flatten()
        .filter_map(|tool| tool["name"].as_str())
        .collect()
}

async fn with_handle(server: &Server) -> (Talk, Peer) {
    let (mut talk, mut peer) = gemini(server).await;
    peer.send(resumable("h-1")).await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Unknown(_))).then_some(()))
        .await;
    (talk, peer)
}

// L15
#[tokio::test]
async fn changed_tools_are_declared_in_a_resumed_connection() {
    let server = Server::start().await;
    let (mut talk, mut peer) = with_handle(&server).await;
    talk.open_office().await;
    peer.send(text_message("Good night.")).await;
    peer.send(turn_complete()).await;
    assert!(peer.is_closed().await);
    let (_peer, setup) = set_up(&server).await;
    assert_eq!(
        setup["setup"]["sessionResumption"],
        json!({"handle": "h-1"})
    );
    assert_eq!(
        declared(&setup),
        [
            "add",
            "look_up",
            "order_taxi",
            "cancel_booking",
            "intend",
            "watch",
            "fetch",
            "close_account",
            "close_office"
        ]
    );
    let connected = |event: &LiveEvent| match event {
        LiveEvent::Connected { resumed } => Some(*resumed),
        LiveEvent::Disconnected { error, .. } => panic!("nothing failed: {error}"),
        _ => None,
    };
    assert!(talk.until(connected).await);
}

// L15
#[tokio::test]
async fn changed_tools_wait_until_the_model_has_answered() {
    let server = Server::start().await;
    let (talk, mut peer) = with_handle(&server).await;
    talk.open_office().await;
    talk.live.input().text("Add them").await.expect("accepted");
    assert_eq!(
        peer.receive().await,
        json!({"realtimeInput": {"text": "Add them"}})
    );
    peer.send(call("c1", "add", &json!({"a": 1, "b": 2}))).await;
    assert_eq!(answer(&peer.receive().await).0, "c1");
    assert!(peer.receives_nothing().await, "the model owes a response");
    peer.send(turn_complete()).await;
    assert!(peer.is_closed().await);
}

// L15
#[tokio::test]
async fn changed_tools_without_a_handle_keep_the_connection() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    talk.open_office().await;
    peer.send(text_message("Good night.")).await;
    peer.send(turn_complete()).await;
    talk.until(|event| matches!(event, LiveEvent::Turn(_)).then_some(()))
        .await;
    assert!(peer.receives_nothing().await);
}

fn speech() -> Value {
    let data = json!({"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "AAAA"}});
    json!({"serverContent": {"modelTurn": {"role": "model", "parts": [data]}}})
}

// R-I1
#[tokio::test]
async fn suppressed_audio_does_not_reach_the_host() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    peer.send(speech()).await;
    let is_audio = |event: &LiveEvent| matches!(event, LiveEvent::Model(Event::Audio { .. }));
    talk.until(|event| is_audio(event).then_some(())).await;
    peer.send(call("c1", "intend", &json!({"name": "hush"})))
        .await;
    assert_eq!(answer(&peer.receive().await).0, "c1");
    for _ in 0..3 {
        peer.send(speech()).await;
    }
    peer.send(turn_complete()).await;
    let mut heard = Vec::new();
    loop {
        match talk.next().await.expect("the conversation goes on") {
            LiveEvent::Turn(_) => break,
            LiveEvent::Intent { intent, .. } => heard.push(intent.name().to_owned()),
            LiveEvent::Model(Event::Interrupted) => heard.push("interrupted".into()),
            event => assert!(!is_audio(&event)),
        }
    }
    assert_eq!(
        (heard, talk.live.suppressed().audio_bytes),
        (vec!["SUPPRESS_AUDIO".into(), "interrupted".into()], 12)
    );

    talk.session
        .change(&[StateChange::AudioSuppressed(false)])
        .await
        .expect("stored");
    peer.send(speech()).await;
    talk.until(|event| is_audio(event).then_some(())).await;
}

// R-I1
#[tokio::test]
async fn intents_for_the_host_are_events() {
    let server = Server::start().await;
    let (mut talk, mut peer) = gemini(&server).await;
    for (name, expected) in [
        ("voice", Intent::StartVoiceSession),
        ("/bookings", Intent::Navigate("/bookings".into())),
    ] {
        peer.send(call(name, "intend", &json!({"name": name})))
            .await;
        let intent = |event: &LiveEvent| match event {
            LiveEvent::Intent { call_id, intent } => Some((call_id.clone(), intent.clone())),
            _ => None,
        };
        assert_eq!(talk.until(intent).await, (name.to_owned(), expected));
    }
}

// L15
#[tokio::test]
async fn changed_tools_wait_while_the_user_speaks() {
    let server = Server::start().await;
    let (talk, mut peer) = with_handle(&server).await;
    peer.send(text_message("Good night. By the way")).await;
    talk.open_office().await;
    peer.send(json!({"serverContent": {"interrupted": true}}))
        .await;
    peer.send(turn_complete()).await;
    assert!(
        peer.receives_nothing().await,
        "the model owes a response to the user's speech"
    );
    peer.send(text_message("Yes?")).await;
    peer.send(turn_complete()).await;
    assert!(peer.is_closed().await);
}

fn go_away() -> Value {
    json!({"goAway": {"timeLeft": "50s"}})
}

#[tokio::test]
async fn an_announced_end_resumes_the_conversation_before() {
    let server = Server::start().await;
    let (mut talk, mut peer) = with_handle(&server).await;
    peer.send(go_away()).await;
    assert!(peer.is_closed().await);
    let (_peer, setup) = set_up(&server).await;
    assert_eq!(
        setup["setup"]["sessionResumption"],
        json!({"handle": "h-1"})
    );
    let resumed = |event: &LiveEvent| match event {
        LiveEvent::Connected { resumed: true } => Some(()),
        LiveEvent::Disconnected { error, .. } => panic!("nothing failed: {error}"),
        _ => None,
    };
    talk.until(resumed).await;
}

#[tokio::test]
async fn an_announced_end_waits_for_the_models_answer() {
    let server = Server::start().await;
    let (_talk, mut peer) = with_handle(&server).await;
    peer.send(text_message("Once upon")).await;
    peer.send(go_away()).await;
    assert!(peer.receives_nothing().await, "the model still speaks");
    peer.send(turn_complete()).await;
    assert!(peer.is_closed().await);
}
