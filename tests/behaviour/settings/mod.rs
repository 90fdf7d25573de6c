//! Settings of toolsets: what a form gets, what is written of it, and what is refused.

mod auth;
mod canary;
mod catalog;
mod config;
mod forms;
mod races;
mod secrets;
mod switches;
mod toolsets;
mod writes;

use serde_json::Value;
use std::sync::Arc;
use tool_core::agents::{AgentError, AgentErrorKind};
use tool_core::agents::{Agents, Keyring, MemoryAgentToolStore};
use tool_core::arguments::Problem;

/// Agents whose records are in memory, and the store itself.
fn agents() -> (Agents, Arc<MemoryAgentToolStore>) {
    let store = Arc::new(MemoryAgentToolStore::new());
    let keys = Keyring::parse(&Keyring::generate("k1").expect("a key")).expect("keys");
    let agents = Agents::builder(Arc::clone(&store)).keys(keys).build();
    (agents.expect("a sound catalog"), store)
}

/// The problems as lines.
fn lines(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

/// What is wrong with settings, as lines.
fn wrong_config(agents: &Agents, tool: &str, config: &Value) -> Vec<String> {
    let form = agents.form(tool).expect("a form");
    form.check_config(config).map_or_else(|problems| lines(&problems), |_| Vec::new())
}

/// The kind of an error that has to be one.
fn kind<T: std::fmt::Debug>(outcome: Result<T, AgentError>) -> AgentErrorKind {
    outcome.expect_err("refused").kind
}
