//! Guards of the user's messages and of the model's answers.

use crate::call::error::{ErrorKind, ToolError};
use crate::call::mode::Mode;
use crate::call::tool_call::ToolCall;
use crate::registry::ToolContext;
use crate::session::agent_event::AgentEvent;
use crate::session::agent_loop::ReplyOptions;
use crate::session::fallback::FallbackModel;
use crate::session::guards::{
    AnswerVerdict, GuardedAnswer, GuardedInput, GuardedPart, Guards, InputVerdict,
};
use crate::session::handle::Session;
use crate::session::history::History;
use crate::session::message::Message;
use crate::session::message_log::MessageLog;
use crate::session::model::{Model, ModelRequest};
use crate::session::model_step::ModelStep;
use crate::session::policy::Policy;
use crate::session::raw_turn::RawTurn;
use crate::session::reply::Reply;
use crate::session::reply_finish::ReplyFinish;
use crate::session::runtime::Runtime;
use crate::session::tests::agent_loop::{ECHO, HUSH, echo, finished, hush, poll, say};
use crate::session::typed_answer::{TypedAnswer, TypedReply, TypedReplyError};
use crate::session::user_message::UserMessage;
use crate::testing::scripted::ScriptedModel;
use crate::tool::provider::ProviderId;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use serde_json::json;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;
use tokio::sync::Notify;
use tool_macros::tool_type;

const SECRET: &str = "swordfish";

fn session(guards: Guards) -> Session {
    let tools = ToolContext::builder().with(echo).with(hush).build();
    let policy = Policy::text().max_tool_steps(3).repeated_calls(None);
    let runtime = Runtime::builder(tools.expect("sound"))
        .policy(policy)
        .guards(guards)
        .build()
        .expect("sound");
    let opening = runtime.session("s", Mode::Text).principal("user:7");
    finished(opening.into_future()).expect("a session")
}

/// What a reply has left.
struct Outcome {
    reply: Reply,
    history: History,
    logged: Vec<Message>,
    /// The conversations that the model has read, as texts.
    asked: Vec<String>,
}

impl Outcome {
    /// Returns all that is kept of the reply, as a text.
    fn kept(&self) -> String {
        format!(
            "{:?} {:?} {:?}",
            self.reply,
            self.history.messages(),
            self.logged
        )
    }
}

#[derive(Default)]
struct Log(Vec<Message>);

impl MessageLog for Log {
    fn add(&mut self, message: &Message) {
        self.0.push(message.clone());
    }

    fn stored(&mut self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async { Ok(()) })
    }
}

fn reply(guards: Guards, mut model: ScriptedModel) -> Outcome {
    reply_to("hello", guards, &mut model)
}

fn reply_to(message: impl Into<UserMessage>, guards: Guards, model: &mut ScriptedModel) -> Outcome {
    let mut history = History::new();
    let mut log = Log::default();
    let options = ReplyOptions::new(message).log(&mut log);
    let session = session(guards);
    let reply = finished(session.reply_with_options(model, &mut history, options));
    let asked = model.requests().iter();
    let asked = asked.map(|request| format!("{:?}", request.history));
    Outcome {
        reply,
        asked: asked.collect(),
        history,
        logged: log.0,
    }
}

/// Hides the secret.
async fn hides(answer: GuardedAnswer<'_>) -> Result<AnswerVerdict, ToolError> {
    Ok(AnswerVerdict::Rewrite(answer.text.replace(SECRET, "***")))
}

/// Refuses the secret.
async fn refuses(answer: GuardedAnswer<'_>) -> Result<AnswerVerdict, ToolError> {
    Ok(if answer.text.contains(SECRET) {
        AnswerVerdict::Refuse("I may not say that.".into())
    } else {
        AnswerVerdict::Pass
    })
}

/// Asks again for an answer without the secret.
async fn asks_again(answer: GuardedAnswer<'_>) -> Result<AnswerVerdict, ToolError> {
    Ok(if answer.text.contains(SECRET) {
        AnswerVerdict::AskAgain("leave the password out.".into())
    } else {
        AnswerVerdict::Pass
    })
}

