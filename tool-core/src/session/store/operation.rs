//! The result of an operation of a store of agents: there already, or on its way.

use std::future::IntoFuture;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A store's answer, which is ready or is awaited.
///
/// A future that is never polled must have no effect.
#[must_use = "an operation does nothing unless it is awaited"]
pub enum Operation<'a, T> {
    /// The answer.
    Ready(T),
    /// The future of the answer.
    Later(Pin<Box<dyn Future<Output = T> + Send + 'a>>),
}

impl<'a, T> Operation<'a, T> {
    /// Creates an operation that a future performs.
    pub fn later(future: impl Future<Output = T> + Send + 'a) -> Self {
        Self::Later(Box::pin(future))
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

/// The future of an [`Operation`].
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
            None => Poll::Pending,
        }
    }
}
