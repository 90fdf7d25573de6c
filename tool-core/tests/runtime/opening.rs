//! The opening of sessions: principals, caps and ids.

use crate::support::{call, kind, open, runtime, tools};
use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::advance;
use tool_core::session::{MemoryStore, OpenError};
use tool_core::{ErrorKind, Mode, Policy, Runtime, Session, tool};

/// Say hello.
#[tool(name = "greet")]
fn greet(name: &str) -> String {
    format!("hello {name}")
}

fn hall(sessions: u64) -> Runtime {
    runtime(tools![greet], Policy::text().max_sessions(sessions))
}

async fn refused(runtime: &Runtime, id: &str) -> Option<OpenError> {
    runtime.session(id, Mode::Text).await.err()
}

async fn works(session: &Session) -> bool {
    call(session, "greet", json!({"name": "Ada"})).await.is_ok()
}

// R-I3
#[test]
fn session_in_memory_opens_outside_of_tokio() {
    let opened = hall(1)
        .session("s-1", Mode::Text)
        .into_future()
        .now_or_never();
    assert!(opened.is_some_and(|session| session.is_ok()));
}

// R-I3
#[tokio::test]
async fn at_the_cap_new_sessions_are_refused_and_live_ones_stay() {
    let runtime = hall(2);
    let (one, two) = (
        open(&runtime, "1", Mode::Text).await,
        open(&runtime, "2", Mode::Voice).await,
    );
    let error = refused(&runtime, "3").await.expect("the hall is full");
    assert_eq!(error, OpenError::Full { limit: 2 });
    assert_eq!(
        error.to_string(),
        "2 sessions are open, which is the limit; end some, or raise `Policy::max_sessions`"
    );
    assert!(works(&one).await && works(&two).await);
    assert_eq!(runtime.sessions().await, Ok(2));
}

// R-I3
#[tokio::test]
async fn default_session_cap_is_100_000() {
    let runtime = Runtime::builder(tools![greet]).build().expect("a runtime");
    for n in 0..100_000 {
        assert_eq!(refused(&runtime, &n.to_string()).await, None);
    }
    assert_eq!(
        refused(&runtime, "one more").await,
        Some(OpenError::Full { limit: 100_000 })
    );
}

// R-I3
#[tokio::test]
async fn open_session_can_be_joined_at_the_cap() {
    let runtime = hall(1);
    let _held = open(&runtime, "1", Mode::Text).await;
    assert_eq!(refused(&runtime, "1").await, None);
}

// R-I3
#[tokio::test]
async fn sessions_that_have_ended_make_room() {
    let runtime = hall(1);
    open(&runtime, "1", Mode::Text).await.end().await;
    let second = open(&runtime, "2", Mode::Text).await;
    assert_eq!(runtime.sessions().await, Ok(1));
    assert!(works(&second).await);
}

// R-I3
#[tokio::test(start_paused = true)]
async fn sessions_that_have_expired_make_room() {
    let runtime = hall(2);
    let old = open(&runtime, "old", Mode::Text).await;
    advance(Duration::from_secs(20 * 60)).await;
    let young = open(&runtime, "young", Mode::Text).await;
    advance(Duration::from_secs(15 * 60)).await;
    let new = open(&runtime, "new", Mode::Text).await;
    assert_eq!(
        [works(&old).await, works(&young).await, works(&new).await],
        [false, true, true]
    );
}

// R-I3
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_openings_stop_at_the_cap() {
    let runtime = hall(7);
    let tasks = (0..100).map(|n| {
        let runtime = runtime.clone();
        tokio::spawn(async move { runtime.session(n.to_string(), Mode::Text).await })
    });
    let opened = join_all(tasks)
        .await
        .into_iter()
        .filter(|joined| matches!(joined, Ok(Ok(_))))
        .count();
    assert_eq!((opened, runtime.sessions().await), (7, Ok(7)));
}

// R-I3
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn handles_of_one_session_share_its_budget() {
    let runtime = runtime(tools![greet], Policy::text().max_calls(Some(7)));
    let tasks = (0..50).map(|n| {
        let runtime = runtime.clone();
        tokio::spawn(async move {
            let session = open(&runtime, "s", Mode::Text).await;
            call(&session, "greet", json!({"name": n.to_string()}))
                .await
                .is_ok()
        })
    });
    let ran = join_all(tasks)
        .await
        .into_iter()
        .filter(|joined| matches!(joined, Ok(true)))
        .count();
    assert_eq!((ran, runtime.sessions().await), (7, Ok(1)));
}

