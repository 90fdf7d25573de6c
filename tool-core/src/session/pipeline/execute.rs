//! Running the method: deadline, cancellation, and the pool of threads for blocking tools.

use crate::call::{ToolError, ToolResponse};
use crate::session::pipeline::admit::{AdmissionGate, RefundGuard};
use crate::session::pipeline::cx::CallCx;
use crate::session::running::RunningGuard;
use crate::tool::dispatch::ResponseBuilder;
use crate::tool::invocation::{Execution, Invocation, ToolResult};
use crate::tool::panic_guard;
use crate::trace;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock, Weak};
use std::task::Poll;
use tokio::runtime::Handle;
use tokio::time::{sleep_until, timeout_at};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Drives a call that has started to its response.
#[inline]
pub(crate) async fn drive<'f>(
    call: &'f CallCx<'_>,
    gate: &AdmissionGate<'_>,
    invocation: Execution<'f>,
) -> ToolResponse {
    let running = gate.take_running();
    let future = match invocation {
        Execution::Done(outcome) => {
            running.into_iter().for_each(RunningGuard::finish);
            return call.answer().finish(outcome);
        }
        later @ Execution::Pending(_) => panic_guard::drive(call.tool, later),
    };
    let mut future = pin!(future);
    let outcome = match poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await {
        Poll::Ready(outcome) => {
            running.into_iter().for_each(RunningGuard::finish);
            outcome
        }
        // Boxed, as most tools do not wait, or wait for longer than a box takes.
        Poll::Pending => Box::pin(wait(call, running, future)).await,
    };
    call.answer().finish(outcome)
}

/// Starts a call that the gate stopped, without the gate.
pub(crate) async fn run_deferred(
    call: &CallCx<'_>,
    gate: &AdmissionGate<'_>,
    text: &str,
    validated: bool,
    refund: &RefundGuard,
) -> ToolResponse {
    if let Err(error) = gate.check_wanted() {
        return call.answer().fail(error);
    }
    gate.cancel_replaced();
    if call.definition().options.annotations.blocking {
        return run_blocking(call, gate, text, validated, refund).await;
    }
    let frame = call.answer().frame(text, call.settings(), validated, None);
    match panic_guard::start(call.tool, Invocation(&frame)) {
        Ok(invocation) => {
            refund.keep_charge();
            drive(call, gate, invocation).await
        }
        Err(rejected) => call.answer().reject(rejected),
    }
}

/// Waits for a call that is not done at once. It is listed, so that it can be cancelled, and dropped at its deadline.
async fn wait<'a>(
    call: &CallCx<'a>,
    running: Option<RunningGuard<'a>>,
    future: Pin<&mut impl Future<Output = ToolResult>>,
) -> ToolResult {
    let running = running.unwrap_or_else(|| call.list());
    // On an error the guard cancels the token, which ends what the tool has spawned.
    let outcome = wait_for(call, &running, future).await?;
    running.finish();
    outcome
}

/// Returns the future's output, unless the call is cancelled or its deadline has passed.
async fn wait_for<T>(
    call: &CallCx<'_>,
    running: &RunningGuard<'_>,
    mut future: Pin<&mut impl Future<Output = T>>,
) -> Result<T, ToolError> {
    let mut is_cancelled = pin!(running.token.cancelled());
    let mut deadline = pin!(sleep_until(call.deadline()));
    poll_fn(|cx| {
        if let Poll::Ready(value) = future.as_mut().poll(cx) {
            return Poll::Ready(Ok(value));
        }
        if is_cancelled.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(call.cancelled()));
        }
        deadline.as_mut().poll(cx).map(|()| Err(call.timed_out("running")))
    })
    .await
}

/// Runs a tool that blocks its thread on a bounded pool, so that other calls continue. When such a call times out or is
/// cancelled, its work continues and is counted as detached.
async fn run_blocking(
    call: &CallCx<'_>,
    gate: &AdmissionGate<'_>,
    text: &str,
    validated: bool,
    refund: &RefundGuard,
) -> ToolResponse {
    let runtime = &call.session.runtime;
    let permit = timeout_at(call.deadline(), Arc::clone(&runtime.blocking).acquire_owned()).await;
    let Ok(Ok(permit)) = permit else {
        let error = call.timed_out("waiting for a thread of the blocking pool").did_not_run();
        return call.answer().fail(error);
    };
    if let Err(error) = gate.check_wanted() {
        return call.answer().fail(error);
    }
    refund.keep_charge();
    let running = gate.take_running().unwrap_or_else(|| call.list());
    let (tool, ctx, session, began) = (call.tool.clone(), call.ctx.clone(), Arc::clone(call.session), call.began);
    let (call_id, text) = (Arc::clone(call.call_id), text.to_owned());
    let abandoned = Arc::new(OnceLock::new());
    // Dropped when the caller gets the answer, or no longer waits for it.
    let _waiting = BlockingCaller { work: Arc::downgrade(&abandoned), detached: &runtime.detached };
    let handle = Handle::current();
    let task = tokio::task::spawn_blocking(trace::in_current_span_sync(move || {
        // Both are dropped when the thread is free, even if the caller is gone.
        let (_permit, _abandoned) = (permit, abandoned);
        let settings = *session.tools.context.settings();
        let answer = ResponseBuilder {
            tool: &tool,
            ctx: &ctx,
            call_id: Some(&call_id),
            began,
            output_bytes: settings.output_bytes,
        };
        let frame = answer.frame(&text, &settings, validated, None);
        match panic_guard::start(&tool, Invocation(&frame)) {
            Ok(invocation) => answer.finish(handle.block_on(panic_guard::drive(&tool, invocation))),
            Err(rejected) => answer.reject(rejected),
        }
    }));
    match wait_for(call, &running, pin!(task)).await {
        Ok(joined) => {
            running.finish();
            joined.unwrap_or_else(|error| call.answer().fail(ToolError::internal(error.to_string()).unexpected()))
        }
        Err(error) => call.answer().fail(error),
    }
}

/// The caller of a blocking tool. Dropped while the work still runs, it leaves the work a token of the `detached` tracker,
/// which counts the work until its end.
struct BlockingCaller<'a> {
    work: Weak<OnceLock<TaskTrackerToken>>,
    detached: &'a TaskTracker,
}

impl Drop for BlockingCaller<'_> {
    fn drop(&mut self) {
        if let Some(abandoned) = self.work.upgrade() {
            let _ = abandoned.set(self.detached.token());
        }
    }
}
