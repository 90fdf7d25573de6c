//! Agents whose conversation an engine for durable execution runs.

use crate::agent::AgentLoop;
use crate::conversation_log::ConversationLog;
use crate::open_agent_error::OpenAgentError;
use crate::opened_agent::{in_order_of_calls, load_complete};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tool_core::call::{Confirmation, ErrorKind};
use tool_core::session::{
    ConversationKey, Decision, DurableSteps, DynHistoryStore, EventSender, History,
    HistoryStoreError, Message, Model, NOTE, Reply, SessionBuilder, Turn, record, record_call,
};
use tool_core::{Session, ToolCall, ToolError, ToolResponse};

/// The longest time that a signal is waited for.
const MAX_WAIT: Duration = Duration::from_secs(366 * 24 * 3_600);

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
            let message = "its session has `background_answers`, and a call in the background is no step";
            return Err(OpenAgentError::Durable(ToolError::permanent(message)));
        }
        let key = ConversationKey::new(id, opened.principal());
        let opening = async {
            let found = load_complete(&*store, &key, &opened).await;
            let found = found.map_err(|error| ToolError::transient(error.to_string()))?;
            Ok(found.len() as u64)
        };
        let stored = record(&*steps, "open", opening).await;
        let stored = stored.map_err(OpenAgentError::Durable)?;

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
    /// days and to another process. If none comes until the approval expires, the model learns that the call did not run.
    /// If a decision has invalid arguments, or is one on another call, the call waits on for the next signal, whose name ends
    /// with `-2`, then `-3` and so on.
    ///
    /// Without an engine the reply comes back as it is. See [`open_durable`](Self::open_durable) for an example.
    pub async fn decided(&mut self, mut reply: Reply) -> Reply {
        let Some(steps) = self.steps.clone() else {
            return reply;
        };
        loop {
            let waiting = reply.confirmations().cloned().collect::<Vec<_>>();
            if waiting.is_empty() {
                return reply;
            }
            for confirmation in &waiting {
                self.wait_for_decision(&*steps.0, confirmation).await;
            }
            reply = self.resume().await;
        }
    }

    async fn wait_for_decision(&mut self, steps: &dyn DurableSteps, confirmation: &Confirmation) {
        let name = Decision::signal_name(&confirmation.token);
        let mut signals = 0;
        loop {
            signals += 1;
            let name = match signals {
                1 => name.clone(),
                further => format!("{name}-{further}"),
            };
            let value = match steps.now().await {
                Ok(now) => steps.signal(&name, time_left(confirmation, now)).await,
                Err(error) => Err(error),
            };
            let Ok(Some(value)) = value else {
                self.add(Message::user(expiry_note(confirmation)));
                return;
            };
            let decision = serde_json::from_str::<Decision>(&value).ok();
            let Some(decision) = decision.filter(|found| found.token() == confirmation.token)
            else {
                continue;
            };
            let response = self.decide(&decision).await;
            if !waits_on(&response) {
                return;
            }
        }
    }
}

/// Returns true if a decision could not be carried out, and the call still waits for another one.
fn waits_on(response: &ToolResponse) -> bool {
    let kind = response.error().map(|error| error.kind);
    response.meta().tool().is_empty() && kind != Some(ErrorKind::NotFound)
}

fn time_left(confirmation: &Confirmation, now: SystemTime) -> Duration {
    let expires = confirmation.expiry();
    let left = expires.and_then(|expires| expires.duration_since(now).ok());
    left.unwrap_or_default().min(MAX_WAIT)
}

fn expiry_note(confirmation: &Confirmation) -> String {
    let tool = confirmation.tool.escape_debug();
    format!(
        "{NOTE} The call of `{tool}` that waited for a person was not run: no decision has come in time."
    )
}

/// An engine, and what an agent records with it beside its replies.
#[derive(Clone)]
pub(crate) struct RecordingSteps(pub(crate) Arc<dyn DurableSteps>);

impl fmt::Debug for RecordingSteps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordingSteps").finish_non_exhaustive()
    }
}

/// The turn that has begun.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NextTurn {
    pub(crate) turn: Turn,
    /// True if a tool has ended the session before.
    pub(crate) was_ending: bool,
}

impl NextTurn {
    pub(crate) async fn begin(session: &Session) -> Self {
        let was_ending = session.state().ending;
        let turn = session.next_turn().await;
        Self { turn, was_ending }
    }
}

impl RecordingSteps {
    /// Begins the next turn of a session.
    pub(crate) async fn next_turn(&self, session: &Session) -> NextTurn {
        let beginning = async { Ok(NextTurn::begin(session).await) };
        let next = record(&*self.0, "turn", beginning).await;
        // A cancelled function does not begin a turn.
        next.unwrap_or_else(|_| NextTurn {
            turn: Turn {
                number: session.turn(),
                pending_message: None,
                ended: true,
            },
            was_ending: true,
        })
    }

    /// Carries out a decision in two steps: the first finds the call, so that the second, if it runs again, knows which call an
    /// earlier process may have made.
    pub(crate) async fn decide(
        &self,
        session: &Session,
        decision: &Decision,
        events: Option<&EventSender>,
    ) -> ToolResponse {
        let finding = async {
            let pending = session.check_decision(decision).await.ok();
            Ok(pending.map(|pending| {
                ToolCall::new(pending.call_id, pending.tool, pending.arguments)
            }))
        };
        let waiting = record(&*self.0, "decision", finding).await.ok().flatten();
        let call = waiting.clone().unwrap_or_else(|| ToolCall::new("", "", ""));
        let deciding = async {
            let response = session.decide(decision, events).await;
            let is_gone = response.meta().tool().is_empty()
                && response.error().is_some_and(|error| error.kind == ErrorKind::NotFound);
            match &waiting {
                Some(call) if is_gone => {
                    session.answer_lost_decision(call, decision.is_approval())
                }
                _ => response,
            }
        };
        record_call(&*self.0, &call, deciding).await
    }
}
