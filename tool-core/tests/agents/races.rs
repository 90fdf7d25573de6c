//! Concurrent loads and writes.

use crate::support::{Plan, Probe, agents, builder, give, load, mail_and_chat, touch};
use crate::support_store::Line;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tool_core::{Mode, ToolCall};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_loads_at_once_configure_once() {
    let mail = Probe::new("mail", ["send"]).slow(Duration::from_millis(5));
    let agents = agents([&mail]);
    give(&agents, "alice", "mail").await;
    let loads = (0..64).map(|_| {
        let alice = agents.executor("alice");
        tokio::spawn(async move { alice.load().await.expect("loaded") })
    });
    let mut loaded = Vec::new();
    for load in loads.collect::<Vec<_>>() {
        loaded.push(load.await.expect("no panic"));
    }
    assert!(loaded.iter().all(|one| Arc::ptr_eq(one, &loaded[0])));
    assert_eq!(mail.counts(), (1, 1, 0));
}

// A load that fails fails for all who waited for it, and not one after the other.
#[tokio::test(start_paused = true)]
async fn those_who_wait_for_a_load_that_fails_get_its_error() {
    let (line, mail) = (Line::default(), Probe::new("mail", ["send"]));
    let agents = builder(line.clone(), [&mail]).build().expect("sound");
    give(&agents, "alice", "mail").await;
    load(&agents, "alice").await;
    touch(&agents, "alice", "mail").await;
    let loads = (0..64).map(|_| {
        let alice = agents.executor("alice");
        tokio::spawn(async move { alice.load().await.is_err() })
    });
    let loads = loads.collect::<Vec<_>>();
    // They have all asked for the version when the store stops answering.
    tokio::task::yield_now().await;
    tokio::task::yield_now().await;
    line.hangs(true);
    let began = tokio::time::Instant::now();
    for load in loads {
        load.await.expect("no panic");
    }
    assert!(
        began.elapsed() <= Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
}

// R-I4, L6
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_toolset_opens_and_closes_once_under_load() {
    let (mail, chat, agents) = mail_and_chat(Plan::Works).await;
    let done = Arc::new(AtomicBool::new(false));
    let readers = (0..8).map(|reader| {
        let (agents, done) = (agents.clone(), Arc::clone(&done));
        tokio::spawn(async move {
            let (alice, mut seen, mut number) = (agents.executor("alice"), 0, 0);
            while !done.load(Ordering::SeqCst) {
                let loaded = alice.load().await.expect("loaded");
                assert!(loaded.version() >= seen, "a load never goes back");
                assert!(loaded.failures().is_empty() && loaded.tools().definitions().count() == 2);
                seen = loaded.version();
                number += 1;
                let id = format!("{reader}-{number}");
                let session = alice
                    .session(id, Mode::Text)
                    .await
                    .expect("loaded")
                    .await
                    .expect("open");
                assert!(session.call(ToolCall::new("c", "send", "{}")).await.is_ok());
                session.end().await;
                tokio::task::yield_now().await;
            }
        })
    });
    let readers = readers.collect::<Vec<_>>();
    for number in 0..1_000 {
        let tool = if number % 3 == 0 { "chat" } else { "mail" };
        let record = agents.record("alice", tool).await.expect("a record");
        agents
            .edit(&record)
            .config(json!({"number": number}))
            .save()
            .await
            .expect("one writer");
        tokio::task::yield_now().await;
    }
    done.store(true, Ordering::SeqCst);
    for reader in readers {
        reader.await.expect("no panic");
    }
    // Whatever has been written is what the next one gets.
    let answer = agents
        .executor("alice")
        .run_tool_action("chat", "post", "{}")
        .await
        .expect("it runs");
    assert_eq!(answer.data_json(), Some(r#"{"number":999}"#));
    agents.close().await;
    for probe in [&mail, &chat] {
        let (configured, opened, closed) = probe.counts();
        assert!(
            configured > 1 && configured == opened && opened == closed,
            "{:?}",
            probe.counts()
        );
    }
}

// The first to finish reopens the list of waiters.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_who_close_at_once_neither_waits_for_ever() {
    let agents = agents([]);
    for _ in 0..20_000 {
        let closing = [agents.clone(), agents.clone()]
            .map(|agents| tokio::spawn(async move { agents.close().await }));
        for closed in closing {
            closed.await.expect("no panic");
        }
    }
}
