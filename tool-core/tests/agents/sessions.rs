//! Sessions of agents.

use crate::support::{Probe, agents, builder, give, kind, touch};
use std::sync::Arc;
use tool_core::agents::MemoryAgentToolStore;
use tool_core::session::{MemoryStore, OpenError};
use tool_core::tool::Confirm;
use tool_core::{ErrorKind, Mode, RunContext, Runtime, Secret, ToolCall, ToolContext, tool};

/// The principal of the session.
#[tool]
fn whoami(ctx: &RunContext) -> String {
    ctx.user_data::<String>().cloned().unwrap_or_default()
}

/// Delete something, with the agent's account.
#[tool(category = "action", confirm)]
fn delete() -> &'static str {
    "deleted"
}

// R-I4
#[tokio::test]
async fn session_keeps_its_tools_and_the_next_has_new_ones() {
    let mail = Probe::new("mail", ["send", "find"]);
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let alice = agents.executor("alice");
    let old = alice
        .session("old", Mode::Text)
        .await
        .expect("loaded")
        .await
        .expect("open");
    agents
        .disable_action("alice", "mail", "find")
        .await
        .expect("written");
    let new = alice
        .session("new", Mode::Text)
        .await
        .expect("loaded")
        .await
        .expect("open");
    assert!(old.tools().has_tool("find") && !new.tools().has_tool("find"));
    assert!(old.call(ToolCall::new("c", "find", "{}")).await.is_ok());
    assert!(!new.call(ToolCall::new("c", "find", "{}")).await.is_ok());
}

// R-I4
#[tokio::test]
async fn joining_an_agents_session_gets_its_first_tools() {
    let mail = Probe::new("mail", ["send", "find"]);
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let alice = agents.executor("alice");
    let _first = alice
        .session("s", Mode::Text)
        .await
        .expect("loaded")
        .await
        .expect("open");
    agents
        .disable_action("alice", "mail", "find")
        .await
        .expect("written");
    let joined = alice
        .session("s", Mode::Text)
        .await
        .expect("loaded")
        .await
        .expect("open");
    assert!(joined.tools().has_tool("find"));
}

// T1: one agent never sees the settings and secrets of another.
#[tokio::test]
async fn no_agent_joins_the_session_of_another() {
    let mail = Probe::new("mail", ["send"]);
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let _alice = agents
        .executor("alice")
        .session("s", Mode::Text)
        .await
        .expect("loaded")
        .await
        .expect("open");
    let bob = agents
        .executor("bob")
        .session("s", Mode::Text)
        .await
        .expect("loaded")
        .await;
    assert!(matches!(
        bob.expect_err("alice's session"),
        OpenError::OtherAgent { .. }
    ));
    let outside = agents
        .runtime()
        .session("t", Mode::Text)
        .await
        .expect("open");
    let bob = agents
        .executor("bob")
        .session("t", Mode::Text)
        .await
        .expect("loaded")
        .await;
    assert!(
        bob.expect_err("nobody's")
            .to_string()
            .contains("another agent")
    );
    outside.end().await;
    assert!(
        agents
            .executor("bob")
            .session("t", Mode::Text)
            .await
            .expect("loaded")
            .await
            .is_ok()
    );
}

// R-C2: an approval that one agent asked for does not run with the account of another.
#[tokio::test]
async fn no_agent_redeems_the_approval_of_another() {
    let store = Arc::new(MemoryStore::new());
    let runtime = Runtime::builder(ToolContext::builder().build().expect("nothing"))
        .store(Arc::clone(&store));
    let agents = builder(MemoryAgentToolStore::new(), [])
        .with(delete)
        .runtime(runtime.build().expect("sound"));
    let agents = agents.build().expect("sound");
    let alice = agents
        .executor("alice")
        .session("s", Mode::Text)
        .await
        .expect("loaded")
        .await
        .expect("open");
    let asked = alice.call(ToolCall::new("c", "delete", "{}")).await;
    let token = asked
        .meta()
        .confirmation()
        .expect("a person is asked")
        .token
        .clone();
    drop(alice);
    let open = async |agent: &str| {
        agents
            .executor(agent)
            .session("s", Mode::Text)
            .await
            .expect("loaded")
            .await
    };
    for other in (0..1_000).map(|number| format!("alice{number}")) {
        assert_eq!(
            open(&other).await.expect_err("alice's session"),
            OpenError::OtherAgent { id: "s".into() }
        );
        let own = agents
            .executor(&other)
            .session(&*other, Mode::Text)
            .await
            .expect("loaded")
            .await
            .expect("open");
        assert_eq!(kind(&own.approve(&token).await), Some(ErrorKind::NotFound));
    }
    let outside = agents.runtime().session("s", Mode::Text).await;
    assert_eq!(
        outside.expect_err("alice's session"),
        OpenError::OtherAgent { id: "s".into() }
    );
    assert!(
        open("alice")
            .await
            .expect("open")
            .approve(&token)
            .await
            .is_ok()
    );
    let alice = open("alice").await.expect("open");
    let asked = alice.call(ToolCall::new("d", "delete", "{}")).await;
    let token = asked
        .meta()
        .confirmation()
        .expect("a person is asked")
        .token
        .clone();
    alice.end().await;
    let refused = open("bob")
        .await
        .expect("the id is free")
        .approve(&token)
        .await;
    assert_eq!(
        refused.error().map(|error| error.kind),
        Some(ErrorKind::NotFound)
    );
}

