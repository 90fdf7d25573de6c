//! When toolsets are opened and closed: once each, and not before the last who holds them lets go. L6

use crate::support::{Plan, Probe, agents, builder, give, load, settle, touch};
use std::time::Duration;
use tool_core::agents::MemoryAgentToolStore;
use tool_core::{Mode, ToolCall};

// L6
#[tokio::test]
async fn toolset_closes_after_a_change_once_unused() {
    let mail = Probe::new("mail", ["send"]);
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    load(&agents, "alice").await;
    touch(&agents, "alice", "mail").await;
    settle().await;
    assert_eq!(mail.counts(), (1, 1, 0), "no call came since");
    load(&agents, "alice").await;
    settle().await;
    assert_eq!(mail.counts(), (2, 2, 1));
}

// R-I4
#[tokio::test]
async fn session_keeps_its_toolset_until_it_ends() {
    let mail = Probe::new("mail", ["send"]);
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let alice = agents.executor("alice");
    let old = alice
        .session("old", Mode::Text)
        .await
        .expect("loaded")
        .await
        .expect("open");
    let twin = old.clone();
    touch(&agents, "alice", "mail").await;
    let new = alice
        .session("new", Mode::Text)
        .await
        .expect("loaded")
        .await
        .expect("open");
    settle().await;
    assert_eq!(mail.counts(), (2, 2, 0));
    assert!(old.call(ToolCall::new("c", "send", "{}")).await.is_ok());
    old.end().await;
    settle().await;
    assert_eq!(mail.counts(), (2, 2, 1));
    assert!(!twin.call(ToolCall::new("c", "send", "{}")).await.is_ok());
    assert!(new.call(ToolCall::new("c", "send", "{}")).await.is_ok());
}

// R-I4
#[tokio::test]
async fn the_last_of_several_sessions_closes_it() {
    let mail = Probe::new("mail", ["send"]);
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let alice = agents.executor("alice");
    let mut sessions = Vec::new();
    for id in ["1", "2", "3"] {
        sessions.push(
            alice
                .session(id, Mode::Text)
                .await
                .expect("loaded")
                .await
                .expect("open"),
        );
    }
    let record = agents.record("alice", "mail").await.expect("a record");
    agents.remove(&record).await.expect("removed");
    assert_eq!(
        load(&agents, "alice").await.tools().definitions().count(),
        0
    );
    for session in sessions {
        settle().await;
        assert_eq!(mail.closed.get(), 0);
        session.end().await;
    }
    settle().await;
    assert_eq!(mail.counts(), (1, 1, 1));
}

// R-I4
#[tokio::test]
async fn a_session_that_is_dropped_without_an_end_lets_go_too() {
    let mail = Probe::new("mail", ["send"]);
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let session = agents
        .executor("alice")
        .session("s", Mode::Text)
        .await
        .expect("loaded")
        .await
        .expect("open");
    agents.close().await;
    assert_eq!(mail.counts(), (1, 1, 0));
    drop(session);
    settle().await;
    assert_eq!(mail.counts(), (1, 1, 1));
}

// L6
#[tokio::test]
async fn context_and_its_copies_hold_the_toolset() {
    let mail = Probe::new("mail", ["send"]);
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let tools = agents.executor("alice").tools().await.expect("loaded");
    let mut derived = tools.clone();
    derived
        .update_tools(tools.flatten().collect::<Vec<_>>())
        .expect("sound");
    drop(tools);
    agents.close().await;
    assert_eq!(mail.closed.get(), 0);
    drop(derived);
    settle().await;
    assert_eq!(mail.counts(), (1, 1, 1));
}

