//! Random trees of spans that nest, spawn, race, panic and are dropped, thousands at once, compared with a reference
//! model. S1, S2, S6, S7, S9, S12
//!
//! `CHAOS_COUNT=100000` makes more trees, ten thousand at a time, and `CHAOS_SEED=7` begins with another seed. Each test
//! runs in its own process, as a process has one collector.

mod check;
mod futures;
mod look;
mod money;
mod plan;
mod run;
mod tools;
mod watch;
mod world;

use crate::support::{on_threads, open_policy, quiet, run_alone, runtime};
use check::Found;
use plan::Planner;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::unbounded_channel;
use tool_core::{Mode, trace};
use world::{ALL, Env, Tree};

const MEASURE: &str = "CHAOS_SPANS";
/// The number of trees that run at once.
const TREES: u64 = 10_000;

fn number(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .and_then(|number| number.parse().ok())
}

/// Runs all trees at once, and returns them when all of their tasks have ended.
async fn run_all(seed: u64, count: u32, started: bool) -> Vec<Arc<Tree>> {
    let plans = (0..count)
        .map(|tree| Planner::new(seed, tree).tree())
        .collect::<Vec<_>>();
    watch::prepare(plan::nodes());
    let tools = tools::tools();
    // No call may reach its deadline on a busy machine.
    let policy = open_policy().deadline(Duration::from_hours(1));
    let runtime = runtime(tools.clone(), policy).expect("sound tools");
    let (token, mut tokens) = unbounded_channel();
    let (mut trees, mut tasks) = (Vec::new(), Vec::new());
    for (number, plan) in (0..).zip(plans) {
        let session = runtime
            .session(format!("tree {number}"), Mode::Text)
            .await
            .expect("opens");
        let tree = Arc::new(Tree::new(
            number,
            tools.clone(),
            session,
            started,
            token.clone(),
        ));
        let env = Env::new(Arc::clone(&tree));
        let collector = &ALL[env.place.collector];
        tasks.push(tokio::spawn(collector.run(run::steps(plan, env))));
        trees.push(tree);
    }
    drop(token);
    for task in tasks {
        // The tree may panic if its plan says so.
        let _ = task.await;
    }
    trees.iter().for_each(|tree| tree.is_left());
    assert!(tokens.recv().await.is_none(), "no message arrives");
    trees
}

#[test]
#[ignore = "the other tests run it in their own processes"]
fn measured() {
    let how = std::env::var(MEASURE).expect("the other tests set it");
    quiet();
    let seed = number("CHAOS_SEED").unwrap_or(1);
    let count = u32::try_from(number("CHAOS_COUNT").unwrap_or(TREES)).expect("a count");
    let count = if how == "stopped" { count } else { count / 5 };
    println!("seed {seed}, {count} trees, {how}");
    if how == "logged" {
        let subscriber = tracing_subscriber::registry();
        tracing::subscriber::set_global_default(subscriber).expect("the first");
    }
    ALL[0].install();
    if how != "started" {
        trace::stop();
    }
    let trees = on_threads(run_all(seed, count, how != "stopped"));
    let mut found = Found::new(&trees);
    found.wrong.extend(look::wrong());
    found.spans();
    let spots = trees
        .iter()
        .flat_map(|tree| tree.log.lock().expect("no panic holds it").clone())
        .collect::<Vec<_>>();
    money::check(&mut found, &spots);
    let spans = found
        .reports
        .iter()
        .map(|report| report.spans().len())
        .sum::<usize>();
    let uses = found
        .reports
        .iter()
        .map(|report| report.totals().total.uses)
        .sum::<u64>();
    println!(
        "{spans} spans; {uses} of {} uses count; {} wrong",
        spots.len(),
        found.wrong.len()
    );
    assert!(
        found.wrong.is_empty(),
        "seed {seed}:\n{}",
        found.wrong[..found.wrong.len().min(20)].join("\n")
    );
    assert!(
        spans > count as usize * 3 && uses > u64::from(count),
        "too little happened"
    );
}

fn holds(how: &str) {
    let (seed, count) = (
        number("CHAOS_SEED").unwrap_or(1),
        number("CHAOS_COUNT").unwrap_or(TREES),
    );
    for round in 0..count.div_ceil(TREES) {
        let trees = TREES.min(count - round * TREES);
        let (seed, count) = ((seed + round).to_string(), trees.to_string());
        run_alone(
            "spans::measured",
            &[
                (MEASURE, how),
                ("CHAOS_SEED", &seed),
                ("CHAOS_COUNT", &count),
            ],
        );
    }
}

// S1, S2, S6, S7, S9, S12
#[test]
fn ten_thousand_concurrent_trees_match_the_model() {
    holds("stopped");
}

// S1, S2, S6, S7
#[test]
fn trees_match_the_model_in_a_collecting_process() {
    holds("started");
}

// S1, S2, S6, S7, R-M2
#[test]
fn trees_match_the_model_with_a_subscriber() {
    holds("logged");
}
