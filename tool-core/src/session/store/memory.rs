//! Sessions in this process's memory: the default store.

use crate::call::Mode;
use crate::call::mode::CurrentMode;
use crate::session::approvals::{ApprovalRequest, ApprovalVerdict, PendingCall, random};
use crate::session::audit::AuditEntry;
use crate::session::caps::Spending;
use crate::session::grants::{CallGrant, GrantRequest, GrantVerdict};
use crate::session::metrics::call_log::{AnsweredCall, CallLog, SessionCall};
use crate::session::metrics::spare_room::SpareRoom;
use crate::session::state::{SessionId, SessionState, StateChange, Turn};
use crate::session::store::approval_page::{ApprovalPage, ApprovalPlace};
use crate::session::store::memory_approvals::{SessionApprovals, WaitingCalls};
use crate::session::store::memory_conversations::MemoryConversations;
use crate::session::store::memory_permits::MemoryPermits;
use crate::session::store::permits::{PermitRequest, PermitVerdict};
use crate::session::store::session_core::{PrincipalSpending, SessionCore};
use crate::session::store::session_store::{
    Admission, AnsweredCallRecord, OpenError, OpenRequest, PrincipalCharge, SessionRecord,
    SessionStore, Settlement, StoreError, Verdict,
};
use crate::session::store::stored_session::SessionOwner;
use crate::session::store::turn_report::TurnReport;
#[cfg(all(test, loom))]
use crate::session::tests::loom::sync::{Mutex, MutexGuard};
use crate::time;
use crate::time::CallInstant;
#[cfg(not(all(test, loom)))]
use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::Instant;

/// Keeps sessions in memory, and conversations ([`HistoryStore`](crate::session::HistoryStore)).
/// They end with the process.
///
/// A session that is not used for the policy's `idle_timeout` has expired, and is removed when room
/// is needed. A session with a running call is in use.
///
/// ```
/// use std::sync::Arc;
/// use tool_core::session::MemoryStore;
/// use tool_core::{Mode, Runtime, ToolContext};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Two runtimes of one process share their sessions.
/// let store = Arc::new(MemoryStore::new());
/// let tools = ToolContext::builder().build()?;
/// let first = Runtime::builder(tools.clone()).store(Arc::clone(&store)).build()?;
/// let second = Runtime::builder(tools).store(store).build()?;
/// let _session = first.session("s-1", Mode::Text).await?;
/// assert_eq!(second.sessions().await?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct MemoryStore {
    sessions: Arc<Mutex<OpenSessions>>,
    conversations: MemoryConversations,
    permits: MemoryPermits,
}

#[derive(Default)]
struct OpenSessions {
    records: HashMap<Arc<str>, Arc<MemoryRecord>>,
    last_sweep: Option<Instant>,
    /// The sessions that are over, in the order of their ends, and the times until which their
    /// calls are kept.
    ended: VecDeque<(Arc<MemoryRecord>, Instant)>,
    spare: Arc<SpareRoom>,
    /// The incarnation of the last session. The first is random, so that those of two stores
    /// differ.
    incarnation: Option<u128>,
    principals: Arc<Mutex<Principals>>,
}

/// The amounts of principals under caps, and their calls that wait for approval.
#[derive(Default)]
struct Principals {
    waiting: WaitingCalls,
    windows: HashMap<Arc<str>, PrincipalWindow>,
    /// The number of windows at which those that have ended are removed.
    sweep_at: usize,
}

#[derive(Clone, Copy)]
struct PrincipalWindow {
    end: Instant,
    spent: Spending,
}

impl Principals {
    fn get(&self, principal: &str, now: Instant) -> Option<PrincipalWindow> {
        let window = self.windows.get(principal)?;
        (window.end > now).then_some(*window)
    }

    fn spending(&self, principal: &str, now: Instant) -> PrincipalSpending {
        match self.get(principal, now) {
            None => PrincipalSpending::default(),
            Some(window) => PrincipalSpending {
                spent: window.spent,
                resets_in: Some(window.end.saturating_duration_since(now)),
            },
        }
    }

