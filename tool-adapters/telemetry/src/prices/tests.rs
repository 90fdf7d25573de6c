//! The builtin table, other tables, and costs.

use crate::prices::json::{builtin, parse};
use crate::prices::price::parse_day;
use crate::prices::{Price, PriceTable};
use proptest::prelude::*;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tool_adapters_http::biller::biller_of_url;
use tool_core::trace;
use tool_core::trace::{Collector, Cost, ModelUsage, Pricing, TokenUsage};

const MICRO: u64 = 1_000_000;

fn dollars(cents: u64) -> Cost {
    Cost::micros(cents * 10_000)
}

fn used(provider: &str, model: &str, usage: TokenUsage) -> ModelUsage {
    let used = ModelUsage::new(model.to_owned(), usage);
    if provider.is_empty() {
        used
    } else {
        used.provider(provider.to_owned())
    }
}

fn tokens(input: u64, output: u64) -> TokenUsage {
    TokenUsage {
        input,
        output,
        ..TokenUsage::default()
    }
}

fn read_table(text: &str) -> PriceTable {
    PriceTable::from_json(text).expect("a table")
}

/// Returns a table with one model, `m` of `p`.
fn table_of(price: &str) -> PriceTable {
    read_table(&format!(
        r#"{{"providers": [{{"id": "p", "prices": [{{"id": "m", "price": {price}}}]}}]}}"#
    ))
}

#[test]
fn builtin_table_has_a_date_and_a_source() {
    let table = PriceTable::builtin();
    assert!(table.date().and_then(parse_day).is_some());
    assert!(
        table
            .source()
            .is_some_and(|source| source.starts_with("genai-prices ")),
        "{:?}",
        table.source()
    );
    let catalog = parse(include_str!("prices.json")).expect("a table");
    let models = catalog
        .providers
        .iter()
        .map(|provider| provider.prices.len())
        .sum::<usize>();
    let priced = catalog
        .providers
        .iter()
        .flat_map(|provider| &provider.prices)
        .filter(|model| !model.prices.is_empty());
    assert!(catalog.providers.len() >= 40 && models >= 2_000 && priced.count() * 10 >= models * 9);
}

// S6
#[test]
fn collectors_use_the_builtin_table_by_default() {
    let collector = Collector::new();
    collector.run_sync(|| {
        trace::in_scope(trace::SpanKind::Agent, "a", || {
            trace::record(used("openai", "gpt-4o", tokens(1_000, 100)));
            trace::record(used("nobody", "nothing", tokens(1, 1)));
        });
    });
    let report = collector.report();
    let totals = report.totals();
    assert_eq!(
        (totals.total.cost, totals.total.unpriced),
        (Cost::micros(3_500), 1)
    );
}

#[test]
fn finds_models_by_the_names_of_providers_and_gateways() {
    let table = PriceTable::builtin();
    let same = |names: &[(&str, &str)]| {
        let prices = names.iter().map(|(provider, model)| {
            let provider = Some(*provider).filter(|provider| !provider.is_empty());
            let price = table
                .price_of(provider, model)
                .unwrap_or_else(|| panic!("{provider:?} {model}"));
            price.cost(TokenUsage {
                cached: 1,
                ..tokens(1_000, 10)
            })
        });
        let prices = prices.collect::<Vec<_>>();
        assert!(prices.windows(2).all(|two| two[0] == two[1]), "{names:?}");
    };
    same(&[
        ("openai", "gpt-4o"),
        ("openai-chat", "GPT-4o"),
        (" OpenAI ", "gpt-4o-2024-08-06"),
        ("openai", "gpt-4o-20240806"),
        ("", "gpt-4o"),
        ("litellm", "openai/gpt-4o"),
        ("azure", "gpt-4o"),
    ]);
    same(&[
        ("anthropic", "claude-opus-4-5"),
        ("anthropic", "claude-opus-4-5-20251101"),
        ("google", "claude-opus-4-5@20251101"),
        ("", "claude-opus-4.5"),
    ]);
    same(&[
        ("gemini", "gemini-2.5-flash"),
        ("gcp.gemini", "models/gemini-2.5-flash"),
        ("", "gemini-2.5-flash"),
    ]);
    same(&[
        ("aws.bedrock", "amazon.nova-pro-v1:0"),
        (
            "bedrock",
            "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-pro-v1:0",
        ),
    ]);
    for (provider, model) in [
        (Some("ollama"), "llama3.2"),
        (Some("nobody"), "gpt-4o"),
        (Some("openai"), "gpt-nonsense"),
        (Some("litellm"), "nonsense"),
        (None, "nonsense"),
        (None, ""),
    ] {
        assert_eq!(
            table.price_of(provider, model),
            None,
            "{provider:?} {model}"
        );
    }
}

