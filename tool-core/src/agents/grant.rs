//! The grant of a record: an access token that is valid whenever it is asked for.
//!
//! A token is refreshed by one task at a time in this process, and by one process at a time among
//! all that share the store. A refresh runs in its own task, so that a caller that goes away loses
//! no token. Tokens are lost only if the process is killed between the provider's answer and the
//! write: some providers revoke the old refresh token when they answer.
//!
//! New tokens replace the old ones in the record and change no version. A grant that a person gave
//! in the meantime is never overwritten. If the store is down when a provider has answered, the
//! tokens stay in memory and are written when the store is back: the provider may have revoked the
//! old refresh token already.

use crate::agents::error::{AgentError, AgentErrorKind};
use crate::agents::keys::{KeyError, Keyring, OpenedSecrets, SealedSecrets};
use crate::agents::rests::{FailedRefresh, GrantKey, RefreshState, Rest, Rests, pause_after};
use crate::agents::store::{DynAgentToolStore, STORE_TIMEOUT, ask_store};
use crate::agents::tokens::{HeldTokens, RefreshError, TokenFailure, TokenRefresher, Tokens};
use crate::call::error::ToolError;
use crate::schema::timestamp::Timestamp;
use crate::session::approvals::fresh_id;
use crate::tool::{BoundSettings, OAuth2, Secret, SecretDocument, TokenSource};
use crate::trace::redaction::Redaction;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::TaskTracker;

/// Longest time, from the beginning of a refresh, that callers wait for it while the old token is
/// valid.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Longest time for the provider's answer.
const PROVIDER_TIMEOUT: Duration = Duration::from_secs(20);
/// Longest time to wait for another process: longer than its lease, because it may have been
/// killed.
const OTHERS_TIMEOUT: Duration = Duration::from_secs(40);
/// First and longest pause between two looks at the progress of another process.
const POLL: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// Pause after a failed refresh while the old token is valid.
const RETRY_AFTER: Duration = Duration::from_secs(10);
/// Number of failures after which expired ones are dropped from the list.
const MAX_FAILURES: usize = 10_000;
/// A lease lasts longer than the provider's answer and a write may take. It is extended before the
/// provider is asked, and when a write fails.
const LEASE: Duration = Duration::from_secs(30);
/// Number of writes that callers wait for while the store is down: after 50 ms, 100 ms and so on, 3
/// s in all.
const WRITES: u32 = 6;
/// Pause between writes in the background. Short, so that no other process refreshes first when the
/// store is back.
const WRITE_PAUSE: Duration = Duration::from_secs(1);
/// Number of writes in the background after [`Agents::close`](crate::agents::Agents::close) was
/// called.
const LAST_WRITES: u32 = 5;

/// The grant of a record, which refreshes its access token.
pub(crate) struct Grant {
    record: Arc<GrantRecord>,
    held: Mutex<HeldTokens>,
    is_followed: AtomicBool,
}

impl Grant {
    /// Returns the grant whose tokens are among the secrets of a record, or `None` if there are
    /// none. It gives its toolset only tokens that are sealed for the same settings as these
    /// secrets.
    pub(crate) fn new(
        grants: &Arc<Grants>,
        agent: &str,
        tool: &str,
        grant: &OAuth2,
        opened: &OpenedSecrets,
    ) -> Option<Arc<Self>> {
        let held = Mutex::new(HeldTokens::stored(Tokens::of(&opened.secrets)?));
        let grants = Arc::clone(grants);
        let agent = agent.to_owned();
        let tool = tool.to_owned();
        let record = GrantRecord {
            grants,
            agent,
            tool,
            bound: opened.bound.clone(),
            grant: grant.clone(),
        };
        let record = Arc::new(record);
        Some(Arc::new(Self {
            record,
            held,
            is_followed: AtomicBool::new(false),
        }))
    }

    /// Returns true if an [`AccessToken`](crate::tool::AccessToken) asks the grant at each use. Otherwise the toolset holds
    /// a copy of the token, which is valid until [`expires_at`](Self::expires_at).
    pub(crate) fn is_followed(&self) -> bool {
        self.is_followed.load(Ordering::Acquire)
    }

    /// Returns when the current token expires, if that is known.
    pub(crate) fn expires_at(&self) -> Option<Timestamp> {
        self.held().tokens.expires_at
    }

