//! Writes of records.

use super::{agents, kind};
use serde_json::json;
use std::sync::Arc;
use tool_core::agents::AgentStoreError;
use tool_core::agents::AgentTools;
use tool_core::agents::KeyError;
use tool_core::agents::{AgentErrorKind, AgentToolStore, Agents, Keyring, MemoryAgentToolStore};

/// Returns whether no record was written for `alice`.
pub async fn is_empty(store: &MemoryAgentToolStore) -> bool {
    store.load("alice").await.expect("the store").version == 0
}

async fn post(agents: &Agents) -> AgentTools {
    let draft = agents
        .add("alice", "settings_post")
        .config(json!({"server": "mx"}));
    draft
        .secrets(json!({"password": "longenough"}))
        .save()
        .await
        .expect("sound")
}

// A7
#[tokio::test]
async fn unregistered_toolset_is_refused_with_the_nearest_name() {
    let (agents, store) = agents();
    let nearest = |nearest: &str| AgentErrorKind::NotRegistered {
        nearest: Some(nearest.to_owned()),
    };
    assert_eq!(
        kind(agents.add("alice", "settings_plian").save().await),
        nearest("settings_plain")
    );
    assert_eq!(
        kind(agents.add("alice", "zzz").save().await),
        AgentErrorKind::NotRegistered { nearest: None }
    );
    assert!(is_empty(&store).await);
}

// T2
#[tokio::test]
async fn invalid_ids_are_refused_everywhere() {
    let (agents, store) = agents();
    for id in ["", "a\nb", "\u{7f}", &"x".repeat(513)] {
        let refused = agents
            .add(id, "settings_plain")
            .save()
            .await
            .expect_err("refused");
        assert_eq!(
            refused.kind,
            AgentErrorKind::Store(AgentStoreError::InvalidId)
        );
        assert!(
            refused.to_string().len() < 300 && !refused.to_string().contains('\n'),
            "{refused}"
        );
        assert_eq!(
            kind(agents.add("alice", id).save().await),
            AgentErrorKind::Store(AgentStoreError::InvalidId)
        );
        assert_eq!(
            kind(agents.list(id).await),
            AgentErrorKind::Store(AgentStoreError::InvalidId)
        );
        assert_eq!(
            kind(agents.record("alice", id).await),
            AgentErrorKind::Store(AgentStoreError::InvalidId)
        );
        assert_eq!(
            kind(agents.disable(id, "settings_plain").await),
            AgentErrorKind::Store(AgentStoreError::InvalidId)
        );
    }
    assert!(is_empty(&store).await);
    assert!(
        agents
            .add("x".repeat(512), "settings_plain")
            .save()
            .await
            .is_ok()
    );
}

// A7: all errors are reported at once
#[tokio::test]
async fn all_errors_of_a_write_are_reported_and_nothing_is_stored() {
    let (agents, store) = agents();
    let draft = agents
        .add("alice", "settings_post")
        .config(json!({"port": "x"}))
        .secrets(json!({"password": "short"}));
    let draft = draft
        .disable_action("post_snd")
        .disable_action("zzz")
        .disable_action("post_send");
    let error = draft.save().await.expect_err("refused");
    let AgentErrorKind::Several(kinds) = &error.kind else {
        panic!("{error:?}")
    };
    assert!(
        matches!(&kinds[0], AgentErrorKind::InvalidConfig(problems) if problems.len() == 2),
        "{kinds:?}"
    );
    assert!(
        matches!(&kinds[1], AgentErrorKind::InvalidSecrets(problems) if problems.len() == 1),
        "{kinds:?}"
    );
    let unknown = |action: &str, nearest: Option<&str>| AgentErrorKind::UnknownAction {
        action: action.to_owned(),
        nearest: nearest.map(str::to_owned),
    };
    assert_eq!(
        kinds[2..],
        [unknown("post_snd", Some("post_send")), unknown("zzz", None)]
    );
    assert_eq!(
        error.to_string(),
        "toolset `settings_post` of agent `alice`: invalid settings:\n\
         - `/port`: expected an integer from 1 to 65535, got a string of 1 character\n\
         - `/server`: missing, expected a string (\"The address of the post office\")\n\
         invalid secrets:\n\
         - `/password`: expected at least 8 characters, got fewer\n\
         unknown action `post_snd`; did you mean `post_send`?\n\
         unknown action `zzz`"
    );
    assert!(is_empty(&store).await);
}

// C6
#[tokio::test]
async fn new_record_is_enabled_with_empty_settings() {
    let (agents, _) = agents();
    let record = agents
        .add("alice", "settings_plain")
        .save()
        .await
        .expect("sound");
    assert_eq!(
        (record.version, record.enabled, &record.config),
        (1, true, &json!({}))
    );
    let record = agents
        .edit(&record)
        .enabled(false)
        .disable_action("settings_one")
        .save()
        .await
        .expect("sound");
    assert_eq!(
        (
            record.version,
            record.enabled,
            record.disabled_actions.len()
        ),
        (2, false, 1)
    );
    let record = agents
        .edit(&record)
        .enable_action("settings_one")
        .save()
        .await
        .expect("sound");
    assert_eq!(
        agents
            .record("alice", "settings_plain")
            .await
            .expect("there"),
        record
    );
}

