//! A span that no single future holds: of a conversation, of a response whose body is read elsewhere. S1

use super::attributes;
use super::call::failed;
use super::distributed::{self, DistributedContext};
use super::in_span::Inside;
use super::kind::{SpanKind, SpanStatus};
use super::record::SpanError;
use super::span::{Opening, Span, is_wanted, open};
use crate::response::ToolError;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

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
pub struct SpanHandle(Option<Span>);

impl SpanHandle {
    /// Opens a span in the one that the thread is in. Where none is around it and no collector was told of, it goes to
    /// the process's own.
    pub fn open(kind: SpanKind, name: impl Into<Cow<'static, str>>) -> Self {
        Self(open(Opening::new(kind, name.into())))
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
        let _inside = self.0.as_ref().and_then(Span::enter);
        work()
    }

    /// The future `work`, inside this span wherever it is polled. The span does not end with it.
    pub fn inside<F: Future>(&self, work: F) -> Inside<F> {
        match self.0.as_ref().and_then(Span::scope) {
            Some(scope) => Inside::new(scope.clone(), work),
            None => Inside::here(work),
        }
    }

    /// What else is to be known of it, under a name of OpenTelemetry's: see [`attribute`](super::attribute).
    pub fn attribute(&self, key: &'static str, value: impl Into<Value>) {
        if let Some(scope) = self.0.as_ref().and_then(Span::scope) {
            attributes::add(scope, key, value.into());
        }
    }

    /// Its context, for another process. S9
    pub fn context(&self) -> DistributedContext {
        self.run(distributed::export)
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
    pub fn fail_with(mut self, error: &ToolError) {
        self.close(failed(error));
    }

    fn close(&mut self, end: super::End) {
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
