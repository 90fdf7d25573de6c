//! Reports as one self-contained HTML page. It reads without its script, which only searches. Its
//! policy allows this one script, by its hash, and no network access.

use crate::trace::cost::{CostEntry, CostSummary};
use crate::trace::record::{NodeState, SpanRecord, SpanStatus};
use crate::trace::report::text::{
    cost, counted, duration, failure, grouped, lists, most_expensive, printable, tokens,
};
use crate::trace::report::tree::{Report, SpanNode};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fmt::{Display, Formatter};

/// The page up to its script. The policy in it has the hash of the script.
const HEAD: &str = include_str!("page_head.html");
const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");

/// The style sheet of a waterfall: the colours of spans by kind and state, and their bars on one
/// time axis.
///
/// [`Report::to_html`] uses it. Serve it with a page of your own that shows spans, so that both look alike. Its first lines name the
/// classes and variables that your page sets.
///
/// ```
/// use tool_core::trace::WATERFALL_CSS;
///
/// let row = r#"<div class="track"><span class="bar tool" style="--l:25%;--w:50%"></span></div>"#;
/// let page = format!("<style>{WATERFALL_CSS}</style>{row}");
/// # assert!(page.contains(".bar"));
/// ```
pub const WATERFALL_CSS: &str = include_str!("waterfall.css");

/// Maximum number of spans on the page. A browser does not open a page with all spans of a long
/// run.
const MAX_SPANS: usize = 10_000;
/// Maximum number of rows directly inside a row, and of roots. A browser takes too long to unfold
/// more.
const MAX_SIBLINGS: usize = 1_000;
/// Maximum nesting of elements. A deeper span shows its depth as a number.
const MAX_DEPTH: usize = 16;
/// Maximum indentation, in levels.
const MAX_INDENT: usize = 8;
/// Maximum number of rows that are unfolded at first. As many levels of the tree are unfolded as
/// that allows.
const MAX_UNFOLDED: usize = 400;
/// Maximum number of names in each table of totals.
const MAX_NAMES: usize = 100;
/// Maximum number of uses that a span lists.
const MAX_USES: usize = 20;
/// Maximum number of characters of a name.
const MAX_NAME: usize = 100;
/// Maximum number of characters of an error's message, or of an attribute.
const MAX_TEXT: usize = 2_000;
/// Maximum number of bytes of all attributes, for example inputs and outputs, and of the messages
/// of errors.
const MAX_TEXTS: usize = 8 << 20;
/// The attributes with the input and the output of a tool.
const INPUT: &str = "gen_ai.tool.call.arguments";
const OUTPUT: &str = "gen_ai.tool.call.result";

impl Report {
    /// Returns the report as one page: the spans as a tree with bars on one time axis, and the
    /// totals.
    ///
    /// Each span opens to its times, ids, cost and attributes. Inputs and outputs are among them if
    /// the collector
    /// [records contents](crate::trace::CollectorBuilder::content), as they were redacted. A search filters the spans by all
    /// of these texts.
    ///
    /// The page loads nothing. It reads without a script, and its own script can only search. It
    /// adapts to a phone and to a dark theme, and every text on it is escaped.
    ///
    /// If there are more than 10,000 spans, the page shows those nearest to the root and says how
    /// many it leaves out. It shows the first 1,000 spans directly inside a span, and the first
    /// 1,000 roots. The totals include all spans. Past 8 MiB, attributes and messages are left out.
    pub fn to_html(&self) -> String {
        Page(self).to_string()
    }
}

/// A report that is displayed as a page.
struct Page<'r>(&'r Report);

impl Display for Page<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(report) = self;
        let rows = visible_rows(report);
        f.write_str(HEAD)?;
        write!(
            f,
            "<script type=\"module\">{SCRIPT}</script>\n<style>\n{WATERFALL_CSS}{STYLE}</style>\n"
        )?;
        f.write_str("</head>\n<body>\n<header>\n<h1>Trace report</h1>\n<p>")?;
        write_summary(f, report)?;
        f.write_str("</p>\n</header>\n<main>\n")?;
        let all = report.nodes().count();
        if rows.len() < all {
            let shown = grouped(rows.len() as u64);
            let all = grouped(all as u64);
            write!(
                f,
                "<p class=\"note\">{shown} of {all} spans are shown, those nearest to the root and the first of each list. "
            )?;
            f.write_str("The totals include all spans.</p>\n")?;
        }
        write_figures(f, report)?;
        write_waterfall(f, report, &rows)?;
        write_tables(f, report)?;
        f.write_str("</main>\n</body>\n</html>\n")
    }
}

