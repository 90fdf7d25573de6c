//! Conversations whose processes are killed (SIGKILL) while tools, approvals and updates run: the next process goes on, every call
//! has one outcome, and nothing runs twice.
//!
//! `just chaos` kills 200 processes. `CHAOS_KILLS` is the number of kills over each store, and `CHAOS_SEED` repeats
//! its choices and its delays, as parts of the time that a process takes. `just kills` does the same to conversations that an
//! engine runs.

#![cfg(unix)]
#![allow(unreachable_pub)] // the modules of a test have no public interface
#![allow(clippy::pedantic)] // the tools are written for their behaviour

mod checks;
#[path = "../chaos/dice.rs"]
mod dice;
#[cfg(feature = "engines")]
mod engine;
#[cfg(feature = "engines")]
mod engine_kills;
#[cfg(feature = "engines")]
mod engine_trial;
mod office;
mod places;
mod points;
#[cfg(feature = "engines")]
#[path = "../../examples/durable/server.rs"]
mod restate_server;
mod script;
mod seed;
mod setting;
mod tally;
mod trial;
#[cfg(feature = "engines")]
mod with_dbos;
#[cfg(feature = "engines")]
mod with_restate;
mod worker;

use checks::{Finding, left};
use dice::Dice;
use places::{SharedStore, server, with_store};
use setting::{JournalKind, Setting};
use std::time::{Duration, UNIX_EPOCH};
use tally::{HEAD, Tally};
use tempfile::TempDir;
use trial::{Ends, play};

/// The environment variable with the number of kills over each store.
const KILLS: &str = "CHAOS_KILLS";
/// The kills over each store in a run of all tests.
const FEW: u32 = 6;

fn kills() -> u32 {
    let given = std::env::var(KILLS).ok();
    given.and_then(|kills| kills.parse().ok()).unwrap_or(FEW)
}

fn setting(place: &str, folder: &TempDir, number: u32) -> Setting {
    let since = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
    Setting {
        place: place.to_owned(),
        id: format!("killed-{}-{since}-{number}", std::process::id()),
        folder: folder.path().to_owned(),
        journal: JournalKind::ALL[number as usize % JournalKind::ALL.len()],
    }
}

/// Plays one conversation, and checks what is left of it. Returns false if no process has ended at its point.
async fn conversation(
    setting: &Setting,
    store: impl SharedStore,
    mut ends: Ends<'_>,
    tally: &mut Tally,
) -> Result<bool, String> {
    if !play(setting, 1, &mut ends, tally)? {
        return Ok(false);
    }
    let of_turn = left(setting, store.clone(), "send").await;
    let mut ends = match ends {
        Ends::AtPoint { .. } => Ends::NotAtAll,
        ends => ends,
    };
    play(setting, 2, &mut ends, tally)?;

    check(setting, &store, of_turn, 0, tally).await?;
    Ok(true)
}

/// Checks what is left of a conversation, and deletes it. `of_turn` is the number of actions that were left in its first turn, and
/// `reruns` the number of times that an engine may have run its calls again.
async fn check(
    setting: &Setting,
    store: &impl SharedStore,
    of_turn: u32,
    reruns: u32,
    tally: &mut Tally,
) -> Result<(), String> {
    let mut finding = Finding::read(setting, store, reruns).await;
    tally.conversations += 1;
    finding.check_calls(tally);
    finding.check_budget(0, of_turn);
    let of_session = left(setting, store.clone(), "translate").await;
    finding.check_cost(of_session, tally);
    let runtime = setting.runtime(store.clone());
    let session = setting.session(&runtime).await.expect("it opens");
    finding.check_payment(&session, tally).await;
    session.end().await;
    store.delete(&setting.key()).await.expect("it is deleted");
    match finding.into_problems() {
        problems if problems.is_empty() => Ok(()),
        problems => Err(problems.join("\n")),
    }
}

/// Kills processes at random until there were enough kills, and prints a line of the table.
async fn kill_at_random(name: &str, place: &str) {
    let seed = seed::seed();
    let mut random = Dice::new(seed);
    let mut average = Duration::from_millis(100);
    let mut tally = Tally::default();
    let mut number = 0;
    while tally.kills < kills() {
        let folder = TempDir::new().expect("a folder");
        let setting = setting(place, &folder, number);
        let ends = Ends::AtRandom {
            random: &mut random,
            average: &mut average,
        };
        let played = with_store!(place, |store| {
            conversation(&setting, store, ends, &mut tally).await
        });
        if let Err(problems) = played {
            panic!("conversation {number} over {name}, with CHAOS_SEED={seed}:\n{problems}");
        }
        number += 1;
    }
    println!("{HEAD}\n| {name} {tally}");
}

/// Ends processes at each point that a conversation has, one in each conversation.
async fn kill_at_points(name: &str, place: &str) {
    let mut tally = Tally::default();
    let mut number = 0;
    // The first process makes the calls, and the second one that a person has approved.
    for process in 0..2 {
        let mut point = 0;
        loop {
            let folder = TempDir::new().expect("a folder");
            let setting = setting(place, &folder, number);
            let ends = Ends::AtPoint { process, point };
            let played = with_store!(place, |store| {
                conversation(&setting, store, ends, &mut tally).await
            });
            match played {
                Ok(true) => point += 1,
                Ok(false) => break,
                Err(problems) => {
                    panic!("point {point} of process {process} over {name}:\n{problems}")
                }
            }
            number += 1;
        }
    }
    println!("{HEAD}\n| {name} {tally}\n{:?}", tally.points);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_processes_leave_one_outcome_in_sqlite() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("conversations.db");
    kill_at_random("SQLite", file.to_str().expect("a path")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_processes_leave_one_outcome_in_postgres() {
    if let Some(url) = server("POSTGRES_URL") {
        kill_at_random("PostgreSQL", &url).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_processes_leave_one_outcome_in_redis() {
    if let Some(url) = server("REDIS_URL") {
        kill_at_random("Redis", &url).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it takes a minute; `just chaos` runs it"]
async fn processes_that_end_at_each_point_leave_one_outcome() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("conversations.db");
    kill_at_points("SQLite, at each point", file.to_str().expect("a path")).await;
}
