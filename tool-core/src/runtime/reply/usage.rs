//! What a step of a model has used.

use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign};

/// The tokens that a model has read and written, as its provider counts them.
///
/// ```
/// use tool_core::runtime::Usage;
///
/// let step = Usage { input: 900, cached: 800, output: 40, reasoning: 25 };
/// assert_eq!((step + step).total(), 1_880);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read, those of the cache among them.
    pub input: u64,
    /// Those of the input that came from the provider's cache.
    pub cached: u64,
    /// Tokens written, those of the reasoning among them.
    pub output: u64,
    /// Those of the output that were spent on reasoning, where the provider tells.
    pub reasoning: u64,
}

impl Usage {
    /// Tokens read and written.
    pub const fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cached: self.cached.saturating_add(other.cached),
            output: self.output.saturating_add(other.output),
            reasoning: self.reasoning.saturating_add(other.reasoning),
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
