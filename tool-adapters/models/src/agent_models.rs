//! The models of the agents of one conversation.

use std::fmt;
use tool_core::session::Handoffs;

/// The name of the agent that speaks first, if the host gives none.
pub(crate) const FIRST: &str = "agent";

/// A model that belongs to one agent.
pub(crate) struct AgentModel<M> {
    agent: String,
    model: M,
}

impl<M> AgentModel<M> {
    pub(crate) fn new(agent: &str, model: M) -> Self {
        Self {
            agent: agent.to_owned(),
            model,
        }
    }

    pub(crate) fn belongs_to(&self, agent: &str) -> bool {
        self.agent == agent
    }

    pub(crate) fn model_mut(&mut self) -> &mut M {
        &mut self.model
    }

    pub(crate) fn model(&self) -> &M {
        &self.model
    }
}

impl<M> fmt::Debug for AgentModel<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentModel")
            .field("agent", &self.agent)
            .finish_non_exhaustive()
    }
}

/// Returns the place of the model that belongs to the agent which speaks. `None` if it has the model
/// of the loop.
pub(crate) fn place_of_model<M>(
    models: &[AgentModel<M>],
    handoffs: Option<&Handoffs>,
) -> Option<usize> {
    let active = handoffs?.active();
    models.iter().position(|model| model.belongs_to(active))
}
