//! A copy of a session, which a process reads without asking the database.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use tool_core::Mode;
use tool_core::session::{AuditEntry, SessionState, StoredSession};

/// Maximum number of entries of the audit log that are kept.
pub(crate) const MAX_ENTRIES: u64 = 1000;

/// A copy of the parts of a session that are read without waiting. Answers may arrive in another
/// order than the database gave them, so that older ones change nothing.
#[derive(Default)]
pub(crate) struct SessionCopy(Mutex<CopiedSession>);

#[derive(Default)]
struct CopiedSession {
    turn: u64,
    mode: Mode,
    state: Arc<SessionState>,
    /// The changes that the session has had. `None` until the first answer.
    changes: Option<u64>,
    /// The entries that the audit log has had.
    entries: u64,
    audit: VecDeque<AuditEntry>,
}

/// An entry of the audit log with its number.
pub(crate) struct NumberedEntry {
    pub(crate) number: u64,
    /// `None` if it cannot be read.
    pub(crate) entry: Option<AuditEntry>,
}

impl SessionCopy {
    /// Takes over the session as the database has it, and the entries of the log that are new.
    pub(crate) fn update(&self, session: &StoredSession, new: Vec<NumberedEntry>) {
        let mut copy = self.0.lock();
        if copy.changes.is_none_or(|known| known < session.changes()) {
            copy.changes = Some(session.changes());
            copy.turn = session.turn();
            copy.mode = session.mode();
            copy.state = Arc::clone(session.state());
        }
        for NumberedEntry { number, entry } in new {
            if number < copy.entries {
                continue;
            }
            copy.entries = number + 1;
            copy.audit.extend(entry);
            if copy.audit.len() as u64 > MAX_ENTRIES {
                copy.audit.pop_front();
            }
        }
    }

    /// Marks the session as ended.
    pub(crate) fn close(&self) {
        let mut copy = self.0.lock();
        if !copy.state.ended {
            Arc::make_mut(&mut copy.state).ended = true;
        }
    }

    pub(crate) fn turn(&self) -> u64 {
        self.0.lock().turn
    }

    pub(crate) fn mode(&self) -> Mode {
        self.0.lock().mode
    }

    pub(crate) fn state(&self) -> Arc<SessionState> {
        Arc::clone(&self.0.lock().state)
    }

    /// Returns the number of entries that the audit log has had, as far as they are known here.
    pub(crate) fn entries(&self) -> u64 {
        self.0.lock().entries
    }

    pub(crate) fn audit(&self) -> Vec<AuditEntry> {
        self.0.lock().audit.iter().cloned().collect()
    }
}
