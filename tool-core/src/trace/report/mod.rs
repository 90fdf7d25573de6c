//! What a collector has: the tree of spans, what it cost, and what was dropped.

mod html;
mod json;
mod node;
mod outline;
mod text;
mod tree;
mod words;

#[cfg(test)]
mod tests;

pub use node::{NodeState, SpanNode};

use super::collector::Collector;
use super::current::current;
use super::ids::SpanId;
use super::record::{self, SpanRecord};
use super::scope::Scope;
use super::totals::Totals;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;
use tree::Tree;

/// What a collector had when it was asked: spans as a tree, and what they cost.
///
/// - [`Display`](std::fmt::Display) is the tree for a terminal, with durations, cost and totals; `{:#}` has no characters
///   beyond ASCII but those of the names.
/// - [`outline`](Self::outline) is the tree on one line.
/// - [`to_json`](Self::to_json), or `Serialize`, is all of it for programs.
/// - [`to_html`](Self::to_html) is one page that needs nothing else.
///
/// ```
/// use tool_core::trace::{self, Collector};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let collector = Collector::new();
/// let search = async { trace::http("GET host", async {}).await };
/// let work = async { tokio::join!(trace::llm("gpt-5-mini", async {}), trace::section("search", search)) };
/// collector.run(trace::agent("planner", work)).await;
/// let report = collector.report();
/// assert_eq!(report.outline(), "agent:planner > llm, section:search > http");
/// let planner = report.roots().next().expect("a root");
/// assert_eq!((planner.label().as_str(), planner.children().count()), ("agent:planner", 2));
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Report {
    spans: Vec<SpanRecord>,
    running: Vec<SpanRecord>,
    dropped: u64,
    totals: Totals,
    /// When the clock of the spans stood at 0.
    epoch: SystemTime,
    tree: OnceLock<Tree>,
}

impl Default for Report {
    fn default() -> Self {
        Self::new(Vec::new(), Vec::new())
    }
}

impl Report {
    fn new(spans: Vec<SpanRecord>, running: Vec<SpanRecord>) -> Self {
        Self { spans, running, dropped: 0, totals: Totals::default(), epoch: record::epoch(), tree: OnceLock::new() }
    }

    /// The spans that have ended, in the order in which they did: children before their parents.
    pub fn spans(&self) -> &[SpanRecord] {
        &self.spans
    }

    /// The spans around the place where the report was made, which go on: the outermost first. What they have is as it
    /// stood then.
    pub fn running(&self) -> &[SpanRecord] {
        &self.running
    }

    /// How many spans are not kept any more. S10
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// What all spans have cost that have ended, those too that are not kept any more, and the [running](Self::running)
    /// ones so far. S7
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// The nodes of the tree that have no other above them, in the order in which they started.
    pub fn roots(&self) -> impl Iterator<Item = SpanNode<'_>> {
        SpanNode::siblings(self, 0, self.tree().len())
    }

    /// What is directly inside of a span, in the order in which it started; nothing for one that is not in the tree.
    pub fn children(&self, span: SpanId) -> impl Iterator<Item = SpanNode<'_>> {
        let node = self.nodes().find(move |node| node.span_id() == span);
        node.into_iter().flat_map(SpanNode::children)
    }

    /// All nodes of the tree, each before those inside of it.
    pub fn nodes(&self) -> impl Iterator<Item = SpanNode<'_>> {
        (0..self.tree().len()).filter_map(|at| SpanNode::new(self, at))
    }

    /// From the first start to the last end, by the clock of the spans.
    fn window(&self) -> (u64, u64) {
        let all = || self.spans.iter().chain(&self.running);
        let start = all().map(|span| span.start).min().unwrap_or(0);
        (start, all().map(|span| span.start.saturating_add(span.nanos)).max().unwrap_or(start))
    }

    fn tree(&self) -> &Tree {
        self.tree.get_or_init(|| Tree::new(&self.spans, &self.running))
    }
}

/// The spans of this collector around here, which go on: the outermost first.
fn running(collector: &Collector, here: Option<&Arc<Scope>>) -> Vec<(SpanRecord, Arc<Scope>)> {
    let is_ours = |scope: &&Arc<Scope>| Arc::ptr_eq(&scope.trace.collector.0, &collector.0);
    let scopes = here.filter(is_ours).into_iter().flat_map(Scope::chain);
    let snapshot = |scope: &Arc<Scope>| Some((SpanRecord::of_running(scope)?, Arc::clone(scope)));
    let mut running = scopes.filter_map(snapshot).collect::<Vec<_>>();
    running.reverse();
    running
}

impl Collector {
    /// What it has so far. Made inside of a span, it has that span and those around it too, as
    /// [running](Report::running).
    pub fn report(&self) -> Report {
        let here = current();
        let kept = self.kept();
        // With the lock held, as a span that ends in this moment is to be seen once.
        let running = running(self, here.as_ref());
        let mut report = Report::new(kept.spans.iter().cloned().collect(), Vec::new());
        (report.dropped, report.totals) = (kept.dropped, kept.totals.clone());
        drop(kept);
        for (span, scope) in running {
            report.totals.add(&span, &scope);
            report.running.push(span);
        }
        report
    }
}
