//! Tokens that expire: one refresh for all callers.

use crate::provider::{agents, clients, connect, connected_shortly, counted, issuer, secrets};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tool_core::agents::MemoryAgentToolStore;
use tool_core::{ErrorKind, Mode, ToolCall};

/// The server counts the refreshes of all tests: those that look at it take turns.
pub(crate) static COUNTING: Mutex<()> = Mutex::const_new(());

/// Longer than tokens of `agents-short` live.
const EXPIRED: Duration = Duration::from_millis(6200);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_tasks_have_an_expired_token_refreshed_once() {
    if issuer().is_none() {
        return;
    }
    let _turn = COUNTING.lock().await;
    let (_, agents) = connected_shortly("calendar").await;
    let tools = agents.executor("alice").tools().await.expect("loads");
    let first = secrets(&agents, "alice", "calendar").await;
    for round in 0..2 {
        tokio::time::sleep(EXPIRED).await;
        let before = counted("refresh_token").await;
        let tasks = (0..64).map(|_| {
            let tools = tools.clone();
            tokio::spawn(async move {
                tools
                    .call("events", "{}", &tool_core::RunContext::detached())
                    .await
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            let response = task.await.expect("sound");
            assert!(response.is_ok(), "{response}");
        }
        assert_eq!(counted("refresh_token").await - before, 1, "round {round}");
    }
    let last = secrets(&agents, "alice", "calendar").await;
    for name in ["access_token", "refresh_token"] {
        assert_ne!(first[name], last[name], "{name}");
    }
}

#[tokio::test]
async fn a_running_session_goes_on_with_refreshed_tokens() {
    if issuer().is_none() {
        return;
    }
    let _turn = COUNTING.lock().await;
    let (_, agents) = connected_shortly("calendar").await;
    let session = agents
        .executor("alice")
        .session("s-1", Mode::Text)
        .await
        .expect("loads")
        .await
        .expect("opens");
    for n in 0..2 {
        let response = session
            .call(ToolCall::new(format!("c-{n}"), "events", "{}"))
            .await;
        assert!(response.is_ok(), "{response}");
        session.next_turn().await;
        if n == 0 {
            tokio::time::sleep(EXPIRED).await;
        }
    }
}

#[tokio::test]
async fn toolset_with_a_copied_token_is_rebuilt_at_expiry() {
    if issuer().is_none() {
        return;
    }
    let _turn = COUNTING.lock().await;
    let (_, agents) = connected_shortly("copied_calendar").await;
    let alice = agents.executor("alice");
    for n in 0..2 {
        let response = alice
            .run_tool_action("copied_calendar", "copied_events", "{}")
            .await
            .expect("runs");
        assert!(response.is_ok(), "{response}");
        if n == 0 {
            tokio::time::sleep(EXPIRED).await;
        }
    }
}

// Two processes, as far as they can be in one: two `Agents` on one store, which share nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn programs_that_share_a_store_have_a_token_refreshed_once() {
    if issuer().is_none() {
        return;
    }
    let _turn = COUNTING.lock().await;
    let store = Arc::new(MemoryAgentToolStore::new());
    let first = clients("agents-short");
    connect(&first, &agents(store.clone(), &first), "alice", "calendar").await;
    tokio::time::sleep(EXPIRED).await;
    let before = counted("refresh_token").await;
    let tasks = (0..4).map(|_| {
        let agents = agents(store.clone(), &clients("agents-short"));
        tokio::spawn(async move {
            agents
                .executor("alice")
                .run_tool_action("calendar", "events", "{}")
                .await
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        let response = task.await.expect("sound").expect("runs");
        assert!(response.is_ok(), "{response}");
    }
    assert_eq!(counted("refresh_token").await - before, 1);
}

// Reusing an old refresh token revokes the grant, and the person has to consent again.
#[tokio::test]
async fn a_revoked_grant_is_reported_as_not_connected() {
    if issuer().is_none() {
        return;
    }
    let _turn = COUNTING.lock().await;
    let (clients, agents) = connected_shortly("calendar").await;
    let old = secrets(&agents, "alice", "calendar").await["refresh_token"]
        .as_str()
        .expect("a token")
        .to_owned();
    let alice = agents.executor("alice");
    tokio::time::sleep(EXPIRED).await;
    assert!(
        alice
            .run_tool_action("calendar", "events", "{}")
            .await
            .expect("runs")
            .is_ok()
    );

    let revoked = counted("revoked").await;
    let thief = reqwest::Client::new().post(format!("{}/token", issuer().expect("the server")));
    let thief = thief.basic_auth("agents-short", Some("the+secret+of+the+client%2C+32+bytes"));
    let body = format!("grant_type=refresh_token&refresh_token={old}");
    let thief = thief
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body);
    assert_eq!(thief.send().await.expect("answers").status().as_u16(), 400);
    assert_eq!(counted("revoked").await - revoked, 1);

    tokio::time::sleep(EXPIRED).await;
    let response = alice
        .run_tool_action("calendar", "events", "{}")
        .await
        .expect("runs");
    let error = response.error().expect("taken back");
    assert_eq!(error.kind, ErrorKind::Auth);
    assert!(
        error
            .message
            .contains("has to be connected to `oidc-provider` again"),
        "{}",
        error.message
    );
    let now = secrets(&agents, "alice", "calendar").await;
    for secret in [&now["access_token"], &now["refresh_token"]] {
        assert!(
            !response
                .to_json()
                .contains(secret.as_str().expect("a token"))
        );
    }
    // And is good again when a person has agreed.
    let begun = clients
        .begin(&agents, "alice", "calendar")
        .await
        .expect("begun");
    let callback = crate::browser::Browser::new().agree(&begun.url).await;
    clients
        .complete(&agents, "alice", callback)
        .await
        .expect("connected");
    assert!(
        alice
            .run_tool_action("calendar", "events", "{}")
            .await
            .expect("runs")
            .is_ok()
    );
}
