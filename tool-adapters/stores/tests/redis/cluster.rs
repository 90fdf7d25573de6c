//! What a cluster adds: keys on all nodes, scripts on each node, and a process that dies between
//! two nodes.

use crate::conformance::Redis;
use crate::secure::RIGHTS;
use crate::server;
use std::time::Duration;
use tool_adapters::stores::RedisStore;
use tool_core::Mode;
use tool_core::session::SessionStore;
use tool_core::testing::store::StoreUnderTest;
use tool_core::testing::store::driver::{HOUR, TestCall, approvals_of, open, opening, waiting};

/// Returns the number of keys of the store on each node, replicas too.
async fn keys_of_nodes(redis: &Redis) -> Vec<usize> {
    let mut counts = Vec::new();
    for node in server::nodes(&redis.url) {
        let mut query = redis::cmd("KEYS");
        query.arg(format!("{}{{session:*}}:session", redis.prefix));
        let keys: Vec<String> = server::run(&node, &query).await;
        counts.push(keys.len());
    }
    counts
}

#[tokio::test]
async fn sessions_of_one_principal_spread_over_all_nodes() {
    let Some(redis) = Redis::on_cluster() else {
        return;
    };
    let store = redis.handle().await;
    for number in 0..60 {
        let opened = open(&store, &opening(&format!("s{number}"), Mode::Text)).await;
        opened.expect("the session opens");
    }
    assert_eq!(store.sessions().await, Ok(60));
    // Replicas get their copies a moment later.
    let mut counts = keys_of_nodes(&redis).await;
    for _ in 0..100 {
        if counts.iter().sum::<usize>() == 120 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        counts = keys_of_nodes(&redis).await;
    }
    assert_eq!(counts.iter().sum::<usize>(), 120, "{counts:?}");
    assert!(counts.iter().all(|count| *count >= 6), "{counts:?}");
}

#[tokio::test]
async fn each_node_that_forgets_its_scripts_gets_them_again() {
    let Some(redis) = Redis::on_cluster() else {
        return;
    };
    let store = redis.handle().await;
    let call = TestCall::within(|limits| limits.max_calls = Some(2));
    for number in 0..12 {
        let opened = open(&store, &opening(&format!("s{number}"), Mode::Text)).await;
        let session = opened.expect("the session opens");
        assert_eq!(session.pass(1, &call).await, 1);
        for node in server::nodes(&redis.url) {
            let mut flush = redis::cmd("SCRIPT");
            flush.arg("FLUSH");
            server::run::<()>(&node, &flush).await;
        }
        assert_eq!(session.pass(2, &call).await, 1);
    }
}

#[tokio::test]
async fn user_with_the_documented_rights_can_do_everything() {
    let Some(redis) = Redis::on_cluster() else {
        return;
    };
    let user = server::prefix();
    for node in server::nodes(&redis.url) {
        let mut rights = redis::cmd("ACL");
        rights.arg("SETUSER").arg(&user).arg("on").arg(">secret");
        rights.arg("resetkeys").arg(format!("~{}{{*", redis.prefix));
        for right in RIGHTS.split_whitespace() {
            rights.arg(right);
        }
        server::run::<()>(&node, &rights).await;
    }
    let url = redis.url.replace("://", &format!("://{user}:secret@"));
    let store = RedisStore::builder(&url)
        .prefix(&redis.prefix)
        .replicas(1, Duration::from_secs(1))
        .connect()
        .await
        .expect("it connects");
    let opened = open(&store, &opening("session", Mode::Voice)).await;
    let session = opened.expect("the session opens");
    assert!(session.passes(&TestCall::default()).await);
    session.mint(&waiting(1), HOUR).await;
    assert_eq!(approvals_of(&store, "someone", 2).await, [waiting(1)]);
    session.end().await;
    assert_eq!(store.sessions().await, Ok(0));
}

/// A process has died after it had taken the place of a session, and before it opened the session.
#[tokio::test]
async fn place_of_a_session_that_never_opened_is_free_again() {
    let Some(redis) = Redis::on_cluster() else {
        return;
    };
    let mut place = redis::cmd("ZADD");
    let member = format!("{:032x}lost", 7);
    place.arg(format!("{}{{sessions}}:slots", redis.prefix));
    // As it is when its time has come.
    place.arg(1).arg(member);
    server::run::<()>(&redis.url, &place).await;
    let mut request = opening("session", Mode::Text);
    request.max_sessions = 1;
    let store = redis.handle().await;
    open(&store, &request).await.expect("there is a place");
    assert_eq!(store.sessions().await, Ok(1));
}

/// A process has died after it had listed a call, and before the session kept it.
#[tokio::test]
async fn listed_call_that_no_session_keeps_is_not_shown() {
    let Some(redis) = Redis::on_cluster() else {
        return;
    };
    let store = redis.handle().await;
    let opened = open(&store, &opening("session", Mode::Text)).await;
    let session = opened.expect("the session opens");
    session.mint(&waiting(1), HOUR).await;
    let list = format!("{}{{principal:someone}}:asked", redis.prefix);
    let mut entry = redis::cmd("ZADD");
    let member = format!("{:032x}{:032x}session", 9, session.incarnation());
    entry.arg(&list).arg(9_000_000_000_000_u64).arg(member);
    server::run::<()>(&redis.url, &entry).await;

    assert_eq!(approvals_of(&store, "someone", 10).await, [waiting(1)]);
    session.end().await;
    assert_eq!(approvals_of(&store, "someone", 10).await, []);
    let mut count = redis::cmd("ZCARD");
    count.arg(&list);
    let left: u64 = server::run(&redis.url, &count).await;
    assert_eq!(left, 0, "the entries of a session that is over are removed");
}
