//! Kills of workers at random, with each engine over each store.

use crate::check;
use crate::checks::left;
use crate::dice::Dice;
use crate::engine::TestedEngine;
use crate::engine_trial::{introduce, play_with};
use crate::kills;
use crate::places::{SharedStore, server, with_store};
use crate::seed;
use crate::setting::{JournalKind, Setting};
use crate::tally::{HEAD, Tally};
use crate::with_dbos::Dbos;
use crate::with_restate::Restate;
use tempfile::TempDir;

/// The journals with an engine, which needs one.
const JOURNALS: [JournalKind; 2] = [JournalKind::Store, JournalKind::File];

/// Plays one conversation, and checks what is left of it.
async fn conversation<E: TestedEngine>(
    engine: &E,
    setting: &Setting,
    store: impl SharedStore,
    random: &mut Dice,
    tally: &mut Tally,
) -> Result<(), String> {
    let without_journal = Setting {
        journal: JournalKind::Nothing,
        ..setting.clone()
    };
    let runtime = without_journal.runtime(store.clone());
    let before = tally.kills;
    play_with(engine, setting, &runtime, 0, random, tally).await?;
    let of_turn = left(setting, store.clone(), "send").await;
    play_with(engine, setting, &runtime, 1, random, tally).await?;
    let reruns = tally.kills - before;
    check(setting, &store, of_turn, reruns, tally).await
}

/// Kills workers until there were enough kills, and prints a line of the table.
async fn kill_with<E: TestedEngine>(store: &str, variable: &str) {
    let Some(place) = server(variable) else {
        return;
    };
    let of_engine = TempDir::new().expect("a folder");
    let Some(engine) = E::start(of_engine.path()).await else {
        return;
    };
    let seed = seed::seed();
    let mut random = Dice::new(seed);
    let mut tally = Tally::default();
    let mut number = 0;
    while tally.kills < kills() {
        let folder = TempDir::new().expect("a folder");
        let setting = Setting {
            journal: JOURNALS[number as usize % JOURNALS.len()],
            ..crate::setting(&place, &folder, number)
        };
        if number == 0 {
            introduce(&engine, &setting).await;
        }
        let played = with_store!(&place, |store| {
            conversation(&engine, &setting, store, &mut random, &mut tally).await
        });
        if let Err(problems) = played {
            let name = E::NAME;
            panic!(
                "conversation {number} with {name} over {store}, after {} kills, with CHAOS_SEED={seed}:\n{problems}",
                tally.kills
            );
        }
        number += 1;
    }
    println!("{HEAD}\n| {}, {store} {tally}", E::NAME);
    println!("{:?}", tally.points);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it takes minutes; `just kills` runs it"]
async fn kills_with_restate_leave_one_outcome_over_postgres() {
    kill_with::<Restate>("PostgreSQL", "POSTGRES_URL").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it takes minutes; `just kills` runs it"]
async fn kills_with_restate_leave_one_outcome_over_redis() {
    kill_with::<Restate>("Redis", "REDIS_URL").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it takes minutes; `just kills` runs it"]
async fn kills_with_dbos_leave_one_outcome_over_postgres() {
    kill_with::<Dbos>("PostgreSQL", "POSTGRES_URL").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it takes minutes; `just kills` runs it"]
async fn kills_with_dbos_leave_one_outcome_over_redis() {
    kill_with::<Dbos>("Redis", "REDIS_URL").await;
}
