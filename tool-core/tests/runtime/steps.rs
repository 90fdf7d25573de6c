//! The calls of one step: order, ids, interruptions, sequential tools and the concurrency limit. L22

use crate::support::{asked, call, kind, text, tools};
use crate::support_b::{Log, answer, begin, ms};
use serde_json::json;
use std::collections::HashSet;
use tool_core::session::{History, Message};
use tool_core::testing::ScriptedModel;
use tool_core::{ErrorKind, Policy, RunContext, Session, ToolCall, ToolResponse, tool, toolset};

#[derive(Clone, Default)]
struct Plant {
    log: Log,
}

#[toolset(discover = false)]
impl Plant {
    /// Work for so long.
    #[tool]
    async fn work(&self, name: String, #[arg(default = 100)] millis: u64) -> String {
        self.log.work(&name, millis).await;
        name
    }

    /// Work for so long, with nothing beside it.
    #[tool(sequential)]
    async fn alone(&self, name: String) -> String {
        self.log.work(&name, 100).await;
        name
    }

    /// Done before anybody looks.
    #[tool(category = "action")]
    fn stamp(&self, name: String) -> String {
        self.log.add(format!("{name} stamped"));
        name
    }

    /// Work that has to be finished.
    #[tool]
    async fn finish(&self, ctx: &RunContext, name: String) -> String {
        ctx.disallow_interruptions();
        self.log.work(&name, 100).await;
        name
    }
}

/// The same tools without a sequential one.
#[tool]
async fn wait(millis: u64) -> u64 {
    ms(millis).await;
    millis
}

async fn plant(policy: Policy) -> (Session, Plant) {
    let plant = Plant::default();
    (text(tools![plant.clone()], policy).await, plant)
}

// R-B2
#[tokio::test]
async fn calls_of_a_step_are_bounded() {
    let (session, plant) = plant(Policy::text()).await;
    let calls = (0..20_000)
        .map(|n| ToolCall::new(format!("c{n}"), "stamp", json!({"name": n.to_string()})));
    let responses = session.call_all(calls).await;
    let ids = responses
        .iter()
        .map(|response| response.meta().call_id().unwrap_or_default())
        .collect::<HashSet<_>>();
    assert_eq!(
        (ids.len(), responses.len(), plant.log.all().len()),
        (20_000, 20_000, 128)
    );
    assert!(responses[..128].iter().all(ToolResponse::is_ok));
    for beyond in &responses[128..] {
        let error = beyond.error().expect("an error");
        assert_eq!(
            (error.kind, error.retryable, error.partial_side_effects),
            (ErrorKind::BudgetExceeded, false, false)
        );
    }
    assert!(
        responses[128]
            .error()
            .expect("an error")
            .message
            .contains("128 calls that one step may make")
    );
    assert_eq!(session.metrics().total_calls, 20_000);
}

// L22, R-B2
#[tokio::test]
async fn calls_of_a_models_step_are_bounded_and_answered() {
    let (session, plant) = plant(Policy::text().max_step_calls(3)).await;
    let calls = (0..10).map(|n| ToolCall::new("", "stamp", json!({"name": n.to_string()})));
    let mut model = ScriptedModel::new().calls(calls).says("done");
    let mut history = History::new();
    let reply = session.reply(&mut model, &mut history, "stamp").await;
    assert_eq!(
        (plant.log.all().len(), reply.text.as_deref()),
        (3, Some("done"))
    );
    let results = history
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Result { call_id, .. } => Some(call_id.as_str()),
            _ => None,
        });
    assert_eq!(results.collect::<HashSet<_>>().len(), 10);
}

fn work(id: &str, name: &str, millis: u64) -> ToolCall {
    ToolCall::new(id, "work", json!({"name": name, "millis": millis}))
}

fn ids(answers: &[ToolResponse]) -> Vec<&str> {
    answers
        .iter()
        .map(|answer| answer.meta().call_id().unwrap_or_default())
        .collect()
}

/// Starts the calls of a step in the background.
async fn step(
    session: &Session,
    calls: Vec<ToolCall>,
) -> tokio::task::JoinHandle<Vec<ToolResponse>> {
    let session = session.clone();
    let task = tokio::spawn(async move { session.call_all(calls).await });
    ms(1).await;
    task
}

// L22
#[tokio::test(start_paused = true)]
async fn answers_come_in_the_order_of_the_calls() {
    let (session, _plant) = plant(Policy::text()).await;
    let answers = session
        .call_all([
            work("a", "slow", 300),
            work("b", "quick", 1),
            work("c", "middling", 50),
        ])
        .await;
    assert_eq!(ids(&answers), ["a", "b", "c"]);
}