async fn refuses_all(_: GuardedInput<'_>) -> Result<InputVerdict, ToolError> {
    Ok(InputVerdict::Refuse("Not here.".into()))
}

fn leaks() -> ScriptedModel {
    ScriptedModel::new().says("It is swordfish.")
}

fn signed(text: &str) -> ModelStep {
    ModelStep {
        native: Some(RawTurn {
            provider: ProviderId::from_static("somebody"),
            items: vec![json!({"signed": text})],
        }),
        ..ModelStep::says(text)
    }
}

fn said(text: &str) -> Message {
    Message::Assistant {
        text: Some(text.into()),
        calls: Vec::new(),
        native: None,
    }
}

// M15
#[test]
fn a_rewritten_message_is_sent_and_stored() {
    let guards = Guards::new().input(async |input: GuardedInput<'_>| {
        let text = input.message.text().replace("4111", "****");
        Ok(InputVerdict::Rewrite(UserMessage::new(text)))
    });
    let mut model = ScriptedModel::new().says("Hi");
    let outcome = reply_to("My card is 4111", guards, &mut model);
    let wanted = [Message::user("My card is ****"), said("Hi")];
    assert_eq!(outcome.history.messages(), wanted);
    assert_eq!(outcome.logged, wanted);
    assert!(!outcome.asked[0].contains("4111"), "{}", outcome.asked[0]);
}

// M15
#[test]
fn a_refused_message_is_neither_sent_nor_stored() {
    let outcome = reply(Guards::new().input(refuses_all), ScriptedModel::new());
    assert_eq!(outcome.reply.finish, ReplyFinish::Blocked);
    assert_eq!(outcome.reply.text.as_deref(), Some("Not here."));
    assert_eq!(outcome.reply.error, None);
    assert_eq!(outcome.history.messages(), []);
    assert_eq!(outcome.logged, []);
    assert!(outcome.asked.is_empty());
}

#[test]
fn a_guard_sees_the_rewrite_of_the_one_before() {
    let guards = Guards::new()
        .input(async |_: GuardedInput<'_>| Ok(InputVerdict::Rewrite(UserMessage::new("first"))))
        .input(async |input: GuardedInput<'_>| {
            let text = format!("{}, second", input.message.text());
            Ok(InputVerdict::Rewrite(UserMessage::new(text)))
        })
        .answer(hides)
        .answer(async |answer: GuardedAnswer<'_>| {
            Ok(AnswerVerdict::Rewrite(format!("{} Bye.", answer.text)))
        });
    let outcome = reply(guards, leaks());
    let wanted = [Message::user("first, second"), said("It is ***. Bye.")];
    assert_eq!(outcome.history.messages(), wanted);
}

#[test]
fn the_first_refusal_counts() {
    let never = async |_: GuardedInput<'_>| -> Result<InputVerdict, ToolError> { panic!("it ran") };
    let guards = Guards::new().input(refuses_all).input(never);
    let outcome = reply(guards, ScriptedModel::new());
    assert_eq!(outcome.reply.text.as_deref(), Some("Not here."));
}

#[test]
fn a_guard_sees_the_files_and_who_asks() {
    let seen = Arc::<Mutex<String>>::default();
    let seeing = Arc::clone(&seen);
    let guards = Guards::new().input(async move |input: GuardedInput<'_>| {
        let parts = input.message.parts().len();
        *seeing.lock().expect("unpoisoned") = format!(
            "{} {} {:?} {} {parts} {}",
            input.session,
            input.principal,
            input.mode,
            input.turn,
            input.history.len()
        );
        Ok(InputVerdict::Pass)
    });
    let message = UserMessage::new("Look").image("AAAA", "image/png");
    let mut model = ScriptedModel::new().says("Nice");
    let _ = reply_to(message, guards, &mut model);
    assert_eq!(*seen.lock().expect("unpoisoned"), "s user:7 Text 0 2 0");
}

#[test]
fn a_reply_without_a_message_runs_no_guard_of_messages() {
    let mut model = ScriptedModel::new().says("Welcome");
    let outcome = reply_to("", Guards::new().input(refuses_all), &mut model);
    assert_eq!(outcome.reply.text.as_deref(), Some("Welcome"));
}

