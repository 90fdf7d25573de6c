//! The last responses of a tool.

use super::slot::{Sample, Slot};
use std::sync::OnceLock;

/// The responses of which there are percentiles. R-M1
pub(super) const WINDOW: usize = 1_000;

/// What a ring holds: no less, and a power of two, so that no place costs a division.
const PLACES: u64 = 1_024;
const CHUNK: u64 = 64;
const SLOTS: usize = 64;
const CHUNKS: usize = 16;

/// The last responses that one part of a tally has counted. It grows as they come, so that a tool that is seldom called
/// takes little.
#[derive(Default)]
pub(super) struct Ring([OnceLock<Box<Chunk>>; CHUNKS]);

struct Chunk([Slot; SLOTS]);

impl Default for Chunk {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Slot::default()))
    }
}

/// A number that is known to be small.
#[inline]
fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Ring {
    /// Puts the response in its place: `number` are counted before it.
    #[inline]
    pub(super) fn put(&self, number: u64, sample: Sample) {
        if let Some(chunk) = self.0.get(index(number / CHUNK % CHUNKS as u64))
            && let Some(slot) = chunk.get_or_init(Box::default).0.get(index(number % CHUNK))
        {
            slot.put(sample);
        }
    }

    /// What it holds once `counted` are counted, the oldest first.
    pub(super) fn samples(&self, counted: u64) -> impl Iterator<Item = Sample> {
        let slot = |number: u64| self.0.get(index(number / CHUNK % CHUNKS as u64))?.get()?.0.get(index(number % CHUNK));
        (counted.saturating_sub(PLACES)..counted).filter_map(move |number| slot(number)?.get())
    }
}

/// The value at a percentile, by nearest rank: the smallest of which at least so many in a hundred are no larger. 0 of
/// none.
pub(super) fn percentile<T: Copy + Default>(sorted: &[T], percent: usize) -> T {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// About what so many characters cost a model to read.
pub(super) fn tokens(chars: u32) -> u32 {
    chars.div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    // R-M1
    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let to = |last: u32| (1..=last).collect::<Vec<_>>();
        assert_eq!([50, 95, 99].map(|percent| percentile(&to(1_000), percent)), [500, 950, 990]);
        assert_eq!([50, 95, 99].map(|percent| percentile(&to(100), percent)), [50, 95, 99]);
        assert_eq!([50, 95, 99].map(|percent| percentile(&to(20), percent)), [10, 19, 20]);
        assert_eq!([50, 95, 99].map(|percent| percentile(&to(2), percent)), [1, 2, 2]);
        assert_eq!([50, 95, 99].map(|percent| percentile(&to(1), percent)), [1, 1, 1]);
        assert_eq!(percentile::<u32>(&[], 95), 0);
    }

    // R-M1
    #[test]
    fn tokens_are_a_quarter_of_the_characters_rounded_up() {
        assert_eq!([0, 1, 4, 5, 8, 9].map(tokens), [0, 1, 1, 2, 2, 3]);
    }

    #[test]
    fn a_ring_keeps_the_last_and_takes_room_only_for_what_came() {
        let ring = Ring::default();
        for number in 0..5_000 {
            ring.put(number, Sample { at: number + 1, micros: 0, chars: index(number).try_into().unwrap_or(0) });
            let counted = number + 1;
            let chunks = ring.0.iter().filter(|chunk| chunk.get().is_some()).count();
            assert_eq!(chunks, index(counted.div_ceil(CHUNK)).min(CHUNKS));
        }
        let kept = ring.samples(5_000).map(|sample| u64::from(sample.chars)).collect::<Vec<_>>();
        assert_eq!(kept, (5_000 - PLACES..5_000).collect::<Vec<_>>());
    }
}
