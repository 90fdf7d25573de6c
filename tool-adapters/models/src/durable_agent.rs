//! Agents whose conversation an engine for durable execution runs.

use crate::agent::AgentLoop;
use crate::conversation_log::ConversationLog;
use crate::open_agent_error::OpenAgentError;
use crate::opened_agent::{in_order_of_calls, load_complete};
use crate::recording_steps::RecordingSteps;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tool_core::call::{Confirmation, ErrorKind};
use tool_core::session::{
    ConversationKey, Decision, DurableSteps, DynHistoryStore, History, HistoryStoreError, Message,
    Model, NOTE, Reply, ReplyFinish, SessionBuilder, decision_note, record,
};
use tool_core::time::whole_milliseconds;
use tool_core::{Session, ToolCall, ToolError, ToolResponse};

/// The longest time that a signal is waited for.
const MAX_WAIT: Duration = Duration::from_secs(366 * 24 * 3_600);

/// The time before the end of an approval at which the wait for a decision ends, so that the call can still be denied then.
const END_BEFORE: Duration = Duration::from_secs(5);

/// The time by which the clocks of two processes may differ.
const CLOCK_DIFFERENCE: Duration = Duration::from_secs(60);

/// The state of the conversation when the first run of a function opened it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Opening {
    /// The number of messages.
    stored: u64,
    /// The time, in milliseconds since 1970.
    at: u64,
}

impl Opening {
    fn new(found: &[Message]) -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            stored: found.len() as u64,
            at: whole_milliseconds(since_1970.unwrap_or_default()),
        }
    }

    /// Returns a time before which no call of the function has begun.
    fn before_its_calls(&self) -> SystemTime {
        let opened = UNIX_EPOCH + Duration::from_millis(self.at);
        opened.checked_sub(CLOCK_DIFFERENCE).unwrap_or(UNIX_EPOCH)
    }
}

/// # Durable conversations
impl<M: Model> AgentLoop<M> {
    /// Opens a conversation in a store, as [`open`](Self::open) does, in a function that an engine runs. If the process ends,
    /// the engine runs the function again, and the conversation goes on where it was.
    ///
    /// The engine records each answer of the model, each call, each decision and each check of a guard. So no model is asked
    /// twice, and a call that has ended does not run again. A call that was running is answered from the runtime's
    /// [journal](tool_core::session::Journal), and otherwise with `UNKNOWN`, as an action may have taken effect. Give the runtime
    /// a journal, a store that outlives the process, and a signing key.
    ///
    /// The function has to do the same each time that it runs: open the conversation first, give it the same settings and the
    /// same messages, and decide nothing by the time or by what another program may change. Use
    /// [`decided`](Self::decided) to wait for persons.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tool_adapters::agent::{AgentLoop, Decision};
    /// use tool_core::serde_json::{self, json};
    /// use tool_core::session::{MemoryStore, PlainSteps};
    /// use tool_core::testing::ScriptedModel;
    /// use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
    ///
    /// /// Cancel a booking.
    /// #[tool(category = "action", confirm)]
    /// fn cancel(number: u32) -> String {
    ///     format!("booking {number} is cancelled")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = Arc::new(MemoryStore::new());
    /// let tools = ToolContext::builder().with(cancel).build()?;
    /// let runtime = Runtime::builder(tools).store(store.clone()).build()?;
    /// let session = move || runtime.session("chat-42", Mode::Text).principal("user:7");
    /// let model = ScriptedModel::new()
    ///     .calls([ToolCall::new("call_1", "cancel", json!({"number": 12}))])
    ///     .says("Shall I cancel booking 12?")
    ///     .says("It is cancelled.");
    ///
    /// let steps = Arc::new(PlainSteps::new()); // or those of an engine
    /// let mut agent = AgentLoop::open_durable(steps.clone(), store, "chat-42", session, model).await?;
    /// let reply = agent.prompt("Cancel my booking 12").await;
    ///
    /// // Another program, perhaps days later:
    /// let token = reply.confirmations().next().ok_or("it waits")?.token.clone();
    /// let decision = serde_json::to_string(&Decision::approve(&token).by("staff:eve"))?;
    /// steps.send(Decision::signal_name(&token), decision);
    ///
    /// let reply = agent.decided(reply).await;
    /// assert_eq!(reply.text.as_deref(), Some("It is cancelled."));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open). The session must not have
    /// [`background_answers`](SessionBuilder::background_answers), since a call in the background is no step.
    pub async fn open_durable(
        steps: Arc<dyn DurableSteps>,
        store: impl DynHistoryStore + 'static,
        id: impl AsRef<str>,
        session: impl Fn() -> SessionBuilder + Send + Sync + 'static,
        model: M,
    ) -> Result<Self, OpenAgentError> {
        let store: Arc<dyn DynHistoryStore> = Arc::new(store);
        let opened = session().await?;
        if opened.has_background_answers() {
            let message =
                "its session has `background_answers`, and a call in the background is no step";
            return Err(OpenAgentError::Durable(ToolError::permanent(message)));
        }
        let key = ConversationKey::new(id, opened.principal());
        let opening = async {
            let found = load_complete(&*store, &key, &opened).await;
            let found = found.map_err(|error| ToolError::transient(error.to_string()))?;
            opened.forget_lost();
            Ok(Opening::new(&found))
        };
        let opening = record(&*steps, "open", opening).await;
        let opening = opening.map_err(OpenAgentError::Durable)?;
        let stored = opening.stored;

        // What comes after these, an earlier run of the function has said. This run says it again.
        let found = store.load(&key, 0).await?;
        let mut messages = found.map(|found| found.messages).unwrap_or_default();
        let found = messages.len() as u64;
        if found < stored {
            return Err(OpenAgentError::History(HistoryStoreError::Conflict {
                conversation: key.id().to_owned(),
                expected: stored,
                found,
            }));
        }
        let said_before = messages.split_off(usize::try_from(stored).unwrap_or(usize::MAX));
        // A later call may have the id of one that the messages answer, if the history was shortened meanwhile.
        opened.forget_answered(&messages, opening.before_its_calls());
        let mut history = History::new();
        history.extend(in_order_of_calls(messages));

        let mut agent = Self::with_history(opened, model, history);
        let log = ConversationLog::resumed(store, key, stored, said_before);
        agent.store_in(log, Box::new(session));
        agent.steps = Some(RecordingSteps(steps));
        Ok(agent)
    }

