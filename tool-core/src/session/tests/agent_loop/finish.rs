//! How a reply ended, what it says, and what it has used.

use crate::call::Mode;
use crate::call::error::{ErrorKind, ToolError};
use crate::call::response::ToolResponse;
use crate::call::tool_call::ToolCall;
use crate::registry::ToolContext;
use crate::session::handle::Session;
use crate::session::history::History;
use crate::session::message::Message;
use crate::session::model::{Model, ModelRequest, ToolChoice};
use crate::session::model_step::ModelStep;
use crate::session::raw_turn::RawTurn;
use crate::session::reply::Reply;
use crate::session::reply_finish::ReplyFinish;
use crate::session::runtime::Runtime;
use crate::session::tests::agent_loop::{
    BREAK_IN, HUSH, ask, bare, bare_with, called, finished, results, say,
};
use crate::testing::scripted::ScriptedModel;
use crate::tool::provider::ProviderId;
use crate::trace::usage::TokenUsage;
use serde_json::json;
use tool_macros::tool;

fn step(
    finish: ReplyFinish,
    text: Option<&str>,
    calls: impl IntoIterator<Item = ToolCall>,
) -> ModelStep {
    ModelStep {
        text: text.map(str::to_owned),
        finish,
        max_tokens: Some(500),
        ..ModelStep::calls(calls)
    }
}

fn native(text: &str) -> RawTurn {
    RawTurn {
        provider: ProviderId::from_static("somebody"),
        items: vec![json!({"signed": text})],
    }
}

/// Plays the steps in a session with three steps of calls.
fn play(steps: impl IntoIterator<Item = ModelStep>) -> Reply {
    let mut model = steps
        .into_iter()
        .fold(ScriptedModel::new(), ScriptedModel::then);
    let reply = ask(&bare(), &mut model, &mut History::new());
    model.assert_done();
    reply
}

// M6
#[test]
fn a_reply_that_is_whole_says_so() {
    let reply = play([ModelStep::calls([say("1", "a")]), ModelStep::says("done")]);
    assert_eq!(
        (reply.finish, reply.text.as_deref()),
        (ReplyFinish::Complete, Some("done"))
    );
}

// M6
#[test]
fn half_a_text_is_the_text_and_the_finish_says_so() {
    for finish in [
        ReplyFinish::Length,
        ReplyFinish::Withheld,
        ReplyFinish::Refused,
    ] {
        let reply = play([step(finish, Some("It is"), [])]);
        assert_eq!(
            (reply.finish, reply.text.as_deref(), reply.error),
            (finish, Some("It is"), None)
        );
    }
}

// M6
#[test]
fn an_answer_without_content_has_an_error_with_the_remedy() {
    for (finish, remedy) in [
        (
            ReplyFinish::Length,
            "500 output tokens (`max_tokens`) before it had a text or a call: raise `max_tokens`",
        ),
        (ReplyFinish::Withheld, "ask in other words"),
        (ReplyFinish::Refused, "ask in other words"),
    ] {
        let reply = play([ModelStep {
            native: Some(native("a thought")),
            ..step(finish, None, [])
        }]);
        let message = reply
            .error
            .as_ref()
            .map(|error| error.message.clone())
            .unwrap_or_default();
        assert_eq!((reply.finish, reply.text), (finish, None));
        assert!(message.contains(remedy), "{message}");
    }
}

// M6
#[test]
fn an_answer_of_thoughts_only_is_complete() {
    let reply = play([ModelStep {
        native: Some(native("a thought")),
        ..ModelStep::default()
    }]);
    assert_eq!(
        (reply.finish, reply.text, reply.error),
        (ReplyFinish::Complete, None, None)
    );
}

