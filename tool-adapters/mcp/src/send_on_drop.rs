//! A message to the other side that is sent if a future is dropped before its end.

use futures_util::future::BoxFuture;
use tokio::runtime::Handle;

/// Sends a message in a task when it is dropped, unless it was disarmed before.
pub(crate) struct SendOnDrop<F: FnOnce() -> BoxFuture<'static, ()>>(Option<F>);

impl<F: FnOnce() -> BoxFuture<'static, ()>> SendOnDrop<F> {
    /// `send` makes the future that sends the message. It is called on drop only.
    pub(crate) fn new(send: F) -> Self {
        Self(Some(send))
    }

    /// Drops the message, because the other side has answered.
    pub(crate) fn disarm(&mut self) {
        self.0 = None;
    }
}

impl<F: FnOnce() -> BoxFuture<'static, ()>> Drop for SendOnDrop<F> {
    fn drop(&mut self) {
        // Outside of tokio, the program ends.
        if let Some((send, runtime)) = self.0.take().zip(Handle::try_current().ok()) {
            runtime.spawn(send());
        }
    }
}
