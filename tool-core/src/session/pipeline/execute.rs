//! The seventh step: the method runs, under its deadline, where it can be cancelled. Panics are caught around it, and its
//! result is bounded. R-B5

use crate::call::error::{ErrorKind, ToolError};
use crate::call::response::ToolResponse;
use crate::session::pipeline::Governed;
use crate::session::pipeline::admit::{Gate, Refund};
use crate::session::running::Entry;
use crate::tool::dispatch;
use crate::tool::dispatch::Answer;
use crate::tool::invocation::{Call, Invocation, Outcome};
use crate::trace;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until, timeout_at};

/// Drives a call that has started to its answer.
#[inline]
pub(crate) async fn drive<'f>(call: &'f Governed<'_>, gate: &Gate<'_>, invocation: Invocation<'f>) -> ToolResponse {
    let entry = gate.take_entry();
    let future = match invocation {
        Invocation::Done(outcome) => {
            ended(entry);
            return call.answer().give(outcome);
        }
        Invocation::Later(future) => dispatch::settle(call.tool, Invocation::Later(future)),
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
pub(crate) async fn again(
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
        return run(call, gate, text, validated, refund).await;
    }
    let settings = call.core.toolbox.context.settings();
    let frame = call.answer().frame(text, settings, validated, None);
    match dispatch::start(call.tool, Call(&frame)) {
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
pub(crate) async fn until<T>(
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
pub(crate) fn still_wanted(call: &Governed<'_>) -> Result<(), ToolError> {
    if call.core.running.epoch() == call.epoch { Ok(()) } else { Err(given_up(call).did_not_run()) }
}

pub(crate) fn given_up(call: &Governed<'_>) -> ToolError {
    let message = format!("the call of `{}` was cancelled", call.tool.name());
    ToolError::new(ErrorKind::Cancelled, message, false).unexpected()
}

/// TIMEOUT, with the figures.
pub(crate) fn timed_out(call: &Governed<'_>, doing: &str) -> ToolError {
    let (limit, taken) = (call.limit(), Instant::now().saturating_duration_since(call.began));
    let message = format!(
        "`{}` was given up after {} ms {doing}; its limit is {} ms",
        call.tool.name(),
        taken.as_millis(),
        limit.as_millis()
    );
    ToolError::new(ErrorKind::Timeout, message, call.definition().harmless()).unexpected()
}

// ---- Tools that block their thread: run on a bounded pool, so that other calls go on. What is given up there goes on by
// itself, and is counted.

pub(crate) async fn run(
    call: &Governed<'_>,
    gate: &Gate<'_>,
    text: &str,
    validated: bool,
    refund: &Refund,
) -> ToolResponse {
    let shared = &call.core.shared;
    let waited = timeout_at(call.deadline(), Arc::clone(&shared.blocking).acquire_owned()).await;
    let Ok(Ok(permit)) = waited else {
        let error = timed_out(call, "waiting for a thread of the blocking pool").did_not_run();
        return call.answer().fail(error);
    };
    if let Err(error) = gate.still_wanted() {
        return call.answer().fail(error);
    }
    refund.keep();
    let entry =
        gate.take_entry().unwrap_or_else(|| call.core.running.enter(call.call_id, call.tool, call.scope(), call.epoch));
    let work = Work { call_id: Arc::clone(call.call_id), text: text.to_owned(), validated };
    let (tool, ctx, core, began) = (call.tool.clone(), call.ctx.clone(), Arc::clone(call.core), call.began);
    let left = Left { detached: Arc::clone(&shared.detached), done: Arc::default() };
    let done = Arc::clone(&left.done);
    let handle = Handle::current();
    let task = tokio::task::spawn_blocking(trace::in_current_span_sync(move || {
        // The permit goes when the thread is free, whoever still waits for it.
        let _permit = permit;
        let settings = *core.toolbox.context.settings();
        let answer =
            Answer { tool: &tool, ctx: &ctx, call_id: Some(&work.call_id), began, output_bytes: settings.output_bytes };
        let frame = answer.frame(&work.text, &settings, work.validated, None);
        let response = match dispatch::start(&tool, Call(&frame)) {
            Ok(invocation) => answer.give(handle.block_on(dispatch::settle(&tool, invocation))),
            Err(rejected) => answer.rejected(rejected),
        };
        done.finish(&core.shared.detached);
        response
    }));
    match until(call, &entry, pin!(task)).await {
        Ok(joined) => {
            left.done.answered();
            entry.ended();
            joined.unwrap_or_else(|error| call.answer().fail(ToolError::internal(error.to_string()).unexpected()))
        }
        Err(error) => call.answer().fail(error),
    }
}

struct Work {
    call_id: Arc<str>,
    text: String,
    validated: bool,
}

// ---- Work that may be given up: whether its end or the end of the waiting for it came first.

/// Whoever waits for work. Dropped before the work is done, it counts the work as detached.
pub(crate) struct Left {
    pub(crate) detached: Arc<AtomicUsize>,
    pub(crate) done: Arc<Done>,
}

/// Who came first.
#[derive(Default)]
pub(crate) struct Done(AtomicUsize);

const RUNNING: usize = 0;
const FINISHED: usize = 1;
const DETACHED: usize = 2;

impl Done {
    /// The work has ended.
    pub(crate) fn finish(&self, detached: &AtomicUsize) {
        if self.0.swap(FINISHED, Ordering::AcqRel) == DETACHED {
            detached.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Somebody has its answer.
    pub(crate) fn answered(&self) {
        self.0.store(FINISHED, Ordering::Release);
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        // Counted first, so that the work's end never finds less than one to take away.
        self.detached.fetch_add(1, Ordering::Relaxed);
        let was = self.done.0.compare_exchange(RUNNING, DETACHED, Ordering::AcqRel, Ordering::Acquire);
        if was.is_err() {
            self.detached.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
