//! The trace context on its way to another process, and from one. S9

use super::current::current;
use super::ids::{SpanId, TraceId};
use super::in_span::Inside;
use super::scope::{Baggage, Scope, Trace};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Where a trace goes on: in another process, or in a later one. S9
///
/// ```
/// use tool_core::trace::{self, DistributedContext};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let work = trace::agent("planner", async { trace::export() });
/// let exported = trace::import(DistributedContext::new().customer_id("acme"), work).await;
/// assert!(exported.trace_id.is_some() && exported.span_id.is_some());
/// assert_eq!(exported.customer_id.as_deref(), Some("acme"));
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct DistributedContext {
    /// The trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<TraceId>,
    /// The span under which it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span_id: Option<SpanId>,
    /// The run that it is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The customer for whom it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer_id: Option<String>,
    /// What other tracing systems have added, as W3C Trace Context writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
}

impl DistributedContext {
    /// An empty one: importing it changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The run that the work is part of.
    #[must_use]
    pub fn run_id(mut self, id: impl Into<String>) -> Self {
        self.run_id = Some(id.into());
        self
    }

    /// The customer for whom the work is done.
    #[must_use]
    pub fn customer_id(mut self, id: impl Into<String>) -> Self {
        self.customer_id = Some(id.into());
        self
    }

    /// The span of another process under which the work goes on.
    #[must_use]
    pub fn parent(mut self, trace: TraceId, span: SpanId) -> Self {
        (self.trace_id, self.span_id) = (Some(trace), Some(span));
        self
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The context of the span that the thread is in; empty outside of any. S9
pub(super) fn export() -> DistributedContext {
    let Some(scope) = current() else { return DistributedContext::new() };
    let baggage = &scope.trace.baggage;
    let text = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned);
    DistributedContext {
        // A trace without a span in it has nothing that could be continued.
        trace_id: scope.trace.id.filter(|_| scope.id.is_some()),
        span_id: scope.id.filter(|_| scope.trace.id.is_some()),
        run_id: text(&baggage.run_id),
        customer_id: text(&baggage.customer_id),
        tracestate: text(&baggage.tracestate),
    }
}

/// Runs work under an imported context. S9
pub(super) fn import<F: Future>(context: &DistributedContext, work: F) -> Inside<F> {
    // S9: an empty context is a no-op.
    if context.is_empty() || !cfg!(feature = "trace") {
        return Inside::here(work);
    }
    Inside::new(Arc::new(anchor(context)), work)
}

fn anchor(context: &DistributedContext) -> Scope {
    let here = current();
    // Outside of any span, what is imported goes to the process's collector.
    let base = match &here {
        Some(scope) => (*scope.trace).clone(),
        None => Trace::to(super::collector::of_process()),
    };
    let before = &base.baggage;
    let text = |text: &Option<String>, before: &Option<Arc<str>>| text.as_deref().map(Arc::from).or(before.clone());
    let baggage = Arc::new(Baggage {
        run_id: text(&context.run_id, &before.run_id),
        customer_id: text(&context.customer_id, &before.customer_id),
        tracestate: text(&context.tracestate, &before.tracestate),
    });
    match (context.trace_id, context.span_id) {
        (Some(trace), Some(span)) => {
            let trace = Trace { id: Some(trace), collector: base.collector, baggage };
            let mut scope = Scope::new(Arc::new(trace), None, None, super::no_name());
            scope.id = Some(span);
            scope
        }
        // The same place, for somebody else.
        _ => {
            let id = here.as_ref().and_then(|scope| scope.id);
            let trace = Trace { baggage, ..base };
            let mut scope = Scope::new(Arc::new(trace), here, None, super::no_name());
            scope.id = id;
            scope
        }
    }
}
