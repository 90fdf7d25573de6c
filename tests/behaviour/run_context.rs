//! The run context: values that a tool takes, and intents that it emits.

use crate::support::{block_on, call, tools};
use serde_json::json;
use std::sync::Arc;
use tool_core::{
    CancellationToken, ErrorKind, FromRunContext, Intent, Mode, Progress, RunContext, ToolContext,
    ToolError, UserData, tool,
};

struct Caller(String);

impl FromRunContext<'_> for Caller {
    fn from_run_context(ctx: &RunContext) -> Result<Self, ToolError> {
        let name = ctx.user_data::<String>().cloned();
        name.map(Caller)
            .ok_or_else(|| ToolError::auth("no user is signed in"))
    }
}

type Context = RunContext;

/// Take everything.
#[tool]
async fn take(
    ctx: &RunContext,
    owned: RunContext,
    #[context] aliased: &Context,
    before: u8,
    #[context] caller: Caller,
    #[context] number: UserData<u64>,
    #[context] token: CancellationToken,
    #[context] progress: Progress,
    after: u8,
) -> String {
    progress.fraction(2.0, "done");
    let state = ctx.state().get("step");
    format!(
        "{before} {after} {} {} {:?} {} {:?} {} {:?}",
        caller.0,
        *number,
        state,
        token.is_cancelled(),
        ctx.tool(),
        owned.turn(),
        aliased.mode()
    )
}

fn context() -> RunContext {
    RunContext::builder()
        .session("s")
        .call_id("c")
        .mode(Mode::Voice)
        .turn(3)
        .user_data("ann".to_owned())
        .user_data(9_u64)
        .state(json!({"step": 2}))
        .build()
}

// L25, D7
#[test]
fn context_parameters_work_in_any_position() {
    let tools = tools(take);
    let properties = tools.definitions().next().expect("one").parameters()["properties"].clone();
    assert_eq!(
        properties
            .as_object()
            .map(|all| all.keys().cloned().collect()),
        Some(vec!["before".to_owned(), "after".into()])
    );
    let ctx = context();
    let response = block_on(tools.call("take", r#"{"before":1,"after":2}"#, &ctx));
    let expected = "1 2 ann 9 Some(Number(2)) false Some(\"take\") 3 Voice";
    assert_eq!(response.data::<String>().ok().as_deref(), Some(expected));
    assert_eq!(response.meta().call_id(), Some("c"));
    let updates = ctx.progress().take();
    assert_eq!(
        updates
            .iter()
            .map(|update| update.fraction)
            .collect::<Vec<_>>(),
        [Some(1.0)]
    );
}

// D7
#[test]
fn missing_context_value_is_an_error_response() {
    let response = call(&tools(take), "take", r#"{"before":1,"after":2}"#);
    let error = response.error().expect("nobody");
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Auth, "no user is signed in")
    );
}

/// Emit.
#[tool]
fn emit(ctx: &RunContext, owned: RunContext) -> tool_core::ToolOutput {
    ctx.emit(Intent::SuppressAudio);
    owned.emit(Intent::custom("acme.ping", json!(1)).expect("namespaced"));
    tool_core::ToolOutput::new("x").intent(Intent::EndVoiceSession)
}

// R-I1, R-E1
#[test]
fn response_has_the_intents_of_its_call_in_order() {
    let tools = tools(emit);
    let ctx = RunContext::detached();
    for _ in 0..2 {
        let response = block_on(tools.call("emit", "{}", &ctx));
        let names = response
            .intents()
            .iter()
            .map(Intent::name)
            .collect::<Vec<_>>();
        assert_eq!(names, ["SUPPRESS_AUDIO", "acme.ping", "END_VOICE_SESSION"]);
    }
}

// R-I1
#[test]
fn a_custom_intent_needs_a_namespace() {
    assert!(Intent::custom("ping", json!(null)).is_err_and(|error| error.contains("acme.ping")));
    let intent = Intent::custom("acme.ping", json!({"a": 1})).expect("namespaced");
    let text = serde_json::to_string(&intent).expect("JSON");
    assert_eq!(
        serde_json::from_str::<Intent>(&text).expect("parses"),
        intent
    );
}

/// Wait.
#[tool]
async fn wait(#[context] token: CancellationToken) -> bool {
    token.cancelled().await;
    true
}

// L23
#[test]
fn tool_can_await_its_own_cancellation() {
    let token = CancellationToken::new();
    let ctx = RunContext::builder().cancellation(token.clone()).build();
    let tools = tools(wait);
    let response = block_on(async {
        let call = tools.call("wait", "{}", &ctx);
        let (response, ()) = join(call, async { token.cancel() }).await;
        response
    });
    assert!(response.is_ok());
}

/// Both, at the same time.
async fn join<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (Box::pin(a), Box::pin(b));
    let (mut left, mut right) = (None, None);
    std::future::poll_fn(move |cx| {
        if left.is_none()
            && let std::task::Poll::Ready(value) = a.as_mut().poll(cx)
        {
            left = Some(value);
        }
        if right.is_none()
            && let std::task::Poll::Ready(value) = b.as_mut().poll(cx)
        {
            right = Some(value);
        }
        match (left.take(), right.take()) {
            (Some(l), Some(r)) => std::task::Poll::Ready((l, r)),
            (l, r) => {
                (left, right) = (l, r);
                std::task::Poll::Pending
            }
        }
    })
    .await
}

// T1
#[test]
fn debug_of_a_context_hides_its_values() {
    let shown = format!(
        "{:?}",
        RunContext::builder().config(json!({"key": "ann"})).build()
    );
    assert!(!shown.contains("ann"), "{shown}");
    let shown = format!("{:?}", context());
    assert!(
        shown.contains("session") && !shown.contains("ann") && !shown.contains("step"),
        "{shown}"
    );
}

/// Slow.
#[tool]
async fn slow(n: u32) -> u32 {
    tokio::task::yield_now().await;
    n
}

// L14
#[test]
fn one_context_serves_many_tasks_at_once() {
    let tools: Arc<ToolContext> = Arc::new(tools(slow));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .expect("a runtime");
    let sum: u64 = runtime.block_on(async {
        let tasks = (0..500_u32).map(|n| {
            let tools = Arc::clone(&tools);
            tokio::spawn(async move {
                let ctx = RunContext::detached();
                let arguments = json!({"n": n});
                tools
                    .call("slow", &arguments, &ctx)
                    .await
                    .data::<u64>()
                    .expect("a number")
            })
        });
        let mut sum = 0;
        for task in tasks.collect::<Vec<_>>() {
            sum += task.await.expect("no panic");
        }
        sum
    });
    assert_eq!(sum, 500 * 499 / 2);
}
