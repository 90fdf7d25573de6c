//! One of the server's tools as a raw function tool.

use super::remote::Remote;
use super::{request, result};
use rmcp::model::{CallToolRequestParams, CallToolResponse, Tool, ToolAnnotations};
use rmcp::service::ServiceError;
use serde_json::Value;
use std::sync::Arc;
use tool_core::tool;
use tool_core::{Category, FunctionTool, RawTool, RunContext, ToolContext, ToolError, ToolOutput};

/// What a call needs.
struct Called {
    remote: Arc<Remote>,
    /// As the server calls it.
    name: String,
    reads: bool,
    promised: bool,
}

/// The tool, or why there is none of it.
pub(super) fn made(remote: &Arc<Remote>, declared: &Tool, prefix: Option<&str>) -> Result<FunctionTool, String> {
    let annotations = declared.annotations.clone().unwrap_or_default();
    let name = match prefix {
        Some(prefix) => format!("{prefix}_{}", declared.name),
        None => declared.name.to_string(),
    };
    let raw = RawTool {
        name,
        description: declared.description.as_deref().unwrap_or_default().to_owned(),
        parameters: Value::Object((*declared.input_schema).clone()),
    };
    let called = Called {
        remote: Arc::clone(remote),
        name: declared.name.to_string(),
        reads: annotations.read_only_hint == Some(true),
        promised: declared.output_schema.is_some(),
    };
    let tool = FunctionTool::raw_output_with(raw, called, async |called: &Called, arguments: Value, _: &RunContext| {
        call(called, arguments).await
    });
    let mut tool = described(&tool.validate(true).timeout(remote.timeout()), &annotations);
    if let Some(title) = declared.title.as_ref().or(annotations.title.as_ref()) {
        tool = tool.title(title);
    }
    if let Some(output) = &declared.output_schema {
        tool = tool.output_schema(Value::Object((**output).clone()));
    }
    // By itself first: what is wrong with one must not keep the others out. References elsewhere are not followed.
    ToolContext::builder().with(tool.clone()).build().map(|_| tool).map_err(|problems| problems.to_string())
}

/// What the server says of its tool, with the protocol's own defaults: the worst.
fn described(tool: &FunctionTool, said: &ToolAnnotations) -> FunctionTool {
    let reads = said.read_only_hint == Some(true);
    let flags = tool::ToolAnnotations {
        idempotent: said.is_idempotent(),
        destructive: !reads && said.is_destructive(),
        open_world: said.open_world_hint != Some(false),
        ..tool::ToolAnnotations::default()
    };
    tool.category(if reads { Category::Retrieval } else { Category::Action }).flags(flags)
}

async fn call(called: &Called, arguments: Value) -> Result<ToolOutput, ToolError> {
    if let Some(held) = called.remote.why_held(&called.name) {
        return Err(ToolError::permanent(format!("it was not called: {held}")));
    }
    let mut request = CallToolRequestParams::new(called.name.clone());
    if let Value::Object(arguments) = arguments {
        request = request.with_arguments(arguments);
    }
    // Dropped half way, as when it is cancelled or late, it has the server told.
    match request::send(&called.remote, request).await {
        Ok(CallToolResponse::Complete(given)) => result::read(given, called.promised),
        Ok(_) => Err(ToolError::permanent("the server wants more of its user than a call can give it")),
        Err(error) => Err(failed(called, error)),
    }
}

fn failed(called: &Called, error: ServiceError) -> ToolError {
    match error {
        ServiceError::McpError(error) => ToolError::permanent(result::said(&error.message)),
        ServiceError::TransportSend(_) | ServiceError::TransportClosed => {
            let gone = ToolError::transient("the server of this tool is gone, and may have done something before");
            gone.partial_side_effects(!called.reads)
        }
        ServiceError::Timeout { .. } => {
            ToolError::transient("the server of this tool did not answer in time").partial_side_effects(!called.reads)
        }
        other => {
            tracing::warn!(tool = %called.name.escape_debug(), error = %other, "a server's answer was none");
            ToolError::permanent("the server of this tool gave no answer that can be read")
                .partial_side_effects(!called.reads)
        }
    }
}
