//! The generations of a session: the session under each set of tools that it has had.

use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// The generations of a session, the newest last. Empty until the session is renewed.
pub(crate) struct Generations<S>(Mutex<Vec<Weak<S>>>);

impl<S> Default for Generations<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S> Generations<S> {
    /// Adds the generation that renews `earlier`, and calls `added` before another one is added or
    /// closed.
    pub(crate) fn add(&self, earlier: &Arc<S>, renewed: &Arc<S>, added: impl FnOnce()) {
        let mut generations = self.0.lock();
        if generations.is_empty() {
            generations.push(Arc::downgrade(earlier));
        }
        generations.retain(|generation| generation.strong_count() > 0);
        generations.push(Arc::downgrade(renewed));
        added();
    }

    /// Calls `close` for each generation that is in use, and returns them.
    pub(crate) fn close(&self, close: impl Fn(&S)) -> Vec<Arc<S>> {
        // Under the lock, so that none is added that stays open.
        let generations = self.0.lock();
        let in_use = generations.iter().filter_map(Weak::upgrade);
        let in_use = in_use.collect::<Vec<_>>();
        for generation in &in_use {
            close(generation);
        }
        in_use
    }

    /// Returns the generations that are in use, except one.
    pub(crate) fn others(&self, own: &S) -> Vec<Arc<S>> {
        let generations = self.0.lock();
        let others = generations
            .iter()
            .filter(|generation| !std::ptr::eq(generation.as_ptr(), own));
        others.filter_map(Weak::upgrade).collect()
    }

    /// Returns true if no other generation has come after this one.
    pub(crate) fn is_newest(&self, own: &S) -> bool {
        let generations = self.0.lock();
        let newest = generations.last();
        newest.is_none_or(|newest| std::ptr::eq(newest.as_ptr(), own))
    }
}
