//! The report for a terminal.

use crate::trace::report::tree::SpanNode;
use crate::trace::report::words::shown;
use crate::trace::report::{Report, tree, words};
use crate::trace::totals::{CostSummary, Totals};
use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Formatter;

/// How far the tree is indented: deeper spans stand below each other and say how deep they are.
const DEEPEST: usize = 24;
/// How much of a name is shown.
const NAME: usize = 60;
/// How far the figures may be moved to the right by a label.
const WIDEST: usize = 64;
/// How many names each list of totals has.
const NAMES: usize = 20;

/// What the lines of the tree, and its marks, are drawn with.
struct Pens {
    through: &'static str,
    branch: &'static str,
    last: &'static str,
    wrong: &'static str,
}

const LINES: Pens = Pens { through: "│  ", branch: "├─ ", last: "└─ ", wrong: "✗" };
const ASCII: Pens = Pens { through: "|  ", branch: "|- ", last: "`- ", wrong: "!" };

/// A line of the tree.
struct Row {
    label: String,
    width: usize,
    duration: String,
    cost: String,
    rest: String,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let pens = if f.alternate() { &ASCII } else { &LINES };
        let rows = rows(self, pens);
        let width = rows.iter().map(|row| row.width).filter(|width| *width <= WIDEST).max().unwrap_or(0);
        for Row { label, width: own, duration, cost, rest } in &rows {
            let blank = width.saturating_sub(*own);
            let line = format!("{label}{:blank$}  {duration:>11}  {cost:>11} {rest}", "");
            writeln!(f, "{}", line.trim_end())?;
        }
        if rows.is_empty() {
            writeln!(f, "no spans")?;
        }
        write_totals(f, self)
    }
}

fn rows(report: &Report, pens: &Pens) -> Vec<Row> {
    let mut rows = Vec::new();
    // Whether the span at each depth on the way here is the last inside of its parent.
    let mut lasts = Vec::new();
    for node in report.nodes() {
        lasts.truncate(node.depth().min(DEEPEST));
        lasts.push(node.parent().is_none_or(|parent| node.end() == parent.end()));
        let mut label = String::new();
        // Roots have nothing that they hang from.
        let (last, above) = lasts.split_last().unwrap_or((&true, &[]));
        for last in above.iter().skip(1) {
            label.push_str(if *last { "   " } else { pens.through });
        }
        if node.depth() > 0 {
            label.push_str(if *last { pens.last } else { pens.branch });
        }
        if node.depth() > DEEPEST {
            label.extend(["(", &node.depth().to_string(), " deep) "]);
        }
        label.push_str(&shown(&node.label(), NAME));
        rows.push(row(node, label, pens));
    }
    rows
}

fn row(node: SpanNode<'_>, label: String, pens: &Pens) -> Row {
    let total = node.total();
    let span = node.span();
    let mut rest = Vec::new();
    rest.extend(words::tokens(node.own().usage));
    if span.is_some() && node.state() == tree::NodeState::Running {
        rest.push("running".to_owned());
    }
    if let Some(ending) = span.and_then(words::ending) {
        rest.push(format!("{} {ending}", pens.wrong));
    }
    Row {
        width: label.chars().count(),
        label,
        duration: span.map(|span| words::duration(span.nanos)).unwrap_or_default(),
        cost: if total.uses > 0 { cost(total) } else { String::new() },
        rest: rest.join("  "),
    }
}

/// A cost with a place for the `+`, so that those without one stand below each other.
fn cost(sum: CostSummary) -> String {
    let text = words::cost(sum);
    if text.ends_with('+') { text } else { text + " " }
}

/// A line of the totals; a title has no sum.
type Line = (String, Option<CostSummary>);

fn write_totals(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let lines = totals(report.totals());
    let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    writeln!(f)?;
    for (name, sum) in &lines {
        let Some(sum) = sum else {
            writeln!(f, "{name}")?;
            continue;
        };
        let blank = width.saturating_sub(name.chars().count());
        let (cost, uses, tokens) = (cost(*sum), words::counted(sum.uses, "use"), words::tokens(sum.usage));
        let line = format!("{name}{:blank$}  {cost:>11} {uses:>9}  {}", "", tokens.unwrap_or_default());
        writeln!(f, "{}", line.trim_end())?;
    }
    let CostSummary { unpriced, uses, .. } = report.totals().total;
    if unpriced > 0 {
        writeln!(f, "{} of {} without a known price (+)", words::grouped(unpriced), words::counted(uses, "use"))?;
    }
    if report.dropped() > 0 {
        writeln!(f, "{} not kept any more; the totals count them", words::counted(report.dropped(), "span"))?;
    }
    Ok(())
}

fn totals(totals: &Totals) -> Vec<Line> {
    let mut lines = Vec::new();
    for (name, sum) in [("total", totals.total), ("  tracked", totals.tracked), ("  untracked", totals.untracked)] {
        lines.push((name.to_owned(), Some(sum)));
    }
    for (title, names) in words::lists(totals) {
        push_names(&mut lines, title, names);
    }
    lines
}

/// The names that cost most, under their title.
fn push_names(lines: &mut Vec<Line>, title: &str, names: &BTreeMap<String, CostSummary>) {
    if names.is_empty() {
        return;
    }
    lines.push((title.to_owned(), None));
    let (most, rest) = words::by_cost(names, NAMES);
    lines.extend(most.into_iter().map(|(name, sum)| (format!("  {}", shown(name, NAME)), Some(sum))));
    if let Some((count, sum)) = rest {
        lines.push((format!("  ({} more)", words::grouped(count)), Some(sum)));
    }
}
