//! The calls of a session that are in progress, and how many of them may run at once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use tokio::sync::{Mutex, Notify};

/// Counts the calls of one session, and lets as many of them run as the policy allows.
///
/// One word takes the place of a semaphore and a task tracker, because every call enters and
/// leaves.
pub(crate) struct CallsInProgress {
    /// [`CLOSED`], the calls in progress in units of [`CALL`], and the permits that are taken.
    word: AtomicU64,
    permits: AtomicU32,
    /// The calls that wait for permits.
    waiting: AtomicU32,
    /// Created when a call or the end of the session must wait.
    line: OnceLock<Box<Line>>,
}

/// The calls that wait for permits, and those who wait for the end of all calls.
#[derive(Default)]
struct Line {
    /// Held by the first of the waiting calls.
    first: Mutex<()>,
    /// Wakes the first of the waiting calls.
    freed: Notify,
    idle: Notify,
}

const CLOSED: u64 = 1 << 63;
const CALL: u64 = 1 << 32;
const PERMITS: u64 = CALL - 1;

impl CallsInProgress {
    pub(crate) fn new(permits: u32) -> Self {
        Self {
            word: AtomicU64::new(0),
            permits: AtomicU32::new(permits),
            waiting: AtomicU32::new(0),
            line: OnceLock::new(),
        }
    }

    #[inline]
    fn permits(&self) -> u32 {
        self.permits.load(Ordering::Relaxed)
    }

    /// Changes how many calls may run at once. Running calls go on.
    pub(crate) fn set_permits(&self, permits: u32) {
        self.permits.store(permits, Ordering::Relaxed);
        self.wake();
    }

    fn line(&self) -> &Line {
        self.line.get_or_init(Box::default)
    }

    /// Counts a call, unless the session has ended.
    #[inline]
    pub(crate) fn enter(&self) -> Option<CallInProgress<'_>> {
        let entered = self.word.fetch_add(CALL, Ordering::SeqCst);
        let call = CallInProgress {
            calls: self,
            taken: CALL,
        };
        if entered & CLOSED == 0 {
            Some(call)
        } else {
            None
        }
    }

    /// Lets no more calls in.
    pub(crate) fn close(&self) {
        self.word.fetch_or(CLOSED, Ordering::SeqCst);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.word.load(Ordering::SeqCst) & CLOSED != 0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.word.load(Ordering::SeqCst) & !CLOSED < CALL
    }

    /// Lets no more calls in, and waits until none is in progress.
    pub(crate) async fn finish(&self) {
        loop {
            let idle = self.line().idle.notified();
            // After this change, the last call sees the line.
            self.close();
            if self.is_empty() {
                return;
            }
            idle.await;
        }
    }

    #[inline]
    fn try_take(&self, permits: u32) -> bool {
        let mut word = self.word.load(Ordering::SeqCst);
        while (word & PERMITS) + u64::from(permits) <= u64::from(self.permits()) {
            match self.word.compare_exchange_weak(
                word,
                word + u64::from(permits),
                Ordering::SeqCst,
                Ordering::SeqCst,
            ) {
                Ok(_) => return true,
                Err(current) => word = current,
            }
        }
        false
    }

    #[cold]
    fn wake(&self) {
        let Some(line) = self.line.get() else { return };
        if self.is_closed() && self.is_empty() {
            line.idle.notify_waiters();
        }
        line.freed.notify_one();
    }
}

/// A call in progress, and the permits that it has. It leaves when it is dropped.
pub(crate) struct CallInProgress<'a> {
    calls: &'a CallsInProgress,
    taken: u64,
}