/// Writes the number of spans and the time that they cover.
fn write_summary(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let spans = report.spans().len() + report.running().len();
    f.write_str(&counted(spans as u64, "span"))?;
    let Some((start, end)) = report.window() else {
        return Ok(());
    };
    write!(f, " in {}", duration(end - start))?;
    if let Some(began) = report
        .time_of(start)
        .and_then(|began| began.round(jiff::Unit::Second).ok())
    {
        write!(
            f,
            ", from <time datetime=\"{began}\">{}</time>",
            began.strftime("%Y-%m-%d %H:%M:%S UTC")
        )?;
    }
    Ok(())
}

/// Returns a duration for readers, and in seconds for programs.
fn time_element(nanos: u64) -> String {
    let seconds = nanos / 1_000_000_000;
    let rest = nanos % 1_000_000_000;
    format!(
        "<time datetime=\"PT{seconds}.{rest:09}S\">{}</time>",
        duration(nanos)
    )
}

/// Returns a cost for readers, and in picodollars for programs.
fn cost_element(sum: CostSummary) -> String {
    format!(
        "<data value=\"{}\">{}</data>",
        sum.cost.picodollars(),
        cost(sum)
    )
}

/// Returns the beginning of a text, escaped for use between tags and in attributes in double
/// quotes.
fn escaped(text: &str, max: usize) -> String {
    let text = printable(text, max)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

/// Writes the figures at the top of the page.
fn write_figures(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let totals = report.totals();
    let usage = totals.total.usage;
    f.write_str("<section aria-labelledby=\"figures\">\n<h2 id=\"figures\">Cost</h2>\n<dl class=\"figures\">\n")?;
    let mut figure = |id, name, value: &dyn Display| {
        writeln!(f, "<div id=\"{id}\"><dt>{name}</dt><dd>{value}</dd></div>")
    };
    figure("total", "Total", &cost_element(totals.total))?;
    figure("tracked", "Tracked", &cost_element(totals.tracked))?;
    figure("untracked", "Untracked", &cost_element(totals.untracked))?;
    figure("input", "Tokens in", &grouped(usage.input))?;
    figure("output", "Tokens out", &grouped(usage.output))?;
    if totals.total.unpriced > 0 {
        figure(
            "unpriced",
            "Uses without a price",
            &grouped(totals.total.unpriced),
        )?;
    }
    if report.dropped() > 0 {
        figure("dropped", "Spans dropped", &grouped(report.dropped()))?;
    }
    f.write_str("</dl>\n")?;
    if totals.total.unpriced > 0 {
        f.write_str(
            "<p class=\"note\">A + marks a sum that leaves out uses without a known price.</p>\n",
        )?;
    }
    f.write_str("</section>\n")
}

/// Writes the tables of totals at the end of the page.
fn write_tables(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let totals = report.totals();
    f.write_str("<section aria-labelledby=\"totals\">\n<h2 id=\"totals\">Totals</h2>\n")?;
    let all = [
        ("total", totals.total),
        ("tracked", totals.tracked),
        ("untracked", totals.untracked),
    ];
    write_table(
        f,
        "all",
        "All",
        &all.map(|(name, sum)| (name.to_owned(), sum)),
    )?;
    for (id, names) in lists(totals)
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
    {
        write_table(
            f,
            id,
            &format!("By {}", id.trim_end_matches('s')),
            &most_expensive(names, MAX_NAMES),
        )?;
    }
    f.write_str("</section>\n")
}

/// Writes a table. A table that is wider than a phone has its own scroll bar.
fn write_table(
    f: &mut Formatter<'_>,
    id: &str,
    title: &str,
    rows: &[(String, CostSummary)],
) -> fmt::Result {
    write!(
        f,
        "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"{title}\"><table id=\"by-{id}\">\
         <caption>{title}</caption><thead><tr><th scope=\"col\">Name</th>"
    )?;
    for title in ["Cost", "Uses", "Input", "Cached", "Output", "Reasoning"] {
        write!(f, "<th scope=\"col\">{title}</th>")?;
    }
    f.write_str("</tr></thead><tbody>\n")?;
    for (name, sum) in rows {
        let name = escaped(name, MAX_NAME);
        let usage = sum.usage;
        write!(
            f,
            "<tr><th scope=\"row\"><bdi>{name}</bdi></th><td>{}</td>",
            cost_element(*sum)
        )?;
        for number in [
            sum.uses,
            usage.input,
            usage.cached,
            usage.output,
            usage.reasoning,
        ] {
            write!(f, "<td>{}</td>", grouped(number))?;
        }
        f.write_str("</tr>\n")?;
    }
    f.write_str("</tbody></table></div>\n")
}

/// A node on the page.
struct VisibleRow<'r> {
    node: SpanNode<'r>,
    /// The number of nodes inside this one that are not on the page, without those inside another
    /// row.
    hidden: usize,
}

