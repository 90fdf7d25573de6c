//! Caps on the cost and the time of calls.

use crate::hostile_store::{Fault, Odd};
use crate::support::{Counter, OnDrop, asked, call, kind, message, runtime, text, tools};
use crate::support_b::{begin, ms};
use futures_util::future::join_all;
use serde_json::json;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;
use tool_core::session::{CapScope, MemoryStore, Runtime, Session};
use tool_core::trace::{self, Collector, Cost, ModelUsage, Pricing, TokenUsage};
use tool_core::{
    ErrorKind, Mode, Policy, RunContext, ToolCall, ToolContext, ToolResponse, toolset,
};

#[derive(Clone, Default)]
struct Shop {
    ran: Counter,
    cancelled: Counter,
    later: Arc<Notify>,
    paid: Arc<Notify>,
    runtime: Arc<Mutex<Option<Runtime>>>,
}

#[toolset(discover = false)]
impl Shop {
    /// Pay a service.
    #[tool]
    async fn pay(&self, ctx: &RunContext, micros: u64) -> u32 {
        ctx.record_cost("search", Cost::micros(micros));
        self.ran.add()
    }

    /// Pay a service on a thread of the pool.
    #[tool(blocking)]
    fn pay_blocking(&self, ctx: &RunContext, micros: u64) -> u32 {
        ctx.record_cost("search", Cost::micros(micros));
        self.ran.add()
    }

    /// Ask a model in a span of its own, in an agent, in a task.
    #[tool]
    async fn ask(&self, ctx: &RunContext, micros: u64) -> u32 {
        let ask = trace::agent(
            "clerk",
            trace::llm(
                "m",
                async move { trace::record_cost("m", Cost::micros(micros)) },
            ),
        );
        ctx.spawn(ask).await.expect("no panic");
        self.ran.add()
    }

    /// Pay twice a second until it is cancelled.
    #[tool(idempotent)]
    async fn keep_paying(&self, ctx: &RunContext, micros: u64) {
        let (token, cancelled) = (ctx.cancellation().clone(), self.cancelled.clone());
        tokio::spawn(async move {
            token.cancelled().await;
            cancelled.add();
        });
        loop {
            self.ran.add();
            ctx.record_cost("search", Cost::micros(micros));
            ms(500).await;
        }
    }

    /// Let `keep_paying` pay, and wait.
    #[tool(category = "action")]
    async fn delegate(&self, ctx: &RunContext, micros: u64) -> bool {
        let nested = ctx.call("keep_paying", json!({"micros": micros})).await;
        ms(60_000).await;
        nested.is_ok()
    }

    /// Pay later, in a task outside of every span.
    #[tool]
    async fn pay_later(&self, ctx: &RunContext, micros: u64) {
        let (ctx, later, paid) = (ctx.clone(), Arc::clone(&self.later), Arc::clone(&self.paid));
        tokio::spawn(async move {
            later.notified().await;
            ctx.record_cost("search", Cost::micros(micros));
            drop(ctx);
            paid.notify_one();
        });
    }

    /// Leave a task that pays twice a second.
    #[tool]
    async fn linger(&self, ctx: &RunContext, micros: u64) {
        let (paying, ran, gone) = (
            ctx.clone(),
            self.ran.clone(),
            OnDrop(self.cancelled.clone()),
        );
        ctx.spawn(async move {
            let _gone = gone;
            loop {
                ran.add();
                paying.record_cost("search", Cost::micros(micros));
                ms(500).await;
            }
        });
    }

    /// Let another session pay.
    #[tool]
    async fn open_session(&self, principal: String, micros: u64) -> bool {
        let runtime = self
            .runtime
            .lock()
            .expect("the runtime")
            .clone()
            .expect("a runtime");
        let session = runtime
            .session(format!("inner-{principal}"), Mode::Text)
            .principal(&*principal)
            .await;
        pay(&session.expect("a session"), micros).await.is_ok()
    }

    /// Pay in a trace of another process.
    #[tool]
    async fn pay_imported(&self, ctx: &RunContext, micros: u64) {
        let ids = [(
            "traceparent",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        )];
        let context = trace::DistributedContext::from_pairs(ids);
        trace::import(&context, async {
            ctx.record_cost("search", Cost::micros(micros));
        })
        .await;
    }

