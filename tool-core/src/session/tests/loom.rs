//! The state that the threads of a session share, under every order in which the threads can run: the store in memory, and
//! the list of running calls. Run by `just loom`.

use crate::arguments::equality::EqualityRules;
use crate::arguments::fingerprint::Fingerprint;
use crate::call::context::CallContext;
use crate::call::{Mode, RunContext};
use crate::session::caps::{CapScope, Spending, SpendingCaps};
use crate::session::running::{Interruptions, RunningCall, RunningCalls};
use crate::session::store::{
    Admission, BudgetLimit, Charge, MemoryRecord, MemoryStore, OpenRequest, Refusal, SessionRecord,
    SessionStore, Settlement, Verdict,
};
use crate::session::{ApprovalRequest, ApprovalVerdict, PendingCall, Policy, Turn, TurnLimits};
use crate::time::CallInstant;
use crate::tool::{Category, FunctionTool, OnDuplicate, RawTool};
use futures_util::FutureExt;
use loom::model::Builder;
use loom::thread;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Loom's primitives with the signatures of those that the state has otherwise.
pub(crate) mod sync {
    pub(crate) use loom::sync::MutexGuard;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64};

    #[derive(Default)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect("no thread of a model panics")
        }
    }
}

/// Checks a model under every order of its threads in which each thread is preempted at most three times: all orders of
/// small models, and of larger ones those that show races.
fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// Runs the work on several threads, the first on the calling one, and returns their results in order.
fn race<T: 'static>(threads: usize, work: impl Fn(usize) -> T + Clone + 'static) -> Vec<T> {
    let others = (1..threads).map(|number| {
        let work = work.clone();
        thread::spawn(move || work(number))
    });
    let others = others.collect::<Vec<_>>();
    let mut results = vec![work(0)];
    results.extend(
        others
            .into_iter()
            .map(|thread| thread.join().expect("no panic")),
    );
    results
}

/// Returns the output of an operation of the store in memory, which never waits.
fn now<T>(operation: impl Future<Output = T>) -> T {
    operation
        .now_or_never()
        .expect("the store in memory does not wait")
}

fn open(store: &MemoryStore) -> Arc<MemoryRecord> {
    let request = OpenRequest {
        id: "session".into(),
        principal: "".into(),
        agent: "".into(),
        mode: Mode::Text,
        version: "1".into(),
        idle_timeout: Duration::from_secs(30 * 60),
        max_sessions: 10,
        call_bytes: 0,
        keep_calls_for: Duration::ZERO,
        redaction: crate::trace::Redaction::new(),
    };
    now(SessionStore::open(store, &request)).expect("the session opens")
}

fn admit(record: &MemoryRecord, limit: u32, arguments: &str) -> Verdict {
    static EQUALITY: LazyLock<EqualityRules> =
        LazyLock::new(|| EqualityRules::of_schema(&json!({"type": "object"})));
    let policy = Policy::text().max_calls(Some(limit));
    let admission = Admission {
        tool: "search",
        name: None,
        category: Category::Utility,
        arguments: Fingerprint::of(&EQUALITY, "search", arguments),
        charge: Charge::Run,
        limits: policy.limits(),
        max_calls: None,
        caps: None,
        repeatable: None,
        began: CallInstant::now(),
    };
    now(record.admit(&admission)).expect("the store in memory does not fail")
}

fn is_admitted(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Admitted { .. })
}

fn refund(record: &MemoryRecord, turn: u64) {
    let settlement = Settlement {
        tool: "search",
        turn,
        refund: true,
        ..Settlement::default()
    };
    now(record.settle(&settlement)).expect("the store in memory does not fail");
}

// R-B2: N parallel calls on a limit of k admit exactly k.
#[test]
fn admits_exactly_two_of_three_racing_calls_on_a_limit_of_two() {
    check(|| {
        let record = open(&MemoryStore::new());
        let verdicts = race(3, move |number| admit(&record, 2, &number.to_string()));
        assert_eq!(
            verdicts
                .iter()
                .filter(|verdict| is_admitted(verdict))
                .count(),
            2
        );
        let refusal = Refusal::Budget {
            limit: BudgetLimit::Total,
            used: 2,
            of: 2,
        };
        assert!(verdicts.contains(&Verdict::Refused(refusal)));
    });
}

