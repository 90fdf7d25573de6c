//! Where spans go when they have ended.

use crate::trace;
use crate::trace::cost::Cost;
use crate::trace::open_span::{OpenSpan, Trace};
use crate::trace::record::{SpanKind, SpanRecord};
use crate::trace::redaction::Redaction;
use crate::trace::totals::Totals;
use crate::trace::usage::{ModelUsage, Seen};
use crate::trace::{instrumented, open_span};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many spans are kept, unless told otherwise. S10
pub(crate) const KEPT: usize = 10_000;

/// What a model's use costs: a price table.
pub trait Pricing: Send + Sync {
    /// The cost, or `None` where it knows no price.
    fn price(&self, used: &ModelUsage) -> Option<Cost>;
}

/// Sees every span that ends, such as an exporter. What it does must be quick; if it panics, nothing else happens. S5
pub trait SpanSink: Send + Sync {
    /// A span has ended.
    fn ended(&self, span: &SpanRecord);

    /// The same, for a sink that wants to know what the span stood in.
    fn ended_in(&self, span: &SpanRecord, around: &ParentSpan<'_>) {
        let _ = around;
        self.ended(span);
    }
}

/// What a span stood in.
pub struct ParentSpan<'a>(Option<&'a Arc<OpenSpan>>);

impl ParentSpan<'_> {
    /// Of a span that stood in nothing.
    pub fn nothing() -> Self {
        Self(None)
    }

    /// The name of the agent that it was opened in, the nearest.
    pub fn agent(&self) -> Option<&str> {
        let mut outer = self.0?.chain().skip(1);
        outer.find(|scope| scope.kind == Some(SpanKind::Agent)).map(|scope| &*scope.name)
    }
}

/// The price table that a linked crate brings for collectors which are told of none.
#[doc(hidden)]
pub struct DefaultPricing(pub fn() -> Arc<dyn Pricing>);

inventory::collect!(DefaultPricing);

/// Keeps the spans of a tree of tasks: the newest 10,000, and what all of them have cost. Cheap to clone; a clone is the
/// same collector.
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
pub struct Collector(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    most: usize,
    pricing: Option<Arc<dyn Pricing>>,
    pub(crate) sinks: Vec<Arc<dyn SpanSink>>,
    pub(crate) content: bool,
    redaction: Redaction,
    kept: Mutex<Kept>,
}

#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) spans: VecDeque<SpanRecord>,
    pub(crate) dropped: u64,
    pub(crate) totals: Totals,
    pub(crate) seen: Seen,
}

impl Kept {
    /// Room for a span: twice what there was, as vectors do, but never for more than there can be.
    fn make_room(&mut self, most: usize) {
        let spans = self.spans.len();
        if spans == self.spans.capacity() {
            self.spans.reserve_exact(spans.max(64).min(most.saturating_sub(spans)));
        }
    }
}

/// Puts a [`Collector`] together.
#[must_use]
pub struct CollectorBuilder {
    most: usize,
    pricing: Option<Arc<dyn Pricing>>,
    sinks: Vec<Arc<dyn SpanSink>>,
    content: bool,
    redaction: Redaction,
}

impl CollectorBuilder {
    /// How many spans are kept; 10,000 unless told. The oldest goes first, and is counted. S10
    pub fn keep(mut self, spans: usize) -> Self {
        self.most = spans;
        self
    }

    /// The price table.
    pub fn pricing(mut self, pricing: impl Pricing + 'static) -> Self {
        self.pricing = Some(Arc::new(pricing));
        self
    }

    /// Who else sees each span that ends.
    pub fn sink(mut self, sink: impl SpanSink + 'static) -> Self {
        self.sinks.push(Arc::new(sink));
        self
    }

    /// Whether arguments and results of calls are kept, redacted; not unless told.
    pub fn content(mut self, kept: bool) -> Self {
        self.content = kept;
        self
    }

    /// What is hidden of them.
    pub fn redaction(mut self, redaction: Redaction) -> Self {
        self.redaction = redaction;
        self
    }

    /// The collector.
    pub fn build(self) -> Collector {
        let Self { most, pricing, sinks, content, redaction } = self;
        let linked = || inventory::iter::<DefaultPricing>.into_iter().next().map(|linked| (linked.0)());
        let pricing = pricing.or_else(linked);
        Collector(Arc::new(Inner { most, pricing, sinks, content, redaction, kept: Mutex::default() }))
    }
}

