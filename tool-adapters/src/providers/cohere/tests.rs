//! Cohere: plans, calls, citations.

use crate::providers::provider::Provider::Cohere;
use crate::providers::tests::streams::{asked, encoded, events, history, nothing, read, summary};
use expect_test::expect;
use serde_json::json;
use tool_core::session::{RawTurn, ToolChoice};

fn named(events: &[&str]) -> String {
    let event = |event: &&str| {
        let name = event.split('"').nth(3).unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    };
    events.iter().map(event).collect()
}

#[test]
fn a_stream_with_a_plan_and_calls_is_read() {
    let stream = named(&[
        r#"{"type":"message-start","id":"1","delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}}"#,
        r#"{"type":"tool-plan-delta","delta":{"message":{"tool_plan":"I will "}}}"#,
        r#"{"type":"tool-plan-delta","delta":{"message":{"tool_plan":"add."}}}"#,
        r#"{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"add_1","type":"function","function":{"name":"add","arguments":""}}}}}"#,
        r#"{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{\"a\":"}}}}}"#,
        r#"{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":" 1}"}}}}}"#,
        r#"{"type":"tool-call-end","index":0}"#,
        r#"{"type":"tool-call-start","index":1,"delta":{"message":{"tool_calls":{"id":"now_2","type":"function","function":{"name":"now","arguments":""}}}}}"#,
        r#"{"type":"tool-call-end","index":1}"#,
        r#"{"type":"message-end","delta":{"finish_reason":"TOOL_CALL","usage":{"billed_units":{"input_tokens":9,"output_tokens":2},"tokens":{"input_tokens":900.0,"output_tokens":20.0},"cached_tokens":800.0}}}"#,
    ]);
    expect![[r#"
        response: Some("1") None
        reasoning: I will add.
        call: add_1 add {"a": 1}
        call: now_2 now 
        item: {"tool_plan":"I will add."}
        usage: 9 9 0 2 0
        finished: ToolCalls"#]]
    .assert_eq(&read(Cohere, &stream));
}

#[test]
fn a_stream_with_thoughts_text_and_citations_is_read() {
    let stream = named(&[
        r#"{"type":"message-start","delta":{"message":{"role":"assistant"}}}"#,
        r#"{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"thinking","thinking":""}}}}"#,
        r#"{"type":"content-delta","index":0,"delta":{"message":{"content":{"thinking":"Hm"}}}}"#,
        r#"{"type":"content-end","index":0}"#,
        r#"{"type":"content-start","index":1,"delta":{"message":{"content":{"type":"text","text":""}}}}"#,
        r#"{"type":"content-delta","index":1,"delta":{"message":{"content":{"text":"It is 3."}}}}"#,
        r#"{"type":"citation-start","index":0,"delta":{"message":{"citations":{"start":6,"end":7,"text":"3","sources":[{"type":"tool","id":"add_1:0"}]}}}}"#,
        r#"{"type":"citation-end","index":0}"#,
        r#"{"type":"content-end","index":1}"#,
        r#"{"type":"debug","prompt":"x"}"#,
        r#"{"type":"message-end","delta":{"finish_reason":"COMPLETE","usage":{"tokens":{"input_tokens":1,"output_tokens":2}}}}"#,
    ]);
    expect![[r#"
        reasoning: Hm
        text: It is 3.
        item: {"citations":{"start":6,"end":7,"text":"3","sources":[{"type":"tool","id":"add_1:0"}]}}
        unknown: {"type":"debug","prompt":"x"}
        usage: 1 0 0 2 0
        finished: Stop"#]]
    .assert_eq(&read(Cohere, &stream));
}

#[test]
fn a_whole_answer_is_read() {
    let answer = r#"{"id": "1", "finish_reason": "TOOL_CALL", "message": {"role": "assistant", "tool_plan": "I will add.",
        "content": [{"type": "text", "text": "So:"}], "citations": null,
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "add", "arguments": "{\"a\":1}"}},
                       {"id": "b", "type": "function", "function": {"name": "add"}}]},
        "usage": {"billed_units": {"input_tokens": 9, "output_tokens": 2}}}"#;
    expect![[r#"
        response: Some("1") None
        reasoning: I will add.
        text: So:
        call: a add {"a":1}
        call: b add 
        item: {"tool_plan":"I will add."}
        usage: 9 0 0 2 0
        finished: ToolCalls"#]]
    .assert_eq(&read(Cohere, answer));
}

#[test]
fn what_is_out_of_order_twice_or_broken_loses_no_call() {
    let start = r#"{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"a","function":{"name":"add","arguments":""}}}}}"#;
    let piece =
        r#"{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{}"}}}}}"#;
    let ends = [
        r#"{"type":"tool-call-end","index":0}"#,
        r#"{"type":"message-end","delta":{"finish_reason":"ERROR","error":"gone"}}"#,
    ];
    let stream =
        named(&[piece, start, start, ends[0], ends[0], start, "oops", ends[1], r#"{"message":"invalid api token"}"#]);
    expect![[r#"
        call: a add {}
        error: expected JSON in the provider's form: oops
        error: the provider reports: gone
        finished: Other("ERROR")
        error: the provider reports: invalid api token"#]]
    .assert_eq(&summary(&events(Cohere, [stream.as_bytes()])));
}

#[test]
fn results_are_encoded() {
    expect![[r##"
        [
          {"role":"tool","tool_call_id":"a","content":"{\"sum\":3}"},
          {"role":"tool","tool_call_id":"b","content":"the slot is taken"},
          {"role":"tool","tool_call_id":"c","content":""},
          {"role":"tool","tool_call_id":"d","content":[{"type":"text","text":"a cat"},{"type":"text","text":"[image (image/png) left out: it cannot be shown here]"},{"type":"text","text":"[audio (audio/wav) left out: it cannot be shown here]"},{"type":"document","document":{"id":"file:///a.md","data":{"text":"# A"}}},{"type":"text","text":"[resource file:///b.pdf (application/pdf)]"}]},
          {"role":"tool","tool_call_id":"e","content":""}
        ]"##]].assert_eq(&encoded(Cohere, "", ["a", "b", "c", "d", "e"]));
}

#[test]
fn a_request_says_what_was_said_and_planned() {
    let native =
        RawTurn { provider: Cohere.id(), items: vec![json!({"citations": []}), json!({"tool_plan": "I will."})] };
    expect![[r##"
        model: "some-model"
        messages: [
          {"role":"system","content":"Be brief."},
          {"role":"user","content":"What is 1 + 2?"},
          {"role":"assistant","content":"Let me see.","tool_calls":[{"id":"call_1","type":"function","function":{"name":"add","arguments":"{\"a\":1,\"b\":2}"}},{"id":"call_a54a8a69cc7f84b6900f12ad17379cc4","type":"function","function":{"name":"add","arguments":"{\"INVALID_JSON\":\"oops\"}"}}]},
          {"role":"tool","tool_call_id":"call_1","content":"{\"sum\":3}"},
          {"role":"tool","tool_call_id":"call_a54a8a69cc7f84b6900f12ad17379cc4","content":"the slot is taken"},
          {"role":"assistant","tool_calls":[{"id":"abcDEF123","type":"function","function":{"name":"add","arguments":"{}"}}],"tool_plan":"I will."},
          {"role":"tool","tool_call_id":"abcDEF123","content":[{"type":"text","text":"a cat"},{"type":"text","text":"[image (image/png) left out: it cannot be shown here]"},{"type":"text","text":"[audio (audio/wav) left out: it cannot be shown here]"},{"type":"document","document":{"id":"file:///a.md","data":{"text":"# A"}}},{"type":"text","text":"[resource file:///b.pdf (application/pdf)]"}]},
          {"role":"assistant","content":"It is 3."},
          {"role":"user","content":"Thanks"}
        ]
        tools: 1
        tool_choice: "REQUIRED"
        stream: true
        max_tokens: 500"##]].assert_eq(&asked(Cohere, &history(Some(native)), ToolChoice::Required, nothing()));
}
