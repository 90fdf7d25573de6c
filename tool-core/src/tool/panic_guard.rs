//! The panic guard: panics of a tool are caught, logged, and become the call's result.
//!
//! `AssertUnwindSafe` is sound here: a panic leaves behind only the tool's own state, and several tasks may call a tool at
//! once anyway. Locks that the panic poisoned report it.

use crate::call::error::{ErrorKind, MASKED, ToolError, print_unlogged};
use crate::text;
use crate::tool::function::FunctionTool;
use crate::tool::invocation::{Execution, HandlerResult, Invocation, ToolResult};
use crate::trace;
use crate::trace::redaction::Redaction;
use std::any::Any;
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
pub(crate) async fn drive<'a>(tool: &'a FunctionTool, mut execution: Execution<'a>) -> ToolResult {
    loop {
        match execution {
            Execution::Done(result) => return result,
            Execution::Pending(future) => execution = Guarded { tool, future: Some(future) }.await,
        }
    }
}

/// A tool's future whose panics are caught.
struct Guarded<'a> {
    tool: &'a FunctionTool,
    future: Option<Pin<Box<dyn Future<Output = Execution<'a>> + Send + 'a>>>,
}

impl<'a> Future for Guarded<'a> {
    type Output = Execution<'a>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Execution<'a>> {
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let future = self.future.as_mut()?;
            let polled = future.as_mut().poll(cx);
            if polled.is_ready() {
                // Dropped inside of the guard, because dropping may panic as well.
                self.future = None;
            }
            Some(polled)
        }));
        match polled {
            Ok(Some(polled)) => polled,
            Ok(None) => {
                let error = ToolError::internal("the tool's future was polled after it had completed");
                Poll::Ready(Execution::Done(Err(error)))
            }
            Err(panic) => {
                let rest = self.future.take();
                let _ = catch_unwind(AssertUnwindSafe(|| drop(rest)));
                Poll::Ready(Execution::Done(panicked(self.tool, panic)))
            }
        }
    }
}

impl Drop for Guarded<'_> {
    /// Drops the future of a call that was given up, which may panic as well.
    fn drop(&mut self) {
        if let Some(future) = self.future.take()
            && let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(future)))
        {
            // The caller is gone, so the panic is only logged.
            let _ = panicked(self.tool, panic);
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
