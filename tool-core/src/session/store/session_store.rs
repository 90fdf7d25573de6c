//! The traits of a session store: the questions that it answers, and the errors of opening a
//! session.

use crate::arguments::fingerprint::Fingerprint;
use crate::call::Mode;
use crate::registry::RegistryErrors;
use crate::session::approvals::{ApprovalRequest, ApprovalVerdict, PendingCall};
use crate::session::audit::AuditEntry;
use crate::session::caps::{Allowance, Spending, SpendingCaps, UsedCap};
use crate::session::grants::{CallGrant, GrantRequest, GrantVerdict};
use crate::session::journal::JournalError;
use crate::session::metrics::call_log::SessionCall;
use crate::session::policy::TurnLimits;
use crate::session::state::{SessionId, SessionState, StateChange, Turn};
use crate::session::store::approval_page::{ApprovalPage, ApprovalPlace};
use crate::session::store::permits::{PermitRequest, PermitVerdict};
use crate::text;
use crate::time::CallInstant;
use crate::tool::Category;
use crate::trace::Redaction;
use crate::trace::cost::Cost;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::time::Instant;

/// Keeps the state and the limits of sessions. Defaults to [`MemoryStore`](crate::session::MemoryStore); `tool-adapters`
/// has stores in SQLite, PostgreSQL and Redis. A store in another database can use
/// [`StoredSession`](crate::session::StoredSession).
///
/// The store makes every decision: that exactly `k` of many racing calls pass a limit of `k`, and
/// that a token is redeemed once. It uses its own clock, so that the clocks of processes need not
/// agree. [`crate::testing::store`] is the test suite that a store must pass.
pub trait SessionStore: Send + Sync + 'static {
    /// An open session in this store.
    type Record: SessionRecord;

    /// Opens a session, or joins the one that is open under the id, here or in another process.
    ///
    /// One atomic step decides. A session is joined under its own principal, agent and mode only,
    /// even after all of its handles were dropped; an absent principal or agent is an identity as
    /// any other. Another caller gets an error and changes nothing, not even the time at which the
    /// session expires. A new session has nothing of an earlier one.
    fn open(
        &self,
        request: &OpenRequest,
    ) -> impl Future<Output = Result<Arc<Self::Record>, OpenError>> + Send;

    /// Returns the number of open sessions.
    fn sessions(&self) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// Returns the calls that are kept of the session that is open under an id, or that was open last, oldest first. Those
    /// of a session that is over are kept for [`OpenRequest::keep_calls_for`]. This is for the host: principals are not
    /// compared.
    fn calls(
        &self,
        id: &SessionId,
    ) -> impl Future<Output = Result<Vec<SessionCall>, StoreError>> + Send;

    /// Returns the calls that wait for approval in the open sessions of a principal, beginning after a place in the list: at
    /// most `limit`, of which some may be left out that no longer wait. The order is that of [`ApprovalPage::calls`].
    ///
    /// The cost grows with the calls of the principal, and not with the sessions.
    fn approvals_of(
        &self,
        principal: &str,
        after: Option<&ApprovalPlace>,
        limit: u32,
    ) -> impl Future<Output = Result<ApprovalPage, StoreError>> + Send;

    /// Checks a call against limits that all sessions of the store share, and counts it if every one
    /// of them admits it, in one atomic step. A call that is refused is counted by none.
    ///
    /// Of a limit on the calls that run at once, the call takes a place until it
    /// [releases](Self::release_permit) it, or until its lease ends, so that a process which was
    /// killed frees its places. A call that has a place already takes no second one.
    /// [`PermitRequest::decide`] makes the decision for a store that can lock the limits.
    fn acquire_permit(
        &self,
        request: &PermitRequest<'_>,
    ) -> impl Future<Output = Result<PermitVerdict, StoreError>> + Send;

    /// Keeps the places of a call for another lease from now on. A call whose lease has ended gets
    /// them again, even if too many run then: it is running.
    fn extend_permit(
        &self,
        request: &PermitRequest<'_>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Frees the places of a call. Has no effect on a call that has none.
    fn release_permit(
        &self,
        request: &PermitRequest<'_>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}

impl<S: SessionStore> SessionStore for Arc<S> {
    type Record = S::Record;

    fn open(
        &self,
        request: &OpenRequest,
    ) -> impl Future<Output = Result<Arc<Self::Record>, OpenError>> + Send {
        S::open(self, request)
    }

    fn sessions(&self) -> impl Future<Output = Result<u64, StoreError>> + Send {
        S::sessions(self)
    }

    fn calls(
        &self,
        id: &SessionId,
    ) -> impl Future<Output = Result<Vec<SessionCall>, StoreError>> + Send {
        S::calls(self, id)
    }

    fn approvals_of(
        &self,
        principal: &str,
        after: Option<&ApprovalPlace>,
        limit: u32,
    ) -> impl Future<Output = Result<ApprovalPage, StoreError>> + Send {
        S::approvals_of(self, principal, after, limit)
    }

    fn acquire_permit(
        &self,
        request: &PermitRequest<'_>,
    ) -> impl Future<Output = Result<PermitVerdict, StoreError>> + Send {
        S::acquire_permit(self, request)
    }

    fn extend_permit(
        &self,
        request: &PermitRequest<'_>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        S::extend_permit(self, request)
    }

    fn release_permit(
        &self,
        request: &PermitRequest<'_>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        S::release_permit(self, request)
    }
}

/// One open session in a store.
///
/// Once the session has ended or expired, [`admit`](Self::admit) returns [`Verdict::Inactive`] and
/// no operation changes anything. Only the audit log and the list of calls still take the entries
/// of calls that were running.
///
/// The runtime drops an operation that takes longer than the policy's `store_deadline`. An
/// operation that was never polled must have no effect.
pub trait SessionRecord: Send + Sync + 'static {
    /// Counts an attempt, checks it against the limits, and charges it, in one atomic step.
    fn admit(
        &self,
        call: &Admission<'_>,
    ) -> impl Future<Output = Result<Verdict, StoreError>> + Send;

    /// Records the outcome of a call in one atomic step. Called only when there is something to
    /// record.
    fn settle(
        &self,
        settlement: &Settlement<'_>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Keeps an answered call, in place of the oldest ones if all of them take more than [`OpenRequest::call_bytes`], and adds
    /// its entry to the audit log.
    fn keep_call(
        &self,
        call: &AnsweredCallRecord<'_>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Returns the calls that are kept, oldest first.
    fn calls(&self) -> impl Future<Output = Result<Vec<SessionCall>, StoreError>> + Send;

    /// Ends the turn and resets its counters. Returns the turn that begins, or the end of the
    /// session, which is [`ended_now`](Turn::ended_now) to exactly one of all callers.
    ///
    /// One of all callers gets the pending message. In voice, the state shows it for one more turn.
    fn next_turn(&self) -> impl Future<Output = Result<Turn, StoreError>> + Send;

    /// Keeps a call until it is approved or denied, or until its lifetime has passed. Refuses it if
    /// the calls that wait leave no room under the request's limits, in one atomic step, and never
    /// gives up one of those for it.
    fn mint(
        &self,
        request: &ApprovalRequest<'_>,
    ) -> impl Future<Output = Result<ApprovalVerdict, StoreError>> + Send;

    /// Returns the call that waits under an id, and leaves it there.
    fn pending(
        &self,
        id: &str,
    ) -> impl Future<Output = Result<Option<PendingCall>, StoreError>> + Send;

    /// Removes the call that waits under an id. Returns true to exactly one of all callers.
    fn consume(&self, id: &str) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Removes the call that waits under an id as [`consume`](Self::consume) does, and keeps a grant until its lifetime has
    /// passed or the session ends, in one atomic step. If the session has no room for another grant, the call stays.
    fn grant(
        &self,
        request: &GrantRequest<'_>,
    ) -> impl Future<Output = Result<GrantVerdict, StoreError>> + Send;

    /// Returns the grants that have not ended, in any order.
    fn grants(&self) -> impl Future<Output = Result<Vec<CallGrant>, StoreError>> + Send;

    /// Removes a grant. Returns true to exactly one of all callers, and false if the grant has
    /// ended.
    fn revoke(&self, grant: &str) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Changes the state for the host.
    fn change(
        &self,
        changes: &[StateChange],
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Changes the mode of the conversation. The state, the audit log and the counters of the turn
    /// stay.
    fn switch_mode(&self, mode: Mode) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Ends the session. Returns true to exactly one of all callers. Has no effect, and returns
    /// false, on a session that has ended or that was idle for too long.
    fn end(&self) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Returns the last 1,000 entries of the audit log, oldest first. A store that keeps very many
    /// sessions in the memory of one process may keep fewer of each, but no fewer than 8. The
    /// entries of a session that has ended can be read for a minute at least, unless another
    /// session is opened under its id.
    fn audit(&self) -> impl Future<Output = Result<Vec<AuditEntry>, StoreError>> + Send;

    /// Reads the changes of other processes.
    fn refresh(&self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Returns the number that distinguishes this session from all others, even from earlier and
    /// later ones under its id.
    fn incarnation(&self) -> u128;

    /// Returns the mode, as this process knows it.
    fn mode(&self) -> Mode;

    /// Returns the number of the turn, as this process knows it.
    fn turn(&self) -> u64;

    /// Returns the state, as this process knows it.
    fn state(&self) -> Arc<SessionState>;
}

/// The parameters of opening a session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenRequest {
    /// The session's id.
    pub id: SessionId,
    /// The principal on whose behalf the session acts; empty if the host gave none.
    pub principal: Arc<str>,
    /// The agent to which the tools belong; empty if they belong to none.
    pub agent: Arc<str>,
    /// The mode of the conversation.
    pub mode: Mode,
    /// The version of the tools, as in the manifest.
    pub version: Arc<str>,
    /// The time after which an unused session expires.
    pub idle_timeout: Duration,
    /// The number of open sessions at which no more are opened.
    pub max_sessions: u64,
    /// The bytes that the session's calls may take.
    pub call_bytes: usize,
    /// The time for which they can be read after the session's end.
    pub keep_calls_for: Duration,
    /// The rules by which a store that keeps arguments as they came redacts them when they are
    /// read.
    pub redaction: Redaction,
}

/// A session that could not be opened.
///
/// ```
/// use tool_core::session::OpenError;
/// use tool_core::{Mode, Runtime, ToolContext};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().build()?).build()?;
/// let _session = runtime.session("chat-42", Mode::Text).principal("user:7").await?;
///
/// let other = runtime.session("chat-42", Mode::Text).principal("user:8").await;
/// assert!(matches!(other, Err(OpenError::OtherPrincipal { .. })));
/// let voice = runtime.session("chat-42", Mode::Voice).principal("user:7").await;
/// assert!(matches!(voice, Err(OpenError::OtherMode { open: Mode::Text, .. })));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The limit on open sessions is reached.
    #[error(
        "{limit} sessions are open, which is the limit; end some, or raise `Policy::max_sessions`"
    )]
    Full {
        /// The limit.
        limit: u64,
    },
    /// The session is open in the other mode.
    #[error("session `{}` is open in {} mode; open it in that mode and call `switch_mode`, or open a session with another id", id.as_str().escape_debug(), open.as_str())]
    OtherMode {
        /// The session's id.
        id: SessionId,
        /// The mode in which it is open.
        open: Mode,
    },
    /// The session is open for another principal.
    #[error("session `{}` is open for another principal; use one id for each conversation", id.as_str().escape_debug())]
    OtherPrincipal {
        /// The session's id.
        id: SessionId,
    },
    /// The session is open with the tools of another agent.
    #[error("session `{}` is open for another agent; use one id for each conversation", id.as_str().escape_debug())]
    OtherAgent {
        /// The session's id.
        id: SessionId,
    },
    /// The session's own tools conflict with the control tools.
    #[error(transparent)]
    Tools(RegistryErrors),
    /// The id is empty, or longer than 512 bytes.
    #[error("expected a session id of 1 to 512 bytes")]
    InvalidId,
    /// The configuration nests deeper than 128.
    #[error("expected a configuration of at most 128 nested levels")]
    InvalidConfig,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The journal failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// A store that cannot be reached or gives an invalid answer. The text goes to the log, never to
/// the model.
#[derive(Clone, Debug, Error)]
#[error("session store failed: {}", Redaction::new().text(.message))]
pub struct StoreError {
    message: String,
    #[source]
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl StoreError {
    /// Creates an error. The message must not contain secrets.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }

    /// Creates an error with its cause.
    pub fn with_source(
        message: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self {
            message: message.into(),
            source: Some(source.into().into()),
        }
    }

    /// Creates the error of an operation that exceeded the policy's `store_deadline`.
    pub(crate) fn timeout() -> Self {
        Self::new("no answer within the store's deadline")
    }
}

impl PartialEq for StoreError {
    /// Compares the messages.
    fn eq(&self, other: &Self) -> bool {
        self.message == other.message
    }
}

impl Eq for StoreError {}

/// A call that asks to run.
///
/// A store checks in this order, in one atomic step:
///
/// 1. A session that is over answers [`Verdict::Inactive`].
/// 2. Unless the charge is [`Approved`](Charge::Approved), the attempt is counted and checked
///    against the loop limits. The attempt of a [repeatable](Self::repeatable) call
///    counts once.
/// 3. Unless the charge is [`Attempt`](Charge::Attempt), the call is checked against the budgets,
///    unless it is charged.
/// 4. Where it has caps, they are checked as well ([`SpendingCaps::left`]).
/// 5. Unless the charge is [`Hold`](Charge::Hold), the budgets are charged.
#[non_exhaustive]
pub struct Admission<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The same name, in a form that can be kept without a copy.
    pub(crate) name: Option<&'a text::Name>,
    /// The tool's category.
    pub category: Category,
    /// The arguments, which are compared with those of other attempts.
    pub arguments: Fingerprint<'a>,
    /// The counters that the call is charged to.
    pub charge: Charge,
    /// The limits of the turn.
    pub limits: &'a TurnLimits,
    /// The calls of this tool that a turn may make.
    pub max_calls: Option<u32>,
    /// The caps on cost and time, if there are any.
    pub caps: Option<&'a SpendingCaps>,
    /// Distinguishes a call that may ask several times from all others of its session, as an engine
    /// for durable execution makes a call again after a crash.
    ///
    /// In a turn, a store counts its attempt once, and charges it once: while it is charged, it is
    /// checked against the caps only. A refund takes the charge back once each admission has got one,
    /// so that none gives away the charge of another one that has run.
    pub repeatable: Option<u128>,
    pub(crate) began: CallInstant,
}

impl Admission<'_> {
    /// Returns the time at which the call began, for stores that use this process's clock.
    pub fn now(&self) -> Instant {
        self.began.to_instant()
    }
}

/// The counters that an admission charges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Charge {
    /// A call that will run: counts the attempt and spends the budget.
    Run,
    /// A call that waits for approval: counts the attempt and checks the budget without spending
    /// it.
    Hold,
    /// Arguments that do not decode: counts the attempt only.
    Attempt,
    /// An approved call: spends the budget. Its attempt was counted when it asked for approval.
    Approved,
    /// A control tool: counts nothing.
    Free,
}

