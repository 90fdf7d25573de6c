//! The handle of a session: one conversation, and the calls that are made in it.

use crate::call::tool_call::{CallApproval, GrantTerms};
use crate::call::{Confirmation, ErrorKind, Intent, Mode, ToolCall, ToolError, ToolResponse};
use crate::json::nested::{MAX_STORED_DEPTH, is_deeper};
use crate::registry::ToolContext;
use crate::session::agent_event::AgentEvent;
use crate::session::agent_loop::{ReplyOptions, reply};
use crate::session::agent_stream::AgentStream;
use crate::session::approval_requests::Approval;
use crate::session::approvals::{PendingCall, Signer};
use crate::session::audit::AuditEntry;
use crate::session::caps::Spending;
use crate::session::decision::Decision;
use crate::session::drain_switch::process_ending;
use crate::session::durable_steps::{
    DurableSteps, RecordedResponse, record, record_response, try_record_response,
};
use crate::session::event_queue::EventSender;
use crate::session::history::History;
use crate::session::inner::SessionInner;
use crate::session::journal::{JournalEntry, RecoveredCall};
use crate::session::message::Message;
use crate::session::metrics::{ContextMetrics, SessionCall, SessionMetrics, SpeechEvent};
use crate::session::model::{Model, ToolChoice};
use crate::session::notes::{decision_note, open_decisions};
use crate::session::pipeline::confirm::ApprovedArguments;
use crate::session::pipeline::durable_call::make_in_step;
use crate::session::pipeline::journal::{EarlierEnd, earlier_end};
use crate::session::pipeline::{confirm, entry, granted, step, without_tool};
use crate::session::policy::Policy;
use crate::session::reply::Reply;
use crate::session::state::{SessionId, SessionState, StateChange, Turn};
use crate::session::store::{StoreError, TurnReport};
use crate::session::typed_answer::{TypedAnswer, TypedReply, TypedReplyError, typed_reply};
use crate::session::unmade_calls::{lost_call, may_be_running, refused_step, unreadable_end};
use crate::session::updates::{BackgroundAnswer, CallUpdate};
use crate::session::user_message::UserMessage;
use crate::time::CallInstant;
use crate::tool::ToolDefinition;
use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// A conversation with its turns, budgets and state. Every call is answered, and none panics.
///
/// Cheap to clone; clones share the session.
///
/// ```
/// use tool_core::{ErrorKind, Mode, Runtime, ToolCall, ToolContext, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().with(add).build()?).build()?;
/// let session = runtime.session("s-1", Mode::Text).principal("user:7").await?;
///
/// let add = |id: &str| ToolCall::new(id, "add", r#"{"a": 1, "b": 2}"#);
/// let responses = session.call_all([add("c1"), add("c2")]).await;
/// assert!(responses.iter().all(|response| response.is_ok()));
///
/// // The third equal call of a turn is refused.
/// let response = session.call(add("c3")).await;
/// assert_eq!(response.error().map(|error| error.kind), Some(ErrorKind::LoopDetected));
/// session.next_turn().await;
/// assert!(session.call(add("c4")).await.is_ok());
/// session.end().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Session(pub(crate) Arc<SessionInner>);

/// # Calls
impl Session {
    /// Makes a call under the session's limits. You always get a response.
    ///
    /// The session finds the tool, checks its mode, and decodes and validates the arguments. It
    /// then checks the loop limits and budgets. A call that needs approval waits for it. Only then
    /// does the tool run: under its deadline, guarded against panics, and with a bounded result.
    ///
    /// The response carries the call's id. Two calls with one id are two calls; only a journal
    /// identifies a call by its id.
    pub fn call(&self, call: ToolCall) -> impl Future<Output = ToolResponse> + Send {
        // Not `async`, as another future around this one would move the call and its response once
        // more.
        entry::call(&self.0, call)
    }

    /// Makes the calls of one step concurrently, and returns one response for each id, in the order
    /// of the calls.
    ///
    /// A call with an empty id gets an id. If two calls have the same id, the second does not run,
    /// and the response of the first carries a warning. A `sequential` tool waits for the calls
    /// before it and delays those after it.
    pub async fn call_all(&self, calls: impl IntoIterator<Item = ToolCall>) -> Vec<ToolResponse> {
        join_all(step::run_step(
            &self.0,
            step::distinct_calls(&self.0, calls),
        ))
        .await
    }

    /// Makes a call as a step of an engine, or returns the response that it has recorded. Use it in a function of your own that
    /// an engine runs. Each call of the function needs an id of its own, which is the same in each run.
    ///
    /// If the process is killed, the next run answers the call from the runtime's [journal](super::Journal), or with
    /// `UNKNOWN`.
    ///
    /// ```
    /// use tool_core::session::PlainSteps;
    /// # use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
    /// # /// Pay a bill.
    /// # #[tool(category = "action")]
    /// # fn pay(cents: u32) -> String {
    /// #     format!("paid {cents} cents")
    /// # }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let tools = ToolContext::builder().with(pay).build()?;
    /// # let session = Runtime::builder(tools).build()?.session("chat-42", Mode::Text).await?;
    /// let steps = PlainSteps::new(); // or those of an engine
    /// let response = session.call_in_step(&steps, ToolCall::new("call_1", "pay", r#"{"cents": 900}"#)).await;
    /// assert_eq!(response.data_json(), Some(r#""paid 900 cents""#));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// If the function was cancelled, the response has the engine's error.
    pub async fn call_in_step(
        &self,
        steps: &(impl DurableSteps + ?Sized),
        call: ToolCall,
    ) -> ToolResponse {
        let calling = async {
            let response = self.call(call.clone().in_step());
            let response = make_in_step(&self.0, &call, response).await?;
            Ok(RecordedResponse::unrecorded(response))
        };
        record_response(&self.0, steps, &call, calling)
            .await
            .response
    }

