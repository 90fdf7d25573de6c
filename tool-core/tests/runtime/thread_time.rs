//! The warning about tools that keep their thread past their timeout.

use super::support::{asked, call, text, tools};
use super::support_log::{Line, logged};
use futures_util::stream::{self, Stream};
use serde_json::json;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;
use tokio::time::{advance, sleep};
use tool_core::session::HookedCall;
use tool_core::{Mode, Policy, RunContext, Runtime, ToolContext, tool};
use tracing::Level;

/// Keeps the thread for a time of the paused clock.
fn hold(ms: u64) {
    // One poll moves the clock.
    let _ = pin!(advance(Duration::from_millis(ms))).poll(&mut Context::from_waker(Waker::noop()));
}

/// Keep the thread, wait, and keep it again.
#[tool(timeout = "200ms")]
async fn work(#[arg(default)] first: u64, #[arg(default)] wait: u64, #[arg(default)] then: u64) {
    hold(first);
    if wait > 0 {
        sleep(Duration::from_millis(wait)).await;
    }
    hold(then);
}

/// Keep the thread without a timeout.
#[tool]
fn work_on(ms: u64) {
    hold(ms);
}

/// Keep a thread that is there for it.
#[tool(blocking, timeout = "200ms")]
fn work_aside(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

/// Keep the thread for an item.
#[tool(timeout = "200ms")]
fn work_for_items(ms: u64) -> impl Stream<Item = u8> + Send {
    stream::iter([1, 2]).map_with(ms)
}

trait MapWith: Stream<Item = u8> + Sized + Send {
    fn map_with(self, ms: u64) -> impl Stream<Item = u8> + Send {
        futures_util::StreamExt::map(self, move |item| {
            hold(ms);
            item
        })
    }
}

impl<S: Stream<Item = u8> + Send> MapWith for S {}

fn all() -> ToolContext {
    tools![work, work_on, work_aside, work_for_items]
}

fn warnings(lines: &[Line]) -> Vec<&str> {
    let warned = lines
        .iter()
        .filter(|line| line.level == "WARN" && line.target == "tool_core::calls");
    warned.map(|line| line.message.as_str()).collect()
}

/// The warnings about a call in a session, and about a bare one.
fn warned(tool: &str, arguments: &serde_json::Value) -> [Vec<String>; 2] {
    let governed = logged(Level::WARN, async {
        let session = text(all(), Policy::text()).await;
        call(&session, tool, arguments.clone()).await;
    });
    let bare = logged(Level::WARN, async {
        all()
            .call(tool, arguments.clone(), &RunContext::detached())
            .await;
    });
    [governed, bare].map(|lines| warnings(&lines).into_iter().map(str::to_owned).collect())
}

// R-B5
#[test]
fn poll_past_the_timeout_is_warned_of() {
    for arguments in [
        json!({"first": 300}),
        json!({"first": 300, "wait": 10}),
        json!({"wait": 10, "then": 300}),
        json!({"wait": 150, "then": 120}),
    ] {
        for warnings in warned("work", &arguments) {
            let [warning] = warnings.as_slice() else {
                panic!("{arguments}: {warnings:?}")
            };
            assert!(
                warning.starts_with("`work` kept its thread past its timeout of 200 ms"),
                "{warning}"
            );
            assert!(warning.contains("make it `blocking`"), "{warning}");
        }
    }
}

// R-B5
#[test]
fn polls_of_a_stream_are_checked() {
    for warnings in warned("work_for_items", &json!({"ms": 300})) {
        assert!(!warnings.is_empty());
    }
}

// R-B5
#[test]
fn tool_that_waits_past_its_timeout_is_not_warned_of() {
    for arguments in [
        json!({"wait": 500}),
        json!({"first": 100, "wait": 500}),
        json!({"first": 210}),
    ] {
        assert_eq!(warned("work", &arguments), [[""; 0]; 2], "{arguments}");
    }
}

// R-B5
#[test]
fn bare_call_without_a_timeout_is_not_warned_of() {
    let [governed, bare] = warned("work_on", &json!({"ms": 31_000}));
    assert!(
        governed[0].contains("past its timeout of 30000 ms"),
        "the policy has a deadline: {governed:?}"
    );
    assert_eq!(bare, [""; 0]);
}

// R-B5
#[test]
fn deferred_call_is_checked_from_its_start() {
    let lines = logged(Level::WARN, async {
        let slow = async |_: HookedCall<'_>| {
            sleep(Duration::from_millis(150)).await;
            Ok(())
        };
        let runtime = Runtime::builder(all())
            .before(slow)
            .build()
            .expect("a runtime");
        let session = runtime.session("s", Mode::Text).await.expect("a session");
        session.call(asked("work", json!({"first": 30}))).await;
        session.call(asked("work", json!({"first": 120}))).await;
    });
    let warnings = warnings(&lines);
    assert!(
        warnings.len() == 1 && warnings[0].contains("until 270 ms after its call"),
        "{warnings:?}"
    );
}

// R-B5
#[test]
fn blocking_tool_may_keep_its_thread() {
    let lines = logged(Level::WARN, async {
        tokio::time::resume();
        let session = text(all(), Policy::text()).await;
        call(&session, "work_aside", json!({"ms": 300})).await;
        all()
            .call("work_aside", json!({"ms": 300}), &RunContext::detached())
            .await;
    });
    assert_eq!(warnings(&lines), [""; 0]);
}

// R-B2, R-B5: two readings of the clock made 799 ms of it.
#[tokio::test]
async fn timeout_of_800_ms_says_800_ms() {
    tokio::time::pause();
    let session = text(tools![wait_long], Policy::text()).await;
    let response = call(&session, "wait_long", json!({})).await;
    let message = &response.error().expect("late").message;
    assert!(
        message.ends_with("running; its limit is 800 ms"),
        "{message}"
    );
}

/// Wait for longer than it may.
#[tool(timeout = "800ms")]
async fn wait_long() {
    sleep(Duration::from_secs(5)).await;
}

// R-B5
#[test]
fn call_with_corrected_arguments_is_checked_too() {
    for warnings in warned("work", &json!({"first": "300"})) {
        assert_eq!(warnings.len(), 1, "{warnings:?}");
    }
}
