//! The room that the logs of many sessions share, so that a long session keeps much, and very many
//! sessions keep some each.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The room that the logs of all sessions may take together, beyond what each has of its own.
pub(crate) struct SpareRoom {
    /// The bytes of the lists of calls.
    pub(crate) call_bytes: Spare,
    /// The entries of the audit logs in memory, of about 100 bytes each.
    pub(crate) audit_entries: Spare,
}

impl Default for SpareRoom {
    fn default() -> Self {
        Self {
            call_bytes: Spare::new(1 << 20),
            audit_entries: Spare::new(250_000),
        }
    }
}

/// A number of bytes or entries that are still free.
pub(crate) struct Spare(AtomicUsize);

impl Spare {
    pub(crate) fn new(all: usize) -> Self {
        Self(AtomicUsize::new(all))
    }

    /// Takes all of them, or none and returns false.
    pub(crate) fn take(&self, wanted: usize) -> bool {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |spare| {
                spare.checked_sub(wanted)
            })
            .is_ok()
    }

    pub(crate) fn give_back(&self, taken: usize) {
        self.0.fetch_add(taken, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(crate) fn left(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
