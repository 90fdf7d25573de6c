//! The calls of a live conversation: those that run, and the last ones that have ended.

use crate::open_decision::{DecisionOutcome, OpenDecision};
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tool_core::session::{Decision, Turn};
use tool_core::trace::SpanHandle;
use tool_core::{ErrorKind, Session, ToolCall, ToolError, ToolResponse};

/// Work that has finished in the background.
pub(crate) enum FinishedWork {
    Call(ToolResponse),
    /// A person has decided. The note for the model is there if a call waited.
    Decision {
        response: ToolResponse,
        note: Option<String>,
    },
    Turn(Turn),
}

pub(crate) struct LiveCalls {
    pub(crate) session: Session,
    work: JoinSet<FinishedWork>,
    calls: VecDeque<TrackedCall>,
    /// The decisions whose outcome is not known yet, by their numbers.
    decisions: Arc<Mutex<BTreeMap<u64, LiveDecision>>>,
    next_decision: u64,
    /// True once the conversation is over: no further approved call begins.
    is_over: Arc<AtomicBool>,
    /// The number of turns that were asked for, and of those that have begun. A call belongs to the
    /// turn before it.
    turns: u64,
    turns_begun: watch::Sender<u64>,
}

struct LiveDecision {
    decision: Decision,
    /// The call on which the person has decided, once it is looked up.
    call: Option<ToolCall>,
}

struct TrackedCall {
    call: ToolCall,
    /// The provider's id, and our id of its last repetition.
    wire_id: String,
    repeated_as: Option<String>,
    /// The number of the provider's conversation in which the call was made.
    conversation: u64,
    /// True if the provider does not want the result any more.
    withdrawn: bool,
    /// True if the user has interrupted the model since, while the call was among those that this
    /// cancels.
    interrupted: bool,
    response: Option<ToolResponse>,
    /// The number of the model's response during or before which the result was sent, while it may
    /// be lost with the connection. A later response shows that it has arrived.
    sent_in: Option<u64>,
}