/// Returns the rows of the page: of each list the first, of these the nodes of least depth, and of
/// the last depth those that come first. So the ancestors of a row are rows too.
fn visible_rows(report: &Report) -> Vec<VisibleRow<'_>> {
    let mut listed = HashSet::new();
    let mut lists = HashMap::<_, usize>::new();
    let mut nodes = report.nodes().collect::<Vec<_>>();
    nodes.retain(|node| {
        let parent = node.parent().map(SpanNode::index);
        let siblings = lists.entry(parent).or_default();
        *siblings += 1;
        let is_listed =
            *siblings <= MAX_SIBLINGS && parent.is_none_or(|parent| listed.contains(&parent));
        is_listed && listed.insert(node.index())
    });
    nodes.sort_by_key(|node| node.depth());
    nodes.truncate(MAX_SPANS);
    nodes.sort_by_key(|node| node.index());
    let visible = nodes
        .iter()
        .map(|node| node.index())
        .collect::<HashSet<_>>();
    let rows = nodes.into_iter().map(|node| {
        let hidden = node
            .children()
            .filter(|child| !visible.contains(&child.index()));
        VisibleRow {
            node,
            hidden: hidden.map(|child| child.end() - child.index()).sum(),
        }
    });
    rows.collect()
}

/// Returns the number of levels of the tree that are unfolded at first.
fn unfolded_levels(rows: &[VisibleRow<'_>]) -> usize {
    let rows_to = |level: &usize| {
        rows.iter()
            .filter(|row| element_depth(row.node) <= *level)
            .count()
    };
    (0..=MAX_DEPTH)
        .take_while(|level| rows_to(level) <= MAX_UNFOLDED)
        .count()
        .saturating_sub(1)
}

/// Returns the nesting of a node's element.
fn element_depth(node: SpanNode<'_>) -> usize {
    node.depth().min(MAX_DEPTH)
}

/// The time axis of the page, and how much of its texts is left.
struct Waterfall {
    start: u64,
    nanos: u64,
    texts_left: usize,
}

/// Writes the spans as a tree with bars on one time axis. Spans with others inside of them can be
/// folded.
fn write_waterfall(f: &mut Formatter<'_>, report: &Report, rows: &[VisibleRow<'_>]) -> fmt::Result {
    f.write_str("<section aria-labelledby=\"spans\">\n<h2 id=\"spans\">Spans</h2>\n")?;
    if rows.is_empty() {
        return f.write_str("<p>No spans.</p>\n</section>\n");
    }
    let (start, end) = report.window().unwrap_or_default();
    let mut waterfall = Waterfall {
        start,
        nanos: end - start,
        texts_left: MAX_TEXTS,
    };
    f.write_str(
        "<p class=\"note\">The cost of a span includes the spans inside of it. A span opens to its details.</p>\n\
         <p class=\"search\" hidden><label for=\"search\">Search</label> \
         <input id=\"search\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\"> <output for=\"search\"></output></p>\n",
    )?;
    f.write_str("<div class=\"axis\" aria-hidden=\"true\"><div class=\"ticks\">")?;
    for quarter in 0..=4 {
        write!(
            f,
            "<span>{}</span>",
            duration(waterfall.nanos / 4 * quarter)
        )?;
    }
    f.write_str("</div></div>\n<ul class=\"tree\">\n")?;
    let unfolded = unfolded_levels(rows);
    let mut rows = rows.iter().peekable();
    let mut open = 0;
    while let Some(row) = rows.next() {
        let depth = element_depth(row.node);
        close_lists(f, &mut open, depth)?;
        waterfall.write_span(f, row)?;
        let has_children = rows
            .peek()
            .is_some_and(|next| next.node.depth() > row.node.depth());
        if has_children && depth < MAX_DEPTH {
            let inside = row.node.children().count() as u64;
            let is_open = if depth < unfolded { " open" } else { "" };
            write!(
                f,
                "<details class=\"fold\"{is_open}><summary><span class=\"unseen\">"
            )?;
            writeln!(
                f,
                "{} directly inside</span></summary><ul>",
                counted(inside, "span")
            )?;
            open += 1;
        } else {
            f.write_str("</li>\n")?;
        }
    }
    close_lists(f, &mut open, 0)?;
    f.write_str("</ul>\n</section>\n")
}

