//! What a store holds: which toolsets an agent has, and how they are set.

use crate::agents::keys::SealedSecrets;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// One toolset of one agent, as a store holds it.
///
/// It serialises for a user interface: the secrets are only told to be there or not.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentTools {
    /// The agent's id.
    pub agent: String,
    /// The toolset's name.
    pub tool: String,
    /// Whether the agent has it now.
    pub enabled: bool,
    /// Actions that the agent does not have, by the names that a model would call.
    pub disabled_actions: BTreeSet<String>,
    /// The settings, as they were given: defaults are filled in when they are used.
    pub config: Value,
    /// The secrets, which only the key opens.
    #[serde(rename = "hasSecrets", serialize_with = "is_some")]
    pub secrets: Option<SealedSecrets>,
    /// Changes with every write, and never comes back. A write says which version it is of, so that no two writers lose
    /// each other's work.
    pub version: u64,
}

#[allow(clippy::ref_option)] // serde asks so
fn is_some<S: serde::Serializer>(secrets: &Option<SealedSecrets>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(secrets.is_some())
}

impl AgentTools {
    /// A record, for stores.
    pub fn new(agent: impl Into<String>, tool: impl Into<String>, version: u64) -> Self {
        let (agent, tool, config) = (agent.into(), tool.into(), Value::Object(serde_json::Map::default()));
        Self { agent, tool, enabled: true, disabled_actions: BTreeSet::new(), config, secrets: None, version }
    }
}

/// Whether a text can be the id of an agent or the name of a toolset.
pub(crate) fn is_id(text: &str) -> bool {
    (1..=512).contains(&text.len()) && !text.contains(char::is_control)
}

/// All records of an agent, as they were at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AgentRecords {
    /// Changes with every write to any of them. 0 where there never was one.
    pub version: u64,
    /// Sorted by the toolset's name.
    pub tools: Vec<AgentTools>,
    /// Rows that hold something else than a record, sorted likewise.
    pub unreadable: Vec<UnreadableRow>,
}

/// A row that holds something else than a record, because somebody wrote it by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnreadableRow {
    /// The toolset's name.
    pub tool: String,
    /// What is wrong with it, without what stands there.
    pub why: String,
}

impl AgentRecords {
    /// Records, for stores.
    pub fn new(version: u64, mut tools: Vec<AgentTools>, mut unreadable: Vec<UnreadableRow>) -> Self {
        tools.sort_by(|a, b| a.tool.cmp(&b.tool));
        unreadable.sort_by(|a, b| a.tool.cmp(&b.tool));
        Self { version, tools, unreadable }
    }
}

impl UnreadableRow {
    /// A row and what is wrong with it, for stores.
    pub fn new(tool: impl Into<String>, why: impl Into<String>) -> Self {
        Self { tool: tool.into(), why: why.into() }
    }
}

/// An agent in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentSummary {
    /// The agent's id.
    pub agent: String,
    /// Changes with every write to any of its records.
    pub version: u64,
    /// How many toolsets it has a record of.
    pub tools: u64,
}

impl AgentSummary {
    /// A line of a list, for stores.
    pub fn new(agent: impl Into<String>, version: u64, tools: u64) -> Self {
        Self { agent: agent.into(), version, tools }
    }
}

// ---- Whom a toolset works for.

/// The agent that a session is of: user data of every session that agents open, for toolsets that keep something of each
/// agent's.
///
/// ```
/// use tool_core::agents::AgentId;
/// use tool_core::{UserData, tool};
///
/// /// Remember something.
/// #[tool]
/// fn remember(#[context] agent: UserData<AgentId>, what: &str) -> String {
///     format!("{} will remember {what}", agent.as_str())
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct AgentId(Arc<str>);

impl AgentId {
    /// An agent's id, for run contexts that are made by hand.
    pub fn new(agent: impl Into<Arc<str>>) -> Self {
        Self(agent.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
