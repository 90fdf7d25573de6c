//! Our tools inside a `rig` agent, each call governed by a session.
//!
//! Written against `rig-core` 0.44, with `rig-agent` 0.44 beside it: 0.46 is newer, but needs Rust 1.97.1, and this
//! workspace builds with 1.95.
//!
//! The agent's loop is `rig`'s; what a call may do is the session's: budgets, deadlines, confirmations, duplicates.
//! A session counts by turns, so say [`Session::next_turn`] before each prompt.
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
//! // `AgentBuilder::new(model).dynamic_tools(tools)` takes them.
//! let tools: Vec<DynamicTool> = rig::tools(Provider::OpenAiChat, &session);
//! let output = tools[0].execute(json!({"a": 1, "b": 2})).await?;
//! assert_eq!(output.as_text(), Some("3"));
//! # Ok(())
//! # }
//! ```

use crate::interop::convert::{Declared, Function, items};
use crate::providers::declare::{Declarations, DeclareOptions, declare_tools};
use crate::providers::provider::Provider;
use rig_core::message::{ImageMediaType, MimeType, ToolName, ToolResultContent};
use rig_core::tool::{DynamicTool, ToolErrorKind, ToolExecutionError, ToolOutput};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;
use tool_core::call::{ErrorBody, ResultForm};
use tool_core::{Content, ErrorKind, Session, ToolCall, ToolResponse};

/// The tools that a session's model may see now, for an agent whose model is of a provider.
///
/// `rig` sends names and schemas nearly as it gets them, so they are declared to `provider`; it has no form for
/// provider tools, and they are left out. What fails reaches the model as what the tool says, and the agent as a
/// [`ToolExecutionError`](rig_core::tool::ToolExecutionError) of the nearest kind, with ours as its code.
pub fn tools(provider: Provider, session: &Session) -> Vec<DynamicTool> {
    let declared = declare_tools(provider, &session.definitions(), &[], DeclareOptions::default());
    let functions = items(&declared).into_iter().filter_map(|item| match item {
        Declared::Function(function) => Some(function),
        Declared::Provider(_) => None,
    });
    functions.filter_map(|function| tool(&declared, session, function)).collect()
}

pub(crate) fn tool(declared: &Declarations, session: &Session, function: Function) -> Option<DynamicTool> {
    let name = ToolName::new(function.name.as_str()).ok()?;
    let (declared, session) = (declared.clone(), session.clone());
    let wire: Arc<str> = function.name.into();
    Some(DynamicTool::new(name, function.description, function.parameters, move |arguments| {
        let call = declared.restore(ToolCall::new(next_id(), &*wire, arguments));
        let session = session.clone();
        Box::pin(async move { of(&session.call(call).await) })
    }))
}

/// `rig` keeps the calls' ids to itself; ours only have to differ, from an earlier process's in a journal too.
fn next_id() -> String {
    static BEGUN: LazyLock<u128> =
        LazyLock::new(|| SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos()));
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("rig_{:x}_{}", *BEGUN, NEXT.fetch_add(1, Ordering::Relaxed))
}

// ---- What rig makes of a response.

pub(crate) fn of(response: &ToolResponse) -> Result<ToolOutput, ToolExecutionError> {
    let shown = response.for_model(ResultForm::Plain);
    if let Some(error) = response.error() {
        return Err(failure(error, shown.text));
    }
    match shown.content() {
        Some(parts) if !parts.is_empty() => ToolOutput::content(parts.into_iter().map(part).collect()),
        _ => Ok(ToolOutput::text(shown.text)),
    }
}

fn failure(error: &ErrorBody, told: String) -> ToolExecutionError {
    ToolExecutionError::new(kind(error.kind), error.message.clone())
        .with_model_feedback(told)
        .with_retryable(error.retryable)
        .with_code(error.kind.as_str())
}

fn kind(kind: ErrorKind) -> ToolErrorKind {
    match kind {
        ErrorKind::Validation => ToolErrorKind::InvalidArgs,
        ErrorKind::NotFound => ToolErrorKind::NotFound,
        ErrorKind::Timeout => ToolErrorKind::Timeout,
        ErrorKind::Cancelled => ToolErrorKind::Cancelled,
        ErrorKind::RateLimit | ErrorKind::BudgetExceeded | ErrorKind::LoopDetected => ToolErrorKind::RateLimited,
        ErrorKind::Auth | ErrorKind::Denied | ErrorKind::ConfirmationRequired | ErrorKind::ModeRestricted => {
            ToolErrorKind::PermissionDenied
        }
        ErrorKind::Transient => ToolErrorKind::Provider,
        _ => ToolErrorKind::Other,
    }
}

/// rig knows texts and images; all else is told as what it is.
fn part(part: Content) -> ToolResultContent {
    match part {
        Content::Text { text } => ToolResultContent::text(text),
        Content::Image { data, mime_type } => {
            ToolResultContent::image_base64(data, ImageMediaType::from_mime_type(&mime_type), None)
        }
        other => ToolResultContent::json(serde_json::json!(other)),
    }
}
