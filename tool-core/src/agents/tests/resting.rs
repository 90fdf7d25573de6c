//! Failed refreshes rest, and refused tokens are replaced once.

use crate::agents::rests::RefreshState;
use crate::agents::store::AgentToolStore;
use crate::agents::tests::support::{Does, World, exposed, within};
use crate::agents::tokens::{RefreshError, Tokens};
use crate::call::error::ErrorKind;
use crate::tool::configure::credentials::TokenSource;
use crate::tool::{BoundSettings, Secret, SecretDocument};
use serde_json::json;
use std::time::Duration;
use tokio::time::advance;

const CALLS: usize = 1_000;

impl World {
    /// Changes the secrets in the record.
    async fn change(&self, change: impl FnOnce(&SecretDocument) -> Option<SecretDocument>) {
        let before = self.record().await.secrets.expect("sealed");
        let secrets = change(&self.secrets().await).expect("an object");
        let after = self
            .keys
            .seal("alice", "calendar", &BoundSettings::none(), &secrets)
            .expect("sealed");
        assert!(
            self.store
                .replace_secrets("alice", "calendar", &before, &after)
                .await
                .expect("up")
        );
    }
}

fn busy(seconds: u64) -> Does {
    Does::Fail(RefreshError::Busy {
        reason: "status 429".into(),
        retry_after: Duration::from_secs(seconds),
    })
}

fn transient() -> Does {
    Does::Fail(RefreshError::Transient("the provider sleeps".into()))
}

#[tokio::test]
async fn revoked_token_is_asked_for_once_by_all_processes() {
    let world = World::new(-1).await;
    world.does(Does::Fail(RefreshError::Revoked("invalid_grant".into())));
    for _ in 0..CALLS / 20 {
        // Each as another process, which knows nothing.
        let grant = world.grant(&world.agents()).await;
        for _ in 0..20 {
            let error = grant.token().await.expect_err("revoked");
            assert_eq!(error.kind(), ErrorKind::Auth);
            assert!(
                error
                    .message()
                    .contains("connected to `test` again by a person"),
                "{error}"
            );
        }
    }
    assert_eq!(world.refreshes(), 1);
    // The same tokens, entered again by a person, are asked for again.
    let mut tokens = Tokens::new("granted");
    (tokens.refresh, tokens.expires_at) = (Some("refresh-0".into()), Some(within(-1)));
    world
        .agents()
        .connect("alice", "calendar", tokens)
        .await
        .expect("connected");
    world.does(Does::Refresh);
    assert_eq!(
        exposed(world.grant(&world.agents()).await.token().await),
        "access-2"
    );
}

#[tokio::test(start_paused = true)]
async fn provider_is_not_asked_before_its_retry_after() {
    let world = World::new(-1).await;
    world.does(busy(1_800));
    let agents = world.agents();
    let grant = world.grant(&agents).await;
    let other = world.grant(&world.agents()).await;
    for _ in 0..CALLS / 2 {
        for grant in [&grant, &other] {
            assert_eq!(
                grant.token().await.expect_err("busy").kind(),
                ErrorKind::Transient
            );
        }
    }
    assert_eq!(world.refreshes(), 1);
    advance(Duration::from_secs(1_799)).await;
    assert!(grant.token().await.is_err());
    assert_eq!(world.refreshes(), 1);
    advance(Duration::from_secs(2)).await;
    world.does(Does::Refresh);
    assert_eq!(
        (exposed(grant.token().await), world.refreshes()),
        ("access-2".to_owned(), 2)
    );
    assert_eq!(
        RefreshState::of(&world.secrets().await),
        RefreshState::default()
    );
}

#[tokio::test]
async fn another_process_asks_when_the_rest_has_ended() {
    let world = World::new(-1).await;
    world.does(busy(1_800));
    assert!(world.grant(&world.agents()).await.token().await.is_err());
    let other = world.grant(&world.agents()).await;
    assert!(other.token().await.is_err());
    assert_eq!(world.refreshes(), 1);
    // The clock of the other process has reached the end.
    let end = |secrets: &SecretDocument| {
        let mut state = RefreshState::of(secrets);
        state.failed.as_mut()?.until = Some(within(-1));
        state.put_into(secrets)
    };
    world.change(end).await;
    world.does(Does::Refresh);
    assert_eq!(
        (exposed(other.token().await), world.refreshes()),
        ("access-2".to_owned(), 2)
    );
}

#[tokio::test(start_paused = true)]
async fn pauses_between_failed_refreshes_double() {
    let world = World::new(-1).await;
    world.does(transient());
    let grant = world.grant(&world.agents()).await;
    let mut asked = Vec::new();
    for second in 0..64 {
        let before = world.refreshes();
        assert!(grant.token().await.is_err());
        if world.refreshes() > before {
            asked.push(second);
        }
        advance(Duration::from_secs(1)).await;
    }
    assert_eq!(asked, [0, 1, 3, 7, 15, 31, 63]);
}

