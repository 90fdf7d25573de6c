//! Instructions of untraced calls, a line each. `trace_off.py` compares them with a build in which spans are
//! not compiled in at all.

mod works;

use std::cell::Cell;
use std::hint::black_box;
use std::process::ExitCode;
use tool_core::RunContext;
use works::{callgrind, governed, many};

const TOOLS: [&str; 4] = [
    "create_event",
    "create_event_async",
    "create_event_context_async",
    "noop",
];

fn main() -> ExitCode {
    callgrind::main(run_all, report)
}

fn run_all() {
    let tools = many::calendar();
    let runtime = governed::runtime(tools.clone());
    let ctx = RunContext::detached();
    for tool in TOOLS {
        let session = governed::session(&runtime, 0);
        let texts = governed::texts(tool);
        let at = Cell::new(0);
        let text = || texts.get(at.get() % texts.len()).map_or("", String::as_str);
        callgrind::run(&mut || {
            drop(black_box(works::call(
                &tools,
                black_box(tool),
                black_box(text()),
                &ctx,
            )));
        });
        callgrind::run_between(
            &mut || {
                at.set(at.get() + 1);
                governed::next_turn(&session);
            },
            &mut || {
                drop(black_box(governed::call(
                    &session,
                    black_box(tool),
                    black_box(text()),
                )));
            },
        );
    }
}

fn report(counts: &[f64]) -> ExitCode {
    for (tool, counts) in TOOLS.into_iter().zip(counts.chunks(2)) {
        for (way, count) in ["bare", "governed"].into_iter().zip(counts) {
            println!("{way} {tool}\t{count:.0}");
        }
    }
    ExitCode::SUCCESS
}
