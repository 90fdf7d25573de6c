//! Calls that wait for a person in a [`MemoryStore`](crate::session::MemoryStore), and the grants of
//! people.

use crate::session::approvals::{ApprovalRequest, ApprovalVerdict, PendingCall};
use crate::session::grants::{CallGrant, GrantRequest, GrantVerdict};
use crate::session::store::approval_page::ApprovalPlace;
use crate::time;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;
use tokio::time::Instant;

/// The calls of one session that wait for approval, and its grants.
#[derive(Default)]
pub(crate) struct SessionApprovals {
    calls: HashMap<String, StoredCall>,
    grants: Vec<KeptGrant>,
}

struct StoredCall {
    expires: Instant,
    call: PendingCall,
}

struct KeptGrant {
    ends: Instant,
    grant: CallGrant,
}

impl SessionApprovals {
    pub(crate) fn insert(
        &mut self,
        request: &ApprovalRequest<'_>,
        now: Instant,
    ) -> ApprovalVerdict {
        self.calls.retain(|_, waiting| waiting.expires > now);
        if let Some(limit) = request.exceeds(self.calls.values().map(|waiting| &waiting.call)) {
            return ApprovalVerdict::Full(limit);
        }
        let waiting = StoredCall {
            expires: time::after(now, request.lifetime),
            call: request.call.clone(),
        };
        self.calls.insert(request.call.id.clone(), waiting);
        ApprovalVerdict::Waits
    }

    pub(crate) fn get(&self, id: &str, now: Instant) -> Option<&PendingCall> {
        self.calls
            .get(id)
            .filter(|waiting| waiting.expires > now)
            .map(|waiting| &waiting.call)
    }

    pub(crate) fn remove(&mut self, id: &str, now: Instant) -> bool {
        self.calls
            .remove(id)
            .is_some_and(|waiting| waiting.expires > now)
    }

    /// Keeps a grant in place of a call that waits.
    pub(crate) fn grant(&mut self, request: &GrantRequest<'_>, now: Instant) -> GrantVerdict {
        if self.get(request.call, now).is_none() {
            return GrantVerdict::NotFound;
        }
        self.grants.retain(|kept| kept.ends > now);
        if self.grants.len() as u64 >= u64::from(request.most) {
            return GrantVerdict::Full;
        }
        self.calls.remove(request.call);
        self.grants.push(KeptGrant {
            ends: time::after(now, request.lifetime),
            grant: request.grant.clone(),
        });
        GrantVerdict::Granted
    }

    pub(crate) fn grants(&self, now: Instant) -> Vec<CallGrant> {
        let kept = self.grants.iter().filter(|kept| kept.ends > now);
        kept.map(|kept| kept.grant.clone()).collect()
    }

    pub(crate) fn revoke(&mut self, id: &str, now: Instant) -> bool {
        let found = self.grants.iter().position(|kept| kept.grant.id == id);
        found.is_some_and(|at| self.grants.remove(at).ends > now)
    }
}

/// The calls of all sessions that wait for approval, by their principals. A call that was decided
/// on, or whose session is over, stays until it is listed or expires.
#[derive(Default)]
pub(crate) struct WaitingCalls {
    principals: HashMap<Arc<str>, BTreeMap<ApprovalPlace, Arc<str>>>,
    /// The time from which expiries are counted.
    began: Option<Instant>,
    calls: usize,
    /// The number of calls at which those that have expired are removed.
    sweep_at: usize,
}

/// The calls from which on those that have expired are looked for.
const MIN_SWEEP: usize = 1_024;

impl WaitingCalls {
    /// Adds a call of a session.
    pub(crate) fn add(
        &mut self,
        principal: &Arc<str>,
        session: &Arc<str>,
        id: &str,
        expires: Instant,
        now: Instant,
    ) {
        if self.calls >= self.sweep_at.max(MIN_SWEEP) {
            self.sweep(now);
        }
        let place = ApprovalPlace::new(self.milliseconds_until(expires, now), id);
        let calls = self.principals.entry(Arc::clone(principal)).or_default();
        let before = calls.insert(place, Arc::clone(session));
        self.calls += usize::from(before.is_none());
    }

    /// Returns a page of the calls that have not expired, with their sessions.
    pub(crate) fn page(
        &mut self,
        principal: &str,
        after: Option<&ApprovalPlace>,
        limit: u32,
        now: Instant,
    ) -> Vec<(ApprovalPlace, Arc<str>)> {
        let now = self.milliseconds_until(now, now);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let Some(calls) = self.principals.get(principal) else {
            return Vec::new();
        };
        let first = after.map_or(Bound::Unbounded, Bound::Excluded);
        calls
            .range((first, Bound::Unbounded))
            .filter(|(place, _)| place.expires_at > now)
            .take(limit)
            .map(|(place, session)| (place.clone(), Arc::clone(session)))
            .collect()
    }

    /// Removes a call.
    pub(crate) fn remove(&mut self, principal: &str, place: &ApprovalPlace) {
        let Some(calls) = self.principals.get_mut(principal) else {
            return;
        };
        self.calls -= usize::from(calls.remove(place).is_some());
        if calls.is_empty() {
            self.principals.remove(principal);
        }
    }

    fn sweep(&mut self, now: Instant) {
        let now = self.milliseconds_until(now, now);
        for calls in self.principals.values_mut() {
            calls.retain(|place, _| place.expires_at > now);
        }
        self.principals.retain(|_, calls| !calls.is_empty());
        self.calls = self.principals.values().map(BTreeMap::len).sum();
        self.sweep_at = 2 * self.calls;
    }

    /// Returns the milliseconds from the time at which the store was first asked.
    fn milliseconds_until(&mut self, time: Instant, now: Instant) -> u64 {
        let began = *self.began.get_or_insert(now);
        time::whole_milliseconds(time.saturating_duration_since(began))
    }
}
