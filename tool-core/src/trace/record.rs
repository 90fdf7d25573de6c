//! The record of a span: its kind, status, error, times and costs.

use crate::text::{Name, truncate};
use crate::trace::cost::{Cost, CostEntry, CostMeter};
use crate::trace::ids::{SpanId, TraceId};
use crate::trace::propagation::DistributedContext;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

/// The kind of work that a span covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SpanKind {
    /// An agent's run.
    Agent,
    /// A tool call.
    Tool,
    /// A request to a model.
    Llm,
    /// A named part of other work.
    Section,
    /// An HTTP request.
    Http,
}

impl SpanKind {
    /// Returns the name in lower case, as in `tool:search`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Tool => "tool",
            Self::Llm => "llm",
            Self::Section => "section",
            Self::Http => "http",
        }
    }

    /// Returns the order in which the spans around a use pay for it: the lowest rank first.
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

/// The outcome of a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SpanStatus {
    /// The work succeeded.
    #[default]
    Ok,
    /// The work returned an error.
    Error,
    /// The work panicked.
    Panicked,
    /// The work was dropped before it was done.
    Cancelled,
}

impl SpanStatus {
    /// Returns the name in lower case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Panicked => "panicked",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The error of a failed span.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SpanError {
    /// An error type of the response envelope, for example `TIMEOUT`, or the name of a Rust type.
    pub kind: &'static str,
    /// The message that the model received, redacted. `None` for errors whose text may hold
    /// secrets.
    pub message: Option<Box<str>>,
}

/// The status and error that close a span. Made from a [`SpanStatus`], a [`SpanError`], a
/// [`ToolError`](struct@crate::ToolError) or an [`ErrorBody`](crate::call::ErrorBody).
#[derive(Debug, Default)]
pub struct SpanEnd {
    pub(crate) status: SpanStatus,
    pub(crate) error: Option<Box<SpanError>>,
}

impl SpanEnd {
    /// Returns the end of a span whose work returned `result`. An error is recorded by its type
    /// only, as its text may hold secrets.
    pub(crate) fn of_result<T, E>(result: &Result<T, E>) -> Self {
        if result.is_ok() {
            return Self::default();
        }
        let name = std::any::type_name::<E>();
        let kind = if matches!(name, "alloc::string::String" | "&str" | "str") {
            "error"
        } else {
            name
        };
        SpanError {
            kind,
            message: None,
        }
        .into()
    }
}

impl From<SpanStatus> for SpanEnd {
    fn from(status: SpanStatus) -> Self {
        Self {
            status,
            error: None,
        }
    }
}

impl From<SpanError> for SpanEnd {
    fn from(error: SpanError) -> Self {
        Self {
            status: SpanStatus::Error,
            error: Some(Box::new(error)),
        }
    }
}

/// The parts of a span that are rare, behind one pointer.
#[derive(Clone, Default)]
pub(crate) struct SpanDetails {
    pub(crate) costs: Vec<CostEntry>,
    pub(crate) attributes: Vec<(&'static str, Value)>,
    /// The receiver of the span's costs, which stays when the span is closed: work that outlives
    /// the span has costs too.
    pub(crate) meter: Option<Arc<dyn CostMeter>>,
}

/// Maximum number of attributes of a span.
pub(crate) const MAX_ATTRIBUTES: usize = 64;
/// Maximum number of characters of an attribute's value.
pub(crate) const MAX_ATTRIBUTE: usize = 1_024;

impl SpanDetails {
    /// Sets an attribute. A model or a server may have chosen the value, so it is cut.
    pub(crate) fn set_attribute(&mut self, key: &'static str, value: Value) {
        let value = match value {
            Value::String(text) if text.len() > MAX_ATTRIBUTE => {
                truncate(&text, MAX_ATTRIBUTE).into()
            }
            Value::Array(_) | Value::Object(_) => {
                let text = value.to_string();
                if text.len() > MAX_ATTRIBUTE {
                    truncate(&text, MAX_ATTRIBUTE).into()
                } else {
                    value
                }
            }
            value => value,
        };
        if let Some((_, before)) = self.attributes.iter_mut().find(|(known, _)| *known == key) {
            *before = value;
        } else if self.attributes.len() < MAX_ATTRIBUTES {
            self.attributes.push((key, value));
        }
    }
}

/// The state of a node in a report's tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NodeState {
    /// The span has ended.
    Ended,
    /// The span was open around the call that made the report.
    Running,
    /// The span was open elsewhere. Spans inside it have ended before it.
    Open,
    /// The span left the collector's buffer.
    Dropped,
    /// The span is one of another process.
    Remote,
}

impl NodeState {
    /// Returns the name in lower case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Running => "running",
            Self::Open => "open",
            Self::Dropped => "dropped",
            Self::Remote => "remote",
        }
    }

    /// Returns whether the report does not have the span, but only its id.
    pub const fn is_missing(self) -> bool {
        matches!(self, Self::Open | Self::Dropped | Self::Remote)
    }
}

