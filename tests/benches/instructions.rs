//! Instructions a call, counted by callgrind, as multiples of a floor written by hand.

mod works;

use std::fmt::Write as _;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;
use tool_core::RunContext;
use works::callgrind::{self, shown};
use works::{LOOKUP, TEXT, many};

fn main() -> ExitCode {
    callgrind::main(run_all, report)
}

/// Each work in the order in which `report` reads the counts.
fn run_all() {
    let tools = many::calendar();
    let ctx = RunContext::detached();
    works::check(&tools, &ctx);
    callgrind::run(&mut || {
        black_box(black_box(Instant::now()).elapsed());
    });
    for work in works::works() {
        let (name, text) = (work.tool, &*work.arguments);
        callgrind::run(&mut || drop(black_box((work.floor)(black_box(name), black_box(text)))));
        callgrind::run(&mut || drop(black_box(works::call(&tools, black_box(name), black_box(text), &ctx))));
        callgrind::run(&mut || drop(black_box(works::call(&tools, black_box(name), black_box(text), &ctx).to_json())));
    }
    for count in [10, 1_000] {
        let tools = many::noops(count);
        let names = many::names(&tools);
        let mut next = names.iter().cycle();
        callgrind::run(&mut || {
            let name = next.next().map_or("", String::as_str);
            drop(black_box(works::call(&tools, black_box(name), "{}", &ctx)));
        });
    }
    let tools = many::hundred();
    callgrind::run(&mut || {
        black_box(many::list(black_box(&tools)));
    });
}

/// Prints the tables; fails where a bar is missed.
fn report(counts: &[f64]) -> ExitCode {
    let works = works::works();
    let [clock, calls @ ..] = counts else { return ExitCode::FAILURE };
    if calls.len() != works.len() * 3 + 3 {
        eprintln!("NO INSTRUCTION COUNTS: {} of {} works were counted", calls.len(), works.len() * 3 + 3);
        return ExitCode::FAILURE;
    }
    let (calls, rest) = calls.split_at(works.len() * 3);
    let mut missed = 0;
    let mut table = String::from("| work | floor | response | x floor | bar | text | x floor | bar |\n");
    table += "|---|--:|--:|--:|--:|--:|--:|--:|\n";
    for (work, calls) in works.iter().zip(calls.chunks_exact(3)) {
        let [floor, response, text] = calls else { continue };
        let text_bar = work.bar.map(|_| TEXT);
        let columns = [(response, work.bar), (text, text_bar)].map(|(count, bar)| {
            let ratio = count / floor;
            missed += u32::from(bar.is_some_and(|bar| ratio > bar));
            format!("{count:.0} | {ratio:.2} | {}", shown(bar, ratio))
        });
        let _ = writeln!(table, "| {} | {floor:.0} | {} |", work.name, columns.join(" | "));
    }
    println!("Instructions a call (callgrind; two clock readings, {clock:.0} here, are in each of ours)\n\n{table}");
    if let [ten, thousand, list] = rest {
        let ratio = thousand / ten;
        missed += u32::from(ratio > LOOKUP);
        println!(
            "noop among 10 tools: {ten:.0}; among 1,000: {thousand:.0}; {ratio:.2}x, bar {}",
            shown(Some(LOOKUP), ratio)
        );
        println!("listing 100 tools: {list:.0}");
    }
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