    /// Returns true if the current token has expired.
    pub(crate) fn has_expired(&self) -> bool {
        self.expires_at()
            .is_some_and(|at| *at <= jiff::Timestamp::now())
    }

    /// Returns true if the next caller of `token` begins a refresh.
    pub(crate) fn is_due(&self) -> bool {
        self.held().is_due()
    }

    /// Returns the secrets with the current tokens, to configure a toolset after a refresh.
    pub(crate) fn put_into(&self, secrets: &SecretDocument) -> SecretDocument {
        self.held()
            .tokens
            .put_into(secrets)
            .unwrap_or_else(|| secrets.clone())
    }

    fn held(&self) -> HeldTokens {
        self.held.lock().clone()
    }

    /// Waits for a refresh. Returns the old token if it is still valid and the refresh fails or
    /// takes long.
    async fn refreshed(&self, held: HeldTokens) -> Result<Secret, ToolError> {
        let valid_for = held.valid_for();
        let old = || Ok(held.tokens.access.clone());
        if valid_for.is_some() && self.record.failed_recently() {
            return old();
        }
        let outcome = match (self.record.join(&held), valid_for) {
            (Err(failure), _) => Err(failure),
            (Ok(running), None) => running.outcome.await,
            (Ok(running), Some(valid_for)) => {
                let patience = PATIENCE.saturating_sub(running.since.elapsed());
                match timeout(valid_for.min(patience), running.outcome).await {
                    Ok(outcome) => outcome,
                    // The refresh goes on, and later callers get the new token.
                    Err(_) => return old(),
                }
            }
        };
        match outcome {
            Ok(new) => {
                let access = new.tokens.access.clone();
                *self.held.lock() = new;
                Ok(access)
            }
            Err(failure) if held.valid_for().is_some() && !failure.revoked => old(),
            Err(failure) => Err(failure.error),
        }
    }
}

impl Grant {
    /// Returns a token other than `refused`, after one refresh if there is none yet.
    async fn replaced(&self, refused: &Secret) -> Result<Secret, ToolError> {
        let is_refused = |held: &HeldTokens| held.tokens.access.expose() == refused.expose();
        // A refresh that was running already may return the refused token, which it has found in
        // the record.
        for _ in 0..2 {
            let held = self.held();
            if !is_refused(&held) {
                return self.token().await;
            }
            let running = self.record.join(&held.refused());
            let new = async { running?.outcome.await }
                .await
                .map_err(|failure| failure.error)?;
            if !is_refused(&new) {
                let access = new.tokens.access.clone();
                *self.held.lock() = new;
                return Ok(access);
            }
        }
        Err(self.record.refuses_new_tokens().error)
    }
}

impl TokenSource for Grant {
    fn token(&self) -> Pin<Box<dyn Future<Output = Result<Secret, ToolError>> + Send + '_>> {
        let held = self.held();
        if held.is_due() {
            Box::pin(self.refreshed(held))
        } else {
            Box::pin(std::future::ready(Ok(held.tokens.access)))
        }
    }

    fn rejected<'a>(
        &'a self,
        token: &'a Secret,
    ) -> Pin<Box<dyn Future<Output = Result<Secret, ToolError>> + Send + 'a>> {
        Box::pin(self.replaced(token))
    }

    fn follow(&self) {
        self.is_followed.store(true, Ordering::Release);
    }
}

/// The state that all grants of a process share.
pub(crate) struct Grants {
    store: Arc<dyn DynAgentToolStore>,
    keys: Keyring,
    refresher: Option<Arc<dyn TokenRefresher>>,
    /// Refreshes and writes that the program waits for before it ends.
    tasks: TaskTracker,
    /// The name of this process as the holder of leases.
    holder: String,
    unsaved: Mutex<HashMap<GrantKey, UnsavedTokens>>,
    running: Mutex<HashMap<GrantKey, RunningRefresh>>,
    failed_at: Mutex<HashMap<GrantKey, Instant>>,
    rests: Rests,
}

/// The outcome of a refresh.
type RefreshOutcome = Result<HeldTokens, TokenFailure>;

/// A refresh that has begun.
#[derive(Clone)]
struct RunningRefresh {
    since: Instant,
    outcome: Shared<BoxFuture<'static, RefreshOutcome>>,
}

