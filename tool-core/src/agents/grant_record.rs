//! Reading and writing the tokens in a record.
//!
//! New tokens replace the old ones in the record and change no version. A grant that a person gave in the meantime is
//! never overwritten. If the store is down when a provider has answered, the tokens stay in memory and are written when
//! the store is back: the provider may have revoked the old refresh token already.

use crate::agents::error::{AgentError, AgentErrorKind};
use crate::agents::keys::{Keyring, SealedSecrets};
use crate::agents::store::DynAgentToolStore;
use crate::agents::tokens::{HeldTokens, TokenFailure, TokenRefresher, Tokens};
use crate::session::approvals::fresh_id;
use crate::tool::{OAuth2, Secret, SecretDocument};
use futures_util::future::{BoxFuture, Shared};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::TaskTracker;

/// Longest time for one operation of the store.
const STORE_TIMEOUT: Duration = Duration::from_secs(5);
/// A lease lasts longer than the provider's answer and a write may take. It is extended before the provider is asked,
/// and when a write fails.
const LEASE: Duration = Duration::from_secs(30);
/// Number of writes that callers wait for while the store is down: after 50 ms, 100 ms and so on, 3 s in all.
const WRITES: u32 = 6;
/// Pause between writes in the background. Short, so that no other process refreshes first when the store is back.
const WRITE_PAUSE: Duration = Duration::from_secs(1);
/// Number of writes in the background after [`Agents::close`](crate::agents::Agents::close) was called.
const LAST_WRITES: u32 = 5;

/// The state that all grants of a process share.
pub(crate) struct Grants {
    store: Arc<dyn DynAgentToolStore>,
    keys: Keyring,
    pub(crate) refresher: Option<Arc<dyn TokenRefresher>>,
    /// Refreshes and writes that the program waits for before it ends.
    pub(crate) tasks: TaskTracker,
    /// The name of this process as the holder of leases.
    holder: String,
    unsaved: Mutex<HashMap<GrantKey, UnsavedTokens>>,
    running: Mutex<HashMap<GrantKey, RunningRefresh>>,
    failed_at: Mutex<HashMap<GrantKey, Instant>>,
}

/// The outcome of a refresh.
pub(crate) type RefreshOutcome = Result<HeldTokens, TokenFailure>;

/// A refresh that has begun.
#[derive(Clone)]
pub(crate) struct RunningRefresh {
    pub(crate) since: Instant,
    pub(crate) outcome: Shared<BoxFuture<'static, RefreshOutcome>>,
}

/// The agent and the toolset of a grant.
pub(crate) type GrantKey = (String, String);

/// Tokens that the store does not have yet.
struct UnsavedTokens {
    tokens: Tokens,
    /// The refresh tokens that were used to get them. The record still holds one of them, unless a person has granted
    /// access again.
    used: Vec<Secret>,
    /// A task in the background is about to write them.
    has_writer: bool,
}

/// The record of a grant.
pub(crate) struct GrantRecord {
    pub(crate) grants: Arc<Grants>,
    pub(crate) agent: String,
    pub(crate) tool: String,
    pub(crate) grant: OAuth2,
}

/// The secrets of a record, and the tokens among them.
pub(crate) struct StoredTokens {
    sealed: SealedSecrets,
    secrets: SecretDocument,
    pub(crate) tokens: Tokens,
}

impl Grants {
    pub(crate) fn new(
        store: Arc<dyn DynAgentToolStore>,
        keys: Keyring,
        refresher: Option<Arc<dyn TokenRefresher>>,
        tasks: TaskTracker,
    ) -> Self {
        let (unsaved, running, failed_at) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { store, keys, refresher, tasks, holder: fresh_id(), unsaved, running, failed_at }
    }

