//! Several handles of one session, and one id for several sessions.

use crate::support::{call, kind, runtime, tools};
use serde_json::json;
use tool_core::session::OpenError;
use tool_core::{ErrorKind, Mode, Policy, Runtime, Session, ToolCall, tool};
use tower::limit::ConcurrencyLimitLayer;

/// Say hello.
#[tool(name = "greet")]
fn greet(name: &str) -> String {
    format!("hello {name}")
}

/// Wait for ever.
#[tool(name = "wait", on_duplicate = "reject")]
async fn wait() {
    std::future::pending::<()>().await;
}

async fn works(session: &Session) -> bool {
    call(session, "greet", json!({"name": "Ada"})).await.is_ok()
}

/// Opens a session with two handles. The second brings a transport.
async fn two_handles() -> (Runtime, Session, Session) {
    let runtime = runtime(tools![greet, wait], Policy::text());
    let first = runtime
        .session("s", Mode::Text)
        .principal("ada")
        .await
        .expect("a session");
    let second = runtime
        .session("s", Mode::Text)
        .principal("ada")
        .on_update(|_| ())
        .await
        .expect("a session");
    (runtime, first, second)
}

// R-I3
#[tokio::test(start_paused = true)]
async fn end_through_one_handle_answers_all_calls() {
    let (_, first, second) = two_handles().await;
    let (response, ()) = tokio::join!(first.call(ToolCall::new("c", "wait", "{}")), second.end());
    assert_eq!(kind(&response), Some(ErrorKind::Cancelled));
}

// R-I3
#[tokio::test(start_paused = true)]
async fn shutdown_ends_the_calls_of_all_handles() {
    let (runtime, first, _second) = two_handles().await;
    let (response, ()) = tokio::join!(
        first.call(ToolCall::new("c", "wait", "{}")),
        runtime.shutdown()
    );
    assert_eq!(kind(&response), Some(ErrorKind::Cancelled));
}

// L17
#[tokio::test]
async fn duplicates_are_found_across_handles() {
    let (_, first, second) = two_handles().await;
    let (_, refused) = tokio::join!(first.call(ToolCall::new("a", "wait", "{}")), async {
        let refused = second.call(ToolCall::new("b", "wait", "{}"));
        let refused = tokio::select! { biased; refused = refused => kind(&refused), () = tokio::task::yield_now() => None };
        first.cancel("a");
        refused
    });
    assert_eq!(refused, Some(ErrorKind::Conflict));
}

// R-C2
#[tokio::test]
async fn dropped_handle_keeps_the_principal() {
    let (runtime, _first, second) = two_handles().await;
    drop(second);
    let asked = runtime
        .session("s", Mode::Text)
        .principal("bob")
        .await
        .err();
    assert_eq!(asked, Some(OpenError::OtherPrincipal { id: "s".into() }));
}

// R-I3, R-C2
#[tokio::test]
async fn call_through_layers_stays_in_its_session() {
    let layered = Runtime::builder(tools![greet]).layer(ConcurrencyLimitLayer::new(9));
    let runtime = layered
        .policy(Policy::text().max_calls(Some(1)))
        .build()
        .expect("a runtime");
    let ada = runtime
        .session("s", Mode::Text)
        .principal("ada")
        .await
        .expect("a session");
    assert!(works(&ada).await);
    ada.end().await;
    let bob = runtime
        .session("s", Mode::Text)
        .principal("bob")
        .await
        .expect("a fresh session");
    assert_eq!(
        kind(&call(&ada, "greet", json!({"name": "Eve"})).await),
        Some(ErrorKind::SessionInactive)
    );
    assert!(works(&bob).await, "his budget is unspent");
}

// R-C2
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_two_racing_principals_opens_the_session() {
    let runtime = runtime(tools![greet], Policy::text());
    for n in 0..2000 {
        let opened = ["ada", "bob"].map(|whom| {
            let open = runtime
                .session(format!("s-{n}"), Mode::Text)
                .principal(whom);
            tokio::spawn(async move { open.await.ok() })
        });
        let [ada, bob] = opened;
        let (ada, bob) = (ada.await.expect("an answer"), bob.await.expect("an answer"));
        assert!(ada.is_some() != bob.is_some(), "both opened session {n}");
    }
}