    fn add(&mut self, principal: &Arc<str>, charge: &PrincipalCharge, now: Instant) {
        if self.windows.len() >= self.sweep_at {
            self.windows.retain(|_, window| window.end > now);
            self.sweep_at = 1_024.max(2 * self.windows.len());
        }
        let begun = self.get(principal, now);
        let mut window = begun.unwrap_or_else(|| PrincipalWindow {
            end: time::after(now, charge.window),
            spent: Spending::default(),
        });
        window.spent += charge.spent;
        self.windows.insert(Arc::clone(principal), window);
    }
}

/// The sessions whose calls are kept after their end. Past this number, those of the first are
/// dropped.
const MAX_ENDED: usize = 256;

impl OpenSessions {
    fn next_incarnation(&mut self) -> u128 {
        let next = self.incarnation.map_or_else(
            || u128::from_ne_bytes(random()),
            |last| last.wrapping_add(1),
        );
        self.incarnation = Some(next);
        next
    }

    /// Removes the sessions that are over, and keeps their calls for a while.
    fn remove_expired(&mut self, now: Instant) {
        let moment = CallInstant::now();
        let expired = self
            .records
            .extract_if(|_, record| !record.state.lock().is_open(moment));
        for record in expired.map(|(_, record)| record).collect::<Vec<_>>() {
            self.keep_calls(record, now);
        }
    }

    fn keep_calls(&mut self, record: Arc<MemoryRecord>, now: Instant) {
        self.ended
            .retain(|(ended, until)| *until > now && ended.id != record.id);
        if record.log.counts().0 == 0 || record.keep_calls_for.is_zero() {
            return;
        }
        if self.ended.len() == MAX_ENDED {
            self.ended.pop_front();
        }
        let until = time::after(now, record.keep_calls_for);
        self.ended.push_back((record, until));
    }

    /// Removes expired sessions. Limited in frequency, as at the cap every refused caller would
    /// search all sessions.
    fn sweep(&mut self, now: Instant, idle_timeout: Duration) {
        let pause = (idle_timeout / 16).min(Duration::from_secs(1));
        if self
            .last_sweep
            .is_none_or(|last| now.saturating_duration_since(last) >= pause)
        {
            self.remove_expired(now);
            self.last_sweep = Some(now);
        }
    }
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn conversations(&self) -> &MemoryConversations {
        &self.conversations
    }
}

impl SessionStore for MemoryStore {
    type Record = MemoryRecord;

    async fn open(&self, request: &OpenRequest) -> Result<Arc<MemoryRecord>, OpenError> {
        let now = Instant::now();
        let mut sessions = self.sessions.lock();
        if let Some(open) = sessions.records.get(request.id.as_str())
            && let moment = CallInstant::now()
            && let Some(mut state) = open.lock_open(moment)
        {
            open.check_owner(request)?;
            state.use_at(moment);
            return Ok(Arc::clone(open));
        }
        if sessions.records.len() as u64 >= request.max_sessions {
            sessions.sweep(now, request.idle_timeout);
            if sessions.records.len() as u64 >= request.max_sessions {
                return Err(OpenError::Full {
                    limit: request.max_sessions,
                });
            }
        }
        let incarnation = sessions.next_incarnation();
        let record = Arc::new(MemoryRecord::new(
            request,
            incarnation,
            &self.sessions,
            &sessions,
        ));
        if let Some(expired) = sessions
            .records
            .insert(request.id.shared(), Arc::clone(&record))
        {
            sessions.keep_calls(expired, now);
        }
        Ok(record)
    }

    async fn sessions(&self) -> Result<u64, StoreError> {
        let now = Instant::now();
        let mut sessions = self.sessions.lock();
        sessions.remove_expired(now);
        Ok(sessions.records.len() as u64)
    }

    async fn calls(&self, id: &SessionId) -> Result<Vec<SessionCall>, StoreError> {
        let now = Instant::now();
        let sessions = self.sessions.lock();
        let mut kept = sessions
            .ended
            .iter()
            .filter(|(record, until)| *record.id == *id.as_str() && *until > now);
        let record = sessions
            .records
            .get(id.as_str())
            .or_else(|| Some(&kept.next()?.0))
            .cloned();
        drop(sessions);
        Ok(record.map_or_else(Vec::new, |record| record.log.recent()))
    }

