//! The timer of tokio, without which no call can wait.

use crate::call::ToolError;
use std::cell::Cell;
use std::future::poll_fn;
use std::panic::catch_unwind;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::{Handle, Id};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, Sleep, sleep_until, timeout};

thread_local! {
    /// The runtime of this thread that was found to have no timer.
    static WITHOUT_TIMER: Cell<Option<Id>> = const { Cell::new(None) };
}

/// Returns a future that ends at a time.
///
/// # Errors
///
/// Returns the error of a call that would have to wait, outside of tokio or in a runtime whose
/// timer is off.
pub(crate) fn until(end: Instant) -> Result<Sleep, ToolError> {
    let Ok(runtime) = Handle::try_current() else {
        return Err(ToolError::permanent(
            "the call has to wait, and runs outside of tokio; call it in a tokio runtime, such as that of `#[tokio::main]`",
        ));
    };
    let has_no_timer = || {
        ToolError::permanent(
            "the call has to wait, and tokio's timer is off; build the runtime with `Builder::enable_time` or `enable_all`",
        )
    };
    if WITHOUT_TIMER.get() == Some(runtime.id()) {
        return Err(has_no_timer());
    }
    // Tokio says only by a panic that the timer is off, and prints it, so it is asked once.
    catch_unwind(|| sleep_until(end)).map_err(|_| {
        WITHOUT_TIMER.set(Some(runtime.id()));
        has_no_timer()
    })
}

/// Waits for work, at most for a time. Without a timer nothing ends work that takes too long. Work
/// that is done at once sets no timer.
pub(crate) async fn at_most<T>(
    limit: Duration,
    work: impl Future<Output = T>,
) -> Result<T, Elapsed> {
    let mut work = pin!(work);
    if let Poll::Ready(done) = poll_once(work.as_mut()).await {
        return Ok(done);
    }
    if check().is_ok() {
        timeout(limit, work).await
    } else {
        Ok(work.await)
    }
}

/// Looks once if work is done, which then needs neither a timer nor a runtime.
pub(crate) async fn poll_once<F: Future>(mut work: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await
}

/// Checks that a call may wait.
pub(crate) fn check() -> Result<(), ToolError> {
    until(Instant::now()).map(drop)
}