/// A call that the provider has made before.
pub(crate) enum KnownCall {
    Answered(ToolResponse),
    /// It runs, or its result is on its way.
    Open,
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
        Self {
            session,
            work: JoinSet::new(),
            calls: VecDeque::new(),
            decisions: Arc::default(),
            next_decision: 0,
            is_over: Arc::default(),
            turns: 0,
            turns_begun: watch::Sender::new(0),
        }
    }

    /// Finds the call that the provider repeats in a conversation, by its id there. `response` is
    /// the number of the model's response.
    pub(crate) fn repeated(
        &mut self,
        call: &ToolCall,
        wire_id: &str,
        conversation: u64,
        response: u64,
    ) -> Option<KnownCall> {
        let is_same = |tracked: &&mut TrackedCall| {
            let known = &tracked.call;
            tracked.wire_id == wire_id
                && known.name() == call.name()
                && known.arguments() == call.arguments()
        };
        let tracked = self.calls.iter_mut().find(is_same)?;
        tracked.repeated_as = Some(call.id().to_owned());
        tracked.conversation = conversation;
        // What was sent over this connection arrives.
        let is_sent = tracked.sent_in.is_some();
        Some(match tracked.response.clone().filter(|_| !is_sent) {
            Some(answer) => {
                tracked.sent_in = Some(response);
                KnownCall::Answered(answer)
            }
            None => KnownCall::Open,
        })
    }

    /// Runs a call.
    pub(crate) fn start(
        &mut self,
        call: ToolCall,
        wire_id: String,
        conversation: u64,
        agent: &SpanHandle,
    ) {
        let session = self.session.clone();
        let running = call.clone();
        let turn = self.turns;
        let mut begun = self.turns_begun.subscribe();
        self.work.spawn(agent.inside(async move {
            // Without its sender, the conversation is over.
            let _ = begun.wait_for(|begun| *begun >= turn).await;
            FinishedWork::Call(session.call(running).await)
        }));
        self.track(call, wire_id, conversation, None, None);
    }

    /// Notes the answer to a call that is not run.
    pub(crate) fn refuse(
        &mut self,
        call: ToolCall,
        wire_id: String,
        conversation: u64,
        sent_in: u64,
        response: ToolResponse,
    ) {
        self.track(call, wire_id, conversation, Some(response), Some(sent_in));
    }

    fn track(
        &mut self,
        call: ToolCall,
        wire_id: String,
        conversation: u64,
        response: Option<ToolResponse>,
        sent_in: Option<u64>,
    ) {
        if self.calls.len() >= Self::MAX_CALLS
            && let Some(at) = self
                .calls
                .iter()
                .position(|tracked| tracked.response.is_some() || tracked.withdrawn)
        {
            self.calls.remove(at);
        }
        self.calls.push_back(TrackedCall {
            call,
            wire_id,
            repeated_as: None,
            conversation,
            withdrawn: false,
            interrupted: false,
            response,
            sent_in,
        });
    }

    /// Carries a decision out in the background. An approval that comes after the end of the
    /// conversation is answered, and its call waits on.
    pub(crate) fn decide(&mut self, decision: Decision, agent: &SpanHandle) {
        let number = self.next_decision;
        self.next_decision += 1;
        let known = LiveDecision {
            decision: decision.clone(),
            call: None,
        };
        self.decisions.lock().insert(number, known);

        let session = self.session.clone();
        let decisions = Arc::clone(&self.decisions);
        let is_over = Arc::clone(&self.is_over);
        self.work.spawn(agent.inside(async move {
            if let Ok(pending) = session.pending_call(decision.token()).await
                && let Some(known) = decisions.lock().get_mut(&number)
            {
                known.call = Some(pending.into_call());
            }
            let begins = !decision.is_approval() || !is_over.load(Ordering::SeqCst);
            let ended = if begins {
                let response = session.decide(&decision, None).await;
                decided(&session, &decision, response).await
            } else {
                given_up(&session, &decision).await
            };
            decisions.lock().remove(&number);
            ended
        }));
    }

    /// Lets no further approved call begin, as the conversation is over.
    pub(crate) fn begin_no_more(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    /// Begins the next turn in the background, as the session's store may be slow.
    pub(crate) fn next_turn(&mut self) {
        let session = self.session.clone();
        self.turns += 1;
        let number = self.turns;
        let begun = self.turns_begun.clone();
        self.work.spawn(async move {
            let turn = session.next_turn().await;
            begun.send_modify(|begun| *begun = number.max(*begun));
            FinishedWork::Turn(turn)
        });
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

    /// Cancels all calls, and waits a moment until their work has ended. Returns what has ended;
    /// the rest is aborted. A decision among it is returned too.
    pub(crate) async fn cancel_all(&mut self) -> Vec<FinishedWork> {
        const CLOSING: Duration = Duration::from_secs(1);
        self.begin_no_more();
        for tracked in self
            .calls
            .iter()
            .filter(|tracked| tracked.response.is_none())
        {
            self.session.cancel(tracked.call.id());
        }
        for known in self.decisions.lock().values() {
            if let Some(call) = &known.call {
                self.session.cancel(call.id());
            }
        }
        let mut ended = Vec::new();
        let work = &mut self.work;
        let drain = async {
            while let Some(finished) = work.join_next().await {
                ended.extend(finished);
            }
        };
        // Work that ignores its cancellation is aborted.
        let _ = timeout(CLOSING, drain).await;
        self.work.shutdown().await;
        let left = mem::take(&mut *self.decisions.lock());
        for known in left.into_values() {
            ended.push(cut_off(&self.session, known).await);
        }
        ended
    }

    /// Forgets all calls, and returns those that have no response.
    pub(crate) fn take_unanswered(&mut self) -> Vec<ToolCall> {
        let unanswered = self
            .calls
            .drain(..)
            .filter(|tracked| tracked.response.is_none());
        unanswered.map(|tracked| tracked.call).collect()
    }

    /// Stores the response of a call. Returns the call, and the way to deliver the response, which
    /// is sent during or after the model's response of that number.
    pub(crate) fn finish(
        &mut self,
        response: &ToolResponse,
        conversation: u64,
        sent_in: u64,
    ) -> Option<(ToolCall, Delivery)> {
        let id = response.meta().call_id().unwrap_or_default();
        let mut running = self
            .calls
            .iter_mut()
            .filter(|tracked| tracked.response.is_none());
        let tracked = running.find(|tracked| tracked.call.id() == id)?;
        tracked.response = Some(response.clone());
        let delivery = match (tracked.withdrawn, tracked.conversation == conversation) {
            (true, _) => Delivery::Withdrawn,
            (false, false) => Delivery::Late,
            (false, true) => {
                tracked.sent_in = Some(sent_in);
                Delivery::Send {
                    wants_reply: !(tracked.interrupted && is_cancelled(response)),
                }
            }
        };
        Some((tracked.call.clone(), delivery))
    }

    /// Records that the provider has the results to which the model's response of a number may
    /// belong.
    pub(crate) fn confirm_results(&mut self, response: u64) {
        for tracked in self
            .calls
            .iter_mut()
            .filter(|tracked| tracked.sent_in.is_some_and(|sent| sent < response))
        {
            tracked.sent_in = None;
        }
    }

    /// Records that no result is lost, as the history has them all.
    pub(crate) fn confirm_all_results(&mut self) {
        self.confirm_results(u64::MAX);
    }

    /// Returns the results that may have been lost with a connection, to be sent over the one that
    /// resumes it.
    pub(crate) fn resend(&mut self, sent_in: u64) -> Vec<ToolResponse> {
        let open = self
            .calls
            .iter_mut()
            .filter(|tracked| tracked.sent_in.is_some() && !tracked.withdrawn);
        let resent = open.filter_map(|tracked| {
            tracked.sent_in = Some(sent_in);
            tracked.response.clone()
        });
        resent.collect()
    }

    /// Cancels calls that the provider has withdrawn.
    pub(crate) fn withdraw(&mut self, ids: &[String]) {
        let is_withdrawn = |tracked: &TrackedCall| {
            ids.iter()
                .any(|id| id == tracked.call.id() || Some(id) == tracked.repeated_as.as_ref())
        };
        for tracked in self
            .calls
            .iter_mut()
            .filter(|tracked| is_withdrawn(tracked))
        {
            tracked.withdrawn = true;
            self.session.cancel(tracked.call.id());
        }
    }

    pub(crate) fn was_withdrawn(&self, id: &str) -> bool {
        self.calls
            .iter()
            .any(|tracked| tracked.withdrawn && tracked.call.id() == id)
    }

    /// Cancels the calls for whose answers the model waits, because the user has begun to speak. What
    /// goes on in the background, or was approved by a person, is not what the user interrupts.
    pub(crate) fn interrupt_awaited(&mut self) {
        self.session.interrupt_awaited();
        for tracked in self
            .calls
            .iter_mut()
            .filter(|tracked| tracked.response.is_none())
        {
            tracked.interrupted = true;
        }
    }

    /// Cancels running calls, because the host asks for it.
    pub(crate) fn interrupt(&mut self) {
        self.session.interrupt();
        for tracked in &mut self.calls {
            tracked.interrupted = true;
        }
    }

    /// Returns true if an interruption has ended a call that the model had an answer of.
    pub(crate) fn was_interrupted(&self, id: &str, end: &ToolResponse) -> bool {
        is_cancelled(end)
            && self
                .calls
                .iter()
                .any(|tracked| tracked.interrupted && tracked.call.id() == id)
    }

    /// Returns true if a call has no response yet.
    pub(crate) fn is_running(&self, id: &str) -> bool {
        self.calls
            .iter()
            .any(|tracked| tracked.response.is_none() && tracked.call.id() == id)
    }

    /// Returns true if the provider waits for the result of a call.
    pub(crate) fn are_running(&self) -> bool {
        self.calls
            .iter()
            .any(|tracked| tracked.response.is_none() && !tracked.withdrawn)
    }
}

/// Answers a decision that the conversation was too short for.
async fn cut_off(session: &Session, known: LiveDecision) -> FinishedWork {
    let LiveDecision { decision, call } = known;
    let Some(call) = call else {
        return given_up(session, &decision).await;
    };
    let open = OpenDecision { decision, call };
    let response = open.outcome(session).await;
    let response = response.unwrap_or_else(|| {
        let message = "the conversation ended before the outcome of the call was known";
        session.refuse(&open.call, ToolError::unknown(message))
    });
    decided(session, &open.decision, response).await
}

/// Answers a decision that is not carried out, as the conversation is over. Its call waits on.
async fn given_up(session: &Session, decision: &Decision) -> FinishedWork {
    let response = match session.check_decision(decision).await {
        Ok(pending) => {
            let message = "the conversation ended before the call ran, and the call waits for another decision";
            session.refuse(&pending.into_call(), ToolError::cancelled(message))
        }
        Err(response) => *response,
    };
    decided(session, decision, response).await
}

/// Returns the outcome of a decision, with its note for the model.
async fn decided(session: &Session, decision: &Decision, response: ToolResponse) -> FinishedWork {
    let outcome = DecisionOutcome::of(session, decision, response).await;
    let note = outcome.note(session, decision);
    FinishedWork::Decision {
        response: outcome.response,
        note,
    }
}

fn is_cancelled(response: &ToolResponse) -> bool {
    response
        .error()
        .is_some_and(|error| error.kind == ErrorKind::Cancelled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::held_store::HeldStore;
    use crate::websocket::events::LiveEvent;
    use crate::websocket::live_loop::LiveLoop;
    use crate::websocket::model::LiveModel;
    use futures_util::FutureExt;
    use tool_adapters_providers::Provider;
    use tool_core::session::HookedCall;
    use tool_core::trace::SpanKind;
    use tool_core::{Mode, Policy, RunContext, Runtime, ToolContext, tool};

    /// Ship the order.
    #[tool(category = "action", confirm)]
    async fn ship(ctx: &RunContext) {
        ctx.update("shipping");
        std::future::pending::<()>().await;
    }

    /// Asks a person whether an order is shipped. Returns the token, too.
    async fn asked(runtime: &Runtime) -> (LiveCalls, String) {
        let session = runtime.session("s-1", Mode::Voice).await.expect("opens");
        let asked = session.call(ToolCall::new("c1", "ship", "{}")).await;
        let token = asked.meta().confirmation().expect("waits").token.clone();
        (LiveCalls::new(session), token)
    }

    fn approve(calls: &mut LiveCalls, token: &str) {
        let span = SpanHandle::open_if_wanted(SpanKind::Agent, "agent");
        calls.decide(Decision::approve(token), &span);
    }

    /// Lets what was begun run on.
    async fn run_on() {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }

    /// Begins to ship an order that a person has approved. Its call runs if no hook holds it up.
    async fn shipping(runtime: &Runtime) -> LiveCalls {
        let (mut calls, token) = asked(runtime).await;
        approve(&mut calls, &token);
        run_on().await;
        calls
    }

    /// Ends the only decision. Returns its response and its note.
    async fn ended(mut calls: LiveCalls) -> (ToolResponse, String) {
        match calls.cancel_all().await.pop() {
            Some(FinishedWork::Decision { response, note }) => (response, note.expect("a note")),
            _ => panic!("no decision"),
        }
    }

    /// Cancel the booking.
    #[tool(category = "action", confirm)]
    fn cancel_booking(number: u32) -> u32 {
        number
    }

    /// Decides on a call in a conversation that fails at once. Returns the answer, and whether the
    /// call waits on.
    async fn decided_before_a_failure(approves: bool) -> (ToolResponse, bool) {
        let tools = ToolContext::builder().with(cancel_booking).build();
        let runtime = Runtime::builder(tools.expect("builds")).build();
        let session = runtime.expect("builds").session("s-1", Mode::Voice);
        let session = session.await.expect("opens");
        let asked = session.call(ToolCall::new("c1", "cancel_booking", r#"{"number": 7}"#));
        let asked = asked.await;
        let token = &asked.meta().confirmation().expect("waits").token;

        // Mistral has no live models, so the conversation fails at once.
        let model = LiveModel::new(Provider::Mistral, "mistral-large");
        let mut live = LiveLoop::start(session.clone(), model);
        let decision = if approves {
            Decision::approve(token)
        } else {
            Decision::deny(token)
        };
        live.input().decide(decision).await.expect("accepted");
        let Some(LiveEvent::Answered(response)) = live.next().await else {
            panic!("no answer");
        };
        assert!(matches!(live.next().await, Some(LiveEvent::Failed(_))));
        (response, session.pending_call(token).await.is_ok())
    }

    #[tokio::test]
    async fn an_approval_before_a_failure_is_left_to_the_next() {
        let (response, waits) = decided_before_a_failure(true).await;
        assert!(is_cancelled(&response), "{response}");
        assert!(waits);
    }

    #[tokio::test]
    async fn a_denial_before_a_failure_is_carried_out() {
        let (response, waits) = decided_before_a_failure(false).await;
        let kind = response.error().map(|error| error.kind);
        assert_eq!(kind, Some(ErrorKind::Denied));
        assert!(!waits);
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_decision_leaves_the_first_one_known() {
        let tools = ToolContext::builder().with(ship).build().expect("builds");
        let runtime = Runtime::builder(tools).build().expect("builds");
        let (mut calls, token) = asked(&runtime).await;
        approve(&mut calls, &token);
        run_on().await;
        approve(&mut calls, &token);
        let FinishedWork::Decision { response, .. } = calls.next().await else {
            panic!("no decision");
        };
        let kind = response.error().map(|error| error.kind);
        assert_eq!(kind, Some(ErrorKind::NotFound));

        let (response, note) = ended(calls).await;
        assert!(is_cancelled(&response), "{response}");
        assert!(note.contains("`ship`"), "{note}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_decision_that_a_slow_store_holds_up_is_told() {
        let store = HeldStore::default();
        let tools = ToolContext::builder().with(ship).build().expect("builds");
        let runtime = Runtime::builder(tools)
            .policy(Policy::voice().store_deadline(Duration::from_secs(10)))
            .store(store.clone())
            .build();
        let (mut calls, token) = asked(&runtime.expect("builds")).await;
        store.slow(Duration::from_millis(1_500));
        approve(&mut calls, &token);
        let (response, note) = ended(calls).await;
        assert!(is_cancelled(&response), "{response}");
        assert!(note.contains("waits for another one"), "{note}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_approved_call_is_cancelled_at_the_end() {
        let tools = ToolContext::builder().with(ship).build().expect("builds");
        let runtime = Runtime::builder(tools).build().expect("builds");
        let (response, note) = ended(shipping(&runtime).await).await;
        assert!(is_cancelled(&response), "{response}");
        assert!(note.contains("`ship`"), "{note}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_decision_that_is_cut_off_at_the_end_is_told() {
        let tools = ToolContext::builder().with(ship).build().expect("builds");
        let runtime = Runtime::builder(tools)
            .before(async |_: HookedCall<'_>| std::future::pending::<Result<(), ToolError>>().await)
            .build();
        let runtime = runtime.expect("builds");
        let (response, note) = ended(shipping(&runtime).await).await;
        assert!(is_cancelled(&response), "{response}");
        assert!(note.contains("waits for another one"), "{note}");
    }

    #[tokio::test]
    async fn an_approved_call_that_is_refused_is_told_to_wait() {
        let tools = ToolContext::builder().with(ship).build().expect("builds");
        let runtime = Runtime::builder(tools)
            .before(async |_: HookedCall<'_>| Err::<(), _>(ToolError::transient("too busy")))
            .build();
        let mut calls = shipping(&runtime.expect("builds")).await;
        let FinishedWork::Decision { note, .. } = calls.next().await else {
            panic!("no decision");
        };
        let note = note.expect("a note");
        assert!(note.contains("was not run and waits"), "{note}");
    }

    #[tokio::test]
    async fn call_waits_until_its_turn_has_begun() {
        let runtime = Runtime::builder(ToolContext::builder().build().expect("builds"))
            .build()
            .expect("builds");
        let mut calls = LiveCalls::new(runtime.session("s-1", Mode::Voice).await.expect("opens"));
        // A turn was asked for, and the store is slow.
        calls.turns = 1;
        calls.start(
            ToolCall::new("c1", "add", "{}"),
            "c1".to_owned(),
            1,
            &SpanHandle::open_if_wanted(SpanKind::Agent, "agent"),
        );
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert!(calls.next().now_or_never().is_none());
        calls.turns_begun.send_replace(1);
        assert!(matches!(calls.next().await, FinishedWork::Call(_)));
    }
}
