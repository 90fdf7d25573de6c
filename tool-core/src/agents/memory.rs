//! A store of records in memory.

use crate::agents::keys::SealedSecrets;
use crate::agents::record::{AgentRecords, AgentSummary, AgentTools};
use crate::agents::store::{AgentStoreError, AgentToolStore, Precondition, RecordWrite, SealedRow};
use crate::session::approvals::{ApprovalLimits, ApprovalRequest, ApprovalVerdict, PendingCall};
use crate::time;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// Longest lease: an `Instant` cannot be arbitrarily far in the future.
const MAX_LEASE: Duration = Duration::from_secs(10 * 366 * 24 * 3_600);

/// A store that keeps records until the process ends. For tests and experiments.
///
/// ```
/// use tool_core::agents::{AgentToolStore, MemoryAgentToolStore, RecordWrite};
/// use tool_core::serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::agents::AgentStoreError> {
/// let store = MemoryAgentToolStore::new(); // for `Agents::builder(store)`
/// store.write(&RecordWrite::new("alice", "shop", json!({"currency": "EUR"}))).await?;
///
/// let record = store.get("alice", "shop").await?.expect("the record");
/// assert_eq!((record.version, &record.config), (1, &json!({"currency": "EUR"})));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct MemoryAgentToolStore(Mutex<BTreeMap<String, StoredAgent>>);

#[derive(Debug, Default)]
struct StoredAgent {
    version: u64,
    tools: BTreeMap<String, StoredRecord>,
    /// The actions that wait for approval, by the ids of their calls, with their expiry.
    actions: BTreeMap<String, (Instant, PendingCall)>,
}

#[derive(Debug)]
struct StoredRecord {
    record: AgentTools,
    /// The holder of the lease, and when it ends.
    lease: Option<(String, Instant)>,
}

impl MemoryAgentToolStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a record, or changes a part of it that has no version.
    fn with_record<R>(
        &self,
        agent: &str,
        tool: &str,
        work: impl FnOnce(&mut StoredRecord) -> R,
    ) -> Option<R> {
        self.0.lock().get_mut(agent)?.tools.get_mut(tool).map(work)
    }
}

impl AgentToolStore for MemoryAgentToolStore {
    async fn version(&self, agent: &str) -> Result<u64, AgentStoreError> {
        Ok(self.0.lock().get(agent).map_or(0, |agent| agent.version))
    }

    async fn load(&self, agent: &str) -> Result<AgentRecords, AgentStoreError> {
        let agents = self.0.lock();
        let Some(agent) = agents.get(agent) else {
            return Ok(AgentRecords::default());
        };
        let tools = agent
            .tools
            .values()
            .map(|stored| stored.record.clone())
            .collect();
        Ok(AgentRecords::new(agent.version, tools, Vec::new()))
    }

    async fn get(&self, agent: &str, tool: &str) -> Result<Option<AgentTools>, AgentStoreError> {
        Ok(self.with_record(agent, tool, |stored| stored.record.clone()))
    }

    async fn write(&self, write: &RecordWrite) -> Result<u64, AgentStoreError> {
        write.check()?;
        let mut agents = self.0.lock();
        let known = agents
            .get(&write.agent)
            .and_then(|agent| agent.tools.get(&write.tool));
        let found = known.map(|stored| stored.record.version);
        match (write.expected, found) {
            (Precondition::Absent, None) => {}
            (Precondition::Version(expected), Some(found)) if expected == found => {}
            _ => return Err(AgentStoreError::Conflict { found }),
        }
        let agent = agents.entry(write.agent.clone()).or_default();
        agent.version += 1;
        let before = agent.tools.remove(&write.tool);
        let (secrets, lease) =
            before.map_or((None, None), |stored| (stored.record.secrets, stored.lease));
        let record = write.clone().into_record(agent.version, secrets);
        agent
            .tools
            .insert(write.tool.clone(), StoredRecord { record, lease });
        Ok(agent.version)
    }

    async fn remove(&self, agent: &str, tool: &str, version: u64) -> Result<(), AgentStoreError> {
        let mut agents = self.0.lock();
        let agent = agents
            .get_mut(agent)
            .ok_or(AgentStoreError::Conflict { found: None })?;
        let found = agent.tools.get(tool).map(|stored| stored.record.version);
        if found != Some(version) {
            return Err(AgentStoreError::Conflict { found });
        }
        agent.version += 1;
        agent.tools.remove(tool);
        Ok(())
    }

