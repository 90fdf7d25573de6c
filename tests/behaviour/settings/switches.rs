//! Enabling and disabling of toolsets and actions.

use super::{agents, kind};
use serde_json::json;
use tool_core::agents::AgentErrorKind;
use tool_core::agents::{AgentToolStore, RecordWrite};

// C8
#[tokio::test]
async fn switch_without_a_change_writes_nothing() {
    let (agents, _) = agents();
    let added = agents
        .add("alice", "settings_plain")
        .save()
        .await
        .expect("added");
    assert_eq!(
        agents
            .enable("alice", "settings_plain")
            .await
            .expect("enabled"),
        added
    );
    let off = agents
        .disable("alice", "settings_plain")
        .await
        .expect("disabled");
    assert_eq!((off.enabled, off.version), (false, 2));
    assert_eq!(
        agents
            .disable("alice", "settings_plain")
            .await
            .expect("disabled"),
        off
    );
    assert_eq!(
        agents
            .enable_action("alice", "settings_plain", "settings_one")
            .await
            .expect("enabled"),
        off
    );
    let denied = agents
        .disable_action("alice", "settings_plain", "settings_one")
        .await
        .expect("disabled");
    assert_eq!((denied.version, denied.disabled_actions.len()), (3, 1));
    assert_eq!(
        agents
            .disable_action("alice", "settings_plain", "settings_one")
            .await
            .expect("disabled"),
        denied
    );
}

// A7
#[tokio::test]
async fn missing_record_cannot_be_switched() {
    let (agents, _) = agents();
    assert_eq!(
        kind(agents.enable("alice", "settings_plain").await),
        AgentErrorKind::NotConfigured
    );
    agents
        .add("alice", "settings_plain")
        .save()
        .await
        .expect("added");
    let unknown = AgentErrorKind::UnknownAction {
        action: "settings_on".into(),
        nearest: Some("settings_one".into()),
    };
    assert_eq!(
        kind(
            agents
                .disable_action("alice", "settings_plain", "settings_on")
                .await
        ),
        unknown
    );
    assert_eq!(
        kind(
            agents
                .enable_action("alice", "settings_plain", "settings_on")
                .await
        ),
        unknown
    );
    assert_eq!(agents.list("alice").await.expect("listed").version, 1);
}

// A7: the record is not changed
#[tokio::test]
async fn missing_toolset_can_only_be_disabled_or_removed() {
    let (agents, store) = agents();
    let mut write = RecordWrite::new("alice", "gone", json!({"old": true}));
    write.disabled_actions.insert("old_action".to_owned());
    store.write(&write).await.expect("written");
    let missing = AgentErrorKind::NotRegistered { nearest: None };
    let record = agents.record("alice", "gone").await.expect("there");
    assert_eq!(
        kind(agents.edit(&record).config(json!({})).save().await),
        missing
    );
    assert_eq!(
        kind(agents.disable_action("alice", "gone", "x").await),
        missing
    );
    let record = agents
        .enable_action("alice", "gone", "old_action")
        .await
        .expect("it may go");
    assert!(record.disabled_actions.is_empty());
    agents.disable("alice", "gone").await.expect("disabled");
    assert_eq!(kind(agents.enable("alice", "gone").await), missing);
    let record = agents.record("alice", "gone").await.expect("there");
    agents.remove(&record).await.expect("removed");
}

// A7
#[tokio::test]
async fn enabling_checks_the_current_requirements() {
    let (agents, store) = agents();
    let mut write = RecordWrite::new("alice", "settings_post", json!({"port": 25}));
    write.enabled = false;
    store.write(&write).await.expect("written");
    let AgentErrorKind::Several(wrong) = kind(agents.enable("alice", "settings_post").await) else {
        panic!("one")
    };
    assert!(
        matches!(
            wrong[..],
            [
                AgentErrorKind::InvalidConfig(_),
                AgentErrorKind::InvalidSecrets(_)
            ]
        ),
        "{wrong:?}"
    );
    assert!(
        !agents
            .record("alice", "settings_post")
            .await
            .expect("there")
            .enabled
    );
}

// A7
#[tokio::test]
async fn removed_action_does_not_block_a_change() {
    let (agents, store) = agents();
    let mut write = RecordWrite::new("alice", "settings_plain", json!({}));
    write.disabled_actions.insert("settings_two".to_owned());
    store.write(&write).await.expect("written");
    let record = agents
        .record("alice", "settings_plain")
        .await
        .expect("there");
    let record = agents
        .edit(&record)
        .disable_action("settings_one")
        .save()
        .await
        .expect("sound");
    assert_eq!(record.disabled_actions.len(), 2);
    let record = agents
        .enable_action("alice", "settings_plain", "settings_two")
        .await
        .expect("sound");
    assert_eq!(record.disabled_actions.len(), 1);
}
