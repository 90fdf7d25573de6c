//! Sessions in this process's memory: the default store.

use crate::call::Mode;
use crate::call::mode::CurrentMode;
use crate::session::approvals::{ApprovalRequest, ApprovalVerdict, PendingCall, random};
use crate::session::audit::AuditEntry;
use crate::session::caps::{Spending, SpendingCaps};
use crate::session::metrics::call_log::{AnsweredCall, CallLog, SessionCall, SpareBytes};
use crate::session::state::{SessionId, SessionState, StateChange, Turn};
use crate::session::store::session_store::{
    Admission, AnsweredCallRecord, Charge, OpenError, OpenRequest, Refusal, SessionRecord,
    SessionStore, Settlement, StoreError, Verdict,
};
use crate::session::store::turn_report::TurnReport;
use crate::session::store::turn_usage::TurnUsage;
#[cfg(all(test, loom))]
use crate::session::tests::loom::sync::{Mutex, MutexGuard};
use crate::time;
use crate::time::CallInstant;
use crate::trace::cost::Cost;
#[cfg(not(all(test, loom)))]
use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::Instant;

/// Keeps sessions in memory. They end with the process.
///
/// A session that is not used for the policy's `idle_timeout` has expired, and is removed when room is needed.
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
}

#[derive(Default)]
struct OpenSessions {
    records: HashMap<Arc<str>, Arc<MemoryRecord>>,
    last_sweep: Option<Instant>,
    /// The sessions that are over, in the order of their ends, and the times until which their calls are kept.
    ended: VecDeque<(Arc<MemoryRecord>, Instant)>,
    spare: Arc<SpareBytes>,
    /// The incarnation of the last session. The first is random, so that those of two stores differ.
    incarnation: Option<u128>,
    principals: Arc<Mutex<PrincipalSpending>>,
}

/// The amounts of principals under caps, each with the end of its window.
#[derive(Default)]
struct PrincipalSpending {
    windows: HashMap<Arc<str>, (Instant, Spending)>,
    /// The number of windows at which those that have ended are removed.
    sweep_at: usize,
}

impl PrincipalSpending {
    fn of(&self, principal: &str, now: Instant) -> Option<(Instant, Spending)> {
        self.windows
            .get(principal)
            .filter(|(end, _)| *end > now)
            .copied()
    }

    fn add(&mut self, principal: &Arc<str>, spent: Spending, window: Duration, now: Instant) {
        if self.windows.len() >= self.sweep_at {
            self.windows.retain(|_, (end, _)| *end > now);
            self.sweep_at = 1_024.max(2 * self.windows.len());
        }
        let (end, mut sum) = self
            .of(principal, now)
            .unwrap_or((time::after(now, window), Spending::default()));
        sum += spent;
        self.windows.insert(Arc::clone(principal), (end, sum));
    }
}

/// The sessions whose calls are kept after their end. Past this number, those of the first are dropped.
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

    /// Removes expired sessions. Limited in frequency, as at the cap every refused caller would search all sessions.
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
            state.last_used = moment;
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
    principals: Arc<Mutex<PrincipalSpending>>,
    /// The sessions among which the record is found while it is open.
    sessions: Weak<Mutex<OpenSessions>>,
}

struct RecordState {
    over: bool,
    /// True if the pending message was delivered, and the state shows it until the turn ends.
    delivered: bool,
    last_used: CallInstant,
    idle_timeout: Duration,
    usage: TurnUsage,
    state: Arc<SessionState>,
    /// Created on first use, as few sessions need it.
    retained: Option<Box<Retained>>,
}

#[derive(Default)]
struct Retained {
    pending: PendingCalls,
    spent_in_turn: Spending,
    spent: Spending,
}

