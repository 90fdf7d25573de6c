//! A report, and its spans as a tree.
//!
//! The tree is one vector in which each node precedes the nodes inside it. A trace may be thousands
//! of spans deep, so neither building nor reading the tree recurses.

use crate::trace::collector::{Collector, Totals};
use crate::trace::cost::CostSummary;
use crate::trace::ids::{SpanId, TraceId};
use crate::trace::record::{NodeState, SpanRecord, epoch};
use crate::trace::span::current;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A snapshot of a collector: its spans as a tree, and their cost.
///
/// - [`Display`](fmt::Display) writes the tree for a terminal, with durations, cost and totals.
///   `{:#}` uses only ASCII characters, except in names.
/// - [`outline`](Self::outline) returns the tree on one line.
/// - [`to_json`](Self::to_json), or `Serialize`, returns everything for programs.
/// - [`to_html`](Self::to_html) returns one self-contained page.
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
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub(crate) spans: Vec<SpanRecord>,
    pub(crate) running: Vec<SpanRecord>,
    pub(crate) dropped: u64,
    pub(crate) totals: Totals,
    /// The wall-clock time at which the clock of the spans was 0.
    pub(crate) epoch: jiff::Timestamp,
    pub(crate) nodes: OnceLock<Vec<TreeNode>>,
}

impl Report {
    /// Returns the spans that have ended, in the order in which they ended: children before their
    /// parents.
    pub fn spans(&self) -> &[SpanRecord] {
        &self.spans
    }

    /// Returns the spans that were open around the call that made the report, the outermost first,
    /// as they were then.
    pub fn running(&self) -> &[SpanRecord] {
        &self.running
    }

    /// Returns the number of spans that left the collector's buffer.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns the cost of all spans: the ended ones, including those that were dropped, and the
    /// [running](Self::running) ones so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Returns the roots of the tree, in the order in which they started.
    pub fn roots(&self) -> impl Iterator<Item = SpanNode<'_>> {
        SpanNode::siblings(self, 0, self.tree().len())
    }

    /// Returns the spans directly inside a span, in the order in which they started. A span that is
    /// not in the tree has none.
    pub fn children(&self, span: SpanId) -> impl Iterator<Item = SpanNode<'_>> {
        let node = self.nodes().find(move |node| node.span_id() == span);
        node.into_iter().flat_map(SpanNode::children)
    }

    /// Returns all nodes of the tree, each before those inside it.
    pub fn nodes(&self) -> impl Iterator<Item = SpanNode<'_>> {
        (0..self.tree().len()).filter_map(|index| SpanNode::new(self, index))
    }

    /// Returns the first start and the last end, in nanoseconds of the spans' clock; `None` without
    /// spans.
    pub(crate) fn window(&self) -> Option<(u64, u64)> {
        let all = || self.spans.iter().chain(&self.running);
        let end = all()
            .map(|span| span.start.saturating_add(span.nanos))
            .max();
        all().map(|span| span.start).min().zip(end)
    }

    /// Returns the wall-clock time at which the clock of the spans was at `nanos`.
    pub(crate) fn time_of(&self, nanos: u64) -> Option<jiff::Timestamp> {
        self.epoch.checked_add(Duration::from_nanos(nanos)).ok()
    }

    fn tree(&self) -> &[TreeNode] {
        self.nodes
            .get_or_init(|| build_tree(&self.spans, &self.running))
    }
}

impl Collector {
    /// Makes a report of the spans and totals so far.
    ///
    /// Called inside spans of this collector, the report has those as well, as [running](Report::running).
    pub fn report(&self) -> Report {
        let here = current().filter(|here| Arc::ptr_eq(&here.trace.collector.0, &self.0));
        let buffer = self.0.buffer.lock();
        // Under the lock, so that a span that ends at this moment appears once.
        let running = here
            .iter()
            .flat_map(|here| here.chain())
            .filter_map(|span| Some((span.snapshot()?, span)));
        let running = running.collect::<Vec<_>>();
        let mut report = Report {
            spans: buffer.spans.iter().cloned().collect(),
            dropped: buffer.dropped,
            totals: buffer.totals.clone(),
            epoch: epoch().try_into().unwrap_or_default(),
            ..Report::default()
        };
        drop(buffer);
        for (record, span) in running.into_iter().rev() {
            report.totals.add(&record, &span.surroundings());
            report.running.push(record);
        }
        report
    }
}

