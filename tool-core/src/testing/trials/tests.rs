//! Tests of trials, with scripted models.

use crate::call::ToolError;
use crate::session::{Model, ModelRequest, ModelStep, Policy, ReplyFinish, Runtime};
use crate::testing::{ArgumentMatch, ScriptedModel, Trial, TrialOutcome, Trials};
use crate::trace::{Cost, ModelUsage, Pricing, TokenUsage};
use crate::{ToolCall, ToolContext};
use serde_json::{Value, json};
use std::time::Duration;
use tool_macros::tool;

/// Book a room.
#[tool(name = "book_in_trial_tests")]
fn book(
    room: u32,
    #[arg(default = 1)] guests: u32,
    note: Option<String>,
) -> Result<String, ToolError> {
    if room == 13 {
        return Err(ToolError::permanent("there is no room 13"));
    }
    let note = note.unwrap_or_default();
    Ok(format!("room {room} for {guests} {note}"))
}

/// Cancel a booking.
#[tool(name = "cancel_in_trial_tests", confirm)]
fn cancel(room: u32) -> String {
    format!("room {room} is free")
}

/// Find free rooms.
#[tool(name = "find_in_trial_tests", category = "retrieval")]
fn find(days: Vec<String>) -> Vec<u32> {
    days.iter().map(|_| 4).collect()
}

const BOOK: &str = "book_in_trial_tests";
const CANCEL: &str = "cancel_in_trial_tests";
const FIND: &str = "find_in_trial_tests";

fn runtime() -> Runtime {
    let tools = ToolContext::builder().with(book).with(cancel).with(find);
    Runtime::builder(tools.build().expect("sound"))
        .policy(Policy::text().max_tool_steps(3))
        .build()
        .expect("sound")
}

fn call(tool: &str, arguments: Value) -> ToolCall {
    ToolCall::new("", tool, arguments)
}

/// A model that makes these calls at once, and answers.
fn caller(calls: &[(&str, Value)]) -> ScriptedModel {
    let calls = calls
        .iter()
        .map(|(tool, arguments)| call(tool, arguments.clone()));
    ScriptedModel::new().calls(calls).says("Room 4 is yours.")
}

/// Runs a trial once against a model that makes these calls.
async fn after(trial: Trial, calls: &[(&str, Value)]) -> TrialOutcome {
    trial.run(&runtime(), |_run| caller(calls)).await
}

fn booking() -> Trial {
    Trial::new("books", "Book room 4")
}

/// Returns the problems of the only run.
fn problems(outcome: &TrialOutcome) -> Vec<&str> {
    assert_eq!(outcome.mistakes(), Vec::<String>::new());
    let [run] = outcome.runs() else {
        panic!("one run: {outcome}");
    };
    run.problems.iter().map(String::as_str).collect()
}

// M30
#[tokio::test]
async fn a_trial_passes_with_the_calls_and_the_answer() {
    let trial = booking()
        .must_call(BOOK, json!({"room": 4}))
        .must_not_call(CANCEL)
        .check("names the room", |answer: &str| answer.contains('4'));
    let outcome = after(trial, &[(BOOK, json!({"room": 4}))]).await;
    assert_eq!(problems(&outcome), Vec::<&str>::new());
    assert!(outcome.has_passed());
    let run = &outcome.runs()[0];
    assert_eq!(run.answer.as_deref(), Some("Room 4 is yours."));
    assert_eq!(run.calls, [format!("{BOOK}({{\"guests\":1,\"room\":4}})")]);
}

// M30
#[tokio::test]
async fn arguments_are_compared_as_the_tool_gets_them() {
    let exact = |value| booking().must_call(BOOK, ArgumentMatch::exactly(value));
    for (trial, sent) in [
        // A default that is named, and one that is left out.
        (exact(json!({"room": 4})), json!({"room": 4, "guests": 1})),
        (exact(json!({"room": 4, "guests": 1})), json!({"room": 4})),
        // Nulls, and a number in another form.
        (
            exact(json!({"room": 4, "note": null})),
            json!({"room": 4.0}),
        ),
        (
            exact(json!({"room": 4})),
            json!({"room": "4", "note": null}),
        ),
        // Some arguments are named only.
        (
            booking().must_call(BOOK, json!({"guests": 1})),
            json!({"room": 4, "note": "n"}),
        ),
        (
            booking().must_call(BOOK, json!({"note": null})),
            json!({"room": 4}),
        ),
    ] {
        let outcome = after(trial, &[(BOOK, sent.clone())]).await;
        assert_eq!(problems(&outcome), Vec::<&str>::new(), "{sent}");
    }
}

