//! Money: exact amounts, price tables and sums.

use crate::trace::usage::{ModelUsage, TokenUsage};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};
use std::sync::Arc;
use tokio::task::AbortHandle;

/// An amount of US dollars, in whole picodollars (10^-12), so that sums are exact in any order.
/// They saturate at 18.4 million dollars.
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
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Cost(u64);

/// Picodollars in a dollar.
const DOLLAR: u64 = 1_000_000_000_000;

impl Cost {
    /// An amount of 0 dollars.
    pub const ZERO: Self = Self(0);

    /// Creates an amount from picodollars.
    pub const fn pico(amount: u64) -> Self {
        Self(amount)
    }

    /// Creates an amount from millionths of a dollar.
    pub const fn micros(amount: u64) -> Self {
        Self(amount.saturating_mul(1_000_000))
    }

    /// Returns the cost of `units` at a price of `picodollars` a million, rounded half up.
    pub fn per_million(picodollars: u64, units: u64) -> Self {
        let amount = (u128::from(picodollars) * u128::from(units) + 500_000) / 1_000_000;
        Self(u64::try_from(amount).unwrap_or(u64::MAX))
    }

    /// Returns the amount in picodollars.
    pub const fn picodollars(self) -> u64 {
        self.0
    }

    /// Returns the amount in dollars, rounded to the nearest `f64`.
    #[allow(clippy::cast_precision_loss)] // documented as rounded
    pub fn dollars(self) -> f64 {
        self.0 as f64 / DOLLAR as f64
    }

    /// Returns the exact amount in dollars, with twelve decimals.
    ///
    /// ```
    /// # use tool_core::trace::Cost;
    /// assert_eq!(Cost::micros(2_500_000).decimal(), "2.500000000000");
    /// ```
    pub fn decimal(self) -> String {
        format!("{}.{:012}", self.0 / DOLLAR, self.0 % DOLLAR)
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

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Cost {
    /// Writes dollars with two decimals, and with six for amounts under 10 cents, rounded half up.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = if self.0 >= DOLLAR / 10 || self.0 == 0 {
            2
        } else {
            6
        };
        let unit = DOLLAR / 10_u64.pow(decimals);
        let rounded = self.0 / unit + u64::from(self.0 % unit >= unit / 2);
        let scale = DOLLAR / unit;
        let width = decimals as usize;
        write!(f, "${}.{:0width$}", rounded / scale, rounded % scale)
    }
}

/// A receiver of the costs of a span and of the spans inside it.
pub(crate) trait CostMeter: Send + Sync {
    /// Adds a cost, or takes one back that was observed and is now recorded. `nearer` are the
    /// meters between this one and what caused the cost: a payer of theirs pays no second time.
    fn add(&self, picodollars: i128, nearer: &[Arc<dyn CostMeter>]);

    /// Returns true if the costs exceed what they may be.
    fn is_over(&self) -> bool;

    /// Identifies the payers: the session, and its principal.
    fn payers(&self) -> [usize; 2];

    /// Aborts a task once the costs exceed what they may be.
    fn abort_when_over(&self, task: AbortHandle);
}

/// The receivers of the costs around an imported trace, the nearest first.
pub(crate) struct MetersAround(pub(crate) Vec<Arc<dyn CostMeter>>);

impl CostMeter for MetersAround {
    fn add(&self, picodollars: i128, nearer: &[Arc<dyn CostMeter>]) {
        let mut nearer = nearer.to_vec();
        for meter in &self.0 {
            meter.add(picodollars, &nearer);
            nearer.push(Arc::clone(meter));
        }
    }

    fn is_over(&self) -> bool {
        self.0.iter().any(|meter| meter.is_over())
    }

    fn payers(&self) -> [usize; 2] {
        self.0
            .first()
            .map(|meter| meter.payers())
            .unwrap_or_default()
    }

    fn abort_when_over(&self, task: AbortHandle) {
        self.0
            .iter()
            .for_each(|meter| meter.abort_when_over(task.clone()));
    }
}

