//! Live conversations: the time from a call to the start of its tool with 100 of them, and the memory of 1,000.
//!
//! The time begins before the provider writes the call, so it includes the way through the loopback device.

#[path = "../tests/live/board.rs"]
mod board;
#[path = "../tests/live/clients.rs"]
mod clients;
#[path = "../../../tests/benches/counting.rs"]
mod counting;
#[path = "../tests/websocket/peer.rs"]
mod peer;
#[path = "../tests/live/providers.rs"]
mod providers;
#[path = "../tests/live/script.rs"]
mod script;
#[path = "../tests/websocket/strict/mod.rs"]
mod strict;

use board::Load;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

fn main() {
    for milliseconds in [1_000, 100, 0] {
        let pause = Duration::from_millis(milliseconds);
        let board = clients::play(Load {
            conversations: 100,
            calls: 50,
            has_breaks: false,
            pause,
        });
        let latencies = board.latencies();
        let at = |percent: usize| latencies[(latencies.len() - 1) * percent / 100];
        println!(
            "{}, after pauses of up to {milliseconds} ms",
            board.summary()
        );
        println!(
            "    from a call to its tool: median {:?}, 99th percentile {:?}",
            at(50),
            at(99)
        );
    }
    let (before, start) = (counting::bytes(), Instant::now());
    let board = clients::play(Load {
        conversations: 1_000,
        calls: 20,
        has_breaks: true,
        pause: Duration::ZERO,
    });
    let (time, peak) = (start.elapsed(), board.peak_bytes.load(Ordering::Relaxed));
    println!("{}, {time:?}", board.summary());
    drop(board);
    println!(
        "    bytes of the clients: {before} before, {peak} with all open, {} after",
        counting::bytes()
    );
}
