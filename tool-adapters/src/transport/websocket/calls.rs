//! The calls of a live conversation: those that run, and the last ones that have ended.

use crate::transport::call_note::Decision;
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
}

/// The way to deliver a response to the provider.
pub(crate) enum Delivery {
    Send {
        response: ToolResponse,
        wants_reply: bool,
    },
    /// The conversation that made the call is over.
    ConversationOver(ToolResponse),
    Withdrawn,
}

impl LiveCalls {
    /// Maximum number of remembered calls, in case the provider repeats one.
    const MAX_CALLS: usize = 64;

    pub(crate) fn new(session: Session) -> Self {
        Self { session, work: JoinSet::new(), calls: VecDeque::new() }
    }

    /// Runs a call. A call with the repeated id and the same arguments does not run again; its response is returned if it
    /// has one.
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
        if let Some(tracked) = self.calls.iter().find(is_repeated) {
            return tracked.response.clone();
        }
        if self.calls.len() >= Self::MAX_CALLS
            && let Some(at) = self.calls.iter().position(|tracked| tracked.response.is_some() || tracked.withdrawn)
        {
            self.calls.remove(at);
        }
        let (session, running) = (self.session.clone(), call.clone());
        self.work.spawn(agent.inside(async move { FinishedWork::Call(session.call(running).await) }));
        self.calls.push_back(TrackedCall { call, conversation, withdrawn: false, interrupted: false, response: None });
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

    /// Stores the response of a call, and returns the way to deliver it.
    pub(crate) fn finish(&mut self, response: ToolResponse, conversation: u64) -> Delivery {
        let id = response.meta().call_id().unwrap_or_default().to_owned();
        let mut running = self.calls.iter_mut().filter(|tracked| tracked.response.is_none());
        let Some(tracked) = running.find(|tracked| tracked.call.id() == id) else {
            return Delivery::Withdrawn;
        };
        tracked.response = Some(response.clone());
        match (tracked.withdrawn, tracked.conversation == conversation) {
            (true, _) => Delivery::Withdrawn,
            (false, false) => Delivery::ConversationOver(response),
            (false, true) => Delivery::Send { response, wants_reply: !tracked.interrupted },
        }
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
