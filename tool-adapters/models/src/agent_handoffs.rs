//! The agents between which a conversation is handed over.

use crate::agent::AgentLoop;
use crate::agent_models::{AgentModel, FIRST};
use tool_core::ToolContext;
use tool_core::session::{HandoffAgent, Handoffs, Model};

/// # Handoffs
impl<M: Model> AgentLoop<M> {
    /// Adds an agent to which a tool can hand the conversation, or replaces the one of this name. A
    /// tool does so with its result, a [`Handoff`](tool_core::Handoff): the loop goes on with the
    /// instructions and the tools of that agent.
    ///
    /// The history stays, and so do the session, its principal, its budgets and its approvals. The
    /// session has the tools of all agents. The agent of this loop speaks first, under its
    /// [name](Self::named), and [`only_tools`](Self::only_tools) says which of the tools it sees. A conversation that
    /// was [opened](Self::open) again goes on with the agent that spoke last.
    ///
    /// ```
    /// use tool_adapters::agent::AgentLoop;
    /// use tool_core::session::HandoffAgent;
    /// use tool_core::testing::ScriptedModel;
    /// use tool_core::{Handoff, Mode, Runtime, ToolCall, ToolContext, tool};
    ///
    /// /// Hand the guest over to the colleague who knows the bills.
    /// #[tool]
    /// fn to_billing() -> Handoff {
    ///     Handoff::to("billing")
    /// }
    ///
    /// /// Read a bill.
    /// #[tool]
    /// fn bill(number: u32) -> String {
    ///     format!("bill {number}: 12 EUR")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let desk_tools = ToolContext::builder().with(to_billing).build()?;
    /// let billing_tools = ToolContext::builder().with(bill).build()?;
    /// let tools = ToolContext::builder().with(to_billing).with(bill).build()?;
    /// let session = Runtime::builder(tools).build()?.session("s-1", Mode::Text).await?;
    ///
    /// let model = ScriptedModel::new()
    ///     .calls([ToolCall::new("call_1", "to_billing", "{}")])
    ///     .calls([ToolCall::new("call_2", "bill", r#"{"number": 7}"#)])
    ///     .says("It is 12 EUR.");
    /// let mut agent = AgentLoop::new(session, model)
    ///     .named("desk")
    ///     .only_tools(&desk_tools)
    ///     .agent("billing", HandoffAgent::new(&billing_tools).instructions("You know the bills."));
    /// let reply = agent.prompt("What is bill 7?").await;
    /// assert_eq!(reply.text.as_deref(), Some("It is 12 EUR."));
    /// assert_eq!(agent.active_agent(), "billing");
    /// # Ok(())
    /// # }
    /// ```
    pub fn agent(self, name: impl Into<String>, agent: HandoffAgent) -> Self {
        self.change_handoffs(|handoffs| handoffs.agent(name, agent))
    }

    /// Adds an agent as [`agent`](Self::agent) does, with a model of its own. The others use the model of
    /// the loop. It may be of another provider: what only one of them understands stays in the
    /// history for that one.
    pub fn agent_with_model(
        mut self,
        name: impl Into<String>,
        agent: HandoffAgent,
        model: M,
    ) -> Self {
        let name = name.into();
        self.models.retain(|own| !own.belongs_to(&name));
        self.models.push(AgentModel::new(&name, model));
        self.agent(name, agent)
    }

    /// Sets which tools of the session the agent of this loop sees. Defaults to all.
    pub fn only_tools(self, tools: &ToolContext) -> Self {
        let own = HandoffAgent::new(tools);
        self.change_handoffs(|handoffs| {
            let first = handoffs.first().to_owned();
            handoffs.agent(first, own)
        })
    }

    /// Sets the number of handoffs in a turn. Further ones are answered with an error, so that
    /// agents cannot hand a conversation to and fro for ever. Defaults to 4.
    pub fn max_handoffs(self, handoffs: u32) -> Self {
        self.change_handoffs(|agents| agents.max_per_turn(handoffs))
    }

    /// Returns the name of the agent that speaks.
    pub fn active_agent(&self) -> &str {
        let name = self.name.as_deref().unwrap_or(FIRST);
        self.handoffs.as_ref().map_or(name, Handoffs::active)
    }

