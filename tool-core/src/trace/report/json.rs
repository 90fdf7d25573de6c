//! The report as JSON. Spans are a flat list, each before those inside of it, as a tree of JSON objects thousands deep is
//! more than most parsers take.

use crate::schema::timestamp::Timestamp;
use crate::trace::cost::{Cost, TokenUsage};
use crate::trace::ids::{SpanId, TraceId};
use crate::trace::record::{SpanKind, SpanRecord};
use crate::trace::report::tree::{NodeState, SpanNode};
use crate::trace::report::{Report, words};
use crate::trace::totals::{CostSummary, Totals};
use crate::trace::usage::CostEntry;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

impl Report {
    /// The report as JSON:
    ///
    /// ```text
    /// { "version": 1,
    ///   "began": "2026-01-01T00:00:00Z",        // the wall clock at the first start; null without spans
    ///   "duration_ms": 1250.5,                  // from there to the last end
    ///   "spans": [ {
    ///       "trace_id", "span_id",              // hexadecimal digits
    ///       "parent_id",                        // null at a root
    ///       "depth": 0,                         // spans stand in the order of the tree, each before those inside of it
    ///       "state": "ended",                   // running, or open, dropped, remote: only ids, depth, state, own, total
    ///       "kind", "name",
    ///       "status": "ok",                     // error, panicked, cancelled; null for one that runs
    ///       "error": {"kind", "message"},       // each of these where there is one
    ///       "call_id", "run_id", "customer_id",
    ///       "start_ms": 0.25,                   // since "began"
    ///       "duration_ms": 1.5,                 // of one that runs: so far
    ///       "own": SUM,                         // what counts for this very span
    ///       "total": SUM,                       // that, and what is inside of it
    ///       "spent": [{"model", "provider", "response_id", "observed", "cost": COST or null, "usage": USAGE,
    ///                  "tool_calls": [{"id", "name"}]}],
    ///       "attributes": {} } ],
    ///   "dropped": 0,                           // spans that are not kept any more
    ///   "totals": {"total": SUM, "tracked": SUM, "untracked": SUM,
    ///              "agents": {name: SUM}, "tools", "models", "runs", "customers"} }
    ///
    /// SUM    {"cost": COST, "usage": USAGE, "uses", "unpriced"}
    /// COST   {"dollars": "0.000185", "picodollars": 185000000}      // both exact
    /// USAGE  {"input", "cached", "cache_written", "output", "reasoning"}
    /// ```
    ///
    /// Names are as they are, and not made safe to be shown.
    pub fn to_json(&self) -> String {
        // Keys are text and numbers are finite: nothing in it fails.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (start, end) = self.window();
        let began = jiff::Timestamp::try_from(self.epoch + Duration::from_nanos(start)).ok().map(Timestamp);
        let document = Document {
            version: 1,
            began: began.filter(|_| self.nodes().any(|node| node.span().is_some())),
            duration_ms: milliseconds(end - start),
            spans: Spans { report: self, start },
            dropped: self.dropped,
            totals: totals(&self.totals),
        };
        document.serialize(serializer)
    }
}

#[derive(Serialize)]
struct Document<'r> {
    version: u8,
    began: Option<Timestamp>,
    duration_ms: f64,
    spans: Spans<'r>,
    dropped: u64,
    totals: TotalsForm<'r>,
}

struct Spans<'r> {
    report: &'r Report,
    start: u64,
}

impl Serialize for Spans<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.report.nodes().map(|node| NodeForm::new(node, self.start)))
    }
}

#[derive(Serialize)]
struct NodeForm<'r> {
    trace_id: TraceId,
    span_id: SpanId,
    parent_id: Option<SpanId>,
    depth: usize,
    state: NodeState,
    #[serde(flatten)]
    span: Option<SpanForm<'r>>,
    own: SumForm,
    total: SumForm,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    spent: Vec<SpentForm<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attributes: Option<Attributes<'r>>,
}

