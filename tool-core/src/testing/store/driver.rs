//! What the cases are written with, for the tests that a store has beside them: sessions, and calls that ask to run.
//!
//! All of it panics where the store fails.

use crate::arguments::fingerprint::Fingerprint;
use crate::call::intent::Intent;
use crate::call::mode::Mode;
use crate::schema::timestamp::Timestamp;
use crate::session::approvals::PendingCall;
use crate::session::policy::{Policy, TurnLimits};
use crate::session::state::{AuditEntry, SessionState, StateChange};
use crate::session::store::handle::{DynStore, RecordHandle};
use crate::session::store::session_store::{Admission, Charge, Settlement, Verdict};
use crate::session::store::{OpenError, OpenRequest, SessionStore, StoreError};
use crate::testing::store::StoreUnderTest;
use crate::tool::options::Category;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// Long enough that nothing expires by itself.
pub const HOUR: Duration = Duration::from_hours(1);

/// What a session is opened with; the cases change what they are about.
pub fn opening(id: &str, mode: Mode) -> OpenRequest {
    OpenRequest {
        id: id.into(),
        mode,
        version: "1.0.00000000".into(),
        idle_timeout: HOUR,
        max_sessions: 1000,
        history: 5,
    }
}

/// Opens a session, or joins it.
pub async fn open(store: &impl SessionStore, opening: &OpenRequest) -> Result<Session, OpenError> {
    DynStore::open(store, opening, Duration::from_mins(1)).await.map(Session)
}

/// A session in text, joined where it is open.
pub async fn text(store: &impl StoreUnderTest) -> Session {
    session(store, Mode::Text).await
}

/// A session, joined where it is open.
pub async fn session(store: &impl StoreUnderTest, mode: Mode) -> Session {
    open(&store.handle().await, &opening("session", mode)).await.expect("the session opens")
}

/// An open session, and what the cases ask of it.
#[derive(Clone)]
pub struct Session(pub(crate) RecordHandle);

impl Session {
    /// What the store says of a call.
    pub async fn admit(&self, call: &Ask) -> Verdict {
        let admission = Admission {
            tool: call.tool,
            name: None,
            category: call.category,
            arguments: Fingerprint::opaque(call.tool, &call.arguments),
            charge: call.charge,
            limits: &call.limits,
            max_calls: call.max_calls,
            now: tokio::time::Instant::now(),
        };
        self.0.admit(&admission).await.expect("the store admits")
    }

    /// Whether it passes.
    pub async fn passes(&self, call: &Ask) -> bool {
        matches!(self.admit(call).await, Verdict::Admitted { .. })
    }

    /// How many of as many calls one after another pass.
    pub async fn pass(&self, calls: u32, call: &Ask) -> u32 {
        let mut passed = 0;
        for _ in 0..calls {
            passed += u32::from(self.passes(call).await);
        }
        passed
    }

    /// Settles a call of `search` in the current turn.
    pub async fn settle(&self, what: Settlement<'_>) {
        let turn = if what.turn == NOW { self.0.turn() } else { what.turn };
        let settlement = Settlement { tool: "search", turn, ..what };
        self.0.settle(&settlement).await.expect("the store settles");
    }

    /// Changes the state for the host.
    pub async fn change(&self, changes: &[StateChange]) {
        self.0.change(changes).await.expect("the store changes the state");
    }

    /// Ends the turn.
    pub async fn next_turn(&self) -> Option<u64> {
        self.0.next_turn().await.expect("the turn ends")
    }