    async fn approvals_of(
        &self,
        principal: &str,
        after: Option<&ApprovalPlace>,
        limit: u32,
    ) -> Result<ApprovalPage, StoreError> {
        let now = Instant::now();
        let moment = CallInstant::now();
        let sessions = self.sessions.lock();
        let listed = sessions
            .principals
            .lock()
            .waiting
            .page(principal, after, limit, now);

        let mut calls = Vec::new();
        let mut gone = Vec::new();
        for (place, session) in &listed {
            let record = sessions.records.get(session);
            let record = record.filter(|record| *record.principal == *principal);
            let state = record.map(|record| record.state.lock());
            let state = state.filter(|state| state.is_open(moment));
            match state.and_then(|state| state.pending(&place.id, now).cloned()) {
                Some(call) => calls.push(call),
                None => gone.push(place),
            }
        }
        let mut principals = sessions.principals.lock();
        for place in gone {
            principals.waiting.remove(principal, place);
        }
        let is_full = listed.len() as u64 >= u64::from(limit);
        let last = listed.last().map(|(place, _)| place.clone());
        Ok(ApprovalPage::new(calls, last.filter(|_| is_full)))
    }

    async fn acquire_permit(
        &self,
        request: &PermitRequest<'_>,
    ) -> Result<PermitVerdict, StoreError> {
        Ok(self.permits.acquire(request))
    }

    async fn extend_permit(&self, request: &PermitRequest<'_>) -> Result<(), StoreError> {
        self.permits.extend(request);
        Ok(())
    }

    async fn release_permit(&self, request: &PermitRequest<'_>) -> Result<(), StoreError> {
        self.permits.release(request);
        Ok(())
    }
}

/// One session of a [`MemoryStore`].
pub struct MemoryRecord {
    state: Mutex<RecordState>,
    pub(crate) log: CallLog,
    mode: CurrentMode,
    id: Arc<str>,
    keep_calls_for: Duration,
    principal: Arc<str>,
    agent: Arc<str>,
    incarnation: u128,
    principals: Arc<Mutex<Principals>>,
    /// The sessions among which the record is found while it is open.
    sessions: Weak<Mutex<OpenSessions>>,
}

struct RecordState {
    core: SessionCore,
    last_used: CallInstant,
    /// The calls that run for longer, during which the session is not idle.
    running: usize,
    idle_timeout: Duration,
    /// Created on first use, as few sessions need it.
    approvals: Option<Box<SessionApprovals>>,
}

impl MemoryRecord {
    fn new(
        request: &OpenRequest,
        incarnation: u128,
        store: &Arc<Mutex<OpenSessions>>,
        sessions: &OpenSessions,
    ) -> Self {
        let state = RecordState {
            core: SessionCore::default(),
            last_used: CallInstant::now(),
            running: 0,
            idle_timeout: request.idle_timeout,
            approvals: None,
        };
        Self {
            state: Mutex::new(state),
            mode: CurrentMode::new(request.mode),
            id: request.id.shared(),
            log: CallLog::new(
                request.call_bytes,
                request.redaction.clone(),
                &sessions.spare,
            ),
            keep_calls_for: request.keep_calls_for,
            principal: Arc::clone(&request.principal),
            agent: Arc::clone(&request.agent),
            incarnation,
            principals: Arc::clone(&sessions.principals),
            sessions: Arc::downgrade(store),
        }
    }

    fn check_owner(&self, request: &OpenRequest) -> Result<(), OpenError> {
        SessionOwner {
            principal: &self.principal,
            agent: &self.agent,
            mode: self.mode(),
        }
        .check(request)
    }

    /// Returns what the turn has used so far.
    pub(crate) fn turn_report(&self) -> TurnReport {
        self.state.lock().core.usage().report()
    }

