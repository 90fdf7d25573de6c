//! Automatic retries of tools that may run again.

use crate::support::{Counter, call, kind, message, open, runtime, text, tools};
use crate::support_b::{answer, begin, ms};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;
use tool_core::session::{CircuitBreaker, LimitScope, RuntimeBuilder};
use tool_core::{
    ErrorKind, FunctionTool, Mode, Policy, RawTool, RunContext, Runtime, ToolContext, ToolError,
    toolset,
};

/// A service whose first attempts fail.
#[derive(Clone, Default)]
struct Flaky {
    failures: u32,
    runs: Counter,
    keys: Arc<Mutex<Vec<Option<String>>>>,
    starts: Arc<Mutex<Vec<Instant>>>,
}

impl Flaky {
    fn failing(failures: u32) -> Self {
        Self {
            failures,
            ..Self::default()
        }
    }

    fn attempt(&self, error: ToolError) -> Result<u32, ToolError> {
        self.starts.lock().expect("times").push(Instant::now());
        let run = self.runs.add();
        if run <= self.failures {
            Err(error)
        } else {
            Ok(run)
        }
    }
}

#[toolset(name = "flaky_in_retries")]
impl Flaky {
    /// Look something up.
    #[tool(name = "look_up", category = "retrieval", retries = 2)]
    async fn look_up(&self, ctx: &RunContext) -> Result<u32, ToolError> {
        let key = ctx.idempotency_key().map(ToOwned::to_owned);
        self.keys.lock().expect("keys").push(key);
        self.attempt(ToolError::transient("it is down"))
    }

    /// Look something up that is limited.
    #[tool(name = "limited", category = "retrieval", retries = 2, timeout = "10s")]
    async fn limited(&self, seconds: u64) -> Result<u32, ToolError> {
        let error = ToolError::rate_limit(format!("wait {seconds} s"));
        self.attempt(error.retry_after(Duration::from_secs(seconds)))
    }

    /// Set a value, in no time.
    #[tool(name = "set", category = "action", idempotent, retries = 1)]
    fn set(&self) -> Result<u32, ToolError> {
        self.attempt(ToolError::timeout("it took too long"))
    }

    /// Block the thread.
    #[tool(name = "block", idempotent, blocking, retries = 3)]
    fn block(&self) -> Result<u32, ToolError> {
        self.attempt(ToolError::transient("it is down"))
    }

    /// Fail for good.
    #[tool(name = "refuse", category = "retrieval", retries = 2)]
    async fn refuse(&self, kind: String) -> Result<u32, ToolError> {
        self.attempt(match kind.as_str() {
            "permanent" => ToolError::permanent("no"),
            "conflict" => ToolError::conflict("no"),
            "auth" => ToolError::auth("no"),
            "internal" => ToolError::internal("no"),
            _ => ToolError::transient("no").retryable(false),
        })
    }

    /// Hang.
    #[tool(name = "hang", category = "retrieval", retries = 5, timeout = "1s")]
    async fn hang(&self) -> u32 {
        self.runs.add();
        std::future::pending().await
    }

    /// Look something up, with no retries.
    #[tool(name = "once", category = "retrieval")]
    async fn once(&self) -> Result<u32, ToolError> {
        self.attempt(ToolError::transient("it is down"))
    }
}

// R-B9
#[tokio::test(start_paused = true)]
async fn call_that_fails_in_passing_is_made_again() {
    let flaky = Flaky::failing(2);
    let session = text(tools![flaky.clone()], Policy::text()).await;
    let response = call(&session, "look_up", json!({})).await;
    assert_eq!(response.data_json(), Some("3"));
    assert_eq!(response.meta().attempts(), 3);
    let keys = flaky.keys.lock().expect("keys").clone();
    assert!(keys[0].is_some() && keys.iter().all(|key| *key == keys[0]));
}

// R-B9
#[tokio::test(start_paused = true)]
async fn pauses_before_retries_grow() {
    let flaky = Flaky::failing(9);
    let session = text(tools![flaky.clone()], Policy::text()).await;
    let response = call(&session, "look_up", json!({})).await;
    assert_eq!(message(&response), "it is down");
    assert_eq!((flaky.runs.get(), response.meta().attempts()), (3, 3));
    let starts = flaky.starts.lock().expect("times").clone();
    let pauses = [starts[1] - starts[0], starts[2] - starts[1]];
    let ms = Duration::from_millis;
    assert!(pauses[0] >= ms(100) && pauses[0] <= ms(210), "{pauses:?}");
    assert!(pauses[1] >= ms(200) && pauses[1] <= ms(410), "{pauses:?}");
}

// R-B9
#[tokio::test(start_paused = true)]
async fn attempts_are_one_call_of_the_budget() {
    let flaky = Flaky::failing(2);
    let runtime = runtime(tools![flaky.clone()], Policy::text().max_calls(Some(2)));
    let session = open(&runtime, "s-1", Mode::Text).await;
    assert!(call(&session, "look_up", json!({})).await.is_ok());
    assert!(call(&session, "look_up", json!({})).await.is_ok());
    let metrics = runtime.metrics();
    let tool = &metrics.tools["look_up"];
    assert_eq!((tool.calls, tool.retries, tool.errors.len()), (2, 2, 0));
    assert!(
        metrics
            .prometheus()
            .contains("tool_retries_total{tool=\"look_up\"} 2\n")
    );
}

// R-B9
#[tokio::test(start_paused = true)]
async fn retry_waits_as_long_as_the_error_asks() {
    let flaky = Flaky::failing(1);
    let session = text(tools![flaky.clone()], Policy::text()).await;
    let began = Instant::now();
    let response = call(&session, "limited", json!({"seconds": 4})).await;
    assert!(response.is_ok());
    assert!(began.elapsed() >= Duration::from_secs(4));
}

