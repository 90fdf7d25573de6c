//! The connection: one per store, shared by all sessions, made anew when it breaks.

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, ErrorKind, FromRedisValue, Pipeline, RedisError, RedisResult, ScriptInvocation};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tool_core::session::StoreError;

pub(super) struct Link {
    client: Client,
    manager: Mutex<ConnectionManager>,
    /// Host and port, without what is secret in the URL.
    address: String,
}

/// A server that does not take a connection within this time is down.
const CONNECT: Duration = Duration::from_millis(500);
/// One that does not answer within this time is, too.
const ANSWER: Duration = Duration::from_secs(2);

impl Link {
    /// A link that connects when it is first used. Needs a tokio runtime.
    pub(super) fn lazy(url: &str) -> Result<Self, StoreError> {
        // What the parser says of a URL may quote it, with the password in it.
        let client = Client::open(url).map_err(|error| {
            StoreError::new(format!("the URL of the Redis server does not serve: {}", error.category()))
        })?;
        let address = client.get_connection_info().addr().to_string();
        let manager = manager(&client).map_err(|error| describe(&address, &error))?;
        Ok(Self { client, manager: Mutex::new(manager), address })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    pub(super) async fn script<T: FromRedisValue>(&self, call: &ScriptInvocation<'_>) -> Result<T, StoreError> {
        let mut manager = self.manager();
        self.seen(call.invoke_async(&mut manager).await)
    }

    pub(super) async fn pipeline<T: FromRedisValue>(&self, commands: &Pipeline) -> Result<T, StoreError> {
        let mut manager = self.manager();
        self.seen(commands.query_async(&mut manager).await)
    }

    fn manager(&self) -> ConnectionManager {
        self.manager.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn seen<T>(&self, result: RedisResult<T>) -> Result<T, StoreError> {
        result.map_err(|error| {
            // The manager remembers a login that failed as its answer for ever; passwords are changed on servers too.
            if error.kind() == ErrorKind::AuthenticationFailed
                && let Ok(fresh) = manager(&self.client)
            {
                *self.manager.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
            }
            describe(&self.address, &error)
        })
    }
}

fn manager(client: &Client) -> RedisResult<ConnectionManager> {
    // No retries: whoever asks while the server is down is told so at once, and the next to ask tries again.
    let config = ConnectionManagerConfig::new()
        .set_number_of_retries(0)
        .set_connection_timeout(Some(CONNECT))
        .set_response_timeout(Some(ANSWER));
    ConnectionManager::new_lazy_with_config(client.clone(), config)
}

/// What went wrong, in words of ours: a server's own may quote what it was sent.
fn describe(address: &str, error: &RedisError) -> StoreError {
    let what = match error {
        error if error.is_connection_refusal() => "it refuses connections",
        error if error.is_timeout() => "it does not answer in time",
        error => error.category(),
    };
    match error.code() {
        Some(code) => StoreError::new(format!("Redis at {address}: {what} ({code})")),
        None => StoreError::new(format!("Redis at {address}: {what}")),
    }
}
