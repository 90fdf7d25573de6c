//! Calls that wait for a person, each taken once.

use crate::runtime::store::PendingCall;
use std::collections::HashMap;
use tokio::time::Instant;

/// The calls of one session that wait.
#[derive(Default)]
pub(super) struct Tokens(HashMap<String, (Instant, PendingCall)>);

/// The calls of one session that may wait; the one that would expire first gives way.
const WAITING: usize = 256;

impl Tokens {
    pub(super) fn mint(&mut self, pending: &PendingCall, expires: Instant, now: Instant) {
        self.0.retain(|_, (until, _)| *until > now);
        if self.0.len() >= WAITING
            && let Some(first) = self.0.iter().min_by_key(|(_, (until, _))| *until).map(|(id, _)| id.clone())
        {
            self.0.remove(&first);
        }
        self.0.insert(pending.id.clone(), (expires, pending.clone()));
    }

    pub(super) fn get(&self, id: &str, now: Instant) -> Option<&PendingCall> {
        self.0.get(id).filter(|(until, _)| *until > now).map(|(_, pending)| pending)
    }

    pub(super) fn take(&mut self, id: &str, now: Instant) -> bool {
        self.0.remove(id).is_some_and(|(until, _)| until > now)
    }
}
