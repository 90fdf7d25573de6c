//! The other process: opens the conversation, and goes on with it by one reply.
//!
//! Environment variables make this binary the other process.

use crate::places::{LEASE, SharedStore, variable, with_store};
use crate::points::reach;
use crate::script::{PROMPTS, Progress, Script};
use crate::setting::{JournalKind, Setting};
use futures_util::StreamExt;
use std::fs::OpenOptions;
use std::io::Write;
use tool_adapters::agent::{AgentEvent, AgentInput, AgentLoop, Decision, OpenAgentError};
use tool_core::session::{HistoryStoreError, Reply};
use tool_core::{ErrorKind, Session};

/// The prefix of the lines that the other process writes. The test harness writes to the same stream.
pub const SAYS: &str = "@ ";
/// The environment variables that describe the conversation.
pub const PLACE: &str = "KILLED_TEST_PLACE";
pub const ID: &str = "KILLED_TEST_ID";
pub const FOLDER: &str = "KILLED_TEST_FOLDER";
pub const JOURNAL: &str = "KILLED_TEST_JOURNAL";
/// The number of turns that the conversation may have.
pub const TURNS: &str = "KILLED_TEST_TURNS";

/// The process is about to open the conversation.
pub const OPENS: &str = "opens";
/// A reply has ended; the next process goes on.
pub const AGAIN: &str = "again";
/// There is nothing left to say.
pub const FINISHED: &str = "finished";

pub fn say(line: &str) {
    println!("\n{SAYS}{line}");
}

/// Returns the conversation of this process, where it is the other one.
pub fn setting_of_this_process() -> Setting {
    Setting {
        place: variable(PLACE),
        id: variable(ID),
        folder: variable(FOLDER).into(),
        journal: JournalKind::named(&variable(JOURNAL)),
    }
}

/// The other process, where it is one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the other tests run it in its own process"]
async fn goes_on_with_the_conversation() {
    let setting = setting_of_this_process();
    let turns = variable(TURNS).parse().expect("a number of turns");
    with_store!(&setting.place, |store| say(
        go_on(store, &setting, turns).await
    ));
}

/// Goes on with the conversation by one reply. Returns what the process says at its end.
async fn go_on(store: impl SharedStore, setting: &Setting, turns: usize) -> &'static str {
    let runtime = setting.runtime(store.clone());
    let shared = setting.clone();
    let session = move || shared.session(&runtime);
    say(OPENS);
    let opened = AgentLoop::open(store, &setting.id, session, Script).await;
    let mut agent = match opened {
        Ok(agent) => agent,
        // A server may still carry out what the killed process has sent.
        Err(OpenAgentError::History(error @ HistoryStoreError::Conflict { .. })) => {
            eprintln!("{error}");
            return AGAIN;
        }
        // The lease of the killed process has not ended.
        Err(OpenAgentError::Running(error)) => {
            eprintln!("{error}");
            tokio::time::sleep(LEASE).await;
            return AGAIN;
        }
        Err(error) => panic!("the conversation does not open: {error}"),
    };
    reach("after the opening");

    let progress = Progress::of(agent.history().messages());
    let Some(input) = next_input(agent.session(), progress, setting, turns).await else {
        return FINISHED;
    };
    eprintln!("after {progress:?}: {input:?}");
    let mut events = agent.stream(input);
    while let Some(event) = events.next().await {
        match event {
            AgentEvent::ApprovalWanted(wanted) => {
                reach("before the person has a token");
                keep_token(setting, &wanted.confirmation.token);
                reach("after the person has a token");
            }
            AgentEvent::CallResult { .. } => reach("after a result"),
            AgentEvent::CallUpdate { .. } => reach("after an update"),
            AgentEvent::Finished { reply } => check_reply(&reply),
            _ => {}
        }
    }
    AGAIN
}

/// Returns what the user or the program does next, if there is anything left to do.
async fn next_input(
    session: &Session,
    progress: Progress,
    setting: &Setting,
    turns: usize,
) -> Option<AgentInput> {
    if progress.prompts == 0 {
        return Some(PROMPTS[0].into());
    }
    if !progress.is_answered {
        return Some(AgentInput::Resume);
    }
    for token in setting.tokens() {
        if session.pending_call(&token).await.is_ok() {
            return Some(Decision::approve(token).by("a person").into());
        }
    }
    let prompt = PROMPTS[..turns].get(progress.prompts)?;
    Some((*prompt).into())
}

/// Gives a token to the person, who still has it after the process has ended.
pub fn keep_token(setting: &Setting, token: &str) {
    let mut options = OpenOptions::new();
    let file = options
        .create(true)
        .append(true)
        .open(setting.tokens_file());
    let mut file = file.expect("the file opens");
    file.write_all(format!("{token}\n").as_bytes())
        .expect("the token is written");
}

fn check_reply(reply: &Reply) {
    let Some(error) = &reply.error else { return };
    // The reply comes second to what a server still carried out for the killed process.
    let is_conflict = error.kind == ErrorKind::Conflict;
    assert!(is_conflict, "the reply failed: {error:?}");
    eprintln!("{error:?}");
}
