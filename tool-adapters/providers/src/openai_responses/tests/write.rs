//! Results and requests.

use crate::Provider::OpenAiResponses;
use crate::step_model::MODEL;
use crate::tests::streams::{asked, encoded, history, nothing};
use expect_test::expect;
use serde_json::{Value, json};
use tool_core::session::{Message, RawTurn, ToolChoice};

// L18, R-C1
#[test]
fn results_are_encoded_with_their_images_and_files() {
    let answer = r#"{"output":[{"type":"custom_tool_call","id":"x","call_id":"b","name":"shell","input":"ls"}]}"#;
    expect![[r##"
        [
          {"type":"function_call_output","call_id":"a","output":"{\"sum\":3}"},
          {"type":"custom_tool_call_output","call_id":"b","output":"the slot is taken"},
          {"type":"function_call_output","call_id":"c","output":""},
          {"type":"function_call_output","call_id":"d","output":[{"type":"input_text","text":"a cat"},{"type":"input_image","image_url":"data:image/png;base64,aGk=","detail":"auto"},{"type":"input_text","text":"[audio (audio/wav) left out: it cannot be shown here]"},{"type":"input_text","text":"# A"},{"type":"input_text","text":"[resource file:///b.pdf (application/pdf)]"}]},
          {"type":"function_call_output","call_id":"e","output":""}
        ]"##]].assert_eq(&encoded(OpenAiResponses, answer, ["a", "b", "c", "d", "e"]));
}

fn native(items: Value) -> RawTurn {
    let Value::Array(items) = items else {
        panic!("items")
    };
    RawTurn {
        provider: OpenAiResponses.id(),
        items,
    }
}

#[test]
fn a_request_echoes_its_own_items_and_tells_foreign_ones() {
    let native = native(json!([
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "function_call", "id": "fc_1", "call_id": "call_wire", "name": "add", "arguments": "{ }", "status": "completed"},
    ]));
    expect![[r##"
        model: "some-model"
        instructions: "Be brief."
        input: [
          {"role":"user","content":"What is 1 + 2?"},
          {"role":"assistant","content":"Let me see."},
          {"type":"function_call","call_id":"call_1","name":"add","arguments":"{\"a\":1,\"b\":2}"},
          {"type":"function_call","call_id":"call_a54a8a69cc7f84b6900f12ad17379cc4","name":"add","arguments":"{\"INVALID_JSON\":\"oops\"}"},
          {"type":"function_call_output","call_id":"call_1","output":"{\"sum\":3}"},
          {"type":"function_call_output","call_id":"call_a54a8a69cc7f84b6900f12ad17379cc4","output":"the slot is taken"},
          {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},
          {"type":"web_search_call","id":"ws_1","status":"completed"},
          {"type":"function_call","id":"fc_1","call_id":"call_wire","name":"add","arguments":"{}","status":"completed"},
          {"type":"function_call_output","call_id":"call_wire","output":[{"type":"input_text","text":"a cat"},{"type":"input_image","image_url":"data:image/png;base64,aGk=","detail":"auto"},{"type":"input_text","text":"[audio (audio/wav) left out: it cannot be shown here]"},{"type":"input_text","text":"# A"},{"type":"input_text","text":"[resource file:///b.pdf (application/pdf)]"}]},
          {"role":"assistant","content":"It is 3."},
          {"role":"user","content":"Thanks"}
        ]
        tools: 1
        stream: true
        max_output_tokens: 500"##]].assert_eq(&asked(OpenAiResponses, &history(Some(native)), ToolChoice::Auto, nothing()));
}

#[test]
fn items_that_are_not_the_historys_calls_are_not_echoed() {
    let other = native(json!([{"type": "message", "id": "canary", "content": []}]));
    let asked = asked(
        OpenAiResponses,
        &history(Some(other)),
        ToolChoice::None,
        json!({"store": true}),
    );
    assert!(
        !asked.contains("canary") && asked.contains(r#""call_id":"abcDEF123""#),
        "{asked}"
    );
}

#[test]
fn thoughts_neither_stored_nor_encrypted_are_left_out() {
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "w", "name": "add", "arguments": "{}"});
    let thought = |id: &str, content: Value| json!({"type": "reasoning", "id": id, "encrypted_content": content});
    let native = native(json!([
        thought("rs_1", Value::Null),
        thought("rs_2", "gAAA".into()),
        call
    ]));
    let asked = asked(
        OpenAiResponses,
        &history(Some(native)),
        ToolChoice::Auto,
        json!({"store": false}),
    );
    assert!(!asked.contains("rs_1") && asked.contains("rs_2"), "{asked}");
}

/// The kinds of calls that a client answers, but for functions.
const CLIENT_CALLS: [&str; 4] = [
    "computer_call",
    "shell_call",
    "local_shell_call",
    "apply_patch_call",
];

/// Writes a step with a thought, an item and a message.
fn asked_with(further: Value) -> String {
    let thought = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA"});
    let Value::Array(further) = further else {
        panic!("items")
    };
    let mut items = vec![thought];
    items.extend(further);
    let mut history = history(None);
    history.push(Message::Assistant {
        text: Some("Done.".into()),
        calls: Vec::new(),
        native: Some(native(items.into())),
    });
    history.push(Message::user("Go on."));
    asked(OpenAiResponses, &history, ToolChoice::Auto, nothing())
}

#[test]
fn a_clients_call_without_an_output_stays_behind() {
    for kind in CLIENT_CALLS {
        let call = json!({"type": kind, "id": "x_1", "call_id": "canary", "status": "completed"});
        let asked = asked_with(json!([call]));
        assert!(!asked.contains("canary"), "{kind}: {asked}");
    }
}

#[test]
fn the_thought_before_a_call_left_out_stays_behind() {
    let call = json!({"type": "shell_call", "id": "x_1", "call_id": "canary"});
    let asked = asked_with(json!([call]));
    assert!(!asked.contains("rs_1"), "{asked}");
}

#[test]
fn a_clients_call_with_its_output_goes_back() {
    for kind in CLIENT_CALLS {
        let call = json!({"type": kind, "id": "x_1", "call_id": "canary"});
        let output = json!({"type": format!("{kind}_output"), "call_id": "canary", "output": []});
        let asked = asked_with(json!([call, output]));
        assert_eq!(asked.matches("canary").count(), 2, "{kind}: {asked}");
        assert!(asked.contains("rs_1"), "{kind}: {asked}");
    }
}

/// Writes a step with a thought and a message, which a model made, for `some-model`.
fn asked_after(model: &str) -> String {
    let content = json!([{"type": "output_text", "text": "Done.", "annotations": []}]);
    let message =
        json!({"type": "message", "id": "msg_1", "role": "assistant", "content": content});
    let thought = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA"});
    let model = OpenAiResponses.spec().model_item(model, &[thought]);
    let model = model.expect("a step with a thought names its model");
    asked_with(json!([message, model]))
}

// P5
#[test]
fn the_thought_of_another_model_stays_behind() {
    let asked = asked_after("another-model");
    assert!(
        asked.contains("Done.") && !asked.contains("rs_1"),
        "{asked}"
    );
    assert!(!asked.contains("msg_1"), "it needs its thought: {asked}");
}

// P4
#[test]
fn the_thought_of_the_same_model_goes_back() {
    let asked = asked_after("some-model");
    assert!(asked.contains("rs_1") && asked.contains("msg_1"), "{asked}");
    assert!(
        !asked.contains(MODEL),
        "it is no item of the server's: {asked}"
    );
}

/// Writes a step of another model, with a thought and items, for `some-model`.
fn asked_of_another_model(items: &[Value]) -> String {
    let model = json!({"type": MODEL, "model": "another-model"});
    asked_with(items.iter().cloned().chain([model]).collect())
}

// P5
#[test]
fn the_output_of_a_call_left_out_stays_behind() {
    for kind in CLIENT_CALLS {
        let call = json!({"type": kind, "id": "x_1", "call_id": "canary"});
        let output = json!({"type": format!("{kind}_output"), "call_id": "canary", "output": []});
        let asked = asked_of_another_model(&[call, output]);
        assert!(!asked.contains("canary"), "{kind}: {asked}");
    }
}

// P5
#[test]
fn what_a_search_left_out_has_found_stays_behind() {
    let search = |id: &str| json!({"type": "tool_search_call", "id": id, "call_id": null, "execution": "server"});
    let found =
        |id: &str| json!({"type": "tool_search_output", "id": id, "call_id": null, "tools": []});
    let asked = asked_of_another_model(&[
        search("tsc_1"),
        search("tsc_2"),
        found("tso_1"),
        found("tso_2"),
    ]);
    assert!(
        !asked.contains("tsc_1") && !asked.contains("tso_1"),
        "it lost its thought: {asked}"
    );
    assert!(
        asked.contains("tsc_2") && asked.contains("tso_2"),
        "{asked}"
    );
}
