//! The interface to a store of records.

use crate::agents::keys::SealedSecrets;
use crate::agents::record::{AgentRecords, AgentSummary, AgentTools, is_id};
use crate::json::nested::{MAX_STORED_DEPTH, is_deeper, unless_deeper};
use crate::session::approvals::{ApprovalLimits, ApprovalVerdict, PendingCall};
use crate::session::journal::object_safe;
use crate::trace::redaction::Redaction;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::time::timeout;

/// Stores the records of agents. `tool-adapters` has stores over SQLite (embedded) and PostgreSQL;
/// [`MemoryAgentToolStore`](super::MemoryAgentToolStore) is for tests.
///
/// A store keeps records as they are given: it knows no toolsets, opens no secrets and checks no settings. Each operation
/// takes effect as a whole or not at all, even when other tasks and processes use the store at the same time. The
/// conformance suite [`tool_core::testing::agents`](crate::testing::agents) tests all that a store must do.
///
/// Implementations write each method as an `async fn`.
pub trait AgentToolStore: Send + Sync + 'static {
    /// Returns the agent's version, or 0 if it never had a record.
    fn version(&self, agent: &str) -> impl Future<Output = Result<u64, AgentStoreError>> + Send;

    /// Reads all records of an agent as they are at one moment.
    fn load(
        &self,
        agent: &str,
    ) -> impl Future<Output = Result<AgentRecords, AgentStoreError>> + Send;

    /// Reads one record.
    fn get(
        &self,
        agent: &str,
        tool: &str,
    ) -> impl Future<Output = Result<Option<AgentTools>, AgentStoreError>> + Send;

    /// Writes a record if its precondition holds. Returns the record's new version, which is also
    /// the agent's: one more than the agent's version before. Versions of a removed record are
    /// never used again.
    fn write(
        &self,
        write: &RecordWrite,
    ) -> impl Future<Output = Result<u64, AgentStoreError>> + Send;

    /// Removes a record if it has this version, and raises the agent's version by one.
    fn remove(
        &self,
        agent: &str,
        tool: &str,
        version: u64,
    ) -> impl Future<Output = Result<(), AgentStoreError>> + Send;

    /// Lists at most `limit` agents that have records, sorted by id, beginning after the id
    /// `after`.
    fn agents(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<AgentSummary>, AgentStoreError>> + Send;

    /// Lists at most `limit` secrets that are sealed under another key than `key`, sorted by agent
    /// and toolset, beginning after the pair `after`.
    fn sealed_under_others(
        &self,
        key: &str,
        after: Option<(&str, &str)>,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<SealedRow>, AgentStoreError>> + Send;

    /// Replaces the secrets `from` of a record by `to`, and changes no version: secrets under a new
    /// key are the same secrets, and a refreshed token belongs to the same grant. Returns `false`
    /// if the record's secrets are not `from`.
    fn replace_secrets(
        &self,
        agent: &str,
        tool: &str,
        from: &SealedSecrets,
        to: &SealedSecrets,
    ) -> impl Future<Output = Result<bool, AgentStoreError>> + Send;

    /// Acquires the lease to refresh a record's token, for `duration`. Returns `true` for one
    /// holder at a time, over all processes; the holder may acquire it again to extend it. Returns
    /// `false` if there is no such record.
    fn lease(
        &self,
        agent: &str,
        tool: &str,
        holder: &str,
        duration: Duration,
    ) -> impl Future<Output = Result<bool, AgentStoreError>> + Send;

    /// Releases the lease. Does nothing if another holder has it.
    fn release(
        &self,
        agent: &str,
        tool: &str,
        holder: &str,
    ) -> impl Future<Output = Result<(), AgentStoreError>> + Send;

    /// Keeps a call, which is an action of the agent, until a person has decided, or until
    /// `lifetime` has passed by the store's clock. Refuses it if the agent's actions that wait
    /// leave no room under the limits, and never gives up one of those for it. The limit `session`
    /// counts the actions of the agent; `turn` is not used. An agent without records has actions
    /// too.
    fn keep_action(
        &self,
        agent: &str,
        call: &PendingCall,
        lifetime: Duration,
        limits: ApprovalLimits,
    ) -> impl Future<Output = Result<ApprovalVerdict, AgentStoreError>> + Send;

    /// Returns the agent's action with this id, and leaves it there.
    fn action(
        &self,
        agent: &str,
        id: &str,
    ) -> impl Future<Output = Result<Option<PendingCall>, AgentStoreError>> + Send;

    /// Removes the agent's action with this id. Returns the time for which it would still have
    /// waited to exactly one of all callers, over all processes.
    fn take_action(
        &self,
        agent: &str,
        id: &str,
    ) -> impl Future<Output = Result<Option<Duration>, AgentStoreError>> + Send;
}

object_safe! {
    /// The object-safe form of [`AgentToolStore`]: the same methods with boxed futures. Every store
    /// implements it, and so does an `Arc` of a store or of a `dyn DynAgentToolStore`.
    #[allow(missing_docs)] // `AgentToolStore` documents the methods
    pub trait DynAgentToolStore: AgentToolStore, AgentStoreError;
    version(agent: &'a str) -> u64;
    load(agent: &'a str) -> AgentRecords;
    get(agent: &'a str, tool: &'a str) -> Option<AgentTools>;
    write(write: &'a RecordWrite) -> u64;
    remove(agent: &'a str, tool: &'a str, version: u64) -> ();
    agents(after: Option<&'a str>, limit: u32) -> Vec<AgentSummary>;
    sealed_under_others(key: &'a str, after: Option<(&'a str, &'a str)>, limit: u32) -> Vec<SealedRow>;
    replace_secrets(agent: &'a str, tool: &'a str, from: &'a SealedSecrets, to: &'a SealedSecrets) -> bool;
    lease(agent: &'a str, tool: &'a str, holder: &'a str, duration: Duration) -> bool;
    release(agent: &'a str, tool: &'a str, holder: &'a str) -> ();
    keep_action(agent: &'a str, call: &'a PendingCall, lifetime: Duration, limits: ApprovalLimits) -> ApprovalVerdict;
    action(agent: &'a str, id: &'a str) -> Option<PendingCall>;
    take_action(agent: &'a str, id: &'a str) -> Option<Duration>;
}

/// Longest time for one operation of a store.
pub(crate) const STORE_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs an operation of a store, with a timeout and a guard against panics.
pub(crate) async fn ask_store<T>(
    operation: impl Future<Output = Result<T, AgentStoreError>>,
) -> Result<T, AgentStoreError> {
    match timeout(STORE_TIMEOUT, AssertUnwindSafe(operation).catch_unwind()).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(AgentStoreError::down("it panicked")),
        Err(_) => Err(AgentStoreError::down(format!(
            "no answer within {STORE_TIMEOUT:?}"
        ))),
    }
}

/// A record to write.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RecordWrite {
    /// The agent's id.
    pub agent: String,
    /// The toolset's name.
    pub tool: String,
    /// The state of the record that the write expects.
    pub expected: Precondition,
    /// `false` takes the toolset from the agent and keeps the record.
    pub enabled: bool,
    /// Names of the actions that the agent does not have.
    pub disabled_actions: BTreeSet<String>,
    /// The settings: a JSON object.
    pub config: Value,
    /// The change to the secrets.
    pub secrets: SecretsWrite,
}

/// The state that a record must have for a write to take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// There is no record.
    Absent,
    /// The record has this version.
    Version(u64),
}

/// The change that a write makes to a record's secrets.
#[derive(Clone, Debug, PartialEq)]
pub enum SecretsWrite {
    /// Keeps the secrets that the record has when the write takes effect.
    Keep,
    /// Replaces the secrets by these.
    Set(SealedSecrets),
    /// Removes the secrets.
    Clear,
}

impl RecordWrite {
    /// Creates a write of a record that does not exist yet. Settings that nest deeper than 100
    /// become null, which
    /// [`check`](Self::check) refuses.
    pub fn new(agent: impl Into<String>, tool: impl Into<String>, config: Value) -> Self {
        let config = unless_deeper(config, MAX_STORED_DEPTH).unwrap_or_default();
        let record = AgentTools {
            config,
            ..AgentTools::new(agent, tool, 0)
        };
        Self {
            expected: Precondition::Absent,
            ..Self::of(&record)
        }
    }

    /// Creates a write of what a record holds. It expects the record's version, and keeps the
    /// secrets.
    pub fn of(record: &AgentTools) -> Self {
        let AgentTools {
            agent,
            tool,
            enabled,
            disabled_actions,
            config,
            version,
            ..
        } = record.clone();
        let expected = Precondition::Version(version);
        let secrets = SecretsWrite::Keep;
        Self {
            agent,
            tool,
            expected,
            enabled,
            disabled_actions,
            config,
            secrets,
        }
    }

    /// Returns the record as it is after the write. `kept` are the secrets before it, which the
    /// write may keep.
    pub(crate) fn into_record(self, version: u64, kept: Option<SealedSecrets>) -> AgentTools {
        let Self {
            agent,
            tool,
            enabled,
            disabled_actions,
            config,
            secrets,
            ..
        } = self;
        let secrets = match secrets {
            SecretsWrite::Keep => kept,
            SecretsWrite::Set(sealed) => Some(sealed),
            SecretsWrite::Clear => None,
        };
        AgentTools {
            agent,
            tool,
            enabled,
            disabled_actions,
            config,
            secrets,
            version,
        }
    }

    /// Checks that a store can keep the record. For stores, which call it before they write.
    ///
    /// Ids have 1 to 512 bytes and no control characters, because some databases cannot store NUL.
    /// Settings are an object of at most 100 nested levels, because JSON parsers limit the depth.
    pub fn check(&self) -> Result<(), AgentStoreError> {
        let key = match &self.secrets {
            SecretsWrite::Set(sealed) => sealed.key(),
            SecretsWrite::Keep | SecretsWrite::Clear => "-",
        };
        if ![&*self.agent, &*self.tool, key].into_iter().all(is_id) {
            return Err(AgentStoreError::InvalidId);
        }
        if !self.config.is_object() {
            return Err(AgentStoreError::Unreadable(
                "expected settings as a JSON object".into(),
            ));
        }
        if is_deeper(&self.config, MAX_STORED_DEPTH) {
            return Err(AgentStoreError::Unreadable(
                "expected settings of at most 100 nested levels".into(),
            ));
        }
        Ok(())
    }
}

/// Sealed secrets with the names of their record.
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
    /// Creates an entry of a list. For stores.
    pub fn new(agent: impl Into<String>, tool: impl Into<String>, secrets: SealedSecrets) -> Self {
        Self {
            agent: agent.into(),
            tool: tool.into(),
            secrets,
        }
    }
}

/// An operation of a store failed and changed nothing.
///
/// ```
/// use tool_core::agents::{AgentStoreError, AgentToolStore, MemoryAgentToolStore, RecordWrite};
/// use tool_core::serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), AgentStoreError> {
/// let store = MemoryAgentToolStore::new();
/// let write = RecordWrite::new("alice", "shop", json!({"currency": "EUR"}));
/// assert_eq!(store.write(&write).await, Ok(1));
/// // The write expects that there is no record. Read the record, and change that one.
/// assert_eq!(store.write(&write).await, Err(AgentStoreError::Conflict { found: Some(1) }));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum AgentStoreError {
    /// The record is not in the state that the writer expected.
    #[error("{}", conflict(*found))]
    Conflict {
        /// The record's version, or `None` if it does not exist.
        found: Option<u64>,
    },
    /// The row is not a valid record. The text says why, without the row's contents.
    #[error("the row is not a valid record: {}", Redaction::new().text(.0))]
    Unreadable(String),
    /// An id is empty, longer than 512 bytes, or has control characters.
    #[error("expected an id of 1 to 512 bytes without control characters")]
    InvalidId,
    /// The store cannot be reached, does not answer in time, or answers in an unexpected way. If
    /// the connection broke before the answer came, a write may have taken effect: read the record
    /// again to find out.
    #[error("the agent store failed: {}", Redaction::new().text(message))]
    Down {
        /// The failure, without secrets.
        message: String,
        /// The cause, if its text cannot contain secrets.
        source: Option<Arc<dyn std::error::Error + Send + Sync>>,
    },
}

impl AgentStoreError {
    /// Reports that the store failed. The text goes to logs and must not contain secrets.
    pub fn down(message: impl Into<String>) -> Self {
        Self::Down {
            message: message.into(),
            source: None,
        }
    }

    /// Reports that the store failed, with the cause. Neither the text nor the cause's may contain
    /// secrets.
    pub fn caused(
        message: impl Into<String>,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self::Down {
            message: message.into(),
            source: Some(Arc::new(source)),
        }
    }
}

/// Errors are equal if their texts are; causes cannot be compared.
impl PartialEq for AgentStoreError {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
            && self.to_string() == other.to_string()
    }
}

fn conflict(found: Option<u64>) -> String {
    match found {
        Some(found) => format!(
            "another writer has added or changed the record, which is at version {found} now; read it again and repeat the change"
        ),
        None => "the record does not exist any more".to_owned(),
    }
}