impl CallInProgress<'_> {
    /// Takes one permit, or all of them for a call that runs alone. Returns false if it must wait
    /// for them.
    #[inline]
    pub(crate) fn try_run(&mut self, alone: bool) -> bool {
        // The calls in the line come first.
        self.calls.waiting.load(Ordering::SeqCst) == 0 && self.take(alone)
    }

    /// Waits in the line for permits. Calls that come later wait for a call that runs alone.
    pub(crate) async fn run_in_turn(&mut self, alone: bool) {
        let line = self.calls.line();
        let _waiting = Waiting::new(&self.calls.waiting);
        let _first = line.first.lock().await;
        while !self.take(alone) {
            line.freed.notified().await;
        }
    }

    #[inline]
    fn take(&mut self, alone: bool) -> bool {
        let permits = if alone { self.calls.permits() } else { 1 };
        let taken = self.calls.try_take(permits);
        self.taken += if taken { u64::from(permits) } else { 0 };
        taken
    }
}

impl Drop for CallInProgress<'_> {
    #[inline]
    fn drop(&mut self) {
        let before = self.calls.word.fetch_sub(self.taken, Ordering::SeqCst);
        // A call counts itself as waiting before it looks for permits, so that one of the two sees
        // the other.
        if before & CLOSED != 0 || self.calls.waiting.load(Ordering::SeqCst) != 0 {
            self.calls.wake();
        }
    }
}

/// A call in the line. It is no longer counted when it is dropped.
struct Waiting<'a>(&'a AtomicU32);

impl<'a> Waiting<'a> {
    fn new(waiting: &'a AtomicU32) -> Self {
        waiting.fetch_add(1, Ordering::SeqCst);
        Self(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use tokio::task;

    // C1
    #[tokio::test]
    async fn calls_run_in_the_order_of_the_line() {
        let calls = CallsInProgress::new(2);
        let mut running = calls.enter().expect("open");
        assert!(running.try_run(false));
        let mut alone = calls.enter().expect("open");
        let mut later = calls.enter().expect("open");
        let mut alone = Box::pin(alone.run_in_turn(true));
        assert!((&mut alone).now_or_never().is_none());
        assert!(
            !later.try_run(false),
            "a permit is free, but a call that runs alone waits"
        );
        drop(running);
        assert!((&mut alone).now_or_never().is_some());
    }

    // C1
    #[tokio::test]
    async fn call_that_gives_up_leaves_the_line() {
        let calls = CallsInProgress::new(1);
        let mut running = calls.enter().expect("open");
        assert!(running.try_run(false));
        let mut first = calls.enter().expect("open");
        let mut second = calls.enter().expect("open");
        let mut waits = Box::pin(first.run_in_turn(false));
        let mut next = Box::pin(second.run_in_turn(false));
        assert!((&mut waits).now_or_never().is_none() && (&mut next).now_or_never().is_none());
        drop(running);
        drop(waits);
        assert!((&mut next).now_or_never().is_some());
    }

    // C1
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn no_call_waits_for_ever_or_beside_too_many() {
        let calls = Arc::new(CallsInProgress::new(3));
        let running = Arc::new(AtomicUsize::new(0));
        let work = (0..8).map(|task| {
            let calls = Arc::clone(&calls);
            let running = Arc::clone(&running);
            task::spawn(async move {
                for round in 0..2_000 {
                    let mut call = calls.enter().expect("open");
                    let alone = (round + task) % 7 == 0;
                    if !call.try_run(alone) {
                        call.run_in_turn(alone).await;
                    }
                    let beside = running.fetch_add(1, Ordering::SeqCst);
                    assert!(beside < if alone { 1 } else { 3 });
                    task::yield_now().await;
                    running.fetch_sub(1, Ordering::SeqCst);
                }
            })
        });
        futures_util::future::try_join_all(work.collect::<Vec<_>>())
            .await
            .expect("no panic");
        calls.finish().await;
        assert!(calls.enter().is_none());
    }

    // C1
    #[tokio::test]
    async fn end_waits_for_the_last_call() {
        let calls = CallsInProgress::new(1);
        let one = calls.enter();
        let other = calls.enter();
        let mut end = Box::pin(calls.finish());
        assert!((&mut end).now_or_never().is_none());
        drop(one);
        assert!((&mut end).now_or_never().is_none());
        drop(other);
        assert!((&mut end).now_or_never().is_some());
    }
}
