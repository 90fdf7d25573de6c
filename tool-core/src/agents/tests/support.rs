//! A provider, a store that fails on demand, and a record with a grant.

use crate::agents::builder::Agents;
use crate::agents::grant::Grant;
use crate::agents::keys::{Keyring, OpenedSecrets, SealedSecrets};
use crate::agents::memory::MemoryAgentToolStore;
use crate::agents::record::{AgentRecords, AgentSummary, AgentTools};
use crate::agents::store::{AgentStoreError, AgentToolStore, RecordWrite, SealedRow, SecretsWrite};
use crate::agents::tokens::{RefreshError, TokenRefresher, Tokens};
use crate::call::error;
use crate::schema::timestamp::Timestamp;
use crate::session::approvals::{ApprovalLimits, ApprovalVerdict, PendingCall};
use crate::tool::BoundSettings;
use crate::tool::configure::credentials::OAuth2;
use crate::tool::configure::credentials::Secret;
use crate::tool::configure::secret_document::SecretDocument;
use serde_json::{Value, json};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// The behaviour of the provider.
#[derive(Clone, Default)]
pub(crate) enum Does {
    #[default]
    Refresh,
    Fail(RefreshError),
    /// Fails with the refresh token in the text.
    Leak,
    Panic,
    Hang,
}

/// Returns `access-1` and `refresh-1`, then `access-2` ..; each refresh token is valid once.
#[derive(Default)]
pub(crate) struct Provider {
    pub(crate) refreshes: AtomicU32,
    pub(crate) does: Mutex<Does>,
    /// Holds every answer back until `let_go` is notified.
    pub(crate) held_back: AtomicBool,
    pub(crate) let_go: Notify,
    pub(crate) asked: Notify,
    used: Mutex<Vec<String>>,
    /// Returns tokens that have expired already.
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
        assert!(
            !matches!(does, Does::Panic),
            "provoked with {}",
            refresh.expose()
        );
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
                Does::Leak => Err(RefreshError::Refused(format!(
                    "no client for {}",
                    refresh.expose()
                ))),
                Does::Refresh | Does::Panic if again() => {
                    Err(RefreshError::Revoked("used twice".into()))
                }
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
    /// Number of requests for a lease.
    pub(crate) leases: AtomicU32,
    /// The number of the request that loses the lease to another process; 0 for none.
    pub(crate) lost_lease: AtomicU32,
}

impl Store {
    fn check(&self, down: &AtomicBool) -> Result<(), AgentStoreError> {
        let is_down = down.load(Ordering::SeqCst) || self.down.load(Ordering::SeqCst);
        if is_down {
            Err(AgentStoreError::down("provoked"))
        } else {
            Ok(())
        }
    }
}

