//! Stores that answer too late, or panic.

use crate::support::{Counter, asked, kind, tools};
use crate::support_b::ms;
use futures_util::FutureExt;
use serde_json::json;
use std::collections::{HashSet, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::timeout;
use tool_core::session::{
    Admission, AnsweredCallRecord, ApprovalPage, ApprovalPlace, ApprovalRequest, ApprovalVerdict,
    AuditEntry, CallGrant, GrantRequest, GrantVerdict, History, MemoryRecord, MemoryStore, Message,
    Model, ModelRequest, ModelStep, OpenError, OpenRequest, PendingCall, PermitRequest,
    PermitVerdict, SessionCall, SessionRecord, SessionState, SessionStore, Settlement, StateChange,
    StoreError, Turn, Verdict,
};
use tool_core::{
    Category, ErrorKind, Intent, Mode, Policy, Runtime, Session, SessionId, ToolCall, ToolError,
    ToolOutput, toolset,
};

/// A store in memory with switchable faults.
#[derive(Clone, Default)]
pub(crate) struct Odd {
    inner: Arc<MemoryStore>,
    pub(crate) manners: Arc<Manners>,
}

/// A fault of a settlement that charges an amount.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    /// It fails.
    Fails,
    /// It takes effect, but is reported to have failed.
    LosesAnswer,
    /// It takes no effect, and has no end.
    Hangs,
    /// It takes effect, and has no end.
    HangsAfter,
}

#[derive(Default)]
pub(crate) struct Manners {
    /// The faults of the next settlements.
    pub(crate) faults: Mutex<VecDeque<Fault>>,
    /// The amounts that were charged.
    charged: Mutex<HashSet<u128>>,
    /// Admits calls under caps without looking at them.
    pub(crate) ignores_caps: AtomicBool,
    /// Admits at once and answers after 200 ms, as over a slow network.
    pub(crate) late: AtomicBool,
    /// Panics over calls of the tool `bad`.
    panics: AtomicBool,
    /// Panics over the number of the turn, once it was asked for this often. 0 for never.
    loses_turn: AtomicU64,
    /// Fails when it ends a turn.
    keeps_turn: AtomicBool,
    /// Fails when it is asked for a permit.
    loses_permits: AtomicBool,
    /// Forgets that approvals were used, as after a failover.
    revives_approvals: AtomicBool,
}

impl Manners {
    fn late(&self, yes: bool) {
        self.late.store(yes, Ordering::SeqCst);
    }

    pub(crate) fn forget_amounts(&self) {
        self.charged.lock().expect("the amounts").clear();
    }

    pub(crate) fn loses_permits(&self, yes: bool) {
        self.loses_permits.store(yes, Ordering::SeqCst);
    }

    pub(crate) fn revives_approvals(&self, yes: bool) {
        self.revives_approvals.store(yes, Ordering::SeqCst);
    }

    fn check(&self, tool: &str) {
        assert!(
            tool != "bad" || !self.panics.load(Ordering::SeqCst),
            "on purpose"
        );
    }
}

pub(crate) struct OddRecord(Arc<MemoryRecord>, Arc<Manners>);

impl SessionStore for Odd {
    type Record = OddRecord;

    async fn open(&self, request: &OpenRequest) -> Result<Arc<OddRecord>, OpenError> {
        let record = self.inner.open(request).await?;
        Ok(Arc::new(OddRecord(record, Arc::clone(&self.manners))))
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
        if self.manners.loses_permits.load(Ordering::SeqCst) {
            return Err(StoreError::new("on purpose"));
        }
        self.inner.acquire_permit(request).await
    }

    async fn extend_permit(&self, request: &PermitRequest<'_>) -> Result<(), StoreError> {
        self.inner.extend_permit(request).await
    }

    async fn release_permit(&self, request: &PermitRequest<'_>) -> Result<(), StoreError> {
        self.inner.release_permit(request).await
    }
}

