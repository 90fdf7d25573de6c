//! A session store of any type, with a fast path for sessions in memory.

#![allow(clippy::elidable_lifetime_names, clippy::needless_lifetimes)] // needed where an operation borrows its arguments

use crate::call::Mode;
use crate::session::approvals::{ApprovalRequest, ApprovalVerdict, PendingCall};
use crate::session::audit::AuditEntry;
use crate::session::caps::Spending;
use crate::session::grants::{CallGrant, GrantRequest, GrantVerdict};
use crate::session::metrics::call_log::{CallLog, SessionCall};
use crate::session::state::{SessionId, SessionState, StateChange, Turn};
use crate::session::store::approval_page::{ApprovalPage, ApprovalPlace};
use crate::session::store::memory::{MemoryRecord, OpenGuard};
use crate::session::store::permits::{PermitRequest, PermitVerdict};
use crate::session::store::session_store::{
    Admission, AnsweredCallRecord, OpenError, OpenRequest, SessionRecord, SessionStore, Settlement,
    StoreError, Verdict,
};
use crate::session::store::turn_report::TurnReport;
use crate::session::timer::poll_once;
use futures_util::future::BoxFuture;
use std::any::Any;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::time::timeout;

/// The future that opens a session.
type OpenFuture<'a> = BoxFuture<'a, Result<RecordHandle, OpenError>>;

/// A session store of any type.
pub(crate) trait DynStore: Send + Sync {
    /// Opens a session within a deadline, which then holds for every operation on it.
    fn open<'a>(&'a self, request: &'a OpenRequest, deadline: Duration) -> OpenFuture<'a>;

    fn sessions(&self) -> BoxFuture<'_, Result<u64, StoreError>>;

    fn calls<'a>(
        &'a self,
        id: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<SessionCall>, StoreError>>;

    fn approvals_of<'a>(
        &'a self,
        principal: &'a str,
        after: Option<&'a ApprovalPlace>,
        limit: u32,
    ) -> BoxFuture<'a, Result<ApprovalPage, StoreError>>;

    fn acquire_permit<'a>(
        &'a self,
        request: &'a PermitRequest<'a>,
    ) -> BoxFuture<'a, Result<PermitVerdict, StoreError>>;

    fn extend_permit<'a>(
        &'a self,
        request: &'a PermitRequest<'a>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    fn release_permit<'a>(
        &'a self,
        request: &'a PermitRequest<'a>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
}

impl<S: SessionStore> DynStore for S {
    fn open<'a>(&'a self, request: &'a OpenRequest, deadline: Duration) -> OpenFuture<'a> {
        Box::pin(async move {
            let record = within(deadline, SessionStore::open(self, request), || {
                StoreError::timeout().into()
            })
            .await?;
            let any: Arc<dyn Any + Send + Sync> = Arc::clone(&record) as _;
            Ok(RecordHandle {
                record,
                memory: any.downcast().ok(),
                deadline,
            })
        })
    }

    fn sessions(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(SessionStore::sessions(self))
    }

    fn calls<'a>(
        &'a self,
        id: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<SessionCall>, StoreError>> {
        Box::pin(SessionStore::calls(self, id))
    }

    fn approvals_of<'a>(
        &'a self,
        principal: &'a str,
        after: Option<&'a ApprovalPlace>,
        limit: u32,
    ) -> BoxFuture<'a, Result<ApprovalPage, StoreError>> {
        Box::pin(SessionStore::approvals_of(self, principal, after, limit))
    }

    fn acquire_permit<'a>(
        &'a self,
        request: &'a PermitRequest<'a>,
    ) -> BoxFuture<'a, Result<PermitVerdict, StoreError>> {
        Box::pin(SessionStore::acquire_permit(self, request))
    }

    fn extend_permit<'a>(
        &'a self,
        request: &'a PermitRequest<'a>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(SessionStore::extend_permit(self, request))
    }

    fn release_permit<'a>(
        &'a self,
        request: &'a PermitRequest<'a>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(SessionStore::release_permit(self, request))
    }
}

/// Waits for an operation of a store or a journal, for at most the policy's `store_deadline`.
pub(crate) async fn within<T, E>(
    deadline: Duration,
    operation: impl Future<Output = Result<T, E>>,
    timed_out: impl FnOnce() -> E,
) -> Result<T, E> {
    let mut operation = pin!(operation);
    match poll_once(operation.as_mut()).await {
        Poll::Ready(answer) => answer,
        Poll::Pending => timeout(deadline, operation)
            .await
            .unwrap_or_else(|_| Err(timed_out())),
    }
}

/// An open session in a store of any type. Its operations fail after the policy's `store_deadline`.
#[derive(Clone)]
pub(crate) struct RecordHandle {
    record: Arc<dyn DynRecord>,
    /// The same record if it is in memory, where it answers at once, without a box for a future.
    memory: Option<Arc<MemoryRecord>>,
    deadline: Duration,
}

