//! Instructions a governed call, counted by callgrind, as multiples of the same floor as the bare call's; and that they
//! depend neither on the number of tools nor on that of sessions.

mod works;

use std::cell::Cell;
use std::fmt::Write as _;
use std::hint::black_box;
use std::process::ExitCode;
use tool_core::{RunContext, Session, ToolCall, ToolContext};
use works::callgrind::{self, shown};
use works::governed::{self, AIM, AMONG, BAR, SESSIONS};
use works::{Work, many};

/// The works that are counted, and whether the bar holds for them.
const ROWS: [(&str, bool); 7] = [
    ("create_event", true),
    ("create_event, async", true),
    ("create_event, owned text", true),
    ("create_event, run context", true),
    ("create_event, run context, async", true),
    ("noop", false),
    ("batch of 64", false),
];
/// The variants of each work: the floor, the bare call, and four situations of a governed call.
const COLUMNS: usize = 6;
/// The works without a floor.
const REST: usize = 7;

fn main() -> ExitCode {
    callgrind::main(run_all, report)
}

fn rows() -> impl Iterator<Item = (Work, bool)> {
    let row = |(name, bar)| works::works().into_iter().find(|work| work.name == name).map(|work| (work, bar));
    ROWS.into_iter().filter_map(row)
}

/// Each work in the order in which `report` reads the counts.
fn run_all() {
    let tools = many::calendar();
    for (work, _) in rows() {
        run_row(&tools, &work);
    }
    callgrind::run(&mut || {
        drop(black_box(ToolCall::new(black_box("call_123"), black_box("create_event"), works::inputs::EVENT)));
    });
    run_turns(&tools);
    for count in [10, 1_000] {
        run_among_tools(count);
    }
    for count in [1, SESSIONS] {
        run_among_sessions(&tools, count);
    }
    run_many_tools_in_a_turn();
}

fn run_row(tools: &ToolContext, work: &Work) {
    let ctx = RunContext::detached();
    let runtime = governed::runtime(tools.clone());
    let session = governed::session(&runtime, 0);
    governed::check(&session);
    let (name, texts) = (work.tool, governed::texts(work));
    let at = Cell::new(0);
    let text = || texts.get(at.get() % texts.len()).map_or("", String::as_str);
    let step = || at.set(at.get() + 1);
    let turn = || governed::next_turn(&session);
    let other = || drop(governed::call(&session, name, text()));
    let call = || drop(black_box(governed::call(&session, black_box(name), black_box(text()))));
    callgrind::run_between(&mut || step(), &mut || drop(black_box((work.floor)(black_box(name), black_box(text())))));
    callgrind::run_between(&mut || step(), &mut || {
        drop(black_box(works::call(tools, black_box(name), black_box(text()), &ctx)));
    });
    // The first call of a turn, without and with the turn's end.
    callgrind::run_between(&mut || (step(), turn()).1, &mut || call());
    callgrind::run_between(&mut || step(), &mut || (turn(), call()).1);
    // The second call of a turn.
    callgrind::run_between(&mut || (step(), turn(), other(), step()).3, &mut || call());
    // The calls of one long turn.
    turn();
    let fresh = || {
        if texts.len() == 1 {
            turn();
        }
    };
    callgrind::run_between(&mut || (step(), fresh()).1, &mut || call());
}

/// A turn's end, after one call.
fn run_turns(tools: &ToolContext) {
    let runtime = governed::runtime(tools.clone());
    let session = governed::session(&runtime, 0);
    let call = || drop(governed::call(&session, "create_event", works::inputs::EVENT));
    callgrind::run_between(&mut || call(), &mut || governed::next_turn(black_box(&session)));
}

