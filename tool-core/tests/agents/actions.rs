//! One action of one toolset, and why it is not run. A7

use crate::support::{Plan, Probe, agents, builder, give, kind, settle};
use serde_json::json;
use std::time::Duration;
use tool_core::agents::AgentError;
use tool_core::agents::AgentStoreError;
use tool_core::agents::KeyError;
use tool_core::agents::{AgentErrorKind, Agents, AgentsBuilder, MemoryAgentToolStore};
use tool_core::call::{IntoToolError, Modes};
use tool_core::session::CapScope;
use tool_core::{Category, ErrorKind, Policy, Runtime, ToolContext};

async fn refused(agents: &Agents, tool: &str, action: &str) -> AgentError {
    agents
        .executor("alice")
        .run_tool_action(tool, action, "{}")
        .await
        .expect_err("it must not run")
}

async fn office() -> (Agents, Probe) {
    let (mail, chat) = (
        Probe::new("mail", ["send_email", "find"]),
        Probe::new("chat", ["post"]),
    );
    let agents = agents([&mail, &chat]);
    agents
        .add("alice", "mail")
        .disable_action("find")
        .save()
        .await
        .expect("written");
    agents
        .add("alice", "chat")
        .enabled(false)
        .save()
        .await
        .expect("written");
    (agents, mail)
}

// A7
#[tokio::test]
async fn the_four_errors_are_distinct_and_name_agent_tool_and_action() {
    let (agents, mail) = office().await;
    let not_configured = refused(&agents, "calendar", "list").await;
    assert_eq!(not_configured.kind, AgentErrorKind::NotConfigured);
    let disabled = refused(&agents, "chat", "post").await;
    assert_eq!(disabled.kind, AgentErrorKind::Disabled);
    let action_disabled = refused(&agents, "mail", "find").await;
    assert_eq!(
        action_disabled.kind,
        AgentErrorKind::ActionDisabled {
            action: "find".into()
        }
    );
    let unknown = refused(&agents, "mail", "send_mail").await;
    let nearest = Some("send_email".to_owned());
    assert_eq!(
        unknown.kind,
        AgentErrorKind::UnknownAction {
            action: "send_mail".into(),
            nearest
        }
    );
    let texts = [&not_configured, &disabled, &action_disabled, &unknown].map(ToString::to_string);
    for (text, tool) in texts
        .iter()
        .zip(["`calendar`", "`chat`", "`mail`", "`mail`"])
    {
        assert!(text.contains(tool) && text.contains("`alice`"), "{text}");
    }
    assert!(
        texts[2].contains("`find`")
            && texts[3].contains("`send_mail`")
            && texts[3].contains("`send_email`")
    );
    assert_eq!(mail.called.get(), 0);
}

// A7
#[tokio::test]
async fn record_of_an_unregistered_toolset_is_reported_and_kept() {
    let store = std::sync::Arc::new(MemoryAgentToolStore::new());
    let (mail, chat) = (Probe::new("mail", ["send"]), Probe::new("chat", ["post"]));
    let before = builder(std::sync::Arc::clone(&store), [&mail, &chat])
        .build()
        .expect("sound");
    give(&before, "alice", "mail").await;
    give(&before, "alice", "chat").await;
    let mails = Probe::new("mails", ["send"]);
    let after = builder(store, [&mails, &chat]).build().expect("sound");
    let error = refused(&after, "mail", "send").await;
    assert_eq!(
        error.kind,
        AgentErrorKind::NotRegistered {
            nearest: Some("mails".into())
        }
    );
    assert!(
        error.to_string().contains("`mail`") && error.to_string().contains("`alice`"),
        "{error}"
    );
    assert!(
        after
            .executor("alice")
            .run_tool_action("chat", "post", "{}")
            .await
            .is_ok()
    );
    assert_eq!(
        after
            .record("alice", "mail")
            .await
            .expect("still there")
            .version,
        1
    );
}

// A7: an action of another toolset is none of this one's.
#[tokio::test]
async fn an_action_of_another_toolset_is_unknown_to_this_one() {
    let (agents, _) = office().await;
    agents.enable("alice", "chat").await.expect("written");
    let error = refused(&agents, "mail", "post").await;
    assert_eq!(
        error.kind,
        AgentErrorKind::UnknownAction {
            action: "post".into(),
            nearest: None
        }
    );
}

// A7
#[tokio::test]
async fn an_action_of_a_toolset_that_failed_tells_why() {
    let mail = Probe::new("mail", ["send"]);
    mail.plan(Plan::DoesNotOpen);
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let error = refused(&agents, "mail", "send").await;
    assert!(
        matches!(&error.kind, AgentErrorKind::Failed(error) if error.kind() == ErrorKind::Transient),
        "{error}"
    );
}

// R-B1, R-I3: governed, in a session that ends with it.
#[tokio::test]
async fn it_runs_governed_in_a_session_of_its_own_that_ends() {
    let mail = Probe::new("mail", ["send"]).options(|tool| tool.max_calls(1));
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let alice = agents.executor("alice");
    for _ in 0..3 {
        let answer = alice
            .run_tool_action("mail", "send", json!({}))
            .await
            .expect("it runs");
        assert!(answer.is_ok(), "each has its own budget: {answer:?}");
    }
    assert_eq!(agents.runtime().sessions().await.expect("a count"), 0);
    assert_eq!(agents.runtime().metrics().tools["send"].calls, 3);
    let refused = alice
        .run_tool_action("mail", "send", "[1]")
        .await
        .expect("an answer");
    assert_eq!(kind(&refused), Some(ErrorKind::Validation));
}

