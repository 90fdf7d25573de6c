//! OpenAI Realtime, where the client requests each response.

use crate::peer::{Peer, Server};
use crate::support::{Talk, model, talk_with};
use serde_json::{Value, json};
use std::time::Duration;
use tokio_tungstenite::tungstenite::Message as Frame;
use tool_adapters::Provider;
use tool_adapters::providers::Event;
use tool_adapters::transport::websocket::LiveEvent;
use tool_core::session::{Message, UserMessage};

async fn connect(server: &Server) -> (Talk, Peer) {
    let talk = talk_with(model(Provider::OpenAiRealtime, server)).await;
    let mut peer = server.peer().await;
    let setup = peer.receive().await;
    assert_eq!(
        (&setup["type"], &setup["session"]["tools"][0]["name"]),
        (&json!("session.update"), &json!("add"))
    );
    (talk, peer)
}

fn item(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"type": "function_call", "id": format!("item_{id}"), "call_id": id, "name": name,
        "arguments": arguments.to_string(), "status": "completed"})
}

async fn calls(peer: &mut Peer, items: &[Value]) {
    peer.send(
        json!({"type": "response.created", "response": {"id": "r1", "status": "in_progress"}}),
    )
    .await;
    for (index, item) in items.iter().enumerate() {
        peer.send(
            json!({"type": "response.output_item.added", "output_index": index, "item": item}),
        )
        .await;
        peer.send(
            json!({"type": "response.output_item.done", "output_index": index, "item": item}),
        )
        .await;
    }
}

async fn done(peer: &mut Peer, items: &[Value]) {
    peer.send(json!({"type": "response.done", "response": {"id": "r1", "status": "completed", "output": items}})).await;
}

#[tokio::test]
async fn requests_one_response_after_all_results() {
    let server = Server::start().await;
    let (talk, mut peer) = connect(&server).await;
    let items = [
        item("c1", "add", &json!({"a": 1, "b": 2})),
        item("c2", "look_up", &json!({"subject": "x"})),
    ];
    calls(&mut peer, &items).await;
    let first = peer.receive().await;
    assert_eq!(
        (&first["item"]["type"], &first["item"]["call_id"]),
        (&json!("function_call_output"), &json!("c1"))
    );
    done(&mut peer, &items).await;
    assert!(peer.receives_nothing().await, "one result is missing");
    talk.desk.gate.add_permits(1);
    assert_eq!(peer.receive().await["item"]["call_id"], "c2");
    assert_eq!(peer.receive().await, json!({"type": "response.create"}));
    assert!(peer.receives_nothing().await);
    assert_eq!(talk.desk.runs(), 2);
}

#[tokio::test]
async fn requests_a_response_after_the_current_one_ends() {
    let server = Server::start().await;
    let (mut talk, mut peer) = connect(&server).await;
    let items = [item("c1", "add", &json!({"a": 1, "b": 2}))];
    calls(&mut peer, &items).await;
    assert_eq!(peer.receive().await["item"]["call_id"], "c1");
    assert!(peer.receives_nothing().await, "a response is running");
    done(&mut peer, &items).await;
    assert_eq!(peer.receive().await, json!({"type": "response.create"}));
    // The response to the result belongs to the same turn.
    peer.send(json!({"type": "response.done", "response": {"id": "r2", "status": "completed", "output": []}})).await;
    let turn = |event: &LiveEvent| {
        if let LiveEvent::Turn(turn) = event {
            Some(turn.number)
        } else {
            None
        }
    };
    assert_eq!(talk.until(turn).await, 1);
}

#[tokio::test]
async fn requests_a_response_to_a_text() {
    let server = Server::start().await;
    let (talk, mut peer) = connect(&server).await;
    talk.live.input().text("Hello").await.expect("accepted");
    let content = json!([{"type": "input_text", "text": "Hello"}]);
    let item = json!({"type": "message", "role": "user", "content": content});
    assert_eq!(
        peer.receive().await,
        json!({"type": "conversation.item.create", "item": item})
    );
    assert_eq!(peer.receive().await, json!({"type": "response.create"}));
}

