//! What the macros put around the bodies of tools and agents. S2, S11

use crate::text::Name;
use crate::trace::open_span::{OpenSpan, current, enter};
use crate::trace::record::{SpanEnd, SpanKind, SpanStatus};
use crate::trace::span::{NewSpan, SpanGuard, is_wanted, open, run, run_to_end};
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The fn of a tool, as its body knows itself.
#[derive(Clone, Copy)]
pub struct Site {
    name: &'static str,
    id: u32,
}

impl Site {
    /// `path`: the Rust path of the fn, which dispatch knows it by.
    #[must_use]
    pub const fn new(name: &'static str, path: &'static str) -> Self {
        Self { name, id: id_of(path) }
    }

    /// The span of a call, unless dispatch has opened it for this very one.
    #[inline(never)]
    fn begin(self) -> Option<SpanGuard> {
        if self.is_dispatched() {
            return None;
        }
        open(NewSpan::new(SpanKind::Tool, Name::Static(self.name)))
    }

    /// What stands between dispatch and the body may be a section that a hook opened, but no other work.
    fn is_dispatched(self) -> bool {
        let here = current();
        for scope in here.iter().flat_map(OpenSpan::chain) {
            if scope.claim(self.id) {
                return true;
            }
            if scope.kind.is_some_and(|kind| kind.rank() == 1) {
                return false;
            }
        }
        false
    }
}

/// A number for a path, never 0: FNV-1a.
pub(crate) const fn id_of(path: &str) -> u32 {
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

fn begin_agent(name: &'static str) -> Option<SpanGuard> {
    open(NewSpan::new(SpanKind::Agent, Name::Static(name)))
}

/// The body of a sync tool.
#[inline]
pub fn in_tool<T>(site: Site, body: impl FnOnce() -> T, ends: impl FnOnce(&T) -> SpanEnd) -> T {
    let span = if is_wanted() { site.begin() } else { None };
    run_to_end(span, body, ends)
}

/// The body of an async tool. This is called when the tool's future is polled first.
#[inline]
pub fn in_tool_async<F: Future, E: Fn(&F::Output) -> SpanEnd>(site: Site, body: F, ends: E) -> InBody<F, E> {
    let span = if is_wanted() { site.begin() } else { None };
    InBody::new(span, body, ends)
}

/// The body of a sync agent. Where it makes a future, that one goes on with the span.
#[inline]
pub fn in_agent<T, R>(name: &'static str, body: impl FnOnce() -> T, finish: impl FnOnce(T, Opened) -> R) -> R {
    let (value, span) = run(begin_agent(name), body);
    finish(value, Opened(span))
}

/// The span of a body that has returned, if there is one.
pub struct Opened(pub(crate) Option<SpanGuard>);

/// The body of an async agent.
#[inline]
pub fn in_agent_async<F: Future, E: Fn(&F::Output) -> SpanEnd>(name: &'static str, body: F, ends: E) -> InBody<F, E> {
    InBody::new(begin_agent(name), body, ends)
}

/// What gives a type to a block that cannot be given one: nobody comes here.
#[must_use]
pub fn never<T>() -> T {
    loop {
        std::hint::spin_loop();
    }
}

pin_project! {
    /// The future of a body. One word larger than the body's own.
    #[must_use = "futures do nothing unless polled"]
    pub struct InBody<F, E> {
        #[pin]
        body: Option<F>,
        scope: Option<Arc<OpenSpan>>,
        ends: E,
    }

    impl<F, E> PinnedDrop for InBody<F, E> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if let Some(scope) = this.scope.take() {
                let span = SpanGuard::of(scope);
                // What the body holds is dropped inside its span.
                let _inside = span.enter();
                this.body.set(None);
            }
        }
    }
}

impl<F, E> InBody<F, E> {
    #[inline]
    fn new(span: Option<SpanGuard>, body: F, ends: E) -> Self {
        Self { body: Some(body), scope: span.and_then(SpanGuard::into_scope), ends }
    }
}

/// Closes the span as one that panicked where a poll does not come to its end.
struct Polling<'a>(&'a mut Option<Arc<OpenSpan>>, bool);

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        if let Some(scope) = self.0.take_if(|_| !self.1) {
            SpanGuard::of(scope).close(SpanStatus::Panicked.into());
        }
    }
}

impl<F: Future, E: Fn(&F::Output) -> SpanEnd> Future for InBody<F, E> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let mut polling = Polling(this.scope, false);
        let value = {
            let _inside = polling.0.as_ref().map(enter);
            // It is over; whoever polls on waits for nothing.
            let Some(body) = this.body.as_mut().as_pin_mut() else {
                polling.1 = true;
                return Poll::Pending;
            };
            let polled = body.poll(cx);
            polling.1 = true;
            let value = ready!(polled);
            this.body.set(None);
            value
        };
        if let Some(scope) = polling.0.take() {
            SpanGuard::of(scope).close((this.ends)(&value));
        }
        Poll::Ready(value)
    }
}
