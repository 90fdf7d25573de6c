//! The messages of Live's server and client.

use crate::Provider::GeminiLive;
use crate::event::{Event, Finish, ProtocolError};
use crate::protocol::protocol;
use crate::tests::fixtures::{
    answers, brief, calls, cut_calls, errors, history, lines, pretty, pretty_request, read,
    read_cut_off, request, request_with, response,
};
use expect_test::expect;
use serde_json::{Value, json};
use tool_core::session::ToolChoice;

/// A session: speech, a call, one that is withdrawn, an interruption.
fn session() -> Vec<Value> {
    vec![
        json!({"setupComplete": {}}),
        json!({"serverContent": {"inputTranscription": {"text": "Look around"}}}),
        json!({"serverContent": {"modelTurn": {"parts": [{"text": "Where?", "thought": true}]}}}),
        json!({"serverContent": {"modelTurn": {"parts": [{"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "AAA="}}]}}}),
        json!({"serverContent": {"outputTranscription": {"text": "Let me "}}}),
        json!({"serverContent": {"outputTranscription": {"text": "seh'n ü."}}}),
        json!({"serverContent": {"modelTurn": {"parts": [{"executableCode": {"code": "1"}}]}}}),
        json!({"toolCall": {"functionCalls": [
            {"id": "fc-1", "name": "look", "args": {"place": "left"}}, {"id": "fc-2", "name": "look"},
        ]}}),
        json!({"toolCallCancellation": {"ids": ["fc-2"]}}),
        json!({"sessionResumptionUpdate": {"newHandle": "h", "resumable": true}}),
        json!({"serverContent": {"interrupted": true}}),
        json!({"serverContent": {"generationComplete": true}}),
        json!({"serverContent": {"turnComplete": true}, "usageMetadata": {
            "promptTokenCount": 9, "responseTokenCount": 4, "thoughtsTokenCount": 1, "toolUsePromptTokenCount": 1,
        }}),
        json!({"goAway": {"timeLeft": "10s"}}),
    ]
}

fn stream(messages: &[Value]) -> String {
    // As the server sends it: with line breaks.
    messages
        .iter()
        .map(|message| serde_json::to_string_pretty(message).expect("serialises") + "\n")
        .collect()
}

#[test]
fn messages_are_read_the_same_wherever_they_are_cut() {
    expect![[r#"
        unknown: {"setupComplete":{}}
        unknown: {"serverContent":{"inputTranscription":{"text":"Look around"}}}
        reasoning: Where?
        audio audio/pcm;rate=24000: AAA=
        text: Let me seh'n ü.
        item: {"executableCode":{"code":"1"}}
        started fc-1: look
        arguments fc-1: {
                  "place": "left"
                }
        call fc-1 look: {
                  "place": "left"
                }
        started fc-2: look
        arguments fc-2: {}
        call fc-2 look: {}
        cancelled: fc-2
        unknown: {"sessionResumptionUpdate":{"newHandle":"h","resumable":true}}
        interrupted: 
        finished: Stop
        usage: 10 0 0 5 1
        unknown: {"goAway":{"timeLeft":"10s"}}
    "#]]
    .assert_eq(&brief(&read(GeminiLive, &stream(&session()))));
}

#[test]
fn a_message_at_a_time_says_the_same() {
    let mut protocol = protocol(GeminiLive);
    let mut told = session()
        .iter()
        .flat_map(|message| protocol.push_event(message))
        .collect::<Vec<_>>();
    told.extend(protocol.finish());
    assert_eq!(told, read(GeminiLive, &lines(&session())));
}

#[test]
fn a_closed_connection_is_an_error_and_keeps_the_calls() {
    for last in 3..session().len() - 2 {
        let events = read(GeminiLive, &stream(&session()[..last]));
        assert_eq!(
            errors(&events),
            [ProtocolError::Truncated { call_id: None }],
            "after {last}"
        );
        assert_eq!(
            calls(&events).len(),
            if last > 7 { 2 } else { 0 },
            "after {last}"
        );
    }
    let call = stream(&session()[7..8]);
    read_cut_off(GeminiLive, &call, call.trim_end().len());
}

#[test]
fn arguments_keep_every_digit() {
    let message = r#"{"toolCall": {"functionCalls": [{"name": "look", "args": {"z": 1.50, "a": 123456789012345678901}}]}}"#;
    assert_eq!(
        calls(&read(GeminiLive, message))[0].arguments(),
        r#"{"z": 1.50, "a": 123456789012345678901}"#
    );
}

// M3
#[test]
fn calls_that_come_again_in_a_turn_run_once() {
    let again = session()[7].clone();
    let mut other = again.clone();
    other["toolCall"]["functionCalls"][1]["args"] = json!({"place": "right"});
    let cancelled = json!({"toolCallCancellation": {"ids": ["fc-1", "fc-2", "x"]}});
    let events = read(
        GeminiLive,
        &stream(&[again.clone(), again.clone(), other, cancelled.clone()]),
    );
    let ids = |events: &[Event]| {
        calls(events)
            .iter()
            .map(|call| call.id().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&events), ["fc-1", "fc-2", "fc-2_2"]);
    let latest = Event::Cancelled(vec!["fc-1".into(), "fc-2_2".into(), "x".into()]);
    assert!(events.contains(&latest), "the latest of that id");

    let over = json!({"serverContent": {"turnComplete": true}});
    let events = read(GeminiLive, &stream(&[again.clone(), over, again]));
    assert_eq!(
        ids(&events),
        ["fc-1", "fc-2", "fc-1_2", "fc-2_2"],
        "in another turn"
    );
}

// M1
#[test]
fn a_message_that_cannot_be_read_cuts_the_calls_of_its_turn_off() {
    for unreadable in [
        json!([1]),
        json!({"serverContent": "text"}),
        json!({"serverContent": {"modelTurn": "text"}}),
        json!({"serverContent": {"modelTurn": {"parts": ["text"]}}}),
        json!({"serverContent": {"modelturn": {"parts": [{"text": "a"}]}}}),
        json!({"serverContents": {"modelTurn": {"parts": [{"text": "a"}]}}}),
        json!({"serverContent": {"outputTranscription": "a"}}),
        json!({"serverContent": {"outputTranscription": {"text": 5}}}),
        json!({"toolCall": {}}),
        json!({"toolCall": [session()[7]["toolCall"]]}),
        json!({"toolCall": {"functionCalls": ["look"]}}),
        json!({"toolCall": {"functionCalls": [{"id": "fc-3"}]}}),
        json!({"toolCalls": session()[7]["toolCall"]}),
    ] {
        let over = json!({"serverContent": {"turnComplete": true}});
        let mut next = session()[7].clone();
        next["toolCall"]["functionCalls"] = json!([{"id": "fc-9", "name": "look"}]);
        let told = read(
            GeminiLive,
            &stream(&[unreadable.clone(), session()[7].clone(), over, next]),
        );
        assert!(errors(&told)[0].is_loss(), "{unreadable}");
        assert_eq!(cut_calls(&told).len(), 2, "{unreadable}");
        assert_eq!(
            calls(&told)
                .iter()
                .map(|call| call.id().to_owned())
                .collect::<Vec<_>>(),
            ["fc-9"],
            "{unreadable}"
        );
    }
    let garbled =
        "{\"serverContent\": {\"turnComplete\": NaN}}\n".to_owned() + &stream(&session()[7..8]);
    assert_eq!(calls(&read(GeminiLive, &garbled)), []);
}

// M1
#[test]
fn reasons_to_end_a_turn_are_told() {
    for (reason, finish) in [
        ("", Finish::Stop),
        ("TURN_COMPLETE_REASON_UNSPECIFIED", Finish::Stop),
        ("NEED_MORE_INPUT", Finish::Stop),
        ("PROHIBITED_INPUT_CONTENT", Finish::Filtered),
        ("INPUT_OTHER", Finish::Filtered),
        ("GENERATED_IMAGE_MINORS", Finish::Filtered),
        ("UNSAFE_PROMPT_FOR_IMAGE_GENERATION", Finish::Filtered),
        ("BLOCKLIST", Finish::Filtered),
        (
            "MALFORMED_FUNCTION_CALL",
            Finish::Other("MALFORMED_FUNCTION_CALL".into()),
        ),
        (
            "RESPONSE_REJECTED",
            Finish::Other("RESPONSE_REJECTED".into()),
        ),
    ] {
        let over = json!({"serverContent": {"turnComplete": true, "turnCompleteReason": reason}});
        let told = read(GeminiLive, &stream(&[over]));
        assert_eq!(
            told.last(),
            Some(&Event::Finished(finish.clone())),
            "{reason}"
        );
        assert_eq!(
            errors(&told).len(),
            usize::from(finish.failure().is_some()),
            "{reason}"
        );
    }
}

#[test]
fn an_error_of_the_server_is_told() {
    let message = json!({"error": {"code": 1011, "message": "Deadline expired"}}).to_string();
    let error = ProtocolError::of_provider(Some("1011".into()), "Deadline expired");
    assert_eq!(errors(&read(GeminiLive, &message)), [error]);
}

// L18
#[test]
fn results_are_one_message() {
    let mut protocol = protocol(GeminiLive);
    protocol.push_event(&session()[7]);
    expect![[r##"
        {
          "toolResponse": {
            "functionResponses": [
              {"id":"fc-1","name":"look","response":{"output":{"$$ref":"#/a","n":1}}},
              {"id":"fc-1","name":"look","response":{"output":"hello"}},
              {"id":"fc-1","name":"look","response":{"error":"the slot is taken"}},
              {"id":"fc-1","name":"look","response":{"error":"An internal error occurred"}},
              {"id":"fc-1","name":"look","response":{"error":"a person has to agree"}},
              {"id":"fc-1","name":"look","response":{"output":""}},
              {"id":"fc-1","name":"look","response":{"output":""},"scheduling":"SILENT"},
              {
                "id": "fc-1",
                "name": "look",
                "parts": [{"inlineData":{"data":"iVBORw==","mimeType":"image/png"}}],
                "response": {
                  "output": "a chart\n[image (image/tiff) left out: it cannot be shown here]\n[audio (audio/wav) left out: it cannot be shown here]\n# A\n[resource https://example.com/b]"
                }
              }
            ]
          }
        }
    "##]].assert_eq(&pretty(&protocol.encode(&answers("fc-1"))));
}

#[test]
fn calls_that_were_withdrawn_are_not_answered() {
    let mut protocol = protocol(GeminiLive);
    protocol.push_event(&session()[7]);
    protocol.push_event(&session()[8]);
    let told = protocol.encode(&[
        response("fc-1", "look", "", &json!(1)),
        response("fc-2", "look", "", &json!(2)),
    ]);
    let responses = told["toolResponse"]["functionResponses"]
        .as_array()
        .expect("responses")
        .clone();
    assert_eq!(
        responses,
        [json!({"id": "fc-1", "name": "look", "response": {"output": 1}})]
    );
}

// L24
#[test]
fn further_answers_go_out_under_the_id_of_their_call() {
    let mut protocol = protocol(GeminiLive);
    protocol.push_event(&session()[7]);
    let told = protocol.encode(&[
        response("fc-1", "look", "", &json!("looking")),
        response("fc-1_update_1", "look", "", &json!("still looking")),
        response("fc-1_final", "look", "", &json!("a door")),
        response("fc-2_final", "look", "stop", &Value::Null),
        response("unknown_final", "look", "", &json!(1)),
    ]);
    expect![[r#"
        {
          "toolResponse": {
            "functionResponses": [
              {"id":"fc-1","name":"look","response":{"output":"looking"}},
              {
                "id": "fc-1",
                "name": "look",
                "response": {"output":"still looking"},
                "scheduling": "WHEN_IDLE",
                "willContinue": true
              },
              {"id":"fc-1","name":"look","response":{"output":"a door"},"scheduling":"WHEN_IDLE"},
              {"id":"fc-2","name":"look","response":{"output":""},"scheduling":"SILENT"},
              {"id":"unknown_final","name":"look","response":{"output":1}}
            ]
          }
        }
    "#]]
    .assert_eq(&pretty(&told));
}

#[test]
fn a_session_is_set_up() {
    expect![[r#"
        {
          "setup": {
            "generationConfig": {"maxOutputTokens":100},
            "historyConfig": {"initialHistoryInClientContent":true},
            "model": "models/a-model",
            "systemInstruction": {"parts":[{"text":"Be brief."}]},
            "tools": "declared"
          }
        }
    "#]]
    .assert_eq(&pretty_request(&request(
        GeminiLive,
        &history(),
        ToolChoice::Auto,
    )));
    let extra =
        json!({"generationConfig": {"responseModalities": ["AUDIO"]}, "model": "models/other"});
    let body = request_with(
        GeminiLive,
        &[],
        ToolChoice::Auto,
        extra.as_object().expect("an object"),
    );
    assert_eq!(body["setup"]["model"], "models/other");
    assert_eq!(
        body["setup"]["generationConfig"],
        json!({"maxOutputTokens": 100, "responseModalities": ["AUDIO"]})
    );
}
