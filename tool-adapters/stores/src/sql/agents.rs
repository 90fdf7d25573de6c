//! The records of agents in an SQL database.
//!
//! Each operation is one statement, so that it takes effect as a whole or not at all. Triggers in
//! the tables raise the versions, also after changes by hand.

use crate::sql::{Param, SqlDatabase, SqlError, SqlRow, SqlStore, id, milliseconds, number};
use serde_json::Value;
use sqlx::Error;
use std::collections::BTreeSet;
use std::time::Duration;
use tool_core::agents::{
    AgentRecords, AgentStoreError, AgentSummary, AgentToolStore, AgentTools, Precondition,
    RecordWrite, SealedRow, SealedSecrets, SecretsWrite, UnreadableRow,
};
use tool_core::session::{ApprovalLimit, ApprovalLimits, ApprovalVerdict, PendingCall};

/// The statements that only one kind of database understands.
pub(crate) trait AgentDatabase: SqlDatabase {
    /// Inserts a record unless it exists. Parameters: see [`write_params`]. Returns its version.
    const INSERT: &'static str;
    /// Updates a record of a version. Parameters: see [`write_params`]. Returns its new version.
    const UPDATE: &'static str;
    /// Acquires a lease. Parameters: agent, toolset, holder and milliseconds. Returns a row if it
    /// is acquired.
    const LEASE: &'static str;
    /// Keeps an action if there is room. Parameters: agent, id, action, bytes, milliseconds, and
    /// the most actions and bytes. Returns a row if it is kept.
    const KEEP_ACTION: &'static str;
}

impl From<SqlError> for AgentStoreError {
    fn from(error: SqlError) -> Self {
        match error.source {
            Some(source) => Self::caused(error.message, source),
            None => Self::down(error.message),
        }
    }
}

/// Reads a version, or a count.
fn version(row: &impl SqlRow, column: usize) -> Result<u64, AgentStoreError> {
    let number = row.number(column).map_err(SqlError::from)?;
    u64::try_from(number).map_err(|_| AgentStoreError::Unreadable("its version is negative".into()))
}

const VERSION: &str = "SELECT version FROM tool_agents WHERE agent_id = $1";

/// The columns of a record, then the agent's version. The columns of the record are null if the
/// agent has none.
const LOAD: &str = include_str!("load.sql");

const GET: &str = include_str!("get.sql");

const RECORD_VERSION: &str =
    "SELECT version FROM tool_agent_records WHERE agent_id = $1 AND tool = $2";

const REMOVE: &str =
    "DELETE FROM tool_agent_records WHERE agent_id = $1 AND tool = $2 AND version = $3 RETURNING 1";

const AGENTS: &str = include_str!("agents.sql");

const SEALED: &str = include_str!("sealed.sql");

const REPLACE_SECRETS: &str = include_str!("replace_secrets.sql");

const RELEASE: &str = include_str!("release.sql");

const ACTION: &str = "SELECT action FROM tool_agent_actions, tool_clock WHERE agent_id = $1 AND id = $2 AND expires_at > now";

const TAKE_ACTION: &str = "DELETE FROM tool_agent_actions \
    WHERE agent_id = $1 AND id = $2 AND expires_at > (SELECT now FROM tool_clock) \
    RETURNING expires_at, (SELECT now FROM tool_clock)";

const ACTIONS: &str =
    "SELECT count(*) FROM tool_agent_actions, tool_clock WHERE agent_id = $1 AND expires_at > now";

const REMOVE_EXPIRED: &str =
    "DELETE FROM tool_agent_actions WHERE expires_at <= (SELECT now FROM tool_clock)";

#[allow(private_bounds)] // only this crate implements the trait
impl<D: AgentDatabase> SqlStore<D> {
    async fn record_version(
        &self,
        agent: &str,
        tool: &str,
    ) -> Result<Option<u64>, AgentStoreError> {
        let rows = self
            .0
            .select(RECORD_VERSION, &[id(agent), id(tool)])
            .await?;
        rows.first().map(|row| version(row, 0)).transpose()
    }
}

impl<D: AgentDatabase> AgentToolStore for SqlStore<D> {
    async fn version(&self, agent: &str) -> Result<u64, AgentStoreError> {
        let rows = self.0.select(VERSION, &[id(agent)]).await?;
        rows.first().map_or(Ok(0), |row| version(row, 0))
    }

    async fn load(&self, agent: &str) -> Result<AgentRecords, AgentStoreError> {
        let rows = self.0.select(LOAD, &[id(agent)]).await?;
        let Some(first) = rows.first() else {
            return Ok(AgentRecords::default());
        };
        let mut tools = Vec::new();
        let mut unreadable = Vec::new();
        for row in rows.iter().filter(|row| !row.is_null(0)) {
            match record(row, agent) {
                Ok(record) => tools.push(record),
                Err(row) => unreadable.push(row),
            }
        }
        Ok(AgentRecords::new(version(first, 7)?, tools, unreadable))
    }

