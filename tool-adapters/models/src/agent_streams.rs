//! The replies of an agent as streams of events.

use crate::agent::AgentLoop;
use crate::agent_input::AgentInput;
use std::ops::DerefMut;
use tool_core::session::{AgentStream, Model};

/// # Streams
impl<M: Model> AgentLoop<M> {
    /// Replies to a message, or to another [input](AgentInput), as a stream of [events](tool_core::session::AgentEvent): text,
    /// reasoning, calls with their updates and results, approvals, usage, and at the end the reply. Each event has a JSON form for
    /// a front end.
    ///
    /// Nothing happens until you read the stream. Dropping it cancels the reply, as dropping the
    /// future of
    /// [`prompt`](Self::prompt) does. See [`AgentStream`] for what a slow reader means, and
    /// [`AgentEvent`](tool_core::session::AgentEvent) for the order of events.
    ///
    /// ```
    /// use futures_util::StreamExt;
    /// use tool_adapters::agent::AgentLoop;
    /// use tool_core::session::AgentEvent;
    /// use tool_core::testing::ScriptedModel;
    /// use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
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
    /// let session = runtime.session("s-1", Mode::Text).await?;
    /// let call = ToolCall::new("call_1", "add", r#"{"a": 1, "b": 2}"#);
    /// let mut agent = AgentLoop::new(session, ScriptedModel::new().calls([call]).says("It is 3."));
    ///
    /// let mut events = agent.stream("What is 1 + 2?");
    /// let mut shown = String::new();
    /// while let Some(event) = events.next().await {
    ///     match event {
    ///         AgentEvent::Text { delta } => shown.push_str(&delta),
    ///         AgentEvent::CallBegun { tool, .. } => shown.push_str(&format!("({tool}) ")),
    ///         _ => {}
    ///     }
    /// }
    /// assert_eq!(shown, "(add) It is 3.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream(&mut self, input: impl Into<AgentInput>) -> AgentStream<'_> {
        Self::stream_of(self, input)
    }

    /// Replies as [`stream`](Self::stream) does, and holds the agent in the stream, for example as
    /// the body of an answer over HTTP: a `Box` of an agent that this request has opened, or the
    /// guard of a lock from which the next request takes it.
    ///
    /// ```
    /// use futures_core::Stream;
    /// use std::sync::Arc;
    /// use tokio::sync::Mutex;
    /// use tool_adapters::agent::AgentLoop;
    /// use tool_core::session::{AgentEvent, Model};
    ///
    /// type SharedAgent<M> = Arc<Mutex<AgentLoop<M>>>;
    ///
    /// async fn answer<M: Model + 'static>(
    ///     agent: SharedAgent<M>,
    ///     message: String,
    /// ) -> impl Stream<Item = AgentEvent> + 'static {
    ///     // A second request of the user waits here until the first has been answered.
    ///     AgentLoop::stream_of(agent.lock_owned().await, message)
    /// }
    /// ```
    pub fn stream_of<'a>(
        agent: impl DerefMut<Target = Self> + Send + 'a,
        input: impl Into<AgentInput>,
    ) -> AgentStream<'a>
    where
        M: 'a,
    {
        let input = input.into();
        AgentStream::new(|events| async move {
            let mut agent = agent;
            agent.run(input, Some(events)).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::held_store::HeldStore;
    use futures_util::StreamExt;
    use serde_json::json;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use tokio::sync::Mutex;
    use tool_core::session::{
        AgentEvent, Decision, HookedCall, Journal, JournalEntry, JournalError, JournalStart,
        Message, RecoveredCall, Reply, ReplyFinish, RuntimeBuilder,
    };
    use tool_core::testing::ScriptedModel;
    use tool_core::{
        ErrorKind, Intent, Mode, Policy, RunContext, Runtime, Session, ToolCall, ToolContext,
        ToolError, tool,
    };

    /// Cancel the guest's booking.
    #[tool(category = "action", confirm)]
    async fn cancel_booking(number: u32) -> String {
        format!("booking {number} is cancelled")
    }

    /// Say something in the next turn.
    #[tool]
    fn say_next(ctx: &RunContext, text: String) {
        ctx.emit(Intent::SetPendingMessage(text));
    }

    /// Wait for ever.
    #[tool]
    async fn hang() {
        std::future::pending::<()>().await;
    }

    /// Ship the order.
    #[tool(category = "action", confirm)]
    async fn ship(ctx: &RunContext) {
        ctx.update("shipping");
        std::future::pending::<()>().await;
    }

    async fn session() -> Session {
        session_in(|runtime| runtime).await
    }

    async fn session_in(change: impl FnOnce(RuntimeBuilder) -> RuntimeBuilder) -> Session {
        let tools = ToolContext::builder()
            .with(cancel_booking)
            .with(ship)
            .with(say_next)
            .with(hang)
            .build()
            .expect("builds");
        let runtime = Runtime::builder(tools).policy(Policy::text());
        let runtime = change(runtime).build().expect("builds");
        let session = runtime.session("s-1", Mode::Text);
        session.await.expect("opens")
    }

    async fn agent(script: ScriptedModel) -> AgentLoop<ScriptedModel> {
        AgentLoop::new(session().await, script)
    }

    async fn events(stream: AgentStream<'_>) -> Vec<AgentEvent> {
        stream.collect().await
    }

    fn shown(events: &[AgentEvent]) -> String {
        let texts = events.iter().filter_map(|event| match event {
            AgentEvent::Text { delta } => Some(delta.as_str()),
            _ => None,
        });
        texts.collect()
    }

    fn reply(events: &[AgentEvent]) -> &Reply {
        match events.last() {
            Some(AgentEvent::Finished { reply }) => reply,
            other => panic!("the stream ends with {other:?}"),
        }
    }

    fn token(events: &[AgentEvent]) -> String {
        let wanted = events.iter().find_map(|event| match event {
            AgentEvent::ApprovalWanted(wanted) => Some(&wanted.confirmation.token),
            _ => None,
        });
        wanted.expect("an approval is wanted").clone()
    }

    fn cancelling() -> ToolCall {
        ToolCall::new("c1", "cancel_booking", json!({"number": 12}))
    }

    #[tokio::test]
    async fn each_stream_is_a_turn() {
        let mut agent = agent(ScriptedModel::new().says("One").says("Two")).await;
        for (turn, said) in [(0, "One"), (1, "Two")] {
            let events = events(agent.stream("Count")).await;
            assert_eq!(shown(&events), said);
            let AgentEvent::Started {
                turn: told,
                session,
                ..
            } = &events[0]
            else {
                panic!("no beginning: {events:?}");
            };
            assert_eq!((*told, session.as_str()), (turn, "s-1"));
        }
    }

    #[tokio::test]
    async fn a_pending_message_is_shown_before_the_reply() {
        let call = ToolCall::new("c1", "say_next", json!({"text": "By the way."}));
        let script = ScriptedModel::new().calls([call]).says("Ok").says("Hello");
        let mut agent = agent(script).await;
        let _ = agent.prompt("Go").await;
        let events = events(agent.stream("Hi")).await;
        assert_eq!(shown(&events), "By the way.\n\nHello");
        assert_eq!(reply(&events).text.as_deref(), Some("By the way.\n\nHello"));
    }

    #[tokio::test]
    async fn decisions_run_their_calls_and_the_model_goes_on() {
        let script = ScriptedModel::new()
            .calls([cancelling()])
            .says("Shall I?")
            .says("It is done.");
        let mut agent = agent(script).await;
        let token = token(&events(agent.stream("Cancel 12")).await);
        let events = events(agent.stream(Decision::approve(token))).await;
        let result = events.iter().find_map(|event| match event {
            AgentEvent::CallResult { response, .. } => response.data_json(),
            _ => None,
        });
        assert_eq!(result, Some(r#""booking 12 is cancelled""#));
        assert_eq!(shown(&events), "It is done.");
        assert_eq!(agent.session().turn(), 0, "the same turn");
    }

    #[tokio::test]
    async fn a_decision_that_comes_twice_fails() {
        let script = ScriptedModel::new()
            .calls([cancelling()])
            .says("Shall I?")
            .says("It is not.");
        let mut agent = agent(script).await;
        let token = token(&events(agent.stream("Cancel 12")).await);
        let first = events(agent.stream(Decision::deny(token.clone()))).await;
        assert_eq!(reply(&first).finish, ReplyFinish::Complete);
        let again = events(agent.stream(Decision::approve(token))).await;
        let error = reply(&again).error.as_ref().map(|error| error.kind);
        assert_eq!(error, Some(ErrorKind::NotFound));
        assert_eq!(again.len(), 2, "{again:?}");
    }

    #[tokio::test]
    async fn a_session_that_has_ended_is_an_error_in_the_stream() {
        let mut agent = agent(ScriptedModel::new().says("Hello")).await;
        let _ = agent.prompt("Hi").await;
        agent.session().end().await;
        let events = events(agent.stream("Still there?")).await;
        assert_eq!(events.len(), 2, "{events:?}");
        let error = reply(&events).error.as_ref().map(|error| error.kind);
        assert_eq!(error, Some(ErrorKind::SessionInactive));
    }

    #[tokio::test]
    async fn the_conversation_goes_on_after_a_dropped_stream() {
        let script = ScriptedModel::new()
            .calls([ToolCall::new("c1", "hang", "{}")])
            .says("Hello");
        let mut agent = agent(script).await;
        let mut stream = agent.stream("Go");
        while !matches!(stream.next().await, Some(AgentEvent::CallBegun { .. })) {}
        drop(stream);
        let results = agent.history().messages().iter();
        let results = results.filter(|message| matches!(message, Message::Result { .. }));
        assert_eq!(results.count(), 1);
        assert_eq!(shown(&events(agent.stream("Hi")).await), "Hello");
    }

    #[tokio::test]
    async fn an_interruption_ends_the_stream() {
        let script = ScriptedModel::new().calls([ToolCall::new("c1", "hang", "{}")]);
        let mut agent = agent(script).await;
        let interrupter = agent.interrupt_handle();
        let mut stream = agent.stream("Go");
        let mut seen = Vec::new();
        while let Some(event) = stream.next().await {
            if matches!(event, AgentEvent::CallBegun { .. }) {
                interrupter.interrupt();
            }
            seen.push(event);
        }
        assert_eq!(reply(&seen).finish, ReplyFinish::Interrupted);
        let results = seen.iter();
        let results = results.filter(|event| matches!(event, AgentEvent::CallResult { .. }));
        assert_eq!(results.count(), 1);
    }

    fn shipping() -> ToolCall {
        ToolCall::new("c2", "ship", "{}")
    }

    fn tokens(events: &[AgentEvent]) -> Vec<String> {
        let tokens = events.iter().filter_map(|event| match event {
            AgentEvent::ApprovalWanted(wanted) => Some(wanted.confirmation.token.clone()),
            _ => None,
        });
        tokens.collect()
    }

    #[tokio::test]
    async fn an_interruption_ends_the_decisions_that_follow() {
        let script = ScriptedModel::new()
            .calls([shipping()])
            .says("Shall I?")
            .calls([cancelling()])
            .says("Shall I?");
        let mut agent = agent(script).await;
        let mut asked = tokens(&events(agent.stream("Ship it")).await);
        asked.extend(tokens(&events(agent.stream("Cancel 12")).await));
        let interrupter = agent.interrupt_handle();
        let decisions = asked.iter().map(Decision::approve).collect::<Vec<_>>();
        let mut stream = agent.stream(decisions);
        let mut seen = Vec::new();
        while let Some(event) = stream.next().await {
            if matches!(event, AgentEvent::CallUpdate { .. }) {
                interrupter.interrupt();
            }
            seen.push(event);
        }
        assert_eq!(reply(&seen).finish, ReplyFinish::Interrupted);
        let begun = seen.iter();
        let begun = begun.filter(|event| matches!(event, AgentEvent::CallBegun { .. }));
        assert_eq!(begun.count(), 1, "{seen:?}");
        assert_eq!(tokens(&seen), asked[1..], "it is asked for again");
        drop(stream);
        assert!(agent.approve(&asked[1]).await.is_ok(), "it waits on");
    }

    /// Creates an agent whose hook refuses the first call that was approved.
    async fn agent_that_refuses_once(script: ScriptedModel) -> AgentLoop<ScriptedModel> {
        let is_closed = Arc::new(AtomicBool::new(true));
        let session = session_in(|runtime| {
            runtime.before(async move |_: HookedCall<'_>| {
                if is_closed.swap(false, Ordering::SeqCst) {
                    return Err(ToolError::transient("too busy"));
                }
                Ok(())
            })
        });
        let session = session.await;
        AgentLoop::new(session, script)
    }

    #[tokio::test]
    async fn an_approved_call_that_is_refused_is_asked_for_again() {
        let script = ScriptedModel::new()
            .calls([cancelling()])
            .says("Shall I?")
            .says("Not now.");
        let mut agent = agent_that_refuses_once(script).await;
        let asked = tokens(&events(agent.stream("Cancel 12")).await);
        let refused = events(agent.stream(Decision::approve(&asked[0]))).await;
        assert_eq!(tokens(&refused), asked);
        assert_eq!(shown(&refused), "Not now.");
        assert!(agent.approve(&asked[0]).await.is_ok(), "it waits on");
    }

    #[tokio::test]
    async fn note_says_that_a_refused_call_waits_on() {
        let script = ScriptedModel::new().calls([cancelling()]).says("Shall I?");
        let mut agent = agent_that_refuses_once(script).await;
        let asked = token(&events(agent.stream("Cancel 12")).await);
        let refused = agent.approve(&asked).await;
        assert!(!refused.is_ok(), "{refused}");
        let Some(Message::User(note)) = agent.history().messages().last() else {
            panic!("no note");
        };
        let note = note.text();
        assert!(
            note.contains("was not run and waits for another one"),
            "{note}"
        );
        assert!(note.contains("too busy"), "{note}");
    }

    // M12
    #[tokio::test]
    async fn the_call_of_a_dropped_decision_is_told() {
        let script = ScriptedModel::new()
            .calls([shipping()])
            .says("Shall I?")
            .says("I do not know.");
        let mut agent = agent(script).await;
        let asked = tokens(&events(agent.stream("Ship it")).await);
        let mut stream = agent.stream(Decision::approve(&asked[0]));
        while !matches!(stream.next().await, Some(AgentEvent::CallUpdate { .. })) {}
        drop(stream);

        assert_eq!(shown(&events(agent.stream("And?")).await), "I do not know.");
        assert_eq!(unknown_outcomes(&agent), 1, "{:?}", agent.history());
    }

    /// Returns the number of notes about calls of unknown outcome.
    fn unknown_outcomes(agent: &AgentLoop<ScriptedModel>) -> usize {
        let notes = agent.history().messages().iter();
        let notes = notes.filter(|message| match message {
            Message::User(said) => said.text().contains("its outcome is unknown"),
            _ => false,
        });
        notes.count()
    }

    /// A journal that counts every call as running for a while.
    struct SlowJournal(Arc<AtomicBool>);

    impl Journal for SlowJournal {
        async fn started(&self, _: &JournalEntry) -> Result<JournalStart, JournalError> {
            Ok(JournalStart::Recorded)
        }

        async fn find(&self, _: &str, _: &str) -> Result<Option<JournalStart>, JournalError> {
            let is_running = self.0.load(Ordering::SeqCst);
            Ok(is_running.then_some(JournalStart::Running))
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

    fn ships_and_cancels() -> ScriptedModel {
        ScriptedModel::new()
            .calls([shipping()])
            .says("Shall I?")
            .calls([cancelling()])
            .says("Shall I?")
            .says("I do not know.")
    }

    /// Lets both calls wait, and drops the decision on the first while it runs. Returns the token of
    /// the second.
    async fn drop_a_decision(agent: &mut AgentLoop<ScriptedModel>) -> String {
        let shipping = tokens(&events(agent.stream("Ship it")).await);
        let cancelling = token(&events(agent.stream("Cancel 12")).await);
        let mut stream = agent.stream(Decision::approve(&shipping[0]));
        while !matches!(stream.next().await, Some(AgentEvent::CallUpdate { .. })) {}
        drop(stream);
        cancelling
    }

    // M12
    #[tokio::test]
    async fn a_dropped_decision_is_told_after_another_one() {
        let is_running = Arc::new(AtomicBool::new(false));
        let journal = SlowJournal(Arc::clone(&is_running));
        let session = session_in(|runtime| runtime.journal(journal)).await;
        let mut agent = AgentLoop::new(session, ships_and_cancels());
        let other = drop_a_decision(&mut agent).await;
        is_running.store(true, Ordering::SeqCst);
        assert!(agent.deny(&other).await.error().is_some());
        assert_eq!(unknown_outcomes(&agent), 0, "it still runs");

        is_running.store(false, Ordering::SeqCst);
        // The end of the dropped call is recorded by a task.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        let _ = agent.resume().await;
        assert_eq!(unknown_outcomes(&agent), 1, "{:?}", agent.history());
    }

    // M12
    #[tokio::test]
    async fn a_store_that_is_down_does_not_lose_a_call() {
        let store = HeldStore::default();
        let session = session_in(|runtime| runtime.store(store.clone())).await;
        let mut agent = AgentLoop::new(session, ships_and_cancels());
        let _ = drop_a_decision(&mut agent).await;
        store.down(true);
        let _ = agent.approve("unknown").await;
        assert_eq!(unknown_outcomes(&agent), 0, "the store does not answer");

        store.down(false);
        let _ = agent.resume().await;
        assert_eq!(unknown_outcomes(&agent), 1, "{:?}", agent.history());
    }

    #[tokio::test]
    async fn a_stream_holds_the_lock_of_its_agent() {
        let agent = Arc::new(Mutex::new(agent(ScriptedModel::new().says("Hello")).await));
        let stream = AgentLoop::stream_of(Arc::clone(&agent).lock_owned().await, "Hi");
        assert!(agent.try_lock().is_err());
        assert_eq!(shown(&events(stream).await), "Hello");
        assert_eq!(agent.lock().await.history().messages().len(), 2);
    }
}
