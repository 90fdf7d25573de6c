//! How often the model is asked, and when it is not.

use crate::call::error::{ErrorKind, ToolError};
use crate::call::tool_call::ToolCall;
use crate::session::agent_loop::{ReplyStart, reply};
use crate::session::model::{History, Message, ModelStep, ToolChoice};
use crate::session::tests::agent_loop::{Bare, HUSH, ask, bare, called, finished, results, say};
use crate::testing::scripted::ScriptedModel;

fn choices(model: &ScriptedModel) -> Vec<ToolChoice> {
    model.requests().iter().map(|request| request.tool_choice).collect()
}

// L21
#[test]
fn a_reply_without_calls_takes_no_step() {
    let (mut model, mut history) = (ScriptedModel::new().says("hi"), History::new());
    let reply = ask(&bare(), &mut model, &mut history);
    assert_eq!((reply.text.as_deref(), reply.steps, reply.responses.len()), (Some("hi"), 0, 0));
    let said = Message::Assistant { text: Some("hi".into()), calls: Vec::new(), native: None };
    assert_eq!(history.messages(), [Message::User("hello".into()), said]);
    model.assert_done();
}

// L21
#[test]
fn after_three_steps_the_model_is_asked_once_more_without_a_choice() {
    let script = ScriptedModel::new().calls([say("1", "a")]).calls([say("2", "b")]).calls([say("3", "c")]);
    let (mut model, mut history) = (script.says("that is all"), History::new());
    let reply = ask(&bare(), &mut model, &mut history);
    assert_eq!((reply.text.as_deref(), reply.steps), (Some("that is all"), 3));
    assert_eq!(choices(&model), [ToolChoice::Auto, ToolChoice::Auto, ToolChoice::Auto, ToolChoice::None]);
    model.assert_done();
}

// L21
#[test]
fn the_steps_that_a_reply_may_take_are_a_setting() {
    for steps in [0, 1, 5] {
        let session = Bare { steps, ..bare() };
        let script = (0..steps).fold(ScriptedModel::new(), |script, at| script.calls([say(&at.to_string(), "a")]));
        let (mut model, mut history) = (script.says("done"), History::new());
        assert_eq!(ask(&session, &mut model, &mut history).steps, steps);
        assert_eq!(choices(&model).last(), Some(&ToolChoice::None));
        model.assert_done();
    }
}

// L19, L22
#[test]
fn calls_without_a_choice_are_ignored_and_dropped_from_the_history() {
    let session = Bare { steps: 0, ..bare() };
    let stubborn = ModelStep { text: Some("fine".into()), calls: vec![say("1", "a")], ..ModelStep::default() };
    let (mut model, mut history) = (ScriptedModel::new().then(stubborn), History::new());
    let reply = ask(&session, &mut model, &mut history);
    assert_eq!((reply.text.as_deref(), reply.responses.len()), (Some("fine"), 0));
    assert_eq!((called(&history), results(&history)), (vec![], vec![]));
    assert!(session.asked.lock().expect("unpoisoned").is_empty());
}

// L19
#[test]
fn a_model_that_only_calls_without_a_choice_has_said_nothing() {
    let session = Bare { steps: 0, ..bare() };
    let (mut model, mut history) = (ScriptedModel::new().calls([say("1", "a")]), History::new());
    assert_eq!(ask(&session, &mut model, &mut history).text, None);
    assert_eq!(history.messages(), [Message::User("hello".into())]);
}

// L18
#[test]
fn a_stop_ends_the_reply_without_text() {
    let (mut model, mut history) = (ScriptedModel::new().calls([ToolCall::new("1", HUSH, "{}")]), History::new());
    let reply = ask(&bare(), &mut model, &mut history);
    assert_eq!((reply.text.as_deref(), reply.steps, reply.responses.len()), (None, 1, 1));
    assert_eq!(results(&history), [("1", "", false)]);
    model.assert_done();
}

// L18
#[test]
fn a_stop_beside_a_result_that_wants_a_reply_ends_nothing() {
    let script = ScriptedModel::new().calls([ToolCall::new("1", HUSH, "{}"), say("2", "a")]).says("done");
    let (mut model, mut history) = (script, History::new());
    let reply = ask(&bare(), &mut model, &mut history);
    assert_eq!((reply.text.as_deref(), reply.steps), (Some("done"), 1));
    model.assert_done();
}

// L19
#[test]
fn an_unknown_tool_is_answered_with_the_names_and_the_reply_goes_on() {
    let call = ToolCall::new("1", "echo_in_reply_test", "{}");
    let (mut model, mut history) = (ScriptedModel::new().calls([call]).says("sorry"), History::new());
    let reply = ask(&bare(), &mut model, &mut history);
    assert_eq!(reply.responses[0].error().map(|error| error.kind), Some(ErrorKind::NotFound));
    let (_, text, is_error) = results(&history)[0];
    assert!(is_error && text.contains("did you mean `echo_in_reply_tests`?") && text.contains(HUSH), "{text}");
    assert_eq!(reply.text.as_deref(), Some("sorry"));
}

#[test]
fn a_model_that_fails_ends_the_reply_and_loses_no_answer() {
    let script = ScriptedModel::new().calls([say("1", "a")]).fails(ToolError::transient("overloaded"));
    let (mut model, mut history) = (script, History::new());
    let reply = ask(&bare(), &mut model, &mut history);
    assert_eq!(reply.error, Some(ToolError::transient("overloaded")));
    assert_eq!((reply.text, reply.responses.len(), results(&history).len()), (None, 1, 1));
}

#[test]
fn the_first_step_may_be_required_to_call_and_the_next_ones_are_free() {
    let (mut model, mut history) = (ScriptedModel::new().calls([say("1", "a")]).says("done"), History::new());
    _ = finished(reply(&bare(), &mut model, &mut history, String::new(), ReplyStart::Asked(ToolChoice::Required)));
    assert_eq!(choices(&model), [ToolChoice::Required, ToolChoice::Auto]);
    assert_eq!(model.requests()[0].history, []);
}

#[test]
fn every_request_shows_the_instructions_and_all_tools() {
    let (mut model, mut history) = (ScriptedModel::new().calls([say("1", "a")]).says("done"), History::new());
    _ = ask(&Bare { steps: 1, ..bare() }, &mut model, &mut history);
    for request in model.requests() {
        assert_eq!((&*request.instructions, request.tools.len()), ("Be kind.", 4));
    }
}
