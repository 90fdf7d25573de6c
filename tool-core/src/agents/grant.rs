//! The grant of a record: an access token that is valid whenever it is asked for.

use crate::agents::refresh::RefreshableGrant;
use crate::agents::tokens::{HeldTokens, Tokens};
use crate::call::error::ToolError;
use crate::schema::timestamp::Timestamp;
use crate::tool::configure::secret::Secret;
use crate::tool::configure::secret::TokenSource;
use crate::tool::configure::secret_document::SecretDocument;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::timeout;

/// Longest time, from the beginning of a refresh, that callers wait for it while the old token is valid.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// The grant of a record, which refreshes its access token.
pub(crate) struct Grant {
    refreshable: Arc<RefreshableGrant>,
    held: Mutex<HeldTokens>,
    is_followed: AtomicBool,
}

impl Grant {
    /// Returns the grant whose tokens are among the secrets of a record, or `None` if there are none.
    pub(crate) fn new(refreshable: RefreshableGrant, secrets: &SecretDocument) -> Option<Arc<Self>> {
        let held = Mutex::new(HeldTokens::stored(Tokens::of(secrets)?));
        Some(Arc::new(Self { refreshable: Arc::new(refreshable), held, is_followed: AtomicBool::new(false) }))
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
        if valid_for.is_some() && self.refreshable.failed_recently() {
            return old();
        }
        let outcome = match (self.refreshable.join(&held), valid_for) {
            (Err(failure), _) => Err(failure),
            (Ok(running), None) => running.outcome().await,
            (Ok(running), Some(valid_for)) => {
                let patience = PATIENCE.saturating_sub(running.since.elapsed());
                match timeout(valid_for.min(patience), running.outcome()).await {
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
