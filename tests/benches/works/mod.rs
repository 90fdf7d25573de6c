//! What the benchmarks call, and how they call it.

// Each benchmark uses its part of this.
#![allow(dead_code)]

pub(crate) mod answers;
pub(crate) mod callgrind;
pub(crate) mod governed;
pub(crate) mod inputs;
pub(crate) mod many;
pub(crate) mod methods;

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use tool_core::{RunContext, ToolContext, ToolResponse};

/// Drives a future that never waits.
#[inline]
pub(crate) fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("nothing here waits"),
    }
}

/// One bare call, to a response value.
#[inline]
pub(crate) fn call(
    tools: &ToolContext,
    name: &str,
    arguments: &str,
    ctx: &RunContext,
) -> ToolResponse {
    now(tools.call(name, arguments, ctx))
}
