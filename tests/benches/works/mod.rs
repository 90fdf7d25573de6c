//! The works that are measured: each as a call of a tool, and as the floor that a person would write by hand.

// Each benchmark uses its part of this.
#![allow(dead_code)]

pub(crate) mod answers;
pub(crate) mod callgrind;
pub(crate) mod floor;
pub(crate) mod governed;
pub(crate) mod inputs;
pub(crate) mod many;
pub(crate) mod methods;

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use tool_core::{RunContext, ToolContext, ToolResponse};

/// One line of the tables.
pub(crate) struct Work {
    pub(crate) name: &'static str,
    /// The tool that is called, and the arguments that it is given.
    pub(crate) tool: &'static str,
    pub(crate) arguments: String,
    /// The same by hand, down to the result's text.
    pub(crate) floor: fn(&str, &str) -> Option<String>,
    /// Most that a call to a response value may cost, as a multiple of the floor; `None` where there is no bar.
    pub(crate) bar: Option<f64>,
    /// Most allocations of the framework's own.
    pub(crate) own_allocations: u64,
    /// Texts that the tool borrows from its arguments and the floor owns.
    pub(crate) lent: u64,
}

/// Every call with a floor.
pub(crate) fn works() -> Vec<Work> {
    let work = |name, tool, arguments: &str, floor, bar, own_allocations, lent| Work {
        name,
        tool,
        arguments: arguments.to_owned(),
        floor,
        bar,
        own_allocations,
        lent,
    };
    let event = inputs::EVENT;
    let batch = inputs::batch();
    vec![
        work("create_event", "create_event", event, floor::create_event, Some(SYNC), 0, 1),
        work("create_event, async", "create_event_async", event, floor::create_event_async, Some(ASYNC), 1, 1),
        work("create_event, owned text", "create_event_owned", event, floor::create_event, Some(SYNC), 0, 0),
        work(
            "create_event, owned text, async",
            "create_event_owned_async",
            event,
            floor::create_event_async,
            Some(ASYNC),
            1,
            0,
        ),
        work("create_event, run context", "create_event_context", event, floor::create_event, Some(SYNC), 0, 1),
        work(
            "create_event, run context, async",
            "create_event_context_async",
            event,
            floor::create_event_async,
            Some(ASYNC),
            1,
            1,
        ),
        work(
            "create_event, Timestamp",
            "create_event_timestamp",
            event,
            floor::create_event_timestamp,
            Some(SYNC),
            0,
            1,
        ),
        work("noop", "noop", "{}", floor::noop, None, 0, 0),
        work("noop, async", "noop_async", "{}", floor::noop_async, None, 1, 0),
        work("batch of 64", "batch", &batch, floor::batch, Some(SYNC), 0, 0),
    ]
}

/// The bars of a bare call to a response value.
pub(crate) const SYNC: f64 = 1.08;
pub(crate) const ASYNC: f64 = 1.12;
/// The bar of a bare call to the envelope's text.
pub(crate) const TEXT: f64 = 1.30;
/// The bar for 1,000 tools beside 10.
pub(crate) const LOOKUP: f64 = 1.1;
/// The bar for listing 100 tools, in nanoseconds.
pub(crate) const LIST_NS: f64 = 2_000.0;

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
pub(crate) fn call(tools: &ToolContext, name: &str, arguments: &str, ctx: &RunContext) -> ToolResponse {
    now(tools.call(name, arguments, ctx))
}

/// Panics where a work does not do on both sides what it is there to do, before anything is measured.
pub(crate) fn check(tools: &ToolContext, ctx: &RunContext) {
    for work in works() {
        let response = call(tools, work.tool, &work.arguments, ctx);
        assert_eq!(response.data_json(), (work.floor)(work.tool, &work.arguments).as_deref(), "{}", work.name);
    }
}