// M30
#[tokio::test]
async fn other_arguments_are_a_problem_that_shows_the_call() {
    let trial = booking().must_call(BOOK, json!({"room": 4}));
    let outcome = after(trial, &[(BOOK, json!({"room": 5}))]).await;
    let expected = format!(
        "`{BOOK}` must be called with {{\"room\":4}}: the model called {BOOK}({{\"guests\":1,\"room\":5}})"
    );
    assert_eq!(problems(&outcome), [expected]);
    for (wanted, sent) in [
        (
            ArgumentMatch::exactly(json!({"room": 4})),
            json!({"room": 4, "note": "n"}),
        ),
        (
            json!({"note": null}).into(),
            json!({"room": 4, "note": "n"}),
        ),
        (
            ArgumentMatch::by("an even room", |sent| sent["room"] == 2),
            json!({"room": 4}),
        ),
    ] {
        let outcome = after(booking().must_call(BOOK, wanted), &[(BOOK, sent.clone())]).await;
        assert_eq!(problems(&outcome).len(), 1, "{sent}");
    }
}

// M30
#[tokio::test]
async fn lists_of_arguments_are_compared_as_a_whole() {
    let trial = booking().must_call(FIND, json!({"days": ["fri"]}));
    let both = json!({"days": ["fri", "sat"]});
    let outcome = after(trial.clone(), &[(FIND, both)]).await;
    assert_eq!(problems(&outcome).len(), 1);
    let outcome = after(trial, &[(FIND, json!({"days": ["fri"]}))]).await;
    assert!(outcome.has_passed(), "{outcome}");
}

// M30
#[tokio::test]
async fn each_expectation_needs_a_call_of_its_own() {
    let room = |number: u32| json!({"room": number});
    let trial = booking()
        .must_call(BOOK, ArgumentMatch::any())
        .must_call(BOOK, room(4));
    // The first expectation would take the call that only the second can use.
    let outcome = after(trial.clone(), &[(BOOK, room(4)), (BOOK, room(5))]).await;
    assert!(outcome.has_passed(), "{outcome}");
    let outcome = after(trial, &[(BOOK, room(4))]).await;
    assert_eq!(problems(&outcome).len(), 1, "{outcome}");
}

// M30
#[tokio::test]
async fn a_refused_call_does_not_count_as_the_call() {
    let trial = booking().must_call(BOOK, ArgumentMatch::any());
    let outcome = after(trial.clone(), &[(BOOK, json!({"room": "four"}))]).await;
    let [problem] = problems(&outcome)[..] else {
        panic!("{outcome}");
    };
    assert!(
        problem.contains("which was refused") && problem.contains("/room"),
        "{problem}"
    );

    // The tool has answered this one, with an error.
    let outcome = after(trial, &[(BOOK, json!({"room": 13}))]).await;
    assert!(outcome.has_passed(), "{outcome}");
}

// M30
#[tokio::test]
async fn a_call_that_waits_for_approval_counts() {
    let trial = booking().must_call(CANCEL, json!({"room": 4}));
    let outcome = after(trial, &[(CANCEL, json!({"room": 4}))]).await;
    assert!(outcome.has_passed(), "{outcome}");
}

// M30
#[tokio::test]
async fn an_attempt_of_a_forbidden_call_is_a_problem() {
    let refused = json!({"room": "four"});
    let outcome = after(booking().must_not_call(CANCEL), &[(CANCEL, refused)]).await;
    assert_eq!(
        problems(&outcome),
        [format!(
            "`{CANCEL}` must not be called: the model called {CANCEL}({{\"room\":\"four\"}})"
        )]
    );
    let trial = booking().must_not_call_with(BOOK, json!({"room": 13}));
    assert!(
        after(trial.clone(), &[(BOOK, json!({"room": 4}))])
            .await
            .has_passed()
    );
    assert!(
        !after(trial, &[(BOOK, json!({"room": 13}))])
            .await
            .has_passed()
    );
}