#[tokio::test]
async fn an_image_of_the_user_is_a_part_of_an_item() {
    let server = Server::start().await;
    let (talk, mut peer) = connect(&server).await;
    let message = UserMessage::new("What is this?").image("aGk=", "image/png");
    talk.live.input().message(message).await.expect("accepted");
    let content = json!([
        {"type": "input_text", "text": "What is this?"},
        {"type": "input_image", "image_url": "data:image/png;base64,aGk="},
    ]);
    assert_eq!(peer.receive().await["item"]["content"], content);
    assert_eq!(peer.receive().await, json!({"type": "response.create"}));
    let history = talk.live.history();
    let Message::User(said) = &history.messages()[0] else {
        panic!("expected a message of the user");
    };
    assert_eq!(said.parts().len(), 2);
}

#[tokio::test]
async fn a_part_that_the_provider_does_not_take_is_not_sent() {
    let server = Server::start().await;
    let (talk, mut peer) = connect(&server).await;
    let message = UserMessage::new("Read this.")
        .with_url("https://example.com/a.png", "image/png")
        .with_url("https://example.com/a.pdf", "application/pdf");
    let error = talk.live.input().message(message).await;
    let error = error.expect_err("is refused").to_string();
    assert!(
        error.contains("part 2 of the message (image/png by URL): it loads no URLs"),
        "{error}"
    );
    assert!(
        error.contains("nor part 3 of the message (application/pdf by URL)"),
        "{error}"
    );
    assert!(peer.receives_nothing().await);
    assert!(talk.live.history().messages().is_empty());
}

#[tokio::test]
async fn speech_cancels_calls_and_requests_no_response() {
    let server = Server::start().await;
    let (mut talk, mut peer) = connect(&server).await;
    let items = [item("c1", "look_up", &json!({"subject": "x"}))];
    calls(&mut peer, &items).await;
    done(&mut peer, &items).await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Finished(_))).then_some(()))
        .await;
    peer.send(
        json!({"type": "input_audio_buffer.speech_started", "audio_start_ms": 1, "item_id": "i"}),
    )
    .await;
    let result = peer.receive().await;
    assert_eq!(result["item"]["call_id"], "c1");
    assert!(result.to_string().contains("cancelled"), "{result}");
    assert!(
        peer.receives_nothing().await,
        "the server responds to the speech by itself"
    );
}

#[tokio::test]
async fn does_not_run_a_truncated_call() {
    let server = Server::start().await;
    let (mut talk, mut peer) = connect(&server).await;
    let half = json!({"type": "function_call", "id": "item_1", "call_id": "c1", "name": "order_taxi",
        "arguments": "", "status": "incomplete"});
    peer.send(json!({"type": "response.output_item.added", "output_index": 0, "item": half}))
        .await;
    let response = json!({"id": "r1", "status": "cancelled", "output": [half]});
    peer.send(json!({"type": "response.done", "response": response}))
        .await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Finished(_))).then_some(()))
        .await;
    assert!(peer.receives_nothing().await);
}

// M6
#[tokio::test]
async fn a_call_that_the_limit_cuts_off_is_told_to_the_model() {
    let server = Server::start().await;
    let (_talk, mut peer) = connect(&server).await;
    let half = json!({"type": "function_call", "id": "item_1", "call_id": "c1", "name": "order_taxi",
        "arguments": "", "status": "incomplete"});
    peer.send(json!({"type": "response.output_item.added", "output_index": 0, "item": half}))
        .await;
    let details = json!({"type": "incomplete", "reason": "max_output_tokens"});
    let response =
        json!({"id": "r1", "status": "incomplete", "status_details": details, "output": [half]});
    peer.send(json!({"type": "response.done", "response": response}))
        .await;
    let note = peer.receive().await.to_string();
    assert!(
        note.contains("`order_taxi` was cut off") && note.contains("shorter arguments"),
        "{note}"
    );
    assert_eq!(peer.receive().await, json!({"type": "response.create"}));
}

