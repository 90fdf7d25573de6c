//! Converse: results and requests.

use crate::Provider::Bedrock;
use crate::bedrock::tests::{message, start, step, stop, tool_use};
use crate::protocol::protocol;
use crate::step_model::MODEL;
use crate::tests::fixtures::{
    answers, assistant, history, native, pretty, pretty_request, read, request, request_of,
    request_with, result, user,
};
use expect_test::expect;
use serde_json::{Map, Value, json};
use tool_core::call::{ModelResult, ResultForm};
use tool_core::session::{Message, ToolChoice};

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
            {"toolResult":{"content":[{"text":"the slot is taken"}],"toolUseId":"t1"}},
            {"toolResult":{"content":[{"text":"An internal error occurred"}],"toolUseId":"t1"}},
            {"toolResult":{"content":[{"text":"a person has to agree"}],"toolUseId":"t1"}},
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
                },
                {"text":"And up?"},
                {"text":"Please."}
              ],
              "role": "user"
            }
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

/// Writes a request to a model in which a call is forced.
fn request_to(model: &str, history: &[Message]) -> Value {
    request_of(Bedrock, model, history, ToolChoice::Required, &Map::new())
}

const LLAMA: &str = "meta.llama3-3-70b-instruct-v1:0";

// P5
#[test]
fn only_claude_and_nova_get_the_mark_of_an_error() {
    let history = [
        user("Look."),
        assistant("", &[("a", "{}")], None),
        result("a", "no", true),
    ];
    let status = |model| {
        let body = request_to(model, &history);
        body["messages"][2]["content"][0]["toolResult"]["status"].clone()
    };
    for model in ["us.anthropic.claude-sonnet-4-6", "amazon.nova-pro-v1:0"] {
        assert_eq!(status(model), "error", "{model}");
    }
    for model in [LLAMA, "writer.palmyra-x5-v1:0"] {
        assert_eq!(status(model), Value::Null, "{model}");
    }
}

// P5
#[test]
fn only_models_that_can_be_made_to_call_get_a_choice() {
    let choice = |model| request_to(model, &[user("Hi")])["toolConfig"]["toolChoice"].clone();
    for model in [
        "eu.anthropic.claude-sonnet-5",
        "amazon.nova-pro-v1:0",
        "mistral.mistral-large-2407-v1:0",
    ] {
        assert_eq!(choice(model), json!({"any": {}}), "{model}");
    }
    for model in [LLAMA, "mistral.mistral-small-2402-v1:0"] {
        assert_eq!(choice(model), Value::Null, "{model}");
    }
}

/// ARNs of the user's own resources, which do not tell their model.
const UNKNOWN_MODELS: [&str; 6] = [
    "arn:aws:bedrock:eu-west-1:1:application-inference-profile/x",
    "arn:aws:bedrock:us-east-1:1:provisioned-model/abc",
    "arn:aws:bedrock:us-east-1:1:custom-model-deployment/abc",
    "arn:aws:bedrock:us-east-1:1:imported-model/abc",
    "arn:aws:bedrock:us-east-1:1:prompt-router/abc",
    "arn:aws:bedrock:us-east-1:1:prompt/abc",
];

// P5
#[test]
fn a_model_that_its_arn_does_not_tell_gets_a_choice() {
    for model in UNKNOWN_MODELS {
        let body = request_to(model, &[user("Hi")]);
        assert_eq!(
            body["toolConfig"]["toolChoice"],
            json!({"any": {}}),
            "{model}"
        );
    }
}

// P5
#[test]
fn a_model_that_its_arn_tells_is_like_its_name() {
    for model in [
        "arn:aws:bedrock:us-east-1::foundation-model/meta.llama3-3-70b-instruct-v1:0",
        "arn:aws:bedrock:us-east-1:1:inference-profile/us.meta.llama3-3-70b-instruct-v1:0",
        "arn:aws:bedrock:us-east-1:1:default-prompt-router/meta.llama:1",
    ] {
        let body = request_to(model, &[user("Hi")]);
        assert_eq!(body["toolConfig"]["toolChoice"], Value::Null, "{model}");
    }
}

// P5, M14
#[test]
fn some_models_take_the_image_of_a_result_from_the_user() {
    let parts = json!([{"type": "image", "data": "iVBORw==", "mimeType": "image/png"}]);
    let picture = Message::Result {
        call_id: "a".into(),
        tool: "look".into(),
        result: ModelResult {
            text: parts.to_string(),
            is_error: false,
            reply: true,
            parts: true,
            is_text: false,
            goes_on: false,
        },
    };
    let history = [user("Look."), assistant("", &[("a", "{}")], None), picture];
    let in_result = |model| {
        let body = request_to(model, &history);
        assert!(body.to_string().contains("iVBORw=="), "{model}: {body}");
        body["messages"][2].to_string().contains("iVBORw==")
    };
    for model in ["anthropic.claude", "amazon.nova-lite", "meta.llama4-scout"] {
        assert!(in_result(model), "{model}");
    }
    assert!(!in_result("meta.llama3-2-90b-instruct-v1:0"));
}

const CLAUDE: &str = "anthropic.claude-sonnet-4-6";

/// Returns the request to a model after a step with a signed thought, which another may have made.
fn request_after_thought(model: &str, named: Option<&str>) -> String {
    let mut native = native(Bedrock, &read(Bedrock, &step()));
    let model_item = named.and_then(|named| Bedrock.spec().model_item(named, &native.items));
    native.items.extend(model_item);
    let calls = [("t1", "{}"), ("t2", "{}")];
    let history = [
        user("Look."),
        assistant("", &calls, Some(native)),
        result("t1", "1", false),
        result("t2", "2", false),
    ];
    request_to(model, &history).to_string()
}

// P5
#[test]
fn the_thought_of_another_model_stays_behind() {
    for model in ["amazon.nova-2-lite-v1:0", LLAMA] {
        let body = request_after_thought(model, Some(CLAUDE));
        assert!(body.contains("Left, then right."), "{body}");
        assert!(!body.contains("reasoningContent"), "{body}");
    }
}

// P4
#[test]
fn the_thought_of_the_same_model_goes_back() {
    let body = request_after_thought(CLAUDE, Some(CLAUDE));
    assert!(body.contains("reasoningContent"), "{body}");
    assert!(!body.contains(MODEL), "{body}");
}

// P5
#[test]
fn a_thought_without_its_model_goes_to_claude_only() {
    assert!(request_after_thought(CLAUDE, None).contains("reasoningContent"));
    assert!(!request_after_thought(LLAMA, None).contains("reasoningContent"));
}

// P4
#[test]
fn a_thought_without_its_model_goes_to_an_unknown_one() {
    for model in UNKNOWN_MODELS {
        let body = request_after_thought(model, None);
        assert!(body.contains("reasoningContent"), "{model}: {body}");
    }
}

// P5
#[test]
fn the_edit_of_thoughts_goes_with_thinking() {
    let history = [
        user("Look."),
        assistant("", &[("a", "{}")], None),
        result("a", "1", false),
    ];
    let extra = json!({"additionalModelRequestFields": {
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "context_management": {"edits": [{"type": "clear_thinking_20251015"}]},
    }});
    let extra = extra.as_object().expect("an object");
    let body = request_with(Bedrock, &history, ToolChoice::Required, extra);
    assert_eq!(body.get("additionalModelRequestFields"), None);
    assert_eq!(body["toolConfig"]["toolChoice"], json!({"any": {}}));
}
