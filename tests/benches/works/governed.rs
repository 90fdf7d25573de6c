//! Calls in a session in memory, under the preset for text.

use super::{inputs, now};
use tool_core::{Mode, Policy, Runtime, Session, ToolCall, ToolContext, ToolResponse};

pub(crate) fn runtime(tools: ToolContext) -> Runtime {
    match Runtime::builder(tools).policy(Policy::text()).build() {
        Ok(runtime) => runtime,
        Err(errors) => panic!("{errors}"),
    }
}

pub(crate) fn session(runtime: &Runtime, number: usize) -> Session {
    match now(runtime
        .session(format!("session-{number}"), Mode::Text)
        .into_future())
    {
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

/// Returns argument texts of a tool that differ and are of one length. `noop` has a single one.
pub(crate) fn texts(tool: &str) -> Vec<String> {
    if tool == "noop" {
        return vec!["{}".to_owned()];
    }
    (0..128)
        .map(|number| inputs::EVENT.replacen("Team sync", &format!("Team s{number:03}"), 1))
        .collect()
}
