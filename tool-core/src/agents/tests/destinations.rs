//! Toolsets that were configured for another destination than the one that a grant was given for.

use crate::agents::Agents;
use crate::agents::grant::Grant;
use crate::agents::keys::OpenedSecrets;
use crate::agents::store::AgentToolStore;
use crate::agents::tests::support::{World, exposed, within};
use crate::agents::tokens::Tokens;
use crate::call::error::{ErrorKind, ToolError};
use crate::tool::configure::credentials::{OAuth2, TokenSource};
use crate::tool::configure::secret_document::SecretDocument;
use crate::tool::{BoundSettings, Secret, ToolsetMetadata};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const VARIANTS: i64 = 1_000;

fn destination(url: &str) -> BoundSettings {
    ToolsetMetadata::new("calendar", "").bound_settings(&json!({"base_url": url}))
}

/// The grant of a toolset that another person has configured with their own host and tokens.
fn elsewhere(agents: &Agents, url: &str, expires_in: i64) -> Arc<Grant> {
    let tokens = json!({"access_token": "dummy", "refresh_token": "of theirs",
        "expires_at": within(expires_in).to_string()});
    let opened = OpenedSecrets {
        secrets: SecretDocument::from_value(tokens),
        bound: destination(url),
    };
    let grant = OAuth2 {
        provider: "test".into(),
        ..OAuth2::default()
    };
    Grant::new(&agents.0.grants, "alice", "calendar", &grant, &opened).expect("a grant")
}

fn assert_refused(token: Result<Secret, ToolError>) {
    let error = token.expect_err("a token for another destination");
    assert_eq!(error.kind(), ErrorKind::Auth);
    let text = "the secrets were entered for other values of `/base_url`";
    assert!(error.message().contains(text), "{}", error.message());
}

// The owner has restored the address and connected again, while a session still has the toolset for the other address.
#[tokio::test]
async fn tokens_for_another_destination_are_refused() {
    let world = World::new(3600).await;
    let agents = world.agents();
    for n in 0..VARIANTS {
        let grant = elsewhere(
            &agents,
            &format!("https://evil-{n}.example"),
            if n % 2 == 0 { 3600 } else { -10 },
        );
        assert_refused(if n % 2 == 0 {
            grant.rejected(&"dummy".into()).await
        } else {
            grant.token().await
        });
    }
    assert_eq!(
        (
            world.refreshes(),
            world.secret("access_token").await.as_deref()
        ),
        (0, Some("access-0"))
    );
    println!("{VARIANTS} toolsets with another destination: 0 got a token");
}

#[tokio::test]
async fn refresh_is_not_shared_with_another_destination() {
    let world = World::new(-10).await;
    let agents = world.agents();
    let grant = world.grant(&agents).await;
    world.provider.held_back.store(true, Ordering::SeqCst);
    let token = tokio::spawn(async move { exposed(grant.token().await) });
    world.provider.asked.notified().await;
    for n in 0..VARIANTS {
        assert_refused(
            elsewhere(&agents, &format!("https://evil-{n}.example"), -10)
                .token()
                .await,
        );
    }
    world.provider.let_go.notify_one();
    assert_eq!(token.await.expect("sound"), "access-1");
    assert_eq!(world.refreshes(), 1);
}

#[tokio::test]
async fn new_tokens_never_replace_those_of_a_new_destination() {
    let world = World::new(-10).await;
    let grant = world.grant(&world.agents()).await;
    world.provider.held_back.store(true, Ordering::SeqCst);
    let token = tokio::spawn(async move { grant.token().await });
    world.provider.asked.notified().await;
    // With the same refresh token, so that only the destination differs.
    let before = world.record().await.secrets.expect("sealed");
    let (moved, secrets) = (destination("https://new.example"), world.secrets().await);
    let anew = world
        .keys
        .seal("alice", "calendar", &moved, &secrets)
        .expect("sealed");
    assert!(
        world
            .store
            .replace_secrets("alice", "calendar", &before, &anew)
            .await
            .expect("up")
    );
    world.provider.let_go.notify_one();
    assert_refused(token.await.expect("sound"));
    let sealed = world.record().await.secrets.expect("sealed");
    let kept = world
        .keys
        .open("alice", "calendar", &moved, &sealed)
        .expect("opens");
    assert_eq!(
        Tokens::of(&kept).expect("tokens").access.expose(),
        "access-0"
    );
}