#[test]
fn a_use_without_a_price_has_no_cost() {
    let builtin = PriceTable::builtin();
    assert_eq!(
        builtin.price(&used("openai", "whisper-1", tokens(10, 10))),
        None
    );
    // No tokens were used.
    assert_eq!(
        builtin.price(&used("openai", "gpt-4o", TokenUsage::default())),
        None
    );
    let table = table_of(r#"{"input": 1}"#);
    assert_eq!(
        table.price(&used("p", "m", tokens(3, 0))),
        Some(Cost::pico(3 * MICRO))
    );
    assert_eq!(table.price(&used("p", "m", tokens(3, 1))), None);
    assert_eq!(table_of("{}").price(&used("p", "m", tokens(1, 0))), None);
    assert_eq!(
        table_of(r#"{"input": 0, "output": 0}"#).price(&used("p", "m", tokens(3, 1))),
        Some(Cost::ZERO)
    );
}

#[test]
fn charges_each_token_once_by_its_kind() {
    let usage = TokenUsage {
        input: 100,
        cached: 60,
        cache_written: 30,
        output: 40,
        reasoning: 25,
        ..TokenUsage::default()
    };
    let cost = |price: &str| {
        table_of(price)
            .price(&used("p", "m", usage))
            .map(|cost| cost.picodollars() / MICRO)
    };
    assert_eq!(cost(r#"{"input": 2, "output": 10}"#), Some(200 + 400));
    assert_eq!(
        cost(r#"{"input": 2, "cached": 0.5, "output": 10}"#),
        Some(80 + 30 + 400)
    );
    assert_eq!(
        cost(r#"{"input": 2, "cached": 0.5, "cache_written": 3, "output": 10}"#),
        Some(20 + 30 + 90 + 400)
    );
    assert_eq!(
        cost(r#"{"input": 2, "output": 10, "reasoning": 20}"#),
        Some(200 + 150 + 500)
    );
    assert_eq!(
        cost(r#"{"input": 2, "output": 10, "request": 0.005}"#),
        Some(600 + 5_000)
    );
    // A provider that reports more tokens of a kind than in all.
    let usage = TokenUsage {
        input: 10,
        cached: 60,
        output: 1,
        reasoning: 9,
        ..TokenUsage::default()
    };
    let table = table_of(r#"{"input": 2, "cached": 0.5, "output": 10}"#);
    assert_eq!(
        table.price(&used("p", "m", usage)),
        Some(Cost::pico(40 * MICRO))
    );
}

/// Audio of 50 tokens, 20 of them cached, and an image of 20 tokens, 5 of them cached, beside 10 tokens of cached text and 40
/// of other text; audio of 30 tokens and an image of 10 tokens beside 20 tokens of text.
const MEDIA: TokenUsage = TokenUsage {
    input: 120,
    cached: 35,
    input_audio: 50,
    input_image: 20,
    cached_audio: 20,
    cached_image: 5,
    output: 60,
    output_audio: 30,
    output_image: 10,
    cache_written: 0,
    cache_written_1h: 0,
    input_beside: 0,
    input_at_once: 0,
    reasoning: 0,
};

#[test]
fn requests_behind_a_response_have_tiers_of_their_own() {
    let table = table_of(r#"{"input": 1, "output": 1, "tiers": [{"above": 200000, "input": 10}]}"#);
    let usage = TokenUsage {
        input: 203_000,
        input_beside: 180_000,
        ..TokenUsage::default()
    };
    let cost = table.price(&used("p", "m", usage)).expect("a price");
    assert_eq!(cost, Cost::micros(203_000), "1 a token, not 10");
}

#[test]
fn the_largest_request_behind_a_response_decides_the_tier() {
    let table = table_of(r#"{"input": 1, "output": 1, "tiers": [{"above": 200000, "input": 10}]}"#);
    let cost_of = |input_at_once| {
        let usage = TokenUsage {
            input: 360_000,
            input_beside: 300_000,
            input_at_once,
            ..TokenUsage::default()
        };
        table.price(&used("p", "m", usage))
    };
    assert_eq!(
        cost_of(60_000),
        Some(Cost::micros(360_000)),
        "six of 60,000 tokens"
    );
    assert_eq!(
        cost_of(250_000),
        Some(Cost::micros(3_600_000)),
        "one of 250,000 tokens"
    );
}

#[test]
fn audio_and_images_have_rates_of_their_own() {
    let cost = |price: &str| {
        table_of(price)
            .price(&used("p", "m", MEDIA))
            .map(|cost| cost.picodollars() / (MICRO / 10))
    };
    let all = r#"{"input": 1, "cached": 0.1, "input_audio": 10, "input_image": 5, "cached_audio": 2, "cached_image": 3,
        "output": 4, "output_audio": 20, "output_image": 30}"#;
    let text = 400 + 10;
    let audio = 30 * 100 + 20 * 20;
    let image = 15 * 50 + 5 * 30;
    assert_eq!(
        cost(all),
        Some(text + audio + image + 20 * 40 + 30 * 200 + 10 * 300)
    );
    // Cached audio costs as much as audio, and without a rate for that as much as cached tokens.
    let output = 60 * 40;
    assert_eq!(
        cost(r#"{"input": 1, "cached": 0.1, "input_audio": 10, "output": 4}"#),
        Some(400 + 10 + 50 * 100 + 15 * 10 + 5 + output)
    );
    assert_eq!(
        cost(r#"{"input": 1, "cached": 0.1, "output": 4}"#),
        Some(85 * 10 + 35 + output)
    );
    assert_eq!(
        cost(r#"{"input": 1, "output": 4}"#),
        Some(120 * 10 + output)
    );
}

#[test]
fn cache_writes_of_an_hour_have_their_own_rate() {
    let usage = TokenUsage {
        input: 100,
        cache_written: 60,
        cache_written_1h: 25,
        ..TokenUsage::default()
    };
    let cost = |price: &str| {
        table_of(price)
            .price(&used("p", "m", usage))
            .map(|cost| cost.picodollars() / MICRO)
    };
    assert_eq!(
        cost(r#"{"input": 4, "cache_written": 5, "cache_written_1h": 8}"#),
        Some(40 * 4 + 35 * 5 + 25 * 8)
    );
    assert_eq!(
        cost(r#"{"input": 4, "cache_written": 5}"#),
        Some(40 * 4 + 60 * 5)
    );
    assert_eq!(cost(r#"{"input": 4}"#), Some(400));
}

#[test]
fn a_service_tier_replaces_the_standard_rates() {
    let table = table_of(
        r#"{"input": 2, "cached": 1, "output": 10, "tiers": [{"above": 200, "input": 4, "output": 20}], "service_tiers": {
        "batch": {"input": 1, "output": 5, "tiers": [{"above": 200, "input": 2}]},
        "Priority": {"request": 1}, "flex": {}}}"#,
    );
    let cost = |tier: &'static str, input| {
        let usage = TokenUsage {
            input,
            cached: 100,
            output: 10,
            ..TokenUsage::default()
        };
        let used = used("p", "m", usage);
        let used = if tier.is_empty() {
            used
        } else {
            used.service_tier(tier)
        };
        table.price(&used).map(|cost| cost.picodollars() / MICRO)
    };
    assert_eq!(
        (cost("", 200), cost("", 300)),
        (Some(200 + 100 + 100), Some(800 + 100 + 200))
    );
    // The tier has no rate for cached tokens, and its output has no tier above 200 tokens.
    assert_eq!(
        (cost("batch", 200), cost("BATCH", 300)),
        (Some(100 + 100 + 50), Some(400 + 100 + 50))
    );
    assert_eq!(
        (cost("flex", 200), cost("priority", 200)),
        (Some(400), Some(1_000_400))
    );
    assert_eq!(cost("scale", 200), None);
}

#[test]
fn builtin_table_prices_media_caches_and_tiers() {
    let table = PriceTable::builtin();
    let cost = |provider, model, usage, tier: Option<&'static str>| {
        let used = used(provider, model, usage);
        table.price(&tier.map_or_else(|| used.clone(), |tier| used.clone().service_tier(tier)))
    };
    // Dollars a million: text 4, audio 32, cached 0.40; output 16 and audio 64.
    let voice = TokenUsage {
        input: 1_000,
        cached: 500,
        input_audio: 600,
        cached_audio: 400,
        output: 300,
        output_audio: 250,
        ..TokenUsage::default()
    };
    let expected = 300 * 4_000 + 200 * 32_000 + 500 * 400 + 50 * 16_000 + 250 * 64_000;
    assert_eq!(
        cost("openai", "gpt-realtime", voice, None),
        Some(Cost::pico(expected * 1_000))
    );
    // Text 0.75, audio 3 and 12; there is no price for cached tokens.
    let expected = 400 * 750 + 600 * 3_000 + 50 * 4_500 + 250 * 12_000;
    assert_eq!(
        cost("google", "gemini-3.8-live", voice, None),
        Some(Cost::pico(expected * 1_000))
    );
    // Input 5, written for minutes 6.25 and for an hour 10.
    let written = TokenUsage {
        input: 1_000,
        cache_written: 800,
        cache_written_1h: 300,
        ..TokenUsage::default()
    };
    let expected = 200 * 5_000 + 500 * 6_250 + 300 * 10_000;
    assert_eq!(
        cost("anthropic", "claude-opus-4-5", written, None),
        Some(Cost::pico(expected * 1_000))
    );
    let half = Some(Cost::pico(expected * 500));
    assert_eq!(
        cost("anthropic", "claude-opus-4-5", written, Some("batch")),
        half
    );
    assert_eq!(
        cost("anthropic", "claude-opus-4-5", written, Some("priority")),
        None
    );
    let tokens = tokens(1_000, 100);
    let costs = [None, Some("flex"), Some("batch"), Some("priority")]
        .map(|tier| cost("openai", "gpt-5", tokens, tier));
    assert_eq!(
        costs,
        [2_250, 1_125, 1_125, 4_500].map(|micros| Some(Cost::micros(micros)))
    );
    // Azure runs OpenAI's models at the same standard price, but with tiers of its own.
    assert_eq!(
        cost("azure", "gpt-5", tokens, None),
        Some(Cost::micros(2_250))
    );
    assert_eq!(cost("azure", "gpt-5", tokens, Some("priority")), None);
}

#[test]
fn a_tier_applies_to_all_tokens_of_a_larger_response() {
    let table = table_of(
        r#"{"input": 1, "cached": 0.1, "output": 5, "tiers": [
        {"above": 1000, "input": 4}, {"above": 200, "input": 2, "output": 10}]}"#,
    );
    let cost = |input, cached| {
        let usage = TokenUsage {
            input,
            cached,
            output: 10,
            ..TokenUsage::default()
        };
        table.price(&used("p", "m", usage)).map(Cost::picodollars)
    };
    assert_eq!(cost(200, 0), Some((200 + 50) * MICRO));
    assert_eq!(cost(201, 0), Some((402 + 100) * MICRO));
    assert_eq!(cost(1_000, 0), Some((2_000 + 100) * MICRO));
    // Rates that the upper tier leaves out are those of the lower one.
    assert_eq!(cost(1_001, 0), Some((4_004 + 100) * MICRO));
    // Cached tokens count as input, and keep the rate that no tier changes.
    assert_eq!(cost(201, 200), Some((2 + 20 + 100) * MICRO));
}

#[test]
fn rounds_a_cost_once() {
    // Half a picodollar twice is one.
    let table = table_of(r#"{"input": 0.0000005, "output": 0.0000005}"#);
    assert_eq!(
        table.price(&used("p", "m", tokens(1, 1))),
        Some(Cost::pico(1))
    );
    assert_eq!(
        table.price(&used("p", "m", tokens(1, 0))),
        Some(Cost::pico(1))
    );
    let most = table_of(r#"{"input": 18446744.073709551615, "output": 18446744.073709551615}"#);
    assert_eq!(
        most.price(&used("p", "m", tokens(u64::MAX, u64::MAX))),
        Some(Cost::pico(u64::MAX))
    );
}

#[test]
fn applies_the_last_price_whose_condition_holds() {
    let table = table_of(
        r#"[{"input": 1, "output": 0}, {"from": "2027-01-01", "input": 2, "output": 0},
        {"between": ["16:30", "00:30"], "input": 3, "output": 0}]"#,
    );
    let cost = |date: &str, minute: u64| {
        let days = u64::try_from(parse_day(date).expect("a day")).expect("since 1970");
        let time = UNIX_EPOCH + Duration::from_secs((days * 1_440 + minute) * 60);
        table
            .cost_at(&used("p", "m", tokens(1, 0)), time)
            .map(|cost| cost.picodollars() / MICRO)
    };
    assert_eq!(cost("2026-12-31", 0), Some(3));
    assert_eq!(cost("2026-12-31", 30), Some(1));
    assert_eq!(cost("2026-12-31", 990), Some(3));
    assert_eq!(cost("2027-01-01", 600), Some(2));
    // If no condition holds, the first price applies.
    let later =
        table_of(r#"[{"from": "2999-01-01", "input": 1}, {"from": "2999-06-01", "input": 2}]"#);
    assert_eq!(
        later.price(&used("p", "m", tokens(1, 0))),
        Some(Cost::pico(MICRO))
    );
}

#[test]
fn added_prices_take_precedence() {
    let own = Price::new(dollars(1), dollars(2));
    let table = PriceTable::builtin()
        .with("openai", "GPT-4o", own.clone())
        .with("local", "llama*", own.clone());
    assert_eq!(table.price_of("openai", "gpt-4o"), Some(&own));
    // With other names of the provider, and without a provider.
    assert_eq!(table.price_of("openai-responses", "gpt-4o"), Some(&own));
    assert_eq!(table.price_of(None, "gpt-4o"), Some(&own));
    assert_eq!(
        table.price_of(None, "llama*"),
        Some(&own),
        "the name is not a pattern"
    );
    assert_eq!(table.price_of("local", "llama3"), None);
    assert_eq!(
        table.price_of("openai", "gpt-4o-mini"),
        PriceTable::builtin().price_of("openai", "gpt-4o-mini")
    );
    assert_eq!(table.source(), PriceTable::builtin().source());
    let again = Price::new(dollars(3), dollars(4));
    assert_eq!(
        table
            .clone()
            .with("openai", "gpt-4o", again.clone())
            .price_of("openai", "gpt-4o"),
        Some(&again)
    );
    assert_eq!(
        table.price_of("openai", "gpt-4o"),
        Some(&own),
        "the original table is unchanged"
    );
    // A merged table takes precedence, even for a model without a price.
    let contract = read_table(
        r#"{"date": "2026-11-01", "source": "contract", "providers": [{"id": "openai", "prices": [
            {"id": "gpt-4o", "price": {"input": 7, "output": 7}}, {"id": "gpt-4o-mini"}]}]}"#,
    );
    let merged = table.merge(contract);
    assert_eq!(
        merged.price_of("openai", "gpt-4o"),
        Some(&Price::new(dollars(700), dollars(700)))
    );
    assert_eq!(merged.price_of("openai", "gpt-4o-mini"), None);
    assert_eq!(
        (merged.date(), merged.source()),
        (Some("2026-11-01"), Some("contract"))
    );
}

#[test]
fn reports_all_problems_of_a_table() {
    let error = PriceTable::from_json(
        r#"{"date": "22.11.2026", "providers": [
            {"id": "p", "prices": [
                {"id": "a", "price": {"input": "1,5", "output": 1e3, "inputs": 1}},
                {"id": "b", "match": 7},
                {"id": "c", "price": [{"from": "soon", "input": 1}, {"tiers": [{"input": 2}]}]},
                {"id": "d", "price": {"from": "2027-01-01", "between": ["16:30", "00:30"], "input": 0.0000000000001}},
                {"id": "e", "price": {"input": 1, "service_tiers": {"batch": {"inputs": 1}, "flex": 7}}},
                {"price": {}}]},
            {"name": "q"}]}"#,
    )
    .expect_err("problems");
    expect_test::expect![[r#"
        expected `date` to be a day such as `2026-11-22`
        provider `p`, model `a`: expected `input` to be dollars with at most twelve decimals, such as `1.25`, got `1,5`
        provider `p`, model `a`: expected `output` to be dollars with at most twelve decimals, such as `1.25`, got `1e3`
        provider `p`, model `a`: unknown member `inputs` of a price; expected `input`, `cached`, `cache_written`, `cache_written_1h`, `input_audio`, `input_image`, `cached_audio`, `cached_image`, `output`, `reasoning`, `output_audio`, `output_image`, `request`, `tiers`, `service_tiers`, `from` or `between`
        provider `p`, model 2: expected a name, a list of names, `{"all": [..]}` or `{"not": ..}`
        provider `p`, model `c`: expected `from` to be a day such as `2027-01-01`
        provider `p`, model `c`: expected `above` of a tier to be a number of input tokens
        provider `p`, model `d`: expected `input` to be dollars with at most twelve decimals, such as `1.25`, got `0.0000000000001`
        provider `p`, model `d`: expected `from` or `between`, got both; write two prices
        provider `p`, model `e`, service tier `batch`: unknown member `inputs` of a price; expected `input`, `cached`, `cache_written`, `cache_written_1h`, `input_audio`, `input_image`, `cached_audio`, `cached_image`, `output`, `reasoning`, `output_audio`, `output_image`, `request`, `tiers`, `service_tiers`, `from` or `between`
        provider `p`, model `e`, service tier `flex`: invalid type: integer `7`, expected a map
        provider `p`, model 6: missing field `id`
        provider 2: unknown field `name`, expected one of `id`, `urls`, `names`, `models`, `fallback`, `prices`"#]].assert_eq(&error.problems().join("\n"));
    assert!(
        PriceTable::from_json("{")
            .is_err_and(|error| error.to_string().starts_with("invalid price table: EOF"))
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn looks_up_any_name_without_a_panic(provider in prop::option::of(".{0,24}"), model in ".{0,40}", known in "(arn:|models/|litellm/)?[a-z0-9./:@-]{0,30}(-20[0-9]{6})?") {
        let table = PriceTable::builtin().with(&model, &known, Price::default());
        for (provider, model) in [(provider.as_deref(), &*model), (Some("litellm"), &*known), (None, &*known)] {
            table.price_of(provider, model);
            table.price(&used(provider.unwrap_or_default(), model, tokens(1, 1)));
        }
        table.provider_of_url(&model);
        PriceTable::from_json(&model).ok();
    }

    // S7
    #[test]
    fn cost_grows_with_tokens_and_totals_are_sums(
        at in any::<prop::sample::Index>(),
        uses in prop::collection::vec((0..400_000_u64, 0..50_000_u64, 0..=100_u64, 0..=100_u64), 1..6),
    ) {
        let names = builtin().providers.iter().flat_map(|provider| provider.prices.iter().map(|model| (&provider.id, model)));
        let models = names.filter(|(_, model)| !model.prices.is_empty()).collect::<Vec<_>>();
        let (_, model) = at.get(&models);
        let price = model.price_at(SystemTime::now()).expect("a price");
        let mut sum = Cost::ZERO;
        let table = PriceTable::default().with("p", "m", price.clone());
        let collector = Collector::builder().pricing(table).build();
        for (input, output, cached, reasoning) in uses {
            let usage = TokenUsage { input, output, cached: input * cached / 100, reasoning: output * reasoning / 100, ..TokenUsage::default() };
            let cost = price.cost(usage).expect("both have prices");
            let more = TokenUsage { input: input + 1, output: output + 1, ..usage };
            prop_assert!(price.cost(more).expect("a price") >= cost, "{:?}", price);
            collector.run_sync(|| trace::in_scope(trace::SpanKind::Section, "s", || trace::record(used("p", "m", usage))));
            if !usage.is_empty() {
                sum += cost;
            }
        }
        let report = collector.report();
        prop_assert_eq!(report.totals().total.cost, sum);
        prop_assert_eq!(report.totals().untracked.cost, sum);
    }
}

#[test]
fn the_builtin_table_names_the_biller_of_a_url() {
    for (url, expected) in [
        ("https://api.openai.com/v1/chat/completions", "openai"),
        ("https://api.openai.com/v1/responses", "openai"),
        ("https://api.groq.com/openai/v1/chat/completions", "groq"),
        (
            "https://openrouter.ai/api/v1/chat/completions",
            "openrouter",
        ),
        (
            "https://me.openai.azure.com/openai/deployments/gpt%2D5-mini/chat/completions?api-version=2025-01-01",
            "azure",
        ),
        (
            "https://me.services.ai.azure.com/anthropic/v1/messages",
            "azure",
        ),
        ("https://api.anthropic.com/v1/messages", "anthropic"),
        (
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
            "google",
        ),
        (
            "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/anthropic/models/claude-opus-4-5@20251101:streamRawPredict",
            "google",
        ),
        (
            "https://bedrock-runtime.eu-west-1.amazonaws.com/model/eu.amazon.nova-pro-v1%3A0/converse",
            "aws",
        ),
        ("https://api.mistral.ai/v1/chat/completions", "mistral"),
        ("https://api.cohere.com/v2/chat", "cohere"),
        ("https://api.deepseek.com/chat/completions", "deepseek"),
    ] {
        assert_eq!(biller_of_url(url), Some(expected), "{url}");
    }
    for url in [
        "http://localhost:11434/api/chat",
        "https://u:p@[::1]:8443/v1/responses/",
    ] {
        assert_eq!(biller_of_url(url), None, "{url}");
    }
}

#[test]
fn builtin_table_knows_the_contexts_of_models() {
    let table = PriceTable::builtin();
    let known = [
        (Some("anthropic"), "claude-haiku-4-5", 200_000),
        (None, "gpt-4o-2024-08-06", 128_000),
        (Some("google"), "models/gemini-2.5-flash", 1_048_576),
    ];
    for (provider, model, tokens) in known {
        assert_eq!(
            table.context_window(provider, model),
            Some(tokens),
            "{model}"
        );
    }
    assert_eq!(table.context_window(None, "our-model"), None);
}

#[test]
fn the_agent_loop_finds_the_contexts_of_models() {
    let tokens = trace::context_window(Some("anthropic"), "claude-haiku-4-5");
    assert_eq!(tokens, Some(200_000));
}

#[test]
fn a_table_without_a_context_leaves_it_to_another() {
    let contexts = read_table(
        r#"{"providers": [{"id": "p", "prices": [{"id": "m", "context": 8192}, {"id": "n", "context": 1}]}]}"#,
    );
    let prices = table_of(r#"{"input": 1}"#);
    let table = contexts
        .merge(prices)
        .with("p", "n", Price::new(dollars(1), dollars(1)));
    assert_eq!(table.context_window("p", "m"), Some(8_192));
    assert_eq!(table.context_window("p", "n"), Some(1));
}
