//! A source of choices: numbers that proptest generates and shrinks. After the last one every choice is the first.

use std::cell::Cell;

/// The choices.
pub(crate) struct Tape<'a> {
    numbers: &'a [u32],
    at: Cell<usize>,
}

impl<'a> Tape<'a> {
    /// Makes a tape of these numbers.
    pub(crate) fn new(numbers: &'a [u32]) -> Self {
        Self {
            numbers,
            at: Cell::new(0),
        }
    }

    /// Draws the next number.
    pub(crate) fn number(&self) -> u32 {
        let at = self.at.get();
        self.at.set(at + 1);
        self.numbers.get(at).copied().unwrap_or(0)
    }

    /// Draws a number below the limit.
    pub(crate) fn below(&self, limit: usize) -> usize {
        if limit == 0 {
            0
        } else {
            self.number() as usize % limit
        }
    }

    /// Draws `true` once in `n` times, and `false` after the end of the tape.
    pub(crate) fn one_in(&self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    /// Draws one of these.
    pub(crate) fn pick<'b, T>(&self, from: &'b [T]) -> &'b T {
        &from[self.below(from.len())]
    }
}
