//! Replies that are interrupted or dropped.

use crate::call::error::{ErrorKind, ToolError};
use crate::call::response::{ResultForm, ToolResponse};
use crate::call::tool_call::ToolCall;
use crate::session::history::History;
use crate::session::message::Message;
use crate::session::model::{Model, ModelRequest};
use crate::session::model_step::ModelStep;
use crate::session::tests::agent_loop::{
    BREAK_IN, Bare, PEEK, WAIT, ask, bare, finished, poll, results, say,
};
use crate::testing::scripted::ScriptedModel;

/// Starts a reply and drops it while it is pending.
fn drop_midway(calls: impl IntoIterator<Item = ToolCall>, history: &mut History) {
    let session = bare();
    let mut model = ScriptedModel::new().calls(calls);
    let mut work = Box::pin(session.session.reply(&mut model, history, "hello"));
    assert!(poll(work.as_mut()).is_pending());
}

// L22
#[tokio::test]
async fn dropped_reply_keeps_results_and_cancels_the_rest() {
    let mut history = History::new();
    drop_midway(
        [
            ToolCall::new("1", WAIT, "{}"),
            say("2", "a"),
            ToolCall::new("3", WAIT, "{}"),
        ],
        &mut history,
    );
    let found = results(&history);
    assert_eq!(
        found.iter().map(|result| result.0).collect::<Vec<_>>(),
        ["1", "2", "3"]
    );
    assert_eq!(found[1], ("2", "a", false));
    for (_, text, is_error) in [found[0], found[2]] {
        assert!(
            is_error && text.contains("was cancelled") && text.contains("may have taken effect"),
            "{text}"
        );
    }
}

// R-E3
#[tokio::test]
async fn cancelled_retrieval_has_no_side_effects() {
    let mut history = History::new().result_form(ResultForm::Envelope);
    drop_midway(
        [
            ToolCall::new("1", PEEK, "{}"),
            ToolCall::new("2", WAIT, "{}"),
        ],
        &mut history,
    );
    let effects = results(&history).into_iter().map(|(id, text, _)| {
        let envelope = serde_json::from_str::<ToolResponse>(text).expect("an envelope");
        assert_eq!(envelope.meta().call_id(), Some(id));
        let error = envelope.error().expect("an error").clone();
        (error.kind, error.partial_side_effects)
    });
    assert_eq!(
        effects.collect::<Vec<_>>(),
        [(ErrorKind::Cancelled, false), (ErrorKind::Cancelled, true)]
    );
}

// L22
#[tokio::test]
async fn reply_after_an_interruption_sees_a_complete_history() {
    let mut history = History::new();
    drop_midway([ToolCall::new("1", WAIT, "{}")], &mut history);
    let mut model = ScriptedModel::new().says("where were we?");
    _ = ask(&bare(), &mut model, &mut history);
    let read = &model.requests()[0].history;
    assert!(
        matches!(
            &read[1..],
            [
                Message::Assistant { .. },
                Message::Result { .. },
                Message::User(_)
            ]
        ),
        "{read:?}"
    );
}

// L22
#[test]
fn interruption_ends_the_reply_after_its_step() {
    let mut model = ScriptedModel::new().calls([ToolCall::new("1", BREAK_IN, "{}"), say("2", "a")]);
    let mut history = History::new();
    let reply = ask(&bare(), &mut model, &mut history);
    assert!(
        reply.interrupted && reply.text.is_none() && reply.responses.len() == 2,
        "{reply:?}"
    );
    assert_eq!(
        results(&history)
            .iter()
            .map(|result| result.0)
            .collect::<Vec<_>>(),
        ["1", "2"]
    );
    model.assert_done();
}

/// A model that is interrupted while it answers, and then answers or fails.
struct Slow<'a>(&'a Bare, bool);

impl Model for Slow<'_> {
    async fn step(&mut self, _: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        self.0.session.interrupt();
        if self.1 {
            Ok(ModelStep::calls([say("1", "a")]))
        } else {
            Err(ToolError::transient("gone"))
        }
    }
}

// L22
#[test]
fn answer_to_an_interrupted_turn_is_dropped() {
    for answers in [true, false] {
        let session = bare();
        let mut history = History::new();
        let mut model = Slow(&session, answers);
        let reply = finished(session.session.reply(&mut model, &mut history, "hello"));
        assert!(reply.interrupted && reply.responses.is_empty() && reply.error.is_none());
        assert_eq!(history.messages(), [Message::user("hello")]);
    }
}

/// A model that never answers.
struct Silent;

impl Model for Silent {
    async fn step(&mut self, _: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        std::future::pending().await
    }
}

// L22
#[test]
fn reply_dropped_before_the_answer_keeps_the_question() {
    let session = bare();
    let mut model = Silent;
    let mut history = History::new();
    let mut work = Box::pin(session.session.reply(&mut model, &mut history, "hello"));
    assert!(poll(work.as_mut()).is_pending());
    drop(work);
    assert_eq!(history.messages(), [Message::user("hello")]);
}