impl MemoryRecord {
    fn new(
        request: &OpenRequest,
        incarnation: u128,
        store: &Arc<Mutex<OpenSessions>>,
        sessions: &OpenSessions,
    ) -> Self {
        let state = RecordState {
            over: false,
            delivered: false,
            last_used: CallInstant::now(),
            idle_timeout: request.idle_timeout,
            usage: TurnUsage::default(),
            state: Arc::default(),
            retained: None,
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

    /// Checks that the session is joined under its own principal, agent and mode. The principal goes first, so that another
    /// one learns nothing else.
    fn check_owner(&self, request: &OpenRequest) -> Result<(), OpenError> {
        let id = || request.id.clone();
        if self.principal != request.principal {
            return Err(OpenError::OtherPrincipal { id: id() });
        }
        if self.agent != request.agent {
            return Err(OpenError::OtherAgent { id: id() });
        }
        if self.mode() != request.mode {
            return Err(OpenError::OtherMode {
                id: id(),
                open: self.mode(),
            });
        }
        Ok(())
    }

    /// Returns what the turn has used so far.
    pub(crate) fn turn_report(&self) -> TurnReport {
        self.state.lock().usage.report()
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
        state.last_used = now;
        Some(state)
    }

    /// Removes the session from the store. Called without the record's own lock, because opening a session takes the
    /// store's lock first.
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
            Some(mut state) => match state.usage.admit(call) {
                Ok(turn) => match call.caps {
                    None => Verdict::Admitted { turn },
                    Some(caps) => self.admit_within(caps, call, turn, &mut state),
                },
                Err(refusal) => Verdict::Refused(refusal),
            },
        }
    }

    /// Returns the amounts of each of [`CapScope::STORED`](crate::session::CapScope::STORED).
    pub(crate) fn spending(&self) -> [Spending; 3] {
        let principal = self.principals.lock().of(&self.principal, Instant::now());
        let of_principal = principal.map_or_else(Spending::default, |(_, spent)| spent);
        let state = self.state.lock();
        let retained = state.retained.as_ref();
        let (in_turn, in_session) =
            retained.map_or_else(Default::default, |kept| (kept.spent_in_turn, kept.spent));
        [in_turn, in_session, of_principal]
    }

    /// Checks the caps of a call that the budgets admit, and refunds one that is refused.
    #[cold]
    fn admit_within(
        &self,
        caps: &SpendingCaps,
        call: &Admission<'_>,
        turn: u64,
        state: &mut RecordState,
    ) -> Verdict {
        if matches!(call.charge, Charge::Free | Charge::Attempt) {
            return Verdict::Admitted { turn };
        }
        let now = call.now();
        let principal = self.principals.lock().of(&self.principal, now);
        let resets_in = principal.map(|(end, _)| end.saturating_duration_since(now));
        let (in_turn, in_session) = state
            .retained
            .as_ref()
            .map_or_else(Default::default, |retained| {
                (retained.spent_in_turn, retained.spent)
            });
        let of_principal = principal.map_or_else(Spending::default, |(_, spent)| spent);
        match caps.left([in_turn, in_session, of_principal], resets_in) {
            Ok(left) => Verdict::Capped {
                turn,
                left: Box::new(left),
            },
            Err(used) => {
                if call.charge != Charge::Hold {
                    let (tool, category) = (call.tool, call.category);
                    let refund = Settlement {
                        tool,
                        category,
                        turn,
                        refund: true,
                        ..Settlement::default()
                    };
                    state.usage.settle(&refund);
                }
                Verdict::Refused(Refusal::Cap(Box::new(used)))
            }
        }
    }

    /// Adds what a call has spent to the amounts of its turn, its session and its principal.
    #[cold]
    fn spend(&self, caps: &SpendingCaps, settlement: &Settlement<'_>, state: &mut RecordState) {
        let (is_current, retained) = (settlement.turn == state.usage.turn(), state.retained());
        retained.spent += settlement.spent;
        if is_current {
            retained.spent_in_turn += settlement.spent;
        }
        let paid = settlement.paid_inside.picodollars();
        let cost = Cost::pico(settlement.spent.cost.picodollars().saturating_sub(paid));
        let spent = Spending {
            cost,
            ..settlement.spent
        };
        self.principals.lock().add(
            &self.principal,
            spent,
            caps.principal_window(),
            Instant::now(),
        );
    }

    /// Settles a call without waiting. Unless the session is over, the state changes apply whenever the call ends.
    pub(crate) fn settle_now(&self, settlement: &Settlement<'_>) {
        let mut state = self.state.lock();
        state.usage.settle(settlement);
        if let Some(caps) = settlement
            .caps
            .filter(|_| settlement.spent != Spending::default())
        {
            self.spend(caps, settlement, &mut state);
        }
        if !state.over {
            state.change(settlement.changes);
        }
        drop(state);
        for entry in settlement.audit {
            self.log.add_entry(entry);
        }
    }
}

impl RecordState {
    #[inline]
    fn is_open(&self, now: CallInstant) -> bool {
        !self.over && now.since(self.last_used) < self.idle_timeout
    }

