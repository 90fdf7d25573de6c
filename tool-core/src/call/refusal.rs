//! Responses to calls that no tool has seen.

use crate::call::error::ToolError;
use crate::call::meta::Slim;
use crate::call::output::{OutputKind, ToolOutput};
use crate::call::response::ToolResponse;
use crate::call::tool_call::ToolCall;
use std::sync::Arc;
use tokio::time::Instant;

/// What a call outside any session comes to, where only a session could make it.
#[cold]
pub(crate) fn outside_session(call: &ToolCall) -> ToolResponse {
    let message = "there is no open session to make this call in";
    refused(call, ToolError::session_inactive(message), Instant::now())
}

impl ToolResponse {
    /// A success that no tool has given itself.
    pub(crate) fn of_call(call: &ToolCall, output: ToolOutput, began: Instant) -> Self {
        match output.data {
            Ok(data) => {
                let (tool, call_id) = (call.name().into(), Some(Arc::clone(call.shared_id())));
                let slim = Slim { tool, call_id, duration: began.elapsed(), rare: None };
                Self { body: Ok(data), form: output.form, slim }
            }
            Err(error) => refused(call, error, began),
        }
    }
}

/// An answer to a call that no tool has seen.
#[cold]
pub(crate) fn refused(call: &ToolCall, error: ToolError, began: Instant) -> ToolResponse {
    let shown = shorten(call.name());
    let body = error.into_body(&shown, true);
    let call_id = Some(Arc::clone(call.shared_id()));
    let slim = Slim { tool: shown.into(), call_id, duration: began.elapsed(), rare: None };
    ToolResponse { body: Err(Box::new(body)), form: OutputKind::Data, slim }
}

/// A name that a model made up, fit to be shown: no control characters, no novel.
pub(crate) fn shorten(name: &str) -> String {
    let escaped = name.escape_debug().to_string();
    match escaped.char_indices().nth(128) {
        None => escaped,
        Some((end, _)) => format!("{}...", &escaped[..end]),
    }
}
