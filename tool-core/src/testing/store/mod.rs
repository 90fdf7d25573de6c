//! The conformance tests of a session store.
//!
//! Limits, loop detection, approvals and sessions rely on the decisions of the store. To test a
//! [`SessionStore`](crate::session::SessionStore), implement [`StoreUnderTest`] and generate the tests with
//! [`store_conformance!`](crate::store_conformance):
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use tool_core::session::MemoryStore;
//! use tool_core::testing::store::StoreUnderTest;
//!
//! struct Memory(Arc<MemoryStore>);
//!
//! impl StoreUnderTest for Memory {
//!     const TICK: Duration = Duration::from_secs(60);
//!
//!     type Store = Arc<MemoryStore>;
//!
//!     async fn handle(&self) -> Arc<MemoryStore> {
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
//!     tool_core::store_conformance!(Some(Memory(Arc::default())));
//! }
//! # fn main() {}
//! ```
#![allow(clippy::missing_panics_doc)]

pub mod approvals;
pub mod budgets;
pub mod calls;
pub mod caps;
pub mod charges;
mod conformance;
pub mod driver;
pub mod grants;
pub mod loops;
pub mod owners;
pub mod permits;
pub mod principals;
pub mod repeats;
pub mod sessions;
pub mod state;
pub mod time;
pub mod turns;

#[cfg(test)]
mod tests;

pub use crate::testing::store::driver::StoreUnderTest;