impl AgentToolStore for Store {
    async fn version(&self, agent: &str) -> Result<u64, AgentStoreError> {
        self.check(&self.down)?;
        self.inner.version(agent).await
    }
    async fn load(&self, agent: &str) -> Result<AgentRecords, AgentStoreError> {
        self.check(&self.down)?;
        self.inner.load(agent).await
    }
    async fn get(&self, agent: &str, tool: &str) -> Result<Option<AgentTools>, AgentStoreError> {
        if self.reads_hang.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        self.check(&self.down)?;
        self.inner.get(agent, tool).await
    }
    async fn write(&self, write: &RecordWrite) -> Result<u64, AgentStoreError> {
        self.check(&self.down)?;
        self.inner.write(write).await
    }
    async fn remove(&self, agent: &str, tool: &str, version: u64) -> Result<(), AgentStoreError> {
        self.check(&self.down)?;
        self.inner.remove(agent, tool, version).await
    }
    async fn agents(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<AgentSummary>, AgentStoreError> {
        self.check(&self.down)?;
        self.inner.agents(after, limit).await
    }
    async fn sealed_under_others(
        &self,
        key: &str,
        after: Option<(&str, &str)>,
        limit: u32,
    ) -> Result<Vec<SealedRow>, AgentStoreError> {
        self.check(&self.down)?;
        self.inner.sealed_under_others(key, after, limit).await
    }
    async fn replace_secrets(
        &self,
        agent: &str,
        tool: &str,
        from: &SealedSecrets,
        to: &SealedSecrets,
    ) -> Result<bool, AgentStoreError> {
        self.check(&self.writes_down)?;
        let replaced = self.inner.replace_secrets(agent, tool, from, to).await;
        self.check(&AtomicBool::new(
            self.answers_lost.swap(false, Ordering::SeqCst),
        ))?;
        replaced
    }
    async fn lease(
        &self,
        agent: &str,
        tool: &str,
        holder: &str,
        lasts: Duration,
    ) -> Result<bool, AgentStoreError> {
        let n = self.leases.fetch_add(1, Ordering::SeqCst) + 1;
        if n == self.lost_lease.load(Ordering::SeqCst) {
            return Ok(false);
        }
        self.check(&self.down)?;
        self.inner.lease(agent, tool, holder, lasts).await
    }
    async fn release(&self, agent: &str, tool: &str, holder: &str) -> Result<(), AgentStoreError> {
        self.check(&self.down)?;
        self.inner.release(agent, tool, holder).await
    }
    async fn keep_action(
        &self,
        agent: &str,
        call: &PendingCall,
        lifetime: Duration,
        limits: ApprovalLimits,
    ) -> Result<ApprovalVerdict, AgentStoreError> {
        self.check(&self.writes_down)?;
        self.inner.keep_action(agent, call, lifetime, limits).await
    }
    async fn action(&self, agent: &str, id: &str) -> Result<Option<PendingCall>, AgentStoreError> {
        self.check(&self.down)?;
        self.inner.action(agent, id).await
    }
    async fn take_action(
        &self,
        agent: &str,
        id: &str,
    ) -> Result<Option<Duration>, AgentStoreError> {
        self.check(&self.down)?;
        self.inner.take_action(agent, id).await
    }
}

/// A store with a record of `alice`'s calendar, a provider, and keys.
pub(crate) struct World {
    pub(crate) provider: Arc<Provider>,
    pub(crate) store: Arc<Store>,
    pub(crate) keys: Keyring,
}

impl World {
    /// A record whose token expires in `expires_in` seconds.
    pub(crate) async fn new(expires_in: i64) -> Self {
        let secrets = json!({"access_token": "access-0", "refresh_token": "refresh-0", "own": "else",
            "expires_at": within(expires_in).to_string(), "scope": "read"});
        Self::with(secrets).await
    }

    pub(crate) async fn with(secrets: Value) -> Self {
        let keys = Keyring::parse(&format!("one:{}\ntwo:{}", "1f".repeat(32), "2f".repeat(32)))
            .expect("keys");
        let world = Self {
            provider: Arc::default(),
            store: Arc::default(),
            keys,
        };
        let mut write = RecordWrite::new("alice", "calendar", json!({}));
        let sealed = world
            .keys
            .seal(
                "alice",
                "calendar",
                &BoundSettings::none(),
                &SecretDocument::from_value(secrets),
            )
            .expect("sealed");
        write.secrets = SecretsWrite::Set(sealed);
        world.store.write(&write).await.expect("written");
        world
    }

    /// Creates agents as another process would.
    pub(crate) fn agents(&self) -> Agents {
        let builder = Agents::builder(Arc::clone(&self.store)).keys(self.keys.clone());
        builder
            .oauth2(Asked(Arc::clone(&self.provider)))
            .build()
            .expect("sound")
    }

    pub(crate) async fn record(&self) -> AgentTools {
        self.store
            .inner
            .get("alice", "calendar")
            .await
            .expect("up")
            .expect("there")
    }

    /// Returns the secrets in the record.
    pub(crate) async fn secrets(&self) -> SecretDocument {
        let sealed = self.record().await.secrets.expect("sealed");
        self.keys
            .open("alice", "calendar", &BoundSettings::none(), &sealed)
            .expect("opens")
    }

    /// Returns one member of the secrets.
    pub(crate) async fn secret(&self, name: &str) -> Option<String> {
        self.secrets()
            .await
            .with_value(|value| value[name].as_str().map(str::to_owned))
            .expect("JSON")
    }

    pub(crate) async fn grant(&self, agents: &Agents) -> Arc<Grant> {
        let grant = OAuth2 {
            provider: "test".into(),
            ..OAuth2::default()
        };
        let opened = OpenedSecrets {
            secrets: self.secrets().await,
            bound: BoundSettings::none(),
        };
        Grant::new(&agents.0.grants, "alice", "calendar", &grant, &opened).expect("a grant")
    }

    pub(crate) fn refreshes(&self) -> u32 {
        self.provider.refreshes.load(Ordering::SeqCst)
    }

    pub(crate) fn does(&self, does: Does) {
        *self.provider.does.lock().expect("sound") = does;
    }
}

/// Returns the time in so many seconds, or so many seconds ago.
pub(crate) fn within(seconds: i64) -> Timestamp {
    Timestamp(jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds))
}

pub(crate) fn exposed(token: Result<Secret, error::ToolError>) -> String {
    token
        .map(|token| token.expose().to_owned())
        .expect("a token")
}
