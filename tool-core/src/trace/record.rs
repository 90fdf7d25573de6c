//! A span that has ended, as the collector keeps it.

use crate::text::Name;
use crate::trace::cost::Cost;
use crate::trace::ids::{SpanId, TraceId};
use crate::trace::open_span::{Baggage, OpenSpan, Own};
use crate::trace::usage::CostEntry;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

/// A span that has ended.
#[derive(Clone)]
pub struct SpanRecord {
    /// Not all that its trace has: that has the collector, which would hold itself.
    pub(crate) trace: TraceId,
    pub(crate) baggage: Arc<Baggage>,
    pub(crate) id: SpanId,
    pub(crate) parent: Option<SpanId>,
    pub(crate) name: Name,
    pub(crate) start: u64,
    pub(crate) nanos: u64,
    pub(crate) call_id: Option<Arc<str>>,
    pub(crate) error: Option<Box<SpanError>>,
    pub(crate) own: Option<Arc<Own>>,
    pub(crate) kind: SpanKind,
    pub(crate) status: SpanStatus,
    pub(crate) under: Under,
}

/// What was known of a span's parent when the span ended: where the parent is not kept, this says why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Under {
    /// It was open, so that it is kept only later.
    #[default]
    Open,
    /// It had ended before.
    Ended,
    /// It is a span of another process.
    Remote,
}

impl Under {
    fn of(parent: &OpenSpan) -> Self {
        let mut span = parent;
        // One without a kind stands for the span around it, or where there is none, for one of another process.
        while span.kind.is_none() {
            let Some(around) = span.parent.as_deref() else { return Self::Remote };
            span = around;
        }
        if span.is_closed() { Self::Ended } else { Self::Open }
    }
}

/// What went wrong in a span.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpanError {
    /// One of few: an error type of the envelope, or the name of a Rust type.
    pub kind: &'static str,
    /// What may be shown, as the model was told it. Errors whose text nobody wrote for that have none.
    pub message: Option<Box<str>>,
}

/// Both clocks as they stood when the process began to trace.
fn began() -> &'static (Instant, SystemTime) {
    static BEGAN: OnceLock<(Instant, SystemTime)> = OnceLock::new();
    BEGAN.get_or_init(|| (Instant::now(), SystemTime::now()))
}