    /// Carries out a person's decision in two steps of an engine. The first finds the call, so that the second, if it runs
    /// again, knows which call an earlier process may have made.
    ///
    /// If an approved call is refused before its approval is used up, it waits on. If the refusal may pass, the engine tries the
    /// call again for a minute. After that, and without an engine, the response names no tool, and the next decision counts.
    pub async fn decide_in_step(
        &self,
        steps: &(impl DurableSteps + ?Sized),
        decision: &Decision,
        events: Option<&EventSender>,
    ) -> ToolResponse {
        let finding = async {
            match self.check_decision(decision).await {
                Ok(pending) => Ok(Some(DecidedCall::found(pending))),
                Err(refused) => not_taken_yet(&refused).map_or(Ok(None), Err),
            }
        };
        let decided = record(steps, "decision", finding).await.ok().flatten();
        let unknown = ToolCall::new("", "", "");
        let call = decided.as_ref().map_or(&unknown, |decided| &decided.call);
        let deciding = async {
            let response = self.decide(decision, events).await;
            let response = self
                .response_after(decision, decided.as_ref(), response)
                .await?;
            Ok(RecordedResponse::unrecorded(response))
        };
        let recorded = try_record_response(&self.0, steps, call, deciding).await;
        match recorded {
            Ok(recorded) => recorded.response,
            // The call waits for the next decision, as far as is known.
            Err(error) => confirm::response_without_call(error),
        }
    }

    /// Returns the response of a call on which a person has decided. It names no tool if the call waits for another decision.
    ///
    /// Fails if the decision is to be carried out again: it could not be taken yet, or the call was refused for now.
    async fn response_after(
        &self,
        decision: &Decision,
        decided: Option<&DecidedCall>,
        mut response: ToolResponse,
    ) -> Result<ToolResponse, ToolError> {
        if let Some(error) = not_taken_yet(&response) {
            return Err(error);
        }
        let Some(error) = response.error() else {
            return Ok(response);
        };

        if response.meta().tool().is_empty() {
            let is_gone = error.kind == ErrorKind::NotFound;
            return match decided {
                Some(decided) if is_gone => {
                    let is_approved = decision.is_approval();
                    self.answer_lost_decision(&decided.call, is_approved).await
                }
                _ => Ok(response),
            };
        }
        if !decision.is_approval() {
            return Ok(response);
        }

        let is_tried_again = error.retryable && decided.is_some_and(DecidedCall::is_recent);
        let error = ToolError::transient(error.message.clone());
        match self.pending_call(decision.token()).await {
            Ok(_) if is_tried_again => Err(error),
            Ok(_) => {
                // The call still waits, so this is not its response.
                response.meta.tool = "".into();
                Ok(response)
            }
            // The store cannot tell whether the call still waits.
            Err(unknown) if unknown.kind() == ErrorKind::Transient && is_tried_again => {
                Err(unknown)
            }
            Err(_) => Ok(response),
        }
    }

    /// Answers a call with an error instead of making it. Use it in a loop of your own for a call
    /// that must not run, for example one that arrived in part.
    pub fn refuse(&self, call: &ToolCall, error: ToolError) -> ToolResponse {
        let response = ToolResponse::refused(call, error, CallInstant::now());
        without_tool::record_refusal(&self.0, call, &response);
        response
    }

    /// Answers a call that an earlier process of the conversation has left without a result,
    /// instead of making it. The runtime's
    /// [journal](super::Journal) may know the result. Otherwise the answer is `UNKNOWN`: the call may have taken effect, unless
    /// its tool changes nothing.
    ///
    /// # Errors
    ///
    /// `CONFLICT` if this process or another one may still be running the call, or if the journal
    /// cannot be read, which the message says. A process that was killed counts as running until its lease in the journal
    /// ends.
    pub async fn answer_lost(&self, call: &ToolCall) -> Result<ToolResponse, ToolError> {
        let response = match earlier_end(&self.0, call).await {
            EarlierEnd::Open => return Err(may_be_running(call)),
            EarlierEnd::Unreadable => return Err(unreadable_end(call)),
            EarlierEnd::Response(response) => *response,
            EarlierEnd::Lost => lost_call(&self.0, call),
        };
        without_tool::record_begun(&self.0, call, &response, None);
        Ok(response)
    }

    /// Returns the notes about calls that a person has decided on, and whose outcome an earlier process has not stored. Add
    /// them to the conversation as messages of the user.
    ///
    /// The earlier process has added a [`decision_begun_note`](super::decision_begun_note). The runtime's [journal](super::Journal)
    /// may know the outcome. Otherwise a call that was approved is `UNKNOWN`, as [`answer_lost`](Self::answer_lost) says.
    ///
    /// # Errors
    ///
    /// As [`answer_lost`](Self::answer_lost).
    pub async fn lost_decisions(&self, messages: &[Message]) -> Result<Vec<String>, ToolError> {
        let mut notes = Vec::new();
        for decision in open_decisions(messages) {
            let is_approved = decision.is_approved;
            let response = self
                .answer_lost_decision(&decision.call, is_approved)
                .await?;
            notes.extend(decision_note(&response, is_approved, &decision.mark));
        }
        Ok(notes)
    }

    /// Answers a call on which a person has decided, and whose outcome an earlier process has not stored: as
    /// [`answer_lost`](Self::answer_lost) does if it was approved, and otherwise with the denial.
    ///
    /// # Errors
    ///
    /// As [`answer_lost`](Self::answer_lost).
    pub async fn answer_lost_decision(
        &self,
        call: &ToolCall,
        is_approved: bool,
    ) -> Result<ToolResponse, ToolError> {
        if is_approved {
            self.answer_lost(call).await
        } else {
            Ok(confirm::denied(call.id(), call.name()))
        }
    }

