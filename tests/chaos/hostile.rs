//! T4 in a session: each hostile argument is VALIDATION or a defined value, and the session goes on.

use crate::support::{block_on, call, kind, open_policy, session};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tool_core::{
    ErrorKind, FunctionTool, RawTool, Session, ToolCall, ToolContext, ToolResponse, tool,
};

#[derive(Deserialize, Serialize, schemars::JsonSchema)]
struct One {
    n: i64,
}

/// An integer.
#[tool]
fn int(n: i64) -> i64 {
    n
}

/// A float.
#[tool]
fn float(n: f64) -> String {
    format!("{n:?}")
}

/// A text.
#[tool]
fn text(s: &str) -> String {
    s.to_owned()
}

/// Anything.
#[tool]
fn any(v: serde_json::Value) -> serde_json::Value {
    v
}

/// A struct of one field.
#[tool]
fn one(one: One) -> i64 {
    one.n
}

async fn hostile_session() -> Session {
    let raw = RawTool {
        name: "raw".into(),
        description: String::new(),
        parameters: json!({"type": "object"}),
    };
    let raw = FunctionTool::raw(
        raw,
        async |v: serde_json::Value, _: &tool_core::RunContext| Ok(v),
    );
    let tools = ToolContext::builder()
        .with(int)
        .with(float)
        .with(text)
        .with(any)
        .with(one)
        .with(raw);
    let tools = tools.build().expect("sound");
    session(tools, open_policy().repeated_calls(None)).await
}

/// Makes the call, and checks that the session goes on.
async fn made(
    session: &Session,
    tool: &str,
    arguments: impl Into<tool_core::call::Arguments<'_>>,
) -> ToolResponse {
    let response = session.call(ToolCall::new("c", tool, arguments)).await;
    assert!(
        serde_json::from_str::<serde_json::Value>(&response.to_json()).is_ok(),
        "an envelope that can be read"
    );
    let next = session.call(call("next", "int", json!({"n": 1}))).await;
    assert_eq!(next.data_json(), Some("1"), "the next call works");
    response
}

async fn refused(
    session: &Session,
    tool: &str,
    arguments: impl Into<tool_core::call::Arguments<'_>>,
) {
    let response = made(session, tool, arguments).await;
    assert_eq!(kind(&response), ErrorKind::Validation, "{response}");
    let error = response.error().expect("refused");
    assert!(!error.retryable && !error.partial_side_effects);
    assert!(error.message.len() < 20_000, "a bounded answer");
}