    /// Waits for the decisions of persons on the calls of a reply that wait for approval, carries them out, and lets the model
    /// go on, until no call waits. Returns the last reply.
    ///
    /// Each decision comes as the signal [`Decision::signal_name`], whose value is the JSON of a [`Decision`]. It may come after
    /// days and to another process. If none comes until a few seconds before the approval expires, the call is denied, and the
    /// model learns that it did not run. If the call waits no more then, since another program has decided on it without a signal or
    /// its session was idle for longer than the policy's [`idle_timeout`](tool_core::Policy::idle_timeout), the model learns what
    /// the journal knows of it. If an approved call makes others that need an approval, these are waited for, too.
    ///
    /// If a decision has invalid arguments or is one on another call, or if the approved call is refused before it runs, the call
    /// waits on for the next signal of the same name.
    ///
    /// If the engine cannot wait, for example because the conversation was cancelled, the reply comes back with the engine's
    /// error, and its calls wait on.
    ///
    /// Without an engine the reply comes back as it is. See [`open_durable`](Self::open_durable) for an example.
    pub async fn decided(&mut self, mut reply: Reply) -> Reply {
        let Some(steps) = self.steps.clone() else {
            return reply;
        };
        loop {
            match self.wait_for_decisions(&*steps.0, &mut reply).await {
                Ok(true) => reply = self.resume().await,
                Ok(false) => return reply,
                Err(error) => {
                    reply.finish = ReplyFinish::Failed;
                    reply.error = Some(error.into());
                    return reply;
                }
            }
        }
    }

    /// Waits for decisions on the calls of a reply that wait, and adds their responses to it. Returns false if none waits. Fails
    /// if the engine does.
    async fn wait_for_decisions(
        &mut self,
        steps: &dyn DurableSteps,
        reply: &mut Reply,
    ) -> Result<bool, ToolError> {
        let asked = reply.responses.iter().flat_map(awaited_calls).collect();
        let asked = identified(asked, self.session(), steps).await?;
        let mut waiting = VecDeque::from(asked);
        let has_some = !waiting.is_empty();
        while let Some(call) = waiting.pop_front() {
            if let Some(response) = self.wait_for_decision(steps, &call).await? {
                let nested = awaited_calls(&response);
                let nested = identified(nested, self.session(), steps).await?;
                waiting.extend(nested);
                reply.responses.push(response);
            }
        }
        Ok(has_some)
    }

    /// Waits for a decision on a call, and carries it out. Returns its response, unless the call waits no more. Fails if the
    /// engine does.
    async fn wait_for_decision(
        &mut self,
        steps: &dyn DurableSteps,
        call: &AwaitedCall,
    ) -> Result<Option<ToolResponse>, ToolError> {
        let confirmation = &call.confirmation;
        let name = Decision::signal_name(&confirmation.token);
        loop {
            let time = time_left(confirmation, steps.now().await?);
            let Some(value) = steps.signal(&name, time).await? else {
                let session = self.session().clone();
                let note = record(steps, "no decision", call.end(&session)).await?;
                self.give_up_waiting(note).await;
                return Ok(None);
            };
            let decision = serde_json::from_str::<Decision>(&value).ok();
            let Some(decision) = decision.filter(|found| found.token() == confirmation.token)
            else {
                continue;
            };
            let response = self.decide(&decision).await;
            match CallAfterDecision::of(&response) {
                CallAfterDecision::Decided => return Ok(Some(response)),
                CallAfterDecision::WaitsOn => {}
                CallAfterDecision::Gone => {
                    // A session that was idle for too long is open again.
                    self.add(Message::user(gone_note(confirmation)));
                    return Ok(None);
                }
            }
        }
    }

    /// Tells the model that a call waits no more. If its session was idle for too long meanwhile, it is opened again.
    async fn give_up_waiting(&mut self, note: String) {
        self.add(Message::user(note));
        if !self.session().was_ended() {
            self.open_again().await;
        }
    }
}

/// A call that waits for a decision.
struct AwaitedCall {
    confirmation: Confirmation,
    /// The id of the call. Empty if a tool has made it, and it is not looked up or did not wait any more.
    call_id: String,
}

/// Returns the calls that a response waits for.
fn awaited_calls(response: &ToolResponse) -> Vec<AwaitedCall> {
    let meta = response.meta();
    let mut awaited = Vec::new();
    if let Some(confirmation) = meta.confirmation() {
        awaited.push(AwaitedCall {
            confirmation: confirmation.clone(),
            call_id: meta.call_id().unwrap_or_default().to_owned(),
        });
    }
    for confirmation in meta.nested_confirmations() {
        awaited.push(AwaitedCall {
            confirmation: confirmation.clone(),
            call_id: String::new(),
        });
    }
    awaited
}

/// Looks up the ids of the calls that tools have made, while these wait.
async fn identified(
    mut calls: Vec<AwaitedCall>,
    session: &Session,
    steps: &dyn DurableSteps,
) -> Result<Vec<AwaitedCall>, ToolError> {
    for call in &mut calls {
        if call.call_id.is_empty() {
            let id = record(steps, "awaited call", call.find_id(session)).await?;
            call.call_id = id;
        }
    }
    Ok(calls)
}

impl AwaitedCall {
    /// Returns the id of the call. Empty if it does not wait any more.
    async fn find_id(&self, session: &Session) -> Result<String, ToolError> {
        match session.pending_call(&self.confirmation.token).await {
            Ok(pending) => Ok(pending.call_id),
            Err(error) if error.kind() == ErrorKind::Transient => Err(error),
            Err(_) => Ok(String::new()),
        }
    }

    /// Denies the call, as no decision has come in time. Returns the note for the model, also about a call that waits no more.
    async fn end(&self, session: &Session) -> Result<String, ToolError> {
        let denied = session.deny_undecided(&self.confirmation.token).await;
        match denied.error() {
            Some(error) if error.kind == ErrorKind::Denied => Ok(expiry_note(&self.confirmation)),
            Some(error) if error.kind == ErrorKind::Transient => {
                Err(ToolError::transient(error.message.clone()))
            }
            _ => self.end_elsewhere(session).await,
        }
    }

