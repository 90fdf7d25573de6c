//! Tests of the client and the assertions.

use crate::call::context::RunContext;
use crate::call::error::ErrorKind;
use crate::call::mode::Mode;
use crate::registry::ToolContext;
use crate::testing::assertions::{assert_linked, assert_tools};
use crate::testing::client::Client;
use serde_json::json;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tool_macros::tool;

/// Say hello.
#[tool(name = "greet_in_testing_tests")]
async fn greet(ctx: &RunContext, name: String) -> Result<String, String> {
    if name.is_empty() {
        Err("expected a name".to_owned())
    } else {
        Ok(format!("hello {name} by {:?}", ctx.mode()))
    }
}

const GREET: &str = "greet_in_testing_tests";

fn client() -> Client {
    Client::new(ToolContext::builder().with(greet).build().expect("sound"))
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime")
        .block_on(work)
}

fn message(work: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(work)).expect_err("it has to panic");
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
        .expect("a message")
}

#[test]
fn calls_run_in_the_given_context() {
    let client = client().with_context(RunContext::builder().mode(Mode::Voice).build());
    assert_eq!(
        run(client.call_ok::<String>(GREET, json!({"name": "Ada"}))),
        "hello Ada by Voice"
    );
}

#[test]
fn call_ok_panics_with_the_envelope_and_the_caller() {
    let text = message(|| _ = run(client().call_ok::<String>(GREET, r#"{"name": ""}"#)));
    assert!(
        text.contains("\"message\": \"expected a name\"") && text.contains("\"schemaVersion\""),
        "{text}"
    );
    assert!(text.contains("testing/tests.rs:"), "{text}");
}

#[test]
fn call_ok_panics_for_data_of_another_type() {
    let text = message(|| _ = run(client().call_ok::<u32>(GREET, r#"{"name": "Ada"}"#)));
    assert!(
        text.contains("to return u32") && text.contains("hello Ada"),
        "{text}"
    );
}

#[test]
fn call_err_panics_with_the_envelope() {
    let text = message(|| _ = run(client().call_err(GREET, json!({"name": "Ada"}))));
    assert!(
        text.contains("to fail, and it succeeded") && text.contains("hello Ada"),
        "{text}"
    );
}

#[test]
fn call_err_returns_the_error() {
    assert_eq!(
        run(client().call_err(GREET, json!({}))).kind,
        ErrorKind::Validation
    );
    assert_eq!(
        run(client().call_err("absent", "no JSON")).kind,
        ErrorKind::NotFound
    );
}

#[test]
fn clones_share_the_recorded_calls() {
    let client = client();
    run(client.clone().call(GREET, r#" {"name":"Ada"} "#));
    let calls = client.calls();
    assert_eq!(
        (calls[0].name(), calls[0].arguments()),
        (GREET, json!({"name": "Ada"}))
    );
    assert!(calls[0].response().is_ok());
    client.assert_called(GREET);
    client.assert_called_with(GREET, &json!({"name": "Ada"}));
    client.assert_not_called("other");
    client.clear();
    client.assert_not_called(GREET);
}

#[test]
fn failed_assertions_list_the_calls() {
    let client = client();
    assert!(message(|| client.assert_called(GREET)).contains("no calls were made"));
    run(client.call(GREET, json!({"name": "Ada"})));
    assert!(
        message(|| client.assert_called("other"))
            .contains(r#"greet_in_testing_tests({"name":"Ada"})"#)
    );
    assert!(message(|| client.assert_not_called(GREET)).contains("was called"));
    assert!(
        message(|| client.assert_called_with(GREET, &json!({}))).contains("was not called with {}")
    );
}

#[test]
fn assert_tools_lists_missing_and_unexpected_tools() {
    let client = client();
    assert_tools(client.tools(), &[GREET]);
    let text = message(|| assert_tools(client.tools(), &["add", "greet_in_testing_test"]));
    assert!(
        text.contains(
            "missing tools: `add`, `greet_in_testing_test` (did you mean `greet_in_testing_tests`?)"
        ),
        "{text}"
    );
    assert!(
        text.contains("unexpected tools: `greet_in_testing_tests`"),
        "{text}"
    );
    assert!(text.contains("use my_tools as _;"), "{text}");
}

#[test]
fn assert_linked_lists_missing_tools() {
    assert_linked(&[GREET]);
    let text = message(|| assert_linked(&[GREET, "elsewhere"]));
    assert!(
        text.contains("not linked: `elsewhere`\n") && text.contains("use my_tools as _;"),
        "{text}"
    );
}
