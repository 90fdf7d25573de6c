//! Where choices come from: a list of numbers that proptest makes and shrinks. Past its end every choice is the first.

use std::cell::Cell;

/// Choices to draw.
pub(crate) struct Tape<'a> {
    numbers: &'a [u32],
    at: Cell<usize>,
}

impl<'a> Tape<'a> {
    /// A tape of these numbers.
    pub(crate) fn new(numbers: &'a [u32]) -> Self {
        Self { numbers, at: Cell::new(0) }
    }

    /// The next number, whatever it is.
    pub(crate) fn number(&self) -> u32 {
        let at = self.at.get();
        self.at.set(at + 1);
        self.numbers.get(at).copied().unwrap_or(0)
    }

    /// A number below the limit.
    pub(crate) fn below(&self, limit: usize) -> usize {
        if limit == 0 { 0 } else { self.number() as usize % limit }
    }

    /// True once in so many times; false where the tape has ended.
    pub(crate) fn one_in(&self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    /// One of these.
    pub(crate) fn pick<'b, T>(&self, from: &'b [T]) -> &'b T {
        &from[self.below(from.len())]
    }
}
