//! The agents between which a conversation is handed over.

use crate::call::{ToolError, ToolResponse};
use crate::registry::ToolContext;
use crate::session::agent_event::AgentEvent;
use crate::session::inner::SessionInner;
use crate::session::message::Message;
use crate::session::notes::{handoff_note, is_note, no_handoff_note};
use crate::text::truncate;
use crate::tool::ProviderTool;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;

/// The handoffs of a turn, unless the host sets another number.
const MAX_HANDOFFS: u32 = 4;

/// The characters of an unknown name in an error.
const MAX_NAME: usize = 100;

/// An agent to which a conversation can be handed: its instructions, and the tools of the session
/// that it sees.
///
/// ```
/// use tool_core::session::HandoffAgent;
/// use tool_core::{ToolContext, tool};
///
/// /// Read a bill.
/// #[tool]
/// fn bill(number: u32) -> String {
///     format!("bill {number}: 12 EUR")
/// }
///
/// let tools = ToolContext::builder().with(bill).build()?;
/// let billing = HandoffAgent::new(&tools).instructions("You know the bills.");
/// # let _ = billing;
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct HandoffAgent {
    instructions: String,
    /// `None` for all tools of the session.
    tools: Option<OwnTools>,
}

#[derive(Clone, Debug)]
struct OwnTools {
    names: HashSet<String>,
    /// The ids of the provider tools.
    provider_tools: HashSet<String>,
}

impl HandoffAgent {
    /// Creates an agent that sees these tools of the session, and those that the session adds
    /// itself. Add them to the session, too: it is the session that calls them.
    pub fn new(tools: &ToolContext) -> Self {
        let own = OwnTools {
            names: tools
                .definitions()
                .map(|tool| tool.name().to_owned())
                .collect(),
            provider_tools: tools
                .provider_tools()
                .iter()
                .map(|tool| tool.id().to_owned())
                .collect(),
        };
        Self {
            instructions: String::new(),
            tools: Some(own),
        }
    }

    /// Creates an agent that sees all tools of the session, and has no instructions of its own.
    pub fn with_all_tools() -> Self {
        Self::default()
    }

    /// Sets the instructions for the model.
    pub fn instructions(self, text: impl Into<String>) -> Self {
        Self {
            instructions: text.into(),
            ..self
        }
    }

    /// Returns the instructions for the model, before those about its tools.
    pub(crate) fn instructions_with(&self, about_tools: String) -> String {
        if self.instructions.is_empty() {
            return about_tools;
        }
        if about_tools.is_empty() {
            return self.instructions.clone();
        }
        format!("{}\n\n{about_tools}", self.instructions.trim_end())
    }

    /// Returns true if the agent sees a tool of the session, or one that the session adds itself.
    pub(crate) fn sees(&self, session: &SessionInner, tool: &str) -> bool {
        let Some(own) = &self.tools else {
            return true;
        };
        let is_added = |(index, _)| session.tools.is_own(index);
        own.names.contains(tool) || session.tools.find(tool).is_some_and(is_added)
    }

    /// Returns the provider tools of the session that the agent sees. `None` for all.
    pub(crate) fn provider_tools(
        &self,
        session: &SessionInner,
    ) -> Option<Vec<Arc<dyn ProviderTool>>> {
        let own = self.tools.as_ref()?;
        let tools = session.tools.context.provider_tools().iter();
        let seen = tools.filter(|tool| own.provider_tools.contains(tool.id()));
        Some(seen.cloned().collect())
    }
}

/// The agents between which a conversation is handed over, and the one that speaks. A tool hands it
/// over by its result, a [`Handoff`](crate::Handoff).
///
/// The history stays, and so does the session with its principal, budgets, caps and approvals. Each
/// handoff adds a note to the history, by which [`resume`](Self::resume) finds the agent that spoke
/// last.
///
/// The agent loop has these as `AgentLoop::agent`. For another loop, give them to
/// [`ReplyOptions::handoffs`](super::ReplyOptions::handoffs):
///
/// ```
/// use tool_core::session::{HandoffAgent, Handoffs, History, ReplyOptions};
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
/// let agents = Handoffs::new("desk", HandoffAgent::new(&desk_tools))
///     .agent("billing", HandoffAgent::new(&billing_tools).instructions("You know the bills."));
///
/// // The session has the tools of all agents.
/// let tools = ToolContext::builder().with(to_billing).with(bill).build()?;
/// let session = Runtime::builder(tools).build()?.session("s-1", Mode::Text).await?;
/// let mut model = ScriptedModel::new()
///     .calls([ToolCall::new("call_1", "to_billing", "{}")])
///     .calls([ToolCall::new("call_2", "bill", r#"{"number": 7}"#)])
///     .says("It is 12 EUR.");
/// let options = ReplyOptions::new("What is bill 7?").handoffs(&agents);
/// let reply = session.reply_with_options(&mut model, &mut History::new(), options).await;
/// assert_eq!(reply.text.as_deref(), Some("It is 12 EUR."));
/// assert_eq!(agents.active(), "billing");
/// assert_eq!(model.requests()[0].tools, ["to_billing"]);
/// assert_eq!(model.requests()[1].tools, ["bill"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use]
pub struct Handoffs {
    /// The first one speaks first.
    agents: Vec<NamedAgent>,
    max_per_turn: u32,
    state: Mutex<HandoffState>,
}

