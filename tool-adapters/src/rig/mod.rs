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
//! use tool_adapters::{Provider, rig};
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

mod output;

use crate::convert::{Declared, Function, items};
use crate::{Declarations, DeclareOptions, Provider, declare_tools};
use ::rig_core::message::ToolName;
use ::rig_core::tool::DynamicTool;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;
use tool_core::{Session, ToolCall};

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

fn tool(declared: &Declarations, session: &Session, function: Function) -> Option<DynamicTool> {
    let name = ToolName::new(function.name.as_str()).ok()?;
    let (declared, session) = (declared.clone(), session.clone());
    let wire: Arc<str> = function.name.into();
    Some(DynamicTool::new(name, function.description, function.parameters, move |arguments| {
        let call = declared.restore(ToolCall::new(next_id(), &*wire, arguments));
        let session = session.clone();
        Box::pin(async move { output::of(&session.call(call).await) })
    }))
}

/// `rig` keeps the calls' ids to itself; ours only have to differ, from an earlier process's in a journal too.
fn next_id() -> String {
    static BEGUN: LazyLock<u128> =
        LazyLock::new(|| SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos()));
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("rig_{:x}_{}", *BEGUN, NEXT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests;
