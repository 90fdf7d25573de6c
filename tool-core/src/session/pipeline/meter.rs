//! The meter of a call under caps: it sums up what the call costs and how long it runs, and charges the session.

use crate::session::caps::{Allowance, CapScope, RunningCosts, Spending, SpendingCaps};
use crate::session::inner::SessionInner;
use crate::session::store::Settlement;
use crate::time;
use crate::tool::FunctionTool;
use crate::trace::cost::{Cost, CostMeter};
use parking_lot::{Mutex, MutexGuard};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

/// Sums up what a call costs. The span of the call holds it, and so does all work that runs inside of the span, also after
/// the call was answered. Dropped, it charges what was not charged before.
pub(crate) struct CallMeter {
    session: Arc<SessionInner>,
    tool: FunctionTool,
    tally: Mutex<Tally>,
    /// Cancelled when the call has cost more than it may.
    pub(crate) over: CancellationToken,
    /// The end of the time that was left when the call was admitted.
    until: OnceLock<Instant>,
}

#[derive(Default)]
struct Tally {
    /// The cost in picodollars of the call itself. A usage that was observed may be taken back, once it is recorded.
    own: i128,
    /// The same with the calls that it makes, which charge their own cost.
    total: i128,
    /// The cap on the call.
    limit: Option<Cost>,
    /// The rest of the other caps, and the costs of the session's calls that were charged by then.
    left: Option<(Cost, i128)>,
    charged: Cost,
    /// The turn in which the call was admitted.
    turn: Option<u64>,
    /// The time since which the call runs and was not charged. None of a nested call, which runs in the time of its caller.
    since: Option<Instant>,
}

impl CallMeter {
    /// Creates the meter of a call that has not been admitted.
    pub(crate) fn new(session: &Arc<SessionInner>, tool: &FunctionTool, caps: &SpendingCaps) -> Arc<Self> {
        Arc::new(Self {
            session: Arc::clone(session),
            tool: tool.clone(),
            tally: Mutex::new(Tally { limit: caps.cost(CapScope::Call), ..Tally::default() }),
            over: CancellationToken::new(),
            until: OnceLock::new(),
        })
    }

    /// Takes note that the call was admitted in a turn, and of what is left for it. The store does not know the costs of calls
    /// that are still running: if they have used what is left, returns them as an error.
    pub(crate) fn admitted(&self, turn: u64, left: Allowance, is_nested: bool) -> Result<(), Cost> {
        let now = Instant::now();
        let mut tally = self.tally.lock();
        if let Some(left) = left.cost {
            let costs = self.costs();
            let running = amount(costs.known - costs.charged);
            if running >= left {
                return Err(running);
            }
            tally.left = Some((left, costs.charged));
        }
        (tally.turn, tally.since) = (Some(turn), (!is_nested).then_some(now));
        if let Some(time) = left.time {
            self.until.get_or_init(|| time::after(now, time));
        }
        Ok(())
    }

    fn costs(&self) -> MutexGuard<'_, RunningCosts> {
        self.session.costs.get_or_init(Box::default).lock()
    }

    /// Takes note that an admitted call has not run.
    pub(crate) fn did_not_run(&self) {
        self.tally.lock().since = None;
    }

    /// Returns the end of the time that was left when the call was admitted.
    pub(crate) fn until(&self) -> Option<Instant> {
        self.until.get().copied()
    }

    /// Returns what the call has cost, with the calls that it made, and what it may cost at most.
    pub(crate) fn cost(&self) -> (Cost, Cost) {
        let tally = self.tally.lock();
        let left = tally.left.map(|(left, _)| left);
        (amount(tally.total), tally.limit.into_iter().chain(left).min().unwrap_or_default())
    }

    /// Returns the turn of the call and what has to be charged to it, once.
    pub(crate) fn take(&self) -> Option<(u64, Spending)> {
        let mut tally = self.tally.lock();
        let turn = tally.turn?;
        let own = amount(tally.own).max(tally.charged);
        let cost = Cost::pico(own.picodollars() - tally.charged.picodollars());
        tally.charged = own;
        if cost != Cost::ZERO {
            self.costs().charged += i128::from(cost.picodollars());
        }
        let spending = Spending { cost, time: tally.since.take().map_or(Duration::ZERO, |since| since.elapsed()) };
        (spending != Spending::default()).then_some((turn, spending))
    }
}

/// Returns a sum of picodollars as an amount.
fn amount(sum: i128) -> Cost {
    Cost::pico(u64::try_from(sum.max(0)).unwrap_or(u64::MAX))
}

impl CostMeter for CallMeter {
    fn add(&self, picodollars: i128, is_nearest: bool) {
        let mut tally = self.tally.lock();
        let mut costs = self.costs();
        tally.total += picodollars;
        if is_nearest {
            tally.own += picodollars;
            costs.known += picodollars;
        }
        let is_over = |(left, charged): (Cost, i128)| amount(costs.known - charged) > left;
        if tally.limit.is_some_and(|limit| amount(tally.total) > limit) || tally.left.is_some_and(is_over) {
            self.over.cancel();
        }
    }

    fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }
}

impl Drop for CallMeter {
    fn drop(&mut self) {
        let Some((turn, spent)) = self.take() else { return };
        if self.session.record.settle_now(&charge(&self.session, &self.tool, turn, spent)).is_some() {
            return;
        }
        let (session, tool) = (Arc::clone(&self.session), self.tool.clone());
        let work = async move {
            if let Err(error) = session.record.settle(&charge(&session, &tool, turn, spent)).await {
                tracing::error!(%error, "failed to charge a call");
            }
        };
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(work.in_current_span());
        }
    }
}

fn charge<'a>(session: &'a SessionInner, tool: &'a FunctionTool, turn: u64, spent: Spending) -> Settlement<'a> {
    let (category, caps) = (tool.definition().category(), session.policy().caps());
    Settlement { tool: tool.name(), category, turn, spent, caps, ..Settlement::default() }
}