// M30
#[tokio::test]
async fn a_list_of_allowed_calls_refuses_all_others() {
    let find_first = booking().must_call(BOOK, json!({"room": 4})).may_call(FIND);
    let found = (FIND, json!({"days": ["fri"]}));
    let booked = (BOOK, json!({"room": 4}));
    let outcome = after(find_first.clone(), &[found.clone(), booked.clone()]).await;
    assert!(outcome.has_passed(), "{outcome}");

    let cancelled = (CANCEL, json!({"room": 4}));
    let outcome = after(find_first, &[found.clone(), booked.clone(), cancelled]).await;
    assert_eq!(
        problems(&outcome),
        [format!(
            "no other call is allowed: the model called {CANCEL}({{\"room\":4}})"
        )]
    );

    let none = booking()
        .must_call(BOOK, json!({"room": 4}))
        .no_other_calls();
    assert!(
        after(none.clone(), std::slice::from_ref(&booked))
            .await
            .has_passed()
    );
    assert!(!after(none, &[found, booked]).await.has_passed());
}

// M30
#[tokio::test]
async fn a_run_reports_every_problem() {
    let trial = booking()
        .must_call(BOOK, json!({"room": 4}))
        .must_call(FIND, ArgumentMatch::any())
        .must_not_call(CANCEL)
        .check("is long", |answer: &str| answer.len() > 100)
        .check("is polite", |answer: &str| {
            Err::<(), _>(format!("no `please` in {answer}"))
        })
        .check("is asserted", |answer: &str| {
            assert_eq!(answer, "Yes", "not yes");
        });
    let outcome = after(trial, &[(CANCEL, json!({"room": 4}))]).await;
    let problems = problems(&outcome).join("\n");
    assert_eq!(problems.lines().count(), 6, "{problems}");
    for part in [
        "`book_in_trial_tests` must be called",
        "`find_in_trial_tests` must be called",
        "`cancel_in_trial_tests` must not be called",
        "fails the check \"is long\"; the answer: \"Room 4 is yours.\"",
        "fails the check \"is polite\": no `please` in Room 4 is yours.",
        "fails the check \"is asserted\": assertion `left == right` failed: not yes",
    ] {
        assert!(problems.contains(part), "{part}\n{problems}");
    }
}

/// A model that panics.
struct PanickingModel;

impl Model for PanickingModel {
    async fn step(&mut self, _: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        panic!("out of order");
    }
}

/// A model that never answers.
struct SilentModel;

impl Model for SilentModel {
    async fn step(&mut self, _: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        std::future::pending().await
    }
}

// M30
#[tokio::test(start_paused = true)]
async fn a_model_that_fails_is_a_failed_run() {
    let error = ToolError::auth("the provider answered 401");
    let trial = Trial::new("greets", "Good morning");
    let outcome = trial
        .run(&runtime(), |_run| ScriptedModel::new().fails(error.clone()))
        .await;
    assert_eq!(
        problems(&outcome),
        ["the model failed: AUTH: the provider answered 401"]
    );

    let outcome = trial.run(&runtime(), |_run| PanickingModel).await;
    assert_eq!(problems(&outcome), ["the model panicked: out of order"]);

    let slow = trial.clone().time_limit(Duration::from_secs(30));
    let outcome = slow.run(&runtime(), |_run| SilentModel).await;
    assert_eq!(
        problems(&outcome),
        ["the run took longer than its time limit of 30s"]
    );

    let cut = ModelStep {
        finish: ReplyFinish::Length,
        ..ModelStep::says("Good mor")
    };
    let outcome = trial
        .run(&runtime(), |_run| ScriptedModel::new().then(cut.clone()))
        .await;
    assert_eq!(
        problems(&outcome),
        ["the answer is not complete: it reached its limit of tokens"]
    );

    let outcome = trial
        .run(&runtime(), |_run| -> ScriptedModel {
            panic!("no such file")
        })
        .await;
    assert_eq!(problems(&outcome), ["the model panicked: no such file"]);
}

// M31
#[tokio::test]
async fn the_rate_decides_over_the_runs() {
    let trial = booking().must_call(BOOK, json!({"room": 4})).repeat(5);
    let model = |run| caller(&[(BOOK, json!({"room": if run == 3 { 5 } else { 4 }}))]);
    let outcome = trial.clone().reach(0.8).run(&runtime(), model).await;
    assert_eq!((outcome.passed_runs(), outcome.runs().len()), (4, 5));
    assert!(outcome.has_passed(), "{outcome}");
    let outcome = trial.clone().reach(0.81).run(&runtime(), model).await;
    assert!(!outcome.has_passed(), "{outcome}");
    let outcome = trial.run(&runtime(), model).await;
    assert!(!outcome.has_passed(), "all runs have to pass: {outcome}");
}