    /// Forgets what the [journal](super::Journal) knows of the calls of earlier processes, once all of them are answered. A later
    /// call that has the id of one of them by chance runs then.
    pub fn forget_lost(&self) {
        if let Some(shared) = self.0.used_shared() {
            shared.earlier.lock().forget();
        }
    }

    /// Forgets what the journal knows of calls of earlier processes that began before a time, and whose results are in these
    /// messages. A later call that has the id of one of them by chance runs then.
    #[doc(hidden)]
    pub fn forget_answered(&self, messages: &[Message], before: SystemTime) {
        if self.0.runtime.journal.is_none() {
            return;
        }
        let mut answered = HashSet::new();
        for message in messages {
            if let Message::Result { call_id, tool, .. } = message {
                answered.insert([call_id.as_str(), tool.as_str()]);
            }
        }
        let is_answered = |call: &RecoveredCall| {
            let JournalEntry { call_id, tool, .. } = &call.entry;
            let began = SystemTime::from(call.entry.started_at.0);
            began < before && answered.contains(&[call_id.as_str(), tool.as_str()])
        };
        if let Some(shared) = self.0.used_shared() {
            shared.earlier.lock().forget_if(is_answered);
        }
        let unrecorded = &self.0.runtime.unrecorded;
        unrecorded.forget_if(&self.0.journal_key(), is_answered);
    }

    /// Answers a call with `BUDGET_EXCEEDED` instead of making it, because the reply has used up
    /// its
    /// [`max_tool_steps`](Self::max_tool_steps). Use it in a loop of your own if you cannot ask the model for an answer without
    /// calls.
    pub fn refuse_step(&self, call: &ToolCall) -> ToolResponse {
        let response = refused_step(self.max_tool_steps(), call);
        without_tool::record_refusal(&self.0, call, &response);
        response
    }

    /// Cancels a running call, even if its tool is not `cancellable`. The call's response is
    /// `CANCELLED`. Returns false if no call with that id is running in this process.
    pub fn cancel(&self, call_id: &str) -> bool {
        self.0.running.cancel(call_id)
    }

    /// Cancels all running calls that have not disallowed interruptions, and returns their number.
    pub fn interrupt(&self) -> usize {
        self.0.running.interrupt()
    }

    /// Cancels the running calls for whose answers the model waits, as [`interrupt`](Self::interrupt)
    /// does, and returns their number. A call that goes on in the background has its answer, and so
    /// has one that a person has approved: they run on. Live conversations call this when the user
    /// begins to speak.
    pub fn interrupt_awaited(&self) -> usize {
        let background = self.0.background();
        let is_answered = |id: &str| background.is_some_and(|answers| answers.has_open(id));
        self.0.running.interrupt_awaited(is_answered)
    }

    /// Removes and returns the updates of calls that no listener has heard, oldest first: at most
    /// the latest 100, and 256 KiB of them.
    pub fn updates(&self) -> Vec<CallUpdate> {
        self.0
            .used_shared()
            .map(|shared| shared.updates.take())
            .unwrap_or_default()
    }

    /// Removes and returns the later answers of calls that go on in the background, oldest first. The loops call this themselves.
    /// See [`SessionBuilder::background_answers`](crate::session::SessionBuilder::background_answers).
    pub fn take_background_answers(&self) -> Vec<BackgroundAnswer> {
        self.0
            .background()
            .map(|answers| answers.take())
            .unwrap_or_default()
    }

    /// Returns true if calls of this session go on in the background after their first update. See
    /// [`SessionBuilder::background_answers`](crate::session::SessionBuilder::background_answers).
    pub fn has_background_answers(&self) -> bool {
        self.0.background().is_some()
    }

    /// Waits until [`take_background_answers`](Self::take_background_answers) has an answer, and
    /// leaves it there. You can then let the model speak, for example with `AgentLoop::resume`.
    /// Without background answers it waits forever.
    pub async fn background_answers_ready(&self) {
        match self.0.background() {
            Some(answers) => answers.ready().await,
            None => std::future::pending().await,
        }
    }
}

