//! Spans: opening one, entering it, and closing it on every exit from its work.
//!
//! A future carries its span and puts it into a thread-local at every poll. Spans link to their
//! parents, so the current span is a stack that tasks can share.

use crate::text::Name;
use crate::trace::collector::{Collector, ParentSpan, is_started, process_collector};
use crate::trace::cost::{CostMeter, MetersAround};
use crate::trace::ids::{SpanId, TraceId};
use crate::trace::propagation::DistributedContext;
use crate::trace::record::{
    NodeState, SpanDetails, SpanEnd, SpanKind, SpanRecord, SpanStatus, now,
};
use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, LazyLock};
use tracing::field::Empty;
use tracing::level_filters::LevelFilter;
use tracing::{Level, Span, info_span};

/// The values that all spans of a trace share.
#[derive(Clone)]
pub(crate) struct TraceContext {
    /// `None` if the next span begins a trace.
    pub(crate) id: Option<TraceId>,
    /// The collector that receives the spans.
    pub(crate) collector: Collector,
    /// The run, the customer, and what other tracing systems added.
    pub(crate) baggage: Arc<DistributedContext>,
}

impl TraceContext {
    /// Creates the context of a trace that has not begun.
    pub(crate) fn new(collector: Collector) -> Self {
        // Most traces have no baggage, so they share one.
        static EMPTY: LazyLock<Arc<DistributedContext>> = LazyLock::new(Arc::default);
        Self {
            id: None,
            collector,
            baggage: Arc::clone(&EMPTY),
        }
    }

    /// Returns the context of a span. Outside of any span, the next trace goes to the process's
    /// collector.
    pub(crate) fn of(span: Option<&Arc<OpenSpan>>) -> Arc<Self> {
        span.map_or_else(
            || Arc::new(Self::new(process_collector())),
            |span| Arc::clone(&span.trace),
        )
    }
}

/// An open span, or an anchor.
///
/// An anchor has no kind and leaves no record. Spans hang from it: it selects a collector, or
/// stands for a span of another process.
pub(crate) struct OpenSpan {
    pub(crate) trace: Arc<TraceContext>,
    pub(crate) parent: Option<Arc<Self>>,
    pub(crate) name: Name,
    pub(crate) id: Option<SpanId>,
    /// Nanoseconds since the process's first span.
    pub(crate) start: u64,
    details: Mutex<Option<Box<SpanDetails>>>,
    pub(crate) log: Option<Box<Span>>,
    /// The function to which a call was dispatched, so that its body does not open a second span. 0
    /// is none.
    pub(crate) site: u32,
    pub(crate) kind: Option<SpanKind>,
    flags: AtomicU8,
}

/// The body of the dispatched function runs in this span.
const CLAIMED: u8 = 1;
/// The span has ended.
const CLOSED: u8 = 2;
/// The tool panicked, and the panic was caught.
pub(crate) const PANICKED: u8 = 4;
/// Spans opened in this anchor take its attributes.
pub(crate) const INHERITED: u8 = 8;
/// The caller recorded the usage of a response with an id.
pub(crate) const RECORDED_BY_ID: u8 = 16;
/// The caller recorded the usage of a response without an id, which may be any response of this
/// request.
pub(crate) const RECORDED: u8 = 32;
/// The span, or one around it, has a meter.
pub(crate) const METERED: u8 = 64;

impl OpenSpan {
    pub(crate) fn new(
        trace: Arc<TraceContext>,
        parent: Option<Arc<Self>>,
        kind: Option<SpanKind>,
        name: Name,
    ) -> Self {
        let inherited = parent
            .as_ref()
            .map_or(0, |parent| parent.flags.load(Ordering::Relaxed) & METERED);
        Self {
            trace,
            parent,
            name,
            id: None,
            start: 0,
            details: Mutex::new(None),
            log: None,
            site: 0,
            kind,
            flags: AtomicU8::new(inherited),
        }
    }

    /// Creates an anchor. Spans opened in it are children of `parent`.
    pub(crate) fn anchor(trace: Arc<TraceContext>, parent: Option<Arc<Self>>) -> Self {
        let id = parent.as_ref().and_then(|parent| parent.id);
        let mut anchor = Self::new(trace, parent, None, Name::Static(""));
        anchor.id = id;
        anchor
    }

