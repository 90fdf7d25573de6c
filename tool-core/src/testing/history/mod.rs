//! The conformance tests of a store of conversations.
//!
//! To test a [`HistoryStore`](crate::session::HistoryStore), implement [`HistoryStoreUnderTest`]
//! and generate the tests with
//! [`history_store_conformance!`](crate::history_store_conformance):
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use tool_core::session::{ConversationKey, DynHistoryStore, MemoryStore};
//! use tool_core::testing::history::HistoryStoreUnderTest;
//!
//! struct Memory(Arc<MemoryStore>);
//!
//! impl HistoryStoreUnderTest for Memory {
//!     const TICK: Duration = Duration::from_millis(1);
//!
//!     async fn handle(&self) -> Arc<dyn DynHistoryStore> {
//!         self.0.clone()
//!     }
//!
//!     async fn pass(&self, time: Duration) {
//!         tokio::time::sleep(time).await;
//!     }
//!
//!     async fn overwrite(&self, _: &ConversationKey, _: u64, _: &str) -> bool {
//!         false // nobody else has the memory of this process
//!     }
//! }
//!
//! mod memory {
//!     # use super::*;
//!     tool_core::history_store_conformance!(Some(Memory(Arc::default())));
//! }
//! # fn main() {}
//! ```
#![allow(clippy::missing_panics_doc)]

pub mod appends;
pub mod branches;
mod conformance;
pub mod damage;
pub mod deletions;
pub mod driver;
pub mod lists;
pub mod principals;

#[cfg(test)]
mod tests;

pub use crate::testing::history::driver::HistoryStoreUnderTest;