    fn unsaved(&self) -> MutexGuard<'_, HashMap<GrantKey, UnsavedTokens>> {
        self.unsaved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn running(&self) -> MutexGuard<'_, HashMap<GrantKey, RunningRefresh>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn failed_at(&self) -> MutexGuard<'_, HashMap<GrantKey, Instant>> {
        self.failed_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GrantRecord {
    pub(crate) fn key(&self) -> GrantKey {
        (self.agent.clone(), self.tool.clone())
    }

    /// Returns the newest tokens: those that the store does not have yet, or else those in the record.
    pub(crate) async fn current(&self) -> Result<StoredTokens, TokenFailure> {
        let stored = self.stored().await?;
        let mut stored = stored.ok_or_else(|| self.needs_person("its record has no tokens any more"))?;
        if let Some(unsaved) = self.grants.unsaved().get(&self.key())
            && holds_one_of(&stored.tokens, &unsaved.used)
        {
            stored.tokens = unsaved.tokens.clone();
        }
        Ok(stored)
    }

    /// Reads the tokens in the record. Returns `None` if the record is gone or has no tokens.
    async fn stored(&self) -> Result<Option<StoredTokens>, TokenFailure> {
        let record = self.within_timeout(self.grants.store.get(&self.agent, &self.tool)).await?;
        let Some(sealed) = record.and_then(|record| record.secrets) else { return Ok(None) };
        let secrets = self.grants.keys.open(&self.agent, &self.tool, &sealed).map_err(|error| self.failure(error))?;
        Ok(Tokens::of(&secrets).map(|tokens| StoredTokens { sealed, secrets, tokens }))
    }

    async fn within_timeout<T, E: Into<AgentErrorKind>>(
        &self,
        operation: impl Future<Output = Result<T, E>>,
    ) -> Result<T, TokenFailure> {
        let late = || TokenFailure::transient("the agent store did not answer in time");
        timeout(STORE_TIMEOUT, operation).await.map_err(|_| late())?.map_err(|error| self.failure(error))
    }

    /// Acquires or extends the lease. Returns false if another process refreshes the token.
    pub(crate) async fn lease(&self) -> Result<bool, TokenFailure> {
        let Grants { store, holder, .. } = &*self.grants;
        self.within_timeout(store.lease(&self.agent, &self.tool, holder, LEASE)).await
    }

    /// Releases the lease, unless tokens are unsaved: no other process may use the refresh token in the record then.
    pub(crate) async fn release(&self) {
        let Grants { store, holder, .. } = &*self.grants;
        if !self.grants.unsaved().contains_key(&self.key()) {
            // If this fails, the lease expires by itself.
            _ = self.within_timeout(store.release(&self.agent, &self.tool, holder)).await;
        }
    }

    fn failure(&self, kind: impl Into<AgentErrorKind>) -> TokenFailure {
        let kind = kind.into();
        let is_down = kind.is_store_down();
        let text = AgentError::new(&self.agent, &self.tool, kind).to_string();
        if is_down { TokenFailure::transient(text) } else { TokenFailure::auth(text) }
    }

    /// Reports that there are no new tokens until a person grants access again.
    pub(crate) fn needs_person(&self, reason: &str) -> TokenFailure {
        let (tool, provider) = (self.tool.escape_debug(), self.grant.provider.escape_debug());
        TokenFailure::auth(format!("toolset `{tool}` has to be connected to `{provider}` again by a person: {reason}"))
    }

    /// Writes new tokens in place of those in `stored`, which the refresh token `used` came from. If the store is down for
    /// longer, the writes go on in the background, and the new tokens are used from memory.
    pub(crate) async fn save(self: &Arc<Self>, stored: StoredTokens, used: Secret, new: Tokens) -> RefreshOutcome {
        let mut all_used = self.grants.unsaved().get(&self.key()).map_or_else(Vec::new, |unsaved| unsaved.used.clone());
        all_used.push(used);
        for attempt in 0..WRITES {
            if let Some(held) = self.write(&stored, &all_used, &new).await? {
                self.grants.unsaved().remove(&self.key());
                return Ok(held);
            }
            sleep(Duration::from_millis(50 << attempt)).await;
        }
        tracing::warn!(
            agent = ?self.agent, toolset = ?self.tool,
            "failed to store a refreshed token because the agent store is down; it is written when the store is back"
        );
        let unsaved = UnsavedTokens { tokens: new.clone(), used: all_used, has_writer: true };
        let before = self.grants.unsaved().insert(self.key(), unsaved);
        if !before.is_some_and(|before| before.has_writer) {
            self.grants.tasks.spawn(Arc::clone(self).save_later());
        }
        Ok(HeldTokens::fresh(new))
    }

    /// Writes unsaved tokens until it succeeds. After `Agents::close` it gives up after a few more attempts.
    async fn save_later(self: Arc<Self>) {
        let mut last_writes = 0;
        while last_writes < LAST_WRITES {
            sleep(WRITE_PAUSE).await;
            last_writes += u32::from(self.grants.tasks.is_closed());
            if self.save_unsaved().await {
                return;
            }
        }
        if let Some(unsaved) = self.grants.unsaved().get_mut(&self.key()) {
            unsaved.has_writer = false;
        }
        tracing::error!(
            agent = ?self.agent, toolset = ?self.tool,
            "failed to store a refreshed token before the program ends; a person may have to connect the toolset again"
        );
    }

    /// Returns true if no tokens are left to write.
    async fn save_unsaved(&self) -> bool {
        let unsaved = self.grants.unsaved().get(&self.key()).map(|now| (now.tokens.clone(), now.used.clone()));
        let Some((new, used)) = unsaved else { return true };
        let is_settled = match self.stored().await {
            Ok(Some(stored)) if holds_one_of(&stored.tokens, &used) => {
                !matches!(self.write(&stored, &used, &new).await, Ok(None))
            }
            // A person has granted access again, or removed the grant.
            Ok(_) => true,
            Err(_) => false,
        };
        let mut unsaved = self.grants.unsaved();
        // A refresh in the meantime may have left newer tokens.
        if is_settled && unsaved.get(&self.key()).is_some_and(|now| now.tokens.access.expose() == new.access.expose()) {
            unsaved.remove(&self.key());
        }
        !unsaved.contains_key(&self.key())
    }

    /// Writes the tokens once. Returns `None` if the store is down, after an attempt to extend the lease.
    async fn write(
        &self,
        stored: &StoredTokens,
        used: &[Secret],
        new: &Tokens,
    ) -> Result<Option<HeldTokens>, TokenFailure> {
        let written = timeout(STORE_TIMEOUT, self.replace(stored, used, new)).await.unwrap_or(Ok(None));
        if matches!(written, Ok(None)) {
            _ = self.lease().await;
        }
        written
    }

    /// Replaces the tokens, again if the record changed and still holds the same grant, for example under another key.
    async fn replace(
        &self,
        stored: &StoredTokens,
        used: &[Secret],
        new: &Tokens,
    ) -> Result<Option<HeldTokens>, TokenFailure> {
        let Grants { store, keys, .. } = &*self.grants;
        let (mut secrets, mut from) = (stored.secrets.clone(), stored.sealed.clone());
        loop {
            let secrets_now =
                new.put_into(&secrets).ok_or_else(|| self.needs_person("its secrets are not a JSON object"))?;
            let sealed = keys.seal(&self.agent, &self.tool, &secrets_now).map_err(|error| self.failure(error))?;
            match store.replace_secrets(&self.agent, &self.tool, &from, &sealed).await {
                Ok(true) => return Ok(Some(HeldTokens::fresh(new.clone()))),
                Ok(false) => {}
                Err(_) => return Ok(None),
            }
            // An earlier write may have taken effect although its answer was lost, or a person has granted access again.
            // Either way the tokens in the record are valid.
            let now = match self.stored().await {
                Ok(Some(now)) => now,
                Ok(None) => return Err(self.needs_person("its record has no tokens any more")),
                Err(_) => return Ok(None),
            };
            if !holds_one_of(&now.tokens, used) || now.tokens.access.expose() == new.access.expose() {
                return Ok(Some(HeldTokens::fresh(now.tokens)));
            }
            (secrets, from) = (now.secrets, now.sealed);
        }
    }
}

/// Returns true if the refresh token is one of those that were used.
fn holds_one_of(tokens: &Tokens, used: &[Secret]) -> bool {
    tokens.refresh.as_ref().is_some_and(|token| used.iter().any(|used| used.expose() == token.expose()))
}
