//! What the files under test see of the runtime around them.

#[path = "../../tool-core/src/runtime/store/admission.rs"]
mod admission;

pub mod sync {
    pub use loom::sync::Arc;
    pub use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
}

pub mod policy {
    pub use tool_core::session::Limits;
}

pub mod state {
    pub use tool_core::session::{AuditEntry, StateChange};
}

pub mod store {
    pub use super::admission::{Admission, BudgetLimit, Charge, Refusal, Settlement};
    pub use tool_core::session::PendingCall;
}
