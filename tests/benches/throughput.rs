//! Calls a second: governed calls over many sessions on two threads, beside what the floor does on the same threads.
//!
//! By time, so a ratio of interleaved rounds, and the median of them.

mod works;

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Barrier;
use std::time::{Duration, Instant};
use tool_core::{RunContext, Session, ToolContext};
use works::governed::{self, SESSIONS, THROUGHPUT};
use works::{Work, many};

const ROUNDS: usize = 31;
/// The calls of one tool by each session in a round, which is one turn.
const CALLS: usize = 4;

fn main() -> ExitCode {
    let tools = many::calendar();
    let mut missed = false;
    println!("Calls a second, medians of {ROUNDS} interleaved rounds\n");
    println!(
        "| work | threads | sessions | floor | bare | governed | x floor | bar |\n|---|--:|--:|--:|--:|--:|--:|--:|"
    );
    for (name, threads, count, bar) in [
        ("create_event", 1, 1, None),
        ("create_event", 1, SESSIONS, None),
        ("create_event", 2, 2, None),
        ("create_event", 2, SESSIONS, Some(THROUGHPUT)),
        ("create_event, async", 2, SESSIONS, Some(THROUGHPUT)),
        ("create_event, run context, async", 2, SESSIONS, Some(THROUGHPUT)),
    ] {
        let all = works::works();
        let Some(work) = all.iter().find(|work| work.name == name) else { continue };
        let [floor, bare, governed, ratio] = compared(&tools, work, threads, count);
        missed |= bar.is_some_and(|bar| ratio < bar);
        let verdict = |bar| format!("{bar:.2}{}", if ratio < bar { " MISSED" } else { "" });
        let bar = bar.map_or_else(|| "-".to_owned(), verdict);
        println!("| {name} | {threads} | {count} | {floor:.0} | {bare:.0} | {governed:.0} | {ratio:.2} | {bar} |");
    }
    if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Medians of the calls a second of the floor, the bare and the governed call, and of the last against the first.
fn compared(tools: &ToolContext, work: &Work, threads: usize, count: usize) -> [f64; 4] {
    let runtime = governed::runtime(tools.clone());
    let sessions = governed::sessions(&runtime, count);
    let ctx = RunContext::detached();
    let texts = governed::texts(work).into_iter().take(CALLS).collect::<Vec<_>>();
    // As many calls, however few the sessions.
    let turns = SESSIONS / count;
    let mut rounds = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        let time = |call: &(dyn Fn(&Session, &str) + Sync)| timed(&sessions, threads, &texts, turns, call);
        let floor = time(&|_, text| drop(black_box((work.floor)(black_box(work.tool), text))));
        let bare = time(&|_, text| drop(black_box(works::call(tools, black_box(work.tool), text, &ctx))));
        let governed = time(&|session, text| drop(black_box(governed::call(session, black_box(work.tool), text))));
        for (round, value) in rounds.iter_mut().zip([floor, bare, governed, governed / floor]) {
            round.push(value);
        }
    }
    rounds.map(median)
}

/// Calls a second of all threads together. Turns end outside the time that is taken.
fn timed(
    sessions: &[Session],
    threads: usize,
    texts: &[String],
    turns: usize,
    call: &(dyn Fn(&Session, &str) + Sync),
) -> f64 {
    let barrier = Barrier::new(threads);
    let taken = std::thread::scope(|scope| {
        let threads = sessions.chunks(sessions.len() / threads).map(|own| {
            let barrier = &barrier;
            scope.spawn(move || {
                let mut taken = Duration::ZERO;
                own.iter().for_each(governed::next_turn);
                barrier.wait();
                for _ in 0..turns {
                    let began = Instant::now();
                    for text in texts {
                        for session in own {
                            call(session, black_box(text));
                        }
                    }
                    taken += began.elapsed();
                    own.iter().for_each(governed::next_turn);
                }
                taken
            })
        });
        let threads = threads.collect::<Vec<_>>();
        let each = threads.into_iter().map(|thread| thread.join().unwrap_or_default());
        each.max().unwrap_or_default()
    });
    let calls = u32::try_from(sessions.len() * texts.len() * turns).unwrap_or(u32::MAX);
    f64::from(calls) / taken.as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
