//! Many sessions for a long time: memory and latency do not grow.

use crate::times::Times;
use crate::work::Caller;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tool_core::Session;

const SESSIONS: usize = 100_000;
/// The calls that a process makes at once, and the pause of each after a call: a machine that is not busy.
const CALLERS: usize = 16;
const PAUSE: Duration = Duration::from_millis(8);

/// Measures sessions in memory, and then over Redis, or only where `store` says.
pub async fn measure(minutes: u64, store: Option<&str>) {
    if store != Some("redis") {
        measure_over("in memory", None, minutes).await;
    }
    if let Ok(redis) = std::env::var("REDIS_URL")
        && store != Some("memory")
    {
        measure_over("over Redis", Some(&redis), minutes).await;
    }
}

async fn measure_over(name: &str, url: Option<&str>, minutes: u64) {
    let caller = Caller::over(url).await;
    let began = Instant::now();
    let mut sessions = Vec::with_capacity(SESSIONS);
    for number in 0..SESSIONS {
        let id = format!("{}-{number}", std::process::id());
        sessions.push(caller.open(&id).await);
    }
    println!(
        "{SESSIONS} sessions {name}: opened in {:.1} s, {} MiB",
        began.elapsed().as_secs_f64(),
        resident_mib()
    );

    let sessions = Arc::<[Session]>::from(sessions);
    let next = Arc::new(AtomicU32::new(0));
    for minute in 1..=minutes {
        let end = Instant::now() + Duration::from_secs(60);
        let mut callers = JoinSet::new();
        for _ in 0..CALLERS {
            callers.spawn(calls_until(
                end,
                caller.clone(),
                Arc::clone(&sessions),
                Arc::clone(&next),
            ));
        }
        let mut times = Times::default();
        for some in callers.join_all().await {
            times.extend(&some);
        }
        println!(
            "minute {minute}: {} calls, p50 {:.2} ms, p99 {:.2} ms, {} MiB",
            times.len(),
            times.percentile(0.5),
            times.percentile(0.99),
            resident_mib(),
        );
    }
}

/// Makes a call in each session in turn.
async fn calls_until(
    end: Instant,
    caller: Caller,
    sessions: Arc<[Session]>,
    next: Arc<AtomicU32>,
) -> Times {
    let mut times = Times::default();
    while Instant::now() < end {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let session = &sessions[number as usize % sessions.len()];
        let _turn = session.next_turn().await;
        let time = caller.call(session, number).await;
        times.add(time.whole);
        tokio::time::sleep(PAUSE).await;
    }
    times
}

/// Returns the memory of this process.
fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or_default() / 1024
}
