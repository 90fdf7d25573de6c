//! Held against rig's own types.

use crate::interop::rig::{tool, tools};
use crate::interop::tests::convert::session;
use crate::providers::provider::Provider;
use rig_core::message::ToolResultContent;
use rig_core::tool::{ToolErrorKind, ToolExecutionError, ToolOutput};
use serde_json::{Value, json};

async fn call(tool: &str, arguments: Value) -> Result<ToolOutput, ToolExecutionError> {
    let tools = tools(Provider::OpenAiChat, &session().await);
    tools.into_iter().find(|one| one.name() == tool).expect("a tool of that name").execute(arguments).await
}

#[tokio::test]
async fn every_tool_is_there_under_its_name_with_its_schema() {
    let tools = tools(Provider::OpenAiChat, &session().await);
    let names = tools.iter().map(|tool| tool.name().to_string()).collect::<Vec<_>>();
    assert_eq!(names, ["book", "break_down", "show"]);
    let book = tools[0].definition();
    assert_eq!(book.description, "Book a table.");
    assert_eq!(book.parameters["properties"]["guests"]["type"], "integer");
}

// L18
#[tokio::test]
async fn a_result_reaches_the_model_as_the_session_tells_it() {
    let output = call("book", json!({"guests": 2, "name": "Ada"})).await.expect("a result");
    assert_eq!(output.as_text(), Some(r#""2 for Ada""#));
}

// L18
#[tokio::test]
async fn an_error_reaches_the_model_as_what_it_says_and_the_agent_as_what_it_is() {
    let error = call("book", json!({"guests": 2})).await.expect_err("an error");
    assert_eq!(error.model_feedback(), Some("the book is open elsewhere"));
    assert_eq!((error.kind(), error.retryable()), (ToolErrorKind::Provider, Some(true)));
    assert_eq!(error.code(), Some("TRANSIENT"));
}

// L18
#[tokio::test]
async fn an_internal_error_tells_neither_of_them_more_than_that_it_happened() {
    let error = call("break_down", json!({})).await.expect_err("an error");
    assert_eq!(error.model_feedback(), Some("An internal error occurred"));
    assert!(!format!("{error:?}{error}").contains("hunter2"));
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_answered_with_every_problem() {
    let error = call("book", json!({"guests": 99, "name": 7})).await.expect_err("an error");
    assert_eq!(error.kind(), ToolErrorKind::InvalidArgs);
    let told = error.model_feedback().expect("feedback");
    assert!(told.contains("guests") && told.contains("name"), "{told}");
}

#[tokio::test]
async fn parts_of_content_are_shown_as_what_they_are() {
    let output = call("show", json!({})).await.expect("a result");
    assert!(matches!(output.as_content(), [ToolResultContent::Text(_), ToolResultContent::Image(_)]), "{output:?}");
}

#[tokio::test]
async fn calls_count_against_the_session() {
    let session = session().await;
    let tools = tools(Provider::OpenAiChat, &session);
    session.end().await;
    let error = tools[0].execute(json!({"guests": 2, "name": "Ada"})).await.expect_err("an error");
    assert_eq!(error.code(), Some("SESSION_INACTIVE"));
}
