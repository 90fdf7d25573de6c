//! The calls for which this process has requested a person's approval, and the tasks that wait for
//! their responses.

use crate::call::ToolResponse;
use futures_util::FutureExt;
use futures_util::future::Shared;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use tokio::sync::{oneshot, watch};

/// The calls for which this process has requested approval, the oldest first.
pub(crate) struct ApprovalRequests<S> {
    calls: Mutex<VecDeque<RequestedCall<S>>>,
    /// The number of requests so far.
    pub(crate) count: watch::Sender<u64>,
    /// The places of the responses that some task may wait for, by the ids of the calls.
    waiters: Mutex<HashMap<String, Waiter>>,
}

/// A call for which approval was requested.
pub(crate) struct RequestedCall<S> {
    pub(crate) session: Weak<S>,
    principal: Arc<str>,
    pub(crate) id: String,
}

impl<S> Clone for RequestedCall<S> {
    fn clone(&self) -> Self {
        Self {
            session: Weak::clone(&self.session),
            principal: Arc::clone(&self.principal),
            id: self.id.clone(),
        }
    }
}

/// The most calls that a runtime remembers to have requested approval for.
const MAX_REQUESTS: usize = 256;

impl<S> Default for ApprovalRequests<S> {
    fn default() -> Self {
        Self {
            calls: Mutex::default(),
            count: watch::Sender::default(),
            waiters: Mutex::default(),
        }
    }
}

impl<S> ApprovalRequests<S> {
    /// Adds a call of a session, and returns the place of its response. Past [`MAX_REQUESTS`] the
    /// oldest is forgotten. A principal that holds a quarter of them loses its own oldest, so that
    /// it cannot push out those of others.
    pub(crate) fn add(&self, session: &Arc<S>, principal: &Arc<str>, id: &str) -> Outcome {
        let (answer, outcome) = oneshot::channel();
        // Registered before others see the call, so that no decision is missed.
        let mut waiters = self.waiters.lock();
        if waiters.len() == waiters.capacity() {
            waiters.retain(|_, waiter| !waiter.answer.is_closed());
        }
        waiters.insert(
            id.to_owned(),
            Waiter {
                answer,
                approval: None,
            },
        );
        drop(waiters);
        let mut calls = self.calls.lock();
        if calls.len() == MAX_REQUESTS {
            let mut own = calls
                .iter()
                .enumerate()
                .filter(|(_, call)| call.principal == *principal);
            let oldest = own
                .next()
                .filter(|_| own.count() >= MAX_REQUESTS / 4)
                .map_or(0, |(at, _)| at);
            calls.remove(oldest);
        }
        calls.push_back(RequestedCall {
            session: Arc::downgrade(session),
            principal: Arc::clone(principal),
            id: id.to_owned(),
        });
        drop(calls);
        self.count.send_modify(|count| *count += 1);
        outcome.shared()
    }

    /// Returns the calls, the oldest first.
    pub(crate) fn calls(&self) -> Vec<RequestedCall<S>> {
        self.calls.lock().iter().cloned().collect()
    }

    /// Forgets a call that no longer waits.
    pub(crate) fn forget(&self, id: &str) {
        self.calls.lock().retain(|call| call.id != id);
    }

    /// Takes out the waiter of a call that no approval runs.
    pub(crate) fn take_waiter(&self, id: &str) -> Option<Waiter> {
        let mut waiters = self.waiters.lock();
        waiters
            .get(id)
            .is_some_and(|waiter| waiter.approval.is_none())
            .then(|| waiters.remove(id))
            .flatten()
    }

    /// Puts a waiter back, for a call that an approval runs now, or that waits on.
    pub(crate) fn put_back(&self, id: &str, waiter: Option<Waiter>, approval: Option<&Arc<str>>) {
        if let Some(waiter) = waiter {
            let waiter = Waiter {
                approval: approval.cloned(),
                ..waiter
            };
            self.waiters.lock().entry(id.to_owned()).or_insert(waiter);
        }
    }
}

/// The response of a call that waited for approval, for all tasks that wait for it.
pub(crate) type Outcome = Shared<oneshot::Receiver<ToolResponse>>;

/// The tasks that wait, or may yet wait, for the response of a call.
pub(crate) struct Waiter {
    answer: oneshot::Sender<ToolResponse>,
    /// The approval that runs the call, known by its address: of many at the same time one does.
    approval: Option<Arc<str>>,
}

impl Waiter {
    pub(crate) fn answer(self, response: &ToolResponse) {
        // It fails if no task waits any more.
        let _ = self.answer.send(response.clone());
    }
}

/// An approval that may run its call. Dropped, it leaves no waiter behind.
pub(crate) struct Approval<'a, S> {
    pub(crate) requests: &'a ApprovalRequests<S>,
    pub(crate) id: Arc<str>,
}

impl<S> Approval<'_, S> {
    /// Takes out the waiter, if this approval has run the call.
    pub(crate) fn take_waiter(&self) -> Option<Waiter> {
        let mut waiters = self.requests.waiters.lock();
        let approval = waiters.get(&*self.id)?.approval.as_ref()?;
        Arc::ptr_eq(approval, &self.id)
            .then(|| waiters.remove(&*self.id))
            .flatten()
    }
}

impl<S> Drop for Approval<'_, S> {
    fn drop(&mut self) {
        drop(self.take_waiter());
    }
}
