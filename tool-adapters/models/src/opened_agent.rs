//! Agents whose conversation is in a store.

use crate::agent::AgentLoop;
use crate::conversation_log::ConversationLog;
use crate::open_agent_error::OpenAgentError;
use std::collections::HashMap;
use std::sync::Arc;
use tool_core::call::ResultForm;
use tool_core::session::{
    ConversationKey, DynHistoryStore, History, Message, Model, SessionBuilder,
};
use tool_core::{Session, ToolCall};

/// # Stored conversations
impl<M: Model> AgentLoop<M> {
    /// Opens a conversation in a store, or begins it, and goes on where it was left. `session`
    /// opens the session of the conversation; its principal owns the conversation.
    ///
    /// Each message is stored as it is said: the user's before the model is asked, and the model's step before its calls
    /// run. A process that ends at any point loses nothing that was said. A call whose result was not stored is answered from
    /// the runtime's [journal](tool_core::session::Journal), and otherwise with `UNKNOWN`: it may have taken effect, and it does not
    /// run again. While it may still be running, the conversation does not open. The same holds for a call that a person has approved: the decision is stored before it is carried out.
    /// If the last message is the user's or a result, [`resume`](Self::resume) asks the model.
    ///
    /// A session that was idle for too long is opened again, now and before each later message. The
    /// conversation goes on; what the session alone knew, such as a call that waited for approval,
    /// is gone.
    ///
    /// If another process adds messages at the same time, the reply of the later one fails with
    /// `CONFLICT`, and no call of its step runs. Open the conversation again.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tool_adapters::agent::AgentLoop;
    /// use tool_core::session::MemoryStore;
    /// use tool_core::testing::ScriptedModel;
    /// use tool_core::{Mode, Runtime, ToolContext};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = Arc::new(MemoryStore::new()); // or one that outlives the process, such as `SqliteStore`
    /// let runtime = Runtime::builder(ToolContext::builder().build()?).store(store.clone()).build()?;
    /// let session = move || runtime.session("chat-42", Mode::Text).principal("user:7");
    ///
    /// let model = ScriptedModel::new().says("Hello");
    /// let mut agent = AgentLoop::open(store.clone(), "chat-42", session.clone(), model).await?;
    /// let _ = agent.prompt("Hi").await;
    /// drop(agent);
    ///
    /// // Another request, perhaps after a restart:
    /// let model = ScriptedModel::new().says("You said hi.");
    /// let mut agent = AgentLoop::open(store, "chat-42", session, model).await?;
    /// let _ = agent.prompt("What did I say?").await;
    /// assert_eq!(agent.history().messages().len(), 4);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The session cannot be opened, or the conversation cannot be read, or another process writes
    /// it at this moment. [`OpenAgentError::Running`] if a call without a result may still be
    /// running in this process or in another one: open the conversation again once it has ended.
    /// With a journal that processes share, a process that was killed counts as running until its
    /// lease ends.
    pub async fn open(
        store: impl DynHistoryStore + 'static,
        id: impl AsRef<str>,
        session: impl Fn() -> SessionBuilder + Send + Sync + 'static,
        model: M,
    ) -> Result<Self, OpenAgentError> {
        let store: Arc<dyn DynHistoryStore> = Arc::new(store);
        let opened = session().await?;
        let key = ConversationKey::new(id, opened.principal());
        let found = load_complete(&*store, &key, &opened).await?;
        opened.forget_lost();

        let stored = found.len() as u64;
        let mut history = History::new();
        history.extend(found);
        let mut agent = Self::with_history(opened, model, history);
        agent.store_in(ConversationLog::new(store, key, stored), Box::new(session));
        Ok(agent)
    }
}

/// Loads a conversation, and answers in it the calls that an earlier process has left without a result.
pub(crate) async fn load_complete(
    store: &dyn DynHistoryStore,
    key: &ConversationKey,
    session: &Session,
) -> Result<Vec<Message>, OpenAgentError> {
    let found = store.load(key, 0).await?;
    let messages = found.map(|found| found.messages).unwrap_or_default();
    let stored = messages.len() as u64;
    let mut messages = in_order_of_calls(messages);

    let mut lost = lost_results(session, &messages).await?;
    let decisions = session.lost_decisions(&messages).await;
    let decisions = decisions.map_err(OpenAgentError::Running)?;
    lost.extend(decisions.into_iter().map(Message::user));
    if !lost.is_empty() {
        store.append(key, stored, &lost).await?;
        messages.extend(lost);
    }
    Ok(messages)
}

