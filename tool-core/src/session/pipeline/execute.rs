//! Running the method: at once, or after the call has waited for its store, an approval, a hook, the journal or a thread.

use crate::call::asker::CallQuestions;
use crate::call::error::MASKED;
use crate::call::progress::Reporting;
use crate::call::tool_call::CallApproval;
use crate::call::{ErrorKind, ToolError, ToolResponse};
use crate::session::hooks::{HookedCall, Next};
use crate::session::inner::ThreadPool;
use crate::session::pipeline::admit::{AdmissionGate, Deferral, RefundGuard};
use crate::session::pipeline::confirm::{no_pending_call, request_approval};
use crate::session::pipeline::cx::CallCx;
use crate::session::pipeline::journal::{JournalClaim, record_end, record_start};
use crate::session::pipeline::record::{self, HOOK_GRACE};
use crate::session::running::RunningGuard;
use crate::session::store::Charge;
use crate::session::timer;
use crate::time::{self, CallInstant};
use crate::tool::dispatch::ResponseBuilder;
use crate::tool::guarded_tool::{self, GuardedTool};
use crate::tool::invocation::{Execution, Invocation, ToolResult};
use crate::tool::thread_time::WaitingTool;
use crate::trace;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, select};
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, timeout_at};
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Builds the response to a call whose method has returned.
#[inline]
pub(crate) fn done(
    call: &CallCx<'_>,
    gate: &AdmissionGate<'_>,
    outcome: ToolResult,
) -> ToolResponse {
    gate.take_running()
        .into_iter()
        .for_each(RunningGuard::finish);
    call.answer().finish(outcome)
}

/// Drives a call that has started to its response.
pub(crate) async fn run_started<'f>(
    call: &'f CallCx<'_>,
    gate: &AdmissionGate<'_>,
    execution: Execution<'f>,
    started: CallInstant,
) -> ToolResponse {
    let time = call.thread_time();
    let outcome = match execution {
        Execution::Done(outcome) => {
            time.check_since(started);
            outcome
        }
        Execution::Pending(future) => {
            let mut future = guarded_tool::guard(call.tool, future);
            match future.poll_once().await {
                Poll::Ready(outcome) => {
                    time.check_since(started);
                    outcome
                }
                Poll::Pending => wait(call, gate, future, started).await,
            }
        }
    };
    done(call, gate, outcome)
}

/// Starts a call that the gate stopped, without the gate.
async fn start_deferred(
    gate: &AdmissionGate<'_>,
    text: &str,
    refund: &RefundGuard,
) -> ToolResponse {
    let call = gate.call;
    if let Err(error) = gate.check_wanted() {
        return call.answer().fail(error);
    }
    if call
        .meter
        .as_ref()
        .is_some_and(|meter| meter.over.is_cancelled())
    {
        // A hook has charged more than was left.
        return call.answer().fail(call.too_expensive());
    }
    gate.cancel_replaced();
    if call.definition().options.annotations.blocking {
        return run_blocking(gate, text, refund).await;
    }
    let frame = call.answer().frame(text, call.settings(), true, None, call);
    let started = CallInstant::now();
    match guarded_tool::start(call.tool, Invocation(&frame)) {
        Ok(execution) => {
            refund.keep_charge();
            call.set_run();
            run_started(call, gate, execution, started).await
        }
        Err(rejected) => call.answer().reject(rejected),
    }
}

/// Waits for a call that was just polled once, from `started` on, and is not done. It is listed, so that it can be cancelled, and
/// dropped at its deadline.
pub(crate) async fn wait(
    call: &CallCx<'_>,
    gate: &AdmissionGate<'_>,
    future: GuardedTool<'_>,
    started: CallInstant,
) -> ToolResult {
    let running = gate.take_running().unwrap_or_else(|| call.list());
    let future = WaitingTool::new(future, call.thread_time(), started);
    // On an error the guard cancels the token, which ends what the tool has spawned.
    let outcome = wait_for(call, &running, pin!(future)).await?;
    running.finish();
    outcome
}