/// Declares the asynchronous operations of [`DynRecord`] and forwards those of [`RecordHandle`] to
/// it.
macro_rules! operations {
    ($($name:ident($($argument:ident: $type:ty),*) -> $output:ty;)*) => {
        /// A [`SessionRecord`] of any type.
        trait DynRecord: Send + Sync {
            $(fn $name<'a>(&'a self, $($argument: $type),*) -> BoxFuture<'a, Result<$output, StoreError>>;)*
            fn incarnation(&self) -> u128;
            fn mode(&self) -> Mode;
            fn turn(&self) -> u64;
            fn state(&self) -> Arc<SessionState>;
        }

        impl<R: SessionRecord> DynRecord for R {
            $(fn $name<'a>(&'a self, $($argument: $type),*) -> BoxFuture<'a, Result<$output, StoreError>> {
                Box::pin(SessionRecord::$name(self, $($argument),*))
            })*

            fn incarnation(&self) -> u128 {
                SessionRecord::incarnation(self)
            }

            fn mode(&self) -> Mode {
                SessionRecord::mode(self)
            }

            fn turn(&self) -> u64 {
                SessionRecord::turn(self)
            }

            fn state(&self) -> Arc<SessionState> {
                SessionRecord::state(self)
            }
        }

        impl RecordHandle {
            $(pub(crate) async fn $name<'a>(&'a self, $($argument: $type),*) -> Result<$output, StoreError> {
                match &self.memory {
                    Some(record) => SessionRecord::$name(&**record, $($argument),*).await,
                    None => within(self.deadline, self.record.$name($($argument),*), StoreError::timeout).await,
                }
            })*
        }
    };
}

operations! {
    admit(call: &'a Admission<'a>) -> Verdict;
    settle(settlement: &'a Settlement<'a>) -> ();
    keep_call(call: &'a AnsweredCallRecord<'a>) -> ();
    calls() -> Vec<SessionCall>;
    next_turn() -> Turn;
    mint(request: &'a ApprovalRequest<'a>) -> ApprovalVerdict;
    pending(id: &'a str) -> Option<PendingCall>;
    consume(id: &'a str) -> bool;
    grant(request: &'a GrantRequest<'a>) -> GrantVerdict;
    grants() -> Vec<CallGrant>;
    revoke(grant: &'a str) -> bool;
    change(changes: &'a [StateChange]) -> ();
    switch_mode(mode: Mode) -> ();
    end() -> bool;
    refresh() -> ();
    audit() -> Vec<AuditEntry>;
}

impl RecordHandle {
    /// Admits a call if the session is in memory. Otherwise the caller must wait for [`admit`](Self::admit).
    #[inline]
    pub(crate) fn admit_now(&self, call: &Admission<'_>) -> Option<Verdict> {
        Some(self.memory.as_ref()?.admit_now(call))
    }

    /// Returns the list of calls of a session in memory, to which the runtime adds calls itself.
    pub(crate) fn log(&self) -> Option<&CallLog> {
        self.memory.as_ref().map(|record| &record.log)
    }

    /// Returns true if the calls must be kept by [`keep_call`](Self::keep_call).
    #[inline]
    pub(crate) fn is_remote(&self) -> bool {
        self.memory.is_none()
    }

    /// Admits a call, however long the store takes.
    pub(crate) async fn admit_eventually(
        &self,
        call: &Admission<'_>,
    ) -> Result<Verdict, StoreError> {
        self.record.admit(call).await
    }

    /// Settles a call if the session is in memory. Otherwise returns `None`, and the caller must
    /// wait for
    /// [`settle`](Self::settle).
    pub(crate) fn settle_now(&self, settlement: &Settlement<'_>) -> Option<()> {
        self.memory
            .as_ref()
            .map(|record| record.settle_now(settlement))
    }

    /// Keeps a session in memory from expiring while a call runs. Other stores see a call when it
    /// begins and when it ends.
    pub(crate) fn keep_open(&self) -> Option<OpenGuard<'_>> {
        self.memory.as_ref().map(|record| record.keep_open())
    }

    /// Returns what the turn has used, if the session is in memory.
    pub(crate) fn turn_report(&self) -> Option<TurnReport> {
        self.memory.as_ref().map(|record| record.turn_report())
    }

    /// Returns what each of `CapScope::STORED` has used, if the session is in memory.
    pub(crate) fn spending(&self) -> Option<[Spending; 3]> {
        self.memory.as_ref().map(|record| record.spending())
    }

    /// Returns the number that distinguishes this session from all others.
    pub(crate) fn incarnation(&self) -> u128 {
        self.record.incarnation()
    }

    /// Returns the mode, as this process knows it.
    #[inline]
    pub(crate) fn mode(&self) -> Mode {
        match &self.memory {
            Some(record) => SessionRecord::mode(&**record),
            None => self.record.mode(),
        }
    }

    /// Returns the number of the turn, as this process knows it.
    pub(crate) fn turn(&self) -> u64 {
        self.record.turn()
    }

    /// Returns the state, as this process knows it.
    pub(crate) fn state(&self) -> Arc<SessionState> {
        self.record.state()
    }
}
