//! The way from a call to the handlers of what it asks; the number of its questions, and the time
//! for which it waited for the answers.

use crate::call::handlers::{Handlers, SharedHandlers};
use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Context;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The way from a call to its handlers: its own, and then those of the call that made it.
#[derive(Clone, Default)]
pub(crate) struct Asker {
    pub(crate) own: SharedHandlers,
    pub(crate) caller: Option<Arc<CallQuestions>>,
}

impl Asker {
    pub(crate) fn find<H: ?Sized>(&self, of: fn(&Handlers) -> Option<&Arc<H>>) -> Option<&Arc<H>> {
        self.own
            .get()
            .and_then(of)
            .or_else(|| self.caller.as_ref()?.asker.find(of))
    }
}

impl PartialEq for Asker {
    /// Returns true for the same handlers, and the same caller.
    fn eq(&self, other: &Self) -> bool {
        let address = |asker: &Self| (asker.own.address(), asker.caller.as_ref().map(Arc::as_ptr));
        address(self) == address(other)
    }
}

impl Eq for Asker {}

impl fmt::Debug for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asker").finish_non_exhaustive()
    }
}

/// The limits on the questions of a session to the user and to the user's client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QuestionLimits {
    /// The time for an answer.
    pub(crate) timeout: Duration,
    /// The questions of one call, with those of the calls that it makes.
    pub(crate) call: u32,
    /// The questions of a session that may wait at once.
    pub(crate) session: u32,
    /// The tokens of an answer of the user's model.
    pub(crate) tokens: u32,
}

impl Default for QuestionLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(5 * 60),
            call: 8,
            session: 16,
            tokens: 4_096,
        }
    }
}

/// The questions of one call, and the time for which they waited. Its deadline waits for as long.
pub(crate) struct CallQuestions {
    pub(crate) asker: Asker,
    times: Mutex<WaitingTimes>,
    /// The questions that were asked. Counted at the outermost call.
    asked: AtomicU32,
    /// Wakes the call when no question waits any more.
    waker: AtomicWaker,
    /// Cancelled when the call is answered.
    pub(crate) ended: CancellationToken,
}

#[derive(Default)]
struct WaitingTimes {
    waiting: u32,
    /// The time since which a question waits.
    since: Option<Instant>,
    /// The time for which questions waited before.
    before: Duration,
}

impl CallQuestions {
    pub(crate) fn new(asker: Asker) -> Arc<Self> {
        Arc::new(Self {
            asker,
            times: Mutex::default(),
            asked: AtomicU32::new(0),
            waker: AtomicWaker::new(),
            ended: CancellationToken::new(),
        })
    }

    fn caller(&self) -> Option<&Arc<Self>> {
        self.asker.caller.as_ref()
    }

    /// Counts a question at the outermost call. Returns false if it has asked as many.
    pub(crate) fn count(&self, limit: u32) -> bool {
        if let Some(caller) = self.caller() {
            return caller.count(limit);
        }
        let more = |asked| (asked < limit).then_some(asked + 1);
        self.asked
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_ok()
    }

    /// Stops the clock of the call and of the calls above it, until the guard is dropped.
    pub(crate) fn wait(self: &Arc<Self>) -> WaitingQuestion {
        let mut call = Some(self);
        while let Some(questions) = call {
            let mut times = questions.times.lock();
            times.waiting += 1;
            times.since.get_or_insert_with(Instant::now);
            call = questions.caller();
        }
        WaitingQuestion(Arc::clone(self))
    }

    /// Returns the time for which questions have waited. Two that wait at once count once.
    pub(crate) fn waited(&self) -> Duration {
        let times = self.times.lock();
        times.before + times.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Returns the time for which questions have waited, or `None` while one waits. The call is
    /// polled again after that.
    pub(crate) fn poll_waited(&self, cx: &Context<'_>) -> Option<Duration> {
        self.waker.register(cx.waker());
        let times = self.times.lock();
        times.since.is_none().then_some(times.before)
    }
}

/// A question that waits. The clocks of its calls go on when it is dropped.
pub(crate) struct WaitingQuestion(Arc<CallQuestions>);

impl Drop for WaitingQuestion {
    fn drop(&mut self) {
        let mut call = Some(&self.0);
        while let Some(questions) = call {
            let mut times = questions.times.lock();
            times.waiting -= 1;
            if times.waiting == 0 {
                let waited = times
                    .since
                    .take()
                    .map_or(Duration::ZERO, |since| since.elapsed());
                times.before += waited;
                drop(times);
                questions.waker.wake();
            }
            call = questions.caller();
        }
    }
}
