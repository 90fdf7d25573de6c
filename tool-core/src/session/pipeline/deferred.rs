//! What becomes of a call that the gate stopped: it is refused, put before a person, or waits and is started again.

use crate::arguments::equality::Fingerprint;
use crate::call;
use crate::call::error::{ErrorKind, ToolError};
use crate::call::response::ToolResponse;
use crate::call::scope;
use crate::session::approvals;
use crate::session::hooks::{HookedCall, Next};
use crate::session::pipeline::admit::{Gate, Held, Refund};
use crate::session::pipeline::journal::Begun;
use crate::session::pipeline::{Governed, execute, journal, record};
use crate::session::store::admission::Charge;
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use tokio::time::timeout_at;

/// Goes on with a call whose arguments were decoded from `text`.
pub(crate) async fn go_on(call: &Governed<'_>, gate: &Gate<'_>, text: &str, validated: bool) -> ToolResponse {
    let refund = match admitted(call, gate, text).await {
        Ok(Some(refund)) => refund,
        Ok(None) => return approvals::ask(call, text).await,
        Err(error) => return call.answer().fail(error),
    };
    let hooked = HookedCall { arguments: text, ..hooked(call, gate.turn()) };
    let asked = timeout_at(call.deadline(), before(call, &hooked)).await;
    if let Err(error) = asked.unwrap_or_else(|_| Err(late(call, "waiting for a hook"))) {
        refund.give().await;
        return call.answer().fail(error);
    }
    if let Some(response) = record::recall(call, text) {
        refund.keep();
        return response;
    }
    if let Err(error) = redeem(call).await {
        refund.give().await;
        return call.answer().fail(error);
    }
    let begun = timeout_at(call.deadline(), journal::begin(call, text, hooked.turn)).await;
    let _written = match begun.unwrap_or_else(|_| Err(late(call, "waiting for the journal"))) {
        Ok(Begun::Runs(written)) => written,
        Ok(Begun::Answered(response)) => {
            refund.give().await;
            return *response;
        }
        Err(error) => {
            refund.give().await;
            return call.answer().fail(error);
        }
    };
    let response = around(call, gate, &hooked, validated, &refund).await;
    // Where no thread was free for it, or a hook answered in its place, it has not run.
    refund.give().await;
    journal::finish(call, &response).await;
    record::keep(call, text, &response);
    response
}

/// TIMEOUT of a call that has not run.
fn late(call: &Governed<'_>, doing: &str) -> ToolError {
    execute::timed_out(call, doing).did_not_run()
}

/// What gives its budget back if it does not run after all; `None` where a person has to agree first.
async fn admitted(call: &Governed<'_>, gate: &Gate<'_>, text: &str) -> Result<Option<Refund>, ToolError> {
    let refund = match gate.take_held() {
        Some(Held::Refused(error)) => return Err(error),
        // A call that may not run beside another is an attempt all the same.
        Some(Held::Duplicates(error)) => {
            let arguments = Fingerprint::of(call.definition().parameters(), call.tool.name(), text);
            return Err(gate.ask(&gate.admission(arguments, Charge::Attempt)).await.err().unwrap_or(error));
        }
        Some(Held::Confirms) => return Ok(None),
        Some(Held::Admitted) | None => Refund::of(call, gate.turn()),
        Some(Held::Asks(charge)) => {
            let refund = gate.ask_for(text, charge).await?;
            if charge == Charge::Hold {
                return Ok(None);
            }
            refund
        }
    };
    Ok(Some(refund))
}

/// Takes the token of a call that a person has agreed to: of all who redeem it at once, one does. As late as can be, so
/// that an approval is not used up by a call that does not run.
async fn redeem(call: &Governed<'_>) -> Result<(), ToolError> {
    let Some(id) = call.approval else { return Ok(()) };
    match call.core.store(call.core.record.consume(id)).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(approvals::nothing_waits()),
        Err(error) => {
            tracing::error!(session = %call.core.id.as_str().escape_debug(), %error, "an approval was not redeemed");
            let message = "the approval could not be redeemed, and may be used up; nothing was done. Try it once more, \
                           then ask again";
            Err(ToolError::transient(message))
        }
    }
}

/// The call as hooks see it.
pub(crate) fn hooked<'a>(call: &Governed<'a>, admitted: Option<u64>) -> HookedCall<'a> {
    HookedCall {
        session: call.core.id.as_str(),
        principal: &call.core.principal,
        mode: call.core.mode,
        turn: admitted.unwrap_or_else(|| call.core.record.turn()),
        call_id: call.call_id,
        tool: call.tool.definition(),
        arguments: call.text,
    }
}

/// A hook that panics is an error of the host's, and the call does not run.
async fn before(call: &Governed<'_>, hooked: &HookedCall<'_>) -> Result<(), ToolError> {
    for hook in &call.core.shared.hooks {
        let asked = AssertUnwindSafe(async { hook.before(hooked).await }).catch_unwind().await;
        asked.unwrap_or_else(|_| Err(ToolError::internal("a hook panicked before the call")))?;
    }
    Ok(())
}

async fn around(
    call: &Governed<'_>,
    gate: &Gate<'_>,
    hooked: &HookedCall<'_>,
    validated: bool,
    refund: &Refund,
) -> ToolResponse {
    let text = hooked.arguments;
    let hooks = &call.core.shared.hooks;
    if hooks.is_empty() {
        return execute::again(call, gate, text, validated, refund).await;
    }
    let tool = || -> scope::Boxed<'_, ToolResponse> { Box::pin(execute::again(call, gate, text, validated, refund)) };
    let run = AssertUnwindSafe(async { Next::new(hooks, hooked, &tool).run().await }).catch_unwind();
    // The tool has its own deadline; a hook that goes on long after it is given up too.
    match timeout_at(call.deadline() + GRACE, run).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => {
            tracing::error!(tool = %call.tool.name().escape_debug(), "a hook panicked around the call");
            let error = ToolError::new(ErrorKind::Internal, call::MASKED, false);
            call.answer().fail(error.unexpected())
        }
        Err(_) => call.answer().fail(execute::timed_out(call, "in a hook around it")),
    }
}

/// How much longer than its call a hook may take.
pub(crate) const GRACE: Duration = Duration::from_secs(1);
