//! Two processes, which make as many calls as they can over one store.

use crate::PART;
use crate::times::Times;
use crate::work::{CALLS_OF_A_TURN, Caller};
use std::env;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, UNIX_EPOCH};
use tokio::task::JoinSet;

const PROCESSES: usize = 2;
/// The sessions in which a process makes calls at once.
const SESSIONS: usize = 16;
const PLACE: &str = "BENCH_STORES_PLACE";
const SECONDS: &str = "BENCH_STORES_SECONDS";

pub fn measure(seconds: u64) {
    for variable in ["REDIS_URL", "POSTGRES_URL"] {
        match env::var(variable) {
            Ok(place) => measure_over(variable, &place, seconds),
            Err(_) => println!("{variable} names no server: not measured"),
        }
    }
}

fn measure_over(name: &str, place: &str, seconds: u64) {
    let mut processes = Vec::new();
    for _ in 0..PROCESSES {
        processes.push(start(place, seconds));
    }

    let mut admissions = Times::default();
    for process in processes {
        let output = process.wait_with_output().expect("a process");
        assert!(
            output.status.success(),
            "a process ended with {}",
            output.status
        );
        let text = String::from_utf8(output.stdout).expect("text");
        admissions.extend(&Times::parse(&text));
    }
    let each_second = admissions.len() as u64 / seconds;
    println!(
        "{name}: {each_second} governed calls a second by {PROCESSES} processes with {SESSIONS} sessions each; \
         admission p50 {:.2} ms, p99 {:.2} ms",
        admissions.percentile(0.5),
        admissions.percentile(0.99),
    );
}

fn start(place: &str, seconds: u64) -> Child {
    Command::new(env::current_exe().expect("this program"))
        .env(PART, "calls")
        .env(PLACE, place)
        .env(SECONDS, seconds.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process")
}

/// The work of a process. Prints how long each admission took.
pub async fn work() {
    let place = env::var(PLACE).expect("a place");
    let seconds = env::var(SECONDS).ok().and_then(|text| text.parse().ok());
    let caller = Caller::over(Some(&place)).await;
    let end = Instant::now() + Duration::from_secs(seconds.expect("seconds"));
    let run = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());

    let mut sessions = JoinSet::new();
    for number in 0..SESSIONS {
        let id = format!("{run}-{}-{number}", std::process::id());
        sessions.spawn(calls_of_a_session(caller.clone(), id, end));
    }
    let mut admissions = Times::default();
    for times in sessions.join_all().await {
        admissions.extend(&times);
    }
    println!("{}", admissions.to_text());
}

async fn calls_of_a_session(caller: Caller, id: String, end: Instant) -> Times {
    let session = caller.open(&id).await;
    let mut admissions = Times::default();
    let mut number = 0;
    while Instant::now() < end {
        if number % CALLS_OF_A_TURN == 0 {
            let _turn = session.next_turn().await;
        }
        let time = caller.call(&session, number).await;
        admissions.add(time.admission);
        number += 1;
    }
    session.end().await;
    admissions
}