// Another process joins the session with newer settings.
#[tokio::test]
async fn session_approves_no_call_of_other_settings() {
    let (sessions, records) = (
        Arc::new(MemoryStore::new()),
        Arc::new(MemoryAgentToolStore::new()),
    );
    let mail = Probe::new("mail", ["send"]).options(|tool| tool.confirm(Confirm::Always));
    let open = async || {
        let nothing = ToolContext::builder().build().expect("nothing");
        let runtime = Runtime::builder(nothing)
            .store(Arc::clone(&sessions))
            .signing_key([7; 32]);
        let agents =
            builder(Arc::clone(&records), [&mail]).runtime(runtime.build().expect("sound"));
        let agents = agents.build().expect("sound");
        if agents.record("alice", "mail").await.is_err() {
            give(&agents, "alice", "mail").await;
        }
        let session = agents
            .executor("alice")
            .session("s", Mode::Text)
            .await
            .expect("loaded")
            .await
            .expect("open");
        (agents, session)
    };
    let (agents, session) = open().await;
    let asked = session.call(ToolCall::new("c", "send", "{}")).await;
    let token = asked
        .meta()
        .confirmation()
        .expect("a person is asked")
        .token
        .clone();
    for _ in 0..1_000 {
        touch(&agents, "alice", "mail").await;
        let refused = open().await.1.approve(&token).await;
        assert_eq!(
            refused.error().map(|error| error.kind),
            Some(ErrorKind::Conflict),
            "{refused}"
        );
    }
    assert_eq!(mail.called.get(), 0);
    assert!(
        session.approve(&token).await.is_ok(),
        "with the settings that the person has seen"
    );
}

#[tokio::test]
async fn what_each_session_is_given_is_there_for_tools_and_actions() {
    let agents = builder(MemoryAgentToolStore::new(), [&Probe::new("mail", ["send"])])
        .with(whoami)
        .each_session(|open| open.user_data("the host".to_owned()).principal("user:7"))
        .build()
        .expect("sound");
    let session = agents
        .executor("alice")
        .session("s", Mode::Text)
        .await
        .expect("loaded")
        .await
        .expect("open");
    assert_eq!(
        session
            .call(ToolCall::new("c", "whoami", "{}"))
            .await
            .data_json(),
        Some(r#""the host""#)
    );
    assert!(matches!(
        agents.runtime().session("s", Mode::Text).await,
        Err(OpenError::OtherPrincipal { .. })
    ));
}

// R-M1: tools of one name are counted together, also of different agents.
#[tokio::test]
async fn calls_of_all_agents_are_counted_by_the_tools_name() {
    let mail = Probe::new("mail", ["send"]);
    let runtime = Runtime::builder(ToolContext::builder().build().expect("nothing"))
        .build()
        .expect("sound");
    let agents = builder(MemoryAgentToolStore::new(), [&mail])
        .runtime(runtime.clone())
        .build()
        .expect("sound");
    for agent in ["alice", "bob"] {
        give(&agents, agent, "mail").await;
        let alice = agents.executor(agent);
        let session = alice
            .session(agent, Mode::Text)
            .await
            .expect("loaded")
            .await
            .expect("open");
        session.call(ToolCall::new("c", "send", "{}")).await;
        touch(&agents, agent, "mail").await;
        let session = alice
            .session(format!("{agent}-2"), Mode::Text)
            .await
            .expect("loaded")
            .await
            .expect("open");
        session.call(ToolCall::new("c", "send", "{}")).await;
    }
    assert_eq!(runtime.metrics().tools["send"].calls, 4);
    assert_eq!(runtime.metrics().tools["send"].calls, 4);
    agents.close().await;
    assert_eq!(
        runtime.metrics().tools["send"].calls,
        4,
        "it never goes backwards"
    );
}

#[tokio::test]
async fn agents_and_executors_show_no_secrets_and_are_cheap_to_clone() {
    let mail = Probe::new("mail", ["send"]);
    let agents = agents([&mail]);
    let secret = Secret::from("canary-5b1c");
    agents.add("alice", "mail").save().await.expect("written");
    let shown = format!(
        "{agents:?} {:?} {:?} {secret:?}",
        agents.executor("alice"),
        agents.executor("alice").load().await
    );
    assert!(
        shown.contains("alice") && shown.contains("mail") && !shown.contains("canary"),
        "{shown}"
    );
    assert_eq!(
        agents.executor(Arc::<str>::from("alice")).agent(),
        agents.executor(String::from("alice")).clone().agent()
    );
}