// M1
#[tokio::test]
async fn a_call_of_a_response_that_failed_does_not_run() {
    let server = Server::start().await;
    let (mut talk, mut peer) = connect(&server).await;
    peer.send(
        json!({"type": "response.created", "response": {"id": "r1", "status": "in_progress"}}),
    )
    .await;
    let call = json!({"type": "function_call", "id": "item_1", "call_id": "c1", "name": "look_up",
        "arguments": "{\"subject\":\"x\"}", "status": "completed"});
    let error = json!({"type": "server_error", "code": "server_error"});
    let details = json!({"type": "failed", "error": error});
    let response =
        json!({"id": "r1", "status": "failed", "status_details": details, "output": [call]});
    peer.send(json!({"type": "response.done", "response": response}))
        .await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Error(_))).then_some(()))
        .await;
    assert!(peer.receives_nothing().await, "the call did not run");
}

// M1
#[tokio::test]
async fn a_call_after_a_message_that_cannot_be_read_does_not_run() {
    let server = Server::start().await;
    let (_talk, mut peer) = connect(&server).await;
    peer.send(
        json!({"type": "response.created", "response": {"id": "r1", "status": "in_progress"}}),
    )
    .await;
    peer.send_raw(Frame::text("upstream connect error")).await;
    let items = [item("c1", "look_up", &json!({"subject": "x"}))];
    calls(&mut peer, &items).await;
    let result = peer.receive().await;
    assert_eq!(result["item"]["call_id"], "c1");
    assert!(
        result
            .to_string()
            .contains("a part of the message was lost"),
        "{result}"
    );
}

// M2
#[tokio::test]
async fn a_character_in_two_messages_is_joined() {
    let server = Server::start().await;
    let (mut talk, mut peer) = connect(&server).await;
    peer.send(
        json!({"type": "response.created", "response": {"id": "r1", "status": "in_progress"}}),
    )
    .await;
    for half in ["\\ud83d", "\\ude00"] {
        let delta = r#"{"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":0,"delta":"HALF"}"#;
        peer.send_raw(Frame::text(delta.replace("HALF", half)))
            .await;
    }
    let text = |event: &LiveEvent| match event {
        LiveEvent::Model(Event::Text(text)) => Some(Ok(text.clone())),
        LiveEvent::Model(Event::Error(error)) => Some(Err(error.to_string())),
        _ => None,
    };
    assert_eq!(talk.until(text).await, Ok("😀".to_owned()));
}

#[tokio::test]
async fn cancels_the_response_on_interrupt() {
    let server = Server::start().await;
    let (mut talk, mut peer) = connect(&server).await;
    peer.send(
        json!({"type": "response.created", "response": {"id": "r1", "status": "in_progress"}}),
    )
    .await;
    let delta = json!({"type": "response.output_audio.delta", "item_id": "i", "output_index": 0, "content_index": 0, "delta": "AAAA"});
    peer.send(delta).await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Audio { .. })).then_some(()))
        .await;
    talk.live.input().interrupt().await.expect("accepted");
    assert_eq!(peer.receive().await, json!({"type": "response.cancel"}));
}

