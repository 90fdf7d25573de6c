//! Tools that block their thread: run on a bounded pool, so that other calls go on. What is given up there goes on by
//! itself, and is counted.

use super::Governed;
use super::admit::Gate;
use super::done::Left;
use super::execute::{timed_out, until};
use super::refund::Refund;
use crate::__private::Call;
use crate::call::{Answer, guard};
use crate::response::{ToolError, ToolResponse};
use crate::trace;
use std::pin::pin;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::time::timeout_at;

pub(super) async fn run(
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
    let task = tokio::task::spawn_blocking(trace::inherit_sync(move || {
        // The permit goes when the thread is free, whoever still waits for it.
        let _permit = permit;
        let settings = *core.toolbox.context.settings();
        let answer =
            Answer { tool: &tool, ctx: &ctx, call_id: Some(&work.call_id), began, output_bytes: settings.output_bytes };
        let frame = answer.frame(&work.text, &settings, work.validated, None);
        let response = match guard::start(&tool, Call(&frame)) {
            Ok(invocation) => answer.give(handle.block_on(guard::settle(&tool, invocation))),
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