    /// Creates the anchor of spans that continue an imported context inside the span `around`.
    pub(crate) fn imported(context: &DistributedContext, around: Option<Arc<Self>>) -> Self {
        let mut trace = (*TraceContext::of(around.as_ref())).clone();
        trace.baggage = Arc::new(trace.baggage.merge(context));
        let remote = context.trace_id.zip(context.span_id);
        trace.id = remote.map_or(trace.id, |(trace, _)| Some(trace));
        let meters = around
            .as_ref()
            .filter(|_| remote.is_some())
            .map(|span| span.meters().collect::<Vec<_>>());
        let mut anchor = Self::anchor(Arc::new(trace), around.filter(|_| remote.is_none()));
        if let Some(meters) = meters.filter(|meters| !meters.is_empty()) {
            anchor.set_meter(Arc::new(MetersAround(meters)));
        }
        anchor.id = remote.map_or(anchor.id, |(_, span)| Some(span));
        anchor
    }

    /// Returns the context that continues this span in another process.
    pub(crate) fn context(&self) -> DistributedContext {
        let baggage = (*self.trace.baggage).clone();
        // A trace id without a span id cannot be continued, nor the reverse.
        match (self.trace.id, self.id) {
            (Some(trace), Some(span)) => baggage.parent(trace, span),
            _ => baggage,
        }
    }

    /// Returns this span and the spans and anchors around it, the nearest first.
    pub(crate) fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |span| span.parent.as_deref())
    }

    /// Returns the nearest agent, tool or model request, open or closed: this span or one around
    /// it.
    pub(crate) fn nearest_tracked(&self) -> Option<&Self> {
        self.chain()
            .find(|span| span.kind.is_some_and(|kind| kind.rank() == 1))
    }

    /// Returns the surroundings by which the span's costs are summed up.
    pub(crate) fn surroundings(&self) -> ParentSpan<'_> {
        let nearest = |kind| {
            self.chain()
                .skip(1)
                .find(|span| span.kind == Some(kind))
                .map(|span| &*span.name)
        };
        let is_tracked = self
            .parent
            .as_deref()
            .is_some_and(|parent| parent.nearest_tracked().is_some());
        ParentSpan {
            agent: nearest(SpanKind::Agent),
            tool: nearest(SpanKind::Tool),
            is_tracked,
        }
    }

    /// Changes costs or attributes. Returns `None` once the span is closed.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut SpanDetails) -> T) -> Option<T> {
        let mut details = self.details.lock();
        (!self.has(CLOSED)).then(|| change(details.get_or_insert_default()))
    }

    /// Returns whether this is a span, and not yet closed.
    pub(crate) fn is_active(&self) -> bool {
        self.kind.is_some() && !self.has(CLOSED)
    }

    /// Returns whether the body of the function at `site` runs in this span. True once: a recursive
    /// call has its own span.
    #[inline]
    pub(crate) fn claim(&self, site: u32) -> bool {
        self.site == site && self.flags.fetch_or(CLAIMED, Ordering::Relaxed) & CLAIMED == 0
    }

    pub(crate) fn set(&self, flag: u8) {
        self.flags.fetch_or(flag, Ordering::Relaxed);
    }

    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags.load(Ordering::Relaxed) & flag != 0
    }

    /// Closes the span and returns its record; `None` for an anchor.
    pub(crate) fn close(&self, end: SpanEnd, call_id: Option<Arc<str>>) -> Option<SpanRecord> {
        let mut details = self.details.lock();
        self.set(CLOSED);
        let mut ended = details.take();
        if let Some(meter) = ended.as_mut().and_then(|ended| ended.meter.take()) {
            *details = Some(Box::new(SpanDetails {
                meter: Some(meter),
                ..SpanDetails::default()
            }));
        }
        let details = ended.map(|details| Arc::new(*details));
        Some(SpanRecord {
            call_id,
            error: end.error,
            details,
            status: end.status,
            ..self.record()?
        })
    }

    /// Sets the receiver of the costs of the span and of what is opened in it from now on.
    pub(crate) fn set_meter(&self, meter: Arc<dyn CostMeter>) {
        self.change(|details| details.meter = Some(meter));
        self.set(METERED);
    }

    /// Returns the receivers of the costs of this span and of those around it, also of closed ones,
    /// the nearest first.
    pub(crate) fn meters(&self) -> impl Iterator<Item = Arc<dyn CostMeter>> {
        let metered = self.chain().take_while(|span| span.has(METERED));
        metered.filter_map(|span| span.details.lock().as_ref()?.meter.clone())
    }

    /// Returns a record of the span so far; `None` for an anchor and for a closed span.
    pub(crate) fn snapshot(&self) -> Option<SpanRecord> {
        let details = self.change(|details| {
            Arc::new(SpanDetails {
                meter: None,
                ..details.clone()
            })
        })?;
        Some(SpanRecord {
            details: Some(details),
            ..self.record()?
        })
    }

    fn record(&self) -> Option<SpanRecord> {
        let parent = self.parent.as_deref();
        Some(SpanRecord {
            trace: self.trace.id?,
            baggage: Arc::clone(&self.trace.baggage),
            id: self.id?,
            parent: parent.and_then(|parent| parent.id),
            name: self.name.clone(),
            start: self.start,
            nanos: now().saturating_sub(self.start),
            call_id: None,
            error: None,
            details: None,
            kind: self.kind?,
            status: SpanStatus::Ok,
            parent_state: parent.map_or(NodeState::Open, Self::parent_state),
        })
    }

    /// Returns the state that the records of this span's children have.
    fn parent_state(&self) -> NodeState {
        // An anchor stands for the span around it, or outside of any for a span of another process.
        match self.chain().find(|span| span.kind.is_some()) {
            None => NodeState::Remote,
            // The collector received it earlier, so a report without it has lost it.
            Some(span) if span.has(CLOSED) => NodeState::Dropped,
            Some(_) => NodeState::Open,
        }
    }
}

