//! Permits of calls under limits that all sessions of a store share, and the decisions about them,
//! which are the same in memory and in a database.

use crate::session::shared_limits::{RateLimit, SharedLimit};
use std::time::Duration;

/// A call that asks for a permit.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PermitRequest<'a> {
    /// The limits, each with another key.
    pub limits: &'a [SharedLimit],
    /// Distinguishes the call from all others.
    pub holder: u128,
    /// The time for which the call takes its places among those that run at once, if it neither
    /// returns them nor keeps them for longer.
    pub lease: Duration,
}

impl<'a> PermitRequest<'a> {
    /// Creates a request. For stores and their tests: a session makes its own.
    pub fn new(limits: &'a [SharedLimit], holder: u128, lease: Duration) -> Self {
        Self {
            limits,
            holder,
            lease,
        }
    }
}

/// A store's answer to a request for a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermitVerdict {
    /// Every limit admits the call, and it is counted.
    Granted,
    /// A limit refuses the call, and nothing is counted.
    Refused(PermitRefusal),
}

/// The limit that refuses a call. If several do, it is the one of which the call has to wait longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PermitRefusal {
    /// The index of the limit in the request.
    pub limit: usize,
    /// The part of the limit that is used up.
    pub by: PermitLimit,
    /// The time after which to ask again.
    pub retry_after: Duration,
}

/// A part of a shared limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermitLimit {
    /// The calls in a time.
    Rate,
    /// The calls that run at once.
    Concurrent,
}

/// The time after which to ask again for a place among the calls that run at once. When one ends is
/// not known.
pub const PLACE_RETRY: Duration = Duration::from_secs(1);

/// The use that calls have made of one limit, for a store that lets
/// [`decide`](PermitRequest::decide) decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitUse {
    /// The time at which the limit has no use any more, in microseconds of the store's clock; of a
    /// limit without calls any time that has passed.
    pub idle_at: u64,
    /// The places that calls have, other than the one that asks.
    pub places: u64,
}

impl PermitRequest<'_> {
    /// Decides about the request, given what each limit has used and the time of the store in
    /// microseconds. If the permit is granted, `used` is what each limit has used then.
    ///
    /// A rate is a bucket of tokens: each call moves the time at which the limit is idle by a share
    /// of the limit's time, and a call is refused if that time is too far away.
    pub fn decide(&self, used: &mut [LimitUse], now: u64) -> PermitVerdict {
        let mut refusal: Option<PermitRefusal> = None;
        for (index, (limit, used)) in self.limits.iter().zip(used.iter()).enumerate() {
            let mut refuse = |by, retry_after| {
                if refusal.is_none_or(|before| before.retry_after < retry_after) {
                    refusal = Some(PermitRefusal {
                        limit: index,
                        by,
                        retry_after,
                    });
                }
            };
            if let Some(rate) = limit.rate
                && let Some(wait) = rate.wait(used.idle_at, now)
            {
                refuse(PermitLimit::Rate, wait);
            }
            if limit
                .concurrent
                .is_some_and(|most| used.places >= u64::from(most))
            {
                refuse(PermitLimit::Concurrent, PLACE_RETRY);
            }
        }
        if let Some(refusal) = refusal {
            return PermitVerdict::Refused(refusal);
        }
        for (limit, used) in self.limits.iter().zip(used) {
            if let Some(rate) = limit.rate {
                used.idle_at = rate.begin(used.idle_at, now) + rate.interval();
            }
            if limit.concurrent.is_some() {
                used.places += 1;
            }
        }
        PermitVerdict::Granted
    }
}

/// The longest time of a rate, in microseconds: 100 years.
const LONGEST: u128 = 100 * 365 * 24 * 3_600 * 1_000_000;

impl RateLimit {
    /// Returns the time in which one call becomes possible, in microseconds. It is rounded up, so
    /// that no more calls pass than the limit says.
    pub fn interval(&self) -> u64 {
        let micros = self.per.as_micros().clamp(1, LONGEST);
        let interval = micros.div_ceil(u128::from(self.calls.max(1)));
        u64::try_from(interval).unwrap_or(u64::MAX)
    }

