//! Governed calls: sessions, and the limits under which a model's calls run.
#![doc = include_str!("../docs/runtime.md")]

mod builder;
mod companions;
mod empty;
mod handle;
mod hook;
mod journal;
mod metrics;
mod pipeline;
mod policy;
mod reply;
mod service;
mod session;
mod session_id;
mod state;
mod store;
mod sync;
mod token;
mod toolbox;

pub use builder::{IntoStore, RuntimeBuilder};
#[cfg(feature = "agents")]
pub(crate) use companions::companions;
pub use handle::Runtime;
pub use hook::{Hook, HookFuture, HookedCall, Next};
pub use journal::{Journal, JournalEntry, JournalError, Recovered};
#[doc(hidden)]
pub use metrics::PrometheusText;
pub use metrics::{
    ContextMetrics, LoopMetrics, Metrics, Percentiles, SessionCall, SessionMetrics, TokenMetrics, ToolMetrics,
    ToolTally,
};
pub use policy::{Limits, Policy};
pub use reply::{AboutModel, History, Message, Model, ModelRequest, ModelStep, Native, Reply, ToolChoice, Usage};
pub use session::{CallUpdate, Open, Session, Turn};
pub use session_id::SessionId;
pub use state::{AuditEntry, SessionState, StateChange};
pub use store::{
    Admission, Awaited, BudgetLimit, Charge, MemoryStore, OpenError, Opening, Operation, PendingCall, Refusal,
    SessionRecord, SessionStore, Settlement, StoreError, Verdict,
};
#[cfg(feature = "agents")]
pub(crate) use token::{Signer, fresh_id};
