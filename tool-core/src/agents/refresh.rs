//! Refreshing a grant: one refresh at a time in this process, and one at a time among all processes that share the store.
//!
//! A refresh runs in its own task, so that a caller that goes away loses no token. Tokens are lost only if the process is
//! killed between the provider's answer and the write: some providers revoke the old refresh token when they answer.

use crate::agents::grant_record::{GrantKey, GrantRecord, StoredTokens};
use crate::agents::tokens::{HeldTokens, RefreshError, TokenFailure, TokenRefresher, Tokens};
use crate::tool::auth::OAuth2;
use crate::tool::configure::secret::Secret;
use crate::trace::redaction::Redaction;
use futures_util::FutureExt;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

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

type Outcome = Result<HeldTokens, TokenFailure>;

/// The refreshes of a process.
pub(crate) struct Refreshes {
    refresher: Option<Arc<dyn TokenRefresher>>,
    running: Mutex<HashMap<GrantKey, RunningRefresh>>,
    failed_at: Mutex<HashMap<GrantKey, Instant>>,
}

/// A refresh that has begun.
#[derive(Clone)]
pub(crate) struct RunningRefresh {
    pub(crate) since: Instant,
    outcome: watch::Receiver<Option<Outcome>>,
}

/// A grant and the means to refresh it.
pub(crate) struct RefreshableGrant {
    pub(crate) record: Arc<GrantRecord>,
    pub(crate) grant: OAuth2,
    pub(crate) refreshes: Arc<Refreshes>,
}

/// Removes a refresh from the list, also if its task panicked or its runtime was shut down.
struct Unlist(Arc<RefreshableGrant>);

impl Drop for Unlist {
    fn drop(&mut self) {
        self.0.refreshes.running().remove(&self.0.record.key());
    }
}

impl Refreshes {
    pub(crate) fn new(refresher: Option<Arc<dyn TokenRefresher>>) -> Self {
        Self { refresher, running: Mutex::default(), failed_at: Mutex::default() }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<GrantKey, RunningRefresh>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed_at(&self) -> MutexGuard<'_, HashMap<GrantKey, Instant>> {
        self.failed_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record_outcome(&self, key: GrantKey, outcome: &Outcome) {
        let mut failed_at = self.failed_at();
        match outcome {
            Err(failure) if !failure.revoked => _ = failed_at.insert(key, Instant::now()),
            _ => _ = failed_at.remove(&key),
        }
        if failed_at.len() > MAX_FAILURES {
            failed_at.retain(|_, at| at.elapsed() < RETRY_AFTER);
        }
    }
}

impl RunningRefresh {
    /// Waits for the outcome.
    pub(crate) async fn outcome(mut self) -> Outcome {
        let outcome = self.outcome.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
        outcome.unwrap_or_else(|| Err(TokenFailure::transient("the refresh of the token was interrupted")))
    }
}

impl RefreshableGrant {
    /// Returns true if the last refresh failed a moment ago.
    pub(crate) fn failed_recently(&self) -> bool {
        self.refreshes.failed_at().get(&self.record.key()).is_some_and(|at| at.elapsed() < RETRY_AFTER)
    }

    /// Joins the running refresh of this grant, or begins one.
    pub(crate) fn join(self: &Arc<Self>, known: &HeldTokens) -> Result<RunningRefresh, TokenFailure> {
        let mut all = self.refreshes.running();
        if let Some(running) = all.get(&self.record.key()) {
            return Ok(running.clone());
        }
        let Ok(runtime) = Handle::try_current() else {
            return Err(TokenFailure::transient("refreshing a token requires a tokio runtime, and there is none"));
        };
        let (sender, outcome) = watch::channel(None);
        let running = RunningRefresh { since: Instant::now(), outcome };
        all.insert(self.record.key(), running.clone());
        drop(all);
        let (unlist, grant, known) = (Unlist(Arc::clone(self)), Arc::clone(self), known.clone());
        let refresh = async move {
            let outcome = grant.refresh(&known).await;
            grant.refreshes.record_outcome(grant.record.key(), &outcome);
            // Before the outcome is sent, so that a caller who has it can begin another refresh.
            drop(unlist);
            sender.send_replace(Some(outcome));
        };
        self.record.shared.tasks.spawn_on(refresh, &runtime);
        Ok(running)
    }

