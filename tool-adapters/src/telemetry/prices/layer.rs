//! The providers and models of one table, and which of them a name stands for.
//!
//! The rules are those of `genai-prices`: the first that holds, in the table's order.

use crate::telemetry::prices::price::Price;
use crate::telemetry::prices::rule::{Rule, When, is_day};
use std::fmt::Write as _;
use std::time::SystemTime;

/// A table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layer {
    pub(crate) date: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) providers: Vec<Provider>,
    /// It was made by code, price by price.
    own: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Provider {
    pub(crate) id: Box<str>,
    /// What it is called besides its id.
    pub(crate) names: Rule,
    /// The models that are taken for its own where nobody says whose they are.
    pub(crate) models: Rule,
    pub(crate) urls: Rule,
    /// The providers whose models it runs too.
    pub(crate) fallback: Vec<Box<str>>,
    pub(crate) prices: Vec<Model>,
}

#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) names: Rule,
    /// Of those that hold the last one counts.
    pub(crate) prices: Vec<(When, Price)>,
}

impl Model {
    pub(crate) fn price_at(&self, time: SystemTime) -> Option<&Price> {
        let holding = self.prices.iter().rev().find(|(when, _)| when.holds(time));
        holding.or(self.prices.first()).map(|(_, price)| price)
    }
}

impl Layer {
    pub(crate) fn new(date: Option<String>, source: Option<String>, providers: Vec<Provider>) -> Self {
        Self { date, source, providers, own: false }
    }

    pub(crate) fn is_own(&self) -> bool {
        self.own
    }

    /// Adds a price, which goes before what is there.
    pub(crate) fn add(&mut self, provider: &str, model: &str, price: Price) {
        self.own = true;
        let id = provider.trim().to_lowercase();
        let at = self.providers.iter().position(|provider| *provider.id == *id).unwrap_or_else(|| {
            self.providers.push(Provider { id: id.into(), ..Provider::default() });
            self.providers.len() - 1
        });
        let Some(provider) = self.providers.get_mut(at) else { return };
        let names = Rule::is(model.trim());
        let models = std::mem::take(&mut provider.models);
        provider.models = match models {
            Rule::Any(mut rules) => {
                rules.push(names.clone());
                Rule::Any(rules)
            }
            _ => Rule::Any(vec![names.clone()]),
        };
        provider.prices.insert(0, Model { names, prices: vec![(When::Always, price)] });
    }

    /// The provider of a model, and the model's name there; both names in lower case.
    pub(crate) fn provider<'a>(&self, name: Option<&str>, model: &'a str) -> Option<(&Provider, &'a str)> {
        match name {
            Some("litellm") => {
                // It says the provider in front of the model.
                let within = model.split_once('/').and_then(|(name, model)| Some((self.called(name)?, model)));
                within.or_else(|| self.of_model(model))
            }
            Some(name) => Some((self.called(name)?, model)),
            None => self.of_model(model),
        }
    }

    fn called(&self, name: &str) -> Option<&Provider> {
        let by_id = self.providers.iter().find(|provider| *provider.id == *name);
        by_id.or_else(|| self.providers.iter().find(|provider| provider.names.holds(name)))
    }

    fn of_model<'a>(&self, model: &'a str) -> Option<(&Provider, &'a str)> {
        self.providers.iter().find(|provider| provider.models.holds(model)).map(|provider| (provider, model))
    }

    /// The provider whose requests go to a URL.
    pub(crate) fn provider_at(&self, url: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.urls.holds(url))
    }

    /// A provider's model, by its name in lower case. Gateways write dates without hyphens.
    pub(crate) fn model<'a>(&'a self, provider: &'a Provider, name: &str) -> Option<&'a Model> {
        self.exactly(provider, name).or_else(|| self.exactly(provider, &dashed(name)?))
    }

    fn exactly<'a>(&'a self, provider: &'a Provider, name: &str) -> Option<&'a Model> {
        // One step only: who is fallen back to does not fall back.
        let others = provider.fallback.iter().filter_map(|id| self.providers.iter().find(|other| other.id == *id));
        std::iter::once(provider).chain(others).find_map(|provider| provider.model(name))
    }
}

impl Provider {
    fn model(&self, name: &str) -> Option<&Model> {
        self.prices.iter().find(|model| model.names.holds(name))
    }
}

/// A model's name with its dates as `-2025-12-11`, which it has as `-20251211`; `None` where it has none.
fn dashed(name: &str) -> Option<String> {
    let mut written = String::with_capacity(name.len() + 2);
    let mut parts = name.split('-');
    let mut found = false;
    written.push_str(parts.next()?);
    for part in parts {
        written.push('-');
        // What follows a colon is no part of the date.
        let (date, rest) = part.split_once(':').map_or((part, None), |(date, rest)| (date, Some(rest)));
        match parts_of(date) {
            Some((year, month, day)) => {
                found = true;
                let _ = write!(written, "{year}-{month}-{day}");
                let _ = rest.map(|rest| write!(written, ":{rest}"));
            }
            None => written.push_str(part),
        }
    }
    found.then_some(written)
}

/// The parts of a date of eight digits in this century.
fn parts_of(date: &str) -> Option<(&str, &str, &str)> {
    let (year, rest) = date.split_at_checked(4)?;
    let (month, day) = rest.split_at_checked(2)?;
    let digits = date.starts_with("20") && day.len() == 2 && date.bytes().all(|byte| byte.is_ascii_digit());
    let number = |part: &str| part.parse().unwrap_or(0);
    (digits && is_day(number(year), number(month), number(day))).then_some((year, month, day))
}
