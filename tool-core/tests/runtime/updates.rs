//! Updates of running tools: recorded, or shown by a transport. L24

#![allow(clippy::unused_self, clippy::needless_pass_by_value, reason = "tools as their authors write them")]

use crate::support::{call, kind, text, tools};
use crate::support_b::{answer, begin, ms};
use serde_json::json;
use std::sync::{Arc, Mutex};
use tool_core::{ErrorKind, Mode, Policy, RunContext, Runtime, Session, ToolCall, ToolResponse, toolset};

struct Journey;

#[toolset(discover = false)]
impl Journey {
    /// Tell of each step on the way.
    #[tool]
    async fn travel(&self, ctx: &RunContext, steps: u32) -> &'static str {
        for step in 1..=steps {
            ms(10).await;
            ctx.update(format!("step {step}"));
        }
        ms(10).await;
        "there"
    }

    /// Tell of half of it, and break down.
    #[tool]
    async fn stumble(&self, ctx: &RunContext) -> Result<(), String> {
        ctx.progress().fraction(0.5, "half of it");
        ms(10).await;
        Err("a broken leg".into())
    }

    /// Nothing to tell on the way.
    #[tool]
    async fn stay(&self) -> &'static str {
        ms(10).await;
        "here"
    }
}

type Shown = Arc<Mutex<Vec<ToolResponse>>>;

async fn shown(policy: Policy) -> (Session, Shown) {
    let (shown, runtime) = (Shown::default(), crate::support::runtime(tools![Journey], policy));
    let transport = Arc::clone(&shown);
    let open = runtime.session("s-1", Mode::Text);
    let session = open.on_update(move |update| transport.lock().expect("shown").push(update)).await;
    (session.expect("a session"), shown)
}

/// The ids and the data that the transport has received.
fn seen(shown: &Shown) -> Vec<(String, String)> {
    let shown = shown.lock().expect("shown");
    let pair = |response: &ToolResponse| {
        let text = response.data_json().map_or_else(|| format!("{:?}", kind(response)), str::to_owned);
        (response.meta().call_id().unwrap_or_default().to_owned(), text)
    };
    shown.iter().map(pair).collect()
}

fn travel(steps: u32) -> ToolCall {
    ToolCall::new("c1", "travel", json!({"steps": steps}))
}

// L24
#[tokio::test(start_paused = true)]
async fn updates_are_recorded_without_a_transport() {
    let session = text(tools![Journey], Policy::text()).await;
    assert_eq!(session.call(travel(2)).await.data_json(), Some(r#""there""#));
    let kept = session.updates();
    let told = kept.iter().map(|kept| (&*kept.call_id, &*kept.tool, &*kept.update.message)).collect::<Vec<_>>();
    assert_eq!(told, [("c1", "travel", "step 1"), ("c1", "travel", "step 2")]);
    assert!(session.updates().is_empty(), "taken once");
}

// L24
#[tokio::test(start_paused = true)]
async fn updates_of_a_failed_call_keep_their_fraction() {
    let session = text(tools![Journey], Policy::text()).await;
    assert!(!call(&session, "stumble", json!({})).await.is_ok());
    assert_eq!(session.updates()[0].update.fraction, Some(0.5));
}

// L24
#[tokio::test(start_paused = true)]
async fn first_update_is_the_answer_under_the_call_id() {
    let (session, shown) = shown(Policy::text()).await;
    let answer = session.call(travel(1)).await;
    assert_eq!((answer.meta().call_id(), answer.data_json()), (Some("c1"), Some(r#""step 1""#)));
    assert!(seen(&shown).is_empty());
}

// L24
#[tokio::test(start_paused = true)]
async fn later_updates_and_the_result_have_derived_ids() {
    let (session, shown) = shown(Policy::text()).await;
    session.call(travel(3)).await;
    ms(100).await;
    let expected = [("c1_update_1", r#""step 2""#), ("c1_update_2", r#""step 3""#), ("c1_final", r#""there""#)];
    assert_eq!(seen(&shown), expected.map(|(id, data)| (id.to_owned(), data.to_owned())));
}

// L24
#[tokio::test(start_paused = true)]
async fn call_without_updates_is_answered_by_its_result() {
    let (session, shown) = shown(Policy::text()).await;
    assert_eq!(session.call(travel(0)).await.data_json(), Some(r#""there""#));
    assert_eq!(call(&session, "stay", json!({})).await.data_json(), Some(r#""here""#));
    ms(100).await;
    assert!(seen(&shown).is_empty());
}

// L24
#[tokio::test(start_paused = true)]
async fn failure_after_an_update_is_the_final_output() {
    let (session, shown) = shown(Policy::text()).await;
    assert_eq!(session.call(ToolCall::new("c1", "stumble", "{}")).await.data_json(), Some(r#""half of it""#));
    ms(100).await;
    assert_eq!(seen(&shown), [("c1_final".to_owned(), format!("{:?}", Some(ErrorKind::Permanent)))]);
}

// L24
#[tokio::test(start_paused = true)]
async fn shown_updates_are_not_recorded() {
    let (session, _shown) = shown(Policy::text()).await;
    session.call(travel(2)).await;
    ms(100).await;
    assert!(session.updates().is_empty());
}

// L24, L16
#[tokio::test(start_paused = true)]
async fn call_can_be_cancelled_after_its_first_update() {
    let (session, shown) = shown(Policy::text()).await;
    session.call(travel(5)).await;
    assert!(session.cancel("c1"));
    ms(100).await;
    assert_eq!(seen(&shown), [("c1_final".to_owned(), format!("{:?}", Some(ErrorKind::Cancelled)))]);
}

// L24, R-I3
#[tokio::test(start_paused = true)]
async fn session_end_stops_calls_after_their_first_update() {
    let (session, shown) = shown(Policy::text()).await;
    session.call(travel(5)).await;
    session.end().await;
    ms(100).await;
    assert_eq!(seen(&shown), [("c1_final".to_owned(), format!("{:?}", Some(ErrorKind::Cancelled)))]);
}

// L24
#[tokio::test(start_paused = true)]
async fn dropping_before_the_first_update_ends_the_call() {
    let (session, shown) = shown(Policy::text()).await;
    let travelling = begin(&session, "c1", "travel", r#"{"steps":3}"#).await;
    travelling.abort();
    ms(100).await;
    assert!(seen(&shown).is_empty());
    assert!(!session.cancel("c1"), "nothing runs");
}

// L24, R-B2
#[tokio::test(start_paused = true)]
async fn call_with_updates_spends_one_call() {
    let (session, _shown) = shown(Policy::text().max_calls(Some(1))).await;
    assert!(session.call(travel(3)).await.is_ok());
    assert_eq!(kind(&session.call(travel(3)).await), Some(ErrorKind::BudgetExceeded));
}

// L24
#[tokio::test(start_paused = true)]
async fn second_handle_can_add_the_transport() {
    let runtime: Runtime = crate::support::runtime(tools![Journey], Policy::text());
    let without = runtime.session("s-1", Mode::Text).await.expect("a session");
    let shown = Shown::default();
    let transport = Arc::clone(&shown);
    let with = runtime.session("s-1", Mode::Text).on_update(move |u| transport.lock().expect("shown").push(u));
    let with = with.await.expect("the same session");
    let running = begin(&without, "c1", "stay", "{}").await;
    with.call(ToolCall::new("c2", "travel", r#"{"steps":2}"#)).await;
    ms(100).await;
    assert_eq!(seen(&shown).len(), 2);
    assert!(answer(running).await.is_ok());
}
