//! A store that is down: a clear error, and nothing that is there already is lost.

use crate::support::{Probe, builder, give, load, touch};
use crate::support_store::Line;
use std::time::Duration;
use tool_core::agents::AgentErrorKind;
use tool_core::agents::AgentStoreError;
use tool_core::{Mode, ToolCall};

#[tokio::test]
async fn load_fails_while_the_store_is_down() {
    let (line, mail) = (Line::default(), Probe::new("mail", ["send"]));
    let agents = builder(line.clone(), [&mail]).build().expect("sound");
    give(&agents, "alice", "mail").await;
    let alice = agents.executor("alice");
    let session = alice
        .session("s", Mode::Text)
        .await
        .expect("loaded")
        .await
        .expect("open");
    line.down(true);
    for error in [
        alice.load().await.expect_err("down"),
        agents.executor("bob").load().await.expect_err("down"),
        alice
            .run_tool_action("mail", "send", "{}")
            .await
            .expect_err("down"),
    ] {
        assert!(
            matches!(
                error.kind,
                AgentErrorKind::Store(AgentStoreError::Down { .. })
            ),
            "{error}"
        );
        let text = error.to_string();
        assert!(
            text.contains("the agent store failed: connection refused")
                && !text.contains("hunter2"),
            "{text}"
        );
    }
    assert!(
        session.call(ToolCall::new("c", "send", "{}")).await.is_ok(),
        "sessions go on"
    );
    line.down(false);
    load(&agents, "alice").await;
    assert_eq!(mail.counts(), (1, 1, 0));
}

#[tokio::test]
async fn store_that_fails_between_two_reads_loses_nothing() {
    let (line, mail) = (Line::default(), Probe::new("mail", ["send"]));
    let agents = builder(line.clone(), [&mail]).build().expect("sound");
    give(&agents, "alice", "mail").await;
    load(&agents, "alice").await;
    touch(&agents, "alice", "mail").await;
    let alice = agents.executor("alice");
    let mut loading = Box::pin(alice.load());
    // Until it has the version and asks for the records.
    while line.asked().1 < 2 {
        let polled =
            std::future::poll_fn(|cx| std::task::Poll::Ready(loading.as_mut().poll(cx))).await;
        assert!(polled.is_pending());
        tokio::task::yield_now().await;
    }
    line.down(true);
    assert!(matches!(
        loading.await.expect_err("down").kind,
        AgentErrorKind::Store(AgentStoreError::Down { .. })
    ));
    line.down(false);
    load(&agents, "alice").await;
    assert_eq!(mail.configured.get(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_is_given_up() {
    let (line, mail) = (Line::default(), Probe::new("mail", ["send"]));
    let agents = builder(line.clone(), [&mail]).build().expect("sound");
    give(&agents, "alice", "mail").await;
    line.hangs(true);
    let began = tokio::time::Instant::now();
    let error = agents
        .executor("alice")
        .load()
        .await
        .expect_err("no answer");
    assert!(error.to_string().contains("no answer within 5s"), "{error}");
    assert_eq!(began.elapsed(), Duration::from_secs(5));
}
