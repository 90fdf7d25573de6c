//! A provider, a store that fails when it is told to, and records with a grant.

use crate::agents::Agents;
use crate::agents::grant::{Grant, source};
use crate::agents::keys::{Keyring, SealedSecrets};
use crate::agents::memory::MemoryAgentToolStore;
use crate::agents::record::{AgentRecords, AgentSummary, AgentTools};
use crate::agents::store::{AgentStoreError, AgentToolStore, RecordWrite, SealedRow, SecretsWrite};
use crate::agents::tokens::{RefreshError, TokenRefresher, Tokens};
use crate::call::error;
use crate::schema::timestamp::Timestamp;
use crate::session::store::Operation;
use crate::tool::auth::OAuth2;
use crate::tool::configure::secret::{Secret, SecretDocument};
use serde_json::{Value, json};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// What the provider does next.
#[derive(Clone, Default)]
pub(crate) enum Does {
    #[default]
    Refresh,
    Fail(RefreshError),
    /// Fails with the refresh token in what it says.
    Leak,
    Panic,
    Hang,
}

/// Gives `access-1` and `refresh-1`, then `access-2` ..; each refresh token is good once.
#[derive(Default)]
pub(crate) struct Provider {
    pub(crate) refreshes: AtomicU32,
    pub(crate) does: Mutex<Does>,
    /// Holds every answer back until it is notified.
    pub(crate) held_back: AtomicBool,
    pub(crate) let_go: Notify,
    pub(crate) asked: Notify,
    used: Mutex<Vec<String>>,
    /// Its tokens have expired as they come.
    pub(crate) gives_expired: AtomicBool,
}

#[derive(Clone)]
pub(crate) struct Asked(pub(crate) Arc<Provider>);

impl TokenRefresher for Asked {
    fn refresh<'a>(
        &'a self,
        grant: &'a OAuth2,
        refresh: &'a Secret,
    ) -> Pin<Box<dyn Future<Output = Result<Tokens, RefreshError>> + Send + 'a>> {
        assert_eq!(grant.provider, "test");
        let provider = &self.0;
        let n = provider.refreshes.fetch_add(1, Ordering::SeqCst) + 1;
        let does = provider.does.lock().expect("sound").clone();
        assert!(!matches!(does, Does::Panic), "provoked with {}", refresh.expose());
        let again = || {
            let mut used = provider.used.lock().expect("sound");
            let again = used.iter().any(|used| used == refresh.expose());
            used.push(refresh.expose().to_owned());
            again
        };
        Box::pin(async move {
            provider.asked.notify_one();
            if provider.held_back.load(Ordering::SeqCst) {
                provider.let_go.notified().await;
            }
            match does {
                Does::Hang => std::future::pending().await,
                Does::Fail(error) => Err(error),
                Does::Leak => Err(RefreshError::Refused(format!("no client for {}", refresh.expose()))),
                Does::Refresh | Does::Panic if again() => Err(RefreshError::Revoked("used twice".into())),
                Does::Refresh | Does::Panic => {
                    let mut tokens = Tokens::new(format!("access-{n}"));
                    tokens.refresh = Some(format!("refresh-{n}").into());
                    let expired = provider.gives_expired.load(Ordering::SeqCst);
                    tokens.expires_at = Some(within(if expired { 0 } else { 3600 }));
                    Ok(tokens)
                }
            }
        })
    }
}

/// A store that can be taken down, and whose answers to `replace_secrets` can be lost.
#[derive(Default)]
pub(crate) struct Store {
    pub(crate) inner: MemoryAgentToolStore,
    pub(crate) down: AtomicBool,
    pub(crate) writes_down: AtomicBool,
    pub(crate) answers_lost: AtomicBool,
    pub(crate) reads_hang: AtomicBool,
    /// How often a lease was asked for.
    pub(crate) leases: AtomicU32,
    /// Which of these went to another process; none where it is 0.
    pub(crate) lost_lease: AtomicU32,
}

impl Store {
    fn up<'a, T: 'a>(
        &self,
        operation: impl FnOnce() -> Operation<'a, Result<T, AgentStoreError>>,
    ) -> Operation<'a, Result<T, AgentStoreError>> {
        if self.down.load(Ordering::SeqCst) {
            return Operation::Ready(Err(AgentStoreError::down("provoked")));
        }
        operation()
    }
}