// R-B9
#[tokio::test(start_paused = true)]
async fn retry_after_the_deadline_is_not_waited_for() {
    let flaky = Flaky::failing(1);
    let session = text(tools![flaky.clone()], Policy::text()).await;
    let began = Instant::now();
    let response = call(&session, "limited", json!({"seconds": 11})).await;
    assert_eq!(kind(&response), Some(ErrorKind::RateLimit));
    assert_eq!(response.meta().attempts(), 1);
    assert_eq!(response.meta().retry_after(), Some(Duration::from_secs(11)));
    assert!(began.elapsed() < Duration::from_secs(1));
}

// R-B9
#[tokio::test(start_paused = true)]
async fn timeouts_of_idempotent_actions_are_retried() {
    let flaky = Flaky::failing(1);
    let session = text(tools![flaky.clone()], Policy::text()).await;
    let response = call(&session, "set", json!({})).await;
    assert_eq!(response.data_json(), Some("2"));
}

// R-B9
#[tokio::test]
async fn blocking_tools_are_retried() {
    let flaky = Flaky::failing(2);
    let session = text(tools![flaky.clone()], Policy::text()).await;
    let response = call(&session, "block", json!({})).await;
    assert_eq!(response.data_json(), Some("3"));
}

// R-B9
#[tokio::test(start_paused = true)]
async fn errors_that_do_not_pass_are_not_retried() {
    for error in ["permanent", "conflict", "auth", "internal", "not retryable"] {
        let flaky = Flaky::failing(9);
        let session = text(tools![flaky.clone()], Policy::text()).await;
        call(&session, "refuse", json!({"kind": error})).await;
        assert_eq!(flaky.runs.get(), 1, "{error}");
    }
}

// R-B9
#[tokio::test(start_paused = true)]
async fn no_attempt_begins_after_the_deadline() {
    let flaky = Flaky::default();
    let session = text(tools![flaky.clone()], Policy::text()).await;
    let began = Instant::now();
    let response = call(&session, "hang", json!({})).await;
    assert_eq!(kind(&response), Some(ErrorKind::Timeout));
    assert_eq!(flaky.runs.get(), 1);
    assert!(began.elapsed() < Duration::from_millis(1_050));
}

// R-B9
#[tokio::test(start_paused = true)]
async fn tools_without_retries_run_once() {
    let flaky = Flaky::failing(1);
    let session = text(tools![flaky.clone()], Policy::text()).await;
    assert!(!call(&session, "once", json!({})).await.is_ok());
    assert_eq!(flaky.runs.get(), 1);
}

// R-B9
#[tokio::test(start_paused = true)]
async fn call_is_cancelled_between_its_attempts() {
    let flaky = Flaky::failing(1);
    let session = text(tools![flaky.clone()], Policy::text()).await;
    let task = begin(&session, "c", "limited", r#"{"seconds": 5}"#).await;
    ms(1_000).await;
    assert!(session.cancel("c"));
    assert_eq!(kind(&answer(task).await), Some(ErrorKind::Cancelled));
    assert_eq!(flaky.runs.get(), 1);
}

// R-B9
#[tokio::test(start_paused = true)]
async fn circuit_breakers_count_the_attempts_as_one_call() {
    let flaky = Flaky::failing(6);
    let policy = Policy::text().circuit_breaker(LimitScope::tool("*"), CircuitBreaker::new(2));
    let session = text(tools![flaky.clone()], policy).await;
    for _ in 0..2 {
        let response = call(&session, "look_up", json!({})).await;
        assert_eq!(message(&response), "it is down");
    }
    session.next_turn().await;
    call(&session, "look_up", json!({})).await;
    assert_eq!(flaky.runs.get(), 6);
}

// R-B9
#[tokio::test(start_paused = true)]
async fn hooks_see_one_call() {
    let flaky = Flaky::failing(2);
    let around = Counter::default();
    let seen = around.clone();
    let builder: RuntimeBuilder = Runtime::builder(tools![flaky.clone()]);
    let runtime = builder.around(
        async move |_: tool_core::session::HookedCall<'_>, next: tool_core::session::Next<'_>| {
            seen.add();
            next.run().await
        },
    );
    let session = open(&runtime.build().expect("a runtime"), "s-1", Mode::Text).await;
    assert!(call(&session, "look_up", json!({})).await.is_ok());
    assert_eq!((around.get(), flaky.runs.get()), (1, 3));
}

fn raw() -> FunctionTool {
    let declared = RawTool {
        name: "pay".into(),
        description: "Pay.".into(),
        parameters: json!({"type": "object"}),
    };
    FunctionTool::raw(declared, async |_: Value, _: &RunContext| Ok(json!(1)))
}

// R-B9
#[test]
fn retries_of_other_tools_do_not_build() {
    let built = ToolContext::builder().with(raw().retries(2)).build();
    let errors = built.expect_err("it may pay twice").to_string();
    assert!(
        errors.contains("tool `pay`: `retries` needs a tool that can be called again"),
        "{errors}"
    );
    let built = ToolContext::builder().with(raw().retries(2).idempotent());
    assert!(built.build().is_ok());
}

// R-B9
#[test]
fn numbers_of_retries_are_those_the_macro_takes() {
    for retries in [0, 17] {
        let built = ToolContext::builder().with(raw().retries(retries).idempotent());
        let errors = built.build().expect_err("out of range").to_string();
        let expected = format!("expected `retries` of 1 to 16, got {retries}");
        assert!(errors.contains(&expected), "{errors}");
    }
    let built = ToolContext::builder().with(raw().retries(16).idempotent());
    assert!(built.build().is_ok());
}
