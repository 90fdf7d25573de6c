//! Runs the host's hooks: before a call, around it and after it, and around a request.

use crate::call::error::MASKED;
use crate::call::{ApprovalReason, ApprovalSource, ErrorKind, ToolError, ToolResponse};
use crate::session::hooks::{
    HookFuture, HookedCall, HookedDecision, HookedRequest, Next, RequestKind, RunTool,
};
use crate::session::inner::SessionInner;
use crate::session::pipeline::deadline::Deadline;
use crate::session::pipeline::governed_call::GovernedCall;
use crate::session::timer;
use crate::time;
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout_at};

/// The time that a hook may take after the deadline of a call or request, or after its response.
const HOOK_GRACE: Duration = Duration::from_secs(1);

/// Returns the call as hooks see it.
pub(crate) fn hooked<'a>(call: &GovernedCall<'a>, turn: Option<u64>) -> HookedCall<'a> {
    HookedCall {
        session: call.session.id.as_str(),
        principal: &call.session.principal,
        mode: call.mode,
        turn: turn.unwrap_or_else(|| call.session.record.turn()),
        call_id: call.request.id(),
        tool: call.tool.definition(),
        arguments: call.request.arguments(),
        decision: call.request.approval().map(|approval| HookedDecision {
            approved: true,
            by: Some(&approval.by),
            reasons: &approval.reasons,
            asked_arguments: approval.asked.as_deref(),
        }),
    }
}

/// The words of a hook that asks for approval and gives no reason, and of one that panicked.
const THIS_CALL: &str = "it asks about this call";
const PANICKED: &str = "it failed, so a person decides";

/// Returns the reasons of hooks for which a person has to approve a call.
pub(crate) async fn approval_reasons(
    call: &GovernedCall<'_>,
    hooked: &HookedCall<'_>,
) -> Result<Vec<ApprovalReason>, ToolError> {
    let mut reasons = Vec::new();
    let hooks = &call.session.runtime.hooks;
    if hooks.is_empty() || call.asks_no_one() {
        return Ok(reasons);
    }
    let asking = async {
        for hook in hooks {
            let asked = AssertUnwindSafe(async { hook.confirm(hooked).await })
                .catch_unwind()
                .await;
            let reason = match asked {
                Ok(need) => need.reason(ApprovalSource::Hook, THIS_CALL),
                Err(_) => Some(ApprovalReason::new(ApprovalSource::Hook, PANICKED)),
            };
            reasons.extend(reason);
        }
    };
    match timeout_at(call.deadline(), asking).await {
        Ok(()) => Ok(reasons),
        Err(_) => Err(call.timed_out("waiting for a hook").did_not_run()),
    }
}

/// Runs the hooks before a call. A hook that panics refuses the call.
pub(crate) async fn before(
    call: &GovernedCall<'_>,
    hooked: &HookedCall<'_>,
) -> Result<(), ToolError> {
    for hook in &call.session.runtime.hooks {
        let checked = AssertUnwindSafe(async { hook.before(hooked).await })
            .catch_unwind()
            .await;
        checked.unwrap_or_else(|_| Err(ToolError::internal("a hook panicked before the call")))?;
    }
    Ok(())
}

/// Runs the hooks around a call, and inside them the tool.
pub(crate) async fn around<'a>(
    call: &'a GovernedCall<'_>,
    hooked: &'a HookedCall<'a>,
    tool: &'a RunTool<'a>,
) -> ToolResponse {
    let hooks = &call.session.runtime.hooks;
    if hooks.is_empty() {
        return tool().await;
    }
    let chain = Next {
        hooks,
        call: hooked,
        tool,
    };
    let run = AssertUnwindSafe(async { chain.run().await }).catch_unwind();
    let deadline = match Deadline::new(call, HOOK_GRACE) {
        Ok(deadline) => deadline,
        Err(error) => return call.responses().fail(error),
    };
    // The tool has its own deadline; a hook that takes longer is dropped.
    match select(pin!(run), pin!(deadline)).await {
        Either::Left((Ok(response), _)) => response,
        Either::Left((Err(_), _)) => {
            tracing::error!(tool = %call.tool.name().escape_debug(), "a hook panicked around the call");
            call.responses()
                .fail(ToolError::new(ErrorKind::Internal, MASKED, false).unexpected())
        }
        Either::Right(_) => call.responses().fail(call.timed_out("in a hook around it")),
    }
}

/// Runs the hooks after a call. A hook that panics or takes too long leaves the response as it was.
pub(crate) async fn after(
    session: &SessionInner,
    call: &HookedCall<'_>,
    response: &mut ToolResponse,
) {
    for hook in &session.runtime.hooks {
        let run = AssertUnwindSafe(async { hook.after(call, response).await }).catch_unwind();
        let tool = call.tool.name().escape_debug();
        match timer::at_most(HOOK_GRACE, run).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => tracing::error!(%tool, "a hook panicked after the call"),
            Err(_) => tracing::error!(%tool, "a hook after the call took too long"),
        }
    }
}

/// Does the work of a request inside the hooks around it.
pub(crate) async fn around_request<T: Send>(
    session: &SessionInner,
    kind: RequestKind,
    name: &str,
    arguments: impl FnOnce() -> String,
    work: HookFuture<'_, Result<T, ToolError>>,
) -> Result<T, ToolError> {
    let hooks = &session.runtime.hooks;
    if hooks.is_empty() {
        return work.await;
    }
    let arguments = arguments();
    let request = HookedRequest {
        session: session.id.as_str(),
        principal: &session.principal,
        turn: session.record.turn(),
        kind,
        name,
        arguments: &arguments,
    };
    // The work has a limit of its own, which waits for the user. Hooks have this time before it,
    // and this time after it.
    let limit = session.policy().deadline.saturating_add(HOOK_GRACE);
    let clock = HookClock(Mutex::new(Some(Instant::now())));
    let mut done = None;
    let run = async {
        let work: HookFuture<'_, _> = Box::pin(async {
            clock.set(None);
            let worked = work.await;
            clock.set(Some(Instant::now()));
            done = Some(worked?);
            Ok(())
        });
        hooks
            .iter()
            .rev()
            .fold(work, |next, hook| hook.around_request(&request, next))
            .await
    };
    let outcome = match select(
        pin!(AssertUnwindSafe(run).catch_unwind()),
        pin!(clock.over(limit)),
    )
    .await
    {
        Either::Left((outcome, _)) => {
            outcome.unwrap_or_else(|_| Err(ToolError::internal("a hook panicked around a request")))
        }
        Either::Right(_) => Err(ToolError::new(
            ErrorKind::Timeout,
            "a hook around the request took too long",
            true,
        )),
    };
    outcome.and_then(|()| {
        done.ok_or_else(|| ToolError::internal("a hook left out the work of a request"))
    })
}

/// The time since which hooks run around a request. `None` while the work itself does.
struct HookClock(Mutex<Option<Instant>>);

impl HookClock {
    fn set(&self, since: Option<Instant>) {
        *self.0.lock() = since;
    }

    /// Waits until hooks have run for longer than a limit.
    async fn over(&self, limit: Duration) {
        loop {
            let since = *self.0.lock();
            let end = time::after(since.unwrap_or_else(Instant::now), limit);
            if since.is_some() && Instant::now() >= end {
                return;
            }
            sleep_until(end).await;
        }
    }
}
