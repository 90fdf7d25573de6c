//! The attempts of a turn, counted by what they ask.

use rustc_hash::FxHashMap;

/// How often each call was attempted in a turn, by the fingerprint of its tool and arguments.
///
/// Bounded: of a turn with very many different attempts, at least the last `HALF` are known.
#[derive(Default)]
pub(super) struct Attempts {
    young: FxHashMap<u128, u32>,
    old: FxHashMap<u128, u32>,
}

const HALF: usize = 1024;

impl Attempts {
    /// Counts one more, and tells how many that makes.
    pub(super) fn count(&mut self, fingerprint: u128) -> u32 {
        if self.young.len() >= HALF {
            self.old = std::mem::take(&mut self.young);
        }
        let before = self.old.get(&fingerprint).copied().unwrap_or(0);
        let count = self.young.entry(fingerprint).or_insert(before);
        *count = count.saturating_add(1);
        *count
    }

    pub(super) fn clear(&mut self) {
        self.young.clear();
        // What a long turn took is given back.
        self.young.shrink_to(16);
        self.old = FxHashMap::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_counted_by_fingerprint() {
        let mut attempts = Attempts::default();
        assert_eq!([attempts.count(1), attempts.count(2), attempts.count(1)], [1, 1, 2]);
        attempts.clear();
        assert_eq!(attempts.count(1), 1);
    }

    #[test]
    fn a_long_turn_is_remembered_at_its_end_and_takes_no_more_memory() {
        let mut attempts = Attempts::default();
        for fingerprint in 0..1_000_000 {
            attempts.count(fingerprint);
        }
        assert!(attempts.young.len() + attempts.old.len() <= 2 * HALF);
        assert_eq!(attempts.count(999_999), 2);
        assert_eq!(attempts.count(999_000), 2);
    }
}
