//! What an operation of a store gives: its result at once, or later.

use super::StoreError;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::timeout;

/// A store's answer: there already, or on its way.
///
/// A store in memory answers at once, and a call that it serves waits for nothing; one across a network answers later.
/// A [`Later`](Self::Later) that is never polled must have done nothing.
#[must_use = "an operation does nothing unless it is awaited"]
pub enum Operation<'a, T> {
    /// It is done.
    Ready(T),
    /// It is done when this is.
    Later(Pin<Box<dyn Future<Output = T> + Send + 'a>>),
}

impl<'a, T> Operation<'a, T> {
    /// An operation that a future does.
    pub fn later(future: impl Future<Output = T> + Send + 'a) -> Self {
        Self::Later(Box::pin(future))
    }
}

impl<T, E: From<StoreError>> Operation<'_, Result<T, E>> {
    /// Waits for it, but not for longer than this.
    #[inline]
    pub(crate) async fn within(self, deadline: Duration) -> Result<T, E> {
        match self {
            Self::Ready(done) => done,
            Self::Later(later) => timeout(deadline, later).await.unwrap_or_else(|_| Err(StoreError::late().into())),
        }
    }
}

impl<'a, T: Unpin> IntoFuture for Operation<'a, T> {
    type Output = T;
    type IntoFuture = Awaited<'a, T>;

    #[inline]
    fn into_future(self) -> Awaited<'a, T> {
        Awaited(Some(self))
    }
}

/// An [`Operation`] that is being awaited.
pub struct Awaited<'a, T>(Option<Operation<'a, T>>);

impl<T: Unpin> Future for Awaited<'_, T> {
    type Output = T;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match self.0.take() {
            Some(Operation::Ready(value)) => Poll::Ready(value),
            Some(Operation::Later(mut future)) => {
                let polled = future.as_mut().poll(cx);
                if polled.is_pending() {
                    self.0 = Some(Operation::Later(future));
                }
                polled
            }
            // Polled after it was done, which no executor does.
            None => Poll::Pending,
        }
    }
}
