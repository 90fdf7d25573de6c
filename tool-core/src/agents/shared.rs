//! What tool-adapters needs of agents. Hidden from the docs.

use super::{AgentError, AgentErrorKind, Agents, KeyError, SealedSecrets};

/// Seals a text under the active key, for a purpose of more than two words: two are a record's.
pub fn seal_text(agents: &Agents, purpose: &[&str], text: &str) -> Result<SealedSecrets, KeyError> {
    agents.0.keys.seal_for(purpose, text)
}

/// Opens it for the same purpose.
pub fn open_text(agents: &Agents, purpose: &[&str], sealed: &SealedSecrets) -> Result<String, KeyError> {
    agents.0.keys.open_for(purpose, sealed)
}

/// An error about a toolset of an agent.
pub fn agent_error(agent: &str, tool: &str, kind: AgentErrorKind) -> AgentError {
    AgentError::new(agent, tool, kind)
}
