//! A call that comes several times runs once, whatever the server calls it.

use crate::Provider::OpenAiResponses;
use crate::event::{Event, Finish};
use crate::tests::streams::{calls, events, sse, summary};
use serde_json::{Value, json};

/// The forms of one call in a stream, which a server may give different ids.
struct Appearances {
    added: Value,
    done: Value,
    listed: Value,
}

fn item(id: &str, call_id: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": id, "call_id": call_id, "name": "pay", "arguments": arguments})
}

/// A stream of one call in three forms. `place` is its place in the events.
fn stream(call: &Appearances, place: Option<u64>) -> String {
    let mut added = json!({"type": "response.output_item.added", "item": call.added});
    let piece = json!({"type": "response.function_call_arguments.delta", "item_id": call.added["id"], "output_index": place,
        "delta": r#"{"amount":5,"to":["a","b"]}"#});
    let mut done = json!({"type": "response.output_item.done", "item": call.done});
    if let Some(place) = place {
        added["output_index"] = place.into();
        done["output_index"] = place.into();
    }
    let response = json!({"id": "r", "status": "completed", "output": [call.listed]});
    let completed = json!({"type": "response.completed", "response": response});
    let events = [added, piece, done, completed].map(|event| event.to_string());
    sse(events.iter().map(String::as_str))
}

const ARGUMENTS: &str = r#"{"amount":5,"to":["a","b"]}"#;
const SPACED: &str = r#"{ "to": [ "a", "b" ], "amount": 5.0 }"#;

// M3
#[test]
fn ids_that_change_between_events_make_no_second_call() {
    let known = || item("fc_1", "call_1", ARGUMENTS);
    for (done, listed) in [
        (known(), item("fc_1", "call_zz", ARGUMENTS)),
        (known(), item("fc_zz", "call_1", ARGUMENTS)),
        (known(), item("fc_zz", "call_zz", ARGUMENTS)),
        (known(), item("fc_zz", "call_zz", SPACED)),
        (known(), item("", "call_zz", SPACED)),
        (
            item("fc_1", "call_yy", SPACED),
            item("fc_1", "call_zz", ARGUMENTS),
        ),
        (
            item("fc_yy", "call_yy", SPACED),
            item("fc_zz", "call_zz", ARGUMENTS),
        ),
    ] {
        for place in [Some(0), Some(3), None] {
            let call = Appearances {
                added: item("fc_1", "call_1", ""),
                done: done.clone(),
                listed: listed.clone(),
            };
            let events = events(OpenAiResponses, [stream(&call, place).as_bytes()]);
            assert_eq!(
                calls(&events).len(),
                1,
                "{done} {listed} {place:?}: {}",
                summary(&events)
            );
            assert_eq!(
                events.last(),
                Some(&Event::Finished(Finish::ToolCalls)),
                "{}",
                summary(&events)
            );
        }
    }
}

// M3
#[test]
fn two_calls_with_the_same_content_are_two() {
    let items = [
        item("fc_1", "call_1", ARGUMENTS),
        item("fc_2", "call_2", ARGUMENTS),
    ];
    let renamed = [
        item("fc_8", "call_8", SPACED),
        item("fc_9", "call_9", ARGUMENTS),
    ];
    let done = |at: usize| json!({"type": "response.output_item.done", "output_index": at, "item": items[at]});
    let completed = |output: &[Value]| json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": output}});
    for listed in [&items, &renamed] {
        let stream = [done(0), done(1), completed(listed)].map(|event| event.to_string());
        let events = events(
            OpenAiResponses,
            [sse(stream.iter().map(String::as_str)).as_bytes()],
        );
        let told = calls(&events)
            .iter()
            .map(|call| call.id())
            .collect::<Vec<_>>();
        assert_eq!(told, ["call_1", "call_2"], "{}", summary(&events));
    }
}

// M1
#[test]
fn other_arguments_at_the_end_lose_the_answer() {
    let call = Appearances {
        added: item("fc_1", "call_1", ""),
        done: item("fc_1", "call_1", ARGUMENTS),
        listed: item("fc_1", "call_1", r#"{"amount":50,"to":[]}"#),
    };
    let events = events(OpenAiResponses, [stream(&call, Some(0)).as_bytes()]);
    assert!(calls(&events).is_empty(), "{}", summary(&events));
}

// M1
#[test]
fn a_text_that_lacks_a_piece_is_not_an_answer() {
    let whole = json!({"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "one two three"}]});
    let delta = |text: &str| json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "delta": text});
    let completed = json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [whole]}});
    let read = |pieces: &[&str]| {
        let stream = pieces
            .iter()
            .map(|piece| delta(piece))
            .chain([completed.clone()]);
        let stream = stream.map(|event| event.to_string()).collect::<Vec<_>>();
        events(
            OpenAiResponses,
            [sse(stream.iter().map(String::as_str)).as_bytes()],
        )
    };
    let text = |events: &[Event]| {
        let pieces = events.iter().filter_map(|event| {
            if let Event::Text(text) = event {
                Some(&**text)
            } else {
                None
            }
        });
        pieces.collect::<String>()
    };
    for pieces in [&["one ", "two ", "three"][..], &["one "], &[]] {
        let events = read(pieces);
        assert_eq!(text(&events), "one two three", "{}", summary(&events));
        assert_eq!(
            events.last(),
            Some(&Event::Finished(Finish::Stop)),
            "{}",
            summary(&events)
        );
    }
    for pieces in [
        &["one ", "three"][..],
        &["two ", "three"],
        &["one ", "two ", "two ", "three"],
    ] {
        let events = read(pieces);
        assert!(
            !events
                .iter()
                .any(|event| matches!(event, Event::Finished(_))),
            "{}",
            summary(&events)
        );
    }
}

// M1
#[test]
fn an_item_that_never_ends_loses_the_answer() {
    for kind in ["message", "function_call"] {
        let added = json!({"type": "response.output_item.added", "output_index": 0,
            "item": {"type": kind, "id": "x", "call_id": "c", "name": "pay", "arguments": ""}});
        let completed = json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}});
        let stream = [added, completed].map(|event| event.to_string());
        let events = events(
            OpenAiResponses,
            [sse(stream.iter().map(String::as_str)).as_bytes()],
        );
        assert!(calls(&events).is_empty(), "{}", summary(&events));
        assert!(
            !events
                .iter()
                .any(|event| matches!(event, Event::Finished(_))),
            "{}",
            summary(&events)
        );
    }
}

// M3
#[test]
fn a_custom_call_of_a_tool_that_was_not_declared_is_the_servers() {
    let call = |name: &str, call_id: &str| json!({"type": "custom_tool_call", "id": "ctc_1", "call_id": call_id, "name": name, "input": "{}"});
    let of = |item: Value, tools: Value| {
        let answer = json!({"id": "r", "status": "completed", "output": [item], "tools": tools});
        let events = events(OpenAiResponses, [answer.to_string().as_bytes()]);
        calls(&events).len()
    };
    let declared = json!([{"type": "x_search"}, {"type": "custom", "name": "shell"}]);
    assert_eq!(of(call("view_x_video", "call_7"), declared.clone()), 0);
    assert_eq!(of(call("shell", "call_7"), declared), 1);
    assert_eq!(of(call("view_x_video", "xs_call_7"), json!([])), 0);
    assert_eq!(of(call("shell", "call_7"), json!(null)), 1);
}
