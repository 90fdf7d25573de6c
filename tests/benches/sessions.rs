//! The memory of sessions: bytes of an idle session, and the size of a call's future.

mod counting;
mod works;

use counting::{bytes, sizes};
use std::process::ExitCode;
use tool_core::{RunContext, Session, ToolCall, ToolContext};
use works::{governed, many};

const SESSIONS: usize = 10_000;
/// The bytes of an idle session.
const IDLE_BYTES: i64 = 4096;
/// The bytes of a call's future.
const FUTURE_BYTES: usize = 2048;

fn main() -> ExitCode {
    let tools = many::calendar();
    let missed = [future(&tools), idle(&tools)];
    if missed.contains(&true) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn verdict(missed: bool) -> &'static str {
    if missed { " MISSED" } else { "" }
}

/// The size of a call's future.
fn future(tools: &ToolContext) -> bool {
    let runtime = governed::runtime(tools.clone());
    let session = governed::session(&runtime, 0);
    let ctx = RunContext::detached();
    let call = session.call(ToolCall::new(
        "call_123",
        "create_event",
        works::inputs::EVENT,
    ));
    let bare = tools.call("create_event", works::inputs::EVENT, &ctx);
    let all = session.call_all([ToolCall::new(
        "call_123",
        "create_event",
        works::inputs::EVENT,
    )]);
    let (size, bare, all) = (size_of_val(&call), size_of_val(&bare), size_of_val(&all));
    let missed = size > FUTURE_BYTES;
    println!(
        "A governed call's future: {size} bytes, bar {FUTURE_BYTES}{}; `call_all`'s {all}; a bare call's {bare}",
        verdict(missed)
    );
    missed
}

/// Bytes of an idle session.
fn idle(tools: &ToolContext) -> bool {
    let runtime = governed::runtime(tools.clone());
    let (first, opening) = sizes(|| governed::session(&runtime, SESSIONS));
    drop(first);
    println!(
        "Bytes of each allocation of opening a session, its core and its record among them: {opening:?}"
    );
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
    println!(
        "Bytes a session, {SESSIONS} of them: opened {opened}, in a turn of five calls {in_turn},"
    );
    println!(
        "    after it {idle}, after eleven such turns {later}, bar {IDLE_BYTES}{},",
        verdict(missed)
    );
    println!(
        "    ended {ended}, and once the store has counted those that are open ({known}) {}",
        each()
    );
    println!("    (resident set of the process with all of them: {resident})");
    missed
}

/// Five calls of three tools.
fn turn(session: &Session) {
    for tool in ["create_event", "create_event_async", "noop"] {
        for text in governed::texts(tool).iter().take(2) {
            let response = governed::call(session, tool, text);
            assert!(response.is_ok(), "{:?}", response.error());
        }
    }
}

fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.map_or_else(|| "unknown".to_owned(), |line| line.trim().to_owned())
}
