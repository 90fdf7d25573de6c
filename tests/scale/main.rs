//! Two processes over one store, which make the same calls again and again while one of them is killed each second: no call takes
//! effect twice, none is lost without being told, and no budget is exceeded. Prints how many calls they make.
//!
//! `just scale` runs it for half a minute over each store. `SCALE_SECONDS` is the time for each.

#![cfg(unix)]
#![allow(unreachable_pub)] // the modules of a test have no public interface
#![allow(clippy::pedantic)] // the tools are written for their behaviour

#[path = "../killed/places.rs"]
mod places;
mod record;
mod worker;

use places::server;
use record::Record;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, UNIX_EPOCH};
use tempfile::TempDir;

/// The environment variable with the seconds for each store.
const SECONDS: &str = "SCALE_SECONDS";
/// The seconds in a run of all tests.
const FEW: u64 = 3;
/// The processes.
const WORKERS: usize = 2;
/// The time between two kills.
const PERIOD: Duration = Duration::from_secs(1);

fn seconds() -> u64 {
    let given = std::env::var(SECONDS).ok();
    given.and_then(|given| given.parse().ok()).unwrap_or(FEW)
}

/// Starts a worker, which goes on where the one of its number has ended.
fn start(place: &str, folder: &TempDir, run: &str, number: usize) -> Child {
    let this = std::env::current_exe().expect("this binary");
    Command::new(this)
        .args(["--exact", "worker::makes_calls", "--ignored", "--nocapture"])
        .env(worker::PLACE, place)
        .env(worker::FOLDER, folder.path())
        .env(worker::RUN, run)
        .env(worker::NUMBER, number.to_string())
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts")
}

/// Runs the workers over a store, and checks what they have left.
fn scale(name: &str, place: &str) {
    let folder = TempDir::new().expect("a folder");
    let since = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
    let run = format!("scale-{since}");
    let began = Instant::now();
    let mut workers = Vec::new();
    for number in 0..WORKERS {
        workers.push(start(place, &folder, &run, number));
    }

    let mut kills = 0;
    while began.elapsed() < Duration::from_secs(seconds()) {
        std::thread::sleep(PERIOD);
        let number = kills % WORKERS;
        workers[number].kill().expect("it is killed");
        workers[number].wait().expect("it has ended");
        workers[number] = start(place, &folder, &run, number);
        kills += 1;
    }
    worker::stop(folder.path());
    for mut worker in workers {
        let status = worker.wait().expect("it ends");
        assert!(status.success(), "a worker over {name} ended with {status}");
    }

    let record = Record::read(folder.path());
    record.check();
    println!("{name}: {kills} kills, {}", record.summary(began.elapsed()));
}

#[test]
fn killed_workers_run_each_call_once_over_sqlite() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("calls.db");
    scale("SQLite", file.to_str().expect("a path"));
}

#[test]
fn killed_workers_run_each_call_once_over_postgres() {
    if let Some(url) = server("POSTGRES_URL") {
        scale("PostgreSQL", &url);
    }
}

#[test]
fn killed_workers_run_each_call_once_over_redis() {
    if let Some(url) = server("REDIS_URL") {
        scale("Redis", &url);
    }
}
