//! Running a tool that blocks its thread, on a bounded pool of threads.

use crate::call::progress::Reporting;
use crate::call::tool_call::ThreadPlace;
use crate::call::{ToolError, ToolResponse};
use crate::session::pipeline::admit::AdmissionGate;
use crate::session::pipeline::governed_call::GovernedCall;
use crate::session::pipeline::governed_tool::wait_for;
use crate::session::pipeline::refund::RefundGuard;
use crate::session::thread_pool::ThreadPool;
use crate::tool::bare_call::BareCall;
use crate::tool::driver::drive;
use crate::tool::response_builder::ResponseBuilder;
use crate::trace;
use futures_util::FutureExt;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, Weak};
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout_at;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Runs a tool that blocks its thread on a bounded pool, so that other calls continue. When such a
/// call times out or is cancelled, its work continues and is counted as detached.
pub(crate) async fn run(
    gate: &AdmissionGate<'_>,
    text: &str,
    refund: &RefundGuard,
) -> ToolResponse {
    let call = gate.call;
    let pools = [call.session.threads(), &call.session.runtime.threads];
    let permits = match acquire_thread(call, pools)
        .await
        .and_then(|permits| gate.check_wanted().map(|()| permits))
    {
        Ok(permits) => permits,
        Err(error) => return call.responses().fail(error),
    };
    refund.keep_charge();
    if let Some(scope) = call.scope() {
        scope.thread_place.get_or_init(ThreadPlace::new);
    }
    let running = gate.take_running().unwrap_or_else(|| call.list());
    let tool = call.tool.clone();
    let ctx = call.ctx.clone();
    let session = Arc::clone(call.session);
    let began = call.began;
    let call_id = Arc::clone(call.request.shared_id());
    let text = text.to_owned();
    let progress = call.progress().clone();
    let abandoned = Arc::new(OnceLock::new());
    // Dropped when the caller gets the answer, or no longer waits for it.
    let _waiting = BlockingCaller {
        work: Arc::downgrade(&abandoned),
        pools,
    };
    let handle = Handle::current();
    let task = tokio::task::spawn_blocking(trace::in_current_span_sync(move || {
        // Both are dropped when the thread is free, even if the caller is gone.
        let _permits = permits;
        let _abandoned = abandoned;
        let settings = *session.tools.context.settings();
        let answer = ResponseBuilder {
            tool: &tool,
            ctx: &ctx,
            call_id: Some(&call_id),
            began,
            output_bytes: settings.output_bytes,
        };
        let frame = answer.frame(&text, &settings, true, None, &progress);
        let call = BareCall(answer);
        let mut driven = pin!(drive(&call, &frame, began));
        // A tool that blocks its thread may itself block on a future, so it starts outside of
        // `block_on`.
        let ended = match driven.as_mut().now_or_never() {
            Some(ended) => ended,
            None => handle.block_on(driven),
        };
        BlockingEnd {
            has_run: ended.is_ok(),
            response: ended.unwrap_or_else(|rejection| answer.reject(rejection)),
        }
    }));
    let failed = |error| BlockingEnd {
        response: call.responses().fail(error),
        has_run: true,
    };
    let end = match wait_for(call, &running, pin!(task)).await {
        Ok(joined) => {
            running.finish();
            joined
                .unwrap_or_else(|error| failed(ToolError::internal(error.to_string()).unexpected()))
        }
        Err(error) => failed(error),
    };
    // An earlier attempt may have run.
    call.has_run.fetch_or(end.has_run, Ordering::Relaxed);
    end.response
}

/// The end of a blocking tool.
struct BlockingEnd {
    response: ToolResponse,
    has_run: bool,
}

/// Describes what a call has waited for in vain that a `blocking` tool has made.
const NO_PLACE: &str =
    "waiting for a thread: of the blocking calls that one call makes, one at a time runs";

/// Waits for a thread: first of the session's share, so that only as many calls of a session as it
/// has wait among those of other sessions. A call that a `blocking` tool waits for uses its caller's
/// place, as the two would wait for each other otherwise: one such call at a time.
async fn acquire_thread(
    call: &GovernedCall<'_>,
    pools: [&ThreadPool; 2],
) -> Result<[Option<OwnedSemaphorePermit>; 2], ToolError> {
    let mut permits = [None, None];
    if let Some(place) = call.request.thread_place() {
        let acquired = timeout_at(call.deadline(), place.acquire()).await;
        let [permit, _] = &mut permits;
        *permit = acquired.map_err(|_| call.timed_out(NO_PLACE).did_not_run())?;
        return Ok(permits);
    }
    for ((pool, owner), permit) in pools
        .into_iter()
        .zip(["a session", "all sessions"])
        .zip(&mut permits)
    {
        let acquired = timeout_at(call.deadline(), Arc::clone(&pool.permits).acquire_owned()).await;
        *permit = acquired
            .map_err(|_| call.timed_out(&pool.describe(owner)).did_not_run())?
            .ok();
    }
    Ok(permits)
}

/// The caller of a blocking tool. Dropped while the work still runs, it leaves the work a token of
/// each pool's `detached` tracker, which counts the work until its end.
struct BlockingCaller<'a> {
    work: Weak<OnceLock<[TaskTrackerToken; 2]>>,
    pools: [&'a ThreadPool; 2],
}

impl Drop for BlockingCaller<'_> {
    fn drop(&mut self) {
        if let Some(abandoned) = self.work.upgrade() {
            let _ = abandoned.set(self.pools.map(|pool| pool.detached.token()));
        }
    }
}
