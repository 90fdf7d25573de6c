//! Conversions to genai's types.

use crate::genai;
use crate::genai::{PROVIDERS, calls, results, tools};
use crate::tests::convert::{session, tools as desk};
use ::genai::chat;
use serde_json::{Value, json};
use tool_adapters_providers::{DeclareOptions, Provider, declare, declare_with};

#[allow(
    clippy::needless_pass_by_value,
    reason = "reads better where it is called"
)]
fn book_call(arguments: Value) -> chat::ToolCall {
    serde_json::from_value(json!({"call_id": "c1", "fn_name": "book", "fn_arguments": arguments}))
        .expect("a call")
}

#[test]
fn converts_the_declarations_of_each_supported_provider() {
    for provider in PROVIDERS {
        let tools = tools(&declare(*provider, &desk())).expect("tools");
        let names = tools
            .iter()
            .map(|tool| tool.name.to_string())
            .collect::<Vec<_>>();
        assert_eq!(names, ["book", "break_down", "show"], "{provider}");
        let schema = tools[0].schema.as_ref().expect("a schema");
        assert_eq!(
            schema["properties"]["guests"]["type"], "integer",
            "{provider}"
        );
        assert_eq!(
            tools[0].description.as_deref(),
            Some("Book a table."),
            "{provider}"
        );
    }
}

#[test]
fn refuses_declarations_for_unsupported_providers() {
    let error = tools(&declare(Provider::Gemini, &desk()))
        .expect_err("unsupported")
        .to_string();
    assert!(error.ends_with(", got declarations for gemini"), "{error}");
    assert!(error.contains("gemini-json-schema"), "{error}");
}

#[test]
fn converts_strictness() {
    let options = DeclareOptions {
        strict: true,
        ..DeclareOptions::default()
    };
    let tools = tools(&declare_with(Provider::OpenAiResponses, &desk(), options)).expect("tools");
    assert_eq!(tools[0].strict, Some(true));
    assert_eq!(
        genai::tools(&declare(Provider::OpenAiResponses, &desk())).expect("tools")[0].strict,
        Some(false)
    );
}

// L18
#[tokio::test]
async fn converts_calls_and_results_with_their_ids() {
    let session = session().await;
    let declared = declare(Provider::Anthropic, session.tools());
    let calls = calls(
        &declared,
        &[
            book_call(json!({"guests": 2, "name": "Ada"})),
            book_call(json!({"guests": 2})),
        ],
    );
    assert_eq!((calls[0].id(), calls[0].name()), ("c1", "book"));
    let answers = [
        session.call(calls[0].clone()).await,
        session.call(calls[1].clone()).await,
    ];
    let results = results(&declared, &answers);
    assert_eq!(
        (results[0].call_id.as_str(), results[0].content.as_str()),
        ("c1", "2 for Ada")
    );
    assert_eq!(results[0].fn_name.as_deref(), Some("book"));
    assert_eq!(results[1].content, "the book is open elsewhere");
}

#[test]
fn keeps_arguments_that_are_not_json() {
    let declared = declare(Provider::OpenAiChat, &desk());
    let text = |arguments| {
        calls(&declared, &[book_call(arguments)])[0]
            .arguments()
            .to_owned()
    };
    assert_eq!(text(json!("{\"guests\": ")), "{\"guests\": ");
    assert_eq!(text(Value::Null), "{}");
}
