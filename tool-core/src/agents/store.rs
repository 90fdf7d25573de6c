//! Where the records of agents are kept.

use crate::agents::keys::SealedSecrets;
use crate::agents::record::{AgentRecords, AgentSummary, AgentTools, is_id};
use crate::session::store::Operation;
use crate::trace::redaction::Redaction;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Keeps the records of agents. `tool-adapters` has one over SQLite, embedded, and one over PostgreSQL;
/// [`MemoryAgentToolStore`](super::MemoryAgentToolStore) is for tests.
///
/// A store holds what it is given: it knows no toolsets, opens no secrets and checks no settings. Each operation is
/// done in whole or not at all, whoever else asks at the same time, in this process or another.
/// [`tool_core::testing::agents`](crate::testing::agents) has what a store has to do as tests.
pub trait AgentToolStore: Send + Sync + 'static {
    /// The agent's version: 0 where it never had a record.
    fn version<'a>(&'a self, agent: &'a str) -> Operation<'a, Result<u64, AgentStoreError>>;

    /// All records of an agent, as they are at one moment.
    fn load<'a>(&'a self, agent: &'a str) -> Operation<'a, Result<AgentRecords, AgentStoreError>>;

    /// One record.
    fn get<'a>(&'a self, agent: &'a str, tool: &'a str) -> Operation<'a, Result<Option<AgentTools>, AgentStoreError>>;

    /// Writes a record, if it is still what the writer expects. Gives the record's new version, which is the agent's
    /// too: one more than the agent's was. Versions of a record that was removed never come back.
    fn write<'a>(&'a self, write: &'a RecordWrite) -> Operation<'a, Result<u64, AgentStoreError>>;

    /// Removes a record, if it still has that version. The agent's version goes one up.
    fn remove<'a>(&'a self, agent: &'a str, tool: &'a str, version: u64) -> Operation<'a, Result<(), AgentStoreError>>;

    /// The agents that have records, by id, those after `after`.
    fn agents<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: u32,
    ) -> Operation<'a, Result<Vec<AgentSummary>, AgentStoreError>>;

    /// Secrets that are sealed under another key than `key`, by agent and toolset, those after `after`.
    fn sealed_under_others<'a>(
        &'a self,
        key: &'a str,
        after: Option<(&'a str, &'a str)>,
        limit: u32,
    ) -> Operation<'a, Result<Vec<SealedRow>, AgentStoreError>>;

    /// Puts other secrets in the place of these, if they are still there, and changes no version: what is sealed anew is
    /// the same secret, and a refreshed token the same grant. False where they were not there any more.
    fn replace_secrets<'a>(
        &'a self,
        agent: &'a str,
        tool: &'a str,
        from: &'a SealedSecrets,
        to: &'a SealedSecrets,
    ) -> Operation<'a, Result<bool, AgentStoreError>>;

    /// Takes the right to refresh a record's token, for as long as `lasts`. True for one holder at a time, of all
    /// processes; a holder that has it may take it again. False too where there is no such record.
    fn lease<'a>(
        &'a self,
        agent: &'a str,
        tool: &'a str,
        holder: &'a str,
        lasts: Duration,
    ) -> Operation<'a, Result<bool, AgentStoreError>>;

    /// Gives it back. Nothing happens where somebody else holds it.
    fn release<'a>(
        &'a self,
        agent: &'a str,
        tool: &'a str,
        holder: &'a str,
    ) -> Operation<'a, Result<(), AgentStoreError>>;
}

/// What is written of a record.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RecordWrite {
    /// The agent's id.
    pub agent: String,
    /// The toolset's name.
    pub tool: String,
    /// What has to be there.
    pub expected: Precondition,
    /// Whether the agent has it.
    pub enabled: bool,
    /// Actions that the agent does not have.
    pub disabled_actions: BTreeSet<String>,
    /// The settings: an object.
    pub config: Value,
    /// What becomes of the secrets.
    pub secrets: SecretsWrite,
}

/// What has to be there for a write to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// No record.
    Absent,
    /// The record in this version.
    Version(u64),
}

/// What a write does to the secrets.
#[derive(Clone, Debug, PartialEq)]
pub enum SecretsWrite {
    /// They stay what they are, also where they were sealed anew in the meantime.
    Keep,
    /// These are put in their place.
    Set(SealedSecrets),
    /// They go.
    Clear,
}

