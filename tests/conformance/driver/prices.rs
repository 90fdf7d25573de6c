//! `{"do": "price", "uses": [[provider, model, second, tier, count, ..], ..]}`: what each costs
//! at that second since 1970, in picodollars, or null. `{"do": "biller", "urls": [..]}`: who is paid there.

use crate::{list, text};
use serde_json::{Value, json};
use std::time::{Duration, UNIX_EPOCH};
use tool_adapters::telemetry::prices::PriceTable;
use tool_core::trace::{Cost, ModelUsage, TokenUsage};

pub(crate) fn price(command: &Value) -> Value {
    let table = PriceTable::builtin();
    let costs = list(&command["uses"]).iter().map(|one| {
        let count = |at: usize| one[at].as_u64().unwrap_or_default();
        let usage = TokenUsage {
            input: count(4),
            cached: count(5),
            cache_written: count(6),
            cache_written_1h: count(7),
            input_audio: count(8),
            input_image: count(9),
            cached_audio: count(10),
            cached_image: count(11),
            output: count(12),
            reasoning: count(13),
            output_audio: count(14),
            output_image: count(15),
            input_beside: 0,
            input_at_once: 0,
        };
        let mut used = ModelUsage::new(text(&one[1]).to_owned(), usage);
        if let Some(provider) = one[0].as_str() {
            used = used.provider(provider.to_owned());
        }
        if let Some(tier) = one[3].as_str() {
            used = used.service_tier(tier.to_owned());
        }
        let cost = table.cost_at(&used, UNIX_EPOCH + Duration::from_secs(count(2)));
        json!(cost.map(Cost::picodollars))
    });
    costs.collect()
}

pub(crate) fn biller(command: &Value) -> Value {
    let table = PriceTable::builtin();
    list(&command["urls"])
        .iter()
        .map(|url| json!(table.provider_of_url(text(url))))
        .collect()
}
