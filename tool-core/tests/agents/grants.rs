//! Toolsets that hold the token of a grant.

use crate::support::{Plan, Probe, agents, builder, failed, load, settle};
use serde_json::json;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tool_core::agents::{
    AgentErrorKind, AgentToolStore, MemoryAgentToolStore, RecordWrite, RefreshError,
    TokenRefresher, Tokens,
};
use tool_core::jiff;
use tool_core::schemars::JsonSchema;
use tool_core::serde::Deserialize;
use tool_core::tool::{OAuth2, ToolsetMetadata};
use tool_core::{Auth, Secret, Timestamp};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_core::serde")]
#[schemars(crate = "tool_core::schemars")]
#[allow(dead_code, reason = "only its schema is asked for")]
struct Secrets {
    access_token: Secret,
}

/// Gives a token of an hour, or nothing any more.
#[derive(Clone)]
struct Provider {
    token: Option<&'static str>,
    down: Arc<AtomicBool>,
}

impl Provider {
    fn gives(token: &'static str) -> Self {
        Self {
            token: Some(token),
            down: Arc::default(),
        }
    }

    fn revokes() -> Self {
        Self {
            token: None,
            down: Arc::default(),
        }
    }

    fn answer(&self) -> Result<Tokens, RefreshError> {
        if self.down.load(Ordering::SeqCst) {
            return Err(RefreshError::Transient("no answer".into()));
        }
        let mut tokens = Tokens::new(
            self.token
                .ok_or_else(|| RefreshError::Revoked("taken back".into()))?,
        );
        tokens.expires_at = Some(in_seconds(3_600));
        Ok(tokens)
    }
}

impl TokenRefresher for Provider {
    fn refresh<'a>(
        &'a self,
        _: &'a OAuth2,
        _: &'a Secret,
    ) -> Pin<Box<dyn Future<Output = Result<Tokens, RefreshError>> + Send + 'a>> {
        Box::pin(std::future::ready(self.answer()))
    }
}

fn in_seconds(seconds: i64) -> Timestamp {
    Timestamp(
        jiff::Timestamp::from_second(jiff::Timestamp::now().as_second() + seconds).expect("soon"),
    )
}

/// A toolset that copies its token: its factory takes secrets as text.
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

async fn connected(
    store: &Arc<MemoryAgentToolStore>,
    probe: &Probe,
    provider: Provider,
    seconds: i64,
) -> tool_core::Agents {
    let agents = builder(Arc::clone(store), [probe])
        .oauth2(provider)
        .retry_failed(Duration::ZERO)
        .build()
        .expect("sound");
    agents
        .add("alice", "calendar")
        .enabled(false)
        .save()
        .await
        .expect("written");
    let mut tokens = Tokens::new("canary-first");
    (tokens.refresh, tokens.expires_at) =
        (Some("canary-refresh".into()), Some(in_seconds(seconds)));
    agents
        .connect("alice", "calendar", tokens)
        .await
        .expect("written");
    agents.enable("alice", "calendar").await.expect("written");
    agents
}

#[tokio::test]
async fn a_copied_token_that_is_good_is_used_as_it_is() {
    let (store, calendar) = (Arc::default(), calendar());
    let agents = connected(&store, &calendar, Provider::gives("canary-second"), 3_600).await;
    let first = load(&agents, "alice").await;
    assert!(first.failures().is_empty() && Arc::ptr_eq(&first, &load(&agents, "alice").await));
    assert_eq!(calendar.counts(), (1, 1, 0));
}

// A copy cannot follow its grant, so the toolset is made of the new token.
#[tokio::test]
async fn expired_copied_token_is_refreshed_before_setup() {
    let (store, calendar) = (Arc::default(), calendar());
    let agents = connected(&store, &calendar, Provider::gives("canary-second"), -10).await;
    let loaded = load(&agents, "alice").await;
    assert!(loaded.failures().is_empty(), "{loaded:?}");
    assert_eq!(calendar.counts(), (2, 1, 0));
    let version = loaded.version();
    assert_eq!(
        (load(&agents, "alice").await.version(), calendar.counts()),
        (version, (2, 1, 0))
    );
    assert_eq!(
        store.version("alice").await.expect("up"),
        version,
        "a refresh changes no version"
    );
}

// Which may be how a toolset finds out whether its token is good.
#[tokio::test]
async fn refused_copied_token_is_replaced_by_a_refreshed_one() {
    let (store, calendar) = (Arc::default(), calendar());
    calendar.plan(Plan::RefusesFirstToken);
    let agents = connected(&store, &calendar, Provider::gives("canary-second"), -10).await;
    let loaded = load(&agents, "alice").await;
    assert!(loaded.failures().is_empty(), "{loaded:?}");
    assert_eq!(calendar.counts(), (2, 1, 0));
}

// It is refreshed a minute before it expires, and is good until then.
#[tokio::test(start_paused = true)]
async fn late_copied_token_is_replaced_at_a_later_load() {
    let (store, calendar) = (Arc::default(), calendar());
    let provider = Provider::gives("canary-second");
    provider.down.store(true, Ordering::SeqCst);
    let agents = connected(&store, &calendar, provider.clone(), 55).await;
    assert!(load(&agents, "alice").await.failures().is_empty());
    assert_eq!(calendar.counts(), (2, 1, 0));
    provider.down.store(false, Ordering::SeqCst);
    // A refresh that failed is not tried again at once.
    tokio::time::advance(Duration::from_secs(11)).await;
    // The old token is still valid, so no caller waits for the new one.
    load(&agents, "alice").await;
    settle().await;
    assert!(load(&agents, "alice").await.failures().is_empty());
    settle().await;
    assert_eq!(calendar.counts(), (3, 2, 1));
    load(&agents, "alice").await;
    settle().await;
    assert_eq!(calendar.counts(), (3, 2, 1));
}

#[tokio::test]
async fn revoked_grant_is_reported_without_its_token() {
    let (store, calendar) = (Arc::default(), calendar());
    let agents = connected(&store, &calendar, Provider::revokes(), -10).await;
    let loaded = load(&agents, "alice").await;
    let [("calendar", AgentErrorKind::Failed(error))] = failed(&loaded)[..] else {
        panic!("{loaded:?}")
    };
    assert_eq!(error.kind(), tool_core::ErrorKind::Auth);
    assert!(
        !format!("{loaded:?} {}", loaded.failures()[0]).contains("canary"),
        "{loaded:?}"
    );
}

// Without a grant, the schema of the secrets decides.
#[tokio::test]
async fn a_toolset_without_its_grant_is_judged_by_its_secrets() {
    let calendar = calendar();
    let agents = agents([&calendar]);
    agents
        .add("alice", "calendar")
        .enabled(false)
        .save()
        .await
        .expect("written");
    let store = MemoryAgentToolStore::new();
    store
        .write(&RecordWrite::new("alice", "calendar", json!({})))
        .await
        .expect("written");
    let loaded = load(
        &builder(store, [&calendar]).build().expect("sound"),
        "alice",
    )
    .await;
    // The probe takes whatever it is given; a linked toolset would refuse `{}`.
    assert!(loaded.failures().is_empty() && calendar.counts() == (1, 1, 0));
}
