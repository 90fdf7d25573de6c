//! Requests and answers of MCP.

use crate::Provider::Mcp;
use crate::event::{Event, ProtocolError};
use crate::protocol::protocol;
use crate::tests::fixtures::{
    answers, brief, calls, errors, failure, lines, pretty, read, request, response,
};
use crate::tests::streams::events;
use expect_test::expect;
use serde_json::{Value, json};
use tool_core::call::ResultForm;
use tool_core::session::ToolChoice;

fn request_of(id: &Value, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn call(id: &Value) -> Value {
    request_of(id, &json!({"name": "look", "arguments": {"place": "left"}}))
}

#[test]
fn requests_are_read_the_same_wherever_they_are_cut() {
    let meta = json!({"name": "look", "arguments": {"place": "ü"}, "_meta": {"progressToken": 7, "traceparent": "00-"}});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}),
        request_of(&json!(1), &meta),
        request_of(&json!("b"), &json!({"name": "look"})),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "reason": "late"}}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "never"}}),
        json!({"jsonrpc": "2.0", "id": 3, "result": {}}),
    ];
    expect![[r#"
        unknown: {"id":0,"jsonrpc":"2.0","method":"initialize","params":{}}
        item: {"_meta":{"progressToken":7,"traceparent":"00-"},"id":1}
        started 1: look
        arguments 1: {"place":"ü"}
        call 1 look: {"place":"ü"}
        started b: look
        arguments b: {}
        call b look: {}
        cancelled: 1
        unknown: {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"never"}}
        unknown: {"id":3,"jsonrpc":"2.0","result":{}}
    "#]]
    .assert_eq(&brief(&read(Mcp, &lines(&messages))));
    assert_eq!(
        brief(&read(Mcp, &json!(messages).to_string())),
        brief(&read(Mcp, &lines(&messages))),
        "a batch"
    );
    let batch = protocol(Mcp).push_event(&json!(messages));
    assert_eq!(
        brief(&batch),
        brief(&read(Mcp, &lines(&messages))),
        "parsed already"
    );
}

#[test]
fn what_ends_in_the_middle_is_an_error_and_loses_no_call() {
    let stream = lines(&[call(&json!(1)), call(&json!(2))]);
    let second = stream.find('\n').expect("a line") + 2;
    for at in second..stream.trim_end().len() {
        let events = events(Mcp, [stream.as_bytes().get(..at).expect("within")]);
        assert_eq!(
            (calls(&events).len(), errors(&events)),
            (1, vec![ProtocolError::Truncated { call_id: None }])
        );
    }
}

#[test]
fn ids_come_back_in_their_own_type() {
    let ids = [
        json!(1),
        json!("1"),
        json!(-7),
        json!(18_446_744_073_709_551_615_u64),
        json!(""),
        json!("ü \""),
    ];
    let mut protocol = protocol(Mcp);
    let events = protocol.push(lines(&ids.clone().map(|id| call(&id))).as_bytes());
    assert_eq!(errors(&events), [], "a text and a number are two ids");
    let answers = calls(&events)
        .iter()
        .map(|call| response(call.id(), "look", "", &json!(1)))
        .collect::<Vec<_>>();
    let told = protocol.encode(&answers);
    let told = told
        .as_array()
        .expect("answers")
        .iter()
        .map(|answer| answer["id"].clone())
        .collect::<Vec<_>>();
    assert_eq!(told, ids);
}

#[test]
fn an_id_that_comes_again_is_told_and_both_are_answered() {
    let mut protocol = protocol(Mcp);
    let events = protocol.push(lines(&[call(&json!(1)), call(&json!(1))]).as_bytes());
    assert_eq!(
        errors(&events),
        [ProtocolError::DuplicateId { id: "1".into() }]
    );
    assert_eq!(
        calls(&events)
            .iter()
            .map(|call| call.id().to_owned())
            .collect::<Vec<_>>(),
        ["1", "1_2"]
    );
    assert_eq!(
        protocol.encode(&[response("1_2", "look", "", &json!(1))])[0]["id"],
        1
    );
}

