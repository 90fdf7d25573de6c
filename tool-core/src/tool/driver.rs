//! The driver: the one place that starts a tool and takes it to its response.
//!
//! Every call passes here, whether it is bare, governed, repaired or deferred. Calls differ by
//! their [`ToolCaller`], who decides what happens while the tool waits, and by their frame: the
//! text of the arguments, and the gate before the method.

use crate::call::response::ToolResponse;
use crate::time::CallInstant;
use crate::tool::guarded_tool;
use crate::tool::invocation::{Execution, Invocation, InvocationFrame, Rejection, ToolResult};
use crate::tool::response_builder::ResponseBuilder;
use crate::tool::thread_time::{ThreadTime, UNCHECKED, WaitingTool};
use std::task::Poll;

/// The owner of a call whose tool is driven.
pub(crate) trait ToolCaller {
    /// Returns the builder of the call's response.
    fn responses(&self) -> ResponseBuilder<'_>;

    /// Returns the time by which the polls of the tool are checked.
    fn thread_time(&self) -> ThreadTime<'_>;

    /// Takes note that the method has started, and may have had effects.
    #[inline]
    fn tool_started(&self) {}

    /// Waits for a tool that was polled once and is not done. Most tools do not get here.
    fn wait<'a>(&'a self, tool: WaitingTool<'a>) -> impl Future<Output = ToolResult> + Send;

    /// Takes note that the tool has ended.
    #[inline]
    fn tool_ended(&self) {}
}

/// Starts a tool at `started` and drives it to its response. Fails if the method has not run.
#[inline]
pub(crate) async fn drive<'a, C: ToolCaller + Sync>(
    caller: &'a C,
    frame: &'a InvocationFrame<'a>,
    started: CallInstant,
) -> Result<ToolResponse, Rejection> {
    let responses = caller.responses();
    let tool = responses.tool;
    let execution = guarded_tool::start(tool, Invocation(frame))?;
    caller.tool_started();

    let mut has_waited = false;
    // A method that has returned does not need to pass through another future.
    let result = match execution {
        Execution::Done(result) => result,
        Execution::Pending(future) => {
            let mut future = guarded_tool::guard(tool, future);
            match future.poll_once().await {
                Poll::Ready(result) => result,
                Poll::Pending => {
                    has_waited = true;
                    let waiting = WaitingTool::new(future, caller.thread_time(), started);
                    caller.wait(waiting).await
                }
            }
        }
    };
    caller.tool_ended();

    let response = responses.finish(result);
    let taken = response.meta().duration();
    // Each poll of a tool that has waited was checked.
    if taken > UNCHECKED && !has_waited {
        let polled_at = started.since(responses.began);
        caller.thread_time().check(polled_at, taken);
    }
    Ok(response)
}
