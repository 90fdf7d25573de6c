//! Concurrent writes.

use super::{agents, kind};
use serde_json::json;
use std::collections::BTreeSet;
use tool_core::agents::AgentErrorKind;
use tool_core::agents::AgentStoreError;

// C7
#[tokio::test]
async fn second_editor_of_one_version_gets_a_conflict() {
    let (agents, _) = agents();
    let read = agents
        .add("alice", "settings_plain")
        .save()
        .await
        .expect("added");
    let first = agents
        .edit(&read)
        .enabled(false)
        .save()
        .await
        .expect("the first");
    let second = agents
        .edit(&read)
        .disable_action("settings_one")
        .save()
        .await;
    assert_eq!(
        kind(second),
        AgentErrorKind::Store(AgentStoreError::Conflict {
            found: Some(first.version)
        })
    );
    assert_eq!(
        agents
            .record("alice", "settings_plain")
            .await
            .expect("there"),
        first
    );
    let second = agents
        .edit(&first)
        .disable_action("settings_one")
        .save()
        .await
        .expect("read again");
    assert_eq!((second.enabled, second.disabled_actions.len()), (false, 1));
}

// C7
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_additions_of_one_record_succeed_once() {
    let (agents, _) = agents();
    let add = |_| {
        let agents = agents.clone();
        tokio::spawn(async move { agents.add("alice", "settings_plain").save().await })
    };
    let tasks = (0..16).map(add).collect::<Vec<_>>();
    let mut added = 0;
    for task in tasks {
        match task.await.expect("no panic") {
            Ok(_) => added += 1,
            Err(error) => assert_eq!(
                error.kind,
                AgentErrorKind::Store(AgentStoreError::Conflict { found: Some(1) })
            ),
        }
    }
    assert_eq!(
        (added, agents.list("alice").await.expect("listed").version),
        (1, 1)
    );
}

// C7
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn editors_that_retry_after_a_conflict_lose_nothing() {
    let (agents, _) = agents();
    let draft = agents
        .add("alice", "settings_door")
        .config(json!({"rooms": {}}))
        .enabled(false);
    draft.save().await.expect("added");
    let write = |writer: u32| {
        let agents = agents.clone();
        tokio::spawn(async move {
            for step in 0..20 {
                loop {
                    let record = agents
                        .record("alice", "settings_door")
                        .await
                        .expect("there");
                    let mut config = record.config.clone();
                    config["rooms"][format!("{writer}-{step}")] = json!({});
                    match agents.edit(&record).config(config).save().await {
                        Ok(_) => break,
                        Err(error) => assert!(
                            matches!(
                                error.kind,
                                AgentErrorKind::Store(AgentStoreError::Conflict { .. })
                            ),
                            "{error}"
                        ),
                    }
                }
            }
        })
    };
    for task in (0..8).map(write).collect::<Vec<_>>() {
        task.await.expect("no panic");
    }
    let record = agents
        .record("alice", "settings_door")
        .await
        .expect("there");
    assert_eq!(
        record.config["rooms"].as_object().expect("rooms").len(),
        160
    );
    assert_eq!(record.version, 161);
}

// C7
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_switches_all_take_effect() {
    let (agents, _) = agents();
    let draft = agents
        .add("alice", "settings_post")
        .config(json!({"server": "mx"}))
        .enabled(false);
    draft.save().await.expect("added");
    let actions = ["post_send", "post_settings"];
    for _ in 0..20 {
        let throw = |action: &'static str, off: bool| {
            let agents = agents.clone();
            tokio::spawn(async move {
                let done = if off {
                    agents
                        .disable_action("alice", "settings_post", action)
                        .await
                } else {
                    agents.enable_action("alice", "settings_post", action).await
                };
                done.expect("retried until it is done")
            })
        };
        for off in [true, false] {
            for task in actions.map(|action| throw(action, off)) {
                task.await.expect("no panic");
            }
            let record = agents
                .record("alice", "settings_post")
                .await
                .expect("there");
            let expected = if off {
                actions.map(str::to_owned).into()
            } else {
                BTreeSet::new()
            };
            assert_eq!(record.disabled_actions, expected);
        }
    }
}