impl Drop for OpenSpan {
    /// Drops the chain of parents in a loop. Recursion would overflow the stack on a long chain.
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(mut span) = next.and_then(Arc::into_inner) {
            next = span.parent.take();
        }
    }
}

thread_local! {
    static CURRENT: Cell<Option<Arc<OpenSpan>>> = const { Cell::new(None) };
}

/// True once any span was entered. Until then, [`current`] does not look at the thread-local.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// Returns the span or anchor that the thread is in.
#[inline]
pub(crate) fn current() -> Option<Arc<OpenSpan>> {
    if !cfg!(feature = "trace") || !ENTERED.load(Ordering::Relaxed) {
        return None;
    }
    // The thread-local of an ending thread is gone.
    CURRENT
        .try_with(|cell| {
            let span = cell.take();
            cell.set(span.clone());
            span
        })
        .ok()
        .flatten()
}

/// A guard that makes a span the thread's current one until it is dropped. Guards are dropped in
/// the reverse order.
pub(crate) struct EnterGuard<'a> {
    before: Option<Arc<OpenSpan>>,
    _log: Option<tracing::span::Entered<'a>>,
}

/// Makes a span the thread's current one. Not inlined, like the guard's drop, because it would be
/// compiled again for each tool, and most calls have no span.
pub(crate) fn enter(span: &Arc<OpenSpan>) -> EnterGuard<'_> {
    if !ENTERED.load(Ordering::Relaxed) {
        ENTERED.store(true, Ordering::Relaxed);
    }
    let log = span.log.as_deref().map(Span::enter);
    let before = CURRENT
        .try_with(|cell| cell.replace(Some(Arc::clone(span))))
        .ok()
        .flatten();
    EnterGuard { before, _log: log }
}

impl Drop for EnterGuard<'_> {
    fn drop(&mut self) {
        let before = self.before.take();
        // The span's drop may call `current`, so it runs after the cell has its value again.
        let _left = CURRENT.try_with(|cell| cell.replace(before));
    }
}

/// A span that is the thread's current one until this is dropped, on the same thread. Unlike an [`EnterGuard`], it may be a
/// part of a future that moves between threads before it enters the span.
#[derive(Default)]
pub(crate) struct EnteredSpan {
    span: Option<Arc<OpenSpan>>,
    before: Option<Arc<OpenSpan>>,
}

