//! Hooks that hang, refuse, or end their session.

use crate::support::{Counter, asked, kind, tools};
use crate::support_b::{answer, begin, ms};
use serde_json::json;
use std::future::pending;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::{Instant, timeout};
use tool_core::session::{Hook, HookFuture, HookedCall, Next};
use tool_core::{
    ErrorKind, FromRunContext, Mode, Policy, RunContext, Runtime, Session, ToolContext, ToolError,
    ToolResponse, tool,
};

const LIMIT: Duration = Duration::from_secs(2);
const GRACE: Duration = Duration::from_secs(1);

/// Greet.
#[tool(name = "greet")]
fn greet(name: &str) -> String {
    format!("hello {name}")
}

/// Send.
#[tool(name = "send", category = "action", confirm)]
fn send(what: String) -> String {
    what
}

/// End the session from inside of it.
#[tool(name = "hang_up")]
async fn hang_up(ctx: &RunContext) {
    ctx.disallow_interruptions();
    if let Some(session) = ctx.user_data::<Cell>().and_then(|cell| cell.get()) {
        session.end().await;
    }
    pending::<()>().await;
}

type Cell = Arc<OnceLock<Session>>;

struct NobodySignedIn;

impl FromRunContext<'_> for NobodySignedIn {
    fn from_run_context(_: &RunContext) -> Result<Self, ToolError> {
        Err(ToolError::auth("no user is signed in"))
    }
}

/// Look at the account.
#[tool(name = "account", max_calls = 2)]
fn account(#[context] _who: NobodySignedIn, number: u32) -> u32 {
    number
}

fn context() -> ToolContext {
    tools![greet, send, account, hang_up]
}

async fn session(hook: impl Hook) -> (Runtime, Session) {
    let runtime = Runtime::builder(context())
        .policy(Policy::text().deadline(LIMIT))
        .hook(hook);
    let runtime = runtime.build().expect("a runtime");
    let session = runtime.session("s", Mode::Text).await.expect("a session");
    (runtime, session)
}

struct HangsAround;

impl Hook for HangsAround {
    fn around<'a>(&'a self, _: &'a HookedCall<'a>, next: Next<'a>) -> HookFuture<'a, ToolResponse> {
        Box::pin(async move {
            next.run().await;
            pending().await
        })
    }
}

struct HangsAfter;

impl Hook for HangsAfter {
    fn after<'a>(&'a self, _: &'a HookedCall<'a>, _: &'a mut ToolResponse) -> HookFuture<'a, ()> {
        Box::pin(pending())
    }
}

// R-B5
#[tokio::test(start_paused = true)]
async fn hanging_around_hook_delays_by_one_second_at_most() {
    let (_runtime, session) = session(HangsAround).await;
    let began = Instant::now();
    let response = session.call(asked("greet", json!({"name": "Ada"}))).await;
    assert_eq!(kind(&response), Some(ErrorKind::Timeout));
    assert!(
        (LIMIT..=LIMIT + GRACE + Duration::from_millis(50)).contains(&began.elapsed()),
        "{:?}",
        began.elapsed()
    );
}

// R-B5
#[tokio::test(start_paused = true)]
async fn hanging_after_hook_keeps_the_response() {
    let (_runtime, session) = session(HangsAfter).await;
    let began = Instant::now();
    let response = session.call(asked("greet", json!({"name": "Ada"}))).await;
    assert_eq!(response.data_json(), Some(r#""hello Ada""#));
    assert!(
        began.elapsed() <= GRACE + Duration::from_millis(50),
        "{:?}",
        began.elapsed()
    );
}

// R-I3
#[tokio::test(start_paused = true)]
async fn session_ends_despite_a_hanging_hook() {
    let (_runtime, session) = session(HangsAround).await;
    let hangs = begin(&session, "c", "greet", r#"{"name":"Ada"}"#).await;
    timeout(Duration::from_secs(6), session.end())
        .await
        .expect("the session ends");
    assert!(session.state().ended);
    assert_eq!(kind(&answer(hangs).await), Some(ErrorKind::Timeout));
}

/// A hook that ends the session after its first call.
struct Ends(Cell);

impl Hook for Ends {
    fn after<'a>(&'a self, _: &'a HookedCall<'a>, _: &'a mut ToolResponse) -> HookFuture<'a, ()> {
        Box::pin(async move {
            if let Some(session) = self.0.get() {
                session.end().await;
            }
        })
    }
}

/// Waits until the session has ended in its store.
async fn has_ended(session: &Session) {
    let ended = async {
        while !session.state().ended {
            ms(10).await;
        }
    };
    timeout(Duration::from_secs(6), ended)
        .await
        .expect("the session has ended");
}

// R-I3
#[tokio::test(start_paused = true)]
async fn hook_can_end_the_session_after_a_call() {
    let cell = Cell::default();
    let (runtime, session) = session(Ends(Arc::clone(&cell))).await;
    assert!(cell.set(session.clone()).is_ok());
    let answered = session.call(asked("greet", json!({"name": "Ada"})));
    let response = timeout(Duration::from_secs(6), answered)
        .await
        .expect("an answer");
    assert_eq!(response.data_json(), Some(r#""hello Ada""#));
    let late = session.call(asked("greet", json!({"name": "Bob"}))).await;
    assert_eq!(kind(&late), Some(ErrorKind::SessionInactive));
    has_ended(&session).await;
    assert_eq!(runtime.sessions().await, Ok(0));
}

// R-I3
#[tokio::test(start_paused = true)]
async fn tool_ending_its_session_is_answered() {
    let cell = Cell::default();
    let runtime = Runtime::builder(context()).build().expect("a runtime");
    let session = runtime
        .session("s", Mode::Text)
        .user_data(Arc::clone(&cell))
        .await
        .expect("a session");
    assert!(cell.set(session.clone()).is_ok());
    let answered = session.call(asked("hang_up", json!({})));
    let response = timeout(Duration::from_secs(6), answered)
        .await
        .expect("an answer");
    assert_eq!(kind(&response), Some(ErrorKind::Cancelled));
    has_ended(&session).await;
}

/// A hook that refuses the first approved call.
struct RefusesOnce(Counter);

impl Hook for RefusesOnce {
    fn before<'a>(&'a self, _: &'a HookedCall<'a>) -> HookFuture<'a, Result<(), ToolError>> {
        let first = self.0.add() == 1;
        Box::pin(async move {
            if first {
                Err(ToolError::transient("busy"))
            } else {
                Ok(())
            }
        })
    }
}

// R-C2
#[tokio::test]
async fn approval_survives_a_refusal_by_a_hook() {
    let (_runtime, session) = session(RefusesOnce(Counter::default())).await;
    let waits = session
        .call(asked("send", json!({"what": "a letter"})))
        .await;
    let token = &waits
        .meta()
        .confirmation()
        .expect("a person is asked")
        .token;
    assert_eq!(
        kind(&session.approve(token).await),
        Some(ErrorKind::Transient)
    );
    assert_eq!(
        session.approve(token).await.data_json(),
        Some(r#""a letter""#)
    );
    assert_eq!(
        kind(&session.approve(token).await),
        Some(ErrorKind::NotFound)
    );
}

struct Watches;

impl Hook for Watches {}

// R-B2
#[tokio::test]
async fn call_without_context_costs_nothing_with_a_hook() {
    let (_runtime, session) = session(Watches).await;
    for number in 0..4 {
        let response = session
            .call(asked("account", json!({"number": number})))
            .await;
        assert_eq!(kind(&response), Some(ErrorKind::Auth), "call {number}");
    }
}
