//! A report of what the calls of a turn have used, for people who watch a session.

use serde::Serialize;
use std::collections::BTreeMap;

/// The calls that a turn has made so far, as its budgets and its loop detection count them.
///
/// ```
/// # use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
/// # /// Say hello.
/// # #[tool]
/// # fn greet() -> &'static str {
/// #     "hello"
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let runtime = Runtime::builder(ToolContext::builder().with(greet).build()?).build()?;
/// let session = runtime.session("s-1", Mode::Text).await?;
/// session.call(ToolCall::new("call_1", "greet", "{}")).await;
/// session.call(ToolCall::new("call_2", "greet", "{}")).await;
///
/// let turn = session.turn_report().expect("the store is in memory");
/// assert_eq!((turn.calls, turn.tools["greet"].most_equal_attempts), (2, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TurnReport {
    /// The number of the turn, counted from 0.
    pub turn: u64,
    /// The calls that were charged.
    pub calls: u32,
    /// The calls of each category that were charged.
    pub categories: BTreeMap<&'static str, u32>,
    /// The tools that the turn has tried.
    pub tools: BTreeMap<String, ToolTurnReport>,
}

/// The calls of one tool in a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolTurnReport {
    /// The calls that were charged.
    pub calls: u32,
    /// The results that were empty.
    pub empty_results: u32,
    /// The most attempts with equal arguments, refused ones included.
    pub most_equal_attempts: u32,
}
