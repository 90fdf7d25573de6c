//! Typed answers.

use crate::call::ErrorKind;
use crate::call::error::ToolError;
use crate::call::tool_call::ToolCall;
use crate::session::model::{History, Message, ModelStep, ToolChoice};
use crate::session::tests::agent_loop::{HUSH, bare, bare_with, called, finished, results, say};
use crate::session::typed_answer::{TypedAnswer, TypedReply, TypedReplyError};
use crate::testing::scripted::ScriptedModel;
use tool_macros::tool_type;

/// A booking.
#[tool_type]
#[derive(Clone, Debug, PartialEq)]
struct Booking {
    guest: String,
    seats: u8,
}

fn answer(arguments: &str) -> ToolCall {
    ToolCall::new("", "final_answer", arguments)
}

fn ada(seats: u32) -> ToolCall {
    answer(&format!(r#"{{"answer":{{"guest":"Ada","seats":{seats}}}}}"#))
}

fn ask(model: &mut ScriptedModel, history: &mut History) -> Result<TypedReply<Booking>, TypedReplyError> {
    finished(bare().session.reply_typed(model, history, "hello", &TypedAnswer::new()))
}

#[test]
fn a_right_answer_is_decoded_and_a_text_in_the_history() {
    let (mut model, mut history) = (ScriptedModel::new().calls([ada(4)]), History::new());
    let reply = ask(&mut model, &mut history).expect("answers");
    assert_eq!(reply.output, Booking { guest: "Ada".into(), seats: 4 });
    let text = Some(r#"{"guest":"Ada","seats":4}"#.to_owned());
    let said = Message::Assistant { text, calls: Vec::new(), native: None };
    assert_eq!(history.messages(), [Message::User("hello".into()), said]);
    let request = &model.requests()[0];
    assert!(request.instructions.ends_with("by calling `final_answer`, not as a text.\n"), "{}", request.instructions);
    assert_eq!(request.tools.last().map(String::as_str), Some("final_answer"));
}

#[test]
fn a_wrong_answer_goes_back_with_every_problem() {
    let wrong = answer(r#"{"answer":{"guest":7,"seats":300}}"#);
    let (mut model, mut history) = (ScriptedModel::new().calls([wrong]).calls([ada(4)]), History::new());
    assert_eq!(ask(&mut model, &mut history).expect("answers").output.seats, 4);
    let (_, problems, is_error) = results(&history)[0];
    assert!(is_error && ["guest", "seats"].iter().all(|member| problems.contains(member)), "{problems}");
    assert_eq!(called(&history).len(), 1);
    assert_eq!(model.requests()[1].history.len(), 3, "the call and its result");
}

#[test]
fn an_answer_is_wrong_at_most_retries_plus_one_times() {
    for retries in 0..4_u32 {
        let script = (0..=retries).fold(ScriptedModel::new(), |script, at| script.calls([ada(300 + at)]));
        let (mut model, mut history) = (script, History::new());
        let form = TypedAnswer::<Booking>::new().retries(retries);
        let error = finished(bare().session.reply_typed(&mut model, &mut history, "hello", &form)).expect_err("fails");
        assert_eq!(error.text, Some(format!(r#"{{"guest":"Ada","seats":{}}}"#, 300 + retries)));
        assert!(error.problems.len() == 1 && error.problems[0].contains("seats"), "{error}");
        assert_eq!((called(&history).len(), results(&history).len()), (retries as usize + 1, retries as usize + 1));
        model.assert_done();
    }
}

#[test]
fn problems_of_all_checks_go_to_the_model() {
    let form = TypedAnswer::<Booking>::new()
        .validate(|booking| if booking.seats > 8 { Err("too many seats".to_owned()) } else { Ok(()) })
        .validate(|booking| if booking.guest == "Ada" { Err("Ada is abroad".to_owned()) } else { Ok(()) })
        .retries(0);
    let (mut model, mut history) = (ScriptedModel::new().calls([ada(9)]), History::new());
    let error = finished(bare().session.reply_typed(&mut model, &mut history, "hello", &form)).expect_err("fails");
    assert_eq!(error.problems, ["too many seats", "Ada is abroad"]);
    assert_eq!(results(&history)[0].1, "too many seats\nAda is abroad");
}

#[test]
fn a_check_that_panics_is_a_wrong_answer() {
    let form = TypedAnswer::<Booking>::new().validate(|_| panic!("canary")).retries(0);
    let (mut model, mut history) = (ScriptedModel::new().calls([ada(4)]), History::new());
    let error = finished(bare().session.reply_typed(&mut model, &mut history, "hello", &form)).expect_err("fails");
    assert!(!format!("{error:?}{history:?}").contains("canary"), "{error}");
}

#[test]
fn calls_beside_an_answer_are_made_first() {
    let (mut model, mut history) =
        (ScriptedModel::new().calls([say("1", "a"), ada(1)]).calls([ada(4)]), History::new());
    let reply = ask(&mut model, &mut history).expect("answers");
    assert_eq!((reply.output.seats, reply.reply.responses.len()), (4, 1));
    assert_eq!(results(&history), [("1", "a", false)]);
}

#[test]
fn after_the_last_step_only_an_answer_is_taken() {
    let script = ScriptedModel::new().calls([say("1", "a")]).calls([say("2", "b")]).calls([say("3", "c"), ada(4)]);
    let (mut model, mut history) = (script, History::new());
    let form = TypedAnswer::<Booking>::new();
    let session = bare_with(1);
    let reply = finished(session.session.reply_typed(&mut model, &mut history, "hello", &form)).expect("answers");
    assert_eq!((reply.output.seats, reply.reply.steps), (4, 1));
    assert_eq!(results(&history), [("1", "a", false)]);
    let choices = model.requests().iter().map(|request| request.tool_choice).collect::<Vec<_>>();
    assert_eq!(choices, [ToolChoice::Auto, ToolChoice::Required, ToolChoice::Required]);
}

#[test]
fn a_text_is_an_answer_if_it_is_its_json() {
    let script = ScriptedModel::new().says(r#" {"guest":"Ada","seats":4} "#);
    let (mut model, mut history) = (script, History::new());
    assert_eq!(ask(&mut model, &mut history).expect("answers").output.seats, 4);
    assert_eq!(history.messages().len(), 2);
}

#[test]
fn another_text_is_answered_with_a_note_and_a_required_call() {
    let (mut model, mut history) = (ScriptedModel::new().says("4 seats").says("").calls([ada(4)]), History::new());
    assert_eq!(ask(&mut model, &mut history).expect("answers").output.seats, 4);
    let choices = model.requests().iter().map(|request| request.tool_choice).collect::<Vec<_>>();
    assert_eq!(choices, [ToolChoice::Auto, ToolChoice::Required, ToolChoice::Required]);
    let note = "[Note by the application, not said by the user] The answer was not taken: expected a call of `final_answer`, got a text. Give it by calling `final_answer`.";
    assert_eq!(model.requests()[1].history.last(), Some(&Message::User(note.to_owned())));
}

#[test]
fn a_reply_that_ends_otherwise_is_an_error() {
    let script = ScriptedModel::new().calls([ToolCall::new("1", HUSH, "{}")]);
    let error = ask(&mut { script }, &mut History::new()).expect_err("was stopped");
    assert_eq!(error.to_string(), "the model gave no answer: a tool ended the reply");
    let script = ScriptedModel::new().calls([ada(300)]).fails(ToolError::transient("overloaded"));
    let error = ask(&mut { script }, &mut History::new()).expect_err("failed");
    assert_eq!(error.reply.error.as_ref().map(ToolError::kind), Some(ErrorKind::Transient));
    assert_eq!(error.problems.len(), 1, "the problems of the last answer stay");
}

#[test]
fn values_that_are_no_objects_are_answers_too() {
    let script = ScriptedModel::new().then(ModelStep::calls([answer(r#"{"answer":["a","b"]}"#)]));
    let (mut model, mut history) = (script, History::new());
    let reply =
        finished(bare().session.reply_typed(&mut model, &mut history, "hello", &TypedAnswer::<Vec<String>>::new()));
    assert_eq!(reply.expect("answers").output, ["a", "b"]);
}