/// Returns the names of the tools in an update of the session.
fn declared(update: &Value) -> Vec<&str> {
    assert_eq!(update["type"], "session.update", "{update}");
    update["session"]["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tool| tool["name"].as_str())
        .collect()
}

// L15
#[tokio::test]
async fn declares_tools_again_when_they_change() {
    let server = Server::start().await;
    let model = model(Provider::OpenAiRealtime, &server)
        .setting("audio", json!({"output": {"voice": "marin"}}));
    let talk = talk_with(model).await;
    let mut peer = server.peer().await;
    let setup = peer.receive().await;
    let before = [
        "add",
        "look_up",
        "order_taxi",
        "cancel_booking",
        "intend",
        "watch",
        "fetch",
        "close_account",
    ];
    assert_eq!(
        (
            declared(&setup),
            &setup["session"]["audio"]["output"]["voice"]
        ),
        (before.to_vec(), &json!("marin"))
    );

    talk.open_office().await;
    talk.live
        .input()
        .text("Good night")
        .await
        .expect("accepted");
    assert_eq!(peer.receive().await["type"], "conversation.item.create");
    let update = peer.receive().await;
    assert_eq!(declared(&update), [&before[..], &["close_office"]].concat());
    assert!(
        update["session"].get("audio").is_none(),
        "a voice that has spoken cannot change"
    );
    assert_eq!(peer.receive().await, json!({"type": "response.create"}));

    done(&mut peer, &[]).await;
    talk.live
        .input()
        .text("Still there?")
        .await
        .expect("accepted");
    assert_eq!(peer.receive().await["type"], "conversation.item.create");
    assert_eq!(
        peer.receive().await,
        json!({"type": "response.create"}),
        "the tools are the same"
    );
}

// L21
#[tokio::test]
async fn final_reply_of_a_turn_has_no_calls() {
    let server = Server::start().await;
    let (talk, mut peer) = connect(&server).await;
    let steps = talk.session.max_tool_steps();
    for step in 1..=steps {
        let items = [item(
            &format!("c{step}"),
            "add",
            &json!({"a": 1, "b": step}),
        )];
        calls(&mut peer, &items).await;
        done(&mut peer, &items).await;
        assert_eq!(peer.receive().await["item"]["type"], "function_call_output");
        let request = peer.receive().await;
        let choice = request
            .pointer("/response/tool_choice")
            .and_then(Value::as_str);
        assert_eq!(
            (&request["type"], choice),
            (&json!("response.create"), (step == steps).then_some("none"))
        );
    }
    peer.send(json!({"type": "response.done", "response": {"id": "r2", "status": "completed", "output": []}})).await;
    talk.live.input().text("Again").await.expect("accepted");
    assert_eq!(peer.receive().await["type"], "conversation.item.create");
    assert_eq!(
        peer.receive().await,
        json!({"type": "response.create"}),
        "another reply has its own steps"
    );
}

// R-M4
#[tokio::test]
async fn usage_is_the_measured_context() {
    let server = Server::start().await;
    let (mut talk, mut peer) = connect(&server).await;
    let usage = json!({"total_tokens": 1_007, "input_tokens": 1_000, "output_tokens": 7});
    let response = json!({"id": "r1", "status": "completed", "output": [], "usage": usage});
    peer.send(
        json!({"type": "response.created", "response": {"id": "r1", "status": "in_progress"}}),
    )
    .await;
    peer.send(json!({"type": "response.done", "response": response}))
        .await;
    talk.until(|event| matches!(event, LiveEvent::Turn(_)).then_some(()))
        .await;
    assert_eq!(talk.session.context().peak_tokens, 1_000);
}

#[tokio::test]
async fn refused_request_for_a_response_is_not_waited_for() {
    let server = Server::start().await;
    let (talk, mut peer) = connect(&server).await;
    talk.live.input().text("Hello").await.expect("accepted");
    peer.receive().await;
    assert_eq!(peer.receive().await["type"], "response.create");
    peer.send(json!({"type": "error", "error": {"type": "server_error", "code": "x", "message": "later"}})).await;
    peer.send(json!({"type": "response.done", "response": {"id": "r0", "status": "failed", "output": []}})).await;
    talk.live.input().text("Hello?").await.expect("accepted");
    peer.receive().await;
    assert_eq!(peer.receive().await["type"], "response.create");
}

#[tokio::test]
async fn request_during_the_response_to_speech_is_repeated() {
    let server = Server::start().await;
    let (talk, mut peer) = connect(&server).await;
    talk.live.input().text("Hello").await.expect("accepted");
    peer.receive().await;
    assert_eq!(peer.receive().await["type"], "response.create");
    // A response to the user's speech has begun just before.
    let code = "conversation_already_has_active_response";
    peer.send(json!({"type": "error", "error": {"type": "invalid_request_error", "code": code, "message": "busy"}}))
        .await;
    done(&mut peer, &[]).await;
    assert_eq!(peer.receive().await["type"], "response.create");
}

#[tokio::test]
async fn interrupted_call_ends_the_turn() {
    let server = Server::start().await;
    let (mut talk, mut peer) = connect(&server).await;
    let items = [item("c1", "look_up", &json!({"subject": "x"}))];
    calls(&mut peer, &items).await;
    done(&mut peer, &items).await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Finished(_))).then_some(()))
        .await;
    talk.live.input().interrupt().await.expect("accepted");
    assert_eq!(peer.receive().await["item"]["call_id"], "c1");
    talk.until(|event| matches!(event, LiveEvent::Turn(_)).then_some(()))
        .await;
}

