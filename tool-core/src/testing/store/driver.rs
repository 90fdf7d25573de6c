//! Helpers of the conformance tests, also for a store's own tests: sessions, and calls to admit.
//! They panic if the store fails.

use crate::arguments::fingerprint::Fingerprint;
use crate::call::approval_reason::{ApprovalReason, ApprovalSource};
use crate::call::error::ErrorKind;
use crate::call::intent::Intent;
use crate::call::mode::Mode;
use crate::schema::timestamp::Timestamp;
use crate::session::approvals::{ApprovalRequest, ApprovalVerdict, PendingCall};
use crate::session::audit::{
    AuditEntry, AuditedIntent, CallDecision, CallOutcome, ChangedArguments,
};
use crate::session::caps::SpendingCaps;
use crate::session::grants::{CallGrant, GrantRequest, GrantScope, GrantVerdict};
use crate::session::metrics::call_log::SessionCall;
use crate::session::policy::{Policy, TurnLimits};
use crate::session::state::{SessionState, StateChange, Turn};
use crate::session::store::handle::{DynStore, RecordHandle};
use crate::session::store::session_store::{
    Admission, AnsweredCallRecord, Charge, Settlement, Verdict,
};
use crate::session::store::{OpenError, OpenRequest, SessionStore, StoreError};
use crate::time::CallInstant;
use crate::tool::options::Category;
use crate::trace::Redaction;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// A store under test, which no other test uses. It begins without sessions.
pub trait StoreUnderTest: Send + Sync {
    /// The shortest time that the store distinguishes from none. Tests wait for a few of them.
    const TICK: Duration;

    /// The store's type.
    type Store: SessionStore;

    /// Returns a handle of the store, as another process would have it.
    fn handle(&self) -> impl Future<Output = Self::Store> + Send;

    /// Lets this much of the store's time pass. Called within a current-thread runtime of tokio,
    /// whose time can be paused.
    fn pass(&self, time: Duration) -> impl Future<Output = ()> + Send;
}

/// A time in which nothing expires.
pub const HOUR: Duration = Duration::from_secs(3_600);

/// Returns a request to open a session, which tests change.
pub fn opening(id: &str, mode: Mode) -> OpenRequest {
    OpenRequest {
        id: id.into(),
        principal: "someone".into(),
        agent: "".into(),
        mode,
        version: "1.0.00000000".into(),
        idle_timeout: HOUR,
        max_sessions: 1000,
        call_bytes: 4_096,
        keep_calls_for: HOUR,
        redaction: Redaction::new(),
    }
}

/// Opens a session, or joins it.
pub async fn open(
    store: &impl SessionStore,
    opening: &OpenRequest,
) -> Result<TestSession, OpenError> {
    DynStore::open(store, opening, Duration::from_secs(60))
        .await
        .map(TestSession)
}

/// Opens a session in text mode, or joins it.
pub async fn text(store: &impl StoreUnderTest) -> TestSession {
    session(store, Mode::Text).await
}

/// Opens a session in a mode, or joins it.
pub async fn session(store: &impl StoreUnderTest, mode: Mode) -> TestSession {
    open(&store.handle().await, &opening("session", mode))
        .await
        .expect("the session opens")
}

/// An open session, with the operations that tests need.
#[derive(Clone)]
pub struct TestSession(pub(crate) RecordHandle);

impl TestSession {
    /// Returns the store's verdict on a call.
    pub async fn admit(&self, call: &TestCall) -> Verdict {
        self.try_admit(call).await.expect("the store admits")
    }

    /// Returns the store's verdict on a call, or the store's error.
    pub async fn try_admit(&self, call: &TestCall) -> Result<Verdict, StoreError> {
        let admission = Admission {
            tool: call.tool,
            name: None,
            category: call.category,
            arguments: Fingerprint::opaque(call.tool, &call.arguments),
            charge: call.charge,
            limits: &call.limits,
            max_calls: call.max_calls,
            caps: call.caps.as_ref(),
            repeatable: call.repeatable,
            began: CallInstant::now(),
        };
        self.0.admit(&admission).await
    }

