//! Items and their deltas, to events.

use crate::Provider::OpenAiResponses;
use crate::event::{Event, Finish, ProtocolError};
use crate::tests::streams::{calls, events, read, summary};
use expect_test::expect;
use serde_json::Value;

/// A stream as OpenAI sends it: with names, and a number in each event.
fn stream(events: &[&str]) -> String {
    let event = |event: &&str| {
        let kind = event.split('"').nth(3).unwrap_or_default();
        format!("event: {kind}\ndata: {event}\n\n")
    };
    events.iter().map(event).collect()
}

const CREATED: &str = r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","output":[]}}"#;
const ADDED: &str = r#"{"type":"response.output_item.added","sequence_number":2,"output_index":1,"item":{"id":"fc_1","type":"function_call","status":"in_progress","arguments":"","call_id":"call_a","name":"add"}}"#;
const FIRST: &str = r#"{"type":"response.function_call_arguments.delta","sequence_number":3,"item_id":"fc_1","output_index":1,"delta":"{\"a\":"}"#;
const SECOND: &str = r#"{"type":"response.function_call_arguments.delta","sequence_number":4,"item_id":"fc_1","output_index":1,"delta":"1e400}"}"#;
const ARGUMENTS: &str = r#"{"type":"response.function_call_arguments.done","sequence_number":5,"item_id":"fc_1","output_index":1,"arguments":"{\"a\":1e400}"}"#;
const DONE: &str = r#"{"type":"response.output_item.done","sequence_number":6,"output_index":1,"item":{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"a\":1e400}","call_id":"call_a","name":"add"}}"#;
const COMPLETED: &str = r#"{"type":"response.completed","sequence_number":9,"response":{"id":"resp_1","object":"response","status":"completed","error":null,"incomplete_details":null,"output":[],"usage":{"input_tokens":90,"input_tokens_details":{"cached_tokens":64},"output_tokens":40,"output_tokens_details":{"reasoning_tokens":25},"total_tokens":130}}}"#;

#[test]
fn a_stream_with_thoughts_text_and_calls_is_read() {
    let stream = stream(&[
        CREATED,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}"#,
        r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"Hm"}"#,
        r#"{"type":"response.reasoning_summary_text.done","item_id":"rs_1","output_index":0,"summary_index":0,"text":"Hm"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}],"encrypted_content":"gAAA"}}"#,
        ADDED,
        FIRST,
        SECOND,
        ARGUMENTS,
        DONE,
        r#"{"type":"response.output_item.added","output_index":2,"item":{"id":"msg_1","type":"message","role":"assistant","content":[]}}"#,
        r#"{"type":"response.content_part.added","item_id":"msg_1","output_index":2,"content_index":0,"part":{"type":"output_text","text":""}}"#,
        r#"{"type":"response.output_text.delta","item_id":"msg_1","output_index":2,"content_index":0,"delta":"Ein ä"}"#,
        r#"{"type":"response.output_text.done","item_id":"msg_1","output_index":2,"content_index":0,"text":"Ein ä"}"#,
        r#"{"type":"response.output_item.done","output_index":2,"item":{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Ein ä","annotations":[]}]}}"#,
        COMPLETED,
    ]);
    expect![[r#"
        response: Some("resp_1") None
        reasoning: Hm
        item: {"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}],"encrypted_content":"gAAA"}
        item: {"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"a\":1e400}","call_id":"call_a","name":"add"}
        text: Ein ä
        item: {"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Ein ä","annotations":[]}]}
        usage: 90 64 0 40 25
        call: call_a add {"a":1e400}
        finished: ToolCalls"#]].assert_eq(&read(OpenAiResponses, &stream));
}

