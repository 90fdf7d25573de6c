//! Reports that are made while the trees run. Each is consistent, and shows the enclosing spans.

use super::watch::{fate, node_of};
use super::world::{ALL, Env, Node};
use std::sync::{Arc, Mutex};
use tool_core::trace::{self, Cost, Report};

static WRONG: Mutex<Vec<String>> = Mutex::new(Vec::new());

pub fn wrong() -> Vec<String> {
    std::mem::take(&mut *WRONG.lock().expect("no panic holds it"))
}

/// Makes a report here. In a task that outlives them, the enclosing spans may end meanwhile.
pub fn look(env: &Env) {
    let around = || env.node.iter().flat_map(Node::chain);
    let numbers = |is: fn(&&Arc<Node>) -> bool| {
        around()
            .filter(is)
            .map(|node| node.number)
            .collect::<Vec<_>>()
    };
    let open_before = numbers(|node| !fate(node.number).is_closed());
    let (report, here) = (trace::report(), ALL[env.place.collector].report());
    let open_after = numbers(|node| fate(node.number).status().is_none());
    let running = report
        .running()
        .iter()
        .rev()
        .filter_map(node_of)
        .collect::<Vec<_>>();
    let shows = open_after.iter().all(|node| running.contains(node))
        && running.iter().all(|node| open_before.contains(node));
    let mut wrong = WRONG.lock().expect("no panic holds it");
    if !shows || !fits(&report) {
        wrong.push(format!(
            "a report of {running:?} in {open_before:?}, then {open_after:?}: {:?}",
            report.totals()
        ));
    }
    if here.running().len() < open_after.len() {
        wrong.push(format!(
            "collector {} is not the one that reports",
            env.place.collector
        ));
    }
}

/// Checks that the tree has all spans once, and that the cost of its roots is the total.
fn fits(report: &Report) -> bool {
    let spans = report.nodes().filter(|node| node.span().is_some()).count();
    let roots = report.roots().map(|root| root.total().cost).sum::<Cost>();
    spans == report.spans().len() + report.running().len() && roots == report.totals().total.cost
}
