//! The number of steps in which the model is asked.

use crate::call::error::{ErrorKind, ToolError};
use crate::call::tool_call::ToolCall;
use crate::session::history::History;
use crate::session::message::Message;
use crate::session::model::ToolChoice;
use crate::session::model_step::ModelStep;
use crate::session::tests::agent_loop::{
    HUSH, ask, bare, bare_with, called, finished, results, say,
};
use crate::testing::scripted::ScriptedModel;

fn choices(model: &ScriptedModel) -> Vec<ToolChoice> {
    model
        .requests()
        .iter()
        .map(|request| request.tool_choice)
        .collect()
}

// L21
#[test]
fn reply_without_calls_takes_no_step() {
    let mut model = ScriptedModel::new().says("hi");
    let mut history = History::new();
    let reply = ask(&bare(), &mut model, &mut history);
    assert_eq!(
        (reply.text.as_deref(), reply.steps, reply.responses.len()),
        (Some("hi"), 0, 0)
    );
    let said = Message::Assistant {
        text: Some("hi".into()),
        calls: Vec::new(),
        native: None,
    };
    assert_eq!(history.messages(), [Message::user("hello"), said]);
    model.assert_done();
}

// L21
#[test]
fn forbids_calls_after_three_steps() {
    let script = ScriptedModel::new()
        .calls([say("1", "a")])
        .calls([say("2", "b")])
        .calls([say("3", "c")]);
    let mut model = script.says("that is all");
    let mut history = History::new();
    let reply = ask(&bare(), &mut model, &mut history);
    assert_eq!(
        (reply.text.as_deref(), reply.steps),
        (Some("that is all"), 3)
    );
    assert_eq!(
        choices(&model),
        [
            ToolChoice::Auto,
            ToolChoice::Auto,
            ToolChoice::Auto,
            ToolChoice::None
        ]
    );
    model.assert_done();
}

// L21
#[test]
fn number_of_steps_is_configurable() {
    for steps in [0, 1, 5] {
        let session = bare_with(steps);
        let script = (0..steps).fold(ScriptedModel::new(), |script, at| {
            script.calls([say(&at.to_string(), "a")])
        });
        let mut model = script.says("done");
        let mut history = History::new();
        assert_eq!(ask(&session, &mut model, &mut history).steps, steps);
        assert_eq!(choices(&model).last(), Some(&ToolChoice::None));
        model.assert_done();
    }
}

// L19, L22
#[test]
fn forbidden_calls_are_ignored_and_not_in_the_history() {
    let session = bare_with(0);
    let stubborn = ModelStep {
        text: Some("fine".into()),
        calls: vec![say("1", "a")],
        ..ModelStep::default()
    };
    let mut model = ScriptedModel::new().then(stubborn);
    let mut history = History::new();
    let reply = ask(&session, &mut model, &mut history);
    assert_eq!(
        (reply.text.as_deref(), reply.responses.len()),
        (Some("fine"), 0)
    );
    assert_eq!((called(&history), results(&history)), (vec![], vec![]));
    assert!(session.asked.0.lock().expect("unpoisoned").is_empty());
}

// L19
#[test]
fn reply_of_forbidden_calls_only_has_no_text() {
    let session = bare_with(0);
    let mut model = ScriptedModel::new().calls([say("1", "a")]);
    let mut history = History::new();
    assert_eq!(ask(&session, &mut model, &mut history).text, None);
    assert_eq!(history.messages(), [Message::user("hello")]);
}

// L18
#[test]
fn stop_output_ends_the_reply_without_text() {
    let mut model = ScriptedModel::new().calls([ToolCall::new("1", HUSH, "{}")]);
    let mut history = History::new();
    let reply = ask(&bare(), &mut model, &mut history);
    assert_eq!(
        (reply.text.as_deref(), reply.steps, reply.responses.len()),
        (None, 1, 1)
    );
    assert_eq!(results(&history), [("1", "", false)]);
    model.assert_done();
}

// L18
#[test]
fn stop_output_beside_another_result_does_not_end_the_reply() {
    let script = ScriptedModel::new()
        .calls([ToolCall::new("1", HUSH, "{}"), say("2", "a")])
        .says("done");
    let mut model = script;
    let mut history = History::new();
    let reply = ask(&bare(), &mut model, &mut history);
    assert_eq!((reply.text.as_deref(), reply.steps), (Some("done"), 1));
    model.assert_done();
}

// L19
#[test]
fn unknown_tool_is_answered_with_the_names() {
    let call = ToolCall::new("1", "echo_in_reply_test", "{}");
    let mut model = ScriptedModel::new().calls([call]).says("sorry");
    let mut history = History::new();
    let reply = ask(&bare(), &mut model, &mut history);
    assert_eq!(
        reply.responses[0].error().map(|error| error.kind),
        Some(ErrorKind::NotFound)
    );
    let (_, text, is_error) = results(&history)[0];
    assert!(
        is_error && text.contains("did you mean `echo_in_reply_tests`?") && text.contains(HUSH),
        "{text}"
    );
    assert_eq!(reply.text.as_deref(), Some("sorry"));
}

#[test]
fn model_error_ends_the_reply_and_keeps_responses() {
    let script = ScriptedModel::new()
        .calls([say("1", "a")])
        .fails(ToolError::transient("overloaded"));
    let mut model = script;
    let mut history = History::new();
    let reply = ask(&bare(), &mut model, &mut history);
    assert_eq!(reply.error, Some(ToolError::transient("overloaded").into()));
    assert_eq!(
        (reply.text, reply.responses.len(), results(&history).len()),
        (None, 1, 1)
    );
}

#[test]
fn tool_choice_applies_to_the_first_step_only() {
    let mut model = ScriptedModel::new().calls([say("1", "a")]).says("done");
    let mut history = History::new();
    _ = finished(
        bare()
            .session
            .reply_with(&mut model, &mut history, "", ToolChoice::Required),
    );
    assert_eq!(choices(&model), [ToolChoice::Required, ToolChoice::Auto]);
    assert_eq!(model.requests()[0].history, []);
}

#[test]
fn every_request_has_the_instructions_and_all_tools() {
    let mut model = ScriptedModel::new().calls([say("1", "a")]).says("done");
    let mut history = History::new();
    let bare = bare_with(1);
    _ = ask(&bare, &mut model, &mut history);
    let instructions = bare.session.instructions();
    assert!(instructions.contains("Ask politely."), "{instructions}");
    for request in model.requests() {
        assert_eq!(
            (&request.instructions, request.tools.len()),
            (&instructions, 5)
        );
    }
}
