//! Tools of a session inside a `rig` agent.
//!
//! Written against `rig-core` and `rig-agent` 0.44. Version 0.46 needs Rust 1.97.1, and this
//! workspace builds with 1.95.
//!
//! `rig` runs the agent's loop. Each call goes through the session, with its budgets, deadlines,
//! confirmations and check for duplicates. Budgets count by turn, so call [`Session::next_turn`]
//! before each prompt.
//!
//! ```
//! use rig_core::tool::DynamicTool;
//! use serde_json::json;
//! use tool_adapters::Provider;
//! use tool_adapters::interop::rig;
//! use tool_core::{Mode, Runtime, ToolContext, tool};
//!
//! /// Add two numbers.
//! #[tool]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = Runtime::builder(ToolContext::builder().with(add).build()?).build()?;
//! let session = runtime.session("example", Mode::Text).await?;
//!
//! // `AgentBuilder::new(model).dynamic_tools(tools)` adds them to an agent.
//! let tools: Vec<DynamicTool> = rig::tools(Provider::OpenAiChat, &session);
//! let output = tools[0].execute(json!({"a": 1, "b": 2})).await?;
//! assert_eq!(output.as_text(), Some("3"));
//! # Ok(())
//! # }
//! ```

use crate::convert::{DeclaredFunction, DeclaredItem, declared_items};
use rig_core::message::{ImageMediaType, MimeType, ToolName, ToolResultContent};
use rig_core::tool::{DynamicTool, ToolErrorKind, ToolExecutionError, ToolOutput};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;
use tool_adapters_providers::{Declarations, DeclareOptions, Provider, declare_tools};
use tool_core::call::ResultForm;
use tool_core::session::SEARCH_TOOL;
use tool_core::{Content, ErrorKind, Session, ToolCall, ToolDefinition, ToolResponse};

#[cfg(feature = "observe")]
pub use crate::observe::rig_client::{ObservedHttp, observe};

/// Converts the tools that a session's model may see, for a model of `provider`.
///
/// `rig` sends names and schemas nearly unchanged, so they are declared for `provider`. Provider
/// tools are left out, as `rig` has no form for them. The model reads a failed call as the text of
/// its response. The agent gets a
/// [`ToolExecutionError`] of the nearest kind, with the name of our
/// [`ErrorKind`] as its code.
///
/// `rig` takes one list for all requests. Under [`Policy::search_tools`](tool_core::Policy::search_tools) it has all tools that
/// the model may call, without the search.
pub fn tools(provider: Provider, session: &Session) -> Vec<DynamicTool> {
    let declared = declare_tools(provider, &callable(session), &[], DeclareOptions::default());
    let functions = declared_items(&declared)
        .into_iter()
        .filter_map(|item| match item {
            DeclaredItem::Function(function) => Some(function),
            DeclaredItem::ProviderTool(_) => None,
        });
    functions
        .filter_map(|function| dynamic_tool(&declared, session, function))
        .collect()
}

/// Returns all tools that the model may call, without the search over them.
fn callable(session: &Session) -> Vec<ToolDefinition> {
    let mut tools = session.definitions();
    let searchable = session.searchable_definitions();
    if !searchable.is_empty() {
        let is_other = |tool: &ToolDefinition| !searchable.iter().any(|other| other.same(tool));
        tools.retain(|tool| tool.name() != SEARCH_TOOL && is_other(tool));
    }
    tools.into_iter().chain(searchable).collect()
}

fn dynamic_tool(
    declared: &Declarations,
    session: &Session,
    function: DeclaredFunction,
) -> Option<DynamicTool> {
    let name = ToolName::new(function.name.as_str()).ok()?;
    let declared = declared.clone();
    let session = session.clone();
    let wire_name: Arc<str> = function.name.into();
    Some(DynamicTool::new(
        name,
        function.description,
        function.parameters,
        move |arguments| {
            let call = declared.restore(ToolCall::new(next_id(), &*wire_name, arguments));
            let session = session.clone();
            let declared = declared.clone();
            Box::pin(async move {
                convert_response(&declared.written_response(&session.call(call).await))
            })
        },
    ))
}

/// Returns a call id, as `rig` does not pass its own. The time of the process start makes ids
/// unique in a journal too.
fn next_id() -> String {
    static START: LazyLock<u128> = LazyLock::new(|| {
        SystemTime::UNIX_EPOCH
            .elapsed()
            .map_or(0, |since| since.as_nanos())
    });
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("rig_{:x}_{}", *START, NEXT.fetch_add(1, Ordering::Relaxed))
}

fn convert_response(response: &ToolResponse) -> Result<ToolOutput, ToolExecutionError> {
    let result = response.for_model(ResultForm::Plain);
    if let Some(error) = response.error() {
        return Err(
            ToolExecutionError::new(error_kind(error.kind), error.message.clone())
                .with_model_feedback(result.text)
                .with_retryable(error.retryable)
                .with_code(error.kind.as_str()),
        );
    }
    match result.content() {
        Some(parts) if !parts.is_empty() => {
            ToolOutput::content(parts.into_iter().map(result_content).collect())
        }
        _ => Ok(ToolOutput::text(result.text)),
    }
}

fn error_kind(kind: ErrorKind) -> ToolErrorKind {
    match kind {
        ErrorKind::Validation => ToolErrorKind::InvalidArgs,
        ErrorKind::NotFound => ToolErrorKind::NotFound,
        ErrorKind::Timeout => ToolErrorKind::Timeout,
        ErrorKind::Cancelled => ToolErrorKind::Cancelled,
        ErrorKind::RateLimit | ErrorKind::BudgetExceeded | ErrorKind::LoopDetected => {
            ToolErrorKind::RateLimited
        }
        ErrorKind::Auth
        | ErrorKind::Denied
        | ErrorKind::ConfirmationRequired
        | ErrorKind::ModeRestricted => ToolErrorKind::PermissionDenied,
        ErrorKind::Transient => ToolErrorKind::Provider,
        _ => ToolErrorKind::Other,
    }
}

/// Converts a part. `rig` has texts and images; other parts become JSON.
fn result_content(part: Content) -> ToolResultContent {
    match part {
        Content::Text { text } => ToolResultContent::text(text),
        Content::Image { data, mime_type } => {
            ToolResultContent::image_base64(data, ImageMediaType::from_mime_type(&mime_type), None)
        }
        other => ToolResultContent::json(serde_json::json!(other)),
    }
}
