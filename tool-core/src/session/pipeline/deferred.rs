//! A call that has to wait before its tool starts: for its store, an approval, a hook, the journal or a thread.

use crate::call::error::MASKED;
use crate::call::tool_call::CallApproval;
use crate::call::{ErrorKind, ToolError, ToolResponse};
use crate::session::hooks::{HookedCall, Next};
use crate::session::pipeline::admit::{AdmissionGate, Deferral, RefundGuard};
use crate::session::pipeline::blocking;
use crate::session::pipeline::confirm::{no_pending_call, request_approval};
use crate::session::pipeline::governed_call::GovernedCall;
use crate::session::pipeline::governed_tool::{Deadline, GovernedTool};
use crate::session::pipeline::journal::{JournalClaim, record_end, record_start};
use crate::session::pipeline::record::{self, HOOK_GRACE};
use crate::session::store::Charge;
use crate::session::timer;
use crate::time::CallInstant;
use crate::tool::driver::drive;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, select};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use tokio::time::timeout_at;

/// Continues a call whose arguments were decoded from `text`. The gate is asked last, so the arguments are known to be valid.
pub(crate) async fn run(gate: &AdmissionGate<'_>, text: &str) -> ToolResponse {
    let call = gate.call;
    let refund = match admit(gate, text).await {
        Ok(Some(refund)) => refund,
        Ok(None) => return request_approval(call, text).await,
        Err(error) => return call.responses().fail(error),
    };
    let hooked = HookedCall {
        arguments: text,
        ..record::hooked(call, gate.turn())
    };
    let _claim = match prepare(call, &hooked, &refund).await {
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
    call: &GovernedCall<'a>,
    hooked: &HookedCall<'_>,
    refund: &RefundGuard,
) -> Result<Option<JournalClaim<'a>>, Box<ToolResponse>> {
    let fail = |error| Box::new(call.responses().fail(error));
    let late = |doing| call.timed_out(doing).did_not_run();
    let before = timeout_at(call.deadline(), before(call, hooked)).await;
    before
        .unwrap_or_else(|_| Err(late("waiting for a hook")))
        .map_err(fail)?;
    if let Some(response) = call.cached_result(hooked.arguments) {
        refund.keep_charge();
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
async fn redeem(call: &GovernedCall<'_>) -> Result<(), ToolError> {
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
async fn before(call: &GovernedCall<'_>, hooked: &HookedCall<'_>) -> Result<(), ToolError> {
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
    let tool =
        || -> BoxFuture<'_, ToolResponse> { Box::pin(start(gate, hooked.arguments, refund)) };
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

/// Starts a call that the gate stopped, without the gate.
async fn start(gate: &AdmissionGate<'_>, text: &str, refund: &RefundGuard) -> ToolResponse {
    let call = gate.call;
    if let Err(error) = gate.check_wanted() {
        return call.responses().fail(error);
    }
    if call
        .meter
        .as_ref()
        .is_some_and(|meter| meter.over.is_cancelled())
    {
        // A hook has charged more than was left.
        return call.responses().fail(call.too_expensive());
    }
    gate.cancel_replaced();
    if call.definition().options.annotations.blocking {
        return blocking::run(gate, text, refund).await;
    }
    let frame = call
        .responses()
        .frame(text, call.settings(), true, None, call);
    let tool = GovernedTool::past_gate(gate, refund);
    match drive(&tool, &frame, CallInstant::now()).await {
        Ok(response) => response,
        Err(rejection) => call.responses().reject(rejection),
    }
}
