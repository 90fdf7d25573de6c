//! What the tests share.

use serde_json::Value;
use std::future::Future;
use std::pin::Pin;
use std::process::Command;
use std::sync::Once;
use std::task::{Context, Poll};
use tool_core::tool::IntoTool;
use tool_core::{ErrorKind, Mode, Policy, RegistryErrors, Runtime, Session, ToolCall, ToolContext, ToolResponse};

/// Runs a future to its end on one thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(future)
}

/// Runs a future to its end among four threads.
pub fn on_threads<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

pub fn tools<M>(tool: impl IntoTool<M>) -> ToolContext {
    ToolContext::builder().with(tool).build().expect("a sound tool")
}

/// No budget and no count of empty results: repeated calls alone are refused.
pub fn open_policy() -> Policy {
    Policy::text().category_budget(tool_core::Category::Retrieval, None).max_empty_results(None)
}

pub fn runtime(tools: ToolContext, policy: Policy) -> Result<Runtime, RegistryErrors> {
    Runtime::builder(tools).policy(policy).build()
}

/// A session in text under this policy.
pub async fn session(tools: ToolContext, policy: Policy) -> Session {
    let runtime = runtime(tools, policy).expect("sound tools");
    runtime.session("s", Mode::Text).await.expect("opens")
}

pub fn call(id: impl ToString, name: &str, arguments: Value) -> ToolCall {
    ToolCall::new(id.to_string(), name, arguments)
}

/// The kind of the error that a call has to end in.
pub fn kind(response: &ToolResponse) -> ErrorKind {
    response.error().unwrap_or_else(|| panic!("succeeded: {response}")).kind
}

/// Pending twice, then done: a call that waits for the first time is polled once more at once.
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

/// Lets spawned tasks go on.
pub async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

/// Panics that tests provoke say nothing on standard error; others say what they always did.
pub fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let provoked = info.payload_as_str().is_some_and(|text| text.starts_with("provoked"));
            if !provoked {
                usual(info);
            }
        }));
    });
}

/// Runs one test of this binary in a process of its own, and shows what it says.
pub(crate) fn run_alone(test: &str, settings: &[(&str, &str)]) {
    let output = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", test, "--nocapture"])
        .envs(settings.iter().copied())
        .output()
        .expect("runs");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}