async fn created(peer: &mut Peer) {
    peer.send(
        json!({"type": "response.created", "response": {"id": "r1", "status": "in_progress"}}),
    )
    .await;
}

async fn speech_started(talk: &mut Talk, peer: &mut Peer) {
    peer.send(
        json!({"type": "input_audio_buffer.speech_started", "audio_start_ms": 1, "item_id": "i"}),
    )
    .await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Interrupted)).then_some(()))
        .await;
}

fn error(code: &str) -> Value {
    json!({"type": "error", "error": {"type": "invalid_request_error", "code": code, "message": "no"}})
}

#[tokio::test]
async fn a_request_that_another_response_precedes_is_repeated() {
    let server = Server::start().await;
    let (talk, mut peer) = connect(&server).await;
    talk.live.input().text("Hello").await.expect("accepted");
    peer.receive().await;
    assert_eq!(peer.receive().await["type"], "response.create");
    // The response to the user's speech has begun before the server read the request.
    created(&mut peer).await;
    peer.send(error("conversation_already_has_active_response"))
        .await;
    assert!(
        peer.receives_nothing().await,
        "the other response is active"
    );
    done(&mut peer, &[]).await;
    assert_eq!(peer.receive().await["type"], "response.create");
}

#[tokio::test]
async fn no_response_is_requested_while_the_user_speaks() {
    let server = Server::start().await;
    let (mut talk, mut peer) = connect(&server).await;
    speech_started(&mut talk, &mut peer).await;
    talk.live.input().text("Hello").await.expect("accepted");
    assert_eq!(peer.receive().await["type"], "conversation.item.create");
    assert!(peer.receives_nothing().await, "the user speaks");
    created(&mut peer).await;
    done(&mut peer, &[]).await;
    assert_eq!(peer.receive().await["type"], "response.create");
}

/// Lets time pass. The clock runs on afterwards, because it must not jump while a message is on its way.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// Begins the user's speech, and sends a text in the middle of it.
async fn text_during_speech(server: &Server) -> (Talk, Peer) {
    let (mut talk, mut peer) = connect(server).await;
    speech_started(&mut talk, &mut peer).await;
    talk.live.input().text("Hello").await.expect("accepted");
    assert_eq!(peer.receive().await["type"], "conversation.item.create");
    (talk, peer)
}

#[tokio::test]
async fn speech_is_over_once_no_audio_comes() {
    let server = Server::start().await;
    let (talk, mut peer) = text_during_speech(&server).await;
    pass(Duration::from_millis(1_500)).await;
    talk.live.input().audio([0; 2]).await.expect("accepted");
    assert_eq!(peer.receive().await["type"], "input_audio_buffer.append");
    pass(Duration::from_millis(1_500)).await;
    assert!(peer.receives_nothing().await, "the user still speaks");
    // The user has muted the microphone, so the server never hears the end of the speech.
    pass(Duration::from_millis(500)).await;
    assert_eq!(peer.receive().await["type"], "response.create");
}

#[tokio::test]
async fn a_text_before_speech_that_ends_unheard_is_answered() {
    let server = Server::start().await;
    let (mut talk, mut peer) = connect(&server).await;
    created(&mut peer).await;
    let begun = json!({"type": "response.output_audio.delta", "item_id": "i", "output_index": 0, "content_index": 0, "delta": "AAAA"});
    peer.send(begun).await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Audio { .. })).then_some(()))
        .await;
    talk.live.input().text("Hello").await.expect("accepted");
    assert_eq!(peer.receive().await["type"], "conversation.item.create");
    speech_started(&mut talk, &mut peer).await;
    let response = json!({"id": "r1", "status": "cancelled", "output": []});
    peer.send(json!({"type": "response.done", "response": response}))
        .await;
    assert!(peer.receives_nothing().await, "the user speaks");
    pass(Duration::from_secs(2)).await;
    assert_eq!(peer.receive().await["type"], "response.create");
}

