//! One refresh of a grant at a time.

use crate::agents::grant::{Held, Of, Row, Unsaved};
use crate::agents::tokens::{RefreshError, Tokens};
use crate::call::error::ToolError;
use crate::text;
use crate::tool::configure::secret::Secret;
use crate::trace::redaction::Redaction;
use futures_util::FutureExt;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

/// How long a provider may take.
const PROVIDER: Duration = Duration::from_secs(20);
/// How long the store may take for one thing that is asked of it.
pub(crate) const STORE: Duration = Duration::from_secs(5);
/// How long nobody else refreshes: longer than the provider and a write may take. It is taken anew before the provider
/// is asked, and when a write fails.
pub(crate) const LEASE: Duration = Duration::from_secs(30);
/// How long to wait for another process that refreshes: longer than its lease, should it have been killed.
const OTHERS: Duration = Duration::from_secs(40);
/// Between two looks at what the other one does, at first and at most.
const LOOK: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

/// How long a failed refresh is not tried again while the old token is good.
const REST: Duration = Duration::from_secs(10);

/// Why there is no new token.
#[derive(Clone)]
pub(crate) struct Failed {
    pub(crate) error: ToolError,
    /// The grant is gone, so that the old token is worth nothing either.
    pub(crate) lost: bool,
}

type Outcome = Result<Held, Failed>;
type Seen = watch::Receiver<Option<Outcome>>;

/// A refresh that is under way.
#[derive(Clone)]
pub(crate) struct Running {
    pub(crate) since: Instant,
    seen: Seen,
}

/// The refreshes of this process that are under way, by agent and toolset.
#[derive(Default)]
pub(crate) struct Refreshes {
    running: Mutex<HashMap<Key, Running>>,
    /// When the last refresh failed, of those that failed last.
    failed: Mutex<HashMap<Key, Instant>>,
    /// Tokens that the store did not take yet.
    unsaved: Mutex<HashMap<Key, Unsaved>>,
    /// What no other process calls itself.
    holder: OnceLock<String>,
}

pub(crate) type Key = (String, String);

impl Refreshes {
    fn running(&self) -> MutexGuard<'_, HashMap<Key, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self) -> MutexGuard<'_, HashMap<Key, Instant>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers how a refresh went.
    fn note(&self, key: Key, outcome: &Outcome) {
        let mut failed = self.failed();
        match outcome {
            Err(why) if !why.lost => _ = failed.insert(key, Instant::now()),
            _ => _ = failed.remove(&key),
        }
        // Those that nobody asks for any more.
        if failed.len() > 10_000 {
            failed.retain(|_, at| at.elapsed() < REST);
        }
    }

    pub(crate) fn unsaved(&self) -> MutexGuard<'_, HashMap<Key, Unsaved>> {
        self.unsaved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn holder(&self) -> Result<&str, Failed> {
        if self.holder.get().is_none() {
            let mut bytes = [0; 16];
            getrandom::fill(&mut bytes).map_err(|_| transient("the system gave no random bytes"))?;
            _ = self.holder.set(text::hex(&bytes));
        }
        Ok(self.holder.get().map_or("", String::as_str))
    }
}

/// Takes a refresh off the list, also where its task panicked or its runtime went away.
struct Listed(Arc<Of>);

impl Drop for Listed {
    fn drop(&mut self) {
        self.0.refreshes.running().remove(&self.0.key());
    }
}

impl Running {
    /// What comes of it.
    pub(crate) async fn outcome(mut self) -> Outcome {
        let outcome = self.seen.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
        // Its runtime was shut down.
        outcome.unwrap_or_else(|| Err(transient("the refresh of the token was broken off")))
    }
}

/// The refresh that is under way, or one that begins now.
pub(crate) fn joined(of: &Arc<Of>, known: &Held) -> Result<Running, Failed> {
    let mut all = of.refreshes.running();
    if let Some(running) = all.get(&of.key()) {
        return Ok(running.clone());
    }
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return Err(transient("a token is refreshed on a tokio runtime, and there is none"));
    };
    let (tell, seen) = watch::channel(None);
    let running = Running { since: Instant::now(), seen };
    all.insert(of.key(), running.clone());
    drop(all);
    let (listed, of, known) = (Listed(Arc::clone(of)), Arc::clone(of), known.clone());
    let tasks = of.tasks.clone();
    let refresh = async move {
        let outcome = of.refresh(&known).await;
        of.refreshes.note(of.key(), &outcome);
        // Off the list first: whoever asks after it was told begins another.
        drop(listed);
        tell.send_replace(Some(outcome));
    };
    tasks.spawn_on(refresh, &runtime);
    Ok(running)
}

impl Of {
    /// Whether the last refresh has just failed.
    pub(crate) fn rests(&self) -> bool {
        self.refreshes.failed().get(&self.key()).is_some_and(|at| at.elapsed() < REST)
    }

    pub(crate) fn key(&self) -> Key {
        (self.agent.clone(), self.tool.clone())
    }