/// Returns the nanoseconds since the process's first span.
#[inline]
pub(crate) fn now() -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let first = FIRST.get_or_init(Instant::now);
    u64::try_from(first.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// The difference between the wall clock and the clock of spans from which on both are aligned
/// again. Below it, the times of spans keep their order.
const MAX_DRIFT: Duration = Duration::from_millis(100);

/// Returns the wall-clock time at which [`now`] was 0.
///
/// The clock of spans stands still while the machine sleeps, and does not follow a wall clock that
/// is set. So the wall clock is read each time.
pub(crate) fn epoch() -> SystemTime {
    static EPOCH: Mutex<Option<SystemTime>> = Mutex::new(None);
    let read = SystemTime::now() - Duration::from_nanos(now());
    let mut epoch = EPOCH.lock();
    let aligned = aligned(*epoch, read);
    *epoch = Some(aligned);
    aligned
}

/// Returns the epoch that was known, unless the one that was read now is far from it.
fn aligned(known: Option<SystemTime>, read: SystemTime) -> SystemTime {
    let Some(known) = known else { return read };
    let drift = match read.duration_since(known) {
        Ok(later) => later,
        Err(earlier) => earlier.duration(),
    };
    if drift <= MAX_DRIFT { known } else { read }
}

/// A span that has ended, or a snapshot of one that is still running.
///
/// ```
/// use tool_core::trace::{self, Collector, SpanKind, SpanStatus};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let collector = Collector::new();
/// collector.run(trace::agent("planner", trace::section("look up", async {}))).await;
/// let report = collector.report();
/// let (section, agent) = (&report.spans()[0], &report.spans()[1]);
/// assert_eq!((section.kind(), section.name(), section.status()), (SpanKind::Section, "look up", SpanStatus::Ok));
/// assert_eq!(section.parent(), Some(agent.span_id()));
/// # }
/// ```
#[derive(Clone)]
pub struct SpanRecord {
    pub(crate) trace: TraceId,
    pub(crate) baggage: Arc<DistributedContext>,
    pub(crate) id: SpanId,
    pub(crate) parent: Option<SpanId>,
    pub(crate) name: Name,
    pub(crate) start: u64,
    pub(crate) nanos: u64,
    pub(crate) call_id: Option<Arc<str>>,
    pub(crate) error: Option<Box<SpanError>>,
    pub(crate) details: Option<Arc<SpanDetails>>,
    pub(crate) kind: SpanKind,
    pub(crate) status: SpanStatus,
    /// The state of the parent when the span ended, for a report that does not have the parent.
    pub(crate) parent_state: NodeState,
}

impl SpanRecord {
    /// Returns the id of the trace.
    pub fn trace_id(&self) -> TraceId {
        self.trace
    }

    /// Returns the id of the span.
    pub fn span_id(&self) -> SpanId {
        self.id
    }

    /// Returns the id of the span in which this one was opened, in this process or another.
    pub fn parent(&self) -> Option<SpanId> {
        self.parent
    }

    /// Returns the kind of work.
    pub fn kind(&self) -> SpanKind {
        self.kind
    }

    /// Returns the name of the agent, tool, model or section. An HTTP request is named by its
    /// method and host.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns kind and name: `tool:search`.
    pub fn label(&self) -> String {
        format!("{}:{}", self.kind, &*self.name)
    }

    /// Returns the outcome.
    pub fn status(&self) -> SpanStatus {
        self.status
    }

    /// Returns the error, if the span failed.
    pub fn error(&self) -> Option<&SpanError> {
        self.error.as_deref()
    }

    /// Returns the id of the tool call that a model made.
    pub fn call_id(&self) -> Option<&str> {
        self.call_id.as_deref()
    }

    /// Returns the time at which the span was opened. It is counted back from the wall clock of this
    /// moment with the monotonic clock, which may stand still while the machine sleeps. So read it
    /// when the span ends: after a sleep, it is later by the length of the sleep.
    pub fn started(&self) -> SystemTime {
        epoch() + Duration::from_nanos(self.start)
    }

    /// Returns the time for which the span was open.
    pub fn duration(&self) -> Duration {
        Duration::from_nanos(self.nanos)
    }

    /// Returns the uses that this span pays for, without those of the spans inside it.
    pub fn spent(&self) -> &[CostEntry] {
        self.details.as_ref().map_or(&[], |details| &details.costs)
    }

    /// Returns the cost of [`spent`](Self::spent).
    pub fn own_cost(&self) -> Cost {
        self.spent().iter().filter_map(|entry| entry.cost).sum()
    }

    /// Returns the attributes, under their OpenTelemetry names.
    pub fn attributes(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.details
            .iter()
            .flat_map(|details| details.attributes.iter().map(|(key, value)| (*key, value)))
    }

    /// Returns the id of the run that the span belongs to.
    pub fn run_id(&self) -> Option<&str> {
        self.baggage.run_id.as_deref()
    }

    /// Returns the id of the customer for whom the work was done.
    pub fn customer_id(&self) -> Option<&str> {
        self.baggage.customer_id.as_deref()
    }

    /// Returns whether the parent is a span of another process.
    pub fn is_parent_remote(&self) -> bool {
        self.parent.is_some() && self.parent_state == NodeState::Remote
    }

    /// Returns the `tracestate` of W3C Trace Context that other tracing systems added to the trace.
    pub fn tracestate(&self) -> Option<&str> {
        self.baggage.tracestate.as_deref()
    }

    /// Returns whether the process in which the trace began samples it. Traces that begin in this
    /// process are sampled.
    pub fn is_sampled(&self) -> bool {
        self.baggage.sampled != Some(false)
    }
}

impl fmt::Debug for SpanRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpanRecord")
            .field("trace", &self.trace)
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

    #[test]
    fn spans_after_a_sleep_have_the_times_of_the_wall_clock() {
        let known = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
        let hour = Duration::from_secs(3_600);
        assert_eq!(aligned(Some(known), known + hour), known + hour);
        assert_eq!(aligned(Some(known), known - hour), known - hour);
    }

    #[test]
    fn small_drifts_leave_the_order_of_spans() {
        let known = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
        let little = Duration::from_millis(5);
        assert_eq!(aligned(Some(known), known + little), known);
        assert_eq!(aligned(Some(known), known - little), known);
    }

    // The buffer may take 256 bytes a span, details included.
    #[test]
    fn a_record_takes_at_most_128_bytes() {
        assert!(
            size_of::<SpanRecord>() <= 128,
            "{}",
            size_of::<SpanRecord>()
        );
    }
}
