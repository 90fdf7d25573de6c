//! New tokens reach the store: while it is down, while others refresh, and when the program ends.

use crate::agents::store::AgentToolStore;
use crate::agents::tests::support::{World, exposed};
use crate::call::error::ErrorKind;
use crate::tool::configure::credentials::TokenSource;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn tokens_are_used_while_the_store_is_down_and_saved_later() {
    let world = World::new(-1).await;
    world.store.writes_down.store(true, Ordering::SeqCst);
    let agents = world.agents();
    let grant = world.grant(&agents).await;
    let other = world.grant(&agents).await;
    assert_eq!(exposed(grant.token().await), "access-1");
    assert_eq!(
        world.secret("access_token").await.as_deref(),
        Some("access-0")
    );
    // Another grant of this process does not use the old refresh token again.
    assert_eq!(
        (exposed(other.token().await), world.refreshes()),
        ("access-1".to_owned(), 1)
    );
    world.store.writes_down.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(
        world.secret("refresh_token").await.as_deref(),
        Some("refresh-1")
    );
}

#[tokio::test(start_paused = true)]
async fn tokens_are_saved_soon_after_a_long_outage() {
    let world = World::new(-1).await;
    world.store.writes_down.store(true, Ordering::SeqCst);
    exposed(world.grant(&world.agents()).await.token().await);
    tokio::time::sleep(Duration::from_secs(10 * 60)).await;
    world.store.writes_down.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(
        world.secret("refresh_token").await.as_deref(),
        Some("refresh-1")
    );
}

#[tokio::test(start_paused = true)]
async fn unsaved_refreshes_use_no_refresh_token_twice() {
    let world = World::new(-1).await;
    world.store.writes_down.store(true, Ordering::SeqCst);
    world.provider.gives_expired.store(true, Ordering::SeqCst);
    let agents = world.agents();
    for expected in ["access-1", "access-2", "access-3"] {
        let grant = world.grant(&agents).await;
        assert_eq!(exposed(grant.token().await), expected);
    }
    assert_eq!(
        world.secret("refresh_token").await.as_deref(),
        Some("refresh-0")
    );
    world.store.writes_down.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(
        world.secret("refresh_token").await.as_deref(),
        Some("refresh-3")
    );
}

#[tokio::test(start_paused = true)]
async fn lease_is_kept_while_the_record_holds_a_used_token() {
    let world = World::new(-1).await;
    world.store.writes_down.store(true, Ordering::SeqCst);
    exposed(world.grant(&world.agents()).await.token().await);
    for _ in 0..10 {
        let lasts = Duration::from_secs(1);
        assert!(
            !world
                .store
                .inner
                .lease("alice", "calendar", "another", lasts)
                .await
                .expect("up")
        );
        tokio::time::sleep(Duration::from_secs(20)).await;
    }
}

#[tokio::test]
async fn lost_lease_is_awaited_before_asking_the_provider() {
    let world = World::new(-1).await;
    world.store.lost_lease.store(2, Ordering::SeqCst);
    assert_eq!(
        exposed(world.grant(&world.agents()).await.token().await),
        "access-1"
    );
    assert_eq!(
        (world.store.leases.load(Ordering::SeqCst), world.refreshes()),
        (4, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn hanging_store_times_out() {
    let world = World::new(-1).await;
    let grant = world.grant(&world.agents()).await;
    world.store.reads_hang.store(true, Ordering::SeqCst);
    let error = grant.token().await.expect_err("expired");
    assert_eq!(
        (error.kind(), error.message()),
        (
            ErrorKind::Transient,
            "toolset `calendar` of agent `alice`: the agent store failed: no answer within 5s"
        )
    );
}

#[tokio::test]
async fn close_waits_for_a_running_refresh() {
    let world = World::new(-1).await;
    let agents = world.agents();
    let grant = world.grant(&agents).await;
    world.provider.held_back.store(true, Ordering::SeqCst);
    let caller = tokio::spawn(async move { grant.token().await });
    world.provider.asked.notified().await;
    caller.abort();
    world.provider.let_go.notify_one();
    agents.close().await;
    assert_eq!(
        world.secret("refresh_token").await.as_deref(),
        Some("refresh-1")
    );
}

#[tokio::test(start_paused = true)]
async fn close_waits_for_the_store_but_not_forever() {
    for comes_back in [true, false] {
        let world = World::new(-1).await;
        world.store.writes_down.store(true, Ordering::SeqCst);
        let agents = world.agents();
        exposed(world.grant(&agents).await.token().await);
        world.store.writes_down.store(!comes_back, Ordering::SeqCst);
        agents.close().await;
        let expected = if comes_back { "refresh-1" } else { "refresh-0" };
        assert_eq!(
            world.secret("refresh_token").await.as_deref(),
            Some(expected)
        );
    }
}
