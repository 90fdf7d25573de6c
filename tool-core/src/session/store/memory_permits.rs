//! The permits of calls in this process's memory.

use crate::session::store::permits::{LimitUse, PermitRequest, PermitVerdict};
use crate::time;
use parking_lot::Mutex;
use std::collections::HashMap;
use tokio::time::Instant;

/// The use that calls have made of the limits which all sessions share.
pub(crate) struct MemoryPermits {
    /// The time from which the times of rates are counted.
    began: Instant,
    limits: Mutex<LimitsInUse>,
}

#[derive(Default)]
struct LimitsInUse {
    by_key: HashMap<String, UsedLimit>,
    /// The number of limits at which those without use are removed.
    sweep_at: usize,
}

#[derive(Default)]
struct UsedLimit {
    idle_at: u64,
    places: Vec<HeldPermit>,
}

struct HeldPermit {
    holder: u128,
    ends: Instant,
}

impl Default for MemoryPermits {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            limits: Mutex::default(),
        }
    }
}

impl MemoryPermits {
    /// Decides about a request, and counts the call if it is granted.
    pub(crate) fn acquire(&self, request: &PermitRequest<'_>) -> PermitVerdict {
        let now = Instant::now();
        let micros = self.micros(now);
        let mut limits = self.limits.lock();
        limits.sweep(now, micros);

        let mut used = Vec::with_capacity(request.limits.len());
        for limit in request.limits {
            let mut use_of_limit = LimitUse::default();
            if let Some(known) = limits.by_key.get(&limit.key) {
                let others = known.places.iter();
                let others =
                    others.filter(|place| place.ends > now && place.holder != request.holder);
                use_of_limit.idle_at = known.idle_at;
                use_of_limit.places = others.count() as u64;
            }
            used.push(use_of_limit);
        }
        let verdict = request.decide(&mut used, micros);
        if verdict != PermitVerdict::Granted {
            return verdict;
        }
        for (limit, used) in request.limits.iter().zip(&used) {
            let known = limits.by_key.entry(limit.key.clone()).or_default();
            known.idle_at = used.idle_at;
            if limit.concurrent.is_some() {
                known.places.retain(|place| place.ends > now);
                known.keep(request, now);
            }
        }
        verdict
    }

    /// Keeps the places of a call for another lease.
    pub(crate) fn extend(&self, request: &PermitRequest<'_>) {
        let now = Instant::now();
        let mut limits = self.limits.lock();
        for limit in request
            .limits
            .iter()
            .filter(|limit| limit.concurrent.is_some())
        {
            let known = limits.by_key.entry(limit.key.clone()).or_default();
            known.keep(request, now);
        }
    }

    /// Frees the places of a call.
    pub(crate) fn release(&self, request: &PermitRequest<'_>) {
        let mut limits = self.limits.lock();
        for limit in request.limits {
            if let Some(known) = limits.by_key.get_mut(&limit.key) {
                known.places.retain(|place| place.holder != request.holder);
            }
        }
    }

    fn micros(&self, now: Instant) -> u64 {
        let passed = now.saturating_duration_since(self.began);
        u64::try_from(passed.as_micros()).unwrap_or(u64::MAX)
    }
}

impl LimitsInUse {
    fn sweep(&mut self, now: Instant, micros: u64) {
        if self.by_key.len() < self.sweep_at {
            return;
        }
        self.by_key.retain(|_, known| {
            known.idle_at > micros || known.places.iter().any(|place| place.ends > now)
        });
        self.sweep_at = 1_024.max(2 * self.by_key.len());
    }
}

impl UsedLimit {
    /// Gives the call a place for its lease, in place of the one that it has.
    fn keep(&mut self, request: &PermitRequest<'_>, now: Instant) {
        self.places.retain(|place| place.holder != request.holder);
        self.places.push(HeldPermit {
            holder: request.holder,
            ends: time::after(now, request.lease),
        });
    }
}
