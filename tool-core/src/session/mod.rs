//! Governed calls: sessions, and the limits under which a model's calls run.
#![doc = include_str!("../docs/session.md")]

pub(crate) mod account;
pub(crate) mod agent_event;
pub(crate) mod agent_loop;
pub(crate) mod agent_stream;
pub(crate) mod answer_form;
pub(crate) mod approval_requests;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod background_ends;
pub(crate) mod builder;
pub(crate) mod calls_in_progress;
pub(crate) mod caps;
pub(crate) mod circuit_breaker;
pub(crate) mod control_tools;
pub(crate) mod decision;
pub(crate) mod declared_tools;
pub(crate) mod drain;
pub(crate) mod drain_switch;
pub(crate) mod durable_steps;
pub(crate) mod earlier_calls;
pub(crate) mod event_queue;
pub(crate) mod fallback;
pub(crate) mod generations;
pub(crate) mod grants;
pub(crate) mod guards;
pub(crate) mod handle;
pub(crate) mod handoffs;
pub(crate) mod history;
pub(crate) mod hooks;
pub(crate) mod inner;
pub(crate) mod journal;
pub(crate) mod journal_response;
pub(crate) mod journal_seal;
pub(crate) mod json_form;
#[cfg(feature = "tower")]
pub(crate) mod layers;
pub(crate) mod length;
pub(crate) mod lost_work;
pub(crate) mod message;
pub(crate) mod message_log;
pub(crate) mod metrics;
pub(crate) mod model;
pub(crate) mod model_info;
pub(crate) mod model_span;
pub(crate) mod model_step;
pub(crate) mod notes;
pub(crate) mod party;
pub(crate) mod pending_approvals;
pub(crate) mod pipeline;
pub(crate) mod playout;
pub(crate) mod policy;
pub(crate) mod prompts;
pub(crate) mod raw_turn;
pub(crate) mod repairs;
pub(crate) mod reply;
pub(crate) mod reply_finish;
pub(crate) mod reply_guards;
pub(crate) mod reply_tools;
pub(crate) mod result_cache;
pub(crate) mod running;
pub(crate) mod runtime;
pub(crate) mod said_text;
pub(crate) mod search;
#[cfg(feature = "tower")]
mod service;
pub(crate) mod session_grants;
pub(crate) mod shared_limits;
pub(crate) mod shared_records;
pub(crate) mod snapshots;
pub(crate) mod state;
pub(crate) mod store;
pub(crate) mod thread_pool;
pub(crate) mod timer;
pub(crate) mod tools;
pub(crate) mod typed_answer;
pub(crate) mod unmade_calls;
pub(crate) mod unrecorded_calls;
pub(crate) mod updates;
pub(crate) mod user_file;
pub(crate) mod user_message;

#[cfg(test)]
pub(crate) mod tests;

pub use crate::session::agent_event::{AgentEvent, ApprovalWanted, EVENT_SCHEMA_VERSION};
#[doc(hidden)]
pub use crate::session::agent_loop::MAX_PAUSES;
pub use crate::session::agent_loop::ReplyOptions;
pub use crate::session::agent_stream::AgentStream;
pub use crate::session::approvals::{
    ApprovalLimit, ApprovalLimits, ApprovalRequest, ApprovalVerdict, PendingCall, WaitingSize,
    without_notes,
};
pub use crate::session::audit::{
    AuditEntry, AuditedGrant, AuditedIntent, CallDecision, CallOutcome, ChangedArguments,
};
pub use crate::session::builder::SessionBuilder;
pub use crate::session::caps::{Allowance, CapAmount, CapScope, Spending, SpendingCaps, UsedCap};
pub use crate::session::circuit_breaker::{CircuitBreaker, CircuitMetrics, CircuitState};
pub use crate::session::control_tools::{CONTROL_TOOL_NAMES, SEARCH_TOOL};
pub use crate::session::decision::Decision;
pub use crate::session::drain::{DrainReport, UnfinishedCall};
pub use crate::session::durable_steps::{DurableSteps, PlainSteps, record};
pub use crate::session::event_queue::EventSender;
pub use crate::session::fallback::{FallbackModel, ModelSwitch};
pub use crate::session::grants::{CallGrant, GrantRequest, GrantScope, GrantVerdict};
pub use crate::session::guards::{
    AnswerVerdict, GuardedAnswer, GuardedInput, GuardedPart, Guards, InputVerdict,
};
pub use crate::session::handle::{Session, TurnHistory};
pub use crate::session::handoffs::{HandoffAgent, Handoffs};
pub use crate::session::history::History;
pub use crate::session::hooks::{
    Hook, HookFn, HookFuture, HookedCall, HookedDecision, HookedRequest, Next, RequestKind,
};
pub use crate::session::journal::{
    Journal, JournalEntry, JournalError, JournalStart, RecoveredCall,
};
pub use crate::session::json_form::error::HistoryError;
pub use crate::session::json_form::limits::HistoryLimits;
#[doc(hidden)]
pub use crate::session::length::compact::FailedSummary;
pub use crate::session::length::keep::Keep;
pub use crate::session::length::shortened::Shortened;
#[doc(hidden)]
pub use crate::session::lost_work::{lost_work, untrusted_work};
pub use crate::session::message::Message;
pub use crate::session::message_log::MessageLog;
pub use crate::session::metrics::{
    ContextMetrics, LoopMetrics, Metrics, Percentiles, PrometheusText, SessionCall, SessionMetrics,
    SpeechEvent, SpeechMetrics, TokenMetrics, ToolMetrics,
};
pub use crate::session::model::{Model, ModelRequest, ToolChoice};
pub use crate::session::model_info::ModelInfo;
pub use crate::session::model_step::ModelStep;
pub use crate::session::notes::{
    NOTE, change_note, decision_begun_note, decision_note, is_note, late_note,
};
pub use crate::session::pending_approvals::{PendingApproval, PendingApprovals};
pub use crate::session::policy::{Policy, TurnLimits};
pub use crate::session::raw_turn::RawTurn;
pub use crate::session::repairs::{Repair, RepairedMessages, Repairs};
pub use crate::session::reply::Reply;
pub use crate::session::reply_finish::ReplyFinish;
pub use crate::session::runtime::{Runtime, RuntimeBuilder, WaitingCall};
pub use crate::session::search::ToolSearch;
pub use crate::session::shared_limits::{LimitScope, RateLimit, SharedLimit};
#[doc(hidden)]
pub use crate::session::shared_records::{SharedPlace, SharedRecords};
pub use crate::session::state::{SessionId, SessionState, StateChange, Turn};
pub use crate::session::store::{
    Admission, AnsweredCallRecord, ApprovalPage, ApprovalPlace, ApprovalState, BranchCut,
    BudgetLimit, Charge, ConversationInfo, ConversationKey, ConversationPlace, ConversationSize,
    ConversationSummary, DynHistoryStore, HistoryStore, HistoryStoreError, LimitUse, MemoryRecord,
    MemoryStore, OpenError, OpenRequest, PLACE_RETRY, PermitLimit, PermitRefusal, PermitRequest,
    PermitVerdict, PrincipalCharge, PrincipalSpending, Refusal, SessionRecord, SessionStore,
    Settlement, StoreChange, StoreChanges, StoreError, StoredConversation, StoredMessages,
    StoredSession, ToolTurnReport, TurnReport, Verdict,
};
pub use crate::session::typed_answer::{TypedAnswer, TypedReply, TypedReplyError};
pub use crate::session::updates::{BackgroundAnswer, CallUpdate};
pub use crate::session::user_message::UserMessage;
