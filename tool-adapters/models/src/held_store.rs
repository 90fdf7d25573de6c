//! A session store for tests, whose look-ups of calls that wait are slow or fail.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tool_core::session::{
    Admission, AnsweredCallRecord, ApprovalPage, ApprovalPlace, ApprovalRequest, ApprovalVerdict,
    AuditEntry, CallGrant, GrantRequest, GrantVerdict, MemoryRecord, MemoryStore, OpenError,
    OpenRequest, PendingCall, PermitRequest, PermitVerdict, SessionCall, SessionRecord,
    SessionState, SessionStore, Settlement, StateChange, StoreError, Turn, Verdict,
};
use tool_core::{Mode, SessionId};

/// A store in memory. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct HeldStore {
    inner: Arc<MemoryStore>,
    faults: Arc<Faults>,
}

#[derive(Default)]
struct Faults {
    delay: Mutex<Duration>,
    is_down: AtomicBool,
}

impl HeldStore {
    /// Lets each look-up of a call that waits take this long.
    pub(crate) fn slow(&self, delay: Duration) {
        *self.faults.delay.lock() = delay;
    }

    /// Lets each look-up of a call that waits fail.
    pub(crate) fn down(&self, is_down: bool) {
        self.faults.is_down.store(is_down, Ordering::SeqCst);
    }
}

pub(crate) struct HeldRecord {
    inner: Arc<MemoryRecord>,
    faults: Arc<Faults>,
}

impl SessionStore for HeldStore {
    type Record = HeldRecord;

    async fn open(&self, request: &OpenRequest) -> Result<Arc<HeldRecord>, OpenError> {
        Ok(Arc::new(HeldRecord {
            inner: self.inner.open(request).await?,
            faults: Arc::clone(&self.faults),
        }))
    }

    async fn sessions(&self) -> Result<u64, StoreError> {
        self.inner.sessions().await
    }

    async fn calls(&self, id: &SessionId) -> Result<Vec<SessionCall>, StoreError> {
        self.inner.calls(id).await
    }

    async fn approvals_of(
        &self,
        principal: &str,
        after: Option<&ApprovalPlace>,
        limit: u32,
    ) -> Result<ApprovalPage, StoreError> {
        self.inner.approvals_of(principal, after, limit).await
    }

    async fn acquire_permit(
        &self,
        request: &PermitRequest<'_>,
    ) -> Result<PermitVerdict, StoreError> {
        self.inner.acquire_permit(request).await
    }

    async fn extend_permit(&self, request: &PermitRequest<'_>) -> Result<(), StoreError> {
        self.inner.extend_permit(request).await
    }

    async fn release_permit(&self, request: &PermitRequest<'_>) -> Result<(), StoreError> {
        self.inner.release_permit(request).await
    }
}

impl SessionRecord for HeldRecord {
    async fn admit(&self, call: &Admission<'_>) -> Result<Verdict, StoreError> {
        self.inner.admit(call).await
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<(), StoreError> {
        self.inner.settle(settlement).await
    }

    async fn keep_call(&self, call: &AnsweredCallRecord<'_>) -> Result<(), StoreError> {
        self.inner.keep_call(call).await
    }

    async fn calls(&self) -> Result<Vec<SessionCall>, StoreError> {
        self.inner.calls().await
    }

    async fn next_turn(&self) -> Result<Turn, StoreError> {
        self.inner.next_turn().await
    }

    async fn mint(&self, request: &ApprovalRequest<'_>) -> Result<ApprovalVerdict, StoreError> {
        self.inner.mint(request).await
    }

    async fn pending(&self, id: &str) -> Result<Option<PendingCall>, StoreError> {
        if self.faults.is_down.load(Ordering::SeqCst) {
            return Err(StoreError::new("on purpose"));
        }
        let found = self.inner.pending(id).await?;
        let delay = *self.faults.delay.lock();
        if found.is_some() && !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        Ok(found)
    }

    async fn consume(&self, id: &str) -> Result<bool, StoreError> {
        self.inner.consume(id).await
    }

    async fn grant(&self, request: &GrantRequest<'_>) -> Result<GrantVerdict, StoreError> {
        self.inner.grant(request).await
    }

    async fn grants(&self) -> Result<Vec<CallGrant>, StoreError> {
        self.inner.grants().await
    }

    async fn revoke(&self, grant: &str) -> Result<bool, StoreError> {
        self.inner.revoke(grant).await
    }

    async fn change(&self, changes: &[StateChange]) -> Result<(), StoreError> {
        self.inner.change(changes).await
    }

    async fn switch_mode(&self, mode: Mode) -> Result<(), StoreError> {
        self.inner.switch_mode(mode).await
    }

    async fn end(&self) -> Result<bool, StoreError> {
        self.inner.end().await
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
        self.inner.audit().await
    }
}
