//! Changes that a store reports, so that a reader need not ask again and again.

use crate::session::state::SessionId;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// A change in a store. It was made in this process, in another one, or by hand.
///
/// A change names ids only. Read what has changed from the store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreChange {
    /// Anything may have changed. Read again what you show or keep.
    ///
    /// This comes first, after changes may have been missed, and at an interval if the store cannot
    /// be notified.
    Unknown,
    /// The records of an agent have changed.
    Agent {
        /// The agent's id.
        agent: String,
    },
    /// A call waits for a person's approval, or waits no longer.
    Approval {
        /// The principal of the call's session; empty if it has none.
        principal: String,
        /// The session.
        session: SessionId,
        /// The call, as in [`PendingCall::id`](crate::session::PendingCall::id).
        id: String,
        /// The state of the call.
        state: ApprovalState,
    },
    /// A grant was given, or is over.
    Grant {
        /// The principal of the grant's session; empty if it has none.
        principal: String,
        /// The session.
        session: SessionId,
        /// The grant, as in [`CallGrant::id`](crate::session::CallGrant::id).
        id: String,
        /// True if it was given, and false if it was revoked or its session has ended. A grant that
        /// ends by its time is no change.
        is_given: bool,
    },
}

/// The state of a call that waits for a person's approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ApprovalState {
    /// The call waits.
    Waits,
    /// A person has decided on it, or its session has ended.
    Over,
    /// Its lifetime has passed.
    Expired,
}

impl StoreChange {
    /// Returns true if a principal's calls that wait for approval, or its grants, may have changed.
    ///
    /// ```
    /// use tool_core::session::{ApprovalState, StoreChange};
    ///
    /// let change = StoreChange::Approval {
    ///     principal: "user:7".into(),
    ///     session: "chat-42".into(),
    ///     id: "5f3a".into(),
    ///     state: ApprovalState::Waits,
    /// };
    /// assert!(change.concerns("user:7"));
    /// assert!(!change.concerns("user:8"));
    /// assert!(StoreChange::Unknown.concerns("user:8"));
    /// ```
    pub fn concerns(&self, principal: &str) -> bool {
        match self {
            Self::Unknown => true,
            Self::Agent { .. } => false,
            Self::Approval {
                principal: changed, ..
            }
            | Self::Grant {
                principal: changed, ..
            } => changed == principal,
        }
    }
}

/// The changes of a store, as they are made. A store that notices changes returns them, for
/// example `PostgresStore::changes` of `tool-adapters`.
///
/// The first item is always [`StoreChange::Unknown`], so that a loop begins by reading what there is.
/// A reader that is slow gets one `Unknown` in place of the changes that it has missed. A change may
/// come twice.
///
/// ```
/// use tokio::sync::broadcast;
/// use tool_core::session::{StoreChange, StoreChanges};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// // A store of your own:
/// let (store, receiver) = broadcast::channel(1_000);
/// let mut changes = StoreChanges::new(receiver);
/// store.send(StoreChange::Agent { agent: "alice".into() }).expect("a reader");
///
/// assert_eq!(changes.next().await, Some(StoreChange::Unknown));
/// assert_eq!(changes.next().await, Some(StoreChange::Agent { agent: "alice".into() }));
/// drop(store);
/// assert_eq!(changes.next().await, None);
/// # }
/// ```
#[derive(Debug)]
pub struct StoreChanges {
    receiver: Receiver<StoreChange>,
    has_begun: bool,
}

impl StoreChanges {
    /// Creates the changes that a store sends. For stores.
    pub fn new(receiver: Receiver<StoreChange>) -> Self {
        Self {
            receiver,
            has_begun: false,
        }
    }

    /// Waits for the next change. Returns `None` once the store is closed. If you drop the future,
    /// no change is lost.
    pub async fn next(&mut self) -> Option<StoreChange> {
        if !self.has_begun {
            self.has_begun = true;
            return Some(StoreChange::Unknown);
        }
        match self.receiver.recv().await {
            Ok(change) => Some(change),
            Err(RecvError::Lagged(_)) => Some(StoreChange::Unknown),
            Err(RecvError::Closed) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::broadcast;

    #[tokio::test]
    async fn a_reader_that_was_too_slow_reads_everything_again() {
        let (sender, receiver) = broadcast::channel(2);
        let mut changes = StoreChanges::new(receiver);
        assert_eq!(changes.next().await, Some(StoreChange::Unknown));

        for agent in ["a", "b", "c", "d"] {
            let agent = agent.to_owned();
            sender.send(StoreChange::Agent { agent }).expect("a reader");
        }
        assert_eq!(changes.next().await, Some(StoreChange::Unknown));
        let agent = "c".to_owned();
        assert_eq!(changes.next().await, Some(StoreChange::Agent { agent }));
    }
}
