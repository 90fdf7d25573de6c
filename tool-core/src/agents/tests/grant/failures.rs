//! What goes wrong, and what is told of it.

use crate::agents::tests::grant::support::{Does, World, exposed, within};
use crate::agents::tokens::{RefreshError, Tokens};
use crate::agents::{grant, keys, store};
use crate::call::error::ErrorKind;
use crate::tool::configure::access_token::TokenSource;
use crate::tool::configure::secret::SecretDocument;
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::Duration;

fn transient() -> Does {
    Does::Fail(RefreshError::Transient("the provider sleeps".into()))
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_still_good_outlasts_a_refresh_that_fails() {
    let refused = Does::Fail(RefreshError::Refused("no client".into()));
    for does in [transient(), refused, Does::Panic] {
        let world = World::new(30).await;
        world.does(does);
        let grant = world.grant(&world.agents()).await;
        assert_eq!(exposed(grant.token().await), "access-0");
        // Nobody asks again at once, and then somebody does.
        world.does(Does::Refresh);
        assert_eq!((exposed(grant.token().await), world.refreshes()), ("access-0".to_owned(), 1));
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(exposed(grant.token().await), format!("access-{}", world.refreshes()));
        assert_eq!(world.refreshes(), 2);
    }
}

#[tokio::test]
async fn a_token_that_has_expired_is_an_error_until_the_provider_is_back() {
    for does in [transient(), Does::Panic] {
        let world = World::new(-1).await;
        world.does(does);
        let grant = world.grant(&world.agents()).await;
        let error = grant.token().await.expect_err("expired");
        assert_eq!(error.kind(), ErrorKind::Transient);
        world.does(Does::Refresh);
        assert_eq!(exposed(grant.token().await), "access-2");
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_hangs_is_waited_for_so_long_and_not_longer() {
    let world = World::new(-1).await;
    world.does(Does::Hang);
    let grant = world.grant(&world.agents()).await;
    let error = grant.token().await.expect_err("expired");
    assert_eq!(error.message(), "the token could not be refreshed now: no answer within 20 s");
    // While the old token is good, nobody waits as long as that.
    let world = World::new(30).await;
    world.does(Does::Hang);
    let grant = world.grant(&world.agents()).await;
    let began = tokio::time::Instant::now();
    assert_eq!(exposed(grant.token().await), "access-0");
    assert_eq!(began.elapsed(), grant::PATIENCE);
    // All of them together: the next has it at once.
    assert_eq!(exposed(grant.token().await), "access-0");
    assert_eq!((began.elapsed(), world.refreshes()), (grant::PATIENCE, 1));
}

#[tokio::test]
async fn a_grant_that_was_taken_back_has_to_be_connected_again() {
    for expires_in in [-1, 30] {
        let world = World::new(expires_in).await;
        world.does(Does::Fail(RefreshError::Revoked("invalid_grant".into())));
        let grant = world.grant(&world.agents()).await;
        let error = grant.token().await.expect_err("taken back");
        assert_eq!(error.kind(), ErrorKind::Auth);
        assert_eq!(
            error.message(),
            "toolset `calendar` has to be connected again to `test` by a person: the grant is no longer good (invalid_grant)"
        );
        // A person does.
        let mut tokens = Tokens::new("granted");
        tokens.expires_at = Some(within(3600));
        world.agents().connect("alice", "calendar", tokens).await.expect("connected");
        assert_eq!(exposed(grant.token().await), "granted");
    }
}

#[tokio::test]
async fn without_a_refresh_token_a_token_is_good_until_it_expires() {
    let secrets = |expires| json!({"access_token": "a", "expires_at": within(expires).to_string()});
    let world = World::with(secrets(30)).await;
    assert_eq!(exposed(world.grant(&world.agents()).await.token().await), "a");
    let world = World::with(secrets(-1)).await;
    let error = world.grant(&world.agents()).await.token().await.expect_err("expired");
    assert_eq!(error.kind(), ErrorKind::Auth);
    assert!(error.message().contains("has expired"), "{error}");
    assert_eq!(world.refreshes(), 0);
}

#[tokio::test]
async fn a_record_that_is_gone_has_no_token_left() {
    let world = World::new(-1).await;
    let (agents, record) = (world.agents(), world.record().await);
    let grant = world.grant(&agents).await;
    agents.remove(&record).await.expect("removed");
    let error = grant.token().await.expect_err("gone");
    assert_eq!((error.kind(), world.refreshes()), (ErrorKind::Auth, 0));
}

// Running sessions keep what they have
#[tokio::test]
async fn a_record_that_is_removed_takes_no_token_away_that_is_still_good() {
    let world = World::new(30).await;
    let (agents, record) = (world.agents(), world.record().await);
    let grant = world.grant(&agents).await;
    agents.remove(&record).await.expect("removed");
    assert_eq!((exposed(grant.token().await), world.refreshes()), ("access-0".to_owned(), 0));
}

#[tokio::test]
async fn a_token_that_was_used_up_by_another_process_is_read_again() {
    let world = World::new(-1).await;
    let grant = world.grant(&world.agents()).await;
    world.does(Does::Fail(RefreshError::Revoked("used twice".into())));
    world.provider.held_back.store(true, Ordering::SeqCst);
    let token = tokio::spawn(async move { exposed(grant.token().await) });
    world.provider.asked.notified().await;
    // One whose lease had ended, and who has stored what it got.
    let mut tokens = Tokens::new("theirs");
    (tokens.refresh, tokens.expires_at) = (Some("refresh-9".into()), Some(within(3600)));
    world.agents().connect("alice", "calendar", tokens).await.expect("connected");
    world.provider.let_go.notify_one();
    assert_eq!(token.await.expect("sound"), "theirs");
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_is_found_done() {
    let world = World::new(-1).await;
    world.store.answers_lost.store(true, Ordering::SeqCst);
    let grant = world.grant(&world.agents()).await;
    assert_eq!(exposed(grant.token().await), "access-1");
    assert_eq!((world.secret("access_token").await.as_deref(), world.refreshes()), (Some("access-1"), 1));
}

#[tokio::test(start_paused = true)]
async fn while_the_store_is_down_a_good_token_is_given_and_no_other() {
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
async fn no_error_shows_a_token() {
    let world = World::new(-1).await;
    let grant = world.grant(&world.agents()).await;
    world.does(Does::Leak);
    let error = grant.token().await.expect_err("fails");
    assert_eq!(error.message(), "the token cannot be refreshed: no client for [secret]");
    assert_eq!(error.kind(), ErrorKind::Auth);
    let shown = format!("{error:?} {error}");
    assert!(!shown.contains("refresh-0") && !shown.contains("access-0"), "{shown}");
}

#[tokio::test]
async fn secrets_that_do_not_open_any_more_are_told_as_that() {
    let world = World::new(-1).await;
    let grant = world.grant(&world.agents()).await;
    let mut record = world.record().await;
    let other = keys::Keyring::parse(&format!("other:{}", "3f".repeat(32))).expect("a key");
    record.secrets = Some(other.seal("alice", "calendar", &SecretDocument::none()).expect("sealed"));
    let mut write = store::RecordWrite::of(&record);
    write.secrets = store::SecretsWrite::Set(record.secrets.expect("sealed"));
    store::AgentToolStore::write(&*world.store, &write).await.expect("written");
    let error = grant.token().await.expect_err("does not open");
    assert!(error.message().contains("sealed under key `other`"), "{error}");
}
