//! Spans: the tree of a run's work, with durations and cost.
//!
//! ```
//! use tool_core::{tool, trace};
//!
//! /// Look something up.
//! #[tool]
//! async fn look_up(what: String) -> String {
//!     trace::section("index", async { format!("all about {what}") }).await
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! trace::agent("planner", async { look_up("rust".to_owned()).await }).await;
//! let report = trace::report();
//! let labels = report.spans().iter().map(|span| span.label()).collect::<Vec<_>>();
//! assert_eq!(labels, ["section:index", "tool:look_up", "agent:planner"]);
//! # }
//! ```

pub(crate) mod attribution;
pub(crate) mod body;
pub(crate) mod collector;
pub(crate) mod context_window;
pub(crate) mod cost;
pub(crate) mod ids;
pub(crate) mod instrumented;
pub(crate) mod propagation;
pub(crate) mod record;
pub(crate) mod redaction;
pub(crate) mod redaction_patterns;
pub(crate) mod report;
pub(crate) mod span;
pub(crate) mod spans;
pub(crate) mod usage;

#[cfg(test)]
mod tests;

pub use attribution::{observe, record, record_cost};
pub use collector::{Collector, CollectorBuilder, ParentSpan, SpanSink, Totals, start, stop};
#[doc(hidden)]
pub use context_window::ContextWindows;
pub use context_window::context_window;
#[doc(hidden)]
pub use cost::DefaultPricing;
pub use cost::{Cost, CostEntry, CostSummary, Pricing};
pub use ids::{ParseIdError, SpanId, TraceId};
pub use instrumented::{Instrumented, WithSpan};
pub use propagation::DistributedContext;
pub use record::{NodeState, SpanEnd, SpanError, SpanKind, SpanRecord, SpanStatus};
pub use redaction::Redaction;
pub use report::html::WATERFALL_CSS;
pub use report::tree::{Report, SpanNode};
#[doc(hidden)]
pub use span::is_wanted;
pub use spans::{
    SpanHandle, agent, attribute, collector, export, http, import, in_current_span,
    in_current_span_sync, in_scope, llm, report, section, try_agent, try_http, try_llm,
    try_section,
};
#[doc(hidden)]
pub use spans::{attributed, attributes};
pub use usage::{ModelUsage, TokenUsage};
