//! Calls put together from deltas, however the provider numbers them.

use crate::Provider::OpenAiChat;
use crate::event::{Event, ProtocolError};
use crate::openai_chat::tests::{delta, end, stream};
use crate::protocol::protocol;
use crate::tests::streams::{calls, events, read, responses, sse, summary};
use expect_test::expect;
use serde_json::json;
use std::fmt::Write as _;

#[test]
fn calls_that_share_the_index_0_are_told_apart() {
    let of = |entries: &[&str]| {
        let deltas = entries
            .iter()
            .map(|entry| format!("{{\"tool_calls\":[{entry}]}}"))
            .collect::<Vec<_>>();
        let events = events(
            OpenAiChat,
            [stream(
                &deltas.iter().map(String::as_str).collect::<Vec<_>>(),
                "stop",
            )
            .as_bytes()],
        );
        calls(&events)
            .iter()
            .map(|call| format!("{} {} {}", call.id(), call.name(), call.arguments()))
            .collect::<Vec<_>>()
    };
    // A new id.
    assert_eq!(
        of(&[
            r#"{"index":0,"id":"x","function":{"name":"f","arguments":""}}"#,
            r#"{"index":0,"function":{"arguments":"{\"a\":1}"}}"#,
            r#"{"index":0,"id":"y","function":{"name":"f","arguments":"{\"a\""}}"#,
            r#"{"index":0,"function":{"arguments":":2}"}}"#,
        ]),
        [r#"x f {"a":1}"#, r#"y f {"a":2}"#]
    );
    // A whole object, without ids; without an index; in one chunk.
    for index in [r#""index":0,"#, ""] {
        let call =
            |name: &str| format!(r#"{{{index}"function":{{"name":"{name}","arguments":"{{}}"}}}}"#);
        assert_eq!(
            of(&[&call("f"), &call("f"), &call("g")]),
            ["call_0 f {}", "call_1 f {}", "call_2 g {}"]
        );
        assert_eq!(
            of(&[&[call("f"), call("g")].join(",")]),
            ["call_0 f {}", "call_1 g {}"]
        );
    }
    // An id that a server makes up for each piece begins nothing.
    assert_eq!(
        of(&[
            r#"{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\""}}"#,
            r#"{"index":0,"id":"y","function":{"name":null,"arguments":":1}"}}"#,
        ]),
        [r#"x f {"a":1}"#]
    );
    // A name that comes with each piece, or in pieces, is one name.
    assert_eq!(
        of(&[
            r#"{"index":0,"id":"x","function":{"name":"f","arguments":""}}"#,
            r#"{"index":0,"id":"x","function":{"name":"f","arguments":"{"}}"#,
            r#"{"index":0,"id":"x","function":{"name":"f","arguments":"}"}}"#,
            r#"{"index":1,"id":"y","function":{"name":"get_"}}"#,
            r#"{"index":1,"function":{"name":"time","arguments":"{}"}}"#,
        ]),
        ["x f {}", "y get_time {}"]
    );
}

#[test]
fn arguments_that_are_no_json_or_no_text_pass_through() {
    let answer = |arguments: &str| {
        json!({"choices": [{"message": {"tool_calls": [{"id": "a", "function": {"name": "f"}}]}}]})
            .to_string()
            .replace(
                r#""name":"f""#,
                &format!(r#""name":"f","arguments":{arguments}"#),
            )
    };
    for (sent, told) in [
        (r#""{\"a\": oops""#, r#"{"a": oops"#),
        (
            r#"{"b": 1e400, "a": 123456789012345678901}"#,
            r#"{"b": 1e400, "a": 123456789012345678901}"#,
        ),
        ("null", ""),
        ("[1]", "[1]"),
    ] {
        let events = events(OpenAiChat, [answer(sent).as_bytes()]);
        assert_eq!(calls(&events)[0].arguments(), told, "{}", summary(&events));
    }
}

#[test]
fn a_duplicate_id_is_an_error_and_answered_under_the_wire_id() {
    let call = |number| {
        format!(r#"{{"id":"same","function":{{"name":"f","arguments":"{{\"a\":{number}}}"}}}}"#)
    };
    let answer = format!(
        r#"{{"choices":[{{"message":{{"tool_calls":[{},{}]}},"finish_reason":"tool_calls"}}]}}"#,
        call(1),
        call(2)
    );
    expect![[r#"
        error: two calls have the id `same`
        call: same f {"a":1}
        call: same_2 f {"a":2}
        finished: ToolCalls"#]]
    .assert_eq(&read(OpenAiChat, &answer));
    let mut protocol = protocol(OpenAiChat);
    protocol.push(answer.as_bytes());
    let sent = protocol.encode(&responses(["same_2", "other", "", "", ""])[..2]);
    assert_eq!(
        (&sent[0]["tool_call_id"], &sent[1]["tool_call_id"]),
        (&json!("same"), &json!("other"))
    );
}

#[test]
fn a_later_message_may_use_an_id_again() {
    let answer = r#"{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}"#;
    let mut protocol = protocol(OpenAiChat);
    let first = [protocol.push(answer.as_bytes()), protocol.finish()].concat();
    let second = [protocol.push(answer.as_bytes()), protocol.finish()].concat();
    assert_eq!(
        (calls(&first)[0].id(), calls(&second)[0].id()),
        ("a", "a_2")
    );
}

#[test]
fn an_event_that_comes_twice_or_late_makes_no_second_call() {
    let whole =
        r#"{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\":1}"}}]}"#;
    let twice = stream(&[whole, whole], "tool_calls");
    let late = stream(&[whole], "tool_calls").replace(
        "data: [DONE]",
        &format!("data: {}\n\ndata: [DONE]", delta(whole)),
    );
    for stream in [twice, late] {
        let events = events(OpenAiChat, [stream.as_bytes()]);
        assert_eq!(calls(&events).len(), 1, "{}", summary(&events));
    }
}

// M3
#[test]
fn a_call_that_is_there_twice_is_one_call() {
    let call = r#"{"id":"same","function":{"name":"f","arguments":"{\"a\":1}"}}"#;
    let answer = format!(
        r#"{{"choices":[{{"message":{{"tool_calls":[{call},{call}]}},"finish_reason":"tool_calls"}}]}}"#
    );
    let events = events(OpenAiChat, [answer.as_bytes()]);
    assert_eq!(calls(&events).len(), 1, "{}", summary(&events));
}

#[test]
fn pieces_that_come_before_their_beginning_are_kept_for_it() {
    let stream = stream(
        &[
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":""}}]}"#,
        ],
        "tool_calls",
    );
    expect![[r#"
        response: Some("c") None
        usage: 90 64 0 40 25
        call: x f {"a":1}
        finished: ToolCalls"#]]
    .assert_eq(&summary(&events(OpenAiChat, [stream.as_bytes()])));
}

// M2
#[test]
fn a_piece_of_a_call_that_never_began_loses_the_answer() {
    let stream = stream(
        &[
            r#"{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"index":3,"function":{"arguments":"{}"}}]}"#,
        ],
        "tool_calls",
    );
    expect![[r#"
        response: Some("c") None
        usage: 90 64 0 40 25
        error: a part of a call came that was not begun: 1"#]]
    .assert_eq(&summary(&events(OpenAiChat, [stream.as_bytes()])));
}

// M2
#[test]
fn interleaved_pieces_go_to_the_call_that_they_name() {
    let begins = |place: &str, id: &str| {
        format!(
            r#"{{"tool_calls":[{{{place}"id":"{id}","function":{{"name":"f","arguments":"{{\"a\":"}}}}]}}"#
        )
    };
    let piece = |place: &str, id: &str, text: &str| {
        format!(r#"{{"tool_calls":[{{{place}"id":{id},"function":{{"arguments":"{text}"}}}}]}}"#)
    };
    for (first, second, named) in [
        // By index; by id where all have the index 0; by id without an index.
        (r#""index":0,"#, r#""index":1,"#, false),
        (r#""index":0,"#, r#""index":0,"#, true),
        ("", "", true),
    ] {
        let id = |id: &str| {
            if named {
                format!("\"{id}\"")
            } else {
                "null".to_owned()
            }
        };
        let deltas = [
            begins(first, "x"),
            begins(second, "y"),
            piece(first, &id("x"), "1"),
            piece(second, &id("y"), "2"),
            piece(second, &id("y"), "}"),
            piece(first, &id("x"), "}"),
        ];
        let stream = stream(
            &deltas.iter().map(String::as_str).collect::<Vec<_>>(),
            "tool_calls",
        );
        let events = events(OpenAiChat, [stream.as_bytes()]);
        let told = calls(&events)
            .iter()
            .map(|call| (call.id(), call.arguments()))
            .collect::<Vec<_>>();
        assert_eq!(
            told,
            [("x", r#"{"a":1}"#), ("y", r#"{"a":2}"#)],
            "{}",
            summary(&events)
        );
    }
}

// M1
#[test]
fn a_call_that_was_cut_off_is_told_and_does_not_run() {
    for arguments in [r#"{\"a\":1"#, r#"{\"a\":1}"#, ""] {
        let call = format!(
            r#"{{"tool_calls":[{{"index":0,"id":"x","function":{{"name":"f","arguments":"{arguments}"}}}}]}}"#
        );
        let stream = sse([delta(&call), end("length")].iter().map(String::as_str));
        let events = events(OpenAiChat, [stream.as_bytes()]);
        assert!(calls(&events).is_empty(), "{}", summary(&events));
        let cut = events
            .iter()
            .filter(|event| matches!(event, Event::CutCall(call) if call.id() == "x"))
            .count();
        assert_eq!(cut, 1, "{}", summary(&events));
    }
}

// M1
#[test]
fn a_part_after_the_reason_for_the_end_needs_another_reason() {
    let begins = r#"{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":""}}]}"#;
    let late = delta(r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]}"#);
    let read = |last: Option<String>| {
        let chunks = [delta(begins), end("tool_calls"), late.clone()];
        let chunks = chunks
            .into_iter()
            .chain(last)
            .chain(["[DONE]".to_owned()])
            .collect::<Vec<_>>();
        events(
            OpenAiChat,
            [sse(chunks.iter().map(String::as_str)).as_bytes()],
        )
    };
    let cut = read(None);
    assert!(
        calls(&cut).is_empty() && !cut.iter().any(|event| matches!(event, Event::Finished(_))),
        "{}",
        summary(&cut)
    );
    let whole = read(Some(end("tool_calls")));
    assert_eq!(
        calls(&whole)[0].arguments(),
        r#"{"a":1}"#,
        "{}",
        summary(&whole)
    );
}

// M3
#[test]
fn a_whole_message_after_deltas_brings_what_they_left_out() {
    let call = r#"{"tool_calls":[{"id":"x","function":{"name":"f","arguments":"{}"}}]}"#;
    let alone = format!(
        r#"{{"id":"c","choices":[{{"index":0,"message":{call},"finish_reason":"tool_calls"}}]}}"#
    );
    let stream = sse([&*delta(r#"{"content":"Let me see."}"#), &*alone, "[DONE]"]);
    expect![[r#"
        response: Some("c") None
        text: Let me see.
        call: x f {}
        finished: ToolCalls"#]]
    .assert_eq(&summary(&events(OpenAiChat, [stream.as_bytes()])));
}

// M3
#[test]
fn a_whole_message_repeats_calls_under_other_ids_and_spaces() {
    let streamed = [
        r#"{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\":1,\"b\":[2]}"}}]}"#,
        r#"{"tool_calls":[{"index":1,"id":"y","function":{"name":"f","arguments":"{\"a\":2}"}}]}"#,
    ];
    let repeated = r#"{"tool_calls":[{"id":"z","function":{"name":"f","arguments":"{ \"a\": 2 }"}},{"id":"x","function":{"name":"f","arguments":"{\"b\": [2], \"a\": 1}"}}]}"#;
    let alone = format!(
        r#"{{"id":"c","choices":[{{"index":0,"message":{repeated},"finish_reason":"tool_calls"}}]}}"#
    );
    let stream = sse([
        &*delta(streamed[0]),
        &*delta(streamed[1]),
        &*alone,
        "[DONE]",
    ]);
    let events = events(OpenAiChat, [stream.as_bytes()]);
    assert_eq!(calls(&events).len(), 2, "{}", summary(&events));
}

/// A chunk with a delta and the message so far.
fn both(delta: &str, message: &str, reason: &str) -> String {
    let reason = if reason.is_empty() {
        "null".to_owned()
    } else {
        format!("\"{reason}\"")
    };
    format!(
        r#"{{"id":"c","choices":[{{"index":0,"delta":{delta},"message":{message},"finish_reason":{reason}}}]}}"#
    )
}

#[test]
fn a_message_beside_or_after_deltas_makes_no_second_call() {
    let call = r#"{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}]}"#;
    let alone = format!(
        r#"{{"id":"c","choices":[{{"index":0,"message":{call},"finish_reason":"tool_calls"}}]}}"#
    );
    for chunks in [
        vec![both(call, call, ""), both("{}", call, "tool_calls")],
        vec![both(call, call, "tool_calls")],
        vec![
            both(r#"{"role":"assistant","content":""}"#, call, ""),
            delta(call),
            both("{}", call, "tool_calls"),
        ],
        vec![delta(call), alone],
        vec![both("{}", call, "tool_calls")],
        vec![both("null", call, "tool_calls")],
    ] {
        let done = chunks.iter().map(String::as_str).chain(["[DONE]"]);
        let events = events(OpenAiChat, [sse(done).as_bytes()]);
        assert_eq!(calls(&events).len(), 1, "{chunks:?}: {}", summary(&events));
        let ends = events
            .iter()
            .filter(|event| matches!(event, Event::Finished(_)))
            .count();
        assert_eq!(ends, 1, "{chunks:?}: {}", summary(&events));
    }
}

#[test]
fn a_text_beside_deltas_is_read_once() {
    let chunks = [
        both(r#"{"content":"Hel"}"#, r#"{"content":"Hel"}"#, ""),
        both(r#"{"content":"lo"}"#, r#"{"content":"Hello"}"#, "stop"),
    ];
    let events = events(
        OpenAiChat,
        [sse(chunks.iter().map(String::as_str).chain(["[DONE]"])).as_bytes()],
    );
    let text = events.iter().filter_map(|event| {
        if let Event::Text(text) = event {
            Some(&**text)
        } else {
            None
        }
    });
    assert_eq!(text.collect::<String>(), "Hello");
}

#[test]
fn an_empty_call_in_the_old_form_is_none() {
    for empty in [
        "null",
        "{}",
        r#"{"name":"","arguments":""}"#,
        r#"{"name":null,"arguments":"{}"}"#,
        r#"{"name":""}"#,
    ] {
        let text = format!(r#"{{"content":"Hi","function_call":{empty}}}"#);
        let streamed = stream(&[&text, &text], "stop");
        let whole = format!(
            r#"{{"id":"c","choices":[{{"index":0,"message":{text},"finish_reason":"stop"}}]}}"#
        );
        for answer in [streamed, whole] {
            let events = events(OpenAiChat, [answer.as_bytes()]);
            assert!(
                calls(&events).is_empty() && !summary(&events).contains("error"),
                "{}",
                summary(&events)
            );
            assert!(
                summary(&events).ends_with("finished: Stop"),
                "{}",
                summary(&events)
            );
        }
    }
    let named = stream(
        &[
            r#"{"function_call":{"name":"f","arguments":""}}"#,
            r#"{"function_call":{"arguments":"{}"}}"#,
        ],
        "function_call",
    );
    assert_eq!(calls(&events(OpenAiChat, [named.as_bytes()])).len(), 1);
}

#[test]
fn usage_is_read_where_groq_has_it() {
    let usage = r#"{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}"#;
    let first = r#"{"id":"c","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}],"x_groq":{"id":"req_1"}}"#;
    let last = format!(
        r#"{{"id":"c","choices":[{{"index":0,"delta":{{}},"finish_reason":"stop"}}],"x_groq":{{"id":"req_1","usage":{usage}}}}}"#
    );
    let events = events(OpenAiChat, [sse([first, &last, "[DONE]"]).as_bytes()]);
    expect![[r#"
        response: Some("c") None
        text: Hi
        usage: 7 0 0 3 0
        finished: Stop"#]]
    .assert_eq(&summary(&events));
}

// `tests/cost` holds that twice as many take twice the instructions.
#[test]
fn ten_thousand_calls_are_read() {
    let mut entries = String::new();
    for at in 0..10_000 {
        let _ = write!(
            entries,
            r#"{{"tool_calls":[{{"index":{at},"id":"c{at}","function":{{"name":"f","arguments":"{{\"a\":"}}}}]}};"#
        );
        let _ = write!(
            entries,
            r#"{{"tool_calls":[{{"index":{at},"function":{{"arguments":"1}}"}}}}]}};"#
        );
    }
    let deltas = entries.split_terminator(';').collect::<Vec<_>>();
    let stream = stream(&deltas, "tool_calls");
    let events = events(OpenAiChat, stream.as_bytes().chunks(4096));
    let calls = calls(&events);
    assert!(calls.len() == 10_000 && calls.iter().all(|call| call.arguments() == r#"{"a":1}"#));
}

#[test]
fn too_large_arguments_are_an_error_and_no_call_runs() {
    let piece = format!(
        r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":"{}"}}}}]}}"#,
        "x".repeat(1 << 20)
    );
    let first = r#"{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{"}}]}"#;
    let other = r#"{"tool_calls":[{"index":1,"id":"y","function":{"name":"f","arguments":"{}"}}]}"#;
    let deltas = [vec![first], vec![piece.as_str(); 17], vec![other]].concat();
    let events = events(OpenAiChat, [stream(&deltas, "tool_calls").as_bytes()]);
    let errors = events
        .iter()
        .filter(|event| matches!(event, Event::Error(_)))
        .collect::<Vec<_>>();
    assert_eq!(
        errors,
        [&Event::Error(ProtocolError::TooLarge { most: 16 << 20 })]
    );
    assert!(calls(&events).is_empty(), "nothing of the answer runs");
}
