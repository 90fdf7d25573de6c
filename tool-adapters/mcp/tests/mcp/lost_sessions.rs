//! Sessions that the server's own store has lost: a Redis that was emptied, or started again without its data.

use super::http::{EventReader, HttpClient, serve};
use super::redis_server;
use super::support::{LineClient, tools};
use redis::AsyncCommands;
use reqwest::StatusCode;
use serde_json::{Value, json};
use std::time::Duration;
use tool_adapters::mcp::{McpClient, Server};
use tool_adapters::stores::RedisStore;
use tool_core::{RunContext, Runtime, ToolContext};

/// A store on the server that `REDIS_URL` names.
struct Redis {
    url: String,
    prefix: String,
}

impl Redis {
    /// Skips the test without a server.
    fn of_test() -> Option<Self> {
        redis_server::url().map(|url| Self {
            url,
            prefix: redis_server::prefix(),
        })
    }

    /// Returns a server whose sessions are in this store. A pause of this length begins a turn.
    async fn server(&self, turn_after: Duration) -> Server {
        let store = RedisStore::connect(&self.url)
            .await
            .expect("the server answers")
            .prefix(&self.prefix);
        let runtime = Runtime::builder(tools())
            .policy(Server::policy())
            .store(store)
            .build()
            .expect("a runtime");
        Server::new(runtime).turn_after(turn_after)
    }

    /// Forgets all sessions of the store.
    async fn forget(&self) {
        let client = redis::Client::open(self.url.as_str()).expect("a URL");
        let mut connection = client
            .get_multiplexed_async_connection()
            .await
            .expect("the server answers");
        let keys: Vec<String> = connection
            .keys(format!("*{}*", self.prefix))
            .await
            .expect("the keys");
        assert!(!keys.is_empty(), "there is something to lose");
        let _: () = connection.del(keys).await.expect("they are deleted");
    }
}

/// Returns a call of `add`.
fn add(id: u64) -> Value {
    let params = json!({"name": "add", "arguments": {"a": 1, "b": 2}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn sum(answer: &Value) -> &Value {
    &answer["result"]["content"][0]["text"]
}

/// The next call may be in the turn of the last one, or begin another.
const TURNS: [Duration; 2] = [Duration::from_secs(3_600), Duration::ZERO];

// C22
#[tokio::test]
async fn a_lost_session_is_opened_again_over_lines() {
    for turn_after in TURNS {
        let Some(redis) = Redis::of_test() else {
            return;
        };
        let mut client = LineClient::initialized(&redis.server(turn_after).await, json!({})).await;
        for _ in 0..3 {
            let answer = client.call("add", json!({"a": 1, "b": 2})).await;
            assert_eq!(sum(&answer), "3", "{turn_after:?}: {answer}");
            redis.forget().await;
        }
    }
}

// C22
#[tokio::test]
async fn all_calls_at_once_survive_a_loss() {
    for turn_after in TURNS {
        let Some(redis) = Redis::of_test() else {
            return;
        };
        let mut client = LineClient::initialized(&redis.server(turn_after).await, json!({})).await;
        client.call("add", json!({"a": 1, "b": 2})).await;
        redis.forget().await;

        for id in 100..108 {
            client.send(&add(id)).await;
        }
        for _ in 100..108 {
            let answer = client.receive().await;
            assert_eq!(sum(&answer), "3", "{turn_after:?}: {answer}");
        }
    }
}

// C22
#[tokio::test]
async fn a_lost_session_is_unknown_over_http() {
    for turn_after in TURNS {
        let Some(redis) = Redis::of_test() else {
            return;
        };
        let url = serve(&redis.server(turn_after).await).await;
        let client = HttpClient::new(&url)
            .initialize(&json!({}))
            .await
            .expect("a session");
        let answer = client.post(&add(1)).await;
        assert_eq!(answer.status(), StatusCode::OK);
        // A call that still runs would open the session again.
        answer.text().await.expect("the whole answer");
        redis.forget().await;
        let answer = client.post(&add(1)).await;
        assert_eq!(
            answer.status(),
            StatusCode::NOT_FOUND,
            "{turn_after:?}: {:?}",
            answer.text().await
        );
    }
}

// C22
#[tokio::test]
async fn a_client_without_a_session_goes_on_after_a_loss() {
    for turn_after in TURNS {
        let Some(redis) = Redis::of_test() else {
            return;
        };
        let url = serve(&redis.server(turn_after).await).await;
        let client = HttpClient::new(&url);
        for id in 1..4 {
            let answer = client
                .call_stateless(id, "add", &json!({"a": 1, "b": 2}), json!({}))
                .await;
            assert_eq!(sum(&answer), "3", "{turn_after:?}: {answer}");
            redis.forget().await;
        }
    }
}

// C22
#[tokio::test]
async fn no_call_of_our_client_is_lost_with_a_session() {
    for turn_after in TURNS {
        let Some(redis) = Redis::of_test() else {
            return;
        };
        let url = serve(&redis.server(turn_after).await).await;
        let imported = McpClient::url(&url).connect().await.expect("a connection");
        let tools = ToolContext::builder()
            .with(imported)
            .build()
            .expect("sound tools");
        for _ in 0..3 {
            let response = tools
                .call("add", r#"{"a": 1, "b": 2}"#, &RunContext::detached())
                .await;
            assert_eq!(response.into_text(), r#"{"result":3}"#, "{turn_after:?}");
            redis.forget().await;
        }
    }
}

// C22
#[tokio::test]
async fn each_call_of_a_batch_is_told_of_a_loss() {
    let Some(redis) = Redis::of_test() else {
        return;
    };
    let url = serve(&redis.server(TURNS[0]).await).await;
    let client = HttpClient::new(&url);
    let info = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": info});
    let opened = client
        .post(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}))
        .await;
    let session = opened.headers()["mcp-session-id"]
        .to_str()
        .expect("an id")
        .to_owned();
    let client = client
        .with("mcp-session-id", &session)
        .with("mcp-protocol-version", "2025-03-26");
    assert_eq!(client.post(&add(1)).await.status(), StatusCode::OK);
    redis.forget().await;

    let mut events = EventReader::new(client.post(&json!([add(2), add(3)])).await);
    for id in [2, 3] {
        let answer = events.next().await.expect("an answer to each");
        assert_eq!(answer["id"], id, "{answer}");
        assert!(
            answer["error"]["message"]
                .as_str()
                .is_some_and(|text| text.contains("no such session")),
            "{answer}"
        );
    }
}