// L21, M6
#[test]
fn the_limit_of_steps_is_the_finish() {
    let calls = |id: &str| ModelStep::calls([say(id, id)]);
    let reply = play([
        calls("1"),
        calls("2"),
        calls("3"),
        ModelStep::says("That is all I found."),
    ]);
    assert_eq!(
        (reply.finish, reply.text.as_deref()),
        (ReplyFinish::StepLimit, Some("That is all I found."))
    );

    let reply = play([calls("1"), calls("2"), calls("3"), calls("4")]);
    assert_eq!(
        (reply.finish, reply.text, reply.steps, reply.responses.len()),
        (ReplyFinish::StepLimit, None, 3, 3)
    );

    let cut = step(ReplyFinish::Length, Some("That is"), []);
    assert_eq!(
        play([calls("1"), calls("2"), calls("3"), cut]).finish,
        ReplyFinish::Length,
        "the text is cut off"
    );
}

// L21
#[test]
fn a_reply_that_may_not_call_is_complete_if_it_does_not() {
    for (steps, finish) in [
        (ModelStep::says("Hello"), ReplyFinish::Complete),
        (
            step(ReplyFinish::Complete, Some("Hello"), [say("1", "a")]),
            ReplyFinish::StepLimit,
        ),
    ] {
        let mut model = ScriptedModel::new().then(steps);
        let reply = ask(&bare_with(0), &mut model, &mut History::new());
        assert_eq!(
            (reply.finish, reply.text.as_deref()),
            (finish, Some("Hello"))
        );
    }
}

/// Count to a number.
#[tool(name = "count_in_finish_tests")]
fn count(number: u32) -> u32 {
    number
}

fn session(mode: Mode) -> Session {
    let tools = ToolContext::builder().with(count).build().expect("sound");
    let runtime = Runtime::builder(tools).build().expect("sound");
    finished(runtime.session("s", mode).into_future()).expect("a session")
}

/// Calls a tool in every answer, with other arguments each time or with the same.
struct Caller {
    asked: u32,
    is_stubborn: bool,
}

impl Model for Caller {
    async fn step(&mut self, _: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        self.asked += 1;
        let number = if self.is_stubborn { 1 } else { self.asked };
        Ok(ModelStep::calls([ToolCall::new(
            "",
            "count_in_finish_tests",
            json!({"number": number}),
        )]))
    }
}

// L21
#[test]
fn a_model_that_always_calls_ends_at_the_limit() {
    for (mode, steps) in [(Mode::Voice, 3), (Mode::Text, 16)] {
        for is_stubborn in [false, true] {
            let mut model = Caller {
                asked: 0,
                is_stubborn,
            };
            let reply = finished(session(mode).reply(&mut model, &mut History::new(), "hello"));
            assert_eq!(
                (reply.steps, model.asked, reply.finish),
                (steps, steps + 1, ReplyFinish::StepLimit)
            );
            assert_eq!(
                reply.responses.iter().all(ToolResponse::is_ok),
                !is_stubborn
            );
        }
    }
}

// M6
#[test]
fn a_budget_that_is_used_up_is_the_finish() {
    let retrievals = |ids: [&str; 6]| ModelStep::calls(ids.map(|id| say(id, id)));
    let reply = play([
        retrievals(["1", "2", "3", "4", "5", "6"]),
        ModelStep::says("Five of six."),
    ]);
    assert_eq!(
        (reply.finish, reply.text.as_deref()),
        (ReplyFinish::Budget, Some("Five of six."))
    );
    assert_eq!(
        reply.responses[5].error().map(|error| error.kind),
        Some(ErrorKind::BudgetExceeded)
    );
}

// M6
#[test]
fn errors_and_interruptions_are_finishes() {
    let mut model = ScriptedModel::new().fails(ToolError::transient("overloaded"));
    let reply = ask(&bare(), &mut model, &mut History::new());
    assert_eq!(reply.finish, ReplyFinish::Failed);

    let beside = ModelStep {
        text: Some("One moment.".into()),
        ..ModelStep::calls([ToolCall::new("1", BREAK_IN, "{}")])
    };
    let reply = play([beside]);
    assert_eq!(
        (reply.finish, reply.interrupted),
        (ReplyFinish::Interrupted, true)
    );
    assert_eq!(
        reply.text.as_deref(),
        Some("One moment."),
        "the history has it too"
    );
}

