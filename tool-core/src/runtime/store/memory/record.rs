//! One session in memory: its books behind a lock that no call holds while it waits.

use super::Sessions;
use super::ledger::Ledger;
use super::tokens::Tokens;
use crate::runtime::state::{AuditEntry, SessionState, StateChange};
use crate::runtime::store::{
    Admission, Opening, Operation, PendingCall, SessionRecord, Settlement, StoreError, Verdict,
};
use crate::tool::Mode;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::time::Instant;

// In this order, so that what every call reads stands in one place: of very many sessions most are in no cache.
#[repr(C, align(128))]
pub(super) struct MemoryRecord {
    books: Mutex<Books>,
    mode: Mode,
    id: Arc<str>,
    /// Where it is found while it is open.
    among: Weak<Sessions>,
}

#[repr(C)]
struct Books {
    over: bool,
    used: Instant,
    idle: Duration,
    ledger: Ledger,
    state: Arc<SessionState>,
    /// Made when there is something to keep, as few sessions have it.
    kept: Option<Box<Kept>>,
    history: usize,
}

#[derive(Default)]
struct Kept {
    tokens: Tokens,
    audit: VecDeque<AuditEntry>,
}

/// The entries of the audit log that are kept.
const AUDIT: usize = 1000;

impl MemoryRecord {
    pub(super) fn new(opening: &Opening, now: Instant, among: &Arc<Sessions>) -> Self {
        let books = Books {
            over: false,
            used: now,
            idle: opening.idle,
            ledger: Ledger::default(),
            state: Arc::default(),
            kept: None,
            history: opening.history,
        };
        let (mode, id) = (opening.mode, opening.id.shared());
        Self { books: Mutex::new(books), mode, id, among: Arc::downgrade(among) }
    }

    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    pub(super) fn is_open(&self, now: Instant) -> bool {
        let books = self.lock();
        !books.over && now.saturating_duration_since(books.used) < books.idle
    }

    /// Uses the session, where it is open.
    pub(super) fn touch(&self, now: Instant) -> bool {
        self.open(now).is_some()
    }

    /// The books, where the session is open. R-I3
    #[inline]
    fn open(&self, now: Instant) -> Option<MutexGuard<'_, Books>> {
        let mut books = self.lock();
        if books.over || now.saturating_duration_since(books.used) >= books.idle {
            books.close();
            return None;
        }
        books.used = now;
        Some(books)
    }

    /// It is over for good.
    fn forget(&self) {
        if let Some(among) = self.among.upgrade() {
            among.forget(&self.id, self);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books {
    fn close(&mut self) {
        if !self.over {
            self.over = true;
            Arc::make_mut(&mut self.state).ended = true;
            // The audit log is still there to be read; what waits is waited for no more.
            if let Some(kept) = &mut self.kept {
                kept.tokens = Tokens::default();
            }
        }
    }

    fn change(&mut self, changes: &[StateChange]) {
        if changes.is_empty() {
            return;
        }
        let state = Arc::make_mut(&mut self.state);
        for change in changes {
            state.apply(change);
        }
    }

    fn kept(&mut self) -> &mut Kept {
        self.kept.get_or_insert_default()
    }
}

impl SessionRecord for MemoryRecord {
    #[inline]
    fn admit<'a>(&'a self, call: &'a Admission<'a>) -> Operation<'a, Result<Verdict, StoreError>> {
        Operation::Ready(Ok(match self.open(call.now) {
            None => Verdict::Inactive,
            Some(mut books) => match books.ledger.admit(call) {
                Ok(turn) => Verdict::Admitted { turn },
                Err(refusal) => Verdict::Refused(refusal),
            },
        }))
    }

    fn settle<'a>(&'a self, settlement: &'a Settlement<'a>) -> Operation<'a, Result<(), StoreError>> {
        // What a call leaves behind is recorded whenever it ends, unless the session is over.
        let mut books = self.lock();
        books.ledger.settle(settlement);
        if !books.over {
            books.change(settlement.changes);
        }
        for entry in settlement.audit {
            let audit = &mut books.kept().audit;
            if audit.len() == AUDIT {
                audit.pop_front();
            }
            audit.push_back(entry.clone());
        }
        Operation::Ready(Ok(()))
    }

    fn next_turn(&self) -> Operation<'_, Result<Option<u64>, StoreError>> {
        let Some(mut books) = self.open(Instant::now()) else { return Operation::Ready(Ok(None)) };
        let (history, mode) = (books.history, self.mode);
        let turn = books.ledger.next_turn(history);
        if *books.state != SessionState::default() {
            books.state = Arc::new(books.state.after_turn(mode));
        }
        if books.state.ended {
            books.close();
            books.over = true;
            drop(books);
            self.forget();
            return Operation::Ready(Ok(None));
        }
        Operation::Ready(Ok(Some(turn)))
    }

    fn mint<'a>(&'a self, pending: &'a PendingCall, lifetime: Duration) -> Operation<'a, Result<(), StoreError>> {
        let now = Instant::now();
        if let Some(mut books) = self.open(now) {
            books.kept().tokens.mint(pending, now + lifetime, now);
        }
        Operation::Ready(Ok(()))
    }

    fn pending<'a>(&'a self, id: &'a str) -> Operation<'a, Result<Option<PendingCall>, StoreError>> {
        let now = Instant::now();
        let books = self.open(now);
        let kept = books.as_ref().and_then(|books| books.kept.as_ref());
        Operation::Ready(Ok(kept.and_then(|kept| kept.tokens.get(id, now)).cloned()))
    }

    fn consume<'a>(&'a self, id: &'a str) -> Operation<'a, Result<bool, StoreError>> {
        let now = Instant::now();
        let mut books = self.open(now);
        let kept = books.as_mut().and_then(|books| books.kept.as_mut());
        Operation::Ready(Ok(kept.is_some_and(|kept| kept.tokens.take(id, now))))
    }

    fn change<'a>(&'a self, changes: &'a [StateChange]) -> Operation<'a, Result<(), StoreError>> {
        if let Some(mut books) = self.open(Instant::now()) {
            books.change(changes);
        }
        Operation::Ready(Ok(()))
    }

    fn end(&self) -> Operation<'_, Result<(), StoreError>> {
        self.lock().close();
        self.forget();
        Operation::Ready(Ok(()))
    }

    fn refresh(&self) -> Operation<'_, Result<(), StoreError>> {
        Operation::Ready(Ok(()))
    }

    fn turn(&self) -> u64 {
        self.lock().ledger.turn()
    }

    fn state(&self) -> Arc<SessionState> {
        Arc::clone(&self.lock().state)
    }

    fn audit(&self) -> Vec<AuditEntry> {
        self.lock().kept.as_ref().map_or_else(Vec::new, |kept| kept.audit.iter().cloned().collect())
    }
}
