//! New tokens get into the store: while it is down, while others wait for the same grant, and as the program ends.

use crate::agents::store::AgentToolStore;
use crate::agents::tests::grant::support::{World, exposed};
use crate::call::error::ErrorKind;
use crate::tool::configure::access_token::TokenSource;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn tokens_that_the_store_does_not_take_are_used_and_stored_later() {
    let world = World::new(-1).await;
    world.store.writes_down.store(true, Ordering::SeqCst);
    let agents = world.agents();
    let (grant, other) = (world.grant(&agents).await, world.grant(&agents).await);
    assert_eq!(exposed(grant.token().await), "access-1");
    assert_eq!(world.secret("access_token").await.as_deref(), Some("access-0"));
    // Another grant of this process does not use the old refresh token up again.
    assert_eq!((exposed(other.token().await), world.refreshes()), ("access-1".to_owned(), 1));
    world.store.writes_down.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(world.secret("refresh_token").await.as_deref(), Some("refresh-1"));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_was_down_for_long_has_the_token_soon_after_it_is_back() {
    let world = World::new(-1).await;
    world.store.writes_down.store(true, Ordering::SeqCst);
    exposed(world.grant(&world.agents()).await.token().await);
    tokio::time::sleep(Duration::from_mins(10)).await;
    world.store.writes_down.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(world.secret("refresh_token").await.as_deref(), Some("refresh-1"));
}

#[tokio::test(start_paused = true)]
async fn refreshes_in_a_row_that_cannot_be_stored_use_no_refresh_token_twice() {
    let world = World::new(-1).await;
    world.store.writes_down.store(true, Ordering::SeqCst);
    world.provider.gives_expired.store(true, Ordering::SeqCst);
    let agents = world.agents();
    for expected in ["access-1", "access-2", "access-3"] {
        let grant = world.grant(&agents).await;
        assert_eq!(exposed(grant.token().await), expected);
    }
    assert_eq!(world.secret("refresh_token").await.as_deref(), Some("refresh-0"));
    world.store.writes_down.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(world.secret("refresh_token").await.as_deref(), Some("refresh-3"));
}

#[tokio::test(start_paused = true)]
async fn nobody_else_refreshes_while_the_store_still_has_a_token_that_is_used_up() {
    let world = World::new(-1).await;
    world.store.writes_down.store(true, Ordering::SeqCst);
    exposed(world.grant(&world.agents()).await.token().await);
    for _ in 0..10 {
        let lasts = Duration::from_secs(1);
        assert!(!world.store.inner.lease("alice", "calendar", "another", lasts).await.expect("up"));
        tokio::time::sleep(Duration::from_secs(20)).await;
    }
}

#[tokio::test]
async fn a_lease_that_went_to_another_meanwhile_is_waited_for_before_the_provider_is_asked() {
    let world = World::new(-1).await;
    world.store.lost_lease.store(2, Ordering::SeqCst);
    assert_eq!(exposed(world.grant(&world.agents()).await.token().await), "access-1");
    assert_eq!((world.store.leases.load(Ordering::SeqCst), world.refreshes()), (4, 1));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_is_waited_for_so_long_and_not_longer() {
    let world = World::new(-1).await;
    let grant = world.grant(&world.agents()).await;
    world.store.reads_hang.store(true, Ordering::SeqCst);
    let error = grant.token().await.expect_err("expired");
    assert_eq!((error.kind(), error.message()), (ErrorKind::Transient, "the store does not answer in time"));
}

#[tokio::test]
async fn closing_waits_for_a_refresh_that_is_under_way() {
    let world = World::new(-1).await;
    let agents = world.agents();
    let grant = world.grant(&agents).await;
    world.provider.held_back.store(true, Ordering::SeqCst);
    let caller = tokio::spawn(async move { grant.token().await });
    world.provider.asked.notified().await;
    caller.abort();
    world.provider.let_go.notify_one();
    agents.close().await;
    assert_eq!(world.secret("refresh_token").await.as_deref(), Some("refresh-1"));
}

#[tokio::test(start_paused = true)]
async fn closing_waits_for_a_store_that_comes_back_and_not_for_ever() {
    for comes_back in [true, false] {
        let world = World::new(-1).await;
        world.store.writes_down.store(true, Ordering::SeqCst);
        let agents = world.agents();
        exposed(world.grant(&agents).await.token().await);
        world.store.writes_down.store(!comes_back, Ordering::SeqCst);
        agents.close().await;
        let expected = if comes_back { "refresh-1" } else { "refresh-0" };
        assert_eq!(world.secret("refresh_token").await.as_deref(), Some(expected));
    }
}
