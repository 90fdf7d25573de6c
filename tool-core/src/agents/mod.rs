//! Agents from a database: which toolsets an agent has, how they are configured, and the tools that
//! result.
//!
//! A store holds an [`AgentTools`] record for each toolset of each agent, with the settings and the sealed secrets. The
//! keys of the secrets are kept elsewhere. A program has one [`Agents`] value. It writes records, which it checks against
//! the toolsets' schemas, and returns an [`AgentExecutor`] for each agent, which makes the agent's tools from its records.
//!
#![doc = include_str!("../docs/agents.md")]
#![doc = include_str!("../docs/secrets.md")]

mod builder;
mod cache;
pub(crate) mod catalog;
mod confirmations;
mod error;
mod executor;
mod follow;
mod grant;
mod keys;
mod load;
mod loaded;
mod memory;
mod record;
mod rests;
mod rotation;
mod settings;
mod store;
mod tokens;

pub use crate::agents::builder::{Agents, AgentsBuilder};
pub use crate::agents::error::{AgentError, AgentErrorKind};
pub use crate::agents::executor::AgentExecutor;
pub use crate::agents::keys::{KeyError, Keyring, SealedSecrets};
pub use crate::agents::loaded::LoadedAgent;
pub use crate::agents::memory::MemoryAgentToolStore;
pub use crate::agents::record::{AgentId, AgentRecords, AgentSummary, AgentTools, UnreadableRow};
pub use crate::agents::rotation::{Rotation, RunningRotation};
pub use crate::agents::settings::{GrantDestination, RecordBuilder};
pub use crate::agents::store::{
    AgentStoreError, AgentToolStore, DynAgentToolStore, Precondition, RecordWrite, SealedRow,
    SecretsWrite,
};
pub use crate::agents::tokens::{RefreshError, TokenRefresher, Tokens};

#[cfg(test)]
mod tests;