impl EnteredSpan {
    /// Makes the span the thread's current one.
    pub(crate) fn enter(span: &Arc<OpenSpan>) -> Self {
        if let Some(log) = span.log.as_deref() {
            log.with_subscriber(|(id, subscriber)| subscriber.enter(id));
        }
        let before = CURRENT
            .try_with(|cell| cell.replace(Some(Arc::clone(span))))
            .ok()
            .flatten();
        Self {
            span: Some(Arc::clone(span)),
            before,
        }
    }
}

impl Drop for EnteredSpan {
    #[inline]
    fn drop(&mut self) {
        if let Some(span) = self.span.take() {
            leave(&span, self.before.take());
        }
    }
}

#[cold]
fn leave(span: &OpenSpan, before: Option<Arc<OpenSpan>>) {
    let _left = CURRENT.try_with(|cell| cell.replace(before));
    if let Some(log) = span.log.as_deref() {
        log.with_subscriber(|(id, subscriber)| subscriber.exit(id));
    }
}

/// The description of a span that is about to be opened.
pub(crate) struct NewSpan {
    kind: SpanKind,
    name: Name,
    /// The function to which the call is dispatched. 0 is none.
    site: u32,
    call_id: Option<Arc<str>>,
}

impl NewSpan {
    /// Describes a span of anything but a dispatched call.
    pub(crate) fn new(kind: SpanKind, name: impl Into<Name>) -> Self {
        Self {
            kind,
            name: name.into(),
            site: 0,
            call_id: None,
        }
    }

    /// Describes the span of a call that is dispatched to the function at `site`, and that may have
    /// an id.
    pub(crate) fn of_tool(name: Name, site: u32, call_id: Option<Arc<str>>) -> Self {
        Self {
            kind: SpanKind::Tool,
            name,
            site,
            call_id,
        }
    }
}

/// Returns whether calls have spans here: inside another span, once the process's collector is
/// started, or if a `tracing` subscriber listens.
#[inline]
pub fn is_wanted() -> bool {
    cfg!(feature = "trace")
        && (is_started() || LevelFilter::current() >= Level::INFO || is_inside_span())
}

#[inline]
fn is_inside_span() -> bool {
    /// Apart from the check before it, because most calls have no span.
    #[cold]
    fn has_current() -> bool {
        current().is_some()
    }
    ENTERED.load(Ordering::Relaxed) && has_current()
}

/// Maximum number of bytes of a call's id. A model chooses the id, so a longer one is not kept.
const MAX_CALL_ID: usize = 256;

/// An open span. Dropping it closes the span as cancelled.
pub(crate) struct SpanGuard {
    span: Option<Arc<OpenSpan>>,
    call_id: Option<Arc<str>>,
}

/// Opens a span in the current one, or else in the process's collector.
pub(crate) fn open(new: NewSpan) -> Option<SpanGuard> {
    cfg!(feature = "trace").then(|| open_in(current(), new))
}

/// Opens a span inside `parent`.
pub(crate) fn open_in(parent: Option<Arc<OpenSpan>>, new: NewSpan) -> SpanGuard {
    let mut trace = TraceContext::of(parent.as_ref());
    if trace.id.is_none() {
        trace = Arc::new(TraceContext {
            id: Some(TraceId::random()),
            ..(*trace).clone()
        });
    }
    let log = log_span(&new, parent.as_deref());
    let inherited = parent.as_ref().filter(|parent| parent.has(INHERITED));
    let attributes =
        inherited.and_then(|anchor| anchor.change(|details| details.attributes.clone()));
    let mut span = OpenSpan::new(trace, parent, Some(new.kind), new.name);
    (span.id, span.log, span.site) = (Some(SpanId::random()), log, new.site);
    if let Some(attributes) = attributes {
        span.change(|details| details.attributes = attributes);
    }
    span.start = now();
    let call_id = new.call_id.filter(|id| id.len() <= MAX_CALL_ID);
    if span.trace.collector.is_watched()
        && let Some(record) = span.record()
    {
        span.trace.collector.opened(&SpanRecord {
            call_id: call_id.clone(),
            nanos: 0,
            ..record
        });
    }
    SpanGuard {
        span: Some(Arc::new(span)),
        call_id,
    }
}

impl SpanGuard {
    #[inline]
    pub(crate) fn span(&self) -> Option<&Arc<OpenSpan>> {
        self.span.as_ref()
    }

