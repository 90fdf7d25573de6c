//! The panic guard: panics of a handler are caught, logged, and become its result.
//!
//! `AssertUnwindSafe` is sound here: a panic leaves behind only the tool's own state, and several tasks may call a tool at
//! once anyway. Locks that the panic poisoned report it.

use crate::call::error::{ErrorKind, MASKED, ToolError, print_unlogged};
use crate::text;
use crate::tool::function::FunctionTool;
use crate::tool::invocation::{Execution, HandlerResult, Invocation, PendingExecution, ToolResult};
use crate::trace;
use crate::trace::redaction::Redaction;
use std::any::Any;
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Starts a tool. A panic while decoding or in a sync method becomes the result.
#[inline]
pub(crate) fn start<'a>(tool: &'a FunctionTool, call: Invocation<'a>) -> HandlerResult<'a> {
    let started = catch_unwind(AssertUnwindSafe(|| tool.0.handler.start(call)));
    started.unwrap_or_else(|panic| Ok(Execution::Done(panicked(tool, panic))))
}

/// Drives a started tool to its result.
#[inline]
pub(crate) async fn drive<'a>(tool: &'a FunctionTool, execution: Execution<'a>) -> ToolResult {
    match execution {
        Execution::Done(result) => result,
        Execution::Pending(future) => guard(tool, future).await,
    }
}

/// Catches the panics of a tool's future.
#[inline]
pub(crate) fn guard<'a>(tool: &'a FunctionTool, future: PendingExecution<'a>) -> GuardedTool<'a> {
    Guarded::new(tool, future)
}

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

/// A tool's future whose panics are caught.
pub(crate) type GuardedTool<'a> = Guarded<PendingExecution<'a>, &'a FunctionTool>;

impl<F: Future, G: Guard<F>> Guarded<F, G> {
    #[inline]
    pub(crate) fn new(guard: G, future: F) -> Self {
        Self { guard, future: Some(future) }
    }
}

impl<'a> Guard<PendingExecution<'a>> for &'a FunctionTool {
    type Result = ToolResult;

    #[inline]
    fn next(&self, output: Execution<'a>) -> ControlFlow<ToolResult, PendingExecution<'a>> {
        match output {
            Execution::Done(result) => ControlFlow::Break(result),
            Execution::Pending(next) => ControlFlow::Continue(next),
        }
    }

    fn panicked(&self, panic: Box<dyn Any + Send>) -> ToolResult {
        panicked(self, panic)
    }
}

impl GuardedTool<'_> {
    /// Polls the tool once, because most tools do not wait, and only a call that waits is listed.
    #[inline]
    pub(crate) fn poll_once(&mut self) -> impl Future<Output = Poll<ToolResult>> + Send {
        poll_fn(|cx| Poll::Ready(Pin::new(&mut *self).poll(cx)))
    }
}

impl<F: Future + Unpin, G: Guard<F>> Future for Guarded<F, G> {
    type Output = G::Result;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<G::Result> {
        let polled = catch_unwind(AssertUnwindSafe(|| {
            while let Some(future) = &mut self.future {
                let Poll::Ready(output) = Pin::new(future).poll(cx) else { return Poll::Pending };
                // Dropped inside of the guard, because dropping may panic as well.
                self.future = None;
                match self.guard.next(output) {
                    ControlFlow::Break(result) => return Poll::Ready(result),
                    ControlFlow::Continue(next) => self.future = Some(next),
                }
            }
            Poll::Ready(self.guard.panicked(Box::new("the future was polled after it had completed")))
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

/// Logs a panic, and returns the result of the call.
#[cold]
fn panicked(tool: &FunctionTool, panic: Box<dyn Any + Send>) -> ToolResult {
    let error = tool.scrub(ToolError::internal(text::of_panic(panic)));
    let text = Redaction::new().text(error.message());
    tracing::error!(tool = %tool.name().escape_debug(), panic = %text, "tool panicked");
    print_unlogged(tool.name(), &text);
    trace::spans::mark_panicked();
    Err(ToolError::new(ErrorKind::Internal, MASKED, false).unexpected())
}