#[tokio::test(start_paused = true)]
async fn wrong_setup_rests_in_its_own_process_only() {
    let world = World::new(-1).await;
    world.does(Does::Fail(RefreshError::Refused("invalid_client".into())));
    let grant = world.grant(&world.agents()).await;
    for _ in 0..CALLS {
        assert_eq!(
            grant.token().await.expect_err("refused").kind(),
            ErrorKind::Auth
        );
    }
    assert_eq!(world.refreshes(), 1);
    world.does(Does::Refresh);
    assert_eq!(
        exposed(world.grant(&world.agents()).await.token().await),
        "access-2"
    );
}

#[tokio::test(start_paused = true)]
async fn failure_that_is_not_stored_rests_too() {
    let world = World::new(-1).await;
    world.does(busy(60));
    world
        .store
        .writes_down
        .store(true, std::sync::atomic::Ordering::SeqCst);
    let grant = world.grant(&world.agents()).await;
    for _ in 0..CALLS {
        assert!(grant.token().await.is_err());
    }
    assert_eq!(world.refreshes(), 1);
}

#[tokio::test]
async fn refused_token_is_replaced_once_by_all_processes() {
    let world = World::new(3_600).await;
    let mut grants = Vec::new();
    for _ in 0..8 {
        grants.push(world.grant(&world.agents()).await);
    }
    let refused = Secret::from("access-0");
    for grant in &grants {
        assert_eq!(exposed(grant.token().await), "access-0");
        assert_eq!(exposed(grant.rejected(&refused).await), "access-1");
        assert_eq!(exposed(grant.token().await), "access-1");
    }
    assert_eq!(world.refreshes(), 1);
    // The service refuses the new token as well, in every process.
    for round in 0..CALLS {
        let grant = &grants[round % grants.len()];
        let error = grant
            .rejected(&"access-1".into())
            .await
            .expect_err("in a loop");
        assert_eq!(error.kind(), ErrorKind::Auth);
        assert!(
            error
                .message()
                .contains("refuses the tokens that `test` issues"),
            "{error}"
        );
    }
    assert_eq!(world.refreshes(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_tokens_of_many_tasks_are_replaced_once() {
    let world = World::new(3_600).await;
    let agents = [world.agents(), world.agents()];
    let mut tasks = Vec::new();
    for n in 0..64 {
        let grant = world.grant(&agents[n % 2]).await;
        tasks.push(tokio::spawn(async move {
            exposed(grant.rejected(&"access-0".into()).await)
        }));
    }
    for task in tasks {
        assert_eq!(task.await.expect("sound"), "access-1");
    }
    assert_eq!(world.refreshes(), 1);
}

#[tokio::test]
async fn refused_token_is_replaced_again_after_it_was_refreshed() {
    let world = World::new(3_600).await;
    let grant = world.grant(&world.agents()).await;
    assert_eq!(
        exposed(grant.rejected(&"access-0".into()).await),
        "access-1"
    );
    // The token expires, and is refreshed as usual.
    let expire = |secrets: &SecretDocument| {
        let state = RefreshState::of(secrets);
        assert!(state.replaces_refused);
        let tokens = Tokens {
            expires_at: Some(within(-1)),
            ..Tokens::of(secrets)?
        };
        state.put_into(&tokens.put_into(secrets)?)
    };
    world.change(expire).await;
    let grant = world.grant(&world.agents()).await;
    assert_eq!(exposed(grant.token().await), "access-2");
    assert_eq!(
        exposed(grant.rejected(&"access-2".into()).await),
        "access-3"
    );
}

#[tokio::test]
async fn refused_token_without_refresh_token_needs_a_person() {
    let world =
        World::with(json!({"access_token": "a", "expires_at": within(600).to_string()})).await;
    let grant = world.grant(&world.agents()).await;
    let error = grant.rejected(&"a".into()).await.expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Auth);
    assert!(
        error
            .message()
            .ends_with("its token was refused by the service, and there is no refresh token"),
        "{error}"
    );
}

#[tokio::test]
async fn unreadable_expiry_is_refreshed() {
    let mut refreshed = 0;
    for n in 0..CALLS {
        let expires_at = match n % 5 {
            0 => json!(format!("soon {n}")),
            1 => json!({"at": n}),
            2 => json!([n]),
            3 => json!(i64::MAX - i64::try_from(n).expect("small")),
            _ => json!(format!("2026-13-{n}T00:00:00Z")),
        };
        let world = World::with(
            json!({"access_token": "a", "refresh_token": "r", "expires_at": expires_at}),
        )
        .await;
        refreshed +=
            usize::from(exposed(world.grant(&world.agents()).await.token().await) == "access-1");
    }
    assert_eq!(refreshed, CALLS);
    // Without a refresh token, the token is used until the service refuses it.
    let world = World::with(json!({"access_token": "a", "expires_at": "soon"})).await;
    assert_eq!(
        exposed(world.grant(&world.agents()).await.token().await),
        "a"
    );
}
