//! Random numbers that a seed repeats.

use std::time::UNIX_EPOCH;

/// The environment variable with the seed of a run that is to be repeated.
const SEED: &str = "CHAOS_SEED";

/// A generator of random numbers: SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below a limit; 0 if the limit is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next().checked_rem(limit).unwrap_or_default()
    }
}

/// Returns the seed of this run: that of `CHAOS_SEED`, or one by the clock.
pub fn seed() -> u64 {
    let given = std::env::var(SEED).ok();
    given.and_then(|seed| seed.parse().ok()).unwrap_or_else(|| {
        UNIX_EPOCH
            .elapsed()
            .map_or(0, |now| u64::from(now.subsec_nanos()))
    })
}