/// Returns the future's output, unless the call is cancelled or its deadline has passed.
async fn wait_for<T>(
    call: &CallCx<'_>,
    running: &RunningGuard<'_>,
    mut future: Pin<&mut impl Future<Output = T>>,
) -> Result<T, ToolError> {
    let mut running_call = WaitedCall(Some(call));
    let mut is_cancelled = pin!(running.token.cancelled());
    let mut over_cost = pin!(call.meter.as_ref().map(|meter| meter.over.cancelled()));
    let deadline = Deadline::new(call, Duration::ZERO);
    let mut deadline = pin!(
        deadline.map_err(|error| error.partial_side_effects(!call.definition().is_harmless()))?
    );
    let outcome = poll_fn(|cx| {
        if let Poll::Ready(value) = future.as_mut().poll(cx) {
            return Poll::Ready(Ok(value));
        }
        if let Some(over) = over_cost.as_mut().as_pin_mut()
            && over.poll(cx).is_ready()
        {
            return Poll::Ready(Err(call.too_expensive()));
        }
        if is_cancelled.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(call.cancelled()));
        }
        deadline
            .as_mut()
            .poll(cx)
            .map(|()| Err(call.timed_out("running")))
    })
    .await;
    running_call.0 = None;
    outcome
}

/// A call that is waited for. Its caller has gone away if it is dropped with the call.
struct WaitedCall<'a>(Option<&'a CallCx<'a>>);

impl Drop for WaitedCall<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.0 {
            record::audit_dropped(call);
        }
    }
}

pin_project_lite::pin_project! {
    /// Ends at the deadline of a call and a grace. While the tool waits for the user, the deadline moves.
    pub(crate) struct Deadline<'a> {
        questions: Option<&'a OnceLock<Arc<CallQuestions>>>,
        // The end of the call if the user takes no time.
        end: Instant,
        until: Instant,
        #[pin]
        timer: Sleep,
    }
}

impl<'a> Deadline<'a> {
    fn new(call: &CallCx<'a>, grace: Duration) -> Result<Self, ToolError> {
        Self::of(
            call.scope().map(|scope| &scope.questions),
            call.deadline() + grace,
        )
    }

    /// Returns the end of what ends at this time if its questions take none.
    pub(crate) fn of(
        questions: Option<&'a OnceLock<Arc<CallQuestions>>>,
        end: Instant,
    ) -> Result<Self, ToolError> {
        Ok(Self {
            questions,
            end,
            until: end,
            timer: timer::until(end)?,
        })
    }
}

impl Future for Deadline<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        loop {
            // Asked of the clock too, because a timer that is polled after a future which was busy may not have fired yet.
            if this.timer.as_mut().poll(cx).is_pending() && Instant::now() < *this.until {
                return Poll::Pending;
            }
            let Some(questions) = this.questions.and_then(OnceLock::get) else {
                return Poll::Ready(());
            };
            let Some(waited) = questions.poll_waited(cx) else {
                return Poll::Pending;
            };
            let until = time::after(*this.end, waited);
            if until <= *this.until {
                return Poll::Ready(());
            }
            *this.until = until;
            this.timer.as_mut().reset(until);
        }
    }
}

