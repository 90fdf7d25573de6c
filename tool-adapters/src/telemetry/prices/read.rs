//! Tables from JSON, with all that is wrong with them.

use crate::telemetry::prices::layer::{Layer, Model, Provider};
use crate::telemetry::prices::price::{Price, Rates, dollars};
use crate::telemetry::prices::rule::{Rule, When, day, minute};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;
use tool_core::trace::Cost;

/// Why a text is no price table: everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceTableError {
    problems: Vec<String>,
}

impl PriceTableError {
    /// What is wrong, in the order of the text.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl fmt::Display for PriceTableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the price table cannot be used: {}", self.problems.join("; "))
    }
}

impl std::error::Error for PriceTableError {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table<'a> {
    #[serde(default)]
    date: Option<String>,
    #[serde(default)]
    source: Option<String>,
    /// For whoever reads it.
    #[serde(default, rename = "licence")]
    _licence: Option<String>,
    #[serde(borrow)]
    providers: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfProvider<'a> {
    id: String,
    #[serde(default)]
    urls: Rule,
    #[serde(default)]
    names: Rule,
    #[serde(default)]
    models: Rule,
    #[serde(default)]
    fallback: Vec<String>,
    #[serde(borrow)]
    prices: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfModel<'a> {
    id: String,
    #[serde(default, rename = "match")]
    names: Option<Rule>,
    /// One, or several with conditions.
    #[serde(borrow, default)]
    price: Option<&'a RawValue>,
}

/// A price or a tier: what is wrong with each of its members is told.
type Members<'a> = BTreeMap<String, &'a RawValue>;

const RATES: [&str; 5] = ["input", "cached", "cache_written", "output", "reasoning"];

/// Reads a table.
pub(crate) fn layer(text: &str) -> Result<Layer, PriceTableError> {
    let mut reader = Reader::default();
    let table = serde_json::from_str::<Table<'_>>(text).map_err(|error| reader.wrong(&error)).ok();
    let layer = table.map(|table| {
        if table.date.as_deref().is_some_and(|date| day(date).is_none()) {
            reader.wrong(&"`date` is no day; write it as `2026-11-22`");
        }
        let providers = (1..).zip(table.providers).filter_map(|(at, raw)| reader.provider(at, raw)).collect();
        Layer::new(table.date, table.source, providers)
    });
    match layer.filter(|_| reader.problems.is_empty()) {
        Some(layer) => Ok(layer),
        None => Err(PriceTableError { problems: reader.problems }),
    }
}

/// Reads on where something is wrong.
#[derive(Default)]
struct Reader {
    /// What is being read.
    place: Vec<String>,
    problems: Vec<String>,
}

impl Reader {
    fn wrong(&mut self, problem: &dyn fmt::Display) {
        let place = self.place.join(", ");
        self.problems.push(if place.is_empty() { problem.to_string() } else { format!("{place}: {problem}") });
    }

    fn parse<'a, T: Deserialize<'a>>(&mut self, raw: &'a RawValue) -> Option<T> {
        let told = |error: serde_json::Error| {
            // Line and column would be those within the part.
            let text = error.to_string();
            self.wrong(&text.split(" at line ").next().unwrap_or_default());
        };
        serde_json::from_str(raw.get()).map_err(told).ok()
    }

    /// Reads a part whose problems are told with its place.
    fn within<T>(&mut self, place: String, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.place.push(place);
        let read = read(self);
        self.place.pop();
        read
    }

