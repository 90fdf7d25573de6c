//! Conversations of the layout that had all keys of a store in one slot.

use crate::conformance::Redis;
use crate::server;
use sha2::{Digest, Sha256};
use tool_core::session::HistoryStore;
use tool_core::testing::history::driver::{append, key, listed, load, said, said_each};
use tool_core::testing::store::StoreUnderTest;

/// Gives the conversations of the store the keys that they had in the earlier layout.
async fn rename_to_earlier(redis: &Redis, ids: &[&str]) {
    let principal = key("any").principal().to_owned();
    let mut query = redis::cmd("KEYS");
    query.arg(format!("{}{{conversations:*}}:all", redis.prefix));
    let mut found: Vec<String> = Vec::new();
    for node in nodes(redis) {
        found.extend(server::run::<Vec<String>>(&node, &query).await);
    }
    let base = found.first().expect("a list").trim_end_matches(":all");
    let earlier = format!("{{{}}}", redis.prefix);
    let mut lists = vec![(format!("{base}:all"), format!("{earlier}:conversations"))];
    lists.push((
        format!("{base}:{principal}:conversations"),
        format!("{earlier}:{principal}:conversations"),
    ));
    for id in ids {
        for part in ["conversation", "messages"] {
            let name = format!("{principal}:{id}:{part}");
            lists.push((format!("{base}:{name}"), format!("{earlier}:{name}")));
        }
    }
    for (from, to) in lists {
        let mut dump = redis::cmd("DUMP");
        dump.arg(&from);
        let value: Vec<u8> = server::run(&redis.url, &dump).await;
        let mut restore = redis::cmd("RESTORE");
        restore.arg(to).arg(0).arg(value);
        server::run::<()>(&redis.url, &restore).await;
        let mut removal = redis::cmd("DEL");
        removal.arg(from);
        server::run::<()>(&redis.url, &removal).await;
    }
}

/// Returns the URLs of all servers of the store.
fn nodes(redis: &Redis) -> Vec<String> {
    if redis.url.contains("+cluster") {
        server::nodes(&redis.url)
    } else {
        vec![redis.url.clone()]
    }
}

async fn earlier_conversations_are_found(redis: Redis) {
    let before = redis.handle().await;
    append(&before, &key("a"), 0, &said_each(0..3)).await;
    append(&before, &key("b:c"), 0, &[said(7)]).await;
    let names = listed(&before, key("a").principal()).await;
    rename_to_earlier(&redis, &["a", "b%3Ac"]).await;

    let store = redis.handle().await;
    let other = redis.handle().await;
    assert_eq!(listed(&store, key("a").principal()).await, names);
    assert_eq!(load(&other, &key("a")).await.messages, said_each(0..3));
    append(&store, &key("a"), 3, &[said(3)]).await;
    assert_eq!(store.delete_unused(u64::MAX).await, Ok(2));
    let mut left = redis::cmd("EXISTS");
    left.arg(format!("{{{}}}:conversations", redis.prefix));
    assert!(!server::run::<bool>(&redis.url, &left).await);
}

/// Another process may be ahead with the move, and a message may have come since.
#[tokio::test]
async fn a_move_replaces_nothing_that_is_newer() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let before = redis.handle().await;
    append(&before, &key("a"), 0, &said_each(0..2)).await;
    append(&before, &key("b"), 0, &[said(7)]).await;
    rename_to_earlier(&redis, &["a", "b"]).await;

    // What the other one has done: all but the hash, which it has read.
    let principal = key("a").principal().to_owned();
    let bucket = Sha256::digest(&principal)[0];
    let base = format!("{}{{conversations:{bucket}}}", redis.prefix);
    let mut newer = redis::cmd("RPUSH");
    newer.arg(format!("{base}:{principal}:a:messages"));
    newer.arg(&["newer", "newer", "newer"]);
    server::run::<()>(&redis.url, &newer).await;
    let list = format!("{base}:{principal}:conversations");
    let mut entry = redis::cmd("ZADD");
    entry.arg(&list).arg(9_000_000_000_000_u64).arg("a");
    server::run::<()>(&redis.url, &entry).await;

    let store = redis.handle().await;
    assert_eq!(listed(&store, &principal).await, ["a", "b"]);
    let mut length = redis::cmd("LLEN");
    length.arg(format!("{base}:{principal}:a:messages"));
    assert_eq!(server::run::<u64>(&redis.url, &length).await, 3);
    let mut ranked = redis::cmd("ZSCORE");
    ranked.arg(&list).arg("a");
    let used_at = server::run::<u64>(&redis.url, &ranked).await;
    assert_eq!(used_at, 9_000_000_000_000);
}

#[tokio::test]
async fn conversations_of_the_earlier_layout_are_moved() {
    if let Some(redis) = Redis::on_server() {
        earlier_conversations_are_found(redis).await;
    }
}

#[tokio::test]
async fn conversations_of_the_earlier_layout_move_in_a_cluster() {
    if let Some(redis) = Redis::on_cluster() {
        earlier_conversations_are_found(redis).await;
    }
}
