//! The price of a model, and what it makes of tokens.

use tool_core::trace::{Cost, TokenUsage};

/// What a million tokens of each kind cost. A kind without a price of its own costs what the kind does that it belongs
/// to: what is read from the cache or written to it is input, reasoning is output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Tokens read.
    pub input: Option<Cost>,
    /// Those that came from the cache.
    pub cached: Option<Cost>,
    /// Those that were written to the cache.
    pub cache_written: Option<Cost>,
    /// Tokens written.
    pub output: Option<Cost>,
    /// Those that were spent on reasoning.
    pub reasoning: Option<Cost>,
}

/// What a model costs.
///
/// ```
/// use tool_adapters::telemetry::prices::{Price, Rates};
/// use tool_core::trace::{Cost, TokenUsage};
///
/// // 1.25 dollars for a million tokens read, 10 for a million written; twice that for what reads more than 200,000.
/// let dollars = |cents: u64| Cost::micros(cents * 10_000);
/// let twice = Rates { input: Some(dollars(250)), output: Some(dollars(2_000)), ..Rates::default() };
/// let price = Price::new(dollars(125), dollars(1_000)).above(200_000, twice);
/// let usage = |input| TokenUsage { input, output: 1_000, ..Usage::default() };
/// assert_eq!(price.cost(usage(200_000)), Some(Cost::micros(260_000)));
/// assert_eq!(price.cost(usage(200_001)), Some(Cost::pico(520_002_500_000)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Price {
    rates: Rates,
    request: Option<Cost>,
    /// What changes above so many tokens read; the smallest number first.
    tiers: Vec<(u64, Rates)>,
}

impl From<Rates> for Price {
    fn from(rates: Rates) -> Self {
        Self { rates, ..Self::default() }
    }
}

impl Price {
    /// So much for a million tokens read, and for a million written.
    pub fn new(input: Cost, output: Cost) -> Self {
        Rates { input: Some(input), output: Some(output), ..Rates::default() }.into()
    }

    /// With a price for a million tokens that come from the cache.
    #[must_use]
    pub fn cached(mut self, cost: Cost) -> Self {
        self.rates.cached = Some(cost);
        self
    }

    /// With a price for a million tokens that are written to the cache.
    #[must_use]
    pub fn cache_written(mut self, cost: Cost) -> Self {
        self.rates.cache_written = Some(cost);
        self
    }

    /// With a price for a million tokens of reasoning.
    #[must_use]
    pub fn reasoning(mut self, cost: Cost) -> Self {
        self.rates.reasoning = Some(cost);
        self
    }

    /// With a price for each response besides its tokens.
    #[must_use]
    pub fn request(mut self, cost: Cost) -> Self {
        self.request = Some(cost);
        self
    }

    /// With other rates for responses that read more than so many tokens: for all of their tokens, not for those beyond
    /// the number only. What `rates` leaves out stays as it is below.
    #[must_use]
    pub fn above(mut self, tokens: u64, rates: Rates) -> Self {
        let at = self.tiers.partition_point(|(above, _)| *above <= tokens);
        self.tiers.insert(at, (tokens, rates));
        self
    }

    /// The rates, without those of the tiers.
    pub fn rates(&self) -> Rates {
        self.rates
    }

    /// The price of each response.
    pub fn per_request(&self) -> Option<Cost> {
        self.request
    }

    /// What changes above so many tokens read.
    pub fn tiers(&self) -> &[(u64, Rates)] {
        &self.tiers
    }

    /// What a response costs that used this; `None` where tokens of a kind were used that has no price.
    pub fn cost(&self, usage: TokenUsage) -> Option<Cost> {
        let rate = |of: fn(&Rates) -> Option<Cost>| {
            let tiers = self.tiers.iter().rev().filter(|(above, _)| usage.input > *above);
            tiers.map(|(_, rates)| of(rates)).find(Option::is_some).unwrap_or_else(|| of(&self.rates))
        };
        let cached = Part::of(usage.cached, rate(|rates| rates.cached));
        let written = Part::of(usage.cache_written, rate(|rates| rates.cache_written));
        let reasoning = Part::of(usage.reasoning, rate(|rates| rates.reasoning));
        let input = Part::rest(usage.input, rate(|rates| rates.input), &[&cached, &written]);
        let output = Part::rest(usage.output, rate(|rates| rates.output), &[&reasoning]);
        // In picodollars for a million, so that it is rounded once.
        let mut sum = u128::from(self.request.unwrap_or_default().picodollars()) * MILLION;
        for part in [input, cached, written, output, reasoning] {
            sum = sum.saturating_add(part.price()?);
        }
        let rounded = sum.saturating_add(MILLION / 2) / MILLION;
        Some(Cost::pico(u64::try_from(rounded).unwrap_or(u64::MAX)))
    }
}

const MILLION: u128 = 1_000_000;

/// Tokens of one price.
struct Part {
    tokens: u64,
    rate: Option<Cost>,
}

impl Part {
    /// Those of a kind, where it has a price of its own.
    fn of(tokens: u64, rate: Option<Cost>) -> Self {
        Self { tokens: if rate.is_some() { tokens } else { 0 }, rate }
    }

    /// Those that are left when others have their own price. A provider that counts more of these than of all leaves none.
    fn rest(all: u64, rate: Option<Cost>, others: &[&Self]) -> Self {
        Self { tokens: others.iter().fold(all, |rest, other| rest.saturating_sub(other.tokens)), rate }
    }

    /// In picodollars for a million; `None` where there are tokens and no price.
    fn price(&self) -> Option<u128> {
        match self.rate {
            Some(rate) => Some(u128::from(self.tokens) * u128::from(rate.picodollars())),
            None => (self.tokens == 0).then_some(0),
        }
    }
}

// ---- Amounts of dollars, digit by digit.

/// The decimals of a picodollar.
const DECIMALS: usize = 12;

/// The amount that a text says: digits, and a point if need be. `None` where it is none, or finer or larger than what can
/// be kept.
pub(crate) fn dollars(text: &str) -> Option<Cost> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let fraction = fraction.get(..1).map(|first| {
        let rest = fraction.get(1..).unwrap_or_default().trim_end_matches('0');
        format!("{first}{rest}")
    })?;
    if !digits(whole) || !digits(&fraction) || fraction.len() > DECIMALS {
        return None;
    }
    format!("{whole}{fraction:0<DECIMALS$}").parse().ok().map(Cost::pico)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_exactly_or_not_at_all() {
        let pico = |text| dollars(text).map(Cost::picodollars);
        assert_eq!(pico("1.25"), Some(1_250_000_000_000));
        assert_eq!(pico("0"), Some(0));
        assert_eq!(pico("10"), Some(10_000_000_000_000));
        assert_eq!(pico("0.083333333333"), Some(83_333_333_333));
        assert_eq!(pico("0.1000000000000000"), Some(100_000_000_000));
        assert_eq!(pico("18446744.073709551615"), Some(u64::MAX));
        for none in [
            "",
            ".",
            "1.",
            ".5",
            "-1",
            "+1",
            "1e3",
            "1,5",
            " 1",
            "0.0000000000001",
            "18446744.073709551616",
            "1.ä",
            "ä",
        ] {
            assert_eq!(pico(none), None, "{none}");
        }
    }
}
