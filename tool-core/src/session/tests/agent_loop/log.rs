//! The log of a conversation: what is stored, and when.

use crate::call::error::ToolError;
use crate::call::tool_call::ToolCall;
use crate::session::agent_loop::ReplyOptions;
use crate::session::history::History;
use crate::session::message::Message;
use crate::session::message_log::MessageLog;
use crate::session::model::{Model, ModelRequest};
use crate::session::model_step::ModelStep;
use crate::session::reply::Reply;
use crate::session::reply_finish::ReplyFinish;
use crate::session::tests::agent_loop::{Bare, WAIT, bare, finished, poll, say};
use crate::testing::scripted::ScriptedModel;
use futures_util::future::BoxFuture;
use std::sync::{Arc, Mutex};

/// What the log and the model have seen, in order.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn add(&self, line: impl Into<String>) {
        self.0.lock().expect("unpoisoned").push(line.into());
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().expect("unpoisoned").clone()
    }
}

/// A log that fails from the store with this number.
struct TestLog {
    seen: Seen,
    messages: Vec<Message>,
    stores_left: usize,
}

impl TestLog {
    fn new(seen: &Seen) -> Self {
        Self {
            seen: seen.clone(),
            messages: Vec::new(),
            stores_left: usize::MAX,
        }
    }
}

impl MessageLog for TestLog {
    fn add(&mut self, message: &Message) {
        self.seen.add(match message {
            Message::User(_) => "user".to_owned(),
            Message::Assistant { calls, .. } => format!("step with {} calls", calls.len()),
            Message::Result { call_id, .. } => format!("result {call_id}"),
        });
        self.messages.push(message.clone());
    }

    fn stored(&mut self) -> BoxFuture<'_, Result<(), ToolError>> {
        self.seen.add("stored");
        let is_left = self.stores_left.checked_sub(1);
        self.stores_left = is_left.unwrap_or_default();
        let stored = is_left.map(|_| ());
        Box::pin(async move { stored.ok_or_else(|| ToolError::conflict("another process wrote")) })
    }
}

/// A scripted model that tells when it is asked.
struct Watched {
    seen: Seen,
    script: ScriptedModel,
}

impl Model for Watched {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        self.seen.add("asked");
        self.script.step(request).await
    }
}

fn reply(bare: &Bare, log: &mut TestLog, script: ScriptedModel, history: &mut History) -> Reply {
    let mut model = Watched {
        seen: log.seen.clone(),
        script,
    };
    let options = ReplyOptions::new("hello").log(log);
    finished(
        bare.session
            .reply_with_options(&mut model, history, options),
    )
}

// M13
#[test]
fn each_message_is_stored_before_what_follows_from_it() {
    let seen = Seen::default();
    let mut log = TestLog::new(&seen);
    let mut history = History::new();
    let script = ScriptedModel::new()
        .calls([say("c1", "a"), say("c2", "b")])
        .says("Done.");
    let _ = reply(&bare(), &mut log, script, &mut history);
    let wanted = [
        "user",
        "stored",
        "asked",
        "step with 2 calls",
        "stored",
        "result c1",
        "result c2",
        "stored",
        "asked",
        "step with 0 calls",
        "stored",
    ];
    assert_eq!(seen.lines(), wanted);
    assert_eq!(log.messages, history.messages());
}

#[test]
fn without_a_stored_message_the_model_is_not_asked() {
    let seen = Seen::default();
    let mut log = TestLog::new(&seen);
    log.stores_left = 0;
    let script = ScriptedModel::new().says("never");
    let reply = reply(&bare(), &mut log, script, &mut History::new());
    assert_eq!(reply.finish, ReplyFinish::Failed);
    let error = reply.error.expect("the error of the log");
    assert_eq!(error.message, "another process wrote");
    assert!(!seen.lines().contains(&"asked".to_owned()));
}

// M13
#[test]
fn without_a_stored_step_its_calls_do_not_run() {
    let mut log = TestLog::new(&Seen::default());
    log.stores_left = 1;
    let bare = bare();
    let mut history = History::new();
    let script = ScriptedModel::new().calls([say("c1", "a")]);
    let reply = reply(&bare, &mut log, script, &mut history);
    assert_eq!(reply.finish, ReplyFinish::Failed);
    assert!(bare.asked.0.lock().expect("unpoisoned").is_empty());
    let Some(Message::Result { result, .. }) = history.messages().last() else {
        panic!("the call has no result: {history:?}");
    };
    assert!(result.is_error && result.text.contains("was not run"));
}

#[test]
fn an_answer_that_is_not_stored_fails_the_reply() {
    let mut log = TestLog::new(&Seen::default());
    log.stores_left = 1;
    let script = ScriptedModel::new().says("Hello");
    let reply = reply(&bare(), &mut log, script, &mut History::new());
    assert_eq!(reply.finish, ReplyFinish::Failed);
    assert_eq!(reply.text.as_deref(), Some("Hello"));
}

#[tokio::test]
async fn a_dropped_reply_adds_the_results_that_are_missing() {
    let bare = bare();
    let mut log = TestLog::new(&Seen::default());
    let mut history = History::new();
    let hanging = ToolCall::new("c2", WAIT, "{}");
    let mut model = ScriptedModel::new().calls([say("c1", "a"), hanging]);
    let options = ReplyOptions::new("hello").log(&mut log);
    let mut work = Box::pin(
        bare.session
            .reply_with_options(&mut model, &mut history, options),
    );
    assert!(poll(work.as_mut()).is_pending());
    drop(work);
    assert_eq!(log.messages, history.messages());
}
