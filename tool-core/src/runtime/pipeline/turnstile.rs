//! The third step: a place among the calls that run at once. `sequential` tools wait until they are alone.

use super::Governed;
use super::execute::{still_wanted, timed_out};
use crate::response::ToolError;
use crate::runtime::session::Slot;
use tokio::sync::{RwLockReadGuard, RwLockWriteGuard};
use tokio::time::timeout_at;

/// A place, until it is dropped.
#[derive(Default)]
pub(super) struct Place<'a> {
    _slot: Option<Slot<'a>>,
    _barrier: Barrier<'a>,
}

#[derive(Default)]
#[allow(dead_code)] // held, not read
enum Barrier<'a> {
    #[default]
    None,
    Beside(RwLockReadGuard<'a, ()>),
    Alone(RwLockWriteGuard<'a, ()>),
}

#[inline]
pub(super) async fn enter<'a>(call: &Governed<'a>) -> Result<Place<'a>, ToolError> {
    // A call that a tool makes stands in the place of the one above it; the runtime's own tools must not wait for those
    // that they are there to cancel.
    if call.depth > 0 || call.core.toolbox.is_companion(call.at) {
        return Ok(Place::default());
    }
    if !call.core.toolbox.sequential
        && let Some(slot) = call.core.slots.try_take()
    {
        return Ok(Place { _slot: Some(slot), _barrier: Barrier::None });
    }
    // Boxed, so that waiting does not make every call's future larger.
    match timeout_at(call.deadline(), Box::pin(wait(call))).await {
        Ok(place) => still_wanted(call).map(|()| place),
        Err(_) => Err(timed_out(call, "waiting for other calls of the session").did_not_run()),
    }
}

async fn wait<'a>(call: &Governed<'a>) -> Place<'a> {
    let core = call.core;
    // Locks are given in the order in which they are asked for, so this keeps the order of the calls.
    let barrier = match (core.toolbox.sequential, call.definition().flags.sequential) {
        (false, _) => Barrier::None,
        (true, false) => Barrier::Beside(core.barrier.read().await),
        (true, true) => Barrier::Alone(core.barrier.write().await),
    };
    Place { _slot: Some(core.slots.take().await), _barrier: barrier }
}