/// Tokens that the store does not have yet.
#[derive(Clone)]
struct UnsavedTokens {
    tokens: Tokens,
    /// The refresh tokens that were used to get them. The record still holds one of them, unless a
    /// person has granted access again.
    used: Vec<Secret>,
    /// The state of the record after the write.
    state: RefreshState,
    /// A task in the background is about to write them.
    has_writer: bool,
}

/// The record of a grant.
struct GrantRecord {
    grants: Arc<Grants>,
    agent: String,
    tool: String,
    /// The settings that the toolset was configured with. Tokens for another destination must not
    /// reach it.
    bound: BoundSettings,
    grant: OAuth2,
}

/// The secrets of a record, and the tokens among them.
struct StoredTokens {
    sealed: SealedSecrets,
    /// The settings that the secrets are sealed for.
    bound: BoundSettings,
    secrets: SecretDocument,
    tokens: Tokens,
    state: RefreshState,
}

impl Grants {
    pub(crate) fn new(
        store: Arc<dyn DynAgentToolStore>,
        keys: Keyring,
        refresher: Option<Arc<dyn TokenRefresher>>,
        tasks: TaskTracker,
    ) -> Self {
        let (unsaved, running, failed_at, rests) = Default::default();
        Self {
            store,
            keys,
            refresher,
            tasks,
            holder: fresh_id(),
            unsaved,
            running,
            failed_at,
            rests,
        }
    }
}

/// Removes a refresh from the list, also if its task panicked or its runtime was shut down.
struct Unlist(Arc<GrantRecord>);

impl Drop for Unlist {
    fn drop(&mut self) {
        self.0.grants.running.lock().remove(&self.0.key());
    }
}

impl GrantRecord {
    /// Returns true if the last refresh failed a moment ago.
    fn failed_recently(&self) -> bool {
        self.grants
            .failed_at
            .lock()
            .get(&self.key())
            .is_some_and(|at| at.elapsed() < RETRY_AFTER)
    }

    /// Joins the running refresh of this grant, or begins one.
    fn join(self: &Arc<Self>, known: &HeldTokens) -> Result<RunningRefresh, TokenFailure> {
        let mut all = self.grants.running.lock();
        if let Some(running) = all.get(&self.key()) {
            return Ok(running.clone());
        }
        let Ok(runtime) = Handle::try_current() else {
            return Err(ToolError::transient(
                "refreshing a token requires a tokio runtime, and there is none",
            )
            .into());
        };
        let unlist = Unlist(Arc::clone(self));
        let record = Arc::clone(self);
        let known = known.clone();
        let refresh = async move {
            // Dropped before the outcome is known, so that a caller who has it can begin another
            // refresh.
            let _unlist = unlist;
            let outcome = record.refresh(&known).await;
            record.note_outcome(&outcome);
            outcome
        };
        let refresh = self.grants.tasks.spawn_on(refresh, &runtime);
        let interrupted =
            |_| Err(ToolError::transient("the refresh of the token was interrupted").into());
        let outcome = async move { refresh.await.unwrap_or_else(interrupted) };
        let running = RunningRefresh {
            since: Instant::now(),
            outcome: outcome.boxed().shared(),
        };
        all.insert(self.key(), running.clone());
        Ok(running)
    }

    fn note_outcome(&self, outcome: &RefreshOutcome) {
        let mut failed_at = self.grants.failed_at.lock();
        match outcome {
            Err(failure) if !failure.revoked => _ = failed_at.insert(self.key(), Instant::now()),
            _ => _ = failed_at.remove(&self.key()),
        }
        if failed_at.len() > MAX_FAILURES {
            failed_at.retain(|_, at| at.elapsed() < RETRY_AFTER);
        }
    }

    /// Returns new tokens: those in the record if another process has put new ones there, or else
    /// the provider's.
    async fn refresh(self: &Arc<Self>, known: &HeldTokens) -> RefreshOutcome {
        let deadline = Instant::now() + OTHERS_TIMEOUT;
        let mut pause = POLL.0;
        loop {
            let stored = self.current().await?;
            if let Some(outcome) = self.without_provider(&stored, known) {
                return outcome;
            }
            if self.lease().await?
                && let Some(outcome) = self.refresh_alone(known).await
            {
                self.release().await;
                return outcome;
            }
            if Instant::now() >= deadline || self.grants.tasks.is_closed() {
                let reason = "another process refreshes the token and has not finished in time";
                return Err(ToolError::transient(reason).into());
            }
            sleep(pause).await;
            pause = (pause * 2).min(POLL.1);
        }
    }