    /// Pay a service for something to read.
    #[tool(category = "retrieval")]
    async fn look_up(&self, ctx: &RunContext, micros: u64) -> u32 {
        ctx.record_cost("search", Cost::micros(micros));
        self.ran.add()
    }

    /// Let `pay_imported` pay twice.
    #[tool]
    async fn delegate_imported(&self, ctx: &RunContext, micros: u64) -> u32 {
        for _ in 0..2 {
            ctx.call("pay_imported", json!({"micros": micros})).await;
        }
        ms(1).await;
        self.ran.add()
    }

    /// Pay twice, in picodollars.
    #[tool]
    async fn pay_twice(&self, ctx: &RunContext, first: u64, second: u64) {
        ctx.record_cost("search", Cost::pico(first));
        ctx.record_cost("search", Cost::pico(second));
    }

    /// Wait.
    #[tool]
    async fn wait(&self, millis: u64) {
        ms(millis).await;
    }

    /// Pay, and let the next of a cycle of 2 pay.
    #[tool]
    async fn two_a(&self, ctx: &RunContext, micros: u64, n: u32) -> bool {
        self.next(ctx, "two_b", micros, n).await
    }

    /// Pay, and let the next of a cycle of 2 pay.
    #[tool]
    async fn two_b(&self, ctx: &RunContext, micros: u64, n: u32) -> bool {
        self.next(ctx, "two_a", micros, n).await
    }

    /// Pay, and let the next of a cycle of 3 pay.
    #[tool]
    async fn three_a(&self, ctx: &RunContext, micros: u64, n: u32) -> bool {
        self.next(ctx, "three_b", micros, n).await
    }

    /// Pay, and let the next of a cycle of 3 pay.
    #[tool]
    async fn three_b(&self, ctx: &RunContext, micros: u64, n: u32) -> bool {
        self.next(ctx, "three_c", micros, n).await
    }

    /// Pay, and let the next of a cycle of 3 pay.
    #[tool]
    async fn three_c(&self, ctx: &RunContext, micros: u64, n: u32) -> bool {
        self.next(ctx, "three_a", micros, n).await
    }
}

impl Shop {
    async fn next(&self, ctx: &RunContext, next: &str, micros: u64, n: u32) -> bool {
        self.ran.add();
        ctx.record_cost("search", Cost::micros(micros));
        ctx.call(next, json!({"micros": micros, "n": n + 1}))
            .await
            .is_ok()
    }
}

fn cost(scope: CapScope, micros: u64) -> Policy {
    Policy::text()
        .repeated_calls(None)
        .max_cost(scope, Some(Cost::micros(micros)))
}

fn time(scope: CapScope, millis: u64) -> Policy {
    Policy::text()
        .repeated_calls(None)
        .max_time(scope, Some(Duration::from_millis(millis)))
}

thread_local! {
    /// The tools of the test, so that the schemas of 1,000 variants are made once.
    static SHOP: (Shop, ToolContext) = {
        let shop = Shop::default();
        (shop.clone(), tools![shop])
    };
}

/// Returns the tools of the test, as if none of them had run.
fn opened() -> (Shop, ToolContext) {
    let (shop, tools) = SHOP.with(Clone::clone);
    shop.ran.reset();
    shop.cancelled.reset();
    (shop, tools)
}

fn shop(policy: Policy) -> (Runtime, Shop) {
    let (shop, tools) = opened();
    let runtime = runtime(tools, policy);
    *shop.runtime.lock().expect("the runtime") = Some(runtime.clone());
    (runtime, shop)
}

async fn of(runtime: &Runtime, id: &str, principal: &str) -> Session {
    runtime
        .session(id, Mode::Text)
        .principal(principal)
        .await
        .expect("a session")
}

async fn pay(session: &Session, micros: u64) -> ToolResponse {
    call(session, "pay", json!({"micros": micros})).await
}

