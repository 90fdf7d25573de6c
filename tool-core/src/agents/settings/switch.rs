//! Switching a toolset, or one of its actions, on and off, whoever else writes at the same time.

use super::check::{Checked, Given, kept, unknown_action};
use super::draft::written;
use crate::agents::{AgentError, AgentErrorKind, AgentTools, Agents, RecordWrite};

/// How often somebody else may come first.
const TRIES: u32 = 100;

impl Agents {
    /// Gives an agent a toolset that it has a record of. The record is checked as when it is saved: a toolset that lacks
    /// settings or secrets would not work. Secrets are judged where there is a key to open them. Nothing is written where
    /// it is enabled already.
    pub async fn enable(&self, agent: &str, tool: &str) -> Result<AgentTools, AgentError> {
        let change = |record: &AgentTools| self.enabled(record);
        self.change(agent, tool, change).await
    }

    /// Takes it away and keeps the record. That works whatever is wrong with the toolset, its settings or its secrets; not
    /// with a row that holds no record at all (`Unreadable`), which the agent does not have the toolset of, and which is
    /// put right or removed in the database.
    pub async fn disable(&self, agent: &str, tool: &str) -> Result<AgentTools, AgentError> {
        let change = |record: &AgentTools| Ok(record.enabled.then(|| AgentTools { enabled: false, ..record.clone() }));
        self.change(agent, tool, change).await
    }

    /// Gives an agent an action back that it was denied.
    pub async fn enable_action(&self, agent: &str, tool: &str, action: &str) -> Result<AgentTools, AgentError> {
        let change = |record: &AgentTools| {
            let mut changed = record.clone();
            // One that the toolset does not have any more may go all the same.
            if changed.disabled_actions.remove(action) {
                return Ok(Some(changed));
            }
            self.check_action(record, action).map(|()| None)
        };
        self.change(agent, tool, change).await
    }

    /// Denies an agent an action of a toolset, by the name that a model calls it by.
    pub async fn disable_action(&self, agent: &str, tool: &str, action: &str) -> Result<AgentTools, AgentError> {
        let change = |record: &AgentTools| {
            if record.disabled_actions.contains(action) {
                return Ok(None);
            }
            self.check_action(record, action)?;
            let mut changed = record.clone();
            changed.disabled_actions.insert(action.to_owned());
            Ok(Some(changed))
        };
        self.change(agent, tool, change).await
    }

    /// Reads, changes and writes, again where somebody else has written in between. Nothing is written where there is
    /// nothing to change.
    async fn change(
        &self,
        agent: &str,
        tool: &str,
        change: impl Fn(&AgentTools) -> Result<Option<AgentTools>, AgentError>,
    ) -> Result<AgentTools, AgentError> {
        let mut tries = TRIES;
        loop {
            let record = self.record(agent, tool).await?;
            let Some(changed) = change(&record)? else { return Ok(record) };
            tries -= 1;
            match written(self, RecordWrite::of(&changed), record.secrets).await {
                Err(AgentError { kind: AgentErrorKind::Conflict { .. }, .. }) if tries > 0 => {
                    tokio::task::yield_now().await;
                }
                other => return other,
            }
        }
    }

    fn enabled(&self, record: &AgentTools) -> Result<Option<AgentTools>, AgentError> {
        if record.enabled {
            return Ok(None);
        }
        let factory = self.registered(&record.agent, &record.tool)?;
        let changed = AgentTools { enabled: true, ..record.clone() };
        let opened = kept(self, record);
        let given = if record.secrets.is_some() { Given::Kept(opened.as_ref()) } else { Given::None };
        let checked =
            Checked { factory, write: &RecordWrite::of(&changed), given, known: Some(&record.disabled_actions) };
        checked.outcome().map_err(|kind| AgentError::new(&record.agent, &record.tool, kind))?;
        Ok(Some(changed))
    }

    fn check_action(&self, record: &AgentTools, action: &str) -> Result<(), AgentError> {
        let factory = self.registered(&record.agent, &record.tool)?;
        let unknown = unknown_action(&factory.actions(), action);
        unknown.map_or(Ok(()), |kind| Err(AgentError::new(&record.agent, &record.tool, kind)))
    }
}
