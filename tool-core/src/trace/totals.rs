//! What all spans have used and spent, those too that are no longer kept. Each use counts once. S7

use crate::trace::cost::{Cost, TokenUsage};
use crate::trace::open_span::OpenSpan;
use crate::trace::record::{SpanKind, SpanRecord};
use crate::trace::usage::{CostEntry, is_untracked};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What was used and spent in one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CostSummary {
    /// What it cost, where prices are known.
    pub cost: Cost,
    /// The tokens.
    pub usage: TokenUsage,
    /// How often something was used or spent.
    pub uses: u64,
    /// Those among them of which no price is known.
    pub unpriced: u64,
}

impl CostSummary {
    /// What was used and spent at once.
    pub(crate) fn of(spent: &CostEntry) -> Self {
        let unpriced = if spent.cost.is_none() { spent.times } else { 0 };
        Self { cost: spent.cost.unwrap_or_default(), usage: spent.used.usage, uses: spent.times, unpriced }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.cost += other.cost;
        self.usage += other.usage;
        self.uses += other.uses;
        self.unpriced += other.unpriced;
    }
}

/// Sums in each name, and in all. S7
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Totals {
    /// Of everything: `tracked` and `untracked` together.
    pub total: CostSummary,
    /// What has an agent, a tool or a model's question around it.
    pub tracked: CostSummary,
    /// What has none.
    pub untracked: CostSummary,
    /// By the nearest agent.
    pub agents: BTreeMap<String, CostSummary>,
    /// By the nearest tool.
    pub tools: BTreeMap<String, CostSummary>,
    /// By model; what is no model, by its own name.
    pub models: BTreeMap<String, CostSummary>,
    /// By run.
    pub runs: BTreeMap<String, CostSummary>,
    /// By customer.
    pub customers: BTreeMap<String, CostSummary>,
}

/// How many names each list has; the rest share one.
const NAMES: usize = 1_000;
const OTHERS: &str = "(others)";

fn add_to(names: &mut BTreeMap<String, CostSummary>, name: &str, sum: CostSummary) {
    if let Some(known) = names.get_mut(name) {
        return known.add(sum);
    }
    let name = if names.len() < NAMES { name } else { OTHERS };
    names.entry(name.to_owned()).or_default().add(sum);
}

impl Totals {
    /// Adds what a span has of its own.
    pub(crate) fn add(&mut self, span: &SpanRecord, scope: &Arc<OpenSpan>) {
        let nearest = |kind| {
            let named = scope.chain().find(|scope| scope.kind == Some(kind));
            named.map(|scope| scope.name.to_string())
        };
        let (agent, tool) = (nearest(SpanKind::Agent), nearest(SpanKind::Tool));
        let untracked = is_untracked(scope);
        for spent in span.spent() {
            let sum = CostSummary::of(spent);
            self.total.add(sum);
            if untracked { &mut self.untracked } else { &mut self.tracked }.add(sum);
            add_to(&mut self.models, &spent.used.model, sum);
            let named = [
                (&mut self.agents, agent.as_deref()),
                (&mut self.tools, tool.as_deref()),
                (&mut self.runs, span.run_id()),
                (&mut self.customers, span.customer_id()),
            ];
            for (names, name) in named {
                if let Some(name) = name {
                    add_to(names, name, sum);
                }
            }
        }
    }
}
