//! The spans that `#[tool]` and `#[agent]` open around the bodies of functions.

use crate::text::Name;
use crate::trace::instrumented::Instrumented;
use crate::trace::record::{SpanEnd, SpanKind};
use crate::trace::span::{EnteredSpan, NewSpan, SpanGuard, current, open, run, run_to_end};
use pin_project_lite::pin_project;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

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

/// The span of a tool's body that returns a `T`, opened where spans are wanted.
pub struct BodySpan<T> {
    span: Option<SpanGuard>,
    ending: fn(&T) -> SpanEnd,
}

impl<T> BodySpan<T> {
    /// Names the type of an open span, or of none.
    #[inline]
    pub(crate) fn new(span: Option<SpanGuard>, ending: fn(&T) -> SpanEnd) -> Self {
        Self { span, ending }
    }

    /// Runs the body inside the span, and closes the span.
    #[inline]
    pub fn run(self, body: impl FnOnce() -> T) -> T {
        run_to_end(self.span, body, self.ending)
    }

    /// Returns a future that runs the body inside the span, and closes the span. The body has a [`TypedBody`] for its type.
    #[inline]
    pub fn run_async<F: Future<Output = T>>(
        self,
        body: impl FnOnce(TypedBody<T>) -> F,
    ) -> BodyFuture<F, T> {
        BodyFuture {
            body: body(TypedBody(PhantomData)),
            entered: EnteredSpan::default(),
            span: self.span,
            ending: self.ending,
        }
    }
}

/// The span of an agent's async body that returns a `T`.
pub struct AgentSpan<T> {
    span: Option<SpanGuard>,
    ending: fn(&T) -> SpanEnd,
}

impl<T> AgentSpan<T> {
    /// Opens the span.
    pub(crate) fn open(name: &'static str, ending: fn(&T) -> SpanEnd) -> Self {
        Self {
            span: open_agent(name),
            ending,
        }
    }

    /// Returns a future that runs the body inside the span, and closes the span.
    pub fn run_async<F: Future<Output = T>>(
        self,
        body: impl FnOnce(TypedBody<T>) -> F,
    ) -> Instrumented<F> {
        Instrumented::with_span(self.span, body(TypedBody(PhantomData)), self.ending)
    }
}

/// Opens the span of a tool, unless dispatch opened one for this very call.
#[inline(never)]
pub(crate) fn open_tool(function: TracedFunction) -> Option<SpanGuard> {
    if is_dispatched(function.id) {
        None
    } else {
        open(NewSpan::new(SpanKind::Tool, Name::Static(function.tool)))
    }
}

/// Opens the span of an agent.
pub(crate) fn open_agent(name: &'static str) -> Option<SpanGuard> {
    open(NewSpan::new(SpanKind::Agent, Name::Static(name)))
}

/// Returns whether an enclosing span was opened for this call of the function `id`.
///
/// A hook may open sections between dispatch and the body. Any other span in between belongs to
/// other work.
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

/// Returns the number by which dispatch and a body recognise the same function: the FNV-1a hash of
/// its path, never 0.
#[must_use]
pub(crate) const fn function_id(path: &str) -> u32 {
    let bytes = path.as_bytes();
    let mut hash = 0x811c_9dc5_u32;
    let mut at = 0;
    while at < bytes.len() {
        #[allow(clippy::indexing_slicing)] // within bounds, and const
        let byte = bytes[at];
        hash = (hash ^ byte as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    if hash == 0 { 1 } else { hash }
}

/// The function of a tool, as its span knows it.
#[derive(Clone, Copy)]
pub struct TracedFunction {
    tool: &'static str,
    /// See [`function_id`].
    id: u32,
}

/// Describes the function with this path, whose tool has its name.
#[must_use]
pub const fn function(path: &'static str) -> TracedFunction {
    TracedFunction {
        tool: last_segment(path),
        id: function_id(path),
    }
}

impl TracedFunction {
    /// Sets the name of a tool that is not named like its function.
    #[must_use]
    pub const fn named(self, tool: &'static str) -> Self {
        Self { tool, ..self }
    }
}

/// Returns what follows the last colon of a path.
const fn last_segment(path: &'static str) -> &'static str {
    let bytes = path.as_bytes();
    let mut at = bytes.len();
    #[allow(clippy::indexing_slicing)] // within bounds, and const
    while at > 0 && bytes[at - 1] != b':' {
        at -= 1;
    }
    path.split_at(at).1
}

/// Runs the body of an agent that is not `async`. `finish` closes the span, or hands it to the
/// future that the body made.
#[inline]
pub fn in_agent<T, R>(
    name: &'static str,
    body: impl FnOnce() -> T,
    finish: impl FnOnce(T, ReturnedSpan) -> R,
) -> R {
    let (value, span) = run(open_agent(name), body);
    finish(value, ReturnedSpan(span))
}

/// The span of a body that has returned, if there is one.
pub struct ReturnedSpan(pub(crate) Option<SpanGuard>);

/// The type of an `async` body. It has no data, so that a future which keeps it is no larger.
pub struct TypedBody<T>(PhantomData<fn() -> T>);

impl<T> TypedBody<T> {
    /// Returns nothing. An `async` block, which cannot be annotated, takes its type from the first
    /// value that it returns, and generated code pretends to return this one.
    #[inline]
    pub fn value(self) -> Option<T> {
        None
    }
}

/// Gives a type to an expression. Generated code never runs it.
#[must_use]
pub(crate) fn never<T>() -> T {
    loop {
        std::hint::spin_loop();
    }
}

pin_project! {
    /// The future of a tool's body inside its span.
    #[must_use = "futures do nothing unless polled"]
    pub struct BodyFuture<F, T> {
        #[pin]
        body: F,
        // The span, entered while a body that was given up is dropped. Dropped after the body and
        // before the span closes.
        entered: EnteredSpan,
        span: Option<SpanGuard>,
        ending: fn(&T) -> SpanEnd,
    }

    impl<F, T> PinnedDrop for BodyFuture<F, T> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if let Some(span) = this.span.as_ref().and_then(SpanGuard::span) {
                *this.entered = EnteredSpan::enter(span);
            }
        }
    }
}

impl<F: Future<Output = T>, T> Future for BodyFuture<F, T> {
    type Output = T;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let this = self.project();
        if this.span.is_none() {
            this.body.poll(cx)
        } else {
            poll_in_span(this.body, this.span, *this.ending, cx)
        }
    }
}

/// Polls the body inside its span.
#[cold]
fn poll_in_span<T>(
    mut body: Pin<&mut dyn Future<Output = T>>,
    span: &mut Option<SpanGuard>,
    ending: fn(&T) -> SpanEnd,
    cx: &mut Context<'_>,
) -> Poll<T> {
    let (polled, open) = run(span.take(), || body.as_mut().poll(cx));
    match (polled, open) {
        (Poll::Pending, open) => {
            *span = open;
            Poll::Pending
        }
        (Poll::Ready(value), open) => {
            if let Some(open) = open {
                open.close(ending(&value));
            }
            Poll::Ready(value)
        }
    }
}
