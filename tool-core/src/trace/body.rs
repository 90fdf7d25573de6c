//! The spans that `#[tool]` and `#[agent]` open around the bodies of functions.

use crate::text::Name;
use crate::trace::record::{SpanEnd, SpanKind, SpanStatus};
use crate::trace::span::{NewSpan, OpenSpan, SpanGuard, current, enter, open, run, run_to_end};
use pin_project_lite::pin_project;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Decides how the span of a body ends, by the value that the body returned.
pub trait SpanEnding<T> {
    /// Returns the status with which the span closes.
    fn end(value: &T) -> SpanEnd;

    /// Returns [`end`](Self::end) as a function.
    #[inline]
    fn ending(&self) -> fn(&T) -> SpanEnd {
        Self::end
    }
}

/// The span of a body that returns a `T`, opened where spans are wanted. `E` decides how it ends.
pub struct BodySpan<T, E> {
    span: Option<SpanGuard>,
    types: PhantomData<fn() -> (T, E)>,
}

impl<T, E: SpanEnding<T>> BodySpan<T, E> {
    /// Names the types of an open span, or of none.
    #[inline]
    pub(crate) fn new(span: Option<SpanGuard>) -> Self {
        Self { span, types: PhantomData }
    }

    /// Runs the body inside the span, and closes the span.
    #[inline]
    pub fn run(self, body: impl FnOnce() -> T) -> T {
        run_to_end(self.span, body, E::end)
    }

    /// Returns a future that runs the body inside the span, and closes the span.
    #[inline]
    pub fn run_async<F: Future<Output = T>>(self, body: F) -> BodyFuture<F, E> {
        BodyFuture { body: Some(body), scope: self.span.and_then(SpanGuard::into_span), ending: PhantomData }
    }
}

/// Opens the span of a tool, unless dispatch opened one for this very call.
///
/// `id` identifies the function: see [`function_id`].
#[inline(never)]
pub(crate) fn open_tool(name: &'static str, id: u32) -> Option<SpanGuard> {
    if is_dispatched(id) { None } else { open(NewSpan::new(SpanKind::Tool, Name::Static(name))) }
}

/// Opens the span of an agent.
pub(crate) fn open_agent(name: &'static str) -> Option<SpanGuard> {
    open(NewSpan::new(SpanKind::Agent, Name::Static(name)))
}

/// Returns whether an enclosing span was opened for this call of the function `id`.
///
/// A hook may open sections between dispatch and the body. Any other span in between belongs to other work.
fn is_dispatched(id: u32) -> bool {
    let here = current();
    for scope in here.iter().flat_map(|span| span.chain()) {
        if scope.claim(id) {
            return true;
        }
        if scope.kind.is_some_and(|kind| kind.rank() == 1) {
            return false;
        }
    }
    false
}

/// Returns the number by which dispatch and a body recognise the same function: the FNV-1a hash of its path, never 0.
#[must_use]
pub const fn function_id(path: &str) -> u32 {
    let bytes = path.as_bytes();
    let (mut hash, mut at) = (0x811c_9dc5_u32, 0);
    while at < bytes.len() {
        #[allow(clippy::indexing_slicing)] // within bounds, and const
        let byte = bytes[at];
        hash = (hash ^ byte as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    if hash == 0 { 1 } else { hash }
}

/// Runs the body of an agent that is not `async`. `finish` closes the span, or hands it to the future that the body made.
#[inline]
pub fn in_agent<T, R>(name: &'static str, body: impl FnOnce() -> T, finish: impl FnOnce(T, ReturnedSpan) -> R) -> R {
    let (value, span) = run(open_agent(name), body);
    finish(value, ReturnedSpan(span))
}

/// The span of a body that has returned, if there is one.
pub struct ReturnedSpan(pub(crate) Option<SpanGuard>);

/// Gives a type to a block that cannot be annotated. Generated code never runs it.
#[must_use]
pub fn never<T>() -> T {
    loop {
        std::hint::spin_loop();
    }
}

pin_project! {
    /// The future of a body inside its span. One word larger than the body's own.
    #[must_use = "futures do nothing unless polled"]
    pub struct BodyFuture<F, E> {
        #[pin]
        body: Option<F>,
        scope: Option<Arc<OpenSpan>>,
        ending: PhantomData<fn() -> E>,
    }

    impl<F, E> PinnedDrop for BodyFuture<F, E> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if let Some(scope) = this.scope.take() {
                let span = SpanGuard::of(scope);
                // The values that the body holds are dropped inside its span.
                let _inside = span.enter();
                this.body.set(None);
            }
        }
    }
}

/// Closes the span as panicked if a poll of the body unwinds.
struct CloseOnPanic<'a>(&'a mut Option<Arc<OpenSpan>>);

impl Drop for CloseOnPanic<'_> {
    fn drop(&mut self) {
        if let Some(scope) = self.0.take() {
            SpanGuard::of(scope).close(SpanStatus::Panicked.into());
        }
    }
}

impl<F: Future, E: SpanEnding<F::Output>> Future for BodyFuture<F, E> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let guard = CloseOnPanic(this.scope);
        let polled = {
            let _inside = guard.0.as_ref().map(enter);
            // A finished future that is polled again stays pending.
            let polled = this.body.as_mut().as_pin_mut().map_or(Poll::Pending, |body| body.poll(cx));
            if polled.is_ready() {
                this.body.set(None);
            }
            polled
        };
        std::mem::forget(guard);
        let value = ready!(polled);
        if let Some(scope) = this.scope.take() {
            SpanGuard::of(scope).close(E::end(&value));
        }
        Poll::Ready(value)
    }
}
