//! The checks before a toolset is enabled.

use crate::support::{Probe, builder, failed, load};
use serde_json::json;
use std::sync::Arc;
use tool_core::agents::{AgentErrorKind, Agents, Keyring, MemoryAgentToolStore, Tokens};
use tool_core::schemars::JsonSchema;
use tool_core::serde::Deserialize;
use tool_core::tool::ToolsetMetadata;
use tool_core::{Auth, Secret};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_core::serde")]
#[schemars(crate = "tool_core::schemars")]
#[allow(dead_code, reason = "only its schema is asked for")]
struct Secrets {
    access_token: Secret,
    signing_key: Secret,
}

fn calendar() -> Probe {
    let auth = Auth::oauth2(
        "example",
        ["read"],
        "https://example.com/auth",
        "https://example.com/token",
    );
    let configured =
        |metadata: ToolsetMetadata| metadata.authorized_by(auth).configured_by::<(), Secrets>();
    Probe::new("calendar", ["list"]).metadata_with(configured)
}

/// Agents, of which alice has a grant without the other secrets.
async fn connected(store: &Arc<MemoryAgentToolStore>, calendar: &Probe) -> Agents {
    let agents = builder(Arc::clone(store), [calendar])
        .build()
        .expect("sound");
    agents
        .add("alice", "calendar")
        .enabled(false)
        .save()
        .await
        .expect("written");
    agents
        .connect("alice", "calendar", Tokens::new("canary-token"))
        .await
        .expect("written");
    agents
}

fn lacks_its_key(error: &tool_core::agents::AgentError) -> bool {
    matches!(&error.kind, AgentErrorKind::InvalidSecrets(problems) if problems.len() == 1)
        && error.to_string().contains("signing_key")
        && !error.to_string().contains("canary")
}

// A4
#[tokio::test]
async fn grant_without_the_other_secrets_is_not_enabled() {
    let (store, calendar) = (Arc::default(), calendar());
    let agents = connected(&store, &calendar).await;
    let refused = agents
        .enable("alice", "calendar")
        .await
        .expect_err("a secret is missing");
    assert!(lacks_its_key(&refused), "{refused}");
    let record = agents.record("alice", "calendar").await.expect("a record");
    let refused = agents
        .edit(&record)
        .enabled(true)
        .save()
        .await
        .expect_err("a secret is missing");
    assert!(lacks_its_key(&refused), "{refused}");
    assert!(
        !agents
            .record("alice", "calendar")
            .await
            .expect("a record")
            .enabled
    );

    let secrets =
        json!({"access_token": "canary-token", "signing_key": "canary-key", "left_over": 1});
    agents
        .edit(&record)
        .secrets(secrets)
        .save()
        .await
        .expect_err("a name that is not known");
    let secrets = json!({"access_token": "canary-token", "signing_key": "canary-key"});
    agents
        .edit(&record)
        .secrets(secrets)
        .save()
        .await
        .expect("written");
    agents
        .enable("alice", "calendar")
        .await
        .expect("all is there");
    assert!(failed(&load(&agents, "alice").await).is_empty());
}

// A writer of settings needs no access to secrets.
#[tokio::test]
async fn record_is_enabled_unchecked_without_a_key() {
    let (store, calendar) = (Arc::default(), calendar());
    connected(&store, &calendar).await;
    let keyless = builder(Arc::clone(&store), [&calendar])
        .keys(Keyring::none())
        .build()
        .expect("sound");
    assert!(
        keyless
            .enable("alice", "calendar")
            .await
            .expect("written")
            .enabled
    );
}
