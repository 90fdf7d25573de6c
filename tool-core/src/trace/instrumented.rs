//! Futures that carry a span: it is entered at every poll, and closed when the future is done, panics or is dropped.

use crate::text::Name;
use crate::trace::propagation::{DistributedContext, anchor};
use crate::trace::record::{End, SpanKind, SpanStatus};
use crate::trace::scope::{Scope, current, enter};
use crate::trace::span::{Opening, Span, open_in};
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// How a span ended, by what its future came to.
pub(crate) type Ends<T> = fn(&T) -> End;

enum State {
    /// Not polled yet. The scope in which it was made is the one that it belongs to.
    New {
        parent: Option<Arc<Scope>>,
        kind: SpanKind,
        name: Name,
        site: u32,
    },
    Open(Span),
    /// No span is wanted, or it is over.
    Without,
}

pin_project! {
    /// A future inside a span. The span belongs to the one in which this was made, and is opened at the first poll, so a
    /// future that is never polled has none.
    #[must_use = "futures do nothing unless polled"]
    pub struct Instrumented<F: Future> {
        #[pin]
        future: Option<F>,
        state: State,
        ends: Ends<F::Output>,
    }

    impl<F: Future> PinnedDrop for Instrumented<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if let State::Open(span) = &this.state {
                // What the future holds is dropped inside its span.
                let _inside = span.enter();
                this.future.set(None);
            }
        }
    }
}

impl<F: Future> Instrumented<F> {
    pub(crate) fn new(kind: SpanKind, name: Name, future: F, ends: Ends<F::Output>) -> Self {
        let state = State::New { parent: current(), kind, name, site: 0 };
        Self { future: Some(future), state, ends }
    }

    /// Of a call to a tool, whose body knows it by `site`.
    pub(crate) fn of_tool(name: Name, site: u32, future: F, ends: Ends<F::Output>) -> Self {
        let state = State::New { parent: current(), kind: SpanKind::Tool, name, site };
        Self { future: Some(future), state, ends }
    }

    /// With a span that is open already.
    pub(crate) fn open(span: Span, future: F, ends: Ends<F::Output>) -> Self {
        Self::of(Some(span), future, ends)
    }

    /// The same, where there may be none.
    pub(crate) fn of(span: Option<Span>, future: F, ends: Ends<F::Output>) -> Self {
        Self { future: Some(future), state: span.map_or(State::Without, State::Open), ends }
    }
}

/// The scope that a span belongs to: the span in which its future was made, or else whatever stands around its first
/// poll. A span of the same work whose argument it was, and a collector, or a context of another process or for a
/// customer, that was put around it since then are meant for it.
fn parent_of(made: Option<Arc<Scope>>, around: Option<Arc<Scope>>) -> Option<Arc<Scope>> {
    let (Some(made_in), Some(now_in)) = (&made, &around) else { return around.or(made) };
    let is_put_around = || now_in.kind.is_none() && !made_in.chain().any(|scope| Arc::ptr_eq(scope, now_in));
    let is_argument = || now_in.chain().any(|scope| Arc::ptr_eq(scope, made_in));
    if made_in.id.is_none() || is_put_around() || is_argument() { around } else { made }
}

impl State {
    /// Opens the span at the first poll.
    fn begin(&mut self) {
        if let Self::New { parent, kind, name, site } = self {
            let (parent, kind, name, site) = (parent.take(), *kind, name.clone(), *site);
            let parent = parent_of(parent, current());
            let opened = open_in(parent, Opening { kind, name, site, call_id: None });
            *self = Self::Open(opened);
        }
    }

    fn end(&mut self, end: End) {
        if let Self::Open(span) = std::mem::replace(self, Self::Without) {
            span.close(end);
        }
    }
}

/// The span is one that panicked, unless this is told that the poll came to its end.
struct Polling<'a> {
    state: &'a mut State,
    done: bool,
}

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.state.end(SpanStatus::Panicked.into());
        }
    }
}

impl<F: Future> Future for Instrumented<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        if cfg!(feature = "trace") {
            this.state.begin();
        } else {
            *this.state = State::Without;
        }
        let polling = &mut Polling { state: this.state, done: false };
        let (value, end) = {
            let _inside = match &polling.state {
                State::Open(span) => span.enter(),
                _ => None,
            };
            let Some(future) = this.future.as_mut().as_pin_mut() else {
                // It is over; whoever polls on waits for nothing.
                polling.done = true;
                return Poll::Pending;
            };
            let polled = future.poll(cx);
            if polled.is_ready() {
                this.future.set(None);
            }
            polling.done = true;
            let value = ready!(polled);
            // Asked inside the span, whose collector knows what is to be hidden.
            let end = matches!(polling.state, State::Open(_)).then(|| (this.ends)(&value));
            (value, end)
        };
        if let Some(end) = end {
            polling.state.end(end);
        }
        Poll::Ready(value)
    }
}

pin_project! {
    /// A future that runs inside a scope: of a collector, of a span of another process, or of the task that spawned it.
    #[must_use = "futures do nothing unless polled"]
    pub struct WithSpan<F> {
        #[pin]
        future: Option<F>,
        scope: Option<Arc<Scope>>,
        imported: Option<Box<DistributedContext>>,
    }

    impl<F> PinnedDrop for WithSpan<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            let _inside = this.scope.as_ref().map(enter);
            this.future.set(None);
        }
    }
}

impl<F> WithSpan<F> {
    pub(crate) fn new(scope: Arc<Scope>, future: F) -> Self {
        Self { future: Some(future), scope: Some(scope), imported: None }
    }

    /// In whatever scope the thread is in now.
    pub(crate) fn here(future: F) -> Self {
        Self { future: Some(future), scope: current(), imported: None }
    }

    /// Under a context of another process, and with the collector of wherever it is polled first.
    pub(crate) fn under(context: DistributedContext, future: F) -> Self {
        Self { future: Some(future), scope: None, imported: Some(Box::new(context)) }
    }
}

impl<F: Future> Future for WithSpan<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        if let Some(context) = this.imported.take() {
            *this.scope = Some(Arc::new(anchor(&context)));
        }
        let _inside = this.scope.as_ref().map(enter);
        let Some(future) = this.future.as_mut().as_pin_mut() else { return Poll::Pending };
        let value = ready!(future.poll(cx));
        this.future.set(None);
        Poll::Ready(value)
    }
}
