//! Price tables from JSON, with all problems of the text, and the builtin table.

use crate::prices::price::{Price, PriceCondition, Rates, parse_day, parse_dollars, parse_minute};
use crate::prices::table::{ModelPrices, NameRule, PriceCatalog, PriceTable, ProviderPrices};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Arc, OnceLock};
use tool_core::trace::{ContextWindows, Cost, DefaultPricing, ModelUsage, Pricing};

/// Returns the catalog that comes with the library. The first call parses it.
pub(crate) fn builtin() -> &'static Arc<PriceCatalog> {
    static BUILTIN: OnceLock<Arc<PriceCatalog>> = OnceLock::new();
    BUILTIN.get_or_init(|| {
        Arc::new(parse(include_str!("prices.json")).unwrap_or_else(|error| {
            tracing::error!(%error, "failed to parse the builtin price table");
            PriceCatalog::default()
        }))
    })
}

/// Returns the provider that bills requests to a URL, by the builtin table.
pub(crate) fn biller(url: &str) -> Option<&'static str> {
    builtin().provider_of_url(url).map(|provider| &*provider.id)
}

/// The builtin table as default pricing. It is parsed only when something is priced.
struct BuiltinPricing;

impl Pricing for BuiltinPricing {
    fn price(&self, used: &ModelUsage) -> Option<Cost> {
        PriceTable::builtin().price(used)
    }
}

inventory::submit! {
    tool_adapters_http::biller::BillerLookup(biller)
}

/// Returns the size of a model's context, by the builtin table.
fn context_window(provider: Option<&str>, model: &str) -> Option<u64> {
    PriceTable::builtin().context_window(provider, model)
}

inventory::submit! {
    ContextWindows(context_window)
}

inventory::submit! {
    DefaultPricing(|| Arc::new(BuiltinPricing))
}

impl PriceTable {
    /// Returns the table that comes with the library.
    pub fn builtin() -> Self {
        Self {
            catalogs: vec![Arc::clone(builtin())],
        }
    }

    /// Parses a table in the form of the builtin `prices.json`.
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
    /// Amounts are dollars a million tokens (`request`: dollars a response), as numbers or strings
    /// with at most twelve decimals. The kinds of tokens are named as in [`Rates`]. `service_tiers`
    /// has the prices of other service tiers by name, such as
    /// `{"batch": {"input": 0.55, "output": 4.5}}`; kinds that it leaves out have the standard
    /// rate. In `match`, and in a provider's `names`, `models` and `urls`, `*` matches any
    /// characters and `#` matches a digit. A list matches if one of its rules does, `{"all": [..]}`
    /// if all do, and `{"not": ..}` if the rule does not.
    ///
    /// `price` may be a list of prices with conditions: `"from": "2027-01-01"` applies from that
    /// day on, and `"between": ["16:30", "00:30"]` at that time of the day, both in UTC. The last
    /// price whose condition holds applies. A model without a price has an unknown cost. `context`
    /// is the number of tokens that a model's context can hold.
    ///
    /// # Errors
    ///
    /// Returns all problems of the text.
    pub fn from_json(text: &str) -> Result<Self, PriceTableError> {
        Ok(Self {
            catalogs: vec![Arc::new(parse(text)?)],
        })
    }
}

/// All problems of a text that is not a valid price table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid price table: {}", problems.join("; "))]
pub struct PriceTableError {
    problems: Vec<String>,
}

impl PriceTableError {
    /// Returns the problems in the order of the text.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableJson<'a> {
    date: Option<String>,
    source: Option<String>,
    /// For readers of the file.
    #[serde(rename = "licence")]
    _licence: Option<String>,
    #[serde(borrow)]
    providers: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderJson<'a> {
    id: String,
    #[serde(default)]
    urls: NameRule,
    #[serde(default)]
    names: NameRule,
    #[serde(default)]
    models: NameRule,
    #[serde(default)]
    fallback: Vec<String>,
    #[serde(borrow)]
    prices: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelJson<'a> {
    id: String,
    #[serde(rename = "match")]
    names: Option<NameRule>,
    /// The tokens that the model's context can hold.
    context: Option<u64>,
    /// A price, or a list of prices with conditions.
    #[serde(borrow)]
    price: Option<&'a RawValue>,
}