    fn provider(&mut self, at: usize, raw: &RawValue) -> Option<Provider> {
        let wire = self.within(format!("provider {at}"), |reader| reader.parse::<OfProvider<'_>>(raw))?;
        let id = wire.id.trim().to_lowercase();
        let prices = self.within(format!("provider `{}`", id.escape_debug()), |reader| {
            let models = (1..).zip(&wire.prices).filter_map(|(at, raw)| reader.model(at, raw));
            Some(models.collect())
        });
        Some(Provider {
            id: id.into(),
            names: wire.names,
            models: wire.models,
            urls: wire.urls,
            fallback: wire.fallback.into_iter().map(Into::into).collect(),
            prices: prices?,
        })
    }

    fn model(&mut self, at: usize, raw: &RawValue) -> Option<Model> {
        let wire = self.within(format!("model {at}"), |reader| reader.parse::<OfModel<'_>>(raw))?;
        let names = wire.names.unwrap_or_else(|| Rule::is(&wire.id));
        self.within(format!("model `{}`", wire.id.escape_debug()), |reader| {
            let Some(raw) = wire.price else { return Some(Model { names, prices: Vec::new() }) };
            let prices = if raw.get().starts_with('[') { reader.parse::<Vec<&RawValue>>(raw)? } else { vec![raw] };
            let prices = prices.into_iter().filter_map(|raw| reader.price(raw)).collect();
            Some(Model { names, prices })
        })
    }

    fn price(&mut self, raw: &RawValue) -> Option<(When, Price)> {
        let before = self.problems.len();
        let mut members = self.parse::<Members<'_>>(raw)?;
        let mut price = Price::from(self.rates(&mut members));
        if let Some(cost) = self.amount("request", &mut members) {
            price = price.request(cost);
        }
        let tiers = members.remove("tiers").and_then(|raw| self.parse::<Vec<&RawValue>>(raw));
        for raw in tiers.unwrap_or_default() {
            if let Some((above, rates)) = self.tier(raw) {
                price = price.above(above, rates);
            }
        }
        let when = self.when(&mut members);
        self.unknown(&members);
        (self.problems.len() == before).then_some((when?, price))
    }

    fn tier(&mut self, raw: &RawValue) -> Option<(u64, Rates)> {
        let mut members = self.parse::<Members<'_>>(raw)?;
        let rates = self.rates(&mut members);
        let above = members.remove("above").and_then(|raw| raw.get().parse().ok());
        if above.is_none() {
            self.wrong(&"a tier has to say `above` how many tokens read it holds, a whole number");
        }
        self.unknown(&members);
        Some((above?, rates))
    }

    fn unknown(&mut self, members: &Members<'_>) {
        for name in members.keys() {
            let name = name.escape_debug();
            self.wrong(&format_args!(
                "a price has no `{name}`; it has {}, `request`, `tiers`, `from` and `between`",
                RATES.map(|rate| format!("`{rate}`")).join(", ")
            ));
        }
    }

    fn rates(&mut self, members: &mut Members<'_>) -> Rates {
        let [input, cached, cache_written, output, reasoning] = RATES.map(|name| self.amount(name, members));
        Rates { input, cached, cache_written, output, reasoning }
    }

    fn amount(&mut self, name: &str, members: &mut Members<'_>) -> Option<Cost> {
        let text = members.remove(name)?.get().trim_matches('"');
        let amount = dollars(text);
        if amount.is_none() {
            let text = text.chars().take(40).collect::<String>();
            self.wrong(&format_args!(
                "`{name}` is no amount of dollars (`{text}`); write it as `1.25`, with at most twelve decimals"
            ));
        }
        amount
    }

    fn when(&mut self, members: &mut Members<'_>) -> Option<When> {
        let from = members.remove("from").map(|raw| day(raw.get().trim_matches('"')).map(When::From));
        let between = members.remove("between").map(|raw| {
            let (start, end) = serde_json::from_str::<(&str, &str)>(raw.get()).ok()?;
            Some(When::Between(minute(start)?, minute(end)?))
        });
        match (from, between) {
            (None, None) => Some(When::Always),
            (Some(Some(when)), None) | (None, Some(Some(when))) => Some(when),
            (Some(_), Some(_)) => {
                self.wrong(&"a price has `from` or `between`, not both; write two prices");
                None
            }
            _ => {
                self.wrong(
                    &"`from` is a day (`2027-01-01`), `between` two times of the day (`[\"16:30\", \"00:30\"]`)",
                );
                None
            }
        }
    }
}
