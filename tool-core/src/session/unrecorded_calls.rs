//! The calls of steps whose responses an engine has not recorded. If it runs the step again in this process, the call is
//! answered from here: the journal tells each process of the calls of the others, and not of its own.

use crate::session::journal::{JournalEntry, RecoveredCall};
use parking_lot::Mutex;
use std::time::Duration;
use tokio::time::Instant;

/// The time after its end for which a call is kept. By then, another process runs the function.
const KEEP: Duration = Duration::from_secs(3_600);

/// The calls of steps that have begun, until an engine has recorded their responses.
#[derive(Default)]
pub(crate) struct UnrecordedCalls(Mutex<Vec<UnrecordedCall>>);

struct UnrecordedCall {
    call: RecoveredCall,
    /// `None` while the call runs.
    ended: Option<Instant>,
}

/// The knowledge of this process about a call that an engine makes again.
pub(crate) enum EarlierRun {
    /// An earlier run of the step still makes the call.
    Running,
    /// An earlier run of the step has begun the call, and makes it no longer.
    Ended(Box<RecoveredCall>),
}

impl UnrecordedCall {
    fn is(&self, session: &str, call_id: &str) -> bool {
        self.call.entry.session == session && self.call.entry.call_id == call_id
    }

    fn is_forgotten(&self) -> bool {
        self.ended.is_some_and(|ended| ended.elapsed() > KEEP)
    }
}

impl UnrecordedCalls {
    /// Keeps a call that is about to run, in place of an earlier one with its id.
    pub(crate) fn begin(&self, entry: &JournalEntry) {
        let mut calls = self.0.lock();
        calls.retain(|known| !known.is(&entry.session, &entry.call_id) && !known.is_forgotten());
        calls.push(UnrecordedCall {
            call: RecoveredCall::new(entry.clone()),
            ended: None,
        });
    }

    /// Notes the end of a call, if it is kept. Without a response it is not known whether it took effect.
    pub(crate) fn end(&self, entry: &JournalEntry, response: Option<&str>) {
        let mut calls = self.0.lock();
        let known = calls.iter_mut().find(|known| known.call.entry == *entry);
        if let Some(known) = known {
            known.call.response = response.map(str::to_owned);
            known.ended = Some(Instant::now());
        }
    }

    pub(crate) fn find(&self, session: &str, call_id: &str) -> Option<EarlierRun> {
        let calls = self.0.lock();
        let known = calls.iter().find(|known| known.is(session, call_id))?;
        if known.ended.is_none() {
            return Some(EarlierRun::Running);
        }
        Some(EarlierRun::Ended(Box::new(known.call.clone())))
    }

    /// Forgets a call whose response is recorded.
    pub(crate) fn forget(&self, session: &str, call_id: &str) {
        self.0.lock().retain(|known| !known.is(session, call_id));
    }

    /// Forgets calls of a session that are answered in another way.
    pub(crate) fn forget_if(&self, session: &str, is_answered: impl Fn(&RecoveredCall) -> bool) {
        self.0
            .lock()
            .retain(|known| known.call.entry.session != session || !is_answered(&known.call));
    }
}
