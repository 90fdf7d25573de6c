//! The spans of a report as a tree, in one vector: each node before those inside of it. Neither building nor reading it
//! recurses, as a trace may be thousands of spans deep.

use crate::trace::ids::{SpanId, TraceId};
use crate::trace::record::{SpanRecord, Under};
use crate::trace::report::Report;
use crate::trace::totals::CostSummary;
use serde::Serialize;
use std::collections::HashMap;

/// Ids of spans are unique in their trace only.
type Id = (TraceId, SpanId);

#[derive(Clone, Debug, Default)]
pub(crate) struct Tree(Vec<Place>);

/// A node.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) id: Id,
    pub(crate) state: NodeState,
    /// Where the span is, among those that have ended or those that run.
    pub(crate) span: usize,
    pub(crate) parent: Option<usize>,
    pub(crate) depth: usize,
    /// The first node after it that is not inside of it.
    pub(crate) end: usize,
    pub(crate) own: CostSummary,
    pub(crate) total: CostSummary,
}

/// A span before it has its place, or what stands for one that is not there.
struct Found {
    id: Id,
    state: NodeState,
    span: usize,
    parent: Option<usize>,
    start: u64,
    own: CostSummary,
}

impl Found {
    fn new(span: &SpanRecord, state: NodeState, at: usize) -> Self {
        let mut own = CostSummary::default();
        for spent in span.spent() {
            own.add(CostSummary::of(spent));
        }
        Self { id: (span.trace_id(), span.span_id()), state, span: at, parent: None, start: span.start, own }
    }

    /// In the place of the parent of `span`, which is not there.
    fn missing(id: Id, span: &SpanRecord) -> Self {
        Self { id, state: state_of(span.under), span: 0, parent: None, start: span.start, own: CostSummary::default() }
    }
}

fn state_of(missing: Under) -> NodeState {
    match missing {
        Under::Open => NodeState::Open,
        Under::Ended => NodeState::Dropped,
        Under::Remote => NodeState::Remote,
    }
}

impl Tree {
    pub(crate) fn new(ended: &[SpanRecord], running: &[SpanRecord]) -> Self {
        let mut found = Vec::with_capacity(ended.len() + running.len());
        found.extend(ended.iter().enumerate().map(|(at, span)| Found::new(span, NodeState::Ended, at)));
        found.extend(running.iter().enumerate().map(|(at, span)| Found::new(span, NodeState::Running, at)));
        find_parents(&mut found, ended.iter().chain(running));
        let mut tree = Self::placed(&found);
        tree.sum_up();
        tree
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(&self, at: usize) -> Option<&Place> {
        self.0.get(at)
    }

    /// Each in front of what is inside of it, siblings in the order in which they started.
    fn placed(found: &[Found]) -> Self {
        let mut order = (0..found.len()).collect::<Vec<_>>();
        order.sort_by_key(|at| found.get(*at).map(|span| span.start));
        // Lists of siblings, linked: put together from the last.
        let (mut roots, mut first, mut next) = (None, vec![None; found.len()], vec![None; found.len()]);
        for at in order.into_iter().rev() {
            let parent = found.get(at).and_then(|span| span.parent);
            let head = parent.map_or(Some(&mut roots), |parent| first.get_mut(parent));
            if let (Some(head), Some(next)) = (head, next.get_mut(at)) {
                *next = head.replace(at);
            }
        }
        let mut tree = Self(Vec::with_capacity(found.len()));
        let mut ahead = roots.map(|root| (root, None)).into_iter().collect::<Vec<_>>();
        while let Some((at, parent)) = ahead.pop() {
            let here = tree.push(found.get(at), parent);
            ahead.extend(next.get(at).copied().flatten().map(|sibling| (sibling, parent)));
            ahead.extend(first.get(at).copied().flatten().map(|child| (child, here)));
        }
        tree
    }

    fn push(&mut self, found: Option<&Found>, parent: Option<usize>) -> Option<usize> {
        let (found, here) = (found?, self.len());
        let depth = parent.and_then(|parent| self.get(parent)).map_or(0, |parent| parent.depth + 1);
        let Found { id, state, span, own, .. } = *found;
        self.0.push(Place { id, state, span, parent, depth, end: here + 1, own, total: own });
        Some(here)
    }

    /// Gives each what is inside of it: from the last node, as it comes after the one around it.
    fn sum_up(&mut self) {
        for at in (0..self.len()).rev() {
            let Some(Place { parent: Some(parent), end, total, .. }) = self.0.get(at).cloned() else { continue };
            if let Some(parent) = self.0.get_mut(parent) {
                parent.end = parent.end.max(end);
                parent.total.add(total);
            }
        }
    }
}

/// Finds the parent of each, and puts something in the place of those that are not there.
fn find_parents<'a>(found: &mut Vec<Found>, spans: impl Iterator<Item = &'a SpanRecord>) {
    let mut places = found.iter().enumerate().map(|(at, span)| (span.id, at)).collect::<HashMap<_, _>>();
    for (at, span) in spans.enumerate() {
        // One that names itself is a root: an imported id may be anything.
        let Some(parent) = span.parent().filter(|parent| *parent != span.span_id()) else { continue };
        let id = (span.trace_id(), parent);
        let parent = *places.entry(id).or_insert_with(|| {
            found.push(Found::missing(id, span));
            found.len() - 1
        });
        if let Some(missing) = found.get_mut(parent).filter(|parent| parent.state.is_missing()) {
            missing.start = missing.start.min(span.start);
            // One that has ended was open before.
            missing.state = missing.state.max(state_of(span.under));
        }
        if let Some(child) = found.get_mut(at) {
            child.parent = Some(parent);
        }
    }
}