    async fn get(&self, agent: &str, tool: &str) -> Result<Option<AgentTools>, AgentStoreError> {
        let rows = self.0.select(GET, &[id(agent), id(tool)]).await?;
        let record = rows.first().map(|row| record(row, agent)).transpose();
        record.map_err(|row| AgentStoreError::Unreadable(row.reason))
    }

    async fn write(&self, write: &RecordWrite) -> Result<u64, AgentStoreError> {
        write.check()?;
        let actions = to_json(&write.disabled_actions)?;
        let config = to_json(&write.config)?;
        let params = write_params(write, &actions, &config);
        let sql = if write.expected == Precondition::Absent {
            D::INSERT
        } else {
            D::UPDATE
        };
        loop {
            if let Some(row) = self.0.change(sql, &params).await?.first() {
                return version(row, 0);
            }
            let found = self.record_version(&write.agent, &write.tool).await?;
            // A record that was in the way may have been removed by now.
            if found.is_some() || write.expected != Precondition::Absent {
                return Err(AgentStoreError::Conflict { found });
            }
        }
    }

    async fn remove(&self, agent: &str, tool: &str, version: u64) -> Result<(), AgentStoreError> {
        if self
            .0
            .change(REMOVE, &[id(agent), id(tool), number(version)])
            .await?
            .is_empty()
        {
            return Err(AgentStoreError::Conflict {
                found: self.record_version(agent, tool).await?,
            });
        }
        Ok(())
    }

    async fn agents(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<AgentSummary>, AgentStoreError> {
        let rows = self
            .0
            .select(
                AGENTS,
                &[Param::Text(after.map(before_nul)), number(limit.into())],
            )
            .await?;
        let summary = |row: &D::Row| {
            Ok(AgentSummary::new(
                row.text(0)?,
                version(row, 1)?,
                version(row, 2)?,
            ))
        };
        rows.iter().map(summary).collect()
    }

    async fn sealed_under_others(
        &self,
        key: &str,
        after: Option<(&str, &str)>,
        limit: u32,
    ) -> Result<Vec<SealedRow>, AgentStoreError> {
        let (agent, tool) = after.unzip();
        // No toolset of the agent that is cut at a NUL comes after the pair.
        let tool = tool.filter(|_| agent.is_some_and(|agent| !agent.contains('\0')));
        let agent = Param::Text(agent.map(before_nul));
        let tool = Param::Text(tool.map(before_nul));
        let rows = self
            .0
            .select(SEALED, &[id(key), agent, tool, number(limit.into())])
            .await?;
        let sealed = |row: &D::Row| {
            let secrets = SealedSecrets::new(
                row.text(2)?,
                row.bytes(3).map_err(SqlError::from)?.unwrap_or_default(),
            );
            Ok(SealedRow::new(row.text(0)?, row.text(1)?, secrets))
        };
        rows.iter().map(sealed).collect()
    }

    async fn replace_secrets(
        &self,
        agent: &str,
        tool: &str,
        from: &SealedSecrets,
        to: &SealedSecrets,
    ) -> Result<bool, AgentStoreError> {
        let from_bytes = Param::Bytes(Some(from.bytes()));
        let to_bytes = Param::Bytes(Some(to.bytes()));
        let params = [
            id(agent),
            id(tool),
            id(from.key()),
            from_bytes,
            Param::Text(Some(to.key())),
            to_bytes,
        ];
        Ok(!self.0.change(REPLACE_SECRETS, &params).await?.is_empty())
    }

    async fn lease(
        &self,
        agent: &str,
        tool: &str,
        holder: &str,
        duration: Duration,
    ) -> Result<bool, AgentStoreError> {
        let params = [
            id(agent),
            id(tool),
            Param::Text(Some(holder)),
            milliseconds(duration),
        ];
        Ok(!self.0.change(D::LEASE, &params).await?.is_empty())
    }

    async fn release(&self, agent: &str, tool: &str, holder: &str) -> Result<(), AgentStoreError> {
        let params = [id(agent), id(tool), Param::Text(Some(holder))];
        self.0.change(RELEASE, &params).await?;
        Ok(())
    }

    async fn keep_action(
        &self,
        agent: &str,
        call: &PendingCall,
        lifetime: Duration,
        limits: ApprovalLimits,
    ) -> Result<ApprovalVerdict, AgentStoreError> {
        self.0.change(REMOVE_EXPIRED, &[]).await?;
        // PostgreSQL cannot store NUL, which JSON escapes.
        let json = to_json(call)?;
        let bytes = call.size() as u64;
        let most_bytes = number(limits.bytes as u64);
        let text = [id(agent), id(&call.id), Param::Text(Some(&json))];
        let numbers = [
            number(bytes),
            milliseconds(lifetime),
            number(limits.session.into()),
            most_bytes,
        ];
        let params = [text.as_slice(), &numbers].concat();
        if !self.0.change(D::KEEP_ACTION, &params).await?.is_empty() {
            return Ok(ApprovalVerdict::Waits);
        }
        let waiting = self.0.select(ACTIONS, &[id(agent)]).await?;
        let waiting = waiting.first().map_or(Ok(0), |row| version(row, 0))?;
        let is_full = waiting >= limits.session.into();
        Ok(ApprovalVerdict::Full(if is_full {
            ApprovalLimit::Session
        } else {
            ApprovalLimit::Bytes
        }))
    }

    async fn action(
        &self,
        agent: &str,
        call: &str,
    ) -> Result<Option<PendingCall>, AgentStoreError> {
        let rows = self.0.select(ACTION, &[id(agent), id(call)]).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let action = serde_json::from_str(&row.text(0)?);
        let unreadable = |error| {
            AgentStoreError::Unreadable(format!("expected an action, see {}", position(&error)))
        };
        action.map(Some).map_err(unreadable)
    }

    async fn take_action(
        &self,
        agent: &str,
        call: &str,
    ) -> Result<Option<Duration>, AgentStoreError> {
        let rows = self.0.change(TAKE_ACTION, &[id(agent), id(call)]).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        Ok(Some(Duration::from_millis(
            version(row, 0)?.saturating_sub(version(row, 1)?),
        )))
    }
}

/// The text that ids are compared with. Ids contain no NUL, so that the same ids come after both
/// texts.
fn before_nul(text: &str) -> &str {
    text.split('\0').next().unwrap_or_default()
}

/// The parameters of a write: agent, toolset, enabled, disabled actions, settings, key and secrets,
/// and, for an update, the expected version and whether the secrets stay.
fn write_params<'a>(write: &'a RecordWrite, actions: &'a str, config: &'a str) -> Vec<Param<'a>> {
    let secrets = match &write.secrets {
        SecretsWrite::Set(sealed) => Some((sealed.key(), sealed.bytes())),
        SecretsWrite::Keep | SecretsWrite::Clear => None,
    };
    let mut params = vec![
        id(&write.agent),
        id(&write.tool),
        Param::Flag(write.enabled),
        Param::Text(Some(actions)),
        Param::Text(Some(config)),
        Param::Text(secrets.map(|(key, _)| key)),
        Param::Bytes(secrets.map(|(_, bytes)| bytes)),
    ];
    if let Precondition::Version(version) = write.expected {
        params.extend([
            number(version),
            Param::Flag(write.secrets == SecretsWrite::Keep),
        ]);
    }
    params
}

