//! Reports as JSON. Spans are a flat list, because most parsers reject objects that are nested
//! thousands deep.

use crate::schema::timestamp::Timestamp;
use crate::trace::collector::Totals;
use crate::trace::cost::{Cost, CostEntry, CostSummary};
use crate::trace::record::{NodeState, SpanRecord};
use crate::trace::report::text::{dollars, lists};
use crate::trace::report::tree::{Report, SpanNode};
use crate::trace::usage::TokenUsage;
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

impl Report {
    /// Returns the report as JSON:
    ///
    /// ```text
    /// { "version": 1,
    ///   "began": "2026-01-01T00:00:00Z",        // wall clock at the first start; null without spans
    ///   "duration_ms": 1250.5,                  // from the first start to the last end
    ///   "spans": [ {                            // in the order of the tree, each span before those inside it
    ///       "trace_id", "span_id",              // hexadecimal digits
    ///       "parent_id",                        // null for a root
    ///       "depth": 0,
    ///       "state": "ended",                   // running; or open, dropped, remote, with ids, depth, state, own and total only
    ///       "kind", "name",
    ///       "status": "ok",                     // error, panicked, cancelled; null for a running span
    ///       "error": {"kind", "message"},       // these four are left out where there is none
    ///       "call_id", "run_id", "customer_id",
    ///       "start_ms": 0.25,                   // since "began"
    ///       "duration_ms": 1.5,                 // of a running span: so far
    ///       "own": SUM,                         // of the span itself
    ///       "total": SUM,                       // of the span and those inside it
    ///       "spent": [{"model", "provider", "service_tier", "response_id", "observed", "cost": COST or null, "usage": USAGE,
    ///                  "tool_calls": [{"id", "name"}]}],
    ///       "attributes": {} } ],
    ///   "dropped": 0,                           // spans that left the collector's buffer
    ///   "totals": {"total": SUM, "tracked": SUM, "untracked": SUM,
    ///              "agents": {name: SUM}, "tools", "models", "runs", "customers"} }
    ///
    /// SUM    {"cost": COST, "usage": USAGE, "uses", "unpriced"}
    /// COST   {"dollars": "0.000185", "picodollars": 185000000}      // both exact
    /// USAGE  {"input", "cached", "cache_written", "output", "reasoning"}   // others of `TokenUsage` where they are not 0
    /// ```
    ///
    /// Names are not escaped for display.
    pub fn to_json(&self) -> String {
        // Cannot fail: keys are strings and numbers are finite.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let window = self.window();
        let began = window
            .and_then(|(start, _)| self.time_of(start))
            .map(Timestamp);
        let (start, end) = window.unwrap_or_default();
        let nodes = self
            .nodes()
            .map(|node| NodeJson { node, start })
            .collect::<Vec<_>>();
        let mut document = serializer.serialize_struct("Report", 6)?;
        document.serialize_field("version", &1)?;
        document.serialize_field("began", &began)?;
        document.serialize_field("duration_ms", &milliseconds(end - start))?;
        document.serialize_field("spans", &nodes)?;
        document.serialize_field("dropped", &self.dropped)?;
        document.serialize_field("totals", &totals_json(&self.totals))?;
        document.end()
    }
}

struct NodeJson<'r> {
    node: SpanNode<'r>,
    start: u64,
}

impl Serialize for NodeJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let node = self.node;
        let mut members = serializer.serialize_map(None)?;
        members.serialize_entry("trace_id", &node.trace_id())?;
        members.serialize_entry("span_id", &node.span_id())?;
        members.serialize_entry("parent_id", &node.parent().map(SpanNode::span_id))?;
        members.serialize_entry("depth", &node.depth())?;
        members.serialize_entry("state", &node.state())?;
        if let Some(span) = node.span() {
            self.serialize_span(span, &mut members)?;
        }
        members.serialize_entry("own", &sum_json(&node.own()))?;
        members.serialize_entry("total", &sum_json(&node.total()))?;
        let spent = node.span().map(SpanRecord::spent).unwrap_or_default();
        if !spent.is_empty() {
            members.serialize_entry(
                "spent",
                &spent.iter().map(EntryJson::new).collect::<Vec<_>>(),
            )?;
        }
        let attributes = node.span().into_iter().flat_map(SpanRecord::attributes);
        let attributes = attributes
            .map(|(key, value)| (key.to_owned(), value.clone()))
            .collect::<Map<_, _>>();
        if !attributes.is_empty() {
            members.serialize_entry("attributes", &attributes)?;
        }
        members.end()
    }
}

impl NodeJson<'_> {
    /// Serialises the members of a span that the report has.
    fn serialize_span<M: SerializeMap>(
        &self,
        span: &SpanRecord,
        members: &mut M,
    ) -> Result<(), M::Error> {
        members.serialize_entry("kind", &span.kind())?;
        members.serialize_entry("name", span.name())?;
        members.serialize_entry(
            "status",
            &(self.node.state() == NodeState::Ended).then(|| span.status()),
        )?;
        if let Some(error) = span.error() {
            members.serialize_entry("error", error)?;
        }
        let ids = [
            ("call_id", span.call_id()),
            ("run_id", span.run_id()),
            ("customer_id", span.customer_id()),
        ];
        for (name, id) in ids.iter().filter(|(_, id)| id.is_some()) {
            members.serialize_entry(name, id)?;
        }
        members.serialize_entry(
            "start_ms",
            &milliseconds(span.start.saturating_sub(self.start)),
        )?;
        members.serialize_entry("duration_ms", &milliseconds(span.nanos))
    }
}

#[derive(Serialize)]
struct EntryJson<'r> {
    model: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_id: Option<&'r str>,
    observed: bool,
    cost: Option<Value>,
    usage: TokenUsage,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
}

impl<'r> EntryJson<'r> {
    fn new(entry: &'r CostEntry) -> Self {
        let used = &entry.used;
        Self {
            model: &used.model,
            provider: used.provider.as_deref(),
            service_tier: used.service_tier.as_deref(),
            response_id: used.response_id.as_deref(),
            observed: entry.observed,
            cost: entry.cost.map(cost_json),
            usage: used.usage,
            tool_calls: used
                .tool_calls
                .iter()
                .map(|(id, name)| json!({"id": id, "name": name}))
                .collect(),
        }
    }
}

fn cost_json(cost: Cost) -> Value {
    json!({"dollars": dollars(cost), "picodollars": cost.picodollars()})
}

fn sum_json(sum: &CostSummary) -> Value {
    json!({"cost": cost_json(sum.cost), "usage": sum.usage, "uses": sum.uses, "unpriced": sum.unpriced})
}

fn totals_json(totals: &Totals) -> Value {
    let sums = [
        ("total", &totals.total),
        ("tracked", &totals.tracked),
        ("untracked", &totals.untracked),
    ];
    let sums = sums
        .into_iter()
        .map(|(title, sum)| (title.to_owned(), sum_json(sum)));
    let mut lists = lists(totals);
    lists.sort_unstable_by_key(|(title, _)| *title);
    let list = |names: &BTreeMap<String, CostSummary>| {
        names
            .iter()
            .map(|(name, sum)| (name.clone(), sum_json(sum)))
            .collect::<Value>()
    };
    sums.chain(lists.map(|(title, names)| (title.to_owned(), list(names))))
        .collect()
}

#[allow(clippy::cast_precision_loss)] // exact for the first 104 days
fn milliseconds(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}
