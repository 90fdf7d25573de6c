//! Calls a second of two threads, over many sessions.
use crate::{Runtime, W1_ARGS, W1_NAME, cpu_now, runtime};
use std::{
    future::Future,
    hint::black_box,
    sync::Barrier,
    time::{Duration, Instant},
};

const THREADS: usize = 2;
/// The calls of a turn of each session.
const CALLS: usize = 4;
/// The time of calls in one run, without the ends of turns.
const LENGTH: Duration = Duration::from_millis(500);

/// A contestant that threads share, with its sessions. One without sessions ignores the number.
pub trait Throughput: Sync + Sized {
    const NAME: &'static str;
    fn new(rt: &Runtime, sessions: usize) -> Self;
    fn call(&self, session: usize, name: &str, args: &str) -> impl Future<Output = String>;
    fn next_turn(&self, _session: usize) -> impl Future<Output = ()> {
        async {}
    }
}

/// Measures once, and prints the calls a second of all threads and the CPU time of a call. The caller repeats it in turn
/// with other contestants, and compares by rounds.
pub fn run<T: Throughput>(variant: &str, sessions: usize) {
    if variant != "all" && variant != T::NAME {
        return;
    }
    let contestant = T::new(&runtime(), sessions);
    let (order, barrier) = (order(sessions), Barrier::new(THREADS));
    let done: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = order
            .chunks(sessions.div_ceil(THREADS))
            .map(|own| scope.spawn(|| runtime().block_on(thread(&contestant, own, &barrier))))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let a_second: f64 = done
        .iter()
        .map(|(calls, taken, _)| *calls as f64 / taken.as_secs_f64())
        .sum();
    let cpu_ns = done
        .iter()
        .map(|(calls, _, cpu)| cpu.as_nanos() as f64 / *calls as f64)
        .sum::<f64>()
        / THREADS as f64;
    println!(
        "{{\"kind\":\"throughput\",\"variant\":\"{}\",\"calls_a_second\":{a_second:.0},\"cpu_ns\":{cpu_ns:.1}}}",
        T::NAME
    );
}

/// Calls until LENGTH is over: calls, time and CPU time. Each call is in another session than the call before, so that
/// none finds its session in a cache. Turns end outside the time.
async fn thread(
    contestant: &impl Throughput,
    own: &[usize],
    barrier: &Barrier,
) -> (usize, Duration, Duration) {
    let texts: Vec<_> = (0..CALLS)
        .map(|i| W1_ARGS.replacen("a@example.com", &format!("a{i}@exa.com"), 1))
        .collect();
    let (mut calls, mut taken, mut cpu) = (0, Duration::ZERO, Duration::ZERO);
    for text in &texts {
        for session in own {
            let answer = contestant.call(*session, W1_NAME, text).await;
            assert!(
                answer.contains("\"end\":\"2026-01-06T17:30:00Z\""),
                "{answer}"
            );
        }
    }
    barrier.wait();
    while taken < LENGTH {
        for session in own {
            contestant.next_turn(*session).await;
        }
        let (began, began_cpu) = (Instant::now(), cpu_now());
        for text in &texts {
            for session in own {
                black_box(
                    contestant
                        .call(*session, black_box(W1_NAME), black_box(text))
                        .await,
                );
            }
        }
        taken += began.elapsed();
        cpu += cpu_now() - began_cpu;
        calls += own.len() * CALLS;
    }
    (calls, taken, cpu)
}

/// The numbers of the sessions, shuffled.
fn order(sessions: usize) -> Vec<usize> {
    let mut order: Vec<_> = (0..sessions).collect();
    for (i, x) in (1..sessions).rev().zip(crate::random()) {
        order.swap(i, (x % (i as u64 + 1)) as usize);
    }
    order
}