impl SessionRecord for OddRecord {
    async fn admit(&self, call: &Admission<'_>) -> Result<Verdict, StoreError> {
        self.1.check(call.tool);
        let said = self.0.admit(call).await;
        if self.1.late.load(Ordering::SeqCst) {
            ms(200).await;
        }
        match said {
            Ok(Verdict::Capped { turn, .. }) if self.1.ignores_caps.load(Ordering::SeqCst) => {
                Ok(Verdict::Admitted { turn })
            }
            said => said,
        }
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<(), StoreError> {
        assert!(
            settlement.tool != "bad_end" || !self.1.panics.load(Ordering::SeqCst),
            "on purpose"
        );
        let fault = settlement
            .amount_id
            .and_then(|_| self.1.faults.lock().expect("the faults").pop_front());
        let is_done = matches!(fault, None | Some(Fault::LosesAnswer | Fault::HangsAfter));
        let mut is_known = |id| !self.1.charged.lock().expect("the amounts").insert(id);
        if is_done && !settlement.amount_id.is_some_and(&mut is_known) {
            self.0.settle(settlement).await?;
        }
        match fault {
            None => Ok(()),
            Some(Fault::Fails | Fault::LosesAnswer) => Err(StoreError::new("on purpose")),
            Some(Fault::Hangs | Fault::HangsAfter) => std::future::pending().await,
        }
    }

    async fn keep_call(&self, call: &AnsweredCallRecord<'_>) -> Result<(), StoreError> {
        let is_bad = call.call.is_some_and(|call| call.tool == "bad_keep");
        assert!(
            !is_bad || !self.1.panics.load(Ordering::SeqCst),
            "on purpose"
        );
        self.0.keep_call(call).await
    }

    async fn calls(&self) -> Result<Vec<SessionCall>, StoreError> {
        self.0.calls().await
    }

    async fn next_turn(&self) -> Result<Turn, StoreError> {
        if self.1.keeps_turn.load(Ordering::SeqCst) {
            return Err(StoreError::new("on purpose"));
        }
        self.0.next_turn().await
    }

    async fn mint(&self, request: &ApprovalRequest<'_>) -> Result<ApprovalVerdict, StoreError> {
        self.0.mint(request).await
    }

    async fn pending(&self, id: &str) -> Result<Option<PendingCall>, StoreError> {
        self.0.pending(id).await
    }

    async fn consume(&self, id: &str) -> Result<bool, StoreError> {
        if self.1.revives_approvals.load(Ordering::SeqCst) {
            return Ok(self.0.pending(id).await?.is_some());
        }
        self.0.consume(id).await
    }

    async fn grant(&self, request: &GrantRequest<'_>) -> Result<GrantVerdict, StoreError> {
        self.0.grant(request).await
    }

    async fn grants(&self) -> Result<Vec<CallGrant>, StoreError> {
        self.0.grants().await
    }

    async fn revoke(&self, grant: &str) -> Result<bool, StoreError> {
        self.0.revoke(grant).await
    }

    async fn change(&self, changes: &[StateChange]) -> Result<(), StoreError> {
        self.0.change(changes).await
    }

    async fn switch_mode(&self, mode: Mode) -> Result<(), StoreError> {
        self.0.switch_mode(mode).await
    }

    async fn end(&self) -> Result<bool, StoreError> {
        self.0.end().await
    }

    async fn refresh(&self) -> Result<(), StoreError> {
        self.0.refresh().await
    }

    fn incarnation(&self) -> u128 {
        self.0.incarnation()
    }

    fn mode(&self) -> Mode {
        self.0.mode()
    }

    fn turn(&self) -> u64 {
        assert_ne!(
            self.1.loses_turn.fetch_sub(1, Ordering::SeqCst),
            1,
            "on purpose"
        );
        self.0.turn()
    }

    fn state(&self) -> Arc<SessionState> {
        self.0.state()
    }

    async fn audit(&self) -> Result<Vec<AuditEntry>, StoreError> {
        self.0.audit().await
    }
}

#[derive(Clone, Default)]
struct Shelf(Counter);

#[toolset(discover = false)]
impl Shelf {
    /// Look something up.
    #[tool(category = "retrieval")]
    fn look(&self, what: String) -> String {
        self.0.add();
        what
    }

    /// Act.
    #[tool(category = "action")]
    fn bad(&self) -> u32 {
        self.0.add()
    }