/// Reads a record from the columns of [`LOAD`] or [`GET`]. Errors show nothing of the row's
/// contents.
fn record(row: &impl SqlRow, agent: &str) -> Result<AgentTools, UnreadableRow> {
    const COLUMNS: [&str; 7] = [
        "tool",
        "enabled",
        "disabled_actions",
        "config",
        "secrets_key",
        "secrets",
        "version",
    ];
    let tool = row.lossy_text(0);
    let unreadable = |reason: String| UnreadableRow::new(&tool, reason);
    let column = |error: Error| {
        let name = match &error {
            Error::ColumnDecode { index, .. } => index
                .parse::<usize>()
                .ok()
                .and_then(|index| COLUMNS.get(index)),
            _ => None,
        };
        unreadable(format!(
            "`{}` has an unexpected type",
            name.unwrap_or(&"a column")
        ))
    };
    let version = u64::try_from(row.number(6).map_err(column)?);
    let mut record = AgentTools::new(
        agent,
        &tool,
        version.map_err(|_| unreadable("its version is negative".into()))?,
    );
    record.enabled = row.flag(1).map_err(column)?;
    let actions = row.optional_text(2).map_err(column)?.unwrap_or_default();
    record.disabled_actions =
        serde_json::from_str::<BTreeSet<String>>(&actions).map_err(|error| {
            unreadable(format!(
                "expected `disabled_actions` as a JSON array of names, see {}",
                position(&error)
            ))
        })?;
    let config = row.optional_text(3).map_err(column)?.unwrap_or_default();
    record.config = serde_json::from_str::<Value>(&config).map_err(|error| {
        unreadable(format!(
            "expected `config` as JSON, see {}",
            position(&error)
        ))
    })?;
    if !record.config.is_object() {
        return Err(unreadable("expected `config` as a JSON object".into()));
    }
    record.secrets = match (
        row.optional_text(4).map_err(column)?,
        row.bytes(5).map_err(column)?,
    ) {
        (Some(key), Some(bytes)) => Some(SealedSecrets::new(key, bytes)),
        (None, None) => None,
        _ => {
            return Err(unreadable(
                "expected `secrets` and `secrets_key`, got one of them".into(),
            ));
        }
    };
    Ok(record)
}

fn to_json(value: &impl serde::Serialize) -> Result<String, AgentStoreError> {
    serde_json::to_string(value).map_err(|error| AgentStoreError::Unreadable(error.to_string()))
}

/// The position of a syntax error, without the text there.
fn position(error: &serde_json::Error) -> String {
    format!("line {}, column {}", error.line(), error.column())
}
