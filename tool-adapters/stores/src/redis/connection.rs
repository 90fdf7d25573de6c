//! The connection to a Redis server, and the keys that its scripts use.

use crate::redis::scripts::{REVISE_SLOTS, SESSION_KEYS, STALE_SLOTS, ScriptArguments, StaleSlots};
use parking_lot::Mutex;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{
    Client, ErrorKind, FromRedisValue, Pipeline, RedisError, RedisResult, ScriptInvocation,
    TlsCertificates,
};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tool_core::serde::de::DeserializeOwned;
use tool_core::serde_json;
use tool_core::session::{SessionCall, StoreError};
use tool_core::time::whole_milliseconds;

/// Longest time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
/// Longest time for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// Number of slots that are looked at in one round trip.
const SWEEP_BATCH: usize = 500;

/// The connection of a store, which all its sessions share. It is renewed when it breaks.
pub(crate) struct Connection {
    client: Client,
    manager: Mutex<ConnectionManager>,
    /// Host and port, without the secrets in the URL.
    pub(crate) address: String,
}

impl Connection {
    /// Creates a connection that connects at its first use. Must be called within a tokio runtime.
    /// `ca` is a certificate in PEM that replaces those which the system trusts.
    pub(crate) fn lazy(url: &str, ca: Option<&[u8]>) -> Result<Self, StoreError> {
        // rustls panics if several providers are linked and the program has chosen none.
        if CryptoProvider::get_default().is_none() {
            // An error means that another thread has just chosen one.
            _ = aws_lc_rs::default_provider().install_default();
        }
        let client = match ca {
            None => Client::open(url),
            Some(ca)
                if CertificateDer::pem_slice_iter(ca)
                    .next()
                    .is_none_or(|certificate| certificate.is_err()) =>
            {
                return Err(StoreError::new(
                    "expected the certificate of a CA in PEM, and found none in the text",
                ));
            }
            Some(ca) => {
                let root_cert = Some(ca.to_vec());
                Client::build_with_tls(
                    url,
                    TlsCertificates {
                        client_tls: None,
                        root_cert,
                    },
                )
            }
        };
        // The parser's error may quote the URL with its password.
        let client = client.map_err(|error| {
            StoreError::new(format!(
                "invalid URL of a Redis server: {}",
                error.category()
            ))
        })?;
        let address = client.get_connection_info().addr().to_string();
        let manager = manager(&client).map_err(|error| describe(&address, &error))?;
        Ok(Self {
            client,
            manager: Mutex::new(manager),
            address,
        })
    }

    /// Runs a script.
    pub(crate) async fn script<T: FromRedisValue>(
        &self,
        call: &ScriptInvocation<'_>,
    ) -> Result<T, StoreError> {
        let mut manager = self.manager();
        call.invoke_async(&mut manager)
            .await
            .map_err(|error| self.failed(&error))
    }

    /// Runs commands.
    pub(crate) async fn pipeline<T: FromRedisValue>(
        &self,
        commands: &Pipeline,
    ) -> Result<T, StoreError> {
        let mut manager = self.manager();
        commands
            .query_async(&mut manager)
            .await
            .map_err(|error| self.failed(&error))
    }

    fn manager(&self) -> ConnectionManager {
        self.manager.lock().clone()
    }

    fn failed(&self, error: &RedisError) -> StoreError {
        // The manager keeps a failed login as its answer to all later commands, but a password may
        // be changed on the server.
        if error.kind() == ErrorKind::AuthenticationFailed
            && let Ok(fresh) = manager(&self.client)
        {
            *self.manager.lock() = fresh;
        }
        describe(&self.address, error)
    }
}

fn manager(client: &Client) -> RedisResult<ConnectionManager> {
    // No retries: while the server is down, each operation fails at once, and the next one connects
    // again.
    let config = ConnectionManagerConfig::new()
        .set_number_of_retries(0)
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(ANSWER_TIMEOUT));
    ConnectionManager::new_lazy_with_config(client.clone(), config)
}