// C6
#[tokio::test]
async fn secrets_are_kept_unless_replaced() {
    let (agents, _) = agents();
    let record = post(&agents).await;
    let changed = agents
        .edit(&record)
        .config(json!({"server": "other"}))
        .save()
        .await
        .expect("sound");
    assert_eq!(
        (&changed.secrets, changed.config["server"].as_str()),
        (&record.secrets, Some("other"))
    );
    let changed = agents
        .edit(&changed)
        .secrets(json!({"password": "another one"}))
        .save()
        .await
        .expect("sound");
    assert_ne!(changed.secrets, record.secrets);
    assert_eq!(
        agents
            .record("alice", "settings_post")
            .await
            .expect("there"),
        changed
    );
    let cleared = agents
        .edit(&changed)
        .enabled(false)
        .secrets(json!({}))
        .save()
        .await
        .expect("sound");
    assert_eq!(
        agents
            .record("alice", "settings_post")
            .await
            .expect("there")
            .secrets,
        cleared.secrets
    );
    assert!(cleared.secrets.is_none());
}

// C6
#[tokio::test]
async fn without_a_key_only_secrets_cannot_be_written() {
    let store = Arc::new(MemoryAgentToolStore::new());
    let agents = Agents::builder(Arc::clone(&store))
        .build()
        .expect("a sound catalog");
    let draft = agents
        .add("alice", "settings_post")
        .config(json!({"server": "mx"}));
    assert_eq!(
        kind(
            draft
                .secrets(json!({"password": "longenough"}))
                .save()
                .await
        ),
        AgentErrorKind::Key(KeyError::Missing)
    );
    assert!(is_empty(&store).await);
    assert!(
        agents
            .add("alice", "settings_plain")
            .secrets(json!({}))
            .save()
            .await
            .is_ok()
    );
}

// C6
#[tokio::test]
async fn sealed_secret_opens_under_its_key_only() {
    let store = Arc::new(MemoryAgentToolStore::new());
    let keys = Keyring::parse(&Keyring::generate("k1").expect("a key")).expect("keys");
    let agents = Agents::builder(Arc::clone(&store))
        .keys(keys.clone())
        .build()
        .expect("a sound catalog");
    let record = post(&agents).await;
    let bound = agents
        .form("settings_post")
        .expect("a form")
        .bound_settings(&record.config);
    let sealed = record.secrets.expect("sealed");
    let opened = keys
        .open("alice", "settings_post", &bound, &sealed)
        .expect("opens");
    assert_eq!(opened.expose(), r#"{"password":"longenough"}"#);
    assert!(
        keys.open("alice", "settings_plain", &bound, &sealed)
            .is_err()
    );
}

// C11
#[tokio::test]
async fn records_are_listed_by_toolset_and_agents_by_id() {
    let (agents, _) = agents();
    post(&agents).await;
    for agent in ["alice", "bob", "carol"] {
        agents
            .add(agent, "settings_plain")
            .save()
            .await
            .expect("sound");
    }
    let listed = agents.list("alice").await.expect("listed");
    let names = listed
        .tools
        .iter()
        .map(|record| record.tool.as_str())
        .collect::<Vec<_>>();
    assert_eq!(
        (names, listed.version),
        (vec!["settings_plain", "settings_post"], 2)
    );
    assert_eq!(agents.list("nobody").await.expect("listed").version, 0);
    let page = agents.agents(Some("alice"), 1).await.expect("listed");
    assert_eq!(
        (page.len(), page[0].agent.as_str(), page[0].tools),
        (1, "bob", 1)
    );
}

// A7
#[tokio::test]
async fn record_is_removed_at_the_version_that_was_read() {
    let (agents, _) = agents();
    let old = post(&agents).await;
    let new = agents
        .disable("alice", "settings_post")
        .await
        .expect("disabled");
    assert_eq!(
        kind(agents.remove(&old).await),
        AgentErrorKind::Store(AgentStoreError::Conflict {
            found: Some(new.version)
        })
    );
    agents.remove(&new).await.expect("removed");
    assert_eq!(
        kind(agents.record("alice", "settings_post").await),
        AgentErrorKind::NotConfigured
    );
    assert_eq!(
        kind(agents.remove(&new).await),
        AgentErrorKind::Store(AgentStoreError::Conflict { found: None })
    );
    assert_eq!(
        kind(agents.edit(&new).save().await),
        AgentErrorKind::Store(AgentStoreError::Conflict { found: None })
    );
}
