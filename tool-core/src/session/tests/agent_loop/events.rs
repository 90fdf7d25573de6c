//! The events of a reply: their order, their JSON form, and what a slow reader or a lost one means.

use crate::call::mode::Mode;
use crate::call::tool_call::ToolCall;
use crate::call::{ProgressUpdate, RunContext, ToolError, ToolResponse};
use crate::registry::ToolContext;
use crate::session::agent_event::AgentEvent;
use crate::session::agent_stream::AgentStream;
use crate::session::decision::Decision;
use crate::session::fallback::FallbackModel;
use crate::session::guards::GuardedPart;
use crate::session::handle::Session;
use crate::session::history::History;
use crate::session::message::Message;
use crate::session::model::{Model, ModelRequest};
use crate::session::model_step::ModelStep;
use crate::session::policy::Policy;
use crate::session::reply::Reply;
use crate::session::reply_finish::ReplyFinish;
use crate::session::runtime::Runtime;
use crate::testing::scripted::ScriptedModel;
use crate::time::CallInstant;
use futures_util::{FutureExt, StreamExt};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::task::yield_now;
use tool_macros::tool;

/// Report some steps, and wait between them.
#[tool(name = "work_in_event_tests")]
async fn work(ctx: &RunContext, steps: u32, pauses: bool) -> u32 {
    for step in 1..=steps {
        ctx.update(format!("step {step}"));
        if pauses {
            yield_now().await;
        }
    }
    steps
}

/// Cancel a booking.
#[tool(name = "cancel_in_event_tests", confirm)]
async fn cancel(ctx: &RunContext, number: u32) -> String {
    ctx.update("looking it up");
    format!("booking {number} is cancelled")
}

/// Cancel a booking by another tool.
#[tool(name = "delegate_in_event_tests", confirm)]
async fn delegate(ctx: &RunContext) -> bool {
    let cancelled = ctx.call("cancel_in_event_tests", json!({"number": 12}));
    cancelled.await.is_ok()
}

/// Wait for ever.
#[tool(name = "hang_in_event_tests")]
async fn hang() {
    std::future::pending::<()>().await;
}

fn working(id: &str, steps: u32, pauses: bool) -> ToolCall {
    let arguments = json!({"steps": steps, "pauses": pauses});
    ToolCall::new(id, "work_in_event_tests", arguments)
}

fn cancelling(id: &str) -> ToolCall {
    ToolCall::new(id, "cancel_in_event_tests", json!({"number": 12}))
}

async fn session() -> Session {
    let tools = ToolContext::builder()
        .with(work)
        .with(cancel)
        .with(delegate)
        .with(hang)
        .build()
        .expect("builds");
    let policy = Policy::text().repeated_calls(None).max_tool_steps(100);
    let runtime = Runtime::builder(tools).policy(policy).build();
    let session = runtime.expect("builds").session("s-1", Mode::Text);
    session.await.expect("opens")
}

async fn events_of(model: &mut impl Model) -> Vec<AgentEvent> {
    let session = session().await;
    let mut history = History::new();
    let stream = session.reply_stream(model, &mut history, "Go");
    stream.collect().await
}

/// Returns the kind of an event, and its call.
fn line(event: &AgentEvent) -> String {
    let json = serde_json::to_value(event).expect("serialises");
    let kind = json["type"].as_str().unwrap_or_default().to_owned();
    match (event, event.call_id()) {
        (AgentEvent::Text { delta } | AgentEvent::Reasoning { delta }, _) => {
            format!("{kind} {delta}")
        }
        (AgentEvent::CallUpdate { message, .. }, Some(id)) => format!("{kind} {id} {message}"),
        (_, Some(id)) => format!("{kind} {id}"),
        (_, None) => kind,
    }
}

fn lines(events: &[AgentEvent]) -> Vec<String> {
    events.iter().map(line).collect()
}

