//! Conversations that [DBOS](https://dbos.dev) runs on PostgreSQL alone: they go on after a crash, wait for persons for days,
//! and have one writer each.
//!
//! You reach this package through `tool_adapters::dbos`. Begin with [`DurableAgent`], which answers messages in your workers, and
//! [`Conversations`], with which any process sends messages and decisions. In a workflow of your own, [`with_steps`] gives you
//! its [`DurableSteps`](tool_core::session::DurableSteps).
//!
//! DBOS is a library: it records each step in tables of your database, and runs the workflow again after a crash. A step that
//! was running then runs again, which would charge a card twice. A call of a session with a
//! [`Journal`](tool_core::session::Journal) is `UNKNOWN` instead.
//!
//! The crate `dbos` calls itself experimental. Pin its version, and read its changes before you update it.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod conversations;
mod durable_agent;
mod retries;
mod steps;

pub use crate::conversations::Conversations;
pub use crate::durable_agent::DurableAgent;
pub use crate::retries::Retries;
pub use crate::steps::with_steps;
pub use tool_adapters_models::engines::DurableReply;

/// The crate `dbos`, in the version of this package.
pub use dbos as sdk;