impl Default for Collector {
    fn default() -> Self {
        Self::new()
    }
}

impl Collector {
    /// A collector as it is unless told otherwise.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// A collector with more than that.
    pub fn builder() -> CollectorBuilder {
        CollectorBuilder { most: KEPT, pricing: None, sinks: Vec::new(), content: false, redaction: Redaction::new() }
    }

    /// Runs `work` with this collector: the spans that it opens, and those of the tasks which inherit from it, go here
    /// and nowhere else.
    pub fn run<F: Future>(&self, work: F) -> instrumented::WithSpan<F> {
        instrumented::WithSpan::new(self.anchor(), work)
    }

    /// The same for work that is no future.
    pub fn run_sync<T>(&self, work: impl FnOnce() -> T) -> T {
        let root = self.anchor();
        let _inside = open_span::enter(&root);
        work()
    }

    /// What the spans hang from that go to this collector.
    pub(crate) fn anchor(&self) -> Arc<OpenSpan> {
        Arc::new(OpenSpan::new(Arc::new(Trace::to(self.clone())), None, None, trace::no_name()))
    }

    /// Makes this the collector of the process: of whatever is not run with one of its own. From here on calls outside
    /// any span open one too.
    pub fn install(&self) {
        *process_wide() = Some(self.clone());
        STARTED.store(true, Ordering::Relaxed);
    }

    /// Whether arguments and results are kept.
    pub fn keeps_content(&self) -> bool {
        self.0.content
    }

    /// What is hidden of them.
    pub fn redaction(&self) -> &Redaction {
        &self.0.redaction
    }

    /// What all spans that have ended have used and spent, those too that are no longer kept.
    pub fn totals(&self) -> Totals {
        self.kept().totals.clone()
    }

    pub(crate) fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a use costs. S5: a table that panics knows no price.
    pub(crate) fn price(&self, used: &ModelUsage) -> Option<Cost> {
        let prices = self.0.pricing.as_ref()?;
        catch_unwind(AssertUnwindSafe(|| prices.price(used))).unwrap_or_else(|_| {
            tracing::error!("a price table panicked");
            None
        })
    }

    /// Takes a span that has ended. Its scope says in whose name it spent.
    pub(crate) fn take(&self, span: SpanRecord, scope: &Arc<OpenSpan>) {
        for sink in &self.0.sinks {
            // S5: telemetry that fails does not fail the tool.
            if catch_unwind(AssertUnwindSafe(|| sink.ended_in(&span, &ParentSpan(Some(scope))))).is_err() {
                tracing::error!("a sink of spans panicked");
            }
        }
        let mut kept = self.kept();
        if !span.spent().is_empty() {
            kept.totals.add(&span, scope);
        }
        // Where none are kept the oldest is the new one.
        let oldest = if kept.spans.len() < self.0.most { None } else { kept.spans.pop_front() };
        if self.0.most > 0 {
            kept.make_room(self.0.most);
            kept.spans.push_back(span);
            kept.dropped += u64::from(oldest.is_some());
        } else {
            kept.dropped += 1;
        }
        drop(kept);
        // What it held is given back outside the lock.
        drop(oldest);
    }
}

impl std::fmt::Debug for Collector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kept = self.kept();
        f.debug_struct("Collector").field("spans", &kept.spans.len()).field("dropped", &kept.dropped).finish()
    }
}

static STARTED: AtomicBool = AtomicBool::new(false);

/// The process's own collector, once there is one.
static PROCESS: Mutex<Option<Collector>> = Mutex::new(None);

fn process_wide() -> MutexGuard<'static, Option<Collector>> {
    PROCESS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The collector of the process, made at its first use.
pub(crate) fn of_process() -> Collector {
    process_wide().get_or_insert_default().clone()
}

/// The collector at a place: of the span there, or else the process's.
pub(crate) fn at(scope: Option<&Arc<OpenSpan>>) -> Collector {
    scope.map_or_else(of_process, |scope| scope.trace.collector.clone())
}

/// Whether calls outside any span open one: somebody has started or installed the process's collector.
#[inline]
pub(crate) fn is_started() -> bool {
    STARTED.load(Ordering::Relaxed)
}

pub(crate) fn start() -> Collector {
    let collector = of_process();
    STARTED.store(true, Ordering::Relaxed);
    collector
}

pub(crate) fn stop() {
    STARTED.store(false, Ordering::Relaxed);
}
