//! Access tokens that are valid whenever they are asked for.

use crate::agents::grant::Grant;
use crate::agents::keys::OpenedSecrets;
use crate::agents::loaded::SecretScrubber;
use crate::agents::tests::support::{World, exposed, within};
use crate::agents::tokens::Tokens;
use crate::call::error::ToolError;
use crate::tool::BoundSettings;
use crate::tool::configure::credentials::{AccessToken, OAuth2, Secret, TokenSource};
use crate::tool::configure::secret_document::SecretDocument;
use serde_json::json;
use std::sync::Arc;

fn document(value: serde_json::Value) -> SecretDocument {
    SecretDocument::from_value(value)
}

#[tokio::test]
async fn token_is_refreshed_a_minute_before_it_expires() {
    for (expires_in, expected) in [
        (3600, "access-0"),
        (90, "access-0"),
        (59, "access-1"),
        (-10, "access-1"),
    ] {
        let world = World::new(expires_in).await;
        let grant = world.grant(&world.agents()).await;
        assert_eq!(grant.is_due(), expected == "access-1");
        assert_eq!(exposed(grant.token().await), expected, "{expires_in} s");
        // The new token is used from then on.
        assert_eq!(exposed(grant.token().await), expected);
        assert_eq!(world.refreshes(), u32::from(expected == "access-1"));
    }
}

#[tokio::test]
async fn token_without_expiry_is_not_refreshed() {
    let world = World::with(json!({"access_token": "a", "refresh_token": "r"})).await;
    let grant = world.grant(&world.agents()).await;
    assert_eq!(
        (exposed(grant.token().await), grant.expires_at()),
        ("a".into(), None)
    );
    assert_eq!(world.refreshes(), 0);
}

#[tokio::test]
async fn refresh_token_alone_is_a_grant() {
    let world = World::with(json!({"refresh_token": "r"})).await;
    let grant = world.grant(&world.agents()).await;
    assert_eq!(exposed(grant.token().await), "access-1");
}

#[tokio::test]
async fn refresh_replaces_tokens_and_keeps_other_secrets() {
    let world = World::new(10).await;
    let before = world.record().await;
    let grant = world.grant(&world.agents()).await;
    grant.token().await.expect("a token");
    let after = world.record().await;
    assert_eq!(after.version, before.version);
    let secrets = [
        world.secret("access_token").await,
        world.secret("refresh_token").await,
        world.secret("own").await,
    ];
    assert_eq!(
        secrets.map(Option::unwrap),
        ["access-1", "refresh-1", "else"]
    );
    // The provider did not repeat the scope.
    assert_eq!(world.secret("scope").await.as_deref(), Some("read"));
    let found = Tokens::of(&world.secrets().await).expect("tokens");
    assert_eq!(found.expires_at, grant.expires_at());
    // The secrets to configure a toolset with that copies the token.
    let built = grant.put_into(&document(
        json!({"access_token": "access-0", "own": "else"}),
    ));
    assert_eq!(
        Tokens::of(&built).expect("tokens").access.expose(),
        "access-1"
    );
}

#[tokio::test]
async fn grant_is_followed_by_access_tokens_only() {
    let world = World::new(3600).await;
    let grant = world.grant(&world.agents()).await;
    let secrets = world
        .secrets()
        .await
        .with_grant(Arc::clone(&grant) as Arc<dyn TokenSource>);
    let copied = secrets.with_value(|value| value["access_token"].to_string());
    assert!(copied.is_some() && !grant.is_followed());
    let token = AccessToken::live(Arc::clone(&grant) as Arc<dyn TokenSource>);
    assert_eq!(exposed(token.get().await), "access-0");
}

#[tokio::test]
async fn secrets_without_tokens_have_no_grant() {
    let world = World::new(3600).await;
    let agents = world.agents();
    for secrets in [
        "{}",
        "[]",
        r#"{"access_token": ""}"#,
        r#"{"access_token": 7}"#,
        "no JSON",
    ] {
        let secrets = SecretDocument::from_json(secrets.into());
        let opened = OpenedSecrets {
            secrets,
            bound: BoundSettings::none(),
        };
        let grant: Option<Arc<Grant>> =
            Grant::new(&agents.0.grants, "a", "t", &OAuth2::default(), &opened);
        assert!(grant.is_none());
    }
}

