//! Anthropic: reading.

use crate::providers::anthropic::tests::{begin, delta, end, input, message, start, step, stop, tool_use};
use crate::providers::event::{Event, Finish, ProtocolError};
use crate::providers::protocol::protocol;
use crate::providers::provider::Provider::Anthropic;
use crate::providers::tests::fixtures::{brief, calls, errors, items, read, read_cut_off, sse};
use crate::providers::tests::streams::events;
use expect_test::expect;
use serde_json::{Value, json};
use tool_core::trace::TokenUsage;

#[test]
fn a_stream_is_read_the_same_wherever_it_is_cut() {
    expect![[r#"
        response: Some("msg_1") None
        usage: 40 5 10 1 0
        reasoning: Where ü to look?
        item: {"signature":"c2ln","thinking":"Where ü to look?","type":"thinking"}
        item: {"id":"srvtoolu_1","input":{"query":"doors"},"name":"web_search","type":"server_tool_use"}
        item: {"content":[{"url":"u"}],"tool_use_id":"srvtoolu_1","type":"web_search_tool_result"}
        text: Left, then right.
        item: {"citations":[{"url":"u"}],"text":"Left, then right.","type":"text"}
        started toolu_1: look
        arguments toolu_1: {"place": "left", "n": 123456789012345678901}
        call toolu_1 look: {"place": "left", "n": 123456789012345678901}
        item: {"id":"toolu_1","input":{"n":1.2345678901234568e+20,"place":"left"},"name":"look","type":"tool_use"}
        started toolu_2: look
        call toolu_2 look: {}
        item: {"id":"toolu_2","input":{},"name":"look","type":"tool_use"}
        usage: 40 5 10 89 30
        finished: ToolCalls
    "#]]
    .assert_eq(&brief(&read(Anthropic, &step())));
}

#[test]
fn a_stream_that_ends_anywhere_is_an_error_and_loses_no_call() {
    let stream = step();
    // The last event is whole without its blank line.
    read_cut_off(Anthropic, &stream, stream.len() - 2);
}

#[test]
fn a_whole_answer_is_read_with_every_digit_of_its_arguments() {
    let answer = r#"{"id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "tool_use",
        "content": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, {"type": "text", "text": "Left."},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"z": 1.50, "a": 123456789012345678901}},
            {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "far", "server_name": "s", "input": {"b": 1}}],
        "usage": {"input_tokens": 1, "output_tokens": 2}}"#;
    let events = read(Anthropic, answer);
    assert_eq!(calls(&events)[0].arguments(), r#"{"z": 1.50, "a": 123456789012345678901}"#);
    assert_eq!((calls(&events).len(), items(&events).len(), errors(&events)), (1, 4, vec![]));
    assert_eq!(events.last(), Some(&Event::Finished(Finish::ToolCalls)));
    let value = serde_json::from_str::<Value>(answer).expect("JSON");
    assert_eq!(items(&protocol(Anthropic).push_event(&value)), items(&events), "parsed already");
    read_cut_off(Anthropic, answer, answer.len());
}

#[test]
fn reasons_to_end_are_told() {
    for (reason, finish) in [
        ("end_turn", Finish::Stop),
        ("stop_sequence", Finish::Stop),
        ("max_tokens", Finish::Length),
        ("model_context_window_exceeded", Finish::Length),
        ("refusal", Finish::Filtered),
        ("pause_turn", Finish::Other("pause_turn".into())),
    ] {
        let events = events(Anthropic, [message(&[], reason).as_bytes()]);
        assert_eq!((events.last(), errors(&events)), (Some(&Event::Finished(finish)), vec![]), "{reason}");
    }
}

