//! Sessions in this process's memory: the default store.

mod attempts;
mod ledger;
mod record;
mod tokens;

use super::{OpenError, Opening, Operation, SessionRecord, SessionStore, StoreError};
use record::MemoryRecord;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

/// Keeps sessions in memory: they end with the process.
///
/// A session that nobody uses for as long as the policy says is over, and makes room when room is needed.
#[derive(Default)]
pub struct MemoryStore {
    sessions: Mutex<HashMap<Arc<str>, Arc<MemoryRecord>>>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<MemoryRecord>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join_or_make(&self, opening: &Opening, now: Instant) -> Result<Arc<dyn SessionRecord>, OpenError> {
        let mut sessions = self.lock();
        if let Some(open) = sessions.get(opening.id.as_str()).filter(|record| record.touch(now)) {
            if open.mode() != opening.mode {
                return Err(OpenError::OtherMode { id: opening.id.clone(), open: open.mode() });
            }
            return Ok(Arc::clone(open) as _);
        }
        if sessions.len() as u64 >= opening.max_sessions {
            // What is over makes room; what lives is never put out.
            sessions.retain(|_, record| record.is_open(now));
            if sessions.len() as u64 >= opening.max_sessions {
                return Err(OpenError::Full { limit: opening.max_sessions });
            }
        }
        let record = Arc::new(MemoryRecord::new(opening, now));
        sessions.insert(opening.id.shared(), Arc::clone(&record));
        Ok(record)
    }
}

impl SessionStore for MemoryStore {
    fn open<'a>(&'a self, opening: &'a Opening) -> Operation<'a, Result<Arc<dyn SessionRecord>, OpenError>> {
        Operation::Ready(self.join_or_make(opening, Instant::now()))
    }

    fn sessions(&self) -> Operation<'_, Result<u64, StoreError>> {
        let now = Instant::now();
        let mut sessions = self.lock();
        sessions.retain(|_, record| record.is_open(now));
        Operation::Ready(Ok(sessions.len() as u64))
    }
}