/// Checks the order that the documentation of `AgentEvent` promises.
fn assert_ordered(events: &[AgentEvent]) {
    let told = lines(events);
    let count = |kind: &str| told.iter().filter(|line| line.as_str() == kind).count();
    assert_eq!((count("started"), count("finished")), (1, 1), "{told:#?}");
    assert_eq!(told.first().map(String::as_str), Some("started"));
    assert_eq!(told.last().map(String::as_str), Some("finished"));

    // The calls of the reply, and true for those that have a result.
    let mut calls = HashMap::new();
    let mut last_result = None;
    for (event, line) in events.iter().zip(&told) {
        let has_open_call = calls.values().any(|has_result| !has_result);
        match event {
            AgentEvent::Text { .. } | AgentEvent::Reasoning { .. } | AgentEvent::Usage { .. } => {
                assert!(!has_open_call, "{line} comes while a call runs: {told:#?}");
            }
            AgentEvent::CallBegun { call_id, .. } => {
                let earlier = calls.insert(call_id.clone(), false);
                assert_eq!(earlier, None, "{line} comes again: {told:#?}");
            }
            AgentEvent::CallUpdate { call_id, .. } => {
                assert_eq!(calls.get(call_id), Some(&false), "{line}: {told:#?}");
            }
            AgentEvent::CallResult { call_id, .. } => {
                let before = calls.insert(call_id.clone(), true);
                assert_eq!(before, Some(false), "{line}: {told:#?}");
                last_result = Some(call_id.clone());
                continue;
            }
            AgentEvent::ApprovalWanted(wanted) => {
                assert_eq!(last_result.as_ref(), Some(&wanted.call_id), "{told:#?}");
                continue;
            }
            AgentEvent::Finished { .. } => assert!(!has_open_call, "{told:#?}"),
            _ => {}
        }
        last_result = None;
    }
}

// M12
#[tokio::test]
async fn a_call_begins_reports_and_has_its_result() {
    let step = ModelStep {
        text: Some("Let me see.".into()),
        ..ModelStep::calls([working("c1", 2, true)])
    };
    let mut model = ScriptedModel::new().then(step).says("It is done.");
    let events = events_of(&mut model).await;
    assert_ordered(&events);
    let wanted = [
        "started",
        "text Let ",
        "text me ",
        "text see.",
        "usage",
        "call_begun c1",
        "call_update c1 step 1",
        "call_update c1 step 2",
        "call_result c1",
        "text It ",
        "text is ",
        "text done.",
        "usage",
        "finished",
    ];
    assert_eq!(lines(&events), wanted);
}

#[tokio::test]
async fn the_last_event_has_the_reply() {
    let mut model = ScriptedModel::new()
        .calls([working("c1", 1, false)])
        .says("Done.");
    let events = events_of(&mut model).await;
    let Some(AgentEvent::Finished { reply }) = events.last() else {
        panic!("no end: {events:?}");
    };
    assert_eq!(reply.text.as_deref(), Some("Done."));
    assert_eq!(reply.responses.len(), 1);
}

#[tokio::test]
async fn a_failed_model_ends_the_stream_with_its_error() {
    let mut model = ScriptedModel::new().fails(ToolError::transient("overloaded"));
    let events = events_of(&mut model).await;
    assert_eq!(lines(&events), ["started", "finished"]);
    let Some(AgentEvent::Finished { reply }) = events.last() else {
        panic!("no end: {events:?}");
    };
    assert_eq!(reply.finish, ReplyFinish::Failed);
    assert!(reply.error.is_some());
}

