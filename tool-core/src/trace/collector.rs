//! The collector: a bounded buffer of ended spans, their totals, and the sinks that receive each
//! span.

use crate::text::truncate;
use crate::trace::cost::{Cost, CostSummary, DefaultPricing, Pricing};
use crate::trace::ids::{SpanId, TraceId};
use crate::trace::record::{MAX_ATTRIBUTE, SpanKind, SpanRecord};
use crate::trace::redaction::Redaction;
use crate::trace::usage::{ModelUsage, RecentResponses};
use parking_lot::Mutex;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A receiver of every span that ends, for example an exporter.
///
/// It is called on the thread that ends the span and must not block. A panic is logged and affects
/// nothing else.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use tool_core::trace::{self, Collector, SpanRecord, SpanSink};
///
/// #[derive(Clone, Default)]
/// struct Labels(Arc<Mutex<Vec<String>>>);
///
/// impl SpanSink for Labels {
///     fn ended(&self, span: &SpanRecord) {
///         self.0.lock().unwrap().push(span.label());
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let labels = Labels::default();
/// let collector = Collector::builder().sink(labels.clone()).build();
/// collector.run(trace::agent("planner", trace::section("look up", async {}))).await;
/// assert_eq!(*labels.0.lock().unwrap(), ["section:look up", "agent:planner"]);
/// # }
/// ```
pub trait SpanSink: Send + Sync {
    /// Receives a span that has ended.
    fn ended(&self, span: &SpanRecord);

    /// Returns whether the sink also receives spans as they open, and the progress of open ones.
    /// Asked once, when the collector is built. Defaults to `false`.
    fn watches_open(&self) -> bool {
        false
    }

    /// Receives a span that has opened, if the sink [watches](Self::watches_open) open spans. Its
    /// duration is 0, and it has neither costs nor contents. [`ended`](Self::ended) receives it
    /// again. Defaults to nothing.
    fn opened(&self, span: &SpanRecord) {
        let _ = span;
    }

    /// Receives a progress update of the tool whose call has the open span `span`, if the sink
    /// [watches](Self::watches_open) open spans. The message is redacted, and at most 1,024 characters long. The fraction is
    /// the completed part of the work, from 0 to 1. Defaults to nothing.
    fn progressed(&self, trace: TraceId, span: SpanId, message: &str, fraction: Option<f64>) {
        let _ = (trace, span, message, fraction);
    }

    /// Receives a span that has ended and the spans around it. Defaults to [`ended`](Self::ended).
    fn ended_in(&self, span: &SpanRecord, around: &ParentSpan<'_>) {
        let _ = around;
        self.ended(span);
    }
}

/// The spans around a span that has ended. Defaults to none, as around a root span.
#[derive(Default)]
pub struct ParentSpan<'a> {
    pub(crate) agent: Option<&'a str>,
    pub(crate) tool: Option<&'a str>,
    /// True if an agent, a tool or a model request is among them.
    pub(crate) is_tracked: bool,
}

impl ParentSpan<'_> {
    /// Returns the name of the nearest agent around the span.
    pub fn agent(&self) -> Option<&str> {
        self.agent
    }
}

/// The cost of all spans that a collector received, by name.
///
/// Each list has at most 1,000 names. Further names are summed up as `(others)`.
///
/// ```
/// use tool_core::trace::{self, Collector, Cost};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let collector = Collector::new();
/// collector.run(trace::agent("planner", async { trace::record_cost("geocoder", Cost::micros(500)) })).await;
/// let report = collector.report();
/// let totals = report.totals();
/// assert_eq!(totals.agents["planner"].cost, Cost::micros(500));
/// assert_eq!(totals.models["geocoder"].uses, 1);
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Totals {
    /// The sum of all uses: `tracked` and `untracked` together.
    pub total: CostSummary,
    /// The uses inside an agent, a tool or a model request.
    pub tracked: CostSummary,
    /// The uses outside of any.
    pub untracked: CostSummary,
    /// The uses by the nearest agent.
    pub agents: BTreeMap<String, CostSummary>,
    /// The uses by the nearest tool.
    pub tools: BTreeMap<String, CostSummary>,
    /// The uses by model, and by name for services that are not models.
    pub models: BTreeMap<String, CostSummary>,
    /// The uses by run.
    pub runs: BTreeMap<String, CostSummary>,
    /// The uses by customer.
    pub customers: BTreeMap<String, CostSummary>,
}

