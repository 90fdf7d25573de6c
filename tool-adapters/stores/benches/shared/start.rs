//! A process from its start to its first answer.

use crate::PART;
use crate::times::Times;
use crate::work::Caller;
use std::process::Command;
use std::time::Instant;

const ROUNDS: usize = 30;

pub fn measure() {
    let mut times = Times::default();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let status = Command::new(std::env::current_exe().expect("this program"))
            .env(PART, "start")
            .status()
            .expect("a process");
        assert!(status.success());
        times.add(began.elapsed());
    }
    println!(
        "from the start of a process to its end after one governed call: p50 {:.1} ms, p99 {:.1} ms",
        times.percentile(0.5),
        times.percentile(0.99),
    );
}

pub async fn first_call() {
    let caller = Caller::over(None).await;
    let session = caller.open("s").await;
    caller.call(&session, 1).await;
}
