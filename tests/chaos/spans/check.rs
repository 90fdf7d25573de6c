//! The collected spans compared with the model: each once, with its status, parent and trace.

use super::watch::{fate, node_of};
use super::world::{ALL, Node, Tree, customer, remote};
use std::collections::HashMap;
use std::sync::Arc;
use tool_core::trace::{Report, SpanId, SpanKind, SpanRecord, SpanStatus, TraceId};

/// The collected spans, and the expected ones.
pub struct Found {
    pub nodes: HashMap<u32, Arc<Node>>,
    pub reports: Vec<Report>,
    pub wrong: Vec<String>,
}

impl Found {
    pub fn new(trees: &[Arc<Tree>]) -> Self {
        let mut nodes = HashMap::new();
        for tree in trees {
            for node in tree.nodes.lock().expect("no panic holds it").iter() {
                let before = nodes.insert(node.number, Arc::clone(node));
                assert!(before.is_none(), "span {} was made twice", node.number);
            }
        }
        Self {
            nodes,
            reports: ALL.iter().map(|collector| collector.report()).collect(),
            wrong: Vec::new(),
        }
    }

    pub fn hold(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.wrong.push(what());
        }
    }

    /// Checks everything.
    pub fn spans(&mut self) {
        let reports = std::mem::take(&mut self.reports);
        let mut seen: HashMap<u32, (usize, &SpanRecord)> = HashMap::new();
        let mut roots: HashMap<TraceId, SpanId> = HashMap::new();
        for (collector, report) in reports.iter().enumerate() {
            self.hold(report.dropped() == 0, || {
                format!("collector {collector} dropped spans")
            });
            for span in report.spans() {
                match node_of(span) {
                    Some(node) => {
                        let before = seen.insert(node, (collector, span));
                        self.hold(before.is_none(), || {
                            format!("{span:?} of node {node} was collected twice")
                        });
                    }
                    None => self.a_root_for_what_nobody_pays(span),
                }
                if span.parent().is_none() {
                    let other = roots.insert(span.trace_id(), span.span_id());
                    self.hold(other.is_none(), || {
                        format!("{span:?} shares its trace with another root")
                    });
                }
            }
        }
        for node in self.nodes.values().cloned().collect::<Vec<_>>() {
            self.a_node(&node, &seen);
        }
        for (collector, report) in reports.iter().enumerate() {
            self.a_tree(collector, report);
        }
        self.reports = reports;
    }

    fn a_root_for_what_nobody_pays(&mut self, span: &SpanRecord) {
        let sound = span.kind() == SpanKind::Http
            && span.status() == SpanStatus::Ok
            && span.spent().len() == 1;
        self.hold(sound, || format!("{span:?} is of no node"));
    }

    fn a_node(&mut self, node: &Arc<Node>, seen: &HashMap<u32, (usize, &SpanRecord)>) {
        let (number, fate) = (node.number, fate(node.number));
        let Some((collector, span)) = seen.get(&number) else {
            return self.hold(!fate.has_begun(), || {
                format!("{} {number} has begun and was never closed", node.kind)
            });
        };
        let named = format!("{span:?}, node {number}");
        self.hold(fate.has_begun(), || format!("{named} has not begun"));
        self.hold(fate.status() == Some(span.status()), || {
            format!("{named} was {:?}", fate.status())
        });
        let place = node.place;
        self.hold(*collector == place.collector, || {
            format!(
                "{named} is in collector {collector}, not {}",
                place.collector
            )
        });
        self.hold((span.kind(), span.name()) == (node.kind, node.name), || {
            format!("{named} is {}:{}", node.kind, node.name)
        });
        let for_customer = place.customer.map(customer);
        self.hold(span.customer_id() == for_customer.as_deref(), || {
            format!("{named} was for {for_customer:?}")
        });
        let above = match (&node.parent, place.remote) {
            (Some(parent), _) => match seen.get(&parent.number) {
                Some((_, parent)) => Some((parent.trace_id(), parent.span_id())),
                None => {
                    return self.wrong.push(format!(
                        "{named}: its parent {} was not collected",
                        parent.number
                    ));
                }
            },
            (None, Some(number)) => Some(remote(number)),
            (None, None) => None,
        };
        let other = || {
            let (_, other) = seen
                .values()
                .find(|(_, other)| Some(other.span_id()) == span.parent())?;
            Some(format!("{other:?}, node {:?}", node_of(other)))
        };
        let is_under = span.parent() == above.map(|above| above.1);
        self.hold(is_under, || {
            format!(
                "{named}, {node:?} is not under {above:?}, but {:?}",
                other()
            )
        });
        if let Some((trace, _)) = above {
            self.hold(span.trace_id() == trace, || {
                format!("{named} is in another trace than {trace:?}")
            });
        }
    }

    /// Checks that the report has every span under its parent.
    fn a_tree(&mut self, collector: usize, report: &Report) {
        let mut spans = 0;
        for node in report.nodes() {
            let Some(span) = node.span() else {
                self.hold(node.depth() == 0, || {
                    format!("collector {collector}: {node:?} has an enclosing span")
                });
                continue;
            };
            spans += 1;
            let above = node
                .parent()
                .map(|parent| (parent.trace_id(), parent.span_id()));
            let meant = span.parent().map(|parent| (span.trace_id(), parent));
            self.hold(above == meant, || {
                format!("collector {collector}: {node:?} hangs from {above:?}")
            });
        }
        self.hold(spans == report.spans().len(), || {
            format!("collector {collector}: {spans} spans in the tree")
        });
        let sum = report
            .roots()
            .map(|root| root.total())
            .fold((0, 0), |sum, root| {
                (sum.0 + root.cost.picodollars(), sum.1 + root.uses)
            });
        let total = report.totals().total;
        let same = sum == (total.cost.picodollars(), total.uses);
        self.hold(same, || {
            format!("collector {collector}: the roots have {sum:?}, the total is {total:?}")
        });
    }
}