    /// Locks the session, or returns `None` if it is over.
    #[inline]
    fn lock_open(&self, now: CallInstant) -> Option<MutexGuard<'_, RecordState>> {
        let mut state = self.state.lock();
        if !state.is_open(now) {
            state.close();
            return None;
        }
        Some(state)
    }

    /// Locks the session and marks it as used, or returns `None` if it is over.
    fn touch(&self) -> Option<MutexGuard<'_, RecordState>> {
        self.touch_at(CallInstant::now())
    }

    #[inline]
    fn touch_at(&self, now: CallInstant) -> Option<MutexGuard<'_, RecordState>> {
        let mut state = self.lock_open(now)?;
        state.use_at(now);
        Some(state)
    }

    /// Keeps the session from expiring while a call runs.
    pub(crate) fn keep_open(&self) -> OpenGuard<'_> {
        self.state.lock().running += 1;
        OpenGuard(self)
    }

    /// Removes the session from the store. Called without the record's own lock, because opening a
    /// session takes the store's lock first.
    fn remove(&self) {
        let Some(sessions) = self.sessions.upgrade() else {
            return;
        };
        let mut sessions = sessions.lock();
        if sessions
            .records
            .get(&self.id)
            .is_some_and(|known| std::ptr::eq(&raw const **known, self))
            && let Some(record) = sessions.records.remove(&self.id)
        {
            sessions.keep_calls(record, Instant::now());
        }
    }

    /// Admits a call without waiting.
    #[inline]
    pub(crate) fn admit_now(&self, call: &Admission<'_>) -> Verdict {
        match self.touch_at(call.began) {
            None => Verdict::Inactive,
            Some(mut state) => state
                .core
                .admit(call, || self.principal_spending(call.now())),
        }
    }

    fn principal_spending(&self, now: Instant) -> PrincipalSpending {
        self.principals.lock().spending(&self.principal, now)
    }

    /// Returns the amounts of each of [`CapScope::STORED`](crate::session::CapScope::STORED).
    pub(crate) fn spending(&self) -> [Spending; 3] {
        let principal = self.principal_spending(Instant::now());
        let [in_turn, in_session] = self.state.lock().core.spending();
        [in_turn, in_session, principal.spent]
    }

    /// Settles a call without waiting.
    pub(crate) fn settle_now(&self, settlement: &Settlement<'_>) {
        self.state.lock().core.settle(settlement);
        if let Some(charge) = settlement.spends() {
            let now = Instant::now();
            self.principals.lock().add(&self.principal, &charge, now);
        }
        for entry in settlement.audit {
            self.log.add_entry(entry);
        }
    }
}

/// Keeps a session open until it is dropped. From then on the session is idle.
pub(crate) struct OpenGuard<'a>(&'a MemoryRecord);

impl Drop for OpenGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.running -= 1;
        state.use_at(CallInstant::now());
    }
}

impl RecordState {
    #[inline]
    fn is_open(&self, now: CallInstant) -> bool {
        let is_idle = || self.running == 0 && now.since(self.last_used) >= self.idle_timeout;
        !self.core.is_over() && !is_idle()
    }

    /// Takes note of a use. A call that has waited began before later ones.
    #[inline]
    fn use_at(&mut self, now: CallInstant) {
        self.last_used = self.last_used.max(now);
    }

    /// Returns the call that waits under an id.
    fn pending(&self, id: &str, now: Instant) -> Option<&PendingCall> {
        self.approvals.as_ref()?.get(id, now)
    }

    fn close(&mut self) {
        if self.core.close() {
            // Pending calls can no longer be approved, and no grant covers calls any more.
            self.approvals = None;
        }
    }
}

