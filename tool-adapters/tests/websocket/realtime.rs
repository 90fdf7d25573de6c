//! OpenAI Realtime: the model is told when to speak.

use crate::peer::{Peer, Server};
use crate::support::{Talk, model, talk_with};
use serde_json::{Value, json};
use tool_adapters::Provider;
use tool_adapters::providers::Event;
use tool_adapters::transport::websocket::LiveEvent;

async fn begun(server: &Server) -> (Talk, Peer) {
    let talk = talk_with(model(Provider::OpenAiRealtime, server)).await;
    let mut peer = server.peer().await;
    let setup = peer.hear().await;
    assert_eq!((&setup["type"], &setup["session"]["tools"][0]["name"]), (&json!("session.update"), &json!("add")));
    (talk, peer)
}

fn item(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"type": "function_call", "id": format!("item_{id}"), "call_id": id, "name": name,
        "arguments": arguments.to_string(), "status": "completed"})
}

async fn calls(peer: &mut Peer, items: &[Value]) {
    peer.say(json!({"type": "response.created", "response": {"id": "r1", "status": "in_progress"}})).await;
    for (index, item) in items.iter().enumerate() {
        peer.say(json!({"type": "response.output_item.added", "output_index": index, "item": item})).await;
        peer.say(json!({"type": "response.output_item.done", "output_index": index, "item": item})).await;
    }
}

async fn done(peer: &mut Peer, items: &[Value]) {
    peer.say(json!({"type": "response.done", "response": {"id": "r1", "status": "completed", "output": items}})).await;
}

#[tokio::test]
async fn the_model_is_told_to_speak_once_when_its_message_is_over_and_all_results_are_there() {
    let server = Server::start().await;
    let (talk, mut peer) = begun(&server).await;
    let items = [item("c1", "add", &json!({"a": 1, "b": 2})), item("c2", "look_up", &json!({"subject": "x"}))];
    calls(&mut peer, &items).await;
    let first = peer.hear().await;
    assert_eq!((&first["item"]["type"], &first["item"]["call_id"]), (&json!("function_call_output"), &json!("c1")));
    done(&mut peer, &items).await;
    assert!(peer.hears_nothing().await, "one result is missing");
    talk.desk.gate.add_permits(1);
    assert_eq!(peer.hear().await["item"]["call_id"], "c2");
    assert_eq!(peer.hear().await, json!({"type": "response.create"}));
    assert!(peer.hears_nothing().await);
    assert_eq!(talk.desk.runs(), 2);
}

#[tokio::test]
async fn a_result_that_is_there_before_the_message_is_over_waits_with_its_request() {
    let server = Server::start().await;
    let (mut talk, mut peer) = begun(&server).await;
    let items = [item("c1", "add", &json!({"a": 1, "b": 2}))];
    calls(&mut peer, &items).await;
    assert_eq!(peer.hear().await["item"]["call_id"], "c1");
    assert!(peer.hears_nothing().await, "a response is under way");
    done(&mut peer, &items).await;
    assert_eq!(peer.hear().await, json!({"type": "response.create"}));
    // What the model says of the result belongs to the same turn.
    peer.say(json!({"type": "response.done", "response": {"id": "r2", "status": "completed", "output": []}})).await;
    let turn = |event: &LiveEvent| if let LiveEvent::Turn(turn) = event { Some(turn.number) } else { None };
    assert_eq!(talk.until(turn).await, 1);
}

#[tokio::test]
async fn a_text_of_the_users_is_answered() {
    let server = Server::start().await;
    let (talk, mut peer) = begun(&server).await;
    talk.live.input().text("Hello").await.expect("is taken");
    let content = json!([{"type": "input_text", "text": "Hello"}]);
    let item = json!({"type": "message", "role": "user", "content": content});
    assert_eq!(peer.hear().await, json!({"type": "conversation.item.create", "item": item}));
    assert_eq!(peer.hear().await, json!({"type": "response.create"}));
}

#[tokio::test]
async fn who_speaks_interrupts_the_calls_and_is_answered_by_the_server_itself() {
    let server = Server::start().await;
    let (mut talk, mut peer) = begun(&server).await;
    let items = [item("c1", "look_up", &json!({"subject": "x"}))];
    calls(&mut peer, &items).await;
    done(&mut peer, &items).await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Finished(_))).then_some(())).await;
    peer.say(json!({"type": "input_audio_buffer.speech_started", "audio_start_ms": 1, "item_id": "i"})).await;
    let result = peer.hear().await;
    assert_eq!(result["item"]["call_id"], "c1");
    assert!(result.to_string().contains("cancelled"), "{result}");
    assert!(peer.hears_nothing().await, "the server speaks when the user has ended");
}

#[tokio::test]
async fn a_call_that_was_cut_off_does_not_run() {
    let server = Server::start().await;
    let (mut talk, mut peer) = begun(&server).await;
    let half = json!({"type": "function_call", "id": "item_1", "call_id": "c1", "name": "order_taxi",
        "arguments": "", "status": "incomplete"});
    peer.say(json!({"type": "response.output_item.added", "output_index": 0, "item": half})).await;
    let response = json!({"id": "r1", "status": "cancelled", "output": [half]});
    peer.say(json!({"type": "response.done", "response": response})).await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Finished(_))).then_some(())).await;
    assert!(peer.hears_nothing().await);
}

#[tokio::test]
async fn the_host_stops_a_model_that_speaks() {
    let server = Server::start().await;
    let (mut talk, mut peer) = begun(&server).await;
    peer.say(json!({"type": "response.created", "response": {"id": "r1", "status": "in_progress"}})).await;
    let delta = json!({"type": "response.output_audio.delta", "item_id": "i", "output_index": 0, "content_index": 0, "delta": "AAAA"});
    peer.say(delta).await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Audio { .. })).then_some(())).await;
    talk.live.input().interrupt().await.expect("is taken");
    assert_eq!(peer.hear().await, json!({"type": "response.cancel"}));
}
