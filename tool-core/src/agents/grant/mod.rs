//! The grant of a record: an access token that is good whenever it is asked for.
//!
//! A token is refreshed a minute before it expires: once in this process, however many ask ([`Refreshes`]), and once
//! among all processes that share the store (its lease). What comes of it is written over the old tokens in the
//! record, which changes no version. A grant that somebody wrote in the meantime wins over a refreshed one.
//!
//! A refresh runs in a task of its own, so that a caller who goes away loses no token. What can be lost: a provider that
//! gives a new refresh token with each refresh has taken back the old one when it answers, and a process that is killed
//! between that answer and the write has lost the new one. Nothing is done between the two but sealing; still, whoever
//! is struck has to connect again. A store that is down in that moment is asked again until it is there, and the program's
//! end waits for that a few tries long.

mod held;
mod refresh;
mod row;
mod save;

#[cfg(test)]
mod tests;

use super::{AgentToolStore, Keyring, Shared, TokenRefresher, Tokens};
use crate::Timestamp;
use crate::configure::{OAuth2, Secret, SecretDocument, TokenSource};
use crate::response::ToolError;
use held::Held;
pub(super) use refresh::Refreshes;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

/// How long before it expires a token is refreshed, unless it lives shorter than twice that.
const BEFORE: Duration = Duration::from_mins(1);
/// How long callers wait for a refresh while the old token is still good, from its beginning on.
const PATIENCE: Duration = Duration::from_secs(5);

/// The grant of a record, which keeps its access token good.
pub(super) struct Grant {
    of: Arc<Of>,
    held: Mutex<Held>,
    taken: AtomicBool,
}

/// Whose grant it is, and what refreshing it takes. Not all of `Shared`, whose cache holds the toolsets that hold this.
struct Of {
    agent: String,
    tool: String,
    grant: OAuth2,
    store: Arc<dyn AgentToolStore>,
    keys: Keyring,
    refresher: Option<Arc<dyn TokenRefresher>>,
    refreshes: Arc<Refreshes>,
    /// What has to be done before the program ends.
    tasks: TaskTracker,
}

/// The grant whose tokens are among these secrets of a record; nothing where there are none.
pub(super) fn source(
    shared: &Arc<Shared>,
    agent: &str,
    tool: &str,
    grant: &OAuth2,
    secrets: &SecretDocument,
) -> Option<Arc<Grant>> {
    let of = Of {
        agent: agent.to_owned(),
        tool: tool.to_owned(),
        grant: grant.clone(),
        store: Arc::clone(&shared.store),
        keys: shared.keys.clone(),
        refresher: shared.refresher.clone(),
        refreshes: Arc::clone(&shared.refreshes),
        tasks: shared.tasks.clone(),
    };
    let held = Mutex::new(Held::found(Tokens::of(secrets)?));
    Some(Arc::new(Grant { of: Arc::new(of), held, taken: AtomicBool::new(false) }))
}

impl Grant {
    /// Whether an [`AccessToken`](crate::AccessToken) follows it. Otherwise the toolset holds a copy of the token, which
    /// is good until [`expires_at`](Self::expires_at).
    pub(super) fn taken(&self) -> bool {
        self.taken.load(Ordering::Acquire)
    }

    /// When the token expires that it holds now, where that is known.
    pub(super) fn expires_at(&self) -> Option<Timestamp> {
        self.held().tokens.expires_at
    }

    /// Whether the next who asks will have it refreshed.
    pub(super) fn is_due(&self) -> bool {
        self.held().is_due()
    }

    /// The secrets with the tokens that it holds now: what a toolset is built of after a refresh.
    pub(super) fn document(&self, secrets: &SecretDocument) -> SecretDocument {
        let tokens = self.held().tokens;
        tokens.put_into(secrets).unwrap_or_else(|| secrets.clone())
    }

    fn held(&self) -> Held {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Refreshed, or read anew where somebody else has refreshed it; or the old one, as long as it is good.
    async fn refreshed(&self, held: &Held) -> Result<Secret, ToolError> {
        let old = || Ok(held.tokens.access.clone());
        if held.left().is_some() && self.of.rests() {
            return old();
        }
        let running = refresh::joined(&self.of, held);
        let outcome = match (running, held.left()) {
            (Err(failed), _) => Err(failed),
            (Ok(running), None) => running.outcome().await,
            (Ok(running), Some(left)) => {
                let patience = PATIENCE.saturating_sub(running.since.elapsed());
                match timeout(left.min(patience), running.outcome()).await {
                    Ok(outcome) => outcome,
                    // It goes on, and who asks after its end has the new one.
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
            Err(failed) if held.left().is_some() && !failed.lost => old(),
            Err(failed) => Err(failed.error),
        }
    }
}

impl TokenSource for Grant {
    fn token(&self) -> Pin<Box<dyn Future<Output = Result<Secret, ToolError>> + Send + '_>> {
        let held = self.held();
        if !held.is_due() {
            return Box::pin(std::future::ready(Ok(held.tokens.access)));
        }
        Box::pin(async move { self.refreshed(&held).await })
    }

    fn follow(&self) {
        self.taken.store(true, Ordering::Release);
    }
}
