//! The parts that a load makes again, and those that it keeps.

use crate::support::{Plan, Probe, agents, builder, give, load, mail_and_chat, names, raw, touch};
use crate::support_store::Line;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tool_core::agents::AgentErrorKind;
use tool_core::agents::AgentStoreError;

// A6: sorted by name.
#[tokio::test]
async fn the_tools_stand_in_the_order_of_their_toolsets_names() {
    let (mail, chat) = (
        Probe::new("mail", ["send", "find"]),
        Probe::new("chat", ["post"]),
    );
    let agents = agents([&mail, &chat]);
    give(&agents, "alice", "mail").await;
    give(&agents, "alice", "chat").await;
    let loaded = load(&agents, "alice").await;
    assert_eq!(names(&loaded), ["post", "send", "find"]);
    assert_eq!(
        (loaded.agent(), loaded.version(), loaded.failures()),
        ("alice", 2, &[][..])
    );
    let of = |loaded: &tool_core::agents::LoadedAgent| {
        loaded
            .tools()
            .actions()
            .into_iter()
            .map(|one| one.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&loaded), ["chat", "mail"]);
}

#[tokio::test]
async fn what_has_not_changed_is_not_made_again() {
    let mail = Probe::new("mail", ["send"]);
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let first = load(&agents, "alice").await;
    assert!(Arc::ptr_eq(&first, &load(&agents, "alice").await));
    assert_eq!(mail.counts(), (1, 1, 0));
}

#[tokio::test]
async fn only_the_changed_toolset_is_configured_again() {
    let (mail, chat, agents) = mail_and_chat(Plan::Works).await;
    let before = load(&agents, "alice").await;
    touch(&agents, "alice", "mail").await;
    let after = load(&agents, "alice").await;
    assert_eq!((mail.configured.get(), chat.configured.get()), (2, 1));
    let same = |tool| before.tools().function_tool(tool) == after.tools().function_tool(tool);
    assert!(same("post") && !same("send"));
}

// Values derived from a context, such as declarations, are cached with it.
#[tokio::test]
async fn context_is_the_same_while_no_toolset_changes() {
    #[derive(Default)]
    struct Mark;
    let (mail, chat) = (Probe::new("mail", ["send"]), Probe::new("chat", ["post"]));
    let agents = agents([&mail, &chat]);
    give(&agents, "alice", "mail").await;
    agents
        .add("alice", "chat")
        .enabled(false)
        .save()
        .await
        .expect("written");
    let mark = load(&agents, "alice").await.tools().memo::<Mark>();
    touch(&agents, "alice", "chat").await;
    let loaded = load(&agents, "alice").await;
    assert_eq!(loaded.version(), 3);
    assert!(Arc::ptr_eq(&mark, &loaded.tools().memo::<Mark>()));
}

