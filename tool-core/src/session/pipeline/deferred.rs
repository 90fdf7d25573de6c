//! Calls that the gate stopped: refused, put up for approval, or run after what they wait for.

use crate::arguments::fingerprint::Fingerprint;
use crate::call::error::MASKED;
use crate::call::{ErrorKind, ToolError, ToolResponse};
use crate::session::hooks::{HookedCall, Next};
use crate::session::pipeline::admit::{AdmissionGate, Deferral, RefundGuard};
use crate::session::pipeline::confirm::{no_pending_call, request_approval};
use crate::session::pipeline::cx::CallCx;
use crate::session::pipeline::journal::{JournalClaim, record_end, record_start};
use crate::session::pipeline::record::HOOK_GRACE;
use crate::session::pipeline::{execute, record};
use crate::session::store::Charge;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::panic::AssertUnwindSafe;
use tokio::time::timeout_at;

/// Continues a call whose arguments were decoded from `text`.
pub(crate) async fn run(call: &CallCx<'_>, gate: &AdmissionGate<'_>, text: &str, validated: bool) -> ToolResponse {
    let refund = match admit(call, gate, text).await {
        Ok(Some(refund)) => refund,
        Ok(None) => return request_approval(call, text).await,
        Err(error) => return call.answer().fail(error),
    };
    let hooked = HookedCall { arguments: text, ..record::hooked(call, gate.turn()) };
    let _claim = match prepare(call, &hooked, &refund).await {
        Ok(claim) => claim,
        Err(response) => {
            refund.refund().await;
            return *response;
        }
    };
    let response = around(call, gate, &hooked, validated, &refund).await;
    // Without a free thread, or if a hook answered in its place, the call has not run.
    refund.refund().await;
    record_end(call, &response).await;
    call.cache_result(text, &response);
    response
}

/// Waits for the store's verdict. Returns the guard of the call's charge, or `None` if the call needs approval first.
async fn admit(call: &CallCx<'_>, gate: &AdmissionGate<'_>, text: &str) -> Result<Option<RefundGuard>, ToolError> {
    match gate.take_deferral() {
        Some(Deferral::Refused(error)) => Err(error),
        // A call that may not run beside another one is an attempt all the same.
        Some(Deferral::Duplicate(error)) => {
            let arguments = Fingerprint::of(call.definition().equality(), call.tool.name(), text);
            gate.ask(&gate.admission(arguments, Charge::Attempt)).await?;
            Err(error)
        }
        Some(Deferral::NeedsApproval) => Ok(None),
        Some(Deferral::AsksStore(charge)) => {
            let refund = gate.charge(text, charge).await?;
            Ok((charge != Charge::Hold).then_some(refund))
        }
        Some(Deferral::Admitted) | None => Ok(Some(RefundGuard::new(call.session, call.tool, gate.turn()))),
    }
}

/// Waits for hooks, the approval and the journal. Returns the call's claim in the journal, or the response of a call that
/// does not run.
async fn prepare<'a>(
    call: &CallCx<'a>,
    hooked: &HookedCall<'_>,
    refund: &RefundGuard,
) -> Result<Option<JournalClaim<'a>>, Box<ToolResponse>> {
    let fail = |error| Box::new(call.answer().fail(error));
    let late = |doing| call.timed_out(doing).did_not_run();
    let before = timeout_at(call.deadline(), before(call, hooked)).await;
    before.unwrap_or_else(|_| Err(late("waiting for a hook"))).map_err(fail)?;
    if let Some(response) = call.cached_result(hooked.arguments) {
        refund.keep_charge();
        return Err(Box::new(response));
    }
    redeem(call).await.map_err(fail)?;
    let start = timeout_at(call.deadline(), record_start(call, hooked.arguments, hooked.turn)).await;
    start.unwrap_or_else(|_| Err(fail(late("waiting for the journal"))))
}

/// Redeems the token of an approved call. This is done as late as possible, so that an approval is not used up by a call
/// that does not run.
async fn redeem(call: &CallCx<'_>) -> Result<(), ToolError> {
    let Some(id) = call.approval else { return Ok(()) };
    match call.session.record.consume(id).await {
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
        let checked = AssertUnwindSafe(async { hook.before(hooked).await }).catch_unwind().await;
        checked.unwrap_or_else(|_| Err(ToolError::internal("a hook panicked before the call")))?;
    }
    Ok(())
}

/// Runs the hooks around a call, and inside them the tool.
async fn around(
    call: &CallCx<'_>,
    gate: &AdmissionGate<'_>,
    hooked: &HookedCall<'_>,
    validated: bool,
    refund: &RefundGuard,
) -> ToolResponse {
    let tool = || -> BoxFuture<'_, ToolResponse> {
        Box::pin(execute::run_deferred(call, gate, hooked.arguments, validated, refund))
    };
    let hooks = &call.session.runtime.hooks;
    if hooks.is_empty() {
        return tool().await;
    }
    let run = AssertUnwindSafe(async { Next::new(hooks, hooked, &tool).run().await }).catch_unwind();
    // The tool has its own deadline; a hook that takes longer is dropped.
    match timeout_at(call.deadline() + HOOK_GRACE, run).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => {
            tracing::error!(tool = %call.tool.name().escape_debug(), "a hook panicked around the call");
            call.answer().fail(ToolError::new(ErrorKind::Internal, MASKED, false).unexpected())
        }
        Err(_) => call.answer().fail(call.timed_out("in a hook around it")),
    }
}
