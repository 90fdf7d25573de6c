//! The grant of a record: an access token that is valid whenever it is asked for.
//!
//! A token is refreshed by one task at a time in this process, and by one process at a time among all that share the store.
//! A refresh runs in its own task, so that a caller that goes away loses no token. Tokens are lost only if the process is
//! killed between the provider's answer and the write: some providers revoke the old refresh token when they answer.

use crate::agents::grant_record::{GrantRecord, RefreshOutcome, RunningRefresh, StoredTokens};
use crate::agents::tokens::{HeldTokens, RefreshError, TokenFailure, Tokens};
use crate::call::error::ToolError;
use crate::schema::timestamp::Timestamp;
use crate::tool::{Secret, SecretDocument, TokenSource};
use crate::trace::redaction::Redaction;
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout};

/// Longest time, from the beginning of a refresh, that callers wait for it while the old token is valid.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Longest time for the provider's answer.
const PROVIDER_TIMEOUT: Duration = Duration::from_secs(20);
/// Longest time to wait for another process: longer than its lease, because it may have been killed.
const OTHERS_TIMEOUT: Duration = Duration::from_secs(40);
/// First and longest pause between two looks at the progress of another process.
const POLL: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// Pause after a failed refresh while the old token is valid.
const RETRY_AFTER: Duration = Duration::from_secs(10);
/// Number of failures after which expired ones are dropped from the list.
const MAX_FAILURES: usize = 10_000;

/// The grant of a record, which refreshes its access token.
pub(crate) struct Grant {
    record: Arc<GrantRecord>,
    held: Mutex<HeldTokens>,
    is_followed: AtomicBool,
}

impl Grant {
    /// Returns the grant whose tokens are among the secrets of a record, or `None` if there are none.
    pub(crate) fn new(record: GrantRecord, secrets: &SecretDocument) -> Option<Arc<Self>> {
        let held = Mutex::new(HeldTokens::stored(Tokens::of(secrets)?));
        Some(Arc::new(Self { record: Arc::new(record), held, is_followed: AtomicBool::new(false) }))
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
        self.expires_at().is_some_and(|at| *at <= jiff::Timestamp::now())
    }

    /// Returns true if the next caller of `token` begins a refresh.
    pub(crate) fn is_due(&self) -> bool {
        self.held().is_due()
    }

    /// Returns the secrets with the current tokens, to configure a toolset after a refresh.
    pub(crate) fn put_into(&self, secrets: &SecretDocument) -> SecretDocument {
        self.held().tokens.put_into(secrets).unwrap_or_else(|| secrets.clone())
    }

    fn held(&self) -> HeldTokens {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for a refresh. Returns the old token if it is still valid and the refresh fails or takes long.
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
                *self.held.lock().unwrap_or_else(PoisonError::into_inner) = new;
                Ok(access)
            }
            Err(failure) if held.valid_for().is_some() && !failure.revoked => old(),
            Err(failure) => Err(failure.error),
        }
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

    fn follow(&self) {
        self.is_followed.store(true, Ordering::Release);
    }
}

/// Removes a refresh from the list, also if its task panicked or its runtime was shut down.
struct Unlist(Arc<GrantRecord>);

impl Drop for Unlist {
    fn drop(&mut self) {
        self.0.grants.running().remove(&self.0.key());
    }
}

impl GrantRecord {
    /// Returns true if the last refresh failed a moment ago.
    fn failed_recently(&self) -> bool {
        self.grants.failed_at().get(&self.key()).is_some_and(|at| at.elapsed() < RETRY_AFTER)
    }

    /// Joins the running refresh of this grant, or begins one.
    fn join(self: &Arc<Self>, known: &HeldTokens) -> Result<RunningRefresh, TokenFailure> {
        let mut all = self.grants.running();
        if let Some(running) = all.get(&self.key()) {
            return Ok(running.clone());
        }
        let Ok(runtime) = Handle::try_current() else {
            return Err(TokenFailure::transient("refreshing a token requires a tokio runtime, and there is none"));
        };
        let (unlist, record, known) = (Unlist(Arc::clone(self)), Arc::clone(self), known.clone());
        let refresh = async move {
            // Dropped before the outcome is known, so that a caller who has it can begin another refresh.
            let _unlist = unlist;
            let outcome = record.refresh(&known).await;
            record.note_outcome(&outcome);
            outcome
        };
        let refresh = self.grants.tasks.spawn_on(refresh, &runtime);
        let interrupted = |_| Err(TokenFailure::transient("the refresh of the token was interrupted"));
        let outcome = async move { refresh.await.unwrap_or_else(interrupted) };
        let running = RunningRefresh { since: Instant::now(), outcome: outcome.boxed().shared() };
        all.insert(self.key(), running.clone());
        Ok(running)
    }

