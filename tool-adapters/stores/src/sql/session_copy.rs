//! A copy of a session, which a process reads without asking the database.

use parking_lot::Mutex;
use std::sync::Arc;
use tool_core::Mode;
use tool_core::session::{SessionState, StoredSession};

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
}

impl SessionCopy {
    /// Takes over the session as the database has it.
    pub(crate) fn update(&self, session: &StoredSession) {
        let mut copy = self.0.lock();
        if copy.changes.is_none_or(|known| known < session.changes()) {
            copy.changes = Some(session.changes());
            copy.turn = session.turn();
            copy.mode = session.mode();
            copy.state = Arc::clone(session.state());
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
}
