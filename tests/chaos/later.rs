//! A store and a journal with delays, as over a network.

use crate::support::pause;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use tool_core::session::SessionState;
use tool_core::session::{
    Admission, AnsweredCallRecord, ApprovalPage, ApprovalPlace, ApprovalRequest, ApprovalVerdict,
    AuditEntry, CallGrant, GrantRequest, GrantVerdict, Journal, JournalEntry, JournalError,
    JournalStart, MemoryRecord, MemoryStore, OpenError, OpenRequest, PendingCall, PermitRequest,
    PermitVerdict, RecoveredCall, SessionCall, SessionRecord, SessionStore, Settlement,
    StateChange, StoreError, Turn, Verdict,
};
use tool_core::{Mode, SessionId};

/// Alters a pending call, as an attacker with access to the store would.
pub type Tamper = Arc<Mutex<Option<(fn(&mut PendingCall, u32), u32)>>>;

#[derive(Clone, Copy, Default)]
struct Waits {
    /// Before the store applies the operation.
    before: usize,
    /// After the store has applied the operation, before its answer arrives.
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
    /// The error of the broken store.
    says: OnceLock<&'static str>,
    /// The store does not answer.
    hangs: AtomicBool,
}

impl LaterStore {
    /// Makes every operation on a session fail with this error.
    pub fn breaks(&self, why: &'static str) {
        self.fault.says.set(why).expect("breaks once");
    }

    /// Makes the store hang, or answer again.
    pub fn hangs(&self, yes: bool) {
        self.fault.hangs.store(yes, Ordering::SeqCst);
    }

    pub fn waiting(before: usize, after: usize) -> Self {
        Self {
            waits: Waits { before, after },
            ..Self::default()
        }
    }
}

pub struct LaterRecord {
    inner: Arc<MemoryRecord>,
    waits: Waits,
    tamper: Tamper,
    fault: Arc<Fault>,
}

impl LaterRecord {
    async fn does<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        if let Some(why) = self.fault.says.get() {
            return Err(StoreError::new(*why));
        }
        if self.fault.hangs.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        self.waits.around(work).await
    }
}

impl Waits {
    async fn around<T>(self, work: impl Future<Output = T>) -> T {
        for _ in 0..self.before {
            pause().await;
        }
        let done = work.await;
        for _ in 0..self.after {
            pause().await;
        }
        done
    }
}

impl SessionStore for LaterStore {
    type Record = LaterRecord;

    async fn open(&self, request: &OpenRequest) -> Result<Arc<LaterRecord>, OpenError> {
        let inner = self.waits.around(self.inner.open(request)).await?;
        let (tamper, fault) = (Arc::clone(&self.tamper), Arc::clone(&self.fault));
        Ok(Arc::new(LaterRecord {
            inner,
            waits: self.waits,
            tamper,
            fault,
        }))
    }

    async fn sessions(&self) -> Result<u64, StoreError> {
        self.inner.sessions().await
    }

    async fn calls(&self, id: &SessionId) -> Result<Vec<SessionCall>, StoreError> {
        self.waits.around(self.inner.calls(id)).await
    }

    async fn approvals_of(
        &self,
        principal: &str,
        after: Option<&ApprovalPlace>,
        limit: u32,
    ) -> Result<ApprovalPage, StoreError> {
        let page = self.inner.approvals_of(principal, after, limit);
        self.waits.around(page).await
    }

    async fn acquire_permit(
        &self,
        request: &PermitRequest<'_>,
    ) -> Result<PermitVerdict, StoreError> {
        self.waits.around(self.inner.acquire_permit(request)).await
    }

    async fn extend_permit(&self, request: &PermitRequest<'_>) -> Result<(), StoreError> {
        self.waits.around(self.inner.extend_permit(request)).await
    }

    async fn release_permit(&self, request: &PermitRequest<'_>) -> Result<(), StoreError> {
        self.waits.around(self.inner.release_permit(request)).await
    }
}

impl SessionRecord for LaterRecord {
    async fn admit(&self, call: &Admission<'_>) -> Result<Verdict, StoreError> {
        self.does(self.inner.admit(call)).await
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<(), StoreError> {
        self.does(self.inner.settle(settlement)).await
    }

    async fn keep_call(&self, call: &AnsweredCallRecord<'_>) -> Result<(), StoreError> {
        self.does(self.inner.keep_call(call)).await
    }

    async fn calls(&self) -> Result<Vec<SessionCall>, StoreError> {
        self.does(self.inner.calls()).await
    }

    async fn next_turn(&self) -> Result<Turn, StoreError> {
        self.does(self.inner.next_turn()).await
    }

    async fn mint(&self, request: &ApprovalRequest<'_>) -> Result<ApprovalVerdict, StoreError> {
        self.does(self.inner.mint(request)).await
    }

    async fn pending(&self, id: &str) -> Result<Option<PendingCall>, StoreError> {
        let mut found = self.does(self.inner.pending(id)).await?;
        if let (Some(pending), Some((change, n))) =
            (&mut found, *self.tamper.lock().expect("sound"))
        {
            change(pending, n);
        }
        Ok(found)
    }

    async fn consume(&self, id: &str) -> Result<bool, StoreError> {
        self.does(self.inner.consume(id)).await
    }

    async fn grant(&self, request: &GrantRequest<'_>) -> Result<GrantVerdict, StoreError> {
        self.does(self.inner.grant(request)).await
    }

    async fn grants(&self) -> Result<Vec<CallGrant>, StoreError> {
        self.does(self.inner.grants()).await
    }

    async fn revoke(&self, grant: &str) -> Result<bool, StoreError> {
        self.does(self.inner.revoke(grant)).await
    }

    async fn change(&self, changes: &[StateChange]) -> Result<(), StoreError> {
        self.does(self.inner.change(changes)).await
    }

    async fn switch_mode(&self, mode: Mode) -> Result<(), StoreError> {
        self.does(self.inner.switch_mode(mode)).await
    }

    async fn end(&self) -> Result<bool, StoreError> {
        self.does(self.inner.end()).await
    }

    async fn refresh(&self) -> Result<(), StoreError> {
        self.inner.refresh().await
    }

    fn incarnation(&self) -> u128 {
        self.inner.incarnation()
    }

    fn mode(&self) -> Mode {
        self.inner.mode()
    }

    fn turn(&self) -> u64 {
        self.inner.turn()
    }

    fn state(&self) -> Arc<SessionState> {
        self.inner.state()
    }

    async fn audit(&self) -> Result<Vec<AuditEntry>, StoreError> {
        BOTH.around(self.inner.audit()).await
    }
}

/// A journal that waits and keeps no entry.
pub struct LaterJournal;

const BOTH: Waits = Waits {
    before: 1,
    after: 1,
};

impl Journal for LaterJournal {
    async fn started(&self, _: &JournalEntry) -> Result<JournalStart, JournalError> {
        BOTH.around(async { Ok(JournalStart::Recorded) }).await
    }

    async fn finished(&self, _: &str, _: &str, _: &str) -> Result<(), JournalError> {
        BOTH.around(async { Ok(()) }).await
    }

    async fn recover(&self, _: &str) -> Result<Vec<RecoveredCall>, JournalError> {
        BOTH.around(async { Ok(Vec::new()) }).await
    }

    async fn forget(&self, _: &str) -> Result<(), JournalError> {
        BOTH.around(async { Ok(()) }).await
    }
}