// L22
#[tokio::test(start_paused = true)]
async fn calls_of_a_step_run_concurrently() {
    let (session, plant) = plant(Policy::text()).await;
    session
        .call_all([work("a", "one", 100), work("b", "two", 50)])
        .await;
    assert_eq!(
        plant.log.all(),
        ["one begins", "two begins", "two ends", "one ends"]
    );
}

// L22
#[tokio::test(start_paused = true)]
async fn empty_step_has_no_responses() {
    let (session, _plant) = plant(Policy::text()).await;
    assert!(session.call_all([]).await.is_empty());
}

// L22
#[tokio::test(start_paused = true)]
async fn every_call_of_a_step_is_answered() {
    let (session, _plant) = plant(Policy::text()).await;
    let calls = [
        ToolCall::new("a", "nowhere", "{}"),
        ToolCall::new("b", "work", "[]"),
        work("c", "sound", 1),
    ];
    let answers = session.call_all(calls).await;
    assert_eq!(ids(&answers), ["a", "b", "c"]);
    let kinds = answers.iter().map(kind).collect::<Vec<_>>();
    assert_eq!(
        kinds,
        [Some(ErrorKind::NotFound), Some(ErrorKind::Validation), None]
    );
}

// L22
#[tokio::test(start_paused = true)]
async fn repeated_delivery_of_a_call_runs_once() {
    let (session, plant) = plant(Policy::text()).await;
    let again = ToolCall::new("a", "work", r#"{ "millis": 5e0, "name": "one" }"#);
    let answers = session
        .call_all([work("a", "one", 5), again, work("b", "two", 1)])
        .await;
    assert_eq!(ids(&answers), ["a", "b"]);
    assert!(answers[0].meta().warnings().is_empty());
    assert_eq!(plant.log.all().len(), 4);
}

// L22
#[tokio::test(start_paused = true)]
async fn different_call_under_a_used_id_is_refused() {
    let (session, plant) = plant(Policy::text()).await;
    let answers = session
        .call_all([work("a", "one", 1), work("a", "two", 1)])
        .await;
    assert_eq!(ids(&answers), ["a"]);
    assert!(
        answers[0].meta().warnings().join(" ").contains("`a`"),
        "{}",
        answers[0]
    );
    assert_eq!(plant.log.all(), ["one begins", "one ends"]);
}

// L22
#[tokio::test(start_paused = true)]
async fn calls_without_ids_receive_ids() {
    let (session, _plant) = plant(Policy::text()).await;
    let answers = session
        .call_all([work("", "one", 1), work("", "two", 1)])
        .await;
    let ids = ids(&answers);
    let sound = |id: &&str| {
        id.len() == 37 && id.starts_with("call_") && id[5..].chars().all(|c| c.is_ascii_hexdigit())
    };
    assert!(
        ids.len() == 2 && ids[0] != ids[1] && ids.iter().all(sound),
        "{ids:?}"
    );
}

// L22
#[tokio::test(start_paused = true)]
async fn interruption_answers_running_calls() {
    let (session, plant) = plant(Policy::text()).await;
    let step = step(&session, vec![work("a", "one", 100), work("b", "two", 100)]).await;
    assert_eq!(session.interrupt(), 2);
    let answers = step.await.expect("no panic");
    assert_eq!(ids(&answers), ["a", "b"]);
    assert!(
        answers
            .iter()
            .all(|answer| kind(answer) == Some(ErrorKind::Cancelled))
    );
    assert_eq!(plant.log.all(), ["one begins", "two begins"]);
}

// L22, L23
#[tokio::test(start_paused = true)]
async fn interruption_spares_uninterruptible_calls() {
    let (session, _plant) = plant(Policy::text()).await;
    let finish = ToolCall::new("b", "finish", r#"{"name":"two"}"#);
    let step = step(&session, vec![work("a", "one", 100), finish]).await;
    assert_eq!(session.interrupt(), 1);
    let answers = step.await.expect("no panic");
    assert_eq!(kind(&answers[0]), Some(ErrorKind::Cancelled));
    assert!(answers[1].is_ok());
}

// L22
#[tokio::test(start_paused = true)]
async fn interrupted_waiting_call_does_not_run() {
    let (session, plant) = plant(Policy::text()).await;
    let calls = vec![
        ToolCall::new("a", "alone", r#"{"name":"one"}"#),
        ToolCall::new("b", "stamp", r#"{"name":"two"}"#),
        work("c", "three", 10),
    ];
    let step = step(&session, calls).await;
    session.interrupt();
    let answers = step.await.expect("no panic");
    let kinds = answers.iter().map(kind).collect::<Vec<_>>();
    assert_eq!(plant.log.all(), ["one begins"]);
    assert_eq!(kinds, [Some(ErrorKind::Cancelled); 3]);
}

// L22
#[tokio::test(start_paused = true)]
async fn interruption_does_not_affect_later_calls() {
    let (session, _plant) = plant(Policy::text()).await;
    let step = step(&session, vec![work("a", "one", 100)]).await;
    session.interrupt();
    step.await.expect("no panic");
    assert!(session.call(work("b", "two", 100)).await.is_ok());
}

// L22, R-I3
#[tokio::test(start_paused = true)]
async fn session_end_answers_running_and_waiting_calls() {
    let (session, plant) = plant(Policy::text()).await;
    let calls = vec![
        ToolCall::new("a", "alone", r#"{"name":"one"}"#),
        ToolCall::new("b", "stamp", r#"{"name":"two"}"#),
    ];
    let step = step(&session, calls).await;
    session.end().await;
    let answers = step.await.expect("no panic");
    assert_eq!(ids(&answers), ["a", "b"]);
    assert!(
        answers
            .iter()
            .all(|answer| kind(answer) == Some(ErrorKind::Cancelled)),
        "{answers:?}"
    );
    assert_eq!(plant.log.all(), ["one begins"]);
}

// L22, R-I3
#[tokio::test(start_paused = true)]
async fn step_after_the_end_is_answered() {
    let (session, _plant) = plant(Policy::text()).await;
    session.end().await;
    let answers = session
        .call_all([work("a", "one", 1), work("b", "two", 1)])
        .await;
    assert_eq!(ids(&answers), ["a", "b"]);
    assert!(
        answers
            .iter()
            .all(|answer| kind(answer) == Some(ErrorKind::SessionInactive))
    );
}

// L22
#[tokio::test(start_paused = true)]
async fn sequential_tool_is_a_barrier() {
    let (session, plant) = plant(Policy::text()).await;
    let alone = ToolCall::new("b", "alone", r#"{"name":"two"}"#);
    session
        .call_all([work("a", "one", 100), alone, work("c", "three", 1)])
        .await;
    let log = [
        "one begins",
        "one ends",
        "two begins",
        "two ends",
        "three begins",
        "three ends",
    ];
    assert_eq!(plant.log.all(), log);
}

// L22
#[tokio::test(start_paused = true)]
async fn sequential_calls_run_in_order() {
    let (session, plant) = plant(Policy::text()).await;
    let calls =
        ["one", "two", "three"].map(|name| ToolCall::new(name, "alone", json!({"name": name})));
    session.call_all(calls).await;
    let log = [
        "one begins",
        "one ends",
        "two begins",
        "two ends",
        "three begins",
        "three ends",
    ];
    assert_eq!(plant.log.all(), log);
}

// L22
#[tokio::test(start_paused = true)]
async fn sequential_tool_is_a_barrier_for_single_calls() {
    let (session, plant) = plant(Policy::text()).await;
    let alone = begin(&session, "a", "alone", r#"{"name":"one"}"#).await;
    assert!(session.call(work("b", "two", 1)).await.is_ok());
    answer(alone).await;
    assert_eq!(
        plant.log.all(),
        ["one begins", "one ends", "two begins", "two ends"]
    );
}

// L22
#[tokio::test(start_paused = true)]
async fn concurrency_of_a_session_is_limited() {
    let (session, plant) = plant(Policy::text().concurrent_calls(2)).await;
    session
        .call_all([
            work("a", "one", 100),
            work("b", "two", 200),
            work("c", "three", 10),
        ])
        .await;
    let log = [
        "one begins",
        "two begins",
        "one ends",
        "three begins",
        "three ends",
        "two ends",
    ];
    assert_eq!(plant.log.all(), log);
}

// L22
#[tokio::test(start_paused = true)]
async fn abandoned_wait_returns_its_permit() {
    let session = text(tools![wait], Policy::text().concurrent_calls(1)).await;
    let running = begin(&session, "a", "wait", r#"{"millis":100}"#).await;
    let given_up = begin(&session, "b", "wait", r#"{"millis":100}"#).await;
    given_up.abort();
    answer(running).await;
    assert!(
        session
            .call(asked("wait", json!({"millis": 1})))
            .await
            .is_ok()
    );
    assert!(call(&session, "wait", json!({"millis": 2})).await.is_ok());
}
