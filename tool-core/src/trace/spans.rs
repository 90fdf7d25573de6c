//! The functions and the handle by which a program opens spans and describes them.

use crate::json::nested::unless_too_deep;
use crate::trace::collector::Collector;
use crate::trace::instrumented::{Instrumented, WithSpan};
use crate::trace::propagation::DistributedContext;
use crate::trace::record::{SpanEnd, SpanError, SpanKind, SpanStatus};
use crate::trace::report::tree::Report;
use crate::trace::span::{
    INHERITED, NewSpan, OpenSpan, PANICKED, SpanGuard, TraceContext, current, enter, is_wanted,
    open, run_to_end,
};
use serde_json::Value;
use std::borrow::{Borrow, Cow};
use std::fmt;
use std::sync::Arc;

macro_rules! spans {
    ($($kind:ident: $(#[$doc:meta])* $name:ident, $(#[$try_doc:meta])* $try_name:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name<F: Future>(name: impl Into<Cow<'static, str>>, work: F) -> Instrumented<F> {
            Instrumented::new(NewSpan::new(SpanKind::$kind, name.into()), work, |_| SpanEnd::default())
        }

        $(#[$try_doc])*
        pub fn $try_name<T, E, F: Future<Output = Result<T, E>>>(
            name: impl Into<Cow<'static, str>>,
            work: F,
        ) -> Instrumented<F> {
            Instrumented::new(NewSpan::new(SpanKind::$kind, name.into()), work, SpanEnd::of_result)
        }
    )*};
}

spans! {
    Agent:
    /// Runs `work` in the span of an agent.
    ///
    /// Outside of any span and collector, the span goes to the process's collector. The span is
    /// opened at the first poll, and closed when `work` is done, panics or is dropped. The same
    /// holds for the other functions of this module.
    agent,
    /// Runs `work` in the span of an agent, and records its error. The error is returned unchanged.
    try_agent;
    Section:
    /// Runs `work` in a span that names a part of other work.
    section,
    /// Runs `work` in a span that names a part of other work, and records its error.
    try_section;
    Llm:
    /// Runs `work` in the span of a request to the model `name`. Call [`record`](super::record)
    /// inside it with the usage.
    llm,
    /// Runs `work` in the span of a request to the model `name`, and records its error.
    try_llm;
    Http:
    /// Runs `work` in the span of an HTTP request. `name` is its method and host.
    http,
    /// Runs `work` in the span of an HTTP request, and records its error.
    try_http;
}

/// Runs a closure in a span. The span closes as ok, or as panicked if the closure panics.
///
/// ```
/// use tool_core::trace::{Collector, SpanKind, in_scope};
///
/// let collector = Collector::new();
/// let sum = collector.run_sync(|| in_scope(SpanKind::Section, "sum", || 1 + 2));
/// assert_eq!((sum, collector.report().spans()[0].label()), (3, "section:sum".to_owned()));
/// ```
pub fn in_scope<T>(
    kind: SpanKind,
    name: impl Into<Cow<'static, str>>,
    work: impl FnOnce() -> T,
) -> T {
    run_to_end(open(NewSpan::new(kind, name.into())), work, |_| {
        SpanEnd::default()
    })
}

/// Sets an attribute of the current span, under its OpenTelemetry name. A later value replaces an
/// earlier one.
///
/// A span has at most 64 attributes, and a value at most 1,024 characters. A value that nests
/// deeper than 128 is left out. Outside of any span this does nothing.
///
/// ```
/// use tool_core::trace::{self, Collector};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let collector = Collector::new();
/// let work = trace::section("index", async { trace::attribute("db.query.rows", 40) });
/// collector.run(work).await;
/// let report = collector.report();
/// assert!(report.spans()[0].attributes().any(|(key, value)| key == "db.query.rows" && value == 40));
/// # }
/// ```
pub fn attribute(key: &'static str, value: impl Into<Value>) {
    if let Some(span) = current() {
        set_attribute(&span, key, value.into());
    }
}

/// Sets attributes of the current span. They are not made if there is none.
#[doc(hidden)]
pub fn attributes<const N: usize>(make: impl FnOnce() -> [(&'static str, Option<Value>); N]) {
    if let Some(span) = current() {
        make()
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)))
            .for_each(|(key, value)| {
                set_attribute(&span, key, value);
            });
    }
}

fn set_attribute(span: &OpenSpan, key: &'static str, value: Value) {
    if let Some(value) = unless_too_deep(value).filter(|_| span.is_active()) {
        span.change(|details| details.set_attribute(key, value));
    }
}

