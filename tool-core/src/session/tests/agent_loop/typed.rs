//! Typed answers.

use crate::call::ErrorKind;
use crate::call::error::ToolError;
use crate::call::tool_call::ToolCall;
use crate::session::history::History;
use crate::session::message::Message;
use crate::session::model::{Model, ModelRequest, ToolChoice};
use crate::session::model_step::ModelStep;
use crate::session::raw_turn::RawTurn;
use crate::session::reply_finish::ReplyFinish;
use crate::session::tests::agent_loop::{HUSH, bare, bare_with, called, finished, results, say};
use crate::session::typed_answer::{TypedAnswer, TypedReply, TypedReplyError};
use crate::testing::scripted::ScriptedModel;
use crate::tool::ToolDefinition;
use crate::tool::provider::ProviderId;
use serde_json::json;
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
    answer(&format!(
        r#"{{"answer":{{"guest":"Ada","seats":{seats}}}}}"#
    ))
}

fn ask(
    model: &mut ScriptedModel,
    history: &mut History,
) -> Result<TypedReply<Booking>, TypedReplyError> {
    finished(
        bare()
            .session
            .reply_typed(model, history, "hello", &TypedAnswer::new()),
    )
}

#[test]
fn a_right_answer_is_decoded_and_a_text_in_the_history() {
    let mut model = ScriptedModel::new().calls([ada(4)]);
    let mut history = History::new();
    let reply = ask(&mut model, &mut history).expect("answers");
    assert_eq!(
        reply.output,
        Booking {
            guest: "Ada".into(),
            seats: 4
        }
    );
    let text = Some(r#"{"guest":"Ada","seats":4}"#.to_owned());
    let said = Message::Assistant {
        text,
        calls: Vec::new(),
        native: None,
    };
    assert_eq!(history.messages(), [Message::user("hello"), said]);
    let request = &model.requests()[0];
    assert!(
        request.instructions.contains("by calling `final_answer`"),
        "{}",
        request.instructions
    );
    assert_eq!(
        request.tools.last().map(String::as_str),
        Some("final_answer")
    );
}

#[test]
fn a_wrong_answer_goes_back_with_every_problem() {
    let wrong = answer(r#"{"answer":{"guest":7,"seats":300}}"#);
    let mut model = ScriptedModel::new().calls([wrong]).calls([ada(4)]);
    let mut history = History::new();
    assert_eq!(
        ask(&mut model, &mut history).expect("answers").output.seats,
        4
    );
    let (_, problems, is_error) = results(&history)[0];
    assert!(
        is_error
            && ["guest", "seats"]
                .iter()
                .all(|member| problems.contains(member)),
        "{problems}"
    );
    assert_eq!(called(&history).len(), 1);
    assert_eq!(
        model.requests()[1].history.len(),
        3,
        "the call and its result"
    );
}

#[test]
fn an_answer_is_wrong_at_most_retries_plus_one_times() {
    for retries in 0..4_u32 {
        let script = (0..=retries).fold(ScriptedModel::new(), |script, at| {
            script.calls([ada(300 + at)])
        });
        let mut model = script;
        let mut history = History::new();
        let form = TypedAnswer::<Booking>::new().retries(retries);
        let error = finished(
            bare()
                .session
                .reply_typed(&mut model, &mut history, "hello", &form),
        )
        .expect_err("fails");
        assert_eq!(
            error.text,
            Some(format!(r#"{{"guest":"Ada","seats":{}}}"#, 300 + retries))
        );
        assert!(
            error.problems.len() == 1 && error.problems[0].contains("seats"),
            "{error}"
        );
        assert_eq!(
            (called(&history).len(), results(&history).len()),
            (retries as usize + 1, retries as usize + 1)
        );
        model.assert_done();
    }
}

#[test]
fn problems_of_all_checks_go_to_the_model() {
    let form = TypedAnswer::<Booking>::new()
        .validate(|booking| {
            if booking.seats > 8 {
                Err("too many seats".to_owned())
            } else {
                Ok(())
            }
        })
        .validate(|booking| {
            if booking.guest == "Ada" {
                Err("Ada is abroad".to_owned())
            } else {
                Ok(())
            }
        })
        .retries(0);
    let mut model = ScriptedModel::new().calls([ada(9)]);
    let mut history = History::new();
    let error = finished(
        bare()
            .session
            .reply_typed(&mut model, &mut history, "hello", &form),
    )
    .expect_err("fails");
    assert_eq!(error.problems, ["too many seats", "Ada is abroad"]);
    assert_eq!(results(&history)[0].1, "too many seats\nAda is abroad");
}

#[test]
fn a_check_that_panics_is_a_wrong_answer() {
    let form = TypedAnswer::<Booking>::new()
        .validate(|_| panic!("canary"))
        .retries(0);
    let mut model = ScriptedModel::new().calls([ada(4)]);
    let mut history = History::new();
    let error = finished(
        bare()
            .session
            .reply_typed(&mut model, &mut history, "hello", &form),
    )
    .expect_err("fails");
    assert!(
        !format!("{error:?}{history:?}").contains("canary"),
        "{error}"
    );
}

#[test]
fn calls_beside_an_answer_are_made_first() {
    let mut model = ScriptedModel::new()
        .calls([say("1", "a"), ada(1)])
        .calls([ada(4)]);
    let mut history = History::new();
    let reply = ask(&mut model, &mut history).expect("answers");
    assert_eq!((reply.output.seats, reply.reply.responses.len()), (4, 1));
    let [(_, text, false), (_, early, true)] = results(&history)[..] else {
        panic!("expected two results")
    };
    assert!(
        text == "a" && early.contains("give the answer again"),
        "{early}"
    );
}

#[test]
fn after_the_last_step_only_an_answer_is_taken() {
    let script = ScriptedModel::new()
        .calls([say("1", "a")])
        .calls([say("2", "b")])
        .calls([say("3", "c"), ada(4)]);
    let mut model = script;
    let mut history = History::new();
    let form = TypedAnswer::<Booking>::new();
    let session = bare_with(1);
    let reply = finished(
        session
            .session
            .reply_typed(&mut model, &mut history, "hello", &form),
    )
    .expect("answers");
    assert_eq!((reply.output.seats, reply.reply.steps), (4, 1));
    assert_eq!(results(&history), [("1", "a", false)]);
    let choices = model
        .requests()
        .iter()
        .map(|request| request.tool_choice)
        .collect::<Vec<_>>();
    assert_eq!(
        choices,
        [ToolChoice::Auto, ToolChoice::Answer, ToolChoice::Answer]
    );
}

#[test]
fn a_text_is_an_answer_if_it_is_its_json() {
    let script = ScriptedModel::new().says(r#" {"guest":"Ada","seats":4} "#);
    let mut model = script;
    let mut history = History::new();
    assert_eq!(
        ask(&mut model, &mut history).expect("answers").output.seats,
        4
    );
    assert_eq!(history.messages().len(), 2);
}

#[test]
fn another_text_is_answered_with_a_note() {
    let mut model = ScriptedModel::new()
        .says("4 seats")
        .says("")
        .calls([ada(4)]);
    let mut history = History::new();
    assert_eq!(
        ask(&mut model, &mut history).expect("answers").output.seats,
        4
    );
    let choices = model
        .requests()
        .iter()
        .map(|request| request.tool_choice)
        .collect::<Vec<_>>();
    assert_eq!(
        choices,
        [ToolChoice::Auto, ToolChoice::Answer, ToolChoice::Answer]
    );
    let Some(Message::User(note)) = model.requests()[1].history.last() else {
        panic!("expected a note")
    };
    let note = note.text();
    let begin = "[Note by the application, not said by the user] The answer was not taken: expected the JSON of the answer";
    assert!(
        note.starts_with(begin) && note.contains("calling `final_answer`"),
        "{note}"
    );
}

#[test]
fn a_reply_that_ends_otherwise_is_an_error() {
    let script = ScriptedModel::new().calls([ToolCall::new("1", HUSH, "{}")]);
    let error = ask(&mut { script }, &mut History::new()).expect_err("was stopped");
    assert_eq!(
        error.to_string(),
        "the model gave no answer: a tool ended the reply"
    );
    let script = ScriptedModel::new()
        .calls([ada(300)])
        .fails(ToolError::transient("overloaded"));
    let error = ask(&mut { script }, &mut History::new()).expect_err("failed");
    assert_eq!(
        error.reply.error.as_ref().map(|error| error.kind),
        Some(ErrorKind::Transient)
    );
    assert_eq!(
        error.problems.len(),
        1,
        "the problems of the last answer stay"
    );
}

#[test]
fn values_that_are_no_objects_are_answers_too() {
    let script = ScriptedModel::new().then(ModelStep::calls([answer(r#"{"answer":["a","b"]}"#)]));
    let mut model = script;
    let mut history = History::new();
    let reply = finished(bare().session.reply_typed(
        &mut model,
        &mut history,
        "hello",
        &TypedAnswer::<Vec<String>>::new(),
    ));
    assert_eq!(reply.expect("answers").output, ["a", "b"]);
}

fn native(items: usize) -> RawTurn {
    RawTurn {
        provider: ProviderId::from_static("somebody"),
        items: vec![json!({"signed": "yes"}); items],
    }
}

fn natives(history: &History) -> Vec<bool> {
    let all = history
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Assistant { native, .. } => Some(native.is_some()),
            _ => None,
        });
    all.collect()
}

// M4
#[test]
fn a_step_of_calls_and_an_answer_keeps_its_raw_turn() {
    let early = ModelStep {
        native: Some(native(3)),
        ..ModelStep::calls([say("1", "a"), ada(1)])
    };
    let mut history = History::new();
    let mut model = ScriptedModel::new().then(early).calls([ada(4)]);
    assert_eq!(
        ask(&mut model, &mut history).expect("answers").output.seats,
        4
    );
    assert_eq!(
        natives(&history),
        [true, false],
        "the answer itself is a text"
    );
    assert_eq!((called(&history).len(), results(&history).len()), (2, 2));
}

// M4
#[test]
fn a_wrong_answer_keeps_its_raw_turn() {
    for wrong in [
        ModelStep::calls([ada(300)]),
        ModelStep::calls([ada(300), ada(301)]),
        ModelStep::says("4 seats"),
        ModelStep::says(r#"{"guest":"Ada","seats":300}"#),
    ] {
        let calls = wrong.calls.len();
        let mut history = History::new();
        let mut model = ScriptedModel::new()
            .then(ModelStep {
                native: Some(native(1 + calls)),
                ..wrong
            })
            .calls([ada(4)]);
        assert_eq!(
            ask(&mut model, &mut history).expect("answers").output.seats,
            4
        );
        assert_eq!(natives(&history), [true, false]);
        assert_eq!(
            (called(&history).len(), results(&history).len()),
            (calls, calls)
        );
    }
}

// M4, L22
#[test]
fn calls_beside_a_wrong_answer_at_the_limit_are_refused() {
    let both = ModelStep {
        native: Some(native(3)),
        ..ModelStep::calls([say("2", "b"), ada(300)])
    };
    let mut history = History::new();
    let mut model = ScriptedModel::new()
        .calls([say("1", "a")])
        .then(both)
        .calls([ada(4)]);
    let session = bare_with(1);
    let reply = finished(session.session.reply_typed(
        &mut model,
        &mut history,
        "hello",
        &TypedAnswer::<Booking>::new(),
    ));
    assert_eq!(reply.expect("answers").reply.finish, ReplyFinish::StepLimit);
    assert_eq!(natives(&history), [false, true, false]);
    assert!(
        results(&history)[1]
            .1
            .contains("steps of calls of this reply are used up"),
        "{:?}",
        results(&history)
    );
    assert_eq!(*session.asked.0.lock().expect("unpoisoned"), ["1"]);
}

#[test]
fn the_json_of_an_answer_is_found_in_a_text() {
    for text in [
        r#"{"answer":{"guest":"Ada","seats":4}}"#,
        "```json\n{\"guest\":\"Ada\",\"seats\":4}\n```",
        "Here it is:\n```\n{\"answer\":{\"guest\":\"Ada\",\"seats\":4}}\n```\nAnything else?",
        r#"I have [one] booking {for} Ada: {"guest":"Ada","seats":4}"#,
    ] {
        let mut model = ScriptedModel::new().says(text);
        assert_eq!(
            ask(&mut model, &mut History::new())
                .expect(text)
                .output
                .seats,
            4
        );
    }
}

/// A reply of a form.
#[tool_type]
#[derive(Clone, Debug, PartialEq)]
struct Wrapped {
    answer: u8,
}

#[test]
fn a_member_named_answer_is_no_wrapper_by_itself() {
    for text in [r#"{"answer":5}"#, r#"{"answer":{"answer":5}}"#] {
        let mut model = ScriptedModel::new().says(text);
        let form = TypedAnswer::<Wrapped>::new();
        let reply = finished(bare().session.reply_typed(
            &mut model,
            &mut History::new(),
            "hello",
            &form,
        ));
        assert_eq!(reply.expect(text).output, Wrapped { answer: 5 });
    }
    let mut model = ScriptedModel::new().says(r#"{"answer":1,"note":"x"}"#);
    let form = TypedAnswer::<serde_json::Value>::new();
    let reply = finished(bare().session.reply_typed(
        &mut model,
        &mut History::new(),
        "hello",
        &form,
    ));
    assert_eq!(
        reply.expect("any value").output,
        json!({"answer": 1, "note": "x"})
    );
}

// M6
#[test]
fn a_refusal_is_no_answer_and_ends_the_reply() {
    let refusal = ModelStep {
        finish: ReplyFinish::Refused,
        ..ModelStep::says("I can't help with that.")
    };
    let mut model = ScriptedModel::new().then(refusal);
    let error = ask(&mut model, &mut History::new()).expect_err("refuses");
    assert_eq!(
        (error.reply.finish, error.reply.text.as_deref()),
        (ReplyFinish::Refused, Some("I can't help with that."))
    );
    assert_eq!(error.to_string(), "the model gave no answer: it refused");
}

// M1
#[test]
fn an_answer_that_was_cut_off_is_not_taken() {
    let cut = |step| ModelStep {
        finish: ReplyFinish::Length,
        max_tokens: Some(500),
        ..step
    };
    for (first, place) in [
        (ModelStep::says(r#"{"guest":"Ada","seats":1}"#), "note"),
        (ModelStep::calls([ada(1)]), "result"),
        (
            ModelStep::calls([answer(r#"{"answer":{"guest":"A"#)]),
            "result",
        ),
    ] {
        let mut model = ScriptedModel::new().then(cut(first)).calls([ada(4)]);
        assert_eq!(
            ask(&mut model, &mut History::new())
                .expect("answers")
                .output
                .seats,
            4
        );
        let told = format!("{:?}", model.requests()[1].history.last());
        assert!(told.contains("500 output tokens"), "{place}: {told}");
    }
    let mut model = ScriptedModel::new().then(cut(ModelStep::default()));
    let error = ask(&mut model, &mut History::new()).expect_err("has nothing");
    assert!(error.to_string().contains("raise `max_tokens`"), "{error}");
}

// M6
#[test]
fn the_finish_of_a_typed_answer_says_how_it_came() {
    let mut model = ScriptedModel::new().calls([ada(4)]);
    assert_eq!(
        ask(&mut model, &mut History::new())
            .expect("answers")
            .reply
            .finish,
        ReplyFinish::Complete
    );
    let mut model = ScriptedModel::new().calls([ada(300)]).says("4").says("4");
    assert_eq!(
        ask(&mut model, &mut History::new())
            .expect_err("is wrong")
            .reply
            .finish,
        ReplyFinish::Failed
    );
}

#[test]
fn the_control_tool_is_marked() {
    /// Records whether the last tool of a request takes the answer.
    struct Marks(Vec<bool>);

    impl Model for Marks {
        async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
            self.0 = request
                .tools
                .iter()
                .map(ToolDefinition::takes_answer)
                .collect();
            Ok(ModelStep::calls([ada(4)]))
        }
    }

    let mut model = Marks(Vec::new());
    let form = TypedAnswer::<Booking>::new();
    _ = finished(
        bare()
            .session
            .reply_typed(&mut model, &mut History::new(), "hello", &form),
    )
    .expect("answers");
    assert_eq!(
        (
            model.0.iter().filter(|takes| **takes).count(),
            model.0.last()
        ),
        (1, Some(&true))
    );
}