    fn close(&mut self) {
        if !self.over {
            self.over = true;
            Arc::make_mut(&mut self.state).ended = true;
            // Pending calls can no longer be approved.
            if let Some(retained) = &mut self.retained {
                retained.pending = PendingCalls::default();
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
            // A message that is set again is delivered again, even with the same text.
            self.delivered &= !matches!(change, StateChange::PendingMessage(_));
        }
    }

    /// Changes the state to that of the next turn. Returns the pending message, once.
    fn begin_turn(&mut self, mode: Mode) -> Option<String> {
        if self.state.is_default() {
            return None;
        }
        let message = self
            .state
            .pending_message
            .clone()
            .filter(|_| !self.delivered);
        let mut state = self.state.after_turn(mode);
        if self.delivered && !state.ended {
            state.pending_message = None;
        }
        self.delivered = state.pending_message.is_some();
        self.state = Arc::new(state);
        message
    }

    fn retained(&mut self) -> &mut Retained {
        self.retained.get_or_insert_default()
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
            });
        };
        let number = state.usage.next_turn();
        if let Some(retained) = &mut state.retained {
            retained.spent_in_turn = Spending::default();
        }
        let pending_message = state.begin_turn(self.mode());
        let ended = state.state.ended;
        if ended {
            state.close();
            drop(state);
            self.remove();
        }
        Ok(Turn {
            number,
            pending_message,
            ended,
        })
    }

    async fn mint(&self, request: &ApprovalRequest<'_>) -> Result<ApprovalVerdict, StoreError> {
        let now = Instant::now();
        let Some(mut state) = self.touch() else {
            return Ok(ApprovalVerdict::Inactive);
        };
        Ok(state.retained().pending.insert(request, now))
    }

    async fn pending(&self, id: &str) -> Result<Option<PendingCall>, StoreError> {
        let now = Instant::now();
        let Some(state) = self.touch() else {
            return Ok(None);
        };
        Ok(state
            .retained
            .as_ref()
            .and_then(|retained| retained.pending.get(id, now))
            .cloned())
    }

    async fn consume(&self, id: &str) -> Result<bool, StoreError> {
        let now = Instant::now();
        let Some(mut state) = self.touch() else {
            return Ok(false);
        };
        Ok(state
            .retained
            .as_mut()
            .is_some_and(|retained| retained.pending.remove(id, now)))
    }

    async fn change(&self, changes: &[StateChange]) -> Result<(), StoreError> {
        if let Some(mut state) = self.touch() {
            state.change(changes);
        }
        Ok(())
    }

    async fn switch_mode(&self, mode: Mode) -> Result<(), StoreError> {
        if let Some(_state) = self.touch() {
            self.mode.set(mode);
        }
        Ok(())
    }

    async fn end(&self) -> Result<(), StoreError> {
        self.state.lock().close();
        self.remove();
        Ok(())
    }

    async fn refresh(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn incarnation(&self) -> u128 {
        self.incarnation
    }

    #[inline]
    fn mode(&self) -> Mode {
        self.mode.get()
    }

    fn turn(&self) -> u64 {
        self.state.lock().usage.turn()
    }

    fn state(&self) -> Arc<SessionState> {
        Arc::clone(&self.state.lock().state)
    }

    fn audit(&self) -> Vec<AuditEntry> {
        self.log.audit(&self.principal)
    }
}

/// The calls of one session that wait for approval, with their expiry.
#[derive(Default)]
struct PendingCalls(HashMap<String, (Instant, PendingCall)>);

impl PendingCalls {
    fn insert(&mut self, request: &ApprovalRequest<'_>, now: Instant) -> ApprovalVerdict {
        self.0.retain(|_, (expires, _)| *expires > now);
        if let Some(limit) = request.exceeds(self.0.values().map(|(_, call)| call)) {
            return ApprovalVerdict::Full(limit);
        }
        self.0.insert(
            request.call.id.clone(),
            (time::after(now, request.lifetime), request.call.clone()),
        );
        ApprovalVerdict::Waits
    }

    fn get(&self, id: &str, now: Instant) -> Option<&PendingCall> {
        self.0
            .get(id)
            .filter(|(expires, _)| *expires > now)
            .map(|(_, pending)| pending)
    }

    fn remove(&mut self, id: &str, now: Instant) -> bool {
        self.0.remove(id).is_some_and(|(expires, _)| expires > now)
    }
}