/// A node of a report's tree. A parent that the report does not have is represented by a node
/// without a span.
#[derive(Clone, Debug)]
pub(crate) struct TreeNode {
    /// The id of a span is unique in its trace only.
    id: (TraceId, SpanId),
    state: NodeState,
    /// The index of the span among the ended or the running ones.
    span: usize,
    start: u64,
    parent: Option<usize>,
    depth: usize,
    /// The index after the last node inside this one.
    end: usize,
    own: CostSummary,
    total: CostSummary,
}

impl TreeNode {
    fn new(id: (TraceId, SpanId), state: NodeState, span: usize, start: u64) -> Self {
        let own = CostSummary::default();
        Self {
            id,
            state,
            span,
            start,
            parent: None,
            depth: 0,
            end: 0,
            own,
            total: own,
        }
    }

    fn of(record: &SpanRecord, state: NodeState, span: usize) -> Self {
        let own = record.spent().iter().map(CostSummary::from).sum();
        Self {
            own,
            total: own,
            ..Self::new((record.trace, record.id), state, span, record.start)
        }
    }
}

/// Builds the tree, with siblings in the order in which they started.
fn build_tree(ended: &[SpanRecord], running: &[SpanRecord]) -> Vec<TreeNode> {
    let of_state = |state| move |(index, record)| TreeNode::of(record, state, index);
    let mut unordered = Vec::with_capacity(ended.len() + running.len());
    unordered.extend(ended.iter().enumerate().map(of_state(NodeState::Ended)));
    unordered.extend(running.iter().enumerate().map(of_state(NodeState::Running)));
    link_parents(&mut unordered, ended.iter().chain(running));

    let mut by_start = unordered.iter().enumerate().collect::<Vec<_>>();
    by_start.sort_by_key(|(_, node)| node.start);
    let mut children: HashMap<Option<usize>, Vec<(usize, &TreeNode)>> = HashMap::new();
    for (index, node) in by_start {
        children.entry(node.parent).or_default().push((index, node));
    }

    let mut nodes: Vec<TreeNode> = Vec::with_capacity(unordered.len());
    let mut take = |parent| {
        children
            .remove(&parent)
            .unwrap_or_default()
            .into_iter()
            .rev()
    };
    let mut ahead = take(None)
        .map(|(index, node)| (index, node, None))
        .collect::<Vec<_>>();
    while let Some((index, node, parent)) = ahead.pop() {
        let here = nodes.len();
        let depth = parent
            .and_then(|parent: usize| nodes.get(parent))
            .map_or(0, |parent| parent.depth + 1);
        nodes.push(TreeNode {
            parent,
            depth,
            end: here + 1,
            ..node.clone()
        });
        ahead.extend(take(Some(index)).map(|(index, node)| (index, node, Some(here))));
    }
    // A node comes after its parent, so from the end each node is complete when its parent takes it
    // over.
    for index in (0..nodes.len()).rev() {
        let Some(TreeNode {
            parent: Some(parent),
            end,
            total,
            ..
        }) = nodes.get(index).cloned()
        else {
            continue;
        };
        if let Some(parent) = nodes.get_mut(parent) {
            parent.end = parent.end.max(end);
            parent.total += total;
        }
    }
    nodes
}