fn close_lists(f: &mut Formatter<'_>, open: &mut usize, depth: usize) -> fmt::Result {
    while *open > depth {
        f.write_str("</ul></details></li>\n")?;
        *open -= 1;
    }
    Ok(())
}

/// Returns the kind and the name of a span.
fn label_element(node: SpanNode<'_>) -> String {
    let Some(span) = node.span() else {
        let state = match node.state() {
            NodeState::Remote => "another process",
            NodeState::Dropped => "dropped",
            NodeState::Open | NodeState::Ended | NodeState::Running => "still open",
        };
        let id = node.span_id();
        return format!(
            "<span class=\"kind\">{state}</span> <span class=\"name dim\">span {id}</span>"
        );
    };
    let kind = span.kind();
    let name = escaped(span.name(), MAX_NAME);
    format!("<span class=\"kind {kind}\">{kind}</span> <bdi class=\"name\">{name}</bdi>")
}

/// Returns the CSS class of a status.
fn status_class(status: SpanStatus) -> &'static str {
    match status {
        SpanStatus::Ok => "",
        SpanStatus::Cancelled => "cancelled",
        SpanStatus::Error | SpanStatus::Panicked => "wrong",
    }
}

impl Waterfall {
    /// Writes the row of a span, and its details. The list item stays open.
    fn write_span(&mut self, f: &mut Formatter<'_>, row: &VisibleRow<'_>) -> fmt::Result {
        let VisibleRow { node, hidden } = *row;
        let id = node.span_id();
        let depth = node.depth();
        let indent = depth.min(MAX_INDENT);
        write!(
            f,
            "<li data-span=\"{id}\" style=\"--d:{indent}\"><details class=\"span\"><summary><span class=\"label\">"
        )?;
        f.write_str(&label_element(node))?;
        if depth > MAX_DEPTH {
            write!(f, " <span class=\"dim\">{depth} deep</span>")?;
        }
        if node.state() == NodeState::Running {
            f.write_str(" <span class=\"mark running\">running</span>")?;
        }
        if let Some((span, failure)) = node.span().and_then(|span| Some((span, failure(span)?))) {
            let class = status_class(span.status());
            let failure = escaped(&failure, MAX_NAME);
            write!(f, " <span class=\"mark {class}\">{failure}</span>")?;
        }
        if hidden > 0 {
            write!(
                f,
                " <span class=\"dim\">{} inside not shown</span>",
                counted(hidden as u64, "span")
            )?;
        }
        f.write_str("</span>")?;
        if let Some(span) = node.span() {
            self.write_bar(f, node, span)?;
        }
        f.write_str("<span class=\"cost\">")?;
        if node.total().uses > 0 {
            f.write_str(&cost_element(node.total()))?;
        }
        f.write_str("</span>")?;
        if let Some(span) = node.span() {
            write!(
                f,
                "<span class=\"time\">{}</span>",
                time_element(span.nanos)
            )?;
        }
        f.write_str("</summary>")?;
        self.write_details(f, node)?;
        f.write_str("</details>")
    }

    /// Writes the bar of a span. That of a running span has no end.
    fn write_bar(
        &self,
        f: &mut Formatter<'_>,
        node: SpanNode<'_>,
        span: &SpanRecord,
    ) -> fmt::Result {
        let from = span.start.saturating_sub(self.start);
        let left = percent(from, self.nanos);
        let width = percent(span.nanos, self.nanos);
        let is_running = node.state() == NodeState::Running;
        let class = if is_running {
            "running"
        } else {
            status_class(span.status())
        };
        let class = [span.kind().as_str(), class].join(" ");
        write!(
            f,
            "<span class=\"track\" aria-hidden=\"true\"><span class=\"bar {}\"",
            class.trim_end()
        )?;
        write!(f, " style=\"--l:{left};--w:{width}\"></span></span>")
    }

