//! What models cost: a table of prices, which comes with the library and can be added to.
//!
//! ```
//! use tool_adapters::telemetry::prices::{Price, PriceTable};
//! use tool_core::trace::{Cost, ModelUsage, Pricing, TokenUsage};
//!
//! let table = PriceTable::builtin();
//! assert!(table.source().is_some_and(|source| source.starts_with("genai-prices ")));
//! let used = ModelUsage::new("gpt-4o-2024-08-06", TokenUsage { input: 1_000, cached: 400, output: 50, ..Usage::default() });
//! // 600 tokens at 2.50 dollars a million, 400 at 1.25, and 50 at 10.
//! assert_eq!(table.price(&used), Some(Cost::micros(2_500)));
//!
//! // A model of one's own, or another price than the one that is published.
//! let table = table.with("our-gateway", "our-model", Price::new(Cost::micros(100_000), Cost::micros(400_000)));
//! let used = ModelUsage::new("our-model", TokenUsage { input: 1_000, ..Usage::default() }).provider("our-gateway");
//! assert_eq!(table.price(&used), Some(Cost::micros(100)));
//! ```
//!
//! Collectors have the builtin table unless they are told of another: it is enough that the program links this crate.
//! What the table does not know costs `None`, which totals count as unpriced; nothing is taken for free that is not
//! known to be.
//!
//! # What it is of
//!
//! The figures are those of the package `genai-prices` (by Pydantic, MIT), as `prices.json` here names its release and
//! the day; `just prices` takes over those of a newer one. Which provider and which model a name stands for goes by the
//! package's rules too. Costs are exact: prices have at most twelve decimals, sums are whole numbers, and the sum of a
//! response is rounded once, half up, to a picodollar.
//!
//! Only tokens and requests have prices here, as nothing else is counted: sound and images cost what text does; pages,
//! characters, seconds and searches cost nothing; what is kept in a cache for longer costs what is kept for the usual
//! time; and the service tier is the standard one. A model that is paid by such units alone has no price.

pub(crate) mod layer;
pub(crate) mod price;
pub(crate) mod read;
pub(crate) mod rule;

#[cfg(test)]
mod tests;

use crate::telemetry::prices::layer::{Layer, Model};
pub use crate::telemetry::prices::price::{Price, Rates};
pub use crate::telemetry::prices::read::PriceTableError;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;
use tool_core::__private::inventory;
use tool_core::trace::{Cost, DefaultPricing, ModelUsage, Pricing};

/// Prices of models, by provider and name.
#[derive(Clone, Debug, Default)]
pub struct PriceTable {
    /// The first that knows a model says its price.
    layers: Vec<Arc<Layer>>,
}

/// The table that comes with the library, read at its first use.
fn builtin() -> &'static Arc<Layer> {
    static BUILTIN: OnceLock<Arc<Layer>> = OnceLock::new();
    BUILTIN.get_or_init(|| {
        let read = read::layer(include_str!("prices.json"));
        // A test holds that it can be read.
        Arc::new(read.unwrap_or_else(|error| {
            tracing::error!(%error, "the builtin price table cannot be read");
            Layer::default()
        }))
    })
}

/// Who is paid at a URL, by the builtin table.
pub(crate) fn biller(url: &str) -> Option<&'static str> {
    builtin().provider_at(url).map(|provider| &*provider.id)
}

impl PriceTable {
    /// The table that comes with the library.
    pub fn builtin() -> Self {
        Self { layers: vec![Arc::clone(builtin())] }
    }

    /// A table in the form of the library's own: `prices.json` in this folder.
    ///
    /// ```
    /// use tool_adapters::telemetry::prices::PriceTable;
    ///
    /// let table = PriceTable::from_json(r#"{"date": "2026-11-01", "source": "our contract", "providers": [
    ///     {"id": "openai", "prices": [
    ///         {"id": "gpt-5", "match": ["gpt-5", "gpt-5-####-##-##"],
    ///          "price": {"input": 1.10, "cached": "0.11", "output": 9, "tiers": [{"above": 200000, "input": 2.20}]}}
    ///     ]}
    /// ]}"#)?;
    /// let table = PriceTable::builtin().merge(table);
    /// assert_eq!(table.date(), Some("2026-11-01"));
    /// # Ok::<(), tool_adapters::telemetry::prices::PriceTableError>(())
    /// ```
    ///
    /// Amounts are dollars for a million tokens (`request`: for one response), as numbers or texts of at most twelve
    /// decimals. In `match`, and in a provider's `names`, `models` and `urls`, `*` stands for any characters and `#`
    /// for a digit; several are a list, `{"all": [..]}` wants all of them and `{"not": ..}` none. Of several prices
    /// the last one counts that holds: `"from": "2027-01-01"` holds from that day on, `"between": ["16:30", "00:30"]`
    /// at that time of the day, both by UTC. A model without a price costs an unknown amount.
    ///
    /// # Errors
    ///
    /// All that is wrong with it.
    pub fn from_json(text: &str) -> Result<Self, PriceTableError> {
        Ok(Self { layers: vec![Arc::new(read::layer(text)?)] })
    }