    /// New tokens: those in the record, where somebody has put new ones there, or else the provider's.
    async fn refresh(self: &Arc<Self>, known: &Held) -> Outcome {
        let (until, mut look) = (Instant::now() + OTHERS, LOOK.0);
        loop {
            let row = self.row().await?;
            if let Some(found) = self.answer_without_provider(&row, known)? {
                return Ok(found);
            }
            if self.leased().await?
                && let Some(outcome) = self.refresh_alone(known).await
            {
                // Nobody else may use the refresh token that still stands in the record.
                if !self.refreshes.unsaved().contains_key(&self.key()) {
                    // Where this fails, the lease ends by itself.
                    let released = self.store.release(&self.agent, &self.tool, self.refreshes.holder()?);
                    _ = timeout(STORE, released).await;
                }
                return outcome;
            }
            if Instant::now() >= until || self.tasks.is_closed() {
                return Err(transient("another process refreshes the token, and does not get done"));
            }
            sleep(look).await;
            look = (look * 2).min(LOOK.1);
        }
    }

    /// Whether nobody else refreshes from now on, for as long as a lease lasts.
    pub(crate) async fn leased(&self) -> Result<bool, Failed> {
        let leased = self.store.lease(&self.agent, &self.tool, self.refreshes.holder()?, LEASE);
        timeout(STORE, leased).await.map_err(|_| slow())?.map_err(|error| self.failed(error))
    }

    /// What needs no provider: tokens that are new, or nothing to refresh with.
    fn answer_without_provider(&self, row: &Row, known: &Held) -> Result<Option<Held>, Failed> {
        if let Some(found) = Held::newer(&row.tokens, known) {
            return Ok(Some(found));
        }
        if row.tokens.refresh.is_none() {
            let found = Held::fresh(row.tokens.clone());
            return match found.left() {
                Some(_) => Ok(Some(found)),
                None => Err(self.person("its token has expired, and there is none to refresh it with")),
            };
        }
        Ok(None)
    }

    /// Asks the provider, while nobody else does. The record is read again: somebody may just have finished. Nothing
    /// where the lease has gone to another meanwhile.
    async fn refresh_alone(self: &Arc<Self>, known: &Held) -> Option<Outcome> {
        let asked = async {
            let row = self.row().await?;
            if let Some(found) = self.answer_without_provider(&row, known)? {
                return Ok(Some(found));
            }
            let Some(used) = row.tokens.refresh.clone() else { return Err(self.person("it has no refresh token")) };
            if !self.leased().await? {
                return Ok(None);
            }
            let held = match self.ask(&used).await {
                Ok(new) => {
                    let new = new.after(&row.tokens);
                    self.save(row, used, new).await
                }
                Err(error) => self.told(&row, &used, error).await,
            };
            held.map(Some)
        };
        asked.await.transpose()
    }

    /// The provider's answer, which comes in time and without a panic.
    async fn ask(&self, used: &Secret) -> Result<Tokens, RefreshError> {
        let Some(refresher) = &self.refresher else {
            let why = "there is no OAuth 2 client; give one to `Agents::builder(..).oauth2(..)`";
            return Err(RefreshError::Refused(why.into()));
        };
        // The call itself may panic, and its future.
        let asked = async { refresher.refresh(&self.grant, used).await };
        match timeout(PROVIDER, AssertUnwindSafe(asked).catch_unwind()).await {
            Ok(Ok(Ok(new))) if new.access.is_empty() => Err(RefreshError::Transient("the new token is empty".into())),
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(RefreshError::Transient("what refreshes tokens has panicked".into())),
            Err(_) => Err(RefreshError::Transient(format!("no answer within {} s", PROVIDER.as_secs()))),
        }
    }

    /// What a failure means. A token that was used up may have been so by somebody whose lease had ended.
    async fn told(&self, row: &Row, used: &Secret, error: RefreshError) -> Outcome {
        let clean = |text: &str| scrubbed(text, &row.tokens);
        match error {
            RefreshError::Transient(_) => Err(transient(&clean(&error.to_string()))),
            RefreshError::Refused(_) => Err(Failed { error: ToolError::auth(clean(&error.to_string())), lost: false }),
            RefreshError::Revoked(why) => {
                let now = self.row().await?;
                let other = now.tokens.refresh.as_ref().is_none_or(|token| token.expose() != used.expose());
                let found = Held::fresh(now.tokens);
                if other && found.left().is_some() {
                    return Ok(found);
                }
                let failed = self.person(&format!("the grant is no longer good ({})", clean(&why)));
                Err(Failed { lost: true, ..failed })
            }
        }
    }
}

pub(crate) fn transient(why: &str) -> Failed {
    Failed { error: ToolError::transient(why), lost: false }
}

pub(crate) fn slow() -> Failed {
    transient("the store does not answer in time")
}

/// A text without the tokens, should whoever wrote it have put one in.
fn scrubbed(text: &str, tokens: &Tokens) -> String {
    let known = [Some(&tokens.access), tokens.refresh.as_ref()];
    let known = known.into_iter().flatten().filter(|token| !token.is_empty());
    let text = known.fold(text.to_owned(), |text, token| text.replace(token.expose(), "[secret]"));
    Redaction::new().text(&text)
}