// M6
#[test]
fn text_beside_a_call_stays_if_nothing_follows() {
    let beside = || ModelStep {
        text: Some("It is 3.".into()),
        ..ModelStep::calls([say("1", "a")])
    };
    let thoughts = ModelStep {
        native: Some(native("a thought")),
        ..ModelStep::default()
    };
    assert_eq!(play([beside(), thoughts]).text.as_deref(), Some("It is 3."));
    assert_eq!(
        play([beside(), ModelStep::says(" \n")]).text.as_deref(),
        Some("It is 3.")
    );
    assert_eq!(
        play([beside(), ModelStep::says("It is 4.")])
            .text
            .as_deref(),
        Some("It is 4.")
    );
    let hush = ModelStep {
        text: Some("Goodbye!".into()),
        ..ModelStep::calls([ToolCall::new("1", HUSH, "{}")])
    };
    let reply = play([hush]);
    assert_eq!(
        (reply.text.as_deref(), reply.finish),
        (Some("Goodbye!"), ReplyFinish::Complete)
    );
}

// M5
#[test]
fn a_blank_text_is_no_message() {
    let mut history = History::new();
    let mut model = ScriptedModel::new().says(" \n\t");
    assert_eq!(ask(&bare(), &mut model, &mut history).text, None);
    assert_eq!(history.messages(), [Message::user("hello")]);
}

