//! Opening a span, and closing it on every exit. S1

use super::collector;
use super::current::{self, Entered};
use super::ids::{SpanId, TraceId};
use super::kind::{SpanKind, SpanStatus};
use super::log;
use super::record::{End, SpanRecord, now};
use super::scope::{Scope, Trace};
use crate::name::Name;
use std::sync::Arc;
use tracing::Level;
use tracing::level_filters::LevelFilter;

/// A span to be opened.
pub(crate) struct Opening<'a> {
    pub(crate) kind: SpanKind,
    pub(crate) name: Name,
    /// Which fn is about to be called, for calls that are dispatched.
    pub(crate) site: u32,
    /// The id of the call, for a tool that a model called.
    pub(crate) call_id: Option<&'a Arc<str>>,
}

impl Opening<'_> {
    /// Of what is no call that is dispatched.
    pub(crate) fn new(kind: SpanKind, name: impl Into<Name>) -> Self {
        Self { kind, name: name.into(), site: 0, call_id: None }
    }
}

/// Whether calls have spans at this place: it is inside of one, the process collects, or the log has an ear for it.
#[inline]
pub(crate) fn is_wanted() -> bool {
    cfg!(feature = "trace")
        && (collector::is_started() || LevelFilter::current() >= Level::INFO || current::is_inside())
}

/// The bytes of a call's id; a longer one is not kept.
const CALL_ID: usize = 256;

/// An open span. Dropped before it is closed, it is closed as cancelled.
pub(crate) struct Span {
    scope: Option<Arc<Scope>>,
    call_id: Option<Arc<str>>,
}

/// Opens a span in the scope that the thread is in, or else in the process's collector.
pub(crate) fn open(opening: Opening<'_>) -> Option<Span> {
    cfg!(feature = "trace").then(|| open_in(current::current(), opening))
}

pub(super) fn open_in(parent: Option<Arc<Scope>>, opening: Opening<'_>) -> Span {
    let trace = begun(Trace::at(parent.as_ref()));
    let log = log::span(&opening, parent.as_deref());
    let mut scope = Scope::new(trace, parent, Some(opening.kind), opening.name);
    scope.id = Some(SpanId::random());
    scope.log = log;
    scope.site = opening.site;
    super::attributes::inherit(&scope);
    scope.start = now();
    // A model makes up what it likes.
    let call_id = opening.call_id.filter(|id| id.len() <= CALL_ID).cloned();
    Span { scope: Some(Arc::new(scope)), call_id }
}

/// The trace of a span that is opened in it: with an id from here on.
fn begun(trace: Arc<Trace>) -> Arc<Trace> {
    if trace.id.is_some() {
        return trace;
    }
    Arc::new(Trace { id: Some(TraceId::random()), ..(*trace).clone() })
}

impl Span {
    /// The span of a scope that [`Self::into_scope`] gave away: one word, where a future has to carry it.
    pub(super) fn of(scope: Arc<Scope>) -> Self {
        Self { scope: Some(scope), call_id: None }
    }

    /// Its scope, which goes on. A span with the id of a call is not to be taken apart: the id would be lost.
    pub(super) fn into_scope(mut self) -> Option<Arc<Scope>> {
        self.scope.take()
    }

    #[inline]
    pub(crate) fn scope(&self) -> Option<&Arc<Scope>> {
        self.scope.as_ref()
    }

    #[inline]
    pub(crate) fn enter(&self) -> Option<Entered<'_>> {
        self.scope().map(current::enter)
    }

    /// Closes it.
    pub(crate) fn close(mut self, end: End) {
        self.end(end);
    }

    pub(super) fn end(&mut self, end: End) {
        let Some(scope) = self.scope.take() else { return };
        let end = if scope.has_panicked() { End { status: SpanStatus::Panicked, ..end } } else { end };
        log::ended(&scope, &end);
        let Some(record) = SpanRecord::of(&scope, end, self.call_id.take()) else { return };
        scope.trace.collector.take(record, &scope);
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        self.end(SpanStatus::Cancelled.into());
    }
}

/// Runs work that is no future in a span, if there is one, and gives the span back. The work is called at one place only,
/// so that it is compiled once.
#[inline]
pub(super) fn run<T>(span: Option<Span>, work: impl FnOnce() -> T) -> (T, Option<Span>) {
    let mut unless = UnlessDone(span);
    let value = {
        let _inside = unless.0.as_ref().and_then(Span::enter);
        work()
    };
    (value, unless.0.take())
}

/// The same to its end.
#[inline]
pub(super) fn run_to_end<T>(span: Option<Span>, work: impl FnOnce() -> T, ends: impl FnOnce(&T) -> End) -> T {
    let (value, span) = run(span, work);
    if let Some(span) = span {
        span.close(ends(&value));
    }
    value
}

/// Closes the span as one that panicked where the work does not come to its end.
struct UnlessDone(Option<Span>);

impl Drop for UnlessDone {
    #[inline]
    fn drop(&mut self) {
        if let Some(span) = self.0.take() {
            span.close(SpanStatus::Panicked.into());
        }
    }
}
