//! Automatic retries of a call whose tool may run again without further effects.

use crate::call::{ErrorKind, ToolError, ToolResponse};
use crate::session::approvals::random;
use crate::session::pipeline::admit::AdmissionGate;
use crate::session::pipeline::governed_call::GovernedCall;
use crate::session::pipeline::governed_tool::wait_for;
use crate::session::pipeline::passage::Passage;
use crate::session::pipeline::refund::RefundGuard;
use crate::session::pipeline::start;
use crate::session::timer;
use crate::time::after;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::Instant;

/// The longest pause before the first retry. It doubles with each retry.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// The longest pause that no error has asked for.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Runs the tool of a call, and again while it fails in passing and has retries left. All attempts
/// are one call: they share its deadline, its idempotency key and its charge.
pub(crate) async fn run(
    gate: &AdmissionGate<'_>,
    text: &str,
    refund: &RefundGuard,
    passage: Option<&Passage<'_>>,
) -> ToolResponse {
    let call = gate.call;
    let mut response = start::past_gate(gate, text, refund).await;
    let Some(retries) = call.definition().options.retries else {
        return response;
    };

    let mut made = 0;
    while made < retries
        && let Some(pause) = pause_before(call, &response, made)
    {
        match wait(gate, text, pause, passage).await {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                response = call.responses().fail(error);
                break;
            }
        }
        made += 1;
        response = start::past_gate(gate, text, refund).await;
    }
    if made > 0 {
        response.optional_meta().attempts = Some(made.saturating_add(1));
        if let Some(stats) = call.session.tools.stats.get(call.index) {
            stats.add_retries(made);
        }
    }
    response
}

/// Returns the pause before the next attempt, or `None` if another attempt cannot help, or would
/// come after the deadline.
fn pause_before(call: &GovernedCall<'_>, response: &ToolResponse, made: u32) -> Option<Duration> {
    if !call.has_run.load(Ordering::Relaxed) {
        return None;
    }
    let error = response.error()?;
    let may_pass = match error.kind {
        ErrorKind::Transient | ErrorKind::RateLimit => error.retryable,
        // Whatever the call has done before, it may do again.
        ErrorKind::Timeout => true,
        _ => false,
    };
    if !may_pass {
        return None;
    }
    let requested = response.meta().retry_after().unwrap_or_default();
    let pause = requested.max(backoff(made));
    let left = call.time_left();
    (pause < left).then_some(pause)
}

/// Returns a random pause between half of the longest one and all of it, so that callers which have
/// failed together do not come again together.
fn backoff(made: u32) -> Duration {
    let doubled = FIRST_PAUSE.saturating_mul(1 << made.min(16));
    let half = doubled.min(LONGEST_PAUSE) / 2;
    let share = f64::from(u32::from_ne_bytes(random())) / f64::from(u32::MAX);
    half + half.mul_f64(share)
}

/// Waits before an attempt. The call is listed, so that it can be cancelled. Returns false if a rate
/// limit refuses the attempt.
async fn wait(
    gate: &AdmissionGate<'_>,
    text: &str,
    pause: Duration,
    passage: Option<&Passage<'_>>,
) -> Result<bool, ToolError> {
    let running = gate.list_for_retry(text);
    let timer = timer::until(after(Instant::now(), pause))?;
    wait_for(gate.call, &running, pin!(timer)).await?;
    let may_run = match passage {
        Some(passage) => passage.count_attempt().await,
        None => true,
    };
    if may_run {
        gate.keep_running(running);
    } else {
        running.finish();
    }
    Ok(may_run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_are_bounded() {
        for (made, longest) in [
            (0, 200),
            (1, 400),
            (3, 1_600),
            (6, 10_000),
            (u32::MAX, 10_000),
        ] {
            let longest = Duration::from_millis(longest);
            for _ in 0..100 {
                let pause = backoff(made);
                assert!(
                    pause >= longest / 2 && pause <= longest,
                    "{made}: {pause:?}"
                );
            }
        }
    }
}
