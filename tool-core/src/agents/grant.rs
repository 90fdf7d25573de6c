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

use crate::agents::error::{AgentError, AgentErrorKind};
use crate::agents::keys::{Keyring, SealedSecrets};
use crate::agents::refresh::{Failed, Refreshes, STORE, slow};
use crate::agents::store::AgentToolStore;
use crate::agents::tokens::{TokenRefresher, Tokens};
use crate::agents::{Shared, refresh};
use crate::call::error::ToolError;
use crate::schema::timestamp::Timestamp;
use crate::tool::auth::OAuth2;
use crate::tool::configure::access_token::TokenSource;
use crate::tool::configure::secret::{Secret, SecretDocument};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};
use tokio_util::task::TaskTracker;

/// How long before it expires a token is refreshed, unless it lives shorter than twice that.
const BEFORE: Duration = Duration::from_mins(1);
/// How long callers wait for a refresh while the old token is still good, from its beginning on.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// The grant of a record, which keeps its access token good.
pub(crate) struct Grant {
    of: Arc<Of>,
    held: Mutex<Held>,
    taken: AtomicBool,
}

/// Whose grant it is, and what refreshing it takes. Not all of `Shared`, whose cache holds the toolsets that hold this.
pub(crate) struct Of {
    pub(crate) agent: String,
    pub(crate) tool: String,
    pub(crate) grant: OAuth2,
    pub(crate) store: Arc<dyn AgentToolStore>,
    keys: Keyring,
    pub(crate) refresher: Option<Arc<dyn TokenRefresher>>,
    pub(crate) refreshes: Arc<Refreshes>,
    /// What has to be done before the program ends.
    pub(crate) tasks: TaskTracker,
}