    /// Writes what a span opens to: its times and ids, its error, its uses of models, and its
    /// attributes.
    fn write_details(&mut self, f: &mut Formatter<'_>, node: SpanNode<'_>) -> fmt::Result {
        f.write_str("<dl>")?;
        if let Some(span) = node.span() {
            let status = if node.state() == NodeState::Running {
                "running"
            } else {
                span.status().as_str()
            };
            let from = duration(span.start.saturating_sub(self.start));
            write!(
                f,
                "<dt>Status</dt><dd>{status}</dd><dt>Start</dt><dd>after {from}</dd>"
            )?;
            if let Some(error) = span.error() {
                self.write_text(f, "Error", error.message.as_deref().unwrap_or(error.kind))?;
            }
            write_uses(f, span.spent())?;
            let ids = [
                ("Call", span.call_id()),
                ("Run", span.run_id()),
                ("Customer", span.customer_id()),
            ];
            for (title, id) in ids.into_iter().filter_map(|(title, id)| Some((title, id?))) {
                write!(
                    f,
                    "<dt>{title}</dt><dd><bdi>{}</bdi></dd>",
                    escaped(id, MAX_NAME)
                )?;
            }
        }
        write!(
            f,
            "<dt>Span</dt><dd>{}</dd><dt>Trace</dt><dd>{}</dd>",
            node.span_id(),
            node.trace_id()
        )?;
        for (key, value) in node.span().into_iter().flat_map(SpanRecord::attributes) {
            let title = match key {
                INPUT => "Input",
                OUTPUT => "Output",
                key => key,
            };
            match value.as_str() {
                Some(text) => self.write_text(f, title, text)?,
                None => self.write_text(f, title, &value.to_string())?,
            }
        }
        if self.texts_left == 0 {
            f.write_str("<dt>Texts</dt><dd class=\"dim\">left out, as the page is too long</dd>")?;
        }
        f.write_str("</dl>")
    }

    /// Writes a text of any length and form. Its lines stay lines.
    fn write_text(&mut self, f: &mut Formatter<'_>, title: &str, text: &str) -> fmt::Result {
        if self.texts_left == 0 {
            return Ok(());
        }
        let end = text
            .char_indices()
            .nth(MAX_TEXT)
            .map_or(text.len(), |(end, _)| end);
        let (shown, rest) = text.split_at(end);
        let mut lines = shown
            .split('\n')
            .map(|line| escaped(line, MAX_TEXT))
            .collect::<Vec<_>>()
            .join("\n");
        lines.push_str(if rest.is_empty() { "" } else { "…" });
        let title = escaped(title, MAX_NAME);
        self.texts_left = self.texts_left.saturating_sub(title.len() + lines.len());
        if self.texts_left == 0 {
            return Ok(());
        }
        let class = if title == "Error" {
            "text wrong"
        } else {
            "text"
        };
        write!(
            f,
            "<dt>{title}</dt><dd><bdi class=\"{class}\">{lines}</bdi></dd>"
        )
    }
}

/// Writes the uses of models and of other services that a span pays for.
fn write_uses(f: &mut Formatter<'_>, uses: &[CostEntry]) -> fmt::Result {
    for entry in uses.iter().take(MAX_USES) {
        let usage = &entry.used;
        let provider = usage
            .provider
            .as_deref()
            .map(|provider| format!("{} ", escaped(provider, MAX_NAME)));
        let provider = provider.unwrap_or_default();
        let model = escaped(&usage.model, MAX_NAME);
        let sum = cost(entry.into());
        let parts = [Some(sum), tokens(usage.usage)]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>();
        write!(
            f,
            "<dt>Cost</dt><dd><bdi>{provider}{model}</bdi>: {}</dd>",
            parts.join(", ")
        )?;
    }
    match uses.len().checked_sub(MAX_USES).filter(|more| *more > 0) {
        Some(more) => write!(
            f,
            "<dt>Cost</dt><dd>{}</dd>",
            counted(more as u64, "more use")
        ),
        None => Ok(()),
    }
}

/// Returns a part of the whole, in percent. With four decimals, a bar is less than a pixel off.
fn percent(part: u64, whole: u64) -> String {
    const SCALE: u128 = 1_000_000;
    let part = (u128::from(part) * SCALE / u128::from(whole.max(1))).min(SCALE);
    format!("{}.{:04}%", part / 10_000, part % 10_000)
}