// R-B6, R-B2
#[tokio::test]
async fn used_cap_is_refused_with_its_figures() {
    for (scope, words) in [
        (
            CapScope::Turn,
            "the cost of the calls of this turn is $0.000040 of $0.000030; it resets at the next turn.",
        ),
        (
            CapScope::Session,
            "the cost of the calls of this session is $0.000040 of $0.000030; it resets with a new session.",
        ),
        (
            CapScope::Principal,
            "the cost of this user's calls is $0.000040 of $0.000030; it resets in 86400 s.",
        ),
    ] {
        let (runtime, shop) = shop(cost(scope, 30));
        let session = of(&runtime, "s", "ada").await;
        assert!(pay(&session, 20).await.is_ok() && pay(&session, 20).await.is_ok());
        let refused = pay(&session, 1).await;
        assert_eq!(kind(&refused), Some(ErrorKind::BudgetExceeded));
        assert_eq!(
            message(&refused),
            format!("budget exceeded: {words} Answer with what you have.")
        );
        assert!(!refused.error().expect("refused").partial_side_effects);
        assert_eq!(shop.ran.get(), 2);
        session.next_turn().await;
        assert_eq!(pay(&session, 20).await.is_ok(), scope == CapScope::Turn);
        assert!(
            pay(&of(&runtime, "t", "bob").await, 20).await.is_ok(),
            "bob has spent nothing"
        );
        assert_eq!(
            pay(&of(&runtime, "u", "ada").await, 20).await.is_ok(),
            scope != CapScope::Principal
        );
    }
}

// R-B6
#[tokio::test(start_paused = true)]
async fn call_that_costs_too_much_is_cancelled() {
    for scope in [
        CapScope::Call,
        CapScope::Turn,
        CapScope::Session,
        CapScope::Principal,
    ] {
        let (runtime, shop) = shop(cost(scope, 50));
        let session = of(&runtime, "s", "ada").await;
        let response = call(&session, "keep_paying", json!({"micros": 20})).await;
        assert_eq!(
            kind(&response),
            Some(ErrorKind::BudgetExceeded),
            "{response}"
        );
        assert!(
            message(&response).contains("it has cost $0.000060 and $0.000050 were left for it"),
            "{response}"
        );
        ms(1).await;
        assert_eq!((shop.ran.get(), shop.cancelled.get()), (3, 1), "{scope:?}");
        assert_eq!(
            pay(&session, 1).await.is_ok(),
            scope == CapScope::Call,
            "what it has cost is charged"
        );
    }
}

// R-B6, R-B4
#[tokio::test(start_paused = true)]
async fn cost_of_nested_calls_counts_for_their_caller() {
    let (runtime, shop) = shop(cost(CapScope::Turn, 50));
    let session = of(&runtime, "s", "ada").await;
    let response = call(&session, "delegate", json!({"micros": 20})).await;
    assert_eq!(
        kind(&response),
        Some(ErrorKind::BudgetExceeded),
        "{response}"
    );
    assert!(
        response.error().expect("an error").partial_side_effects,
        "an action was cancelled while it ran"
    );
    assert_eq!(shop.ran.get(), 3);
    let spent = message(&pay(&session, 1).await).to_owned();
    assert!(spent.contains("is $0.000060 of"), "charged once: {spent}");
}

// R-B6: the store learns costs when calls end, but those of one process know of each other
#[tokio::test(start_paused = true)]
async fn calls_of_one_step_share_what_is_left() {
    for calls in 1..=40 {
        let (runtime, shop) = shop(cost(CapScope::Turn, 50).max_calls(Some(100)));
        let session = of(&runtime, "s", "ada").await;
        let step = (0..calls)
            .map(|n| ToolCall::new(format!("c{n}"), "keep_paying", json!({"micros": 10})));
        let answers = session.call_all(step).await;
        assert!(
            answers
                .iter()
                .all(|answer| kind(answer) == Some(ErrorKind::BudgetExceeded)),
            "{answers:?}"
        );
        let (paid, ran) = (shop.ran.get(), calls.min(5));
        assert!(
            (6..=5 + ran).contains(&paid),
            "{calls} calls paid {paid} times for a cap of 5"
        );
    }
}

// R-B6, T5: denial of wallet by tools that call each other
#[tokio::test]
async fn cycles_of_tools_end_within_the_cap() {
    let mut variants = 0;
    for first in ["two_a", "three_a"] {
        for scope in [
            CapScope::Call,
            CapScope::Turn,
            CapScope::Session,
            CapScope::Principal,
        ] {
            for micros in 1..=10 {
                for calls in 1..=13 {
                    let cap = micros * calls;
                    let (runtime, shop) = shop(cost(scope, cap).max_depth(20));
                    let session = of(&runtime, "s", "ada").await;
                    for _ in 0..3 {
                        call(&session, first, json!({"micros": micros, "n": 0})).await;
                        if scope == CapScope::Call {
                            break;
                        }
                    }
                    let spent = micros * u64::from(shop.ran.get());
                    assert!(
                        (cap..=cap + micros).contains(&spent),
                        "{first} {scope:?}: {spent} of {cap}"
                    );
                    variants += 1;
                }
            }
        }
    }
    assert_eq!(variants, 1_040);
}