// M31
#[tokio::test]
async fn each_run_has_a_session_of_its_own() {
    let runtime = runtime();
    let mut lengths = Vec::new();
    let trial = Trial::new("greets", "Good morning").repeat(2);
    let open = |run| runtime.session(format!("run-{run}"), crate::Mode::Text);
    let outcome = trial
        .run_in(open, |run| {
            lengths.push(run);
            ScriptedModel::new().says("Good morning!")
        })
        .await;
    outcome.assert_passed();
    assert_eq!(lengths, [1, 2]);
    assert_eq!(
        runtime.sessions().await.expect("in memory"),
        0,
        "the sessions have ended"
    );
}

// M31
#[tokio::test]
async fn mistakes_of_a_trial_are_all_reported_before_a_run() {
    let trial = booking()
        .must_call("book_in_trial_test", json!({"room": 4}))
        .must_call(BOOK, json!({"rom": 4, "guest": 1}))
        .must_call(BOOK, json!([4]))
        .must_call(CANCEL, ArgumentMatch::any())
        .must_not_call(CANCEL)
        .must_not_call("fly");
    let outcome = trial.run(&runtime(), |_run| PanickingModel).await;
    assert!(outcome.runs().is_empty() && !outcome.has_passed());
    assert_eq!(
        outcome.mistakes(),
        [
            "the session has no tool `book_in_trial_test` (did you mean `book_in_trial_tests`?)",
            "`book_in_trial_tests` has no parameter `guest` (did you mean `guests`?)",
            "`book_in_trial_tests` has no parameter `rom` (did you mean `room`?)",
            "the arguments of `book_in_trial_tests` are an object: expected {..}, got [4]",
            "the session has no tool `fly`",
            "`cancel_in_trial_tests` must be called and must not be called, so no run can pass; remove one of the two",
        ]
    );
    let outcome = booking()
        .repeat(0)
        .reach(80.0)
        .run(&runtime(), |_run| PanickingModel)
        .await;
    assert_eq!(outcome.mistakes().len(), 2, "{outcome}");
    assert!(!outcome.has_passed());
}

/// A model that shows its instructions.
struct EchoModel;

impl Model for EchoModel {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        Ok(ModelStep::says(request.instructions))
    }
}

// M31
#[tokio::test]
async fn instructions_of_a_trial_reach_the_model() {
    let trial = Trial::new("is kind", "Hi")
        .instructions("Be kind.")
        .check("begins with them", |said: &str| {
            said.starts_with("Be kind.")
        });
    trial
        .run(&runtime(), |_run| EchoModel)
        .await
        .assert_passed();
}

/// A microdollar for each token that is written, for one model.
struct Flat;

impl Pricing for Flat {
    fn price(&self, used: &ModelUsage) -> Option<Cost> {
        (used.model == "model").then(|| Cost::micros(used.usage.output))
    }
}

fn paid(model: Option<&str>) -> ScriptedModel {
    let usage = TokenUsage {
        input: 1_200,
        output: 90,
        ..TokenUsage::default()
    };
    ScriptedModel::new().then(ModelStep {
        usage,
        model: model.map(str::to_owned),
        ..ModelStep::says("Good morning!")
    })
}

// M31
#[tokio::test]
async fn tokens_and_cost_of_all_runs_are_added_up() {
    let trial = Trial::new("greets", "Good morning").repeat(2).pricing(Flat);
    let outcome = trial.run(&runtime(), |_run| paid(None)).await;
    assert_eq!(
        (outcome.usage().input, outcome.usage().output),
        (2_400, 180)
    );
    assert_eq!(outcome.cost(), Some(Cost::micros(180)));
    let outcome = trial.run(&runtime(), |_run| paid(Some("unknown"))).await;
    assert_eq!(outcome.cost(), None);
    assert_eq!(outcome.usage().output, 180);
}

