//! The prices of models, and the lookup of a provider's and a model's name.
//!
//! The rules are those of `genai-prices`: the first match in a catalog's order applies.

use crate::prices::price::{Price, PriceCondition};
use jiff::civil::Date;
use serde::{Deserialize, Deserializer};
use std::sync::Arc;
use std::time::SystemTime;
use tool_core::trace::{Cost, ModelUsage, Pricing};

/// Prices of models, by provider and name.
///
/// ```
/// use tool_adapters::telemetry::prices::{Price, PriceTable};
/// use tool_core::trace::{Collector, Cost, ModelUsage, Pricing, TokenUsage};
///
/// // Dollars for a million input tokens and a million output tokens, in millionths: 0.10 and 0.40.
/// let price = Price::new(Cost::micros(100_000), Cost::micros(400_000));
/// let prices = PriceTable::builtin().with("our-gateway", "our-model", price);
///
/// let usage = TokenUsage { input: 1_000, output: 100, ..TokenUsage::default() };
/// let used = ModelUsage::new("our-model", usage).provider("our-gateway");
/// assert_eq!(prices.price(&used), Some(Cost::micros(140)));
///
/// let collector = Collector::builder().pricing(prices).build();
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct PriceTable {
    /// The first catalog that knows a model has its price.
    pub(crate) catalogs: Vec<Arc<PriceCatalog>>,
}

impl PriceTable {
    /// Adds the price of a model. It takes precedence over all other prices.
    pub fn with(mut self, provider: &str, model: &str, price: Price) -> Self {
        // Prices are added to a catalog of their own, so that a parsed one stays unchanged.
        if !self
            .catalogs
            .first()
            .is_some_and(|catalog| catalog.is_custom)
        {
            self.catalogs.insert(0, Arc::default());
        }
        if let Some(custom) = self.catalogs.first_mut() {
            Arc::make_mut(custom).add(provider, model, price);
        }
        self
    }

    /// Adds all prices of another table, which take precedence over those of this one.
    pub fn merge(self, other: Self) -> Self {
        Self {
            catalogs: other.catalogs.into_iter().chain(self.catalogs).collect(),
        }
    }

    /// Returns the date of the prices, such as `2026-11-22`.
    pub fn date(&self) -> Option<&str> {
        self.catalogs
            .iter()
            .find_map(|catalog| catalog.date.as_deref())
    }

    /// Returns the source of the prices: a package and its release.
    pub fn source(&self) -> Option<&str> {
        self.catalogs
            .iter()
            .find_map(|catalog| catalog.source.as_deref())
    }

