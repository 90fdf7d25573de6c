//! Conversions to rig's types.

use crate::rig::tools;
use crate::tests::convert::session;
use rig_core::message::ToolResultContent;
use rig_core::tool::{ToolErrorKind, ToolExecutionError, ToolOutput};
use serde_json::{Value, json};
use tool_adapters_providers::Provider;
use tool_core::session::ToolSearch;
use tool_core::{Mode, Policy, Runtime, ToolCall};

async fn call(tool: &str, arguments: Value) -> Result<ToolOutput, ToolExecutionError> {
    let tools = tools(Provider::OpenAiChat, &session().await);
    tools
        .into_iter()
        .find(|one| one.name() == tool)
        .expect("a tool of that name")
        .execute(arguments)
        .await
}

#[tokio::test]
async fn converts_names_descriptions_and_schemas() {
    let tools = tools(Provider::OpenAiChat, &session().await);
    let names = tools
        .iter()
        .map(|tool| tool.name().to_string())
        .collect::<Vec<_>>();
    assert_eq!(names, ["book", "break_down", "show"]);
    let book = tools[0].definition();
    assert_eq!(book.description, "Book a table.");
    assert_eq!(book.parameters["properties"]["guests"]["type"], "integer");
}

// L39
#[tokio::test]
async fn has_all_tools_of_a_searched_session() {
    let policy = Policy::text().search_tools(ToolSearch::over_tools(0).always(["show"]));
    let runtime = Runtime::builder(session().await.tools().clone())
        .policy(policy)
        .build()
        .expect("a runtime");
    let session = runtime.session("s-2", Mode::Text).await.expect("a session");
    session.call(ToolCall::new("c", "break_down", "{}")).await;
    let names = tools(Provider::OpenAiChat, &session)
        .iter()
        .map(|tool| tool.name().to_string())
        .collect::<Vec<_>>();
    assert_eq!(names, ["show", "book", "break_down"]);
}

// L18
#[tokio::test]
async fn gives_the_model_the_text_of_a_result() {
    let output = call("book", json!({"guests": 2, "name": "Ada"}))
        .await
        .expect("a result");
    assert_eq!(output.as_text(), Some("2 for Ada"));
}

// L18
#[tokio::test]
async fn gives_the_model_the_text_and_the_agent_the_kind_of_an_error() {
    let error = call("book", json!({"guests": 2}))
        .await
        .expect_err("an error");
    assert_eq!(error.model_feedback(), Some("the book is open elsewhere"));
    assert_eq!(
        (error.kind(), error.retryable()),
        (ToolErrorKind::Provider, Some(true))
    );
    assert_eq!(error.code(), Some("TRANSIENT"));
}

// L18
#[tokio::test]
async fn masks_internal_errors() {
    let error = call("break_down", json!({})).await.expect_err("an error");
    assert_eq!(error.model_feedback(), Some("An internal error occurred"));
    assert!(!format!("{error:?}{error}").contains("hunter2"));
}

#[tokio::test]
async fn reports_every_invalid_argument() {
    let error = call("book", json!({"guests": 99, "name": 7}))
        .await
        .expect_err("an error");
    assert_eq!(error.kind(), ToolErrorKind::InvalidArgs);
    let feedback = error.model_feedback().expect("feedback");
    assert!(
        feedback.contains("guests") && feedback.contains("name"),
        "{feedback}"
    );
}

#[tokio::test]
async fn converts_parts_of_content() {
    let output = call("show", json!({})).await.expect("a result");
    assert!(
        matches!(
            output.as_content(),
            [ToolResultContent::Text(_), ToolResultContent::Image(_)]
        ),
        "{output:?}"
    );
}

#[tokio::test]
async fn calls_go_through_the_session() {
    let session = session().await;
    let tools = tools(Provider::OpenAiChat, &session);
    session.end().await;
    let error = tools[0]
        .execute(json!({"guests": 2, "name": "Ada"}))
        .await
        .expect_err("an error");
    assert_eq!(error.code(), Some("SESSION_INACTIVE"));
}
