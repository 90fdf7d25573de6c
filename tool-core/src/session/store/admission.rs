//! The question whether a call may run, the store's answer, and the outcome of a call.

use crate::arguments::fingerprint::Fingerprint;
use crate::session::policy::TurnLimits;
use crate::session::state::{AuditEntry, StateChange};
use crate::text;
use crate::tool::Category;
use tokio::time::Instant;

/// A call that asks to run.
///
/// A store checks in this order, in one atomic step:
///
/// 1. A session that is over answers [`Verdict::Inactive`].
/// 2. Unless the charge is [`Approved`](Charge::Approved), the attempt is counted and checked against the loop limits.
/// 3. Unless the charge is [`Attempt`](Charge::Attempt), the call is checked against the budgets.
/// 4. Unless the charge is [`Hold`](Charge::Hold), the budgets are charged.
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
    /// The time of the request, for stores that use this process's clock.
    pub now: Instant,
}

/// The counters that an admission charges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Charge {
    /// A call that will run: counts the attempt and spends the budget.
    Run,
    /// A call that waits for approval: counts the attempt and checks the budget without spending it.
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
    /// True to count the result as empty.
    pub empty: bool,
    /// The state changes of the tool's intents, in order.
    pub changes: &'a [StateChange],
    /// New entries of the audit log.
    pub audit: &'a [AuditEntry],
}