impl<'r> NodeForm<'r> {
    fn new(node: SpanNode<'r>, start: u64) -> Self {
        let span = node.span();
        let attributes = span.filter(|span| span.attributes().next().is_some()).map(Attributes);
        Self {
            trace_id: node.trace_id(),
            span_id: node.span_id(),
            parent_id: node.parent().map(SpanNode::span_id),
            depth: node.depth(),
            state: node.state(),
            span: span.map(|span| SpanForm::new(span, node.state(), start)),
            own: sum(node.own()),
            total: sum(node.total()),
            spent: span.map(SpanRecord::spent).unwrap_or_default().iter().map(SpentForm::new).collect(),
            attributes,
        }
    }
}

#[derive(Serialize)]
struct SpanForm<'r> {
    kind: SpanKind,
    name: &'r str,
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorForm<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_id: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    customer_id: Option<&'r str>,
    start_ms: f64,
    duration_ms: f64,
}

impl<'r> SpanForm<'r> {
    fn new(span: &'r SpanRecord, state: NodeState, start: u64) -> Self {
        let error = span.error().map(|error| ErrorForm { kind: error.kind, message: error.message.as_deref() });
        Self {
            kind: span.kind(),
            name: span.name(),
            status: (state == NodeState::Ended).then(|| span.status().as_str()),
            error,
            call_id: span.call_id(),
            run_id: span.run_id(),
            customer_id: span.customer_id(),
            start_ms: milliseconds(span.start.saturating_sub(start)),
            duration_ms: milliseconds(span.nanos),
        }
    }
}

#[derive(Serialize)]
struct ErrorForm<'r> {
    kind: &'static str,
    message: Option<&'r str>,
}

#[derive(Serialize)]
struct SpentForm<'r> {
    model: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_id: Option<&'r str>,
    observed: bool,
    cost: Option<CostForm>,
    usage: TokenUsage,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCallForm<'r>>,
}

#[derive(Serialize)]
struct ToolCallForm<'r> {
    id: &'r str,
    name: &'r str,
}

impl<'r> SpentForm<'r> {
    fn new(spent: &'r CostEntry) -> Self {
        let used = &spent.used;
        Self {
            model: &used.model,
            provider: used.provider.as_deref(),
            response_id: used.response_id.as_deref(),
            observed: spent.observed,
            cost: spent.cost.map(cost),
            usage: used.usage,
            tool_calls: used.tool_calls.iter().map(|(id, name)| ToolCallForm { id, name }).collect(),
        }
    }
}

struct Attributes<'r>(&'r SpanRecord);

impl Serialize for Attributes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.0.attributes() {
            map.serialize_entry::<str, Value>(key, value)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct CostForm {
    dollars: String,
    picodollars: u64,
}

#[derive(Serialize)]
struct SumForm {
    cost: CostForm,
    usage: TokenUsage,
    uses: u64,
    unpriced: u64,
}

#[derive(Serialize)]
struct TotalsForm<'r> {
    total: SumForm,
    tracked: SumForm,
    untracked: SumForm,
    #[serde(flatten)]
    lists: BTreeMap<&'static str, BTreeMap<&'r str, SumForm>>,
}

fn cost(cost: Cost) -> CostForm {
    CostForm { dollars: words::dollars(cost), picodollars: cost.picodollars() }
}

fn sum(sum: CostSummary) -> SumForm {
    SumForm { cost: cost(sum.cost), usage: sum.usage, uses: sum.uses, unpriced: sum.unpriced }
}

fn named(names: &BTreeMap<String, CostSummary>) -> BTreeMap<&str, SumForm> {
    names.iter().map(|(name, of)| (name.as_str(), sum(*of))).collect()
}

fn totals(totals: &Totals) -> TotalsForm<'_> {
    TotalsForm {
        total: sum(totals.total),
        tracked: sum(totals.tracked),
        untracked: sum(totals.untracked),
        lists: words::lists(totals).into_iter().map(|(title, names)| (title, named(names))).collect(),
    }
}

#[allow(clippy::cast_precision_loss)] // exact for the first 104 days
fn milliseconds(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}
