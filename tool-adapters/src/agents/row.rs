//! From the columns of a row to a record, and back. Whatever stands in a row that somebody wrote by hand: no error shows
//! it.

use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;
use tool_core::agents::{AgentRecords, AgentStoreError, AgentTools, RecordWrite, SealedSecrets, UnreadableRow};

/// The columns that make a record, as text where a person may have written them.
pub(super) struct Columns {
    pub(super) tool: String,
    pub(super) enabled: bool,
    pub(super) disabled_actions: String,
    pub(super) config: String,
    pub(super) secrets_key: Option<String>,
    pub(super) secrets: Option<Vec<u8>>,
    pub(super) version: i64,
}

impl Columns {
    /// The record, or what is wrong with the row.
    pub(super) fn into_record(self, agent: &str) -> Result<AgentTools, UnreadableRow> {
        let Self { tool, enabled, disabled_actions, config, secrets_key, secrets, version } = self;
        let unreadable = |why: String| UnreadableRow::new(&tool, why);
        let version = u64::try_from(version).map_err(|_| unreadable("its version is negative".into()))?;
        let mut record = AgentTools::new(agent, &tool, version);
        record.enabled = enabled;
        record.disabled_actions = actions(&disabled_actions).map_err(unreadable)?;
        record.config = settings(&config).map_err(unreadable)?;
        record.secrets = match (secrets_key, secrets) {
            (Some(key), Some(bytes)) => Some(SealedSecrets::new(key, bytes)),
            (None, None) => None,
            _ => return Err(unreadable("its secrets have no key, or its key no secrets".into())),
        };
        Ok(record)
    }
}

fn actions(text: &str) -> Result<BTreeSet<String>, String> {
    let wrong = |why| format!("`disabled_actions` is no JSON array of names: {why}");
    serde_json::from_str(text).map_err(|error| wrong(place(&error)))
}

fn settings(text: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("`config` is no JSON: {}", place(&error)))?;
    if value.is_object() { Ok(value) } else { Err("`config` is JSON, but no object".into()) }
}

/// Where it stopped, without what stands there.
fn place(error: &serde_json::Error) -> String {
    format!("see line {}, column {}", error.line(), error.column())
}

/// What is written of a record, as text.
pub(super) struct Texts {
    pub(super) disabled_actions: String,
    pub(super) config: String,
}

impl Texts {
    pub(super) fn of(write: &RecordWrite) -> Result<Self, AgentStoreError> {
        let failed =
            |error: serde_json::Error| AgentStoreError::Unreadable(format!("it is no JSON: {}", place(&error)));
        let disabled_actions = serde_json::to_string(&write.disabled_actions).map_err(failed)?;
        Ok(Self { disabled_actions, config: serde_json::to_string(&write.config).map_err(failed)? })
    }
}

/// All rows of an agent, with those that are no records apart.
pub(super) fn records(
    agent: &str,
    version: u64,
    rows: impl Iterator<Item = Result<Columns, UnreadableRow>>,
) -> AgentRecords {
    let (mut tools, mut unreadable) = (Vec::new(), Vec::new());
    for row in rows {
        match row.and_then(|columns| columns.into_record(agent)) {
            Ok(record) => tools.push(record),
            Err(row) => unreadable.push(row),
        }
    }
    AgentRecords::new(version, tools, unreadable)
}

/// A time that a database can add to its clock: ten years stand for longer.
pub(super) fn milliseconds(time: Duration) -> i64 {
    const LONGEST: i64 = 10 * 366 * 24 * 3600 * 1000;
    i64::try_from(time.as_millis()).map_or(LONGEST, |time| time.min(LONGEST))
}
