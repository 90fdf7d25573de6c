//! What a collector has, as texts; prices.

use std::collections::BTreeMap;
use tool_core::trace::{Collector, Cost, ModelUsage, Pricing, SpanRecord, SpanStatus};

/// A micro-dollar a token, of every model.
pub(crate) struct AMicroAToken;

impl Pricing for AMicroAToken {
    fn price(&self, used: &ModelUsage) -> Option<Cost> {
        Some(Cost::micros(used.usage.total()))
    }
}

pub(crate) fn collector() -> Collector {
    Collector::builder().pricing(AMicroAToken).build()
}

/// The way to each span by its parents' ids, and how it ended, in the order in which they ended.
pub(crate) fn tree(collector: &Collector) -> Vec<String> {
    let report = collector.report();
    let by_id = report.spans().iter().map(|span| (span.span_id(), span)).collect::<BTreeMap<_, _>>();
    let path = |span: &SpanRecord| {
        let mut labels = vec![span.label()];
        let mut at = span.parent();
        while let Some(parent) = at.and_then(|id| by_id.get(&id)) {
            assert_eq!(parent.trace_id(), span.trace_id(), "one trace");
            labels.push(parent.label());
            at = parent.parent();
        }
        labels.reverse();
        let status =
            if span.status() == SpanStatus::Ok { String::new() } else { format!(" {}", span.status().as_str()) };
        format!("{}{status}", labels.join("/"))
    };
    report.spans().iter().map(path).collect()
}

/// The one span with this label.
pub(crate) fn span(collector: &Collector, label: &str) -> SpanRecord {
    let report = collector.report();
    let mut found = report.spans().iter().filter(|span| span.label() == label);
    let one = found.next().unwrap_or_else(|| panic!("no {label}: {:?}", tree(collector))).clone();
    assert!(found.next().is_none(), "two of {label}: {:?}", tree(collector));
    one
}
