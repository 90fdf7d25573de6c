//! A call that passes the host's layers.

use crate::session::audit::AuditEntry;
use crate::session::inner::SessionInner;
use parking_lot::Mutex;
use std::mem;
use std::sync::{Arc, Weak};

/// A call that passes its session's layers, with its entry in the audit log if they drop it while it
/// runs. They may answer the call themselves, and its one entry tells of that answer.
pub(crate) struct PassingCall {
    session: Weak<SessionInner>,
    state: Mutex<DropState>,
}

#[derive(Default)]
enum DropState {
    /// The layers have the call.
    #[default]
    Open,
    /// They have dropped it.
    Dropped(Box<AuditEntry>),
    /// They have answered it.
    Answered,
    /// Its caller waits for no answer any more.
    Left,
}

impl PassingCall {
    pub(crate) fn of(session: &Arc<SessionInner>) -> Self {
        Self {
            session: Arc::downgrade(session),
            state: Mutex::default(),
        }
    }

    /// Returns the session that makes the call.
    pub(crate) fn session(&self) -> Option<Arc<SessionInner>> {
        self.session.upgrade()
    }

    /// Leaves the entry of a call that was dropped to its layers. Returns the entry if they no longer
    /// have the call, so that it has to be logged.
    pub(crate) fn leave(&self, entry: AuditEntry) -> Option<AuditEntry> {
        let mut state = self.state.lock();
        match *state {
            DropState::Open | DropState::Dropped(_) => {
                *state = DropState::Dropped(Box::new(entry));
                None
            }
            DropState::Answered => None,
            DropState::Left => Some(entry),
        }
    }

    /// Takes note that the layers have answered the call, and returns the entry if they have dropped
    /// it.
    pub(crate) fn answer(&self) -> Option<Box<AuditEntry>> {
        self.end(DropState::Answered)
    }

    /// Takes note that the layers no longer have the call, and returns the entry if they have dropped
    /// it and not answered it.
    pub(crate) fn end_unanswered(&self) -> Option<Box<AuditEntry>> {
        self.end(DropState::Left)
    }

    fn end(&self, end: DropState) -> Option<Box<AuditEntry>> {
        let mut state = self.state.lock();
        if matches!(*state, DropState::Answered) {
            return None;
        }
        match mem::replace(&mut *state, end) {
            DropState::Dropped(entry) => Some(entry),
            _ => None,
        }
    }
}