// R-B6: models in spans of tasks, blocking tools, and costs that arise outside of every span
#[tokio::test]
async fn cost_counts_wherever_a_tool_causes_it() {
    for tool in ["pay", "pay_blocking", "ask"] {
        let session = text(tools![Shop::default()], cost(CapScope::Session, 30)).await;
        assert!(call(&session, tool, json!({"micros": 30})).await.is_ok());
        assert_eq!(
            kind(&pay(&session, 1).await),
            Some(ErrorKind::BudgetExceeded),
            "{tool}"
        );
    }
}

// R-B6
#[tokio::test]
async fn cost_after_the_answer_is_charged() {
    let (runtime, shop) = shop(cost(CapScope::Session, 30));
    let session = of(&runtime, "s", "ada").await;
    assert!(
        call(&session, "pay_later", json!({"micros": 30}))
            .await
            .is_ok()
    );
    assert!(pay(&session, 1).await.is_ok());
    shop.later.notify_one();
    shop.paid.notified().await;
    assert_eq!(
        kind(&pay(&session, 1).await),
        Some(ErrorKind::BudgetExceeded)
    );
}

// R-B6, T8
#[tokio::test(start_paused = true)]
async fn dropped_call_is_charged() {
    let both =
        cost(CapScope::Session, 20).max_time(CapScope::Session, Some(Duration::from_millis(5)));
    for (policy, words) in [
        (both, "the cost of the calls"),
        (time(CapScope::Session, 5), "its limit is 1 ms"),
    ] {
        let (runtime, _) = shop(policy);
        let session = of(&runtime, "s", "ada").await;
        let paying = session.call(asked("keep_paying", json!({"micros": 20})));
        assert!(
            tokio::time::timeout(Duration::from_millis(4), paying)
                .await
                .is_err()
        );
        let next = call(&session, "wait", json!({"millis": 9})).await;
        assert!(message(&next).contains(words), "{next}");
    }
}

// R-B6: a middleware observes what the tool also records
#[tokio::test]
async fn observed_and_recorded_usage_is_charged_once() {
    struct OneMicro;
    impl Pricing for OneMicro {
        fn price(&self, used: &ModelUsage) -> Option<Cost> {
            Some(Cost::micros(used.usage.total()))
        }
    }
    /// Ask a model whose responses a middleware observes.
    #[tool_core::tool]
    async fn observed() {
        let used = || {
            let usage = TokenUsage {
                input: 10,
                ..TokenUsage::default()
            };
            ModelUsage::new("m", usage).response_id("r-1")
        };
        trace::llm("m", async {
            trace::observe(used());
            trace::record(used());
            trace::observe(used());
        })
        .await;
    }
    let collector = Collector::builder().pricing(OneMicro).build();
    let session = text(
        tools![observed, Shop::default()],
        cost(CapScope::Session, 11),
    )
    .await;
    collector.run(call(&session, "observed", json!({}))).await;
    assert!(pay(&session, 1).await.is_ok(), "10 of 11 were used");
    assert!(message(&pay(&session, 1).await).contains("$0.000011 of $0.000011"));
    assert_eq!(collector.totals().total.cost, Cost::micros(10));
}

// R-B6
#[tokio::test(start_paused = true)]
async fn call_ends_when_its_time_is_used() {
    for scope in [
        CapScope::Call,
        CapScope::Turn,
        CapScope::Session,
        CapScope::Principal,
    ] {
        let (runtime, _) = shop(time(scope, 100));
        let session = of(&runtime, "s", "ada").await;
        assert!(call(&session, "wait", json!({"millis": 60})).await.is_ok());
        let began = tokio::time::Instant::now();
        let late = call(&session, "wait", json!({"millis": 200})).await;
        let left = if scope == CapScope::Call { 100 } else { 40 };
        assert_eq!(
            (kind(&late), began.elapsed().as_millis()),
            (Some(ErrorKind::Timeout), left),
            "{scope:?}"
        );
        assert!(
            message(&late).contains(&format!("its limit is {left} ms")),
            "{late}"
        );
        let refused = call(&session, "wait", json!({"millis": 1})).await;
        assert_eq!(
            kind(&refused),
            (scope != CapScope::Call).then_some(ErrorKind::BudgetExceeded),
            "{refused}"
        );
        if scope == CapScope::Turn {
            assert!(
                message(&refused)
                    .contains("the time of the calls of this turn is 100 ms of 100 ms"),
                "{refused}"
            );
        }
    }
}

