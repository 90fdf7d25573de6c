//! Instructions of a declaration that is made already, and of a call on its way back, counted by callgrind.

mod works;

use std::cell::Cell;
use std::hint::black_box;
use std::process::ExitCode;
use tool_adapters::{DeclareOptions, Provider, declare_with};
use tool_core::ToolCall;
use works::callgrind::{self, shown};
use works::{inputs, many};

const STRICT: DeclareOptions = DeclareOptions {
    strict: true,
    only_single_type: false,
    model_mixes: false,
    defer: false,
};
/// Most that the second declaration of 1,000 tools may cost, as a multiple of that of 10.
const AMONG: f64 = 1.1;
/// Most that a call without null may cost beside taking it apart: as many instructions as its text has bytes, and this.
const BESIDE: f64 = 1_000.0;
/// A call as a strict model writes it.
const NULLS: &str = r#"{"title":"Review","start_time":"2026-11-20T10:00:00Z","duration_minutes":null,"attendees":["ada@example.com"],"description":null}"#;

fn main() -> ExitCode {
    callgrind::main(run_all, report)
}

/// Each work in the order in which `report` reads the counts.
fn run_all() {
    for count in [10, 1_000] {
        let tools = many::noops(count);
        callgrind::run(&mut || {
            drop(black_box(declare_with(
                Provider::OpenAiChat,
                black_box(&tools),
                STRICT,
            )));
        });
    }
    let declared = declare_with(Provider::OpenAiChat, &many::calendar(), STRICT);
    for arguments in [inputs::EVENT, NULLS] {
        let call = Cell::new(None);
        let make = || call.set(Some(ToolCall::new("call_123", "create_event", arguments)));
        callgrind::run_between(&mut { make }, &mut || {
            call.set(
                call.take()
                    .map(|call| black_box(declared.restore(black_box(call)))),
            );
        });
    }
}

/// Prints the counts; fails where a bar is missed.
fn report(counts: &[f64]) -> ExitCode {
    let &[ten, thousand, plain, nulls] = counts else {
        eprintln!(
            "NO INSTRUCTION COUNTS: {} of 4 works were counted",
            counts.len()
        );
        return ExitCode::FAILURE;
    };
    let among = thousand / ten;
    #[allow(clippy::cast_precision_loss)] // a few hundred bytes
    let most = inputs::EVENT.len() as f64 + BESIDE;
    println!(
        "declaring 10 tools again: {ten:.0}; 1,000: {thousand:.0}; {among:.2}x, bar {}",
        shown(Some(AMONG), among)
    );
    println!(
        "a strict call without null, back: {plain:.0}, bar {most:.0}; with two nulls: {nulls:.0}"
    );
    if among <= AMONG && plain <= most {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