    /// Returns the note about a call that another program has decided on, or that has expired.
    async fn end_elsewhere(&self, session: &Session) -> Result<String, ToolError> {
        if self.call_id.is_empty() {
            return Ok(lost_note(&self.confirmation));
        }
        let call = ToolCall::new(&self.call_id, &self.confirmation.tool, "");
        let answered = session.answer_lost(&call).await;
        // It may still be running.
        let response = answered.map_err(|error| ToolError::transient(error.message()))?;

        let kind = response.error().map(|error| error.kind);
        let mark = session.decision_mark(&self.confirmation.token);
        let note = match mark {
            Some(mark) if kind != Some(ErrorKind::Unknown) => decision_note(&response, true, &mark),
            _ => None,
        };
        Ok(note.unwrap_or_else(|| lost_note(&self.confirmation)))
    }
}

/// A call that has waited for a decision, once one has come.
enum CallAfterDecision {
    /// The decision was carried out.
    Decided,
    /// The decision could not be carried out, and the call waits for another one.
    WaitsOn,
    /// The call did not wait any more, for example because its session was idle for too long.
    Gone,
}

impl CallAfterDecision {
    fn of(response: &ToolResponse) -> Self {
        if !response.meta().tool().is_empty() {
            return Self::Decided;
        }
        match response.error().map(|error| error.kind) {
            Some(ErrorKind::NotFound | ErrorKind::SessionInactive) => Self::Gone,
            _ => Self::WaitsOn,
        }
    }
}

fn time_left(confirmation: &Confirmation, now: SystemTime) -> Duration {
    let expires = confirmation.expiry();
    let left = expires.and_then(|expires| expires.duration_since(now).ok());
    let left = left.unwrap_or_default();
    let margin = END_BEFORE.min(left / 10);
    left.saturating_sub(margin).min(MAX_WAIT)
}

fn expiry_note(confirmation: &Confirmation) -> String {
    let tool = confirmation.tool.escape_debug();
    format!(
        "{NOTE} The call of `{tool}` that waited for a person was not run: no decision has come in time."
    )
}

fn lost_note(confirmation: &Confirmation) -> String {
    let tool = confirmation.tool.escape_debug();
    format!(
        "{NOTE} The call of `{tool}` does not wait for a person any more, and no decision on it has come here. It is unknown whether \
         it has run: find out before you make it again."
    )
}