#[tokio::test]
async fn an_interruption_by_the_host_ends_the_speech() {
    let server = Server::start().await;
    let (talk, mut peer) = text_during_speech(&server).await;
    talk.live.input().interrupt().await.expect("accepted");
    assert_eq!(soon(&mut peer).await, ["response.create"]);
}

#[tokio::test]
async fn speech_that_the_server_discards_is_over() {
    let server = Server::start().await;
    let (talk, mut peer) = text_during_speech(&server).await;
    let clear = json!({"type": "input_audio_buffer.clear"});
    talk.live.input().raw(clear).await.expect("accepted");
    assert_eq!(peer.receive().await["type"], "input_audio_buffer.clear");
    peer.send(json!({"type": "input_audio_buffer.cleared"}))
        .await;
    assert_eq!(soon(&mut peer).await, ["response.create"]);
}

/// Returns the types of the messages that the client sends without waiting.
async fn soon(peer: &mut Peer) -> Vec<Value> {
    let mut messages = peer.until_pong().await;
    messages.extend(peer.until_pong().await);
    messages
        .iter()
        .map(|message| message["type"].clone())
        .collect()
}

#[tokio::test]
async fn the_end_of_an_interrupted_response_is_not_the_users() {
    let server = Server::start().await;
    let (mut talk, mut peer) = connect(&server).await;
    created(&mut peer).await;
    speech_started(&mut talk, &mut peer).await;
    talk.live.input().text("Hello").await.expect("accepted");
    assert_eq!(peer.receive().await["type"], "conversation.item.create");
    let response = json!({"id": "r1", "status": "cancelled", "output": []});
    peer.send(json!({"type": "response.done", "response": response}))
        .await;
    assert!(peer.receives_nothing().await, "the user still speaks");
    // No response to the speech begins, for example because the server cannot.
    peer.send(error("server_error")).await;
    assert_eq!(peer.receive().await["type"], "response.create");
}

#[tokio::test]
async fn an_interruption_by_the_host_asks_for_no_response() {
    let server = Server::start().await;
    let (mut talk, mut peer) = connect(&server).await;
    let items = [
        item("c1", "add", &json!({"a": 1, "b": 2})),
        item("c2", "look_up", &json!({"subject": "x"})),
    ];
    calls(&mut peer, &items).await;
    assert_eq!(peer.receive().await["item"]["call_id"], "c1");
    done(&mut peer, &items).await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Finished(_))).then_some(()))
        .await;
    talk.live.input().interrupt().await.expect("accepted");
    assert_eq!(peer.receive().await["item"]["call_id"], "c2");
    assert!(peer.receives_nothing().await);
}

#[tokio::test]
async fn an_interruption_by_the_host_keeps_the_users_text() {
    let server = Server::start().await;
    let (mut talk, mut peer) = connect(&server).await;
    created(&mut peer).await;
    let delta = json!({"type": "response.output_audio.delta", "item_id": "i", "output_index": 0, "content_index": 0, "delta": "AAAA"});
    peer.send(delta).await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Audio { .. })).then_some(()))
        .await;
    talk.live.input().text("Stop").await.expect("accepted");
    assert_eq!(peer.receive().await["type"], "conversation.item.create");
    talk.live.input().interrupt().await.expect("accepted");
    assert_eq!(peer.receive().await["type"], "response.cancel");
    done(&mut peer, &[]).await;
    assert_eq!(peer.receive().await["type"], "response.create");
}

/// Ends the user's audio. The client commits it.
async fn end_audio(talk: &Talk, peer: &mut Peer) {
    let input = talk.live.input();
    input.audio([0; 2]).await.expect("accepted");
    input.audio_end().await.expect("accepted");
    assert_eq!(peer.receive().await["type"], "input_audio_buffer.append");
    assert_eq!(peer.receive().await["type"], "input_audio_buffer.commit");
}