/// Runs `work` in an anchor that gives these attributes to the spans which are opened directly in
/// it. For the attributes of a call that only its transport knows. They are not made if there are
/// no spans.
#[doc(hidden)]
pub async fn attributed<F: Future>(
    attributes: impl FnOnce() -> Vec<(&'static str, Value)>,
    work: F,
) -> F::Output {
    let here = current();
    if !is_wanted() {
        return WithSpan::new(here, work).await;
    }
    let anchor = OpenSpan::anchor(TraceContext::of(here.as_ref()), here);
    let attributes = attributes();
    anchor.change(|details| {
        for (key, value) in attributes {
            details.set_attribute(key, value);
        }
    });
    anchor.set(INHERITED);
    WithSpan::new(Some(Arc::new(anchor)), work).await
}

/// Returns `work` bound to the current span, so that it runs inside it wherever it is polled.
///
/// For `tokio::spawn`, `JoinSet` and the like. Without it, a spawned task is not part of the trace.
///
/// ```
/// use tool_core::trace::{self, Collector};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tokio::task::JoinError> {
/// let collector = Collector::new();
/// let work = trace::agent("planner", async {
///     let index = trace::section("index", async {});
///     tokio::spawn(trace::in_current_span(index)).await
/// });
/// collector.run(work).await?;
/// assert_eq!(collector.report().outline(), "agent:planner > section:index");
/// # Ok(())
/// # }
/// ```
pub fn in_current_span<F: Future>(work: F) -> WithSpan<F> {
    WithSpan::new(current(), work)
}

/// Returns the closure `work` bound to the current span. For `spawn_blocking` and threads.
///
/// ```
/// use tool_core::trace::{self, Collector, SpanKind};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tokio::task::JoinError> {
/// let collector = Collector::new();
/// let work = trace::agent("planner", async {
///     let index = || trace::in_scope(SpanKind::Section, "index", || {});
///     tokio::task::spawn_blocking(trace::in_current_span_sync(index)).await
/// });
/// collector.run(work).await?;
/// assert_eq!(collector.report().outline(), "agent:planner > section:index");
/// # Ok(())
/// # }
/// ```
pub fn in_current_span_sync<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let span = current();
    move || {
        let _inside = span.as_ref().map(enter);
        work()
    }
}

/// Returns the collector of the current span, otherwise the process's collector.
pub fn collector() -> Collector {
    TraceContext::of(current().as_ref()).collector.clone()
}

/// Makes a report of [`collector`]: of the spans that it keeps and of those that are still open.
pub fn report() -> Report {
    collector().report()
}

/// Returns the context of the current span, for another process; empty outside of any span.
///
/// ```
/// use tool_core::trace::{self, Collector};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let work = trace::agent("planner", async { trace::export().to_pairs() });
/// let headers = Collector::new().run(work).await; // of a request to the other process
/// assert_eq!(headers[0].0, "traceparent");
/// # }
/// ```
pub fn export() -> DistributedContext {
    current().map(|span| span.context()).unwrap_or_default()
}

/// Runs `work` under a context that [`export`] returned elsewhere. An empty context changes
/// nothing.
///
/// ```
/// use tool_core::trace::{self, Collector, DistributedContext};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let headers = [("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")];
/// let context = DistributedContext::from_pairs(headers);
/// let collector = Collector::new();
/// collector.run(trace::import(&context, trace::agent("planner", async {}))).await;
/// assert_eq!(collector.report().spans()[0].trace_id(), context.trace_id.expect("an id"));
/// # }
/// ```
pub fn import<F: Future>(context: impl Borrow<DistributedContext>, work: F) -> WithSpan<F> {
    let context =
        Some(context.borrow()).filter(|context| cfg!(feature = "trace") && !context.is_empty());
    WithSpan::imported(current(), context.cloned(), work)
}

/// Passes a progress update of the tool in whose span the thread is to the sinks that watch open
/// spans.
pub(crate) fn progressed(message: &str, fraction: Option<f64>) {
    let Some(here) = current().filter(|here| here.trace.collector.is_watched()) else {
        return;
    };
    let call = here.chain().find(|span| span.kind == Some(SpanKind::Tool));
    if let Some((trace, span)) = call.and_then(|call| call.trace.id.zip(call.id)) {
        here.trace
            .collector
            .progressed(trace, span, message, fraction);
    }
}

/// Marks the current span as panicked, for a tool whose panic was caught.
#[cold]
pub(crate) fn mark_panicked() {
    if let Some(span) = current() {
        span.set(PANICKED);
    }
}

impl Collector {
    /// Runs `work` with this collector. It receives the spans that `work` opens, and those of tasks
    /// [bound](in_current_span) to them.
    pub fn run<F: Future>(&self, work: F) -> WithSpan<F> {
        WithSpan::new(Some(self.anchor()), work)
    }

