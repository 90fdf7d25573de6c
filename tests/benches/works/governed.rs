//! The same calls in a session, under everything that a runtime does without being asked: modes, loops, budgets, tally,
//! deadline, panic guard; sessions in memory, the figures of text.

use super::{Work, now};
use tool_core::{Mode, Policy, Runtime, Session, ToolCall, ToolContext, ToolResponse};

/// The bar and the aim for a governed call, as multiples of the floor.
pub(crate) const BAR: f64 = 1.8;
pub(crate) const AIM: f64 = 1.38;
/// The bar for calls among 1,000 tools or 10,000 sessions, beside few.
pub(crate) const AMONG: f64 = 1.1;
/// The sessions of which there are many.
pub(crate) const SESSIONS: usize = 10_000;
/// The bytes of an idle session.
pub(crate) const IDLE_BYTES: i64 = 4096;
/// Calls a second on two threads, as a multiple of the floor's.
pub(crate) const THROUGHPUT: f64 = 0.5;
/// The texts that differ of one work.
pub(crate) const TEXTS: usize = 128;

pub(crate) fn runtime(tools: ToolContext) -> Runtime {
    match Runtime::builder(tools).policy(Policy::text()).build() {
        Ok(runtime) => runtime,
        Err(errors) => panic!("{errors}"),
    }
}

pub(crate) fn session(runtime: &Runtime, number: usize) -> Session {
    match now(runtime.session(format!("session-{number}"), Mode::Text).into_future()) {
        Ok(session) => session,
        Err(error) => panic!("{error}"),
    }
}

pub(crate) fn sessions(runtime: &Runtime, count: usize) -> Vec<Session> {
    (0..count).map(|number| session(runtime, number)).collect()
}

/// One governed call, to a response value, made of texts that the caller keeps.
#[inline]
pub(crate) fn call(session: &Session, name: &str, arguments: &str) -> ToolResponse {
    now(session.call(ToolCall::new("call_123", name, arguments)))
}

pub(crate) fn next_turn(session: &Session) {
    now(session.next_turn());
}

/// A work's arguments in texts that differ and are of one length; a single one where there is nothing to vary.
pub(crate) fn texts(work: &Work) -> Vec<String> {
    let vary = |number: usize| {
        let text = work.arguments.replacen("Team sync", &format!("Team s{number:03}"), 1);
        text.replacen("Record number", &format!("Record num{number:03}"), 1)
    };
    let mut texts = (0..TEXTS).map(vary).collect::<Vec<_>>();
    texts.dedup();
    texts
}

/// Panics where a governed call does not do what its floor does.
pub(crate) fn check(session: &Session) {
    for work in super::works() {
        for text in texts(&work).iter().take(2) {
            let response = call(session, work.tool, text);
            assert_eq!(response.data_json(), (work.floor)(work.tool, text).as_deref(), "{}", work.name);
        }
        next_turn(session);
    }
}