/// The grant whose tokens are among these secrets of a record; nothing where there are none.
pub(crate) fn source(
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
    pub(crate) fn taken(&self) -> bool {
        self.taken.load(Ordering::Acquire)
    }

    /// When the token expires that it holds now, where that is known.
    pub(crate) fn expires_at(&self) -> Option<Timestamp> {
        self.held().tokens.expires_at
    }

    /// Whether the next who asks will have it refreshed.
    pub(crate) fn is_due(&self) -> bool {
        self.held().is_due()
    }

    /// The secrets with the tokens that it holds now: what a toolset is built of after a refresh.
    pub(crate) fn document(&self, secrets: &SecretDocument) -> SecretDocument {
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

// ---- Tokens and when they have to be refreshed.

/// Tokens that a process holds.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) tokens: Tokens,
    /// When to refresh them, by both clocks: one may be set, the other stands still while the machine sleeps.
    due: Option<(jiff::Timestamp, Instant)>,
}

impl Held {
    /// Tokens that were found: nobody knows how long they are meant to live.
    pub(crate) fn found(tokens: Tokens) -> Self {
        Self::with(tokens, |_| BEFORE)
    }

    /// Tokens that are new. Half their life is long enough before the end of those that live but a minute or two.
    pub(crate) fn fresh(tokens: Tokens) -> Self {
        Self::with(tokens, |left| BEFORE.min(left / 2))
    }

    fn with(tokens: Tokens, before: impl FnOnce(Duration) -> Duration) -> Self {
        let now = jiff::Timestamp::now();
        let due = tokens.expires_at.map(|at| {
            let left = until(*at, now);
            let wait = left.saturating_sub(before(left));
            (now.saturating_add(wait).unwrap_or(*at), Instant::now() + wait)
        });
        Self { tokens, due }
    }

    /// Whether it is time to refresh them.
    pub(crate) fn is_due(&self) -> bool {
        let due = |(wall, steady)| jiff::Timestamp::now() >= wall || Instant::now() >= steady;
        self.tokens.access.is_empty() || self.due.is_some_and(due)
    }

    /// How long the access token is still good; nothing where it is not.
    pub(crate) fn left(&self) -> Option<Duration> {
        if self.tokens.access.is_empty() {
            return None;
        }
        let left = self.tokens.expires_at.map_or(Duration::MAX, |at| until(*at, jiff::Timestamp::now()));
        Some(left).filter(|left| !left.is_zero())
    }

    /// These, if they are others than `known` and good.
    pub(crate) fn newer(tokens: &Tokens, known: &Self) -> Option<Self> {
        let other = tokens.access.expose() != known.tokens.access.expose();
        let found = Self::fresh(tokens.clone());
        (other && found.left().is_some()).then_some(found)
    }
}

fn until(at: jiff::Timestamp, now: jiff::Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or_default()
}

// ---- The tokens as they stand in the record.

/// The secrets of a record, sealed and opened, and the tokens among them.
pub(crate) struct Row {
    pub(crate) sealed: SealedSecrets,
    pub(crate) secrets: SecretDocument,
    pub(crate) tokens: Tokens,
}

impl Of {
    /// What the record holds now, and what the store did not take yet, as if it had.
    pub(crate) async fn row(&self) -> Result<Row, Failed> {
        let mut row = self.stored().await?.ok_or_else(|| self.not_connected())?;
        if let Some(unsaved) = self.refreshes.unsaved().get(&self.key())
            && unsaved.replaces(&row.tokens)
        {
            row.tokens = unsaved.tokens.clone();
        }
        Ok(row)
    }

    /// What stands in the record now; nothing where it is gone, or has no tokens.
    pub(crate) async fn stored(&self) -> Result<Option<Row>, Failed> {
        let record = timeout(STORE, self.store.get(&self.agent, &self.tool)).await.map_err(|_| slow())?;
        let record = record.map_err(|error| self.failed(error))?;
        let Some(sealed) = record.and_then(|record| record.secrets) else { return Ok(None) };
        let secrets = self.keys.open(&self.agent, &self.tool, &sealed).map_err(|error| self.failed(error))?;
        Ok(Tokens::of(&secrets).map(|tokens| Row { sealed, secrets, tokens }))
    }

    /// The store, or the keys: a token that is still good is good all the same.
    pub(crate) fn failed(&self, kind: impl Into<AgentErrorKind>) -> Failed {
        let kind = kind.into();
        let down = matches!(kind, AgentErrorKind::StoreDown(_));
        let text = AgentError::new(&self.agent, &self.tool, kind).to_string();
        let error = if down { ToolError::transient(text) } else { ToolError::auth(text) };
        Failed { error, lost: false }
    }

    /// Who holds a token already may use it as long as it is good: a record that goes ends no session.
    pub(crate) fn not_connected(&self) -> Failed {
        self.person("it has no tokens any more")
    }

    /// There will be no new token: nothing helps but a person.
    pub(crate) fn person(&self, why: &str) -> Failed {
        let (tool, provider) = (self.tool.escape_debug(), self.grant.provider.escape_debug());
        let text = format!("toolset `{tool}` has to be connected again to `{provider}` by a person: {why}");
        Failed { error: ToolError::auth(text), lost: false }
    }
}

// ---- Writing down what a provider gave.

/// How often a store that is down is asked while everybody waits: 50 ms, 100 ms, .. about 3 s in all.
const TRIES: u32 = 6;
/// And after that, how long between two tries: another process must not be there first when the store is back.
const LATER: Duration = Duration::from_secs(1);
/// How often when the program wants to end.
const LAST_TRIES: u32 = 5;

/// Tokens that the store did not take yet.
pub(crate) struct Unsaved {
    pub(crate) tokens: Tokens,
    /// The refresh tokens that are used up: that in the record is one of them, unless somebody has put another there.
    spent: Vec<Secret>,
    /// Whether a task is about to write them.
    in_hand: bool,
}

/// What became of a try.
enum Saved {
    Done(Held),
    /// The store is down.
    Down,
}

impl Unsaved {
    /// Whether a record that holds those tokens ought to hold these.
    pub(crate) fn replaces(&self, stored: &Tokens) -> bool {
        stored.refresh.as_ref().is_some_and(|token| is_among(&self.spent, token))
    }
}

fn is_among(spent: &[Secret], token: &Secret) -> bool {
    spent.iter().any(|spent| spent.expose() == token.expose())
}

impl Of {
    /// Puts new tokens into the record, in the place of those that they were made of. Where the store is down for
    /// longer, that goes on while the new token is used.
    pub(crate) async fn save(self: &Arc<Self>, row: Row, used: Secret, new: Tokens) -> Result<Held, Failed> {
        let mut spent = self.spent_for(&used);
        spent.push(used);
        for attempt in 0..TRIES {
            if let Saved::Done(held) = self.try_save(&row, &spent, &new).await? {
                self.refreshes.unsaved().remove(&self.key());
                return Ok(held);
            }
            sleep(Duration::from_millis(50 << attempt)).await;
        }
        tracing::warn!(
            agent = ?self.agent, tool = ?self.tool,
            "the store is down, and a refreshed token is only in memory; it is written when the store is back"
        );
        let unsaved = Unsaved { tokens: new.clone(), spent, in_hand: true };
        let before = self.refreshes.unsaved().insert(self.key(), unsaved);
        if !before.is_some_and(|before| before.in_hand) {
            self.tasks.spawn(Arc::clone(self).save_later());
        }
        Ok(Held::fresh(new))
    }

    /// The refresh tokens that were used up on the way to this one and may still stand in the record.
    fn spent_for(&self, used: &Secret) -> Vec<Secret> {
        let unsaved = self.refreshes.unsaved();
        let before = unsaved.get(&self.key()).filter(|before| {
            let last = before.tokens.refresh.as_ref();
            last.is_some_and(|last| last.expose() == used.expose())
        });
        before.map_or_else(Vec::new, |before| before.spent.clone())
    }

    /// Until there is nothing more to write. A program that ends waits for a few tries.
    async fn save_later(self: Arc<Self>) {
        let mut last_tries = 0;
        while last_tries < LAST_TRIES {
            sleep(LATER).await;
            last_tries += u32::from(self.tasks.is_closed());
            if self.save_once().await {
                return;
            }
        }
        if let Some(unsaved) = self.refreshes.unsaved().get_mut(&self.key()) {
            unsaved.in_hand = false;
        }
        tracing::error!(
            agent = ?self.agent, tool = ?self.tool,
            "the store is down as the program ends, and a refreshed token is lost; a person may have to connect again"
        );
    }

    /// Whether nothing is left to write.
    async fn save_once(&self) -> bool {
        let unsaved = self.refreshes.unsaved().get(&self.key()).map(|now| (now.tokens.clone(), now.spent.clone()));
        let Some((new, spent)) = unsaved else { return true };
        let saved = match self.stored().await {
            Ok(Some(row)) if row.tokens.refresh.as_ref().is_some_and(|token| is_among(&spent, token)) => {
                !matches!(self.try_save(&row, &spent, &new).await, Ok(Saved::Down))
            }
            // Somebody has written another grant, or has removed it.
            Ok(_) => true,
            Err(_) => false,
        };
        let mut unsaved = self.refreshes.unsaved();
        // There may be newer ones by now.
        if saved && unsaved.get(&self.key()).is_some_and(|now| now.tokens.access.expose() == new.access.expose()) {
            unsaved.remove(&self.key());
        }
        !unsaved.contains_key(&self.key())
    }

    /// Once, in time. Where that fails, the others are kept away from the record for longer.
    async fn try_save(&self, row: &Row, spent: &[Secret], new: &Tokens) -> Result<Saved, Failed> {
        let saved = timeout(STORE, self.replaced(row, spent, new)).await.unwrap_or(Ok(Saved::Down));
        if matches!(saved, Ok(Saved::Down)) {
            _ = self.leased().await;
        }
        saved
    }

    /// Again for as long as the same grant stands in the record in another form: sealed anew, say.
    async fn replaced(&self, row: &Row, spent: &[Secret], new: &Tokens) -> Result<Saved, Failed> {
        let (mut secrets, mut from) = (row.secrets.clone(), row.sealed.clone());
        loop {
            let put = new.put_into(&secrets).ok_or_else(|| self.person("its secrets are no JSON object"))?;
            let sealed = self.keys.seal(&self.agent, &self.tool, &put).map_err(|error| self.failed(error))?;
            match self.store.replace_secrets(&self.agent, &self.tool, &from, &sealed).await {
                Ok(true) => return Ok(Saved::Done(Held::fresh(new.clone()))),
                Ok(false) => {}
                Err(_) => return Ok(Saved::Down),
            }
            // The write may have been done though its answer was lost, or somebody has written another grant: either way
            // what stands there now is good.
            let now = match self.stored().await {
                Ok(Some(now)) => now,
                Ok(None) => return Err(self.not_connected()),
                Err(_) => return Ok(Saved::Down),
            };
            if now.tokens.refresh.as_ref().is_none_or(|token| !is_among(spent, token))
                || now.tokens.access.expose() == new.access.expose()
            {
                return Ok(Saved::Done(Held::fresh(now.tokens)));
            }
            (secrets, from) = (now.secrets, now.sealed);
        }
    }
}
