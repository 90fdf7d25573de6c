//! The records of agents in memory.

use crate::agents::keys::SealedSecrets;
use crate::agents::record::{AgentRecords, AgentSummary, AgentTools};
use crate::agents::store::{AgentStoreError, AgentToolStore, Precondition, RecordWrite, SealedRow, SecretsWrite};
use crate::session::store::Operation;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A clock goes no further than it can count.
const LONGEST: Duration = Duration::from_hours(10 * 366 * 24);

/// Keeps the records of agents for as long as the process lives: for tests, and to try things.
#[derive(Debug, Default)]
pub struct MemoryAgentToolStore(Mutex<BTreeMap<String, Agent>>);

#[derive(Debug, Default)]
struct Agent {
    version: u64,
    tools: BTreeMap<String, Row>,
}

#[derive(Debug)]
struct Row {
    record: AgentTools,
    lease: Option<(String, Instant)>,
}

impl MemoryAgentToolStore {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    fn agents(&self) -> MutexGuard<'_, BTreeMap<String, Agent>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at a record, or changes what no version tells of.
    fn row<R>(&self, agent: &str, tool: &str, look: impl FnOnce(&mut Row) -> R) -> Option<R> {
        self.agents().get_mut(agent)?.tools.get_mut(tool).map(look)
    }

    fn write_now(&self, write: &RecordWrite) -> Result<u64, AgentStoreError> {
        write.check()?;
        let mut agents = self.agents();
        let known = agents.get(&write.agent).and_then(|agent| agent.tools.get(&write.tool));
        let found = known.map(|row| row.record.version);
        match (write.expected, found) {
            (Precondition::Absent, None) => {}
            (Precondition::Version(expected), Some(found)) if expected == found => {}
            _ => return Err(AgentStoreError::Conflict { found }),
        }
        let agent = agents.entry(write.agent.clone()).or_default();
        agent.version += 1;
        let mut record = AgentTools::new(&write.agent, &write.tool, agent.version);
        (record.enabled, record.config) = (write.enabled, write.config.clone());
        record.disabled_actions.clone_from(&write.disabled_actions);
        let before = agent.tools.remove(&write.tool);
        let (secrets, lease) = before.map_or((None, None), |row| (row.record.secrets, row.lease));
        record.secrets = match &write.secrets {
            SecretsWrite::Keep => secrets,
            SecretsWrite::Set(sealed) => Some(sealed.clone()),
            SecretsWrite::Clear => None,
        };
        agent.tools.insert(write.tool.clone(), Row { record, lease });
        Ok(agent.version)
    }

    fn remove_now(&self, agent: &str, tool: &str, version: u64) -> Result<(), AgentStoreError> {
        let mut agents = self.agents();
        let gone = || AgentStoreError::Conflict { found: None };
        let agent = agents.get_mut(agent).ok_or_else(gone)?;
        let found = agent.tools.get(tool).ok_or_else(gone)?.record.version;
        if found != version {
            return Err(AgentStoreError::Conflict { found: Some(found) });
        }
        agent.version += 1;
        agent.tools.remove(tool);
        Ok(())
    }
}

impl AgentToolStore for MemoryAgentToolStore {
    fn version<'a>(&'a self, agent: &'a str) -> Operation<'a, Result<u64, AgentStoreError>> {
        Operation::Ready(Ok(self.agents().get(agent).map_or(0, |agent| agent.version)))
    }

    fn load<'a>(&'a self, agent: &'a str) -> Operation<'a, Result<AgentRecords, AgentStoreError>> {
        let agents = self.agents();
        let records = agents.get(agent).map(|agent| {
            let tools = agent.tools.values().map(|row| row.record.clone()).collect();
            AgentRecords::new(agent.version, tools, Vec::new())
        });
        Operation::Ready(Ok(records.unwrap_or_default()))
    }

    fn get<'a>(&'a self, agent: &'a str, tool: &'a str) -> Operation<'a, Result<Option<AgentTools>, AgentStoreError>> {
        Operation::Ready(Ok(self.row(agent, tool, |row| row.record.clone())))
    }

    fn write<'a>(&'a self, write: &'a RecordWrite) -> Operation<'a, Result<u64, AgentStoreError>> {
        Operation::Ready(self.write_now(write))
    }

    fn remove<'a>(&'a self, agent: &'a str, tool: &'a str, version: u64) -> Operation<'a, Result<(), AgentStoreError>> {
        Operation::Ready(self.remove_now(agent, tool, version))
    }

    fn agents<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: u32,
    ) -> Operation<'a, Result<Vec<AgentSummary>, AgentStoreError>> {
        let agents = self.agents();
        let listed = agents
            .iter()
            .filter(|(id, agent)| !agent.tools.is_empty() && after.is_none_or(|after| id.as_str() > after));
        let lines = listed.map(|(id, agent)| AgentSummary::new(id, agent.version, agent.tools.len() as u64));
        Operation::Ready(Ok(lines.take(limit as usize).collect()))
    }

    fn sealed_under_others<'a>(
        &'a self,
        key: &'a str,
        after: Option<(&'a str, &'a str)>,
        limit: u32,
    ) -> Operation<'a, Result<Vec<SealedRow>, AgentStoreError>> {
        let agents = self.agents();
        let rows = agents.values().flat_map(|agent| agent.tools.values());
        let sealed = rows.filter_map(|Row { record, .. }| {
            let secrets = record.secrets.as_ref().filter(|secrets| secrets.key() != key)?;
            let later = after.is_none_or(|after| (record.agent.as_str(), record.tool.as_str()) > after);
            later.then(|| SealedRow::new(&record.agent, &record.tool, secrets.clone()))
        });
        Operation::Ready(Ok(sealed.take(limit as usize).collect()))
    }

    fn replace_secrets<'a>(
        &'a self,
        agent: &'a str,
        tool: &'a str,
        from: &'a SealedSecrets,
        to: &'a SealedSecrets,
    ) -> Operation<'a, Result<bool, AgentStoreError>> {
        let replaced = self.row(agent, tool, |row| {
            let there = row.record.secrets.as_ref() == Some(from);
            if there {
                row.record.secrets = Some(to.clone());
            }
            there
        });
        Operation::Ready(Ok(replaced.unwrap_or(false)))
    }

    fn lease<'a>(
        &'a self,
        agent: &'a str,
        tool: &'a str,
        holder: &'a str,
        lasts: Duration,
    ) -> Operation<'a, Result<bool, AgentStoreError>> {
        let now = Instant::now();
        let taken = self.row(agent, tool, |row| {
            let free = row.lease.as_ref().is_none_or(|(by, until)| by == holder || *until <= now);
            if free {
                let until = now.checked_add(lasts.min(LONGEST)).unwrap_or(now);
                row.lease = Some((holder.to_owned(), until));
            }
            free
        });
        Operation::Ready(Ok(taken.unwrap_or(false)))
    }

    fn release<'a>(
        &'a self,
        agent: &'a str,
        tool: &'a str,
        holder: &'a str,
    ) -> Operation<'a, Result<(), AgentStoreError>> {
        self.row(agent, tool, |row| row.lease.take_if(|(by, _)| by == holder));
        Operation::Ready(Ok(()))
    }
}
