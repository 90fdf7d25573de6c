//! Circuit breakers: tools and upstreams that fail are not called for a while.

use crate::support::{Counter, asked, call, kind, message, open, runtime, text, tools};
use crate::support_b::{answer, begin, ms};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tool_core::session::{CircuitBreaker, CircuitState, LimitScope};
use tool_core::{ErrorKind, Mode, Policy, ToolError, Toolset, toolset};

/// A service that is up or down.
#[derive(Clone, Default)]
struct Service {
    is_up: Arc<AtomicBool>,
    runs: Counter,
}

#[toolset(name = "service_in_circuits")]
impl Service {
    /// Look something up.
    #[tool(name = "look_up", category = "utility")]
    async fn look_up(&self, what: u32) -> Result<u32, ToolError> {
        self.runs.add();
        ms(20).await;
        if what == 0 {
            return Err(ToolError::not_found("there is nothing"));
        }
        if self.is_up.load(Ordering::SeqCst) {
            Ok(what)
        } else {
            Err(ToolError::transient("it is down"))
        }
    }

    /// Do something else with the service.
    #[tool(name = "other", category = "utility")]
    async fn other(&self, what: u32) -> u32 {
        what
    }

    /// Change something, once a person agrees.
    #[tool(name = "change", category = "utility", confirm)]
    async fn change(&self, what: u32) -> Result<u32, ToolError> {
        self.look_up(what).await
    }

    /// Wait for ever.
    #[tool(name = "hang", category = "utility", timeout = "100ms")]
    async fn hang(&self, what: u32) -> u32 {
        std::future::pending::<()>().await;
        what
    }
}

fn policy() -> Policy {
    let breaker = CircuitBreaker::new(3).pause(Duration::from_secs(30));
    Policy::text().circuit_breaker(LimitScope::tool("*"), breaker)
}

// R-B8
#[tokio::test(start_paused = true)]
async fn calls_do_not_run_after_failures_in_a_row() {
    let service = Service::default();
    let session = text(tools![service.clone()], policy()).await;
    for what in 1..=3 {
        let response = call(&session, "look_up", json!({"what": what})).await;
        assert_eq!(message(&response), "it is down");
    }
    let refused = call(&session, "look_up", json!({"what": 4})).await;
    let error = refused.error().expect("it is open");
    assert_eq!(
        (error.kind, error.retryable, error.partial_side_effects),
        (ErrorKind::Transient, true, false)
    );
    assert_eq!(
        error.message,
        "`look_up` has failed several times in a row, so no call is made for now. Nothing was done; try again in 30 s, or go \
         on without it."
    );
    assert_eq!(refused.meta().retry_after(), Some(Duration::from_secs(30)));
    assert_eq!(service.runs.get(), 3);
}

// R-B8
#[tokio::test(start_paused = true)]
async fn one_of_racing_calls_is_tried_after_the_pause() {
    let service = Service::default();
    let session = text(tools![service.clone()], policy()).await;
    for what in 1..=3 {
        call(&session, "look_up", json!({"what": what})).await;
    }
    ms(30_000).await;
    service.is_up.store(true, Ordering::SeqCst);
    let racers = (10..20).map(|what| asked("look_up", json!({"what": what})));
    let responses = session.call_all(racers).await;
    assert_eq!(responses.iter().filter(|one| one.is_ok()).count(), 1);
    assert_eq!(service.runs.get(), 4);
    // It has succeeded, so calls run again.
    assert!(call(&session, "look_up", json!({"what": 5})).await.is_ok());
}

// R-B8
#[tokio::test(start_paused = true)]
async fn trial_that_fails_opens_the_circuit_again() {
    let service = Service::default();
    let session = text(tools![service.clone()], policy()).await;
    for what in 1..=3 {
        call(&session, "look_up", json!({"what": what})).await;
    }
    ms(30_000).await;
    for what in 10..=14 {
        call(&session, "look_up", json!({"what": what})).await;
    }
    assert_eq!(service.runs.get(), 4);
}