    /// Returns the outcome if the provider need not be asked: the record has newer tokens, or no
    /// refresh token.
    fn without_provider(
        &self,
        stored: &StoredTokens,
        known: &HeldTokens,
    ) -> Option<RefreshOutcome> {
        let held = HeldTokens::fresh(stored.tokens.clone());
        let is_valid = held.valid_for().is_some();
        let is_other = stored.tokens.access.expose() != known.tokens.access.expose();
        let is_refused = known.is_refused && !is_other;
        if is_valid && (is_other || (stored.tokens.refresh.is_none() && !is_refused)) {
            return Some(Ok(held));
        }
        if stored.tokens.refresh.is_none() {
            let end = if is_refused {
                "was refused by the service"
            } else {
                "has expired"
            };
            return Some(Err(self.needs_person(&format!(
                "its token {end}, and there is no refresh token"
            ))));
        }
        if is_refused && stored.state.replaces_refused {
            return Some(Err(self.refuses_new_tokens()));
        }
        self.resting(stored).map(Err)
    }

    /// Returns the failure of the last refresh of these tokens, if the provider is not to be asked
    /// again yet.
    fn resting(&self, stored: &StoredTokens) -> Option<TokenFailure> {
        if let Some(rest) = self.grants.rests.get(&self.key(), &stored.tokens) {
            return rest.is_running().then_some(rest.failure);
        }
        let failed = stored
            .state
            .failed
            .as_ref()
            .filter(|failed| failed.is_running())?;
        Some(self.failure_of(&failed.reason, failed.until.is_none()))
    }

    /// Notes that the provider has refused a refresh, here and in the record, so that no process
    /// asks again too early.
    async fn rest(
        &self,
        stored: &StoredTokens,
        error: &RefreshError,
        reason: String,
    ) -> TokenFailure {
        let (is_revoked, asked) = match error {
            RefreshError::Revoked(_) => (true, None),
            RefreshError::Busy { retry_after, .. } => (false, Some(*retry_after)),
            RefreshError::Transient(_) | RefreshError::Refused(_) => (false, None),
        };
        let here = self
            .grants
            .rests
            .get(&self.key(), &stored.tokens)
            .map_or(0, |rest| rest.times);
        let there = stored
            .state
            .failed
            .as_ref()
            .map_or(0, |failed| failed.times);
        let times = here.max(there).saturating_add(1);
        let pause = (!is_revoked).then(|| pause_after(times, asked));
        let failure = match error {
            RefreshError::Refused(_) => ToolError::auth(reason.clone()).into(),
            _ => self.failure_of(&reason, is_revoked),
        };
        let until = pause.map(|pause| Instant::now() + pause);
        let rest = Rest {
            tokens: stored.tokens.clone(),
            times,
            until,
            failure: failure.clone(),
        };
        self.grants.rests.insert(self.key(), rest);
        // A wrong setup is one of this process only.
        if !matches!(error, RefreshError::Refused(_)) {
            let until = pause
                .and_then(|pause| jiff::Timestamp::now().checked_add(pause).ok())
                .map(Timestamp);
            self.save_state(
                stored,
                FailedRefresh {
                    reason,
                    times,
                    until,
                },
            )
            .await;
        }
        failure
    }

    /// Writes a failure into the record. If this does not succeed, other processes find out by
    /// themselves.
    async fn save_state(&self, stored: &StoredTokens, failed: FailedRefresh) {
        let Grants { store, keys, .. } = &*self.grants;
        let state = RefreshState {
            failed: Some(failed),
            ..stored.state.clone()
        };
        let sealed = state.put_into(&stored.secrets);
        let sealed = sealed.and_then(|secrets| {
            keys.seal(&self.agent, &self.tool, &stored.bound, &secrets)
                .ok()
        });
        if let Some(sealed) = sealed {
            _ = ask_store(store.replace_secrets(&self.agent, &self.tool, &stored.sealed, &sealed))
                .await;
        }
    }

    /// Returns the failure of a refresh, whose reason has no tokens.
    fn failure_of(&self, reason: &str, is_revoked: bool) -> TokenFailure {
        if !is_revoked {
            return ToolError::transient(reason).into();
        }
        TokenFailure {
            revoked: true,
            ..self.needs_person(&format!("the grant is no longer valid ({reason})"))
        }
    }

