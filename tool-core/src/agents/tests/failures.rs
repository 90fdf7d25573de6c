//! Failures of the provider, the store and the keys.

use crate::agents::tests::support::{Does, World, exposed, within};
use crate::agents::tokens::{RefreshError, Tokens};
use crate::agents::{grant, keys, store};
use crate::call::error::ErrorKind;
use crate::tool::BoundSettings;
use crate::tool::configure::credentials::TokenSource;
use crate::tool::configure::secret_document::SecretDocument;
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::Duration;

fn transient() -> Does {
    Does::Fail(RefreshError::Transient("the provider sleeps".into()))
}

#[tokio::test(start_paused = true)]
async fn valid_token_is_used_after_a_failed_refresh() {
    let refused = Does::Fail(RefreshError::Refused("no client".into()));
    for does in [transient(), refused, Does::Panic] {
        let world = World::new(30).await;
        world.does(does);
        let grant = world.grant(&world.agents()).await;
        assert_eq!(exposed(grant.token().await), "access-0");
        // The provider is asked again after a pause.
        world.does(Does::Refresh);
        assert_eq!(
            (exposed(grant.token().await), world.refreshes()),
            ("access-0".to_owned(), 1)
        );
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(
            exposed(grant.token().await),
            format!("access-{}", world.refreshes())
        );
        assert_eq!(world.refreshes(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn expired_token_is_an_error_until_the_provider_is_back() {
    for does in [transient(), Does::Panic] {
        let world = World::new(-1).await;
        world.does(does);
        let grant = world.grant(&world.agents()).await;
        let error = grant.token().await.expect_err("expired");
        assert_eq!(error.kind(), ErrorKind::Transient);
        world.does(Does::Refresh);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(exposed(grant.token().await), "access-2");
    }
}

#[tokio::test(start_paused = true)]
async fn hanging_provider_times_out() {
    let world = World::new(-1).await;
    world.does(Does::Hang);
    let grant = world.grant(&world.agents()).await;
    let error = grant.token().await.expect_err("expired");
    assert_eq!(
        error.message(),
        "refreshing the token failed: no answer within 20 s"
    );
    // Callers wait for a shorter time while the old token is valid.
    let world = World::new(30).await;
    world.does(Does::Hang);
    let grant = world.grant(&world.agents()).await;
    let began = tokio::time::Instant::now();
    assert_eq!(exposed(grant.token().await), "access-0");
    assert_eq!(began.elapsed(), grant::PATIENCE);
    // The time counts from the beginning of the refresh, so the next caller does not wait.
    assert_eq!(exposed(grant.token().await), "access-0");
    assert_eq!((began.elapsed(), world.refreshes()), (grant::PATIENCE, 1));
}

#[tokio::test]
async fn revoked_grant_has_to_be_connected_again() {
    for expires_in in [-1, 30] {
        let world = World::new(expires_in).await;
        world.does(Does::Fail(RefreshError::Revoked("invalid_grant".into())));
        let grant = world.grant(&world.agents()).await;
        let error = grant.token().await.expect_err("revoked");
        assert_eq!(error.kind(), ErrorKind::Auth);
        assert_eq!(
            error.message(),
            "toolset `calendar` has to be connected to `test` again by a person: the grant is no longer valid (invalid_grant)"
        );
        // A person grants access again.
        let mut tokens = Tokens::new("granted");
        tokens.expires_at = Some(within(3600));
        world
            .agents()
            .connect("alice", "calendar", tokens)
            .await
            .expect("connected");
        assert_eq!(exposed(grant.token().await), "granted");
    }
}

#[tokio::test]
async fn token_without_refresh_token_is_used_until_it_expires() {
    let secrets = |expires| json!({"access_token": "a", "expires_at": within(expires).to_string()});
    let world = World::with(secrets(30)).await;
    assert_eq!(
        exposed(world.grant(&world.agents()).await.token().await),
        "a"
    );
    let world = World::with(secrets(-1)).await;
    let error = world
        .grant(&world.agents())
        .await
        .token()
        .await
        .expect_err("expired");
    assert_eq!(error.kind(), ErrorKind::Auth);
    assert!(error.message().contains("has expired"), "{error}");
    assert_eq!(world.refreshes(), 0);
}

#[tokio::test]
async fn removed_record_has_no_new_token() {
    let world = World::new(-1).await;
    let agents = world.agents();
    let record = world.record().await;
    let grant = world.grant(&agents).await;
    agents.remove(&record).await.expect("removed");
    let error = grant.token().await.expect_err("gone");
    assert_eq!((error.kind(), world.refreshes()), (ErrorKind::Auth, 0));
}

#[tokio::test]
async fn valid_token_outlives_its_record() {
    let world = World::new(30).await;
    let agents = world.agents();
    let record = world.record().await;
    let grant = world.grant(&agents).await;
    agents.remove(&record).await.expect("removed");
    assert_eq!(
        (exposed(grant.token().await), world.refreshes()),
        ("access-0".to_owned(), 0)
    );
}

#[tokio::test]
async fn tokens_of_another_process_are_read_after_a_revocation() {
    let world = World::new(-1).await;
    let grant = world.grant(&world.agents()).await;
    world.does(Does::Fail(RefreshError::Revoked("used twice".into())));
    world.provider.held_back.store(true, Ordering::SeqCst);
    let token = tokio::spawn(async move { exposed(grant.token().await) });
    world.provider.asked.notified().await;
    // A process whose lease had expired has stored its tokens.
    let mut tokens = Tokens::new("theirs");
    (tokens.refresh, tokens.expires_at) = (Some("refresh-9".into()), Some(within(3600)));
    world
        .agents()
        .connect("alice", "calendar", tokens)
        .await
        .expect("connected");
    world.provider.let_go.notify_one();
    assert_eq!(token.await.expect("sound"), "theirs");
}

#[tokio::test]
async fn write_with_a_lost_answer_is_recognised() {
    let world = World::new(-1).await;
    world.store.answers_lost.store(true, Ordering::SeqCst);
    let grant = world.grant(&world.agents()).await;
    assert_eq!(exposed(grant.token().await), "access-1");
    assert_eq!(
        (
            world.secret("access_token").await.as_deref(),
            world.refreshes()
        ),
        (Some("access-1"), 1)
    );
}

#[tokio::test(start_paused = true)]
async fn only_valid_tokens_are_returned_while_the_store_is_down() {
    for (expires_in, good) in [(30, true), (-1, false)] {
        let world = World::new(expires_in).await;
        let grant = world.grant(&world.agents()).await;
        world.store.down.store(true, Ordering::SeqCst);
        let token = grant.token().await;
        assert_eq!(token.is_ok(), good);
        if let Err(error) = token {
            assert_eq!(error.kind(), ErrorKind::Transient, "{error}");
        }
        world.store.down.store(false, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(exposed(grant.token().await), "access-1");
    }
}

#[tokio::test]
async fn errors_show_no_token() {
    let world = World::new(-1).await;
    let grant = world.grant(&world.agents()).await;
    world.does(Does::Leak);
    let error = grant.token().await.expect_err("fails");
    assert_eq!(
        error.message(),
        "the token cannot be refreshed: no client for [secret]"
    );
    assert_eq!(error.kind(), ErrorKind::Auth);
    let shown = format!("{error:?} {error}");
    assert!(
        !shown.contains("refresh-0") && !shown.contains("access-0"),
        "{shown}"
    );
}

#[tokio::test]
async fn secrets_under_an_unknown_key_are_reported() {
    let world = World::new(-1).await;
    let grant = world.grant(&world.agents()).await;
    let mut record = world.record().await;
    let other = keys::Keyring::parse(&format!("other:{}", "3f".repeat(32))).expect("a key");
    record.secrets = Some(
        other
            .seal(
                "alice",
                "calendar",
                &BoundSettings::none(),
                &SecretDocument::none(),
            )
            .expect("sealed"),
    );
    let mut write = store::RecordWrite::of(&record);
    write.secrets = store::SecretsWrite::Set(record.secrets.expect("sealed"));
    store::AgentToolStore::write(&*world.store, &write)
        .await
        .expect("written");
    let error = grant.token().await.expect_err("does not open");
    assert!(
        error.message().contains("sealed under key `other`"),
        "{error}"
    );
}