/// A store's answer to an admission.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The call may run in this turn.
    Admitted {
        /// The number of the turn.
        turn: u64,
    },
    /// The call, which has caps, may run in this turn and spend what is left of them.
    Capped {
        /// The number of the turn.
        turn: u64,
        /// The part of the caps that is left.
        left: Box<Allowance>,
    },
    /// The call may not run.
    Refused(Refusal),
    /// The session has ended or expired.
    Inactive,
}

/// The limit that refused a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The turn has made this many attempts with equal arguments, including this one.
    Repeated(u32),
    /// The tool returned this many empty results in the turn.
    Empty(u32),
    /// A budget is spent.
    Budget {
        /// The budget.
        limit: BudgetLimit,
        /// The calls charged so far.
        used: u32,
        /// The calls allowed.
        of: u32,
    },
    /// A cap on cost or time is used up.
    Cap(Box<UsedCap>),
}

/// A budget of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BudgetLimit {
    /// Calls of this tool.
    Tool,
    /// Calls of tools of this category.
    Category(Category),
    /// All calls.
    Total,
}

/// An answered call, for the list of calls and the audit log.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct AnsweredCallRecord<'a> {
    /// The call, redacted. `None` if the policy keeps no calls.
    pub call: Option<&'a SessionCall>,
    /// The new entry of the audit log. `None` if a settlement has brought it.
    pub audit: Option<&'a AuditEntry>,
}