    /// Returns true if the store admits a call.
    pub async fn passes(&self, call: &TestCall) -> bool {
        matches!(
            self.admit(call).await,
            Verdict::Admitted { .. } | Verdict::Capped { .. }
        )
    }

    /// Makes a number of calls one after another. Returns the number of admitted ones.
    pub async fn pass(&self, calls: u32, call: &TestCall) -> u32 {
        let mut passed = 0;
        for _ in 0..calls {
            passed += u32::from(self.passes(call).await);
        }
        passed
    }

    /// Settles a call of `search` in the current turn.
    pub async fn settle(&self, what: Settlement<'_>) {
        let turn = if what.turn == NOW {
            self.0.turn()
        } else {
            what.turn
        };
        let settlement = Settlement {
            tool: "search",
            turn,
            ..what
        };
        self.0.settle(&settlement).await.expect("the store settles");
    }

    /// Changes the state for the program.
    pub async fn change(&self, changes: &[StateChange]) {
        self.0
            .change(changes)
            .await
            .expect("the store changes the state");
    }

    /// Ends the turn. Returns the number of the next one, or `None` if the session is over.
    pub async fn next_turn(&self) -> Option<u64> {
        let Turn { number, ended, .. } = self.turn().await;
        (!ended).then_some(number)
    }

    /// Ends the turn.
    pub async fn turn(&self) -> Turn {
        self.0.next_turn().await.expect("the turn ends")
    }

    /// Returns the number that distinguishes the session from all others.
    pub fn incarnation(&self) -> u128 {
        self.0.incarnation()
    }

    /// Ends the session. Returns true if it was open until then.
    pub async fn end(&self) -> bool {
        self.0.end().await.expect("the session ends")
    }

    /// Reads what others have changed.
    pub async fn refresh(&self) {
        self.try_refresh().await.expect("the store reads");
    }

    /// Reads what others have changed, or returns the store's error.
    pub async fn try_refresh(&self) -> Result<(), StoreError> {
        self.0.refresh().await
    }

    /// Returns the state, as it is known here.
    pub fn state(&self) -> Arc<SessionState> {
        self.0.state()
    }

    /// Returns the audit log.
    pub async fn audit(&self) -> Vec<AuditEntry> {
        self.0.audit().await.expect("the store reads the log")
    }

    /// Keeps a call that waits for approval.
    pub async fn mint(&self, pending: &PendingCall, lifetime: Duration) {
        assert_eq!(
            self.asks(&ApprovalRequest::new(pending, lifetime)).await,
            ApprovalVerdict::Waits
        );
    }

    /// Asks for the approval of a call.
    pub async fn asks(&self, request: &ApprovalRequest<'_>) -> ApprovalVerdict {
        self.0.mint(request).await.expect("the store answers")
    }

    /// Keeps an answered call.
    pub async fn keep_call(&self, call: &SessionCall) {
        self.0
            .keep_call(&AnsweredCallRecord::new(Some(call), None))
            .await
            .expect("the store keeps the call");
    }

    /// Adds an entry to the audit log, with its call or without it.
    pub async fn audit_call(&self, call: Option<&SessionCall>, entry: &AuditEntry) {
        self.0
            .keep_call(&AnsweredCallRecord::new(call, Some(entry)))
            .await
            .expect("the store keeps the entry");
    }

    /// Returns the calls that are kept.
    pub async fn calls(&self) -> Vec<SessionCall> {
        self.0.calls().await.expect("the store reads")
    }

    /// Returns the call that waits under an id.
    pub async fn pending(&self, id: &str) -> Option<PendingCall> {
        self.0.pending(id).await.expect("the store reads")
    }

    /// Consumes the call that waits under an id. Returns true if there was one.
    pub async fn consume(&self, id: &str) -> bool {
        self.0.consume(id).await.expect("the store takes the call")
    }

    /// Keeps a grant in place of a call that waits.
    pub async fn grant(&self, request: &GrantRequest<'_>) -> GrantVerdict {
        self.0.grant(request).await.expect("the store answers")
    }

