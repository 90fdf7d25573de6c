//! The journal and the store of a runtime, for packages of this repository that share more than
//! calls between processes.
//!
//! A journal keeps a text under two names, and knows whether the process that has written it lives.
//! That is enough for other work, too: its beginning is the start of an entry, its end the
//! response, and a message between two processes is an entry that has both at once.

use crate::call::Mode;
use crate::session::approvals::random;
use crate::session::inner::RuntimeInner;
use crate::session::journal::{
    DynJournal, JournalEntry, JournalError, JournalStart, RecoveredCall,
};
use crate::session::runtime::Runtime;
use crate::session::shared_limits::SharedLimit;
use crate::session::store::handle::within;
use crate::session::store::{PermitRequest, PermitVerdict, StoreError};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

impl Runtime {
    /// Returns the records that this runtime's processes share, under the deadline of a mode's
    /// policy. Returns `None` without a [journal](super::RuntimeBuilder::journal).
    #[doc(hidden)]
    pub fn shared_records(&self, mode: Mode) -> Option<SharedRecords> {
        self.0.journal.as_ref()?;
        let policies = Arc::clone(&self.0.tools().policies);
        let deadline = policies.get(mode as usize)?.store_deadline;
        Some(SharedRecords {
            runtime: Arc::clone(&self.0),
            deadline,
        })
    }
}

/// The journal of a runtime, whose entries are sealed as those of calls are, and its store.
#[doc(hidden)]
#[derive(Clone)]
pub struct SharedRecords {
    runtime: Arc<RuntimeInner>,
    /// The time that each operation may take.
    deadline: Duration,
}

impl SharedRecords {
    fn journal(&self) -> Result<&Arc<dyn DynJournal>, JournalError> {
        let missing = || JournalError::new("the runtime has no journal");
        self.runtime.journal.as_ref().ok_or_else(missing)
    }

    async fn within<T>(
        &self,
        operation: impl Future<Output = Result<T, JournalError>>,
    ) -> Result<T, JournalError> {
        within(self.deadline, operation, JournalError::timeout).await
    }

    /// Seals an entry, and records it as [`Journal::started`](super::Journal::started) does.
    pub async fn started(&self, entry: &mut JournalEntry) -> Result<JournalStart, JournalError> {
        entry.seal = self.runtime.journal_sealer.seal(entry);
        self.within(self.journal()?.started(entry)).await
    }

    /// Records the end of an entry that this process has started: the text of a JSON object that is
    /// not empty.
    pub async fn finished(&self, entry: &JournalEntry, end: String) -> Result<(), JournalError> {
        let sealer = &self.runtime.journal_sealer;
        let end = sealer.seal_response(entry.seal.as_deref(), end);
        let finished = self
            .journal()?
            .finished(&entry.session, &entry.call_id, &end);
        self.within(finished).await
    }

    /// Returns what is known of an entry of another process.
    pub async fn find(
        &self,
        session: &str,
        call_id: &str,
    ) -> Result<Option<JournalStart>, JournalError> {
        self.within(self.journal()?.find(session, call_id)).await
    }

    /// Returns the entries of other processes that have ended, or whose process has.
    pub async fn recover(&self, session: &str) -> Result<Vec<RecoveredCall>, JournalError> {
        self.within(self.journal()?.recover(session)).await
    }

    /// Removes all entries of a session.
    pub async fn forget(&self, session: &str) -> Result<(), JournalError> {
        self.within(self.journal()?.forget(session)).await
    }

    /// Returns true if an entry and its end are as they were written.
    pub fn is_genuine(&self, record: &RecoveredCall) -> bool {
        self.runtime.journal_sealer.is_genuine(record)
    }

    /// Takes one of the places that a key has in the store of sessions, for a time at most. Returns
    /// `None` if none is free.
    pub async fn take_place(
        &self,
        key: &str,
        places: u32,
        lease: Duration,
    ) -> Result<Option<SharedPlace>, StoreError> {
        let mut limit = SharedLimit::new(key);
        limit.concurrent = Some(places);
        let place = SharedPlace {
            runtime: Arc::clone(&self.runtime),
            limit: [limit],
            holder: u128::from_ne_bytes(random()),
            lease,
            deadline: self.deadline,
        };
        let request = PermitRequest::new(&place.limit, place.holder, lease);
        let asked = self.runtime.store.acquire_permit(&request);
        let verdict = within(self.deadline, asked, StoreError::timeout).await?;
        Ok((verdict == PermitVerdict::Granted).then_some(place))
    }
}

impl fmt::Debug for SharedRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedRecords").finish_non_exhaustive()
    }
}

/// One of the places that a key has. Dropped, it is free again.
#[doc(hidden)]
pub struct SharedPlace {
    runtime: Arc<RuntimeInner>,
    limit: [SharedLimit; 1],
    holder: u128,
    lease: Duration,
    deadline: Duration,
}

impl Drop for SharedPlace {
    fn drop(&mut self) {
        let Ok(handle) = Handle::try_current() else {
            // The lease ends by itself.
            return;
        };
        let runtime = Arc::clone(&self.runtime);
        let limit = self.limit.clone();
        let holder = self.holder;
        let lease = self.lease;
        let deadline = self.deadline;
        handle.spawn(async move {
            let request = PermitRequest::new(&limit, holder, lease);
            let released = runtime.store.release_permit(&request);
            if let Err(error) = within(deadline, released, StoreError::timeout).await {
                tracing::warn!(%error, "a place stays taken until its lease ends");
            }
        });
    }
}

impl fmt::Debug for SharedPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedPlace")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
