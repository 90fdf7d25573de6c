//! Helpers of the tests.

use serde_json::Value;
use std::future::Future;
use std::pin::Pin;
use std::process::Command;
use std::sync::Once;
use std::task::{Context, Poll};
use tool_core::tool::IntoTool;
use tool_core::{
    ErrorKind, Mode, Policy, RegistryErrors, Runtime, Session, ToolCall, ToolContext, ToolResponse,
};

/// Runs a future to completion on one thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(future)
}

/// Runs a future to completion on four threads.
pub fn on_threads<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(future)
}

pub fn tools<M>(tool: impl IntoTool<M>) -> ToolContext {
    ToolContext::builder()
        .with(tool)
        .build()
        .expect("a sound tool")
}

/// A policy that refuses repeated calls only.
pub fn open_policy() -> Policy {
    Policy::text()
        .category_budget(tool_core::Category::Retrieval, None)
        .max_empty_results(None)
}

pub fn runtime(tools: ToolContext, policy: Policy) -> Result<Runtime, RegistryErrors> {
    Runtime::builder(tools).policy(policy).build()
}

/// Opens a text session with this policy.
pub async fn session(tools: ToolContext, policy: Policy) -> Session {
    let runtime = runtime(tools, policy).expect("sound tools");
    runtime.session("s", Mode::Text).await.expect("opens")
}

pub fn call(id: impl ToString, name: &str, arguments: Value) -> ToolCall {
    ToolCall::new(id.to_string(), name, arguments)
}

/// Returns the kind of the error of a call that must fail.
pub fn kind(response: &ToolResponse) -> ErrorKind {
    response
        .error()
        .unwrap_or_else(|| panic!("succeeded: {response}"))
        .kind
}

/// A future that is pending twice. A call that waits for the first time is polled once more at once.
pub async fn pause() {
    struct Pause(u8);
    impl Future for Pause {
        type Output = ();
        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
            if self.0 == 2 {
                return Poll::Ready(());
            }
            self.0 += 1;
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    }
    Pause(0).await;
}

/// Lets spawned tasks run.
pub async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

/// Silences the panics that tests provoke. Others print as usual.
pub fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let provoked = info
                .payload_as_str()
                .is_some_and(|text| text.starts_with("provoked"));
            if !provoked {
                usual(info);
            }
        }));
    });
}

/// Runs one test of this binary in its own process, and prints its output.
pub(crate) fn run_alone(test: &str, settings: &[(&str, &str)]) {
    let output = Command::new(std::env::current_exe().expect("this test"))
        .args(["--ignored", "--exact", test, "--nocapture"])
        .envs(settings.iter().copied())
        .output()
        .expect("runs");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    // A name that no test has would pass as well.
    let passed = output.status.success() && said.contains("1 passed");
    assert!(
        passed,
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Returns the number of rounds of a memory test: 100,000, or `CHAOS_COUNT`.
pub(crate) fn count() -> u32 {
    std::env::var("CHAOS_COUNT").map_or(100_000, |count| {
        count.parse().expect("CHAOS_COUNT is a number")
    })
}
