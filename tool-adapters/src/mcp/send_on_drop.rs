//! A message to the other side that is sent if a future is dropped before its end.

use tokio::runtime::Handle;

/// Sends a message in a task when it is dropped, unless it was disarmed before.
pub(crate) struct SendOnDrop<F: Future<Output = ()> + Send + 'static>(Option<F>);

impl<F: Future<Output = ()> + Send + 'static> SendOnDrop<F> {
    /// `send` sends the message, and is polled on drop only.
    pub(crate) fn new(send: F) -> Self {
        Self(Some(send))
    }

    /// Drops the message, because the other side has answered.
    pub(crate) fn disarm(&mut self) {
        self.0 = None;
    }
}

impl<F: Future<Output = ()> + Send + 'static> Drop for SendOnDrop<F> {
    fn drop(&mut self) {
        // Outside of tokio, the program ends.
        if let Some((send, runtime)) = self.0.take().zip(Handle::try_current().ok()) {
            runtime.spawn(send);
        }
    }
}