/// Finds the parent of each node, and adds nodes for parents that are not there.
fn link_parents<'a>(nodes: &mut Vec<TreeNode>, records: impl Iterator<Item = &'a SpanRecord>) {
    let mut indexes = nodes
        .iter()
        .enumerate()
        .map(|(index, node)| (node.id, index))
        .collect::<HashMap<_, _>>();
    for (index, record) in records.enumerate() {
        // An imported id may be any, even the span's own, which then is a root.
        let Some(parent) = record.parent.filter(|parent| *parent != record.id) else {
            continue;
        };
        let id = (record.trace, parent);
        let state = record.parent_state;
        let parent = *indexes.entry(id).or_insert_with(|| {
            nodes.push(TreeNode::new(id, state, 0, record.start));
            nodes.len() - 1
        });
        if let Some(missing) = nodes
            .get_mut(parent)
            .filter(|parent| parent.state.is_missing())
        {
            missing.start = missing.start.min(record.start);
            // To an earlier child, a parent that has ended since was open.
            missing.state = missing.state.max(state);
        }
        if let Some(child) = nodes.get_mut(index) {
            child.parent = Some(parent);
        }
    }
}

/// A node of a report's tree: a span, or the id of one that the report does not have.
///
/// ```
/// use tool_core::trace::{self, Collector};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let collector = Collector::new();
/// collector.run(trace::agent("planner", trace::section("look up", async {}))).await;
/// let report = collector.report();
/// let lines = report.nodes().map(|node| format!("{}{}", "  ".repeat(node.depth()), node.label())).collect::<Vec<_>>();
/// assert_eq!(lines, ["agent:planner", "  section:look up"]);
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct SpanNode<'r> {
    report: &'r Report,
    node: &'r TreeNode,
    index: usize,
}

impl<'r> SpanNode<'r> {
    fn new(report: &'r Report, index: usize) -> Option<Self> {
        Some(Self {
            report,
            node: report.tree().get(index)?,
            index,
        })
    }

    /// Returns the nodes from `index` to `end` that are not inside each other.
    fn siblings(report: &'r Report, index: usize, end: usize) -> impl Iterator<Item = Self> {
        let node = move |index| Self::new(report, index).filter(|_| index < end);
        std::iter::successors(node(index), move |before| node(before.end()))
    }

    /// Returns the index in the tree.
    pub(crate) fn index(self) -> usize {
        self.index
    }

    /// Returns the index after the last node inside this one.
    pub(crate) fn end(self) -> usize {
        self.node.end
    }

    /// Returns the state.
    pub fn state(self) -> NodeState {
        self.node.state
    }

    /// Returns the span; `None` if the report [does not have it](NodeState::is_missing).
    pub fn span(self) -> Option<&'r SpanRecord> {
        match self.node.state {
            NodeState::Ended => self.report.spans.get(self.node.span),
            NodeState::Running => self.report.running.get(self.node.span),
            NodeState::Open | NodeState::Dropped | NodeState::Remote => None,
        }
    }

    /// Returns the id of the span, even of one that the report does not have.
    pub fn span_id(self) -> SpanId {
        self.node.id.1
    }

    /// Returns the id of the trace.
    pub fn trace_id(self) -> TraceId {
        self.node.id.0
    }

    /// Returns kind and name, `tool:search`. For a span that the report does not have, the state:
    /// `(dropped)`.
    pub fn label(self) -> String {
        self.span()
            .map_or_else(|| format!("({})", self.state().as_str()), SpanRecord::label)
    }

    /// Returns the number of nodes above this one.
    pub fn depth(self) -> usize {
        self.node.depth
    }

    /// Returns the node directly above this one.
    pub fn parent(self) -> Option<Self> {
        Self::new(self.report, self.node.parent?)
    }

    /// Returns the nodes directly inside this one, in the order in which they started.
    pub fn children(self) -> impl Iterator<Item = Self> {
        Self::siblings(self.report, self.index + 1, self.end())
    }

    /// Returns the cost of the span itself.
    pub fn own(self) -> CostSummary {
        self.node.own
    }

    /// Returns the cost of the span and of all spans inside it.
    pub fn total(self) -> CostSummary {
        self.node.total
    }
}

impl fmt::Debug for SpanNode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpanNode")
            .field("label", &self.label())
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
