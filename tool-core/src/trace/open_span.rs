//! Open spans, and the one that each thread is in.
//!
//! A future carries its span and puts it into a thread-local at every poll. Spans link to their parents, so the current
//! span is a stack that tasks can share.

use crate::text::Name;
use crate::trace::collector::{Collector, ParentSpan, process_collector};
use crate::trace::ids::{SpanId, TraceId};
use crate::trace::propagation::DistributedContext;
use crate::trace::record::{ParentState, SpanDetails, SpanEnd, SpanKind, SpanRecord, SpanStatus, now};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
        Self { id: None, collector, baggage: Arc::default() }
    }

    /// Returns the context of a span. Outside of any span, the next trace goes to the process's collector.
    pub(crate) fn of(span: Option<&Arc<OpenSpan>>) -> Arc<Self> {
        span.map_or_else(|| Arc::new(Self::new(process_collector())), |span| Arc::clone(&span.trace))
    }
}

/// An open span, or an anchor.
///
/// An anchor has no kind and leaves no record. Spans hang from it: it selects a collector, or stands for a span of another
/// process.
pub(crate) struct OpenSpan {
    pub(crate) trace: Arc<TraceContext>,
    pub(crate) parent: Option<Arc<Self>>,
    pub(crate) name: Name,
    pub(crate) id: Option<SpanId>,
    /// Nanoseconds since the process's first span.
    pub(crate) start: u64,
    details: Mutex<Option<Box<SpanDetails>>>,
    pub(crate) log: Option<Box<tracing::Span>>,
    /// The function to which a call was dispatched, so that its body does not open a second span. 0 is none.
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
/// The caller recorded the usage of a response without an id, which may be any response of this request.
pub(crate) const RECORDED: u8 = 32;

impl OpenSpan {
    pub(crate) fn new(trace: Arc<TraceContext>, parent: Option<Arc<Self>>, kind: Option<SpanKind>, name: Name) -> Self {
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
            flags: AtomicU8::new(0),
        }
    }

    /// Creates an anchor. Spans opened in it are children of `parent`.
    pub(crate) fn anchor(trace: Arc<TraceContext>, parent: Option<Arc<Self>>) -> Self {
        let id = parent.as_ref().and_then(|parent| parent.id);
        let mut anchor = Self::new(trace, parent, None, Name::Static(""));
        anchor.id = id;
        anchor
    }

    /// Creates the anchor of spans that continue an imported context.
    pub(crate) fn imported(context: &DistributedContext) -> Self {
        let here = current();
        let mut trace = (*TraceContext::of(here.as_ref())).clone();
        trace.baggage = Arc::new(trace.baggage.merge(context));
        let remote = context.trace_id.zip(context.span_id);
        trace.id = remote.map_or(trace.id, |(trace, _)| Some(trace));
        let mut anchor = Self::anchor(Arc::new(trace), here.filter(|_| remote.is_none()));
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

    /// Returns the nearest agent, tool or model request, open or closed: this span or one around it.
    pub(crate) fn nearest_tracked(&self) -> Option<&Self> {
        self.chain().find(|span| span.kind.is_some_and(|kind| kind.rank() == 1))
    }

    /// Returns the surroundings by which the span's costs are summed up.
    pub(crate) fn surroundings(&self) -> ParentSpan<'_> {
        let mut around = ParentSpan::default();
        for span in self.chain().skip(1) {
            match span.kind {
                Some(SpanKind::Agent) => around.agent = around.agent.or(Some(&span.name)),
                Some(SpanKind::Tool) => around.tool = around.tool.or(Some(&span.name)),
                _ => {}
            }
            around.is_tracked |= span.kind.is_some_and(|kind| kind.rank() == 1);
            if around.agent.is_some() && around.tool.is_some() {
                break;
            }
        }
        around
    }

    fn lock_details(&self) -> MutexGuard<'_, Option<Box<SpanDetails>>> {
        self.details.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes costs or attributes. Returns `None` once the span is closed.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut SpanDetails) -> T) -> Option<T> {
        let mut details = self.lock_details();
        (!self.has(CLOSED)).then(|| change(details.get_or_insert_default()))
    }

    /// Returns whether this is a span, and not yet closed.
    pub(crate) fn is_active(&self) -> bool {
        self.kind.is_some() && !self.has(CLOSED)
    }

    /// Returns whether the body of the function at `site` runs in this span. True once: a recursive call has its own span.
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
        let mut details = self.lock_details();
        self.set(CLOSED);
        let details = details.take().map(|details| Arc::new(*details));
        Some(SpanRecord { call_id, error: end.error, details, status: end.status, ..self.record()? })
    }

    /// Returns a record of the span so far; `None` for an anchor and for a closed span.
    pub(crate) fn snapshot(&self) -> Option<SpanRecord> {
        let details = self.change(|details| Arc::new(details.clone()))?;
        Some(SpanRecord { details: Some(details), ..self.record()? })
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
            parent_state: parent.map(Self::parent_state).unwrap_or_default(),
        })
    }

    /// Returns the state that the records of this span's children have.
    fn parent_state(&self) -> ParentState {
        // An anchor stands for the span around it, or outside of any for a span of another process.
        match self.chain().find(|span| span.kind.is_some()) {
            None => ParentState::Remote,
            Some(span) if span.has(CLOSED) => ParentState::Ended,
            Some(_) => ParentState::Open,
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

/// Returns whether the thread is in a span or an anchor.
#[inline]
pub(crate) fn has_current() -> bool {
    current().is_some()
}

/// A guard that makes a span the thread's current one until it is dropped. Guards are dropped in the reverse order.
pub(crate) struct EnterGuard<'a> {
    before: Option<Arc<OpenSpan>>,
    _log: Option<tracing::span::Entered<'a>>,
}

/// Makes a span the thread's current one.
#[inline]
pub(crate) fn enter(span: &Arc<OpenSpan>) -> EnterGuard<'_> {
    if !ENTERED.load(Ordering::Relaxed) {
        ENTERED.store(true, Ordering::Relaxed);
    }
    let log = span.log.as_deref().map(tracing::Span::enter);
    let before = CURRENT.try_with(|cell| cell.replace(Some(Arc::clone(span)))).ok().flatten();
    EnterGuard { before, _log: log }
}

impl Drop for EnterGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        let before = self.before.take();
        // The span's drop may call `current`, so it runs after the cell has its value again.
        let _left = CURRENT.try_with(|cell| cell.replace(before));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_span_takes_at_most_100_bytes() {
        assert!(size_of::<OpenSpan>() <= 100, "{}", size_of::<OpenSpan>());
    }
}