// ---- A node of the tree, as a report shows it.

/// What a node of a report's tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NodeState {
    /// A span that has ended.
    Ended,
    /// A span around the place where the report was made.
    Running,
    /// In the place of a span that goes on elsewhere: what is inside of it has ended before it.
    Open,
    /// In the place of a span that is not kept any more. S10
    Dropped,
    /// In the place of a span of another process. S9
    Remote,
}

impl NodeState {
    /// Its name in lower case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Running => "running",
            Self::Open => "open",
            Self::Dropped => "dropped",
            Self::Remote => "remote",
        }
    }

    /// Whether nothing but the id is known of the span.
    pub const fn is_missing(self) -> bool {
        matches!(self, Self::Open | Self::Dropped | Self::Remote)
    }
}

/// A node of a report's tree: a span, or what stands in the place of one that the report does not have.
#[derive(Clone, Copy)]
pub struct SpanNode<'r> {
    report: &'r Report,
    place: &'r Place,
    at: usize,
}

impl<'r> SpanNode<'r> {
    pub(crate) fn new(report: &'r Report, at: usize) -> Option<Self> {
        Some(Self { report, place: report.tree().get(at)?, at })
    }

    /// The nodes from `at` to `end` that have none of them above.
    pub(crate) fn siblings(report: &'r Report, at: usize, end: usize) -> impl Iterator<Item = Self> {
        let node = move |at| Self::new(report, at).filter(|_| at < end);
        std::iter::successors(node(at), move |before| node(before.end()))
    }

    /// Its place among all nodes.
    pub(crate) fn at(self) -> usize {
        self.at
    }

    /// The first node after it that is not inside of it.
    pub(crate) fn end(self) -> usize {
        self.place.end
    }

    /// What it is.
    pub fn state(self) -> NodeState {
        self.place.state
    }

    /// The span; `None` for what [stands in the place](NodeState::is_missing) of one.
    pub fn span(self) -> Option<&'r SpanRecord> {
        match self.place.state {
            NodeState::Ended => self.report.spans.get(self.place.span),
            NodeState::Running => self.report.running.get(self.place.span),
            NodeState::Open | NodeState::Dropped | NodeState::Remote => None,
        }
    }

    /// The id of its span, also where the span is not there.
    pub fn span_id(self) -> SpanId {
        self.place.id.1
    }

    /// The id of its trace.
    pub fn trace_id(self) -> TraceId {
        self.place.id.0
    }

    /// Kind and name, `tool:search`, or `(dropped)` and the like for a span that is not there.
    pub fn label(self) -> String {
        self.span().map_or_else(|| format!("({})", self.state().as_str()), SpanRecord::label)
    }

    /// How many nodes are above it.
    pub fn depth(self) -> usize {
        self.place.depth
    }

    /// The node that it is directly inside of.
    pub fn parent(self) -> Option<Self> {
        Self::new(self.report, self.place.parent?)
    }

    /// What is directly inside of it, in the order in which it started.
    pub fn children(self) -> impl Iterator<Item = Self> {
        Self::siblings(self.report, self.at + 1, self.end())
    }

    /// What was used and spent in it, and not in a span inside of it.
    pub fn own(self) -> CostSummary {
        self.place.own
    }

    /// What was used and spent in it and in all that is inside of it: each use once. S7
    pub fn total(self) -> CostSummary {
        self.place.total
    }
}

impl std::fmt::Debug for SpanNode<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpanNode").field("label", &self.label()).field("state", &self.state()).finish_non_exhaustive()
    }
}
