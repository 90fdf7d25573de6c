//! The price of a model, the cost of tokens, and the time at which a price applies.

use jiff::civil::{Date, Time};
use std::time::{SystemTime, UNIX_EPOCH};
use tool_core::trace::{Cost, TokenUsage};

/// Prices of a million tokens of each kind. A kind without a price costs as much as the kind that
/// includes it: cached, cache-written, audio and image tokens are input, and reasoning, audio and
/// image tokens are output. Tokens that the cache keeps for an hour are cache-written tokens.
/// Cached audio costs as much as audio, and without a price for that as much as cached tokens; the
/// same holds for cached images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Input tokens.
    pub input: Option<Cost>,
    /// Input tokens that were read from the cache.
    pub cached: Option<Cost>,
    /// Input tokens that were written to the cache.
    pub cache_written: Option<Cost>,
    /// Input tokens that were written to the cache, which keeps them for an hour.
    pub cache_written_1h: Option<Cost>,
    /// Input tokens of audio.
    pub input_audio: Option<Cost>,
    /// Input tokens of images, pages of documents and video.
    pub input_image: Option<Cost>,
    /// Input tokens of audio that were read from the cache.
    pub cached_audio: Option<Cost>,
    /// Input tokens of images, pages and video that were read from the cache.
    pub cached_image: Option<Cost>,
    /// Output tokens.
    pub output: Option<Cost>,
    /// Output tokens that were spent on reasoning.
    pub reasoning: Option<Cost>,
    /// Output tokens of audio.
    pub output_audio: Option<Cost>,
    /// Output tokens of images and video.
    pub output_image: Option<Cost>,
}

/// The price of a model.
///
/// ```
/// use tool_adapters::telemetry::prices::{Price, Rates};
/// use tool_core::trace::{Cost, TokenUsage};
///
/// // 1.25 dollars for a million input tokens and 10 for a million output tokens; twice that above 200,000 input tokens.
/// let dollars = |cents: u64| Cost::micros(cents * 10_000);
/// let double = Rates { input: Some(dollars(250)), output: Some(dollars(2_000)), ..Rates::default() };
/// let price = Price::new(dollars(125), dollars(1_000)).above(200_000, double);
/// let usage = |input| TokenUsage { input, output: 1_000, ..TokenUsage::default() };
/// assert_eq!(price.cost(usage(200_000)), Some(Cost::micros(260_000)));
/// assert_eq!(price.cost(usage(200_001)), Some(Cost::pico(520_002_500_000)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Price {
    rates: Rates,
    request: Option<Cost>,
    /// Rates above a number of input tokens, sorted by that number.
    tiers: Vec<(u64, Rates)>,
    /// The prices of service tiers other than the standard one, by their names in lower case.
    service_tiers: Vec<(Box<str>, Price)>,
}

impl From<Rates> for Price {
    fn from(rates: Rates) -> Self {
        Self {
            rates,
            ..Self::default()
        }
    }
}

impl Price {
    /// Creates a price from the costs of a million input tokens and a million output tokens.
    /// `Price::from` creates one with other [`Rates`] too, such as that of cached tokens.
    pub fn new(input: Cost, output: Cost) -> Self {
        Rates {
            input: Some(input),
            output: Some(output),
            ..Rates::default()
        }
        .into()
    }

    /// Sets the cost of each response, in addition to its tokens.
    pub fn request(self, cost: Cost) -> Self {
        Self {
            request: Some(cost),
            ..self
        }
    }

    /// Adds other rates for responses with more than `tokens` input tokens. They apply to all
    /// tokens of such a response. Kinds without a rate keep the rate of the tier below.
    pub fn above(mut self, tokens: u64, rates: Rates) -> Self {
        let at = self.tiers.partition_point(|(above, _)| *above <= tokens);
        self.tiers.insert(at, (tokens, rates));
        self
    }

    /// Sets the price of a service tier, such as `batch`, `flex` or `priority`. Kinds without a
    /// rate keep the standard rate.
    ///
    /// ```
    /// use tool_adapters::telemetry::prices::{Price, Rates};
    /// use tool_core::trace::{Cost, TokenUsage};
    ///
    /// let price = Price::new(Cost::micros(1_000_000), Cost::micros(8_000_000));
    /// let half = Price::new(Cost::micros(500_000), Cost::micros(4_000_000));
    /// // The provider serves `flex` at the standard price.
    /// let price = price.service_tier("batch", half).service_tier("flex", Rates::default());
    /// let usage = TokenUsage { input: 1_000, output: 100, ..TokenUsage::default() };
    /// assert_eq!(price.cost(usage), Some(Cost::micros(1_800)));
    /// assert_eq!(price.cost_in("batch", usage), Some(Cost::micros(900)));
    /// assert_eq!(price.cost_in("flex", usage), Some(Cost::micros(1_800)));
    /// assert_eq!(price.cost_in("priority", usage), None);
    /// ```
    pub fn service_tier(mut self, name: &str, price: impl Into<Price>) -> Self {
        let name = name.trim().to_lowercase();
        self.service_tiers.retain(|(other, _)| **other != *name);
        self.service_tiers.push((name.into(), price.into()));
        self
    }

