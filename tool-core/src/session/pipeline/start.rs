//! The start of a tool whose call the gate has stopped, once all that it waited for has come.

use crate::call::ToolResponse;
use crate::session::pipeline::admit::AdmissionGate;
use crate::session::pipeline::blocking;
use crate::session::pipeline::governed_tool::GovernedTool;
use crate::session::pipeline::refund::RefundGuard;
use crate::time::CallInstant;
use crate::tool::driver::drive;

/// Starts a call that the gate stopped, without the gate.
pub(crate) async fn past_gate(
    gate: &AdmissionGate<'_>,
    text: &str,
    refund: &RefundGuard,
) -> ToolResponse {
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
