//! A door that closes: how many are inside, and who learns that nobody is.

use crate::call::error::ToolError;
use crate::session::pipeline::Governed;
use crate::session::pipeline::execute::{still_wanted, timed_out};
use std::sync::atomic::AtomicU32;
pub(crate) use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Notify, RwLockReadGuard, RwLockWriteGuard};
use tokio::time::timeout_at;

/// The highest bit says closed, the others how many are inside.
#[derive(Default)]
pub(crate) struct Door(AtomicUsize);

const CLOSED: usize = 1 << (usize::BITS - 1);

impl Door {
    /// Goes in, unless it is closed.
    ///
    /// Whoever comes too late is never counted: the last one to leave would take them for somebody inside, and would
    /// tell nobody that it was the last.
    #[inline]
    pub(crate) fn enter(&self) -> bool {
        let mut seen = self.0.load(Ordering::Acquire);
        while seen & CLOSED == 0 {
            match self.0.compare_exchange_weak(seen, seen + 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Goes out. True for the last one out of a closed door.
    #[inline]
    pub(crate) fn leave(&self) -> bool {
        self.0.fetch_sub(1, Ordering::AcqRel) == CLOSED | 1
    }

    /// Closes. True where nobody is inside.
    pub(crate) fn close(&self) -> bool {
        self.0.fetch_or(CLOSED, Ordering::AcqRel) & !CLOSED == 0
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.load(Ordering::Acquire) & CLOSED != 0
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.0.load(Ordering::Acquire) & !CLOSED == 0
    }
}

// ---- Letting calls in until the session closes, and waiting until the last is out.

/// Counts the calls that are inside, and closes once.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Drain {
    door: Door,
    /// Apart, as no call reads it.
    idle: Box<Notify>,
}

/// Inside, until it is dropped.
pub(crate) struct Inside<'a>(&'a Drain);

impl Drain {
    #[inline]
    pub(crate) fn enter(&self) -> Option<Inside<'_>> {
        // Not `then_some`: an `Inside` that is made for a closed door would leave it as it is dropped.
        self.door.enter().then(|| Inside(self))
    }

    pub(crate) fn close(&self) {
        if self.door.close() {
            self.idle.notify_waiters();
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.door.is_closed()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.door.is_idle()
    }

    /// Done when nobody is inside.
    pub(crate) async fn idle(&self) {
        loop {
            let notified = self.idle.notified();
            if self.door.is_idle() {
                return;
            }
            notified.await;
        }
    }
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.0.door.leave() {
            self.0.idle.notify_waiters();
        }
    }
}

// ---- How many calls of a session may run at once.

/// So many places. Taking one that is free is a single step, as most always are.
pub(crate) struct Slots {
    free: AtomicU32,
    /// Those who wait for one.
    waiting: AtomicU32,
    /// Apart, as few calls read it.
    freed: Box<Notify>,
}

/// A place, until it is dropped.
pub(crate) struct Slot<'a>(&'a Slots);

impl Slots {
    pub(crate) fn new(places: usize) -> Self {
        let free = AtomicU32::new(u32::try_from(places).unwrap_or(u32::MAX).max(1));
        Self { free, waiting: AtomicU32::new(0), freed: Box::default() }
    }

    /// A place, if one is free.
    #[inline]
    pub(crate) fn try_take(&self) -> Option<Slot<'_>> {
        let mut free = self.free.load(Ordering::Relaxed);
        while free > 0 {
            // In one order with `waiting`: who finds no place has said before that it waits.
            match self.free.compare_exchange_weak(free, free - 1, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => return Some(Slot(self)),
                Err(now) => free = now,
            }
        }
        None
    }

    /// A place, as soon as one is free.
    pub(crate) async fn take(&self) -> Slot<'_> {
        let _waits = Waits::new(&self.waiting);
        loop {
            let freed = self.freed.notified();
            if let Some(slot) = self.try_take() {
                return slot;
            }
            freed.await;
        }
    }
}

impl Drop for Slot<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.free.fetch_add(1, Ordering::SeqCst);
        if self.0.waiting.load(Ordering::SeqCst) > 0 {
            self.0.freed.notify_one();
        }
    }
}

struct Waits<'a>(&'a AtomicU32);

impl<'a> Waits<'a> {
    fn new(waiting: &'a AtomicU32) -> Self {
        waiting.fetch_add(1, Ordering::SeqCst);
        Self(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn no_more_than_there_are_places_are_taken_and_all_who_wait_get_one() {
        let slots = Arc::new(Slots::new(3));
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tasks = (0..2_000).map(|_| {
            let (slots, now, most) = (Arc::clone(&slots), Arc::clone(&now), Arc::clone(&most));
            tokio::spawn(async move {
                let _slot = slots.take().await;
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                now.fetch_sub(1, Ordering::SeqCst);
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.expect("no panic");
        }
        assert_eq!(most.load(Ordering::SeqCst), 3);
        assert!([slots.try_take(), slots.try_take(), slots.try_take()].iter().all(Option::is_some));
    }

    #[tokio::test]
    async fn a_place_that_nobody_waits_for_any_more_goes_to_the_next() {
        let slots = Slots::new(1);
        let taken = slots.try_take().expect("free");
        let mut gone = Box::pin(slots.take());
        let mut next = Box::pin(slots.take());
        for waits in [&mut gone, &mut next] {
            let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(waits.as_mut().poll(cx))).await;
            assert!(polled.is_pending());
        }
        drop(taken);
        // The first was told, and goes without having taken it.
        drop(gone);
        let next = tokio::time::timeout(std::time::Duration::from_secs(5), next).await;
        assert!(next.is_ok());
    }
}

// ---- The third step: a place among the calls that run at once. `sequential` tools wait until they are alone.

/// A place, until it is dropped.
#[derive(Default)]
pub(crate) struct Place<'a> {
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
pub(crate) async fn enter<'a>(call: &Governed<'a>) -> Result<Place<'a>, ToolError> {
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

// ---- The primitives that loom's models put their own in the place of.
