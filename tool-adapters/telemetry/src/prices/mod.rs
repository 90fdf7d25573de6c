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
//! Collectors use the builtin table by default if the program links this crate. A model without a
//! known price has no cost, and totals count its use as unpriced.
//!
//! # Data
//!
//! The prices are those of the package `genai-prices` (by Pydantic, MIT). `prices.json` in this
//! folder names its release and the date; `just prices` imports a newer release. The package's
//! rules also decide for which provider and model a name stands. Costs are exact: prices have at
//! most twelve decimals, sums are integers, and the cost of a response is rounded once, half up, to
//! a picodollar.
//!
//! Only tokens and requests are priced: text, audio and images, read, written, cached for minutes
//! or an hour. Video costs as much as images. Pages, characters, seconds and searches cost nothing.
//! A model that is priced only by other units has no price.
//!
//! # Service tiers
//!
//! A response of another service tier than the standard one costs what the table says for that
//! tier: `batch`, `flex`, `priority`, or `fast`. The providers' messages name the tier, but not
//! always for a batch, so
//! [`ModelUsage::service_tier`](tool_core::trace::ModelUsage::service_tier) sets it too. A tier without a price in the table
//! has an unknown cost, because no rule says how it relates to the standard one: capacity that is
//! paid in advance, or a model that another provider runs. [`Price::service_tier`] adds its price.
//!
//! Anthropic's region of inference counts as a tier: `us`, or `fast-us` beside the fast mode. The
//! table has no prices for it. So does `several_models`, an answer of which other models have made
//! a part, such as an adviser: the models' prices differ, and it has one usage.

mod json;
mod price;
mod table;

#[cfg(test)]
mod tests;

pub use crate::prices::json::PriceTableError;
pub use crate::prices::price::{Price, Rates};
pub use crate::prices::table::PriceTable;