/// Runs a tool that blocks its thread on a bounded pool, so that other calls continue. When such a call times out or is
/// cancelled, its work continues and is counted as detached.
async fn run_blocking(gate: &AdmissionGate<'_>, text: &str, refund: &RefundGuard) -> ToolResponse {
    let call = gate.call;
    let pools = [call.session.threads(), &call.session.runtime.threads];
    let permits = match acquire_thread(call, pools)
        .await
        .and_then(|permits| gate.check_wanted().map(|()| permits))
    {
        Ok(permits) => permits,
        Err(error) => return call.answer().fail(error),
    };
    refund.keep_charge();
    let running = gate.take_running().unwrap_or_else(|| call.list());
    let (tool, ctx, session, began) = (
        call.tool.clone(),
        call.ctx.clone(),
        Arc::clone(call.session),
        call.began,
    );
    let (call_id, text) = (Arc::clone(call.request.shared_id()), text.to_owned());
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
        let (_permits, _abandoned) = (permits, abandoned);
        let settings = *session.tools.context.settings();
        let answer = ResponseBuilder {
            tool: &tool,
            ctx: &ctx,
            call_id: Some(&call_id),
            began,
            output_bytes: settings.output_bytes,
        };
        let frame = answer.frame(&text, &settings, true, None, &progress);
        match guarded_tool::start(&tool, Invocation(&frame)) {
            Ok(execution) => {
                let outcome = handle.block_on(guarded_tool::drive(&tool, execution));
                BlockingEnd {
                    response: answer.finish(outcome),
                    has_run: true,
                }
            }
            Err(rejected) => BlockingEnd {
                response: answer.reject(rejected),
                has_run: false,
            },
        }
    }));
    let failed = |error| BlockingEnd {
        response: call.answer().fail(error),
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
    call.has_run.store(end.has_run, Ordering::Relaxed);
    end.response
}

/// The end of a blocking tool.
struct BlockingEnd {
    response: ToolResponse,
    has_run: bool,
}

/// Waits for a thread: first of the session's share, so that only as many calls of a session as it has wait among those of
/// other sessions.
async fn acquire_thread(
    call: &CallCx<'_>,
    pools: [&ThreadPool; 2],
) -> Result<[Option<OwnedSemaphorePermit>; 2], ToolError> {
    let mut permits = [None, None];
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

/// The caller of a blocking tool. Dropped while the work still runs, it leaves the work a token of each pool's `detached`
/// tracker, which counts the work until its end.
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

/// Continues a call whose arguments were decoded from `text`. The gate is asked last, so the arguments are known to be valid.
pub(crate) async fn run_deferred(gate: &AdmissionGate<'_>, text: &str) -> ToolResponse {
    let call = gate.call;
    let refund = match admit(gate, text).await {
        Ok(Some(refund)) => refund,
        Ok(None) => return request_approval(call, text).await,
        Err(error) => return call.answer().fail(error),
    };
    let hooked = HookedCall {
        arguments: text,
        ..record::hooked(call, gate.turn())
    };
    let _claim = match prepare(call, &hooked).await {
        Ok(claim) => claim,
        Err(response) => {
            refund.refund(call.meter.as_deref()).await;
            return *response;
        }
    };
    let response = around(gate, &hooked, &refund).await;
    // Without a free thread, or if a hook answered in its place, the call has not run.
    refund.refund(call.meter.as_deref()).await;
    record_end(call, &response).await;
    call.cache_result(text, &response);
    response
}

/// Waits for the store's verdict. Returns the guard of the call's charge, or `None` if the call needs approval first.
async fn admit(gate: &AdmissionGate<'_>, text: &str) -> Result<Option<RefundGuard>, ToolError> {
    let call = gate.call;
    let deferral = gate.take_deferral();
    // A refusal waits for nothing.
    if !matches!(deferral, Some(Deferral::Refused(_))) {
        timer::check().map_err(ToolError::did_not_run)?;
    }
    match deferral {
        Some(Deferral::Refused(error)) => Err(error),
        // A call that may not run beside another one is an attempt all the same.
        Some(Deferral::Duplicate(error)) => {
            gate.ask(&gate.admission(call.fingerprint(text), Charge::Attempt))
                .await?;
            Err(error)
        }
        Some(Deferral::NeedsApproval) => Ok(None),
        Some(Deferral::AsksStore(charge)) => {
            let refund = gate.charge(text, charge).await?;
            Ok((charge != Charge::Hold).then_some(refund))
        }
        Some(Deferral::Admitted) | None => {
            Ok(Some(RefundGuard::new(call.session, call.tool, gate.turn())))
        }
    }
}

/// Waits for hooks, the approval and the journal. Returns the call's claim in the journal, or the response of a call that
/// does not run.
async fn prepare<'a>(
    call: &CallCx<'a>,
    hooked: &HookedCall<'_>,
) -> Result<Option<JournalClaim<'a>>, Box<ToolResponse>> {
    let fail = |error| Box::new(call.answer().fail(error));
    let late = |doing| call.timed_out(doing).did_not_run();
    let before = timeout_at(call.deadline(), before(call, hooked)).await;
    before
        .unwrap_or_else(|_| Err(late("waiting for a hook")))
        .map_err(fail)?;
    if let Some(response) = call.cached_result(hooked.arguments) {
        return Err(Box::new(response));
    }
    redeem(call).await.map_err(fail)?;
    let start = timeout_at(
        call.deadline(),
        record_start(call, hooked.arguments, hooked.turn),
    )
    .await;
    start.unwrap_or_else(|_| Err(fail(late("waiting for the journal"))))
}