    fn note_outcome(&self, outcome: &RefreshOutcome) {
        let mut failed_at = self.grants.failed_at();
        match outcome {
            Err(failure) if !failure.revoked => _ = failed_at.insert(self.key(), Instant::now()),
            _ => _ = failed_at.remove(&self.key()),
        }
        if failed_at.len() > MAX_FAILURES {
            failed_at.retain(|_, at| at.elapsed() < RETRY_AFTER);
        }
    }

    /// Returns new tokens: those in the record if another process has put new ones there, or else the provider's.
    async fn refresh(self: &Arc<Self>, known: &HeldTokens) -> RefreshOutcome {
        let (deadline, mut pause) = (Instant::now() + OTHERS_TIMEOUT, POLL.0);
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
                return Err(TokenFailure::transient(
                    "another process refreshes the token and has not finished in time",
                ));
            }
            sleep(pause).await;
            pause = (pause * 2).min(POLL.1);
        }
    }

    /// Returns the outcome if the provider need not be asked: the record has newer tokens, or no refresh token.
    fn without_provider(&self, stored: &StoredTokens, known: &HeldTokens) -> Option<RefreshOutcome> {
        let held = HeldTokens::fresh(stored.tokens.clone());
        let is_valid = held.valid_for().is_some();
        let is_other = stored.tokens.access.expose() != known.tokens.access.expose();
        if is_valid && (is_other || stored.tokens.refresh.is_none()) {
            return Some(Ok(held));
        }
        let expired = || self.needs_person("its token has expired, and there is no refresh token");
        stored.tokens.refresh.is_none().then(|| Err(expired()))
    }

    /// Asks the provider, while this process has the lease. Returns `None` if another process has got the lease.
    async fn refresh_alone(self: &Arc<Self>, known: &HeldTokens) -> Option<RefreshOutcome> {
        let attempt = async {
            // Read again, because another process may have finished just before the lease was acquired.
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
                    self.save(stored, used, new).await
                }
                Err(error) => self.refused(&stored.tokens, &used, error).await,
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
        let answer = AssertUnwindSafe(async { refresher.refresh(&self.grant, used).await }).catch_unwind();
        match timeout(PROVIDER_TIMEOUT, answer).await {
            Ok(Ok(Ok(new))) if new.access.is_empty() => Err(RefreshError::Transient("the new token is empty".into())),
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(RefreshError::Transient("the OAuth 2 client panicked".into())),
            Err(_) => Err(RefreshError::Transient(format!("no answer within {} s", PROVIDER_TIMEOUT.as_secs()))),
        }
    }

    /// Turns the provider's refusal into a failure.
    async fn refused(&self, tokens: &Tokens, used: &Secret, error: RefreshError) -> RefreshOutcome {
        match error {
            RefreshError::Transient(_) => Err(TokenFailure::transient(without_tokens(&error.to_string(), tokens))),
            RefreshError::Refused(_) => Err(TokenFailure::auth(without_tokens(&error.to_string(), tokens))),
            RefreshError::Revoked(reason) => {
                // A process whose lease had expired may have used the token, and stored what it got.
                let now = self.current().await?.tokens;
                let is_other = now.refresh.as_ref().is_none_or(|token| token.expose() != used.expose());
                let held = HeldTokens::fresh(now);
                if is_other && held.valid_for().is_some() {
                    return Ok(held);
                }
                let reason = format!("the grant is no longer valid ({})", without_tokens(&reason, tokens));
                Err(TokenFailure { revoked: true, ..self.needs_person(&reason) })
            }
        }
    }
}

/// Removes the tokens from a text of the OAuth 2 client.
fn without_tokens(text: &str, tokens: &Tokens) -> String {
    let secrets = [Some(&tokens.access), tokens.refresh.as_ref()].into_iter().flatten();
    let secrets = secrets.filter(|token| !token.is_empty());
    let text = secrets.fold(text.to_owned(), |text, token| text.replace(token.expose(), "[secret]"));
    Redaction::new().text(&text)
}