// M12
#[tokio::test]
async fn an_approval_is_wanted_right_after_its_result() {
    let mut model = ScriptedModel::new()
        .calls([cancelling("c1"), working("c2", 3, true)])
        .says("Shall I?");
    let events = events_of(&mut model).await;
    assert_ordered(&events);
    let wanted = events.iter().find_map(|event| match event {
        AgentEvent::ApprovalWanted(wanted) => Some(wanted),
        _ => None,
    });
    let wanted = wanted.expect("an approval");
    assert_eq!(wanted.call_id, "c1");
    assert_eq!(wanted.payload, r#"cancel_in_event_tests({"number":12})"#);
    assert!(!wanted.confirmation.token.is_empty());
}

/// Returns the events of a decision on a call that waits.
async fn decided(decide: impl FnOnce(String) -> Decision) -> Vec<AgentEvent> {
    decided_on(cancelling("c1"), decide).await
}

async fn decided_on(call: ToolCall, decide: impl FnOnce(String) -> Decision) -> Vec<AgentEvent> {
    let session = session().await;
    let asked = session.call(call).await;
    let token = asked.meta().confirmation().expect("waits").token.clone();
    let decision = decide(token);
    let stream = AgentStream::new(|events| async move {
        events.started("s-1", 0);
        let _ = session.decide(&decision, Some(&events)).await;
        Reply::default()
    });
    stream.collect().await
}

#[tokio::test]
async fn an_approved_call_has_events_of_its_own() {
    let events = decided(Decision::approve).await;
    assert_ordered(&events);
    let wanted = [
        "started",
        "call_begun c1",
        "call_update c1 looking it up",
        "call_result c1",
        "finished",
    ];
    assert_eq!(lines(&events), wanted);
}

#[tokio::test]
async fn an_approved_call_tells_which_approvals_it_wants() {
    let call = ToolCall::new("c1", "delegate_in_event_tests", "{}");
    let events = decided_on(call, Decision::approve).await;
    assert_ordered(&events);
    let wanted = [
        "started",
        "call_begun c1",
        "call_result c1",
        "approval_wanted c1",
        "finished",
    ];
    assert_eq!(lines(&events), wanted);
}

#[tokio::test]
async fn a_denied_call_has_a_result() {
    let events = decided(Decision::deny).await;
    assert_ordered(&events);
    let AgentEvent::CallResult { response, .. } = &events[2] else {
        panic!("no result: {events:?}");
    };
    let kind = response.error().map(|error| error.kind);
    assert_eq!(kind, Some(crate::call::ErrorKind::Denied));
}

#[tokio::test]
async fn a_decision_on_an_unknown_token_has_no_events() {
    let events = decided(|_| Decision::approve("unknown")).await;
    assert_eq!(lines(&events), ["started", "finished"]);
    let events = decided(|_| Decision::deny("unknown")).await;
    assert_eq!(lines(&events), ["started", "finished"]);
}

/// Says its pieces, and then a whole text.
struct Pieces(Vec<&'static str>);

impl Model for Pieces {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        let events = request.events.expect("a reader");
        events.reasoning("hm");
        for piece in &self.0 {
            events.text(*piece);
        }
        Ok(ModelStep::says("Good morning"))
    }
}

#[tokio::test]
async fn pieces_that_wait_are_joined() {
    let events = events_of(&mut Pieces(vec!["Good ", "", "morning"])).await;
    let wanted = [
        "started",
        "reasoning hm",
        "text Good morning",
        "usage",
        "finished",
    ];
    assert_eq!(lines(&events), wanted);
}

#[tokio::test]
async fn the_text_of_a_model_without_pieces_comes_whole() {
    let events = events_of(&mut Pieces(Vec::new())).await;
    assert_eq!(lines(&events)[2], "text Good morning");
}

/// Says half a sentence, and fails.
struct Stutters;

impl Model for Stutters {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        request.events.expect("a reader").text("I am ");
        Err(ToolError::transient("the connection broke"))
    }

    fn has_shown_output(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn the_text_of_the_next_model_comes_whole() {
    let spare = Pieces(Vec::new());
    let events = events_of(&mut FallbackModel::new(Stutters, spare).even_if_shown()).await;
    let wanted = ["text I am ", "reasoning hm", "text Good morning"];
    assert_eq!(lines(&events)[1..=3], wanted);
}

/// Speaks for ever, and counts its words.
struct Endless(Arc<AtomicUsize>);

impl Model for Endless {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        let events = request.events.expect("a reader");
        loop {
            self.0.fetch_add(1, Ordering::Relaxed);
            events.text("word ");
            events.taken().await;
        }
    }
}

// M12
#[tokio::test]
async fn a_slow_reader_slows_the_model() {
    let session = session().await;
    let said = Arc::<AtomicUsize>::default();
    let mut model = Endless(Arc::clone(&said));
    let mut history = History::new();
    let mut events = session.reply_stream(&mut model, &mut history, "Go");
    for _ in 0..10 {
        events.next().await.expect("an event");
        yield_now().await;
    }
    assert!(said.load(Ordering::Relaxed) <= 10);
}

#[tokio::test]
async fn old_updates_are_left_out_for_a_slow_reader() {
    let mut model = ScriptedModel::new()
        .calls([working("c1", 5_000, false)])
        .says("Done.");
    let events = events_of(&mut model).await;
    assert_ordered(&events);
    let told = lines(&events);
    let mut updates = told.iter().filter(|line| line.starts_with("call_update"));
    assert_eq!(updates.clone().count(), 1_000);
    let newest = updates.next_back().map(String::as_str);
    assert_eq!(newest, Some("call_update c1 step 5000"));
}

#[tokio::test]
async fn large_updates_are_bounded_by_their_bytes() {
    let stream = AgentStream::new(|events| async move {
        let call = events.begin(&working("c1", 1, false));
        let update = ProgressUpdate {
            message: "x".repeat(600 << 10),
            fraction: None,
            counted: None,
        };
        for _ in 0..3 {
            call.progress().expect("listens").show(&update);
        }
        Reply::default()
    });
    let events = stream.collect::<Vec<_>>().await;
    assert_eq!(
        lines(&events)[1].len(),
        "call_update c1 ".len() + (600 << 10)
    );
    assert_eq!(events.len(), 3, "the beginning, one update, the end");
}

#[tokio::test]
async fn an_update_after_the_result_is_left_out() {
    let stream = AgentStream::new(|events| async move {
        let call = working("c1", 1, false);
        let begun = events.begin(&call);
        let error = ToolError::timeout("too late");
        let response = ToolResponse::refused(&call, error, CallInstant::now());
        events.result(&call, &response, Vec::new());
        let update = ProgressUpdate {
            message: "late".into(),
            fraction: None,
            counted: None,
        };
        begun.progress().expect("listens").show(&update);
        Reply::default()
    });
    let events = stream.collect::<Vec<_>>().await;
    assert_eq!(
        lines(&events),
        ["call_begun c1", "call_result c1", "finished"]
    );
}

// M12
#[tokio::test]
async fn a_dropped_stream_leaves_one_result_for_each_call() {
    let session = session().await;
    let hanging = ToolCall::new("c2", "hang_in_event_tests", "{}");
    let mut model = ScriptedModel::new().calls([working("c1", 1, false), hanging]);
    let mut history = History::new();
    let mut events = session.reply_stream(&mut model, &mut history, "Go");
    while let Some(Some(_)) = events.next().now_or_never() {}
    drop(events);
    let results = history
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Result {
                call_id, result, ..
            } => Some((call_id.as_str(), result.is_error)),
            _ => None,
        });
    assert_eq!(results.collect::<Vec<_>>(), [("c1", false), ("c2", true)]);
}

