//! The seed of a run.

use std::time::UNIX_EPOCH;

/// The environment variable with the seed of a run that is to be repeated.
const SEED: &str = "CHAOS_SEED";

/// Returns the seed of this run: that of `CHAOS_SEED`, or one by the clock.
pub fn seed() -> u64 {
    let given = std::env::var(SEED).ok();
    given.and_then(|seed| seed.parse().ok()).unwrap_or_else(|| {
        UNIX_EPOCH
            .elapsed()
            .map_or(0, |now| u64::from(now.subsec_nanos()))
    })
}
