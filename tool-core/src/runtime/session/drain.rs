//! Letting calls in until the session closes, and waiting until the last is out.

use super::door::Door;
use tokio::sync::Notify;

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
