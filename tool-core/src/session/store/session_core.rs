//! The decisions about a session, which are the same in memory and in a database. It knows no
//! clock, and neither waits nor locks.

use crate::call::Mode;
use crate::session::caps::{Spending, SpendingCaps};
use crate::session::state::{SessionState, StateChange, Turn};
use crate::session::store::session_store::{Admission, Charge, Refusal, Settlement, Verdict};
use crate::session::store::turn_usage::{Attempts, CountAttempts, TurnUsage};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// The counters and the state of a session. `A` counts the attempts at a tool.
#[derive(Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    bound(
        serialize = "A: Serialize",
        deserialize = "A: Deserialize<'de> + CountAttempts"
    )
)]
pub(crate) struct SessionCore<A = Attempts> {
    is_over: bool,
    /// True if the pending message was delivered, and the state shows it until the turn ends.
    is_delivered: bool,
    usage: TurnUsage<A>,
    #[serde(with = "shared_state")]
    state: Arc<SessionState>,
    /// Created on first use, as few sessions have caps.
    spent: Option<Box<SessionSpending>>,
}

/// The amounts that a session has spent under caps.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionSpending {
    in_turn: Spending,
    in_all: Spending,
}

/// The amounts that a principal has spent in all of its sessions, within a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrincipalSpending {
    /// The amounts.
    pub spent: Spending,
    /// The time after which they begin again. `None` if the principal has spent nothing.
    pub resets_in: Option<Duration>,
}

impl<A> Default for SessionCore<A> {
    fn default() -> Self {
        Self {
            is_over: false,
            is_delivered: false,
            usage: TurnUsage::default(),
            state: Arc::default(),
            spent: None,
        }
    }
}

impl<A> SessionCore<A> {
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    pub(crate) fn state(&self) -> &Arc<SessionState> {
        &self.state
    }

    /// Ends the session. Returns false if it was over.
    pub(crate) fn close(&mut self) -> bool {
        if self.is_over {
            return false;
        }
        self.is_over = true;
        Arc::make_mut(&mut self.state).ended = true;
        true
    }

    /// Changes the state.
    pub(crate) fn change(&mut self, changes: &[StateChange]) {
        if changes.is_empty() {
            return;
        }
        let state = Arc::make_mut(&mut self.state);
        for change in changes {
            state.apply(change);
            // A message that is set again is delivered again, even with the same text.
            self.is_delivered &= !matches!(change, StateChange::PendingMessage(_));
        }
    }

    /// Changes the state to that of the next turn. Returns the pending message, once.
    fn begin_turn(&mut self, mode: Mode) -> Option<String> {
        if self.state.is_default() {
            return None;
        }
        let message = self
            .state
            .pending_message
            .clone()
            .filter(|_| !self.is_delivered);
        let mut state = self.state.after_turn(mode);
        if self.is_delivered && !state.ended {
            state.pending_message = None;
        }
        self.is_delivered = state.pending_message.is_some();
        self.state = Arc::new(state);
        message
    }

    /// Returns what the turn and the session have spent.
    pub(crate) fn spending(&self) -> [Spending; 2] {
        self.spent
            .as_ref()
            .map_or_else(Default::default, |spent| [spent.in_turn, spent.in_all])
    }
}

impl<A: CountAttempts> SessionCore<A> {
    pub(crate) fn usage(&self) -> &TurnUsage<A> {
        &self.usage
    }

    pub(crate) fn turn(&self) -> u64 {
        self.usage.turn()
    }

    /// Decides about a call of a session that is open. `of_principal` is only asked for if the call
    /// has caps.
    #[inline]
    pub(crate) fn admit(
        &mut self,
        call: &Admission<'_>,
        of_principal: impl FnOnce() -> PrincipalSpending,
    ) -> Verdict {
        match (self.usage.admit(call), call.caps) {
            (Ok(turn), None) => Verdict::Admitted { turn },
            (Ok(turn), Some(caps)) => self.admit_within(caps, call, turn, of_principal),
            (Err(refusal), _) => Verdict::Refused(refusal),
        }
    }

    /// Checks the caps of a call that the budgets admit, and refunds one that is refused.
    #[cold]
    fn admit_within(
        &mut self,
        caps: &SpendingCaps,
        call: &Admission<'_>,
        turn: u64,
        of_principal: impl FnOnce() -> PrincipalSpending,
    ) -> Verdict {
        if matches!(call.charge, Charge::Free | Charge::Attempt) {
            return Verdict::Admitted { turn };
        }
        let principal = of_principal();
        let [in_turn, in_session] = self.spending();
        match caps.left([in_turn, in_session, principal.spent], principal.resets_in) {
            Ok(left) => Verdict::Capped {
                turn,
                left: Box::new(left),
            },
            Err(used) => {
                if call.charge != Charge::Hold {
                    self.usage.settle(&Settlement {
                        tool: call.tool,
                        category: call.category,
                        turn,
                        refund: true,
                        repeatable: call.repeatable,
                        ..Settlement::default()
                    });
                }
                Verdict::Refused(Refusal::Cap(Box::new(used)))
            }
        }
    }

    /// Records the outcome of a call. Unless the session is over, the state changes apply whenever
    /// the call ends.
    pub(crate) fn settle(&mut self, settlement: &Settlement<'_>) {
        self.usage.settle(settlement);
        if settlement.spends().is_some() {
            self.spend(settlement);
        }
        if !self.is_over {
            self.change(settlement.changes);
        }
    }

    /// Adds what a call has spent to the amounts of its turn and of its session.
    #[cold]
    fn spend(&mut self, settlement: &Settlement<'_>) {
        let is_current = settlement.turn == self.usage.turn();
        let amounts = self.spent.get_or_insert_default();
        amounts.in_all += settlement.spent;
        if is_current {
            amounts.in_turn += settlement.spent;
        }
    }

    /// Begins the next turn of a session that is open, and ends a session that is ending.
    pub(crate) fn next_turn(&mut self, mode: Mode) -> Turn {
        let number = self.usage.next_turn();
        if let Some(amounts) = &mut self.spent {
            amounts.in_turn = Spending::default();
        }
        let pending_message = self.begin_turn(mode);
        if self.state.ended {
            self.close();
        }
        let ended = self.is_over();
        Turn {
            number,
            pending_message,
            ended,
            ended_now: ended,
        }
    }
}

/// A state that is shared in memory, as a value of its own in a database.
mod shared_state {
    use super::SessionState;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::sync::Arc;

    pub(super) fn serialize<S: Serializer>(
        state: &Arc<SessionState>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        (**state).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<SessionState>, D::Error> {
        SessionState::deserialize(deserializer).map(Arc::new)
    }
}
