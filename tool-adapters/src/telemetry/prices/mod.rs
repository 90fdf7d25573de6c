//! Prices of models: a table that comes with the library, and that can be extended.
//!
//! ```
//! use tool_adapters::telemetry::prices::{Price, PriceTable};
//! use tool_core::trace::{Cost, ModelUsage, Pricing, TokenUsage};
//!
//! let table = PriceTable::builtin();
//! assert!(table.source().is_some_and(|source| source.starts_with("genai-prices ")));
//! let usage = TokenUsage { input: 1_000, cached: 400, output: 50, ..TokenUsage::default() };
//! // 600 tokens at 2.50 dollars a million, 400 at 1.25, and 50 at 10.
//! assert_eq!(table.price(&ModelUsage::new("gpt-4o-2024-08-06", usage)), Some(Cost::micros(2_500)));
//!
//! // The price of another model, or another price of a known one.
//! let table = table.with("our-gateway", "our-model", Price::new(Cost::micros(100_000), Cost::micros(400_000)));
//! let usage = TokenUsage { input: 1_000, ..TokenUsage::default() };
//! assert_eq!(table.price(&ModelUsage::new("our-model", usage).provider("our-gateway")), Some(Cost::micros(100)));
//! ```
//!
//! Collectors use the builtin table by default if the program links this crate. A model without a known price has no cost,
//! and totals count its use as unpriced.
//!
//! # Data
//!
//! The prices are those of the package `genai-prices` (by Pydantic, MIT). `prices.json` in this folder names its release and
//! the date; `just prices` imports a newer release. The package's rules also decide for which provider and model a name
//! stands. Costs are exact: prices have at most twelve decimals, sums are integers, and the cost of a response is rounded
//! once, half up, to a picodollar.
//!
//! Only tokens and requests are priced. Audio and images cost as much as text; pages, characters, seconds and searches
//! cost nothing; a longer cache lifetime costs as much as the usual one; and the service tier is the standard one. A model
//! that is priced only by other units has no price.

mod json;
mod price;
mod table;

#[cfg(test)]
mod tests;

pub use crate::telemetry::prices::json::PriceTableError;
pub(crate) use crate::telemetry::prices::json::biller;
pub use crate::telemetry::prices::price::{Price, Rates};
pub use crate::telemetry::prices::table::PriceTable;
