//! Opening a span, and closing it on every exit from its work.

use crate::text::Name;
use crate::trace::collector::is_started;
use crate::trace::ids::{SpanId, TraceId};
use crate::trace::open_span::{EnterGuard, INHERITED, OpenSpan, PANICKED, TraceContext, current, enter, has_current};
use crate::trace::record::{SpanEnd, SpanKind, SpanStatus, now};
use std::sync::Arc;
use tracing::field::Empty;
use tracing::level_filters::LevelFilter;
use tracing::{Level, Span, info_span};

/// The description of a span that is about to be opened.
pub(crate) struct NewSpan {
    kind: SpanKind,
    name: Name,
    /// The function to which the call is dispatched. 0 is none.
    site: u32,
}

impl NewSpan {
    /// Describes a span of anything but a dispatched call.
    pub(crate) fn new(kind: SpanKind, name: impl Into<Name>) -> Self {
        Self { kind, name: name.into(), site: 0 }
    }

    /// Describes the span of a call that is dispatched to the function at `site`.
    pub(crate) fn of_tool(name: Name, site: u32) -> Self {
        Self { kind: SpanKind::Tool, name, site }
    }
}

/// Returns whether calls have spans here: inside another span, once the process's collector is started, or if a `tracing`
/// subscriber listens.
#[inline]
pub(crate) fn is_wanted() -> bool {
    cfg!(feature = "trace") && (is_started() || LevelFilter::current() >= Level::INFO || has_current())
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
    open_call(new, None)
}

/// Opens the span of a tool call that may have an id.
pub(crate) fn open_call(new: NewSpan, call_id: Option<&Arc<str>>) -> Option<SpanGuard> {
    cfg!(feature = "trace").then(|| open_in(current(), new, call_id))
}

/// Opens a span inside `parent`.
pub(crate) fn open_in(parent: Option<Arc<OpenSpan>>, new: NewSpan, call_id: Option<&Arc<str>>) -> SpanGuard {
    let mut trace = TraceContext::of(parent.as_ref());
    if trace.id.is_none() {
        trace = Arc::new(TraceContext { id: Some(TraceId::random()), ..(*trace).clone() });
    }
    let log = log_span(&new, call_id, parent.as_deref());
    let inherited = parent.as_ref().filter(|parent| parent.has(INHERITED));
    let attributes = inherited.and_then(|anchor| anchor.change(|details| details.attributes.clone()));
    let mut span = OpenSpan::new(trace, parent, Some(new.kind), new.name);
    (span.id, span.log, span.site) = (Some(SpanId::random()), log, new.site);
    if let Some(attributes) = attributes {
        span.change(|details| details.attributes = attributes);
    }
    span.start = now();
    SpanGuard { span: Some(Arc::new(span)), call_id: call_id.filter(|id| id.len() <= MAX_CALL_ID).cloned() }
}

impl SpanGuard {
    /// Creates the guard of a span from [`Self::into_span`], for futures that store the span as one word.
    pub(crate) fn of(span: Arc<OpenSpan>) -> Self {
        Self { span: Some(span), call_id: None }
    }

    /// Returns the span without closing it. The id of the call is lost.
    pub(crate) fn into_span(mut self) -> Option<Arc<OpenSpan>> {
        self.span.take()
    }

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
        let end = if span.has(PANICKED) { SpanEnd { status: SpanStatus::Panicked, ..end } } else { end };
        if let Some(log) = &span.log {
            log.record("status", end.status.as_str());
            if end.status != SpanStatus::Ok {
                log.record("error.type", end.error.as_ref().map_or(end.status.as_str(), |error| error.kind));
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

/// Runs work in a span, if there is one, and returns the span still open. If the work panics, closes the span as panicked.
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
    #[inline]
    fn drop(&mut self) {
        if let Some(span) = self.0.take() {
            span.close(SpanStatus::Panicked.into());
        }
    }
}

/// Creates the `tracing` span, under OpenTelemetry names, so that log lines nest. `None` if no subscriber listens.
fn log_span(new: &NewSpan, call_id: Option<&Arc<str>>, parent: Option<&OpenSpan>) -> Option<Box<Span>> {
    if LevelFilter::current() < Level::INFO {
        return None;
    }
    // The parent may be another span than the one that `tracing` is in.
    let _inside = parent.and_then(|parent| parent.log.as_deref()).map(Span::enter);
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
            gen_ai.tool.call.id = call_id.map(|id| tracing::field::display(id.escape_debug())), status = Empty, error.type = Empty
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