// R-B6: a nested call runs in the time of its caller
#[tokio::test(start_paused = true)]
async fn time_of_nested_calls_counts_once() {
    let (runtime, _) = shop(time(CapScope::Turn, 10_000).deadline(Duration::from_secs(4)));
    let session = of(&runtime, "s", "ada").await;
    let nested = begin(&session, "c", "delegate", r#"{"micros":0}"#).await;
    assert!(nested.await.is_ok());
    assert!(
        call(&session, "wait", json!({"millis": 3_000}))
            .await
            .is_ok()
    );
    assert!(
        call(&session, "wait", json!({"millis": 2_500}))
            .await
            .is_ok()
    );
    let refused = message(&call(&session, "wait", json!({"millis": 4_000})).await).to_owned();
    assert!(refused.contains("its limit is 500 ms"), "{refused}");
}

// R-B6: of two handles in two processes, one after another, exactly the cap passes
#[tokio::test]
async fn processes_share_the_amounts_of_a_principal() {
    let store = Arc::new(MemoryStore::new());
    let process = || {
        let runtime =
            Runtime::builder(tools![Shop::default()]).policy(cost(CapScope::Principal, 1_000));
        runtime
            .store(Arc::clone(&store))
            .build()
            .expect("a runtime")
    };
    let sessions = [
        of(&process(), "one", "ada").await,
        of(&process(), "two", "ada").await,
    ];
    let mut passed = 0;
    for number in 0..2_000 {
        passed += u32::from(pay(&sessions[number % 2], 1).await.is_ok());
    }
    assert_eq!(passed, 1_000);
}

fn over(store: &Odd, policy: Policy) -> (Runtime, Shop) {
    let (shop, tools) = opened();
    let runtime = Runtime::builder(tools).policy(policy).store(store.clone());
    (runtime.build().expect("a runtime"), shop)
}

const STORED: [CapScope; 3] = CapScope::STORED;

// R-B6, T5: a short outage of the store forgets no amount, and none counts twice
#[tokio::test(start_paused = true)]
async fn amount_of_a_failed_settlement_is_charged_once() {
    let mut variants = 0;
    for fault in [
        Fault::Fails,
        Fault::LosesAnswer,
        Fault::Hangs,
        Fault::HangsAfter,
    ] {
        for (scope, failures) in STORED
            .into_iter()
            .flat_map(|scope| (1..=9).map(move |failures| (scope, failures)))
        {
            for micros in 1..=10 {
                let store = Odd::default();
                store
                    .manners
                    .faults
                    .lock()
                    .expect("the faults")
                    .extend([fault].repeat(failures));
                let (runtime, shop) = over(&store, cost(scope, 100));
                let session = of(&runtime, "s", "ada").await;
                assert!(pay(&session, micros).await.is_ok(), "the call has run");
                for attempt in 1..failures {
                    let refused = pay(&session, 1).await;
                    assert_eq!(
                        kind(&refused),
                        Some(ErrorKind::Transient),
                        "{fault:?} {attempt}: {refused}"
                    );
                }
                ms(3_000).await;
                assert_eq!(shop.ran.get(), 1, "{fault:?}");
                assert!(
                    pay(&session, 100 - micros).await.is_ok(),
                    "{fault:?} {scope:?}"
                );
                let refused = message(&pay(&session, 1).await).to_owned();
                assert!(
                    refused.contains("is $0.000100 of $0.000100"),
                    "{fault:?} {scope:?}: {refused}"
                );
                variants += 1;
            }
        }
    }
    assert_eq!(variants, 1_080);
}

// R-B6: the store may have forgotten by then that it knows the amount
#[tokio::test(start_paused = true)]
async fn an_amount_is_not_sent_again_after_nine_minutes() {
    for fault in [Fault::Fails, Fault::LosesAnswer] {
        let store = Odd::default();
        let faults = &store.manners.faults;
        faults.lock().expect("the faults").push_back(fault);
        let (runtime, shop) = over(&store, cost(CapScope::Principal, 100));
        let session = of(&runtime, "s", "ada").await;
        assert!(pay(&session, 60).await.is_ok());
        ms(9 * 60_000).await;
        store.manners.forget_amounts();
        assert!(pay(&session, 30).await.is_ok(), "{fault:?}");
        assert_eq!(shop.ran.get(), 2);
    }
}

// R-B6: the other session is opened while the store is down, and after the first has ended
#[tokio::test(start_paused = true)]
async fn failed_settlement_holds_other_sessions_too() {
    let store = Odd::default();
    store
        .manners
        .faults
        .lock()
        .expect("the faults")
        .extend([Fault::Fails].repeat(3));
    let (runtime, shop) = over(&store, cost(CapScope::Principal, 30));
    let session = of(&runtime, "s", "ada").await;
    assert!(pay(&session, 30).await.is_ok());
    session.end().await;
    let other = of(&runtime, "t", "ada").await;
    assert_eq!(kind(&pay(&other, 1).await), Some(ErrorKind::Transient));
    assert_eq!(
        kind(&pay(&other, 1).await),
        Some(ErrorKind::BudgetExceeded),
        "the store is back"
    );
    assert!(pay(&of(&runtime, "u", "bob").await, 1).await.is_ok());
    assert_eq!(shop.ran.get(), 2);
}

// R-B6: calls that the policy lets run without the store are not charged
#[tokio::test(start_paused = true)]
async fn uncharged_calls_use_up_nothing_that_is_left() {
    let store = Odd::default();
    let policy = cost(CapScope::Principal, 30)
        .reads_without_store(true)
        .store_deadline(Duration::from_millis(100));
    let (runtime, shop) = over(&store, policy);
    let session = of(&runtime, "s", "ada").await;
    store.manners.late.store(true, Ordering::SeqCst);
    for _ in 0..1_000 {
        assert!(
            call(&session, "look_up", json!({"micros": 20}))
                .await
                .is_ok()
        );
    }
    store.manners.late.store(false, Ordering::SeqCst);
    assert!(pay(&session, 30).await.is_ok());
    assert_eq!(
        (kind(&pay(&session, 1).await), shop.ran.get()),
        (Some(ErrorKind::BudgetExceeded), 1_001)
    );
}

// R-B6, T8
#[tokio::test(start_paused = true)]
async fn call_dropped_while_it_settles_is_charged() {
    for fault in [Fault::Hangs, Fault::HangsAfter] {
        let store = Odd::default();
        store
            .manners
            .faults
            .lock()
            .expect("the faults")
            .push_back(fault);
        let (runtime, _) = over(&store, cost(CapScope::Session, 30));
        let session = of(&runtime, "s", "ada").await;
        let settling = tokio::time::timeout(Duration::from_millis(5), pay(&session, 30));
        assert!(settling.await.is_err(), "it waits for the store");
        let refused = message(&pay(&session, 1).await).to_owned();
        assert!(
            refused.contains("is $0.000030 of $0.000030"),
            "{fault:?}: {refused}"
        );
    }
}

// R-B6
#[tokio::test]
async fn store_that_ignores_caps_runs_nothing() {
    for scope in [
        CapScope::Call,
        CapScope::Turn,
        CapScope::Session,
        CapScope::Principal,
    ] {
        let store = Odd::default();
        store.manners.ignores_caps.store(true, Ordering::SeqCst);
        for policy in [cost(scope, 30), time(scope, 30)] {
            let (runtime, shop) = over(&store, policy);
            let session = of(&runtime, "s", "ada").await;
            for _ in 0..125 {
                assert_eq!(kind(&pay(&session, 1).await), Some(ErrorKind::Internal));
            }
            assert_eq!(shop.ran.get(), 0);
            session.end().await;
        }
    }
}

// R-B6, T5: work that a tool leaves behind ends at the cap
#[tokio::test(start_paused = true)]
async fn spawned_work_ends_at_the_cap() {
    let mut variants = 0;
    for scope in [
        CapScope::Call,
        CapScope::Turn,
        CapScope::Session,
        CapScope::Principal,
    ] {
        for micros in 1..=10 {
            for calls in 1..=25 {
                let (runtime, shop) = shop(cost(scope, 50));
                let session = of(&runtime, "s", "ada").await;
                for _ in 0..calls {
                    assert!(
                        call(&session, "linger", json!({"micros": micros}))
                            .await
                            .is_ok()
                    );
                }
                ms(60_000).await;
                let (spent, cap) = (
                    u64::from(shop.ran.get()) * micros,
                    50 * if scope == CapScope::Call { calls } else { 1 },
                );
                assert!(
                    (cap..=cap + calls * micros).contains(&spent),
                    "{scope:?}: {calls} calls spent {spent} of {cap}"
                );
                assert_eq!(
                    u64::from(shop.cancelled.get()),
                    calls,
                    "all tasks have ended"
                );
                assert_eq!(
                    pay(&session, 1).await.is_ok(),
                    scope == CapScope::Call,
                    "what they have cost is charged"
                );
                variants += 1;
            }
        }
    }
    assert_eq!(variants, 1_000);
}

// R-B6: the sessions of a principal know of each other's costs while their calls run
#[tokio::test(start_paused = true)]
async fn sessions_of_a_principal_share_what_is_left() {
    let mut variants = 0;
    for micros in 1..=10 {
        for sessions in 2..=6 {
            for (calls, cap) in
                (1..=4).flat_map(|calls| (1..=5).map(move |tenth| (calls, tenth * 10)))
            {
                let (runtime, shop) = shop(cost(CapScope::Principal, cap));
                let names = (0..sessions).map(|n| format!("s{n}")).collect::<Vec<_>>();
                let opened = join_all(names.iter().map(|id| of(&runtime, id, "ada"))).await;
                let bob = of(&runtime, "b", "bob").await;
                let paying = opened.iter().flat_map(|session| {
                    (0..calls).map(|_| call(session, "keep_paying", json!({"micros": micros})))
                });
                let answers = join_all(paying).await;
                assert!(
                    answers
                        .iter()
                        .all(|answer| kind(answer) == Some(ErrorKind::BudgetExceeded)),
                    "{answers:?}"
                );
                let (spent, running) = (u64::from(shop.ran.get()) * micros, sessions * calls);
                assert!(
                    (cap..=cap + running * micros).contains(&spent),
                    "{running} calls spent {spent} of {cap}"
                );
                assert!(pay(&bob, cap).await.is_ok(), "bob has spent nothing");
                variants += 1;
            }
        }
    }
    assert_eq!(variants, 1_000);
}

// R-B6
#[tokio::test(start_paused = true)]
async fn caps_of_one_session_do_not_hold_another() {
    let (runtime, _) = shop(cost(CapScope::Session, 50));
    let sessions = [
        of(&runtime, "s", "ada").await,
        of(&runtime, "t", "ada").await,
    ];
    let began = tokio::time::Instant::now();
    let paying = sessions
        .iter()
        .map(|session| call(session, "keep_paying", json!({"micros": 10})));
    join_all(paying).await;
    assert_eq!(
        began.elapsed().as_millis(),
        2_500,
        "each has paid six times"
    );
}

// R-B4, R-B6: a session that a tool opens does not hide what it costs
#[tokio::test]
async fn cost_of_a_session_inside_a_call_reaches_the_call() {
    let mut variants = 0;
    for (scope, principal) in STORED
        .into_iter()
        .flat_map(|scope| ["ada", "bob", ""].map(|principal| (scope, principal)))
    {
        for micros in 1..=112 {
            let (runtime, _) = shop(cost(scope, 200));
            let session = of(&runtime, "s", "ada").await;
            let arguments = json!({"principal": principal, "micros": micros});
            assert_eq!(
                call(&session, "open_session", arguments).await.data_json(),
                Some("true")
            );
            assert!(pay(&session, 200 - micros).await.is_ok());
            let refused = message(&pay(&session, 1).await).to_owned();
            assert!(
                refused.contains("is $0.000200 of $0.000200"),
                "{scope:?} {principal} {micros}: {refused}"
            );
            variants += 1;
        }
    }
    assert_eq!(variants, 1_008);
}

// R-B6: the principal pays once for a call in a session of its own inside of another
#[tokio::test]
async fn principal_pays_once_for_a_session_inside_a_call() {
    for principal in ["ada", "bob"] {
        let (runtime, _) = shop(cost(CapScope::Principal, 40));
        let session = of(&runtime, "s", "ada").await;
        let arguments = json!({"principal": principal, "micros": 40});
        assert!(
            call(&session, "open_session", arguments.clone())
                .await
                .is_ok()
        );
        let refused = message(&call(&session, "open_session", arguments).await).to_owned();
        assert!(
            refused.contains("is $0.000040 of $0.000040"),
            "{principal}: {refused}"
        );
        assert_eq!(
            pay(&of(&runtime, "t", "bob").await, 1).await.is_ok(),
            principal == "ada"
        );
    }
}

// R-B6
#[tokio::test]
async fn cost_inside_an_imported_trace_is_charged() {
    let session = text(tools![Shop::default()], cost(CapScope::Session, 30)).await;
    assert!(
        call(&session, "pay_imported", json!({"micros": 30}))
            .await
            .is_ok()
    );
    assert_eq!(
        kind(&pay(&session, 1).await),
        Some(ErrorKind::BudgetExceeded)
    );
}

// R-B6
#[tokio::test]
async fn imported_costs_of_nested_calls_reach_all_callers() {
    for micros in [6, 8, 10] {
        let session = text(tools![Shop::default()], cost(CapScope::Call, 10)).await;
        let response = call(&session, "delegate_imported", json!({"micros": micros})).await;
        assert_eq!(
            kind(&response),
            Some(ErrorKind::BudgetExceeded),
            "{response}"
        );
    }
    let session = text(tools![Shop::default()], cost(CapScope::Call, 10)).await;
    assert!(
        call(&session, "delegate_imported", json!({"micros": 5}))
            .await
            .is_ok()
    );
}

// R-B6: amounts do not overflow, wherever they are summed up
#[tokio::test]
async fn greatest_costs_hold_every_cap() {
    let (mut variants, mut dice) = (0, 1_u64);
    for scope in STORED {
        for number in 0..350 {
            dice = dice
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let [first, second] = [u64::MAX - (dice >> 1 >> (number % 60)), u64::MAX];
            let cap = Cost::pico(u64::MAX - (dice >> 1 >> (number % 50)));
            let (runtime, _) = shop(Policy::text().max_cost(scope, Some(cap)));
            let session = of(&runtime, "s", "ada").await;
            call(
                &session,
                "pay_twice",
                json!({"first": first, "second": second}),
            )
            .await;
            let refused = call(
                &session,
                "pay_twice",
                json!({"first": second, "second": second}),
            )
            .await;
            assert_eq!(
                kind(&refused),
                Some(ErrorKind::BudgetExceeded),
                "{scope:?} {cap}: {first} {refused}"
            );
            variants += 1;
        }
    }
    assert_eq!(variants, 1_050);
}

// R-B6
#[test]
fn window_under_a_second_is_an_error() {
    for millis in 0..1_000 {
        let policy = cost(CapScope::Principal, 1).principal_window(Duration::from_millis(millis));
        let refused = Runtime::builder(tools![])
            .policy_for(Mode::Voice, policy)
            .build()
            .expect_err("no window");
        assert!(
            refused
                .to_string()
                .contains("expected a `Policy::principal_window` of at least a second"),
            "{refused}"
        );
    }
    let second = cost(CapScope::Principal, 1).principal_window(Duration::from_secs(1));
    assert!(Runtime::builder(tools![]).policy(second).build().is_ok());
}

// R-B6: n processes exceed a cap by n - 1 times what was left, and by the last uses
#[tokio::test(start_paused = true)]
async fn processes_exceed_a_cap_by_what_was_left() {
    let mut variants = 0;
    for micros in 1..=25 {
        for (processes, tenth) in
            (1..=4).flat_map(|processes| (1..=10).map(move |tenth| (processes, tenth)))
        {
            let (store, (shop, tools)) = (Arc::new(MemoryStore::new()), opened());
            let cap = tenth * 5;
            let runtime = || {
                let runtime =
                    Runtime::builder(tools.clone()).policy(cost(CapScope::Principal, cap));
                runtime
                    .store(Arc::clone(&store))
                    .build()
                    .expect("a runtime")
            };
            let runtimes = (0..processes).map(|_| runtime()).collect::<Vec<_>>();
            let sessions = join_all(runtimes.iter().map(|runtime| of(runtime, "s", "ada"))).await;
            join_all(
                sessions
                    .iter()
                    .map(|session| call(session, "keep_paying", json!({"micros": micros}))),
            )
            .await;
            let spent = u64::from(shop.ran.get()) * micros;
            assert!(
                (cap..=processes * (cap + micros)).contains(&spent),
                "{processes} spent {spent} of {cap}"
            );
            let refused = pay(&sessions[0], 1).await;
            assert_eq!(kind(&refused), Some(ErrorKind::BudgetExceeded), "{refused}");
            variants += 1;
        }
    }
    assert_eq!(variants, 1_000);
}