    /// Returns the current price of a model. Without a provider, the model's name decides who runs
    /// it.
    pub fn price_of<'a>(
        &self,
        provider: impl Into<Option<&'a str>>,
        model: &str,
    ) -> Option<&Price> {
        self.find(provider.into(), model)?
            .prices
            .price_at(SystemTime::now())
    }

    /// Returns the number of tokens that a model's context can hold. Without a provider, the
    /// model's name decides who runs it.
    ///
    /// ```
    /// use tool_adapters::telemetry::prices::PriceTable;
    ///
    /// let table = PriceTable::builtin();
    /// assert_eq!(table.context_window("anthropic", "claude-sonnet-4-5-20250929"), Some(200_000));
    /// assert_eq!(table.context_window(None, "gpt-5-mini"), Some(400_000));
    /// assert_eq!(table.context_window(None, "our-model"), None);
    /// ```
    pub fn context_window<'a>(
        &self,
        provider: impl Into<Option<&'a str>>,
        model: &str,
    ) -> Option<u64> {
        let provider = provider.into();
        // A table that knows the model may not say how large its context is.
        self.catalogs.iter().find_map(|catalog| {
            let table = Self {
                catalogs: vec![Arc::clone(catalog)],
            };
            table.find(provider, model)?.prices.context
        })
    }

    /// Returns the cost of a use at a time. Returns `None` if the price is unknown, also that of
    /// the service tier, or if no tokens were used.
    pub fn cost_at(&self, used: &ModelUsage, time: SystemTime) -> Option<Cost> {
        if used.usage.is_empty() {
            return None;
        }
        let found = self.find(used.provider.as_deref(), &used.model)?;
        let price = found.prices.price_at(time)?;
        match used.service_tier.as_deref() {
            None => price.cost(used.usage),
            // The provider that runs another provider's model has service tiers of its own.
            Some(_) if found.is_fallback => None,
            Some(tier) => price.cost_in(tier, used.usage),
        }
    }

    /// Returns the provider that bills requests to a URL.
    pub fn provider_of_url(&self, url: &str) -> Option<&str> {
        self.catalogs
            .iter()
            .find_map(|catalog| catalog.provider_of_url(url))
            .map(|provider| &*provider.id)
    }

    fn find(&self, provider: Option<&str>, model: &str) -> Option<FoundPrices<'_>> {
        let model = model.trim().to_lowercase();
        let provider = provider
            .map(|name| name.trim().to_lowercase())
            .filter(|name| !name.is_empty());
        let provider = provider.as_deref();
        self.find_lowercase(provider, &model).or_else(|| {
            // The full name of a resource, as in a URL.
            let short = match model.strip_prefix("arn:") {
                Some(arn) => arn.rsplit('/').next(),
                None => model.strip_prefix("models/"),
            };
            self.find_lowercase(provider, short?)
        })
    }

    fn find_lowercase(&self, provider: Option<&str>, model: &str) -> Option<FoundPrices<'_>> {
        // A catalog may know a provider only by its id, and another catalog its other names.
        let ids = self
            .catalogs
            .iter()
            .filter_map(|catalog| catalog.provider(provider, model));
        let ids = ids.map(|(found, _)| &*found.id).collect::<Vec<_>>();
        self.catalogs.iter().find_map(|catalog| {
            let by_id = || ids.iter().find_map(|id| catalog.provider(Some(id), model));
            let (provider, model) = catalog.provider(provider, model).or_else(by_id)?;
            catalog.model(provider, model)
        })
    }
}

impl Pricing for PriceTable {
    fn price(&self, used: &ModelUsage) -> Option<Cost> {
        self.cost_at(used, SystemTime::now())
    }
}

/// The prices of one source.
#[derive(Clone, Debug, Default)]
pub(crate) struct PriceCatalog {
    pub(crate) date: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) providers: Vec<ProviderPrices>,
    /// True if its prices were added in code.
    pub(crate) is_custom: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ProviderPrices {
    pub(crate) id: Box<str>,
    /// Other names of the provider.
    pub(crate) names: NameRule,
    /// The models that are the provider's if no provider is given.
    pub(crate) models: NameRule,
    pub(crate) urls: NameRule,
    /// Providers whose models this one runs too.
    pub(crate) fallback: Vec<Box<str>>,
    pub(crate) prices: Vec<ModelPrices>,
}

#[derive(Clone, Debug)]
pub(crate) struct ModelPrices {
    pub(crate) names: NameRule,
    /// The tokens that the model's context can hold.
    pub(crate) context: Option<u64>,
    /// The last price whose condition holds applies.
    pub(crate) prices: Vec<(PriceCondition, Price)>,
}

/// The prices of a model, found under a name.
#[derive(Clone, Copy)]
pub(crate) struct FoundPrices<'a> {
    pub(crate) prices: &'a ModelPrices,
    /// True if they are those of another provider, whose models the asked one runs too.
    is_fallback: bool,
}

impl ModelPrices {
    pub(crate) fn price_at(&self, time: SystemTime) -> Option<&Price> {
        let applicable = self
            .prices
            .iter()
            .rev()
            .find(|(condition, _)| condition.holds(time));
        applicable.or(self.prices.first()).map(|(_, price)| price)
    }
}

impl PriceCatalog {
    /// Adds a price in front of the others.
    pub(crate) fn add(&mut self, provider: &str, model: &str, price: Price) {
        self.is_custom = true;
        let id = provider.trim().to_lowercase();
        let at = self
            .providers
            .iter()
            .position(|provider| *provider.id == *id)
            .unwrap_or_else(|| {
                self.providers.push(ProviderPrices {
                    id: id.into(),
                    ..ProviderPrices::default()
                });
                self.providers.len() - 1
            });
        let Some(provider) = self.providers.get_mut(at) else {
            return;
        };
        let names = NameRule::exact(model.trim());
        let mut models = match std::mem::take(&mut provider.models) {
            NameRule::Any(rules) => rules,
            _ => Vec::new(),
        };
        models.push(names.clone());
        provider.models = NameRule::Any(models);
        provider.prices.insert(
            0,
            ModelPrices {
                names,
                context: None,
                prices: vec![(PriceCondition::Always, price)],
            },
        );
    }