#[test]
fn requests_that_are_wrong_are_errors_and_reading_goes_on() {
    for (wrong, message) in [
        (
            request_of(&json!(1), &json!({"arguments": {}})),
            "expected a text as the `name`",
        ),
        (
            request_of(&json!(1), &json!({"name": 7})),
            "expected a text as the `name`",
        ),
        (request_of(&json!(1), &json!([1])), "no `params`"),
        (call(&json!(1.5)), "a text or a whole number"),
        (call(&json!({})), "a text or a whole number"),
        (json!([7]), "expected a JSON-RPC object"),
        (json!([[]]), "expected a JSON-RPC object"),
    ] {
        let stream = lines(&[json!([wrong]), call(&json!(2))]);
        let events = read(Mcp, &stream);
        let told = errors(&events);
        assert!(
            matches!(&*told, [ProtocolError::Malformed { message: said, .. }] if said.contains(message)),
            "{told:?}"
        );
        assert_eq!(calls(&events).len(), 1, "{wrong}");
    }
    let events = read(
        Mcp,
        &lines(&[json!({"method": "tools/call", "params": {"name": "look"}})]),
    );
    assert!(matches!(&*events, [Event::Unknown(_)]), "no call is open");
}

#[test]
fn arguments_are_told_digit_by_digit() {
    let stream = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{"z": 1.50, "a": 123456789012345678901}}}"#;
    assert_eq!(
        calls(&read(Mcp, stream))[0].arguments(),
        r#"{"z": 1.50, "a": 123456789012345678901}"#
    );
    let text = request_of(&json!(1), &json!({"name": "look", "arguments": "{}"}));
    assert_eq!(
        calls(&protocol(Mcp).push_event(&text))[0].arguments(),
        r#""{}""#,
        "the tool's to refuse"
    );
}

// L18
#[test]
fn each_result_is_an_answer() {
    let mut protocol = protocol(Mcp);
    protocol.push_event(&call(&json!(1)));
    expect![[r##"
        [
          {
            "id": 1,
            "jsonrpc": "2.0",
            "result": {
              "content": [{"text":"{\"$ref\":\"#/a\",\"n\":1}","type":"text"}],
              "isError": false,
              "resultType": "complete",
              "structuredContent": {"$ref":"#/a","n":1}
            }
          },
          {
            "id": 1,
            "jsonrpc": "2.0",
            "result": {"content":[{"text":"hello","type":"text"}],"isError":false,"resultType":"complete"}
          },
          {
            "id": 1,
            "jsonrpc": "2.0",
            "result": {"content":[{"text":"the slot is taken","type":"text"}],"isError":true,"resultType":"complete"}
          },
          {
            "id": 1,
            "jsonrpc": "2.0",
            "result": {
              "content": [{"text":"An internal error occurred","type":"text"}],
              "isError": true,
              "resultType": "complete"
            }
          },
          {
            "id": 1,
            "jsonrpc": "2.0",
            "result": {
              "content": [{"text":"a person has to agree","type":"text"}],
              "isError": true,
              "resultType": "complete"
            }
          },
          {"id":1,"jsonrpc":"2.0","result":{"content":[],"isError":false,"resultType":"complete"}},
          {"id":1,"jsonrpc":"2.0","result":{"content":[],"isError":false,"resultType":"complete"}},
          {
            "id": 1,
            "jsonrpc": "2.0",
            "result": {
              "content": [
                {"text":"a chart","type":"text"},
                {"text":"","type":"text"},
                {"data":"iVBORw==","mimeType":"image/png","type":"image"},
                {"data":"SUkq","mimeType":"image/tiff","type":"image"},
                {"data":"UklGRg==","mimeType":"audio/wav","type":"audio"},
                {
                  "resource": {"mimeType":"text/markdown","text":"# A","uri":"file:///a.md"},
                  "type": "resource"
                },
                {"name":"https://example.com/b","type":"resource_link","uri":"https://example.com/b"}
              ],
              "isError": false,
              "resultType": "complete"
            }
          }
        ]
    "##]]
    .assert_eq(&pretty(&protocol.encode(&answers("1"))));
    protocol.result_form(ResultForm::Envelope);
    let envelope = protocol.encode(&answers("1"));
    assert_eq!(envelope[0]["result"]["structuredContent"]["ok"], true);
    assert!(!envelope.to_string().contains("canary") && !envelope.to_string().contains("hunter2"));
}

// L19
#[test]
fn a_tool_that_does_not_exist_is_an_error_of_the_protocol() {
    let mut protocol = protocol(Mcp);
    protocol.push_event(&call(&json!(1)));
    let told = protocol.encode(&[failure(
        "1",
        "lok",
        "NOT_FOUND",
        "no tool `lok`; nearest: `look`",
    )]);
    let error = json!({"code": -32602, "message": "no tool `lok`; nearest: `look`"});
    assert_eq!(told, json!([{"jsonrpc": "2.0", "id": 1, "error": error}]));
}

#[test]
fn a_request_is_the_list_of_tools() {
    let body = request(Mcp, &[], ToolChoice::Auto);
    assert_eq!(body["tools"].as_array().map(Vec::len), Some(1));
}
