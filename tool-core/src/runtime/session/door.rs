//! A door that closes: how many are inside, and who learns that nobody is.

use crate::runtime::sync::{AtomicUsize, Ordering};

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
