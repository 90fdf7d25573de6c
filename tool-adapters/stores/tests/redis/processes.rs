//! Two processes that share a session, one of which is killed.
//!
//! An environment variable makes this binary the other process.

use crate::conformance::Redis;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use tokio::task::JoinSet;
use tool_core::Mode;
use tool_core::session::{
    BudgetLimit, CapAmount, CapScope, Policy, Refusal, Settlement, SpendingCaps, StateChange,
    Verdict,
};
use tool_core::testing::store::StoreUnderTest;
use tool_core::testing::store::driver::{
    HOUR, TestCall, TestSession, entry, open, opening, settlement, waiting,
};
use tool_core::trace::Cost;

const PART: &str = "TOOL_ADAPTERS_PART";
const PREFIX: &str = "TOOL_ADAPTERS_PREFIX";
/// The prefix of the other process's lines. The test harness writes to the same stream.
const SAYS: &str = "@ ";
const LIMIT: u32 = 100;
const CALLS: u32 = 8000;

async fn session(redis: &Redis) -> TestSession {
    open(&redis.handle().await, &opening("shared", Mode::Voice))
        .await
        .expect("the session opens")
}

/// The other process, where it is one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the other tests run it in their own processes"]
async fn plays_its_part() {
    let part = std::env::var(PART).expect("the part");
    let url = std::env::var("REDIS_URL").expect("the server");
    let redis = Redis {
        url,
        prefix: std::env::var(PREFIX).expect("the prefix"),
    };
    let session = session(&redis).await;
    match part.as_str() {
        "race" => race(&session).await,
        "spend" => spend(&session).await,
        "die" => count_until_killed(&session).await,
        "die running" => run_until_killed(&session).await,
        part => panic!("there is no part {part}"),
    }
}

fn say(what: impl std::fmt::Display) {
    println!("\n{SAYS}{what}");
}

/// On request, asks 8,000 times and reports how many passed.
async fn race(session: &TestSession) {
    say("ready");
    std::io::stdin()
        .read_exact(&mut [0])
        .expect("the word to begin");
    let call = TestCall::within(|limits| limits.max_calls = Some(LIMIT));
    let (mut racers, session) = (JoinSet::new(), Arc::new(session.clone()));
    for _ in 0..16 {
        let (session, call) = (Arc::clone(&session), call.clone());
        racers.spawn(async move { session.pass(CALLS / 16, &call).await });
    }
    say(racers.join_all().await.into_iter().sum::<u32>());
}

/// The racers of a process that spend.
const SPENDERS: u32 = 8;

/// A call under a cap of 100 units on the cost of the principal.
fn capped() -> TestCall {
    let cap = Cost::micros(LIMIT.into());
    let policy = Policy::text().max_cost(CapScope::Principal, Some(cap));
    TestCall {
        caps: policy.caps().cloned(),
        ..TestCall::default()
    }
}

/// On request, asks 8,000 times, spends one unit for each call that passes, and reports how many did.
async fn spend(session: &TestSession) {
    say("ready");
    std::io::stdin()
        .read_exact(&mut [0])
        .expect("the word to begin");
    let mut racers = JoinSet::new();
    for _ in 0..SPENDERS {
        let (session, call) = (session.clone(), capped());
        racers.spawn(async move {
            let mut passed = 0;
            for _ in 0..CALLS / SPENDERS {
                if session.passes(&call).await {
                    let mut spent = settlement(&[], &[]);
                    (spent.spent.cost, spent.caps) = (Cost::micros(1), call.caps.as_ref());
                    session.settle(spent).await;
                    passed += 1;
                }
            }
            passed
        });
    }
    say(racers.join_all().await.into_iter().sum::<u32>());
}

/// Leaves a pending call and a change, and then counts calls, saying how many, until it is killed.
async fn count_until_killed(session: &TestSession) {
    session.mint(&waiting(1), HOUR).await;
    session
        .settle(settlement(
            &[StateChange::PendingMessage(Some("left behind".to_owned()))],
            &[entry(1)],
        ))
        .await;
    for count in 1.. {
        assert!(session.passes(&TestCall::default()).await);
        say(count);
    }
}

/// Makes calls under a cap: 40 that end, and then calls that do not, saying how many, until it is killed.
async fn run_until_killed(session: &TestSession) {
    for count in 1.. {
        assert!(session.passes(&capped()).await);
        if count <= 40 {
            session.settle(unit(count, capped().caps.as_ref())).await;
        }
        say(count);
    }
}

/// Returns a settlement that charges one unit, under an id.
fn unit(id: u128, caps: Option<&SpendingCaps>) -> Settlement<'_> {
    let mut unit = settlement(&[], &[]);
    (unit.spent.cost, unit.amount_id, unit.caps) = (Cost::micros(1), Some(id), caps);
    unit
}

struct Other {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Other {
    fn start(redis: &Redis, part: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().expect("this binary"))
            .args([
                "--ignored",
                "--exact",
                "processes::plays_its_part",
                "--nocapture",
            ])
            .env(PART, part)
            .env(PREFIX, &redis.prefix)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the other process starts");
        let (input, output) = (
            process.stdin.take().expect("its input"),
            process.stdout.take().expect("its output"),
        );
        Self {
            process,
            input,
            output: BufReader::new(output),
        }
    }

    /// Returns its next line, or `None` at its end.
    fn hear(&mut self) -> Option<String> {
        let mut lines = self.output.by_ref().lines().map_while(Result::ok);
        lines.find_map(|line| line.strip_prefix(SAYS).map(str::to_owned))
    }
}

