//! Futures that carry a span: they enter it at every poll, and close it when the work is done,
//! panics or is dropped.

use crate::trace::propagation::DistributedContext;
use crate::trace::record::SpanEnd;
use crate::trace::span::{NewSpan, OpenSpan, SpanGuard, current, enter, open_in, run};
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// A span that is opened at the first poll.
struct UnopenedSpan {
    /// The span in which the future was made.
    made_in: Option<Arc<OpenSpan>>,
    span: NewSpan,
}

pin_project! {
    /// A future inside a span. The span is opened at the first poll, as a child of the span in
    /// which the future was made. A future that is never polled has no span.
    #[must_use = "futures do nothing unless polled"]
    pub struct Instrumented<F: Future> {
        #[pin]
        future: Option<F>,
        unopened: Option<UnopenedSpan>,
        span: Option<SpanGuard>,
        end_of: fn(&F::Output) -> SpanEnd,
    }

    impl<F: Future> PinnedDrop for Instrumented<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            // Drops the future's locals inside the span.
            let _inside = this.span.as_ref().and_then(SpanGuard::enter);
            this.future.set(None);
        }
    }
}

impl<F: Future> Instrumented<F> {
    /// Runs a future in a span that is opened at its first poll. `end_of` turns the output into the
    /// span's end.
    pub(crate) fn new(span: NewSpan, future: F, end_of: fn(&F::Output) -> SpanEnd) -> Self {
        let unopened = cfg!(feature = "trace").then(|| UnopenedSpan {
            made_in: current(),
            span,
        });
        Self {
            future: Some(future),
            unopened,
            span: None,
            end_of,
        }
    }

    /// Runs a future in a span that is open already, or in none.
    pub(crate) fn with_span(
        span: Option<SpanGuard>,
        future: F,
        end_of: fn(&F::Output) -> SpanEnd,
    ) -> Self {
        Self {
            future: Some(future),
            unopened: None,
            span,
            end_of,
        }
    }
}

/// Chooses the parent of a span: the span in which its future was made, or the one around its first
/// poll.
///
/// The one around the poll is meant if it is inside the other, as for a future that is the argument
/// of another span's work. It is also meant if it is an anchor that was put around the future
/// later: a collector, or an imported context.
fn choose_parent(
    made_in: Option<Arc<OpenSpan>>,
    polled_in: Option<Arc<OpenSpan>>,
) -> Option<Arc<OpenSpan>> {
    let (Some(made), Some(polled)) = (&made_in, &polled_in) else {
        return polled_in.or(made_in);
    };
    let is_inside =
        |inner: &OpenSpan, outer: &OpenSpan| inner.chain().any(|span| std::ptr::eq(span, outer));
    let is_later_anchor = || polled.kind.is_none() && !is_inside(made, polled);
    if made.id.is_none() || is_later_anchor() || is_inside(polled, made) {
        polled_in
    } else {
        made_in
    }
}

impl<F: Future> Future for Instrumented<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        if let Some(UnopenedSpan { made_in, span }) = this.unopened.take() {
            *this.span = Some(open_in(choose_parent(made_in, current()), span));
        }
        let has_span = this.span.is_some();
        let (polled, span) = run(this.span.take(), || {
            // There is no future if it is polled again after it was ready.
            let Some(future) = this.future.as_mut().as_pin_mut() else {
                return Poll::Pending;
            };
            let value = ready!(future.poll(cx));
            this.future.set(None);
            // Called inside the span, because the redaction of an error's message is the
            // collector's.
            let end = has_span.then(|| (this.end_of)(&value));
            Poll::Ready((value, end))
        });
        let Poll::Ready((value, end)) = polled else {
            *this.span = span;
            return Poll::Pending;
        };
        if let (Some(span), Some(end)) = (span, end) {
            span.close(end);
        }
        Poll::Ready(value)
    }
}

pin_project! {
    /// A future that runs inside an existing span: of a collector, of an imported context, or of
    /// the task that spawned it.
    #[must_use = "futures do nothing unless polled"]
    pub struct WithSpan<F> {
        #[pin]
        future: Option<F>,
        span: Option<Arc<OpenSpan>>,
        imported: Option<Box<DistributedContext>>,
    }

    impl<F> PinnedDrop for WithSpan<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            let _inside = this.span.as_ref().map(enter);
            this.future.set(None);
        }
    }
}

impl<F> WithSpan<F> {
    /// Runs a future in `span`, or in whatever span polls it if there is none.
    pub(crate) fn new(span: Option<Arc<OpenSpan>>, future: F) -> Self {
        Self::imported(span, None, future)
    }

    /// Runs a future under an imported context in `span`, or in whatever span first polls it if
    /// there is none.
    pub(crate) fn imported(
        span: Option<Arc<OpenSpan>>,
        context: Option<DistributedContext>,
        future: F,
    ) -> Self {
        Self {
            future: Some(future),
            span,
            imported: context.map(Box::new),
        }
    }
}

impl<F: Future> Future for WithSpan<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        if let Some(context) = this.imported.take() {
            let around = this.span.take().or_else(current);
            *this.span = Some(Arc::new(OpenSpan::imported(&context, around)));
        }
        let _inside = this.span.as_ref().map(enter);
        let Some(future) = this.future.as_mut().as_pin_mut() else {
            return Poll::Pending;
        };
        let value = ready!(future.poll(cx));
        this.future.set(None);
        Poll::Ready(value)
    }
}
