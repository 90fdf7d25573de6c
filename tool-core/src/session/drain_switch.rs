//! The switch of a [drain](super::Runtime::drain), which calls and replies read.

use crate::call::ToolError;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use tokio_util::sync::CancellationToken;

/// Says whether a runtime is drained. Each call reads it.
#[derive(Default)]
pub(crate) struct DrainSwitch {
    is_on: AtomicBool,
    begun: CancellationToken,
}

impl DrainSwitch {
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        // Ordered after the count of the call that asks, and in a drain before the look at the
        // counts: a call sees the drain, or the drain sees the call.
        self.is_on.load(Ordering::SeqCst)
    }

    pub(crate) fn begun(&self) -> &CancellationToken {
        &self.begun
    }

    pub(crate) fn turn_on(&self) {
        self.is_on.store(true, Ordering::SeqCst);
        self.begun.cancel();
    }
}

/// The replies of a session that are in progress.
#[derive(Default)]
pub(crate) struct OpenReplies(AtomicU32);

impl OpenReplies {
    pub(crate) fn begin(&self) -> ReplyInProgress<'_> {
        self.0.fetch_add(1, Ordering::SeqCst);
        ReplyInProgress(self)
    }

    pub(crate) fn are_none(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 0
    }
}

/// Counts a reply as open until it is dropped.
pub(crate) struct ReplyInProgress<'a>(&'a OpenReplies);

impl Drop for ReplyInProgress<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Returns the error of what is not begun in a process that is about to end.
pub(crate) fn process_ending(what: &str) -> ToolError {
    ToolError::transient(format!(
        "this process is about to end, so {what} has not begun; try again in a moment"
    ))
}
