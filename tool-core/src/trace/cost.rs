//! Money, exactly.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

/// An amount of US dollars, in whole picodollars (10^-12), so that sums are exact in any order. At most 18.4 million
/// dollars; what goes beyond stays there.
///
/// ```
/// use tool_core::trace::Cost;
///
/// // 1,234 tokens at 0.15 dollars a million.
/// let cost = Cost::per_million(150_000_000_000, 1_234);
/// assert_eq!(cost.picodollars(), 185_100_000);
/// assert_eq!(cost.to_string(), "$0.000185");
/// assert_eq!(Cost::micros(2_500_000).to_string(), "$2.50");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cost(u64);

/// Picodollars in a dollar.
const DOLLAR: u64 = 1_000_000_000_000;

impl Cost {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// So many picodollars.
    pub const fn pico(amount: u64) -> Self {
        Self(amount)
    }

    /// So many millionths of a dollar.
    pub const fn micros(amount: u64) -> Self {
        Self(amount.saturating_mul(1_000_000))
    }

    /// What `units` cost at so many picodollars a million, rounded half up.
    pub fn per_million(picodollars: u64, units: u64) -> Self {
        let amount = (u128::from(picodollars) * u128::from(units) + 500_000) / 1_000_000;
        Self(u64::try_from(amount).unwrap_or(u64::MAX))
    }

    /// In picodollars.
    pub const fn picodollars(self) -> u64 {
        self.0
    }

    /// In dollars, as near as a float comes.
    #[allow(clippy::cast_precision_loss)] // what a float is for
    pub fn dollars(self) -> f64 {
        self.0 as f64 / DOLLAR as f64
    }

    /// In dollars, exactly, with all twelve places.
    ///
    /// ```
    /// # use tool_core::trace::Cost;
    /// assert_eq!(Cost::micros(2_500_000).decimal(), "2.500000000000");
    /// ```
    pub fn decimal(self) -> String {
        format!("{}.{:012}", self.0 / DOLLAR, self.0 % DOLLAR)
    }

    /// Whether it is nothing.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Cost {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Cost {
    /// Dollars with two decimals, with six below a cent's tenth, rounded half up.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = if self.0 >= DOLLAR / 10 || self.0 == 0 { 2 } else { 6 };
        let unit = DOLLAR / 10_u64.pow(decimals);
        let rounded = self.0 / unit + u64::from(self.0 % unit >= unit / 2);
        let scale = DOLLAR / unit;
        let width = decimals as usize;
        write!(f, "${}.{:0width$}", rounded / scale, rounded % scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_shown_as_finely_as_they_need() {
        assert_eq!(Cost::ZERO.to_string(), "$0.00");
        assert_eq!(Cost::pico(1).to_string(), "$0.000000");
        assert_eq!(Cost::micros(99_999).to_string(), "$0.099999");
        assert_eq!(Cost::micros(100_000).to_string(), "$0.10");
        assert_eq!(Cost::micros(1_995_000).to_string(), "$2.00");
    }

    #[test]
    fn sums_stop_at_the_most_that_there_is() {
        assert_eq!(Cost::pico(u64::MAX) + Cost::pico(1), Cost::pico(u64::MAX));
        assert_eq!(Cost::per_million(u64::MAX, u64::MAX), Cost::pico(u64::MAX));
    }
}

// ---- Tokens, as providers count them.

/// The tokens that a model has read and written, as its provider counts them.
///
/// ```
/// use tool_core::trace::TokenUsage;
///
/// let step = TokenUsage { input: 900, cached: 800, output: 40, reasoning: 25, ..Usage::default() };
/// assert_eq!((step + step).total(), 1_880);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TokenUsage {
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

impl TokenUsage {
    /// Tokens read and written.
    pub const fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Whether nothing was used.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

impl Add for TokenUsage {
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

impl AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