#[tokio::test]
async fn the_end_of_audio_asks_once_it_is_committed() {
    let server = Server::start().await;
    let (talk, mut peer) = connect(&server).await;
    end_audio(&talk, &mut peer).await;
    assert!(peer.receives_nothing().await, "there may be no audio");
    peer.send(json!({"type": "input_audio_buffer.committed", "item_id": "u"}))
        .await;
    assert_eq!(peer.receive().await["type"], "response.create");
}

#[tokio::test]
async fn the_end_of_audio_that_was_committed_asks_for_nothing() {
    let server = Server::start().await;
    let (talk, mut peer) = connect(&server).await;
    end_audio(&talk, &mut peer).await;
    peer.send(error("input_audio_buffer_commit_empty")).await;
    assert!(peer.receives_nothing().await);
    created(&mut peer).await;
    done(&mut peer, &[]).await;
    assert!(peer.receives_nothing().await, "the server has answered");
}

#[tokio::test]
async fn a_text_during_speech_that_was_committed_is_answered() {
    let server = Server::start().await;
    let (talk, mut peer) = text_during_speech(&server).await;
    end_audio(&talk, &mut peer).await;
    peer.send(error("input_audio_buffer_commit_empty")).await;
    assert_eq!(soon(&mut peer).await, ["response.create"]);
}

#[tokio::test]
async fn speech_that_the_server_ends_is_not_answered_twice() {
    let server = Server::start().await;
    let (talk, mut peer) = connect(&server).await;
    end_audio(&talk, &mut peer).await;
    // The server has heard the end before the commit arrived.
    peer.send(
        json!({"type": "input_audio_buffer.speech_stopped", "audio_end_ms": 9, "item_id": "u"}),
    )
    .await;
    peer.send(json!({"type": "input_audio_buffer.committed", "item_id": "u"}))
        .await;
    created(&mut peer).await;
    peer.send(error("input_audio_buffer_commit_empty")).await;
    done(&mut peer, &[]).await;
    assert!(peer.receives_nothing().await);
}

/// Starts a conversation with a setting of how the server detects speech.
async fn connect_with_detection(server: &Server, detection: Value) -> (Talk, Peer) {
    let model = model(Provider::OpenAiRealtime, server)
        .setting("audio", json!({"input": {"turn_detection": detection}}));
    let talk = talk_with(model).await;
    let mut peer = server.peer().await;
    peer.receive().await;
    (talk, peer)
}

#[tokio::test]
async fn speech_that_the_server_leaves_to_the_host_is_asked_for() {
    let server = Server::start().await;
    let detection = json!({"type": "server_vad", "create_response": false});
    let (talk, mut peer) = connect_with_detection(&server, detection).await;
    peer.send(json!({"type": "input_audio_buffer.committed", "item_id": "u"}))
        .await;
    assert!(peer.receives_nothing().await, "the host has not asked yet");
    end_audio(&talk, &mut peer).await;
    peer.send(error("input_audio_buffer_commit_empty")).await;
    assert_eq!(peer.receive().await["type"], "response.create");
    created(&mut peer).await;
    done(&mut peer, &[]).await;
    assert!(peer.receives_nothing().await, "the speech is answered");
    // The microphone was opened and closed again.
    end_audio(&talk, &mut peer).await;
    peer.send(error("input_audio_buffer_commit_empty")).await;
    assert!(peer.receives_nothing().await, "nothing was said");
}

#[tokio::test]
async fn an_empty_push_to_talk_asks_for_nothing() {
    let server = Server::start().await;
    let (talk, mut peer) = connect_with_detection(&server, Value::Null).await;
    end_audio(&talk, &mut peer).await;
    peer.send(error("input_audio_buffer_commit_empty")).await;
    assert!(peer.receives_nothing().await, "nothing was said");
    end_audio(&talk, &mut peer).await;
    peer.send(json!({"type": "input_audio_buffer.committed", "item_id": "u"}))
        .await;
    assert_eq!(peer.receive().await["type"], "response.create");
}
