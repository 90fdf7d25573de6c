//! A session as a database keeps it.

use crate::call::Mode;
use crate::session::caps::Spending;
use crate::session::state::{SessionState, StateChange, Turn};
use crate::session::store::session_core::{PrincipalSpending, SessionCore};
use crate::session::store::session_store::{
    Admission, OpenError, OpenRequest, Settlement, Verdict,
};
use crate::session::store::turn_usage::StoredAttempts;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A session as a value, for stores that keep sessions in a database.
///
/// It makes the decisions of a [`SessionStore`](crate::session::SessionStore) that need neither a
/// clock nor other sessions. A store locks the session's row, reads this value, calls one method,
/// writes the value back, and commits. The store itself decides by its clock whether the session
/// has expired, and keeps the audit log, the answered calls, the calls that wait for approval and
/// the amounts of principals beside it.
///
/// Its JSON form may change with the version of this crate; an older form stays readable.
///
/// ```
/// use tool_core::session::{Admission, PrincipalSpending, StoredSession, Verdict};
///
/// // Between reading the locked row and writing it back:
/// fn admit(row: &mut String, call: &Admission<'_>) -> serde_json::Result<Verdict> {
///     let mut session: StoredSession = serde_json::from_str(row)?;
///     let verdict = session.admit(call, PrincipalSpending::default());
///     *row = serde_json::to_string(&session)?;
///     Ok(verdict)
/// }
/// ```
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredSession {
    /// 32 hexadecimal digits: not every reader of JSON has integers of 128 bits.
    #[serde(with = "hexadecimal")]
    incarnation: u128,
    principal: String,
    agent: String,
    mode: Mode,
    /// The version of the tools when the session was opened, for people who read the row.
    tools: String,
    /// The number of times that the session has changed.
    changes: u64,
    core: SessionCore<StoredAttempts>,
}

impl StoredSession {
    /// Creates the session that a request opens. The incarnation is a random number that the store
    /// draws.
    pub fn new(request: &OpenRequest, incarnation: u128) -> Self {
        Self {
            incarnation,
            principal: request.principal.to_string(),
            agent: request.agent.to_string(),
            mode: request.mode,
            tools: request.version.to_string(),
            changes: 0,
            core: SessionCore::default(),
        }
    }

    /// Checks that a request may join the session: under its own principal, agent and mode only.
    pub fn check_owner(&self, request: &OpenRequest) -> Result<(), OpenError> {
        SessionOwner {
            principal: &self.principal,
            agent: &self.agent,
            mode: self.mode,
        }
        .check(request)
    }

    /// Returns the number that distinguishes the session from all others.
    pub fn incarnation(&self) -> u128 {
        self.incarnation
    }

    /// Returns the principal on whose behalf the session acts.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// Returns the mode of the conversation.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the number of the turn.
    pub fn turn(&self) -> u64 {
        self.core.turn()
    }

    /// Returns the state.
    pub fn state(&self) -> &Arc<SessionState> {
        self.core.state()
    }

    /// Returns true if the session has ended.
    pub fn is_over(&self) -> bool {
        self.core.is_over()
    }

    /// Returns how often the session has changed, so that a process which gets two answers out of
    /// order keeps the later one.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Counts an attempt, checks it against the limits, and charges it.
    pub fn admit(&mut self, call: &Admission<'_>, principal: PrincipalSpending) -> Verdict {
        if self.is_over() {
            return Verdict::Inactive;
        }
        self.changes += 1;
        self.core.admit(call, || principal)
    }

    /// Records the outcome of a call. The store adds [`Settlement::spends`] to the amounts of the
    /// principal, also if the session is over or belongs to another incarnation.
    pub fn settle(&mut self, settlement: &Settlement<'_>) {
        self.changes += 1;
        self.core.settle(settlement);
    }

    /// Records the outcome of a call again, without its amounts: their [`Settlement::amount_id`] is
    /// known.
    pub fn settle_again(&mut self, settlement: &Settlement<'_>) {
        self.settle(&Settlement {
            spent: Spending::default(),
            ..*settlement
        });
    }

    /// Ends the turn, and the session if a tool has asked for that.
    pub fn next_turn(&mut self) -> Turn {
        if self.is_over() {
            return Turn {
                number: self.turn(),
                pending_message: None,
                ended: true,
                ended_now: false,
            };
        }
        self.changes += 1;
        self.core.next_turn(self.mode)
    }

    /// Changes the state, unless the session is over.
    pub fn change(&mut self, changes: &[StateChange]) {
        if !self.is_over() {
            self.changes += 1;
            self.core.change(changes);
        }
    }

    /// Changes the mode of the conversation, unless the session is over.
    pub fn switch_mode(&mut self, mode: Mode) {
        if !self.is_over() {
            self.changes += 1;
            self.mode = mode;
        }
    }

    /// Ends the session.
    pub fn end(&mut self) {
        if self.core.close() {
            self.changes += 1;
        }
    }
}

/// Those who may join a session.
pub(crate) struct SessionOwner<'a> {
    pub(crate) principal: &'a str,
    pub(crate) agent: &'a str,
    pub(crate) mode: Mode,
}

impl SessionOwner<'_> {
    /// Checks that the session is joined under its own principal, agent and mode. The principal
    /// goes first, so that another one learns nothing else.
    pub(crate) fn check(&self, request: &OpenRequest) -> Result<(), OpenError> {
        let id = || request.id.clone();
        if *self.principal != *request.principal {
            return Err(OpenError::OtherPrincipal { id: id() });
        }
        if *self.agent != *request.agent {
            return Err(OpenError::OtherAgent { id: id() });
        }
        if self.mode != request.mode {
            return Err(OpenError::OtherMode {
                id: id(),
                open: self.mode,
            });
        }
        Ok(())
    }
}

/// A number of 128 bits as hexadecimal digits.
mod hexadecimal {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        number: &u128,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{number:032x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<u128, D::Error> {
        let text = String::deserialize(deserializer)?;
        u128::from_str_radix(&text, 16).map_err(|_| D::Error::custom("expected hexadecimal digits"))
    }
}
