//! A node of the tree, as a report shows it.

use super::Report;
use super::tree::Place;
use crate::trace::ids::{SpanId, TraceId};
use crate::trace::record::SpanRecord;
use crate::trace::totals::Sum;
use serde::Serialize;

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
    pub(super) fn new(report: &'r Report, at: usize) -> Option<Self> {
        Some(Self { report, place: report.tree().get(at)?, at })
    }

    /// The nodes from `at` to `end` that have none of them above.
    pub(super) fn siblings(report: &'r Report, at: usize, end: usize) -> impl Iterator<Item = Self> {
        let node = move |at| Self::new(report, at).filter(|_| at < end);
        std::iter::successors(node(at), move |before| node(before.end()))
    }

    /// Its place among all nodes.
    pub(super) fn at(self) -> usize {
        self.at
    }

    /// The first node after it that is not inside of it.
    pub(super) fn end(self) -> usize {
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
    pub fn own(self) -> Sum {
        self.place.own
    }

    /// What was used and spent in it and in all that is inside of it: each use once. S7
    pub fn total(self) -> Sum {
        self.place.total
    }
}

impl std::fmt::Debug for SpanNode<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpanNode").field("label", &self.label()).field("state", &self.state()).finish_non_exhaustive()
    }
}
