//! Calls as a model makes them, printed with their responses.

use super::worker::Failure;
use serde_json::Value;
use std::io::{self, Write};
use tool_core::{Session, ToolCall, ToolResponse};

/// Prints a line.
macro_rules! say {
    ($($text:tt)*) => { writeln!(io::stdout(), $($text)*)? };
}
pub(crate) use say;

/// Makes calls one after the other, and approves those that need approval.
pub(crate) async fn play(
    session: &Session,
    calls: &[(&str, Value)],
) -> Result<Vec<ToolResponse>, Failure> {
    let mut responses = Vec::new();
    for (number, (name, arguments)) in (1..).zip(calls) {
        say!("{name} {arguments}");
        let mut response = session
            .call(ToolCall::new(format!("call_{number}"), *name, arguments))
            .await;
        if let Some(asked) = response.meta().confirmation() {
            say!("  a person is asked, and agrees: {}", asked.summary);
            response = session.approve(&asked.token).await;
        }
        say!("  {}", answer(&response));
        responses.push(response);
    }
    Ok(responses)
}

/// Returns the text that the model reads.
pub(crate) fn answer(response: &ToolResponse) -> String {
    match (response.data_json(), response.error()) {
        (_, Some(error)) => format!("{}: {}", error.kind.as_str(), error.message),
        (data, None) => data.unwrap_or_default().to_owned(),
    }
}

/// Returns the names of the offered tools.
pub(crate) fn names(tools: &tool_core::ToolContext) -> String {
    tools
        .definitions()
        .map(tool_core::ToolDefinition::name)
        .collect::<Vec<_>>()
        .join(", ")
}
