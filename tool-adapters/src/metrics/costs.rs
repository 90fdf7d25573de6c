//! What the spans of a collector have cost, in few series: names are as many as the collector keeps apart.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use tool_core::__shared::PrometheusText;
use tool_core::trace::{CostSummary, Totals};

pub(super) fn prometheus(totals: &Totals) -> String {
    let mut text = PrometheusText::default();
    let name = "tool_cost_dollars_total";
    text.family(
        name,
        "counter",
        "What models and services have cost; untracked is what no agent, tool or question has asked for.",
    );
    for (tracked, sum) in [("true", &totals.tracked), ("false", &totals.untracked)] {
        text.line(name, &[("tracked", tracked)], sum.cost.decimal());
    }
    let families = [
        ("tool_cost_by_agent_dollars_total", "agent", "What was spent for an agent.", &totals.agents),
        ("tool_cost_by_tool_dollars_total", "tool", "What was spent in calls of a tool.", &totals.tools),
        ("tool_cost_by_model_dollars_total", "model", "What the use of a model has cost.", &totals.models),
    ];
    for (name, label, help, sums) in families {
        text.family(name, "counter", help);
        for (value, sum) in sums {
            text.line(name, &[(label, value)], sum.cost.decimal());
        }
    }
    tokens(&mut text, &totals.models);
    let name = "tool_unpriced_uses_total";
    text.family(name, "counter", "Uses of a model of which no price is known.");
    for (model, sum) in &totals.models {
        text.line(name, &[("model", model)], sum.unpriced);
    }
    text.0
}

fn tokens(text: &mut PrometheusText, models: &BTreeMap<String, CostSummary>) {
    let name = "tool_model_tokens_total";
    text.family(name, "counter", "Tokens that a model has read and written; those of the cache are part of the input.");
    for (model, sum) in models {
        let usage = sum.usage;
        let kinds = [("input", usage.input), ("cached", usage.cached), ("output", usage.output)];
        for (kind, count) in kinds {
            text.line(name, &[("model", model), ("kind", kind)], count);
        }
    }
}

/// The same in JSON, in dollars.
pub(super) fn json(totals: &Totals) -> Value {
    let sum = |sum: &CostSummary| json!({"dollars": sum.cost.dollars(), "usage": sum.usage, "uses": sum.uses, "unpriced": sum.unpriced});
    let named = |sums: &BTreeMap<String, CostSummary>| {
        sums.iter().map(|(name, of)| (name.clone(), sum(of))).collect::<serde_json::Map<_, _>>()
    };
    json!({
        "total": sum(&totals.total),
        "tracked": sum(&totals.tracked),
        "untracked": sum(&totals.untracked),
        "agents": named(&totals.agents),
        "tools": named(&totals.tools),
        "models": named(&totals.models),
    })
}
