//! The conformance tests of a store of agents.
//!
//! They test that no two writers overwrite each other's changes, and that no reader sees half of
//! one. To test an
//! [`AgentToolStore`](crate::agents::AgentToolStore), implement [`AgentStoreUnderTest`] and generate the tests with
//! [`agent_store_conformance!`](crate::agent_store_conformance):
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use tool_core::agents::{DynAgentToolStore, MemoryAgentToolStore};
//! use tool_core::testing::agents::AgentStoreUnderTest;
//!
//! struct Memory(Arc<MemoryAgentToolStore>);
//!
//! impl AgentStoreUnderTest for Memory {
//!     const TICK: Duration = Duration::from_secs(60);
//!
//!     async fn handle(&self) -> Arc<dyn DynAgentToolStore> {
//!         self.0.clone()
//!     }
//!
//!     async fn pass(&self, time: Duration) {
//!         tokio::time::pause();
//!         tokio::time::advance(time).await;
//!         tokio::time::resume();
//!     }
//! }
//!
//! mod memory {
//!     # use super::*;
//!     tool_core::agent_store_conformance!(Some(Memory(Arc::default())));
//! }
//! # fn main() {}
//! ```
#![allow(clippy::missing_panics_doc)]

pub mod actions;
mod conformance;
pub mod contents;
pub mod driver;
pub mod leases;
pub mod lists;
pub mod races;
pub mod refusals;
pub mod secrets;
pub mod versions;
pub mod writes;

#[cfg(test)]
mod tests;

pub use crate::testing::agents::driver::AgentStoreUnderTest;