    /// With this price for a model: it goes before what the table says.
    #[must_use]
    pub fn with(mut self, provider: &str, model: &str, price: Price) -> Self {
        // What was added before is added to; what came from elsewhere stays as it is.
        if !self.layers.first().is_some_and(|layer| layer.is_own()) {
            self.layers.insert(0, Arc::default());
        }
        if let Some(own) = self.layers.first_mut() {
            Arc::make_mut(own).add(provider, model, price);
        }
        self
    }

    /// With all prices of another table, which go before those of this one.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self { layers: other.layers.into_iter().chain(self.layers).collect() }
    }

    /// The day for which the prices hold, as `2026-11-22`.
    pub fn date(&self) -> Option<&str> {
        self.layers.iter().find_map(|layer| layer.date.as_deref())
    }

    /// Where the prices come from: a package and its release.
    pub fn source(&self) -> Option<&str> {
        self.layers.iter().find_map(|layer| layer.source.as_deref())
    }

    /// What a model costs now. Without a provider the model's name has to tell who runs it.
    pub fn price_of<'a>(&self, provider: impl Into<Option<&'a str>>, model: &str) -> Option<&Price> {
        self.find(provider.into(), model)?.price_at(SystemTime::now())
    }

    /// What was used cost at a time; `None` where no price is known, or nothing of what was used.
    pub fn cost_at(&self, used: &ModelUsage, time: SystemTime) -> Option<Cost> {
        if used.usage.is_empty() {
            return None;
        }
        self.find(used.provider.as_deref(), &used.model)?.price_at(time)?.cost(used.usage)
    }

    /// Who is paid for requests to this URL.
    pub fn provider_of_url(&self, url: &str) -> Option<&str> {
        self.layers.iter().find_map(|layer| layer.provider_at(url)).map(|provider| &*provider.id)
    }

    fn find(&self, provider: Option<&str>, model: &str) -> Option<&Model> {
        let model = model.trim().to_lowercase();
        let provider = provider.map(|name| name.trim().to_lowercase()).filter(|name| !name.is_empty());
        let provider = provider.as_deref();
        self.named(provider, &model).or_else(|| {
            // A resource's name in full, as addresses have it.
            let short = match model.strip_prefix("arn:") {
                Some(arn) => arn.rsplit('/').next(),
                None => model.strip_prefix("models/"),
            };
            self.named(provider, short?)
        })
    }

    /// The model, by names in lower case. A layer may know a provider only by its id: what it is called besides, another
    /// says.
    fn named(&self, provider: Option<&str>, model: &str) -> Option<&Model> {
        let ids = self.layers.iter().filter_map(|layer| layer.provider(provider, model)).map(|(found, _)| &*found.id);
        let ids = ids.collect::<Vec<_>>();
        self.layers.iter().find_map(|layer| {
            let by_id = || ids.iter().find_map(|id| layer.provider(Some(id), model));
            let (provider, model) = layer.provider(provider, model).or_else(by_id)?;
            layer.model(provider, model)
        })
    }
}

impl Pricing for PriceTable {
    fn price(&self, used: &ModelUsage) -> Option<Cost> {
        self.cost_at(used, SystemTime::now())
    }
}

/// The builtin table, which is not read before something is to be priced.
struct Builtin;

impl Pricing for Builtin {
    fn price(&self, used: &ModelUsage) -> Option<Cost> {
        PriceTable::builtin().price(used)
    }
}

inventory::submit! {
    DefaultPricing(|| Arc::new(Builtin))
}
