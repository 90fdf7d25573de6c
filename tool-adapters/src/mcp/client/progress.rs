//! The progress of calls: notifications of a server, by the token of the call that they belong to.

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tool_core::text::truncate;

/// The calls that wait for an answer, by the tokens of their progress.
#[derive(Clone, Default)]
pub(crate) struct ProgressRoutes(Arc<Mutex<Routes>>);

#[derive(Default)]
struct Routes {
    calls: HashMap<ProgressToken, Sender<ProgressNotificationParam>>,
    /// The latest updates of other tokens. The token of a call is known only once its request is under way.
    unclaimed: VecDeque<ProgressNotificationParam>,
}

/// The updates that may wait for a call, and those of calls that are not known yet. Further ones are dropped.
const CAPACITY: usize = 64;

/// Maximum number of characters of an update.
const MAX_TEXT: usize = 800;

impl ProgressRoutes {
    fn lock(&self) -> MutexGuard<'_, Routes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes an update to its call.
    pub(crate) fn route(&self, update: &ProgressNotificationParam) {
        let mut short = ProgressNotificationParam::new(update.progress_token.clone(), update.progress);
        short.total = update.total;
        short.message = update.message.as_deref().map(|message| truncate(message, MAX_TEXT));
        let mut routes = self.lock();
        if let Some(call) = routes.calls.get(&short.progress_token) {
            _ = call.try_send(short);
            return;
        }
        if routes.unclaimed.len() == CAPACITY {
            routes.unclaimed.pop_front();
        }
        routes.unclaimed.push_back(short);
    }

    /// Returns the updates of a call until they are dropped.
    pub(crate) fn listen(&self, token: ProgressToken) -> ProgressUpdates {
        let (sender, updates) = channel(CAPACITY);
        let mut routes = self.lock();
        for update in std::mem::take(&mut routes.unclaimed) {
            if update.progress_token == token {
                _ = sender.try_send(update);
            } else {
                routes.unclaimed.push_back(update);
            }
        }
        routes.calls.insert(token.clone(), sender);
        ProgressUpdates { routes: self.clone(), token, updates }
    }
}

/// The updates of a call.
pub(crate) struct ProgressUpdates {
    routes: ProgressRoutes,
    token: ProgressToken,
    pub(crate) updates: Receiver<ProgressNotificationParam>,
}

impl Drop for ProgressUpdates {
    fn drop(&mut self) {
        self.routes.lock().calls.remove(&self.token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::NumberOrString;

    fn token(number: i64) -> ProgressToken {
        ProgressToken(NumberOrString::Number(number))
    }

    #[test]
    fn updates_reach_their_call_however_early_they_come() {
        let (routes, other) = (ProgressRoutes::default(), ProgressRoutes::default().listen(token(1)));
        routes.route(&ProgressNotificationParam::new(token(7), 1.0));
        let mut updates = routes.listen(token(7));
        routes.route(&ProgressNotificationParam::new(token(7), 2.0));
        let received = std::iter::from_fn(|| updates.updates.try_recv().ok().map(|update| update.progress));
        assert_eq!(received.collect::<Vec<_>>(), [1.0, 2.0]);
        drop((updates, other));
        assert!(routes.lock().calls.is_empty());
    }

    #[test]
    fn updates_of_no_call_are_bounded() {
        let routes = ProgressRoutes::default();
        for at in 0..100_000 {
            let text = "x".repeat(2_000);
            routes.route(&ProgressNotificationParam::new(token(at), 1.0).with_message(text));
        }
        let kept = &routes.lock().unclaimed;
        assert_eq!(kept.len(), CAPACITY);
        assert!(kept.iter().all(|update| update.message.as_ref().is_some_and(|text| text.len() <= MAX_TEXT + 3)));
    }
}