// R-L1: counted when admitted.
#[test]
fn refuses_exactly_one_of_three_racing_equal_calls() {
    check(|| {
        let record = open(&MemoryStore::new());
        let verdicts = race(3, move |_| admit(&record, 9, "same"));
        let repeated = Verdict::Refused(Refusal::Repeated(3));
        assert_eq!(
            verdicts
                .into_iter()
                .filter(|verdict| *verdict == repeated)
                .count(),
            1
        );
    });
}

// R-B2: a refunded budget admits one more call, and not two.
#[test]
fn a_refund_is_spent_once() {
    check(|| {
        let record = open(&MemoryStore::new());
        assert_eq!(admit(&record, 1, "first"), Verdict::Admitted { turn: 0 });
        let shared = Arc::clone(&record);
        let admitted = race(3, move |number| match number {
            0 => {
                refund(&shared, 0);
                false
            }
            number => is_admitted(&admit(&shared, 1, &number.to_string())),
        });
        let admitted = admitted.into_iter().filter(|admitted| *admitted).count();
        assert!(admitted <= 1);
        assert_eq!(
            is_admitted(&admit(&record, 1, "last")),
            admitted == 0,
            "an unspent refund stays"
        );
    });
}

// R-B6: of amounts that are charged at once none is lost, and no order of the locks waits for ever.
#[test]
fn racing_amounts_are_all_charged() {
    static CAPS: LazyLock<SpendingCaps> = LazyLock::new(|| {
        let mut caps = SpendingCaps::default();
        for scope in CapScope::STORED {
            caps.set_time(scope, Some(Duration::from_millis(2)));
        }
        caps
    });
    check(|| {
        let record = open(&MemoryStore::new());
        let policy = Policy::text();
        let ask = move |record: &MemoryRecord| {
            let call = Admission {
                tool: "search",
                name: None,
                category: Category::Utility,
                arguments: Fingerprint::opaque("search", "{}"),
                charge: Charge::Hold,
                limits: &TurnLimits {
                    repeated: None,
                    ..policy.limits().clone()
                },
                max_calls: None,
                caps: Some(&CAPS),
                repeatable: None,
                began: CallInstant::now(),
            };
            matches!(now(record.admit(&call)), Ok(Verdict::Capped { .. }))
        };
        let shared = Arc::clone(&record);
        let spent = Spending {
            time: Duration::from_millis(1),
            ..Spending::default()
        };
        let first = ask.clone();
        let admitted = race(2, move |_| {
            let admitted = first(&shared);
            let settlement = Settlement {
                tool: "search",
                spent,
                caps: Some(&CAPS),
                ..Settlement::default()
            };
            now(shared.settle(&settlement)).expect("the store in memory does not fail");
            admitted
        });
        assert_eq!((admitted, ask(&record)), (vec![true, true], false));
    });
}

// R-B2: a refund after the turn's end is not a refund of the next turn.
#[test]
fn a_late_refund_raises_no_limit() {
    check(|| {
        let record = open(&MemoryStore::new());
        assert_eq!(admit(&record, 1, "first"), Verdict::Admitted { turn: 0 });
        let shared = Arc::clone(&record);
        race(2, move |number| match number {
            0 => assert_eq!(
                now(shared.next_turn()),
                Ok(Turn {
                    number: 1,
                    pending_message: None,
                    ended: false,
                    ended_now: false,
                })
            ),
            _ => refund(&shared, 0),
        });
        assert_eq!(admit(&record, 1, "a"), Verdict::Admitted { turn: 1 });
        assert!(!is_admitted(&admit(&record, 1, "b")));
    });
}

// R-C2: a token is redeemed once.
#[test]
fn exactly_one_of_three_redeems_a_token() {
    check(|| {
        let record = open(&MemoryStore::new());
        let pending = PendingCall {
            id: "0".repeat(32),
            principal: String::new(),
            agent: String::new(),
            session: "session".to_owned(),
            mode: Mode::Text,
            turn: 0,
            version: "1".to_owned(),
            settings: String::new(),
            call_id: "c".to_owned(),
            tool: "pay".to_owned(),
            arguments: "{}".to_owned(),
            expires_at: 0,
            reasons: Vec::new(),
            seal: String::new(),
        };
        let request = ApprovalRequest::new(&pending, Duration::from_secs(10 * 60));
        assert_eq!(now(record.mint(&request)), Ok(ApprovalVerdict::Waits));
        let redeemed = race(3, move |_| now(record.consume(&pending.id)) == Ok(true));
        assert_eq!(redeemed.into_iter().filter(|redeemed| *redeemed).count(), 1);
    });
}