impl SessionRecord for MemoryRecord {
    #[inline]
    async fn admit(&self, call: &Admission<'_>) -> Result<Verdict, StoreError> {
        Ok(self.admit_now(call))
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<(), StoreError> {
        self.settle_now(settlement);
        Ok(())
    }

    async fn keep_call(&self, call: &AnsweredCallRecord<'_>) -> Result<(), StoreError> {
        if let Some(call) = call.call {
            self.log.add(&AnsweredCall::of_kept(call));
        }
        if let Some(entry) = call.audit {
            self.log.add_entry(entry);
        }
        Ok(())
    }

    async fn calls(&self) -> Result<Vec<SessionCall>, StoreError> {
        Ok(self.log.recent())
    }

    async fn next_turn(&self) -> Result<Turn, StoreError> {
        let Some(mut state) = self.touch() else {
            return Ok(Turn {
                number: self.turn(),
                pending_message: None,
                ended: true,
                ended_now: false,
            });
        };
        let turn = state.core.next_turn(self.mode());
        if turn.ended {
            state.approvals = None;
            drop(state);
            self.remove();
        }
        Ok(turn)
    }

    async fn mint(&self, request: &ApprovalRequest<'_>) -> Result<ApprovalVerdict, StoreError> {
        let now = Instant::now();
        let Some(mut state) = self.touch() else {
            return Ok(ApprovalVerdict::Inactive);
        };
        let approvals = state.approvals.get_or_insert_default();
        let verdict = approvals.insert(request, now);
        if verdict == ApprovalVerdict::Waits {
            let expires = time::after(now, request.lifetime);
            let id = &request.call.id;
            self.principals
                .lock()
                .waiting
                .add(&self.principal, &self.id, id, expires, now);
        }
        Ok(verdict)
    }

    async fn pending(&self, id: &str) -> Result<Option<PendingCall>, StoreError> {
        let now = Instant::now();
        let Some(state) = self.touch() else {
            return Ok(None);
        };
        Ok(state.pending(id, now).cloned())
    }

    async fn consume(&self, id: &str) -> Result<bool, StoreError> {
        let now = Instant::now();
        let Some(mut state) = self.touch() else {
            return Ok(false);
        };
        let approvals = state.approvals.as_mut();
        Ok(approvals.is_some_and(|approvals| approvals.remove(id, now)))
    }

    async fn grant(&self, request: &GrantRequest<'_>) -> Result<GrantVerdict, StoreError> {
        let now = Instant::now();
        let Some(mut state) = self.touch() else {
            return Ok(GrantVerdict::NotFound);
        };
        let approvals = state.approvals.as_mut();
        Ok(approvals.map_or(GrantVerdict::NotFound, |approvals| {
            approvals.grant(request, now)
        }))
    }

    async fn grants(&self) -> Result<Vec<CallGrant>, StoreError> {
        let now = Instant::now();
        let Some(state) = self.touch() else {
            return Ok(Vec::new());
        };
        let approvals = state.approvals.as_ref();
        Ok(approvals.map_or_else(Vec::new, |approvals| approvals.grants(now)))
    }

    async fn revoke(&self, grant: &str) -> Result<bool, StoreError> {
        let now = Instant::now();
        let Some(mut state) = self.touch() else {
            return Ok(false);
        };
        let approvals = state.approvals.as_mut();
        Ok(approvals.is_some_and(|approvals| approvals.revoke(grant, now)))
    }

    async fn change(&self, changes: &[StateChange]) -> Result<(), StoreError> {
        if let Some(mut state) = self.touch() {
            state.core.change(changes);
        }
        Ok(())
    }

    async fn switch_mode(&self, mode: Mode) -> Result<(), StoreError> {
        if let Some(_state) = self.touch() {
            self.mode.set(mode);
        }
        Ok(())
    }

    async fn end(&self) -> Result<bool, StoreError> {
        let mut state = self.state.lock();
        let was_open = state.is_open(CallInstant::now());
        state.close();
        drop(state);

        self.remove();
        Ok(was_open)
    }

    async fn refresh(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn audit(&self) -> Result<Vec<AuditEntry>, StoreError> {
        Ok(self.log.audit(&self.principal))
    }

    fn incarnation(&self) -> u128 {
        self.incarnation
    }

    #[inline]
    fn mode(&self) -> Mode {
        self.mode.get()
    }

    fn turn(&self) -> u64 {
        self.state.lock().core.turn()
    }

    fn state(&self) -> Arc<SessionState> {
        Arc::clone(self.state.lock().core.state())
    }
}
