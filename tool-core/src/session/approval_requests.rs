//! The calls for which this process has requested a person's approval, and the tasks that wait for
//! their responses.

use crate::call::ToolResponse;
use crate::session::state::SessionId;
use futures_util::FutureExt;
use futures_util::future::{Shared, WeakShared};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tokio::sync::{oneshot, watch};

/// The calls for which this process has requested approval, the oldest first.
#[derive(Default)]
pub(crate) struct ApprovalRequests {
    calls: Mutex<VecDeque<RequestedCall>>,
    /// The number of requests so far.
    pub(crate) count: watch::Sender<u64>,
    /// The places of the responses that some task may wait for, by the ids of the calls.
    waiters: Mutex<HashMap<String, Waiter>>,
}

/// A call for which approval was requested.
#[derive(Clone)]
pub(crate) struct RequestedCall {
    pub(crate) session: SessionId,
    /// The incarnation of the session, which is the same after a renewal.
    pub(crate) incarnation: u128,
    pub(crate) principal: Arc<str>,
    pub(crate) id: String,
}

/// The most calls that a runtime remembers to have requested approval for.
const MAX_REQUESTS: usize = 256;

impl ApprovalRequests {
    /// Adds a call of a session, and returns the place of its response. A call that an engine makes
    /// again is listed once.
    pub(crate) fn add(&self, call: RequestedCall) -> Outcome {
        // Registered before others see the call, so that no decision is missed.
        let outcome = self.outcome_of(&call.id);
        let mut calls = self.calls.lock();
        match calls.iter_mut().find(|known| known.id == call.id) {
            Some(known) => *known = call,
            None => push(&mut calls, call),
        }
        drop(calls);
        self.count.send_modify(|count| *count += 1);
        outcome
    }

    /// Returns the place of the response of a call: that for which some task waits already, or a new
    /// one.
    fn outcome_of(&self, id: &str) -> Outcome {
        let mut waiters = self.waiters.lock();
        let known = waiters.get(id).and_then(|waiter| waiter.outcome.as_ref());
        if let Some(outcome) = known.and_then(WeakShared::upgrade) {
            return outcome;
        }
        if waiters.len() == waiters.capacity() {
            waiters.retain(|_, waiter| !waiter.answer.is_closed());
        }

        let (answer, response) = oneshot::channel();
        let outcome = response.shared();
        let waiter = Waiter {
            answer,
            outcome: outcome.downgrade(),
            approval: None,
        };
        waiters.insert(id.to_owned(), waiter);
        outcome
    }

    /// Returns the calls, the oldest first.
    pub(crate) fn calls(&self) -> Vec<RequestedCall> {
        self.calls.lock().iter().cloned().collect()
    }

    /// Forgets a call that no longer waits.
    pub(crate) fn forget(&self, id: &str) {
        self.calls.lock().retain(|call| call.id != id);
    }

    /// Takes out the waiter of a call on which someone decides now.
    pub(crate) fn decide<'a>(&'a self, id: &'a str) -> Deciding<'a> {
        Deciding {
            requests: self,
            id,
            waiter: self.take_waiter(id),
            approval: None,
            response: None,
        }
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
}

/// Adds a call. Past [`MAX_REQUESTS`] the oldest is forgotten. A principal that holds a quarter of
/// them loses its own oldest, so that it cannot push out those of others.
fn push(calls: &mut VecDeque<RequestedCall>, call: RequestedCall) {
    if calls.len() == MAX_REQUESTS {
        let mut own = calls
            .iter()
            .enumerate()
            .filter(|(_, other)| other.principal == call.principal);
        let oldest = own
            .next()
            .filter(|_| own.count() >= MAX_REQUESTS / 4)
            .map_or(0, |(at, _)| at);
        calls.remove(oldest);
    }
    calls.push_back(call);
}

/// The response of a call that waited for approval, for all tasks that wait for it.
pub(crate) type Outcome = Shared<oneshot::Receiver<ToolResponse>>;

/// The tasks that wait, or may yet wait, for the response of a call.
pub(crate) struct Waiter {
    answer: oneshot::Sender<ToolResponse>,
    /// The response, as the tasks wait for it.
    outcome: Option<WeakShared<oneshot::Receiver<ToolResponse>>>,
    /// The approval that runs the call, known by its address: of many at the same time one does.
    approval: Option<Arc<str>>,
}

impl Waiter {
    pub(crate) fn answer(self, response: &ToolResponse) {
        // It fails if no task waits any more.
        let _ = self.answer.send(response.clone());
    }
}

/// A decision on a call, which holds its waiter. Dropped, it answers the waiter, or puts it back if the call has no response.
pub(crate) struct Deciding<'a> {
    requests: &'a ApprovalRequests,
    id: &'a str,
    waiter: Option<Waiter>,
    /// The approval that runs the call from now on.
    pub(crate) approval: Option<Arc<str>>,
    /// The response of a call that does not run.
    pub(crate) response: Option<ToolResponse>,
}

impl Drop for Deciding<'_> {
    fn drop(&mut self) {
        let Some(waiter) = self.waiter.take() else {
            return;
        };
        if let Some(response) = &self.response {
            return waiter.answer(response);
        }
        let waiter = Waiter {
            approval: self.approval.take(),
            ..waiter
        };
        let mut waiters = self.requests.waiters.lock();
        waiters.entry(self.id.to_owned()).or_insert(waiter);
    }
}

/// An approval that may run its call. Dropped, it leaves no waiter behind.
pub(crate) struct Approval<'a> {
    pub(crate) requests: &'a ApprovalRequests,
    pub(crate) id: Arc<str>,
}

impl Approval<'_> {
    /// Takes out the waiter, if this approval has run the call.
    pub(crate) fn take_waiter(&self) -> Option<Waiter> {
        let mut waiters = self.requests.waiters.lock();
        let approval = waiters.get(&*self.id)?.approval.as_ref()?;
        Arc::ptr_eq(approval, &self.id)
            .then(|| waiters.remove(&*self.id))
            .flatten()
    }
}

impl Drop for Approval<'_> {
    fn drop(&mut self) {
        drop(self.take_waiter());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::ToolCall;

    fn requested() -> RequestedCall {
        RequestedCall {
            session: SessionId::from("s-1"),
            incarnation: 1,
            principal: "user:7".into(),
            id: "approval-1".to_owned(),
        }
    }

    // M35
    #[test]
    fn each_request_of_a_call_gets_its_response() {
        let requests = ApprovalRequests::default();
        let outcomes = [requests.add(requested()), requests.add(requested())];
        let waiter = requests.take_waiter("approval-1").expect("tasks wait");
        let call = ToolCall::new("call_1", "pay", "{}");
        waiter.answer(&ToolResponse::outside_session(&call));
        for outcome in outcomes {
            let response = outcome.now_or_never().expect("it is there");
            assert_eq!(response.expect("an answer").meta().tool(), "pay");
        }
    }

    #[test]
    fn a_dropped_decision_leaves_the_tasks_that_wait() {
        let requests = ApprovalRequests::default();
        let outcome = requests.add(requested());
        drop(requests.decide("approval-1"));
        assert!(outcome.now_or_never().is_none(), "it waits on");
        assert!(requests.take_waiter("approval-1").is_some());
    }
}