/// # Replies of a model
impl Session {
    /// Lets `model` reply to `text`. The model is asked, its calls are run, and it is asked again,
    /// for at most
    /// [`max_tool_steps`](crate::Policy::max_tool_steps) steps of calls; then it must answer without calls.
    /// [`Reply::finish`] says how the reply ended.
    ///
    /// The reply is part of the current turn; [`next_turn`](Self::next_turn) begins another. An
    /// empty `text` adds no message. A tool that wants no reply ends the reply after its step, and
    /// so does [`interrupt`](Self::interrupt). The caller may also drop the future. In every case
    /// the history has exactly one result for each call: the results of calls that ended, and
    /// CANCELLED for the others.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_core::session::History;
    /// use tool_core::testing::ScriptedModel;
    /// use tool_core::{Mode, Policy, Runtime, ToolCall, ToolContext, tool};
    ///
    /// /// Add two numbers.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let tools = ToolContext::builder().with(add).build()?;
    /// let runtime = Runtime::builder(tools).policy(Policy::text()).build()?;
    /// let session = runtime.session("s-1", Mode::Text).await?;
    ///
    /// let mut model = ScriptedModel::new().calls([ToolCall::new("call_1", "add", json!({"a": 1, "b": 2}))]).says("3");
    /// let mut history = History::new();
    /// let reply = session.reply(&mut model, &mut history, "What is 1 + 2?").await;
    ///
    /// assert_eq!(reply.text.as_deref(), Some("3"));
    /// assert_eq!(reply.responses[0].data_json(), Some("3"));
    /// assert_eq!(history.messages().len(), 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn reply<M: Model>(
        &self,
        model: &mut M,
        history: &mut History,
        message: impl Into<UserMessage>,
    ) -> impl Future<Output = Reply> + Send {
        self.reply_with(model, history, message, ToolChoice::Auto)
    }

    /// Lets `model` reply as [`reply`](Self::reply) does, with another tool choice for the first
    /// step. Later steps may call tools.
    pub fn reply_with<M: Model>(
        &self,
        model: &mut M,
        history: &mut History,
        message: impl Into<UserMessage>,
        first: ToolChoice,
    ) -> impl Future<Output = Reply> + Send {
        let options = ReplyOptions::new(message).first_choice(first);
        self.reply_with_options(model, history, options)
    }

    /// Lets `model` reply as [`reply`](Self::reply) does, with all settings of a reply.
    pub async fn reply_with_options<M: Model>(
        &self,
        model: &mut M,
        history: &mut History,
        options: ReplyOptions<'_>,
    ) -> Reply {
        reply(&self.0, model, history, options, None).await
    }

    /// Lets `model` reply as [`reply`](Self::reply) does, and returns the events of the reply as
    /// they happen. The last event has the reply. See [`AgentEvent`](super::AgentEvent) for their
    /// order.
    pub fn reply_stream<'a, M: Model>(
        &'a self,
        model: &'a mut M,
        history: &'a mut History,
        message: impl Into<UserMessage>,
    ) -> AgentStream<'a> {
        let options = ReplyOptions::new(message);
        AgentStream::new(|events| self.reply_with_options(model, history, options.events(events)))
    }

    /// Lets `model` reply as [`reply`](Self::reply) does, and returns the final answer as a value.
    /// See [`TypedAnswer`].
    ///
    /// After a wrong answer the model is asked again; this does not count as a step of calls. If
    /// the model answers and calls other tools at once, the calls are made first, and then it must
    /// answer again. The history has the answer as a text of the model, in JSON.
    ///
    /// # Errors
    ///
    /// The reply ended without a valid answer. The error has the last answer and its problems.
    pub fn reply_typed<M: Model, T: DeserializeOwned + JsonSchema + Send + 'static>(
        &self,
        model: &mut M,
        history: &mut History,
        message: impl Into<UserMessage>,
        answer: &TypedAnswer<T>,
    ) -> impl Future<Output = Result<TypedReply<T>, TypedReplyError>> + Send {
        self.reply_typed_with_options(model, history, ReplyOptions::new(message), answer)
    }

    /// Lets `model` reply as [`reply_typed`](Self::reply_typed) does, with all settings of a reply.
    ///
    /// # Errors
    ///
    /// The reply ended without a valid answer. The error has the last answer and its problems.
    pub async fn reply_typed_with_options<
        M: Model,
        T: DeserializeOwned + JsonSchema + Send + 'static,
    >(
        &self,
        model: &mut M,
        history: &mut History,
        options: ReplyOptions<'_>,
        answer: &TypedAnswer<T>,
    ) -> Result<TypedReply<T>, TypedReplyError> {
        let (mut form, slot) = answer.open(&self.0)?;
        let reply = reply(&self.0, model, history, options, Some(&mut form)).await;
        typed_reply(form, &slot, reply)
    }

    /// Lets `model` speak first, as the agent enters the conversation. The model does not see tools
    /// that are `ignore_on_enter`.
    pub async fn reply_on_enter<M: Model>(&self, model: &mut M, history: &mut History) -> Reply {
        reply(&self.0, model, history, ReplyOptions::entering(), None).await
    }
}

/// # Turns, and the end
impl Session {
    /// Ends the turn and begins the next. Call it before each message of the user. Budgets and loop
    /// counts are reset, and an `END_VOICE_SESSION` of the turn takes effect. If several callers
    /// call it at once, in any process, one of them gets the pending message.
    pub async fn next_turn(&self) -> Turn {
        self.try_next_turn().await.unwrap_or_else(|error| {
            // The turn continues with its counters, so no call is admitted that was not allowed
            // before.
            tracing::error!(session = %self.id().as_str().escape_debug(), %error, "failed to end the turn in the store");
            Turn {
                number: self.turn(),
                pending_message: None,
                ended: false,
                ended_now: false,
            }
        })
    }

    /// Ends the turn as [`next_turn`](Self::next_turn) does. If the store fails, the turn goes on.
    #[doc(hidden)]
    pub async fn try_next_turn(&self) -> Result<Turn, StoreError> {
        let session = &self.0;
        let was_ending = session.record.state().ending || session.calls.is_closed();
        let turn = session.record.next_turn().await?;
        if turn.ended {
            if !was_ending {
                session.shared().is_lost.store(true, Ordering::SeqCst);
            }
            session.follow_end(turn.ended_now).await;
        }
        Ok(turn)
    }

    /// Returns true if this process has ended the session, for the host or for a tool. A session
    /// that was idle for too long was not ended.
    #[doc(hidden)]
    pub fn was_ended(&self) -> bool {
        !self.0.is_lost()
    }

    /// Returns the number of the turn, counted from 0.
    pub fn turn(&self) -> u64 {
        self.0.record.turn()
    }

    /// Returns the calls of the turn as its budgets and its loop detection count them. Returns
    /// `None` unless the session store is in memory, because other stores count for themselves.
    pub fn turn_report(&self) -> Option<TurnReport> {
        self.0.record.turn_report()
    }

