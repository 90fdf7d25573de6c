//! Converse: reading.

use crate::providers::bedrock::tests::{end, input, message, start, step, stop, tool_use};
use crate::providers::event::{Event, Finish, ProtocolError};
use crate::providers::provider::Provider::Bedrock;
use crate::providers::tests::fixtures::{brief, calls, errors, lines, read, read_cut_off};
use crate::providers::tests::streams::events;
use expect_test::expect;
use serde_json::json;

#[test]
fn a_stream_is_read_the_same_wherever_it_is_cut() {
    expect![[r#"
        reasoning: Where ü?
        item: {"reasoningContent":{"reasoningText":{"signature":"c2ln","text":"Where ü?"}}}
        item: {"reasoningContent":{"redactedContent":"cmVk"}}
        text: Left, then right.
        item: {"text":"Left, then right."}
        item: {"toolUse":{"input":{"q":1},"name":"web","toolUseId":"s1","type":"server_tool_use"}}
        item: {"toolResult":{"content":[{"text":"found"}],"status":"success","toolUseId":"s1"}}
        text: It says so.
        item: {"citationsContent":{"citations":[{"title":"T"}],"content":[{"text":"It says so."}]}}
        started t1: look
        arguments t1: {"place": "left", "n": 123456789012345678901}
        call t1 look: {"place": "left", "n": 123456789012345678901}
        item: {"toolUse":{"input":{"n":1.2345678901234568e+20,"place":"left"},"name":"look","toolUseId":"t1"}}
        started t2: look
        call t2 look: {}
        item: {"toolUse":{"input":{},"name":"look","toolUseId":"t2"}}
        finished: ToolCalls
        usage: 25 12 3 4 0
    "#]]
    .assert_eq(&brief(&read(Bedrock, &step())));
}

#[test]
fn a_stream_that_ends_anywhere_is_an_error_and_loses_no_call() {
    let stream = step();
    read_cut_off(Bedrock, &stream, stream.find("\n{\"metadata").expect("the end"));
}

#[test]
fn a_whole_answer_is_read_with_every_digit_of_its_arguments() {
    let answer = r#"{"output": {"message": {"role": "assistant", "content": [
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}, {"text": "Left."},
        {"citationsContent": {"content": [{"text": "It says so."}], "citations": []}},
        {"toolUse": {"toolUseId": "t1", "name": "look", "input": {"z": 1.50, "a": 123456789012345678901}}},
        {"toolUse": {"toolUseId": "t2", "name": "look", "input": {}}}]}},
        "stopReason": "tool_use", "usage": {"inputTokens": 1, "outputTokens": 2}, "metrics": {"latencyMs": 1}}"#;
    expect![[r#"
        reasoning: Hm.
        item: {"reasoningContent":{"reasoningText":{"signature":"c2ln","text":"Hm."}}}
        text: Left.
        item: {"text":"Left."}
        text: It says so.
        item: {"citationsContent":{"citations":[],"content":[{"text":"It says so."}]}}
        started t1: look
        arguments t1: {"z": 1.50, "a": 123456789012345678901}
        call t1 look: {"z": 1.50, "a": 123456789012345678901}
        item: {"toolUse":{"input":{"a":1.2345678901234568e+20,"z":1.5},"name":"look","toolUseId":"t1"}}
        started t2: look
        call t2 look: {}
        item: {"toolUse":{"input":{},"name":"look","toolUseId":"t2"}}
        usage: 1 0 0 2 0
        finished: ToolCalls
    "#]]
    .assert_eq(&brief(&read(Bedrock, answer)));
    read_cut_off(Bedrock, answer, answer.len());
}

#[test]
fn reasons_to_end_are_told() {
    for (reason, finish, failed) in [
        ("end_turn", Finish::Stop, false),
        ("max_tokens", Finish::Length, false),
        ("guardrail_intervened", Finish::Filtered, false),
        ("malformed_tool_use", Finish::Other("malformed_tool_use".into()), true),
    ] {
        let events = events(Bedrock, [message(&[], reason).as_bytes()]);
        assert_eq!(!errors(&events).is_empty(), failed, "{reason}");
        assert!(events.contains(&Event::Finished(finish)), "{reason}");
    }
}

#[test]
fn a_call_that_grew_too_long_is_told_as_it_stands() {
    let blocks = [start(0, tool_use("t1")), input(0, r#"{"place": "le"#)];
    let events = read(Bedrock, &message(&blocks, "max_tokens"));
    assert_eq!(calls(&events)[0].arguments(), r#"{"place": "le"#);
    assert_eq!(errors(&events), [ProtocolError::Truncated { call_id: Some("t1".into()) }]);
}

#[test]
fn events_that_come_again_or_belong_to_nothing_change_nothing() {
    let [last, usage] = end("tool_use");
    let begin = json!({"messageStart": {"role": "assistant"}});
    let call = [start(0, tool_use("t1")), input(0, r#"{"a":1}"#), stop(0)];
    let repeated = [
        begin.clone(),
        begin,
        call[0].clone(),
        call[0].clone(),
        call[1].clone(),
        call[2].clone(),
        call[2].clone(),
        call[0].clone(),
        call[1].clone(),
        call[2].clone(),
        input(9, "{"),
        json!({"novelty": 1}),
        last.clone(),
        last,
        usage,
    ];
    let events = read(Bedrock, &lines(&repeated));
    assert_eq!((calls(&events).len(), calls(&events)[0].arguments()), (1, r#"{"a":1}"#));
    assert_eq!(errors(&events), [ProtocolError::Orphan { key: "9".into() }]);
    assert_eq!(events.iter().filter(|event| matches!(event, Event::Unknown(_))).count(), 8);
}

#[test]
fn events_in_another_order_lose_no_call() {
    let [last, usage] = end("tool_use");
    let once = [json!({"messageStart": {}}), start(0, tool_use("t1")), input(0, r#"{"a":1}"#), stop(0), last, usage];
    for at in 0..once.len() - 2 {
        let mut swapped = once.clone();
        swapped.swap(at, at + 1);
        let events = events(Bedrock, [lines(&swapped).as_bytes()]);
        assert_eq!(calls(&events).len(), 1, "swapped at {at}: {events:?}");
    }
}

#[test]
fn an_error_of_the_provider_is_told_with_what_came_before() {
    let throttled = json!({"throttlingException": {"message": "Too many"}});
    let events = read(Bedrock, &lines(&[start(0, tool_use("t1")), input(0, "{}"), throttled]));
    let error = ProtocolError::of_provider(Some("throttlingException".into()), "Too many");
    assert_eq!((errors(&events), calls(&events).len()), (vec![error], 1));
    let refused = errors(&read(Bedrock, r#"{"message": "Malformed input request"}"#));
    assert_eq!(refused, [ProtocolError::of_provider(None, "Malformed input request")]);
}