/// The members of a price or a tier, parsed one by one to report each problem.
type Members<'a> = BTreeMap<String, &'a RawValue>;

type Rate = fn(&mut Rates) -> &mut Option<Cost>;

const RATES: [(&str, Rate); 12] = [
    ("input", |rates| &mut rates.input),
    ("cached", |rates| &mut rates.cached),
    ("cache_written", |rates| &mut rates.cache_written),
    ("cache_written_1h", |rates| &mut rates.cache_written_1h),
    ("input_audio", |rates| &mut rates.input_audio),
    ("input_image", |rates| &mut rates.input_image),
    ("cached_audio", |rates| &mut rates.cached_audio),
    ("cached_image", |rates| &mut rates.cached_image),
    ("output", |rates| &mut rates.output),
    ("reasoning", |rates| &mut rates.reasoning),
    ("output_audio", |rates| &mut rates.output_audio),
    ("output_image", |rates| &mut rates.output_image),
];

pub(crate) fn parse(text: &str) -> Result<PriceCatalog, PriceTableError> {
    let mut parser = TableParser::default();
    let table = serde_json::from_str::<TableJson<'_>>(text)
        .map_err(|error| parser.report(error))
        .ok();
    let catalog = table.map(|table| {
        if table
            .date
            .as_deref()
            .is_some_and(|date| parse_day(date).is_none())
        {
            parser.report("expected `date` to be a day such as `2026-11-22`");
        }
        let providers = (1..)
            .zip(table.providers)
            .filter_map(|(at, raw)| parser.provider(at, raw))
            .collect();
        PriceCatalog {
            date: table.date,
            source: table.source,
            providers,
            is_custom: false,
        }
    });
    match catalog.filter(|_| parser.problems.is_empty()) {
        Some(catalog) => Ok(catalog),
        None => Err(PriceTableError {
            problems: parser.problems,
        }),
    }
}

/// A parser that continues after a problem.
#[derive(Default)]
struct TableParser {
    /// The path to the part that is parsed.
    path: Vec<String>,
    problems: Vec<String>,
}

impl TableParser {
    fn report(&mut self, problem: impl Display) {
        let path = self.path.join(", ");
        self.problems.push(if path.is_empty() {
            problem.to_string()
        } else {
            format!("{path}: {problem}")
        });
    }

    fn deserialize<'a, T: Deserialize<'a>>(&mut self, raw: &'a RawValue) -> Option<T> {
        let report = |error: serde_json::Error| {
            // The line and the column are relative to the part, so they are cut off.
            let text = error.to_string();
            self.report(text.split(" at line ").next().unwrap_or_default());
        };
        serde_json::from_str(raw.get()).map_err(report).ok()
    }

    /// Parses a part whose problems are reported with its name.
    fn within<T>(&mut self, part: String, parse: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.path.push(part);
        let parsed = parse(self);
        self.path.pop();
        parsed
    }

    fn provider(&mut self, at: usize, raw: &RawValue) -> Option<ProviderPrices> {
        let json = self.within(format!("provider {at}"), |parser| {
            parser.deserialize::<ProviderJson<'_>>(raw)
        })?;
        let id = json.id.trim().to_lowercase();
        let prices = self.within(format!("provider `{}`", id.escape_debug()), |parser| {
            let models = (1..)
                .zip(&json.prices)
                .filter_map(|(at, raw)| parser.model(at, raw));
            Some(models.collect())
        });
        Some(ProviderPrices {
            id: id.into(),
            names: json.names,
            models: json.models,
            urls: json.urls,
            fallback: json.fallback.into_iter().map(Into::into).collect(),
            prices: prices?,
        })
    }

    fn model(&mut self, at: usize, raw: &RawValue) -> Option<ModelPrices> {
        let json = self.within(format!("model {at}"), |parser| {
            parser.deserialize::<ModelJson<'_>>(raw)
        })?;
        let names = json.names.unwrap_or_else(|| NameRule::exact(&json.id));
        let context = json.context;
        self.within(format!("model `{}`", json.id.escape_debug()), |parser| {
            let Some(raw) = json.price else {
                return Some(ModelPrices {
                    names,
                    context,
                    prices: Vec::new(),
                });
            };
            let prices = if raw.get().starts_with('[') {
                parser.deserialize(raw)?
            } else {
                vec![raw]
            };
            let prices = prices
                .into_iter()
                .filter_map(|raw| parser.price(raw))
                .collect();
            Some(ModelPrices {
                names,
                context,
                prices,
            })
        })
    }

