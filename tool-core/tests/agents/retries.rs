//! Failures are tried again: after a while, and at once when a record changes.

use crate::support::{
    Plan, Probe, builder, failed, give, load, mail_and_chat, names, settle, touch,
};
use crate::support_store::Line;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tool_core::agents::{Agents, LoadedAgent};

/// Loads an agent, and again when what is tried anew has come to its end.
async fn retried(agents: &Agents) -> Arc<LoadedAgent> {
    load(agents, "alice").await;
    settle().await;
    load(agents, "alice").await
}

// It takes half a minute to fail, and would take it from each load.
#[tokio::test(start_paused = true)]
async fn retry_of_a_hanging_toolset_delays_no_load() {
    let (mail, _, agents) = mail_and_chat(Plan::HangsWhileConfigured).await;
    load(&agents, "alice").await;
    for tries in 2..5 {
        tokio::time::advance(Duration::from_secs(31)).await;
        let began = Instant::now();
        for _ in 0..3 {
            assert_eq!(names(&load(&agents, "alice").await), ["post"]);
            assert!(
                agents
                    .executor("alice")
                    .run_tool_action("chat", "post", "{}")
                    .await
                    .is_ok()
            );
        }
        settle().await;
        assert_eq!(
            (began.elapsed(), mail.configured.get()),
            (Duration::ZERO, tries)
        );
        tokio::time::sleep(Duration::from_secs(31)).await;
    }
    mail.plan(Plan::Works);
    tokio::time::advance(Duration::from_secs(31)).await;
    assert_eq!(names(&retried(&agents).await), ["post", "send"]);
}

#[tokio::test(start_paused = true)]
async fn failed_toolset_is_retried_alone_after_30_seconds() {
    let (mail, chat, agents) = mail_and_chat(Plan::DoesNotOpen).await;
    load(&agents, "alice").await;
    mail.plan(Plan::Works);
    tokio::time::advance(Duration::from_secs(29)).await;
    assert_eq!(
        (
            failed(&load(&agents, "alice").await).len(),
            mail.configured.get()
        ),
        (1, 1)
    );
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(names(&retried(&agents).await), ["post", "send"]);
    assert_eq!((chat.counts(), mail.counts()), ((1, 1, 0), (2, 1, 0)));
}

#[tokio::test]
async fn failed_toolset_is_retried_at_once_after_any_change() {
    let (mail, _, agents) = mail_and_chat(Plan::DoesNotOpen).await;
    load(&agents, "alice").await;
    mail.plan(Plan::Works);
    touch(&agents, "alice", "chat").await;
    assert_eq!(names(&load(&agents, "alice").await), ["post", "send"]);
}

#[tokio::test(start_paused = true)]
async fn how_long_to_wait_is_a_setting() {
    let mail = Probe::new("mail", ["send"]);
    mail.plan(Plan::RefusesSettings);
    let agents = builder(Line::default(), [&mail])
        .retry_failed(Duration::ZERO)
        .build()
        .expect("sound");
    give(&agents, "alice", "mail").await;
    for tries in 1..4 {
        let loaded = load(&agents, "alice").await;
        settle().await;
        assert_eq!((failed(&loaded).len(), mail.configured.get()), (1, tries));
    }
}

// A failed retry does not build the agent's tools again.
#[tokio::test(start_paused = true)]
async fn a_retry_in_vain_leaves_the_context_as_it_is() {
    let (mail, _, agents) = mail_and_chat(Plan::DoesNotOpen).await;
    let memo = load(&agents, "alice").await.tools().memo::<u8>();
    tokio::time::advance(Duration::from_secs(60)).await;
    let again = retried(&agents).await;
    assert!(mail.configured.get() == 2 && Arc::ptr_eq(&memo, &again.tools().memo::<u8>()));
}
