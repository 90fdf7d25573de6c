//! Updates of running tools: kept for the host, or heard by listeners, who change nothing. L24

#![allow(
    clippy::unused_self,
    clippy::needless_pass_by_value,
    reason = "tools as their authors write them"
)]

use crate::support::{call, kind, open, renew, runtime, text, tools};
use crate::support_b::{begin, ms};
use serde_json::json;
use std::sync::{Arc, Mutex};
use tool_core::{ErrorKind, Mode, Policy, RunContext, Session, ToolCall, ToolResponse, toolset};

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

    /// Let another tool travel.
    #[tool]
    async fn send(&self, ctx: &RunContext) -> Option<String> {
        ctx.call("travel", json!({"steps": 1}))
            .await
            .data_json()
            .map(str::to_owned)
    }

    /// Leave a task behind, which tells of more.
    #[tool]
    async fn leave(&self, ctx: RunContext) -> &'static str {
        ctx.update("leaving");
        let late = ctx.clone();
        ctx.spawn(async move {
            ms(50).await;
            late.update("late");
        });
        "left"
    }
}

type Shown = Arc<Mutex<Vec<ToolResponse>>>;

async fn shown() -> (Session, Shown) {
    let (shown, runtime) = (Shown::default(), runtime(tools![Journey], Policy::text()));
    let listener = Arc::clone(&shown);
    let open = runtime.session("s-1", Mode::Text);
    let session = open
        .on_update(move |update| listener.lock().expect("shown").push(update))
        .await;
    (session.expect("a session"), shown)
}

/// The ids and the data that the listener has heard.
fn seen(shown: &Shown) -> Vec<(String, String)> {
    let shown = shown.lock().expect("shown");
    let pair = |response: &ToolResponse| {
        let text = response
            .data_json()
            .map_or_else(|| format!("{:?}", kind(response)), str::to_owned);
        (
            response.meta().call_id().unwrap_or_default().to_owned(),
            text,
        )
    };
    shown.iter().map(pair).collect()
}

fn travel(steps: u32) -> ToolCall {
    ToolCall::new("c1", "travel", json!({"steps": steps}))
}