    /// Returns what the ended calls of the turn, the session and the principal have cost, in the
    /// order of
    /// [`CapScope::STORED`](crate::session::CapScope::STORED). All amounts are zero under a policy without caps. Returns `None` unless
    /// the session store is in memory.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tool_core::session::{CapScope, Spending};
    /// # use tool_core::{Mode, Policy, Runtime, ToolContext};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let tools = ToolContext::builder().build()?;
    /// let policy = Policy::text().max_time(CapScope::Turn, Some(Duration::from_secs(60)));
    /// let runtime = Runtime::builder(tools).policy(policy).build()?;
    /// let session = runtime.session("s-1", Mode::Text).await?;
    /// assert_eq!(session.spending(), Some([Spending::default(); 3]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn spending(&self) -> Option<[Spending; 3]> {
        self.0.record.spending()
    }

    /// Returns the number of steps of calls that a reply may have. After these the model must
    /// answer without calls.
    pub fn max_tool_steps(&self) -> u32 {
        self.policy().max_tool_steps
    }

    /// Returns the mode of the conversation.
    pub fn mode(&self) -> Mode {
        self.0.mode()
    }

    /// Hands the conversation over to another mode: its tools, budgets and instructions are those
    /// of that mode from now on. The state, the audit log, the calls of the turn and those that
    /// wait for approval stay. Has no effect on a session that has ended.
    ///
    /// Other processes see the mode at their next operation on the session.
    ///
    /// # Errors
    ///
    /// The store failed. The mode is as it was.
    ///
    /// ```
    /// # use tool_core::{Mode, Runtime, ToolContext};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let runtime = Runtime::builder(ToolContext::builder().build()?).build()?;
    /// let session = runtime.session("s-1", Mode::Text).await?;
    /// session.switch_mode(Mode::Voice).await?;
    /// assert_eq!(session.mode(), Mode::Voice);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn switch_mode(&self, mode: Mode) -> Result<(), StoreError> {
        let session = &self.0;
        session.record.switch_mode(mode).await?;
        session.calls.set_permits(session.policy().permits());
        Ok(())
    }

    /// Ends the session. Running calls are cancelled and answered; later calls are answered with
    /// `SESSION_INACTIVE`.
    pub async fn end(&self) {
        self.0.end().await;
    }
}

/// # Calls that wait for a person
impl Session {
    /// Runs a call that was approved. The model does not send it again.
    ///
    /// Mode, arguments and budgets are checked once more, and the call is charged to the current
    /// turn. The response is `NOT_FOUND` if no call waits under the token: it was used, it has
    /// expired, or it is for another session. It is `CONFLICT` if the tools, or the
    /// settings of an agent's toolsets, have changed since the call was requested.
    pub async fn approve(&self, token: &str) -> ToolResponse {
        self.approve_by(token, self.principal()).await
    }

    /// Runs a call that a person has approved, as [`approve`](Self::approve) does. The audit log
    /// names this person, and otherwise the session's principal.
    pub async fn approve_by(&self, token: &str, person: &str) -> ToolResponse {
        let how = ApprovedRun {
            person,
            ..ApprovedRun::default()
        };
        self.run_approved(token, how, |call| call).await
    }

