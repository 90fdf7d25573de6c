//! Nanoseconds of a span with the collector on: medians of many samples, over repeated runs. S12

mod works;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;
use tool_core::trace::{self, Collector, SpanKind};
use tool_core::{RunContext, tool};
use works::{many, now};

/// Does nothing.
#[tool]
#[inline(never)]
fn direct(a: u64) -> u64 {
    a
}

const RUNS: usize = 9;
const SAMPLES: usize = 101;
const ROUNDS: u32 = 500;

/// The median of what one round takes, less what the empty round does.
fn nanos(work: &mut dyn FnMut()) -> f64 {
    let mut samples = (0..SAMPLES).map(|_| {
        let began = Instant::now();
        (0..ROUNDS).for_each(|_| work());
        began.elapsed().as_secs_f64() * 1e9 / f64::from(ROUNDS)
    });
    median(&mut samples)
}

fn median(of: &mut dyn Iterator<Item = f64>) -> f64 {
    let mut sorted = of.collect::<Vec<_>>();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The middle of the medians of all runs.
fn repeated(work: &mut dyn FnMut()) -> f64 {
    work();
    median(&mut (0..RUNS).map(|_| nanos(work)))
}

fn main() -> ExitCode {
    let collector = Collector::new();
    let tools = many::noops(1);
    let ctx = RunContext::detached();
    let name = many::names(&tools).into_iter().next().unwrap_or_default();
    let bare = repeated(&mut || drop(black_box(works::call(&tools, &name, "{}", &ctx))));
    let plain = repeated(&mut || _ = black_box(direct(black_box(1))));
    let rows = collector.run_sync(|| {
        [
            (
                "agent span, a future",
                2_000.0,
                repeated(&mut || now(trace::agent("a", async {}))),
            ),
            (
                "agent span, a fn",
                2_000.0,
                repeated(&mut || trace::in_scope(SpanKind::Agent, "a", || ())),
            ),
            (
                "tool span, dispatched",
                1_000.0,
                repeated(&mut || drop(works::call(&tools, &name, "{}", &ctx))) - bare,
            ),
            (
                "tool span, called directly",
                1_000.0,
                repeated(&mut || _ = black_box(direct(black_box(1)))) - plain,
            ),
            (
                "push and pop",
                200.0,
                trace::in_scope(SpanKind::Agent, "a", || {
                    repeated(&mut || now(trace::in_current_span(async {})))
                }),
            ),
        ]
    });
    println!("{:30} {:>8} {:>8}", "with the collector on", "ns", "bar");
    let mut missed = false;
    for (what, bar, nanos) in rows {
        missed |= nanos > bar;
        println!(
            "{what:30} {nanos:8.0} {bar:8.0}{}",
            if nanos > bar { " MISSED" } else { "" }
        );
    }
    if missed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