    /// Returns the grants that have not ended, in the order of their ids.
    pub async fn grants(&self) -> Vec<CallGrant> {
        let mut grants = self.0.grants().await.expect("the store reads");
        grants.sort_by(|one, other| one.id.cmp(&other.id));
        grants
    }

    /// Removes a grant. Returns true if there was one.
    pub async fn revoke(&self, grant: &str) -> bool {
        self.0
            .revoke(grant)
            .await
            .expect("the store removes the grant")
    }

    /// Asserts that the session is over.
    pub async fn assert_over(&self) {
        assert_eq!(self.admit(&TestCall::default()).await, Verdict::Inactive);
        assert!(
            self.0.state().ended,
            "the state of a session that is over says so"
        );
    }
}

/// The current turn, for [`TestSession::settle`].
pub const NOW: u64 = u64::MAX;

/// Returns the settlement of a call of the current turn with changes and entries.
pub fn settlement<'a>(changes: &'a [StateChange], audit: &'a [AuditEntry]) -> Settlement<'a> {
    Settlement {
        changes,
        audit,
        ..settled()
    }
}

/// Returns the settlement of a call of the current turn that changes nothing.
pub fn settled<'a>() -> Settlement<'a> {
    Settlement {
        turn: NOW,
        category: Category::Retrieval,
        ..Settlement::default()
    }
}

/// A call to admit. Defaults to a call of `search`, a retrieval tool, without limits.
#[derive(Clone)]
pub struct TestCall {
    /// The tool's name.
    pub tool: &'static str,
    /// The tool's category.
    pub category: Category,
    /// The arguments, compared as text.
    pub arguments: String,
    /// The call's charge.
    pub charge: Charge,
    /// The limits.
    pub limits: TurnLimits,
    /// Maximum number of calls of this tool in a turn.
    pub max_calls: Option<u32>,
    /// The caps on cost and time.
    pub caps: Option<SpendingCaps>,
    /// What distinguishes the call, if it may ask again.
    pub repeatable: Option<u128>,
}

impl Default for TestCall {
    fn default() -> Self {
        Self {
            tool: "search",
            category: Category::Retrieval,
            arguments: "{}".to_owned(),
            charge: Charge::Run,
            limits: open_limits(),
            max_calls: None,
            caps: None,
            repeatable: None,
        }
    }
}

impl TestCall {
    /// Creates a call with limits.
    pub fn within(limits: impl FnOnce(&mut TurnLimits)) -> Self {
        let mut ask = Self::default();
        limits(&mut ask.limits);
        ask
    }

    /// Sets the charge.
    #[must_use]
    pub fn with(self, charge: Charge) -> Self {
        Self { charge, ..self }
    }

    /// Makes it a call that may ask again.
    #[must_use]
    pub fn repeatable(self, call: u128) -> Self {
        Self {
            repeatable: Some(call),
            ..self
        }
    }

    /// Sets the tool.
    #[must_use]
    pub fn of(self, tool: &'static str, category: Category) -> Self {
        Self {
            tool,
            category,
            ..self
        }
    }

    /// Returns a call with other arguments.
    #[must_use]
    pub fn about(&self, arguments: impl Into<String>) -> Self {
        Self {
            arguments: arguments.into(),
            ..self.clone()
        }
    }
}

fn open_limits() -> TurnLimits {
    let open = Policy::text()
        .repeated_calls(None)
        .max_empty_results(None)
        .category_budget(Category::Retrieval, None);
    open.limits().clone()
}

/// Makes the same call from many tasks over two handles at once. Returns the number of admitted
/// ones.
pub async fn race(store: &impl StoreUnderTest, tasks: u32, each: u32, call: &TestCall) -> u32 {
    let sessions = [text(store).await, text(store).await];
    let mut racers = JoinSet::new();
    for (_, session) in (0..tasks).zip(sessions.iter().cycle()) {
        let session = session.clone();
        let call = call.clone();
        racers.spawn(async move { session.pass(each, &call).await });
    }
    racers.join_all().await.into_iter().sum()
}