// T4: 100,000 deep, closed and open, in every place
#[test]
fn arguments_that_are_100_000_deep_are_refused() {
    block_on(async {
        let session = hostile_session().await;
        let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
        let objects = r#"{"v":"#.repeat(100_000);
        let texts = [
            format!("{open}{close}"),
            open.clone(),
            format!(r#"{{"v":{open}{close}}}"#),
            format!(r#"{{"v":{open}"#),
            format!("{objects}1{}", "}".repeat(100_000)),
            objects.clone(),
            serde_json::to_string(&format!(r#"{{"v":{open}{close}}}"#)).expect("a text in a text"),
        ];
        for text in &texts {
            for tool in ["any", "raw", "int"] {
                refused(&session, tool, text.as_str()).await;
            }
        }
    });
}

// V4
#[test]
fn arguments_are_read_up_to_the_cap() {
    block_on(async {
        let session = hostile_session().await;
        let of = |bytes: usize| format!(r#"{{"s":"{}"}}"#, "a".repeat(bytes - 8));
        assert!(made(&session, "text", of(1 << 20)).await.is_ok());
        refused(&session, "text", of((1 << 20) + 1)).await;
        refused(&session, "text", of(50 << 20)).await;
        let many = (0..100_000)
            .map(|n| format!(r#""k{n}":1"#))
            .collect::<Vec<_>>()
            .join(",");
        refused(&session, "int", format!("{{{many}}}")).await;
    });
}

// V4: in every position
#[test]
fn bytes_that_are_not_utf_8_are_refused() {
    block_on(async {
        let session = hostile_session().await;
        let sound = br#"{"s":"abc"}"#;
        for bad in [
            &[0xff][..],
            &[0xc0, 0x80],
            &[0xed, 0xa0, 0x80],
            &[0xf4, 0x90, 0x80, 0x80],
            &[0xe2, 0x82],
        ] {
            for at in 0..=sound.len() {
                let bytes = [&sound[..at], bad, &sound[at..]].concat();
                refused(&session, "text", bytes).await;
            }
        }
    });
}

// T4: lone surrogates, BOM, NaN, 1e400, an array for a struct, duplicate keys
#[test]
fn invalid_json_for_the_schema_is_refused() {
    block_on(async {
        let session = hostile_session().await;
        for (tool, text) in [
            ("text", r#"{"s":"\ud800"}"#),
            ("text", r#"{"s":"\udc00\ud800"}"#),
            ("text", r#"{"\ud800":"s"}"#),
            ("text", "\u{feff}{\"s\":\"a\"}"),
            ("text", "{\"s\":\"a\n\"}"),
            ("text", r#"{"s":"a","s":"b"}"#),
            ("text", r#"{"s":"a","\u0073":"b"}"#),
            ("any", r#"{"v":{"a":1,"a":2}}"#),
            ("float", r#"{"n":NaN}"#),
            ("float", r#"{"n":Infinity}"#),
            ("float", r#"{"n":1e400}"#),
            ("float", r#"{"n":-1e400}"#),
            ("float", r#"{"n":"NaN"}"#),
            ("float", r#"{"n":"1e400"}"#),
            ("int", r#"{"n":1e400}"#),
            ("int", r#"{"n":9223372036854775808}"#),
            ("int", r#"{"n":01}"#),
            ("int", r#"{"n":0x1}"#),
            ("int", r#"{"n":1}{"n":2}"#),
            ("int", "[1]"),
            ("int", "7"),
            ("one", r#"{"one":[7]}"#),
            ("one", r#"[{"n":7}]"#),
        ] {
            refused(&session, tool, text).await;
        }
    });
}

// T10
#[test]
fn numbers_at_the_edge_have_a_defined_value() {
    block_on(async {
        let session = hostile_session().await;
        for (tool, text, data) in [
            ("int", r#"{"n":-0}"#, "0"),
            ("int", r#"{"n":-0.0}"#, "0"),
            ("int", r#"{"n":1e2}"#, "100"),
            (
                "int",
                r#"{"n":-9223372036854775808}"#,
                "-9223372036854775808",
            ),
            ("float", r#"{"n":-0}"#, r#""-0.0""#),
            ("float", r#"{"n":1e-400}"#, r#""0.0""#),
            ("text", r#"{"s":"\ud83d\ude00"}"#, "\"\u{1F600}\""),
            ("text", r#"{"s":"\u0000"}"#, r#""\u0000""#),
            ("any", r#"{"v":[1e2]}"#, "[100.0]"),
        ] {
            let response = made(&session, tool, text).await;
            assert_eq!(response.data_json(), Some(data), "{text}: {response}");
        }
    });
}

// R-L1: also if the text does not decode
#[test]
fn the_third_attempt_with_hostile_arguments_is_a_loop() {
    block_on(async {
        let session = session(crate::support::tools(int), open_policy()).await;
        let text = "[".repeat(100_000);
        let mut kinds = Vec::new();
        for n in 0..3 {
            kinds.push(kind(
                &session
                    .call(ToolCall::new(n.to_string(), "int", text.as_str()))
                    .await,
            ));
        }
        assert_eq!(
            kinds,
            [
                ErrorKind::Validation,
                ErrorKind::Validation,
                ErrorKind::LoopDetected
            ]
        );
    });
}
