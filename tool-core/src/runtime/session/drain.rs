//! Letting calls in until the session closes, and waiting until the last is out.

use super::super::sync::{AtomicUsize, Ordering};
use tokio::sync::Notify;

/// Counts the calls that are inside, and closes once.
#[derive(Default)]
pub(crate) struct Drain {
    door: Door,
    idle: Notify,
}

/// The count alone: the highest bit says closed, the others how many are inside.
#[derive(Default)]
pub(crate) struct Door(AtomicUsize);

const CLOSED: usize = 1 << (usize::BITS - 1);

impl Door {
    /// Goes in, unless it is closed.
    #[inline]
    pub(crate) fn enter(&self) -> bool {
        if self.0.fetch_add(1, Ordering::AcqRel) & CLOSED == 0 {
            return true;
        }
        self.leave();
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

/// Inside, until it is dropped.
pub(crate) struct Inside<'a>(&'a Drain);

impl Drain {
    #[inline]
    pub(crate) fn enter(&self) -> Option<Inside<'_>> {
        self.door.enter().then_some(Inside(self))
    }

    pub(crate) fn close(&self) {
        if self.door.close() {
            self.idle.notify_waiters();
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.door.is_closed()
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