/// Returns an entry of the audit log that differs for each number.
pub fn entry(number: usize) -> AuditEntry {
    let mut decision = CallDecision::new(true, format!("person {number}"));
    decision.change = Some(ChangedArguments {
        asked: r#"{"exact":9007199254740993}"#.to_owned(),
        asked_digest: "sha256:00".to_owned(),
        run: r#"{"exact":9007199254740995}"#.to_owned(),
        run_digest: "sha256:01".to_owned(),
    });
    AuditEntry {
        at: "2026-11-20T09:30:00Z".parse::<Timestamp>().expect("a time"),
        principal: format!("user {number}"),
        outcome: CallOutcome::Failed(ErrorKind::Conflict),
        intents: vec![AuditedIntent::new(
            Intent::SetPendingMessage(format!("message {number}")),
            "applied",
        )],
        decision: Some(decision),
        reasons: reasons(),
        ..AuditEntry::new(format!("call_{number}"), "search")
    }
}

/// Returns a call that waits for approval under an id of this number.
pub fn waiting(number: u32) -> PendingCall {
    PendingCall {
        id: format!("{number:032x}"),
        principal: "someone".to_owned(),
        agent: "clerk".to_owned(),
        session: "session".to_owned(),
        mode: Mode::Text,
        turn: 0,
        version: "1.0.00000000".to_owned(),
        settings: "0".repeat(64),
        call_id: "call_1".to_owned(),
        tool: "delete".to_owned(),
        arguments: r#"{"exact":9007199254740993,"list":[],"name":"\u0000 ü \" "}"#.to_owned(),
        expires_at: 1_795_000_000_000,
        reasons: reasons(),
        seal: "0".repeat(64),
    }
}

/// Returns a grant with an id of this number.
pub fn given(number: u32) -> CallGrant {
    let time = |text: &str| text.parse::<Timestamp>().expect("a time");
    CallGrant {
        id: format!("{number:032x}"),
        tool: "delete".to_owned(),
        scope: GrantScope::Arguments,
        digest: format!("sha256:{number:064x}"),
        summary: "delete(name: \u{0} ü \" %)".to_owned(),
        version: "1.0.00000000".to_owned(),
        settings: "0".repeat(64),
        by: "someone \u{0}".to_owned(),
        given_at: time("2026-11-20T09:30:00.123Z"),
        ends_at: time("2026-11-20T10:30:00.123Z"),
        proof: "0".repeat(64),
    }
}

/// Returns the calls of a principal that wait for approval, from pages of at most `limit`.
pub async fn approvals_of(
    store: &impl SessionStore,
    principal: &str,
    limit: u32,
) -> Vec<PendingCall> {
    let mut calls = Vec::new();
    let mut place = None;
    loop {
        let page = store.approvals_of(principal, place.as_ref(), limit).await;
        let page = page.expect("the store reads");
        assert!(
            page.calls.len() as u64 <= u64::from(limit),
            "a page has at most {limit} calls"
        );
        calls.extend(page.calls);
        place = page.next;
        if place.is_none() {
            return calls;
        }
    }
}

/// Returns the reasons for which a call waits.
fn reasons() -> Vec<ApprovalReason> {
    let of_policy = ApprovalReason::new(ApprovalSource::Policy, "paths in \"/etc\" ü");
    vec![
        ApprovalReason::new(ApprovalSource::Tool, "it asks"),
        of_policy,
    ]
}

/// Returns an answered call whose arguments differ for each number.
pub fn answered(number: u64) -> SessionCall {
    SessionCall {
        tool: "search".to_owned(),
        turn: number,
        arguments: format!(
            r#"{{"exact":9007199254740993,"text":"\u0000 ü \" ","number":{number}}}"#
        ),
        duration: Duration::from_micros(1_234_567),
        ok: number.is_multiple_of(2),
        error: (!number.is_multiple_of(2)).then_some(ErrorKind::RateLimit),
    }
}
