//! What is asked of the store.

use super::sql;
use super::store::{PostgresStore, record};
use crate::agents::columns::{number, sealed, text};
use crate::agents::row::{Texts, milliseconds, records};
use sqlx::{Row, ValueRef, query};
use std::time::Duration;
use tool_core::agents::{
    AgentRecords, AgentStoreError, AgentSummary, AgentToolStore, AgentTools, Precondition, RecordWrite, SealedRow,
    SealedSecrets,
};
use tool_core::session::Operation;

impl AgentToolStore for PostgresStore {
    fn version<'a>(&'a self, agent: &'a str) -> Operation<'a, Result<u64, AgentStoreError>> {
        Operation::later(async move {
            let rows = self.read(|| query(sql::VERSION).bind(id(agent))).await?;
            rows.first().map_or(Ok(0), |row| number(row, 0))
        })
    }

    fn load<'a>(&'a self, agent: &'a str) -> Operation<'a, Result<AgentRecords, AgentStoreError>> {
        Operation::later(async move {
            let rows = self.read(|| query(sql::LOAD).bind(id(agent))).await?;
            let Some(first) = rows.first() else { return Ok(AgentRecords::default()) };
            // An agent whose records were all removed has a version still, and no toolset beside it.
            let there = rows.iter().filter(|row| row.try_get_raw(1).is_ok_and(|tool| !tool.is_null()));
            Ok(records(agent, number(first, 0)?, there.map(record)))
        })
    }

    fn get<'a>(&'a self, agent: &'a str, tool: &'a str) -> Operation<'a, Result<Option<AgentTools>, AgentStoreError>> {
        Operation::later(async move {
            let rows = self.read(|| query(sql::GET).bind(id(agent)).bind(id(tool))).await?;
            let record = rows.first().map(|row| record(row).and_then(|columns| columns.into_record(agent)));
            record.transpose().map_err(|row| AgentStoreError::Unreadable(row.why))
        })
    }

    fn write<'a>(&'a self, write: &'a RecordWrite) -> Operation<'a, Result<u64, AgentStoreError>> {
        Operation::later(async move {
            write.check()?;
            let texts = Texts::of(write)?;
            loop {
                if let Some(version) = self.write_once(write, &texts).await? {
                    return Ok(version);
                }
                let found = self.found(&write.agent, &write.tool).await?;
                // What was in the way has just gone.
                if found.is_none() && write.expected == Precondition::Absent {
                    continue;
                }
                return Err(AgentStoreError::Conflict { found });
            }
        })
    }

    fn remove<'a>(&'a self, agent: &'a str, tool: &'a str, version: u64) -> Operation<'a, Result<(), AgentStoreError>> {
        Operation::later(async move {
            let version = i64::try_from(version).unwrap_or(-1);
            if self.affects(|| query(sql::REMOVE).bind(id(agent)).bind(id(tool)).bind(version)).await? {
                return Ok(());
            }
            Err(AgentStoreError::Conflict { found: self.found(id(agent), id(tool)).await? })
        })
    }

    fn agents<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: u32,
    ) -> Operation<'a, Result<Vec<AgentSummary>, AgentStoreError>> {
        Operation::later(async move {
            let rows = self.read(|| query(sql::AGENTS).bind(after.map(before_nul)).bind(i64::from(limit))).await?;
            let line = |row| Ok(AgentSummary::new(text(row, 0)?, number(row, 1)?, number(row, 2)?));
            rows.iter().map(line).collect()
        })
    }

    fn sealed_under_others<'a>(
        &'a self,
        key: &'a str,
        after: Option<(&'a str, &'a str)>,
        limit: u32,
    ) -> Operation<'a, Result<Vec<SealedRow>, AgentStoreError>> {
        Operation::later(async move {
            // Of an agent that comes first among those after a NUL, no toolset is left.
            let (agent, tool) =
                after.map(|(agent, tool)| (before_nul(agent), (!agent.contains('\0')).then_some(tool))).unzip();
            let tool = tool.flatten().map(before_nul);
            let rows =
                self.read(|| query(sql::SEALED).bind(id(key)).bind(agent).bind(tool).bind(i64::from(limit))).await?;
            rows.iter().map(sealed).collect()
        })
    }

    fn replace_secrets<'a>(
        &'a self,
        agent: &'a str,
        tool: &'a str,
        from: &'a SealedSecrets,
        to: &'a SealedSecrets,
    ) -> Operation<'a, Result<bool, AgentStoreError>> {
        Operation::later(async move {
            let query =
                || query(sql::REPLACE_SECRETS).bind(id(agent)).bind(id(tool)).bind(id(from.key())).bind(from.bytes());
            self.affects(|| query().bind(to.key()).bind(to.bytes())).await
        })
    }

    fn lease<'a>(
        &'a self,
        agent: &'a str,
        tool: &'a str,
        holder: &'a str,
        lasts: Duration,
    ) -> Operation<'a, Result<bool, AgentStoreError>> {
        Operation::later(async move {
            self.affects(|| query(sql::LEASE).bind(id(agent)).bind(id(tool)).bind(holder).bind(milliseconds(lasts)))
                .await
        })
    }

    fn release<'a>(
        &'a self,
        agent: &'a str,
        tool: &'a str,
        holder: &'a str,
    ) -> Operation<'a, Result<(), AgentStoreError>> {
        Operation::later(async move {
            self.affects(|| query(sql::RELEASE).bind(id(agent)).bind(id(tool)).bind(holder)).await.map(drop)
        })
    }
}

/// Text in PostgreSQL has no NUL, and one is an error. What has one is found nowhere, like the empty id.
fn id(text: &str) -> &str {
    if text.contains('\0') { "" } else { text }
}

/// What sorts after a text with a NUL sorts after what is before it, where nothing has one.
fn before_nul(text: &str) -> &str {
    text.split('\0').next().unwrap_or_default()
}
