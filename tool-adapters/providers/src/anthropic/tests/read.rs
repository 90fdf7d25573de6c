//! Anthropic: reading.

use crate::Provider::Anthropic;
use crate::anthropic::tests::{
    begin, delta, end, input, message, start, step, stop, text, thinking, tool_use,
};
use crate::event::{Event, Finish, ProtocolError};
use crate::protocol::protocol;
use crate::tests::faults::{Fault, FaultKind, check_faults};
use crate::tests::fixtures::{brief, calls, cut_calls, errors, items, read, read_cut_off, sse};
use crate::tests::streams::{self, events};
use expect_test::expect;
use serde_json::{Value, json};
use tool_core::ToolCall;
use tool_core::trace::TokenUsage;

#[test]
fn a_stream_is_read_the_same_wherever_it_is_cut() {
    expect![[r#"
        response: Some("msg_1") None
        usage: 40 5 10 1 0
        reasoning: Where ü to look?
        item: {"signature":"c2ln","thinking":"Where ü to look?","type":"thinking"}
        text: Left, then right.
        started toolu_1: look
        arguments toolu_1: {"place": "left", "n": 123456789012345678901}
        started toolu_2: look
        usage: 40 5 10 89 30
        item: {"id":"srvtoolu_1","input":{"query":"doors"},"name":"web_search","type":"server_tool_use"}
        item: {"content":[{"url":"u"}],"tool_use_id":"srvtoolu_1","type":"web_search_tool_result"}
        item: {"citations":[{"url":"u"}],"text":"Left, then right.","type":"text"}
        item: {"id":"toolu_1","input":{"n":1.2345678901234568e+20,"place":"left"},"name":"look","type":"tool_use"}
        item: {"id":"toolu_2","input":{},"name":"look","type":"tool_use"}
        call toolu_1 look: {"place": "left", "n": 123456789012345678901}
        call toolu_2 look: {}
        finished: ToolCalls
    "#]]
    .assert_eq(&brief(&read(Anthropic, &step())));
}

// M1
#[test]
fn a_stream_that_ends_anywhere_is_an_error_and_runs_no_call() {
    let stream = step();
    let whole_from = stream.find("\n\nevent: message_stop").expect("the end");
    read_cut_off(Anthropic, &stream, whole_from);
    // Some hosts leave the last event out.
    let without = events(
        Anthropic,
        [stream.get(..whole_from).expect("within").as_bytes()],
    );
    assert_eq!(without, events(Anthropic, [stream.as_bytes()]));
}

#[test]
fn a_whole_answer_is_read_with_every_digit_of_its_arguments() {
    let answer = r#"{"id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "tool_use",
        "content": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, {"type": "text", "text": "Left."},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"z": 1.50, "a": 123456789012345678901}},
            {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "far", "server_name": "s", "input": {"b": 1}}],
        "usage": {"input_tokens": 1, "output_tokens": 2}}"#;
    let events = read(Anthropic, answer);
    assert_eq!(
        calls(&events)[0].arguments(),
        r#"{"z": 1.50, "a": 123456789012345678901}"#
    );
    assert_eq!(
        (calls(&events).len(), items(&events).len(), errors(&events)),
        (1, 4, vec![])
    );
    assert_eq!(events.last(), Some(&Event::Finished(Finish::ToolCalls)));
    let value = serde_json::from_str::<Value>(answer).expect("JSON");
    assert_eq!(
        items(&protocol(Anthropic).push_event(&value)),
        items(&events),
        "parsed already"
    );
    read_cut_off(Anthropic, answer, answer.len());
}

#[test]
fn reasons_to_end_are_told() {
    for (reason, finish) in [
        ("end_turn", Finish::Stop),
        ("stop_sequence", Finish::Stop),
        ("max_tokens", Finish::Length),
        ("model_context_window_exceeded", Finish::Length),
        ("refusal", Finish::Refused),
        ("pause_turn", Finish::Paused),
        ("compaction", Finish::Paused),
        ("eos", Finish::Other("eos".into())),
    ] {
        let events = events(Anthropic, [message(&[], reason).as_bytes()]);
        assert_eq!(
            (events.last(), errors(&events)),
            (Some(&Event::Finished(finish)), vec![]),
            "{reason}"
        );
    }
}

// M1
#[test]
fn a_message_without_a_reason_to_end_is_an_error() {
    let call = [start(0, tool_use("a")), stop(0)];
    let stop = json!({"type": "message_stop"});
    let no_reason = json!({"type": "message_delta", "delta": {"stop_reason": null}, "usage": {"output_tokens": 1}});
    let answer = json!({"type": "message", "id": "m", "content": [tool_use("a")]});
    for stream in [
        sse(&[&[begin()], &call[..], std::slice::from_ref(&stop)].concat()),
        sse(&[&[begin()], &call[..], &[no_reason, stop]].concat()),
        answer.to_string(),
    ] {
        let told = read(Anthropic, &stream);
        assert_eq!(
            errors(&told),
            [out_of_place("the message ended without a reason")]
        );
        assert_eq!(calls(&told), []);
    }
}

