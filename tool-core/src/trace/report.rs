//! What a collector has: the tree of spans, what it cost, and what was dropped.

use super::collector::Collector;
use super::record::SpanRecord;
use super::totals::Totals;

/// What a collector had when it was asked.
#[derive(Clone, Debug, Default)]
pub struct Report {
    spans: Vec<SpanRecord>,
    dropped: u64,
    totals: Totals,
}

impl Report {
    /// The spans that have ended, in the order in which they did: children before their parents.
    pub fn spans(&self) -> &[SpanRecord] {
        &self.spans
    }

    /// How many spans are not kept any more. S10
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// What all spans have cost, those too that are not kept any more.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }
}

impl Collector {
    /// What it has so far.
    pub fn report(&self) -> Report {
        let kept = self.kept();
        Report { spans: kept.spans.iter().cloned().collect(), dropped: kept.dropped, totals: kept.totals.clone() }
    }
}