/// Trials that passed, failed and are wrong, with times that do not change.
async fn hostile_trials() -> Trials {
    let mut trials = Trials::new("a <\"front\"> & desk");
    let ugly = "]]> <b>\u{0}\u{1b}[31m\u{202e}\u{ffff}\r\n\t& \"x\"";
    let says = |_run| ScriptedModel::new().says(ugly);
    let open = Trial::new("passes", "Hi");
    trials.add(open.pricing(Flat).run(&runtime(), |_run| paid(None)).await);
    let failing = Trial::new(format!("fails {ugly}"), "Hi")
        .check("is <kind>", |_: &str| false)
        .repeat(2);
    trials.add(failing.run(&runtime(), says).await);
    let wrong = Trial::new("is wrong", "Hi").must_call("f<ly>", ArgumentMatch::any());
    trials.add(wrong.run(&runtime(), says).await);
    for outcome in &mut trials.outcomes {
        for run in &mut outcome.runs {
            run.duration = Duration::from_millis(1_500);
        }
    }
    trials
}

// M31
#[tokio::test]
async fn the_table_shows_the_figures_and_all_problems() {
    let mut trials = hostile_trials().await;
    drop(trials.outcomes.remove(1));
    let expected = "\
trial     passed  needed  tokens in  tokens out  cost       seconds
passes    1 of 1  100 %   1200       90          $0.000090  1.5      ok
is wrong  0 of 1  100 %   0          0           unknown    0.0      FAILED

is wrong
  mistake in the trial: the session has no tool `f<ly>`
";
    assert_eq!(trials.to_string(), expected);
}

// M31
#[tokio::test]
async fn texts_of_a_model_are_escaped_in_the_table() {
    let table = hostile_trials().await.to_string();
    let hidden = |c: char| c != '\n' && crate::text::is_invisible(c);
    assert!(!table.contains(hidden), "{table:?}");
    assert!(table.contains("\\u{202e}"), "{table}");
}

// M31
#[tokio::test]
async fn junit_xml_is_well_formed_whatever_a_model_says() {
    let xml = hostile_trials().await.junit_xml();
    let document = roxmltree::Document::parse(&xml).expect("well-formed");
    let suite = document
        .root_element()
        .first_element_child()
        .expect("a suite");
    let attribute = |name| suite.attribute(name).unwrap_or_default();
    assert_eq!(attribute("name"), "a <\"front\"> & desk");
    let counts = ["tests", "failures", "errors", "skipped", "time"].map(attribute);
    assert_eq!(counts, ["3", "1", "1", "0", "4.500"]);

    let cases = suite
        .children()
        .filter(|child| child.has_tag_name("testcase"));
    let verdicts = cases
        .map(|case| {
            let verdict = case.first_element_child().expect("a child");
            let text = verdict.text().unwrap_or_default().to_owned();
            (
                case.attribute("name").expect("a name"),
                verdict.tag_name().name(),
                text,
            )
        })
        .collect::<Vec<_>>();
    let [passed, failed, wrong] = &verdicts[..] else {
        panic!("{xml}");
    };
    assert_eq!((passed.0, passed.1), ("passes", "system-out"));
    assert_eq!(
        passed.2,
        "1 of 1 runs passed, needed 100 %\n1200 tokens in, 90 tokens out, $0.000090"
    );
    assert_eq!(
        (failed.0, failed.1),
        ("fails ]]> <b>[31m\u{202e}\r\n\t& \"x\"", "failure")
    );
    assert_eq!(
        failed.2.lines().count(),
        2,
        "a line for each run: {}",
        failed.2
    );
    assert!(
        failed.2.contains("fails the check \"is <kind>\""),
        "{}",
        failed.2
    );
    assert_eq!((wrong.0, wrong.1), ("is wrong", "error"));
    assert_eq!(
        wrong.2,
        "mistake in the trial: the session has no tool `f<ly>`"
    );
}

// M31
#[tokio::test]
async fn junit_xml_is_written_to_a_new_folder() {
    let folder = std::env::temp_dir().join(format!("trials-{}", std::process::id()));
    let path = folder.join("reports/junit.xml");
    let trials = hostile_trials().await;
    trials.save_junit(&path).expect("written");
    let written = std::fs::read_to_string(&path).expect("there");
    std::fs::remove_dir_all(&folder).expect("removed");
    assert_eq!(written, trials.junit_xml());
}

#[tokio::test]
async fn a_failed_assertion_shows_the_table() {
    let outcome = after(booking().must_not_call(BOOK), &[(BOOK, json!({"room": 4}))]).await;
    let panic = std::panic::catch_unwind(|| outcome.assert_passed()).expect_err("it panics");
    let text = panic.downcast::<String>().expect("a text");
    assert!(text.starts_with("the trial failed\ntrial"), "{text}");
    assert!(
        text.contains("run 1: `book_in_trial_tests` must not be called"),
        "{text}"
    );
}
