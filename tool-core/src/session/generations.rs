//! The generations of a session: the session under each set of tools that it has had.

use crate::session::inner::SessionInner;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// The generations of a session, the newest last. Empty until the session is renewed.
#[derive(Default)]
pub(crate) struct Generations(Mutex<Vec<Weak<SessionInner>>>);

impl Generations {
    /// Adds the generation that renews `earlier`. If the session has ended meanwhile, it is closed.
    pub(crate) fn add(&self, earlier: &Arc<SessionInner>, renewed: &Arc<SessionInner>) {
        let mut generations = self.0.lock();
        if generations.is_empty() {
            generations.push(Arc::downgrade(earlier));
        }
        generations.retain(|generation| generation.strong_count() > 0);
        generations.push(Arc::downgrade(renewed));

        if earlier.calls.is_closed() {
            renewed.calls.close();
        }
    }

    /// Refuses new calls in all generations, and returns those that are in use.
    pub(crate) fn close(&self) -> Vec<Arc<SessionInner>> {
        // Under the lock, so that none is added that stays open.
        let generations = self.0.lock();
        let in_use = generations.iter().filter_map(Weak::upgrade);
        let in_use = in_use.collect::<Vec<_>>();
        for generation in &in_use {
            generation.calls.close();
        }
        in_use
    }

    /// Returns the generations that are in use, except one.
    pub(crate) fn others(&self, own: &SessionInner) -> Vec<Arc<SessionInner>> {
        let generations = self.0.lock();
        let others = generations
            .iter()
            .filter(|generation| !std::ptr::eq(generation.as_ptr(), own));
        others.filter_map(Weak::upgrade).collect()
    }

    /// Returns true if no other generation has come after this one.
    pub(crate) fn is_newest(&self, own: &SessionInner) -> bool {
        let generations = self.0.lock();
        let newest = generations.last();
        newest.is_none_or(|newest| std::ptr::eq(newest.as_ptr(), own))
    }
}
