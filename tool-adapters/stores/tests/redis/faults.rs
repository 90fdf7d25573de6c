//! A server that is not there, breaks off, or does not know the password.

use crate::conformance::Redis;
use crate::relay::Relay;
use crate::server;
use tokio::net::TcpListener;
use tool_adapters::stores::RedisStore;
use tool_core::Mode;
use tool_core::session::SessionStore;
use tool_core::testing::store::StoreUnderTest;
use tool_core::testing::store::driver::{TestCall, open, opening};

const CANARY: &str = "c4n4ry";

/// The store's error at a URL, which shows no password in any form.
async fn error(url: &str) -> String {
    let connected = server::answered(RedisStore::connect(url)).await;
    let Err(error) = connected else {
        panic!("a store connects to {url}")
    };
    for text in [
        error.to_string(),
        format!("{error:?}"),
        format!("{error:#?}"),
    ] {
        assert!(!text.contains(CANARY), "{text}");
    }
    error.to_string()
}

#[tokio::test]
async fn a_server_that_is_down_fails_at_once() {
    let port = TcpListener::bind("127.0.0.1:0")
        .await
        .and_then(|free| free.local_addr())
        .expect("a free port")
        .port();
    let error = error(&format!("redis://user:{CANARY}@127.0.0.1:{port}/0")).await;
    assert_eq!(
        error,
        format!("session store failed: Redis at 127.0.0.1:{port}: connection refused")
    );
}

#[tokio::test]
async fn a_server_that_says_nothing_is_not_waited_for() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = silent.local_addr().expect("a port");
    let error = error(&format!("redis://:{CANARY}@{address}")).await;
    assert_eq!(
        error,
        format!("session store failed: Redis at {address}: no answer in time")
    );
}

#[tokio::test]
async fn a_url_that_does_not_parse_is_not_quoted() {
    for url in [
        format!("redis://:{CANARY}@host:port"),
        format!("redis//:{CANARY}"),
        format!("rediss://:{CANARY}@127.0.0.1:1"),
        format!("redis://127.0.0.1/{CANARY}"),
        format!("redis://127.0.0.1?protocol={CANARY}"),
        CANARY.to_owned(),
    ] {
        error(&url).await;
    }
}

#[tokio::test]
async fn a_store_shows_where_it_is_and_no_password() {
    let store = RedisStore::lazy(&format!("redis://:{CANARY}@127.0.0.1:1/0"))
        .expect("a URL")
        .prefix("app");
    assert_eq!(
        format!("{store:?}"),
        r#"RedisStore { address: "127.0.0.1:1", prefix: "app", .. }"#
    );
}

#[tokio::test]
async fn refused_password_is_hidden_and_works_once_accepted() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let (user, address) = (server::prefix(), redis.url.trim_start_matches("redis://"));
    let url = format!("redis://{user}:{CANARY}@{address}");
    assert!(error(&url).await.contains("authentication failed"));
    let store = RedisStore::lazy(&url).expect("a URL").prefix(&redis.prefix);
    for _ in 0..2 {
        let error = store
            .sessions()
            .await
            .expect_err("the user is unknown")
            .to_string();
        assert!(!error.contains(CANARY), "{error}");
    }
    let client = redis::Client::open(redis.url.as_str()).expect("a URL");
    let mut connection = client
        .get_multiplexed_async_connection()
        .await
        .expect("the server answers");
    let mut acl = async |words: &[&str]| {
        let () = redis::cmd("ACL")
            .arg(words)
            .query_async(&mut connection)
            .await
            .expect("the server knows ACL");
    };
    acl(&["SETUSER", &user, "on", &format!(">{CANARY}"), "~*", "+@all"]).await;
    // A store that was refused waits a little before it connects again.
    let mut known = store.sessions().await;
    for _ in 0..100 {
        if known.is_ok() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        known = store.sessions().await;
    }
    acl(&["DELUSER", &user]).await;
    assert_eq!(known, Ok(0));
}

#[tokio::test]
async fn a_connection_that_breaks_is_made_anew() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let relay = Relay::to(&redis.url).await;
    let store = Redis {
        url: relay.url.clone(),
        ..redis
    };
    let session = open(&store.handle().await, &opening("session", Mode::Text))
        .await
        .expect("the session opens");
    let call = TestCall::within(|limits| limits.max_calls = Some(3));
    assert!(session.passes(&call).await);
    for _ in 0..2 {
        relay.cut();
        // The first request may still go into the broken connection.
        while session.try_refresh().await.is_err() {
            tokio::task::yield_now().await;
        }
        assert!(session.passes(&call).await, "nothing was lost");
    }
    assert!(!session.passes(&call).await);
}