    /// Runs a call that was approved, as [`approve`](Self::approve) does. `prepare` gets the call
    /// before it runs. You can give it handlers, listeners and a cancellation token there, as to
    /// any other call. It loses its approval if you change its tool or its arguments.
    ///
    /// ```
    /// # use tool_core::{Mode, Runtime, RunContext, ToolCall, ToolContext, tool};
    /// # /// Delete a note.
    /// # #[tool(confirm)]
    /// # fn delete(ctx: &RunContext, id: u32) -> u32 {
    /// #     ctx.update("half way");
    /// #     id
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let runtime = Runtime::builder(ToolContext::builder().with(delete).build()?).build()?;
    /// let session = runtime.session("s-1", Mode::Text).await?;
    /// let waiting = session.call(ToolCall::new("call_1", "delete", r#"{"id": 7}"#)).await;
    /// let asked = waiting.meta().confirmation().ok_or("it waits")?;
    ///
    /// let listen = |call: ToolCall| call.on_update(|update| assert_eq!(update.message, "half way"));
    /// let response = session.approve_with(&asked.token, listen).await;
    /// assert_eq!(response.data_json(), Some("7"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn approve_with(
        &self,
        token: &str,
        prepare: impl FnOnce(ToolCall) -> ToolCall,
    ) -> ToolResponse {
        let how = ApprovedRun {
            person: self.principal(),
            ..ApprovedRun::default()
        };
        self.run_approved(token, how, prepare).await
    }

    async fn run_approved(
        &self,
        token: &str,
        how: ApprovedRun<'_>,
        prepare: impl FnOnce(ToolCall) -> ToolCall,
    ) -> ToolResponse {
        let gives_grant = how.grant.is_some();
        let approvable = self.approvable(token, how.arguments, gives_grant).await;
        let ApprovableCall { pending, run } = match approvable {
            Ok(call) => call,
            Err(refused) => return *refused,
        };
        let PendingCall {
            id,
            call_id,
            tool,
            reasons,
            ..
        } = pending;
        let approval = Approval {
            requests: &self.0.runtime.approvals,
            id: id.into(),
        };
        let given = CallApproval {
            id: Arc::clone(&approval.id),
            by: how.person.into(),
            reasons: reasons.into(),
            asked: run.asked,
            grant: how.grant,
        };
        let mut call = prepare(ToolCall::new(call_id, tool, run.text).approved(given));
        if let Some(events) = how.events {
            call = events.begin(&call);
        }
        let shown = how.events.map(|events| (events, call.clone()));
        let response = entry::call(&self.0, call).await;
        if let Some((events, call)) = shown {
            let wanted = confirm::wanted_approvals(&self.0, &response).await;
            events.result(&call, &response, wanted);
        }
        if let Some(waiter) = approval.take_waiter() {
            waiter.answer(&response);
        }
        response
    }

    /// Returns the call that waits under a token, if a person may approve it with these arguments
    /// and perhaps a grant.
    async fn approvable(
        &self,
        token: &str,
        arguments: Option<&str>,
        gives_grant: bool,
    ) -> Result<ApprovableCall, Box<ToolResponse>> {
        let refused = |error| Box::new(confirm::response_without_call(error));
        if self.0.runtime.drain.is_on() {
            return Err(refused(process_ending("the call")));
        }
        let pending = confirm::pending_call(&self.0, token).await;
        let pending = pending.map_err(refused)?;
        confirm::check_tools(&self.0, &pending).map_err(refused)?;
        if gives_grant {
            granted::check_allowed(&self.0, &pending.tool).map_err(refused)?;
        }
        let run = confirm::approved_arguments(&self.0, &pending, arguments)?;
        Ok(ApprovableCall { pending, run })
    }

    /// Answers a call that was not approved with `DENIED`.
    pub async fn deny(&self, token: &str) -> ToolResponse {
        self.deny_by(token, self.principal()).await
    }

    /// Answers a call that a person has not approved, as [`deny`](Self::deny) does. The audit log
    /// names this person, and otherwise the session's principal.
    pub async fn deny_by(&self, token: &str, person: &str) -> ToolResponse {
        confirm::deny(&self.0, token, Some(person))
            .await
            .unwrap_or_else(confirm::response_without_call)
    }

    /// Denies a call as [`deny`](Self::deny) does if no person has decided: no one could be asked,
    /// or no one answered in time. The audit log names no person.
    pub async fn deny_undecided(&self, token: &str) -> ToolResponse {
        confirm::deny(&self.0, token, None)
            .await
            .unwrap_or_else(confirm::response_without_call)
    }

    /// Runs or denies a call as a person has decided. With `events`, a reader gets the beginning of
    /// the call, its updates and its result. If no call waits under the token, there are no events,
    /// and the response is `NOT_FOUND`. If the person has approved other arguments and they are
    /// invalid, there are no events, the response has every problem, and the call waits on.
    ///
    /// A decision may approve calls beyond this one, by a [grant](super::CallGrant). The grant is made
    /// when the approval is taken, in one step with it. If it cannot be made, nothing is done and
    /// the call still waits: the response is `CONFLICT` for a tool with the option `ask_each_time`
    /// and under a [`Policy::max_grant_lifetime`] of zero, and `BUDGET_EXCEEDED` if the session has
    /// as many grants as it may have.
    pub async fn decide(&self, decision: &Decision, events: Option<&EventSender>) -> ToolResponse {
        let token = decision.token();
        let person = decision.person().unwrap_or(self.principal());
        if decision.is_approval() {
            let how = ApprovedRun {
                person,
                events,
                arguments: decision.arguments(),
                grant: decision.grant(),
            };
            return self.run_approved(token, how, |call| call).await;
        }
        let Some(events) = events else {
            return self.deny_by(token, person).await;
        };
        let pending = self.pending_call(token).await;
        let response = self.deny_by(token, person).await;
        if let Ok(pending) = pending
            && !response.meta().tool().is_empty()
        {
            events.not_run(&pending.into_call(), &response);
        }
        response
    }

    /// Returns the call on which a person has decided, before the decision is carried out: nothing
    /// runs, and the call waits on.
    ///
    /// # Errors
    ///
    /// The response that [`decide`](Self::decide) would give, if the decision cannot be carried
    /// out: no call waits under its token, the tools have changed, its arguments are invalid, or its
    /// grant may not be given.
    pub async fn check_decision(
        &self,
        decision: &Decision,
    ) -> Result<PendingCall, Box<ToolResponse>> {
        let token = decision.token();
        if decision.is_approval() {
            let gives_grant = decision.grant().is_some();
            let approvable = self.approvable(token, decision.arguments(), gives_grant);
            return Ok(approvable.await?.pending);
        }
        let pending = confirm::pending_call(&self.0, token).await;
        pending.map_err(|error| Box::new(confirm::response_without_call(error)))
    }

    /// Returns the call that waits under a token, for a person who wants to read all of it:
    /// [`payload`](PendingCall::payload) is the whole of what a summary shortens.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if no call waits under the token, and a transient error if the store failed.
    pub async fn pending_call(&self, token: &str) -> Result<PendingCall, ToolError> {
        confirm::pending_call(&self.0, token).await
    }

    /// Sends the approval that a call waits for again, if it still waits under the token.
    #[doc(hidden)]
    pub async fn ask_again(&self, token: &str, events: &EventSender) {
        if let Some(wanted) = confirm::wanted_approval(&self.0, token).await {
            events.send(AgentEvent::ApprovalWanted(wanted));
        }
    }

    /// Waits for the response of a call that another task of this process decides on, by [`approve`](Self::approve) or
    /// [`deny`](Self::deny), for example a page for operators. The decision may come before. Returns `None` if no response comes: the
    /// approval has expired, another process has decided, or the run was given up.
    ///
    /// ```
    /// # use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
    /// # /// Delete a note.
    /// # #[tool(confirm)]
    /// # fn delete(id: u32) -> u32 {
    /// #     id
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let runtime = Runtime::builder(ToolContext::builder().with(delete).build()?).build()?;
    /// let session = runtime.session("s-1", Mode::Text).await?;
    /// let response = session.call(ToolCall::new("call_1", "delete", r#"{"id": 7}"#)).await;
    /// let asked = response.meta().confirmation().ok_or("it waits")?;
    ///
    /// let (operator, token) = (session.clone(), asked.token.clone());
    /// tokio::spawn(async move { operator.approve(&token).await });
    /// let outcome = session.outcome(asked).await.ok_or("it was decided")?;
    /// assert_eq!(outcome.data_json(), Some("7"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn outcome(&self, asked: &Confirmation) -> Option<ToolResponse> {
        confirm::outcome(&self.0, asked).await
    }

    /// Returns the mark with which the answer `CONFIRMATION_REQUIRED` tells the model to expect the
    /// note about the decision, such as `[decision 0123456789abcdef]`. Returns `None` for a text
    /// that is not a token.
    ///
    /// A host that adds the outcome to the conversation as a message begins it with this mark. The
    /// user does not know it, and
    /// [`reply`](Self::reply) takes it out of the user's texts, so that a user cannot make up a result.
    pub fn decision_mark(&self, token: &str) -> Option<String> {
        Signer::id_of(token).map(|id| self.0.runtime.signer.mark(id))
    }

    /// Returns an alias of a token for clients that must not see the token, for example in a state
    /// that they send back.
    /// [`token_for_alias`](Self::token_for_alias) returns the token. Returns `None` for a text that is not a token.
    pub fn token_alias(&self, token: &str) -> Option<String> {
        self.0.runtime.signer.alias(token)
    }

    /// Returns the token of the call that waits under an alias, even in another process than the
    /// one that gave the alias.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if no call of the session waits under the alias, and a transient error if the
    /// store failed.
    pub async fn token_for_alias(&self, alias: &str) -> Result<String, ToolError> {
        confirm::token_for_alias(&self.0, alias).await
    }
}