/// Maximum number of names in each list of totals.
const MAX_NAMES: usize = 1_000;

impl Totals {
    /// Adds the uses that a span pays for.
    pub(crate) fn add(&mut self, span: &SpanRecord, around: &ParentSpan<'_>) {
        let own_name = |kind| (span.kind == kind).then(|| span.name());
        let agent = own_name(SpanKind::Agent).or(around.agent);
        let tool = own_name(SpanKind::Tool).or(around.tool);
        let is_tracked = around.is_tracked || span.kind.rank() == 1;
        for entry in span.spent() {
            let sum = CostSummary::from(entry);
            self.total += sum;
            *if is_tracked {
                &mut self.tracked
            } else {
                &mut self.untracked
            } += sum;
            for (names, name) in [
                (&mut self.agents, agent),
                (&mut self.tools, tool),
                (&mut self.models, Some(&*entry.used.model)),
                (&mut self.runs, span.run_id()),
                (&mut self.customers, span.customer_id()),
            ] {
                let Some(name) = name else { continue };
                let is_known = names.len() < MAX_NAMES || names.contains_key(name);
                *names
                    .entry(if is_known { name } else { "(others)" }.to_owned())
                    .or_default() += sum;
            }
        }
    }
}

/// A buffer of the newest ended spans and the cost of all of them. Cloning it is cheap, and a clone
/// is the same collector.
///
/// ```
/// use tool_core::trace::{self, Collector};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let collector = Collector::new();
/// collector.run(trace::agent("planner", async {})).await;
/// assert_eq!(collector.report().spans().len(), 1);
/// # }
/// ```
#[derive(Clone)]
pub struct Collector(pub(super) Arc<CollectorInner>);

pub(super) struct CollectorInner {
    capacity: usize,
    pricing: Option<Arc<dyn Pricing>>,
    sinks: Vec<Arc<dyn SpanSink>>,
    /// The sinks that watch open spans. Few do, so that opening a span costs one check.
    watchers: Vec<Arc<dyn SpanSink>>,
    keeps_content: bool,
    redaction: Redaction,
    pub(super) buffer: Mutex<SpanBuffer>,
}

/// The state of a collector, behind its lock.
#[derive(Default)]
pub(crate) struct SpanBuffer {
    pub(crate) spans: VecDeque<SpanRecord>,
    pub(crate) dropped: u64,
    pub(crate) totals: Totals,
    pub(crate) responses: RecentResponses,
}

impl SpanBuffer {
    /// Adds a span, and returns the one that left the buffer for it.
    fn push(&mut self, span: SpanRecord, capacity: usize) -> Option<SpanRecord> {
        if capacity == 0 {
            self.dropped += 1;
            return Some(span);
        }
        let oldest = if self.spans.len() < capacity {
            None
        } else {
            self.spans.pop_front()
        };
        self.dropped += u64::from(oldest.is_some());
        let spans = self.spans.len();
        if spans == self.spans.capacity() {
            // Doubles, but never reserves more than the buffer may hold.
            self.spans
                .reserve_exact(spans.max(64).min(capacity.saturating_sub(spans)));
        }
        self.spans.push_back(span);
        oldest
    }
}

/// A builder for a [`Collector`].
///
/// ```
/// use tool_core::trace::{self, Collector, Cost, ModelUsage, Pricing, TokenUsage};
///
/// struct Flat;
///
/// impl Pricing for Flat {
///     fn price(&self, used: &ModelUsage) -> Option<Cost> {
///         Some(Cost::micros(used.usage.output))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let collector = Collector::builder().keep(1_000).pricing(Flat).content(false).build();
/// let usage = TokenUsage { output: 7, ..TokenUsage::default() };
/// collector.run(trace::agent("planner", async { trace::record(ModelUsage::new("m-1", usage)) })).await;
/// assert_eq!(collector.report().totals().total.cost, Cost::micros(7));
/// # }
/// ```
#[must_use]
pub struct CollectorBuilder(CollectorInner);