// R-I3: a session that has ended admits no call.
#[test]
fn admits_no_call_after_the_session_has_ended() {
    check(|| {
        let record = open(&MemoryStore::new());
        let shared = Arc::clone(&record);
        race(3, move |number| match number {
            0 => {
                assert_eq!(now(shared.end()), Ok(true));
                assert_eq!(admit(&shared, 9, "after the end"), Verdict::Inactive);
            }
            number => assert!(!matches!(
                admit(&shared, 9, &number.to_string()),
                Verdict::Refused(_)
            )),
        });
        assert!(record.state().ended);
    });
}

#[test]
fn racing_openers_of_one_id_get_one_session() {
    check(|| {
        let store = Arc::new(MemoryStore::new());
        let records = race(3, move |_| open(&store));
        assert!(
            records
                .iter()
                .all(|record| Arc::ptr_eq(record, &records[0]))
        );
    });
}

#[test]
fn the_end_of_a_session_leaves_its_successor_open() {
    check(|| {
        let store = Arc::new(MemoryStore::new());
        let first = open(&store);
        let ended = Arc::clone(&first);
        let shared = Arc::clone(&store);
        let opened = race(2, move |number| match number {
            0 => {
                assert_eq!(now(ended.end()), Ok(true));
                None
            }
            _ => Some(open(&shared)),
        });
        let opened = opened
            .into_iter()
            .flatten()
            .next()
            .expect("the session was opened");
        let successors = u64::from(!Arc::ptr_eq(&opened, &first));
        assert_eq!(now(store.sessions()), Ok(successors));
        assert_eq!(admit(&opened, 9, "a") == Verdict::Inactive, successors == 0);
    });
}

fn tool() -> FunctionTool {
    let declared = RawTool {
        name: "search".into(),
        description: "Search.".into(),
        parameters: json!({"type": "object", "properties": {}, "additionalProperties": false}),
    };
    FunctionTool::raw(declared, async |arguments: Value, _: &RunContext| {
        Ok(arguments)
    })
}

/// Leaks the list, as its guards borrow it.
fn running() -> &'static RunningCalls {
    Box::leak(Box::default())
}

// A call that begins during an interruption is cancelled, too.
#[test]
fn an_interruption_cancels_a_call_that_enters_meanwhile() {
    let tool = tool();
    check(move || {
        let tool = tool.clone();
        let running = running();
        let interruptions_before = running.interruptions();
        let tokens = race(2, move |number| match number {
            0 => {
                running.interrupt();
                None
            }
            _ => {
                let guard = running.enter(
                    RunningCall::new(&"call".into(), &tool, None, None, None),
                    interruptions_before,
                );
                let token = guard.token.clone();
                // The call is still listed when the interruption comes.
                std::mem::forget(guard);
                Some(token)
            }
        });
        assert!(
            tokens
                .into_iter()
                .flatten()
                .all(|token| token.is_cancelled())
        );
    });
}

// The end of a session cancels even calls that cannot be interrupted.
#[test]
fn the_end_cancels_an_uninterruptible_call_that_enters_meanwhile() {
    let tool = tool();
    check(move || {
        let tool = tool.clone();
        let running = running();
        let interruptions_before = running.interruptions();
        let tokens = race(2, move |number| match number {
            0 => {
                running.cancel_all();
                None
            }
            _ => {
                let scope = Arc::new(CallContext::default());
                scope.uninterruptible.store(true, Ordering::Relaxed);
                let guard = running.enter(
                    RunningCall::new(&"call".into(), &tool, Some(&scope), None, None),
                    interruptions_before,
                );
                let token = guard.token.clone();
                std::mem::forget(guard);
                Some(token)
            }
        });
        assert!(
            tokens
                .into_iter()
                .flatten()
                .all(|token| token.is_cancelled())
        );
    });
}

#[test]
fn one_of_two_racing_duplicates_runs() {
    let tool = tool().on_duplicate(OnDuplicate::Reject);
    check(move || {
        let tool = tool.clone();
        let running = running();
        let claimed = race(2, move |number| {
            let claim = running.claim(
                RunningCall::new(&number.to_string().into(), &tool, None, Some(7), None),
                false,
                Interruptions::default(),
            );
            claim.map(std::mem::forget).is_ok()
        });
        assert_eq!(claimed.into_iter().filter(|claimed| *claimed).count(), 1);
    });
}