#[test]
fn what_the_provider_ran_itself_is_an_item() {
    let stream = stream(&[
        r#"{"type":"response.web_search_call.searching","output_index":0,"item_id":"ws_1"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"x"}}}"#,
        r#"{"type":"response.mcp_call_arguments.delta","output_index":1,"item_id":"mcp_1","delta":"{}"}"#,
        r#"{"type":"response.custom_tool_call_input.delta","output_index":2,"item_id":"ctc_1","delta":"ls "}"#,
        r#"{"type":"response.custom_tool_call_input.done","output_index":2,"item_id":"ctc_1","input":"ls -l"}"#,
        r#"{"type":"response.output_item.done","output_index":2,"item":{"id":"ctc_1","type":"custom_tool_call","status":"completed","call_id":"call_c","name":"shell","input":"ls -l"}}"#,
        r#"{"type":"response.sparkle","new":true}"#,
        COMPLETED,
    ]);
    expect![[r#"
        item: {"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"x"}}
        unknown: {"type":"response.mcp_call_arguments.delta","output_index":1,"item_id":"mcp_1","delta":"{}"}
        item: {"id":"ctc_1","type":"custom_tool_call","status":"completed","call_id":"call_c","name":"shell","input":"ls -l"}
        unknown: {"type":"response.sparkle","new":true}
        response: Some("resp_1") None
        usage: 90 64 0 40 25
        call: call_c shell ls -l
        finished: ToolCalls"#]].assert_eq(&read(OpenAiResponses, &stream));
}

#[test]
fn a_whole_answer_is_read() {
    let answer = r#"{
      "id": "resp_1", "object": "response", "status": "completed", "error": null, "incomplete_details": null,
      "output": [
        {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]},
        {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_a", "name": "add", "arguments": "{\"a\":1}"},
        {"id": "fc_2", "type": "function_call", "call_id": "call_b", "name": "now", "arguments": ""},
        {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [
          {"type": "output_text", "text": "So", "annotations": []}, {"type": "refusal", "refusal": " no."}]}],
      "usage": {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13}
    }"#;
    expect![[r#"
        response: Some("resp_1") None
        reasoning: Hm
        item: {"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}]}
        item: {"id":"fc_1","type":"function_call","status":"completed","call_id":"call_a","name":"add","arguments":"{\"a\":1}"}
        item: {"id":"fc_2","type":"function_call","call_id":"call_b","name":"now","arguments":""}
        text: So no.
        item: {"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"So","annotations":[]},{"type":"refusal","refusal":" no."}]}
        usage: 9 0 0 4 0
        call: call_a add {"a":1}
        call: call_b now 
        finished: ToolCalls"#]].assert_eq(&read(OpenAiResponses, answer));
}

#[test]
fn events_in_any_order_and_twice_give_the_same_call() {
    let call = "call_a add {\"a\":1e400}";
    let without_arguments = ARGUMENTS.replace(r#","arguments":"{\"a\":1e400}""#, "");
    for order in [
        vec![ADDED, FIRST, SECOND, &without_arguments],
        vec![ADDED, FIRST, SECOND, ARGUMENTS, DONE],
        vec![ADDED, FIRST, SECOND, SECOND, ARGUMENTS, DONE],
        vec![
            ADDED, ADDED, FIRST, SECOND, ARGUMENTS, ARGUMENTS, DONE, DONE,
        ],
        vec![FIRST, ADDED, SECOND, DONE],
        vec![ARGUMENTS, ADDED, DONE, FIRST, SECOND],
        vec![SECOND, FIRST, DONE],
        vec![DONE, ADDED, FIRST],
        vec![DONE],
    ] {
        let events = events(
            OpenAiResponses,
            [stream(&[&[CREATED], &order[..], &[COMPLETED]].concat()).as_bytes()],
        );
        let told = calls(&events)
            .iter()
            .map(|call| format!("{} {} {}", call.id(), call.name(), call.arguments()))
            .collect::<Vec<_>>();
        assert_eq!(told, [call], "{}", summary(&events));
        assert!(
            !events.iter().any(|event| matches!(event, Event::Error(_))),
            "{}",
            summary(&events)
        );
    }
}

#[test]
fn what_the_events_lost_is_read_off_the_end() {
    let output = r#""output":[{"id":"fc_1","type":"function_call","call_id":"call_a","name":"add","arguments":"{}"},{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"Hi"}]}]"#;
    let stream = stream(&[
        CREATED,
        FIRST,
        &COMPLETED.replace(r#""output":[]"#, output).replace(
            "[{\"id\":\"fc_1\"",
            "[{\"id\":\"rs_0\",\"type\":\"reasoning\"},{\"id\":\"fc_1\"",
        ),
    ]);
    expect![[r#"
        response: Some("resp_1") None
        item: {"id":"rs_0","type":"reasoning"}
        item: {"id":"fc_1","type":"function_call","call_id":"call_a","name":"add","arguments":"{}"}
        text: Hi
        item: {"id":"msg_1","type":"message","content":[{"type":"output_text","text":"Hi"}]}
        usage: 90 64 0 40 25
        call: call_a add {}
        finished: ToolCalls"#]]
    .assert_eq(&summary(&events(OpenAiResponses, [stream.as_bytes()])));
}

#[test]
fn items_without_places_are_told_apart_by_their_ids() {
    let stream =
        stream(&[ADDED, FIRST, SECOND, DONE, COMPLETED]).replace("\"output_index\":1,", "");
    expect![[r#"
        item: {"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"a\":1e400}","call_id":"call_a","name":"add"}
        response: Some("resp_1") None
        usage: 90 64 0 40 25
        call: call_a add {"a":1e400}
        finished: ToolCalls"#]].assert_eq(&read(OpenAiResponses, &stream));
}

/// Two calls in parallel, their pieces by turns, at the places that a server says.
fn parallel(first: u64, second: u64) -> String {
    let at = |event: &str, place: u64| {
        event.replace("\"output_index\":1", &format!("\"output_index\":{place}"))
    };
    let other = |event: &str| {
        at(event, second)
            .replace("fc_1", "fc_2")
            .replace("call_a", "call_b")
    };
    let events = [ADDED, FIRST, SECOND, ARGUMENTS, DONE]
        .map(|event| [at(event, first), other(event)])
        .concat();
    let item =
        |event: &str| serde_json::from_str::<Value>(event).expect("JSON")["item"].to_string();
    let output = format!("\"output\":[{},{}]", item(DONE), item(&other(DONE)));
    let events = [
        &[CREATED.to_owned()],
        &events[..],
        &[COMPLETED.replace("\"output\":[]", &output)],
    ]
    .concat();
    stream(&events.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn calls_are_emitted_once_despite_wrong_indexes_and_repeats() {
    for (first, second) in [(0, 1), (0, 0), (1, 2), (7, 3)] {
        let stream = parallel(first, second);
        let end = stream.rfind("event:").expect("an end");
        let events = events(
            OpenAiResponses,
            [stream.as_bytes(), &stream.as_bytes()[end..]],
        );
        let told = calls(&events)
            .iter()
            .map(|call| (call.id(), call.arguments()))
            .collect::<Vec<_>>();
        assert_eq!(
            told,
            [("call_a", "{\"a\":1e400}"), ("call_b", "{\"a\":1e400}")],
            "{}",
            summary(&events)
        );
        assert!(
            !events.iter().any(|event| matches!(event, Event::Error(_))),
            "{}",
            summary(&events)
        );
    }
}

#[test]
fn why_it_ended_is_told() {
    for (status, rest, expected) in [
        (
            "incomplete",
            r#""incomplete_details":{"reason":"max_output_tokens"}"#,
            "finished: Length",
        ),
        (
            "incomplete",
            r#""incomplete_details":{"reason":"content_filter"}"#,
            "finished: Filtered",
        ),
        (
            "failed",
            r#""error":{"code":"server_error","message":"gone"}"#,
            "error: the provider reports server_error: gone",
        ),
        (
            "cancelled",
            r#""error":null"#,
            r"error: the provider reports cancelled: the model\'s answer ended with a failure",
        ),
    ] {
        let stream = format!(
            "data: {{\"type\":\"response.{status}\",\"response\":{{\"status\":\"{status}\",{rest}}}}}\n\n"
        );
        assert_eq!(read(OpenAiResponses, &stream), expected);
    }
}

// P1
#[test]
fn an_incomplete_response_is_cut_off_whatever_the_reason() {
    for (reason, expected) in [
        ("max_messages", "finished: Length"),
        ("steered", "finished: Length"),
        ("safety_stop", "finished: Filtered"),
    ] {
        let end = format!(
            r#"{{"type":"response.incomplete","response":{{"status":"incomplete","incomplete_details":{{"reason":"{reason}"}}}}}}"#
        );
        assert_eq!(read(OpenAiResponses, &stream(&[&end])), expected);
    }
}

#[test]
fn a_call_that_grew_too_long_is_cut_off() {
    let done = DONE
        .replace("completed", "incomplete")
        .replace(r#"{\"a\":1e400}"#, r#"{\"a\":"#);
    let stream = stream(&[
        ADDED,
        FIRST,
        &done,
        r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}"#,
    ]);
    expect![[r#"
        error: the stream ended in the middle of the call `call_a`
        item: {"id":"fc_1","type":"function_call","status":"incomplete","arguments":"{\"a\":","call_id":"call_a","name":"add"}
        cut call: call_a add {"a":
        finished: Length"#]].assert_eq(&read(OpenAiResponses, &stream));
}

#[test]
fn errors_of_the_provider_are_told() {
    for text in [
        r#"{"type":"error","code":"rate_limit_exceeded","message":"slow down","param":null,"sequence_number":1}"#,
        r#"{"type":"error","error":{"code":"rate_limit_exceeded","message":"slow down"}}"#,
        r#"{"error":{"code":"rate_limit_exceeded","message":"slow down","type":"x"}}"#,
    ] {
        let error = ProtocolError::of_provider(Some("rate_limit_exceeded".into()), "slow down");
        assert_eq!(
            events(OpenAiResponses, [text.as_bytes()]),
            [Event::Error(error)]
        );
    }
}

#[test]
fn pieces_of_a_call_that_never_came_are_told() {
    let events = events(OpenAiResponses, [stream(&[FIRST, COMPLETED]).as_bytes()]);
    let orphan = Event::Error(ProtocolError::Orphan { key: "0".into() });
    assert_eq!(
        events
            .iter()
            .find(|event| !matches!(event, Event::Response { .. })),
        Some(&orphan)
    );
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::Finished(_))),
        "{}",
        summary(&events)
    );
}

#[test]
fn a_call_that_the_server_has_run_is_an_item_only() {
    let delta = r#"{"type":"response.custom_tool_call_input.delta","output_index":1,"item_id":"ctc_1","delta":"{}"}"#;
    for item in [
        r#"{"id":"ctc_1","type":"custom_tool_call","status":"completed","call_id":"xs_1","name":"x_keyword_search","input":"{}"}"#,
        r#"{"id":"ctc_1","type":"custom_tool_call","status":"completed","call_id":"c","name":"shell","input":"{}","output":"done"}"#,
        r#"{"id":"ctc_1","type":"function_call","status":"completed","call_id":"c","name":"find","arguments":"{}","output":"[]"}"#,
        r#"{"id":"ctc_1","type":"mcp_call","status":"completed","name":"find","arguments":"{}","output":"[]"}"#,
    ] {
        let open = item
            .replace("completed", "in_progress")
            .replace(r#","output":"done""#, "")
            .replace(r#","output":"[]""#, "");
        let added =
            format!(r#"{{"type":"response.output_item.added","output_index":1,"item":{open}}}"#);
        let done =
            format!(r#"{{"type":"response.output_item.done","output_index":1,"item":{item}}}"#);
        let streamed = stream(&[CREATED, &added, delta, &done, COMPLETED]);
        for answer in [
            streamed,
            format!(r#"{{"id":"resp_1","status":"completed","output":[{item}]}}"#),
        ] {
            let events = events(OpenAiResponses, [answer.as_bytes()]);
            assert!(
                calls(&events).is_empty() && !summary(&events).contains("error"),
                "{}",
                summary(&events)
            );
            assert!(events.contains(&Event::Item(serde_json::from_str(item).expect("JSON"))));
            assert_eq!(
                events.last(),
                Some(&Event::Finished(Finish::Stop)),
                "{}",
                summary(&events)
            );
        }
    }
}

const COMMENT: &str = r#"{"id":"msg_1","type":"message","phase":"commentary","status":"completed","role":"assistant","content":[{"type":"output_text","text":"I look."}]}"#;
const ANSWER: &str = r#"{"id":"msg_2","type":"message","phase":"final_answer","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Left."}]}"#;

/// Returns all text of an answer.
fn text_of(answer: &str) -> String {
    let events = events(OpenAiResponses, [answer.as_bytes()]);
    let texts = events.into_iter().filter_map(|event| match event {
        Event::Text(text) => Some(text),
        _ => None,
    });
    texts.collect()
}

#[test]
fn messages_of_a_stream_are_set_apart() {
    let done = |place: u32, item: &str| {
        format!(r#"{{"type":"response.output_item.done","output_index":{place},"item":{item}}}"#)
    };
    let stream = stream(&[
        r#"{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"delta":"I "}"#,
        r#"{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"delta":"look."}"#,
        &done(0, COMMENT),
        r#"{"type":"response.output_text.delta","item_id":"msg_2","output_index":1,"delta":"Left."}"#,
        &done(1, ANSWER),
        COMPLETED,
    ]);
    read(OpenAiResponses, &stream);
    assert_eq!(text_of(&stream), "I look.\n\nLeft.");
}

#[test]
fn messages_of_a_whole_answer_are_set_apart() {
    let whole = format!(r#"{{"id":"resp_1","status":"completed","output":[{COMMENT},{ANSWER}]}}"#);
    assert_eq!(text_of(&whole), "I look.\n\nLeft.");
}