impl CollectorBuilder {
    /// Sets the number of ended spans in the buffer. Defaults to 10,000. A span that does not fit
    /// replaces the oldest, and is counted as dropped.
    pub fn keep(mut self, spans: usize) -> Self {
        self.0.capacity = spans;
        self
    }

    /// Sets the price table. Defaults to the table of a linked crate, if one has a table.
    pub fn pricing(mut self, pricing: impl Pricing + 'static) -> Self {
        self.0.pricing = Some(Arc::new(pricing));
        self
    }

    /// Adds a sink that receives each span that ends.
    pub fn sink(mut self, sink: impl SpanSink + 'static) -> Self {
        self.0.sinks.push(Arc::new(sink));
        self
    }

    /// Sets whether spans have the redacted arguments and results of calls. Defaults to `false`.
    pub fn content(mut self, kept: bool) -> Self {
        self.0.keeps_content = kept;
        self
    }

    /// Sets the redaction of messages, arguments and results. Defaults to [`Redaction::new`].
    pub fn redaction(mut self, redaction: Redaction) -> Self {
        self.0.redaction = redaction;
        self
    }

    /// Builds the collector.
    pub fn build(mut self) -> Collector {
        let linked = || {
            inventory::iter::<DefaultPricing>
                .into_iter()
                .next()
                .map(|linked| (linked.0)())
        };
        self.0.pricing = self.0.pricing.or_else(linked);
        self.0.watchers = self
            .0
            .sinks
            .iter()
            .filter(|sink| sink.watches_open())
            .cloned()
            .collect();
        Collector(Arc::new(self.0))
    }
}

impl Default for Collector {
    fn default() -> Self {
        Self::new()
    }
}

impl Collector {
    /// Creates a collector with the defaults of [`CollectorBuilder`].
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Creates a builder.
    pub fn builder() -> CollectorBuilder {
        CollectorBuilder(CollectorInner {
            capacity: 10_000,
            pricing: None,
            sinks: Vec::new(),
            watchers: Vec::new(),
            keeps_content: false,
            redaction: Redaction::new(),
            buffer: Mutex::default(),
        })
    }

    /// Makes this the collector of the process, which receives all spans that do not run inside
    /// another collector. From here on, calls outside of any span open one.
    pub fn install(&self) {
        *PROCESS_COLLECTOR.lock() = Some(self.clone());
        STARTED.store(true, Ordering::Relaxed);
    }

    /// Returns whether spans have arguments and results.
    pub fn keeps_content(&self) -> bool {
        self.0.keeps_content
    }

    /// Returns the redaction of messages, arguments and results.
    pub fn redaction(&self) -> &Redaction {
        &self.0.redaction
    }

    /// Returns the cost of all spans that have ended, including those that left the buffer.
    pub fn totals(&self) -> Totals {
        self.0.buffer.lock().totals.clone()
    }

    /// Returns the cost of a response. A price table that panics must not fail the tool, so the
    /// price is then unknown.
    pub(crate) fn price(&self, used: &ModelUsage) -> Option<Cost> {
        let pricing = self.0.pricing.as_ref()?;
        catch_unwind(AssertUnwindSafe(|| pricing.price(used))).unwrap_or_else(|_| {
            tracing::error!("failed to price a response: the price table panicked");
            None
        })
    }

