//! Two processes that share a session, one of which is killed.
//!
//! An environment variable makes this binary the other process.

use crate::conformance::Redis;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use tokio::task::JoinSet;
use tool_core::Mode;
use tool_core::session::{BudgetLimit, CapAmount, CapScope, Policy, Refusal, StateChange, Verdict};
use tool_core::testing::store::StoreUnderTest;
use tool_core::testing::store::driver::{Ask, HOUR, Session, entry, open, opening, settlement, waiting};
use tool_core::trace::Cost;

const PART: &str = "TOOL_ADAPTERS_PART";
const PREFIX: &str = "TOOL_ADAPTERS_PREFIX";
/// The prefix of the other process's lines. The test harness writes to the same stream.
const SAYS: &str = "@ ";
const LIMIT: u32 = 100;
const CALLS: u32 = 8000;

async fn session(redis: &Redis) -> Session {
    open(&redis.handle().await, &opening("shared", Mode::Voice)).await.expect("the session opens")
}

/// The other process, where it is one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the other tests run it in their own processes"]
async fn plays_its_part() {
    let part = std::env::var(PART).expect("the part");
    let url = std::env::var("REDIS_URL").expect("the server");
    let redis = Redis { url, prefix: std::env::var(PREFIX).expect("the prefix") };
    let session = session(&redis).await;
    match part.as_str() {
        "race" => race(&session).await,
        "spend" => spend(&session).await,
        "die" => count_until_killed(&session).await,
        part => panic!("there is no part {part}"),
    }
}

fn say(what: impl std::fmt::Display) {
    println!("\n{SAYS}{what}");
}

/// On request, asks 8,000 times and reports how many passed.
async fn race(session: &Session) {
    say("ready");
    std::io::stdin().read_exact(&mut [0]).expect("the word to begin");
    let call = Ask::within(|limits| limits.max_calls = Some(LIMIT));
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
fn capped() -> Ask {
    let cap = Cost::micros(LIMIT.into());
    let policy = Policy::text().max_cost(CapScope::Principal, Some(cap));
    Ask { caps: policy.caps().cloned(), ..Ask::default() }
}

/// On request, asks 8,000 times, spends one unit for each call that passes, and reports how many did.
async fn spend(session: &Session) {
    say("ready");
    std::io::stdin().read_exact(&mut [0]).expect("the word to begin");
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
async fn count_until_killed(session: &Session) {
    session.mint(&waiting(1), HOUR).await;
    session.settle(settlement(&[StateChange::PendingMessage(Some("left behind".to_owned()))], &[entry(1)])).await;
    for count in 1.. {
        assert!(session.passes(&Ask::default()).await);
        say(count);
    }
}

struct Other {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Other {
    fn start(redis: &Redis, part: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--ignored", "--exact", "processes::plays_its_part", "--nocapture"])
            .env(PART, part)
            .env(PREFIX, &redis.prefix)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the other process starts");
        let (input, output) = (process.stdin.take().expect("its input"), process.stdout.take().expect("its output"));
        Self { process, input, output: BufReader::new(output) }
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
    let Some(redis) = Redis::on_server() else { return };
    let mut others = [Other::start(&redis, "race"), Other::start(&redis, "race")];
    for other in &mut others {
        assert_eq!(other.hear().as_deref(), Some("ready"));
    }
    for other in &mut others {
        other.input.write_all(b"!").expect("it listens");
    }
    let passed = others.each_mut().map(|other| other.hear().and_then(|passed| passed.parse::<u32>().ok()));
    let ends = others.map(|mut other| other.process.wait().expect("it ends").success());
    assert_eq!((passed.iter().flatten().sum::<u32>(), ends), (LIMIT, [true, true]), "{passed:?}");
    let next = Ask::within(|limits| limits.max_calls = Some(LIMIT));
    let spent = Refusal::Budget { limit: BudgetLimit::Total, used: LIMIT, of: LIMIT };
    assert_eq!(session(&redis).await.admit(&next).await, Verdict::Refused(spent));
}

// R-B6: a cost is known after its call, so that the calls which run when the cap is reached may exceed it.
#[tokio::test]
async fn two_processes_exceed_a_cap_by_running_calls_at_most() {
    let Some(redis) = Redis::on_server() else { return };
    let mut others = [Other::start(&redis, "spend"), Other::start(&redis, "spend")];
    for other in &mut others {
        assert_eq!(other.hear().as_deref(), Some("ready"));
    }
    for other in &mut others {
        other.input.write_all(b"!").expect("it listens");
    }
    let passed = others.each_mut().map(|other| other.hear().and_then(|passed| passed.parse::<u32>().ok()));
    assert!(others.map(|mut other| other.process.wait().expect("it ends").success()).iter().all(|ended| *ended));
    let passed = passed.into_iter().flatten().sum::<u32>();
    assert!((LIMIT..LIMIT + 2 * SPENDERS).contains(&passed), "{passed} of 16,000");
    let Verdict::Refused(Refusal::Cap(cap)) = session(&redis).await.admit(&capped()).await else { panic!("a cap") };
    assert_eq!(cap.used, CapAmount::Cost(Cost::micros(passed.into())), "each unit was charged");
}

// R-C3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_is_killed_loses_nothing_that_was_counted() {
    let Some(redis) = Redis::on_server() else { return };
    let mut other = Other::start(&redis, "die");
    let mut counted = 0_u32;
    while counted < 500 {
        counted = other.hear().and_then(|count| count.parse().ok()).expect("it counts");
    }
    other.process.kill().expect("it is killed");
    while let Some(count) = other.hear() {
        counted = count.parse().unwrap_or(counted);
    }
    assert!(!other.process.wait().expect("it is over").success());

    let session = session(&redis).await;
    let none = Ask::within(|limits| limits.max_calls = Some(0));
    let Verdict::Refused(Refusal::Budget { used, .. }) = session.admit(&none).await else { panic!("a budget of zero") };
    assert!((counted..=counted + 1).contains(&used), "{counted} were said to be counted, and {used} are");
    assert_eq!(session.state().pending_message.as_deref(), Some("left behind"));
    assert_eq!(session.audit(), [entry(1)]);

    assert_eq!(session.pending(&waiting(1).id).await, Some(waiting(1)));
    let mut racers = JoinSet::new();
    for _ in 0..64 {
        let session = session.clone();
        racers.spawn(async move { u32::from(session.consume(&waiting(1).id).await) });
    }
    assert_eq!(racers.join_all().await.into_iter().sum::<u32>(), 1);
}