impl RecordWrite {
    /// A write of what a record holds; its version is what has to be there, and its secrets stay.
    pub fn of(record: &AgentTools) -> Self {
        let AgentTools { agent, tool, enabled, disabled_actions, config, version, .. } = record.clone();
        let (expected, secrets) = (Precondition::Version(version), SecretsWrite::Keep);
        Self { agent, tool, expected, enabled, disabled_actions, config, secrets }
    }

    /// Whether a store can keep it, for stores: it has ids, and settings that come back from JSON.
    ///
    /// Ids have 1 to 512 bytes and no control characters, as a database may hold no NUL. Settings are an object, nested
    /// no deeper than 100 levels: whoever reads JSON stops somewhere.
    pub fn check(&self) -> Result<(), AgentStoreError> {
        let key = match &self.secrets {
            SecretsWrite::Set(sealed) => sealed.key(),
            SecretsWrite::Keep | SecretsWrite::Clear => "-",
        };
        if ![&*self.agent, &*self.tool, key].into_iter().all(is_id) {
            return Err(AgentStoreError::InvalidId);
        }
        if !self.config.is_object() {
            return Err(AgentStoreError::Unreadable("its settings are no JSON object".into()));
        }
        if is_deeper(&self.config, 100) {
            return Err(AgentStoreError::Unreadable("its settings are nested deeper than 100 levels".into()));
        }
        Ok(())
    }

    /// A write of a record that is not there yet.
    pub fn new(agent: impl Into<String>, tool: impl Into<String>, config: Value) -> Self {
        let record = AgentTools { config, ..AgentTools::new(agent, tool, 0) };
        Self { expected: Precondition::Absent, ..Self::of(&record) }
    }
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    let inside = |value| levels == 0 || is_deeper(value, levels - 1);
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(inside),
        Value::Object(members) => levels == 0 || members.values().any(inside),
        _ => false,
    }
}

/// Secrets, and whose they are.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SealedRow {
    /// The agent's id.
    pub agent: String,
    /// The toolset's name.
    pub tool: String,
    /// The secrets.
    pub secrets: SealedSecrets,
}

impl SealedRow {
    /// Secrets and whose they are, for stores.
    pub fn new(agent: impl Into<String>, tool: impl Into<String>, secrets: SealedSecrets) -> Self {
        Self { agent: agent.into(), tool: tool.into(), secrets }
    }
}

/// Why a store did not do it. Then it did nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentStoreError {
    /// The record is not what the writer expected.
    Conflict {
        /// Its version now; `None` where there is none.
        found: Option<u64>,
    },
    /// The record holds something else than a record.
    Unreadable(String),
    /// An id that is empty, longer than 512 bytes, or has control characters.
    InvalidId,
    /// The store cannot be reached, does not answer, or does not understand. Where the connection broke before the answer
    /// came, a write may have been done nevertheless; whoever reads the record again knows.
    Down(String),
}

impl AgentStoreError {
    /// The store cannot be reached. The text says what happened, and holds no secrets.
    pub fn down(message: impl Into<String>) -> Self {
        Self::Down(message.into())
    }
}

impl fmt::Display for AgentStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict { found: Some(found) } => {
                write!(
                    f,
                    "somebody else has added or changed the record, which has version {found} now; read it and edit that"
                )
            }
            Self::Conflict { found: None } => f.write_str("there is no such record any more"),
            Self::InvalidId => f.write_str("an id has 1 to 512 bytes and no control characters"),
            Self::Unreadable(why) => write!(f, "the row holds no record: {}", Redaction::new().text(why)),
            Self::Down(why) => write!(f, "the agent store failed: {}", Redaction::new().text(why)),
        }
    }
}

impl std::error::Error for AgentStoreError {}

/// A store, or an `Arc` of one.
pub trait IntoAgentToolStore {
    /// The store.
    fn into_agent_tool_store(self) -> Arc<dyn AgentToolStore>;
}

impl<S: AgentToolStore> IntoAgentToolStore for S {
    fn into_agent_tool_store(self) -> Arc<dyn AgentToolStore> {
        Arc::new(self)
    }
}

impl<S: AgentToolStore> IntoAgentToolStore for Arc<S> {
    fn into_agent_tool_store(self) -> Arc<dyn AgentToolStore> {
        self
    }
}

impl IntoAgentToolStore for Arc<dyn AgentToolStore> {
    fn into_agent_tool_store(self) -> Arc<dyn AgentToolStore> {
        self
    }
}
