//! Waiting for the tool of a governed call: it is listed as running, so that it can be cancelled,
//! and dropped at its deadline.

use crate::call::ToolError;
use crate::session::pipeline::admit::AdmissionGate;
use crate::session::pipeline::deadline::Deadline;
use crate::session::pipeline::governed_call::GovernedCall;
use crate::session::pipeline::record;
use crate::session::pipeline::refund::RefundGuard;
use crate::session::running::RunningGuard;
use crate::tool::driver::ToolCaller;
use crate::tool::invocation::ToolResult;
use crate::tool::response_builder::ResponseBuilder;
use crate::tool::thread_time::{ThreadTime, WaitingTool};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

/// The tool of a governed call, as the driver starts it.
pub(crate) struct GovernedTool<'a, 'c> {
    gate: &'a AdmissionGate<'c>,
    /// The refund of a call that was charged before it starts.
    refund: Option<&'a RefundGuard>,
}

impl<'a, 'c> GovernedTool<'a, 'c> {
    /// The gate decides whether the tool starts.
    #[inline]
    pub(crate) fn at_gate(gate: &'a AdmissionGate<'c>) -> Self {
        Self { gate, refund: None }
    }

    /// The gate has let the call through, and its charge is refunded unless the tool starts.
    pub(crate) fn past_gate(gate: &'a AdmissionGate<'c>, refund: &'a RefundGuard) -> Self {
        let refund = Some(refund);
        Self { gate, refund }
    }
}

impl ToolCaller for GovernedTool<'_, '_> {
    #[inline]
    fn responses(&self) -> ResponseBuilder<'_> {
        self.gate.call.responses()
    }

    #[inline]
    fn thread_time(&self) -> ThreadTime<'_> {
        self.gate.call.thread_time()
    }

    #[inline]
    fn tool_started(&self) {
        if let Some(refund) = self.refund {
            refund.keep_charge();
        }
        self.gate.call.set_run();
    }

    fn wait<'a>(&'a self, tool: WaitingTool<'a>) -> impl Future<Output = ToolResult> + Send {
        // Boxed, as most tools do not wait, or wait for longer than a box takes.
        Box::pin(wait(self.gate, tool))
    }

    #[inline]
    fn tool_ended(&self) {
        if let Some(running) = self.gate.take_running() {
            running.finish();
        }
    }
}

/// Waits for a tool that was polled once. Its call is listed, so that it can be cancelled, and
/// dropped at its deadline.
async fn wait(gate: &AdmissionGate<'_>, tool: WaitingTool<'_>) -> ToolResult {
    let call = gate.call;
    let _open = call.session.record.keep_open();
    let running = gate.take_running().unwrap_or_else(|| call.list());
    // On an error the guard cancels the token, which ends what the tool has spawned.
    let outcome = wait_for(call, &running, pin!(tool)).await?;
    running.finish();
    outcome
}

/// Returns the future's output, unless the call is cancelled or its deadline has passed.
pub(crate) async fn wait_for<T>(
    call: &GovernedCall<'_>,
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
struct WaitedCall<'a>(Option<&'a GovernedCall<'a>>);

impl Drop for WaitedCall<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.0 {
            record::audit_dropped(call);
        }
    }
}