/// Redeems the token of an approved call. This is done as late as possible, so that an approval is not used up by a call
/// that does not run.
async fn redeem(call: &CallCx<'_>) -> Result<(), ToolError> {
    let Some(CallApproval { id, .. }) = call.request.approval() else {
        return Ok(());
    };
    // Taken first: a waiter that finds neither the call nor its own entry goes on waiting.
    let (requests, waiter) = (
        &call.session.runtime.approvals,
        call.session.runtime.approvals.take_waiter(id),
    );
    let consumed = call.session.record.consume(id).await;
    requests.put_back(
        id,
        waiter,
        consumed
            .as_ref()
            .is_ok_and(|consumed| *consumed)
            .then_some(id),
    );
    match consumed {
        Ok(true) => Ok(()),
        Ok(false) => Err(no_pending_call()),
        Err(error) => {
            let session = call.session.id.as_str().escape_debug();
            tracing::error!(%session, %error, "failed to redeem an approval");
            let message = "the approval could not be redeemed, and may be used up; nothing was done. Try it once more, \
                           then ask again";
            Err(ToolError::transient(message))
        }
    }
}

/// Runs the hooks before a call. A hook that panics refuses the call.
async fn before(call: &CallCx<'_>, hooked: &HookedCall<'_>) -> Result<(), ToolError> {
    for hook in &call.session.runtime.hooks {
        let checked = AssertUnwindSafe(async { hook.before(hooked).await })
            .catch_unwind()
            .await;
        checked.unwrap_or_else(|_| Err(ToolError::internal("a hook panicked before the call")))?;
    }
    Ok(())
}

/// Runs the hooks around a call, and inside them the tool.
async fn around(
    gate: &AdmissionGate<'_>,
    hooked: &HookedCall<'_>,
    refund: &RefundGuard,
) -> ToolResponse {
    let call = gate.call;
    let tool = || -> BoxFuture<'_, ToolResponse> {
        Box::pin(start_deferred(gate, hooked.arguments, refund))
    };
    let hooks = &call.session.runtime.hooks;
    if hooks.is_empty() {
        return tool().await;
    }
    let run = AssertUnwindSafe(async {
        Next {
            hooks,
            call: hooked,
            tool: &tool,
        }
        .run()
        .await
    })
    .catch_unwind();
    let deadline = match Deadline::new(call, HOOK_GRACE) {
        Ok(deadline) => deadline,
        Err(error) => return call.answer().fail(error),
    };
    // The tool has its own deadline; a hook that takes longer is dropped.
    match select(pin!(run), pin!(deadline)).await {
        Either::Left((Ok(response), _)) => response,
        Either::Left((Err(_), _)) => {
            tracing::error!(tool = %call.tool.name().escape_debug(), "a hook panicked around the call");
            call.answer()
                .fail(ToolError::new(ErrorKind::Internal, MASKED, false).unexpected())
        }
        Either::Right(_) => call.answer().fail(call.timed_out("in a hook around it")),
    }
}
