//! Tokens, as providers count them.

use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign};

/// The tokens that a model has read and written, as its provider counts them.
///
/// ```
/// use tool_core::trace::Usage;
///
/// let step = Usage { input: 900, cached: 800, output: 40, reasoning: 25, ..Usage::default() };
/// assert_eq!((step + step).total(), 1_880);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read, those of the cache among them.
    pub input: u64,
    /// Those of the input that came from the provider's cache.
    pub cached: u64,
    /// Those of the input that were written to the provider's cache, where that has a price of its own.
    #[serde(default)]
    pub cache_written: u64,
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

    /// Whether nothing was used.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cached: self.cached.saturating_add(other.cached),
            cache_written: self.cache_written.saturating_add(other.cache_written),
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
