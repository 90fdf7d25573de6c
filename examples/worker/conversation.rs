//! Calls as a model makes them, printed with their answers.

use super::worker::Failure;
use serde_json::Value;
use std::io::{self, Write};
use tool_core::{Session, ToolCall, ToolResponse};

/// A line for the reader.
macro_rules! say {
    ($($text:tt)*) => { writeln!(io::stdout(), $($text)*)? };
}
pub(crate) use say;

/// Makes calls one after the other. Where a person has to agree, one does.
pub(crate) async fn play(session: &Session, calls: &[(&str, Value)]) -> Result<Vec<ToolResponse>, Failure> {
    let mut responses = Vec::new();
    for (number, (name, arguments)) in (1..).zip(calls) {
        say!("{name} {arguments}");
        let mut response = session.call(ToolCall::new(format!("call_{number}"), *name, arguments)).await;
        if let Some(asked) = response.meta().confirmation() {
            say!("  a person is asked, and agrees: {}", asked.summary);
            response = session.approve(&asked.token).await;
        }
        say!("  {}", answer(&response));
        responses.push(response);
    }
    Ok(responses)
}

/// What the model reads of it.
pub(crate) fn answer(response: &ToolResponse) -> String {
    match (response.data_json(), response.error()) {
        (_, Some(error)) => format!("{}: {}", error.kind.as_str(), error.message),
        (data, None) => data.unwrap_or_default().to_owned(),
    }
}

/// The names of what the model may call.
pub(crate) fn names(tools: &tool_core::ToolContext) -> String {
    tools.definitions().map(tool_core::ToolDefinition::name).collect::<Vec<_>>().join(", ")
}
