//! The meter of a call under caps: it sums up what the call costs and how long it runs, and charges
//! the session.

use crate::session::account::{Amount, Payment, RunningCosts};
use crate::session::approvals::random;
use crate::session::caps::{Allowance, CapScope, Spending, SpendingCaps};
use crate::session::inner::SessionInner;
use crate::time;
use crate::tool::FunctionTool;
use crate::trace::cost::{Cost, CostMeter};
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

/// Sums up what a call costs. The span of the call holds it, and so does all work that runs inside
/// of the span, also after the call was answered. Dropped, it charges what was not charged before.
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
    /// The costs in picodollars that each of the session's payers pays for the call. A usage that
    /// was observed may be taken back, once it is recorded.
    own: [i128; 2],
    /// The same with the calls that it makes, which charge their own cost.
    total: i128,
    /// The cap on the call.
    limit: Option<Cost>,
    /// The rest of the caps that each payer has, and the costs of its calls that were charged by
    /// then.
    left: [Option<(Cost, i128)>; 2],
    charged: [Cost; 2],
    /// The turn in which the call was admitted.
    turn: Option<u64>,
    /// The time since which the call runs and was not charged. None of a nested call, which runs in
    /// the time of its caller.
    since: Option<Instant>,
    /// The tasks that the tool has spawned.
    tasks: Vec<AbortHandle>,
}

impl CallMeter {
    /// Creates the meter of a call that has not been admitted.
    pub(crate) fn new(
        session: &Arc<SessionInner>,
        tool: &FunctionTool,
        caps: &SpendingCaps,
    ) -> Arc<Self> {
        Arc::new(Self {
            session: Arc::clone(session),
            tool: tool.clone(),
            tally: Mutex::new(Tally {
                limit: caps.cost(CapScope::Call),
                ..Tally::default()
            }),
            over: CancellationToken::new(),
            until: OnceLock::new(),
        })
    }

    /// Takes note that the call was admitted in a turn, and of what is left for it. The store does
    /// not know the costs of calls that are still running: if they have used what is left, returns
    /// them as an error.
    pub(crate) fn admitted(&self, turn: u64, left: Allowance, is_nested: bool) -> Result<(), Cost> {
        let now = Instant::now();
        let mut tally = self.tally.lock();
        for ((costs, left), noted) in self
            .costs()
            .iter()
            .zip([left.cost, left.principal_cost])
            .zip(&mut tally.left)
        {
            let Some(left) = left else { continue };
            let costs = costs.lock();
            let running = amount(costs.known - costs.charged);
            if running >= left {
                return Err(running);
            }
            *noted = Some((left, costs.charged));
        }
        (tally.turn, tally.since) = (Some(turn), (!is_nested).then_some(now));
        if let Some(time) = left.time {
            self.until.get_or_init(|| time::after(now, time));
        }
        Ok(())
    }

    fn costs(&self) -> &[Arc<Mutex<RunningCosts>>; 2] {
        &self.session.payers().costs
    }

    /// Takes note that an admitted call has not run.
    pub(crate) fn did_not_run(&self) {
        self.tally.lock().since = None;
    }

    /// Leaves out the time for which the call has waited for the user.
    pub(crate) fn exclude(&self, waited: Duration) {
        let mut tally = self.tally.lock();
        tally.since = tally.since.map(|since| time::after(since, waited));
    }

    /// Returns the end of the time that was left when the call was admitted.
    pub(crate) fn until(&self) -> Option<Instant> {
        self.until.get().copied()
    }

    /// Returns what the call has cost, with the calls that it made, and what it may cost at most.
    pub(crate) fn cost(&self) -> (Cost, Cost) {
        let tally = self.tally.lock();
        let left = tally.left.iter().flatten().map(|(left, _)| *left);
        (
            amount(tally.total),
            tally
                .limit
                .into_iter()
                .chain(left)
                .min()
                .unwrap_or_default(),
        )
    }

    /// Takes the costs of a call that no store admitted from those that are running, as none of
    /// them is charged.
    fn forget_uncharged(&self) {
        let tally = self.tally.lock();
        if tally.turn.is_none() {
            for (costs, own) in self.costs().iter().zip(tally.own) {
                costs.lock().known -= own;
            }
        }
    }

    /// Returns what has to be charged, once.
    pub(crate) fn take(&self) -> Option<Payment> {
        let mut tally = self.tally.lock();
        let turn = tally.turn?;
        let time = tally
            .since
            .take()
            .map_or(Duration::ZERO, |since| since.elapsed());
        let [cost, of_principal] = [0, 1].map(|payer| {
            let own = amount(tally.own[payer]).max(tally.charged[payer]);
            let before = std::mem::replace(&mut tally.charged[payer], own);
            own.picodollars() - before.picodollars()
        });
        if cost == 0 && time.is_zero() {
            return None;
        }
        let payers = self.session.payers();
        let amount = Amount {
            id: u128::from_ne_bytes(random()),
            record: self.session.record.clone(),
            tool: self.tool.clone(),
            turn,
            spent: Spending {
                cost: Cost::pico(cost),
                time,
            },
            paid_inside: Cost::pico(cost.saturating_sub(of_principal)),
            caps: self.session.policy().caps()?.clone(),
            costs: payers.costs.clone(),
        };
        Some(Payment::new(&payers.account, amount))
    }
}

/// Returns a sum of picodollars as an amount.
fn amount(sum: i128) -> Cost {
    Cost::pico(u64::try_from(sum.max(0)).unwrap_or(u64::MAX))
}

impl CostMeter for CallMeter {
    fn add(&self, picodollars: i128, nearer: &[Arc<dyn CostMeter>]) {
        let mut tally = self.tally.lock();
        tally.total += picodollars;
        let mut is_over = tally.limit.is_some_and(|limit| amount(tally.total) > limit);
        for (payer, costs) in self.costs().iter().enumerate() {
            let is_paid = nearer
                .iter()
                .any(|meter| meter.payers()[payer] == self.payers()[payer]);
            let mut costs = costs.lock();
            if !is_paid {
                tally.own[payer] += picodollars;
                costs.known += picodollars;
            }
            is_over |= tally.left[payer]
                .is_some_and(|(left, charged)| amount(costs.known - charged) > left);
        }
        if is_over {
            self.over.cancel();
            tally.tasks.drain(..).for_each(|task| task.abort());
        }
    }

    fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    fn payers(&self) -> [usize; 2] {
        self.costs()
            .each_ref()
            .map(|costs| Arc::as_ptr(costs).addr())
    }

    fn abort_when_over(&self, task: AbortHandle) {
        let mut tally = self.tally.lock();
        if self.is_over() {
            return task.abort();
        }
        if tally.tasks.len() == tally.tasks.capacity() {
            tally.tasks.retain(|task| !task.is_finished());
        }
        tally.tasks.push(task);
    }
}

impl Drop for CallMeter {
    fn drop(&mut self) {
        let Some(payment) = self.take() else {
            return self.forget_uncharged();
        };
        if self
            .session
            .record
            .settle_now(&payment.amount.settlement())
            .is_some()
        {
            return payment.settled();
        }
        let work = async move {
            match payment
                .amount
                .record
                .settle(&payment.amount.settlement())
                .await
            {
                Ok(()) => payment.settled(),
                Err(error) => tracing::error!(%error, "failed to charge a call"),
            }
        };
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(work.in_current_span());
        }
    }
}