// R-B8
#[tokio::test(start_paused = true)]
async fn trial_that_is_cancelled_leaves_its_place() {
    let service = Service::default();
    let session = text(tools![service.clone()], policy()).await;
    for what in 1..=3 {
        call(&session, "look_up", json!({"what": what})).await;
    }
    ms(30_000).await;
    let trial = begin(&session, "trial", "look_up", r#"{"what": 7}"#).await;
    assert!(session.cancel("trial"));
    assert_eq!(kind(&answer(trial).await), Some(ErrorKind::Cancelled));
    service.is_up.store(true, Ordering::SeqCst);
    assert!(call(&session, "look_up", json!({"what": 8})).await.is_ok());
}

// R-B8
#[tokio::test(start_paused = true)]
async fn refusals_and_answers_of_the_tool_are_no_failures() {
    let service = Service::default();
    let session = text(tools![service.clone()], policy()).await;
    for what in 1..=2 {
        call(&session, "look_up", json!({"what": what})).await;
    }
    for _ in 0..2 {
        call(&session, "look_up", json!({"what": "many"})).await;
    }
    // The service has answered, so the count begins again.
    let response = call(&session, "look_up", json!({"what": 0})).await;
    assert_eq!(kind(&response), Some(ErrorKind::NotFound));
    for what in 3..=5 {
        let response = call(&session, "look_up", json!({"what": what})).await;
        assert_eq!(message(&response), "it is down");
    }
}

// R-B8
#[tokio::test(start_paused = true)]
async fn timeouts_open_the_circuit() {
    let session = text(tools![Service::default()], policy()).await;
    for what in 1..=3 {
        let response = call(&session, "hang", json!({"what": what})).await;
        assert_eq!(kind(&response), Some(ErrorKind::Timeout));
    }
    let response = call(&session, "hang", json!({"what": 4})).await;
    assert_eq!(kind(&response), Some(ErrorKind::Transient));
    assert!(call(&session, "other", json!({"what": 1})).await.is_ok());
}

// R-B8
#[tokio::test(start_paused = true)]
async fn tools_of_one_upstream_share_a_circuit() {
    let service = Service::default();
    let tools = Arc::new(service.clone()).tools().into_iter();
    let tools = tools.filter_map(|tool| match tool {
        tool_core::Tool::Function(tool) => Some(tool.upstream("github")),
        _ => None,
    });
    let context = tool_core::ToolContext::builder().with_all(tools);
    let breaker = CircuitBreaker::new(3);
    let policy = Policy::text().circuit_breaker(LimitScope::upstream("*"), breaker);
    let session = text(context.build().expect("sound tools"), policy).await;
    for what in 1..=3 {
        call(&session, "look_up", json!({"what": what})).await;
    }
    let response = call(&session, "other", json!({"what": 1})).await;
    assert!(
        message(&response).starts_with("the service `github` has failed"),
        "{}",
        message(&response)
    );
}

// R-B8
#[tokio::test(start_paused = true)]
async fn no_person_is_asked_while_the_circuit_is_open() {
    let service = Service::default();
    let policy = Policy::text().circuit_breaker(LimitScope::tool("*"), CircuitBreaker::new(1));
    let session = text(tools![service.clone()], policy).await;
    let asked = call(&session, "change", json!({"what": 1})).await;
    let token = asked.meta().confirmation().expect("it waits").token.clone();
    let later = call(&session, "change", json!({"what": 2})).await;
    let later = later.meta().confirmation().expect("it waits").token.clone();
    assert_eq!(message(&session.approve(&token).await), "it is down");

    let refused = call(&session, "change", json!({"what": 3})).await;
    assert_eq!(kind(&refused), Some(ErrorKind::Transient));
    // A call that was approved is not used up.
    assert_eq!(
        kind(&session.approve(&later).await),
        Some(ErrorKind::Transient)
    );
    ms(30_000).await;
    service.is_up.store(true, Ordering::SeqCst);
    assert!(session.approve(&later).await.is_ok());
}

// R-B8
#[tokio::test(start_paused = true)]
async fn refused_call_gives_its_budget_back() {
    let service = Service::default();
    let session = text(tools![service.clone()], policy().max_calls(Some(4))).await;
    for what in 1..=8 {
        call(&session, "look_up", json!({"what": what})).await;
    }
    ms(30_000).await;
    service.is_up.store(true, Ordering::SeqCst);
    assert!(call(&session, "look_up", json!({"what": 9})).await.is_ok());
}

// R-B8
#[tokio::test(start_paused = true)]
async fn metrics_list_the_circuits() {
    let runtime = runtime(tools![Service::default()], policy());
    let session = open(&runtime, "s-1", Mode::Text).await;
    for what in 1..=5 {
        call(&session, "look_up", json!({"what": what})).await;
    }
    let metrics = runtime.metrics();
    let circuit = metrics.circuits.first().expect("a circuit");
    assert_eq!(
        (circuit.scope, circuit.name.as_str(), circuit.state),
        ("tool", "look_up", CircuitState::Open)
    );
    assert_eq!((circuit.opened, circuit.refused), (1, 2));
    assert_eq!(metrics.tools["look_up"].refusals["TRANSIENT"], 2);
    let labels = r#"{scope="tool",name="look_up"}"#;
    let text = metrics.prometheus();
    for sample in ["tool_circuit_open", "tool_circuit_half_open"] {
        let value = u8::from(sample == "tool_circuit_open");
        assert!(
            text.contains(&format!("{sample}{labels} {value}\n")),
            "{text}"
        );
    }

    ms(60_000).await;
    let metrics = runtime.metrics();
    assert_eq!(metrics.circuits[0].state, CircuitState::HalfOpen);
    let text = metrics.prometheus();
    assert!(
        text.contains(&format!("tool_circuit_half_open{labels} 1\n")),
        "{text}"
    );
}