    /// Reports a service that refuses tokens which the provider has just issued.
    fn refuses_new_tokens(&self) -> TokenFailure {
        let tool = self.tool.escape_debug();
        let provider = self.grant.provider.escape_debug();
        let text = format!(
            "the service of toolset `{tool}` refuses the tokens that `{provider}` issues; a person has to check the \
             account and its scopes, and connect the toolset again"
        );
        ToolError::auth(text).into()
    }

    /// Asks the provider, while this process has the lease. Returns `None` if another process has
    /// got the lease.
    async fn refresh_alone(self: &Arc<Self>, known: &HeldTokens) -> Option<RefreshOutcome> {
        let attempt = async {
            // Read again, because another process may have finished just before the lease was
            // acquired.
            let stored = self.current().await?;
            if let Some(outcome) = self.without_provider(&stored, known) {
                return outcome.map(Some);
            }
            let used = stored.tokens.refresh.clone();
            let used = used.ok_or_else(|| self.needs_person("it has no refresh token"))?;
            if !self.lease().await? {
                return Ok(None);
            }
            let held = match self.ask_provider(&used).await {
                Ok(new) => {
                    let new = new.or(&stored.tokens);
                    self.grants.rests.remove(&self.key());
                    let replaces_refused = known.is_refused
                        && known.tokens.access.expose() == stored.tokens.access.expose();
                    self.save(
                        stored,
                        used,
                        new,
                        RefreshState {
                            replaces_refused,
                            failed: None,
                        },
                    )
                    .await
                }
                Err(error) => self.refused(stored, &used, error).await,
            };
            held.map(Some)
        };
        attempt.await.transpose()
    }

    /// Asks the provider, with a timeout and a guard against panics.
    async fn ask_provider(&self, used: &Secret) -> Result<Tokens, RefreshError> {
        let Some(refresher) = &self.grants.refresher else {
            let reason = "there is no OAuth 2 client; pass one to `Agents::builder(..).oauth2(..)`";
            return Err(RefreshError::Refused(reason.into()));
        };
        // Both the call and its future may panic.
        let answer =
            AssertUnwindSafe(async { refresher.refresh(&self.grant, used).await }).catch_unwind();
        match timeout(PROVIDER_TIMEOUT, answer).await {
            Ok(Ok(Ok(new))) if new.access.is_empty() => {
                Err(RefreshError::Transient("the new token is empty".into()))
            }
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(RefreshError::Transient(
                "the OAuth 2 client panicked".into(),
            )),
            Err(_) => Err(RefreshError::Transient(format!(
                "no answer within {} s",
                PROVIDER_TIMEOUT.as_secs()
            ))),
        }
    }

    /// Turns the provider's refusal into a failure.
    async fn refused(
        &self,
        stored: StoredTokens,
        used: &Secret,
        error: RefreshError,
    ) -> RefreshOutcome {
        let RefreshError::Revoked(reason) = &error else {
            let reason = without_tokens(&error.to_string(), &stored.tokens);
            return Err(self.rest(&stored, &error, reason).await);
        };
        let reason = without_tokens(reason, &stored.tokens);
        // A process whose lease had expired may have used the token, and stored what it got.
        let now = self.current().await?;
        let is_other = now
            .tokens
            .refresh
            .as_ref()
            .is_none_or(|token| token.expose() != used.expose());
        let held = HeldTokens::fresh(now.tokens.clone());
        if is_other && held.valid_for().is_some() {
            return Ok(held);
        }
        Err(self
            .rest(if is_other { &stored } else { &now }, &error, reason)
            .await)
    }

    fn key(&self) -> GrantKey {
        (self.agent.clone(), self.tool.clone(), self.bound.digest())
    }

    /// Returns the newest tokens: those that the store does not have yet, or else those in the
    /// record.
    async fn current(&self) -> Result<StoredTokens, TokenFailure> {
        let mut stored = self.of_same_destination(self.stored().await?)?;
        if let Some(unsaved) = self.grants.unsaved.lock().get(&self.key())
            && holds_one_of(&stored.tokens, &unsaved.used)
        {
            (stored.tokens, stored.state) = (unsaved.tokens.clone(), unsaved.state.clone());
        }
        Ok(stored)
    }