// R-I3
#[tokio::test]
async fn session_keeps_its_mode() {
    let runtime = hall(9);
    let session = open(&runtime, "s\n", Mode::Voice).await;
    let error = refused(&runtime, "s\n")
        .await
        .expect("it is open in the other mode");
    assert_eq!(
        error,
        OpenError::OtherMode {
            id: "s\n".into(),
            open: Mode::Voice
        }
    );
    assert_eq!(
        error.to_string(),
        r"session `s\n` is open in voice mode; open it in that mode and call `switch_mode`, or open a session with another id"
    );
    assert_eq!(session.mode(), Mode::Voice);
    session.end().await;
    assert_eq!(open(&runtime, "s\n", Mode::Text).await.mode(), Mode::Text);
}

// R-I3, R-C2
#[tokio::test]
async fn session_belongs_to_its_principal() {
    let runtime = hall(9);
    let ada = runtime
        .session("s", Mode::Text)
        .principal("ada")
        .await
        .expect("a session");
    let other = OpenError::OtherPrincipal { id: "s".into() };
    let asked = runtime
        .session("s", Mode::Text)
        .principal("bob")
        .await
        .err();
    assert_eq!(asked.as_ref(), Some(&other));
    assert_eq!(refused(&runtime, "s").await, Some(other.clone()));
    assert_eq!(
        other.to_string(),
        "session `s` is open for another principal; use one id for each conversation"
    );
    assert!(
        runtime
            .session("s", Mode::Text)
            .principal("ada")
            .await
            .is_ok()
    );
    ada.end().await;
    assert!(
        runtime
            .session("s", Mode::Text)
            .principal("bob")
            .await
            .is_ok()
    );
}

// R-C2
#[tokio::test]
async fn transport_does_not_change_the_principal() {
    let runtime = hall(9);
    let _ada = runtime
        .session("s", Mode::Text)
        .principal("ada")
        .await
        .expect("a session");
    let asked = runtime
        .session("s", Mode::Text)
        .principal("bob")
        .on_update(|_| ())
        .await
        .err();
    assert_eq!(asked, Some(OpenError::OtherPrincipal { id: "s".into() }));
}

// R-I3
#[tokio::test]
async fn session_id_has_1_to_512_bytes() {
    let runtime = hall(9);
    for wrong in [String::new(), "x".repeat(513), "ä".repeat(257)] {
        assert_eq!(refused(&runtime, &wrong).await, Some(OpenError::InvalidId));
    }
    for right in [
        "x".to_owned(),
        "x".repeat(512),
        " ".to_owned(),
        "ä/\0\n".to_owned(),
    ] {
        assert_eq!(
            open(&runtime, &right, Mode::Text).await.id().as_str(),
            right
        );
    }
    assert_eq!(
        OpenError::InvalidId.to_string(),
        "expected a session id of 1 to 512 bytes"
    );
}

// R-I3
#[tokio::test]
async fn unawaited_opening_opens_no_session() {
    let runtime = hall(9);
    drop(runtime.session("s", Mode::Text));
    assert_eq!(runtime.sessions().await, Ok(0));
}

// R-I3
#[tokio::test]
async fn session_outlives_its_handles() {
    let runtime = runtime(tools![greet], Policy::text().max_calls(Some(1)));
    let session = open(&runtime, "s", Mode::Text).await;
    session.next_turn().await;
    assert!(works(&session).await);
    drop(session);
    let again = open(&runtime, "s", Mode::Text).await;
    assert_eq!((again.turn(), works(&again).await), (1, false));
}

// R-I3, R-C3
#[tokio::test]
async fn session_end_applies_to_all_processes() {
    let store = Arc::new(MemoryStore::new());
    let process = || {
        Runtime::builder(tools![greet])
            .store(Arc::clone(&store))
            .build()
            .expect("a runtime")
    };
    let (here, there) = (process(), process());
    let (one, other) = (
        open(&here, "s", Mode::Text).await,
        open(&there, "s", Mode::Text).await,
    );
    one.end().await;
    let late = call(&other, "greet", json!({"name": "Ada"})).await;
    assert_eq!(kind(&late), Some(ErrorKind::SessionInactive));
    assert!(other.next_turn().await.ended);
    let fresh = open(&there, "s", Mode::Text).await;
    assert!(works(&fresh).await);
}