    /// Ends the session.
    pub async fn end(&self) {
        self.0.end().await.expect("the session ends");
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

    /// Returns the audit log, as it is known here.
    pub fn audit(&self) -> Vec<AuditEntry> {
        self.0.audit()
    }

    /// Keeps a call that waits.
    pub async fn mint(&self, pending: &PendingCall, lifetime: Duration) {
        self.0.mint(pending, lifetime).await.expect("the store keeps the call");
    }

    /// The call that waits under this id.
    pub async fn pending(&self, id: &str) -> Option<PendingCall> {
        self.0.pending(id).await.expect("the store reads")
    }

    /// Takes the call from under this id.
    pub async fn consume(&self, id: &str) -> bool {
        self.0.consume(id).await.expect("the store takes the call")
    }

    /// Asserts that it is over.
    pub async fn assert_over(&self) {
        assert_eq!(self.admit(&Ask::default()).await, Verdict::Inactive);
        assert!(self.0.state().ended, "the state of a session that is over says so");
    }
}

/// For [`Session::settle`]: the current turn.
pub const NOW: u64 = u64::MAX;

/// What a call of the current turn leaves behind.
pub fn settlement<'a>(changes: &'a [StateChange], audit: &'a [AuditEntry]) -> Settlement<'a> {
    Settlement { changes, audit, ..settled() }
}

/// Nothing to record of a call of the current turn, yet.
pub fn settled<'a>() -> Settlement<'a> {
    Settlement { turn: NOW, category: Category::Retrieval, ..Settlement::default() }
}

/// A call that asks to run: of `search`, a retrieval tool, without limits unless told.
#[derive(Clone)]
pub struct Ask {
    /// The tool's name.
    pub tool: &'static str,
    /// What the tool is for.
    pub category: Category,
    /// The arguments, compared as text.
    pub arguments: String,
    /// What the call is charged for.
    pub charge: Charge,
    /// The limits.
    pub limits: TurnLimits,
    /// The calls that a turn may make of this tool.
    pub max_calls: Option<u32>,
}

impl Default for Ask {
    fn default() -> Self {
        Self {
            tool: "search",
            category: Category::Retrieval,
            arguments: "{}".to_owned(),
            charge: Charge::Run,
            limits: open_limits(),
            max_calls: None,
        }
    }
}

impl Ask {
    /// With limits.
    pub fn within(limits: impl FnOnce(&mut TurnLimits)) -> Self {
        let mut ask = Self::default();
        limits(&mut ask.limits);
        ask
    }

    /// Charged for this.
    #[must_use]
    pub fn with(self, charge: Charge) -> Self {
        Self { charge, ..self }
    }

    /// Of another tool.
    #[must_use]
    pub fn of(self, tool: &'static str, category: Category) -> Self {
        Self { tool, category, ..self }
    }

    /// With other arguments.
    #[must_use]
    pub fn about(&self, arguments: impl Into<String>) -> Self {
        Self { arguments: arguments.into(), ..self.clone() }
    }
}

fn open_limits() -> TurnLimits {
    let open = Policy::text().repeated_calls(None).max_empty_results(None).category_budget(Category::Retrieval, None);
    open.limits().clone()
}

/// The same call from many tasks over two handles at once: how many pass.
pub async fn race(store: &impl StoreUnderTest, tasks: u32, each: u32, call: &Ask) -> u32 {
    let sessions = [text(store).await, text(store).await];
    let mut racers = JoinSet::new();
    for (_, session) in (0..tasks).zip(sessions.iter().cycle()) {
        let (session, call) = (session.clone(), call.clone());
        racers.spawn(async move { session.pass(each, &call).await });
    }
    racers.join_all().await.into_iter().sum()
}

/// An entry of the audit log that can be told from others.
pub fn entry(number: usize) -> AuditEntry {
    AuditEntry {
        tool: "search".to_owned(),
        call_id: format!("call_{number}"),
        intent: Intent::SetPendingMessage(format!("message {number}")),
        at: "2026-11-20T09:30:00Z".parse::<Timestamp>().expect("a time"),
        effect: "applied".to_owned(),
    }
}

/// A call that waits, under an id of this number.
pub fn waiting(number: u32) -> PendingCall {
    PendingCall {
        id: format!("{number:032x}"),
        principal: "someone".to_owned(),
        session: "session".to_owned(),
        mode: Mode::Text,
        version: "1.0.00000000".to_owned(),
        call_id: "call_1".to_owned(),
        tool: "delete".to_owned(),
        arguments: r#"{"exact":9007199254740993,"list":[],"name":"\u0000 ü \" "}"#.to_owned(),
        expires_at: 1_795_000_000_000,
    }
}
