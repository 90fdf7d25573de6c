//! Session stores, which keep the state of sessions and decide which calls may run.

pub(crate) mod handle;
pub(crate) mod memory;
pub(crate) mod session_core;
pub(crate) mod session_store;
pub(crate) mod stored_session;
pub(crate) mod turn_report;
pub(crate) mod turn_usage;

pub use crate::session::store::memory::{MemoryRecord, MemoryStore};
pub use crate::session::store::session_core::PrincipalSpending;
pub use crate::session::store::session_store::{
    Admission, AnsweredCallRecord, BudgetLimit, Charge, OpenError, OpenRequest, PrincipalCharge, Refusal,
    SessionRecord, SessionStore, Settlement, StoreError, Verdict,
};
pub use crate::session::store::stored_session::StoredSession;
pub use crate::session::store::turn_report::{ToolTurnReport, TurnReport};