    /// Returns whether a sink receives spans as they open.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        !self.0.watchers.is_empty()
    }

    /// Passes a span that has opened to the sinks that watch.
    #[cold]
    pub(crate) fn opened(&self, span: &SpanRecord) {
        self.each_watcher(|sink| sink.opened(span));
    }

    /// Passes a progress update to the sinks that watch.
    #[cold]
    pub(crate) fn progressed(
        &self,
        trace: TraceId,
        span: SpanId,
        message: &str,
        fraction: Option<f64>,
    ) {
        // Redacted before it is cut, as a part of a secret is not found, and of a long text not all
        // is read.
        let message = truncate(
            &self
                .redaction()
                .text(&truncate(message, 16 * MAX_ATTRIBUTE)),
            MAX_ATTRIBUTE,
        );
        self.each_watcher(|sink| sink.progressed(trace, span, &message, fraction));
    }

    fn each_watcher(&self, pass: impl Fn(&dyn SpanSink)) {
        for sink in &self.0.watchers {
            // A sink that panics must not fail the tool.
            if catch_unwind(AssertUnwindSafe(|| pass(&**sink))).is_err() {
                tracing::error!("failed to pass on an open span: a span sink panicked");
            }
        }
    }

    /// Passes an ended span to the sinks and adds it to the buffer. `around` is called only where
    /// it matters.
    pub(crate) fn push<'a>(&self, span: SpanRecord, around: impl FnOnce() -> ParentSpan<'a>) {
        let has_costs = !span.spent().is_empty();
        let around = (has_costs || !self.0.sinks.is_empty())
            .then(around)
            .unwrap_or_default();
        for sink in &self.0.sinks {
            // A sink that panics must not fail the tool.
            if catch_unwind(AssertUnwindSafe(|| sink.ended_in(&span, &around))).is_err() {
                tracing::error!("failed to pass on a span: a span sink panicked");
            }
        }
        let mut buffer = self.0.buffer.lock();
        if has_costs {
            buffer.totals.add(&span, &around);
        }
        let left = buffer.push(span, self.0.capacity);
        // Frees the span outside of the lock.
        drop(buffer);
        drop(left);
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let buffer = self.0.buffer.lock();
        f.debug_struct("Collector")
            .field("spans", &buffer.spans.len())
            .field("dropped", &buffer.dropped)
            .finish()
    }
}

static STARTED: AtomicBool = AtomicBool::new(false);

/// The collector of the process, once something has used it.
static PROCESS_COLLECTOR: Mutex<Option<Collector>> = Mutex::new(None);

/// Returns the collector of the process, and creates it at the first use.
pub(crate) fn process_collector() -> Collector {
    PROCESS_COLLECTOR.lock().get_or_insert_default().clone()
}

/// Returns whether calls outside of any span open one.
#[inline]
pub(crate) fn is_started() -> bool {
    STARTED.load(Ordering::Relaxed)
}

/// Starts the process's collector. From here on, tool calls outside of any span open one.
///
/// ```
/// use tool_core::{RunContext, ToolContext, tool, trace};
///
/// /// Say hello.
/// #[tool]
/// fn greet() -> &'static str {
///     "hello"
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// let tools = ToolContext::builder().with(greet).build()?;
/// let collector = trace::start();
/// tools.call("greet", "{}", &RunContext::detached()).await;
/// assert_eq!(collector.report().spans()[0].label(), "tool:greet");
/// # Ok(())
/// # }
/// ```
pub fn start() -> Collector {
    let collector = process_collector();
    STARTED.store(true, Ordering::Relaxed);
    collector
}

/// Ends the effect of [`start`]: tool calls outside of any span no longer open one. The collector keeps its spans, and still
/// receives those that are opened by name, for example by [`agent`](super::agent) and [`section`](super::section).
pub fn stop() {
    STARTED.store(false, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::spans::in_scope;

    /// A sink whose drop can be counted.
    struct CountedSink(#[allow(dead_code)] Arc<()>);

    impl SpanSink for CountedSink {
        fn ended(&self, _: &SpanRecord) {}
    }

    #[test]
    fn dropping_the_last_reference_drops_the_collector() {
        let counter = Arc::new(());
        let collector = Collector::builder()
            .sink(CountedSink(Arc::clone(&counter)))
            .build();
        collector.run_sync(|| in_scope(SpanKind::Section, "part", || ()));
        drop(collector);
        assert_eq!(Arc::strong_count(&counter), 1);
    }
}
