//! Converse: results and requests.

use crate::Provider::Bedrock;
use crate::bedrock::tests::{message, start, step, stop, tool_use};
use crate::protocol::protocol;
use crate::tests::fixtures::{
    answers, assistant, history, native, pretty, pretty_request, read, request, request_with,
    result, user,
};
use expect_test::expect;
use serde_json::json;
use tool_core::call::ResultForm;
use tool_core::session::ToolChoice;

// L18
#[test]
fn results_of_a_step_are_one_message() {
    let mut protocol = protocol(Bedrock);
    protocol.push(message(&[start(0, tool_use("t1")), stop(0)], "tool_use").as_bytes());
    expect![[r##"
        {
          "content": [
            {"toolResult":{"content":[{"json":{"$ref":"#/a","n":1}}],"toolUseId":"t1"}},
            {"toolResult":{"content":[{"text":"hello"}],"toolUseId":"t1"}},
            {"toolResult":{"content":[{"text":"the slot is taken"}],"status":"error","toolUseId":"t1"}},
            {
              "toolResult": {"content":[{"text":"An internal error occurred"}],"status":"error","toolUseId":"t1"}
            },
            {"toolResult":{"content":[{"text":"a person has to agree"}],"status":"error","toolUseId":"t1"}},
            {"toolResult":{"content":[{"json":{}}],"toolUseId":"t1"}},
            {"toolResult":{"content":[{"json":{}}],"toolUseId":"t1"}},
            {
              "toolResult": {
                "content": [
                  {"text":"a chart"},
                  {"image":{"format":"png","source":{"bytes":"iVBORw=="}}},
                  {"text":"[image (image/tiff) left out: it cannot be shown here]"},
                  {"text":"[audio (audio/wav) left out: it cannot be shown here]"},
                  {"text":"# A"},
                  {"text":"[resource https://example.com/b]"}
                ],
                "toolUseId": "t1"
              }
            }
          ],
          "role": "user"
        }
    "##]]
    .assert_eq(&pretty(&protocol.encode(&answers("t1"))));
    protocol.result_form(ResultForm::Envelope);
    let envelope = protocol.encode(&answers("t1"));
    assert_eq!(
        envelope["content"][2]["toolResult"]["content"][0]["json"]["ok"],
        false
    );
    assert!(!envelope.to_string().contains("canary") && !envelope.to_string().contains("hunter2"));
}

#[test]
fn a_request_is_what_the_api_takes() {
    expect![[r#"
        {
          "inferenceConfig": {"maxTokens":100},
          "messages": [
            {"content":[{"text":"The conversation begins."}],"role":"user"},
            {"content":[{"text":"Hello."}],"role":"assistant"},
            {"content":[{"text":"Look around."}],"role":"user"},
            {
              "content": [
                {
                  "toolUse": {
                    "input": {"place":"left"},
                    "name": "look",
                    "toolUseId": "call_736afe6567bb38b374aa95187b5c3f83"
                  }
                },
                {"toolUse":{"input":{"INVALID_JSON":"{\"place\":"},"name":"look","toolUseId":"call_1"}}
              ],
              "role": "assistant"
            },
            {
              "content": [
                {
                  "toolResult": {"content":[{"text":"\"a door\""}],"toolUseId":"call_736afe6567bb38b374aa95187b5c3f83"}
                },
                {
                  "toolResult": {"content":[{"text":"arguments are no JSON"}],"status":"error","toolUseId":"call_1"}
                }
              ],
              "role": "user"
            },
            {"content":[{"text":"I see."}],"role":"assistant"},
            {"content":[{"text":"And up?"},{"text":"Please."}],"role":"user"}
          ],
          "system": [{"text":"Be brief."}],
          "toolConfig": {"toolChoice":{"any":{}},"tools":"declared"}
        }
    "#]]
    .assert_eq(&pretty_request(&request(Bedrock, &history(), ToolChoice::Required)));
}

#[test]
fn settings_of_the_caller_are_merged_and_win() {
    let extra = json!({"inferenceConfig": {"temperature": 0, "maxTokens": 7}, "toolConfig": {"toolChoice": {"auto": {}}}});
    let body = request_with(
        Bedrock,
        &[user("Hi")],
        ToolChoice::Required,
        extra.as_object().expect("an object"),
    );
    assert_eq!(
        body["inferenceConfig"],
        json!({"maxTokens": 7, "temperature": 0})
    );
    assert_eq!(body["toolConfig"]["toolChoice"]["auto"], json!({}));
    assert!(body["toolConfig"]["tools"].is_array());
}

#[test]
fn a_turn_is_sent_back_raw_with_the_arguments_of_the_history() {
    let events = read(Bedrock, &step());
    let step = assistant(
        "told apart",
        &[("t1", r#"{"place":"LEFT"}"#), ("call_9", "{}")],
        Some(native(Bedrock, &events)),
    );
    let history = [
        user("Look."),
        step,
        result("t1", "1", false),
        result("call_9", "2", true),
    ];
    expect![[r#"
        [
          {"content":[{"text":"Look."}],"role":"user"},
          {
            "content": [
              {"reasoningContent":{"reasoningText":{"signature":"c2ln","text":"Where ü?"}}},
              {"reasoningContent":{"redactedContent":"cmVk"}},
              {"text":"Left, then right."},
              {"toolUse":{"input":{"q":1},"name":"web","toolUseId":"s1","type":"server_tool_use"}},
              {"toolResult":{"content":[{"text":"found"}],"status":"success","toolUseId":"s1"}},
              {"citationsContent":{"citations":[{"title":"T"}],"content":[{"text":"It says so."}]}},
              {"toolUse":{"input":{"place":"LEFT"},"name":"look","toolUseId":"t1"}},
              {"toolUse":{"input":{},"name":"look","toolUseId":"t2"}}
            ],
            "role": "assistant"
          },
          {
            "content": [
              {"toolResult":{"content":[{"text":"1"}],"toolUseId":"t1"}},
              {"toolResult":{"content":[{"text":"2"}],"status":"error","toolUseId":"t2"}}
            ],
            "role": "user"
          }
        ]
    "#]]
    .assert_eq(&pretty(
        &request(Bedrock, &history, ToolChoice::Auto)["messages"],
    ));
}

// P5
#[test]
fn claudes_turn_that_began_without_a_thought_goes_on_so() {
    let history = [
        user("Look."),
        assistant("", &[("a", "{}")], None),
        result("a", "1", false),
    ];
    let thinking = json!({"type": "enabled", "budget_tokens": 1024});
    for (fields, left) in [
        (
            json!({"thinking": thinking, "top_k": 5}),
            json!({"top_k": 5}),
        ),
        (json!({"reasoning_config": thinking}), json!(null)),
        (
            json!({"thinking": {"type": "adaptive"}}),
            json!({"thinking": {"type": "adaptive"}}),
        ),
    ] {
        let extra = json!({"additionalModelRequestFields": fields});
        let extra = extra.as_object().expect("an object");
        let body = request_with(Bedrock, &history, ToolChoice::Auto, extra);
        assert_eq!(body["additionalModelRequestFields"], left);
    }
}