    /// Returns the time from which a call counts. A time that is further away than a full bucket
    /// makes it comes from another setting, or from a clock that was wrong.
    fn begin(&self, idle_at: u64, now: u64) -> u64 {
        let full = self.interval().saturating_mul(u64::from(self.calls));
        idle_at.clamp(now, now.saturating_add(full))
    }

    /// Returns the time for which a call has to wait, if it has to.
    fn wait(&self, idle_at: u64, now: u64) -> Option<Duration> {
        let interval = self.interval();
        let burst = interval.saturating_mul(u64::from(self.calls).saturating_sub(1));
        let ahead = self.begin(idle_at, now) - now;
        let wait = ahead.saturating_sub(burst);
        (wait > 0).then(|| Duration::from_micros(wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    fn limit(calls: u32, per: Duration) -> SharedLimit {
        SharedLimit {
            rate: Some(RateLimit { calls, per }),
            ..SharedLimit::new("tool:search")
        }
    }

    /// Asks once. Returns the time to wait, if the limit refuses the call.
    fn ask(limit: &SharedLimit, used: &mut LimitUse, now: u64) -> Option<Duration> {
        let request = PermitRequest::new(std::slice::from_ref(limit), 1, Duration::ZERO);
        match request.decide(std::slice::from_mut(used), now) {
            PermitVerdict::Granted => None,
            PermitVerdict::Refused(refusal) => Some(refusal.retry_after),
        }
    }

    #[test]
    fn exactly_the_calls_of_a_rate_pass_at_once() {
        for (calls, per) in [(1, 1), (3, 1), (7, 60), (1_000, 1), (3_000_000, 1)] {
            let limit = limit(calls, Duration::from_secs(per));
            let mut used = LimitUse::default();
            let passed = (0..calls + 10)
                .filter(|_| ask(&limit, &mut used, 50 * SECOND).is_none())
                .count();
            assert_eq!(passed, calls as usize, "{calls} in {per} s");
        }
    }

    #[test]
    fn refused_call_passes_after_its_wait() {
        let limit = limit(4, Duration::from_secs(60));
        let mut used = LimitUse::default();
        let mut now = 0;
        for _ in 0..4 {
            assert_eq!(ask(&limit, &mut used, now), None);
        }
        for _ in 0..100 {
            let wait = ask(&limit, &mut used, now).expect("it is used up");
            assert_eq!(wait, Duration::from_secs(15));
            let micros = u64::try_from(wait.as_micros()).expect("a short time");
            assert!(ask(&limit, &mut used, now + micros - 1).is_some());
            now += micros;
            assert_eq!(ask(&limit, &mut used, now), None);
        }
    }

    #[test]
    fn time_of_another_setting_is_forgotten() {
        let mut used = LimitUse {
            idle_at: 3_600 * SECOND,
            places: 0,
        };
        let limit = limit(1, Duration::from_secs(1));
        assert_eq!(ask(&limit, &mut used, 0), Some(Duration::from_secs(1)));
        assert_eq!(ask(&limit, &mut used, SECOND), Some(Duration::from_secs(1)));
    }

    #[test]
    fn refused_call_is_counted_by_no_limit() {
        let limits = [
            limit(5, Duration::from_secs(60)),
            SharedLimit {
                concurrent: Some(1),
                ..SharedLimit::new("principal:a")
            },
        ];
        let mut used = [
            LimitUse::default(),
            LimitUse {
                idle_at: 0,
                places: 1,
            },
        ];
        let before = used;
        let verdict = PermitRequest::new(&limits, 1, Duration::ZERO).decide(&mut used, 0);
        let refusal = PermitRefusal {
            limit: 1,
            by: PermitLimit::Concurrent,
            retry_after: PLACE_RETRY,
        };
        assert_eq!((verdict, used), (PermitVerdict::Refused(refusal), before));
    }
}
