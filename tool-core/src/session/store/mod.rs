//! Stores: of sessions, whose state they keep and whose calls they decide about, and of
//! conversations.

pub(crate) mod approval_page;
pub(crate) mod changes;
pub(crate) mod handle;
pub(crate) mod history_store;
pub(crate) mod memory;
pub(crate) mod memory_approvals;
pub(crate) mod memory_conversations;
pub(crate) mod memory_histories;
pub(crate) mod memory_permits;
pub(crate) mod permits;
pub(crate) mod repeatable_calls;
pub(crate) mod session_core;
pub(crate) mod session_store;
pub(crate) mod stored_messages;
pub(crate) mod stored_session;
pub(crate) mod turn_report;
pub(crate) mod turn_usage;

pub use crate::session::store::approval_page::{ApprovalPage, ApprovalPlace};
pub use crate::session::store::changes::{ApprovalState, StoreChange, StoreChanges};
pub use crate::session::store::history_store::{
    ConversationInfo, ConversationKey, ConversationPlace, ConversationSummary, DynHistoryStore,
    HistoryStore, HistoryStoreError, StoredConversation,
};
pub use crate::session::store::memory::{MemoryRecord, MemoryStore};
pub use crate::session::store::permits::{
    LimitUse, PLACE_RETRY, PermitLimit, PermitRefusal, PermitRequest, PermitVerdict,
};
pub use crate::session::store::session_core::PrincipalSpending;
pub use crate::session::store::session_store::{
    Admission, AnsweredCallRecord, BudgetLimit, Charge, OpenError, OpenRequest, PrincipalCharge,
    Refusal, SessionRecord, SessionStore, Settlement, StoreError, Verdict,
};
pub use crate::session::store::stored_messages::{BranchCut, ConversationSize, StoredMessages};
pub use crate::session::store::stored_session::StoredSession;
pub use crate::session::store::turn_report::{ToolTurnReport, TurnReport};
