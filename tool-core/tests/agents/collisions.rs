//! Two toolsets of an agent with an action of the same name. A6

use crate::support::{Probe, agents, builder, failed, give, load, names, raw, settle, touch};
use tool_core::agents::{AgentErrorKind, MemoryAgentToolStore};

// A6
#[tokio::test]
async fn the_first_by_name_keeps_its_tools_and_the_error_names_both() {
    let (chat, mail) = (
        Probe::new("chat", ["post", "send"]),
        Probe::new("mail", ["send", "find"]),
    );
    let agents = agents([&mail, &chat]);
    give(&agents, "alice", "mail").await;
    give(&agents, "alice", "chat").await;
    let loaded = load(&agents, "alice").await;
    assert_eq!(names(&loaded), ["post", "send"]);
    let text = loaded.failures()[0].to_string();
    assert!(
        text.contains("`mail`")
            && text.contains("`send` is a tool of toolset `chat`")
            && text.contains("prefix")
    );
    settle().await;
    assert_eq!(
        (chat.counts(), mail.counts()),
        ((1, 1, 0), (1, 1, 1)),
        "what is not offered is closed"
    );
}

// A6, L5: what a provider would make of the names counts.
#[tokio::test]
async fn names_that_are_the_same_to_a_provider_collide() {
    let (chat, mail) = (
        Probe::new("chat", ["Send-It"]),
        Probe::new("mail", ["send_it"]),
    );
    let agents = agents([&mail, &chat]);
    give(&agents, "alice", "mail").await;
    give(&agents, "alice", "chat").await;
    let loaded = load(&agents, "alice").await;
    assert_eq!(names(&loaded), ["Send-It"]);
    assert!(matches!(
        failed(&loaded)[..],
        [("mail", AgentErrorKind::Collision(_))]
    ));
}

// A6
#[tokio::test]
async fn the_tools_that_every_agent_has_are_never_taken_over() {
    let mail = Probe::new("mail", ["now"]);
    let agents = builder(MemoryAgentToolStore::new(), [&mail])
        .with(raw("now"))
        .build()
        .expect("sound");
    give(&agents, "alice", "mail").await;
    let loaded = load(&agents, "alice").await;
    assert_eq!(names(&loaded), ["now"]);
    assert!(
        loaded.failures()[0].to_string().contains("every agent"),
        "{}",
        loaded.failures()[0]
    );
}

// A6
#[tokio::test]
async fn disabling_one_side_ends_the_collision() {
    let (chat, mail) = (
        Probe::new("chat", ["send"]),
        Probe::new("mail", ["send", "find"]),
    );
    let agents = agents([&mail, &chat]);
    give(&agents, "alice", "mail").await;
    give(&agents, "alice", "chat").await;
    assert_eq!(names(&load(&agents, "alice").await), ["send"]);
    agents
        .disable_action("alice", "mail", "send")
        .await
        .expect("written");
    assert_eq!(names(&load(&agents, "alice").await), ["send", "find"]);
    agents
        .enable_action("alice", "mail", "send")
        .await
        .expect("written");
    agents.disable("alice", "chat").await.expect("written");
    assert_eq!(names(&load(&agents, "alice").await), ["send", "find"]);
    assert!(load(&agents, "alice").await.failures().is_empty());
}

// A6: a toolset that does not work takes no names from others.
#[tokio::test]
async fn a_toolset_that_failed_leaves_its_names_to_the_next() {
    let (chat, mail) = (Probe::new("chat", ["send"]), Probe::new("mail", ["send"]));
    chat.plan(crate::support::Plan::DoesNotOpen);
    let agents = agents([&mail, &chat]);
    give(&agents, "alice", "mail").await;
    give(&agents, "alice", "chat").await;
    let loaded = load(&agents, "alice").await;
    assert_eq!((names(&loaded).len(), failed(&loaded)[0].0), (1, "chat"));
}

// A collision lasts until a record changes, so it is not retried.
#[tokio::test(start_paused = true)]
async fn a_collision_is_looked_at_again_only_when_a_record_changes() {
    let (chat, mail) = (Probe::new("chat", ["send"]), Probe::new("mail", ["send"]));
    let agents = agents([&mail, &chat]);
    give(&agents, "alice", "mail").await;
    give(&agents, "alice", "chat").await;
    load(&agents, "alice").await;
    tokio::time::advance(std::time::Duration::from_secs(2 * 60)).await;
    load(&agents, "alice").await;
    assert_eq!(mail.configured.get(), 1);
    touch(&agents, "alice", "chat").await;
    load(&agents, "alice").await;
    assert_eq!(mail.configured.get(), 2);
}

// L16: the runtime's own tools are names too, where a tool is cancellable.
#[tokio::test]
async fn control_tool_name_collision_fails_one_toolset_only() {
    let cancellable = |tool: tool_core::FunctionTool| {
        let flags = tool.definition().flags();
        tool.flags(tool_core::tool::ToolAnnotations {
            cancellable: true,
            ..flags
        })
    };
    let chat = Probe::new("chat", ["post"]).options(cancellable);
    let mail = Probe::new("mail", ["cancel_call"]);
    let agents = agents([&mail, &chat]);
    give(&agents, "alice", "mail").await;
    give(&agents, "alice", "chat").await;
    let session = agents
        .executor("alice")
        .session("s", tool_core::Mode::Text)
        .await
        .expect("loaded");
    assert!(
        session
            .await
            .expect("open")
            .tools()
            .has_tool("list_running_calls")
    );
    assert!(matches!(
        failed(&load(&agents, "alice").await)[..],
        [("mail", AgentErrorKind::Collision(_))]
    ));
}
