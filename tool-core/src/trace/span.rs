//! Opening a span, and closing it on every exit. S1

use crate::text::Name;
use crate::trace::ids::{SpanId, TraceId};
use crate::trace::instrumented::WithSpan;
use crate::trace::open_span::{EnterGuard, OpenSpan, Trace};
use crate::trace::propagation::DistributedContext;
use crate::trace::record::{SpanEnd, SpanError, SpanKind, SpanRecord, SpanStatus, now};
use crate::trace::{attributes, collector, open_span, propagation};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use tracing::Level;
use tracing::level_filters::LevelFilter;

/// A span to be opened.
pub(crate) struct NewSpan {
    pub(crate) kind: SpanKind,
    pub(crate) name: Name,
    /// Which fn is about to be called, for calls that are dispatched.
    pub(crate) site: u32,
}

impl NewSpan {
    /// A span of anything but a dispatched call.
    pub(crate) fn new(kind: SpanKind, name: impl Into<Name>) -> Self {
        Self { kind, name: name.into(), site: 0 }
    }

    /// The span of a call to the tool whose function is `site`.
    pub(crate) fn of_tool(name: Name, site: u32) -> Self {
        Self { kind: SpanKind::Tool, name, site }
    }
}

/// Whether calls have spans at this place: it is inside of one, the process collects, or the log has an ear for it.
#[inline]
pub(crate) fn is_wanted() -> bool {
    cfg!(feature = "trace")
        && (collector::is_started() || LevelFilter::current() >= Level::INFO || open_span::is_inside())
}

/// The bytes of a call's id; a longer one is not kept.
const CALL_ID: usize = 256;

/// An open span. Dropped before it is closed, it is closed as cancelled.
pub(crate) struct SpanGuard {
    scope: Option<Arc<OpenSpan>>,
    call_id: Option<Arc<str>>,
}

/// Opens a span in the scope that the thread is in, or else in the process's collector.
pub(crate) fn open(new: NewSpan) -> Option<SpanGuard> {
    open_call(new, None)
}

/// Opens the span of a call that has an id.
pub(crate) fn open_call(new: NewSpan, call_id: Option<&Arc<str>>) -> Option<SpanGuard> {
    cfg!(feature = "trace").then(|| open_in(open_span::current(), new, call_id))
}

/// Opens a span inside `parent`.
pub(crate) fn open_in(parent: Option<Arc<OpenSpan>>, new: NewSpan, call_id: Option<&Arc<str>>) -> SpanGuard {
    let trace = begun(Trace::at(parent.as_ref()));
    let log = attributes::span(&new, call_id, parent.as_deref());
    let mut scope = OpenSpan::new(trace, parent, Some(new.kind), new.name);
    scope.id = Some(SpanId::random());
    scope.log = log;
    scope.site = new.site;
    attributes::inherit_from(&scope);
    scope.start = now();
    // A model makes up what it likes.
    let call_id = call_id.filter(|id| id.len() <= CALL_ID).cloned();
    SpanGuard { scope: Some(Arc::new(scope)), call_id }
}

/// The trace of a span that is opened in it: with an id from here on.
fn begun(trace: Arc<Trace>) -> Arc<Trace> {
    if trace.id.is_some() {
        return trace;
    }
    Arc::new(Trace { id: Some(TraceId::random()), ..(*trace).clone() })
}

impl SpanGuard {
    /// The span of a scope that [`Self::into_scope`] gave away: one word, where a future has to carry it.
    pub(crate) fn of(scope: Arc<OpenSpan>) -> Self {
        Self { scope: Some(scope), call_id: None }
    }

    /// Its scope, which goes on. A span with the id of a call is not to be taken apart: the id would be lost.
    pub(crate) fn into_scope(mut self) -> Option<Arc<OpenSpan>> {
        self.scope.take()
    }

    #[inline]
    pub(crate) fn scope(&self) -> Option<&Arc<OpenSpan>> {
        self.scope.as_ref()
    }

    #[inline]
    pub(crate) fn enter(&self) -> Option<EnterGuard<'_>> {
        self.scope().map(open_span::enter)
    }

    /// Closes it.
    pub(crate) fn close(mut self, end: SpanEnd) {
        self.end(end);
    }

    pub(crate) fn end(&mut self, end: SpanEnd) {
        let Some(scope) = self.scope.take() else { return };
        let end = if scope.has_panicked() { SpanEnd { status: SpanStatus::Panicked, ..end } } else { end };
        attributes::ended(&scope, &end);
        let Some(record) = SpanRecord::of(&scope, end, self.call_id.take()) else { return };
        scope.trace.collector.take(record, &scope);
    }
}

impl Drop for SpanGuard {
    fn drop(&mut self) {
        self.end(SpanStatus::Cancelled.into());
    }
}

/// Runs work that is no future in a span, if there is one, and gives the span back. The work is called at one place only,
/// so that it is compiled once.
#[inline]
pub(crate) fn run<T>(span: Option<SpanGuard>, work: impl FnOnce() -> T) -> (T, Option<SpanGuard>) {
    let mut unless = UnlessDone(span);
    let value = {
        let _inside = unless.0.as_ref().and_then(SpanGuard::enter);
        work()
    };
    (value, unless.0.take())
}