/// A price table for models.
///
/// ```
/// use tool_core::trace::{Cost, ModelUsage, Pricing, TokenUsage};
///
/// /// 2 dollars for a million tokens of any model of ours.
/// struct House;
///
/// impl Pricing for House {
///     fn price(&self, used: &ModelUsage) -> Option<Cost> {
///         let tokens = used.usage.input + used.usage.output;
///         used.model.starts_with("house-").then(|| Cost::per_million(2_000_000_000_000, tokens))
///     }
/// }
///
/// let usage = TokenUsage { input: 900_000, output: 100_000, ..TokenUsage::default() };
/// assert_eq!(House.price(&ModelUsage::new("house-1", usage)), Some(Cost::micros(2_000_000)));
/// assert_eq!(House.price(&ModelUsage::new("other", usage)), None);
/// ```
pub trait Pricing: Send + Sync {
    /// Returns the cost of a response, or `None` for a model without a known price.
    fn price(&self, used: &ModelUsage) -> Option<Cost>;
}

/// The price table that a linked crate provides for collectors without one.
#[doc(hidden)]
pub struct DefaultPricing(pub fn() -> Arc<dyn Pricing>);

inventory::collect!(DefaultPricing);

/// One use of a model or of another paid service, on the span that pays for it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CostEntry {
    /// The model's usage. For a service that is not a model, `model` is the service's name.
    pub used: ModelUsage,
    /// The cost; `None` if the price is unknown.
    pub cost: Option<Cost>,
    /// True if [`observe`](super::observe) read the usage from an HTTP response; false if the
    /// caller recorded it.
    pub observed: bool,
    /// The number of uses in this entry. A span with many uses keeps sums.
    pub times: u64,
    /// True if the entry's span is the model request that was answered.
    pub(crate) of_request: bool,
}

impl CostEntry {
    /// Creates an entry for one use.
    pub(crate) fn new(used: ModelUsage, cost: Option<Cost>, observed: bool) -> Self {
        Self {
            used,
            cost,
            observed,
            times: 1,
            of_request: false,
        }
    }
}

/// A sum of costs, tokens and uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CostSummary {
    /// The cost of all uses with a known price.
    pub cost: Cost,
    /// The tokens.
    pub usage: TokenUsage,
    /// The number of uses.
    pub uses: u64,
    /// The number of uses without a known price.
    pub unpriced: u64,
}

impl From<&CostEntry> for CostSummary {
    fn from(entry: &CostEntry) -> Self {
        let unpriced = if entry.cost.is_none() { entry.times } else { 0 };
        Self {
            cost: entry.cost.unwrap_or_default(),
            usage: entry.used.usage,
            uses: entry.times,
            unpriced,
        }
    }
}

impl AddAssign for CostSummary {
    fn add_assign(&mut self, other: Self) {
        self.cost += other.cost;
        self.usage += other.usage;
        self.uses += other.uses;
        self.unpriced += other.unpriced;
    }
}

impl Sum for CostSummary {
    fn sum<I: Iterator<Item = Self>>(sums: I) -> Self {
        sums.fold(Self::default(), |mut all, sum| {
            all += sum;
            all
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_amounts_show_more_decimals() {
        assert_eq!(Cost::ZERO.to_string(), "$0.00");
        assert_eq!(Cost::pico(1).to_string(), "$0.000000");
        assert_eq!(Cost::micros(99_999).to_string(), "$0.099999");
        assert_eq!(Cost::micros(100_000).to_string(), "$0.10");
        assert_eq!(Cost::micros(1_995_000).to_string(), "$2.00");
    }

    #[test]
    fn sums_saturate() {
        assert_eq!(Cost::pico(u64::MAX) + Cost::pico(1), Cost::pico(u64::MAX));
        assert_eq!(Cost::per_million(u64::MAX, u64::MAX), Cost::pico(u64::MAX));
    }
}