#[tokio::test]
async fn tokens_are_put_into_secrets_and_read_back() {
    let mut tokens = Tokens::new("a");
    (tokens.refresh, tokens.expires_at) = (Some("r".into()), Some(within(60)));
    let secrets = tokens
        .put_into(&document(
            json!({"own": [1], "access_token": "old", "scope": "old"}),
        ))
        .expect("put");
    let found = Tokens::of(&secrets).expect("tokens");
    assert_eq!(
        (
            found.access.expose(),
            found.refresh.as_ref().map(Secret::expose),
            found.scope
        ),
        ("a", Some("r"), None)
    );
    assert_eq!(found.expires_at, tokens.expires_at);
    assert!(
        secrets
            .expose()
            .starts_with(r#"{"own":[1],"access_token":"a""#)
    );
    // A number of seconds, as some programs write it.
    let seconds = document(json!({"access_token": "a", "expires_at": 1_800_000_000}));
    assert_eq!(
        Tokens::of(&seconds)
            .and_then(|found| found.expires_at)
            .map(|at| at.as_second()),
        Some(1_800_000_000)
    );
    assert!(
        tokens
            .put_into(&SecretDocument::from_json("[]".into()))
            .is_none()
    );
}

#[tokio::test]
async fn errors_are_scrubbed_of_tokens_but_not_of_scopes() {
    let world = World::new(10).await;
    let grant = world.grant(&world.agents()).await;
    let secrets = world.secrets().await;
    grant.token().await.expect("refreshed");
    let scrubber = SecretScrubber {
        secrets,
        grant: Some(grant),
    };
    let error = scrubber.scrub(ToolError::auth(
        "access-0, refresh-0, access-1, else: may not read",
    ));
    assert_eq!(
        error.message(),
        "[hidden], [hidden], [hidden], [hidden]: may not read"
    );
}

#[tokio::test]
async fn connect_keeps_other_secrets_and_raises_the_version() {
    let world = World::new(-10).await;
    let agents = world.agents();
    let before = world.record().await;
    let after = agents
        .connect("alice", "calendar", Tokens::new("granted"))
        .await
        .expect("connected");
    assert!(after.version > before.version);
    assert_eq!(after, world.record().await);
    assert_eq!(
        world.secret("access_token").await.as_deref(),
        Some("granted")
    );
    assert_eq!(world.secret("own").await.as_deref(), Some("else"));
    // The earlier grant is gone.
    assert_eq!(
        (
            world.secret("refresh_token").await,
            world.secret("scope").await
        ),
        (None, None)
    );
    let error = agents
        .connect("bob", "calendar", Tokens::new("granted"))
        .await
        .expect_err("no record");
    assert_eq!(
        error.kind,
        crate::agents::error::AgentErrorKind::NotConfigured
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn connecting_while_refreshing_loses_no_tokens() {
    let world = Arc::new(World::new(10).await);
    let tasks = (0..16).map(|n| {
        let world = Arc::clone(&world);
        tokio::spawn(async move {
            let agents = world.agents();
            if n % 2 == 0 {
                let mut tokens = Tokens::new(format!("granted-{n}"));
                (tokens.refresh, tokens.expires_at) =
                    (Some(format!("of-{n}").into()), Some(within(3600)));
                agents
                    .connect("alice", "calendar", tokens)
                    .await
                    .expect("connected");
            } else {
                let grant = world.grant(&agents).await;
                _ = grant.token().await.expect("a token");
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.expect("sound");
    }
    assert_eq!(world.secret("own").await.as_deref(), Some("else"));
    let access = world.secret("access_token").await.expect("a token");
    let refresh = world.secret("refresh_token").await.expect("a token");
    // Both belong to the same grant.
    assert_eq!(
        access.replace("granted", "of").replace("access", "refresh"),
        refresh
    );
    assert!(access.starts_with("granted"), "{access}");
}
