//! The calls of a live conversation: those that run, and the last ones that have ended.

use crate::transport::host_text::Decision;
use std::collections::VecDeque;
use tokio::task::JoinSet;
use tool_core::session::Turn;
use tool_core::trace::SpanHandle;
use tool_core::{Session, ToolCall, ToolResponse};

/// Work that has finished in the background.
pub(crate) enum FinishedWork {
    Call(ToolResponse),
    Decision { response: ToolResponse, decision: Decision, mark: Option<String> },
    Turn(Turn),
}

pub(crate) struct LiveCalls {
    pub(crate) session: Session,
    work: JoinSet<FinishedWork>,
    calls: VecDeque<TrackedCall>,
}

struct TrackedCall {
    call: ToolCall,
    /// The number of the provider's conversation in which the call was made.
    conversation: u64,
    /// True if the provider does not want the result any more.
    withdrawn: bool,
    /// True if the user has interrupted the model since.
    interrupted: bool,
    response: Option<ToolResponse>,
    arrival: Arrival,
}

/// Knowledge about whether a result has reached the provider.
#[derive(PartialEq, Eq)]
enum Arrival {
    /// The result is not sent, or the model has responded since.
    Certain,
    /// It was sent. If the connection breaks, it may be lost.
    Open,
    /// It was sent again over a new connection, where the provider may also repeat the call.
    SentAgain,
}

/// The way to deliver a response to the provider.
pub(crate) enum Delivery {
    Send {
        wants_reply: bool,
    },
    /// The conversation that made the call is over.
    Late,
    Withdrawn,
}

impl LiveCalls {
    /// Maximum number of remembered calls, in case the provider repeats one.
    const MAX_CALLS: usize = 64;

    pub(crate) fn new(session: Session) -> Self {
        Self { session, work: JoinSet::new(), calls: VecDeque::new() }
    }

    /// Runs a call. A call with the repeated id and the same arguments does not run again; its response is returned if it
    /// has one that is not on its way.
    pub(crate) fn start(
        &mut self,
        call: ToolCall,
        conversation: u64,
        repeated_id: Option<&str>,
        agent: &SpanHandle,
    ) -> Option<ToolResponse> {
        let is_repeated = |tracked: &&TrackedCall| {
            Some(tracked.call.id()) == repeated_id
                && tracked.call.name() == call.name()
                && tracked.call.arguments() == call.arguments()
        };
        if let Some(at) = self.calls.iter().position(|tracked| is_repeated(&tracked)) {
            let tracked = &mut self.calls[at];
            // What was sent over this connection arrives.
            let is_sent = std::mem::replace(&mut tracked.arrival, Arrival::Open) != Arrival::Certain;
            return tracked.response.clone().filter(|_| !is_sent);
        }
        if self.calls.len() >= Self::MAX_CALLS
            && let Some(at) = self.calls.iter().position(|tracked| tracked.response.is_some() || tracked.withdrawn)
        {
            self.calls.remove(at);
        }
        let (session, running) = (self.session.clone(), call.clone());
        self.work.spawn(agent.inside(async move { FinishedWork::Call(session.call(running).await) }));
        let (withdrawn, interrupted, arrival) = (false, false, Arrival::Certain);
        self.calls.push_back(TrackedCall { call, conversation, withdrawn, interrupted, response: None, arrival });
        None
    }

    pub(crate) fn decide(&mut self, token: String, decision: Decision, agent: &SpanHandle) {
        let session = self.session.clone();
        self.work.spawn(agent.inside(async move {
            let mark = session.decision_mark(&token);
            let response = match decision {
                Decision::Approved => session.approve(&token).await,
                Decision::Denied => session.deny(&token).await,
            };
            FinishedWork::Decision { response, decision, mark }
        }));
    }

    /// Begins the next turn in the background, as the session's store may be slow.
    pub(crate) fn next_turn(&mut self) {
        let session = self.session.clone();
        self.work.spawn(async move { FinishedWork::Turn(session.next_turn().await) });
    }

    /// Waits for the next finished work. Pending forever if nothing runs.
    pub(crate) async fn next(&mut self) -> FinishedWork {
        loop {
            match self.work.join_next().await {
                Some(Ok(finished)) => return finished,
                // Not expected, as a session catches panics and its calls are not aborted.
                Some(Err(error)) => tracing::error!(%error, "lost a call"),
                None => std::future::pending().await,
            }
        }
    }

    /// Aborts all work, and waits until it has ended.
    pub(crate) async fn abort(&mut self) {
        self.work.shutdown().await;
    }

    /// Stores the response of a call. Returns the call, and the way to deliver the response.
    pub(crate) fn finish(&mut self, response: &ToolResponse, conversation: u64) -> Option<(ToolCall, Delivery)> {
        let id = response.meta().call_id().unwrap_or_default();
        let mut running = self.calls.iter_mut().filter(|tracked| tracked.response.is_none());
        let tracked = running.find(|tracked| tracked.call.id() == id)?;
        tracked.response = Some(response.clone());
        let delivery = match (tracked.withdrawn, tracked.conversation == conversation) {
            (true, _) => Delivery::Withdrawn,
            (false, false) => Delivery::Late,
            (false, true) => {
                tracked.arrival = Arrival::Open;
                Delivery::Send { wants_reply: !tracked.interrupted }
            }
        };
        Some((tracked.call.clone(), delivery))
    }

    /// Records that the provider has the results that were sent. A response that has only begun may repeat a call.
    pub(crate) fn confirm_results(&mut self, has_ended: bool) {
        for tracked in self.calls.iter_mut().filter(|tracked| has_ended || tracked.arrival == Arrival::Open) {
            tracked.arrival = Arrival::Certain;
        }
    }

    /// Returns the results that may have been lost with a connection, to be sent over the one that resumes it.
    pub(crate) fn resend(&mut self) -> Vec<ToolResponse> {
        let open = self.calls.iter_mut().filter(|tracked| tracked.arrival != Arrival::Certain && !tracked.withdrawn);
        let resent = open.filter_map(|tracked| {
            tracked.arrival = Arrival::SentAgain;
            tracked.response.clone()
        });
        resent.collect()
    }

    /// Cancels calls that the provider has withdrawn.
    pub(crate) fn withdraw(&mut self, ids: &[String]) {
        for tracked in self.calls.iter_mut().filter(|tracked| ids.iter().any(|id| id == tracked.call.id())) {
            tracked.withdrawn = true;
            self.session.cancel(tracked.call.id());
        }
    }

    pub(crate) fn was_withdrawn(&self, id: &str) -> bool {
        self.calls.iter().any(|tracked| tracked.withdrawn && tracked.call.id() == id)
    }

    /// Cancels running calls, because the user has interrupted the model.
    pub(crate) fn interrupt(&mut self) {
        self.session.interrupt();
        for tracked in self.calls.iter_mut().filter(|tracked| tracked.response.is_none()) {
            tracked.interrupted = true;
        }
    }

    /// Returns true if the provider waits for the result of a call.
    pub(crate) fn are_running(&self) -> bool {
        self.calls.iter().any(|tracked| tracked.response.is_none() && !tracked.withdrawn)
    }
}
