//! What stands behind a settings form: which toolsets there are, what each agent has of them, and writing that down.

mod check;
mod draft;
mod switch;

pub use draft::RecordDraft;

use super::record::is_id;
use super::{AgentError, AgentErrorKind, AgentRecords, AgentSummary, AgentTools, Agents};
use crate::actions::Action;
use crate::configure::{ToolsetFactory, ToolsetMetadata};
use serde_json::Value;
use std::sync::Arc;

/// What stands behind a settings form.
///
/// ```standalone_crate
/// use tool_core::agents::{AgentErrorKind, Agents, Keyring, MemoryAgentToolStore};
/// use tool_core::serde_json::json;
/// # use tool_core::{Configure, Secret, ToolError, schemars::JsonSchema, serde::Deserialize, toolset};
/// # struct Shop;
/// # #[derive(Deserialize, JsonSchema)]
/// # #[serde(crate = "tool_core::serde")]
/// # #[schemars(crate = "tool_core::schemars")]
/// # struct Settings { #[serde(default = "cents")] #[schemars(range(max = 50))] vat: u8 }
/// # fn cents() -> u8 { 19 }
/// # #[derive(Deserialize, JsonSchema)]
/// # #[serde(crate = "tool_core::serde")]
/// # #[schemars(crate = "tool_core::schemars")]
/// # struct Secrets { api_key: Secret }
/// # impl Configure for Shop {
/// #     type Config = Settings;
/// #     type Secrets = Secrets;
/// #     async fn configure(_: Settings, _: Secrets) -> Result<Self, ToolError> { Ok(Self) }
/// # }
/// # /// Sell things.
/// # #[toolset]
/// # impl Shop {
/// #     /// Tell a price.
/// #     #[tool]
/// #     fn price(&self) -> u8 { 7 }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let keys = Keyring::parse(&Keyring::generate("2026-11")?)?;
/// let agents = Agents::builder(MemoryAgentToolStore::new()).keys(keys).build()?;
///
/// // What a person may choose from, and what each asks for.
/// let form = agents.form("shop").ok_or("not linked")?;
/// assert_eq!(form.config_schema.as_ref().ok_or("no settings")?["properties"]["vat"]["default"], 19);
///
/// // Everything that is wrong, at once, and nothing is written.
/// let refused = agents.add("alice", "shop").config(json!({"vat": 70})).save().await.unwrap_err();
/// assert!(matches!(&refused.kind, AgentErrorKind::Several(kinds) if kinds.len() == 2));
///
/// let record = agents.add("alice", "shop").config(json!({"vat": 7})).secrets(json!({"api_key": "k-1"})).save().await?;
/// let record = agents.edit(&record).disable_action("price").save().await?;
/// assert_eq!(agents.list("alice").await?.tools, [record]);
/// # Ok(())
/// # }
/// ```
impl Agents {
    /// What each toolset that agents may have asks for, by name.
    pub fn forms(&self) -> impl Iterator<Item = &ToolsetMetadata> {
        self.0.catalog.iter().map(|factory| factory.metadata())
    }

    /// What a toolset asks for; nothing where none of that name is registered.
    pub fn form(&self, tool: &str) -> Option<&ToolsetMetadata> {
        self.0.catalog.get(tool).map(|factory| factory.metadata())
    }

    /// What a toolset can do, as far as that is known before it is configured; nothing where none of that name is
    /// registered.
    pub fn actions(&self, tool: &str) -> Option<Vec<Action>> {
        self.0.catalog.get(tool).map(|factory| factory.actions())
    }

    /// What an agent has: its records by the toolset's name, and rows that hold no record. Nothing where the agent is
    /// not known.
    pub async fn list(&self, agent: &str) -> Result<AgentRecords, AgentError> {
        check_ids(agent, None)?;
        self.0.store.load(agent).await.map_err(|error| AgentError::of_store(agent, "", error))
    }

    /// One record: `NotConfigured` where the agent has none of the toolset.
    pub async fn record(&self, agent: &str, tool: &str) -> Result<AgentTools, AgentError> {
        check_ids(agent, Some(tool))?;
        let found = self.0.store.get(agent, tool).await.map_err(|error| AgentError::of_store(agent, tool, error))?;
        found.ok_or_else(|| AgentError::new(agent, tool, AgentErrorKind::NotConfigured))
    }

    /// The agents that have records, by id: those after `after`, `limit` of them at most.
    pub async fn agents(&self, after: Option<&str>, limit: u32) -> Result<Vec<AgentSummary>, AgentError> {
        let listed = self.0.store.agents(after, limit).await;
        listed.map_err(|error| AgentError::of_store("", "", error))
    }

    /// A new record of a toolset: say what it holds, and [`save`](RecordDraft::save) it. It is enabled unless told.
    pub fn add(&self, agent: impl Into<String>, tool: impl Into<String>) -> RecordDraft {
        RecordDraft::new(self.clone(), agent.into(), tool.into())
    }

    /// A change of a record, in the version that was read: what is not said stays what it is.
    pub fn edit(&self, record: &AgentTools) -> RecordDraft {
        RecordDraft::of(self.clone(), record)
    }

    /// Removes a record, in the version that was read: `Conflict` where somebody has changed it since. Its secrets go
    /// with it.
    pub async fn remove(&self, record: &AgentTools) -> Result<(), AgentError> {
        let AgentTools { agent, tool, version, .. } = record;
        let removed = self.0.store.remove(agent, tool, *version).await;
        removed.map_err(|error| AgentError::of_store(agent, tool, error))
    }

    /// The factory of a toolset, or the error that there is none.
    fn registered(&self, agent: &str, tool: &str) -> Result<&Arc<dyn ToolsetFactory>, AgentError> {
        let missing = || AgentErrorKind::NotRegistered { nearest: self.0.catalog.nearest(tool) };
        self.0.catalog.get(tool).ok_or_else(|| AgentError::new(agent, tool, missing()))
    }
}

/// No settings: an object that is empty.
fn nothing() -> Value {
    Value::Object(serde_json::Map::new())
}

fn check_ids(agent: &str, tool: Option<&str>) -> Result<(), AgentError> {
    let sound = is_id(agent) && tool.is_none_or(is_id);
    // An id that is none may be endless, or hold what a terminal obeys.
    let shown = |id: &str| crate::text::truncate(id, 60);
    let invalid = || AgentError::new(&shown(agent), &shown(tool.unwrap_or_default()), AgentErrorKind::InvalidId);
    if sound { Ok(()) } else { Err(invalid()) }
}