/// Puts the results of each step behind it, in the order of its calls. They were stored as they came,
/// and the note of a handoff was stored behind the result that has handed the conversation over.
pub(crate) fn in_order_of_calls(messages: Vec<Message>) -> Vec<Message> {
    let mut ordered: Vec<Message> = Vec::with_capacity(messages.len());
    let mut places = HashMap::new();
    // The results of the last step so far.
    let mut results = 0..0;
    for message in messages {
        if let Message::Assistant { calls, .. } = &message {
            let numbered = calls.iter().enumerate();
            places = numbered
                .map(|(place, call)| (call.id().to_owned(), place))
                .collect();
            results = ordered.len() + 1..ordered.len() + 1;
        }
        let Some(place) = place_of(&message, &places) else {
            ordered.push(message);
            continue;
        };
        let is_before = |result: &Message| place_of(result, &places) <= Some(place);
        let before = ordered[results.clone()].partition_point(is_before);
        ordered.insert(results.start + before, message);
        results.end += 1;
    }
    ordered
}

fn place_of(message: &Message, places: &HashMap<String, usize>) -> Option<usize> {
    match message {
        Message::Result { call_id, .. } => places.get(call_id).copied(),
        _ => None,
    }
}

/// Returns the results of the calls that an earlier process has left without one.
async fn lost_results(
    session: &Session,
    messages: &[Message],
) -> Result<Vec<Message>, OpenAgentError> {
    let is_step = |message: &Message| matches!(message, Message::Assistant { .. });
    let Some(step) = messages.iter().rposition(is_step) else {
        return Ok(Vec::new());
    };
    let Message::Assistant { calls, .. } = &messages[step] else {
        return Ok(Vec::new());
    };
    let has_result = |call: &&ToolCall| {
        messages[step..].iter().any(
            |message| matches!(message, Message::Result { call_id, .. } if call_id == call.id()),
        )
    };
    let mut results = Vec::new();
    for call in calls.iter().filter(|call| !has_result(call)) {
        let response = session.answer_lost(call).await;
        let response = response.map_err(OpenAgentError::Running)?;
        results.push(Message::Result {
            call_id: call.id().to_owned(),
            tool: call.name().to_owned(),
            result: response.for_model(ResultForm::Plain),
        });
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{AgentEvent, AgentInput, Answers};
    use futures_util::StreamExt;
    use serde_json::json;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;
    use tool_core::call::ModelResult;
    use tool_core::session::{
        ConversationInfo, ConversationPlace, ConversationSummary, Decision, HistoryStore,
        HistoryStoreError, Journal, JournalEntry, JournalError, JournalStart, MemoryStore,
        RecoveredCall, Reply, ReplyFinish, StoreError, StoredConversation,
    };
    use tool_core::testing::ScriptedModel;
    use tool_core::{ErrorKind, Mode, Policy, RunContext, Runtime, ToolContext, tool};

    const ID: &str = "chat-42";

    /// Find a table.
    #[tool(category = "retrieval")]
    fn find_table(seats: u32) -> u32 {
        seats + 1
    }

    /// Pay a bill.
    #[tool(category = "action")]
    async fn pay(ctx: &RunContext) {
        ctx.update("paying");
        std::future::pending::<()>().await;
    }

    /// Cancel a booking.
    #[tool(category = "action", confirm)]
    fn cancel(number: u32) -> u32 {
        number
    }

    /// Sign a contract.
    #[tool(category = "action", confirm)]
    async fn sign(ctx: &RunContext) {
        ctx.update("signing");
        std::future::pending::<()>().await;
    }

    /// A program whose store outlives its runtimes.
    #[derive(Clone)]
    struct Host {
        store: Arc<MemoryStore>,
        policy: Policy,
        /// True if calls go on in the background after their first update.
        background: bool,
        /// True if another process is running every call.
        has_busy_neighbour: bool,
    }

    /// The journal of a process beside which another one is running every call.
    struct BusyNeighbour;

    impl Journal for BusyNeighbour {
        async fn started(&self, _: &JournalEntry) -> Result<JournalStart, JournalError> {
            Ok(JournalStart::Recorded)
        }

        async fn find(&self, _: &str, _: &str) -> Result<Option<JournalStart>, JournalError> {
            Ok(Some(JournalStart::Running))
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

    impl Host {
        fn new() -> Self {
            Self {
                store: Arc::new(MemoryStore::new()),
                policy: Policy::text(),
                background: false,
                has_busy_neighbour: false,
            }
        }

        /// Opens the conversation as a new process does.
        async fn open(&self, script: ScriptedModel) -> AgentLoop<ScriptedModel> {
            self.try_open(script).await.expect("opens")
        }

        async fn try_open(
            &self,
            script: ScriptedModel,
        ) -> Result<AgentLoop<ScriptedModel>, OpenAgentError> {
            self.open_over(Arc::clone(&self.store), script).await
        }

        async fn open_over(
            &self,
            histories: impl DynHistoryStore + 'static,
            script: ScriptedModel,
        ) -> Result<AgentLoop<ScriptedModel>, OpenAgentError> {
            self.open_in(&self.runtime(), histories, script).await
        }

        /// Creates the runtime of a process.
        fn runtime(&self) -> Runtime {
            let tools = ToolContext::builder()
                .with(find_table)
                .with(pay)
                .with(cancel)
                .with(sign)
                .build();
            let mut runtime = Runtime::builder(tools.expect("builds"))
                .policy(self.policy.clone())
                .store(Arc::clone(&self.store))
                .signing_key([7; 32]);
            if self.has_busy_neighbour {
                runtime = runtime.journal(BusyNeighbour);
            }
            runtime.build().expect("builds")
        }

        /// Opens the conversation in a process.
        async fn open_in(
            &self,
            runtime: &Runtime,
            histories: impl DynHistoryStore + 'static,
            script: ScriptedModel,
        ) -> Result<AgentLoop<ScriptedModel>, OpenAgentError> {
            let runtime = runtime.clone();
            let background = self.background;
            let session = move || {
                let session = runtime.session(ID, Mode::Text).principal("user:7");
                if background {
                    session.background_answers()
                } else {
                    session
                }
            };
            AgentLoop::open(histories, ID, session, script).await
        }

        async fn stored(&self) -> Vec<Message> {
            let key = ConversationKey::new(ID, "user:7");
            let found = self.store.load(&key, 0).await;
            let found = found.expect("loads").expect("a conversation");
            found.messages
        }
    }

    fn call(id: &str, tool: &str, arguments: serde_json::Value) -> ToolCall {
        ToolCall::new(id, tool, arguments)
    }

    fn finding(id: &str, seats: u32) -> ToolCall {
        call(id, "find_table", json!({"seats": seats}))
    }

    fn error_kind(reply: &Reply) -> Option<ErrorKind> {
        reply.error.as_ref().map(|error| error.kind)
    }

    #[tokio::test]
    async fn a_conversation_goes_on_in_another_process() {
        let host = Host::new();
        let script = ScriptedModel::new()
            .calls([finding("c1", 2)])
            .says("Table 3.");
        let mut agent = host.open(script).await;
        let _ = agent.prompt("For two?").await;
        let before = agent.history().messages().to_vec();
        drop(agent);

        let mut agent = host.open(ScriptedModel::new().says("For two.")).await;
        assert_eq!(agent.history().messages(), before);
        let _ = agent.prompt("What did I ask?").await;
        assert_eq!(agent.history().messages(), host.stored().await);
        assert_eq!(agent.session().turn(), 2, "each message is a turn");
    }

    #[tokio::test]
    async fn a_conversation_of_another_principal_is_not_read() {
        let host = Host::new();
        let mut agent = host.open(ScriptedModel::new().says("Hello")).await;
        let _ = agent.prompt("Hi").await;
        let runtime = Runtime::builder(ToolContext::builder().build().expect("builds"));
        let runtime = runtime.build().expect("builds");
        let session = move || runtime.session(ID, Mode::Text).principal("user:8");
        let other =
            AgentLoop::open(Arc::clone(&host.store), ID, session, ScriptedModel::new()).await;
        assert_eq!(other.expect("opens").history().messages(), []);
    }

    /// Leaves a conversation while a payment runs, and returns what the next process finds in it.
    async fn killed_while_it_pays(host: &Host) -> AgentLoop<ScriptedModel> {
        leave_while_it_pays(host, &host.runtime()).await;
        host.open(ScriptedModel::new().says("I do not know.")).await
    }

    /// Leaves a conversation in a process while a payment runs.
    async fn leave_while_it_pays(host: &Host, runtime: &Runtime) {
        let calls = [call("c1", "pay", json!({})), finding("c2", 2)];
        let script = ScriptedModel::new().calls(calls);
        let opened = host.open_in(runtime, Arc::clone(&host.store), script).await;
        let mut agent = opened.expect("opens");
        let mut events = agent.stream("Pay.");
        let mut seen = 0;
        // Of both calls, one has an update and the other a result.
        while seen < 2 {
            let event = events.next().await.expect("an event");
            let counts = matches!(
                event,
                AgentEvent::CallUpdate { .. } | AgentEvent::CallResult { .. }
            );
            seen += usize::from(counts);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        // A process that is killed drops nothing.
        std::mem::forget(events);
        std::mem::forget(agent);
    }

    // M13
    #[tokio::test]
    async fn a_call_that_another_process_runs_is_not_answered() {
        let mut host = Host::new();
        leave_while_it_pays(&host, &host.runtime()).await;
        host.has_busy_neighbour = true;
        let error = host.try_open(ScriptedModel::new()).await.err();
        let error = error.expect("the payment runs").to_string();
        assert!(error.contains("may still be running"), "{error}");
        assert_eq!(host.stored().await.len(), 3, "no result of the payment");
    }

    // M13
    #[tokio::test]
    async fn a_call_that_this_process_runs_is_not_answered() {
        let host = Host::new();
        let runtime = host.runtime();
        leave_while_it_pays(&host, &runtime).await;
        let script = ScriptedModel::new();
        let opened = host.open_in(&runtime, Arc::clone(&host.store), script);
        let error = opened.await.expect_err("the payment runs").to_string();
        assert!(error.contains("may still be running"), "{error}");
        assert_eq!(host.stored().await.len(), 3, "no result of the payment");
    }

    // M13
    #[tokio::test]
    async fn a_call_that_a_killed_process_has_left_is_unknown() {
        let host = Host::new();
        let mut agent = killed_while_it_pays(&host).await;
        let results = agent.history().messages()[2..].iter();
        let results = results.map(|message| match message {
            Message::Result {
                call_id, result, ..
            } => (call_id.as_str(), result.text.as_str()),
            other => panic!("no result: {other:?}"),
        });
        let results = results.collect::<Vec<_>>();
        assert!(results.contains(&("c2", "3")), "{results:?}");
        let unknown = results.iter().find(|(id, _)| *id == "c1");
        let (_, text) = unknown.expect("a result of the payment");
        assert!(
            text.contains("unknown whether the call took effect"),
            "{text}"
        );
        assert_eq!(host.stored().await.len(), 4, "the result is stored");

        let reply = agent.resume().await;
        assert_eq!(reply.text.as_deref(), Some("I do not know."));
    }

    #[tokio::test]
    async fn a_background_call_of_a_killed_process_is_told_once() {
        let host = Host {
            background: true,
            ..Host::new()
        };
        let pay = call("c1", "pay", json!({}));
        let mut agent = host
            .open(ScriptedModel::new().calls([pay]).says("Paying."))
            .await;
        let _ = agent.prompt("Pay.").await;
        // A process that is killed drops nothing.
        std::mem::forget(agent);

        for _ in 0..2 {
            let mut next = host.open(ScriptedModel::new().says("I do not know.")).await;
            let _ = next.prompt("Did you?").await;
        }
        let stored = host.stored().await;
        let told = stored.iter().filter(|message| match message {
            Message::User(said) => said.text().contains("its outcome is unknown"),
            _ => false,
        });
        assert_eq!(told.count(), 1, "{stored:?}");
    }

    #[tokio::test]
    async fn a_dropped_reply_leaves_its_results_in_the_store() {
        let host = Host::new();
        let pay = call("c1", "pay", json!({}));
        let mut agent = host.open(ScriptedModel::new().calls([pay])).await;
        let mut events = agent.stream("Pay.");
        while !matches!(events.next().await, Some(AgentEvent::CallUpdate { .. })) {}
        drop(events);
        let history = agent.history().messages().to_vec();
        drop(agent);
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(host.stored().await, history);
    }

    #[tokio::test]
    async fn a_writer_that_comes_second_has_a_conflict() {
        let host = Host::new();
        let mut first = host.open(ScriptedModel::new().says("One")).await;
        let second = ScriptedModel::new().calls([finding("c1", 2)]);
        let mut second = host.open(second).await;
        let _ = first.prompt("Hi").await;
        let reply = second.prompt("Hello").await;
        assert_eq!(reply.finish, ReplyFinish::Failed);
        assert_eq!(error_kind(&reply), Some(ErrorKind::Conflict));
        assert!(second.model_mut().requests().is_empty(), "it is not asked");
        assert_eq!(host.stored().await.len(), 2);
    }

    #[tokio::test]
    async fn an_approval_waits_for_another_process() {
        let host = Host::new();
        let asking = call("c1", "cancel", json!({"number": 12}));
        let script = ScriptedModel::new().calls([asking]).says("Shall I?");
        let mut agent = host.open(script).await;
        let reply = agent.prompt("Cancel 12").await;
        let token = reply.confirmations().next().expect("waits").token.clone();
        drop(agent);

        let mut agent = host.open(ScriptedModel::new().says("Done.")).await;
        let events = agent.stream(Decision::approve(token));
        let events = events.collect::<Vec<_>>().await;
        let result = events.iter().find_map(|event| match event {
            AgentEvent::CallResult { response, .. } => response.data_json(),
            _ => None,
        });
        assert_eq!(result, Some("12"));
        assert_eq!(host.stored().await, agent.history().messages());
    }

    /// A store that takes a while for each append.
    #[derive(Clone)]
    struct SlowStore {
        inner: Arc<MemoryStore>,
        /// True if the next append fails, and takes effect a moment later.
        loses_answer: Arc<AtomicBool>,
    }

    impl SlowStore {
        fn new(inner: &Arc<MemoryStore>) -> Self {
            Self {
                inner: Arc::clone(inner),
                loses_answer: Arc::default(),
            }
        }
    }

    impl HistoryStore for SlowStore {
        async fn append(
            &self,
            key: &ConversationKey,
            expected: u64,
            messages: &[Message],
        ) -> Result<u64, HistoryStoreError> {
            if self.loses_answer.swap(false, Ordering::SeqCst) {
                let inner = Arc::clone(&self.inner);
                let key = key.clone();
                let messages = messages.to_vec();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    HistoryStore::append(&*inner, &key, expected, &messages).await
                });
                return Err(HistoryStoreError::Store(StoreError::new("no answer")));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            HistoryStore::append(&*self.inner, key, expected, messages).await
        }

        async fn load(
            &self,
            key: &ConversationKey,
            from: u64,
        ) -> Result<Option<StoredConversation>, HistoryStoreError> {
            HistoryStore::load(&*self.inner, key, from).await
        }

        async fn list(
            &self,
            principal: &str,
            after: Option<&ConversationPlace>,
            limit: u32,
        ) -> Result<Vec<ConversationSummary>, HistoryStoreError> {
            HistoryStore::list(&*self.inner, principal, after, limit).await
        }

        async fn describe(
            &self,
            key: &ConversationKey,
            info: &ConversationInfo,
        ) -> Result<(), HistoryStoreError> {
            HistoryStore::describe(&*self.inner, key, info).await
        }

        async fn branch(
            &self,
            key: &ConversationKey,
            at: u64,
            branch: &str,
        ) -> Result<u64, HistoryStoreError> {
            HistoryStore::branch(&*self.inner, key, at, branch).await
        }

        async fn delete(&self, key: &ConversationKey) -> Result<bool, HistoryStoreError> {
            HistoryStore::delete(&*self.inner, key).await
        }

        async fn delete_unused(&self, since: u64) -> Result<u64, HistoryStoreError> {
            HistoryStore::delete_unused(&*self.inner, since).await
        }
    }

    // M34
    #[tokio::test(start_paused = true)]
    async fn a_token_is_shown_once_its_result_is_stored() {
        let host = Host::new();
        let calls = [
            call("c1", "cancel", json!({"number": 12})),
            finding("c2", 2),
        ];
        let script = ScriptedModel::new().calls(calls).says("Shall I?");
        let slow = SlowStore::new(&host.store);
        let mut agent = host.open_over(slow, script).await.expect("opens");
        let mut events = agent.stream("Cancel 12");
        let is_wanted = |event: &AgentEvent| matches!(event, AgentEvent::ApprovalWanted(_));
        while !events.next().await.as_ref().is_some_and(is_wanted) {}

        let stored = host.stored().await;
        let has_result = stored
            .iter()
            .any(|message| matches!(message, Message::Result { call_id, .. } if call_id == "c1"));
        assert!(has_result, "{stored:?}");
        let rest = events.collect::<Vec<_>>().await;
        assert!(matches!(rest.last(), Some(AgentEvent::Finished { .. })));
        assert_eq!(agent.history().messages(), host.stored().await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_append_that_takes_effect_late_is_no_conflict() {
        let host = Host::new();
        let slow = SlowStore::new(&host.store);
        slow.loses_answer.store(true, Ordering::SeqCst);
        let script = ScriptedModel::new().says("Hello");
        let mut agent = host.open_over(slow, script).await.expect("opens");
        let failed = agent.prompt("Hi").await;
        assert_eq!(error_kind(&failed), Some(ErrorKind::Transient));
        let reply = agent.prompt("Still there?").await;
        assert_eq!(reply.text.as_deref(), Some("Hello"), "{reply:?}");
        assert_eq!(host.stored().await, agent.history().messages());
    }

    /// Lets the model make a call that a person has to approve, and returns its token.
    async fn asked(host: &Host, tool: &str, arguments: serde_json::Value) -> String {
        let script = ScriptedModel::new()
            .calls([call("c1", tool, arguments)])
            .says("Shall I?");
        let mut agent = host.open(script).await;
        let reply = agent.prompt("Please").await;
        let asked = reply.confirmations().next().expect("waits");
        asked.token.clone()
    }

    fn last_note(agent: &AgentLoop<ScriptedModel>) -> String {
        match agent.history().messages().last() {
            Some(Message::User(said)) => said.text().into_owned(),
            other => panic!("no note: {other:?}"),
        }
    }

    // M34
    #[tokio::test]
    async fn an_approved_call_of_a_killed_process_is_unknown() {
        let host = Host::new();
        let token = asked(&host, "sign", json!({})).await;
        let mut agent = host.open(ScriptedModel::new()).await;
        let mut events = agent.stream(Decision::approve(token.clone()));
        while !matches!(events.next().await, Some(AgentEvent::CallUpdate { .. })) {}
        // A process that is killed drops nothing.
        std::mem::forget(events);
        std::mem::forget(agent);

        let mut agent = host.open(ScriptedModel::new().says("I do not know.")).await;
        let note = last_note(&agent);
        let mark = agent.session().decision_mark(&token).expect("a mark");
        assert!(note.starts_with(&mark), "{note}");
        assert!(
            note.contains("unknown whether the call took effect"),
            "{note}"
        );
        assert_eq!(host.stored().await, agent.history().messages());
        assert_eq!(agent.resume().await.text.as_deref(), Some("I do not know."));

        let again = agent.approve(&token).await;
        let kind = again.error().map(|error| error.kind);
        assert_eq!(kind, Some(ErrorKind::NotFound));
    }

    // M34
    #[tokio::test]
    async fn a_dropped_decision_is_told_by_the_next_reply() {
        let host = Host::new();
        let token = asked(&host, "sign", json!({})).await;
        let script = ScriptedModel::new().says("I do not know.");
        let mut agent = host.open(script).await;
        let mut events = agent.stream(Decision::approve(token));
        while !matches!(events.next().await, Some(AgentEvent::CallUpdate { .. })) {}
        drop(events);

        let _ = agent.prompt("And?").await;
        let messages = agent.history().messages().to_vec();
        let told = messages.iter().filter(|message| match message {
            Message::User(said) => said.text().contains("its outcome is unknown"),
            _ => false,
        });
        assert_eq!(told.count(), 1, "{messages:?}");
        drop(agent);
        assert_eq!(host.stored().await, messages);
        let agent = host.open(ScriptedModel::new()).await;
        assert_eq!(agent.history().messages(), messages, "no further note");
    }

    // M34
    #[tokio::test]
    async fn a_lost_decision_is_told_once() {
        let host = Host::new();
        let token = asked(&host, "cancel", json!({"number": 12})).await;
        let mut agent = host.open(ScriptedModel::new()).await;
        agent
            .begin_decision(&Decision::deny(&token))
            .await
            .expect("stored");
        std::mem::forget(agent);

        let agent = host.open(ScriptedModel::new()).await;
        let note = last_note(&agent);
        assert!(
            note.ends_with("A person has refused it, and it was not run."),
            "{note}"
        );
        let length = agent.history().messages().len();
        let agent = host.open(ScriptedModel::new()).await;
        assert_eq!(agent.history().messages().len(), length);
    }

    // M34
    #[tokio::test]
    async fn an_approval_that_was_not_carried_out_still_works() {
        let host = Host::new();
        let token = asked(&host, "cancel", json!({"number": 12})).await;
        let mut agent = host.open(ScriptedModel::new()).await;
        agent
            .begin_decision(&Decision::approve(&token))
            .await
            .expect("stored");
        std::mem::forget(agent);

        let mut agent = host.open(ScriptedModel::new()).await;
        assert_eq!(agent.approve(&token).await.data_json(), Some("12"));
    }

    // M34
    #[tokio::test]
    async fn a_decision_that_cannot_be_stored_is_not_carried_out() {
        let host = Host::new();
        let token = asked(&host, "cancel", json!({"number": 12})).await;
        let mut late = host.open(ScriptedModel::new()).await;
        let mut agent = host.open(ScriptedModel::new().says("Yes.")).await;
        let _ = agent.prompt("Still there?").await;

        let refused = late.approve(&token).await;
        let kind = refused.error().map(|error| error.kind);
        assert_eq!(kind, Some(ErrorKind::Conflict));
        assert_eq!(agent.approve(&token).await.data_json(), Some("12"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_that_was_idle_is_opened_again() {
        let mut host = Host::new();
        host.policy = Policy::text().idle_timeout(Duration::from_secs(60));
        let script = ScriptedModel::new()
            .says("One")
            .calls([finding("c1", 2)])
            .says("Two");
        let mut agent = host.open(script).await;
        let _ = agent.prompt("Hi").await;
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        let reply = agent.prompt("Still there?").await;
        assert_eq!(reply.text.as_deref(), Some("Two"), "{reply:?}");
        assert!(reply.responses[0].is_ok(), "{reply:?}");
    }

    /// Lets a call wait until its session was idle for too long. Returns its token.
    async fn waiting_in_an_idle_session() -> (AgentLoop<ScriptedModel>, String) {
        let mut host = Host::new();
        let policy = Policy::text().idle_timeout(Duration::from_secs(60));
        host.policy = policy.confirmation_lifetime(Duration::from_secs(86_400));
        let script = ScriptedModel::new()
            .calls([call("c1", "cancel", json!({"number": 12}))])
            .says("Shall I?")
            .says("Yes.");
        let mut agent = host.open(script).await;
        let reply = agent.prompt("Cancel 12").await;
        let asked = reply.confirmations().next().expect("waits");
        let token = asked.token.clone();
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        (agent, token)
    }

    #[tokio::test(start_paused = true)]
    async fn an_approval_of_an_idle_session_can_be_cancelled() {
        let (mut agent, token) = waiting_in_an_idle_session().await;
        let mut answers = Answers::default();
        answers.cancelled.push(token);
        answers.message = Some("Are you there?".into());
        let events = agent.stream(AgentInput::Answers(answers));
        let events = events.collect::<Vec<_>>().await;
        let Some(AgentEvent::Finished { reply }) = events.last() else {
            panic!("not an end: {events:?}");
        };
        assert_eq!(reply.text.as_deref(), Some("Yes."), "{reply:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_decision_on_an_idle_session_opens_it_again() {
        let (mut agent, token) = waiting_in_an_idle_session().await;
        let found = agent.approve(&token).await;
        let kind = found.error().map(|error| error.kind);
        assert_eq!(kind, Some(ErrorKind::SessionInactive));
        let again = agent.approve(&token).await;
        let kind = again.error().map(|error| error.kind);
        assert_eq!(kind, Some(ErrorKind::NotFound));
    }

    // R-I3
    #[tokio::test]
    async fn a_session_that_the_host_has_ended_stays_ended() {
        let host = Host::new();
        let script = ScriptedModel::new().says("One").says("Two");
        let mut agent = host.open(script).await;
        let _ = agent.prompt("Hi").await;
        agent.session().end().await;
        let reply = agent.prompt("Still there?").await;
        assert_eq!(error_kind(&reply), Some(ErrorKind::SessionInactive));
    }

    /// Opens a conversation whose session is idle for too long after a minute, and cannot be opened
    /// again at the first attempt.
    async fn idle_with_a_store_that_was_down(script: ScriptedModel) -> AgentLoop<ScriptedModel> {
        let tools = ToolContext::builder().with(find_table).build();
        let runtime = Runtime::builder(tools.expect("builds"))
            .policy(Policy::text().idle_timeout(Duration::from_secs(60)))
            .build()
            .expect("builds");
        let opened = AtomicUsize::new(0);
        let session = move || {
            let is_down = opened.fetch_add(1, Ordering::SeqCst) == 1;
            // An id that no session may have.
            let id = if is_down { "" } else { "s-1" };
            runtime.session(id, Mode::Text).principal("user:7")
        };
        let opened = AgentLoop::open(MemoryStore::new(), "chat", session, script).await;
        opened.expect("opens")
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_that_could_not_be_opened_is_tried_again() {
        let script = ScriptedModel::new().says("One").says("Two");
        let mut agent = idle_with_a_store_that_was_down(script).await;
        let _ = agent.prompt("Hi").await;
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        let failed = agent.prompt("Still there?").await;
        assert!(failed.error.is_some(), "{failed:?}");
        let reply = agent.prompt("And now?").await;
        assert_eq!(reply.text.as_deref(), Some("Two"), "{reply:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_handle_interrupts_the_session_that_was_opened_again() {
        let mut host = Host::new();
        host.policy = Policy::text().idle_timeout(Duration::from_secs(60));
        let mut agent = host
            .open(ScriptedModel::new().says("One").says("Two"))
            .await;
        let handle = agent.interrupt_handle();
        let _ = agent.prompt("Hi").await;
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        let _ = agent.prompt("Still there?").await;

        let session = agent.session().clone();
        let running =
            tokio::spawn(async move { session.call(ToolCall::new("c1", "pay", json!({}))).await });
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(handle.interrupt(), 1);
        let response = running.await.expect("ends");
        let kind = response.error().map(|error| error.kind);
        assert_eq!(kind, Some(ErrorKind::Cancelled));
    }

    fn result(id: &str) -> Message {
        Message::Result {
            call_id: id.to_owned(),
            tool: "find_table".to_owned(),
            result: ModelResult {
                text: id.to_owned(),
                is_error: false,
                reply: true,
                parts: false,
                is_text: true,
                goes_on: false,
            },
        }
    }

    fn step_of_two() -> Message {
        Message::Assistant {
            text: None,
            calls: vec![finding("c1", 1), finding("c2", 2)],
            native: None,
        }
    }

    #[test]
    fn results_behind_a_note_belong_to_their_step() {
        let note = Message::user("Another agent speaks.");
        let step = step_of_two();
        let stored = vec![step.clone(), result("c2"), note.clone(), result("c1")];
        let ordered = vec![step, result("c1"), result("c2"), note];
        assert_eq!(in_order_of_calls(stored), ordered);
    }

    #[test]
    fn results_are_in_the_order_of_their_calls() {
        let step = step_of_two();
        let stored = vec![
            step.clone(),
            result("c2"),
            result("c1"),
            Message::user("Hi"),
        ];
        let ordered = vec![step, result("c1"), result("c2"), Message::user("Hi")];
        assert_eq!(in_order_of_calls(stored), ordered);
    }
}