/// The same to its end.
#[inline]
pub(crate) fn run_to_end<T>(span: Option<SpanGuard>, work: impl FnOnce() -> T, ends: impl FnOnce(&T) -> SpanEnd) -> T {
    let (value, span) = run(span, work);
    if let Some(span) = span {
        span.close(ends(&value));
    }
    value
}

/// Closes the span as one that panicked where the work does not come to its end.
struct UnlessDone(Option<SpanGuard>);

impl Drop for UnlessDone {
    #[inline]
    fn drop(&mut self) {
        if let Some(span) = self.0.take() {
            span.close(SpanStatus::Panicked.into());
        }
    }
}

// ---- A span that no single future holds: of a conversation, of a response whose body is read elsewhere. S1

/// A span that is open for as long as this lives, in whatever tasks the work goes on: [`end`](Self::end) and
/// [`fail`](Self::fail) close it; dropped before that, it is closed as cancelled.
///
/// ```
/// use tool_core::trace::{self, Collector, SpanHandle, SpanKind, SpanStatus};
///
/// let collector = Collector::new();
/// collector.run_sync(|| {
///     let conversation = SpanHandle::open(SpanKind::Agent, "clerk");
///     let task = std::thread::scope(|threads| {
///         threads.spawn(|| conversation.run(|| trace::in_scope(SpanKind::Section, "order", || ()))).join()
///     });
///     task.expect("no panic");
///     conversation.end();
/// });
/// let report = collector.report();
/// let found = report.spans().iter().map(|span| (span.label(), span.status())).collect::<Vec<_>>();
/// assert_eq!(found, [("section:order".into(), SpanStatus::Ok), ("agent:clerk".into(), SpanStatus::Ok)]);
/// ```
#[must_use = "a span whose handle is dropped is closed as cancelled"]
pub struct SpanHandle(Option<SpanGuard>);

impl SpanHandle {
    /// Opens a span in the one that the thread is in. Where none is around it and no collector was told of, it goes to
    /// the process's own.
    pub fn open(kind: SpanKind, name: impl Into<Cow<'static, str>>) -> Self {
        Self(open(NewSpan::new(kind, name.into())))
    }

    /// The same for a library's own work, of which nobody has asked for a span: opens one where calls of tools have
    /// theirs, which is inside of another span, once the process collects ([`start`](super::start)), or where the log
    /// has an ear for it. Elsewhere the handle stands for nothing, and does nothing.
    ///
    /// ```
    /// use tool_core::trace::{Collector, SpanHandle, SpanKind};
    ///
    /// assert!(!SpanHandle::open_if_wanted(SpanKind::Http, "GET example.org").is_open());
    /// Collector::new().run_sync(|| assert!(SpanHandle::open_if_wanted(SpanKind::Http, "GET example.org").is_open()));
    /// ```
    pub fn open_if_wanted(kind: SpanKind, name: impl Into<Cow<'static, str>>) -> Self {
        if is_wanted() { Self::open(kind, name) } else { Self(None) }
    }

    /// Whether there is a span: what only it is told need not be found out where there is none.
    pub fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// Runs work that is no future inside it.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let _inside = self.0.as_ref().and_then(SpanGuard::enter);
        work()
    }

    /// The future `work`, inside this span wherever it is polled. The span does not end with it.
    pub fn inside<F: Future>(&self, work: F) -> WithSpan<F> {
        match self.0.as_ref().and_then(SpanGuard::scope) {
            Some(scope) => WithSpan::new(scope.clone(), work),
            None => WithSpan::here(work),
        }
    }

    /// What else is to be known of it, under a name of OpenTelemetry's: see [`attribute`](super::attribute).
    pub fn attribute(&self, key: &'static str, value: impl Into<Value>) {
        if let Some(scope) = self.0.as_ref().and_then(SpanGuard::scope) {
            attributes::add(scope, key, value.into());
        }
    }

    /// Its context, for another process. S9
    pub fn context(&self) -> DistributedContext {
        self.run(propagation::export)
    }

    /// Closes it: the work is done.
    pub fn end(mut self) {
        self.close(SpanStatus::Ok.into());
    }

    /// Closes it with an error of this kind, one of few.
    pub fn fail(mut self, kind: &'static str) {
        self.close(SpanError { kind, message: None }.into());
    }

    /// Closes it with this error, or as cancelled where that is what it says. An internal one's text is not told.
    pub fn fail_with(mut self, error: impl Into<SpanEnd>) {
        self.close(error.into());
    }

    fn close(&mut self, end: SpanEnd) {
        if let Some(span) = self.0.take() {
            span.close(end);
        }
    }
}

impl Drop for SpanHandle {
    fn drop(&mut self) {
        if self.0.is_some() && std::thread::panicking() {
            self.close(SpanStatus::Panicked.into());
        }
    }
}

impl fmt::Debug for SpanHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpanHandle").field("open", &self.0.is_some()).finish()
    }
}