    /// Returns new tokens: those in the record if another process has put new ones there, or else the provider's.
    async fn refresh(&self, known: &HeldTokens) -> Outcome {
        let (deadline, mut pause) = (Instant::now() + OTHERS_TIMEOUT, POLL.0);
        loop {
            let stored = self.record.current().await?;
            if let Some(outcome) = self.without_provider(&stored, known) {
                return outcome;
            }
            if self.record.lease().await?
                && let Some(outcome) = self.refresh_alone(known).await
            {
                self.record.release().await;
                return outcome;
            }
            if Instant::now() >= deadline || self.record.shared.tasks.is_closed() {
                return Err(TokenFailure::transient(
                    "another process refreshes the token and has not finished in time",
                ));
            }
            sleep(pause).await;
            pause = (pause * 2).min(POLL.1);
        }
    }

    /// Returns the outcome if the provider need not be asked: the record has newer tokens, or no refresh token.
    fn without_provider(&self, stored: &StoredTokens, known: &HeldTokens) -> Option<Outcome> {
        let held = HeldTokens::fresh(stored.tokens.clone());
        let is_valid = held.valid_for().is_some();
        let is_other = stored.tokens.access.expose() != known.tokens.access.expose();
        if is_valid && (is_other || stored.tokens.refresh.is_none()) {
            return Some(Ok(held));
        }
        let expired = || self.record.needs_person("its token has expired, and there is no refresh token");
        stored.tokens.refresh.is_none().then(|| Err(expired()))
    }

    /// Asks the provider, while this process has the lease. Returns `None` if another process has got the lease.
    async fn refresh_alone(&self, known: &HeldTokens) -> Option<Outcome> {
        let attempt = async {
            // Read again, because another process may have finished just before the lease was acquired.
            let stored = self.record.current().await?;
            if let Some(outcome) = self.without_provider(&stored, known) {
                return outcome.map(Some);
            }
            let used = stored.tokens.refresh.clone();
            let used = used.ok_or_else(|| self.record.needs_person("it has no refresh token"))?;
            if !self.record.lease().await? {
                return Ok(None);
            }
            let held = match self.ask_provider(&used).await {
                Ok(new) => {
                    let new = new.or(&stored.tokens);
                    self.record.save(stored, used, new).await
                }
                Err(error) => self.refused(&stored.tokens, &used, error).await,
            };
            held.map(Some)
        };
        attempt.await.transpose()
    }

    /// Asks the provider, with a timeout and a guard against panics.
    async fn ask_provider(&self, used: &Secret) -> Result<Tokens, RefreshError> {
        let Some(refresher) = &self.refreshes.refresher else {
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
    async fn refused(&self, tokens: &Tokens, used: &Secret, error: RefreshError) -> Outcome {
        match error {
            RefreshError::Transient(_) => Err(TokenFailure::transient(without_tokens(&error.to_string(), tokens))),
            RefreshError::Refused(_) => Err(TokenFailure::auth(without_tokens(&error.to_string(), tokens))),
            RefreshError::Revoked(reason) => {
                // A process whose lease had expired may have used the token, and stored what it got.
                let now = self.record.current().await?.tokens;
                let is_other = now.refresh.as_ref().is_none_or(|token| token.expose() != used.expose());
                let held = HeldTokens::fresh(now);
                if is_other && held.valid_for().is_some() {
                    return Ok(held);
                }
                let reason = format!("the grant is no longer valid ({})", without_tokens(&reason, tokens));
                Err(TokenFailure { revoked: true, ..self.record.needs_person(&reason) })
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
