//! Calls that have to wait where tokio cannot wake them.

use futures_util::FutureExt;
use std::time::Duration;
use tool_core::session::{Hook, HookFuture, HookedCall, LimitScope};
use tool_core::{
    ErrorKind, Mode, Policy, Runtime, Session, ToolCall, ToolContext, ToolError, ToolResponse, tool,
};

/// Wait for ever.
#[tool]
async fn waits() -> u8 {
    std::future::pending().await
}

/// Answer at once.
#[tool]
async fn answers() -> u8 {
    1
}

/// Block the thread.
#[tool(blocking)]
fn blocks() -> u8 {
    2
}

struct Looks;

impl Hook for Looks {
    fn before<'a>(&'a self, _: &'a HookedCall<'_>) -> HookFuture<'a, Result<(), ToolError>> {
        Box::pin(async { Ok(()) })
    }
}

fn tools() -> ToolContext {
    ToolContext::builder()
        .with(waits)
        .with(answers)
        .with(blocks)
        .build()
        .expect("sound tools")
}

async fn session(runtime: &Runtime) -> Session {
    runtime.session("s-1", Mode::Text).await.expect("opens")
}

fn refusal(response: &ToolResponse) -> &str {
    let error = response.error().expect("an error");
    assert_eq!(error.kind, ErrorKind::Permanent, "{error:?}");
    &error.message
}

// R-B5
#[test]
fn calls_outside_of_tokio_name_the_fix() {
    let runtime = Runtime::builder(tools()).build().expect("builds");
    let session = session(&runtime).now_or_never().expect("is open at once");
    let call = |name: &str| {
        session
            .call(ToolCall::new(name, name, "{}"))
            .now_or_never()
            .expect("is answered at once")
    };
    for name in ["waits", "blocks"] {
        assert!(refusal(&call(name)).contains("#[tokio::main]"), "{name}");
    }
    assert_eq!(call("answers").data_json(), Some("1"));
}

// R-B5, R-B7
#[test]
fn only_calls_under_a_limit_have_to_wait_for_one() {
    for (limited, runs_at_once) in [("waits", true), ("answers", false)] {
        let minute = Duration::from_secs(60);
        let policy = Policy::text().rate_limit(LimitScope::tool(limited), 1, minute);
        let runtime = Runtime::builder(tools()).policy(policy);
        let runtime = runtime.build().expect("builds");
        let session = session(&runtime).now_or_never().expect("is open at once");
        let response = session
            .call(ToolCall::new("c-1", "answers", "{}"))
            .now_or_never()
            .expect("is answered at once");
        assert_eq!(response.is_ok(), runs_at_once, "{limited}");
        if !runs_at_once {
            assert!(refusal(&response).contains("#[tokio::main]"));
        }
    }
}

// R-B5
#[test]
fn a_hook_after_calls_alone_makes_no_call_wait() {
    let runtime =
        Runtime::builder(tools()).after(async |_: HookedCall<'_>, response: &mut ToolResponse| {
            let text = r#"{"ok":true,"data":2,"meta":{"tool":"answers","callId":null}}"#;
            *response = serde_json::from_str(text).expect("an envelope");
        });
    let runtime = runtime.build().expect("builds");
    let session = session(&runtime).now_or_never().expect("is open at once");
    let response = session
        .call(ToolCall::new("c-1", "answers", "{}"))
        .now_or_never()
        .expect("is answered at once");
    assert_eq!(response.data_json(), Some("2"));
}

// R-B5
#[test]
fn calls_without_a_timer_name_the_fix() {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("builds");
    tokio.block_on(async {
        for has_hook in [false, true] {
            let runtime = Runtime::builder(tools());
            let runtime = if has_hook {
                runtime.hook(Looks)
            } else {
                runtime
            };
            let session = session(&runtime.build().expect("builds")).await;
            let response = session.call(ToolCall::new("c-1", "waits", "{}")).await;
            assert!(refusal(&response).contains("enable_time"));
            let response = session.call(ToolCall::new("c-2", "blocks", "{}")).await;
            assert!(refusal(&response).contains("enable_time"));
        }
    });
}
