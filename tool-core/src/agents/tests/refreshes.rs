//! One refresh at a time, over all tasks and processes.

use crate::agents::store::AgentToolStore;
use crate::agents::tests::support::{World, exposed, within};
use crate::agents::tokens::Tokens;
use crate::tool::BoundSettings;
use crate::tool::configure::credentials::TokenSource;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn tasks_of_a_process_share_one_refresh() {
    let world = World::new(-10).await;
    let agents = world.agents();
    // Each task has its own grant, as sessions of different ages do.
    let mut tasks = Vec::new();
    for _ in 0..64 {
        let grant = world.grant(&agents).await;
        tasks.push(tokio::spawn(async move { exposed(grant.token().await) }));
    }
    let mut tokens = HashSet::new();
    for task in tasks {
        tokens.insert(task.await.expect("sound"));
    }
    assert_eq!(
        (tokens, world.refreshes()),
        (HashSet::from(["access-1".to_owned()]), 1)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_share_a_store_refresh_once() {
    let world = World::new(-10).await;
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let grant = world.grant(&world.agents()).await;
        tasks.push(tokio::spawn(async move { exposed(grant.token().await) }));
    }
    for task in tasks {
        assert_eq!(task.await.expect("sound"), "access-1");
    }
    assert_eq!(world.refreshes(), 1);
}

#[tokio::test]
async fn token_refreshed_by_another_process_is_read() {
    let world = World::new(-10).await;
    let here = world.grant(&world.agents()).await;
    let there = world.grant(&world.agents()).await;
    assert_eq!(exposed(there.token().await), "access-1");
    assert_eq!(exposed(here.token().await), "access-1");
    assert_eq!(world.refreshes(), 1);
}

#[tokio::test(start_paused = true)]
async fn lease_of_a_killed_process_expires() {
    let world = World::new(-10).await;
    let lasts = Duration::from_secs(2);
    assert!(
        world
            .store
            .lease("alice", "calendar", "killed", lasts)
            .await
            .expect("up")
    );
    let grant = world.grant(&world.agents()).await;
    assert_eq!(exposed(grant.token().await), "access-1");
}

#[tokio::test]
async fn new_grant_during_a_refresh_wins() {
    let world = World::new(-10).await;
    let agents = world.agents();
    let grant = world.grant(&agents).await;
    world.provider.held_back.store(true, Ordering::SeqCst);
    let token = tokio::spawn(async move { (exposed(grant.token().await), grant) });
    world.provider.asked.notified().await;
    let mut tokens = Tokens::new("granted");
    (tokens.refresh, tokens.expires_at) = (Some("of a person".into()), Some(within(3600)));
    agents
        .connect("alice", "calendar", tokens)
        .await
        .expect("connected");
    world.provider.let_go.notify_one();
    assert_eq!(token.await.expect("sound").0, "granted");
    assert_eq!(
        world.secret("refresh_token").await.as_deref(),
        Some("of a person")
    );
}

#[tokio::test]
async fn secrets_resealed_during_a_refresh_get_its_tokens() {
    let world = World::new(-10).await;
    let agents = world.agents();
    let grant = world.grant(&agents).await;
    world.provider.held_back.store(true, Ordering::SeqCst);
    let token = tokio::spawn(async move { exposed(grant.token().await) });
    world.provider.asked.notified().await;
    let before = world.record().await.secrets.expect("sealed");
    let anew = world
        .keys
        .seal(
            "alice",
            "calendar",
            &BoundSettings::none(),
            &world.secrets().await,
        )
        .expect("sealed");
    assert!(
        world
            .store
            .replace_secrets("alice", "calendar", &before, &anew)
            .await
            .expect("up")
    );
    world.provider.let_go.notify_one();
    assert_eq!(token.await.expect("sound"), "access-1");
    assert_eq!(
        world.secret("refresh_token").await.as_deref(),
        Some("refresh-1")
    );
}

#[tokio::test]
async fn dropped_caller_loses_no_refresh_token() {
    let world = World::new(-10).await;
    let grant = world.grant(&world.agents()).await;
    world.provider.held_back.store(true, Ordering::SeqCst);
    let caller = tokio::spawn({
        let grant = Arc::clone(&grant);
        async move { exposed(grant.token().await) }
    });
    world.provider.asked.notified().await;
    caller.abort();
    assert!(caller.await.expect_err("gone").is_cancelled());
    world.provider.held_back.store(false, Ordering::SeqCst);
    world.provider.let_go.notify_one();
    assert_eq!(exposed(grant.token().await), "access-1");
    assert_eq!(
        (
            world.refreshes(),
            world.secret("refresh_token").await.as_deref()
        ),
        (1, Some("refresh-1"))
    );
}
