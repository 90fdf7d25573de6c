//! What a collector has: the tree of spans, what it cost, and what was dropped.

pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod text;
pub(crate) mod timeline;
pub(crate) mod tree;
pub(crate) mod words;

use crate::trace::collector::Collector;
use crate::trace::ids::SpanId;
use crate::trace::open_span::{OpenSpan, current};
use crate::trace::record;
use crate::trace::record::{SpanKind, SpanRecord};
use crate::trace::report::tree::{SpanNode, Tree};
use crate::trace::totals::Totals;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

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
    pub(crate) spans: Vec<SpanRecord>,
    pub(crate) running: Vec<SpanRecord>,
    pub(crate) dropped: u64,
    pub(crate) totals: Totals,
    /// When the clock of the spans stood at 0.
    pub(crate) epoch: SystemTime,
    pub(crate) tree: OnceLock<Tree>,
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
fn running(collector: &Collector, here: Option<&Arc<OpenSpan>>) -> Vec<(SpanRecord, Arc<OpenSpan>)> {
    let is_ours = |scope: &&Arc<OpenSpan>| Arc::ptr_eq(&scope.trace.collector.0, &collector.0);
    let scopes = here.filter(is_ours).into_iter().flat_map(OpenSpan::chain);
    let snapshot = |scope: &Arc<OpenSpan>| Some((SpanRecord::of_running(scope)?, Arc::clone(scope)));
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

// ---- The tree on one line.

impl Report {
    /// The tree on one line, without figures: `agent:planner > llm, tool:A > llm, tool:B > http`. S2
    ///
    /// `>` stands before what is inside of a span. A comma stands before the next span inside of the *root*: above,
    /// `agent:planner` has `llm`, `tool:A` and `tool:B` inside of it. Further down, spans have what is inside of them in
    /// parentheses where it is more than one: `agent:planner > tool:A > (llm, http), tool:B`. A semicolon stands before
    /// the next root. Siblings stand in the order in which they started.
    ///
    /// Agents, tools and sections have kind and name; what is asked of a model or a server is `llm` or `http` alone. A
    /// name with anything but letters, digits and `_ - . / :` in it stands in quotes. `dropped`, `open` and `remote`
    /// stand for spans that the report does not have, as [`NodeState`](super::NodeState) names them.
    pub fn outline(&self) -> String {
        let mut line = String::new();
        // Where the list that each is in ends, and whether it is in parentheses.
        let mut lists: Vec<(usize, bool)> = Vec::new();
        for node in self.nodes() {
            while let Some((_, in_parentheses)) = lists.pop_if(|(end, _)| *end <= node.at()) {
                line.push_str(if in_parentheses { ")" } else { "" });
            }
            match node.parent() {
                None => line.push_str(if line.is_empty() { "" } else { "; " }),
                Some(parent) if parent.at() + 1 < node.at() => line.push_str(", "),
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
    line.push(':');
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':');
    if !span.name().is_empty() && span.name().chars().all(is_plain) {
        line.push_str(span.name());
    } else {
        // Text takes what is written to it.
        let _ = write!(line, "{:?}", span.name());
    }
}