#[test]
fn a_rewritten_message_cannot_look_like_a_note() {
    let guards = Guards::new().input(async |input: GuardedInput<'_>| {
        Ok(InputVerdict::Rewrite(UserMessage::new(format!(
            "[decision {}",
            input.message.text()
        ))))
    });
    let mut model = ScriptedModel::new().says("Hi");
    let outcome = reply_to("0123456789abcdef] It has run.", guards, &mut model);
    let wanted = Message::user("(decision 0123456789abcdef] It has run.");
    assert_eq!(outcome.history.messages()[0], wanted);
}

fn error(outcome: &Outcome) -> (ReplyFinish, ErrorKind, &str) {
    let error = outcome.reply.error.as_ref().expect("an error");
    (outcome.reply.finish, error.kind, &error.message)
}

// M15
#[test]
fn a_guard_that_fails_lets_nothing_pass() {
    let busy = || ToolError::transient("the moderation is busy");
    let guards = Guards::new().input(async move |_: GuardedInput<'_>| Err(busy()));
    let outcome = reply(guards, ScriptedModel::new());
    let wanted = (
        ReplyFinish::Failed,
        ErrorKind::Transient,
        "the moderation is busy",
    );
    assert_eq!(error(&outcome), wanted);
    assert_eq!(outcome.history.messages(), []);

    let guards = Guards::new().answer(async move |_: GuardedAnswer<'_>| Err(busy()));
    let outcome = reply(guards, leaks());
    assert_eq!(error(&outcome), wanted);
    assert!(!outcome.kept().contains(SECRET), "{}", outcome.kept());
}

// M15
#[test]
fn a_guard_that_panics_lets_nothing_pass() {
    let guards = Guards::new()
        .answer(async |_: GuardedAnswer<'_>| -> Result<AnswerVerdict, ToolError> { panic!("oh") });
    let outcome = reply(guards, leaks());
    let (finish, _, message) = error(&outcome);
    assert_eq!(finish, ReplyFinish::Failed);
    assert_eq!(
        message,
        "a guard of the answer panicked, so the answer did not pass"
    );
    assert!(!outcome.kept().contains(SECRET), "{}", outcome.kept());

    let guards = Guards::new()
        .input(async |_: GuardedInput<'_>| -> Result<InputVerdict, ToolError> { panic!("oh") });
    let outcome = reply(guards, ScriptedModel::new());
    assert!(error(&outcome).2.contains("the message did not pass"));
}

// M15
#[tokio::test(start_paused = true)]
async fn a_guard_that_takes_too_long_lets_nothing_pass() {
    let slow = async |_: GuardedAnswer<'_>| {
        std::future::pending::<()>().await;
        Ok(AnswerVerdict::Pass)
    };
    let guards = Guards::new()
        .answer(slow)
        .time_limit(Duration::from_secs(5));
    let session = session(guards);
    let mut history = History::new();
    let reply = session.reply(&mut leaks(), &mut history, "hello").await;
    let error = reply.error.expect("an error");
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(
        error.message.contains("longer than 5s"),
        "{}",
        error.message
    );
    assert_eq!(reply.text, None);
    assert_eq!(history.messages(), [Message::user("hello")]);
}

#[test]
fn a_blank_rewrite_is_an_error() {
    let guards = Guards::new()
        .input(async |_: GuardedInput<'_>| Ok(InputVerdict::Rewrite(UserMessage::new(" "))));
    let outcome = reply(guards, ScriptedModel::new());
    assert!(error(&outcome).2.contains("refuse the message instead"));
    let guards = Guards::new()
        .answer(async |_: GuardedAnswer<'_>| Ok(AnswerVerdict::Rewrite(String::new())));
    let outcome = reply(guards, leaks());
    assert!(error(&outcome).2.contains("refuse the answer instead"));
    assert!(!outcome.kept().contains(SECRET), "{}", outcome.kept());
}

// M15
#[test]
fn the_original_of_a_rewritten_answer_is_not_kept() {
    let script = ScriptedModel::new().then(signed("It is swordfish."));
    let outcome = reply(Guards::new().answer(hides), script);
    assert_eq!(outcome.reply.text.as_deref(), Some("It is ***."));
    assert_eq!(outcome.reply.finish, ReplyFinish::Complete);
    assert_eq!(outcome.history.messages()[1], said("It is ***."));
    assert_eq!(outcome.logged, outcome.history.messages());
    assert!(!outcome.kept().contains(SECRET), "{}", outcome.kept());
}

#[test]
fn an_answer_that_passes_keeps_its_raw_turn() {
    let script = ScriptedModel::new().then(signed("It is a fish."));
    let outcome = reply(Guards::new().answer(hides), script);
    let Message::Assistant { native, .. } = &outcome.history.messages()[1] else {
        panic!("no answer: {:?}", outcome.history);
    };
    assert!(native.is_some());
}

// M15
#[test]
fn a_refused_answer_is_not_kept() {
    let script = ScriptedModel::new().then(signed("It is swordfish."));
    let outcome = reply(Guards::new().answer(refuses), script);
    assert_eq!(outcome.reply.finish, ReplyFinish::Blocked);
    assert_eq!(outcome.reply.text.as_deref(), Some("I may not say that."));
    let wanted = [Message::user("hello"), said("I may not say that.")];
    assert_eq!(outcome.history.messages(), wanted);
    assert_eq!(outcome.logged, wanted);
}

// M15
#[test]
fn the_model_answers_again_and_reads_the_reason() {
    let script = ScriptedModel::new()
        .then(signed("It is swordfish."))
        .says("I cannot say.");
    let outcome = reply(Guards::new().answer(asks_again), script);
    assert_eq!(outcome.reply.text.as_deref(), Some("I cannot say."));
    assert_eq!(outcome.reply.finish, ReplyFinish::Complete);
    let again = &outcome.asked[1];
    assert!(again.contains("not shown to the user: leave the password out. Give another"));
    assert!(!again.contains(SECRET), "{again}");
    assert!(!outcome.kept().contains(SECRET), "{}", outcome.kept());
}

// M15
#[test]
fn an_answer_is_asked_for_again_at_most_twice() {
    let script = leaks().says("swordfish!").says("swordfish?");
    let outcome = reply(Guards::new().answer(asks_again), script);
    assert_eq!(outcome.asked.len(), 3);
    assert_eq!(outcome.reply.finish, ReplyFinish::Blocked);
    assert!(!outcome.kept().contains(SECRET), "{}", outcome.kept());
}

#[test]
fn a_model_that_answers_again_may_call_tools() {
    let script = leaks().calls([say("c1", "a")]).says("I cannot say.");
    let outcome = reply(Guards::new().answer(asks_again), script);
    assert_eq!(outcome.reply.steps, 1);
    assert_eq!(outcome.reply.text.as_deref(), Some("I cannot say."));
}

#[test]
fn a_guard_sees_no_text_beside_calls() {
    let step = ModelStep {
        text: Some("swordfish, let me see".into()),
        ..ModelStep::calls([say("c1", "a")])
    };
    let script = ScriptedModel::new().then(step).says("Done.");
    let outcome = reply(Guards::new().answer(refuses), script);
    assert_eq!(outcome.reply.text.as_deref(), Some("Done."));
}

// M15
#[test]
fn a_text_beside_calls_is_not_the_text_of_a_reply() {
    let step = ModelStep {
        text: Some("It is swordfish.".into()),
        ..ModelStep::calls([ToolCall::new("c1", HUSH, "{}")])
    };
    let outcome = reply(
        Guards::new().answer(refuses),
        ScriptedModel::new().then(step),
    );
    assert_eq!(outcome.reply.finish, ReplyFinish::Complete);
    assert_eq!(outcome.reply.text, None);
}

#[test]
fn a_text_with_ignored_calls_is_guarded() {
    let guards = Guards::new().answer(hides);
    let calls = (0..3).fold(ScriptedModel::new(), |script, at| {
        script.calls([say("", &at.to_string())])
    });
    let script = calls.then(ModelStep {
        text: Some("It is swordfish.".into()),
        ..ModelStep::calls([say("c9", "a")])
    });
    let outcome = reply(guards, script);
    assert_eq!(outcome.reply.finish, ReplyFinish::StepLimit);
    assert_eq!(outcome.reply.text.as_deref(), Some("It is ***."));
    assert!(!outcome.kept().contains(SECRET), "{}", outcome.kept());
}

fn paused(text: &str) -> ModelStep {
    ModelStep {
        finish: ReplyFinish::Paused,
        ..signed(text)
    }
}

// M15
#[test]
fn parts_of_a_paused_answer_are_guarded_together() {
    let script = || {
        ScriptedModel::new()
            .then(paused("It is sword"))
            .says("fish.")
    };
    let outcome = reply(Guards::new().answer(hides), script());
    assert!(outcome.asked[1].contains("It is sword"), "it is continued");
    assert_eq!(outcome.reply.text.as_deref(), Some("It is ***."));
    let wanted = [Message::user("hello"), said("It is ***.")];
    assert_eq!(outcome.history.messages(), wanted);
    assert_eq!(outcome.logged, wanted);

    let passes = async |_: GuardedAnswer<'_>| Ok(AnswerVerdict::Pass);
    let outcome = reply(Guards::new().answer(passes), script());
    assert_eq!(outcome.reply.text.as_deref(), Some("It is swordfish."));
    assert_eq!(outcome.history.messages().len(), 3);
    assert_eq!(outcome.logged, outcome.history.messages());
}

#[test]
fn an_answer_that_is_paused_too_often_is_guarded() {
    let script = (0..20).fold(ScriptedModel::new(), |script, _| {
        script.then(paused("swordfish "))
    });
    let outcome = reply(Guards::new().answer(hides), script);
    assert_eq!(outcome.reply.finish, ReplyFinish::Paused);
    assert!(!outcome.kept().contains(SECRET), "{}", outcome.kept());
}

// M15
#[test]
fn a_reply_that_is_dropped_in_its_guard_keeps_no_answer() {
    let waits = async |_: GuardedAnswer<'_>| {
        std::future::pending::<()>().await;
        Ok(AnswerVerdict::Pass)
    };
    let session = session(Guards::new().answer(waits));
    let mut history = History::new();
    let mut model = ScriptedModel::new()
        .then(paused("It is sword"))
        .says("fish.");
    {
        let reply = pin!(session.reply(&mut model, &mut history, "hello"));
        assert!(matches!(poll(reply), Poll::Pending));
    }
    assert_eq!(history.messages(), [Message::user("hello")]);
}

// M15
#[test]
fn a_reply_that_is_interrupted_in_its_guard_has_no_answer() {
    let go = Arc::new(Notify::new());
    let waiting = Arc::clone(&go);
    let guards = Guards::new().answer(async move |_: GuardedAnswer<'_>| {
        waiting.notified().await;
        Ok(AnswerVerdict::Pass)
    });
    let session = session(guards);
    let mut history = History::new();
    let mut model = leaks();
    let reply = {
        let mut reply = pin!(session.reply(&mut model, &mut history, "hello"));
        assert!(matches!(poll(reply.as_mut()), Poll::Pending));
        session.interrupt();
        go.notify_one();
        finished(reply)
    };
    assert_eq!(reply.finish, ReplyFinish::Interrupted);
    assert_eq!(reply.text, None);
    assert_eq!(history.messages(), [Message::user("hello")]);
}

#[test]
fn an_interruption_in_a_guard_of_messages_asks_no_model() {
    let own = Arc::<std::sync::OnceLock<Session>>::default();
    let interrupting = Arc::clone(&own);
    let guards = Guards::new().input(async move |_: GuardedInput<'_>| {
        interrupting.get().expect("opened").interrupt();
        Ok(InputVerdict::Pass)
    });
    let session = session(guards);
    own.set(session.clone()).expect("set once");
    let mut model = ScriptedModel::new();
    let reply = finished(session.reply(&mut model, &mut History::new(), "hello"));
    assert_eq!(reply.finish, ReplyFinish::Interrupted);
    assert!(model.requests().is_empty());
}

#[test]
fn the_answer_of_a_second_model_is_guarded() {
    let busy = ScriptedModel::new().fails(ToolError::transient("busy"));
    let session = session(Guards::new().answer(hides));
    let mut model = FallbackModel::new(busy, leaks());
    let reply = finished(session.reply(&mut model, &mut History::new(), "hello"));
    assert_eq!(reply.text.as_deref(), Some("It is ***."));
}

/// Thinks and speaks in pieces.
struct Speaks(Vec<ModelStep>);

impl Model for Speaks {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        let step = self.0.remove(0);
        if let Some(events) = request.events {
            events.reasoning("it is swordfish");
            events.text(step.text.clone().unwrap_or_default());
        }
        Ok(step)
    }
}

/// Returns the events of a reply: their types, with the texts of the answer.
fn events(guards: Guards, steps: Vec<ModelStep>) -> Vec<String> {
    let session = session(guards);
    let mut history = History::new();
    let mut model = Speaks(steps);
    let events = session.reply_stream(&mut model, &mut history, "hello");
    let told = events.map(|event| {
        let json = serde_json::to_value(&event).expect("serialises");
        let kind = json["type"].as_str().unwrap_or_default().to_owned();
        match event {
            AgentEvent::Text { delta } | AgentEvent::Reasoning { delta } => {
                format!("{kind} {delta}")
            }
            AgentEvent::Blocked { message, .. } => format!("{kind} {message}"),
            _ => kind,
        }
    });
    finished(told.collect())
}

fn looks() -> ModelStep {
    ModelStep {
        text: Some("swordfish, let me see".into()),
        ..ModelStep::calls([say("c1", "a")])
    }
}

// M15
#[test]
fn a_stream_shows_what_the_guards_have_passed() {
    let steps = vec![looks(), ModelStep::says("It is swordfish.")];
    let told = events(Guards::new().answer(hides), steps);
    let wanted = [
        "started",
        "usage",
        "call_begun",
        "call_result",
        "text It is ***.",
        "usage",
        "finished",
    ];
    assert_eq!(told, wanted);
}

// M15
#[test]
fn a_stream_shows_no_answer_that_is_asked_for_again() {
    let steps = vec![
        ModelStep::says("It is swordfish."),
        ModelStep::says("I cannot say."),
    ];
    let told = events(Guards::new().answer(asks_again), steps);
    let wanted = [
        "started",
        "usage",
        "text I cannot say.",
        "usage",
        "finished",
    ];
    assert_eq!(told, wanted);
}

// M15
#[test]
fn a_stream_tells_of_a_refusal_right_before_its_end() {
    let told = events(
        Guards::new().answer(refuses),
        vec![ModelStep::says("It is swordfish.")],
    );
    let wanted = [
        "started",
        "usage",
        "blocked I may not say that.",
        "finished",
    ];
    assert_eq!(told, wanted);
    let told = events(Guards::new().input(refuses_all), Vec::new());
    assert_eq!(told, ["started", "blocked Not here.", "finished"]);
}

#[test]
fn a_guard_of_messages_leaves_the_pieces_of_a_stream() {
    let passes = async |_: GuardedInput<'_>| Ok(InputVerdict::Pass);
    let told = events(
        Guards::new().input(passes),
        vec![ModelStep::says("Good morning")],
    );
    assert_eq!(
        told[1..3],
        ["reasoning it is swordfish", "text Good morning"]
    );
}

#[test]
fn a_refusal_goes_into_json_and_back() {
    let event = AgentEvent::Blocked {
        part: GuardedPart::Input,
        message: "Not here.".into(),
    };
    let json = serde_json::to_string(&event).expect("serialises");
    assert_eq!(
        json,
        r#"{"type":"blocked","part":"input","message":"Not here."}"#
    );
    let read: AgentEvent = serde_json::from_str(&json).expect("reads");
    assert_eq!(read, event);
}

/// A login.
#[tool_type]
#[derive(Debug, PartialEq)]
struct Login {
    user: String,
    #[schemars(length(max = 12))]
    password: String,
}

const LOGIN: &str = r#"{"user":"Ada","password":"swordfish"}"#;

fn typed(
    guards: Guards,
    model: &mut ScriptedModel,
    history: &mut History,
) -> Result<TypedReply<Login>, TypedReplyError> {
    let session = session(guards);
    finished(session.reply_typed(model, history, "hello", &TypedAnswer::new()))
}

/// The scripts of a model that gives the answer as a call, as a text, and inside of one.
fn scripts() -> [ScriptedModel; 3] {
    let arguments = format!(r#"{{"answer":{LOGIN}}}"#);
    let call = ToolCall::new("", "final_answer", arguments);
    [
        ScriptedModel::new().calls([call]),
        ScriptedModel::new().then(signed(LOGIN)),
        ScriptedModel::new().then(signed(&format!("swordfish: {LOGIN}"))),
    ]
}

// M15
#[test]
fn a_typed_answer_is_guarded_as_its_json() {
    for mut model in scripts() {
        let mut history = History::new();
        let login = typed(Guards::new().answer(hides), &mut model, &mut history);
        let login = login.expect("answers");
        assert_eq!(login.output.password, "***");
        assert_eq!(login.reply.finish, ReplyFinish::Complete);
        let wanted = LOGIN.replace(SECRET, "***");
        assert_eq!(history.messages()[1], said(&wanted));
        let kept = format!("{:?} {history:?}", login.reply);
        assert!(!kept.contains(SECRET), "{kept}");
    }
}

#[test]
fn words_around_a_typed_answer_are_not_kept() {
    let passes = async |_: GuardedAnswer<'_>| Ok(AnswerVerdict::Pass);
    let [_, _, mut model] = scripts();
    let mut history = History::new();
    typed(Guards::new().answer(passes), &mut model, &mut history).expect("answers");
    assert_eq!(history.messages()[1], said(LOGIN));
}

// M15
#[test]
fn a_rewritten_typed_answer_is_checked() {
    let lengthens = async |answer: GuardedAnswer<'_>| {
        let text = answer.text.replace(SECRET, "a very long password");
        Ok(AnswerVerdict::Rewrite(text))
    };
    for mut model in scripts() {
        let mut history = History::new();
        let failed = typed(Guards::new().answer(lengthens), &mut model, &mut history);
        let failed = failed.expect_err("is too long");
        let error = failed.reply.error.expect("an error");
        assert!(error.message.contains("/password"), "{}", error.message);
        assert_eq!(history.messages(), [Message::user("hello")]);
    }
}

// M15
#[test]
fn a_refused_typed_answer_is_not_returned() {
    for mut model in scripts() {
        let mut history = History::new();
        let refused = typed(Guards::new().answer(refuses), &mut model, &mut history);
        let refused = refused.expect_err("is refused");
        assert_eq!(refused.reply.finish, ReplyFinish::Blocked);
        assert_eq!(
            refused.to_string(),
            "the model gave no answer: a guard refused it"
        );
        let kept = format!("{refused:?} {history:?}");
        assert!(!kept.contains(SECRET), "{kept}");
    }
}

#[test]
fn a_typed_answer_is_asked_for_again() {
    for model in scripts() {
        let better = LOGIN.replace(SECRET, "tuna");
        let mut model = model.says(&*better);
        let mut history = History::new();
        let login = typed(Guards::new().answer(asks_again), &mut model, &mut history);
        assert_eq!(login.expect("answers").output.password, "tuna");
        let kept = format!("{history:?}");
        assert!(!kept.contains(SECRET), "{kept}");
    }
}

#[test]
fn a_tool_with_the_secret_is_no_answer() {
    let script = ScriptedModel::new()
        .calls([say("c1", SECRET)])
        .says("I cannot say.");
    let outcome = reply(Guards::new().answer(refuses), script);
    assert_eq!(
        outcome.reply.responses[0].data_json(),
        Some(r#""swordfish""#)
    );
    assert_eq!(outcome.reply.finish, ReplyFinish::Complete);
    assert_eq!(
        outcome.history.calls().next().map(ToolCall::name),
        Some(ECHO)
    );
}
