//! Questions of tools to the user, in the middle of a call.

use crate::support::{Counter, OnDrop, asked, call, kind, message, runtime, text, tools};
use futures_util::future::{join_all, pending};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tool_core::call::{Answer, AskError, Question, RawQuestion};
use tool_core::session::{CapScope, HookedCall, Next};
use tool_core::{
    ErrorKind, Mode, Policy, RunContext, Runtime, Session, ToolError, ToolResponse, tool,
    tool_type, toolset,
};

/// A seat.
#[tool_type]
#[derive(Debug, PartialEq)]
struct Seat {
    /// The row.
    row: u8,
    side: Side,
    note: Option<String>,
}

#[tool_type]
#[derive(Debug, PartialEq)]
enum Side {
    Window,
    Aisle,
}

/// Book a seat.
#[tool(category = "action")]
async fn book(ctx: &RunContext) -> Result<String, ToolError> {
    let seat = ctx
        .ask::<Seat>("Which seat would you like?")
        .await?
        .required()?;
    Ok(format!("{} {:?} {:?}", seat.row, seat.side, seat.note))
}

/// Ask for a yes.
#[tool]
async fn agree(ctx: &RunContext, message: String) -> Result<bool, ToolError> {
    Ok(ctx.ask::<bool>(message).await? == Answer::Accepted(true))
}

/// Ask for a yes, and go on working.
#[tool(timeout = "30s")]
async fn agree_and_work(ctx: &RunContext, seconds: u64) -> Result<u64, ToolError> {
    sleep(Duration::from_secs(10)).await;
    ctx.ask::<bool>("Go on?").await?;
    let left = ctx.deadline().map(|at| at - Instant::now().into_std());
    sleep(Duration::from_secs(seconds)).await;
    Ok(left.unwrap_or_default().as_secs())
}

/// Ask for a yes for a second.
#[tool]
async fn agree_soon(ctx: &RunContext) -> Result<bool, ToolError> {
    Ok(ctx
        .ask::<bool>("Quick?")
        .within(Duration::from_secs(1))
        .await?
        == Answer::Accepted(true))
}

/// Ask in a task of its own.
#[tool(timeout = "30s")]
async fn agree_in_a_task(ctx: RunContext) -> Result<bool, ToolError> {
    let asking = ctx.clone();
    let task = ctx.spawn(async move { asking.ask::<bool>("Go on?").await });
    let answer = task.await??;
    pending::<()>().await;
    Ok(answer == Answer::Accepted(true))
}

/// Ask by another tool.
#[tool(timeout = "20s")]
async fn agree_by_another(ctx: &RunContext) -> Result<bool, ToolError> {
    let response = ctx.call("agree", json!({"message": "Nested?"})).await;
    Ok(response.data::<bool>()?)
}

/// Ask on a thread.
#[tool(blocking)]
fn agree_on_a_thread(ctx: &RunContext) -> Result<bool, ToolError> {
    Ok(ctx.ask::<bool>("Go on?").blocking()? == Answer::Accepted(true))
}