    /// Changes the agents, and goes on with the one that spoke last.
    pub(crate) fn change_handoffs(mut self, change: impl FnOnce(Handoffs) -> Handoffs) -> Self {
        let handoffs = self.handoffs.take().unwrap_or_else(|| {
            let name = self.name.as_deref().unwrap_or(FIRST);
            Handoffs::new(name, HandoffAgent::with_all_tools())
        });
        let changed = change(handoffs);
        changed.resume(self.history().messages());
        self.handoffs = Some(changed);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{AgentEvent, Decision};
    use futures_util::StreamExt;
    use serde_json::json;
    use std::sync::Arc;
    use std::time::Duration;
    use tool_core::call::ErrorKind;
    use tool_core::session::{
        AnswerVerdict, GuardedAnswer, Guards, MemoryStore, Message, ModelStep, RawTurn,
        SessionBuilder,
    };
    use tool_core::testing::ScriptedModel;
    use tool_core::tool::ProviderId;
    use tool_core::trace::{Collector, SpanKind};
    use tool_core::{Handoff, Mode, Policy, RunContext, Runtime, ToolCall, ToolError, tool};

    /// Hand the guest over to the colleague who knows the bills.
    #[tool]
    fn to_billing() -> Handoff {
        Handoff::to("billing")
    }

    /// Hand the guest back to the desk.
    #[tool(confirm)]
    fn to_desk() -> Handoff {
        Handoff::to("desk")
    }

    /// Cancel a booking.
    #[tool(category = "action", confirm)]
    fn cancel(number: u32) -> u32 {
        number
    }

    /// Read a bill.
    #[tool]
    fn bill(number: u32) -> u32 {
        number
    }

    /// Ask the kitchen, which takes for ever.
    #[tool(category = "action")]
    async fn ask_kitchen(ctx: &RunContext) {
        ctx.update("asking");
        std::future::pending::<()>().await;
    }

    fn all_tools() -> ToolContext {
        let tools = ToolContext::builder()
            .with(to_billing)
            .with(ask_kitchen)
            .with(to_desk)
            .with(cancel)
            .with(bill);
        tools.build().expect("builds")
    }

    fn desk_tools() -> ToolContext {
        let tools = ToolContext::builder()
            .with(to_billing)
            .with(cancel)
            .with(ask_kitchen);
        tools.build().expect("builds")
    }

    fn billing() -> HandoffAgent {
        let tools = ToolContext::builder().with(to_desk).with(bill);
        HandoffAgent::new(&tools.build().expect("builds")).instructions("You know the bills.")
    }

    fn runtime(store: &Arc<MemoryStore>) -> Runtime {
        let runtime = Runtime::builder(all_tools())
            .policy(Policy::text())
            .store(Arc::clone(store))
            .signing_key([7; 32]);
        runtime.build().expect("builds")
    }

    fn opens(store: &Arc<MemoryStore>) -> impl Fn() -> SessionBuilder + use<> {
        let runtime = runtime(store);
        move || runtime.session("s-1", Mode::Text)
    }

    fn team(agent: AgentLoop<ScriptedModel>) -> AgentLoop<ScriptedModel> {
        agent
            .named("desk")
            .instructions("You are at the desk.")
            .only_tools(&desk_tools())
            .agent("billing", billing())
    }

    async fn agent(script: ScriptedModel) -> AgentLoop<ScriptedModel> {
        let session = opens(&Arc::default())().await.expect("opens");
        team(AgentLoop::new(session, script))
    }

    fn call(id: &str, tool: &str) -> ToolCall {
        let arguments = match tool {
            "cancel" | "bill" => json!({"number": 7}),
            _ => json!({}),
        };
        ToolCall::new(id, tool, arguments)
    }

    #[tokio::test]
    async fn each_agent_has_its_instructions_and_its_tools() {
        let script = ScriptedModel::new()
            .calls([call("c1", "to_billing")])
            .calls([call("c2", "bill")])
            .says("It is 7.");
        let mut agent = agent(script).await;
        assert_eq!(agent.active_agent(), "desk");
        let reply = agent.prompt("My bill?").await;
        assert_eq!(reply.text.as_deref(), Some("It is 7."));
        let requests = agent.model_mut().requests();
        assert_eq!(requests[0].instructions, "You are at the desk.");
        assert_eq!(requests[0].tools, ["to_billing", "ask_kitchen", "cancel"]);
        assert_eq!(requests[1].instructions, "You know the bills.");
        assert_eq!(requests[1].tools, ["to_desk", "bill"]);
    }

    #[tokio::test]
    async fn an_agent_may_have_a_model_of_its_own() {
        let native = RawTurn {
            provider: ProviderId::from_static("first"),
            items: vec![json!({"signed": true})],
        };
        let handing = ModelStep {
            native: Some(native.clone()),
            ..ModelStep::calls([call("c1", "to_billing")])
        };
        let session = opens(&Arc::default())().await.expect("opens");
        let own = ScriptedModel::new().says("It is 7.");
        let mut agent = AgentLoop::new(session, ScriptedModel::new().then(handing))
            .named("desk")
            .agent_with_model("billing", billing(), own);
        let reply = agent.prompt("My bill?").await;
        assert_eq!(reply.text.as_deref(), Some("It is 7."));
        let request = &agent.models[0].model().requests()[0];
        assert_eq!(request.history.len(), 4);
        let Message::Assistant { native: kept, .. } = &request.history[1] else {
            panic!("no step: {:?}", request.history);
        };
        assert_eq!(kept.as_ref(), Some(&native), "for the first provider");
    }

    // M16
    #[tokio::test]
    async fn a_stored_conversation_goes_on_with_the_agent_that_spoke_last() {
        let store = Arc::new(MemoryStore::new());
        let script = ScriptedModel::new()
            .calls([call("c1", "to_billing")])
            .says("Which bill?");
        let opened = AgentLoop::open(Arc::clone(&store), "chat", opens(&store), script).await;
        let mut first = team(opened.expect("opens"));
        let _ = first.prompt("My bill?").await;
        drop(first);

        let script = ScriptedModel::new().says("It is 7.");
        let opened = AgentLoop::open(Arc::clone(&store), "chat", opens(&store), script).await;
        let mut later = team(opened.expect("opens"));
        assert_eq!(later.active_agent(), "billing");
        let _ = later.prompt("Number 7").await;
        let requests = later.model_mut().requests();
        assert_eq!(requests[0].instructions, "You know the bills.");
    }

    // M16
    #[tokio::test]
    async fn a_handoff_outlives_a_kill_while_other_calls_run() {
        let store = Arc::new(MemoryStore::new());
        let calls = [call("c1", "ask_kitchen"), call("c2", "to_billing")];
        let script = ScriptedModel::new().calls(calls);
        let opened = AgentLoop::open(Arc::clone(&store), "chat", opens(&store), script).await;
        let mut first = team(opened.expect("opens"));
        let mut events = first.stream("Is it ready, and my bill?");
        while !matches!(events.next().await, Some(AgentEvent::CallResult { .. })) {}
        tokio::time::sleep(Duration::from_millis(50)).await;
        // A process that is killed drops nothing.
        std::mem::forget(events);
        std::mem::forget(first);

        let script = ScriptedModel::new();
        let opened = AgentLoop::open(Arc::clone(&store), "chat", opens(&store), script).await;
        let later = team(opened.expect("opens"));
        assert_eq!(later.active_agent(), "billing");
    }

    // M16
    #[tokio::test]
    async fn a_handoff_is_stored_once() {
        let store = Arc::new(MemoryStore::new());
        let calls = [call("c1", "to_billing"), call("c2", "to_billing")];
        let script = ScriptedModel::new().calls(calls).says("Which bill?");
        let opened = AgentLoop::open(Arc::clone(&store), "chat", opens(&store), script).await;
        let mut first = team(opened.expect("opens"));
        let _ = first.prompt("My bill?").await;
        let said = first.history().messages().to_vec();
        drop(first);

        let script = ScriptedModel::new();
        let opened = AgentLoop::open(Arc::clone(&store), "chat", opens(&store), script).await;
        assert_eq!(opened.expect("opens").history().messages(), said);
    }

    // M16
    #[tokio::test]
    async fn an_approval_of_the_agent_before_still_works() {
        let script = ScriptedModel::new()
            .calls([call("c1", "cancel"), call("c2", "to_billing")])
            .says("Shall it be cancelled?")
            .says("It is cancelled.");
        let mut agent = agent(script).await;
        let reply = agent.prompt("Cancel 7, and then my bill").await;
        assert_eq!(agent.active_agent(), "billing");
        let token = reply.confirmations().next().expect("waits").token.clone();
        let response = agent.approve(&token).await;
        assert_eq!(response.data_json(), Some("7"));
        let reply = agent.resume().await;
        assert_eq!(reply.text.as_deref(), Some("It is cancelled."));
    }

    // M16
    #[tokio::test]
    async fn an_approved_handoff_is_told_in_the_stream() {
        let script = ScriptedModel::new()
            .calls([call("c1", "to_billing")])
            .calls([call("c2", "to_desk")])
            .says("Shall I hand you back?")
            .says("At the desk again.");
        let mut agent = agent(script).await;
        let reply = agent.prompt("My bill?").await;
        let token = reply.confirmations().next().expect("waits").token.clone();
        assert_eq!(agent.active_agent(), "billing");
        let events = agent.stream(Decision::approve(token)).collect::<Vec<_>>();
        let events = events.await;
        let wanted = AgentEvent::Handoff {
            from: "billing".into(),
            to: "desk".into(),
        };
        assert!(events.contains(&wanted), "{events:#?}");
        assert_eq!(agent.active_agent(), "desk");
        let requests = agent.model_mut().requests();
        assert_eq!(requests[3].instructions, "You are at the desk.");
    }

    #[tokio::test]
    async fn too_many_handoffs_end_with_an_error() {
        let script = ScriptedModel::new()
            .calls([call("c1", "to_billing")])
            .says("I am sorry.");
        let mut agent = agent(script).await.max_handoffs(0);
        let reply = agent.prompt("My bill?").await;
        let error = reply.responses[0].error().expect("an error");
        assert_eq!(error.kind, ErrorKind::Permanent);
        assert_eq!(agent.active_agent(), "desk");
    }

    // M15
    #[tokio::test]
    async fn guards_check_the_answers_of_every_agent() {
        let hides = async |answer: GuardedAnswer<'_>| {
            Ok::<_, ToolError>(AnswerVerdict::Rewrite(answer.text.replace('7', "*")))
        };
        let runtime = Runtime::builder(all_tools()).guards(Guards::new().answer(hides));
        let session = runtime.build().expect("builds").session("s-1", Mode::Text);
        let script = ScriptedModel::new()
            .calls([call("c1", "to_billing")])
            .says("It is 7.");
        let mut agent = team(AgentLoop::new(session.await.expect("opens"), script));
        let reply = agent.prompt("My bill?").await;
        assert_eq!(reply.text.as_deref(), Some("It is *."));
    }

    #[tokio::test]
    async fn spans_name_the_agent_that_speaks() {
        let script = ScriptedModel::new()
            .calls([call("c1", "to_billing")])
            .says("Which bill?")
            .says("It is 7.");
        let mut agent = agent(script).await;
        let collector = Collector::new();
        collector
            .run(async {
                let _ = agent.prompt("My bill?").await;
                let _ = agent.prompt("Number 7").await;
            })
            .await;
        let report = collector.report();
        let spans = report.spans();
        let of_kind = |kind| spans.iter().filter(move |span| span.kind() == kind);
        let models = of_kind(SpanKind::Llm).map(|span| {
            let mut attributes = span.attributes();
            let name = attributes.find(|(key, _)| *key == "gen_ai.agent.name");
            name.map(|(_, value)| value.clone())
        });
        let wanted = ["desk", "billing", "billing"].map(|name| Some(json!(name)));
        assert_eq!(models.collect::<Vec<_>>(), wanted);
        let agents = of_kind(SpanKind::Agent).map(|span| span.name().to_owned());
        assert_eq!(agents.collect::<Vec<_>>(), ["desk", "billing"]);
    }
}