// M1
#[test]
fn calls_that_were_cut_off_do_not_run_and_the_model_goes_on() {
    let half = ToolCall::new("2", "echo_in_reply_tests", r#"{"text":"ab"#);
    let cut = ModelStep {
        native: Some(native("a thought")),
        ..step(ReplyFinish::Length, None, [say("1", "a"), half.clone()])
    };
    let session = bare();
    let mut history = History::new();
    let mut model = ScriptedModel::new()
        .then(cut)
        .calls([say("3", "a")])
        .says("done");
    let reply = ask(&session, &mut model, &mut history);
    assert_eq!(*session.asked.0.lock().expect("unpoisoned"), ["3"]);
    assert_eq!(
        (reply.finish, reply.steps, reply.responses.len()),
        (ReplyFinish::Complete, 2, 3)
    );
    assert_eq!(
        called(&history)[1],
        &half,
        "the model finds what it has sent"
    );
    for (_, text, is_error) in &results(&history)[..2] {
        let says_all = ["500 output tokens", "shorter arguments", "several calls"]
            .iter()
            .all(|part| text.contains(part));
        assert!(*is_error && says_all, "{text}");
    }
    assert!(matches!(
        &history.messages()[1],
        Message::Assistant {
            native: Some(_),
            ..
        }
    ));
}

// M1, L21
#[test]
fn answers_that_are_always_cut_off_end_at_the_limit() {
    let cut = |id: &str| ModelStep {
        max_tokens: None,
        ..step(ReplyFinish::Length, None, [say(id, "a")])
    };
    let mut history = History::new();
    let mut model = ScriptedModel::new()
        .then(cut("1"))
        .then(cut("2"))
        .then(cut("3"))
        .then(cut("4"));
    let reply = ask(&bare(), &mut model, &mut history);
    assert_eq!(
        (reply.steps, reply.finish, results(&history).len()),
        (3, ReplyFinish::Length, 3)
    );
    assert!(
        results(&history)[0]
            .1
            .contains("the provider's limit of output tokens")
    );
    model.assert_done();
}

// M1
#[test]
fn calls_of_a_withheld_answer_do_not_run() {
    let session = bare();
    let mut history = History::new();
    let mut model = ScriptedModel::new().then(step(ReplyFinish::Withheld, None, [say("1", "a")]));
    let reply = ask(&session, &mut model, &mut history);
    assert_eq!(
        (reply.finish, results(&history).len()),
        (ReplyFinish::Withheld, 1)
    );
    assert!(session.asked.0.lock().expect("unpoisoned").is_empty());
}

// M6
#[test]
fn a_paused_answer_goes_back_and_goes_on() {
    let paused = ModelStep {
        native: Some(native("searching")),
        ..step(ReplyFinish::Paused, Some("I found "), [])
    };
    let mut history = History::new();
    let mut model = ScriptedModel::new()
        .then(paused)
        .calls([say("1", "a")])
        .says("done");
    let reply = ask(&bare(), &mut model, &mut history);
    assert_eq!(
        (reply.finish, reply.text.as_deref(), reply.steps),
        (ReplyFinish::Complete, Some("done"), 1)
    );
    let sent = &model.requests()[1].history;
    assert!(
        matches!(
            &sent[..],
            [
                Message::User(_),
                Message::Assistant {
                    native: Some(_),
                    ..
                }
            ]
        ),
        "{sent:?}"
    );
}

// M6
#[test]
fn the_parts_of_a_paused_answer_are_one_text() {
    let paused = |text| step(ReplyFinish::Paused, text, []);
    let beside = ModelStep {
        text: Some("One moment.".into()),
        ..ModelStep::calls([say("1", "a")])
    };
    let parts = [
        beside,
        paused(Some("It ")),
        paused(None),
        paused(Some("is ")),
        ModelStep::says("3."),
    ];
    assert_eq!(play(parts).text.as_deref(), Some("It is 3."));
}

// M6
#[test]
fn an_answer_is_continued_eight_times() {
    let paused = || ModelStep {
        native: Some(native("searching")),
        ..step(ReplyFinish::Paused, None, [])
    };
    let mut model = (0..9).fold(ScriptedModel::new(), |script, _| script.then(paused()));
    let reply = ask(&bare(), &mut model, &mut History::new());
    assert_eq!(
        (reply.finish, model.requests().len()),
        (ReplyFinish::Paused, 9)
    );
}

/// Reports tokens of attempts that failed, and then answers or fails.
struct Wasteful {
    failed: TokenUsage,
    answer: Option<Result<ModelStep, ToolError>>,
    interrupts: Option<Session>,
}

impl Model for Wasteful {
    async fn step(&mut self, _: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        if let Some(session) = &self.interrupts {
            session.interrupt();
        }
        self.answer.take().expect("asked once")
    }

    fn take_failed_usage(&mut self) -> TokenUsage {
        std::mem::take(&mut self.failed)
    }
}

// M6
#[test]
fn the_usage_has_what_failed_attempts_have_used() {
    let used = |output| TokenUsage {
        input: 10,
        output,
        ..TokenUsage::default()
    };
    let said = ModelStep {
        usage: used(1),
        ..ModelStep::says("done")
    };
    let refused = ModelStep {
        usage: used(1),
        ..step(ReplyFinish::Refused, None, [])
    };
    for (answer, is_interrupted, expected) in [
        (Ok(said.clone()), false, 20),
        (Ok(refused), false, 20),
        (Err(ToolError::transient("overloaded")), false, 10),
        (Ok(said), true, 20),
        (Err(ToolError::transient("gone")), true, 10),
    ] {
        let bare = bare();
        let interrupts = is_interrupted.then(|| bare.session.clone());
        let mut model = Wasteful {
            failed: used(5),
            answer: Some(answer),
            interrupts,
        };
        let reply = finished(bare.session.reply(&mut model, &mut History::new(), "hello"));
        assert_eq!(
            (reply.usage.input, reply.interrupted),
            (expected, is_interrupted)
        );
    }
}

// L28
#[test]
fn a_tool_without_arguments_takes_any_spelling_of_none() {
    for arguments in ["", " ", "null", "{}", " {} "] {
        let reply = play([ModelStep::calls([ToolCall::new("1", HUSH, arguments)])]);
        assert!(
            reply.responses[0].is_ok(),
            "{arguments:?}: {:?}",
            reply.responses
        );
    }
}

#[test]
fn the_choice_of_the_first_step_holds_after_a_pause() {
    let mut model = ScriptedModel::new()
        .then(step(ReplyFinish::Paused, None, []))
        .calls([say("1", "a")])
        .says("done");
    _ = finished(bare().session.reply_with(
        &mut model,
        &mut History::new(),
        "",
        ToolChoice::Required,
    ));
    let choices = model
        .requests()
        .iter()
        .map(|request| request.tool_choice)
        .collect::<Vec<_>>();
    assert_eq!(
        choices,
        [ToolChoice::Required, ToolChoice::Required, ToolChoice::Auto]
    );
}
