//! Sessions in this process's memory: the default store.

use crate::call::mode::Mode;
use crate::session::approvals::PendingCall;
use crate::session::state::{AuditEntry, SessionState, StateChange};
use crate::session::store::admission::{Admission, Settlement, Verdict};
use crate::session::store::turn_usage::Ledger;
use crate::session::store::{OpenError, OpenRequest, Operation, SessionRecord, SessionStore, StoreError};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::time::Instant;

/// Keeps sessions in memory: they end with the process.
///
/// A session that nobody uses for as long as the policy says is over, and makes room when room is needed.
#[derive(Default)]
pub struct MemoryStore {
    sessions: Arc<Sessions>,
}

/// The sessions by id. A record that ends leaves by itself, so that only what lives takes memory.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<Open>);

#[derive(Default)]
struct Open {
    records: HashMap<Arc<str>, Arc<MemoryRecord>>,
    /// When it was last looked for sessions that are over.
    swept: Option<Instant>,
}

impl Open {
    /// Puts out what is over, but not again and again: at the cap every caller who is refused would go through all.
    fn sweep(&mut self, now: Instant, idle: Duration) {
        let pause = (idle / 16).min(Duration::from_secs(1));
        if self.swept.is_none_or(|last| now.saturating_duration_since(last) >= pause) {
            self.records.retain(|_, record| record.is_open(now));
            self.swept = Some(now);
        }
    }
}

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Called by a record that holds none of its own locks: whoever opens a session takes this one first.
    fn forget(&self, id: &str, record: &MemoryRecord) {
        let records = &mut self.lock().records;
        if records.get(id).is_some_and(|known| std::ptr::eq(&raw const **known, record)) {
            records.remove(id);
        }
    }
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn join_or_make(&self, opening: &OpenRequest, now: Instant) -> Result<Arc<dyn SessionRecord>, OpenError> {
        let mut sessions = self.sessions.lock();
        if let Some(open) = sessions.records.get(opening.id.as_str()).filter(|record| record.touch(now)) {
            if open.mode() != opening.mode {
                return Err(OpenError::OtherMode { id: opening.id.clone(), open: open.mode() });
            }
            return Ok(Arc::clone(open) as _);
        }
        if sessions.records.len() as u64 >= opening.max_sessions {
            // What is over makes room; what lives is never put out.
            sessions.sweep(now, opening.idle);
            if sessions.records.len() as u64 >= opening.max_sessions {
                return Err(OpenError::Full { limit: opening.max_sessions });
            }
        }
        let record = Arc::new(MemoryRecord::new(opening, now, &self.sessions));
        sessions.records.insert(opening.id.shared(), Arc::clone(&record));
        Ok(record)
    }
}

impl SessionStore for MemoryStore {
    fn open<'a>(&'a self, opening: &'a OpenRequest) -> Operation<'a, Result<Arc<dyn SessionRecord>, OpenError>> {
        Operation::Ready(self.join_or_make(opening, Instant::now()))
    }

    fn sessions(&self) -> Operation<'_, Result<u64, StoreError>> {
        let now = Instant::now();
        let mut sessions = self.sessions.lock();
        sessions.records.retain(|_, record| record.is_open(now));
        Operation::Ready(Ok(sessions.records.len() as u64))
    }
}

// ---- One session in memory: its books behind a lock that no call holds while it waits.

// In this order, so that what every call reads stands in one place: of very many sessions most are in no cache.
#[repr(C, align(128))]
pub(crate) struct MemoryRecord {
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
    pub(crate) fn new(opening: &OpenRequest, now: Instant, among: &Arc<Sessions>) -> Self {
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

    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    pub(crate) fn is_open(&self, now: Instant) -> bool {
        let books = self.lock();
        !books.over && now.saturating_duration_since(books.used) < books.idle
    }

    /// Uses the session, where it is open.
    pub(crate) fn touch(&self, now: Instant) -> bool {
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

// ---- Calls that wait for a person, each taken once.

/// The calls of one session that wait.
#[derive(Default)]
pub(crate) struct Tokens(HashMap<String, (Instant, PendingCall)>);

/// The calls of one session that may wait; the one that would expire first gives way.
const WAITING: usize = 256;

impl Tokens {
    pub(crate) fn mint(&mut self, pending: &PendingCall, expires: Instant, now: Instant) {
        self.0.retain(|_, (until, _)| *until > now);
        if self.0.len() >= WAITING
            && let Some(first) = self.0.iter().min_by_key(|(_, (until, _))| *until).map(|(id, _)| id.clone())
        {
            self.0.remove(&first);
        }
        self.0.insert(pending.id.clone(), (expires, pending.clone()));
    }

    pub(crate) fn get(&self, id: &str, now: Instant) -> Option<&PendingCall> {
        self.0.get(id).filter(|(until, _)| *until > now).map(|(_, pending)| pending)
    }

    pub(crate) fn take(&mut self, id: &str, now: Instant) -> bool {
        self.0.remove(id).is_some_and(|(until, _)| until > now)
    }
}
