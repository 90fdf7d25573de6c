//! An open span, and what all spans of one trace share.

use crate::text::Name;
use crate::trace;
use crate::trace::collector;
use crate::trace::collector::Collector;
use crate::trace::ids::{SpanId, TraceId};
use crate::trace::record::SpanKind;
use crate::trace::usage::CostEntry;
use serde_json::Value;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What all spans of a trace share.
#[derive(Clone)]
pub(crate) struct Trace {
    /// `None` where the next span begins a trace of its own.
    pub(crate) id: Option<TraceId>,
    /// Where its spans go.
    pub(crate) collector: Collector,
    /// For whom the work is done, and what else came from outside.
    pub(crate) baggage: Arc<Baggage>,
}

impl Trace {
    /// The trace at a place; outside of any span one that has not begun, of the process's collector.
    pub(crate) fn at(scope: Option<&Arc<OpenSpan>>) -> Arc<Self> {
        scope.map_or_else(|| Arc::new(Self::to(collector::of_process())), |scope| Arc::clone(&scope.trace))
    }

    /// A trace that has not begun.
    pub(crate) fn to(collector: Collector) -> Self {
        Self { id: None, collector, baggage: Arc::default() }
    }
}

/// What goes from process to process beside the ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Baggage {
    pub(crate) run_id: Option<Arc<str>>,
    pub(crate) customer_id: Option<Arc<str>>,
    pub(crate) tracestate: Option<Arc<str>>,
    /// What the process said in which the trace began.
    pub(crate) sampled: Option<bool>,
}

/// One entry of the stack of open spans. Tasks share it, and it knows the one below it; at most 100 bytes. S12
///
/// Without a kind it is no span, but the place that a tree hangs from: a collector's own, or a span of another process.
pub(crate) struct OpenSpan {
    pub(crate) trace: Arc<Trace>,
    pub(crate) parent: Option<Arc<Self>>,
    pub(crate) name: Name,
    pub(crate) id: Option<SpanId>,
    /// In nanoseconds since the process began to trace.
    pub(crate) start: u64,
    own: Mutex<Option<Box<Own>>>,
    pub(crate) log: Option<Box<tracing::Span>>,
    /// Which fn a call was dispatched to, so that the fn does not open a second span. 0 is none.
    pub(crate) site: u32,
    pub(crate) kind: Option<SpanKind>,
    flags: AtomicU8,
}

const CLAIMED: u8 = 1;
const CLOSED: u8 = 2;
const EXPLICIT: u8 = 4;
const PANICKED: u8 = 8;
const GIVES: u8 = 16;
const TOLD_BY_ID: u8 = 32;

/// What was said of a question's use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    Nothing,
    /// Of responses that have ids.
    ById,
    /// Of one without: it may be any that is seen.
    Whole,
}

/// What few spans have.
#[derive(Clone, Default)]
pub(crate) struct Own {
    pub(crate) spent: Vec<CostEntry>,
    pub(crate) attributes: Vec<(&'static str, Value)>,
}

impl OpenSpan {
    pub(crate) fn new(trace: Arc<Trace>, parent: Option<Arc<Self>>, kind: Option<SpanKind>, name: Name) -> Self {
        Self {
            trace,
            parent,
            name,
            id: None,
            start: 0,
            own: Mutex::new(None),
            log: None,
            site: 0,
            kind,
            flags: AtomicU8::new(0),
        }
    }

    /// A place of its own where `here` is: what is opened in it belongs to the span there.
    pub(crate) fn place(trace: Arc<Trace>, here: Option<Arc<Self>>) -> Self {
        let id = here.as_ref().and_then(|scope| scope.id);
        let mut place = Self::new(trace, here, None, trace::no_name());
        place.id = id;
        place
    }

    /// This scope and those that it stands in, the nearest first.
    pub(crate) fn chain(self: &Arc<Self>) -> impl Iterator<Item = &Arc<Self>> {
        std::iter::successors(Some(self), |scope| scope.parent.as_ref())
    }

    fn own(&self) -> MutexGuard<'_, Option<Box<Own>>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what the span has of its own; `None` once it is closed.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Own) -> T) -> Option<T> {
        let mut own = self.own();
        (!self.is_closed()).then(|| change(own.get_or_insert_default()))
    }