/// Calls of one tool after the other.
fn run_among_tools(count: usize) {
    let tools = many::noops(count);
    let names = many::names(&tools);
    let runtime = governed::runtime(tools);
    let session = governed::session(&runtime, 0);
    let at = Cell::new(0);
    let name = || names.get(at.get() % names.len()).map_or("", String::as_str);
    // The first call of each fills the caches.
    for name in &names {
        drop(governed::call(&session, name, "{}"));
    }
    callgrind::run_between(&mut || (at.set(at.get() + 7), governed::next_turn(&session)).1, &mut || {
        drop(black_box(governed::call(&session, black_box(name()), "{}")));
    });
}

/// Calls in one session after the other.
fn run_among_sessions(tools: &ToolContext, count: usize) {
    let runtime = governed::runtime(tools.clone());
    let sessions = governed::sessions(&runtime, count);
    let call = |session: &Session| drop(black_box(governed::call(session, "create_event", works::inputs::EVENT)));
    sessions.iter().for_each(call);
    let mut next = sessions.iter().cycle();
    let current = Cell::new(sessions.first());
    callgrind::run_between(
        &mut || {
            current.set(next.next());
            current.get().into_iter().for_each(governed::next_turn);
        },
        &mut || black_box(current.get()).into_iter().for_each(call),
    );
}

/// Calls of a hundred tools in one turn.
fn run_many_tools_in_a_turn() {
    let tools = many::noops(101);
    let names = many::names(&tools);
    let runtime = governed::runtime(tools);
    let session = governed::session(&runtime, 0);
    for name in &names {
        drop(governed::call(&session, name, "{}"));
    }
    governed::next_turn(&session);
    let mut next = names.iter();
    callgrind::run(&mut || {
        let name = next.next().map_or("", String::as_str);
        drop(black_box(governed::call(&session, black_box(name), "{}")));
    });
}

/// Prints the tables; fails where a bar is missed.
fn report(counts: &[f64]) -> ExitCode {
    let rows = rows().collect::<Vec<_>>();
    if rows.len() != ROWS.len() || counts.len() != rows.len() * COLUMNS + REST {
        eprintln!("NO INSTRUCTION COUNTS: {} of {} works were counted", counts.len(), ROWS.len() * COLUMNS + REST);
        return ExitCode::FAILURE;
    }
    let (calls, rest) = counts.split_at(rows.len() * COLUMNS);
    let mut missed = 0;
    let mut table = String::from(
        "| work | floor | bare | first of a turn | x floor | with next_turn | x | second | x | of 100 | x | bar |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for ((work, held), calls) in rows.iter().zip(calls.chunks_exact(COLUMNS)) {
        let [floor, bare, governed @ ..] = calls else { continue };
        let bar = held.then_some(BAR);
        // The turn's end is no part of a call, so the bar does not hold for the second column.
        let worst = governed.iter().enumerate().filter(|(at, _)| *at != 1).map(|(_, count)| count / floor);
        let worst = worst.fold(0.0, f64::max);
        missed += u32::from(bar.is_some_and(|bar| worst > bar));
        let columns = governed.iter().map(|count| format!("{count:.0} | {:.2}", count / floor)).collect::<Vec<_>>();
        let _ = writeln!(
            table,
            "| {} | {floor:.0} | {bare:.0} | {} | {} |",
            work.name,
            columns.join(" | "),
            shown(bar, worst)
        );
    }
    println!("Instructions a governed call (callgrind); the aim is {AIM} x floor\n\n{table}");
    if let [making, turn, ten, thousand, alone, among, many] = rest {
        println!(
            "making the `ToolCall` of `create_event`, in each of them: {making:.0}; `next_turn` after one call: {turn:.0}"
        );
        for (what, few, many) in [("tools, 10 and 1,000", ten, thousand), ("sessions, 1 and 10,000", alone, among)] {
            let ratio = many / few;
            missed += u32::from(ratio > AMONG);
            println!("{what}: {few:.0} and {many:.0}, {ratio:.2}x, bar {}", shown(Some(AMONG), ratio));
        }
        println!("noop, 100 tools one after the other in one turn: {many:.0}");
    }
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