    fn price(&mut self, raw: &RawValue) -> Option<(PriceCondition, Price)> {
        let before = self.problems.len();
        let mut members = self.deserialize::<Members<'_>>(raw)?;
        let mut price = self.amounts(&mut members);
        let service_tiers = members
            .remove("service_tiers")
            .and_then(|raw| self.deserialize::<Members<'_>>(raw));
        for (name, raw) in service_tiers.unwrap_or_default() {
            let tier = self.within(
                format!("service tier `{}`", name.escape_debug()),
                |parser| {
                    let mut members = parser.deserialize::<Members<'_>>(raw)?;
                    let tier = parser.amounts(&mut members);
                    parser.check_unknown(&members);
                    Some(tier)
                },
            );
            price = price.service_tier(&name, tier.unwrap_or_default());
        }
        let condition = self.condition(&mut members);
        self.check_unknown(&members);
        (self.problems.len() == before).then_some((condition?, price))
    }

    /// Parses the amounts of a price or of a service tier.
    fn amounts(&mut self, members: &mut Members<'_>) -> Price {
        let mut price = Price::from(self.rates(members));
        if let Some(cost) = self.amount("request", members) {
            price = price.request(cost);
        }
        let tiers = members
            .remove("tiers")
            .and_then(|raw| self.deserialize::<Vec<&RawValue>>(raw));
        for raw in tiers.unwrap_or_default() {
            if let Some((above, rates)) = self.tier(raw) {
                price = price.above(above, rates);
            }
        }
        price
    }

    fn tier(&mut self, raw: &RawValue) -> Option<(u64, Rates)> {
        let mut members = self.deserialize::<Members<'_>>(raw)?;
        let rates = self.rates(&mut members);
        let above = members
            .remove("above")
            .and_then(|raw| raw.get().parse().ok());
        if above.is_none() {
            self.report("expected `above` of a tier to be a number of input tokens");
        }
        self.check_unknown(&members);
        Some((above?, rates))
    }

    fn check_unknown(&mut self, members: &Members<'_>) {
        for name in members.keys() {
            let known = RATES.map(|(rate, _)| format!("`{rate}`")).join(", ");
            let name = name.escape_debug();
            self.report(format_args!(
                "unknown member `{name}` of a price; expected {known}, `request`, `tiers`, `service_tiers`, `from` or \
                 `between`"
            ));
        }
    }

    fn rates(&mut self, members: &mut Members<'_>) -> Rates {
        let mut rates = Rates::default();
        for (name, rate) in RATES {
            *rate(&mut rates) = self.amount(name, members);
        }
        rates
    }

    fn amount(&mut self, name: &str, members: &mut Members<'_>) -> Option<Cost> {
        let text = members.remove(name)?.get().trim_matches('"');
        let amount = parse_dollars(text);
        if amount.is_none() {
            let text = text.chars().take(40).collect::<String>();
            self.report(format_args!(
                "expected `{name}` to be dollars with at most twelve decimals, such as `1.25`, got `{text}`"
            ));
        }
        amount
    }

    fn condition(&mut self, members: &mut Members<'_>) -> Option<PriceCondition> {
        let from = members
            .remove("from")
            .map(|raw| parse_day(raw.get().trim_matches('"')).map(PriceCondition::From));
        let between = members.remove("between").map(|raw| {
            let (start, end) = serde_json::from_str::<(&str, &str)>(raw.get()).ok()?;
            Some(PriceCondition::Between(
                parse_minute(start)?,
                parse_minute(end)?,
            ))
        });
        match (from, between) {
            (None, None) => return Some(PriceCondition::Always),
            (Some(Some(condition)), None) | (None, Some(Some(condition))) => {
                return Some(condition);
            }
            (Some(_), Some(_)) => {
                self.report("expected `from` or `between`, got both; write two prices");
            }
            (Some(None), None) => self.report("expected `from` to be a day such as `2027-01-01`"),
            (None, Some(None)) => {
                self.report("expected `between` to be two times such as `[\"16:30\", \"00:30\"]`");
            }
        }
        None
    }
}