/// # What the model sees
impl Session {
    /// Returns the definitions of the tools that the model may see now, in order: those of the
    /// session's mode that no `dynamic` toolset hides. Under [`Policy::search_tools`] they are the
    /// tools that are always declared, followed by those that the model has found.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.0.definitions()
    }

    /// Returns the definitions of the tools that the model finds by [`Policy::search_tools`], found
    /// or not, in order. Empty without a search. The model may call them all, and a provider that
    /// defers tools itself takes them as deferred.
    pub fn searchable_definitions(&self) -> Vec<ToolDefinition> {
        self.0.searchable_definitions()
    }

    /// Returns the instructions about the tools of this mode: full guides in text and their
    /// summaries in voice, unless the policy says otherwise. Tools whose declarations say
    /// everything are left out. The text is empty if that is all of them.
    pub fn instructions(&self) -> String {
        self.0.instructions()
    }

    /// Returns a tool's full guide, or its description if it has none.
    pub fn guide(&self, tool: &str) -> Option<&str> {
        Some(
            self.tools()
                .function_tool(tool)?
                .definition()
                .documentation(),
        )
    }

    /// Returns the tools that the session was opened with.
    pub fn tools(&self) -> &ToolContext {
        &self.0.tools.context
    }
}

/// # Identity, policy and state
impl Session {
    /// Returns the session's id.
    pub fn id(&self) -> &SessionId {
        &self.0.id
    }

    /// Returns the principal, which is empty if you gave none.
    pub fn principal(&self) -> &str {
        &self.0.principal
    }

    /// Returns the policy.
    pub fn policy(&self) -> &Policy {
        self.0.policy()
    }

    /// Returns the state as this process knows it. Call [`refresh`](Self::refresh) first if other
    /// processes share the store.
    pub fn state(&self) -> Arc<SessionState> {
        self.0.record.state()
    }

    /// Changes the state for the host, for example after the pending message was spoken.
    ///
    /// # Errors
    ///
    /// The store failed, or a value nests deeper than 100.
    pub async fn change(&self, changes: &[StateChange]) -> Result<(), StoreError> {
        for change in changes {
            if let StateChange::Value(name, value) = change
                && is_deeper(value, MAX_STORED_DEPTH)
            {
                let name = name.escape_debug();
                return Err(StoreError::new(format!(
                    "`{name}` nests deeper than {MAX_STORED_DEPTH}; make it flatter"
                )));
            }
        }
        self.0.record.change(changes).await
    }

    /// Reads the changes of other processes from the store.
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn refresh(&self) -> Result<(), StoreError> {
        self.0.record.refresh().await
    }
}

