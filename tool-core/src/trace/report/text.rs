//! Reports as text: the tree for a terminal, and the outline on one line.

use crate::trace::cost::CostSummary;
use crate::trace::record::SpanKind;
use crate::trace::report::format::{
    cost, counted, duration, failure, grouped, lists, most_expensive, printable, tokens,
};
use crate::trace::report::tree::{NodeState, Report, SpanNode};
use std::fmt;
use std::fmt::{Formatter, Write};

/// Maximum indentation, in levels. A deeper span shows its depth as a number.
const MAX_DEPTH: usize = 24;
/// Maximum number of characters of a name.
const MAX_NAME: usize = 60;
/// Maximum width of the labels that the columns of figures leave room for.
const MAX_LABEL: usize = 64;
/// Maximum number of names in each list of totals.
const MAX_NAMES: usize = 20;

/// The characters of which the tree is drawn.
struct TreeStyle {
    through: &'static str,
    branch: &'static str,
    last: &'static str,
    failed: &'static str,
}

const UNICODE: TreeStyle = TreeStyle { through: "│  ", branch: "├─ ", last: "└─ ", failed: "✗" };
const ASCII: TreeStyle = TreeStyle { through: "|  ", branch: "|- ", last: "`- ", failed: "!" };

impl fmt::Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let style = if f.alternate() { &ASCII } else { &UNICODE };
        let labels = labels(self, style);
        let widths = labels.iter().map(|label| label.chars().count());
        let width = widths.filter(|width| *width <= MAX_LABEL).max().unwrap_or(0);
        for (node, label) in self.nodes().zip(&labels) {
            let (span, total) = (node.span(), node.total());
            let duration = span.map(|span| duration(span.nanos)).unwrap_or_default();
            let cost = if total.uses > 0 { aligned_cost(total) } else { String::new() };
            let running = (node.state() == NodeState::Running).then(|| "running".to_owned());
            let failure = span.and_then(failure).map(|failure| format!("{} {failure}", style.failed));
            let notes = tokens(node.own().usage).into_iter().chain(running).chain(failure).collect::<Vec<_>>();
            let line = format!("{label:width$}  {duration:>11}  {cost:>11} {}", notes.join("  "));
            writeln!(f, "{}", line.trim_end())?;
        }
        if labels.is_empty() {
            writeln!(f, "no spans")?;
        }
        write_totals(f, self)
    }
}

/// Returns the branches and the name of each node.
fn labels(report: &Report, style: &TreeStyle) -> Vec<String> {
    let mut labels = Vec::new();
    // Whether the node at each depth above is the last inside of its parent.
    let mut lasts = Vec::new();
    for node in report.nodes() {
        lasts.truncate(node.depth().min(MAX_DEPTH));
        lasts.push(node.parent().is_none_or(|parent| node.end() == parent.end()));
        let (last, above) = lasts.split_last().unwrap_or((&true, &[]));
        // Roots have no branch.
        let mut label = above.iter().skip(1).map(|last| if *last { "   " } else { style.through }).collect::<String>();
        if node.depth() > 0 {
            label.push_str(if *last { style.last } else { style.branch });
        }
        if node.depth() > MAX_DEPTH {
            label.extend(["(", &node.depth().to_string(), " deep) "]);
        }
        labels.push(label + &printable(&node.label(), MAX_NAME));
    }
    labels
}

/// Returns a cost with room for the `+`, so that digits are aligned in a column.
fn aligned_cost(sum: CostSummary) -> String {
    let text = cost(sum);
    if text.ends_with('+') { text } else { text + " " }
}

fn write_totals(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let totals = report.totals();
    let mut lines = [("total", totals.total), ("  tracked", totals.tracked), ("  untracked", totals.untracked)]
        .map(|(name, sum)| (name.to_owned(), Some(sum)))
        .to_vec();
    for (title, names) in lists(totals).into_iter().filter(|(_, names)| !names.is_empty()) {
        lines.push((title.to_owned(), None));
        let rows = most_expensive(names, MAX_NAMES).into_iter();
        lines.extend(rows.map(|(name, sum)| (format!("  {}", printable(&name, MAX_NAME)), Some(sum))));
    }
    let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    writeln!(f)?;
    for (name, sum) in lines {
        let Some(sum) = sum else {
            writeln!(f, "{name}")?;
            continue;
        };
        let (cost, uses, tokens) = (aligned_cost(sum), counted(sum.uses, "use"), tokens(sum.usage).unwrap_or_default());
        let line = format!("{name:width$}  {cost:>11} {uses:>9}  {tokens}");
        writeln!(f, "{}", line.trim_end())?;
    }
    let CostSummary { unpriced, uses, .. } = totals.total;
    if unpriced > 0 {
        writeln!(f, "{} of {} without a known price (+)", grouped(unpriced), counted(uses, "use"))?;
    }
    if report.dropped() > 0 {
        writeln!(f, "{} dropped from the buffer, included in the totals", counted(report.dropped(), "span"))?;
    }
    Ok(())
}

impl Report {
    /// Returns the tree on one line, without figures: `agent:planner > llm, tool:A > llm, tool:B > http`.
    ///
    /// `>` precedes the spans inside of a span. A comma precedes the next span inside of the *root*: above, `agent:planner`
    /// contains `llm`, `tool:A` and `tool:B`. Further down, several spans inside of a span are in parentheses:
    /// `agent:planner > tool:A > (llm, http), tool:B`. A semicolon precedes the next root. Siblings are in the order in
    /// which they started.
    ///
    /// Agents, tools and sections are shown with kind and name, requests as `llm` or `http`. A name with characters other
    /// than letters, digits and `_ - . / :` is in quotes. A span that the report does not have is shown as `dropped`,
    /// `open` or `remote`: see [`NodeState`].
    pub fn outline(&self) -> String {
        let mut line = String::new();
        // The end of each open list, and whether the list is in parentheses.
        let mut lists: Vec<(usize, bool)> = Vec::new();
        for node in self.nodes() {
            while let Some((_, in_parentheses)) = lists.pop_if(|(end, _)| *end <= node.index()) {
                line.push_str(if in_parentheses { ")" } else { "" });
            }
            match node.parent() {
                None => line.push_str(if line.is_empty() { "" } else { "; " }),
                Some(parent) if parent.index() + 1 < node.index() => line.push_str(", "),
                Some(parent) => {
                    let several = parent.depth() > 0 && node.end() < parent.end();
                    line.push_str(if several { " > (" } else { " > " });
                    lists.push((parent.end(), several));
                }
            }
            push_label(&mut line, node);
        }
        line.extend(lists.into_iter().filter(|(_, in_parentheses)| *in_parentheses).map(|_| ')'));
        line
    }
}

fn push_label(line: &mut String, node: SpanNode<'_>) {
    let Some(span) = node.span() else { return line.push_str(node.state().as_str()) };
    line.push_str(span.kind().as_str());
    if matches!(span.kind(), SpanKind::Llm | SpanKind::Http) {
        return;
    }
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':');
    // Writing to a String cannot fail.
    let _ = if !span.name().is_empty() && span.name().chars().all(is_plain) {
        write!(line, ":{}", span.name())
    } else {
        write!(line, ":{:?}", span.name())
    };
}