impl<'a> AnsweredCallRecord<'a> {
    /// Creates a record. For stores and their tests: a session writes its own.
    pub fn new(call: Option<&'a SessionCall>, audit: Option<&'a AuditEntry>) -> Self {
        Self { call, audit }
    }
}

/// The outcome of a call, as a store records it.
#[derive(Default)]
#[non_exhaustive]
pub struct Settlement<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The tool's category.
    pub category: Category,
    /// The turn in which the call was admitted. Counters of a turn that is over are not changed.
    pub turn: u64,
    /// True to refund the budget of a call that was admitted and did not run.
    pub refund: bool,
    /// The call, if it may ask several times. See [`Admission::repeatable`].
    pub repeatable: Option<u128>,
    /// True to count the result as empty.
    pub empty: bool,
    /// The cost and the time of the call, to add to those of the turn, the session and the
    /// principal. A turn that is over takes none, a session that is over may, and a principal
    /// always does.
    pub spent: Spending,
    /// The part of the cost that does not count for the principal, as a session which the tool
    /// opened was charged for it.
    pub paid_inside: Cost,
    /// The id of the amounts. A settlement that failed may have taken effect, and its amounts are
    /// sent again for nine minutes: a store adds those of one id once, for ten minutes at least. A store whose
    /// operations cannot fail need not compare ids.
    pub amount_id: Option<u128>,
    /// The caps on cost and time. Without them nothing is spent.
    pub caps: Option<&'a SpendingCaps>,
    /// The state changes of the tool's intents, in order.
    pub changes: &'a [StateChange],
    /// New entries of the audit log.
    pub audit: &'a [AuditEntry],
}

impl Settlement<'_> {
    /// Returns what the principal has spent, and the window of its amounts. `None` if there is
    /// nothing to add to any amount.
    pub fn spends(&self) -> Option<PrincipalCharge> {
        let caps = self.caps?;
        if self.spent == Spending::default() {
            return None;
        }
        let all = self.spent.cost.picodollars();
        let own = all.saturating_sub(self.paid_inside.picodollars());
        Some(PrincipalCharge {
            spent: Spending {
                cost: Cost::pico(own),
                time: self.spent.time,
            },
            window: caps.principal_window(),
        })
    }
}

/// The amounts that a call adds to those of its principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrincipalCharge {
    /// The cost and the time.
    pub spent: Spending,
    /// The time after which the principal's amounts begin again, counted from the first of them.
    pub window: Duration,
}