impl AgentToolStore for Store {
    fn version<'a>(&'a self, agent: &'a str) -> Operation<'a, Result<u64, AgentStoreError>> {
        self.up(|| self.inner.version(agent))
    }
    fn load<'a>(&'a self, agent: &'a str) -> Operation<'a, Result<AgentRecords, AgentStoreError>> {
        self.up(|| self.inner.load(agent))
    }
    fn get<'a>(&'a self, agent: &'a str, tool: &'a str) -> Operation<'a, Result<Option<AgentTools>, AgentStoreError>> {
        if self.reads_hang.load(Ordering::SeqCst) {
            return Operation::later(std::future::pending());
        }
        self.up(|| self.inner.get(agent, tool))
    }
    fn write<'a>(&'a self, write: &'a RecordWrite) -> Operation<'a, Result<u64, AgentStoreError>> {
        self.up(|| self.inner.write(write))
    }
    fn remove<'a>(&'a self, agent: &'a str, tool: &'a str, version: u64) -> Operation<'a, Result<(), AgentStoreError>> {
        self.up(|| self.inner.remove(agent, tool, version))
    }
    fn agents<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: u32,
    ) -> Operation<'a, Result<Vec<AgentSummary>, AgentStoreError>> {
        self.up(|| self.inner.agents(after, limit))
    }
    fn sealed_under_others<'a>(
        &'a self,
        key: &'a str,
        after: Option<(&'a str, &'a str)>,
        limit: u32,
    ) -> Operation<'a, Result<Vec<SealedRow>, AgentStoreError>> {
        self.up(|| self.inner.sealed_under_others(key, after, limit))
    }
    fn replace_secrets<'a>(
        &'a self,
        agent: &'a str,
        tool: &'a str,
        from: &'a SealedSecrets,
        to: &'a SealedSecrets,
    ) -> Operation<'a, Result<bool, AgentStoreError>> {
        if self.writes_down.load(Ordering::SeqCst) {
            return Operation::Ready(Err(AgentStoreError::down("provoked")));
        }
        let done = self.up(|| self.inner.replace_secrets(agent, tool, from, to));
        if self.answers_lost.swap(false, Ordering::SeqCst) {
            return Operation::Ready(Err(AgentStoreError::down("provoked")));
        }
        done
    }
    fn lease<'a>(
        &'a self,
        agent: &'a str,
        tool: &'a str,
        holder: &'a str,
        lasts: Duration,
    ) -> Operation<'a, Result<bool, AgentStoreError>> {
        let n = self.leases.fetch_add(1, Ordering::SeqCst) + 1;
        if n == self.lost_lease.load(Ordering::SeqCst) {
            return Operation::Ready(Ok(false));
        }
        self.up(|| self.inner.lease(agent, tool, holder, lasts))
    }
    fn release<'a>(
        &'a self,
        agent: &'a str,
        tool: &'a str,
        holder: &'a str,
    ) -> Operation<'a, Result<(), AgentStoreError>> {
        self.up(|| self.inner.release(agent, tool, holder))
    }
}

/// A store with a record of `alice`'s calendar, a provider, and keys.
pub(crate) struct World {
    pub(crate) provider: Arc<Provider>,
    pub(crate) store: Arc<Store>,
    pub(crate) keys: Keyring,
}

impl World {
    /// The record's token expires in so many seconds.
    pub(crate) async fn new(expires_in: i64) -> Self {
        let secrets = json!({"access_token": "access-0", "refresh_token": "refresh-0", "own": "else",
            "expires_at": within(expires_in).to_string(), "scope": "read"});
        Self::with(secrets).await
    }

    pub(crate) async fn with(secrets: Value) -> Self {
        let keys = Keyring::parse(&format!("one:{}\ntwo:{}", "1f".repeat(32), "2f".repeat(32))).expect("keys");
        let world = Self { provider: Arc::default(), store: Arc::default(), keys };
        let mut write = RecordWrite::new("alice", "calendar", json!({}));
        let sealed = world.keys.seal("alice", "calendar", &SecretDocument::from_value(secrets)).expect("sealed");
        write.secrets = SecretsWrite::Set(sealed);
        world.store.write(&write).await.expect("written");
        world
    }

    /// Agents such as another process would have.
    pub(crate) fn agents(&self) -> Agents {
        let builder = Agents::builder(Arc::clone(&self.store)).keys(self.keys.clone());
        builder.oauth2(Asked(Arc::clone(&self.provider))).build().expect("sound")
    }

    pub(crate) async fn record(&self) -> AgentTools {
        self.store.inner.get("alice", "calendar").await.expect("up").expect("there")
    }

    /// The secrets in the record.
    pub(crate) async fn secrets(&self) -> SecretDocument {
        let sealed = self.record().await.secrets.expect("sealed");
        self.keys.open("alice", "calendar", &sealed).expect("opens")
    }

    /// One member of them.
    pub(crate) async fn secret(&self, name: &str) -> Option<String> {
        self.secrets().await.with_value(|value| value[name].as_str().map(str::to_owned)).expect("JSON")
    }

    pub(crate) async fn grant(&self, agents: &Agents) -> Arc<Grant> {
        let grant = OAuth2 { provider: "test".into(), ..OAuth2::default() };
        source(&agents.0, "alice", "calendar", &grant, &self.secrets().await).expect("a grant")
    }

    pub(crate) fn refreshes(&self) -> u32 {
        self.provider.refreshes.load(Ordering::SeqCst)
    }

    pub(crate) fn does(&self, does: Does) {
        *self.provider.does.lock().expect("sound") = does;
    }
}

/// So many seconds from now, or ago.
pub(crate) fn within(seconds: i64) -> Timestamp {
    Timestamp(jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds))
}

pub(crate) fn exposed(token: Result<Secret, error::ToolError>) -> String {
    token.map(|token| token.expose().to_owned()).expect("a token")
}