fn gone_note(confirmation: &Confirmation) -> String {
    let tool = confirmation.tool.escape_debug();
    format!(
        "{NOTE} The decision of a person on the call of `{tool}` came too late: the call does not wait any more, and the \
         decision did not run it."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::InterruptHandle;
    use crate::held_store::HeldStore;
    use futures_util::StreamExt;
    use futures_util::future::BoxFuture;
    use parking_lot::Mutex;
    use serde_json::{Value, json};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use tokio::sync::watch;
    use tool_core::session::{
        AnswerVerdict, GuardedAnswer, Guards, HistoryStore, HookedCall, Journal, JournalEntry,
        JournalError, JournalStart, Keep, MemoryStore, PlainSteps, RecoveredCall,
    };
    use tool_core::testing::ScriptedModel;
    use tool_core::{Mode, Policy, RunContext, Runtime, ToolContext, tool};

    const ID: &str = "chat-42";

    /// Find a table.
    #[tool(category = "retrieval")]
    fn find_table(seats: u32) -> u32 {
        seats + 1
    }

    /// Cancel a booking.
    #[tool(category = "action", confirm)]
    fn cancel(number: u32) -> u32 {
        number
    }

    /// Close the restaurant.
    #[tool(category = "action", confirm)]
    async fn close(ctx: &RunContext) -> &'static str {
        let arguments = json!({"number": 12});
        let _ = ctx.call("cancel", arguments.to_string()).await;
        "closed"
    }

    /// Book a table.
    #[tool(category = "action")]
    fn book(seats: u32) -> u32 {
        seats
    }

    /// The journal of a process before which others have recorded calls.
    struct EarlierCalls(Vec<RecoveredCall>);

    impl Journal for EarlierCalls {
        async fn started(&self, _: &JournalEntry) -> Result<JournalStart, JournalError> {
            Ok(JournalStart::Recorded)
        }

        async fn finished(&self, _: &str, _: &str, _: &str) -> Result<(), JournalError> {
            Ok(())
        }

        async fn recover(&self, _: &str) -> Result<Vec<RecoveredCall>, JournalError> {
            Ok(self.0.clone())
        }

        async fn forget(&self, _: &str) -> Result<(), JournalError> {
            Ok(())
        }
    }

    /// An engine, whose log outlives the runs of its function.
    #[derive(Clone, Default)]
    struct Engine {
        log: Arc<Mutex<Vec<String>>>,
        names: Arc<Mutex<Vec<String>>>,
    }

    impl Engine {
        /// Begins a run whose function ends, as a killed process does, instead of running the step of this place.
        fn run(&self, stop_at: Option<usize>) -> Arc<EngineRun> {
            Arc::new(EngineRun {
                engine: self.clone(),
                next: AtomicUsize::new(0),
                stop_at,
                is_over: watch::Sender::new(false),
            })
        }

        /// Lets the decisions so far be old ones.
        fn date_decisions_back(&self) {
            let names = self.names.lock();
            let mut log = self.log.lock();
            for (name, recorded) in names.iter().zip(log.iter_mut()) {
                if name == "decision" {
                    let mut decided = serde_json::from_str::<Value>(recorded).expect("JSON");
                    decided["decided_at"]["secs_since_epoch"] = json!(0);
                    *recorded = decided.to_string();
                }
            }
        }
    }

    struct EngineRun {
        engine: Engine,
        next: AtomicUsize,
        stop_at: Option<usize>,
        is_over: watch::Sender<bool>,
    }

    impl EngineRun {
        async fn stop<T>(&self) -> T {
            self.is_over.send_replace(true);
            std::future::pending().await
        }

        /// Runs the function until it stops.
        async fn until_it_stops(&self, function: impl Future) {
            let mut is_over = self.is_over.subscribe();
            tokio::select! {
                _ = function => panic!("it ends before the step"),
                _ = is_over.wait_for(|is_over| *is_over) => {}
            }
            // What the function has said by then is stored.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    impl DurableSteps for EngineRun {
        fn step<'a>(
            &'a self,
            name: &'a str,
            work: BoxFuture<'a, Result<String, ToolError>>,
        ) -> BoxFuture<'a, Result<String, ToolError>> {
            Box::pin(async move {
                let place = self.next.fetch_add(1, Ordering::SeqCst);
                let recorded = self.engine.log.lock().get(place).cloned();
                if let Some(recorded) = recorded {
                    assert_eq!(self.engine.names.lock()[place], name, "the same steps");
                    return Ok(recorded);
                }
                if self.stop_at == Some(place) {
                    return self.stop().await;
                }
                let Ok(text) = work.await else {
                    return self.stop().await;
                };
                self.engine.log.lock().push(text.clone());
                self.engine.names.lock().push(name.to_owned());
                Ok(text)
            })
        }

        fn signal<'a>(
            &'a self,
            _name: &'a str,
            _time: Duration,
        ) -> BoxFuture<'a, Result<Option<String>, ToolError>> {
            Box::pin(std::future::ready(Err(ToolError::transient(
                "the workflow was cancelled",
            ))))
        }

        fn sleep(&self, _time: Duration) -> BoxFuture<'_, Result<(), ToolError>> {
            Box::pin(self.stop())
        }
    }

    /// A program whose store outlives its runs.
    #[derive(Clone, Default)]
    struct Host {
        store: Arc<MemoryStore>,
        guards: Guards,
        policy: Option<Policy>,
        /// The calls that earlier processes have recorded.
        journal: Vec<RecoveredCall>,
        /// The errors with which a hook refuses the next approved calls.
        refusals: Arc<Mutex<Vec<ToolError>>>,
    }

    impl Host {
        async fn open(
            &self,
            steps: Arc<dyn DurableSteps>,
            script: ScriptedModel,
        ) -> AgentLoop<ScriptedModel> {
            self.open_in(self.runtime(), steps, script).await
        }

        /// Creates the runtime of a process.
        fn runtime(&self) -> Runtime {
            let tools = ToolContext::builder()
                .with(find_table)
                .with(cancel)
                .with(close)
                .with(book);
            let refusals = Arc::clone(&self.refusals);
            let mut runtime = Runtime::builder(tools.build().expect("builds"))
                .policy(self.policy.clone().unwrap_or_else(Policy::text))
                .store(Arc::clone(&self.store))
                .guards(self.guards.clone())
                .before(async move |_: HookedCall<'_>| {
                    let refusal = refusals.lock().pop();
                    refusal.map_or(Ok(()), Err)
                })
                .signing_key([7; 32]);
            if !self.journal.is_empty() {
                runtime = runtime.journal(EarlierCalls(self.journal.clone()));
            }
            runtime.build().expect("builds")
        }

        async fn open_in(
            &self,
            runtime: Runtime,
            steps: Arc<dyn DurableSteps>,
            script: ScriptedModel,
        ) -> AgentLoop<ScriptedModel> {
            let session = move || runtime.session(ID, Mode::Text).principal("user:7");
            let store = Arc::clone(&self.store);
            let opened = AgentLoop::open_durable(steps, store, ID, session, script).await;
            opened.expect("opens")
        }

        async fn stored(&self) -> Vec<Message> {
            let key = ConversationKey::new(ID, "user:7");
            let found = HistoryStore::load(&*self.store, &key, 0).await;
            found.expect("loads").expect("a conversation").messages
        }
    }

    fn finding(id: &str) -> ToolCall {
        ToolCall::new(id, "find_table", json!({"seats": 2}))
    }

    fn cancelling() -> ToolCall {
        ToolCall::new("c1", "cancel", json!({"number": 12}))
    }

    // M35
    #[tokio::test]
    async fn a_run_that_was_killed_at_any_step_goes_on() {
        let script = || ScriptedModel::new().calls([finding("c1")]).says("Table 3.");
        let whole = Engine::default();
        let host = Host::default();
        let mut agent = host.open(whole.run(None), script()).await;
        let wanted = agent.prompt("For two?").await;
        let messages = host.stored().await;
        let names = whole.names.lock().clone();
        assert_eq!(
            names,
            ["open", "turn", "model 1", "call c1", "model 2", "stored"]
        );

        for place in 0..names.len() {
            let host = Host::default();
            let engine = Engine::default();
            let run = engine.run(Some(place));
            let function = async {
                let mut agent = host.open(run.clone(), script()).await;
                agent.prompt("For two?").await
            };
            run.until_it_stops(function).await;

            // The next run asks the model for nothing that is recorded.
            let answered = engine
                .names
                .lock()
                .iter()
                .filter(|name| name.starts_with("model"))
                .count();
            let left = match answered {
                0 => script(),
                1 => ScriptedModel::new().says("Table 3."),
                _ => ScriptedModel::new(),
            };
            let mut agent = host.open(engine.run(None), left).await;
            let reply = agent.prompt("For two?").await;
            assert_eq!(reply.text, wanted.text, "{place}");
            assert_eq!(reply.responses[0].data_json(), Some("3"), "{place}");
            assert_eq!(host.stored().await, messages, "{place}");
            assert_eq!(agent.history().messages(), messages, "{place}");
            assert_eq!(agent.session().turn(), 1, "{place}");
            agent.model_mut().assert_done();
        }
    }

    #[tokio::test]
    async fn a_turn_that_was_not_begun_begins_with_the_next_message() {
        let host = Host::default();
        let run = Engine::default().run(Some(1));
        let script = ScriptedModel::new().says("Hello");
        let mut agent = host.open(run.clone(), script).await;
        tokio::select! {
            _ = agent.prompt("Hi") => panic!("its turn begins"),
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
        }
        let _ = agent.prompt("Still there?").await;
        assert_eq!(agent.session().turn(), 1);
    }

    #[tokio::test]
    async fn a_verdict_of_a_guard_is_recorded() {
        let checks = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&checks);
        let guard = move |answer: GuardedAnswer<'_>| {
            counter.fetch_add(1, Ordering::SeqCst);
            let verdict = AnswerVerdict::Rewrite(answer.text.replace('3', "three"));
            std::future::ready(Ok::<_, ToolError>(verdict))
        };
        let host = Host {
            guards: Guards::new().answer(guard),
            ..Host::default()
        };
        let engine = Engine::default();
        for _ in 0..2 {
            let script = ScriptedModel::new().says("Table 3.");
            let mut agent = host.open(engine.run(None), script).await;
            let reply = agent.prompt("For two?").await;
            assert_eq!(reply.text.as_deref(), Some("Table three."));
        }
        assert_eq!(checks.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_shortened_history_is_recorded() {
        let host = Host::default();
        let engine = Engine::default();
        let mut lengths = Vec::new();
        for _ in 0..2 {
            let script = ScriptedModel::new().says("One").says("Two").says("Three");
            let mut agent = host
                .open(engine.run(None), script)
                .await
                .keep(Keep::turns(1));
            for question in ["1?", "2?", "3?"] {
                let _reply = agent.prompt(question).await;
            }
            lengths.push(agent.history().messages().len());
        }
        assert_eq!(lengths, [3, 3]);
    }

    // M35
    #[tokio::test]
    async fn messages_of_another_writer_stop_a_run() {
        let host = Host::default();
        let engine = Engine::default();
        let run = engine.run(Some(1));
        let function = async {
            let mut agent = host.open(run.clone(), ScriptedModel::new()).await;
            agent.prompt("For two?").await
        };
        run.until_it_stops(function).await;
        let key = ConversationKey::new(ID, "user:7");
        let stranger = [Message::user("Hello?")];
        let appended = HistoryStore::append(&*host.store, &key, 0, &stranger).await;
        appended.expect("it is stored");

        let run = engine.run(None);
        let function = async {
            let script = ScriptedModel::new().says("Table 3.");
            let mut agent = host.open(run.clone(), script).await;
            agent.prompt("For two?").await
        };
        run.until_it_stops(function).await;
        assert_eq!(
            *engine.names.lock(),
            ["open", "turn"],
            "nothing is recorded"
        );
        assert_eq!(host.stored().await, stranger);
    }

    fn booking() -> ToolCall {
        ToolCall::new("call_0", "book", json!({"seats": 2}))
    }

    /// Stores a conversation with a result of [`booking`], and lets the journal have the call since then.
    async fn host_with_a_booking(started_at: &str) -> Host {
        let mut host = Host::default();
        let script = ScriptedModel::new().calls([booking()]).says("Booked.");
        let mut agent = host.open(Engine::default().run(None), script).await;
        let _ = agent.prompt("A table for two").await;

        let entry = json!({
            "session": "", "callId": "call_0", "tool": "book", "arguments": r#"{"seats":2}"#, "turn": 1,
            "idempotencyKey": "", "startedAt": started_at, "harmless": false,
        });
        let entry = serde_json::from_value(entry).expect("an entry");
        host.journal.push(RecoveredCall::new(entry));
        host
    }

    const LONG_AGO: &str = "2020-01-01T00:00:00Z";
    const LATER: &str = "2200-01-01T00:00:00Z";

    // M35
    #[tokio::test]
    async fn a_repeated_id_is_no_earlier_call() {
        let host = host_with_a_booking(LONG_AGO).await;
        let run = Engine::default().run(None);
        let agent = host.open(run.clone(), ScriptedModel::new()).await;
        let response = agent.session().call_in_step(&*run, booking()).await;
        assert_eq!(response.data_json(), Some("2"), "{response}");
    }

    // M35
    #[tokio::test]
    async fn a_repeated_id_is_no_earlier_call_in_a_later_run() {
        let host = host_with_a_booking(LONG_AGO).await;
        let engine = Engine::default();
        let _first = host.open(engine.run(None), ScriptedModel::new()).await;
        let run = engine.run(None);
        let agent = host.open(run.clone(), ScriptedModel::new()).await;
        let response = agent.session().call_in_step(&*run, booking()).await;
        assert_eq!(response.data_json(), Some("2"), "{response}");
    }

    // M35
    #[tokio::test]
    async fn a_call_that_an_earlier_run_has_begun_stays_unknown() {
        let host = host_with_a_booking(LATER).await;
        let engine = Engine::default();
        let first = Host {
            journal: Vec::new(),
            ..host.clone()
        };
        let _first = first.open(engine.run(None), ScriptedModel::new()).await;
        let run = engine.run(None);
        let agent = host.open(run.clone(), ScriptedModel::new()).await;
        let response = agent.session().call_in_step(&*run, booking()).await;
        let kind = response.error().map(|error| error.kind);
        assert_eq!(kind, Some(ErrorKind::Unknown));
    }

    // M35
    #[tokio::test]
    async fn a_process_that_ends_leaves_a_decision_to_the_next() {
        let host = Host::default();
        let engine = Engine::default();
        let runtime = host.runtime();
        let run = engine.run(None);
        let script = ScriptedModel::new().calls([cancelling()]).says("Shall I?");
        let mut agent = host.open_in(runtime.clone(), run.clone(), script).await;
        let reply = agent.prompt("Cancel 12").await;
        let token = reply.confirmations().next().expect("waits").token.clone();
        runtime.drain(Duration::ZERO).await;
        run.until_it_stops(agent.approve(&token)).await;

        let mut agent = host.open(engine.run(None), ScriptedModel::new()).await;
        let _ = agent.prompt("Cancel 12").await;
        let response = agent.approve(&token).await;
        assert_eq!(response.data_json(), Some("12"), "{response}");
    }

    // M35
    #[tokio::test]
    async fn a_process_that_ends_leaves_a_call_to_the_next() {
        let host = Host::default();
        let engine = Engine::default();
        let runtime = host.runtime();
        let run = engine.run(None);
        let script = ScriptedModel::new();
        let agent = host.open_in(runtime.clone(), run.clone(), script).await;
        runtime.drain(Duration::ZERO).await;
        let session = agent.session().clone();
        let calling = Box::pin(session.call_in_step(&*run, booking()));
        run.until_it_stops(calling).await;

        let run = engine.run(None);
        let agent = host.open(run.clone(), ScriptedModel::new()).await;
        let response = agent.session().call_in_step(&*run, booking()).await;
        assert_eq!(response.data_json(), Some("2"), "{response}");
    }

    /// Returns a host whose approvals outlive its sessions.
    fn host_with_short_sessions() -> Host {
        let policy = Policy::text().confirmation_lifetime(Duration::from_secs(7 * 24 * 3_600));
        Host {
            policy: Some(policy.idle_timeout(Duration::from_secs(1_800))),
            ..Host::default()
        }
    }

    // M35
    #[tokio::test(start_paused = true)]
    async fn a_decision_after_the_end_of_its_session_is_told() {
        let steps = Arc::new(PlainSteps::new());
        let (mut agent, reply) = waiting_in(&host_with_short_sessions(), &steps).await;
        tokio::time::advance(Duration::from_secs(7_200)).await;
        let token = reply.confirmations().next().expect("waits").token.clone();
        send(&steps, &Decision::approve(token));
        let reply = agent.decided(reply).await;
        assert_eq!(reply.text.as_deref(), Some("I see."), "{reply:?}");
        let note = last_note(&agent);
        assert!(note.contains("came too late"), "{note}");
    }

    // M35
    #[tokio::test(start_paused = true)]
    async fn a_decision_after_its_session_opens_one_other() {
        let host = host_with_short_sessions();
        let runtime = host.runtime();
        let opened = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&opened);
        let session = move || {
            counter.fetch_add(1, Ordering::SeqCst);
            runtime.session(ID, Mode::Text).principal("user:7")
        };
        let steps = Arc::new(PlainSteps::new());
        let script = ScriptedModel::new()
            .calls([cancelling()])
            .says("Shall I?")
            .says("I see.");
        let store = Arc::clone(&host.store);
        let agent = AgentLoop::open_durable(steps.clone(), store, ID, session, script).await;
        let mut agent = agent.expect("opens");
        let reply = agent.prompt("Cancel 12").await;
        tokio::time::advance(Duration::from_secs(7_200)).await;
        let token = reply.confirmations().next().expect("waits").token.clone();
        send(&steps, &Decision::approve(token));
        let _ = agent.decided(reply).await;
        assert_eq!(opened.load(Ordering::SeqCst), 2);
    }

    // M35
    #[tokio::test(start_paused = true)]
    async fn a_reply_follows_an_approval_that_outlived_its_session() {
        let steps = Arc::new(PlainSteps::new());
        let (mut agent, reply) = waiting_in(&host_with_short_sessions(), &steps).await;
        let reply = agent.decided(reply).await;
        assert_eq!(reply.text.as_deref(), Some("I see."), "{reply:?}");
    }

    /// Opens a conversation in which a call waits for a person.
    async fn waiting(steps: &Arc<PlainSteps>) -> (AgentLoop<ScriptedModel>, Reply) {
        waiting_in(&Host::default(), steps).await
    }

    async fn waiting_in(host: &Host, steps: &Arc<PlainSteps>) -> (AgentLoop<ScriptedModel>, Reply) {
        let script = ScriptedModel::new()
            .calls([cancelling()])
            .says("Shall I?")
            .says("I see.");
        let mut agent = host.open(steps.clone(), script).await;
        let reply = agent.prompt("Cancel 12").await;
        (agent, reply)
    }

    fn send(steps: &PlainSteps, decision: &Decision) {
        let name = Decision::signal_name(decision.token());
        let text = serde_json::to_string(decision).expect("JSON");
        steps.send(name, text);
    }

    fn last_note(agent: &AgentLoop<ScriptedModel>) -> String {
        let messages = agent.history().messages();
        match &messages[messages.len() - 2] {
            Message::User(said) => said.text().into_owned(),
            other => panic!("no note: {other:?}"),
        }
    }

    // M35
    #[tokio::test]
    async fn a_decision_behind_an_invalid_one_is_read() {
        let steps = Arc::new(PlainSteps::new());
        let (mut agent, reply) = waiting(&steps).await;
        let token = reply.confirmations().next().expect("waits").token.clone();
        let invalid = Decision::approve(&token).with_arguments(json!({"number": "many"}));
        send(&steps, &invalid);
        let valid = Decision::approve(&token).with_arguments(json!({"number": 13}));
        send(&steps, &valid);
        let reply = agent.decided(reply).await;
        assert_eq!(reply.text.as_deref(), Some("I see."));
        assert!(last_note(&agent).contains("13"), "{}", last_note(&agent));
    }

    // M35
    #[tokio::test]
    async fn a_denial_by_a_signal_runs_nothing() {
        let steps = Arc::new(PlainSteps::new());
        let (mut agent, reply) = waiting(&steps).await;
        let token = reply.confirmations().next().expect("waits").token.clone();
        send(&steps, &Decision::deny(token));
        let _ = agent.decided(reply).await;
        let note = last_note(&agent);
        assert!(
            note.ends_with("A person has refused it, and it was not run."),
            "{note}"
        );
    }

    // M35
    #[tokio::test(start_paused = true)]
    async fn a_call_on_which_nobody_decides_is_told() {
        let steps = Arc::new(PlainSteps::new());
        let (mut agent, reply) = waiting(&steps).await;
        let reply = agent.decided(reply).await;
        assert_eq!(reply.text.as_deref(), Some("I see."));
        let note = last_note(&agent);
        assert!(note.ends_with("no decision has come in time."), "{note}");
    }

    // M35
    #[tokio::test(start_paused = true)]
    async fn a_call_that_was_approved_elsewhere_is_not_denied() {
        let steps = Arc::new(PlainSteps::new());
        let (mut agent, reply) = waiting(&steps).await;
        let token = reply.confirmations().next().expect("waits").token.clone();
        assert!(agent.session().approve(&token).await.is_ok());
        let _ = agent.decided(reply).await;
        let note = last_note(&agent);
        assert!(note.contains("unknown whether it has run"), "{note}");
    }

    /// Waits until a call waits that the approved one has made. Returns its token.
    async fn nested_token(runtime: &Runtime, approved: &str) -> String {
        loop {
            let page = runtime.pending_approvals("user:7", None, 1).await;
            let waiting = page.expect("a page").calls.pop();
            match waiting {
                Some(waiting) if waiting.token != approved => return waiting.token,
                _ => tokio::task::yield_now().await,
            }
        }
    }

    /// The journal of processes that share it.
    #[derive(Default)]
    struct SharedJournal(Mutex<Vec<RecoveredCall>>);

    impl Journal for SharedJournal {
        async fn started(&self, entry: &JournalEntry) -> Result<JournalStart, JournalError> {
            self.0.lock().push(RecoveredCall::new(entry.clone()));
            Ok(JournalStart::Recorded)
        }

        async fn find(&self, _: &str, id: &str) -> Result<Option<JournalStart>, JournalError> {
            let calls = self.0.lock();
            let found = calls.iter().rfind(|call| call.entry.call_id == id);
            Ok(found.map(|call| JournalStart::Known(Box::new(call.clone()))))
        }

        async fn finished(&self, _: &str, id: &str, response: &str) -> Result<(), JournalError> {
            let mut calls = self.0.lock();
            let found = calls.iter_mut().rfind(|call| call.entry.call_id == id);
            if let Some(call) = found {
                call.response = Some(response.to_owned());
            }
            Ok(())
        }

        async fn recover(&self, _: &str) -> Result<Vec<RecoveredCall>, JournalError> {
            Ok(Vec::new())
        }

        async fn forget(&self, _: &str) -> Result<(), JournalError> {
            Ok(())
        }
    }

    // M35
    #[tokio::test(start_paused = true)]
    async fn a_nested_call_that_was_approved_elsewhere_is_told() {
        let tools = ToolContext::builder().with(cancel).with(close).build();
        let runtime = Runtime::builder(tools.expect("builds"))
            .policy(Policy::text())
            .journal(SharedJournal::default())
            .build()
            .expect("builds");
        let steps = Arc::new(PlainSteps::new());
        let script = ScriptedModel::new()
            .calls([ToolCall::new("c1", "close", "{}")])
            .says("Shall I?")
            .says("I see.");
        let host = Host::default();
        let mut agent = host.open_in(runtime.clone(), steps.clone(), script).await;
        let reply = agent.prompt("Close").await;
        let token = reply.confirmations().next().expect("waits").token.clone();
        send(&steps, &Decision::approve(&token));
        let session = agent.session().clone();
        let deciding = async {
            let nested = nested_token(&runtime, &token).await;
            // The conversation waits for a signal by then.
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert!(session.approve(&nested).await.is_ok());
        };
        let (_, ()) = tokio::join!(agent.decided(reply), deciding);
        let note = last_note(&agent);
        assert!(note.contains("`cancel`") && note.ends_with("12"), "{note}");
    }

    // M35
    #[tokio::test]
    async fn an_approval_within_an_approved_call_is_waited_for() {
        let steps = Arc::new(PlainSteps::new());
        let script = ScriptedModel::new()
            .calls([ToolCall::new("c1", "close", "{}")])
            .says("Shall I?")
            .says("I see.");
        let host = Host::default();
        let runtime = host.runtime();
        let mut agent = host.open_in(runtime.clone(), steps.clone(), script).await;
        let reply = agent.prompt("Close").await;
        let token = reply.confirmations().next().expect("waits").token.clone();
        send(&steps, &Decision::approve(&token));
        let deciding = async {
            let nested = nested_token(&runtime, &token).await;
            send(&steps, &Decision::approve(nested));
        };
        let (reply, ()) = tokio::join!(agent.decided(reply), deciding);
        assert_eq!(reply.text.as_deref(), Some("I see."));
        let note = last_note(&agent);
        assert!(note.contains("`cancel`") && note.ends_with("12"), "{note}");
    }

    // M35
    #[tokio::test]
    async fn a_passing_refusal_leaves_an_approval_to_the_next_run() {
        let host = Host::default();
        let engine = Engine::default();
        let run = engine.run(None);
        let script = ScriptedModel::new().calls([cancelling()]).says("Shall I?");
        let mut agent = host.open(run.clone(), script).await;
        let reply = agent.prompt("Cancel 12").await;
        let token = reply.confirmations().next().expect("waits").token.clone();
        host.refusals.lock().push(ToolError::transient("too busy"));
        run.until_it_stops(agent.approve(&token)).await;

        let mut agent = host.open(engine.run(None), ScriptedModel::new()).await;
        let _ = agent.prompt("Cancel 12").await;
        let response = agent.approve(&token).await;
        assert_eq!(response.data_json(), Some("12"), "{response}");
    }

    // M35
    #[tokio::test]
    async fn a_decision_outlives_a_store_that_fails_meanwhile() {
        let store = HeldStore::default();
        let is_up = Arc::new(AtomicBool::new(true));
        let runtime = || {
            let (failing, is_up) = (store.clone(), Arc::clone(&is_up));
            let tools = ToolContext::builder().with(cancel).build();
            let runtime = Runtime::builder(tools.expect("builds"))
                .store(store.clone())
                .before(async move |_: HookedCall<'_>| {
                    if is_up.swap(false, Ordering::SeqCst) {
                        failing.down(true);
                        return Err(ToolError::transient("the store is down"));
                    }
                    Ok(())
                })
                .signing_key([7; 32]);
            runtime.build().expect("builds")
        };
        let host = Host::default();
        let engine = Engine::default();
        let run = engine.run(None);
        let script = ScriptedModel::new().calls([cancelling()]).says("Shall I?");
        let mut agent = host.open_in(runtime(), run.clone(), script).await;
        let reply = agent.prompt("Cancel 12").await;
        let token = reply.confirmations().next().expect("waits").token.clone();
        run.until_it_stops(agent.approve(&token)).await;

        store.down(false);
        let script = ScriptedModel::new();
        let mut agent = host.open_in(runtime(), engine.run(None), script).await;
        let _ = agent.prompt("Cancel 12").await;
        let response = agent.approve(&token).await;
        assert_eq!(response.data_json(), Some("12"), "{response}");
    }

    // M35
    #[tokio::test]
    async fn an_approved_call_that_stays_refused_waits_on() {
        let host = Host::default();
        let engine = Engine::default();
        let run = engine.run(None);
        let script = ScriptedModel::new().calls([cancelling()]).says("Shall I?");
        let mut agent = host.open(run.clone(), script).await;
        let reply = agent.prompt("Cancel 12").await;
        let token = reply.confirmations().next().expect("waits").token.clone();
        let busy = || ToolError::transient("too busy");
        host.refusals.lock().extend([busy(), busy()]);
        run.until_it_stops(agent.approve(&token)).await;
        engine.date_decisions_back();

        let mut agent = host.open(engine.run(None), ScriptedModel::new()).await;
        let _ = agent.prompt("Cancel 12").await;
        let refused = agent.approve(&token).await;
        assert_eq!(refused.meta().tool(), "", "{refused}");
        let response = agent.approve(&token).await;
        assert_eq!(response.data_json(), Some("12"), "{response}");
    }

    /// Approves a call twice without an engine, and refuses it once. Returns the note about it.
    async fn note_after_a_refusal(refusal: ToolError) -> String {
        let host = Host::default();
        let steps = Arc::new(PlainSteps::new());
        let (mut agent, reply) = waiting_in(&host, &steps).await;
        let token = reply.confirmations().next().expect("waits").token.clone();
        host.refusals.lock().push(refusal);
        send(&steps, &Decision::approve(&token));
        send(&steps, &Decision::approve(&token));
        let _ = agent.decided(reply).await;
        last_note(&agent)
    }

    // M35
    #[tokio::test]
    async fn without_an_engine_a_passing_refusal_waits_on() {
        let note = note_after_a_refusal(ToolError::transient("too busy")).await;
        assert!(note.ends_with("12"), "{note}");
    }

    // M35
    #[tokio::test]
    async fn an_approved_call_that_is_refused_waits_on() {
        let note = note_after_a_refusal(ToolError::auth("not now")).await;
        assert!(note.ends_with("12"), "{note}");
    }

    // M35
    #[tokio::test(start_paused = true)]
    async fn results_are_stored_in_the_order_of_their_steps() {
        let sessions = HeldStore::default();
        sessions.slow(Duration::from_millis(50));
        let tools = ToolContext::builder().with(find_table).with(cancel).build();
        let runtime = Runtime::builder(tools.expect("builds"))
            .store(sessions)
            .build();
        let runtime = runtime.expect("builds");
        let host = Host::default();
        let steps = Arc::new(PlainSteps::new());
        let script = ScriptedModel::new()
            .calls([cancelling(), finding("c2")])
            .says("Shall I?");
        let mut agent = host.open_in(runtime, steps, script).await;
        let _ = agent.stream("Cancel 12").collect::<Vec<_>>().await;

        let mut results = Vec::new();
        for message in host.stored().await {
            if let Message::Result { call_id, .. } = message {
                results.push(call_id);
            }
        }
        assert_eq!(results, ["c1", "c2"]);
    }

    /// A journal of a process that begins to end while a call begins.
    struct EndingJournal(Arc<OnceLock<Runtime>>);

    impl Journal for EndingJournal {
        async fn started(&self, _: &JournalEntry) -> Result<JournalStart, JournalError> {
            let runtime = self.0.get().expect("it was built").clone();
            runtime.drain(Duration::ZERO).await;
            Ok(JournalStart::Recorded)
        }

        async fn finished(&self, _: &str, _: &str, _: &str) -> Result<(), JournalError> {
            Ok(())
        }

        async fn recover(&self, _: &str) -> Result<Vec<RecoveredCall>, JournalError> {
            Ok(Vec::new())
        }

        async fn forget(&self, _: &str) -> Result<(), JournalError> {
            Ok(())
        }
    }

    // M35
    #[tokio::test]
    async fn a_call_that_meets_the_end_of_its_process_is_left() {
        let ending = Arc::new(OnceLock::new());
        let tools = ToolContext::builder().with(book).build().expect("builds");
        let runtime = Runtime::builder(tools)
            .journal(EndingJournal(Arc::clone(&ending)))
            .build()
            .expect("builds");
        assert!(ending.set(runtime.clone()).is_ok());
        let session = runtime.session(ID, Mode::Text).await.expect("opens");
        let run = Engine::default().run(None);
        let calling = Box::pin(session.call_in_step(&*run, booking()));
        run.until_it_stops(calling).await;
    }

    /// Steps during whose last one the conversation is interrupted.
    #[derive(Default)]
    struct InterruptedSteps {
        plain: PlainSteps,
        handle: Mutex<Option<InterruptHandle>>,
    }

    impl DurableSteps for InterruptedSteps {
        fn step<'a>(
            &'a self,
            name: &'a str,
            work: BoxFuture<'a, Result<String, ToolError>>,
        ) -> BoxFuture<'a, Result<String, ToolError>> {
            if name == "stored"
                && let Some(handle) = &*self.handle.lock()
            {
                handle.interrupt();
            }
            self.plain.step(name, work)
        }

        fn signal<'a>(
            &'a self,
            name: &'a str,
            time: Duration,
        ) -> BoxFuture<'a, Result<Option<String>, ToolError>> {
            self.plain.signal(name, time)
        }

        fn sleep(&self, time: Duration) -> BoxFuture<'_, Result<(), ToolError>> {
            self.plain.sleep(time)
        }
    }

    // M35
    #[tokio::test]
    async fn an_interruption_that_is_not_recorded_changes_nothing() {
        let steps = Arc::new(InterruptedSteps::default());
        let script = ScriptedModel::new().says("Hello");
        let mut agent = Host::default().open(steps.clone(), script).await;
        *steps.handle.lock() = Some(agent.interrupt_handle());
        let reply = agent.prompt("Hi").await;
        assert_eq!(reply.finish, ReplyFinish::Complete);
        assert!(!reply.interrupted);
    }

    // M35
    #[tokio::test]
    async fn an_engine_that_cannot_wait_is_no_decision() {
        let host = Host::default();
        let script = ScriptedModel::new().calls([cancelling()]).says("Shall I?");
        let mut agent = host.open(Engine::default().run(None), script).await;
        let reply = agent.prompt("Cancel 12").await;
        let stored = host.stored().await;

        let reply = agent.decided(reply).await;
        assert_eq!(reply.finish, ReplyFinish::Failed);
        let error = reply.error.as_ref().expect("the engine's error");
        assert_eq!(error.message, "the workflow was cancelled");
        assert_eq!(reply.confirmations().count(), 1, "the call waits on");
        assert_eq!(host.stored().await, stored, "the model learns nothing");
    }

    // M35
    #[tokio::test]
    async fn a_decision_that_was_carried_out_is_not_repeated() {
        let host = Host::default();
        let engine = Engine::default();
        let script = ScriptedModel::new().calls([cancelling()]).says("Shall I?");
        let mut agent = host.open(engine.run(None), script).await;
        let reply = agent.prompt("Cancel 12").await;
        let token = reply.confirmations().next().expect("waits").token.clone();
        let response = agent.approve(&token).await;
        assert_eq!(response.data_json(), Some("12"));
        // The process was killed before the engine had the result.
        engine.log.lock().pop();
        engine.names.lock().pop();

        let mut agent = host.open(engine.run(None), ScriptedModel::new()).await;
        let _ = agent.prompt("Cancel 12").await;
        let response = agent.approve(&token).await;
        let kind = response.error().map(|error| error.kind);
        assert_eq!(kind, Some(ErrorKind::Unknown));
    }
}
