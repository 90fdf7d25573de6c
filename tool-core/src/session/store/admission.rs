//! What a store is asked about a call, and what it answers.

use crate::arguments::equality::Fingerprint;
use crate::session::policy::Limits;
use crate::session::state::{AuditEntry, StateChange};
use crate::text;
use crate::tool::options::Category;
use tokio::time::Instant;

/// A call that wants to run.
///
/// In this order, and all in one step: the session is active, or [`Verdict::Inactive`]; unless the charge is
/// [`Approved`](Charge::Approved), the attempt is counted, and the loop limits hold it; unless the charge is
/// [`Attempt`](Charge::Attempt), the budgets hold it; unless the charge is [`Hold`](Charge::Hold), it is charged.
#[non_exhaustive]
pub struct Admission<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The same, where it can be kept without a copy.
    pub(crate) name: Option<&'a text::Name>,
    /// What the tool is for.
    pub category: Category,
    /// The arguments, to compare with those of other attempts.
    pub arguments: Fingerprint<'a>,
    /// What the call is charged for.
    pub charge: Charge,
    /// The limits.
    pub limits: &'a Limits,
    /// The calls that a turn may make of this tool.
    pub max_calls: Option<u32>,
    /// When it was asked, for stores whose time is this process's.
    pub now: Instant,
}

/// What an admission is charged for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Charge {
    /// A call that will run.
    Run,
    /// A call that waits for a person: its attempt counts, its budget is not spent.
    Hold,
    /// Arguments that do not decode: only the attempt counts.
    Attempt,
    /// A call that a person has agreed to: its attempt was counted when it was made.
    Approved,
    /// A tool of the runtime's own: nothing counts.
    Free,
}

/// What a store says of an admission.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It may run, in this turn.
    Admitted {
        /// The number of the turn.
        turn: u64,
    },
    /// It may not.
    Refused(Refusal),
    /// The session has ended or expired.
    Inactive,
}

/// Why a call may not run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The same call too often in this turn; the number counts this attempt.
    Repeated(u32),
    /// As many empty results of this tool in this turn.
    Empty(u32),
    /// A budget is spent.
    Budget {
        /// Which one.
        limit: BudgetLimit,
        /// The calls so far.
        used: u32,
        /// The calls there may be.
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

/// What came of a call.
#[derive(Default)]
#[non_exhaustive]
pub struct Settlement<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// What the tool is for.
    pub category: Category,
    /// The turn in which it was admitted. What belongs to a turn that is over is not recorded.
    pub turn: u64,
    /// Whether it gives its budget back: it was admitted and did not run.
    pub refund: bool,
    /// Whether the result was empty and counts as such.
    pub empty: bool,
    /// What the tool's intents change, in order.
    pub changes: &'a [StateChange],
    /// What goes into the audit log.
    pub audit: &'a [AuditEntry],
}
