//! The calls of the page's sessions that wait for approval.

use crate::inspector::sessions::PageSession;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use tool_core::call::Confirmation;

/// The approvals that are kept. Past this number, the page forgets the oldest.
const MAX_APPROVALS: usize = 256;

pub(crate) struct WaitingApprovals {
    waiting: Mutex<Vec<Arc<WaitingApproval>>>,
    /// The number of changes.
    version: watch::Sender<u64>,
}

/// A call that waits, or waited, for approval.
pub(crate) struct WaitingApproval {
    pub(crate) session: Arc<PageSession>,
    confirmation: Confirmation,
}

impl Default for WaitingApprovals {
    fn default() -> Self {
        Self { waiting: Mutex::default(), version: watch::Sender::new(0) }
    }
}

impl WaitingApproval {
    /// Returns the id of the call: the part of the token before its proof.
    pub(crate) fn id(&self) -> &str {
        self.token().split('.').next().unwrap_or_default()
    }

    /// Returns the token that approves the call.
    pub(crate) fn token(&self) -> &str {
        &self.confirmation.token
    }
}

impl WaitingApprovals {
    /// Adds the calls of a response that wait for approval.
    pub(crate) fn add<'a>(
        &self,
        session: &Arc<PageSession>,
        confirmations: impl IntoIterator<Item = &'a Confirmation>,
    ) {
        let mut waiting = self.lock();
        let before = waiting.len();
        waiting.extend(confirmations.into_iter().map(|confirmation| {
            Arc::new(WaitingApproval { session: Arc::clone(session), confirmation: confirmation.clone() })
        }));
        let (added, surplus) = (waiting.len() > before, waiting.len().saturating_sub(MAX_APPROVALS));
        waiting.drain(..surplus);
        drop(waiting);
        if added {
            self.changed();
        }
    }

    /// Removes and returns the approval with this id.
    pub(crate) fn take(&self, id: &str) -> Option<Arc<WaitingApproval>> {
        let mut waiting = self.lock();
        let at = waiting.iter().position(|approval| approval.id() == id)?;
        let taken = waiting.remove(at);
        drop(waiting);
        self.changed();
        Some(taken)
    }

    /// Adds an approval again whose call still waits.
    pub(crate) fn put_back(&self, approval: Arc<WaitingApproval>) {
        self.lock().push(approval);
        self.changed();
    }

    /// Returns the calls that still wait as JSON, the oldest first. Forgets those that do not.
    pub(crate) async fn list_json(&self) -> Value {
        let (mut listed, known) = (Vec::new(), self.lock().clone());
        for approval in known {
            let (session, confirmation) = (&approval.session, &approval.confirmation);
            match session.session.pending_call(approval.token()).await {
                Ok(pending) => listed.push(json!({
                    "id": approval.id(),
                    "session": session.session.id().as_str(),
                    "principal": session.principal,
                    "tool": pending.tool,
                    "callId": pending.call_id,
                    "summary": confirmation.summary,
                    "payload": pending.payload(),
                    "digest": confirmation.digest,
                    "expiresAt": confirmation.expires_at,
                })),
                // The store may be down for a moment.
                Err(error) if error.kind() == tool_core::ErrorKind::Transient => {}
                Err(_) => self.lock().retain(|other| !Arc::ptr_eq(other, &approval)),
            }
        }
        listed.into()
    }

    /// Returns a receiver that wakes its reader after each change.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Wakes the readers, as a session has changed.
    pub(crate) fn changed(&self) {
        self.version.send_modify(|version| *version += 1);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<WaitingApproval>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
