//! Anthropic: results and requests.

use crate::Provider::{Anthropic, Bedrock, Gemini, GeminiLive};
use crate::anthropic::structured_output;
use crate::anthropic::tests::{message, start, step, stop, tool_use};
use crate::event::Event;
use crate::protocol::protocol;
use crate::request::Request;
use crate::structured::StructuredOutput;
use crate::tests::fixtures::{
    answers, assistant, declared, history, native, pretty, pretty_request, read, request,
    request_with, response, result, user,
};
use expect_test::expect;
use serde_json::{Value, json};
use tool_core::call::ResultForm;
use tool_core::session::{Message, RawTurn, ToolChoice};

// L18
#[test]
fn results_of_a_step_are_one_message() {
    let mut protocol = protocol(Anthropic);
    protocol.push(message(&[start(0, tool_use("toolu_1")), stop(0)], "tool_use").as_bytes());
    let encoded = protocol.encode(&answers("toolu_1"));
    expect![[r##"
        {
          "content": [
            {"content":"{\"$ref\":\"#/a\",\"n\":1}","tool_use_id":"toolu_1","type":"tool_result"},
            {"content":"hello","tool_use_id":"toolu_1","type":"tool_result"},
            {"content":"the slot is taken","is_error":true,"tool_use_id":"toolu_1","type":"tool_result"},
            {
              "content": "An internal error occurred",
              "is_error": true,
              "tool_use_id": "toolu_1",
              "type": "tool_result"
            },
            {"content":"a person has to agree","is_error":true,"tool_use_id":"toolu_1","type":"tool_result"},
            {"tool_use_id":"toolu_1","type":"tool_result"},
            {"tool_use_id":"toolu_1","type":"tool_result"},
            {
              "content": [
                {"text":"a chart","type":"text"},
                {"source":{"data":"iVBORw==","media_type":"image/png","type":"base64"},"type":"image"},
                {"text":"[image (image/tiff) left out: it cannot be shown here]","type":"text"},
                {"text":"[audio (audio/wav) left out: it cannot be shown here]","type":"text"},
                {
                  "source": {"data":"# A","media_type":"text/plain","type":"text"},
                  "title": "file:///a.md",
                  "type": "document"
                },
                {"text":"[resource https://example.com/b]","type":"text"}
              ],
              "tool_use_id": "toolu_1",
              "type": "tool_result"
            }
          ],
          "role": "user"
        }
    "##]]
    .assert_eq(&pretty(&encoded));
    protocol.result_form(ResultForm::Envelope);
    let envelope = protocol.encode(&answers("toolu_1")).to_string();
    assert!(
        envelope.contains(r#"\"ok\":true"#)
            && !envelope.contains("canary")
            && !envelope.contains("hunter2")
    );
}

#[test]
fn an_embedded_pdf_is_a_document() {
    let parts = json!([
        {"type": "resource", "uri": "data:application/pdf;base64,JVBERi0=", "mimeType": "application/pdf"},
        {"type": "resource", "uri": "data:application/zip;base64,UEs=", "mimeType": "application/zip"},
    ]);
    let mut protocol = protocol(Anthropic);
    protocol.push(message(&[start(0, tool_use("toolu_1")), stop(0)], "tool_use").as_bytes());
    let encoded = protocol.encode(&[response("toolu_1", "look", "content", &parts)]);
    let document = json!({
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
    });
    let left_out = json!({"type": "text", "text": "[file (application/zip) left out: it cannot be shown here]"});
    assert_eq!(
        encoded["content"][0]["content"],
        json!([document, left_out])
    );
}

#[test]
fn a_request_is_what_the_api_takes() {
    expect![[r#"
        {
          "max_tokens": 100,
          "messages": [
            {"content":[{"text":"The conversation begins.","type":"text"}],"role":"user"},
            {"content":[{"text":"Hello.","type":"text"}],"role":"assistant"},
            {"content":[{"text":"Look around.","type":"text"}],"role":"user"},
            {
              "content": [
                {
                  "id": "call_736afe6567bb38b374aa95187b5c3f83",
                  "input": {"place":"left"},
                  "name": "look",
                  "type": "tool_use"
                },
                {"id":"call_1","input":{"INVALID_JSON":"{\"place\":"},"name":"look","type":"tool_use"}
              ],
              "role": "assistant"
            },
            {
              "content": [
                {
                  "content": "\"a door\"",
                  "tool_use_id": "call_736afe6567bb38b374aa95187b5c3f83",
                  "type": "tool_result"
                },
                {
                  "content": "arguments are no JSON",
                  "is_error": true,
                  "tool_use_id": "call_1",
                  "type": "tool_result"
                },
                {"text":"And up?","type":"text"},
                {"text":"Please.","type":"text"}
              ],
              "role": "user"
            }
          ],
          "model": "a-model",
          "stream": true,
          "system": "Be brief.",
          "tool_choice": {"type":"any"},
          "tools": "declared"
        }
    "#]]
    .assert_eq(&pretty_request(&request(Anthropic, &history(), ToolChoice::Required)));
}

#[test]
fn settings_of_the_caller_win() {
    let extra = json!({"max_tokens": 7, "thinking": {"type": "adaptive"}});
    let body = request_with(
        Anthropic,
        &[user("Hi")],
        ToolChoice::None,
        extra.as_object().expect("an object"),
    );
    assert_eq!(
        (&body["max_tokens"], &body["thinking"]["type"]),
        (&json!(7), &json!("adaptive"))
    );
    assert_eq!(body["tool_choice"], json!({"type": "none"}));
}

#[test]
fn a_turn_is_sent_back_raw_with_the_arguments_of_the_history() {
    let events = read(Anthropic, &step());
    let step = assistant(
        "told apart",
        &[("toolu_1", r#"{"place":"LEFT"}"#), ("call_9", "{}")],
        Some(native(Anthropic, &events)),
    );
    let history = [
        user("Look."),
        step,
        result("toolu_1", "1", false),
        result("call_9", "2", false),
    ];
    let messages = &request(Anthropic, &history, ToolChoice::Auto)["messages"];
    let content = messages[1]["content"].as_array().expect("blocks");
    assert_eq!(
        content
            .iter()
            .map(|block| block["type"].as_str().unwrap_or_default())
            .collect::<Vec<_>>(),
        [
            "thinking",
            "server_tool_use",
            "web_search_tool_result",
            "text",
            "tool_use",
            "tool_use",
        ]
    );
    assert_eq!(content[0]["signature"], "c2ln");
    assert_eq!(
        (&content[4]["input"], &content[5]["id"]),
        (&json!({"place": "LEFT"}), &json!("toolu_2"))
    );
    assert_eq!(
        messages[2]["content"][1]["tool_use_id"], "toolu_2",
        "under the item's own id"
    );
}

#[test]
fn ids_that_come_again_in_another_step_are_told_apart() {
    let events = read(
        Anthropic,
        &message(&[start(0, tool_use("toolu_1")), stop(0)], "tool_use"),
    );
    let step = |id: &str| assistant("", &[(id, "{}")], Some(native(Anthropic, &events)));
    let history = [
        user("Look."),
        step("toolu_1"),
        result("toolu_1", "1", false),
        step("call_2"),
        result("call_2", "2", false),
    ];
    let messages = &request(Anthropic, &history, ToolChoice::Auto)["messages"];
    assert_eq!(messages[3]["content"][0]["id"], "call_2");
    assert_eq!(messages[4]["content"][0]["tool_use_id"], "call_2");
}

#[test]
fn a_turn_that_was_paused_stays_the_last() {
    let blocks = [
        start(
            0,
            json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
        ),
        stop(0),
    ];
    let events = read(Anthropic, &message(&blocks, "pause_turn"));
    let history = [
        user("Look."),
        assistant("", &[], Some(native(Anthropic, &events))),
    ];
    let messages = request(Anthropic, &history, ToolChoice::Auto)["messages"].clone();
    assert_eq!(messages.as_array().map(Vec::len), Some(2));
    let spoken = [user("Look."), assistant("Left.", &[], None)];
    let messages = request(Anthropic, &spoken, ToolChoice::Auto)["messages"].clone();
    assert_eq!(
        messages[2]["role"], "user",
        "its own words are no beginning of an answer"
    );
}

#[test]
fn a_turn_with_changed_calls_is_written_from_text_and_calls() {
    let events = read(Anthropic, &step());
    let step = assistant(
        "Left.",
        &[("toolu_1", "{}")],
        Some(native(Anthropic, &events)),
    );
    let messages = request(Anthropic, &[user("Look."), step], ToolChoice::Auto)["messages"].clone();
    let content = messages[1]["content"].as_array().expect("blocks").clone();
    assert_eq!(
        content,
        [
            json!({"type": "text", "text": "Left."}),
            json!({"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}),
        ]
    );
}

#[test]
fn what_the_api_refuses_is_not_sent_back() {
    let blocks = [
        start(
            0,
            json!({"type": "thinking", "thinking": "cut o", "signature": ""}),
        ),
        stop(0),
        start(1, json!({"type": "text", "text": " "})),
        stop(1),
        start(2, tool_use("toolu_1")),
        stop(2),
    ];
    let events = read(Anthropic, &message(&blocks, "tool_use"));
    let step = assistant("", &[("toolu_1", "{}")], Some(native(Anthropic, &events)));
    let messages = request(Anthropic, &[user("Look."), step], ToolChoice::Auto)["messages"].clone();
    assert_eq!(messages[1]["content"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_request_leaves_out_missing_tools_and_instructions() {
    for (provider, members) in [
        (Anthropic, vec!["max_tokens", "messages", "model"]),
        (Gemini, vec!["contents"]),
        (GeminiLive, vec!["setup"]),
        (Bedrock, vec!["messages"]),
    ] {
        let body = protocol(provider).request(&Request {
            model: "m",
            instructions: " ",
            history: &[],
            declarations: &declared(provider, false),
            tool_choice: ToolChoice::Required,
            stream: false,
            max_tokens: None,
            extra: &serde_json::Map::new(),
        });
        let mut found = body
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect::<Vec<_>>();
        found.sort();
        assert_eq!(found, members, "{provider}");
        assert!(
            !body.to_string().contains("[]"),
            "it begins with a user: {body}"
        );
    }
}

#[test]
fn past_calls_declare_their_tools_in_a_request_without_tools() {
    for (provider, place, name) in [
        (Anthropic, "/tools", "/0/name"),
        (Bedrock, "/toolConfig/tools", "/0/toolSpec/name"),
    ] {
        let body = protocol(provider).request(&Request {
            model: "m",
            instructions: "",
            history: &[
                user("hi"),
                assistant("", &[("c1", "{}"), ("c2", "{}")], None),
                result("c1", "ok", false),
            ],
            declarations: &declared(provider, false),
            tool_choice: ToolChoice::Auto,
            stream: false,
            max_tokens: None,
            extra: &serde_json::Map::new(),
        });
        let tools = body.pointer(place).expect("tools");
        assert_eq!(
            (tools.as_array().map(Vec::len), &tools.pointer(name)),
            (Some(1), &Some(&json!("look"))),
            "{body}"
        );
    }
}

#[test]
fn newer_models_take_a_form_of_the_answer() {
    for model in [
        "claude-3-7-sonnet-20250219",
        "claude-sonnet-4-20250514",
        "claude-opus-4-0",
        "claude-opus-4-1",
    ] {
        assert_eq!(structured_output(model), StructuredOutput::Never, "{model}");
    }
    for model in [
        "claude-sonnet-4-5-20250929",
        "claude-opus-4-6",
        "claude-sonnet-5",
        "eu.anthropic.claude-haiku-4-5-v1:0",
    ] {
        assert_eq!(
            structured_output(model),
            StructuredOutput::BesideTools,
            "{model}"
        );
    }
}

/// The events of a step in which the model's code, run in a container, calls a tool.
fn code_step(container: &str, reason: &str) -> Vec<Event> {
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "look", "input": {},
        "caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}});
    let code = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {}});
    let content = match reason {
        "tool_use" => json!([code, call]),
        _ => json!([code]),
    };
    let answer = json!({"type": "message", "id": "msg_1", "content": content, "stop_reason": reason,
        "container": {"id": container, "expires_at": "2026-11-30T00:00:00Z"}});
    read(Anthropic, &answer.to_string())
}

/// The conversation up to the result of a call by code.
fn code_history() -> Vec<Message> {
    let native = native(Anthropic, &code_step("container_1", "tool_use"));
    vec![
        user("Look."),
        assistant("", &[("toolu_1", "{}")], Some(native)),
        result("toolu_1", "1", false),
    ]
}

fn code_request(history: &[Message], extra: Value) -> Value {
    let extra = extra.as_object().expect("an object");
    request_with(Anthropic, history, ToolChoice::Auto, extra)
}

#[test]
fn a_result_for_code_goes_back_with_its_container() {
    let body = code_request(&code_history(), json!({}));
    assert_eq!(body["container"], "container_1");
}

#[test]
fn a_container_is_no_block_of_its_turn() {
    let body = code_request(&code_history(), json!({}));
    let content = body["messages"][1]["content"].as_array().expect("blocks");
    let kinds = content.iter().map(|block| &block["type"]);
    assert_eq!(kinds.collect::<Vec<_>>(), ["server_tool_use", "tool_use"]);
}

#[test]
fn a_paused_turn_goes_back_with_its_container() {
    let native = native(Anthropic, &code_step("container_1", "pause_turn"));
    let history = [user("Look."), assistant("", &[], Some(native))];
    let body = code_request(&history, json!({}));
    assert_eq!(body["container"], "container_1");
}

#[test]
fn a_result_that_the_user_interrupts_has_its_container() {
    let mut history = code_history();
    history.push(user("Stop."));
    let body = code_request(&history, json!({}));
    assert_eq!(body["container"], "container_1");
}

#[test]
fn the_newest_container_of_a_turn_goes_back() {
    let native = native(Anthropic, &code_step("container_2", "pause_turn"));
    let mut history = code_history();
    history.push(assistant("", &[], Some(native)));
    let body = code_request(&history, json!({}));
    assert_eq!(body["container"], "container_2");
}

#[test]
fn a_container_of_an_earlier_turn_stays_behind() {
    let mut history = code_history();
    history.extend([assistant("Left.", &[], None), user("And now?")]);
    let body = code_request(&history, json!({}));
    assert_eq!(body.get("container"), None);
}

#[test]
fn a_container_of_another_server_stays_behind() {
    let mut history = code_history();
    if let Message::Assistant {
        native: Some(native),
        ..
    } = &mut history[1]
    {
        native.provider = Bedrock.id();
    }
    let body = code_request(&history, json!({}));
    assert_eq!(body.get("container"), None);
}

#[test]
fn the_container_of_the_callers_settings_wins() {
    let body = code_request(&code_history(), json!({"container": "mine"}));
    assert_eq!(body["container"], "mine");
}

#[test]
fn the_skills_of_the_caller_are_in_the_container() {
    let body = code_request(&code_history(), json!({"container": {"skills": []}}));
    assert_eq!(
        body["container"],
        json!({"skills": [], "id": "container_1"})
    );
}

/// A step with a thought, whose calls have their results.
fn thoughtful_step() -> Vec<Message> {
    let native = native(Anthropic, &read(Anthropic, &step()));
    vec![
        assistant("", &[("toolu_1", "{}"), ("toolu_2", "{}")], Some(native)),
        result("toolu_1", "1", false),
        result("toolu_2", "2", false),
    ]
}

/// A step without a thought, whose call has its result.
fn thoughtless_step(id: &str) -> Vec<Message> {
    vec![assistant("", &[(id, "{}")], None), result(id, "1", false)]
}

fn thinking_request(steps: &[Vec<Message>], kind: &str) -> Value {
    let extra = json!({"thinking": {"type": kind}});
    let history = [vec![user("Look.")], steps.concat()].concat();
    code_request(&history, extra)
}

// P5
#[test]
fn a_turn_that_began_without_a_thought_goes_on_so() {
    let steps = [thoughtless_step("a"), thoughtless_step("b")];
    let body = thinking_request(&steps, "enabled");
    assert_eq!(body.get("thinking"), None);
}

// P5
#[test]
fn a_turn_goes_on_beside_what_the_user_says() {
    let steps = [thoughtless_step("a"), vec![user("Hurry.")]];
    let body = thinking_request(&steps, "enabled");
    assert_eq!(body.get("thinking"), None);
}

#[test]
fn adaptive_thinking_needs_no_thought() {
    let body = thinking_request(&[thoughtless_step("a")], "adaptive");
    assert_eq!(body["thinking"]["type"], "adaptive");
}

#[test]
fn a_turn_that_began_with_a_thought_keeps_thinking() {
    let steps = [thoughtful_step(), thoughtless_step("b")];
    let body = thinking_request(&steps, "enabled");
    assert_eq!(body["thinking"]["type"], "enabled");
}

// P5
#[test]
fn a_turn_without_thinking_keeps_its_forced_call() {
    let history = [vec![user("Look.")], thoughtless_step("a")].concat();
    let extra = json!({"thinking": {"type": "enabled", "budget_tokens": 1024}});
    let extra = extra.as_object().expect("an object");
    let body = request_with(Anthropic, &history, ToolChoice::Required, extra);
    assert_eq!(body["tool_choice"], json!({"type": "any"}));
}

/// Writes a request in which thinking is left out, with edits of its context.
fn edited_request(edits: &Value) -> Value {
    let history = [vec![user("Look.")], thoughtless_step("a")].concat();
    let extra = json!({
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "context_management": {"edits": edits},
    });
    code_request(&history, extra)
}

// P5
#[test]
fn the_edit_of_thoughts_goes_with_thinking() {
    let thoughts = json!({"type": "clear_thinking_20251015", "keep": "all"});
    let uses = json!({"type": "clear_tool_uses_20250919"});
    let body = edited_request(&json!([thoughts, uses]));
    assert_eq!(body["context_management"], json!({"edits": [uses]}));
    let body = edited_request(&json!([thoughts]));
    assert_eq!(body.get("context_management"), None);
}

#[test]
fn the_default_limit_has_room_for_thinking() {
    let limit = |extra: Value, max_tokens| {
        let body = protocol(Anthropic).request(&Request {
            model: "m",
            instructions: "",
            history: &[user("Hi")],
            declarations: &declared(Anthropic, false),
            tool_choice: ToolChoice::Auto,
            stream: false,
            max_tokens,
            extra: extra.as_object().expect("an object"),
        });
        body["max_tokens"].clone()
    };
    let thinking = json!({"thinking": {"type": "enabled", "budget_tokens": 16_000}});
    assert_eq!(limit(thinking.clone(), None), 24_192);
    assert_eq!(limit(thinking, Some(20_000)), 20_000);
    assert_eq!(limit(json!({}), None), 8192);
}

/// Returns the types of the blocks after a step with advice, in a request with tools.
fn blocks_after_advice(tools: Value) -> Vec<Value> {
    let items = vec![
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "advisor", "input": {}}),
        json!({"type": "advisor_tool_result", "tool_use_id": "srvtoolu_1",
            "content": {"type": "advisor_result", "text": "Look left."}}),
        json!({"type": "text", "text": "Left."}),
    ];
    let native = RawTurn {
        provider: Anthropic.id(),
        items,
    };
    let history = [
        user("Look."),
        assistant("Left.", &[], Some(native)),
        user("And?"),
    ];
    let body = code_request(&history, json!({"tools": tools}));
    let blocks = body["messages"][1]["content"].as_array();
    let blocks = blocks.expect("blocks").iter();
    blocks.map(|block| block["type"].clone()).collect()
}

// P5
#[test]
fn advice_stays_behind_without_the_advisor() {
    assert_eq!(blocks_after_advice(json!([])), ["text"]);
}

#[test]
fn advice_goes_back_with_the_advisor() {
    let advisor =
        json!({"type": "advisor_20260301", "name": "advisor", "model": "claude-opus-4-6"});
    assert_eq!(
        blocks_after_advice(json!([advisor])),
        ["server_tool_use", "advisor_tool_result", "text"]
    );
}

#[test]
fn thinking_is_back_in_the_next_turn() {
    let next = vec![assistant("Left.", &[], None), user("And now?")];
    let body = thinking_request(&[thoughtless_step("a"), next], "enabled");
    assert_eq!(body["thinking"]["type"], "enabled");
}

/// Writes the blocks of a step in which the provider's search has found tools.
fn blocks_after_search(found: &[&str]) -> Vec<Value> {
    let references = found
        .iter()
        .map(|name| json!({"type": "tool_reference", "tool_name": name}))
        .collect::<Vec<_>>();
    let content = json!({"type": "tool_search_tool_search_result", "tool_references": references});
    let items = vec![
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_bm25", "input": {}}),
        json!({"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": content}),
        tool_use("toolu_1"),
    ];
    let native = RawTurn {
        provider: Anthropic.id(),
        items,
    };
    let history = [
        user("Look."),
        assistant("", &[("toolu_1", "{}")], Some(native)),
        result("toolu_1", "1", false),
    ];
    let body = request(Anthropic, &history, ToolChoice::Auto);
    let content = body["messages"][1]["content"].as_array();
    content.expect("blocks").clone()
}

// P5
#[test]
fn a_reference_to_a_tool_that_is_gone_stays_behind() {
    let blocks = blocks_after_search(&["look", "gone"]);
    assert_eq!(
        blocks[1]["content"]["tool_references"],
        json!([{"type": "tool_reference", "tool_name": "look"}])
    );
}

// P5
#[test]
fn a_search_that_found_only_tools_that_are_gone_goes_too() {
    let blocks = blocks_after_search(&["gone"]);
    let kinds = blocks.iter().map(|block| &block["type"]);
    assert_eq!(kinds.collect::<Vec<_>>(), ["tool_use"]);
}

#[test]
fn a_search_that_found_nothing_stays() {
    assert_eq!(blocks_after_search(&[]).len(), 3);
}

// P5
#[test]
fn the_file_of_a_citation_stays_behind() {
    let citation = json!({
        "type": "page_location", "cited_text": "x", "document_index": 0, "document_title": null,
        "start_page_number": 1, "end_page_number": 2, "file_id": "file_1",
    });
    let text = json!({"type": "text", "text": "Left.", "citations": [citation]});
    let native = RawTurn {
        provider: Anthropic.id(),
        items: vec![text],
    };
    let history = [
        user("Look."),
        assistant("Left.", &[], Some(native)),
        user("And?"),
    ];
    let body = request(Anthropic, &history, ToolChoice::Auto);
    let citation = &body["messages"][1]["content"][0]["citations"][0];
    assert_eq!(citation["cited_text"], "x");
    assert_eq!(citation.get("file_id"), None);
}
