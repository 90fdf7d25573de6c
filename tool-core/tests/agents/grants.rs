//! Toolsets that hold the token of a grant.

use crate::support::{Probe, agents, builder, failed, load, settle};
use serde_json::json;
use std::pin::Pin;
use std::time::Duration;
use tool_core::agents::{
    AgentErrorKind, AgentToolStore, MemoryAgentToolStore, RecordWrite, RefreshError, TokenRefresher, Tokens,
};
use tool_core::{Auth, OAuth2, Secret, Timestamp, ToolsetMetadata};
use tool_core::{jiff, schemars::JsonSchema, serde::Deserialize};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_core::serde")]
#[schemars(crate = "tool_core::schemars")]
#[allow(dead_code, reason = "only its schema is asked for")]
struct Secrets {
    access_token: Secret,
}

/// Gives a token of an hour, or nothing any more.
struct Provider(Result<&'static str, ()>);

impl TokenRefresher for Provider {
    fn refresh<'a>(
        &'a self,
        _: &'a OAuth2,
        _: &'a Secret,
    ) -> Pin<Box<dyn Future<Output = Result<Tokens, RefreshError>> + Send + 'a>> {
        let answer = self.0.map_err(|()| RefreshError::Revoked("taken back".into())).map(|token| {
            let mut tokens = Tokens::new(token);
            tokens.expires_at = Some(in_seconds(3_600));
            tokens
        });
        Box::pin(std::future::ready(answer))
    }
}

fn in_seconds(seconds: i64) -> Timestamp {
    Timestamp(jiff::Timestamp::from_second(jiff::Timestamp::now().as_second() + seconds).expect("soon"))
}

/// A toolset that copies its token: its factory takes secrets as text.
fn calendar() -> Probe {
    let auth = Auth::oauth2("example", ["read"], "https://example.com/auth", "https://example.com/token");
    let configured = |metadata: ToolsetMetadata| metadata.authorized_by(auth).configured_by::<(), Secrets>();
    Probe::new("calendar", ["list"]).metadata_with(configured)
}

async fn connected(
    store: &std::sync::Arc<MemoryAgentToolStore>,
    probe: &Probe,
    provider: Provider,
    seconds: i64,
) -> tool_core::Agents {
    let agents = builder(std::sync::Arc::clone(store), [probe])
        .oauth2(provider)
        .retry_failed(Duration::ZERO)
        .build()
        .expect("sound");
    agents.add("alice", "calendar").enabled(false).save().await.expect("written");
    let mut tokens = Tokens::new("canary-first");
    (tokens.refresh, tokens.expires_at) = (Some("canary-refresh".into()), Some(in_seconds(seconds)));
    agents.connect("alice", "calendar", tokens).await.expect("written");
    agents.enable("alice", "calendar").await.expect("written");
    agents
}

#[tokio::test]
async fn a_copied_token_that_is_good_is_used_as_it_is() {
    let (store, calendar) = (std::sync::Arc::default(), calendar());
    let agents = connected(&store, &calendar, Provider(Ok("canary-second")), 3_600).await;
    let first = load(&agents, "alice").await;
    assert!(first.failures().is_empty() && std::sync::Arc::ptr_eq(&first, &load(&agents, "alice").await));
    assert_eq!(calendar.counts(), (1, 1, 0));
}

// A copy cannot follow its grant, so the toolset is made of the new token.
#[tokio::test]
async fn a_copied_token_that_has_expired_is_refreshed_before_the_toolset_is_opened() {
    let (store, calendar) = (std::sync::Arc::default(), calendar());
    let agents = connected(&store, &calendar, Provider(Ok("canary-second")), -10).await;
    let loaded = load(&agents, "alice").await;
    assert!(loaded.failures().is_empty(), "{loaded:?}");
    assert_eq!(calendar.counts(), (2, 1, 0));
    let version = loaded.version();
    assert_eq!((load(&agents, "alice").await.version(), calendar.counts()), (version, (2, 1, 0)));
    assert_eq!(store.version("alice").await.expect("up"), version, "a refresh changes no version");
}

#[tokio::test]
async fn a_copied_token_that_expires_while_it_is_loaded_is_replaced_at_the_next_load() {
    let (store, calendar) = (std::sync::Arc::default(), calendar());
    let agents = connected(&store, &calendar, Provider(Ok("canary-second")), 63).await;
    load(&agents, "alice").await;
    assert_eq!(calendar.counts(), (1, 1, 0));
    // It is refreshed a minute before it expires.
    tokio::time::sleep(Duration::from_millis(4_200)).await;
    assert!(load(&agents, "alice").await.failures().is_empty());
    settle().await;
    assert_eq!(calendar.counts(), (2, 2, 1));
    load(&agents, "alice").await;
    assert_eq!(calendar.counts(), (2, 2, 1));
}

#[tokio::test]
async fn a_grant_that_was_taken_back_is_told_as_such_and_shows_no_token() {
    let (store, calendar) = (std::sync::Arc::default(), calendar());
    let agents = connected(&store, &calendar, Provider(Err(())), -10).await;
    let loaded = load(&agents, "alice").await;
    let [("calendar", AgentErrorKind::Failed(error))] = failed(&loaded)[..] else { panic!("{loaded:?}") };
    assert_eq!(error.kind(), tool_core::ErrorKind::Auth);
    assert!(!format!("{loaded:?} {}", loaded.failures()[0]).contains("canary"), "{loaded:?}");
}

// Where there is no grant yet, the schema of the secrets decides.
#[tokio::test]
async fn a_toolset_without_its_grant_is_judged_by_its_secrets() {
    let calendar = calendar();
    let agents = agents([&calendar]);
    agents.add("alice", "calendar").enabled(false).save().await.expect("written");
    let store = MemoryAgentToolStore::new();
    store.write(&RecordWrite::new("alice", "calendar", json!({}))).await.expect("written");
    let loaded = load(&builder(store, [&calendar]).build().expect("sound"), "alice").await;
    // The probe takes whatever it is given; a linked toolset would refuse `{}`.
    assert!(loaded.failures().is_empty() && calendar.counts() == (1, 1, 0));
}
