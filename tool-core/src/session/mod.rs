//! Governed calls: sessions, and the limits under which a model's calls run.
#![doc = include_str!("../docs/runtime.md")]

pub(crate) mod agent_loop;
pub(crate) mod approvals;
pub(crate) mod builder;
pub(crate) mod concurrency;
pub(crate) mod control_tools;
pub(crate) mod hooks;
pub(crate) mod journal;
pub(crate) mod metrics;
pub(crate) mod pipeline;
pub(crate) mod policy;
pub(crate) mod running;
pub(crate) mod runtime;
pub(crate) mod service;
pub(crate) mod session;
pub(crate) mod state;
pub(crate) mod steps;
pub(crate) mod store;
pub(crate) mod updates;

#[cfg(test)]
mod tests;

pub use crate::session::agent_loop::Reply;
pub use crate::session::agent_loop::history::{History, Message, RawTurn};
pub use crate::session::agent_loop::model::{Model, ModelInfo, ModelRequest, ModelStep, ToolChoice};
pub use crate::session::approvals::PendingCall;
pub use crate::session::builder::SessionBuilder;
pub use crate::session::hooks::{Hook, HookFuture, HookedCall, Next};
pub use crate::session::journal::{Journal, JournalEntry, JournalError, Recovered};
pub use crate::session::metrics::context::ContextMetrics;
pub use crate::session::metrics::history::{SessionCall, SessionMetrics};
#[doc(hidden)]
pub use crate::session::metrics::prometheus::PrometheusText;
pub use crate::session::metrics::stats::ToolTally;
pub use crate::session::metrics::{LoopMetrics, Metrics, Percentiles, TokenMetrics, ToolMetrics};
pub use crate::session::policy::{Limits, Policy};
pub use crate::session::runtime::{IntoStore, Runtime, RuntimeBuilder};
pub use crate::session::session::{Session, SessionId, Turn};
pub use crate::session::state::{AuditEntry, SessionState, StateChange};
pub use crate::session::store::admission::{Admission, BudgetLimit, Charge, Refusal, Settlement, Verdict};
pub use crate::session::store::memory::MemoryStore;
pub use crate::session::store::{Awaited, OpenError, OpenRequest, Operation, SessionRecord, SessionStore, StoreError};
pub use crate::session::updates::CallUpdate;