// R-B2
#[tokio::test]
async fn exactly_the_limit_passes_of_16000_calls_of_two_processes() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let mut others = [Other::start(&redis, "race"), Other::start(&redis, "race")];
    for other in &mut others {
        assert_eq!(other.hear().as_deref(), Some("ready"));
    }
    for other in &mut others {
        other.input.write_all(b"!").expect("it listens");
    }
    let passed = others
        .each_mut()
        .map(|other| other.hear().and_then(|passed| passed.parse::<u32>().ok()));
    let ends = others.map(|mut other| other.process.wait().expect("it ends").success());
    assert_eq!(
        (passed.iter().flatten().sum::<u32>(), ends),
        (LIMIT, [true, true]),
        "{passed:?}"
    );
    let next = TestCall::within(|limits| limits.max_calls = Some(LIMIT));
    let spent = Refusal::Budget {
        limit: BudgetLimit::Total,
        used: LIMIT,
        of: LIMIT,
    };
    assert_eq!(
        session(&redis).await.admit(&next).await,
        Verdict::Refused(spent)
    );
}

// R-B6: a cost is known after its call, so that the calls which run when the cap is reached may exceed it.
#[tokio::test]
async fn two_processes_exceed_a_cap_by_running_calls_at_most() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let mut others = [Other::start(&redis, "spend"), Other::start(&redis, "spend")];
    for other in &mut others {
        assert_eq!(other.hear().as_deref(), Some("ready"));
    }
    for other in &mut others {
        other.input.write_all(b"!").expect("it listens");
    }
    let passed = others
        .each_mut()
        .map(|other| other.hear().and_then(|passed| passed.parse::<u32>().ok()));
    assert!(
        others
            .map(|mut other| other.process.wait().expect("it ends").success())
            .iter()
            .all(|ended| *ended)
    );
    let passed = passed.into_iter().flatten().sum::<u32>();
    assert!(
        (LIMIT..LIMIT + 2 * SPENDERS).contains(&passed),
        "{passed} of 16,000"
    );
    let Verdict::Refused(Refusal::Cap(cap)) = session(&redis).await.admit(&capped()).await else {
        panic!("a cap")
    };
    assert_eq!(
        cap.used,
        CapAmount::Cost(Cost::micros(passed.into())),
        "each unit was charged"
    );
}

// R-B6: nothing is reserved, so that what a killed process has not charged is lost, and the rest stays.
#[tokio::test]
async fn killed_process_charges_the_calls_that_ended() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let mut other = Other::start(&redis, "die running");
    while other.hear().is_some_and(|count| count != "60") {}
    other.process.kill().expect("it is killed");
    assert!(!other.process.wait().expect("it is over").success());

    let (session, capped) = (session(&redis).await, capped());
    let mut passed = 40_u128;
    while session.passes(&capped).await {
        passed += 1;
        session.settle(unit(passed, capped.caps.as_ref())).await;
    }
    assert_eq!(
        passed,
        LIMIT.into(),
        "20 running calls have left nothing behind"
    );
    let none = TestCall::within(|limits| limits.max_calls = Some(0));
    let Verdict::Refused(Refusal::Budget { used, .. }) = session.admit(&none).await else {
        panic!("a budget of zero")
    };
    assert!(used >= LIMIT + 20, "the calls are counted: {used}");
}

// R-B6: a settlement whose answer was lost is sent again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn amount_that_is_sent_again_is_charged_once() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let sessions = [
        session(&redis).await,
        session(&redis).await,
        session(&redis).await,
    ];
    let caps = Policy::text().max_cost(CapScope::Principal, Some(Cost::micros(501)));
    let caps = caps.max_cost(CapScope::Session, Some(Cost::micros(1_001)));
    let mut racers = JoinSet::new();
    for session in &sessions {
        let (session, caps) = (session.clone(), caps.clone());
        racers.spawn(async move {
            for id in 0..1_000 {
                let mut unit = unit(id, caps.caps());
                // A session of the principal inside of every other call was charged.
                unit.paid_inside = if id % 2 == 0 {
                    Cost::ZERO
                } else {
                    Cost::micros(1)
                };
                session.settle(unit).await;
            }
        });
    }
    racers.join_all().await;
    let verdict = sessions[0]
        .admit(&TestCall {
            caps: caps.caps().cloned(),
            ..TestCall::default()
        })
        .await;
    let Verdict::Capped { left, .. } = verdict else {
        panic!("one unit is left: {verdict:?}")
    };
    assert_eq!(
        (left.cost, left.principal_cost),
        (Some(Cost::micros(1)), Some(Cost::micros(1)))
    );
}

// R-C3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_is_killed_loses_nothing_that_was_counted() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let mut other = Other::start(&redis, "die");
    let mut counted = 0_u32;
    while counted < 500 {
        counted = other
            .hear()
            .and_then(|count| count.parse().ok())
            .expect("it counts");
    }
    other.process.kill().expect("it is killed");
    while let Some(count) = other.hear() {
        counted = count.parse().unwrap_or(counted);
    }
    assert!(!other.process.wait().expect("it is over").success());

    let session = session(&redis).await;
    let none = TestCall::within(|limits| limits.max_calls = Some(0));
    let Verdict::Refused(Refusal::Budget { used, .. }) = session.admit(&none).await else {
        panic!("a budget of zero")
    };
    assert!(
        (counted..=counted + 1).contains(&used),
        "{counted} were said to be counted, and {used} are"
    );
    assert_eq!(
        session.state().pending_message.as_deref(),
        Some("left behind")
    );
    assert_eq!(session.audit().await, [entry(1)]);

    assert_eq!(session.pending(&waiting(1).id).await, Some(waiting(1)));
    let mut racers = JoinSet::new();
    for _ in 0..64 {
        let session = session.clone();
        racers.spawn(async move { u32::from(session.consume(&waiting(1).id).await) });
    }
    assert_eq!(racers.join_all().await.into_iter().sum::<u32>(), 1);
}