// M1
#[test]
fn a_call_that_grew_too_long_is_cut_off() {
    let blocks = [
        start(0, tool_use("toolu_1")),
        input(0, r#"{"place": "le"#),
        start(1, tool_use("toolu_2")),
    ];
    let events = read(Anthropic, &message(&blocks, "max_tokens"));
    let cut_calls = cut_calls(&events);
    let arguments = cut_calls
        .iter()
        .map(ToolCall::arguments)
        .collect::<Vec<_>>();
    assert_eq!(
        (calls(&events), arguments),
        (vec![], vec![r#"{"place": "le"#, ""])
    );
    let cut = |id: &str| ProtocolError::Truncated {
        call_id: Some(id.into()),
    };
    assert_eq!(errors(&events), [cut("toolu_1"), cut("toolu_2")]);
    assert_eq!(items(&events).len(), 2, "as many as there are calls");
}

// M1
#[test]
fn arguments_beyond_the_limit_are_an_error_and_nothing_runs() {
    let piece = "x".repeat(9 * 1024 * 1024);
    let blocks = [
        start(0, tool_use("a")),
        input(0, &piece),
        input(0, &piece),
        stop(0),
        start(1, tool_use("b")),
        stop(1),
    ];
    let events = events(Anthropic, [message(&blocks, "tool_use").as_bytes()]);
    assert_eq!(
        errors(&events),
        [ProtocolError::TooLarge {
            most: 16 * 1024 * 1024
        }]
    );
    assert_eq!(calls(&events), []);
}

#[test]
fn arguments_that_are_no_json_are_the_tools_to_refuse() {
    let blocks = [
        start(0, tool_use("toolu_1")),
        input(0, r#"{"place": left}"#),
        stop(0),
    ];
    let events = read(Anthropic, &message(&blocks, "tool_use"));
    assert_eq!(
        (calls(&events)[0].arguments(), errors(&events)),
        (r#"{"place": left}"#, vec![])
    );
}

/// The message without the events of a stream around its blocks.
fn out_of_place(message: &str) -> ProtocolError {
    ProtocolError::OutOfPlace {
        message: message.to_owned(),
    }
}

// M3
#[test]
fn events_that_come_again_change_nothing() {
    let once = [
        start(0, tool_use("toolu_1")),
        input(0, r#"{"a":1}"#),
        stop(0),
    ];
    let said = [
        start(1, json!({"type": "text", "text": ""})),
        text(1, "Left."),
        stop(1),
    ];
    let [last, over] = end("tool_use");
    let twice = [
        &[begin(), begin(), once[0].clone()],
        &once[..],
        &[once[2].clone()],
        &once,
        &said,
        &said,
        &[last.clone(), last.clone(), over.clone(), over, last],
    ];
    let events = read(Anthropic, &sse(&twice.concat()));
    assert_eq!(
        (
            calls(&events).len(),
            calls(&events)[0].arguments(),
            errors(&events)
        ),
        (1, r#"{"a":1}"#, vec![])
    );
    let said = json!({"type": "text", "text": "Left."});
    assert_eq!(
        items(&events),
        [
            json!({"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"a": 1}}),
            said
        ]
    );
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::Unknown(_)))
    );
}

// M3
#[test]
fn a_block_that_comes_again_with_other_contents_is_an_error() {
    for (once, again) in [
        (input(0, r#"{"a":1}"#), input(0, r#"{"a":2}"#)),
        (input(0, r#"{"a":1}"#), input(0, "")),
    ] {
        let blocks = [
            start(0, tool_use("a")),
            once,
            stop(0),
            start(0, tool_use("a")),
            again,
            stop(0),
        ];
        let told = read(Anthropic, &message(&blocks, "tool_use"));
        assert_eq!(
            errors(&told),
            [out_of_place(
                "content block 0 came twice, with different contents"
            )]
        );
        assert_eq!(calls(&told), []);
    }
}

// M3
#[test]
fn a_call_with_the_same_id_and_contents_is_one_call() {
    let call = |index| {
        [
            start(index, tool_use("a")),
            input(index, r#"{"a": 1}"#),
            stop(index),
        ]
    };
    let told = read(
        Anthropic,
        &message(&[call(0), call(1)].concat(), "tool_use"),
    );
    assert_eq!((calls(&told).len(), items(&told).len()), (1, 1));

    let other = [start(1, tool_use("b")), input(1, r#"{"a": 1}"#), stop(1)];
    let told = read(Anthropic, &message(&[call(0), other].concat(), "tool_use"));
    assert_eq!(calls(&told).len(), 2, "another id is another call");
}

// M3
#[test]
fn an_answer_that_repeats_the_stream_changes_nothing() {
    let call = [
        start(0, tool_use("toolu_1")),
        input(0, r#"{"a":1}"#),
        stop(0),
    ];
    let stream = [&[begin()], &call[..], &end("tool_use")].concat();
    let mut answer = json!({"type": "message", "id": "msg_1", "stop_reason": "tool_use",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"a": 1}}]});
    let repeated = sse(&[&stream[..], &[answer.clone()]].concat());
    assert_eq!(read(Anthropic, &repeated), read(Anthropic, &sse(&stream)));

    answer["content"][0]["input"]["a"] = json!(2);
    let told = read(Anthropic, &sse(&[&stream[..4], &[answer]].concat()));
    assert_eq!(calls(&told), []);
    assert_eq!(
        errors(&told)[0],
        out_of_place("content block 0 came twice, with different contents")
    );
}

// M3
#[test]
fn content_at_the_beginning_counts_once() {
    let mut first = begin();
    first["message"]["content"] =
        json!([{"type": "tool_use", "id": "a", "name": "look", "input": {"n": 1.50}}]);
    first["message"]["stop_reason"] = json!("tool_use");
    let stop = json!({"type": "message_stop"});
    let streamed = [
        start(0, tool_use("a")),
        input(0, r#"{"n": 1.50}"#),
        super::stop(0),
    ];
    let [last, _] = end("tool_use");
    for stream in [
        vec![first.clone(), stop.clone()],
        [&[first.clone()], &streamed[..], &[last, stop.clone()]].concat(),
    ] {
        let told = read(Anthropic, &sse(&stream));
        assert_eq!(
            (calls(&told).len(), items(&told).len(), errors(&told)),
            (1, 1, vec![])
        );
    }

    let more = [start(1, tool_use("b")), super::stop(1)];
    let told = read(Anthropic, &sse(&[&[first], &more[..], &[stop]].concat()));
    assert_eq!(
        calls(&told)
            .iter()
            .map(|call| call.id().to_owned())
            .collect::<Vec<_>>(),
        ["a", "b"]
    );
}

// M3
#[test]
fn an_input_at_the_beginning_of_a_call_counts_once() {
    let mut first = start(0, tool_use("a"));
    first["content_block"]["input"] = json!({"a": 1});
    for blocks in [
        vec![first.clone(), stop(0)],
        vec![first.clone()],
        vec![
            first,
            input(0, ""),
            input(0, r#"{"a""#),
            input(0, ":1}"),
            stop(0),
        ],
    ] {
        let told = read(Anthropic, &message(&blocks, "tool_use"));
        assert_eq!(
            (calls(&told)[0].arguments(), errors(&told)),
            (r#"{"a":1}"#, vec![])
        );
    }
}

#[test]
fn an_id_that_another_call_has_is_replaced_and_told() {
    let blocks = [
        start(0, tool_use("toolu_1")),
        stop(0),
        start(1, tool_use("toolu_1")),
        input(1, r#"{"a":1}"#),
        stop(1),
    ];
    let events = read(Anthropic, &message(&blocks, "tool_use"));
    assert_eq!(
        calls(&events)
            .iter()
            .map(|call| call.id().to_owned())
            .collect::<Vec<_>>(),
        ["toolu_1", "toolu_1_2"]
    );
    assert_eq!(
        errors(&events),
        [ProtocolError::DuplicateId {
            id: "toolu_1".into()
        }]
    );
}

#[test]
fn an_index_that_two_calls_share_loses_neither() {
    let call = |id: &str, arguments: &str| [start(0, tool_use(id)), input(0, arguments)];
    let one = call("a", r#"{"a":1}"#);
    let other = call("b", r#"{"b":2}"#);
    for ends in [&[][..], &[stop(0)]] {
        let blocks = [&one, ends, &other, &[stop(0)]].concat();
        let told = calls(&read(Anthropic, &message(&blocks, "tool_use")));
        let told = told
            .iter()
            .map(|call| (call.id(), call.arguments()))
            .collect::<Vec<_>>();
        assert_eq!(told, [("a", r#"{"a":1}"#), ("b", r#"{"b":2}"#)]);
    }
}

// M1
#[test]
fn an_event_out_of_place_is_an_error_and_nothing_runs() {
    let said = [
        start(0, json!({"type": "text", "text": ""})),
        text(0, "Left."),
    ];
    let call =
        |index, pieces: &[Value]| [&[start(index, tool_use("a"))], pieces, &[stop(index)]].concat();
    let whole = call(0, &[input(0, "{}")]);
    let thought = [
        start(0, json!({"type": "thinking", "thinking": ""})),
        thinking(0, "Hm."),
    ];
    for (blocks, error) in [
        (
            [&[input(7, "{")], &whole[..]].concat(),
            ProtocolError::Orphan { key: "7".into() },
        ),
        (
            [&[text(7, "a")], &whole[..]].concat(),
            out_of_place("a piece of content block 7 came, but not its beginning"),
        ),
        (
            [&whole[..], &[input(0, " ")]].concat(),
            out_of_place("a piece of content block 0 came after its end"),
        ),
        (
            [&whole[..], &[stop(1)]].concat(),
            out_of_place("content block 1 ended, but it did not begin"),
        ),
        (
            call(2, &[]),
            out_of_place("content block 2 came, but block 0 did not"),
        ),
        (
            [&said[..], &[input(0, "{}")]].concat(),
            out_of_place("a piece of another kind of block came for content block 0"),
        ),
        (
            call(0, &[text(0, "a")]),
            out_of_place("a piece of another kind of block came for content block 0"),
        ),
        (
            vec![start(0, tool_use("a"))],
            out_of_place("content block 0 has no end"),
        ),
        (
            vec![start(0, tool_use("a")), input(0, r#"{"a":"#)],
            out_of_place("content block 0 has no end"),
        ),
        (
            [&thought[..], &call(1, &[])].concat(),
            out_of_place("content block 0 has no end"),
        ),
        (
            [
                &[start(0, tool_use("a")), input(0, r#"{"a":"#)],
                &call(0, &[])[..],
                &[start(0, tool_use("b"))],
            ]
            .concat(),
            out_of_place("content block 0 has no end"),
        ),
    ] {
        let told = read(Anthropic, &message(&blocks, "tool_use"));
        assert_eq!(
            (errors(&told).first(), calls(&told)),
            (Some(&error), vec![]),
            "{blocks:?}"
        );
        assert!(!told.iter().any(|event| matches!(event, Event::Finished(_))));
    }
}

// M1
#[test]
fn a_part_after_the_end_is_an_error() {
    let [last, over] = end("tool_use");
    let call = [begin(), start(0, tool_use("a")), stop(0)];
    for late in [start(1, tool_use("b")), input(0, "{}")] {
        for ends in [
            vec![last.clone(), late.clone(), over.clone()],
            vec![last.clone(), over.clone(), late.clone()],
        ] {
            let told = read(Anthropic, &sse(&[&call[..], &ends].concat()));
            let is_late = |error: &ProtocolError| {
                error
                    .to_string()
                    .ends_with("came after the end of the message")
            };
            assert!(errors(&told).iter().any(is_late), "{told:?}");
        }
    }
}

// M1
#[test]
fn a_message_that_another_one_interrupts_is_an_error() {
    let mut other = begin();
    other["message"]["id"] = json!("msg_2");
    let call = [start(0, tool_use("a")), input(0, "{}"), stop(0)];
    let stream = [&[begin()], &call[..], &[other], &call, &end("tool_use")].concat();
    let told = read(Anthropic, &sse(&stream));
    assert_eq!(
        errors(&told)[0],
        out_of_place("a message began before the end of another")
    );
    assert_eq!(calls(&told), []);
}

// M1
#[test]
fn an_event_that_cannot_be_read_is_an_error_and_nothing_runs() {
    let call = [
        start(0, tool_use("a")),
        input(0, r#"{"path":"/data/"#),
        input(0, r#""}"#),
        stop(0),
    ];
    for unreadable in [
        json!([1]),
        json!("text"),
        json!(null),
        json!({"type": "content_block_start", "index": 1, "content_block": [1]}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"text": ""}}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "b"}}),
        json!({"type": "content_block_start", "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_start", "index": 1}),
        json!({"type": "content_block_delta", "index": 0}),
        json!({"type": "content_block_delta", "index": 0, "delta": "scratch/"}),
        json!({"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": "x"}}),
        json!({"type": "content_block_delta", "index": "first", "delta": {"type": "input_json_delta"}}),
        delta(0, json!({"type": "input_json_delta"})),
        delta(
            0,
            json!({"type": "input_json_delta", "partial_json": {"a": 1}}),
        ),
        delta(0, json!({"type": "input_json_delta", "partial_json": 5})),
        delta(0, json!({"type": "input_text_delta", "piece": "x"})),
        delta(0, json!({"partial_json": "x"})),
        json!({"type": "content_block_piece", "index": 0, "delta": {"type": "input_json_delta"}}),
        json!({"type": "content_block_part", "index": 1, "content_block": {"type": "text"}}),
        json!({"type": "message_delta", "delta": []}),
        json!({"type": "message_start"}),
        json!({"type": "message_start", "message": {"id": "msg_1", "content": "Left."}}),
        json!({"type": "message", "id": "msg_1", "content": "Left.", "stop_reason": "end_turn"}),
        json!({"type": "message", "id": "msg_1", "stop_reason": "end_turn"}),
    ] {
        let stream = [
            &[begin()],
            &call[..2],
            std::slice::from_ref(&unreadable),
            &call[2..],
            &end("tool_use"),
        ]
        .concat();
        let told = read(Anthropic, &sse(&stream));
        // The first event of a message may come twice.
        let is_lost = errors(&told)
            .first()
            .is_some_and(|error| matches!(error, ProtocolError::Malformed { .. }));
        assert!(is_lost && calls(&told).is_empty(), "{unreadable}: {told:?}");
    }
    let not_json = sse(&[begin(), call[0].clone()])
        + "data: {\"partial_json\": NaN}\n\n"
        + &sse(&end("tool_use"));
    assert_eq!(calls(&read(Anthropic, &not_json)), []);
}

// M1
#[test]
fn events_without_a_bearing_on_the_answer_are_skipped() {
    let call = [start(0, tool_use("a")), input(0, "{}"), stop(0)];
    let skipped = [
        stop(0),
        json!({"type": "ping"}),
        json!({"type": "future_event", "usage": {"output_tokens": 99}, "index": 4}),
        json!({"status": "queued"}),
    ];
    let stream = sse(&[&skipped[..1], &[begin()], &skipped, &call[..1]].concat())
        + ": comment\n\n"
        + &sse(&call[1..]);
    let stream = stream + &sse(&[&skipped[1..], &end("tool_use"), &skipped[1..]].concat());
    // The block that ended before the message is not one of its own.
    let stream = stream.replacen(
        &sse(&[stop(0), json!({"type": "ping"})]),
        &sse(&skipped[1..2]),
        1,
    );
    let told = read(Anthropic, &stream);
    assert_eq!((calls(&told).len(), errors(&told)), (1, vec![]));
}

#[test]
fn a_missing_or_late_beginning_of_the_message_loses_nothing() {
    let call = [start(0, tool_use("a")), input(0, "{}"), stop(0)];
    let ends = end("tool_use");
    for stream in [
        [&call[..], &ends].concat(),
        [&call[..1], &[begin()], &call[1..], &ends].concat(),
    ] {
        let told = read(Anthropic, &sse(&stream));
        assert_eq!((calls(&told).len(), errors(&told)), (1, vec![]));
    }
}

#[test]
fn the_name_of_an_event_stands_for_its_type() {
    let events = [
        &[begin()],
        &[start(0, tool_use("a")), stop(0)][..],
        &end("tool_use"),
    ]
    .concat();
    let without_type = events.iter().map(|event| {
        let mut data = event.clone();
        data.as_object_mut().expect("an object").remove("type");
        format!(
            "event: {}\ndata: {data}\n\n",
            event["type"].as_str().expect("a name")
        )
    });
    assert_eq!(
        read(Anthropic, &without_type.collect::<String>()),
        read(Anthropic, &sse(&events))
    );
}

// M2
#[test]
fn pieces_go_to_the_blocks_that_they_name() {
    let blocks = [
        start(0, json!({"type": "text", "text": ""})),
        start(1, tool_use("a")),
        start(2, tool_use("b")),
        input(1, r#"{"a":"#),
        input(2, r#"{"b":"#),
        text(0, "Left"),
        input(1, "1}"),
        text(0, "."),
        stop(1),
        input(2, "2}"),
        stop(0),
        stop(2),
    ];
    let told = read(Anthropic, &message(&blocks, "tool_use"));
    let arguments = calls(&told)
        .iter()
        .map(|call| call.arguments().to_owned())
        .collect::<Vec<_>>();
    assert_eq!(
        (arguments, errors(&told)),
        (
            vec![r#"{"a":1}"#.to_owned(), r#"{"b":2}"#.to_owned()],
            vec![]
        )
    );
    assert!(items(&told).contains(&json!({"type": "text", "text": "Left."})));
}

// M2
#[test]
fn characters_that_are_cut_in_two_are_joined() {
    let half = |event: Value, half: &str| event.to_string().replace('~', half);
    let said = |half_of: &str| half(text(0, "~"), half_of);
    let thought = |half_of: &str| half(thinking(1, "~"), half_of);
    let argument = |piece: &str, half_of: &str| half(input(2, piece), half_of);
    let whole = |event: Value| event.to_string();
    let events_of = [
        whole(begin()),
        whole(start(0, json!({"type": "text", "text": ""}))),
        whole(start(1, json!({"type": "thinking", "thinking": ""}))),
        whole(start(2, tool_use("a"))),
        said(r"\ud83d"),
        thought(r"\ud83d"),
        argument(r#"{"a":"~"#, r"\ud83d"),
        said(r"\ude00"),
        argument(r#"~"}"#, r"\ude00"),
        thought(r"\ude00"),
        whole(stop(0)),
        whole(stop(1)),
        whole(stop(2)),
        whole(end("tool_use")[0].clone()),
        whole(end("tool_use")[1].clone()),
    ];
    let told = events(
        Anthropic,
        [streams::sse(events_of.iter().map(String::as_str)).as_bytes()],
    );
    assert_eq!(
        (calls(&told)[0].arguments(), errors(&told)),
        (r#"{"a":"😀"}"#, vec![])
    );
    assert_eq!(items(&told)[0]["text"], "😀");
    assert_eq!(items(&told)[1]["thinking"], "😀");
    assert!(
        told.contains(&Event::Text("😀".into())) && told.contains(&Event::Reasoning("😀".into()))
    );

    let unpaired = [&events_of[..8], &events_of[9..]].concat();
    let told = events(
        Anthropic,
        [streams::sse(unpaired.iter().map(String::as_str)).as_bytes()],
    );
    assert!(calls(&told).is_empty() && !errors(&told).is_empty());
}

// M2
#[test]
fn a_signature_that_comes_again_is_one_signature() {
    let signature = |piece: &str| delta(0, json!({"type": "signature_delta", "signature": piece}));
    for pieces in [
        &["c2ln"][..],
        &["c2", "ln"],
        &["c2ln", "c2ln"],
        &["c2", "c2ln"],
    ] {
        let first = [
            start(
                0,
                json!({"type": "thinking", "thinking": "", "signature": ""}),
            ),
            thinking(0, "Hm."),
        ];
        let pieces = pieces
            .iter()
            .map(|piece| signature(piece))
            .collect::<Vec<_>>();
        // It is the last piece of a thought.
        for ends in [&[][..], &[stop(0)]] {
            let told = read(
                Anthropic,
                &message(&[&first, &pieces[..], ends].concat(), "end_turn"),
            );
            assert_eq!(
                items(&told),
                [json!({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"})]
            );
        }
    }
}

#[test]
fn a_thought_that_was_cut_off_is_left_out() {
    let blocks = [
        start(0, json!({"type": "thinking", "thinking": ""})),
        thinking(0, "Where"),
    ];
    let told = read(Anthropic, &message(&blocks, "max_tokens"));
    assert_eq!(
        (items(&told), told.last()),
        (vec![], Some(&Event::Finished(Finish::Length)))
    );
}

// M3
#[test]
fn calls_that_the_provider_runs_are_not_ours() {
    for kind in ["server_tool_use", "mcp_tool_use", "future_tool_use"] {
        let block = json!({"type": kind, "id": "s", "name": "look", "input": {}});
        let blocks = [start(0, block), input(0, r#"{"q":1}"#), stop(0)];
        for reason in ["tool_use", "end_turn"] {
            let told = read(Anthropic, &message(&blocks, reason));
            assert_eq!((calls(&told), errors(&told)), (vec![], vec![]), "{kind}");
            assert_eq!(told.last(), Some(&Event::Finished(Finish::Stop)), "{kind}");
            assert_eq!(items(&told)[0]["input"], json!({"q": 1}), "{kind}");
        }
    }
}

// M1
#[test]
fn an_end_with_calls_needs_a_call() {
    let told = read(Anthropic, &message(&[], "tool_use"));
    assert_eq!(
        errors(&told),
        [out_of_place(
            "the answer ends with tool calls, but none came"
        )]
    );
}

// M1
#[test]
fn a_call_without_arguments_is_one_under_any_completed_end() {
    for reason in ["tool_use", "end_turn", "stop_sequence", "eos"] {
        for pieces in [&[][..], &[input(0, "")], &[input(0, "{}")]] {
            let told = read(
                Anthropic,
                &message(
                    &[&[start(0, tool_use("a"))], pieces, &[stop(0)]].concat(),
                    reason,
                ),
            );
            assert_eq!((calls(&told).len(), errors(&told)), (1, vec![]), "{reason}");
            assert_eq!(calls(&told)[0].arguments(), "{}", "{reason}");
        }
        let call = json!({"type": "tool_use", "id": "a", "name": "look", "input": null});
        let answer =
            json!({"type": "message", "id": "m", "content": [call], "stop_reason": reason});
        assert_eq!(
            calls(&read(Anthropic, &answer.to_string()))[0].arguments(),
            "{}",
            "{reason}"
        );
    }
}

// M1
#[test]
fn no_fault_of_a_stream_runs_another_call() {
    let blocks = [
        start(0, json!({"type": "thinking", "thinking": ""})),
        thinking(0, "Where?"),
        delta(0, json!({"type": "signature_delta", "signature": "c2ln"})),
        stop(0),
        start(1, json!({"type": "text", "text": ""})),
        text(1, "Left, "),
        text(1, "then right."),
        stop(1),
        start(2, tool_use("toolu_1")),
        input(2, r#"{"path": "/da"#),
        input(2, r#"ta/", "n": 1"#),
        input(2, "}"),
        stop(2),
        start(3, tool_use("toolu_2")),
        stop(3),
    ];
    let events = [
        &[begin(), json!({"type": "ping"})],
        &blocks[..],
        &end("tool_use"),
    ]
    .concat();
    let whole = events.iter().map(Value::to_string).collect::<Vec<_>>();
    let texts = 7..9;
    check_faults(
        Anthropic,
        &whole,
        |events| streams::sse(events.iter().map(String::as_str)),
        // The pieces have no numbers: one that is missing, comes twice or comes late leaves no trace, unless the arguments
        // are no JSON then.
        |Fault { kind, event }| {
            texts.contains(event)
                && matches!(
                    kind,
                    FaultKind::Dropped | FaultKind::Doubled | FaultKind::Swapped
                )
        },
    );
}

#[test]
fn what_is_unknown_is_kept() {
    let blocks = [
        json!({"type": "future_event", "usage": {"output_tokens": 99}}),
        start(0, json!({"type": "hologram", "shape": [1]})),
        delta(0, json!({"type": "hologram_delta", "shape": 2})),
        stop(0),
        start(1, json!({"type": "compaction", "content": null})),
        delta(
            1,
            json!({"type": "compaction_delta", "content": "Shorter.", "encrypted_content": "e"}),
        ),
        stop(1),
    ];
    expect![[r#"
        response: Some("msg_1") None
        usage: 40 5 10 1 0
        unknown: {"type":"future_event","usage":{"output_tokens":99}}
        unknown: {"delta":{"shape":2,"type":"hologram_delta"},"index":0,"type":"content_block_delta"}
        item: {"shape":[1],"type":"hologram"}
        item: {"content":"Shorter.","encrypted_content":"e","type":"compaction"}
        usage: 40 5 10 89 30
        finished: Stop
    "#]]
    .assert_eq(&brief(&read(Anthropic, &message(&blocks, "end_turn"))));
}

// M1
#[test]
fn an_error_of_the_provider_ends_the_answer() {
    let overloaded =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let stream = sse(&[
        begin(),
        start(0, tool_use("a")),
        input(0, r#"{"a":1}"#),
        stop(0),
        overloaded.clone(),
    ]);
    let events = read(Anthropic, &stream);
    let error = ProtocolError::of_provider(Some("overloaded_error".into()), "Overloaded");
    assert_eq!(
        (errors(&events), calls(&events)),
        (vec![error.clone()], vec![])
    );
    assert_eq!(
        errors(&protocol(Anthropic).push(overloaded.to_string().as_bytes())),
        [error],
        "instead of an answer"
    );
    let untyped = json!({"error": {"message": "upstream failed"}}).to_string();
    let error = ProtocolError::of_provider(None, "upstream failed");
    assert_eq!(
        errors(&read(Anthropic, &untyped)),
        [error],
        "of another server"
    );
}

#[test]
fn counts_that_come_later_count() {
    let last = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
        "usage": {"input_tokens": 40, "cache_read_input_tokens": null, "output_tokens": 8}});
    let events = read(
        Anthropic,
        &sse(&[begin(), last, json!({"type": "message_stop"})]),
    );
    let usage = events.iter().rev().find_map(|event| {
        if let Event::Usage(usage) = event {
            Some(*usage)
        } else {
            None
        }
    });
    assert_eq!(
        usage,
        Some(TokenUsage {
            input: 55,
            cached: 5,
            output: 8,
            cache_written: 10,
            ..TokenUsage::default()
        })
    );
}

/// The block at which another model takes over from one that was refused.
fn fallback() -> Value {
    json!({"type": "fallback", "from": {"model": "claude-a"}, "to": {"model": "claude-b"},
        "trigger": {"type": "refusal", "category": null}})
}

/// The blocks of a text that says `Left.`.
fn said(index: u32) -> [Value; 3] {
    [
        start(index, json!({"type": "text", "text": ""})),
        text(index, "Left."),
        stop(index),
    ]
}

// P1
#[test]
fn calls_before_a_fallback_do_not_run() {
    let call = [
        start(0, tool_use("toolu_1")),
        input(0, r#"{"place": "le"#),
        stop(0),
    ];
    let whole = [
        start(0, tool_use("toolu_1")),
        input(0, r#"{"place": "left"}"#),
        stop(0),
    ];
    let without_pieces = [start(0, tool_use("toolu_1")), stop(0)];
    for before in [&call[..], &call[..2], &whole, &without_pieces] {
        let blocks = [before, &[start(1, fallback()), stop(1)], &said(2)].concat();
        let told = read(Anthropic, &message(&blocks, "end_turn"));
        assert_eq!((calls(&told), errors(&told)), (vec![], vec![]));
        assert!(told.contains(&Event::Cancelled(vec!["toolu_1".into()])));
        assert_eq!(
            items(&told),
            [fallback(), json!({"type": "text", "text": "Left."})]
        );
        assert_eq!(told.last(), Some(&Event::Finished(Finish::Stop)));
    }
}

// P1
#[test]
fn calls_before_a_fallback_in_a_whole_answer_do_not_run() {
    let content = json!([tool_use("toolu_1"), fallback(), {"type": "text", "text": "Left."}]);
    let answer =
        json!({"type": "message", "id": "msg_1", "content": content, "stop_reason": "end_turn"});
    let told = read(Anthropic, &answer.to_string());
    assert_eq!((calls(&told), errors(&told)), (vec![], vec![]));
    assert_eq!(items(&told).len(), 2);
}

#[test]
fn a_call_after_a_fallback_runs() {
    let call = |index| {
        [
            start(index, tool_use("toolu_1")),
            input(index, r#"{"place": "left"}"#),
            stop(index),
        ]
    };
    let blocks = [&call(0)[..], &[start(1, fallback()), stop(1)], &call(2)].concat();
    let told = read(Anthropic, &message(&blocks, "tool_use"));
    let ids = calls(&told)
        .iter()
        .map(|call| call.id().to_owned())
        .collect::<Vec<_>>();
    assert_eq!(ids, ["toolu_1_2"]);
    assert_eq!(items(&told).len(), 2, "the fallback and the call");
}

// P5
#[test]
fn what_has_no_result_at_a_fallback_is_left_out() {
    let run = |index, id: &str| {
        let block = json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {}});
        [start(index, block), input(index, "{}"), stop(index)]
    };
    let result =
        json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []});
    let blocks = [
        &run(0, "srvtoolu_1")[..],
        &[start(1, result), stop(1)],
        &said(2)[..2],
        &run(3, "srvtoolu_2"),
        &[start(4, fallback()), stop(4)],
        &said(5),
    ]
    .concat();
    let told = read(Anthropic, &message(&blocks, "end_turn"));
    let kinds = items(&told)
        .iter()
        .map(|item| item["type"].as_str().unwrap_or_default().to_owned())
        .collect::<Vec<_>>();
    assert_eq!(errors(&told), []);
    assert_eq!(
        kinds,
        [
            "server_tool_use",
            "web_search_tool_result",
            "text",
            "fallback",
            "text"
        ]
    );
}

#[test]
fn the_model_that_takes_over_is_told() {
    let blocks = [&[start(0, fallback()), stop(0)][..], &said(1)].concat();
    let told = read(Anthropic, &message(&blocks, "end_turn"));
    let model = told.iter().rev().find_map(|event| match event {
        Event::Response { model, .. } => model.clone(),
        _ => None,
    });
    assert_eq!(model.as_deref(), Some("claude-b"));
}

// M3
#[test]
fn an_answer_that_repeats_a_fallback_changes_nothing() {
    let call = |index| [start(index, tool_use("toolu_2")), stop(index)];
    let blocks = [&call(0)[..], &[start(1, fallback()), stop(1)], &call(2)].concat();
    let stream = [&[begin()], &blocks[..], &end("tool_use")].concat();
    let content = json!([tool_use("toolu_2"), fallback(), tool_use("toolu_2")]);
    let answer =
        json!({"type": "message", "id": "msg_1", "content": content, "stop_reason": "tool_use"});
    let repeated = [&stream[..], &[answer]].concat();
    assert_eq!(
        read(Anthropic, &sse(&repeated)),
        read(Anthropic, &sse(&stream))
    );
}

// M3
#[test]
fn a_repeated_answer_with_a_further_provider_call_is_lost() {
    let content = json!([
        {"type": "text", "text": "Left."},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
    ]);
    let answer =
        json!({"type": "message", "id": "msg_1", "content": content, "stop_reason": "end_turn"});
    let stream = [&[begin()], &said(0)[..], &end("end_turn"), &[answer]].concat();
    let errors = errors(&read(Anthropic, &sse(&stream)));
    assert!(
        matches!(&errors[..], [ProtocolError::OutOfPlace { .. }]),
        "{errors:?}"
    );
}

/// The item of a container.
fn container() -> Value {
    json!({"type": "container", "id": "container_1"})
}

#[test]
fn the_container_at_the_end_of_a_stream_is_an_item() {
    let mut end = end("pause_turn");
    end[0]["delta"]["container"] =
        json!({"id": "container_1", "expires_at": "2026-11-30T00:00:00Z"});
    let mut start = begin();
    start["message"]["container"] = Value::Null;
    let stream = sse(&[&[start][..], &end].concat());
    assert_eq!(items(&read(Anthropic, &stream)), [container()]);
}

#[test]
fn the_container_at_the_start_of_a_stream_is_an_item() {
    let mut start = begin();
    start["message"]["container"] = json!({"id": "container_1"});
    let stream = sse(&[&[start][..], &end("end_turn")].concat());
    assert_eq!(items(&read(Anthropic, &stream)), [container()]);
}

#[test]
fn the_container_of_a_whole_answer_is_an_item() {
    let answer = json!({"type": "message", "id": "msg_1", "content": [tool_use("toolu_1")], "stop_reason": "tool_use",
        "container": {"id": "container_1", "expires_at": "2026-11-30T00:00:00Z"}});
    let items = items(&read(Anthropic, &answer.to_string()));
    assert_eq!(items.last(), Some(&container()));
}

#[test]
fn a_summary_of_the_server_is_not_in_the_context() {
    let answer = json!({"type": "message", "id": "msg_1", "content": [], "stop_reason": "end_turn", "usage": {
        "input_tokens": 23_000, "output_tokens": 1_000, "iterations": [
            {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500},
            {"type": "message", "input_tokens": 23_000, "output_tokens": 1_000}]}});
    let events = read(Anthropic, &answer.to_string());
    let usages = events.iter().filter_map(|event| match event {
        Event::Usage(usage) => Some([usage.input, usage.context()]),
        _ => None,
    });
    assert_eq!(usages.collect::<Vec<_>>(), [[203_000, 23_000]]);
}
