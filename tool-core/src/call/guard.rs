//! Panics of a tool: caught, logged, answered.

use crate::__private::{Call, Invocation, Outcome, Rejected, Started};
use crate::redact::Redaction;
use crate::response::{ErrorKind, MASKED, ToolError};
use crate::text;
use crate::tool::FunctionTool;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

// `AssertUnwindSafe`: what a panic leaves behind is the tool's own state, and a tool that panicked may be called
// again, as it may be from several tasks at once. Locks that it poisoned tell it so.

/// Starts a tool. A panic while decoding or in a sync method is an outcome.
#[inline]
pub(crate) fn start<'a>(tool: &'a FunctionTool, call: Call<'a>) -> Started<'a> {
    let started = catch_unwind(AssertUnwindSafe(|| tool.0.handler.start(call)));
    started.unwrap_or_else(|panic| Ok(Invocation::Done(panicked(tool, panic))))
}

/// Drives a tool to its end.
#[inline]
pub(crate) async fn settle<'a>(tool: &'a FunctionTool, mut invocation: Invocation<'a>) -> Outcome {
    loop {
        match invocation {
            Invocation::Done(outcome) => return outcome,
            Invocation::Later(future) => invocation = Guarded { tool, future: Some(future) }.await,
        }
    }
}

struct Guarded<'a> {
    tool: &'a FunctionTool,
    future: Option<Pin<Box<dyn Future<Output = Invocation<'a>> + Send + 'a>>>,
}

impl Drop for Guarded<'_> {
    /// A call that is given up drops what the tool holds, which may panic as well.
    fn drop(&mut self) {
        if let Some(future) = self.future.take()
            && let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(future)))
        {
            // Its outcome is nobody's any more; the log has it.
            let _ = panicked(self.tool, panic);
        }
    }
}

impl<'a> Future for Guarded<'a> {
    type Output = Invocation<'a>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Invocation<'a>> {
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let future = self.future.as_mut()?;
            let polled = future.as_mut().poll(cx);
            if polled.is_ready() {
                // Dropped here, so that a panic while dropping is caught as well.
                self.future = None;
            }
            Some(polled)
        }));
        match polled {
            Ok(Some(polled)) => polled,
            Ok(None) => Poll::Ready(Invocation::Done(Err(ToolError::internal("polled after it ended")))),
            Err(panic) => {
                // What is left of it may panic once more while it is dropped.
                let rest = self.future.take();
                let _ = catch_unwind(AssertUnwindSafe(|| drop(rest)));
                Poll::Ready(Invocation::Done(panicked(self.tool, panic)))
            }
        }
    }
}

/// The outcome of a panic. Its text goes to the log only.
#[cold]
fn panicked(tool: &FunctionTool, panic: Box<dyn Any + Send>) -> Outcome {
    let error = tool.scrubbed(ToolError::internal(text::of_panic(panic)));
    let text = Redaction::new().text(error.message());
    tracing::error!(tool = %tool.name().escape_debug(), panic = %text, "tool panicked");
    crate::trace::caught_panic();
    Err(ToolError::new(ErrorKind::Internal, MASKED, false).unexpected())
}

impl From<ToolError> for Rejected {
    fn from(error: ToolError) -> Self {
        Self::Context(error)
    }
}