// L6: the tools of a session that are handed to another one.
#[tokio::test]
async fn a_session_with_the_tools_of_another_holds_them_as_well() {
    let mail = Probe::new("mail", ["send"]);
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let first = agents
        .executor("alice")
        .session("1", Mode::Text)
        .await
        .expect("loaded")
        .await
        .expect("open");
    let second = agents
        .runtime()
        .session("2", Mode::Text)
        .tools(first.tools().clone())
        .await
        .expect("open");
    agents.close().await;
    first.end().await;
    settle().await;
    assert_eq!(mail.closed.get(), 0);
    assert!(second.call(ToolCall::new("c", "send", "{}")).await.is_ok());
    second.end().await;
    settle().await;
    assert_eq!(mail.counts(), (1, 1, 1));
}

// L6: who calls them by hand does it in vain, as the executor has done it.
#[tokio::test]
async fn setup_and_close_of_an_agents_context_do_nothing() {
    let mail = Probe::new("mail", ["send"]);
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let tools = agents.executor("alice").tools().await.expect("loaded");
    let (again, failures) = tools.setup().await;
    assert!(failures.is_empty() && again == tools && again.close().await.is_empty());
    assert_eq!(mail.counts(), (1, 1, 0));
}

#[tokio::test]
async fn close_waits_until_all_that_nobody_holds_is_closed() {
    let mail = Probe::new("mail", ["send"]);
    let agents = agents([&mail]);
    for agent in ["alice", "bob"] {
        give(&agents, agent, "mail").await;
        load(&agents, agent).await;
    }
    agents.close().await;
    assert_eq!(mail.counts(), (2, 2, 2));
    // It is no end: what is asked for is loaded again.
    load(&agents, "alice").await;
    agents.close().await;
    assert_eq!(mail.counts(), (3, 3, 3));
}

#[tokio::test]
async fn the_last_handle_closes_them_as_it_goes() {
    let mail = Probe::new("mail", ["send"]);
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    load(&agents, "alice").await;
    drop(agents);
    settle().await;
    assert_eq!(mail.counts(), (1, 1, 1));
}

#[tokio::test]
async fn evicted_agent_closes_and_its_session_continues() {
    let mail = Probe::new("mail", ["send"]);
    let agents = builder(MemoryAgentToolStore::new(), [&mail])
        .cached_agents(2)
        .build()
        .expect("sound");
    for agent in ["a", "b", "c", "d", "e"] {
        give(&agents, agent, "mail").await;
    }
    let session = agents
        .executor("a")
        .session("s", Mode::Text)
        .await
        .expect("loaded")
        .await
        .expect("open");
    for agent in ["b", "c", "d", "e"] {
        load(&agents, agent).await;
    }
    settle().await;
    assert_eq!(
        mail.counts(),
        (5, 5, 2),
        "two are kept, and one has a session"
    );
    assert!(session.call(ToolCall::new("c", "send", "{}")).await.is_ok());
    session.end().await;
    settle().await;
    assert_eq!(mail.closed.get(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_toolset_that_does_not_close_keeps_nobody_waiting() {
    let mail = Probe::new("mail", ["send"]);
    mail.plan(Plan::HangsWhileClosed);
    let agents = builder(MemoryAgentToolStore::new(), [&mail])
        .setup_within(Duration::from_secs(2))
        .build();
    let agents = agents.expect("sound");
    give(&agents, "alice", "mail").await;
    load(&agents, "alice").await;
    let began = tokio::time::Instant::now();
    agents.close().await;
    assert_eq!(
        (mail.closed.get(), began.elapsed()),
        (1, Duration::from_secs(2))
    );
}

// R-I4: the next session has the new one.
#[tokio::test]
async fn disabled_toolset_stays_in_open_sessions_only() {
    let mail = Probe::new("mail", ["send"]);
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let alice = agents.executor("alice");
    let old = alice
        .session("old", Mode::Text)
        .await
        .expect("loaded")
        .await
        .expect("open");
    agents.disable("alice", "mail").await.expect("written");
    let new = alice
        .session("new", Mode::Text)
        .await
        .expect("loaded")
        .await
        .expect("open");
    assert!(old.tools().has_tool("send") && !new.tools().has_tool("send"));
    old.end().await;
    settle().await;
    assert_eq!(mail.counts(), (1, 1, 1));
}
