//! Caps on the cost and the time of calls, and the amounts that count toward them.

use crate::trace::cost::Cost;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
use std::time::Duration;

/// The calls over which a cap on cost or time sums up.
///
/// ```
/// use std::time::Duration;
/// use tool_core::Policy;
/// use tool_core::session::CapScope;
/// use tool_core::trace::Cost;
///
/// let policy = Policy::text()
///     .max_cost(CapScope::Turn, Some(Cost::micros(50_000))) // 5 cents
///     .max_cost(CapScope::Principal, Some(Cost::micros(1_000_000))) // a dollar a day
///     .max_time(CapScope::Call, Some(Duration::from_secs(10)));
/// assert!(policy.caps().is_some());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CapScope {
    /// One call, with the calls that it makes.
    Call,
    /// The calls of a turn.
    Turn,
    /// The calls of a session.
    Session,
    /// The calls of a principal in all of its sessions, within a [window](crate::Policy::principal_window).
    Principal,
}

impl CapScope {
    /// The scopes whose amounts a session store keeps, the narrowest first.
    pub const STORED: [Self; 3] = [Self::Turn, Self::Session, Self::Principal];
}

/// The cost and the time of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spending {
    /// The cost of models and services that the calls used.
    pub cost: Cost,
    /// The time for which the calls ran.
    pub time: Duration,
}

impl AddAssign for Spending {
    fn add_assign(&mut self, other: Self) {
        self.cost += other.cost;
        self.time = self.time.saturating_add(other.time);
    }
}

/// The part of the caps that is left for a call. `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    /// The cost that is left.
    pub cost: Option<Cost>,
    /// The time that is left.
    pub time: Option<Duration>,
    /// The cost that is left of the principal's cap, which other sessions use up too.
    pub principal_cost: Option<Cost>,
}

/// A cap that is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsedCap {
    /// The scope.
    pub scope: CapScope,
    /// The amount that is used.
    pub used: CapAmount,
    /// The cap.
    pub of: CapAmount,
    /// The time after which the amount of a principal begins again.
    pub resets_in: Option<Duration>,
}

/// An amount of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapAmount {
    /// A cost.
    Cost(Cost),
    /// A time.
    Time(Duration),
}

/// The caps of a policy on cost and time.
///
/// ```
/// use std::time::Duration;
/// use tool_core::Policy;
/// use tool_core::session::CapScope;
///
/// let policy = Policy::text().max_time(CapScope::Turn, Some(Duration::from_secs(60)));
/// assert_eq!(policy.caps().and_then(|caps| caps.time(CapScope::Turn)), Some(Duration::from_secs(60)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpendingCaps {
    /// By scope.
    cost: [Option<Cost>; 4],
    /// By scope.
    time: [Option<Duration>; 4],
    pub(crate) window: Duration,
}

impl Default for SpendingCaps {
    fn default() -> Self {
        Self {
            cost: [None; 4],
            time: [None; 4],
            window: Duration::from_secs(24 * 3_600),
        }
    }
}

impl SpendingCaps {
    /// Returns the cap on the cost of a scope.
    pub const fn cost(&self, scope: CapScope) -> Option<Cost> {
        self.cost[scope as usize]
    }

    /// Returns the cap on the time of a scope.
    pub const fn time(&self, scope: CapScope) -> Option<Duration> {
        self.time[scope as usize]
    }

    /// Returns the time after which the amounts of a principal begin again.
    pub const fn principal_window(&self) -> Duration {
        self.window
    }

    #[cfg(any(feature = "testing", feature = "trace"))]
    pub(crate) fn set_cost(&mut self, scope: CapScope, cost: Option<Cost>) {
        self.cost[scope as usize] = cost;
    }

    pub(crate) fn set_time(&mut self, scope: CapScope, time: Option<Duration>) {
        self.time[scope as usize] = time;
    }

    /// Returns true if a cost is capped, so that the costs of calls must be known.
    pub(crate) fn have_cost(&self) -> bool {
        self.cost.iter().any(Option::is_some)
    }

    /// Returns what is left of the caps, given what each of [`CapScope::STORED`] has used, or the
    /// first cap that is used up. `resets_in` is the time that is left of the principal's window.
    pub fn left(
        &self,
        used: [Spending; 3],
        resets_in: Option<Duration>,
    ) -> Result<Allowance, UsedCap> {
        let mut left = Allowance::default();
        for (scope, used) in CapScope::STORED.into_iter().zip(used) {
            let resets_in = resets_in.filter(|_| scope == CapScope::Principal);
            let used_cap = |used, of| {
                Err(UsedCap {
                    scope,
                    used,
                    of,
                    resets_in,
                })
            };
            if let Some(of) = self.cost(scope) {
                let rest = of.picodollars().saturating_sub(used.cost.picodollars());
                if rest == 0 {
                    return used_cap(CapAmount::Cost(used.cost), CapAmount::Cost(of));
                }
                left.cost = Some(
                    left.cost
                        .map_or(Cost::pico(rest), |least| least.min(Cost::pico(rest))),
                );
                left.principal_cost = (scope == CapScope::Principal).then_some(Cost::pico(rest));
            }
            if let Some(of) = self.time(scope) {
                let rest = of.saturating_sub(used.time);
                if rest.is_zero() {
                    return used_cap(CapAmount::Time(used.time), CapAmount::Time(of));
                }
                left.time = Some(left.time.map_or(rest, |least| least.min(rest)));
            }
        }
        Ok(left)
    }
}
