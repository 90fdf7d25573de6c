//! The spans of a report as a tree, in one vector: each node before those inside of it. Neither building nor reading it
//! recurses, as a trace may be thousands of spans deep.

use super::NodeState;
use crate::trace::ids::{SpanId, TraceId};
use crate::trace::record::{SpanRecord, Under};
use crate::trace::totals::Sum;
use std::collections::HashMap;

/// Ids of spans are unique in their trace only.
type Id = (TraceId, SpanId);

#[derive(Clone, Debug, Default)]
pub(super) struct Tree(Vec<Place>);

/// A node.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) id: Id,
    pub(super) state: NodeState,
    /// Where the span is, among those that have ended or those that run.
    pub(super) span: usize,
    pub(super) parent: Option<usize>,
    pub(super) depth: usize,
    /// The first node after it that is not inside of it.
    pub(super) end: usize,
    pub(super) own: Sum,
    pub(super) total: Sum,
}

/// A span before it has its place, or what stands for one that is not there.
struct Found {
    id: Id,
    state: NodeState,
    span: usize,
    parent: Option<usize>,
    start: u64,
    own: Sum,
}

impl Found {
    fn new(span: &SpanRecord, state: NodeState, at: usize) -> Self {
        let mut own = Sum::default();
        for spent in span.spent() {
            own.add(Sum::of(spent));
        }
        Self { id: (span.trace_id(), span.span_id()), state, span: at, parent: None, start: span.start, own }
    }

    /// In the place of the parent of `span`, which is not there.
    fn missing(id: Id, span: &SpanRecord) -> Self {
        Self { id, state: state_of(span.under), span: 0, parent: None, start: span.start, own: Sum::default() }
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
    pub(super) fn new(ended: &[SpanRecord], running: &[SpanRecord]) -> Self {
        let mut found = Vec::with_capacity(ended.len() + running.len());
        found.extend(ended.iter().enumerate().map(|(at, span)| Found::new(span, NodeState::Ended, at)));
        found.extend(running.iter().enumerate().map(|(at, span)| Found::new(span, NodeState::Running, at)));
        find_parents(&mut found, ended.iter().chain(running));
        let mut tree = Self::placed(&found);
        tree.sum_up();
        tree
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<&Place> {
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