#[tokio::test]
async fn each_event_satisfies_the_published_schema() {
    let validator = jsonschema::validator_for(&AgentEvent::json_schema()).expect("a schema");
    let mut model = ScriptedModel::new()
        .calls([cancelling("c1"), working("c2", 2, true)])
        .fails(ToolError::transient("overloaded"));
    let mut events = events_of(&mut model).await;
    events.push(AgentEvent::Reasoning { delta: "hm".into() });
    events.push(AgentEvent::Handoff {
        from: "desk".into(),
        to: "billing".into(),
    });
    events.push(AgentEvent::Blocked {
        part: GuardedPart::Answer,
        message: "I may not say that.".into(),
    });
    let response = ToolResponse::refused(
        &working("c3", 1, false),
        ToolError::permanent("no"),
        CallInstant::now(),
    );
    events.push(AgentEvent::LateAnswer {
        call_id: "c3".into(),
        is_end: true,
        response: Box::new(response),
    });
    for event in &events {
        let json = serde_json::to_value(event).expect("serialises");
        let problems = validator.iter_errors(&json).map(|error| error.to_string());
        assert_eq!(problems.collect::<Vec<_>>(), Vec::<String>::new(), "{json}");
        assert!(
            !validator.is_valid(&json!({"type": json["type"]})),
            "{json}"
        );
    }
}

#[tokio::test]
async fn an_event_is_read_back_from_its_json() {
    let mut model = ScriptedModel::new()
        .calls([cancelling("c1"), working("c2", 2, true)])
        .says("Shall I?");
    for event in events_of(&mut model).await {
        let json = serde_json::to_string(&event).expect("serialises");
        let back = serde_json::from_str::<AgentEvent>(&json).expect("is read");
        assert_eq!(serde_json::to_string(&back).expect("serialises"), json);
    }
}

#[tokio::test]
async fn the_json_of_a_failure_has_no_internal_text() {
    let secret = "the provider answered 401: host db-17, key sk-1";
    let mut model = ScriptedModel::new().fails(ToolError::auth(secret));
    let events = events_of(&mut model).await;
    let last = events.last().expect("an end");
    let AgentEvent::Finished { reply } = last else {
        panic!("expected the end, got {last:?}");
    };
    let error = reply.error.as_ref().expect("an error");
    assert_eq!(error.message, secret, "the host reads all of it");

    let json = serde_json::to_value(last).expect("serialises");
    let message = "the assistant cannot answer; tell its operator";
    assert_eq!(json["reply"]["error"]["message"], message);
    assert_eq!(json["reply"]["error"]["type"], "AUTH");
}

/// Returns a step of a model: a text, calls, or both, some of which fail.
fn step() -> impl Strategy<Value = ModelStep> {
    let call = (0..6_u32, any::<bool>(), 0..4_u8).prop_map(|(steps, pauses, kind)| match kind {
        0 => cancelling("same"),
        1 => ToolCall::new("", "unknown", "{}"),
        2 => ToolCall::new("same", "work_in_event_tests", "{oops"),
        _ => working("", steps, pauses),
    });
    let finish = prop_oneof![
        4 => Just(ReplyFinish::Complete),
        1 => Just(ReplyFinish::Length),
        1 => Just(ReplyFinish::Paused),
    ];
    (vec(call, 0..4), any::<Option<bool>>(), finish).prop_map(|(calls, says, finish)| ModelStep {
        text: says.map(|is_long| if is_long { "a longer text" } else { "text" }.to_owned()),
        calls,
        finish,
        ..ModelStep::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn events_of_any_reply_are_ordered(steps in vec(step(), 0..6)) {
        let mut model = ScriptedModel::new();
        for step in steps {
            model = model.then(step);
        }
        let mut model = model.fails(ToolError::transient("the end")).fails(ToolError::transient("the end"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let events = runtime.block_on(events_of(&mut model));
        assert_ordered(&events);
    }
}
