//! Session stores, which keep the state of sessions and decide which calls may run.

pub(crate) mod admission;
pub(crate) mod handle;
pub(crate) mod memory;
pub(crate) mod session_store;
pub(crate) mod turn_usage;

pub use crate::session::store::admission::{Admission, BudgetLimit, Charge, Refusal, Settlement, Verdict};
pub use crate::session::store::memory::{MemoryRecord, MemoryStore};
pub use crate::session::store::session_store::{OpenError, OpenRequest, SessionRecord, SessionStore, StoreError};
