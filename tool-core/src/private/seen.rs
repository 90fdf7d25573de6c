//! Which parameters of a call came already.

/// The parameters that came already. Two words and not one of 128 bits: shifting that takes three times as long.
#[derive(Default)]
pub(super) struct Seen([u64; 2]);

impl Seen {
    /// Notes a parameter; false if it was noted before.
    #[inline]
    pub(super) fn insert(&mut self, index: usize) -> bool {
        // A tool has at most 128 parameters: there is a word for each.
        let Some(word) = self.0.get_mut(index / 64) else { return true };
        let bit = 1_u64 << (index % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }
}
