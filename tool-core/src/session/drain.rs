//! The drain of a runtime: nothing new begins, and what runs may finish, before its process ends.

use crate::session::drain_switch::ReplyInProgress;
use crate::session::inner::{RuntimeInner, SessionInner};
use crate::session::state::SessionId;
use crate::time;
use crate::tool::instance::release;
use futures_util::future::join_all;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// The calls and replies that a drain has cut off when its time was over. See [`Runtime::drain`](super::Runtime::drain).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DrainReport {
    /// The calls that were cancelled.
    pub calls: Vec<UnfinishedCall>,
    /// The sessions in which a reply of a model was interrupted.
    pub replies: Vec<SessionId>,
}

impl DrainReport {
    /// Returns true if everything that ran has finished in time.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.replies.is_empty()
    }
}

/// A call that a drain has cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnfinishedCall {
    /// The session of the call.
    pub session: SessionId,
    /// The id of the call.
    pub call_id: String,
    /// The name of its tool.
    pub tool: String,
}

/// The time between two looks at what still runs. A drain looks, so that no call has to tell it of
/// its end.
const LOOK: Duration = Duration::from_millis(10);

/// The time for which a drain waits for calls that it has cancelled.
const CLOSING: Duration = Duration::from_secs(5);

impl RuntimeInner {
    /// Lets nothing new begin, waits for what runs, and cancels what takes longer.
    pub(crate) async fn drain(&self, limit: Duration) -> DrainReport {
        self.drain.turn_on();
        let end = time::after(Instant::now(), limit);
        while self.is_busy() && Instant::now() < end {
            sleep(LOOK).await;
        }

        let sessions = self.sessions_here();
        let mut report = DrainReport::default();
        for session in &sessions {
            session.report_unfinished(&mut report);
        }
        join_all(sessions.iter().map(|session| session.leave())).await;
        let open = std::mem::take(&mut *self.tools().open.lock());
        release(open).await;
        report
    }

    fn is_busy(&self) -> bool {
        self.sessions_here().iter().any(|session| session.is_busy())
    }

    /// Returns the sessions that have a handle in this process, in all of their generations.
    fn sessions_here(&self) -> Vec<Arc<SessionInner>> {
        // Upgraded first: a session that is dropped takes the lock.
        let listed = self
            .sessions
            .lock()
            .values()
            .filter_map(Weak::upgrade)
            .collect::<Vec<_>>();
        let mut sessions = Vec::new();
        for session in listed {
            sessions.extend(session.other_generations());
            sessions.push(session);
        }
        sessions
    }
}

impl SessionInner {
    /// Counts a reply of a model. Returns `None` if no reply may begin any more.
    pub(crate) fn begin_reply(&self) -> Option<ReplyInProgress<'_>> {
        let reply = self.replies.begin();
        (!self.runtime.drain.is_on()).then_some(reply)
    }

    /// Returns true if a call may not begin any more. Calls of a tool that runs, and those of a reply
    /// that has begun, may.
    #[cold]
    pub(crate) fn refuses_calls(&self, depth: u32) -> bool {
        depth == 0 && self.replies.are_none()
    }

    fn is_busy(&self) -> bool {
        !self.calls.is_empty() || !self.replies.are_none()
    }

    fn report_unfinished(&self, report: &mut DrainReport) {
        self.running.each(|call_id, tool| {
            report.calls.push(UnfinishedCall {
                session: self.id.clone(),
                call_id: call_id.to_owned(),
                tool: tool.to_owned(),
            });
        });
        if !self.replies.are_none() {
            report.replies.push(self.id.clone());
        }
    }

    /// Cancels the calls in progress, waits for their answers, and gives up what the tools need. The
    /// session stays in its store.
    async fn leave(&self) {
        if self.is_busy() {
            self.running.cancel_all();
            let idle = async {
                while self.is_busy() {
                    sleep(LOOK).await;
                }
            };
            if timeout(CLOSING, idle).await.is_err() {
                tracing::error!(session = %self.id.as_str().escape_debug(), "a call or a reply goes on after it was cancelled");
            }
        }
        self.cancel_reads();
        if self.calls.is_empty() {
            // Dropped without the lock, as dropping them may take locks.
            let resources = self.resources.lock().take();
            if let Some(resources) = resources {
                drop(resources.brought);
                release(resources.toolsets).await;
            }
        }
        self.settle().await;
    }
}