    /// Refuses the tokens of a record that is gone, has none, or was connected for another
    /// destination since.
    fn of_same_destination(
        &self,
        stored: Option<StoredTokens>,
    ) -> Result<StoredTokens, TokenFailure> {
        let stored =
            stored.ok_or_else(|| self.needs_person("its record has no tokens any more"))?;
        let settings = stored.bound.changed(&self.bound);
        if settings.is_empty() {
            Ok(stored)
        } else {
            Err(self.failure(KeyError::DestinationChanged { settings }))
        }
    }

    /// Reads the tokens in the record, for whatever destination they are. Returns `None` if the
    /// record is gone or has no tokens.
    async fn stored(&self) -> Result<Option<StoredTokens>, TokenFailure> {
        let record = ask_store(self.grants.store.get(&self.agent, &self.tool))
            .await
            .map_err(|error| self.failure(error))?;
        let Some(sealed) = record.and_then(|record| record.secrets) else {
            return Ok(None);
        };
        let opened = self
            .grants
            .keys
            .open_sealed(&self.agent, &self.tool, &sealed);
        let OpenedSecrets { secrets, bound } = opened.map_err(|error| self.failure(error))?;
        let state = RefreshState::of(&secrets);
        Ok(Tokens::of(&secrets).map(|tokens| StoredTokens {
            sealed,
            bound,
            secrets,
            tokens,
            state,
        }))
    }

    /// Acquires or extends the lease. Returns false if another process refreshes the token.
    async fn lease(&self) -> Result<bool, TokenFailure> {
        let Grants { store, holder, .. } = &*self.grants;
        let acquired = ask_store(store.lease(&self.agent, &self.tool, holder, LEASE)).await;
        acquired.map_err(|error| self.failure(error))
    }

    /// Releases the lease, unless tokens are unsaved: no other process may use the refresh token in
    /// the record then.
    async fn release(&self) {
        let Grants { store, holder, .. } = &*self.grants;
        if !self.grants.unsaved.lock().contains_key(&self.key()) {
            // If this fails, the lease expires by itself.
            _ = ask_store(store.release(&self.agent, &self.tool, holder)).await;
        }
    }

    fn failure(&self, kind: impl Into<AgentErrorKind>) -> TokenFailure {
        let kind = kind.into();
        let is_down = kind.is_store_down();
        let text = AgentError::new(&self.agent, &self.tool, kind).to_string();
        if is_down {
            ToolError::transient(text)
        } else {
            ToolError::auth(text)
        }
        .into()
    }

    /// Reports that there are no new tokens until a person grants access again.
    fn needs_person(&self, reason: &str) -> TokenFailure {
        let tool = self.tool.escape_debug();
        let provider = self.grant.provider.escape_debug();
        let text = format!(
            "toolset `{tool}` has to be connected to `{provider}` again by a person: {reason}"
        );
        ToolError::auth(text).into()
    }

    /// Writes new tokens in place of those in `stored`, which the refresh token `used` came from.
    /// If the store is down for longer, the writes go on in the background, and the new tokens are
    /// used from memory.
    async fn save(
        self: &Arc<Self>,
        stored: StoredTokens,
        used: Secret,
        new: Tokens,
        state: RefreshState,
    ) -> RefreshOutcome {
        let before = self.grants.unsaved.lock().get(&self.key()).cloned();
        let mut all_used = before.map_or_else(Vec::new, |unsaved| unsaved.used);
        all_used.push(used);
        let unsaved = UnsavedTokens {
            tokens: new.clone(),
            used: all_used,
            state,
            has_writer: true,
        };
        for attempt in 0..WRITES {
            if let Some(held) = self.write(&stored, &unsaved).await? {
                self.grants.unsaved.lock().remove(&self.key());
                return Ok(held);
            }
            sleep(Duration::from_millis(50 << attempt)).await;
        }
        tracing::warn!(
            agent = ?self.agent, toolset = ?self.tool,
            "failed to store a refreshed token because the agent store is down; it is written when the store is back"
        );
        let before = self.grants.unsaved.lock().insert(self.key(), unsaved);
        if !before.is_some_and(|before| before.has_writer) {
            self.grants.tasks.spawn(Arc::clone(self).save_later());
        }
        Ok(HeldTokens::fresh(new))
    }

