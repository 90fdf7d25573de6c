//! Writing down what a provider gave.

use super::Of;
use super::held::Held;
use super::refresh::{Failed, STORE};
use super::row::Row;
use crate::agents::Tokens;
use crate::configure::Secret;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How often a store that is down is asked while everybody waits: 50 ms, 100 ms, .. about 3 s in all.
const TRIES: u32 = 6;
/// And after that, how long between two tries: another process must not be there first when the store is back.
const LATER: Duration = Duration::from_secs(1);
/// How often when the program wants to end.
const LAST_TRIES: u32 = 5;

/// Tokens that the store did not take yet.
pub(super) struct Unsaved {
    pub(super) tokens: Tokens,
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
    pub(super) fn replaces(&self, stored: &Tokens) -> bool {
        stored.refresh.as_ref().is_some_and(|token| is_among(&self.spent, token))
    }
}

fn is_among(spent: &[Secret], token: &Secret) -> bool {
    spent.iter().any(|spent| spent.expose() == token.expose())
}

impl Of {
    /// Puts new tokens into the record, in the place of those that they were made of. Where the store is down for
    /// longer, that goes on while the new token is used.
    pub(super) async fn save(self: &Arc<Self>, row: Row, used: Secret, new: Tokens) -> Result<Held, Failed> {
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
