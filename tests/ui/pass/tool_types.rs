//! Types of the user's with `#[tool_type]`, which need no serde in scope.
#![deny(warnings)]
#![allow(clippy::all, clippy::pedantic)]

use tool_core::{RunContext, ToolContext, tool, tool_type};

mod serde {}
mod schemars {}

/// An event.
#[tool_type]
#[derive(Clone, Debug)]
#[serde(rename_all = "camelCase")]
pub struct Event<T> {
    /// The title
    title_text: String,
    level: Level,
    #[serde(default)]
    more: Option<T>,
}

#[tool_type]
#[derive(Clone, Copy, Debug, PartialEq)]
enum Level {
    Low,
    High,
}

/// A type that is only read.
#[tool_type(input)]
pub struct Key {
    key: tool_core::Secret,
}

/// A type whose fields are not in every build.
#[tool_type]
pub struct Account {
    name: String,
    #[cfg(any())]
    id: missing::Uuid,
}

/// A type whose variants are not in every build.
#[tool_type]
pub enum Payment {
    Cash,
    #[cfg(any())]
    Transfer {
        id: missing::Uuid,
    },
}

/// Raise the level.
#[tool]
fn raise(event: Event<u8>) -> Event<u8> {
    Event {
        level: Level::High,
        ..event
    }
}

#[tokio::test]
async fn tool_types_are_parameters_and_results() {
    let tools = ToolContext::builder().with(raise).build().expect("sound");
    let arguments = r#"{"event":{"titleText":"a","level":"Low"}}"#;
    let response = tools
        .call("raise", arguments, &RunContext::detached())
        .await;
    let key: Key = tool_core::serde_json::from_str(r#"{"key":"k"}"#).expect("a key");
    assert_eq!(key.key.expose(), "k");
    assert_eq!(
        response.data_json(),
        Some(r#"{"titleText":"a","level":"High","more":null}"#)
    );
}

#[test]
fn fields_of_other_builds_need_no_schema() {
    let account: Account = tool_core::serde_json::from_str(r#"{"name":"a"}"#).expect("sound");
    assert_eq!(account.name, "a");
    assert!(tool_core::serde_json::from_str::<Payment>(r#""Cash""#).is_ok());
}
