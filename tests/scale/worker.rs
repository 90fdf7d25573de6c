//! A worker: makes calls in sessions of its own, and then those of the other worker again.
//!
//! Environment variables make this binary a worker.

use crate::places::{SharedStore, variable, with_store};
use crate::record::{Log, Told};
use futures_util::future::join_all;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;
use tool_core::{Mode, Policy, RunContext, Runtime, Session, ToolCall, ToolContext, toolset};

pub const PLACE: &str = "SCALE_TEST_PLACE";
pub const FOLDER: &str = "SCALE_TEST_FOLDER";
pub const RUN: &str = "SCALE_TEST_RUN";
pub const NUMBER: &str = "SCALE_TEST_NUMBER";

/// The calls of a session.
pub const CALLS: usize = 48;
/// The calls of a session that its budget lets run.
pub const BUDGET: u32 = 40;
/// The calls that run at once.
const AT_ONCE: usize = 16;
/// How often a call is made while another process runs it.
const ATTEMPTS: u32 = 200;
/// The time between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// Tells the workers to end after their session.
pub fn stop(folder: &Path) {
    fs::write(folder.join("stop"), "").expect("it is written");
}

/// What the tools change.
struct Account {
    log: Arc<Log>,
}

#[toolset(discover = false)]
impl Account {
    /// Charge the account.
    #[tool(category = "action")]
    async fn charge(&self, ctx: &RunContext, number: u32) -> u32 {
        self.log.effect(ctx.call_id().expect("a call of a session"));
        number
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the other tests run it in its own process"]
async fn makes_calls() {
    let place = variable(PLACE);
    with_store!(&place, |store| work(store).await);
}

async fn work(store: impl SharedStore) {
    let number: usize = variable(NUMBER).parse().expect("a number");
    let folder = variable(FOLDER);
    let folder = Path::new(&folder);
    let log = Arc::new(Log::open(folder, number));
    let account = Account {
        log: Arc::clone(&log),
    };
    let tools = ToolContext::builder().with(account).build();
    let policy = Policy::text()
        .max_calls(Some(BUDGET))
        .repeated_calls(None)
        .store_deadline(Duration::from_secs(20));
    let runtime = Runtime::builder(tools.expect("the tools build"))
        .policy(policy)
        .journal(store.own_journal())
        .store(store)
        .signing_key([7; 32])
        .build()
        .expect("the runtime builds");

    let mut round = log.round();
    loop {
        // A killed worker's round first: its calls are told to have had their effect, or not.
        make_calls(&runtime, &log, &format!("{number}-{round}")).await;
        // The other worker may be making these calls now, or its process was killed.
        if round > 0 {
            make_calls(&runtime, &log, &format!("{}-{}", 1 - number, round - 1)).await;
        }
        if folder.join("stop").exists() {
            return;
        }
        round += 1;
        log.set_round(round);
    }
}

/// Makes all calls of a session.
async fn make_calls(runtime: &Runtime, log: &Log, session: &str) {
    let id = format!("{}-{session}", variable(RUN));
    let opened = runtime.session(&*id, Mode::Text).principal("user:7").await;
    let open = opened.expect("the session opens");
    for first in (0..CALLS).step_by(AT_ONCE) {
        let calls = (first..first + AT_ONCE).map(|number| {
            let call_id = format!("{session}-{number}");
            let call = ToolCall::new(call_id, "charge", json!({ "number": number }));
            make_call(&open, log, call)
        });
        join_all(calls).await;
    }
}

/// Makes a call, again while another process runs it.
async fn make_call(session: &Session, log: &Log, call: ToolCall) {
    for _ in 0..ATTEMPTS {
        let began = Instant::now();
        let response = session.call(call.clone()).await;
        let told = Told::of(&response);
        log.told(call.id(), told, began.elapsed());
        if told != Told::Running {
            return;
        }
        sleep(PAUSE).await;
    }
    panic!("{call:?} runs for ever");
}