    /// Returns the cost of a response in the standard service tier. Returns `None` if it used
    /// tokens of a kind without a rate.
    pub fn cost(&self, usage: TokenUsage) -> Option<Cost> {
        self.total(usage, None)
    }

    /// Returns the cost of a response in another service tier. Returns `None` if the price of the
    /// tier is unknown, too.
    pub fn cost_in(&self, service_tier: &str, usage: TokenUsage) -> Option<Cost> {
        let name = service_tier.trim().to_lowercase();
        let (_, tier) = self
            .service_tiers
            .iter()
            .find(|(other, _)| **other == *name)?;
        self.total(usage, Some(tier))
    }

    fn total(&self, usage: TokenUsage, service_tier: Option<&Self>) -> Option<Cost> {
        // Of the requests behind the response, the largest one decides which rates there are.
        let beside = match usage.input_at_once {
            0 => usage.input_beside,
            largest => largest,
        };
        let size = usage.context().max(beside);
        let rate = |of: fn(&Rates) -> Option<Cost>| {
            service_tier
                .and_then(|tier| tier.rate(size, of))
                .or_else(|| self.rate(size, of))
        };
        let cached = rate(|rates| rates.cached);
        let written = rate(|rates| rates.cache_written);
        let audio = rate(|rates| rates.input_audio);
        let image = rate(|rates| rates.input_image);
        // Disjoint parts of the input, each with the rate of the narrowest kind that has one.
        let input = [
            (
                usage.cached_audio,
                rate(|rates| rates.cached_audio).or(audio).or(cached),
            ),
            (
                usage.cached_image,
                rate(|rates| rates.cached_image).or(image).or(cached),
            ),
            (
                usage
                    .cached
                    .saturating_sub(usage.cached_audio)
                    .saturating_sub(usage.cached_image),
                cached,
            ),
            (usage.input_audio.saturating_sub(usage.cached_audio), audio),
            (usage.input_image.saturating_sub(usage.cached_image), image),
            (
                usage.cache_written_1h,
                rate(|rates| rates.cache_written_1h).or(written),
            ),
            (
                usage.cache_written.saturating_sub(usage.cache_written_1h),
                written,
            ),
        ];
        let output = [
            (usage.reasoning, rate(|rates| rates.reasoning)),
            (usage.output_audio, rate(|rates| rates.output_audio)),
            (usage.output_image, rate(|rates| rates.output_image)),
        ];
        let input = charge(usage.input, rate(|rates| rates.input), &input)?;
        let output = charge(usage.output, rate(|rates| rates.output), &output)?;
        // Rounded once.
        let request = service_tier
            .and_then(|tier| tier.request)
            .or(self.request)
            .unwrap_or_default();
        let request = u128::from(request.picodollars()) * MILLION;
        let sum = request.saturating_add(input).saturating_add(output);
        let rounded = sum.saturating_add(MILLION / 2) / MILLION;
        Some(Cost::pico(u64::try_from(rounded).unwrap_or(u64::MAX)))
    }

    /// Returns the rate of a kind for a response with this many input tokens.
    fn rate(&self, input: u64, of: fn(&Rates) -> Option<Cost>) -> Option<Cost> {
        let tiers = self.tiers.iter().rev().filter(|(above, _)| input > *above);
        tiers
            .map(|(_, rates)| of(rates))
            .find(Option::is_some)
            .unwrap_or_else(|| of(&self.rates))
    }
}

const MILLION: u128 = 1_000_000;

/// Returns the cost of tokens in millionths of a picodollar. Kinds that are part of them and have a
/// rate cost that rate. Returns `None` if there are other tokens and no rate for them.
fn charge(all: u64, rate: Option<Cost>, kinds: &[(u64, Option<Cost>)]) -> Option<u128> {
    let cost = |tokens: u64, rate: Cost| u128::from(tokens) * u128::from(rate.picodollars());
    let mut rest = all;
    let mut sum = 0_u128;
    for (tokens, rate) in kinds
        .iter()
        .filter_map(|(tokens, rate)| Some((*tokens, (*rate)?)))
    {
        // A provider may report more tokens of a kind than in all.
        rest = rest.saturating_sub(tokens);
        sum = sum.saturating_add(cost(tokens, rate));
    }
    match rate {
        Some(rate) => Some(sum.saturating_add(cost(rest, rate))),
        None => (rest == 0).then_some(sum),
    }
}

/// The decimals of a picodollar.
const DECIMALS: usize = 12;

