//! The records of agents: one for each toolset of each agent.

use crate::agents::keys::SealedSecrets;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The record of one toolset of one agent, as a store holds it.
///
/// Serialises for a user interface, and shows of secrets only whether there are any.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentTools {
    /// The agent's id.
    pub agent: String,
    /// The toolset's name.
    pub tool: String,
    /// `false` takes the toolset from the agent and keeps the record.
    pub enabled: bool,
    /// Names of the actions that the agent does not have, as a model would call them.
    pub disabled_actions: BTreeSet<String>,
    /// The settings as they were written. Defaults are filled in when the toolset is configured.
    pub config: Value,
    /// The sealed secrets. Only their key opens them.
    #[serde(rename = "hasSecrets", serialize_with = "serialize_is_some")]
    pub secrets: Option<SealedSecrets>,
    /// The record's version. Each write gives a new one, and none is used twice. A write names the
    /// version that it changes, so that two writers cannot overwrite each other's changes unseen.
    pub version: u64,
}

#[allow(clippy::ref_option)] // the signature that serde requires
fn serialize_is_some<S: serde::Serializer>(
    secrets: &Option<SealedSecrets>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(secrets.is_some())
}

impl AgentTools {
    /// Creates an enabled record without settings or secrets. For stores.
    pub fn new(agent: impl Into<String>, tool: impl Into<String>, version: u64) -> Self {
        let agent = agent.into();
        let tool = tool.into();
        let config = Value::Object(serde_json::Map::default());
        Self {
            agent,
            tool,
            enabled: true,
            disabled_actions: BTreeSet::new(),
            config,
            secrets: None,
            version,
        }
    }
}

/// Returns true if a text can be the id of an agent or the name of a toolset.
pub(crate) fn is_id(text: &str) -> bool {
    (1..=512).contains(&text.len()) && !text.contains(char::is_control)
}

/// All records of an agent at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AgentRecords {
    /// The agent's version. Each write to one of its records raises it. 0 if the agent never had a
    /// record.
    pub version: u64,
    /// The records, sorted by the toolset's name.
    pub tools: Vec<AgentTools>,
    /// Rows that are not valid records, sorted by the toolset's name.
    pub unreadable: Vec<UnreadableRow>,
}

/// A row that is not a valid record, for example after an edit by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnreadableRow {
    /// The toolset's name.
    pub tool: String,
    /// The problem, without the row's contents.
    pub reason: String,
}

impl AgentRecords {
    /// Sorts the records and rows by name. For stores.
    pub fn new(
        version: u64,
        mut tools: Vec<AgentTools>,
        mut unreadable: Vec<UnreadableRow>,
    ) -> Self {
        tools.sort_by(|a, b| a.tool.cmp(&b.tool));
        unreadable.sort_by(|a, b| a.tool.cmp(&b.tool));
        Self {
            version,
            tools,
            unreadable,
        }
    }
}

impl UnreadableRow {
    /// Names a row and its problem. For stores.
    pub fn new(tool: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            tool: tool.into(),
            reason: reason.into(),
        }
    }
}

/// One agent in a list of agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentSummary {
    /// The agent's id.
    pub agent: String,
    /// The agent's version. Each write to one of its records raises it.
    pub version: u64,
    /// Number of the agent's records.
    pub tools: u64,
}

impl AgentSummary {
    /// Creates an entry of a list. For stores.
    pub fn new(agent: impl Into<String>, version: u64, tools: u64) -> Self {
        Self {
            agent: agent.into(),
            version,
            tools,
        }
    }
}

/// The id of a session's agent.
///
/// Every session that an [`AgentExecutor`](super::AgentExecutor) opens has it as user data, so that
/// a toolset can keep something for each agent.
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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AgentId(Arc<str>);

impl AgentId {
    /// Wraps an agent's id, for run contexts that are built by hand.
    pub fn new(agent: impl Into<Arc<str>>) -> Self {
        Self(agent.into())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