    /// Returns the provider of a model, and the model's name there. Both names are in lower case.
    pub(crate) fn provider<'a>(
        &self,
        name: Option<&str>,
        model: &'a str,
    ) -> Option<(&ProviderPrices, &'a str)> {
        match name {
            Some("litellm") => {
                // LiteLLM puts the provider in front of the model.
                let prefixed = model
                    .split_once('/')
                    .and_then(|(name, model)| Some((self.by_name(name)?, model)));
                prefixed.or_else(|| self.by_model(model))
            }
            Some(name) => Some((self.by_name(name)?, model)),
            None => self.by_model(model),
        }
    }

    fn by_name(&self, name: &str) -> Option<&ProviderPrices> {
        let by_id = self.providers.iter().find(|provider| *provider.id == *name);
        by_id.or_else(|| {
            self.providers
                .iter()
                .find(|provider| provider.names.matches(name))
        })
    }

    fn by_model<'a>(&self, model: &'a str) -> Option<(&ProviderPrices, &'a str)> {
        self.providers
            .iter()
            .find(|provider| provider.models.matches(model))
            .map(|provider| (provider, model))
    }

    pub(crate) fn provider_of_url(&self, url: &str) -> Option<&ProviderPrices> {
        self.providers
            .iter()
            .find(|provider| provider.urls.matches(url))
    }

    /// Returns a provider's model by its name in lower case. Gateways write dates without hyphens.
    pub(crate) fn model<'a>(
        &'a self,
        provider: &'a ProviderPrices,
        name: &str,
    ) -> Option<FoundPrices<'a>> {
        self.exact_model(provider, name)
            .or_else(|| self.exact_model(provider, &with_dashed_dates(name)?))
    }

    fn exact_model<'a>(
        &'a self,
        provider: &'a ProviderPrices,
        name: &str,
    ) -> Option<FoundPrices<'a>> {
        // The fallbacks of a fallback do not count.
        let fallbacks = provider
            .fallback
            .iter()
            .filter_map(|id| self.providers.iter().find(|other| other.id == *id));
        std::iter::once((provider, false))
            .chain(fallbacks.map(|other| (other, true)))
            .find_map(|(other, is_fallback)| {
                let prices = other
                    .prices
                    .iter()
                    .find(|model| model.names.matches(name))?;
                Some(FoundPrices {
                    prices,
                    is_fallback,
                })
            })
    }
}

/// Rewrites dates in a model's name from `20251211` to `2025-12-11`. Returns `None` if there are
/// none.
fn with_dashed_dates(name: &str) -> Option<String> {
    let mut has_date = false;
    let parts = name.split('-').enumerate().map(|(at, part)| {
        // The date ends at a colon.
        let (date, rest) = part.split_at(part.find(':').unwrap_or(part.len()));
        match dashed_date(date).filter(|_| at > 0) {
            Some(date) => {
                has_date = true;
                date + rest
            }
            None => part.to_owned(),
        }
    });
    let name = parts.collect::<Vec<_>>().join("-");
    has_date.then_some(name)
}

/// Formats a date of eight digits in this century.
fn dashed_date(date: &str) -> Option<String> {
    let is_candidate =
        date.len() == 8 && date.starts_with("20") && date.bytes().all(|byte| byte.is_ascii_digit());
    is_candidate
        .then(|| date.parse::<Date>().ok())?
        .map(|date| date.to_string())
}

/// A condition on a name in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a name, a list of names, `{\"all\": [..]}` or `{\"not\": ..}`"
)]
pub(crate) enum NameRule {
    /// Matches no name.
    #[default]
    #[serde(skip)]
    Never,
    #[serde(skip)]
    Exact(Box<str>),
    /// `*` matches any characters, `#` a digit.
    #[serde(deserialize_with = "deserialize_lowercase")]
    Pattern(Box<str>),
    Any(Vec<NameRule>),
    All {
        all: Vec<NameRule>,
    },
    Not {
        not: Box<NameRule>,
    },
}