    /// What it has of its own so far; `None` once it is closed.
    pub(crate) fn copy(&self) -> Option<Own> {
        let own = self.own();
        (!self.is_closed()).then(|| own.as_deref().cloned().unwrap_or_default())
    }

    /// Closes it: from here on nothing is added.
    pub(crate) fn take(&self) -> Option<Box<Own>> {
        let mut own = self.own();
        self.flags.fetch_or(CLOSED, Ordering::Relaxed);
        own.take()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.flags.load(Ordering::Relaxed) & CLOSED != 0
    }

    /// Whether it is a span that goes on.
    pub(crate) fn is_active(&self) -> bool {
        self.kind.is_some() && !self.is_closed()
    }

    /// Whether the body of the fn at `site` is what this span was opened for. Says so once. S2
    #[inline]
    pub(crate) fn claim(&self, site: u32) -> bool {
        self.site == site && self.flags.fetch_or(CLAIMED, Ordering::Relaxed) & CLAIMED == 0
    }

    /// Somebody has said what the model used: what is seen of that request does not count any more. S6
    pub(crate) fn is_told(&self, by_id: bool) {
        self.flags.fetch_or(if by_id { TOLD_BY_ID } else { EXPLICIT }, Ordering::Relaxed);
    }

    /// What was said of its question so far.
    pub(crate) fn told(&self) -> Told {
        match self.flags.load(Ordering::Relaxed) & (EXPLICIT | TOLD_BY_ID) {
            0 => Told::Nothing,
            TOLD_BY_ID => Told::ById,
            _ => Told::Whole,
        }
    }

    /// The tool that it stands for panicked, and was caught.
    pub(crate) fn panicked(&self) {
        self.flags.fetch_or(PANICKED, Ordering::Relaxed);
    }

    pub(crate) fn has_panicked(&self) -> bool {
        self.flags.load(Ordering::Relaxed) & PANICKED != 0
    }

    /// It is a place that has attributes for the spans which are opened in it.
    pub(crate) fn gives(&self) {
        self.flags.fetch_or(GIVES, Ordering::Relaxed);
    }

    pub(crate) fn has_to_give(&self) -> bool {
        self.flags.load(Ordering::Relaxed) & GIVES != 0
    }
}

impl Drop for OpenSpan {
    /// Not one within the other: a chain may be long.
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(mut scope) = next.and_then(Arc::into_inner) {
            next = scope.parent.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S12
    #[test]
    fn an_entry_of_the_stack_takes_at_most_a_hundred_bytes() {
        assert!(size_of::<OpenSpan>() <= 100, "{}", size_of::<OpenSpan>());
    }
}

// ---- Which span a thread is in at this moment. A future carries its own, and puts it here whenever it is polled.

thread_local! {
    static CURRENT: Cell<Option<Arc<OpenSpan>>> = const { Cell::new(None) };
}

/// Whether any span was ever opened: until then nobody looks further.
static EVER: AtomicBool = AtomicBool::new(false);

/// The scope that the thread is in.
#[inline]
pub(crate) fn current() -> Option<Arc<OpenSpan>> {
    if !cfg!(feature = "trace") || !EVER.load(Ordering::Relaxed) {
        return None;
    }
    // A thread that ends has none.
    CURRENT
        .try_with(|cell| {
            let scope = cell.take();
            cell.set(scope.clone());
            scope
        })
        .ok()
        .flatten()
}

/// Whether the thread is in a scope.
#[inline]
pub(crate) fn is_inside() -> bool {
    current().is_some()
}

/// The thread is in a scope until this is dropped.
pub(crate) struct EnterGuard<'a> {
    before: Option<Arc<OpenSpan>>,
    _log: Option<tracing::span::Entered<'a>>,
}

/// Enters a scope. To be left in the order of entering.
#[inline]
pub(crate) fn enter(scope: &Arc<OpenSpan>) -> EnterGuard<'_> {
    if !EVER.load(Ordering::Relaxed) {
        EVER.store(true, Ordering::Relaxed);
    }
    let log = scope.log.as_deref().map(tracing::Span::enter);
    let before = CURRENT.try_with(|cell| cell.replace(Some(Arc::clone(scope)))).ok().flatten();
    EnterGuard { before, _log: log }
}

impl Drop for EnterGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        let before = self.before.take();
        // What was there is dropped after the cell has its value again: its drop may look.
        let _left = CURRENT.try_with(|cell| cell.replace(before));
    }
}
