//! Helpers of the conformance tests, also for a store's own tests. They panic if the store fails.

use crate::agents::{
    AgentRecords, AgentStoreError, AgentTools, DynAgentToolStore, Precondition, RecordWrite,
    SealedSecrets, SecretsWrite,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// A store under test, which no other test uses. It begins without records.
pub trait AgentStoreUnderTest: Send + Sync {
    /// The shortest time that the store distinguishes from none. Tests wait for a few of them.
    const TICK: Duration;

    /// Returns a handle of the store, as another process would have it.
    fn handle(&self) -> impl Future<Output = Arc<dyn DynAgentToolStore>> + Send;

    /// Lets this much of the store's time pass. Called within a current-thread runtime of tokio,
    /// whose time can be paused.
    fn pass(&self, time: Duration) -> impl Future<Output = ()> + Send;
}

/// A handle of a store, with the operations that tests need.
#[derive(Clone)]
pub struct Driver(pub Arc<dyn DynAgentToolStore>);

impl Driver {
    /// Returns a handle of the store.
    pub async fn of(store: &impl AgentStoreUnderTest) -> Self {
        Self(store.handle().await)
    }

    /// Writes a new record without settings. Returns its version.
    pub async fn add(&self, agent: &str, tool: &str) -> u64 {
        self.write(&RecordWrite::new(agent, tool, json!({}))).await
    }

    /// Writes a new record with secrets. Returns its version.
    pub async fn add_sealed(&self, agent: &str, tool: &str, secrets: &SealedSecrets) -> u64 {
        let mut write = RecordWrite::new(agent, tool, json!({}));
        write.secrets = SecretsWrite::Set(secrets.clone());
        self.write(&write).await
    }

    /// Writes a record. Returns its version.
    pub async fn write(&self, write: &RecordWrite) -> u64 {
        self.0.write(write).await.expect("the store writes")
    }

    /// Changes the settings of an existing record. Returns its version.
    pub async fn set(&self, agent: &str, tool: &str, config: Value) -> u64 {
        let mut write = RecordWrite::of(&self.get(agent, tool).await);
        write.config = config;
        self.write(&write).await
    }

    /// Returns an existing record.
    pub async fn get(&self, agent: &str, tool: &str) -> AgentTools {
        self.find(agent, tool).await.expect("the record is there")
    }

    /// Returns a record, or `None` if it does not exist.
    pub async fn find(&self, agent: &str, tool: &str) -> Option<AgentTools> {
        self.0.get(agent, tool).await.expect("the store reads")
    }

    /// Returns all records of an agent, none of which is unreadable.
    pub async fn load(&self, agent: &str) -> AgentRecords {
        let records = self.0.load(agent).await.expect("the store loads");
        assert_eq!(records.unreadable, []);
        records
    }

    /// Returns the agent's version.
    pub async fn version(&self, agent: &str) -> u64 {
        self.0
            .version(agent)
            .await
            .expect("the store knows the version")
    }

    /// Removes a record in its current version.
    pub async fn remove(&self, agent: &str, tool: &str) {
        let version = self.get(agent, tool).await.version;
        self.0
            .remove(agent, tool, version)
            .await
            .expect("the store removes");
    }

    /// Returns the ids of the agents after an id.
    pub async fn agents(&self, after: Option<&str>, limit: u32) -> Vec<String> {
        let agents = self.0.agents(after, limit).await.expect("the store lists");
        agents.into_iter().map(|line| line.agent).collect()
    }

    /// Returns the agents and toolsets whose secrets are sealed under other keys.
    pub async fn sealed(
        &self,
        key: &str,
        after: Option<(&str, &str)>,
        limit: u32,
    ) -> Vec<(String, String)> {
        let rows = self
            .0
            .sealed_under_others(key, after, limit)
            .await
            .expect("the store lists");
        rows.into_iter().map(|row| (row.agent, row.tool)).collect()
    }

    /// Replaces secrets. Returns true if they were still there.
    pub async fn replaces(
        &self,
        agent: &str,
        tool: &str,
        from: &SealedSecrets,
        to: &SealedSecrets,
    ) -> bool {
        self.0
            .replace_secrets(agent, tool, from, to)
            .await
            .expect("the store replaces")
    }
}

/// Returns secrets that differ for each number.
pub fn sealed(number: u32) -> SealedSecrets {
    SealedSecrets::new("key-1", format!("sealed {number}"))
}

/// Returns the conflict with a record of a version, or with none.
pub fn conflict<T>(found: impl Into<Option<u64>>) -> Result<T, AgentStoreError> {
    Err(AgentStoreError::Conflict {
        found: found.into(),
    })
}

/// Returns a write that expects another version.
pub fn expecting(mut write: RecordWrite, version: u64) -> RecordWrite {
    write.expected = Precondition::Version(version);
    write
}
