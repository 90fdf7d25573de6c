//! The accounts of principals: what their calls cost while they run, and the amounts that the store
//! has not taken yet.

use crate::session::caps::{Spending, SpendingCaps};
use crate::session::store::handle::RecordHandle;
use crate::session::store::{Settlement, StoreError};
use crate::tool::FunctionTool;
use crate::trace::cost::Cost;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The time after which an amount is not sent again that the store has not taken. A store knows an amount again for ten
/// minutes: sent later, one whose answer was lost would be charged twice.
const SENT_FOR: Duration = Duration::from_secs(9 * 60);

/// The costs in picodollars of the calls of a session, or of a principal, in this runtime.
#[derive(Default)]
pub(crate) struct RunningCosts {
    /// The costs that are known.
    pub(crate) known: i128,
    /// Those of them that the store has taken, which happens when a call has ended.
    pub(crate) charged: i128,
}

/// The account of a principal in this runtime.
#[derive(Default)]
pub(crate) struct Account {
    costs: Arc<Mutex<RunningCosts>>,
    /// The amounts that the store has not taken, each with the time of its first attempt.
    unsettled: Mutex<Vec<(Instant, Arc<Amount>)>>,
}

impl Account {
    /// Returns true if the store has taken all amounts. Those that are too old to be sent again, or older than the window of a
    /// principal, no longer count.
    fn is_settled(&self) -> bool {
        let mut unsettled = self.unsettled.lock();
        let is_old = |(since, amount): &mut (Instant, Arc<Amount>)| {
            since.elapsed() >= amount.caps.principal_window().min(SENT_FOR)
        };
        for (_, amount) in unsettled.extract_if(.., is_old) {
            let tool = amount.tool.name();
            tracing::warn!(tool = %tool.escape_debug(), "the store has not taken what a call has cost; it is not sent again");
            amount.is_charged();
        }
        unsettled.is_empty()
    }

    /// Charges the amounts that the store has not taken. Stops at the first that it does not take
    /// now either. Callers that do this at once charge nothing twice, as the store compares the ids
    /// of amounts.
    pub(crate) async fn settle(&self) -> Result<(), StoreError> {
        self.is_settled();
        loop {
            let next = self.unsettled.lock().first().cloned();
            let Some((_, amount)) = next else {
                return Ok(());
            };
            let outcome = amount.record.settle(&amount.settlement()).await;
            let mut unsettled = self.unsettled.lock();
            if let Some(at) = unsettled
                .iter()
                .position(|(_, other)| other.id == amount.id)
            {
                let tried = unsettled.remove(at);
                match outcome {
                    Ok(()) => amount.is_charged(),
                    // The next attempt begins with the others.
                    Err(_) => unsettled.push(tried),
                }
            }
            drop(unsettled);
            outcome?;
        }
    }
}

/// The accounts of a runtime, by principal.
#[derive(Default)]
pub(crate) struct Accounts {
    by_principal: HashMap<Arc<str>, Arc<Account>>,
    /// The number of accounts at which those that are not used are removed.
    sweep_at: usize,
}

impl Accounts {
    /// Returns the account of a principal.
    pub(crate) fn of(&mut self, principal: &Arc<str>) -> Arc<Account> {
        if self.by_principal.len() >= self.sweep_at {
            self.by_principal
                .retain(|_, account| Arc::strong_count(account) > 1 || !account.is_settled());
            self.sweep_at = 1_024.max(2 * self.by_principal.len());
        }
        Arc::clone(self.by_principal.entry(Arc::clone(principal)).or_default())
    }
}

/// The parties that pay for the calls of a session.
pub(crate) struct Payers {
    /// The costs of the session, and those of its principal.
    pub(crate) costs: [Arc<Mutex<RunningCosts>>; 2],
    /// The account of the principal.
    pub(crate) account: Arc<Account>,
}

impl Payers {
    pub(crate) fn new(account: Arc<Account>) -> Self {
        Self {
            costs: [Arc::default(), Arc::clone(&account.costs)],
            account,
        }
    }
}

/// An amount of a call, which is charged once.
pub(crate) struct Amount {
    pub(crate) id: u128,
    pub(crate) record: RecordHandle,
    pub(crate) tool: FunctionTool,
    pub(crate) turn: u64,
    pub(crate) spent: Spending,
    pub(crate) paid_inside: Cost,
    pub(crate) caps: SpendingCaps,
    /// The costs of the [`Payers`].
    pub(crate) costs: [Arc<Mutex<RunningCosts>>; 2],
}

impl Amount {
    /// Returns the settlement that charges the amount.
    pub(crate) fn settlement(&self) -> Settlement<'_> {
        let tool = self.tool.name();
        let category = self.tool.definition().category();
        let turn = self.turn;
        let spent = self.spent;
        let paid_inside = self.paid_inside;
        let caps = Some(&self.caps);
        let amount_id = Some(self.id);
        Settlement {
            tool,
            category,
            turn,
            spent,
            paid_inside,
            amount_id,
            caps,
            ..Settlement::default()
        }
    }

    /// Takes note that the store has taken the amount.
    fn is_charged(&self) {
        let [cost, paid] =
            [self.spent.cost, self.paid_inside].map(|cost| i128::from(cost.picodollars()));
        let [session, principal] = &self.costs;
        session.lock().charged += cost;
        principal.lock().charged += cost - paid;
    }
}

/// An amount on its way to the store. Dropped before the store has taken it, it is kept for another
/// attempt.
pub(crate) struct Payment {
    account: Arc<Account>,
    pub(crate) amount: Arc<Amount>,
    is_settled: bool,
}

impl Payment {
    pub(crate) fn new(account: &Arc<Account>, amount: Amount) -> Self {
        Self {
            account: Arc::clone(account),
            amount: Arc::new(amount),
            is_settled: false,
        }
    }

    /// Takes note that the store has taken the amount.
    pub(crate) fn settled(mut self) {
        self.is_settled = true;
        self.amount.is_charged();
    }
}

impl Drop for Payment {
    fn drop(&mut self) {
        if !self.is_settled {
            self.account
                .unsettled
                .lock()
                .push((Instant::now(), Arc::clone(&self.amount)));
        }
    }
}
