//! Futures that carry a span: it is entered at every poll, and closed when the future is done, panics or is dropped.

use crate::trace::open_span::{OpenSpan, current, enter};
use crate::trace::propagation::{DistributedContext, anchor};
use crate::trace::record::{SpanEnd, SpanStatus};
use crate::trace::span::{NewSpan, SpanGuard, open_in};
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// How a span ended, by what its future came to.
pub(crate) type Ends<T> = fn(&T) -> SpanEnd;

enum State {
    /// Not polled yet. The scope in which it was made is the one that it belongs to.
    New {
        parent: Option<Arc<OpenSpan>>,
        span: NewSpan,
    },
    Open(SpanGuard),
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
    pub(crate) fn new(span: NewSpan, future: F, ends: Ends<F::Output>) -> Self {
        let state = State::New { parent: current(), span };
        Self { future: Some(future), state, ends }
    }

    /// Runs a future in a span that is open already, or in none.
    pub(crate) fn with_span(span: Option<SpanGuard>, future: F, ends: Ends<F::Output>) -> Self {
        Self { future: Some(future), state: span.map_or(State::Without, State::Open), ends }
    }
}

/// The scope that a span belongs to: the span in which its future was made, or else whatever stands around its first
/// poll. A span of the same work whose argument it was, and a collector, or a context of another process or for a
/// customer, that was put around it since then are meant for it.
fn parent_of(made: Option<Arc<OpenSpan>>, around: Option<Arc<OpenSpan>>) -> Option<Arc<OpenSpan>> {
    let (Some(made_in), Some(now_in)) = (&made, &around) else { return around.or(made) };
    let is_put_around = || now_in.kind.is_none() && !made_in.chain().any(|scope| Arc::ptr_eq(scope, now_in));
    let is_argument = || now_in.chain().any(|scope| Arc::ptr_eq(scope, made_in));
    if made_in.id.is_none() || is_put_around() || is_argument() { around } else { made }
}

impl State {
    /// Opens the span at the first poll.
    fn begin(&mut self) {
        match std::mem::replace(self, Self::Without) {
            Self::New { parent, span } => *self = Self::Open(open_in(parent_of(parent, current()), span, None)),
            begun => *self = begun,
        }
    }

    fn end(&mut self, end: SpanEnd) {
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
        scope: Option<Arc<OpenSpan>>,
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
    pub(crate) fn new(scope: Arc<OpenSpan>, future: F) -> Self {
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
