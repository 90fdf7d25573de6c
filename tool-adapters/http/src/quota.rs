//! The amounts that clients take of what a server has, such as its connections.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;

/// The maximum amounts.
#[derive(Clone, Copy, Debug)]
pub struct QuotaLimits {
    /// The limit of all clients together.
    pub all: usize,
    /// Of one client.
    pub each: usize,
}

/// The limit that a share would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaExceeded {
    /// The limit of all clients together.
    All(usize),
    /// The limit of one client.
    Each(usize),
}

/// The amounts that are taken.
pub type Quota<K> = Mutex<Taken<K>>;

/// A quantity that clients hold at the moment: bytes, connections, sessions or subscriptions.
#[derive(Debug)]
pub struct Taken<K> {
    all: usize,
    each: HashMap<K, usize>,
}

impl<K> Default for Taken<K> {
    fn default() -> Self {
        Self {
            all: 0,
            each: HashMap::new(),
        }
    }
}

/// An amount that counts as taken until it is dropped.
#[derive(Debug)]
pub struct Share<K: Clone + Eq + Hash> {
    quota: Arc<Quota<K>>,
    client: K,
    max: QuotaLimits,
    amount: usize,
}

impl<K: Clone + Eq + Hash> Share<K> {
    /// Creates a share of nothing.
    pub fn new(quota: &Arc<Quota<K>>, client: K, max: QuotaLimits) -> Self {
        Self {
            quota: Arc::clone(quota),
            client,
            max,
            amount: 0,
        }
    }

    /// Takes one. Refuses it at a limit: the shares of others are never taken away to make room.
    pub fn one(quota: &Arc<Quota<K>>, client: K, max: QuotaLimits) -> Result<Self, QuotaExceeded> {
        let mut share = Self::new(quota, client, max);
        share.resize(1).map(|()| share)
    }

    /// Changes the amount. Keeps the old one if a larger one would exceed a limit.
    pub fn resize(&mut self, amount: usize) -> Result<(), QuotaExceeded> {
        let mut taken = self.quota.lock();
        let Taken { all, each } = &mut *taken;
        let sum = |taken: usize| (taken - self.amount).saturating_add(amount);
        let new_all = sum(*all);
        if amount > self.amount && new_all > self.max.all {
            return Err(QuotaExceeded::All(self.max.all));
        }
        match each.entry(self.client.clone()) {
            Entry::Occupied(place) if amount == 0 && *place.get() == self.amount => {
                _ = place.remove();
            }
            Entry::Vacant(_) if amount == 0 => {}
            place => {
                let new_own = sum(if let Entry::Occupied(place) = &place {
                    *place.get()
                } else {
                    0
                });
                if amount > self.amount && new_own > self.max.each {
                    return Err(QuotaExceeded::Each(self.max.each));
                }
                place.insert_entry(new_own);
            }
        }
        *all = new_all;
        self.amount = amount;
        Ok(())
    }
}

impl<K: Clone + Eq + Hash> Drop for Share<K> {
    fn drop(&mut self) {
        // Less is never refused.
        _ = self.resize(0);
    }
}

/// Returns the part of an address that stands for one client: of IPv6 the first half, as one
/// machine has all addresses of a network.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_one_client_for_a_network_of_ipv6() {
        let client = |address: &str| network(address.parse().expect("an address"));
        assert_eq!(client("2001:db8::1"), client("2001:db8::ffff:2"));
        assert_eq!(client("::ffff:192.0.2.1"), client("192.0.2.1"));
        assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
        assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
    }

    #[test]
    fn frees_what_a_dropped_share_had() {
        let quota = Arc::default();
        let one = |client| Share::one(&quota, client, QuotaLimits { all: 3, each: 2 });
        let first = one("one").expect("a place");
        let _second = one("one").expect("a place");
        assert_eq!(one("one").err(), Some(QuotaExceeded::Each(2)));
        let _third = one("two").expect("a place of another client");
        assert_eq!(one("three").err(), Some(QuotaExceeded::All(3)));
        drop(first);
        one("one").expect("the place is free");
    }

    #[test]
    fn no_client_exceeds_its_share() {
        let quota = Arc::default();
        let max = QuotaLimits {
            all: 1_000,
            each: 300,
        };
        let mut shares = (0..8_usize)
            .map(|client| Share::new(&quota, client % 4, max))
            .collect::<Vec<_>>();
        let mut refused = 0;
        let mut at = 0;
        for step in 0..8_000 {
            at = (at * 5 + 3) % shares.len();
            refused += usize::from(shares[at].resize(step * 37 % 331).is_err());
            let of = |client: usize| {
                shares
                    .iter()
                    .filter(|share| share.client == client)
                    .map(|share| share.amount)
                    .sum()
            };
            let each: [usize; 4] = [of(0), of(1), of(2), of(3)];
            assert!(
                each.iter().all(|amount| *amount <= 300) && each.iter().sum::<usize>() <= 1_000,
                "{each:?}"
            );
            assert_eq!(quota.lock().all, each.iter().sum::<usize>());
        }
        assert!(refused > 1_000, "{refused}");
        drop(shares);
        let taken = quota.lock();
        assert!(
            taken.all == 0 && taken.each.is_empty(),
            "clients without a share are forgotten"
        );
    }
}
