//! The trace context on its way to another process, and from one. S9

use super::current::current;
use super::ids::{SpanId, TraceId};
use super::in_span::Inside;
use super::scope::{Baggage, Scope, Trace};
use super::w3c;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Where a trace goes on: in another process, or in a later one. S9
///
/// It travels as JSON, by serde, or as the headers of W3C Trace Context and W3C Baggage, by [`to_pairs`](Self::to_pairs)
/// and [`from_pairs`](Self::from_pairs). An id of a run or a customer has 1 to 256 characters and no control characters;
/// others are ignored.
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
///
/// // As headers. The receiver believes the customer because it trusts the sender.
/// let headers = exported.to_pairs();
/// assert_eq!(DistributedContext::from_trusted_pairs(headers.clone()).customer_id, exported.customer_id);
/// assert_eq!(DistributedContext::from_pairs(headers).customer_id, None);
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
    /// Whether the other process samples the trace: the flag of `traceparent`. Spans are recorded here and their cost is
    /// counted whatever it says, and it goes on to the next process as it came. An exporter that shares a backend with
    /// the other process may leave out the spans of a trace of which the rest is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled: Option<bool>,
}

/// The longest id of a run or a customer, in characters.
const LONGEST: usize = 256;

/// Whether a text may stand for a run or a customer: what is longer, or would break a line of a log, is none.
pub(super) fn is_fit(id: &str) -> bool {
    !id.is_empty() && id.chars().count() <= LONGEST && !id.chars().any(char::is_control)
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

    /// The context in the headers of a request, in a plain map or in the `_meta` of the Model Context Protocol:
    /// `traceparent` and `tracestate` of W3C Trace Context, in any case. What is malformed is ignored, and a malformed
    /// `tracestate` leaves `traceparent` as it is. `baggage` is not read: anybody can write a customer into it.
    ///
    /// ```
    /// use tool_core::trace::DistributedContext;
    ///
    /// let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    /// let context = DistributedContext::from_pairs([("Traceparent", parent), ("baggage", "customer_id=acme")]);
    /// assert_eq!(context.to_pairs(), [("traceparent", parent.to_owned())]);
    /// ```
    pub fn from_pairs<N: AsRef<str>, V: AsRef<str>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        w3c::read(pairs, false)
    }

    /// The same from a sender who may say for which run and which customer the work is done: `run_id` and `customer_id`
    /// of `baggage` are read as well.
    pub fn from_trusted_pairs<N: AsRef<str>, V: AsRef<str>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        w3c::read(pairs, true)
    }

    /// The headers of it: `traceparent`, `tracestate` and `baggage`, those that there are. `baggage` names the customer:
    /// leave it out where a request goes to somebody else.
    pub fn to_pairs(&self) -> Vec<(&'static str, String)> {
        w3c::write(self)
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
        sampled: baggage.sampled,
    }
}

/// Runs work under an imported context. S9
pub(super) fn import<F: Future>(context: &DistributedContext, work: F) -> Inside<F> {
    // S9: an empty context is a no-op.
    if context.is_empty() || !cfg!(feature = "trace") {
        return Inside::here(work);
    }
    // As a span does: it belongs to where it was made, or else to where it is polled first.
    if current().is_none() {
        return Inside::under(context.clone(), work);
    }
    Inside::new(Arc::new(anchor(context)), work)
}

/// What the spans under an imported context hang from.
pub(super) fn anchor(context: &DistributedContext) -> Scope {
    let here = current();
    let base = (*Trace::at(here.as_ref())).clone();
    let baggage = Arc::new(carried(context, &base.baggage));
    if let (Some(trace), Some(span)) = (context.trace_id, context.span_id) {
        let trace = Trace { id: Some(trace), collector: base.collector, baggage };
        let mut scope = Scope::new(Arc::new(trace), None, None, super::no_name());
        scope.id = Some(span);
        return scope;
    }
    // The same place, for somebody else.
    Scope::place(Arc::new(Trace { baggage, ..base }), here)
}

/// What goes on with the trace: what the context says, or else what was so before.
fn carried(context: &DistributedContext, before: &Baggage) -> Baggage {
    let id = |id: &Option<String>, before: &Option<Arc<str>>| {
        id.as_deref().filter(|id| is_fit(id)).map(Arc::from).or(before.clone())
    };
    let is_other_trace = context.trace_id.is_some() && context.span_id.is_some();
    // These two are words about one trace.
    let (tracestate, sampled) = if is_other_trace {
        (context.tracestate.as_deref().and_then(w3c::tracestate).map(Arc::from), context.sampled)
    } else {
        (before.tracestate.clone(), before.sampled)
    };
    Baggage {
        run_id: id(&context.run_id, &before.run_id),
        customer_id: id(&context.customer_id, &before.customer_id),
        tracestate,
        sampled,
    }
}