    /// Act, and leave something behind.
    #[tool(category = "action")]
    fn bad_end(&self) -> ToolOutput {
        ToolOutput::new(self.0.add()).intent(Intent::SuppressAudio)
    }
}

/// Opens a session with a budget of two retrievals, over a store with a limit of 50 ms.
async fn session(store: &Odd) -> (Session, Counter) {
    let runs = Counter::default();
    let policy = Policy::text().store_deadline(Duration::from_millis(50));
    let runtime = Runtime::builder(tools![Shelf(runs.clone())])
        .policy(policy.category_budget(Category::Retrieval, Some(2)))
        .store(store.clone());
    let session = runtime
        .build()
        .expect("a runtime")
        .session("s", Mode::Text)
        .await
        .expect("a session");
    (session, runs)
}

// R-B2
#[tokio::test(start_paused = true)]
async fn late_admission_by_the_store_costs_nothing() {
    let store = Odd::default();
    let (session, runs) = session(&store).await;
    store.manners.late(true);
    for n in 0..3 {
        let late = session
            .call(asked("look", json!({"what": n.to_string()})))
            .await;
        assert_eq!(kind(&late), Some(ErrorKind::Transient), "call {n}");
        ms(500).await;
    }
    store.manners.late(false);
    assert_eq!(runs.get(), 0);
    assert!(
        session
            .call(asked("look", json!({"what": "a"})))
            .await
            .is_ok()
    );
    assert!(
        session
            .call(asked("look", json!({"what": "b"})))
            .await
            .is_ok()
    );
}

// R-B2
#[tokio::test(start_paused = true)]
async fn call_dropped_before_admission_costs_nothing() {
    let store = Odd::default();
    let (session, runs) = session(&store).await;
    store.manners.late(true);
    for n in 0..3 {
        let call = session.call(asked("look", json!({"what": n.to_string()})));
        assert!(
            timeout(Duration::from_millis(10), call).await.is_err(),
            "call {n}"
        );
        ms(500).await;
    }
    store.manners.late(false);
    assert_eq!(runs.get(), 0);
    assert!(
        session
            .call(asked("look", json!({"what": "a"})))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_turn_that_the_store_does_not_end_goes_on() {
    let store = Odd::default();
    let (session, _) = session(&store).await;
    store.manners.keeps_turn.store(true, Ordering::SeqCst);
    let turn = session.next_turn().await;
    assert_eq!((turn.number, turn.ended), (0, false));
    let failed = session.try_next_turn().await;
    assert!(failed.is_err(), "an engine tries it again");

    store.manners.keeps_turn.store(false, Ordering::SeqCst);
    let turn = session.try_next_turn().await;
    assert_eq!(turn.map(|turn| turn.number), Ok(1));
}

// L22
#[tokio::test]
async fn store_panic_affects_one_call_of_a_step() {
    for tool in ["bad", "bad_end"] {
        let store = Odd::default();
        store.manners.panics.store(true, Ordering::SeqCst);
        let (session, _) = session(&store).await;
        let calls = [
            asked("look", json!({"what": "a"})),
            asked(tool, json!({})),
            asked("look", json!({"what": "b"})),
        ];
        let step = tokio::spawn(async move { session.call_all(calls).await });
        let responses = step.await.unwrap_or_default();
        let kinds = responses.iter().map(kind).collect::<Vec<_>>();
        assert_eq!(
            (kinds.len(), kinds.first(), kinds.last()),
            (3, Some(&None), Some(&None)),
            "{tool}"
        );
    }
}

/// A model whose step breaks the store.
struct Saboteur(Odd);

impl Model for Saboteur {
    async fn step(&mut self, _: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        // The answer to an unknown name reads the number twice.
        self.0.manners.loses_turn.store(3, Ordering::SeqCst);
        Ok(ModelStep::calls(
            ["1", "2", "3"].map(|id| ToolCall::new(id, "absent", "{}")),
        ))
    }
}

// L22
#[tokio::test]
async fn panic_leaves_a_complete_history() {
    let store = Odd::default();
    let (session, _) = session(&store).await;
    let (mut model, mut history) = (Saboteur(store), History::new());
    let reply = session.reply(&mut model, &mut history, "hello");
    assert!(AssertUnwindSafe(reply).catch_unwind().await.is_err());
    let results = history
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Result {
                call_id, result, ..
            } => Some((call_id.as_str(), result.text.contains("was cancelled"))),
            _ => None,
        });
    assert_eq!(
        results.collect::<Vec<_>>(),
        [("1", false), ("2", true), ("3", true)]
    );
}
