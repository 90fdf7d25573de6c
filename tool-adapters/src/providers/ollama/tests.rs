//! Ollama: objects as arguments, no ids, results by name.

use crate::providers::event::{Event, ProtocolError};
use crate::providers::provider::Provider::Ollama;
use crate::providers::tests::streams::{asked, encoded, events, history, nothing, read};
use expect_test::expect;
use serde_json::json;
use tool_core::session::ToolChoice;

#[test]
fn lines_with_thoughts_and_calls_are_read() {
    let stream = r#"{"model":"m","created_at":"t","message":{"role":"assistant","content":"","thinking":"Hm"},"done":false}
{"model":"m","message":{"role":"assistant","content":"Let me see"},"done":false}
{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"add","arguments":{"b":2e400,"a":18446744073709551616}}},{"id":"call_x","function":{"index":1,"name":"now","arguments":{}}}]},"done":false}
{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"now","arguments":null}}]},"done":false}
{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":1,"prompt_eval_count":26,"eval_count":9}
"#;
    expect![[r#"
        response: None Some("m")
        reasoning: Hm
        text: Let me see
        call: call_0 add {"b":2e400,"a":18446744073709551616}
        call: call_x now {}
        call: call_1 now 
        usage: 26 0 0 9 0
        finished: ToolCalls"#]]
    .assert_eq(&read(Ollama, stream));
}

#[test]
fn a_whole_answer_is_read() {
    let answer = r#"{"model": "m", "message": {"role": "assistant", "content": "Hi"}, "done_reason": "length", "done": true, "eval_count": 2}"#;
    expect![[r#"
        response: None Some("m")
        text: Hi
        usage: 0 0 0 2 0
        finished: Length"#]]
    .assert_eq(&read(Ollama, answer));
}

#[test]
fn errors_are_told_and_what_is_unknown_is_kept() {
    let told = events(Ollama, [r#"{"error":"model not found"}{"status":"pulling"}"#.as_bytes()]);
    let error = ProtocolError::of_provider(None, "model not found");
    assert_eq!(told, [Event::Error(error), Event::Unknown(json!({"status": "pulling"}))]);
}

#[test]
fn results_are_encoded_by_the_tools_name_with_their_images() {
    let answer = r#"{"message":{"tool_calls":[{"function":{"name":"add_wire","arguments":{}}},{"id":"b","function":{"name":"add_wire","arguments":{}}}]},"done":true}"#;
    expect![[r#"
        [
          {"role":"tool","tool_name":"add_wire","content":"{\"sum\":3}"},
          {"role":"tool","tool_name":"add_wire","content":"the slot is taken","tool_call_id":"b"},
          {"role":"tool","tool_name":"add","content":""},
          {"role":"tool","tool_name":"add","content":"a cat\n[audio (audio/wav) left out: it cannot be shown here]\n# A\n[resource file:///b.pdf (application/pdf)]","images":["aGk="]},
          {"role":"tool","tool_name":"add","content":""}
        ]"#]].assert_eq(&encoded(Ollama, answer, ["call_0", "b", "c", "d", "e"]));
}

#[test]
fn a_request_says_what_was_said() {
    expect![[r#"
        model: "some-model"
        messages: [
          {"role":"system","content":"Be brief."},
          {"role":"user","content":"What is 1 + 2?"},
          {"role":"assistant","content":"Let me see.","tool_calls":[{"function":{"name":"add","arguments":{"a":1,"b":2}}},{"function":{"name":"add","arguments":{"invalid_arguments":"oops"}}}]},
          {"role":"tool","tool_name":"add","content":"{\"sum\":3}"},
          {"role":"tool","tool_name":"add","content":"the slot is taken"},
          {"role":"assistant","content":"","tool_calls":[{"function":{"name":"add","arguments":{}}}]},
          {"role":"tool","tool_name":"add","content":"a cat\n[audio (audio/wav) left out: it cannot be shown here]\n# A\n[resource file:///b.pdf (application/pdf)]","images":["aGk="]},
          {"role":"assistant","content":"It is 3."},
          {"role":"user","content":"Thanks"}
        ]
        tools: 1
        stream: true
        options: {"num_predict":500}
        think: true"#]].assert_eq(&asked(Ollama, &history(None), ToolChoice::Required, json!({"think": true})));
}

#[test]
fn options_of_the_callers_own_stand_beside_ours() {
    let body = asked(Ollama, &[], ToolChoice::None, json!({"options": {"seed": 1}}));
    assert!(body.ends_with(r#"options: {"num_predict":500,"seed":1}"#), "{body}");
}

#[test]
fn without_a_choice_the_tools_are_left_out() {
    expect![[r#"
        model: "some-model"
        messages: [{"role":"system","content":"Be brief."}]
        stream: true
        options: {"num_predict":500}"#]]
    .assert_eq(&asked(Ollama, &[], ToolChoice::None, nothing()));
}
