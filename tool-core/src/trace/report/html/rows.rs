//! Which spans are on the page, as a page with all of a long run would not open.

use crate::trace::report::{Report, SpanNode};

/// How many spans are on the page.
pub(super) const MOST: usize = 2_000;

/// The nodes that are on the page, and how many are not.
pub(super) struct Rows<'r> {
    nodes: Vec<Row<'r>>,
    pub(super) left_out: usize,
}

/// A node on the page.
#[derive(Clone, Copy)]
pub(super) struct Row<'r> {
    pub(super) node: SpanNode<'r>,
    /// How many of those inside of it are not on the page, and inside of nothing else on it.
    pub(super) hidden: usize,
}

impl<'r> Rows<'r> {
    /// Those that are less deep come first, and of one depth those that come first in the tree. So each is on the page
    /// together with all that it is inside of.
    pub(super) fn new(report: &'r Report) -> Self {
        let (depth, mut of_depth) = fitting(report);
        let mut rows = Self { nodes: Vec::new(), left_out: 0 };
        // The rows above, where the next node may hang from.
        let mut above: Vec<usize> = Vec::new();
        for node in report.nodes() {
            while above.pop_if(|row| rows.nodes.get(*row).is_none_or(|row| row.node.end() <= node.at())).is_some() {}
            let shown = node.depth() < depth || (node.depth() == depth && of_depth > 0);
            if shown {
                of_depth -= usize::from(node.depth() == depth);
                above.push(rows.nodes.len());
                rows.nodes.push(Row { node, hidden: 0 });
                continue;
            }
            rows.left_out += 1;
            if let Some(row) = above.last().and_then(|row| rows.nodes.get_mut(*row)) {
                row.hidden += 1;
            }
        }
        rows
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Row<'r>> {
        self.nodes.iter().copied()
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }
}

/// The depth of which not all nodes are on the page, and how many of it are.
fn fitting(report: &Report) -> (usize, usize) {
    let mut counts = Vec::new();
    for node in report.nodes() {
        counts.resize(counts.len().max(node.depth() + 1), 0_usize);
        if let Some(count) = counts.get_mut(node.depth()) {
            *count += 1;
        }
    }
    let mut room = MOST;
    for (depth, count) in counts.iter().enumerate() {
        match room.checked_sub(*count) {
            Some(rest) => room = rest,
            None => return (depth, room),
        }
    }
    (usize::MAX, 0)
}
