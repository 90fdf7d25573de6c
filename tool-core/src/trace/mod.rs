//! Spans: who did what inside of what, how long it took and what it cost.
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

pub(crate) mod attributes;
pub(crate) mod body;
pub(crate) mod collector;
pub(crate) mod cost;
pub(crate) mod ids;
pub(crate) mod instrumented;
pub(crate) mod open_span;
pub(crate) mod propagation;
pub(crate) mod record;
pub(crate) mod redaction;
pub(crate) mod redaction_json;
pub(crate) mod redaction_patterns;
pub(crate) mod report;
pub(crate) mod span;
pub(crate) mod totals;
pub(crate) mod usage;

#[cfg(test)]
mod tests;

use crate::text::Name;
pub use crate::trace::collector::{Collector, CollectorBuilder, DefaultPricing, ParentSpan, Pricing, SpanSink};
pub use crate::trace::cost::{Cost, TokenUsage};
pub use crate::trace::ids::{ParseIdError, SpanId, TraceId};
pub use crate::trace::instrumented::{Instrumented, WithSpan};
use crate::trace::open_span::{current, enter};
pub use crate::trace::propagation::DistributedContext;
pub use crate::trace::record::{SpanEnd, SpanError, SpanKind, SpanRecord, SpanStatus};
pub use crate::trace::redaction::Redaction;
pub use crate::trace::report::Report;
pub use crate::trace::report::tree::{NodeState, SpanNode};
pub use crate::trace::span::SpanHandle;
use crate::trace::span::{NewSpan, open};
pub use crate::trace::totals::{CostSummary, Totals};
pub use crate::trace::usage::{CostEntry, ModelUsage};
use std::borrow::Cow;

/// Marks the span that the thread is in as panicked, for a tool whose panic was caught.
#[cold]
pub(crate) fn mark_panicked() {
    if let Some(span) = current() {
        span.panicked();
    }
}

fn no_name() -> Name {
    Name::Static("")
}

/// Runs `work` as an agent. Where no span is around it and no collector was told of, it goes to the process's own.
pub fn agent<F: Future>(name: impl Into<Cow<'static, str>>, work: F) -> Instrumented<F> {
    plain(SpanKind::Agent, name, work)
}

/// The same for work that may fail: its error is recorded, and returned as it is. S5
pub fn try_agent<T, E, F: Future<Output = Result<T, E>>>(
    name: impl Into<Cow<'static, str>>,
    work: F,
) -> Instrumented<F> {
    fallible(SpanKind::Agent, name, work)
}

/// Gives a part of the work a name of its own.
pub fn section<F: Future>(name: impl Into<Cow<'static, str>>, work: F) -> Instrumented<F> {
    plain(SpanKind::Section, name, work)
}

/// The same for work that may fail.
pub fn try_section<T, E, F: Future<Output = Result<T, E>>>(
    name: impl Into<Cow<'static, str>>,
    work: F,
) -> Instrumented<F> {
    fallible(SpanKind::Section, name, work)
}

/// Runs `work` as a question to `model`. What it uses is told from inside, by [`record`].
pub fn llm<F: Future>(model: impl Into<Cow<'static, str>>, work: F) -> Instrumented<F> {
    plain(SpanKind::Llm, model, work)
}

/// The same for work that may fail.
pub fn try_llm<T, E, F: Future<Output = Result<T, E>>>(
    model: impl Into<Cow<'static, str>>,
    work: F,
) -> Instrumented<F> {
    fallible(SpanKind::Llm, model, work)
}

/// Runs `work` as an HTTP request; `name` is its method and host.
pub fn http<F: Future>(name: impl Into<Cow<'static, str>>, work: F) -> Instrumented<F> {
    plain(SpanKind::Http, name, work)
}

/// The same for work that may fail.
pub fn try_http<T, E, F: Future<Output = Result<T, E>>>(
    name: impl Into<Cow<'static, str>>,
    work: F,
) -> Instrumented<F> {
    fallible(SpanKind::Http, name, work)
}

fn plain<F: Future>(kind: SpanKind, name: impl Into<Cow<'static, str>>, work: F) -> Instrumented<F> {
    Instrumented::new(NewSpan::new(kind, name.into()), work, |_| SpanEnd::default())
}

fn fallible<T, E, F: Future<Output = Result<T, E>>>(
    kind: SpanKind,
    name: impl Into<Cow<'static, str>>,
    work: F,
) -> Instrumented<F> {
    Instrumented::new(NewSpan::new(kind, name.into()), work, SpanEnd::of_result)
}

/// Runs work that is no future in a span. S1
pub fn in_scope<T>(kind: SpanKind, name: impl Into<Cow<'static, str>>, work: impl FnOnce() -> T) -> T {
    span::run_to_end(open(NewSpan::new(kind, name.into())), work, |_| SpanEnd::default())
}

/// Tells what a model used. It counts for the nearest agent, tool or llm span that goes on; with none it is untracked.
pub fn record(used: ModelUsage) {
    usage::record(used);
}

/// Tells what was seen of a model's response on its way through HTTP. It counts unless the llm span around it was told
/// by [`record`].
pub fn observe(used: ModelUsage) {
    usage::observe(used);
}

/// Tells what something other than a model has cost: a search, a geocoder.
pub fn record_cost(what: impl Into<Cow<'static, str>>, cost: Cost) {
    usage::record_cost(what, cost);
}

/// Says something of the span that the thread is in, under a name of OpenTelemetry's. A later value takes the place of an
/// earlier one; a span has at most 64 attributes, and a value at most 1,024 characters.
pub fn attribute(key: &'static str, value: impl Into<serde_json::Value>) {
    attributes::attribute(key, value.into());
}

/// Runs `work` in a place that gives these attributes to the spans which are opened directly in it: for what is known of
/// a call by those who bring it, and stands on the span of the call.
#[doc(hidden)]
pub async fn attributed<F: Future>(attributes: Vec<(&'static str, serde_json::Value)>, work: F) -> F::Output {
    attributes::attributed(attributes, work).await
}

/// The future `work`, inside the span that the thread is in now wherever it runs: for `tokio::spawn`, `JoinSet` and the
/// like. A task that is spawned without it has no part in the trace.
pub fn in_current_span<F: Future>(work: F) -> WithSpan<F> {
    WithSpan::here(work)
}

/// The closure `work`, inside the span that the thread is in now wherever it runs: for `spawn_blocking` and threads.
pub fn in_current_span_sync<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let scope = current();
    move || {
        let _inside = scope.as_ref().map(enter);
        work()
    }
}

/// Starts the process's collector: calls of tools have spans from here on, wherever they are made.
pub fn start() -> Collector {
    collector::start()
}

/// Ends what [`start`] began: calls that nobody asked a span for have none any more. What was collected stays, and spans
/// that are asked for ([`agent`], [`section`] and the like) go on to the process's collector.
pub fn stop() {
    collector::stop();
}

/// The collector at this place: of the span that the thread is in, or else the process's.
pub fn collector() -> Collector {
    collector::at(current().as_ref())
}

/// What the collector at this place has.
pub fn report() -> Report {
    collector().report()
}

/// The context of the span that the thread is in, for another process. S9
pub fn export() -> DistributedContext {
    propagation::export()
}

/// Runs `work` under a context that [`export`] gave elsewhere. S9
pub fn import<F: Future>(context: impl std::borrow::Borrow<DistributedContext>, work: F) -> WithSpan<F> {
    propagation::import(context.borrow(), work)
}