    /// Writes unsaved tokens until it succeeds. After `Agents::close` it gives up after a few more
    /// attempts.
    async fn save_later(self: Arc<Self>) {
        let mut last_writes = 0;
        while last_writes < LAST_WRITES {
            sleep(WRITE_PAUSE).await;
            last_writes += u32::from(self.grants.tasks.is_closed());
            if self.save_unsaved().await {
                return;
            }
        }
        if let Some(unsaved) = self.grants.unsaved.lock().get_mut(&self.key()) {
            unsaved.has_writer = false;
        }
        tracing::error!(
            agent = ?self.agent, toolset = ?self.tool,
            "failed to store a refreshed token before the program ends; a person may have to connect the toolset again"
        );
    }

    /// Returns true if no tokens are left to write.
    async fn save_unsaved(&self) -> bool {
        let unsaved = self.grants.unsaved.lock().get(&self.key()).cloned();
        let Some(new) = unsaved else { return true };
        let is_settled = match self.stored().await {
            Ok(Some(stored))
                if stored.bound == self.bound && holds_one_of(&stored.tokens, &new.used) =>
            {
                !matches!(self.write(&stored, &new).await, Ok(None))
            }
            // A person has granted access again, or removed the grant.
            Ok(_) => true,
            Err(_) => false,
        };
        let mut unsaved = self.grants.unsaved.lock();
        // A refresh in the meantime may have left newer tokens.
        if is_settled
            && unsaved
                .get(&self.key())
                .is_some_and(|now| now.tokens.access.expose() == new.tokens.access.expose())
        {
            unsaved.remove(&self.key());
        }
        !unsaved.contains_key(&self.key())
    }

    /// Writes the tokens once. Returns `None` if the store is down, after an attempt to extend the
    /// lease.
    async fn write(
        &self,
        stored: &StoredTokens,
        new: &UnsavedTokens,
    ) -> Result<Option<HeldTokens>, TokenFailure> {
        let written = timeout(STORE_TIMEOUT, self.replace(stored, new))
            .await
            .unwrap_or(Ok(None));
        if matches!(written, Ok(None)) {
            _ = self.lease().await;
        }
        written
    }

    /// Replaces the tokens, again if the record changed and still holds the same grant, for example
    /// under another key.
    async fn replace(
        &self,
        stored: &StoredTokens,
        new: &UnsavedTokens,
    ) -> Result<Option<HeldTokens>, TokenFailure> {
        let Grants { store, keys, .. } = &*self.grants;
        let mut secrets = stored.secrets.clone();
        let mut from = stored.sealed.clone();
        let mut bound = stored.bound.clone();
        loop {
            let changed = new
                .tokens
                .put_into(&secrets)
                .and_then(|secrets| new.state.put_into(&secrets));
            let changed =
                changed.ok_or_else(|| self.needs_person("its secrets are not a JSON object"))?;
            let sealed = keys
                .seal(&self.agent, &self.tool, &bound, &changed)
                .map_err(|error| self.failure(error))?;
            match store
                .replace_secrets(&self.agent, &self.tool, &from, &sealed)
                .await
            {
                Ok(true) => return Ok(Some(HeldTokens::fresh(new.tokens.clone()))),
                Ok(false) => {}
                Err(_) => return Ok(None),
            }
            // An earlier write may have taken effect although its answer was lost, or a person has
            // granted access again. Either way the tokens in the record are valid.
            let Ok(now) = self.stored().await else {
                return Ok(None);
            };
            let now = self.of_same_destination(now)?;
            if !holds_one_of(&now.tokens, &new.used)
                || now.tokens.access.expose() == new.tokens.access.expose()
            {
                return Ok(Some(HeldTokens::fresh(now.tokens)));
            }
            (secrets, from, bound) = (now.secrets, now.sealed, now.bound);
        }
    }
}

/// Removes the tokens from a text of the OAuth 2 client.
fn without_tokens(text: &str, tokens: &Tokens) -> String {
    let secrets = [Some(&tokens.access), tokens.refresh.as_ref()]
        .into_iter()
        .flatten();
    let secrets = secrets.filter(|token| !token.is_empty());
    let text = secrets.fold(text.to_owned(), |text, token| {
        text.replace(token.expose(), "[secret]")
    });
    Redaction::new().text(&text)
}

/// Returns true if the refresh token is one of those that were used.
fn holds_one_of(tokens: &Tokens, used: &[Secret]) -> bool {
    tokens
        .refresh
        .as_ref()
        .is_some_and(|token| used.iter().any(|used| used.expose() == token.expose()))
}