    #[inline]
    pub(crate) fn enter(&self) -> Option<EnterGuard<'_>> {
        self.span().map(enter)
    }

    /// Closes the span and passes its record to the collector.
    pub(crate) fn close(mut self, end: SpanEnd) {
        self.end(end);
    }

    fn end(&mut self, end: SpanEnd) {
        let Some(span) = self.span.take() else { return };
        let end = if span.has(PANICKED) {
            SpanEnd {
                status: SpanStatus::Panicked,
                ..end
            }
        } else {
            end
        };
        if let Some(log) = &span.log {
            log.record("status", end.status.as_str());
            if end.status != SpanStatus::Ok {
                log.record(
                    "error.type",
                    end.error
                        .as_ref()
                        .map_or(end.status.as_str(), |error| error.kind),
                );
            }
        }
        if let Some(record) = span.close(end, self.call_id.take()) {
            span.trace.collector.push(record, || span.surroundings());
        }
    }
}

impl Drop for SpanGuard {
    fn drop(&mut self) {
        self.end(SpanStatus::Cancelled.into());
    }
}

/// Runs work in a span, if there is one, and returns the span still open. If the work panics,
/// closes the span as panicked.
///
/// `work` is called in one place only, so that it is compiled once.
#[inline]
pub(crate) fn run<T>(span: Option<SpanGuard>, work: impl FnOnce() -> T) -> (T, Option<SpanGuard>) {
    let mut on_panic = ClosePanicked(span);
    let value = {
        let _inside = on_panic.0.as_ref().and_then(SpanGuard::enter);
        work()
    };
    (value, on_panic.0.take())
}

/// Runs work in a span, if there is one, and closes the span with `end_of` the result.
#[inline]
pub(crate) fn run_to_end<T>(
    span: Option<SpanGuard>,
    work: impl FnOnce() -> T,
    end_of: impl FnOnce(&T) -> SpanEnd,
) -> T {
    let (value, span) = run(span, work);
    if let Some(span) = span {
        span.close(end_of(&value));
    }
    value
}

/// Closes a span as panicked when it is dropped.
struct ClosePanicked(Option<SpanGuard>);

impl Drop for ClosePanicked {
    fn drop(&mut self) {
        if let Some(span) = self.0.take() {
            span.close(SpanStatus::Panicked.into());
        }
    }
}

/// Creates the `tracing` span, under OpenTelemetry names, so that log lines nest. `None` if no
/// subscriber listens.
fn log_span(new: &NewSpan, parent: Option<&OpenSpan>) -> Option<Box<Span>> {
    if LevelFilter::current() < Level::INFO {
        return None;
    }
    // The parent may be another span than the one that `tracing` is in.
    let _inside = parent
        .and_then(|parent| parent.log.as_deref())
        .map(Span::enter);
    // A model or a server may have chosen the name.
    let name = new.name.escape_debug();
    let span = match new.kind {
        SpanKind::Agent => info_span!(
            target: "tool_core::trace", "invoke_agent", otel.name = %format_args!("invoke_agent {name}"),
            gen_ai.operation.name = "invoke_agent", gen_ai.agent.name = %name, status = Empty, error.type = Empty
        ),
        SpanKind::Tool => info_span!(
            target: "tool_core::trace", "execute_tool", otel.name = %format_args!("execute_tool {name}"),
            gen_ai.operation.name = "execute_tool", gen_ai.tool.name = %name, gen_ai.tool.type = "function",
            gen_ai.tool.call.id = new.call_id.as_ref().map(|id| tracing::field::display(id.escape_debug())), status = Empty, error.type = Empty
        ),
        SpanKind::Llm => info_span!(
            target: "tool_core::trace", "chat", otel.name = %format_args!("chat {name}"), otel.kind = "client",
            gen_ai.operation.name = "chat", gen_ai.request.model = %name, status = Empty, error.type = Empty
        ),
        SpanKind::Section => info_span!(
            target: "tool_core::trace", "section", otel.name = %name, status = Empty, error.type = Empty
        ),
        SpanKind::Http => info_span!(
            target: "tool_core::trace", "http", otel.name = %name, otel.kind = "client", status = Empty,
            error.type = Empty
        ),
    };
    (!span.is_disabled()).then(|| Box::new(span))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_span_takes_at_most_100_bytes() {
        assert!(size_of::<OpenSpan>() <= 100, "{}", size_of::<OpenSpan>());
    }
}
