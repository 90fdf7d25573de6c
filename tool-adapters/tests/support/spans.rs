//! The spans of a collector as texts, and a price table for tests.

use std::collections::BTreeMap;
use tool_core::trace::{Collector, Cost, ModelUsage, Pricing, SpanRecord, SpanStatus};

/// Prices each token at a millionth of a dollar.
pub(crate) struct MicroPricing;

impl Pricing for MicroPricing {
    fn price(&self, used: &ModelUsage) -> Option<Cost> {
        Some(Cost::micros(used.usage.total()))
    }
}

pub(crate) fn collector() -> Collector {
    Collector::builder().pricing(MicroPricing).build()
}

/// Returns the path to each span with its status, in the order in which they ended.
pub(crate) fn tree(collector: &Collector) -> Vec<String> {
    let report = collector.report();
    let by_id = report
        .spans()
        .iter()
        .map(|span| (span.span_id(), span))
        .collect::<BTreeMap<_, _>>();
    let path = |span: &SpanRecord| {
        let mut labels = vec![span.label()];
        let mut at = span.parent();
        while let Some(parent) = at.and_then(|id| by_id.get(&id)) {
            assert_eq!(parent.trace_id(), span.trace_id(), "one trace");
            labels.push(parent.label());
            at = parent.parent();
        }
        labels.reverse();
        let status = if span.status() == SpanStatus::Ok {
            String::new()
        } else {
            format!(" {}", span.status().as_str())
        };
        format!("{}{status}", labels.join("/"))
    };
    report.spans().iter().map(path).collect()
}

/// Returns the only span with this label.
pub(crate) fn span(collector: &Collector, label: &str) -> SpanRecord {
    let report = collector.report();
    let mut found = report.spans().iter().filter(|span| span.label() == label);
    let one = found
        .next()
        .unwrap_or_else(|| panic!("no {label}: {:?}", tree(collector)))
        .clone();
    assert!(
        found.next().is_none(),
        "two of {label}: {:?}",
        tree(collector)
    );
    one
}
