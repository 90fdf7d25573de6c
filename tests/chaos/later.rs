//! A store and a journal that answer later, as across a network: sessions in memory, with waits around each operation.

use crate::support::pause;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tool_core::session::SessionState;
use tool_core::session::{
    Admission, AuditEntry, Journal, JournalEntry, JournalError, MemoryStore, OpenError, OpenRequest, Operation,
    PendingCall, Recovered, SessionRecord, SessionStore, Settlement, StateChange, StoreError, Verdict,
};

/// Changes a call that waits, as somebody would who can write to the store.
pub type Tamper = Arc<Mutex<Option<fn(&mut PendingCall)>>>;

#[derive(Clone, Copy, Default)]
struct Waits {
    /// Before the store has done it.
    before: usize,
    /// After it was done, and before that is known here.
    after: usize,
}

#[derive(Default)]
pub struct LaterStore {
    inner: MemoryStore,
    waits: Waits,
    pub tamper: Tamper,
    fault: Arc<Fault>,
}

#[derive(Default)]
struct Fault {
    /// What the store says once it is broken.
    says: OnceLock<&'static str>,
    /// Whether it answers at all.
    hangs: AtomicBool,
}

impl LaterStore {
    /// From here on it answers every operation on a session with this.
    pub fn breaks(&self, why: &'static str) {
        self.fault.says.set(why).expect("breaks once");
    }

    /// From here on it does not answer, or does so again.
    pub fn hangs(&self, yes: bool) {
        self.fault.hangs.store(yes, Ordering::SeqCst);
    }

    pub fn waiting(before: usize, after: usize) -> Self {
        Self { waits: Waits { before, after }, ..Self::default() }
    }
}

struct LaterRecord {
    inner: Arc<dyn SessionRecord>,
    waits: Waits,
    tamper: Tamper,
    fault: Arc<Fault>,
}

impl LaterRecord {
    fn does<'a, T: Send + 'a>(
        &'a self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'a,
    ) -> Operation<'a, Result<T, StoreError>> {
        match self.fault.says.get() {
            Some(why) => Operation::Ready(Err(StoreError::new(*why))),
            None if self.fault.hangs.load(Ordering::SeqCst) => Operation::later(std::future::pending()),
            None => self.waits.around(work),
        }
    }
}

impl Waits {
    fn around<'a, T: Send + 'a>(self, work: impl Future<Output = T> + Send + 'a) -> Operation<'a, T> {
        Operation::later(async move {
            for _ in 0..self.before {
                pause().await;
            }
            let done = work.await;
            for _ in 0..self.after {
                pause().await;
            }
            done
        })
    }
}

impl SessionStore for LaterStore {
    fn open<'a>(&'a self, opening: &'a OpenRequest) -> Operation<'a, Result<Arc<dyn SessionRecord>, OpenError>> {
        self.waits.around(async {
            let inner = self.inner.open(opening).await?;
            Ok(Arc::new(LaterRecord {
                inner,
                waits: self.waits,
                tamper: Arc::clone(&self.tamper),
                fault: Arc::clone(&self.fault),
            }) as _)
        })
    }

    fn sessions(&self) -> Operation<'_, Result<u64, StoreError>> {
        self.inner.sessions()
    }
}

impl SessionRecord for LaterRecord {
    fn admit<'a>(&'a self, call: &'a Admission<'a>) -> Operation<'a, Result<Verdict, StoreError>> {
        self.does(async { self.inner.admit(call).await })
    }

    fn settle<'a>(&'a self, settlement: &'a Settlement<'a>) -> Operation<'a, Result<(), StoreError>> {
        self.does(async { self.inner.settle(settlement).await })
    }

    fn next_turn(&self) -> Operation<'_, Result<Option<u64>, StoreError>> {
        self.does(async { self.inner.next_turn().await })
    }

    fn mint<'a>(&'a self, pending: &'a PendingCall, lifetime: Duration) -> Operation<'a, Result<(), StoreError>> {
        self.does(async move { self.inner.mint(pending, lifetime).await })
    }

    fn pending<'a>(&'a self, id: &'a str) -> Operation<'a, Result<Option<PendingCall>, StoreError>> {
        self.does(async move {
            let mut found = self.inner.pending(id).await?;
            if let (Some(pending), Some(change)) = (&mut found, *self.tamper.lock().expect("sound")) {
                change(pending);
            }
            Ok(found)
        })
    }

    fn consume<'a>(&'a self, id: &'a str) -> Operation<'a, Result<bool, StoreError>> {
        self.does(async move { self.inner.consume(id).await })
    }

    fn change<'a>(&'a self, changes: &'a [StateChange]) -> Operation<'a, Result<(), StoreError>> {
        self.does(async move { self.inner.change(changes).await })
    }

    fn end(&self) -> Operation<'_, Result<(), StoreError>> {
        self.does(async { self.inner.end().await })
    }

    fn refresh(&self) -> Operation<'_, Result<(), StoreError>> {
        self.inner.refresh()
    }

    fn turn(&self) -> u64 {
        self.inner.turn()
    }

    fn state(&self) -> Arc<SessionState> {
        self.inner.state()
    }

    fn audit(&self) -> Vec<AuditEntry> {
        self.inner.audit()
    }
}

/// A journal that waits and forgets.
pub struct LaterJournal;

impl Journal for LaterJournal {
    fn started<'a>(&'a self, _: &'a JournalEntry) -> Operation<'a, Result<(), JournalError>> {
        Waits { before: 1, after: 1 }.around(async { Ok(()) })
    }

    fn finished<'a>(&'a self, _: &'a str, _: &'a str, _: &'a str) -> Operation<'a, Result<(), JournalError>> {
        Waits { before: 1, after: 1 }.around(async { Ok(()) })
    }

    fn recover<'a>(&'a self, _: &'a str) -> Operation<'a, Result<Vec<Recovered>, JournalError>> {
        Waits { before: 1, after: 1 }.around(async { Ok(Vec::new()) })
    }

    fn forget<'a>(&'a self, _: &'a str) -> Operation<'a, Result<(), JournalError>> {
        Waits { before: 1, after: 1 }.around(async { Ok(()) })
    }
}
