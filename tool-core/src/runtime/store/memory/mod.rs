//! Sessions in this process's memory: the default store.

mod attempts;
mod ledger;
mod record;
mod tokens;

use super::{OpenError, Opening, Operation, SessionRecord, SessionStore, StoreError};
use record::MemoryRecord;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
struct Sessions(Mutex<Open>);

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

    fn join_or_make(&self, opening: &Opening, now: Instant) -> Result<Arc<dyn SessionRecord>, OpenError> {
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
    fn open<'a>(&'a self, opening: &'a Opening) -> Operation<'a, Result<Arc<dyn SessionRecord>, OpenError>> {
        Operation::Ready(self.join_or_make(opening, Instant::now()))
    }

    fn sessions(&self) -> Operation<'_, Result<u64, StoreError>> {
        let now = Instant::now();
        let mut sessions = self.sessions.lock();
        sessions.records.retain(|_, record| record.is_open(now));
        Operation::Ready(Ok(sessions.records.len() as u64))
    }
}
