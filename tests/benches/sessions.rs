//! The memory of sessions: allocations of a governed call, bytes of an idle session, the size of a call's future.
//!
//! The framework's own allocations are those past what the same method, arguments and result need by hand, with what a
//! tool that lends text saves given back. Those of the `ToolCall` are shown by themselves: it owns its id, its name and
//! its arguments, so that it can wait.

mod counting;
mod works;

use counting::{allocations, bytes, sizes};
use std::hint::black_box;
use std::process::ExitCode;
use tool_core::{RunContext, Session, ToolCall, ToolContext};
use works::governed::{self, IDLE_BYTES, SESSIONS};
use works::{Work, many};

/// The allocations that a governed call may add: in the first call of a tool in a turn, and in a later one.
const OWN: [(&str, i64, i64); 5] = [
    ("create_event", 4, 5),
    ("create_event, async", 5, 6),
    ("create_event, run context", 5, 6),
    ("create_event, run context, async", 6, 7),
    ("noop", 4, 5),
];
/// The bytes of a call's future.
const FUTURE_BYTES: usize = 2048;

fn main() -> ExitCode {
    let tools = many::calendar();
    let missed = [calls(&tools), future(&tools), idle(&tools)];
    if missed.contains(&true) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn verdict(missed: bool) -> &'static str {
    if missed { " MISSED" } else { "" }
}

fn of(work: impl FnOnce()) -> i64 {
    let before = allocations();
    work();
    (allocations() - before).cast_signed()
}

/// Allocations a call. True where a bar is missed.
fn calls(tools: &ToolContext) -> bool {
    let ctx = RunContext::detached();
    let runtime = governed::runtime(tools.clone());
    let session = governed::session(&runtime, 0);
    governed::check(&session);
    println!("Allocations a governed call\n");
    println!("| work | floor | bare | first of a turn | own | bar | later | own | bar |");
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    let mut any = false;
    let all = works::works();
    for (name, first_bar, later_bar) in OWN {
        let Some(work) = all.iter().find(|work| work.name == name) else { continue };
        let texts = governed::texts(work);
        let text = |at: usize| texts.get(at % texts.len()).map_or("", String::as_str);
        let floor = of(|| drop(black_box((work.floor)(work.tool, text(0)))));
        let bare = of(|| drop(black_box(works::call(tools, work.tool, text(0), &ctx))));
        governed::next_turn(&session);
        let [first, later] = [0, 1].map(|at| of(|| drop(black_box(governed::call(&session, work.tool, text(at))))));
        let own = |all: i64| all - floor + work.lent.cast_signed();
        let missed = [own(first) > first_bar, own(later) > later_bar];
        any |= missed.contains(&true);
        println!(
            "| {name} | {floor} | {bare} | {first} | {} | {first_bar}{} | {later} | {} | {later_bar}{} |",
            own(first),
            verdict(missed[0]),
            own(later),
            verdict(missed[1])
        );
    }
    println!();
    for (name, ..) in OWN {
        all.iter().filter(|work| work.name == name).for_each(|work| kinds(tools, &session, work));
    }
    any
}

/// The bytes of each allocation.
fn kinds(tools: &ToolContext, session: &Session, work: &Work) {
    let ctx = RunContext::detached();
    let (response, bare) = sizes(|| works::call(tools, work.tool, &work.arguments, &ctx));
    drop(response);
    let (call, making) = sizes(|| ToolCall::new("call_123", work.tool, &work.arguments));
    governed::next_turn(session);
    let (response, running) = sizes(|| works::now(session.call(call)));
    drop(response);
    println!("{}: bytes of each allocation of the bare call {bare:?}", work.name);
    println!("    of making the `ToolCall` {making:?}, of the governed call, first of a turn, {running:?}");
}

/// The size of a call's future.
fn future(tools: &ToolContext) -> bool {
    let runtime = governed::runtime(tools.clone());
    let session = governed::session(&runtime, 0);
    let ctx = RunContext::detached();
    let call = session.call(ToolCall::new("call_123", "create_event", works::inputs::EVENT));
    let bare = tools.call("create_event", works::inputs::EVENT, &ctx);
    let all = session.call_all([ToolCall::new("call_123", "create_event", works::inputs::EVENT)]);
    let (size, bare, all) = (size_of_val(&call), size_of_val(&bare), size_of_val(&all));
    let missed = size > FUTURE_BYTES;
    println!(
        "\nA governed call's future: {size} bytes, bar {FUTURE_BYTES}{}; `call_all`'s {all}; a bare call's {bare}",
        verdict(missed)
    );
    missed
}

/// Bytes of an idle session.
fn idle(tools: &ToolContext) -> bool {
    let runtime = governed::runtime(tools.clone());
    let (first, opening) = sizes(|| governed::session(&runtime, SESSIONS));
    drop(first);
    println!("Bytes of each allocation of opening a session, its core and its record among them: {opening:?}");
    let before = bytes();
    let each = || (bytes() - before) / SESSIONS.cast_signed() as i64;
    let sessions = governed::sessions(&runtime, SESSIONS);
    let opened = each();
    for session in &sessions {
        turn(session);
    }
    let in_turn = each();
    sessions.iter().for_each(governed::next_turn);
    let idle = each();
    for _ in 0..10 {
        for session in &sessions {
            turn(session);
            governed::next_turn(session);
        }
    }
    let later = each();
    let resident = resident();
    for session in &sessions {
        works::now(session.end());
    }
    drop(sessions);
    let ended = each();
    let known = works::now(runtime.sessions()).unwrap_or_default();
    let missed = idle.max(later) > IDLE_BYTES;
    println!("Bytes a session, {SESSIONS} of them: opened {opened}, in a turn of five calls {in_turn},");
    println!("    after it {idle}, after eleven such turns {later}, bar {IDLE_BYTES}{},", verdict(missed));
    println!("    ended {ended}, and once the store has counted those that are open ({known}) {}", each());
    println!("    (resident set of the process with all of them: {resident})");
    missed
}

/// Five calls of three tools.
fn turn(session: &Session) {
    let works = works::works();
    for name in ["create_event", "create_event, async", "noop"] {
        let Some(work) = works.iter().find(|work| work.name == name) else { continue };
        for text in governed::texts(work).iter().take(2) {
            let response = governed::call(session, work.tool, text);
            assert!(response.is_ok(), "{:?}", response.error());
        }
    }
}

fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.map_or_else(|| "unknown".to_owned(), |line| line.trim().to_owned())
}
