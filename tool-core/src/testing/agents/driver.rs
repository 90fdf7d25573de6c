//! What the cases are written with, for the tests that a store has beside them.
//!
//! All of it panics where the store fails.

use crate::agents::SealedSecrets;
use crate::agents::{AgentRecords, AgentTools};
use crate::agents::{AgentStoreError, DynAgentToolStore, Precondition, RecordWrite, SecretsWrite};
use crate::testing::agents;
use serde_json::{Value, json};
use std::sync::Arc;

/// A store, and what the cases ask of it.
#[derive(Clone)]
pub struct Driver(pub Arc<dyn DynAgentToolStore>);

impl Driver {
    /// A handle of the store.
    pub async fn of(store: &impl agents::AgentStoreUnderTest) -> Self {
        Self(store.handle().await)
    }

    /// Writes a new record without settings; its version.
    pub async fn add(&self, agent: &str, tool: &str) -> u64 {
        self.write(&RecordWrite::new(agent, tool, json!({}))).await
    }

    /// Writes a new record with secrets; its version.
    pub async fn add_sealed(&self, agent: &str, tool: &str, secrets: &SealedSecrets) -> u64 {
        let mut write = RecordWrite::new(agent, tool, json!({}));
        write.secrets = SecretsWrite::Set(secrets.clone());
        self.write(&write).await
    }

    /// Writes; the version.
    pub async fn write(&self, write: &RecordWrite) -> u64 {
        self.0.write(write).await.expect("the store writes")
    }

    /// Writes other settings into a record that is there; its version.
    pub async fn set(&self, agent: &str, tool: &str, config: Value) -> u64 {
        let mut write = RecordWrite::of(&self.get(agent, tool).await);
        write.config = config;
        self.write(&write).await
    }

    /// A record that is there.
    pub async fn get(&self, agent: &str, tool: &str) -> AgentTools {
        self.find(agent, tool).await.expect("the record is there")
    }

    /// A record.
    pub async fn find(&self, agent: &str, tool: &str) -> Option<AgentTools> {
        self.0.get(agent, tool).await.expect("the store reads")
    }

    /// All records of an agent, none of them unreadable.
    pub async fn load(&self, agent: &str) -> AgentRecords {
        let records = self.0.load(agent).await.expect("the store loads");
        assert_eq!(records.unreadable, []);
        records
    }

    /// The agent's version.
    pub async fn version(&self, agent: &str) -> u64 {
        self.0.version(agent).await.expect("the store knows the version")
    }

    /// Removes a record in the version that it has.
    pub async fn remove(&self, agent: &str, tool: &str) {
        let version = self.get(agent, tool).await.version;
        self.0.remove(agent, tool, version).await.expect("the store removes");
    }

    /// The ids of the agents after one.
    pub async fn agents(&self, after: Option<&str>, limit: u32) -> Vec<String> {
        let agents = self.0.agents(after, limit).await.expect("the store lists");
        agents.into_iter().map(|line| line.agent).collect()
    }

    /// Whose secrets are sealed under other keys.
    pub async fn sealed(&self, key: &str, after: Option<(&str, &str)>, limit: u32) -> Vec<(String, String)> {
        let rows = self.0.sealed_under_others(key, after, limit).await.expect("the store lists");
        rows.into_iter().map(|row| (row.agent, row.tool)).collect()
    }

    /// Whether these secrets were put in the place of those.
    pub async fn replaces(&self, agent: &str, tool: &str, from: &SealedSecrets, to: &SealedSecrets) -> bool {
        self.0.replace_secrets(agent, tool, from, to).await.expect("the store replaces")
    }
}

/// Secrets, as different as the numbers.
pub fn sealed(number: u32) -> SealedSecrets {
    SealedSecrets::new("key-1", format!("sealed {number}"))
}

/// The record is in that version, or not there.
pub fn conflict<T>(found: impl Into<Option<u64>>) -> Result<T, AgentStoreError> {
    Err(AgentStoreError::Conflict { found: found.into() })
}

/// A write that expects another version.
pub fn expecting(mut write: RecordWrite, version: u64) -> RecordWrite {
    write.expected = Precondition::Version(version);
    write
}
