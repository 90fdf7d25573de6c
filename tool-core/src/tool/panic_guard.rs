//! The panic guard: panics of a handler are caught, logged, and become its result.
//!
//! `AssertUnwindSafe` is sound here: a panic leaves behind only the tool's own state, and several
//! tasks may call a tool at once anyway. Locks that the panic poisoned report it.

use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The owner of a future whose panics are caught.
pub(crate) trait Guard<F: Future>: Unpin {
    type Result;

    /// Returns the result, or the future that makes it.
    fn next(&self, output: F::Output) -> ControlFlow<Self::Result, F>;

    /// Logs a panic, and returns the result in its place.
    fn panicked(&self, panic: Box<dyn Any + Send>) -> Self::Result;
}

/// A future whose panics are caught, at each poll and when it is dropped.
pub(crate) struct Guarded<F: Future, G: Guard<F>> {
    guard: G,
    future: Option<F>,
}

impl<F: Future, G: Guard<F>> Guarded<F, G> {
    #[inline]
    pub(crate) fn new(guard: G, future: F) -> Self {
        Self {
            guard,
            future: Some(future),
        }
    }
}

impl<F: Future + Unpin, G: Guard<F>> Future for Guarded<F, G> {
    type Output = G::Result;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<G::Result> {
        let polled = catch_unwind(AssertUnwindSafe(|| {
            while let Some(future) = &mut self.future {
                let Poll::Ready(output) = Pin::new(future).poll(cx) else {
                    return Poll::Pending;
                };
                // Dropped inside of the guard, because dropping may panic as well.
                self.future = None;
                match self.guard.next(output) {
                    ControlFlow::Break(result) => return Poll::Ready(result),
                    ControlFlow::Continue(next) => self.future = Some(next),
                }
            }
            Poll::Ready(
                self.guard
                    .panicked(Box::new("the future was polled after it had completed")),
            )
        }));
        polled.unwrap_or_else(|panic| {
            let rest = self.future.take();
            let _ = catch_unwind(AssertUnwindSafe(|| drop(rest)));
            Poll::Ready(self.guard.panicked(panic))
        })
    }
}

impl<F: Future, G: Guard<F>> Drop for Guarded<F, G> {
    /// Drops the future of work that was given up, which may panic as well.
    fn drop(&mut self) {
        if let Some(future) = self.future.take()
            && let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(future)))
        {
            // The caller is gone, so the panic is only logged.
            let _ = self.guard.panicked(panic);
        }
    }
}