#[derive(Debug)]
struct NamedAgent {
    name: String,
    agent: HandoffAgent,
}

#[derive(Debug, Default)]
struct HandoffState {
    /// The index of the agent that speaks.
    active: usize,
    /// The turn of the last handoff, and the number of its handoffs.
    turn: u64,
    count: u32,
    /// The agent that spoke before, if no event has told of the handoff.
    untold: Option<usize>,
}

/// # Settings
impl Handoffs {
    /// Creates a conversation with the agent that speaks first.
    pub fn new(name: impl Into<String>, agent: HandoffAgent) -> Self {
        let first = NamedAgent {
            name: name.into(),
            agent,
        };
        Self {
            agents: vec![first],
            max_per_turn: MAX_HANDOFFS,
            state: Mutex::default(),
        }
    }

    /// Adds an agent, or replaces the one of this name.
    pub fn agent(mut self, name: impl Into<String>, agent: HandoffAgent) -> Self {
        let name = name.into();
        match self.index_of(&name) {
            Some(index) => self.agents[index].agent = agent,
            None => self.agents.push(NamedAgent { name, agent }),
        }
        self
    }

    /// Sets the name of the agent that speaks first.
    pub fn first_named(mut self, name: impl Into<String>) -> Self {
        self.agents[0].name = name.into();
        self
    }

    /// Sets the number of handoffs in a turn. Further ones are answered with an error. Defaults to
    /// 4.
    pub fn max_per_turn(self, handoffs: u32) -> Self {
        Self {
            max_per_turn: handoffs,
            ..self
        }
    }
}

/// # The agent that speaks
impl Handoffs {
    /// Returns the name of the agent that speaks.
    pub fn active(&self) -> &str {
        self.name_at(self.state.lock().active)
    }

    /// Returns the name of the agent that speaks first.
    pub fn first(&self) -> &str {
        self.name_at(0)
    }

    /// Goes on with the agent that spoke last in this conversation. Changes nothing if no note in
    /// it names an agent that is known.
    pub fn resume(&self, history: &[Message]) {
        let named = history.iter().rev().find_map(|message| match message {
            Message::User(said) => self.index_in_note(&said.text()),
            _ => None,
        });
        if let Some(named) = named {
            self.state.lock().active = named;
        }
    }

    /// Takes the handoff of a call that no loop has made, for example of an approved one. Returns a
    /// note for the history, which says who speaks now, or why the conversation was not handed over.
    /// Returns `None` for a result without a handoff.
    pub fn take(&self, turn: u64, response: &ToolResponse) -> Option<Message> {
        let agent = response.meta().handoff().filter(|_| response.is_ok())?;
        Some(match self.find(agent, turn) {
            Ok(next) => self.hand_over(next, turn),
            Err(error) => Message::user(no_handoff_note(error.message())),
        })
    }

    /// Returns the index of the agent to which the conversation may be handed.
    pub(crate) fn find(&self, agent: &str, turn: u64) -> Result<usize, ToolError> {
        let Some(index) = self.index_of(agent) else {
            let known = self.agents.iter().map(|known| known.name.as_str());
            let known = known.collect::<Vec<_>>().join(", ");
            return Err(ToolError::permanent(format!(
                "there is no agent `{}` to hand the conversation to; the agents are: {known}",
                truncate(&agent.escape_debug().to_string(), MAX_NAME)
            )));
        };
        let state = self.state.lock();
        if index == state.active {
            return Err(ToolError::permanent(format!(
                "`{agent}` has the conversation already; go on yourself"
            )));
        }
        let count = if state.turn == turn { state.count } else { 0 };
        if count >= self.max_per_turn {
            return Err(ToolError::permanent(format!(
                "the conversation was handed over {count} times in this turn, which is the limit; answer the user yourself"
            )));
        }
        Ok(index)
    }

    /// Hands the conversation over. Returns the note for the history.
    pub(crate) fn hand_over(&self, next: usize, turn: u64) -> Message {
        let mut state = self.state.lock();
        if state.turn != turn {
            state.turn = turn;
            state.count = 0;
        }
        state.count += 1;
        let before = state.active;
        state.untold.get_or_insert(before);
        state.active = next;
        drop(state);
        self.note(next)
    }

    /// Returns the note that this agent speaks from now on.
    pub(crate) fn note(&self, next: usize) -> Message {
        Message::user(handoff_note(self.name_at(next)))
    }

    /// Returns the event of a handoff that no event has told of.
    pub(crate) fn event(&self) -> Option<AgentEvent> {
        let mut state = self.state.lock();
        let from = state.untold.take().filter(|from| *from != state.active)?;
        Some(AgentEvent::Handoff {
            from: self.name_at(from).to_owned(),
            to: self.name_at(state.active).to_owned(),
        })
    }

    pub(crate) fn active_agent(&self) -> &HandoffAgent {
        let active = self.state.lock().active;
        &self.agents[active].agent
    }

    fn name_at(&self, index: usize) -> &str {
        &self.agents[index].name
    }

    fn index_of(&self, name: &str) -> Option<usize> {
        self.agents.iter().position(|agent| agent.name == name)
    }

    fn index_in_note(&self, text: &str) -> Option<usize> {
        let is_named = |agent: &NamedAgent| text == handoff_note(&agent.name);
        is_note(text).then(|| self.agents.iter().position(is_named))?
    }
}