fn deserialize_lowercase<'de, D: Deserializer<'de>>(source: D) -> Result<Box<str>, D::Error> {
    Ok(String::deserialize(source)?.to_lowercase().into())
}

impl NameRule {
    /// Creates a rule for one name, which may contain `*` and `#`.
    pub(crate) fn exact(name: &str) -> Self {
        Self::Exact(name.to_lowercase().into())
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        match self {
            Self::Never => false,
            Self::Exact(only) => **only == *name,
            Self::Pattern(pattern) => matches_pattern(pattern.as_bytes(), name.as_bytes()),
            Self::Any(rules) => rules.iter().any(|rule| rule.matches(name)),
            Self::All { all } => all.iter().all(|rule| rule.matches(name)),
            Self::Not { not } => !not.matches(name),
        }
    }
}

/// Matches a pattern. Backtracks to the last `*` only, so the time is linear in the name for a
/// constant pattern.
fn matches_pattern(pattern: &[u8], name: &[u8]) -> bool {
    let mut pattern = pattern;
    let mut name = name;
    // The pattern after the last `*`, and the part of the name at which it was tried last.
    let mut backtrack: Option<(&[u8], &[u8])> = None;
    loop {
        match (pattern.split_first(), name.split_first()) {
            (Some((b'*', rest)), _) => {
                backtrack = Some((rest, name));
                pattern = rest;
            }
            (Some((expected, rest)), Some((byte, after))) if matches_byte(*expected, *byte) => {
                (pattern, name) = (rest, after);
            }
            (None, None) => return true,
            _ => {
                let Some((rest, [_, after @ ..])) = backtrack else {
                    return false;
                };
                backtrack = Some((rest, after));
                (pattern, name) = (rest, after);
            }
        }
    }
}

fn matches_byte(expected: u8, byte: u8) -> bool {
    if expected == b'#' {
        byte.is_ascii_digit()
    } else {
        expected == byte
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rule(text: &str) -> NameRule {
        serde_json::from_str(text).expect("a rule")
    }

    #[test]
    fn rules_match_names() {
        for (text, names, others) in [
            (
                r#""GPT-5""#,
                &["gpt-5"][..],
                &["gpt-5-mini", "agpt-5", ""][..],
            ),
            (r#""gpt-*""#, &["gpt-", "gpt-5"], &["gpt", "xgpt-5"]),
            (r#""*-tts""#, &["a-tts", "-tts"], &["a-tts-b", "tts"]),
            (r#""*claude*""#, &["claude", "eu.claude-3"], &["cloude"]),
            (
                r#""a-####-##""#,
                &["a-2026-11"],
                &["a-2026-1x", "a-2026-1", "a-2026-111"],
            ),
            (r#""a*b*c""#, &["abc", "axbxbc", "abbcc"], &["acb", "ab"]),
            (r#"["a", "b*"]"#, &["a", "b", "bc"], &["ab", "c"]),
            (
                r#"{"all": ["a*", {"not": ["*x", "*y"]}]}"#,
                &["a", "axa"],
                &["ax", "ay", "b"],
            ),
            ("[]", &[], &["", "a"]),
        ] {
            assert!(names.iter().all(|name| rule(text).matches(name)), "{text}");
            assert!(
                !others.iter().any(|name| rule(text).matches(name)),
                "{text}"
            );
        }
        assert_eq!(NameRule::exact("A*"), NameRule::Exact("a*".into()));
        assert!(
            serde_json::from_str::<NameRule>("7")
                .is_err_and(|error| error.to_string().contains("expected a name"))
        );
    }

    proptest! {
        #[test]
        fn patterns_match_as_a_plain_search_does(pattern in "[ab*#]{0,8}", name in "[ab1]{0,10}") {
            fn plain(pattern: &[u8], name: &[u8]) -> bool {
                match (pattern, name) {
                    ([], _) => name.is_empty(),
                    ([b'*', rest @ ..], _) => (0..=name.len()).any(|at| plain(rest, &name[at..])),
                    ([first, rest @ ..], [byte, after @ ..]) => matches_byte(*first, *byte) && plain(rest, after),
                    _ => false,
                }
            }
            let expected = plain(pattern.as_bytes(), name.as_bytes());
            prop_assert_eq!(matches_pattern(pattern.as_bytes(), name.as_bytes()), expected);
        }
    }
}