/// In nanoseconds since the process began to trace.
#[inline]
pub(crate) fn now() -> u64 {
    u64::try_from(began().0.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// When [`now`] was 0, by the wall clock.
pub(crate) fn epoch() -> SystemTime {
    began().1
}

/// What is known of a span only when it ends.
#[derive(Debug, Default)]
pub struct SpanEnd {
    pub(crate) status: SpanStatus,
    pub(crate) error: Option<Box<SpanError>>,
}

impl SpanEnd {
    /// Returns the end of a span whose work returned `result`. An error is recorded by its type only, as its text may hold
    /// secrets.
    pub(crate) fn of_result<T, E>(result: &Result<T, E>) -> Self {
        let name = std::any::type_name::<E>();
        let kind = if matches!(name, "alloc::string::String" | "&str" | "str") { "error" } else { name };
        if result.is_ok() { Self::default() } else { SpanError { kind, message: None }.into() }
    }
}

impl From<SpanStatus> for SpanEnd {
    fn from(status: SpanStatus) -> Self {
        Self { status, error: None }
    }
}

impl From<SpanError> for SpanEnd {
    fn from(error: SpanError) -> Self {
        Self { status: SpanStatus::Error, error: Some(Box::new(error)) }
    }
}

impl SpanRecord {
    /// The record of a scope that is closed with this; `None` where it is no span.
    pub(crate) fn of(scope: &OpenSpan, end: SpanEnd, call_id: Option<Arc<str>>) -> Option<Self> {
        let own = scope.take().map(|own| Arc::new(*own));
        Some(Self { call_id, error: end.error, own, status: end.status, ..Self::so_far(scope)? })
    }

    /// The record of a scope that goes on, as it stands; `None` where it is no span.
    pub(crate) fn of_running(scope: &OpenSpan) -> Option<Self> {
        let own = Some(Arc::new(scope.copy()?));
        Some(Self { own, ..Self::so_far(scope)? })
    }

    fn so_far(scope: &OpenSpan) -> Option<Self> {
        let parent = scope.parent.as_deref();
        Some(Self {
            // A span is opened in a trace that has its id.
            trace: scope.trace.id?,
            baggage: Arc::clone(&scope.trace.baggage),
            id: scope.id?,
            parent: parent.and_then(|parent| parent.id),
            name: scope.name.clone(),
            start: scope.start,
            nanos: now().saturating_sub(scope.start),
            call_id: None,
            error: None,
            own: None,
            kind: scope.kind?,
            status: SpanStatus::Ok,
            under: parent.map(Under::of).unwrap_or_default(),
        })
    }

    /// The id of its trace.
    pub fn trace_id(&self) -> TraceId {
        self.trace
    }

    /// Its id.
    pub fn span_id(&self) -> SpanId {
        self.id
    }

    /// The span that it was opened in, here or in another process.
    pub fn parent(&self) -> Option<SpanId> {
        self.parent
    }

    /// What it stands for.
    pub fn kind(&self) -> SpanKind {
        self.kind
    }

    /// The name of the agent, tool, model or section; of an HTTP request the method and the host.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Kind and name: `tool:search`. S1
    pub fn label(&self) -> String {
        format!("{}:{}", self.kind, &*self.name)
    }

    /// How it ended.
    pub fn status(&self) -> SpanStatus {
        self.status
    }

    /// What went wrong.
    pub fn error(&self) -> Option<&SpanError> {
        self.error.as_deref()
    }

    /// The id of the call, for a tool that a model called.
    pub fn call_id(&self) -> Option<&str> {
        self.call_id.as_deref()
    }

    /// When it was opened, by the wall clock of the process's first span.
    pub fn started(&self) -> SystemTime {
        epoch() + Duration::from_nanos(self.start)
    }

    /// How long it was open.
    pub fn duration(&self) -> Duration {
        Duration::from_nanos(self.nanos)
    }

    /// What was used and spent in it, and not in a span inside it.
    pub fn spent(&self) -> &[CostEntry] {
        self.own.as_ref().map_or(&[], |own| &own.spent)
    }

    /// What that costs.
    pub fn own_cost(&self) -> Cost {
        self.spent().iter().filter_map(|spent| spent.cost).sum()
    }

    /// What else is known of it, under the names that OpenTelemetry gives.
    pub fn attributes(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.own.iter().flat_map(|own| own.attributes.iter().map(|(key, value)| (*key, value)))
    }

    /// The run that it is part of.
    pub fn run_id(&self) -> Option<&str> {
        self.baggage().run_id.as_deref()
    }

    /// The customer for whom it was done.
    pub fn customer_id(&self) -> Option<&str> {
        self.baggage().customer_id.as_deref()
    }

    /// Whether that span is one of another process.
    pub fn is_parent_remote(&self) -> bool {
        self.parent.is_some() && self.under == Under::Remote
    }

    /// What other tracing systems have added to its trace, as W3C Trace Context writes it.
    pub fn tracestate(&self) -> Option<&str> {
        self.baggage().tracestate.as_deref()
    }

    /// Whether the process in which the trace began samples it; so do traces that begin here.
    pub fn is_sampled(&self) -> bool {
        self.baggage().sampled != Some(false)
    }

    pub(crate) fn baggage(&self) -> &Baggage {
        &self.baggage
    }
}

impl fmt::Debug for SpanRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpanRecord")
            .field("trace", &self.trace_id())
            .field("id", &self.id)
            .field("parent", &self.parent)
            .field("label", &self.label())
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Held(#[allow(dead_code)] Arc<()>); // for its drop

    impl crate::trace::collector::SpanSink for Held {
        fn ended(&self, _: &SpanRecord) {}
    }

    // S10
    #[test]
    fn a_collector_that_nobody_holds_is_gone_with_its_spans() {
        let held = Arc::new(());
        let collector = crate::trace::collector::Collector::builder().sink(Held(Arc::clone(&held))).build();
        collector.run_sync(|| crate::trace::in_scope(SpanKind::Section, "part", || ()));
        drop(collector);
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[test]
    fn a_record_leaves_room_for_its_details_in_256_bytes() {
        assert!(size_of::<SpanRecord>() <= 128, "{}", size_of::<SpanRecord>());
    }
}

// ---- What a span stands for, and how it ended.

/// What a span stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SpanKind {
    /// An agent at work.
    Agent,
    /// A call of a tool.
    Tool,
    /// A question to a model.
    Llm,
    /// A part of the work that somebody gave a name.
    Section,
    /// An HTTP request.
    Http,
}

impl SpanKind {
    /// Its name, as in `tool:search`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Tool => "tool",
            Self::Llm => "llm",
            Self::Section => "section",
            Self::Http => "http",
        }
    }

    /// Whose cost is whose: spans of rank 1 come first. S6
    pub(crate) const fn rank(self) -> u8 {
        match self {
            Self::Agent | Self::Tool | Self::Llm => 1,
            Self::Section => 2,
            Self::Http => 3,
        }
    }
}

impl fmt::Display for SpanKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a span ended. S1
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SpanStatus {
    /// As it should.
    #[default]
    Ok,
    /// With an error.
    Error,
    /// With a panic.
    Panicked,
    /// Its future was dropped before it was done.
    Cancelled,
}

impl SpanStatus {
    /// Its name in lower case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Panicked => "panicked",
            Self::Cancelled => "cancelled",
        }
    }
}
