//! Futures that stop at unusual places.

use super::watch::{Failed, Work};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A future that is pending a number of times.
pub struct Pause(pub u8);

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.0 == 0 {
            return Poll::Ready(());
        }
        self.0 -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Polls all futures in one task.
pub struct All(pub Vec<Option<Work>>);

impl Future for All {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        for work in &mut self.0 {
            if work
                .as_mut()
                .is_some_and(|work| work.as_mut().poll(cx).is_ready())
            {
                *work = None;
            }
        }
        if self.0.iter().all(Option::is_none) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// Polls both futures until one is done.
pub struct Race(pub Work, pub Work);

impl Future for Race {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let one = self.0.as_mut().poll(cx).is_ready();
        if one || self.1.as_mut().poll(cx).is_ready() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// Polls the future a number of times, and then drops it.
pub struct Limit(pub u8, pub Work);

impl Future for Limit {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.0 == 0 || self.1.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        self.0 -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Catches a panic of the work.
pub struct Caught(pub Work);

impl Future for Caught {
    type Output = Result<(), Failed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(cx)))
            .unwrap_or(Poll::Ready(Err(Failed)))
    }
}
