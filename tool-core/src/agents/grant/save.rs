//! Writing down what a provider gave.

use super::Of;
use super::held::Held;
use super::refresh::Failed;
use super::row::Row;
use crate::agents::Tokens;
use crate::configure::Secret;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// How often a store that is down is asked while everybody waits: 50 ms, 100 ms, .. about 3 s in all.
const TRIES: u32 = 6;
/// And after that, how long between two tries at most.
const LATER: Duration = Duration::from_secs(30);

/// What became of a try.
enum Saved {
    Done(Held),
    /// The store is down; the row is as it was when last seen.
    Down(Row),
}

impl Of {
    /// Puts new tokens into the record, in the place of those that they were made of. Where the store is down for
    /// longer, that goes on while the new token is used.
    pub(super) async fn save(self: &Arc<Self>, mut row: Row, used: Secret, new: Tokens) -> Result<Held, Failed> {
        for attempt in 0..TRIES {
            match self.try_save(row, &used, &new).await? {
                Saved::Done(held) => return Ok(held),
                Saved::Down(same) => row = same,
            }
            sleep(Duration::from_millis(50 << attempt)).await;
        }
        tracing::warn!(
            agent = ?self.agent, tool = ?self.tool,
            "the store is down, and a refreshed token is only in memory; it is written when the store is back"
        );
        self.refreshes.unsaved().insert(self.key(), (used.clone(), new.clone()));
        tokio::spawn(Arc::clone(self).save_later(row, used, new.clone()));
        Ok(Held::fresh(new))
    }

    async fn save_later(self: Arc<Self>, mut row: Row, used: Secret, new: Tokens) {
        let mut pause = Duration::from_secs(1);
        loop {
            sleep(pause).await;
            match self.try_save(row, &used, &new).await {
                Ok(Saved::Down(same)) => row = same,
                Ok(Saved::Done(_)) | Err(_) => break,
            }
            pause = (pause * 2).min(LATER);
        }
        let mut unsaved = self.refreshes.unsaved();
        // Another may stand there by now.
        if unsaved.get(&self.key()).is_some_and(|(of, _)| of.expose() == used.expose()) {
            unsaved.remove(&self.key());
        }
    }

    /// Once, and again for as long as the same grant stands in the record in another form: sealed anew, say.
    async fn try_save(&self, mut row: Row, used: &Secret, new: &Tokens) -> Result<Saved, Failed> {
        loop {
            let secrets = new.put_into(&row.secrets).ok_or_else(|| self.lost("its secrets are no JSON object"))?;
            let sealed = self.keys.seal(&self.agent, &self.tool, &secrets).map_err(|error| self.failed(error))?;
            match self.store.replace_secrets(&self.agent, &self.tool, &row.sealed, &sealed).await {
                Ok(true) => return Ok(Saved::Done(Held::fresh(new.clone()))),
                Ok(false) => {}
                Err(_) => return Ok(Saved::Down(row)),
            }
            // The write may have been done though its answer was lost, or somebody has written another grant: either way
            // what stands there now is good.
            let now = match self.stored().await {
                Ok(now) => now,
                Err(failed) if failed.lost => return Err(failed),
                Err(_) => return Ok(Saved::Down(row)),
            };
            if now.tokens.refresh.as_ref().is_none_or(|token| token.expose() != used.expose())
                || now.tokens.access.expose() == new.access.expose()
            {
                return Ok(Saved::Done(Held::fresh(now.tokens)));
            }
            row = now;
        }
    }
}