    async fn agents(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<AgentSummary>, AgentStoreError> {
        let agents = self.0.lock();
        let listed = agents.iter().filter(|(id, agent)| {
            !agent.tools.is_empty() && after.is_none_or(|after| id.as_str() > after)
        });
        let summaries = listed
            .map(|(id, agent)| AgentSummary::new(id, agent.version, agent.tools.len() as u64));
        Ok(summaries.take(limit as usize).collect())
    }

    async fn sealed_under_others(
        &self,
        key: &str,
        after: Option<(&str, &str)>,
        limit: u32,
    ) -> Result<Vec<SealedRow>, AgentStoreError> {
        let agents = self.0.lock();
        let records = agents.values().flat_map(|agent| agent.tools.values());
        let rows = records.filter_map(|StoredRecord { record, .. }| {
            let secrets = record
                .secrets
                .as_ref()
                .filter(|secrets| secrets.key() != key)?;
            let is_later =
                after.is_none_or(|after| (record.agent.as_str(), record.tool.as_str()) > after);
            is_later.then(|| SealedRow::new(&record.agent, &record.tool, secrets.clone()))
        });
        Ok(rows.take(limit as usize).collect())
    }

    async fn replace_secrets(
        &self,
        agent: &str,
        tool: &str,
        from: &SealedSecrets,
        to: &SealedSecrets,
    ) -> Result<bool, AgentStoreError> {
        let replaced = self.with_record(agent, tool, |stored| {
            let secrets = stored
                .record
                .secrets
                .as_mut()
                .filter(|secrets| *secrets == from);
            secrets.map(|secrets| *secrets = to.clone()).is_some()
        });
        Ok(replaced == Some(true))
    }

    async fn lease(
        &self,
        agent: &str,
        tool: &str,
        holder: &str,
        duration: Duration,
    ) -> Result<bool, AgentStoreError> {
        let now = Instant::now();
        let acquired = self.with_record(agent, tool, |stored| {
            let is_free = stored
                .lease
                .as_ref()
                .is_none_or(|(by, until)| by == holder || *until <= now);
            if is_free {
                let until = now.checked_add(duration.min(MAX_LEASE)).unwrap_or(now);
                stored.lease = Some((holder.to_owned(), until));
            }
            is_free
        });
        Ok(acquired == Some(true))
    }

    async fn release(&self, agent: &str, tool: &str, holder: &str) -> Result<(), AgentStoreError> {
        self.with_record(agent, tool, |stored| {
            stored.lease.take_if(|(by, _)| by == holder)
        });
        Ok(())
    }

    async fn keep_action(
        &self,
        agent: &str,
        call: &PendingCall,
        lifetime: Duration,
        limits: ApprovalLimits,
    ) -> Result<ApprovalVerdict, AgentStoreError> {
        let now = Instant::now();
        let mut agents = self.0.lock();
        let actions = &mut agents.entry(agent.to_owned()).or_default().actions;
        actions.retain(|_, (expires, _)| *expires > now);
        let request = ApprovalRequest::new(call, lifetime).limits(limits);
        if let Some(limit) = request.exceeds(actions.values().map(|(_, call)| call)) {
            return Ok(ApprovalVerdict::Full(limit));
        }
        actions.insert(call.id.clone(), (time::after(now, lifetime), call.clone()));
        Ok(ApprovalVerdict::Waits)
    }

    async fn action(&self, agent: &str, id: &str) -> Result<Option<PendingCall>, AgentStoreError> {
        let agents = self.0.lock();
        let action = agents.get(agent).and_then(|agent| agent.actions.get(id));
        Ok(action
            .filter(|(expires, _)| *expires > Instant::now())
            .map(|(_, call)| call.clone()))
    }

    async fn take_action(
        &self,
        agent: &str,
        id: &str,
    ) -> Result<Option<Duration>, AgentStoreError> {
        let taken = self
            .0
            .lock()
            .get_mut(agent)
            .and_then(|agent| agent.actions.remove(id));
        let left = taken.map(|(expires, _)| expires.saturating_duration_since(Instant::now()));
        Ok(left.filter(|left| !left.is_zero()))
    }
}
