//! The seventh step: the method runs, under its deadline, where it can be cancelled. Panics are caught around it, and its
//! result is bounded. R-B5

use super::admit::Gate;
use super::refund::Refund;
use super::{Governed, blocking};
use crate::__private::{Call, Invocation, Outcome};
use crate::call::guard;
use crate::response::{ErrorKind, ToolError, ToolResponse};
use crate::runtime::session::Entry;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use tokio::time::{Instant, sleep_until};

/// Drives a call that has started to its answer.
#[inline]
pub(super) async fn drive<'f>(call: &'f Governed<'_>, gate: &Gate<'_>, invocation: Invocation<'f>) -> ToolResponse {
    let entry = gate.take_entry();
    let future = match invocation {
        Invocation::Done(outcome) => {
            ended(entry);
            return call.answer().give(outcome);
        }
        Invocation::Later(future) => guard::settle(call.tool, Invocation::Later(future)),
    };
    let mut future = pin!(future);
    let first = poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await;
    let outcome = match first {
        Poll::Ready(outcome) => {
            ended(entry);
            outcome
        }
        // Boxed, as most tools do not wait, or wait for more than this costs.
        Poll::Pending => Box::pin(wait(call, entry, future)).await,
    };
    call.answer().give(outcome)
}

/// Starts a call that the gate stopped, this time without the gate.
pub(super) async fn again(
    call: &Governed<'_>,
    gate: &Gate<'_>,
    text: &str,
    validated: bool,
    refund: &Refund,
) -> ToolResponse {
    if let Err(error) = gate.still_wanted() {
        return call.answer().fail(error);
    }
    gate.replace();
    if call.definition().flags.blocking {
        return blocking::run(call, gate, text, validated, refund).await;
    }
    let settings = call.core.toolbox.context.settings();
    let frame = call.answer().frame(text, settings, validated, None);
    match guard::start(call.tool, Call(&frame)) {
        Ok(invocation) => {
            refund.keep();
            drive(call, gate, invocation).await
        }
        Err(rejected) => call.answer().rejected(rejected),
    }
}

fn ended(entry: Option<Entry<'_>>) {
    if let Some(entry) = entry {
        entry.ended();
    }
}

/// A call that waits for something: listed, so that it can be cancelled, and given up at its deadline.
async fn wait<'a>(
    call: &Governed<'a>,
    entry: Option<Entry<'a>>,
    future: Pin<&mut impl Future<Output = Outcome>>,
) -> Outcome {
    let entry = entry.unwrap_or_else(|| call.core.running.enter(call.call_id, call.tool, call.scope(), call.epoch));
    let outcome = until(call, &entry, future).await;
    match outcome {
        Ok(outcome) => {
            entry.ended();
            outcome
        }
        // The entry cancels the token when it goes: what the tool has spawned hears of it.
        Err(error) => Err(error),
    }
}

/// The future's outcome, unless the call is cancelled or its time is up.
pub(super) async fn until<T>(
    call: &Governed<'_>,
    entry: &Entry<'_>,
    mut future: Pin<&mut impl Future<Output = T>>,
) -> Result<T, ToolError> {
    let mut cancelled = pin!(entry.token.cancelled());
    let mut late = pin!(sleep_until(call.deadline()));
    poll_fn(|cx| {
        if let Poll::Ready(value) = future.as_mut().poll(cx) {
            return Poll::Ready(Ok(value));
        }
        if cancelled.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(given_up(call)));
        }
        late.as_mut().poll(cx).map(|()| Err(timed_out(call, "running")))
    })
    .await
}

/// CANCELLED, nothing done, where the session was interrupted while the call waited to run.
pub(super) fn still_wanted(call: &Governed<'_>) -> Result<(), ToolError> {
    if call.core.running.epoch() == call.epoch { Ok(()) } else { Err(given_up(call).did_not_run()) }
}

pub(super) fn given_up(call: &Governed<'_>) -> ToolError {
    let message = format!("the call of `{}` was cancelled", call.tool.name());
    ToolError::new(ErrorKind::Cancelled, message, false).unexpected()
}

/// TIMEOUT, with the figures.
pub(super) fn timed_out(call: &Governed<'_>, doing: &str) -> ToolError {
    let (limit, taken) = (call.limit(), Instant::now().saturating_duration_since(call.began));
    let message = format!(
        "`{}` was given up after {} ms {doing}; its limit is {} ms",
        call.tool.name(),
        taken.as_millis(),
        limit.as_millis()
    );
    ToolError::new(ErrorKind::Timeout, message, call.definition().harmless()).unexpected()
}