#[test]
fn a_call_that_grew_too_long_is_told_as_it_stands() {
    let blocks = [start(0, tool_use("toolu_1")), input(0, r#"{"place": "le"#), start(1, tool_use("toolu_2"))];
    let events = read(Anthropic, &message(&blocks, "max_tokens"));
    assert_eq!(
        calls(&events).iter().map(|call| call.arguments().to_owned()).collect::<Vec<_>>(),
        [
            r#"{"place": "le"#,
            // Nothing at all would be taken for an empty object, and would run.
            "{",
        ]
    );
    let cut = |id: &str| ProtocolError::Truncated { call_id: Some(id.into()) };
    assert_eq!(errors(&events), [cut("toolu_1"), cut("toolu_2")]);
    assert_eq!(items(&events).len(), 2, "as many as there are calls");
}

#[test]
fn arguments_beyond_the_limit_are_cut_with_an_error() {
    let piece = "x".repeat(9 * 1024 * 1024);
    let blocks =
        [start(0, tool_use("a")), input(0, &piece), input(0, &piece), stop(0), start(1, tool_use("b")), stop(1)];
    let events = events(Anthropic, [message(&blocks, "tool_use").as_bytes()]);
    assert_eq!(errors(&events), [ProtocolError::TooLarge { most: 16 * 1024 * 1024 }]);
    assert_eq!(calls(&events).iter().map(|call| call.arguments().len()).collect::<Vec<_>>(), [piece.len(), 2]);
}

#[test]
fn arguments_that_are_no_json_are_the_tools_to_refuse() {
    let blocks = [start(0, tool_use("toolu_1")), input(0, r#"{"place": left}"#), stop(0)];
    let events = read(Anthropic, &message(&blocks, "tool_use"));
    assert_eq!((calls(&events)[0].arguments(), errors(&events)), (r#"{"place": left}"#, vec![]));
}

#[test]
fn events_that_come_again_change_nothing() {
    let once = [start(0, tool_use("toolu_1")), input(0, r#"{"a":1}"#), stop(0)];
    let [last, over] = end("tool_use");
    let twice = sse(&[
        begin(),
        begin(),
        once[0].clone(),
        once[0].clone(),
        once[1].clone(),
        once[2].clone(),
        once[2].clone(),
        once[0].clone(),
        once[1].clone(),
        once[2].clone(),
        last,
        over.clone(),
        over,
    ]);
    let events = read(Anthropic, &twice);
    assert_eq!((calls(&events).len(), calls(&events)[0].arguments(), errors(&events)), (1, r#"{"a":1}"#, vec![]));
    assert_eq!(events.iter().filter(|event| matches!(event, Event::Unknown(_))).count(), 7);
}

#[test]
fn an_id_that_another_call_has_is_replaced_and_told() {
    let blocks = [start(0, tool_use("toolu_1")), stop(0), start(1, tool_use("toolu_1")), stop(1)];
    let events = read(Anthropic, &message(&blocks, "tool_use"));
    assert_eq!(calls(&events).iter().map(|call| call.id().to_owned()).collect::<Vec<_>>(), ["toolu_1", "toolu_1_2"]);
    assert_eq!(errors(&events), [ProtocolError::DuplicateId { id: "toolu_1".into() }]);
}

#[test]
fn an_index_that_two_calls_share_loses_neither() {
    let blocks =
        [start(0, tool_use("a")), input(0, r#"{"a":1}"#), start(0, tool_use("b")), input(0, r#"{"b":2}"#), stop(0)];
    let events = read(Anthropic, &message(&blocks, "tool_use"));
    let mut told = calls(&events)
        .iter()
        .map(|call| (call.id().into(), call.arguments().into()))
        .collect::<Vec<(String, String)>>();
    told.sort();
    assert_eq!(told, [("a".into(), r#"{"a":1}"#.into()), ("b".into(), r#"{"b":2}"#.into())]);
}

#[test]
fn a_piece_of_an_unknown_block_is_an_error_that_loses_nothing() {
    let blocks = [input(7, "{"), start(0, tool_use("a")), stop(0)];
    let events = read(Anthropic, &message(&blocks, "tool_use"));
    assert_eq!((errors(&events), calls(&events).len()), (vec![ProtocolError::Orphan { key: "7".into() }], 1));
}

#[test]
fn events_in_another_order_lose_no_call() {
    let events_of = [
        begin(),
        start(0, tool_use("a")),
        input(0, r#"{"a":1}"#),
        stop(0),
        end("tool_use")[0].clone(),
        end("tool_use")[1].clone(),
    ];
    for at in 0..events_of.len() - 2 {
        let mut swapped = events_of.clone();
        swapped.swap(at, at + 1);
        let events = events(Anthropic, [sse(&swapped).as_bytes()]);
        assert_eq!(calls(&events).len(), 1, "swapped at {at}: {events:?}");
    }
}

#[test]
fn what_is_unknown_is_kept() {
    let blocks = [
        json!({"type": "future_event", "usage": {"output_tokens": 99}}),
        start(0, json!({"type": "hologram", "shape": [1]})),
        delta(0, json!({"type": "hologram_delta", "shape": 2})),
        stop(0),
        start(1, json!({"type": "compaction", "content": null})),
        delta(1, json!({"type": "compaction_delta", "content": "Shorter.", "encrypted_content": "e"})),
        stop(1),
        stop(9),
    ];
    expect![[r#"
        response: Some("msg_1") None
        usage: 40 5 10 1 0
        unknown: {"type":"future_event","usage":{"output_tokens":99}}
        unknown: {"delta":{"shape":2,"type":"hologram_delta"},"index":0,"type":"content_block_delta"}
        item: {"shape":[1],"type":"hologram"}
        item: {"content":"Shorter.","encrypted_content":"e","type":"compaction"}
        unknown: {"index":9,"type":"content_block_stop"}
        usage: 40 5 10 89 30
        finished: Stop
    "#]]
    .assert_eq(&brief(&read(Anthropic, &message(&blocks, "end_turn"))));
}

#[test]
fn an_error_of_the_provider_is_told_with_what_came_before() {
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let stream = sse(&[begin(), start(0, tool_use("a")), input(0, r#"{"a":1}"#), overloaded.clone()]);
    let events = read(Anthropic, &stream);
    let error = ProtocolError::of_provider(Some("overloaded_error".into()), "Overloaded");
    assert_eq!((errors(&events), calls(&events).len()), (vec![error.clone()], 1));
    assert_eq!(errors(&protocol(Anthropic).push(overloaded.to_string().as_bytes())), [error], "instead of an answer");
}

#[test]
fn counts_that_come_later_count() {
    let last = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
        "usage": {"input_tokens": 40, "cache_read_input_tokens": null, "output_tokens": 8}});
    let events = read(Anthropic, &sse(&[begin(), last, json!({"type": "message_stop"})]));
    let usage = events.iter().rev().find_map(|event| if let Event::Usage(usage) = event { Some(*usage) } else { None });
    assert_eq!(usage, Some(TokenUsage { input: 55, cached: 5, output: 8, cache_written: 10, ..TokenUsage::default() }));
}