/// Parses an amount of dollars: digits with an optional point. Returns `None` for other texts, for
/// more than twelve decimals, and for amounts that do not fit.
pub(crate) fn parse_dollars(text: &str) -> Option<Cost> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let digits = fraction.trim_end_matches('0');
    if !is_digits(whole) || !is_digits(fraction) || digits.len() > DECIMALS {
        return None;
    }
    format!("{whole}{digits:0<DECIMALS$}")
        .parse()
        .ok()
        .map(Cost::pico)
}

const MINUTES_PER_DAY: u64 = 24 * 60;

/// A condition on the time, in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PriceCondition {
    #[default]
    Always,
    /// Holds from a day on, counted from 1970-01-01.
    From(i64),
    /// Holds each day from the first minute to before the second, over midnight if the second is
    /// smaller.
    Between(u64, u64),
}

impl PriceCondition {
    pub(crate) fn holds(self, time: SystemTime) -> bool {
        let minutes = time
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs() / 60);
        let day = minutes / MINUTES_PER_DAY;
        let minute = minutes % MINUTES_PER_DAY;
        match self {
            Self::Always => true,
            Self::From(first) => i64::try_from(day).is_ok_and(|day| day >= first),
            Self::Between(start, end) if end < start => minute >= start || minute < end,
            Self::Between(start, end) => (start..end).contains(&minute),
        }
    }
}

/// Parses a date such as `2027-01-01` into days since 1970-01-01.
pub(crate) fn parse_day(text: &str) -> Option<i64> {
    // jiff also reads other forms, such as `20270101`.
    let date = text
        .parse::<Date>()
        .ok()
        .filter(|date| date.year() > 0 && date.to_string() == text)?;
    let days = date.since(Date::constant(1970, 1, 1)).ok()?.get_days();
    Some(days.into())
}

/// Parses a time such as `16:30` into the minute of the day.
pub(crate) fn parse_minute(text: &str) -> Option<u64> {
    // jiff also reads other forms, such as `16:30:15`.
    let time = text
        .parse::<Time>()
        .ok()
        .filter(|time| time.to_string() == format!("{text}:00"))?;
    u64::try_from(i32::from(time.hour()) * 60 + i32::from(time.minute())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn parses_amounts_exactly_or_not_at_all() {
        let pico = |text| parse_dollars(text).map(Cost::picodollars);
        assert_eq!(pico("1.25"), Some(1_250_000_000_000));
        assert_eq!(pico("0"), Some(0));
        assert_eq!(pico("10"), Some(10_000_000_000_000));
        assert_eq!(pico("0.083333333333"), Some(83_333_333_333));
        assert_eq!(pico("0.1000000000000000"), Some(100_000_000_000));
        assert_eq!(pico("18446744.073709551615"), Some(u64::MAX));
        for invalid in [
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
            assert_eq!(pico(invalid), None, "{invalid}");
        }
    }

    fn at(days: i64, minute: u64) -> SystemTime {
        UNIX_EPOCH
            + Duration::from_secs(
                u64::try_from(days).expect("since 1970") * 86_400 + minute * 60 + 59,
            )
    }

    #[test]
    fn counts_days_as_the_calendar_does() {
        assert_eq!(parse_day("1970-01-01"), Some(0));
        assert_eq!(parse_day("2000-02-29"), Some(11_016));
        assert_eq!(parse_day("2026-11-22"), Some(20_779));
        assert_eq!(parse_day("2100-03-01"), Some(47_541));
        for invalid in [
            "2026-02-29",
            "2100-02-29",
            "2026-13-01",
            "2026-00-01",
            "2026-1-01",
            "2026-11-31",
            "20261122",
            "2026-11-22-1",
            "0000-01-01",
            "+026-01-01",
        ] {
            assert_eq!(parse_day(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn a_price_applies_from_its_day_on() {
        let first = parse_day("2027-01-01").expect("a day");
        assert!(!PriceCondition::From(first).holds(at(first - 1, 1_439)));
        assert!(PriceCondition::From(first).holds(at(first, 0)));
        assert!(!PriceCondition::From(first).holds(UNIX_EPOCH - Duration::from_secs(1)));
    }

    #[test]
    fn a_price_applies_between_its_minutes_even_over_midnight() {
        let minute = |text| parse_minute(text).expect("a time");
        let between = |start, end| PriceCondition::Between(minute(start), minute(end));
        let holds = |when: PriceCondition| {
            [0, 29, 30, 989, 990, 1_439].map(|minute| when.holds(at(3, minute)))
        };
        assert_eq!(
            holds(between("00:30", "16:30")),
            [false, false, true, true, false, false]
        );
        assert_eq!(
            holds(between("16:30", "00:30")),
            [true, true, false, false, true, true]
        );
        assert_eq!(
            ["24:00", "1:00", "12:60", "12"].map(parse_minute),
            [None; 4]
        );
    }
}
