//! Arguments and results on the spans of calls, if the collector keeps content.

use super::support::{call, text, tools};
use serde_json::json;
use tool_core::trace::Redaction;
use tool_core::trace::{Collector, SpanRecord};
use tool_core::{Policy, RunContext, ToolCall, ToolError, tool};

/// Sign in.
#[tool]
fn sign_in(user: &str, password: &str) -> serde_json::Map<String, serde_json::Value> {
    let token = json!({"token": password, "user": user});
    token.as_object().cloned().unwrap_or_default()
}

/// Fail.
#[tool]
fn fail() -> Result<u8, ToolError> {
    Err(ToolError::permanent(
        "no such user; tried password=canary\u{1b}[31m",
    ))
}

const SIGN_IN: &str = r#"{"user": "ann", "password": "canary"}"#;

fn keeping() -> Collector {
    Collector::builder().content(true).build()
}

fn attributes(span: &SpanRecord) -> Vec<(&str, &str)> {
    span.attributes()
        .map(|(name, value)| (name, value.as_str().unwrap_or_default()))
        .collect()
}

// T1
#[tokio::test]
async fn span_content_is_redacted_if_enabled() {
    let collector = keeping();
    let session = text(
        tools![sign_in],
        Policy::text().redaction(Redaction::new().key("user")),
    )
    .await;
    collector
        .run(session.call(ToolCall::new("c", "sign_in", SIGN_IN)))
        .await;
    let report = collector.report();
    let hidden = r#"{"user":"[redacted]","password":"[redacted]"}"#;
    let result = r#"{"token":"[redacted]","user":"[redacted]"}"#;
    let expected = [
        ("gen_ai.tool.call.arguments", hidden),
        ("gen_ai.tool.call.result", result),
    ];
    assert_eq!(attributes(&report.spans()[0]), expected);
}

#[tokio::test]
async fn span_content_is_kept_outside_a_session() {
    let collector = Collector::builder()
        .content(true)
        .redaction(Redaction::new().key("user"))
        .build();
    let tools = tools![sign_in];
    collector
        .run(tools.call("sign_in", SIGN_IN, &RunContext::detached()))
        .await;
    let report = collector.report();
    assert_eq!(
        attributes(&report.spans()[0])[0].1,
        r#"{"user":"[redacted]","password":"[redacted]"}"#
    );
}

#[tokio::test]
async fn span_content_is_off_by_default() {
    let collector = Collector::new();
    let session = text(tools![sign_in], Policy::text()).await;
    collector
        .run(session.call(ToolCall::new("c", "sign_in", SIGN_IN)))
        .await;
    assert_eq!(attributes(&collector.report().spans()[0]), []);
}

// T1: redacted before it is cut
#[tokio::test]
async fn span_content_is_cut_after_redaction() {
    let collector = keeping();
    let session = text(tools![sign_in], Policy::text()).await;
    let arguments =
        json!({"user": "é".repeat(3_980), "password": "canary".repeat(1_000)}).to_string();
    collector
        .run(session.call(ToolCall::new("c", "sign_in", arguments)))
        .await;
    let report = collector.report();
    for (_, kept) in attributes(&report.spans()[0]) {
        assert_eq!(kept.chars().count(), 4_000 + 3);
        assert!(kept.ends_with("...") && !kept.contains("canary"), "{kept}");
    }
}

// T1
#[tokio::test]
async fn span_error_contains_no_arguments_or_secrets() {
    let collector = Collector::new();
    let session = text(tools![sign_in, fail], Policy::text()).await;
    collector
        .run(async {
            call(
                &session,
                "sign_in",
                json!({"user": 7, "password": ["canary"], "sk-canary12345": "canary"}),
            )
            .await;
            call(&session, "fail", json!({})).await;
        })
        .await;
    let report = collector.report();
    let messages = report
        .spans()
        .iter()
        .filter_map(|span| span.error()?.message.as_deref())
        .collect::<Vec<_>>();
    let places = "the arguments do not fit the schema at `/password`, `/[redacted]`, `/user`";
    assert_eq!(
        messages,
        [places, r"no such user; tried password=[redacted]"]
    );
}