/// Describes an error without its text, which may quote what was sent to the server.
fn describe(address: &str, error: &RedisError) -> StoreError {
    if let Some(problem) = tls_problem(error) {
        return StoreError::new(format!(
            "Redis at {address}: {problem}; check the certificate, its CA and the host's name"
        ));
    }
    let problem = match error {
        error if error.is_connection_refusal() => "connection refused",
        error if error.is_timeout() => "no answer in time",
        error => error.category(),
    };
    let code = error
        .code()
        .map_or_else(String::new, |code| format!(" ({code})"));
    StoreError::new(format!("Redis at {address}: {problem}{code}"))
}

/// Returns the text of an error of TLS, which speaks of certificates and protocol versions only.
fn tls_problem(error: &RedisError) -> Option<String> {
    let cause = error
        .source()?
        .downcast_ref::<Arc<dyn Error + Send + Sync>>()?;
    let cause = cause.downcast_ref::<io::Error>()?.get_ref()?;
    cause
        .downcast_ref::<rustls::Error>()
        .map(ToString::to_string)
}

/// The keys of a session in the order in which the scripts take them, and then that of the slots
/// and those of the amounts of the principal and of its calls that wait for approval. All keys of a store have one hash tag, so that a
/// script may use several of them in a cluster too, which keeps them on one server.
pub(crate) struct SessionKeys(pub(crate) [String; 13]);

impl SessionKeys {
    pub(crate) fn new(prefix: &str, id: &str, principal: &str) -> Self {
        let named = |name: &str| format!("{}:{}", hash_tag(prefix), part(name));
        let session = named(id);
        let [one, two, three, four, five, six, seven, eight, nine, ten] =
            SESSION_KEYS.map(|part| format!("{session}:{part}"));
        Self([
            one,
            two,
            three,
            four,
            five,
            six,
            seven,
            eight,
            nine,
            ten,
            slots_key(prefix),
            named(principal) + ":spent",
            asked_key(prefix, principal),
        ])
    }

    /// Reads the calls of the session that is or was open last under the id, or `only` those of one
    /// incarnation.
    pub(crate) async fn calls(
        &self,
        connection: &Connection,
        only: Option<&str>,
    ) -> Result<Vec<SessionCall>, StoreError> {
        let [.., calls, _, _, _] = &self.0;
        let (calls,): (Vec<String>,) = connection
            .pipeline(redis::pipe().lrange(calls, 0, -1))
            .await?;
        let calls = calls.iter().map(|kept| split_incarnation(kept));
        let own = calls.filter(|(incarnation, _)| only.is_none_or(|only| only == *incarnation));
        own.map(|(_, call)| from_json(call)).collect()
    }

    /// Returns the key of the calls that wait for approval.
    pub(crate) fn pending(&self) -> &str {
        let [_, _, _, _, pending, ..] = &self.0;
        pending
    }

    /// Returns the key that exists as long as the session.
    pub(crate) fn session(&self) -> &str {
        let [session, ..] = &self.0;
        session
    }
}

/// Returns the key of a principal's calls that wait for approval. A session of the principal's name
/// has no key of this last part.
pub(crate) fn asked_key(prefix: &str, principal: &str) -> String {
    format!("{}:{}:asked", hash_tag(prefix), part(principal))
}

/// Returns the beginning of all keys of a store.
pub(crate) fn hash_tag(prefix: &str) -> String {
    format!("{{{}}}", escaped(prefix))
}

/// Returns the key of the slots. It has a colon fewer than the keys of sessions.
fn slots_key(prefix: &str) -> String {
    format!("{}:slots", hash_tag(prefix))
}

/// Escapes braces, which would end the hash tag early. The percent sign is escaped too, so that no
/// two texts become equal.
fn escaped(text: &str) -> String {
    text.replace('%', "%25")
        .replace('{', "%7B")
        .replace('}', "%7D")
}

/// Escapes a text that is one part of a key.
pub(crate) fn part(text: &str) -> String {
    escaped(text).replace(':', "%3A")
}

/// Parses a value that the server holds. The error shows nothing of the text.
pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|_| StoreError::new("the server holds an invalid value"))
}

/// Parses a value that a process of another version may have written. One that cannot be read is
/// left out.
pub(crate) fn readable<T: DeserializeOwned>(text: &str, what: &str) -> Option<T> {
    let value = from_json(text);
    if let Err(error) = &value {
        tracing::warn!(%error, "{what} cannot be read; it is left out");
    }
    value.ok()
}

