//! The start and the future of a tool, whose panics are caught and become the call's result.

use crate::call::error::{ErrorKind, MASKED, ToolError, print_unlogged};
use crate::text;
use crate::tool::function::FunctionTool;
use crate::tool::invocation::{Execution, HandlerResult, Invocation, PendingExecution, ToolResult};
use crate::tool::panic_guard::{Guard, Guarded};
use crate::trace;
use crate::trace::redaction::Redaction;
use std::any::Any;
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

/// Starts a tool. A panic while decoding or in a sync method becomes the result.
#[inline]
pub(crate) fn start<'a>(tool: &'a FunctionTool, call: Invocation<'a>) -> HandlerResult<'a> {
    let started = catch_unwind(AssertUnwindSafe(|| tool.0.handler.start(call)));
    started.unwrap_or_else(|panic| Ok(Execution::Done(panicked(tool, panic))))
}

/// Catches the panics of a tool's future.
#[inline]
pub(crate) fn guard<'a>(tool: &'a FunctionTool, future: PendingExecution<'a>) -> GuardedTool<'a> {
    Guarded::new(tool, future)
}

/// A tool's future whose panics are caught.
pub(crate) type GuardedTool<'a> = Guarded<PendingExecution<'a>, &'a FunctionTool>;

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