/// Ask many questions.
#[tool]
async fn ask_many(ctx: &RunContext, questions: u32) -> Result<u32, ToolError> {
    let mut answered = 0;
    for _ in 0..questions {
        match ctx.ask::<bool>("One more?").await {
            Ok(_) => answered += 1,
            Err(AskError::TooMany(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(answered)
}

#[expect(clippy::unnecessary_wraps, reason = "a handler may fail")]
fn yes() -> Result<Answer<Value>, AskError> {
    Ok(Answer::Accepted(json!({"answer": true})))
}

fn all_tools() -> tool_core::ToolContext {
    tools![
        book,
        agree,
        agree_and_work,
        agree_soon,
        agree_in_a_task,
        agree_by_another,
        agree_on_a_thread,
        ask_many,
    ]
}

/// Opens a session whose user answers like this.
async fn answered<A>(
    policy: Policy,
    answer: impl Fn(Question) -> A + Send + Sync + 'static,
) -> Session
where
    A: Future<Output = Result<Answer<Value>, AskError>> + Send + 'static,
{
    runtime(all_tools(), policy)
        .session("s-1", Mode::Text)
        .on_question(answer)
        .await
        .expect("a session")
}

/// Opens a session whose user accepts after this time.
async fn thoughtful(seconds: u64, policy: Policy) -> Session {
    answered(policy, move |_| async move {
        sleep(Duration::from_secs(seconds)).await;
        yes()
    })
    .await
}

/// Opens a session whose user never answers. Counts the questions that are shown, and those that are taken away.
async fn silent(policy: Policy) -> (Session, Counter, Counter, Arc<Notify>) {
    let (shown, removed, asked) = (
        Counter::default(),
        Counter::default(),
        Arc::new(Notify::new()),
    );
    let (counts, ends, notify) = (shown.clone(), removed.clone(), Arc::clone(&asked));
    let session = answered(policy, move |_| {
        counts.add();
        notify.notify_one();
        let shown = OnDrop(ends.clone());
        async move {
            let _shown = shown;
            pending().await
        }
    });
    (session.await, shown, removed, asked)
}

async fn book_with(answer: Value) -> ToolResponse {
    let session = answered(Policy::text(), move |_| {
        std::future::ready(Ok(Answer::Accepted(answer.clone())))
    })
    .await;
    call(&session, "book", json!({})).await
}

// R-Q1
#[tokio::test]
async fn accepted_answer_is_decoded() {
    let response = book_with(json!({"row": 12, "side": "Window", "note": "near the exit"})).await;
    assert_eq!(
        response.data_json(),
        Some(r#""12 Window Some(\"near the exit\")""#)
    );
    let response = book_with(json!({"row": 12, "side": "Aisle"})).await;
    assert_eq!(response.data_json(), Some(r#""12 Aisle None""#));
}

// R-Q1
#[tokio::test]
async fn handler_gets_the_call_and_the_form() {
    let seen = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&seen);
    let session = answered(Policy::text(), move |question| {
        *keep.lock().expect("whole") = Some(question);
        std::future::ready(Ok(Answer::Declined))
    })
    .await;
    let response = session
        .call(tool_core::ToolCall::new("call_7", "book", "{}"))
        .await;
    assert_eq!(kind(&response), Some(ErrorKind::Denied));
    let question = seen.lock().expect("whole").take().expect("a question");
    let origin = (
        question.session.as_str(),
        question.call_id.as_str(),
        question.tool.as_str(),
    );
    assert_eq!(origin, ("s-1", "call_7", "book"));
    assert_eq!(question.message, "Which seat would you like?");
    let form = json!({
        "type": "object",
        "properties": {
            "row": {"type": "integer", "description": "The row.", "minimum": 0, "maximum": 255},
            "side": {"type": "string", "enum": ["Window", "Aisle"]},
            "note": {"type": "string"}
        },
        "required": ["row", "side"]
    });
    assert_eq!(question.schema, form);
}

// R-Q1
#[tokio::test]
async fn declined_and_cancelled_answers_are_told_apart() {
    for (answer, expected) in [
        (Answer::Declined, ErrorKind::Denied),
        (Answer::Cancelled, ErrorKind::Cancelled),
    ] {
        let session = answered(Policy::text(), move |_| {
            std::future::ready(Ok(answer.clone()))
        })
        .await;
        assert_eq!(
            kind(&call(&session, "book", json!({})).await),
            Some(expected)
        );
        let agreed = call(&session, "agree", json!({"message": "Go on?"})).await;
        assert_eq!(agreed.data_json(), Some("false"));
    }
}

// R-Q2
#[tokio::test]
async fn question_without_a_handler_fails_at_once() {
    let session = text(all_tools(), Policy::text()).await;
    let response = call(&session, "book", json!({})).await;
    assert_eq!(kind(&response), Some(ErrorKind::Permanent));
    assert!(
        message(&response).contains("on_question")
            && message(&response).contains("ask in the conversation")
    );
    let bare = all_tools()
        .call("book", "{}", &RunContext::detached())
        .await;
    assert!(
        message(&bare).contains("outside of a session"),
        "{}",
        message(&bare)
    );
}

// R-Q2
#[tokio::test]
async fn nearest_handler_answers() {
    let answers = |answer: bool| {
        move |_: Question| std::future::ready(Ok(Answer::Accepted(json!({"answer": answer}))))
    };
    let runtime = Runtime::builder(all_tools())
        .on_question(answers(true))
        .build()
        .expect("a runtime");
    let session = runtime.session("s-1", Mode::Text).await.expect("a session");
    let agree = |message: &str| asked("agree", json!({"message": message}));
    assert_eq!(session.call(agree("one")).await.data_json(), Some("true"));
    let other = runtime
        .session("s-2", Mode::Text)
        .on_question(answers(false))
        .await
        .expect("a session");
    assert_eq!(other.call(agree("one")).await.data_json(), Some("false"));
    assert_eq!(
        session
            .call(agree("two").on_question(answers(false)))
            .await
            .data_json(),
        Some("false")
    );
    let nested = asked("agree_by_another", json!({})).on_question(answers(false));
    assert_eq!(
        session.call(nested).await.data_json(),
        Some("false"),
        "the calls that it makes, too"
    );
    let ctx = RunContext::builder().on_question(answers(true)).build();
    let bare = all_tools()
        .call("agree", r#"{"message": "bare"}"#, &ctx)
        .await;
    assert_eq!(bare.data_json(), Some("true"));
}

// R-Q3
#[tokio::test(start_paused = true)]
async fn time_of_the_user_is_no_time_of_the_call() {
    let session = thoughtful(
        240,
        Policy::text().warn_after(Some(Duration::from_secs(30))),
    )
    .await;
    let response = call(&session, "agree_and_work", json!({"seconds": 19})).await;
    assert_eq!(
        response.data_json(),
        Some("20"),
        "the deadline of 30 s moves: {response:?}"
    );
    assert_eq!(response.meta().duration().as_secs(), 29);
    assert_eq!(response.meta().warnings().len(), 0);
}

// R-Q3
#[tokio::test(start_paused = true)]
async fn work_after_an_answer_has_the_rest_of_the_deadline() {
    let session = thoughtful(240, Policy::text()).await;
    let began = Instant::now();
    let response = call(&session, "agree_and_work", json!({"seconds": 21})).await;
    assert_eq!(kind(&response), Some(ErrorKind::Timeout));
    assert_eq!(began.elapsed().as_secs(), 270);
    assert!(
        message(&response).contains("after 30000 ms"),
        "{}",
        message(&response)
    );
}

// R-Q3
#[tokio::test(start_paused = true)]
async fn question_of_a_task_moves_the_deadline() {
    let session = thoughtful(100, Policy::text()).await;
    let began = Instant::now();
    let response = call(&session, "agree_in_a_task", json!({})).await;
    assert_eq!(kind(&response), Some(ErrorKind::Timeout));
    assert_eq!(began.elapsed().as_secs(), 130);
}

// R-Q3
#[tokio::test(start_paused = true)]
async fn question_of_a_nested_call_moves_both_deadlines() {
    let session = thoughtful(200, Policy::text()).await;
    assert_eq!(
        call(&session, "agree_by_another", json!({}))
            .await
            .data_json(),
        Some("true")
    );
}

// R-Q3
#[tokio::test(start_paused = true)]
async fn hook_around_a_question_waits_as_long() {
    let runtime = Runtime::builder(all_tools()).on_question(async |_: Question| {
        sleep(Duration::from_secs(200)).await;
        yes()
    });
    let runtime = runtime
        .around(async |_: HookedCall<'_>, next: Next<'_>| next.run().await)
        .build()
        .expect("a runtime");
    let session = runtime.session("s-1", Mode::Text).await.expect("a session");
    assert_eq!(
        call(&session, "agree", json!({"message": "Go on?"}))
            .await
            .data_json(),
        Some("true")
    );
}

// R-Q3
#[tokio::test(start_paused = true)]
async fn cap_on_time_leaves_out_the_user() {
    let policy = Policy::text().max_time(CapScope::Session, Some(Duration::from_secs(60)));
    let session = thoughtful(200, policy).await;
    for _ in 0..2 {
        let response = call(&session, "agree_and_work", json!({"seconds": 5})).await;
        assert!(response.is_ok(), "15 s each: {response:?}");
    }
}

// R-Q4
#[tokio::test(start_paused = true)]
async fn user_has_five_minutes_for_an_answer() {
    let (session, shown, removed, _) = silent(Policy::text()).await;
    let began = Instant::now();
    let response = call(&session, "book", json!({})).await;
    assert_eq!(kind(&response), Some(ErrorKind::Timeout));
    assert_eq!(
        (began.elapsed().as_secs(), shown.get(), removed.get()),
        (300, 1, 1)
    );
    let began = Instant::now();
    let response = call(&session, "agree_soon", json!({})).await;
    assert!(
        message(&response).contains("did not answer within 1 s"),
        "{}",
        message(&response)
    );
    assert_eq!(began.elapsed().as_secs(), 1);
}

// R-Q4
#[tokio::test(start_paused = true)]
async fn policy_sets_the_time_for_an_answer() {
    let (session, ..) = silent(Policy::text().question_timeout(Duration::from_secs(7))).await;
    let began = Instant::now();
    call(&session, "book", json!({})).await;
    assert_eq!(began.elapsed().as_secs(), 7);
}

// R-Q4
#[tokio::test]
async fn cancelled_call_takes_its_question_away() {
    let (session, _, removed, shown) = silent(Policy::text()).await;
    let book = asked("book", json!({}));
    let id = book.id().to_owned();
    let (response, ()) = tokio::join!(session.call(book), async {
        shown.notified().await;
        assert!(session.cancel(&id));
    });
    assert_eq!(
        (kind(&response), removed.get()),
        (Some(ErrorKind::Cancelled), 1)
    );
}

// R-Q4
#[tokio::test]
async fn end_of_the_session_takes_its_questions_away() {
    for tool in ["book", "agree_by_another", "agree_on_a_thread"] {
        let (session, _, removed, shown) = silent(Policy::text()).await;
        let (response, ()) = tokio::join!(session.call(asked(tool, json!({}))), async {
            shown.notified().await;
            session.end().await;
        });
        assert!(!response.is_ok(), "{tool}: {response:?}");
        while removed.get() == 0 {
            tokio::task::yield_now().await;
        }
    }
}

/// A task that asks, with the context of the call that started it.
type AskingTask = (RunContext, JoinHandle<Result<Answer<bool>, AskError>>);

/// Leaves a task behind that asks.
struct Leaver {
    asked: Arc<Notify>,
    left: Mutex<Option<AskingTask>>,
}

#[toolset(name = "leaver_in_questions")]
impl Leaver {
    /// Leave a question behind.
    #[tool(name = "leave")]
    async fn leave(&self, ctx: RunContext) {
        let asking = ctx.clone();
        let task = ctx.spawn(async move { asking.ask::<bool>("Still there?").await });
        self.asked.notified().await;
        *self.left.lock().expect("whole") = Some((ctx, task));
    }
}

// R-Q4
#[tokio::test]
async fn call_that_has_ended_asks_nothing() {
    let asked = Arc::new(Notify::new());
    let leaver = Arc::new(Leaver {
        asked: Arc::clone(&asked),
        left: Mutex::default(),
    });
    let counts = Counter::default();
    let counted = counts.clone();
    let silent = move |_: Question| {
        counted.add();
        asked.notify_one();
        pending()
    };
    let session = runtime(tools![Arc::clone(&leaver)], Policy::text())
        .session("s-1", Mode::Text)
        .on_question(silent);
    let session = session.await.expect("a session");
    assert!(call(&session, "leave", json!({})).await.is_ok());
    let (ctx, task) = leaver
        .left
        .lock()
        .expect("whole")
        .take()
        .expect("it has asked");
    assert!(matches!(
        task.await.expect("no panic"),
        Err(AskError::Ended)
    ));
    assert!(matches!(
        ctx.ask::<bool>("And now?").await,
        Err(AskError::Ended)
    ));
    assert_eq!(counts.get(), 1, "the second was not shown");
}

// R-Q5
#[tokio::test]
async fn questions_of_a_call_are_bounded() {
    let session = answered(Policy::text(), |_| std::future::ready(yes())).await;
    let response = call(&session, "ask_many", json!({"questions": 1_000})).await;
    assert_eq!(response.data_json(), Some("8"));
}

// R-Q5
#[tokio::test]
async fn questions_that_wait_are_bounded_and_kept() {
    let (session, shown, removed, _) =
        silent(Policy::text().concurrent_calls(2_000).max_step_calls(2_000)).await;
    let calls = (0..1_000).map(|number| {
        let session = session.clone();
        async move { call(&session, "agree", json!({"message": number.to_string()})).await }
    });
    let calls = tokio::spawn(join_all(calls.collect::<Vec<_>>()));
    while shown.get() < 16 {
        tokio::task::yield_now().await;
    }
    let refused = call(&session, "book", json!({})).await;
    assert_eq!(kind(&refused), Some(ErrorKind::BudgetExceeded));
    assert_eq!((shown.get(), removed.get()), (16, 0));
    session.end().await;
    let responses = calls.await.expect("no panic");
    let full = responses
        .iter()
        .filter(|response| kind(response) == Some(ErrorKind::BudgetExceeded))
        .count();
    assert_eq!((full, removed.get()), (984, 16));
}

// R-Q6
#[tokio::test]
async fn answer_that_does_not_fit_is_refused_with_every_problem() {
    let response = book_with(json!({"row": 300, "side": "Left", "admin": true})).await;
    assert_eq!(kind(&response), Some(ErrorKind::Transient));
    let text = message(&response);
    assert!(
        ["/row", "/side", "/admin"]
            .iter()
            .all(|place| text.contains(place)),
        "{text}"
    );
    let hostile = [
        json!({}),
        json!([]),
        json!(null),
        json!("x"),
        json!({"row": "x".repeat(100_000), "side": "Aisle"}),
    ];
    for answer in hostile {
        let response = book_with(answer).await;
        assert_eq!(
            kind(&response),
            Some(ErrorKind::Transient),
            "{}",
            message(&response)
        );
        assert!(message(&response).len() < 5_000);
    }
    let deep = |_| {
        std::future::ready(Ok(Answer::Accepted(
            (0..100_000).fold(json!(1), |inner, _| Value::Array(vec![inner])),
        )))
    };
    let response = call(&answered(Policy::text(), deep).await, "book", json!({})).await;
    assert_eq!(
        kind(&response),
        Some(ErrorKind::Transient),
        "{}",
        message(&response)
    );
}

// R-Q6
#[tokio::test]
async fn type_without_a_form_is_refused_with_every_field() {
    #[tool_type]
    struct Party {
        names: Vec<String>,
        seat: Seat,
        count: u8,
    }
    /// Invite.
    #[tool]
    async fn invite(ctx: &RunContext) -> Result<String, String> {
        match ctx.ask::<Party>("Who?").await {
            Err(AskError::InvalidForm(problems)) => {
                Ok(problems.iter().map(ToString::to_string).collect())
            }
            _ => Err("expected an invalid form".to_owned()),
        }
    }
    let ctx = RunContext::builder()
        .on_question(async |_: Question| yes())
        .build();
    let response = tools![invite].call("invite", "{}", &ctx).await;
    let text = response.data::<String>().expect("a text");
    assert!(
        text.contains("/names") && text.contains("a list") && text.contains("/seat"),
        "{text}"
    );
    assert!(!text.contains("/count"), "{text}");
}

// R-Q6
#[tokio::test]
async fn message_hides_no_character_and_is_bounded() {
    let seen = Arc::new(Mutex::new(String::new()));
    let keep = Arc::clone(&seen);
    let session = answered(Policy::text().repeated_calls(None), move |question| {
        *keep.lock().expect("whole") = question.message;
        std::future::ready(yes())
    })
    .await;
    let hidden = "\u{202e}\u{200b}\u{7}\n\u{e0041}\u{feff}";
    call(
        &session,
        "agree",
        json!({"message": format!("Pay{hidden}?")}),
    )
    .await;
    let shown = std::mem::take(&mut *seen.lock().expect("whole"));
    assert!(
        shown.starts_with("Pay") && shown.is_ascii() && !shown.contains(char::is_control),
        "{shown:?}"
    );
    call(&session, "agree", json!({"message": "x".repeat(500_000)})).await;
    assert_eq!(seen.lock().expect("whole").chars().count(), 2_003);
}

// R-Q2
#[tokio::test]
async fn handler_that_fails_is_an_internal_error() {
    let panics = answered(Policy::text(), |_| async { panic!("canary-of-a-handler") }).await;
    let fails = answered(Policy::text(), |_| async {
        Err(AskError::failed("canary-of-a-handler"))
    })
    .await;
    for session in [panics, fails] {
        let response = call(&session, "book", json!({})).await;
        assert_eq!(kind(&response), Some(ErrorKind::Internal));
        assert!(!format!("{response:?}").contains("canary"));
        assert_eq!(
            kind(&call(&session, "ask_many", json!({"questions": 0})).await),
            None,
            "the session goes on"
        );
    }
}

// R-Q3
#[tokio::test]
async fn blocking_tool_asks_on_its_thread() {
    let session = answered(Policy::text(), |_| std::future::ready(yes())).await;
    assert_eq!(
        call(&session, "agree_on_a_thread", json!({}))
            .await
            .data_json(),
        Some("true")
    );
}

// R-Q1
#[tokio::test]
async fn list_of_choices_is_a_field() {
    #[tool_type]
    struct Meals {
        sides: Vec<Side>,
    }
    /// Choose.
    #[tool]
    async fn choose(ctx: &RunContext) -> Result<usize, ToolError> {
        Ok(ctx
            .ask::<Meals>("Which sides?")
            .await?
            .required()?
            .sides
            .len())
    }
    let ctx = RunContext::builder().on_question(async |question: Question| {
        let items = json!({"type": "string", "enum": ["Window", "Aisle"]});
        assert_eq!(
            question.schema["properties"]["sides"],
            json!({"type": "array", "items": items})
        );
        Ok(Answer::Accepted(json!({"sides": ["Window", "Aisle"]})))
    });
    assert_eq!(
        tools![choose]
            .call("choose", "{}", &ctx.build())
            .await
            .data_json(),
        Some("2")
    );
}

/// Fill in a form.
#[tool]
async fn fill_in(ctx: &RunContext, form: Value) -> Result<Value, ToolError> {
    ctx.ask_raw(RawQuestion::form("Please", form))
        .named("details")
        .await?
        .required()
}

async fn filled(form: Value, answer: Value) -> ToolResponse {
    let handler = move |question: Question| {
        assert_eq!(question.key.as_deref(), Some("details"));
        std::future::ready(Ok(Answer::Accepted(answer.clone())))
    };
    let ctx = RunContext::builder().on_question(handler).build();
    tools![fill_in]
        .call("fill_in", json!({"form": form}), &ctx)
        .await
}

// R-Q6
#[tokio::test]
async fn form_that_is_known_at_run_time_is_enforced() {
    let titled = json!([{"const": "v", "title": "Vegetarian"}, {"const": "f", "title": "Fish"}]);
    let form = json!({"type": "object", "properties": {
        "meal": {"type": "string", "oneOf": titled},
        "sides": {"type": "array", "items": {"anyOf": titled}},
        "old": {"type": "string", "enum": ["a"], "enumNames": ["A"]},
    }, "required": ["meal"]});
    let fits = filled(
        form.clone(),
        json!({"meal": "f", "sides": ["v"], "old": "a"}),
    )
    .await;
    assert!(fits.is_ok(), "{fits:?}");
    for answer in [
        json!({"meal": "x"}),
        json!({}),
        json!({"meal": "f", "admin": true}),
        json!({"meal": "f", "old": 1}),
    ] {
        assert_eq!(
            kind(&filled(form.clone(), answer).await),
            Some(ErrorKind::Transient)
        );
    }
}

// R-Q6
#[tokio::test]
async fn field_that_is_left_out_has_the_default_of_the_form() {
    let form = json!({"type": "object", "properties": {
        "name": {"type": "string", "default": "John"},
        "age": {"type": "integer", "default": 30},
        "note": {"type": "string"},
    }, "required": ["age"]});
    let answer = filled(form, json!({"name": "Ann"})).await;
    let data = answer.data_json().map(serde_json::from_str::<Value>);
    assert_eq!(
        data.expect("data").expect("JSON"),
        json!({"name": "Ann", "age": 30})
    );
}

// R-Q6
#[tokio::test]
async fn schema_that_is_no_form_is_refused() {
    let with = |property: Value| json!({"type": "object", "properties": {"x": property}});
    let forms = [
        json!({"type": "string"}),
        with(json!({"type": "object"})),
        with(json!({"type": "array", "items": {"type": "string"}})),
        with(json!({"type": "array", "items": {"enum": [1]}})),
        with(json!({"type": "string", "enum": [1]})),
        with(json!({"oneOf": [{"const": 1}]})),
    ];
    for form in forms {
        assert_eq!(
            kind(&filled(form.clone(), json!({"x": "a"})).await),
            Some(ErrorKind::Internal),
            "{form}"
        );
    }
}
