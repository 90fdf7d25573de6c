//! Many live conversations at once, one in ten with broken connections.
//!
//! This is a separate binary, as a process has one allocator. It counts the bytes of the clients, which have the thread of
//! the test; the providers have another one. `LIVE_CONVERSATIONS=1000` plays 1,000 conversations.

mod board;
mod clients;
#[path = "../../../../tests/benches/counting.rs"]
mod counting;
#[path = "../websocket/peer.rs"]
mod peer;
mod providers;
mod script;
#[path = "../websocket/strict/mod.rs"]
mod strict;

use board::Load;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

fn conversations() -> usize {
    std::env::var("LIVE_CONVERSATIONS").map_or(100, |text| {
        text.parse().expect("LIVE_CONVERSATIONS is a number")
    })
}

fn load(conversations: usize) -> Load {
    Load {
        conversations,
        calls: 20,
        has_breaks: true,
        pause: Duration::ZERO,
    }
}

#[test]
fn each_call_runs_once_and_is_answered_once() {
    let board = clients::play(load(conversations()));
    println!("{}", board.summary());
    for (number, calls) in board.calls.iter().enumerate() {
        let is_whole = board.breaks[number].get() == 0;
        for (at, call) in calls.iter().enumerate() {
            let id = board::call_id(number, at);
            assert_eq!(
                (call.runs.get(), call.answers.get()),
                (1, 1),
                "runs and answers of {id}"
            );
            assert!(
                call.repeats.get() == 0 || !is_whole,
                "the result of {id} was sent twice over one connection"
            );
        }
    }
    let broken = board
        .breaks
        .iter()
        .filter(|breaks| breaks.get() > 0)
        .count();
    assert!(
        broken * 12 >= conversations(),
        "{broken} conversations broke"
    );
}

#[test]
fn memory_is_flat_after_many_conversations() {
    // What the first use creates exists before.
    drop(clients::play(load(20)));
    let (before, start) = (counting::bytes(), Instant::now());
    let board = clients::play(load(conversations()));
    let (time, peak) = (start.elapsed(), board.peak_bytes.load(Ordering::Relaxed));
    println!("{}", board.summary());
    drop(board);
    let after = counting::bytes();
    println!(
        "{time:?}; bytes of the clients: {before} before, {peak} with all open, {after} after"
    );
    assert!(
        after - before < 16_384,
        "{before} bytes before, {after} after"
    );
}