// L24
#[tokio::test(start_paused = true)]
async fn updates_are_kept_without_a_listener() {
    let session = text(tools![Journey], Policy::text()).await;
    assert_eq!(
        session.call(travel(2)).await.data_json(),
        Some(r#""there""#)
    );
    let kept = session.updates();
    let told = kept
        .iter()
        .map(|kept| (&*kept.call_id, &*kept.tool, &*kept.update.message))
        .collect::<Vec<_>>();
    assert_eq!(
        told,
        [("c1", "travel", "step 1"), ("c1", "travel", "step 2")]
    );
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
async fn listener_does_not_change_the_result() {
    let (session, shown) = shown().await;
    let response = session.call(travel(2)).await;
    assert_eq!(
        (response.meta().call_id(), response.data_json()),
        (Some("c1"), Some(r#""there""#))
    );
    let expected = [
        ("c1_update_1", r#""step 1""#),
        ("c1_update_2", r#""step 2""#),
    ];
    assert_eq!(
        seen(&shown),
        expected.map(|(id, data)| (id.to_owned(), data.to_owned()))
    );
}

// L24
#[tokio::test(start_paused = true)]
async fn listener_does_not_change_a_failure() {
    let (session, shown) = shown().await;
    let response = session.call(ToolCall::new("c1", "stumble", "{}")).await;
    assert_eq!(kind(&response), Some(ErrorKind::Permanent));
    assert_eq!(
        seen(&shown),
        [("c1_update_1".to_owned(), r#""half of it""#.to_owned())]
    );
}

// L24
#[tokio::test(start_paused = true)]
async fn listener_hears_updates_before_the_result() {
    let (session, shown) = shown().await;
    let travelling = begin(&session, "c1", "travel", r#"{"steps":3}"#).await;
    ms(15).await;
    assert_eq!(
        seen(&shown),
        [("c1_update_1".to_owned(), r#""step 1""#.to_owned())]
    );
    travelling.abort();
}

// L24
#[tokio::test(start_paused = true)]
async fn updates_that_a_listener_has_heard_are_not_kept() {
    let (session, _shown) = shown().await;
    session.call(travel(2)).await;
    assert!(session.updates().is_empty());
}

// L24
#[tokio::test(start_paused = true)]
async fn listeners_of_the_call_and_of_the_session_both_hear() {
    let (session, shown) = shown().await;
    let heard = Arc::<Mutex<Vec<String>>>::default();
    let own = Arc::clone(&heard);
    let call =
        travel(2).on_update(move |update| own.lock().expect("heard").push(update.message.clone()));
    assert_eq!(session.call(call).await.data_json(), Some(r#""there""#));
    assert_eq!(
        (heard.lock().expect("heard").len(), seen(&shown).len()),
        (2, 2)
    );
}

// L24
#[tokio::test(start_paused = true)]
async fn updates_of_each_call_are_counted_apart() {
    let (session, shown) = shown().await;
    for id in ["c1", "c2"] {
        session
            .call(ToolCall::new(id, "travel", r#"{"steps":2}"#))
            .await;
    }
    let ids = seen(&shown)
        .into_iter()
        .map(|(id, _)| id)
        .collect::<Vec<_>>();
    assert_eq!(
        ids,
        ["c1_update_1", "c1_update_2", "c2_update_1", "c2_update_2"]
    );
}

// L24, R-B4
#[tokio::test(start_paused = true)]
async fn listener_hears_nested_calls() {
    let (session, shown) = shown().await;
    assert_eq!(
        session
            .call(ToolCall::new("c1", "send", "{}"))
            .await
            .data_json(),
        Some(r#""\"there\"""#)
    );
    assert_eq!(
        seen(&shown),
        [("c1.1_update_1".to_owned(), r#""step 1""#.to_owned())]
    );
}

// L24
#[tokio::test(start_paused = true)]
async fn listener_that_panics_does_not_fail_the_call() {
    let runtime = runtime(tools![Journey], Policy::text());
    let deaf = runtime
        .session("s-1", Mode::Text)
        .on_update(|_| panic!("deaf"));
    let session = deaf.await.expect("a session");
    assert_eq!(
        session.call(travel(2)).await.data_json(),
        Some(r#""there""#)
    );
}

// L24
#[tokio::test(start_paused = true)]
async fn call_that_was_answered_reports_nothing() {
    let (session, shown) = shown().await;
    assert_eq!(
        session
            .call(ToolCall::new("c1", "leave", "{}"))
            .await
            .data_json(),
        Some(r#""left""#)
    );
    ms(100).await;
    assert_eq!(
        seen(&shown),
        [("c1_update_1".to_owned(), r#""leaving""#.to_owned())]
    );
}

// L24
#[tokio::test(start_paused = true)]
async fn second_handle_can_add_the_listener() {
    let runtime = runtime(tools![Journey], Policy::text());
    let without = runtime.session("s-1", Mode::Text).await.expect("a session");
    let shown = Shown::default();
    let listener = Arc::clone(&shown);
    let with = runtime
        .session("s-1", Mode::Text)
        .on_update(move |u| listener.lock().expect("shown").push(u));
    let _with = with.await.expect("the same session");
    assert_eq!(
        without.call(travel(2)).await.data_json(),
        Some(r#""there""#)
    );
    assert_eq!(seen(&shown).len(), 2);
}

// L24
#[tokio::test(start_paused = true)]
async fn listener_of_a_call_hears_each_attempt_at_it() {
    let runtime = runtime(tools![Journey], Policy::text());
    let session = open(&runtime, "s", Mode::Text).await;
    let heard = Arc::<Mutex<usize>>::default();
    let own = Arc::clone(&heard);
    let call = travel(2).on_update(move |_| *own.lock().expect("heard") += 1);
    session.call(call.clone()).await;
    session.call(call).await;
    assert_eq!(*heard.lock().expect("heard"), 4);
}

// L24, R-I4
#[tokio::test(start_paused = true)]
async fn renewed_session_has_the_updates_of_the_earlier_one() {
    let runtime = runtime(tools![Journey], Policy::text());
    let earlier = open(&runtime, "s-1", Mode::Text).await;
    earlier.call(travel(2)).await;
    let renewed = renew(&runtime, "s-1", Mode::Text).await;
    assert_eq!(renewed.updates().len(), 2);
}
