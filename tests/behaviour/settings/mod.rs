//! Settings of toolsets: forms, writes and validation.

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

/// Builds agents over a store in memory, and returns both.
fn agents() -> (Agents, Arc<MemoryAgentToolStore>) {
    let store = Arc::new(MemoryAgentToolStore::new());
    let keys = Keyring::parse(&Keyring::generate("k1").expect("a key")).expect("keys");
    let agents = Agents::builder(Arc::clone(&store)).keys(keys).build();
    (agents.expect("a sound catalog"), store)
}

/// Returns the problems as lines.
fn lines(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

/// Validates settings, and returns the problems as lines.
fn wrong_config(agents: &Agents, tool: &str, config: &Value) -> Vec<String> {
    let form = agents.form(tool).expect("a form");
    form.check_config(config)
        .map_or_else(|problems| lines(&problems), |_| Vec::new())
}

/// Returns the kind of an expected error.
fn kind<T: std::fmt::Debug>(outcome: Result<T, AgentError>) -> AgentErrorKind {
    outcome.expect_err("refused").kind
}