// A8
#[tokio::test]
async fn each_agent_has_its_own_settings() {
    let mail = Probe::new("mail", ["send"]);
    let agents = agents([&mail]);
    for agent in ["alice", "bob"] {
        agents
            .add(agent, "mail")
            .config(json!({"from": agent}))
            .save()
            .await
            .expect("written");
    }
    for agent in ["alice", "bob"] {
        let answer = agents
            .executor(agent)
            .run_tool_action("mail", "send", "{}")
            .await
            .expect("it runs");
        assert_eq!(
            answer.data_json(),
            Some(format!(r#"{{"from":"{agent}"}}"#).as_str())
        );
    }
}

#[tokio::test]
async fn disabled_toolset_and_action_are_hidden_without_failure() {
    let (mail, chat) = (
        Probe::new("mail", ["send", "find"]),
        Probe::new("chat", ["post"]),
    );
    let agents = agents([&mail, &chat]);
    agents
        .add("alice", "mail")
        .disable_action("send")
        .save()
        .await
        .expect("written");
    agents
        .add("alice", "chat")
        .enabled(false)
        .save()
        .await
        .expect("written");
    let loaded = load(&agents, "alice").await;
    assert_eq!(
        (names(&loaded), loaded.failures().len()),
        (vec!["find".to_owned()], 0)
    );
    assert_eq!(chat.counts(), (0, 0, 0));
    agents.enable("alice", "chat").await.expect("written");
    agents
        .enable_action("alice", "mail", "send")
        .await
        .expect("written");
    assert_eq!(
        names(&load(&agents, "alice").await),
        ["post", "send", "find"]
    );
}

#[tokio::test]
async fn shared_tools_come_first_and_need_no_record() {
    let mail = Probe::new("mail", ["send"]);
    let store = tool_core::agents::MemoryAgentToolStore::new();
    let agents = builder(store, [&mail])
        .with(raw("now"))
        .build()
        .expect("sound");
    give(&agents, "alice", "mail").await;
    assert_eq!(names(&load(&agents, "alice").await), ["now", "send"]);
    let nobody = load(&agents, "nobody").await;
    assert_eq!(
        (names(&nobody), nobody.version()),
        (vec!["now".to_owned()], 0)
    );
}

#[tokio::test]
async fn every_problem_of_the_toolsets_is_told_at_once() {
    let (one, two) = (Probe::new("mail", ["send"]), Probe::new("mail", ["find"]));
    let store = tool_core::agents::MemoryAgentToolStore::new();
    let errors = builder(store, [&one, &two])
        .with(raw("a b"))
        .with(raw("a b"))
        .build()
        .expect_err("three problems");
    let text = errors.to_string();
    assert!(
        text.contains("duplicate toolset name: mail") && text.contains("a b"),
        "{text}"
    );
}

#[tokio::test]
async fn an_id_that_is_none_is_refused_before_the_store_is_asked() {
    let line = Line::default();
    let agents = builder(line.clone(), []).build().expect("sound");
    for id in ["", "a\nb", &"x".repeat(513)] {
        let error = agents.executor(id).load().await.expect_err("no id");
        assert_eq!(
            error.kind,
            AgentErrorKind::Store(AgentStoreError::InvalidId)
        );
    }
    assert_eq!(line.asked(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_store_is_asked_no_more_often_than_it_has_to_be() {
    let (line, mail) = (Line::default(), Probe::new("mail", ["send"]));
    let agents = builder(line.clone(), [&mail])
        .recheck_after(Duration::from_secs(10))
        .build()
        .expect("sound");
    give(&agents, "alice", "mail").await;
    load(&agents, "alice").await;
    let asked = line.asked();
    touch(&agents, "alice", "mail").await;
    load(&agents, "alice").await;
    assert_eq!((line.asked(), mail.configured.get()), (asked, 1));
    tokio::time::advance(Duration::from_secs(10)).await;
    load(&agents, "alice").await;
    assert_eq!(
        (line.asked(), mail.configured.get()),
        ((asked.0 + 1, asked.1 + 1), 2)
    );
}

#[tokio::test]
async fn a_warm_load_asks_for_the_version_alone() {
    let (line, mail) = (Line::default(), Probe::new("mail", ["send"]));
    let agents = builder(line.clone(), [&mail]).build().expect("sound");
    give(&agents, "alice", "mail").await;
    load(&agents, "alice").await;
    let (versions, loads) = line.asked();
    for _ in 0..5 {
        load(&agents, "alice").await;
    }
    assert_eq!(line.asked(), (versions + 5, loads));
}

#[tokio::test]
async fn nobody_has_to_remember_agents_that_there_are_not() {
    let (line, mail) = (Line::default(), Probe::new("mail", ["send"]));
    let agents = builder(line.clone(), [&mail])
        .cached_agents(2)
        .build()
        .expect("sound");
    give(&agents, "alice", "mail").await;
    load(&agents, "alice").await;
    for number in 0..50 {
        load(&agents, &format!("nobody-{number}")).await;
    }
    load(&agents, "alice").await;
    assert_eq!(mail.counts(), (1, 1, 0));
}