/// # Records
impl Session {
    /// Returns the calls of the last turns from the store, oldest first: of the current turn, and
    /// of those before it up to
    /// [`Policy::history`]. Turns without calls are left out.
    ///
    /// # Errors
    ///
    /// The store failed.
    ///
    /// ```
    /// # use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
    /// # /// Say hello.
    /// # #[tool]
    /// # fn greet() -> &'static str {
    /// #     "hello"
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let runtime = Runtime::builder(ToolContext::builder().with(greet).build()?).build()?;
    /// # let session = runtime.session("s-1", Mode::Text).await?;
    /// session.call(ToolCall::new("call_1", "greet", "{}")).await;
    /// session.next_turn().await;
    ///
    /// let history = session.history().await?;
    /// assert_eq!((history[0].turn, history[0].calls[0].tool.as_str()), (0, "greet"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn history(&self) -> Result<Vec<TurnHistory>, StoreError> {
        let first = self.0.first_turn();
        let mut calls = self.0.record.calls().await?;
        calls.retain(|call| call.turn >= first);
        // Stable, so that the calls of a turn stay in order.
        calls.sort_by_key(|call| call.turn);
        let turns = calls.chunk_by(|one, other| one.turn == other.turn);
        Ok(turns
            .map(|calls| TurnHistory {
                turn: calls[0].turn,
                calls: calls.to_vec(),
            })
            .collect())
    }

    /// Returns the audit log from the store: the last 1,000 answered calls of all processes with
    /// their outcomes, their intents and the persons who decided on them, oldest first. In memory
    /// all sessions together keep 250,000 entries, and each at least its last 8.
    ///
    /// A call that waited for approval has two entries: its refusal, and its run or its denial.
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn audit(&self) -> Result<Vec<AuditEntry>, StoreError> {
        self.0.record.audit().await
    }

    /// Returns the intents in the [audit log](Self::audit) from the store, which were carried out,
    /// oldest first.
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn intents(&self) -> Result<Vec<Intent>, StoreError> {
        let entries = self.audit().await?.into_iter();
        let intents = entries.flat_map(|entry| entry.intents);
        Ok(intents.map(|audited| audited.intent).collect())
    }

    /// Returns the measurements of the session in this process: its calls, its turns, its context.
    pub fn metrics(&self) -> SessionMetrics {
        let session = &self.0;
        let (total_calls, total_errors) = session.log().counts();
        let ended = session.ended.get().copied().unwrap_or_else(Instant::now);
        let speech = session.used_shared().and_then(|shared| shared.speech.get());
        SessionMetrics {
            calls: session.log().recent(),
            total_calls,
            total_errors,
            turns: self.turn() + 1,
            duration: ended.saturating_duration_since(session.opened),
            context: self.context(),
            speech: speech.map(|speech| speech.report()).unwrap_or_default(),
        }
    }

    /// Returns the tokens in the model's context window.
    pub fn context(&self) -> ContextMetrics {
        ContextMetrics {
            peak_tokens: self.0.context_usage.peak(),
            ..self.0.initial_context()
        }
    }
}

/// # What a transport reports
impl Session {
    /// Records the tokens of the model's context as its provider has counted them. The log warns at
    /// 0.9 of the policy's window.
    /// [`reply`](Self::reply) calls this itself.
    pub fn observe_context(&self, tokens: u64) {
        self.0.observe_context(tokens);
    }

    /// Records the size of the model's system prompt if it is longer than [`instructions`](Self::instructions), for example because
    /// your own instructions come before them. The text is not kept. The loops call this themselves.
    pub fn observe_system_prompt(&self, text: &str) {
        self.0.observe_system_prompt(text);
    }

    /// Records what a transport has measured of the speech in the conversation. A live loop calls
    /// this itself.
    pub fn observe_speech(&self, event: SpeechEvent) {
        self.0.shared().speech.get_or_init(Box::default).add(event);
    }

    /// Reports that the transport has begun to play audio. `ctx.wait_for_playout()` waits from now
    /// on.
    pub fn playout_started(&self) {
        self.0.shared().playout.set(true);
    }

    /// Reports that the user has heard the audio.
    pub fn playout_finished(&self) {
        self.0.shared().playout.set(false);
    }

    /// Returns true while the user is hearing audio, as the transport reports it.
    pub fn is_playing(&self) -> bool {
        let shared = self.0.used_shared();
        shared.is_some_and(|shared| shared.playout.is_playing())
    }
}

/// The time for which an engine tries an approved call again that is refused for now. It reads no other decision meanwhile.
const RETRIED_FOR: Duration = Duration::from_secs(60);

/// A call on which a person has decided, as an engine records it.
#[derive(Serialize, Deserialize)]
struct DecidedCall {
    call: ToolCall,
    decided_at: SystemTime,
}

impl DecidedCall {
    fn found(pending: PendingCall) -> Self {
        Self {
            call: pending.into_call(),
            decided_at: SystemTime::now(),
        }
    }

    /// Returns true while the engine tries the call again. A clock that was set back counts as no time.
    fn is_recent(&self) -> bool {
        let passed = self.decided_at.elapsed().unwrap_or_default();
        passed < RETRIED_FOR
    }
}

/// Returns the error of a decision that cannot be taken at the moment: the call waits on, and an engine tries it again.
fn not_taken_yet(response: &ToolResponse) -> Option<ToolError> {
    let error = response.error()?;
    let is_of_no_call = response.meta().tool().is_empty();
    let is_passing = is_of_no_call && error.kind == ErrorKind::Transient;
    is_passing.then(|| ToolError::transient(error.message.clone()))
}

/// The way in which an approved call is run.
#[derive(Default)]
struct ApprovedRun<'a> {
    /// The person who has approved it.
    person: &'a str,
    events: Option<&'a EventSender>,
    /// The arguments that the person has given in place of the model's.
    arguments: Option<&'a str>,
    /// The calls beyond this one that the person has approved.
    grant: Option<GrantTerms>,
}

/// A call that a person may approve.
struct ApprovableCall {
    pending: PendingCall,
    run: ApprovedArguments,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.0.id)
            .field("mode", &self.0.mode())
            .finish_non_exhaustive()
    }
}

/// The calls of a turn.
///
/// ```
/// # use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
/// # /// Add two numbers.
/// # #[tool]
/// # fn add(a: i64, b: i64) -> i64 {
/// #     a + b
/// # }
/// #
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let runtime = Runtime::builder(ToolContext::builder().with(add).build()?).build()?;
/// # let session = runtime.session("s-1", Mode::Text).await?;
/// session.call(ToolCall::new("call_1", "add", r#"{"a": 1, "b": 2}"#)).await;
/// for turn in session.history().await? {
///     for call in &turn.calls {
///         println!("{}: {}({})", turn.turn, call.tool, call.arguments); // 0: add({"a":1,"b":2})
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TurnHistory {
    /// The number of the turn, counted from 0.
    pub turn: u64,
    /// Its calls, in the order of their answers.
    pub calls: Vec<SessionCall>,
}