/// Returns a time in milliseconds that a server accepts: at least one, and at most a hundred years.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    const CENTURY: u64 = 100 * 365 * 24 * 60 * 60 * 1000;
    whole_milliseconds(time).clamp(1, CENTURY)
}

/// The slots of open sessions, of which there are as many as the policy allows.
///
/// A slot belongs to one session: its member is the session's incarnation and id. Its score is the
/// time at which the session expires if it is not used. The score is not updated at each use:
/// sessions whose time has come are looked at again before another session is refused.
pub(crate) struct SessionSlots {
    pub(crate) prefix: String,
    key: String,
}

impl SessionSlots {
    pub(crate) fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
            key: slots_key(prefix),
        }
    }

    /// Returns the number of slots that are taken.
    pub(crate) async fn taken(&self, connection: &Connection) -> Result<u64, StoreError> {
        self.sweep(connection).await?;
        let (taken,) = connection.pipeline(redis::pipe().zcard(&self.key)).await?;
        Ok(taken)
    }

    /// Frees the slots of sessions that are over, and updates those of others whose time has come.
    /// Returns true if there were any.
    pub(crate) async fn sweep(&self, connection: &Connection) -> Result<bool, StoreError> {
        let mut is_changed = false;
        loop {
            let mut query = STALE_SLOTS.key(&self.key);
            StaleSlots { limit: SWEEP_BATCH }.add_to(&mut query);
            let stale: Vec<String> = connection.script(&query).await?;
            if stale.is_empty() {
                return Ok(is_changed);
            }
            is_changed = true;
            let mut queries = redis::pipe();
            for member in &stale {
                let keys = SessionKeys::new(&self.prefix, split_incarnation(member).1, "");
                queries
                    .pttl(keys.session())
                    .hmget(keys.session(), &["incarnation", "ended"]);
            }
            let answers: Vec<redis::Value> = connection.pipeline(&queries).await?;
            let mut revision = REVISE_SLOTS.key(&self.key);
            for (member, answers) in stale.iter().zip(answers.chunks(2)) {
                revision
                    .arg(member)
                    .arg(remaining(split_incarnation(member).0, answers));
            }
            let () = connection.script(&revision).await?;
        }
    }
}

/// Returns the milliseconds until a session expires, or 0 if it is over.
fn remaining(incarnation: &str, answers: &[redis::Value]) -> i64 {
    let [remaining, fields] = answers else {
        return 0;
    };
    let fields = redis::from_redis_value_ref::<(Option<String>, Option<String>)>(fields);
    let is_live = matches!(fields, Ok((Some(found), None)) if found == incarnation);
    if is_live {
        redis::from_redis_value_ref(remaining).unwrap_or(0)
    } else {
        0
    }
}

/// Returns the member of a session's slot.
pub(crate) fn slot_member(incarnation: &str, id: &str) -> String {
    format!("{incarnation}{id}")
}

/// Splits a text into the incarnation, which has 32 hexadecimal digits, and what follows it.
pub(crate) fn split_incarnation(text: &str) -> (&str, &str) {
    text.split_at_checked(32).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::{SessionKeys, slots_key};

    #[test]
    fn keys_of_a_session_have_one_hash_tag() {
        for id in ["a", "", "}", "a}b{c", "{x}", "a:b", "\u{0}"] {
            let keys = SessionKeys::new("app:prod", id, id);
            let tags = keys
                .0
                .iter()
                .map(|key| key.split('}').next())
                .collect::<Vec<_>>();
            assert!(
                tags.iter()
                    .all(|tag| *tag == tags[0] && tag.is_some_and(|tag| tag.len() > 1)),
                "{tags:?}"
            );
        }
    }

    #[test]
    fn no_two_sessions_have_the_same_key() {
        let pairs = [
            ("a", "b:c"),
            ("a:b", "c"),
            ("a", "b%3Ac"),
            ("a", "b}"),
            ("a", "b%7D"),
            ("a}", "b"),
            ("", "a:b"),
        ];
        let mut keys = pairs
            .map(|(prefix, id)| SessionKeys::new(prefix, id, "").session().to_owned())
            .to_vec();
        keys.extend(["a", "a:b", "a}", ""].map(slots_key));
        keys.sort();
        let all = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), all);
    }
}