// R-B4
#[tokio::test]
async fn an_action_reaches_the_agents_other_tools_from_inside() {
    let (mail, chat) = (Probe::new("mail", ["send"]), Probe::new("chat", ["post"]));
    let agents = agents([&mail, &chat]);
    give(&agents, "alice", "mail").await;
    agents
        .add("alice", "chat")
        .config(json!({"room": 7}))
        .save()
        .await
        .expect("written");
    let answer = agents
        .executor("alice")
        .run_tool_action("mail", "send", json!({"nested": "post"}))
        .await;
    assert_eq!(
        answer.expect("it runs").data_json(),
        Some(r#"{"inner":"{\"room\":7}","error":null}"#)
    );
}

// R-B3
#[tokio::test]
async fn an_action_for_voice_alone_runs_in_a_voice_session() {
    let mail = Probe::new("mail", ["speak"]).options(|tool| tool.modes(Modes::VOICE));
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    assert!(
        agents
            .executor("alice")
            .run_tool_action("mail", "speak", "{}")
            .await
            .expect("it runs")
            .is_ok()
    );
}

/// Makes 25 actions of a second each for 40 agents under a cap of 10 s for a principal. Returns the number that ran.
async fn ran_under_a_cap(change: impl FnOnce(AgentsBuilder) -> AgentsBuilder) -> u32 {
    let mail = Probe::new("mail", ["send"]);
    let policy = Policy::text().max_time(CapScope::Principal, Some(Duration::from_secs(10)));
    let runtime = Runtime::builder(ToolContext::builder().build().expect("nothing"))
        .policy(policy)
        .build();
    let agents = builder(MemoryAgentToolStore::new(), [&mail]).runtime(runtime.expect("sound"));
    let agents = change(agents).build().expect("sound");
    for number in 0..40 {
        give(&agents, &format!("agent{number}"), "mail").await;
        for _ in 0..25 {
            let executor = agents.executor(format!("agent{number}"));
            let answer = executor
                .run_tool_action("mail", "send", json!({"seconds": 1}))
                .await
                .expect("an answer");
            assert!(
                answer.is_ok() || kind(&answer) == Some(ErrorKind::BudgetExceeded),
                "{answer}"
            );
        }
    }
    mail.called.get()
}

// R-B6
#[tokio::test(start_paused = true)]
async fn actions_of_an_agent_share_the_caps_of_a_principal() {
    assert_eq!(
        ran_under_a_cap(|agents| agents).await,
        400,
        "10 of each agent's 25"
    );
    let one =
        ran_under_a_cap(|agents| agents.each_session(|session| session.principal("user:7"))).await;
    assert_eq!(one, 10, "the host's principal replaces that of the agent");
}

#[tokio::test]
async fn a_session_that_does_not_open_is_an_error_that_says_so() {
    let mail = Probe::new("mail", ["send"]);
    let policy = Policy::text().max_sessions(1);
    let runtime = Runtime::builder(ToolContext::builder().build().expect("nothing"))
        .policy(policy)
        .build()
        .expect("sound");
    let agents = builder(MemoryAgentToolStore::new(), [&mail])
        .runtime(runtime.clone())
        .build()
        .expect("sound");
    give(&agents, "alice", "mail").await;
    let _full = runtime
        .session("s", tool_core::Mode::Text)
        .await
        .expect("open");
    let error = refused(&agents, "mail", "send").await;
    assert!(
        matches!(error.kind, AgentErrorKind::NoSession(_)) && error.to_string().contains("limit"),
        "{error}"
    );
}

#[tokio::test]
async fn who_stops_waiting_leaves_no_session_open() {
    let mail = Probe::new("mail", ["send"]).options(|tool| tool.category(Category::Action));
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let alice = agents.executor("alice");
    alice.load().await.expect("loaded");
    for polls in 0..12 {
        let mut running = Box::pin(alice.run_tool_action("mail", "send", "{}"));
        for _ in 0..polls {
            let polled =
                std::future::poll_fn(|cx| std::task::Poll::Ready(running.as_mut().poll(cx))).await;
            if polled.is_ready() {
                break;
            }
        }
        drop(running);
        settle().await;
        assert_eq!(
            agents.runtime().sessions().await.expect("a count"),
            0,
            "after {polls} polls"
        );
    }
}

// A7: as a tool may return it.
#[test]
fn as_an_error_of_a_tool_it_tells_a_model_what_a_model_can_use() {
    let shown = |kind: AgentErrorKind| {
        let error = refused_with(kind).into_tool_error();
        (error.kind(), error.message().to_owned())
    };
    let (kind, text) = shown(AgentErrorKind::Disabled);
    assert!(kind == ErrorKind::Permanent && text.contains("`mail`") && text.contains("disabled"));
    let (kind, text) = shown(AgentErrorKind::Store(AgentStoreError::down(
        "10.0.0.7 refused",
    )));
    assert!(kind == ErrorKind::Transient && !text.contains("10.0.0.7"));
    let (kind, text) = shown(AgentErrorKind::Key(KeyError::Unknown {
        key: "2026-11".into(),
    }));
    assert!(kind == ErrorKind::Permanent && text.contains("`mail`") && !text.contains("2026-11"));
    assert_eq!(
        shown(AgentErrorKind::Failed(tool_core::ToolError::auth("log in"))),
        (ErrorKind::Auth, "log in".into())
    );
    assert_eq!(
        shown(AgentErrorKind::Store(AgentStoreError::Conflict {
            found: None
        }))
        .0,
        ErrorKind::Conflict
    );
}

fn refused_with(kind: AgentErrorKind) -> AgentError {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let mut error = runtime.block_on(async { refused(&agents([]), "mail", "send").await });
    error.kind = kind;
    error
}