    /// Runs a closure with this collector.
    pub fn run_sync<T>(&self, work: impl FnOnce() -> T) -> T {
        let anchor = self.anchor();
        let _inside = enter(&anchor);
        work()
    }

    fn anchor(&self) -> Arc<OpenSpan> {
        Arc::new(OpenSpan::anchor(
            Arc::new(TraceContext::new(self.clone())),
            None,
        ))
    }
}

/// A span that is not bound to one future, for example that of a conversation or of a response
/// whose body is read elsewhere.
///
/// [`end`](Self::end) and [`fail`](Self::fail) close the span. Dropping the handle closes it as cancelled, or during a panic
/// as panicked.
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
    /// Opens a span in the current one. Outside of any span and collector, it goes to the process's
    /// collector.
    pub fn open(kind: SpanKind, name: impl Into<Cow<'static, str>>) -> Self {
        Self(open(NewSpan::new(kind, name.into())))
    }

    /// Opens a span where tool calls have one: inside another span, after [`start`](super::start),
    /// or if a `tracing` subscriber listens. Elsewhere the handle is empty and does nothing.
    ///
    /// For libraries, whose users did not ask for a span by name.
    ///
    /// ```
    /// use tool_core::trace::{Collector, SpanHandle, SpanKind};
    ///
    /// assert!(!SpanHandle::open_if_wanted(SpanKind::Http, "GET example.org").is_open());
    /// Collector::new().run_sync(|| assert!(SpanHandle::open_if_wanted(SpanKind::Http, "GET example.org").is_open()));
    /// ```
    pub fn open_if_wanted(kind: SpanKind, name: impl Into<Cow<'static, str>>) -> Self {
        if is_wanted() {
            Self::open(kind, name)
        } else {
            Self(None)
        }
    }

    /// Returns whether there is a span. If not, the values of its attributes need not be computed.
    pub fn is_open(&self) -> bool {
        self.0.is_some()
    }

    fn span(&self) -> Option<&Arc<OpenSpan>> {
        self.0.as_ref().and_then(SpanGuard::span)
    }

    /// Runs a closure inside the span.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let _inside = self.span().map(enter);
        work()
    }

    /// Returns `work` bound to this span, so that it runs inside it wherever it is polled. The span
    /// does not end with it.
    pub fn inside<F: Future>(&self, work: F) -> WithSpan<F> {
        WithSpan::new(self.span().cloned().or_else(current), work)
    }

    /// Sets an attribute, as [`attribute`] does for the current span.
    pub fn attribute(&self, key: &'static str, value: impl Into<Value>) {
        if let Some(span) = self.span() {
            set_attribute(span, key, value.into());
        }
    }

    /// Returns the context of the span, for another process.
    pub fn context(&self) -> DistributedContext {
        self.run(export)
    }

    /// Closes the span as successful.
    pub fn end(mut self) {
        self.close(SpanStatus::Ok.into());
    }

    /// Closes the span with an error of this kind. Use few different kinds, because metrics are
    /// labelled by them.
    pub fn fail(mut self, kind: &'static str) {
        self.close(
            SpanError {
                kind,
                message: None,
            }
            .into(),
        );
    }

    /// Closes the span with an error, or as cancelled for a [`ToolError`](struct@crate::ToolError)
    /// of that kind. The text of an internal error is not recorded.
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
        f.debug_struct("SpanHandle")
            .field("open", &self.is_open())
            .finish()
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Progress;
    use crate::call::error::ToolError;
    use crate::trace::collector::SpanSink;
    use crate::trace::ids::{SpanId, TraceId};
    use crate::trace::record::{MAX_ATTRIBUTE, MAX_ATTRIBUTES, SpanRecord};
    use serde_json::json;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn of(span: &SpanRecord) -> Vec<(&'static str, Value)> {
        span.attributes()
            .map(|(key, value)| (key, value.clone()))
            .collect()
    }

    #[test]
    fn attributes_belong_to_the_current_span_and_can_change() {
        let collector = Collector::new();
        collector.run_sync(|| {
            attribute("lost", 0);
            in_scope(SpanKind::Section, "s", || {
                attribute("a", 1);
                in_scope(SpanKind::Section, "t", || attribute("b", "x"));
                attribute("a", 2);
            });
        });
        let report = collector.report();
        let found = report.spans().iter().map(of).collect::<Vec<_>>();
        assert_eq!(found, [vec![("b", json!("x"))], vec![("a", json!(2))]]);
    }

    #[test]
    fn the_number_and_length_of_attributes_are_limited() {
        let collector = Collector::new();
        collector.run_sync(|| {
            in_scope(SpanKind::Section, "s", || {
                for at in 0..1_000 {
                    attribute(String::leak(format!("k{at}")), "é".repeat(5_000));
                }
                attribute("k0", vec!["é".repeat(5_000)]);
            });
        });
        let spans = collector.report().spans().to_vec();
        let found = spans.iter().flat_map(of).collect::<Vec<_>>();
        assert_eq!(found.len(), MAX_ATTRIBUTES);
        for (key, value) in found {
            let text = value.as_str().expect("a text");
            assert_eq!(text.chars().count(), MAX_ATTRIBUTE + "...".len(), "{key}");
        }
    }

    #[tokio::test]
    async fn attributed_sets_attributes_of_direct_children_only() {
        let collector = Collector::new();
        let inside = async { section("outer", async { section("inner", async {}).await }).await };
        collector
            .run(agent("a", attributed(|| vec![("k", 1.into())], inside)))
            .await;
        let report = collector.report();
        let found = report
            .spans()
            .iter()
            .map(|span| (span.label(), of(span)))
            .collect::<Vec<_>>();
        let expected = [
            ("section:inner", vec![]),
            ("section:outer", vec![("k", json!(1))]),
            ("agent:a", vec![]),
        ];
        assert_eq!(
            found,
            expected.map(|(label, attributes)| (label.to_owned(), attributes))
        );
        let [.., outer, agent] = report.spans() else {
            panic!("{report:?}")
        };
        assert_eq!(outer.parent(), Some(agent.span_id()));
    }

    #[test]
    fn a_dropped_handle_closes_as_cancelled_or_panicked() {
        let collector = Collector::new();
        let open = || collector.run_sync(|| SpanHandle::open(SpanKind::Http, "GET host"));
        drop(open());
        open().fail("404");
        open().fail_with(&ToolError::internal("canary"));
        open().end();
        let broken = catch_unwind(AssertUnwindSafe(|| {
            let _held = open();
            panic!("boom")
        }));
        assert!(broken.is_err());
        let spans = collector.report().spans().to_vec();
        let found = spans
            .iter()
            .map(|span| (span.status(), span.error().map(|error| error.kind)));
        let expected = [
            (SpanStatus::Cancelled, None),
            (SpanStatus::Error, Some("404")),
            (SpanStatus::Error, Some("INTERNAL")),
            (SpanStatus::Ok, None),
            (SpanStatus::Panicked, None),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert!(
            spans
                .iter()
                .filter_map(|span| span.error())
                .all(|error| error.message.is_none())
        );
    }

    /// A sink that notes what it receives.
    #[derive(Clone, Default)]
    struct Watcher(Arc<parking_lot::Mutex<Vec<String>>>, bool);

    impl SpanSink for Watcher {
        fn ended(&self, span: &SpanRecord) {
            self.0.lock().push(format!("ended {}", span.label()));
        }

        fn watches_open(&self) -> bool {
            self.1
        }

        fn opened(&self, span: &SpanRecord) {
            self.0.lock().push(format!("opened {}", span.label()));
        }

        fn progressed(&self, _: TraceId, _: SpanId, message: &str, fraction: Option<f64>) {
            self.0.lock().push(format!("{message} {fraction:?}"));
        }
    }

    fn watched(watches: bool) -> Vec<String> {
        let sink = Watcher(Arc::default(), watches);
        let collector = Collector::builder().sink(sink.clone()).build();
        collector.run_sync(|| {
            Progress::default().message("outside of any call");
            in_scope(SpanKind::Tool, "import", || {
                in_scope(SpanKind::Section, "part", || {
                    Progress::default().fraction(0.5, "password=hunter2");
                });
            });
        });
        sink.0.lock().clone()
    }

    #[test]
    fn a_sink_that_watches_receives_open_spans_and_progress() {
        let noted = [
            "opened tool:import",
            "opened section:part",
            "password=[redacted] Some(0.5)",
        ];
        assert_eq!(watched(true)[..3], noted);
        assert_eq!(
            watched(true)[3..],
            ["ended section:part", "ended tool:import"]
        );
    }

    #[test]
    fn a_sink_that_does_not_watch_receives_ended_spans_only() {
        assert_eq!(watched(false), ["ended section:part", "ended tool:import"]);
    }

    #[test]
    fn a_long_progress_message_is_cut() {
        let watcher = Watcher(Arc::default(), true);
        let collector = Collector::builder().sink(watcher.clone()).build();
        collector.run_sync(|| {
            in_scope(SpanKind::Tool, "import", || {
                Progress::default().message("x".repeat(10_000_000));
            });
        });
        assert_eq!(watcher.0.lock()[1].len(), MAX_ATTRIBUTE + "... None".len());
    }
}
