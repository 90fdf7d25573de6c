//! Reports as one self-contained HTML page: no script, no network access, and a policy that allows neither.

use crate::trace::cost::CostSummary;
use crate::trace::record::{NodeState, SpanRecord, SpanStatus};
use crate::trace::report::text::{cost, counted, duration, failure, grouped, lists, most_expensive, printable, tokens};
use crate::trace::report::tree::{Report, SpanNode};
use std::collections::HashSet;
use std::fmt;
use std::fmt::{Display, Formatter};

/// The page up to its style.
const HEAD: &str = include_str!("page_head.html");
const STYLE: &str = include_str!("page.css");

/// Maximum number of spans on the page. A browser does not open a page with all spans of a long run.
const MAX_SPANS: usize = 2_000;
/// Maximum nesting of elements. A deeper span shows its depth as a number.
const MAX_DEPTH: usize = 16;
/// Maximum indentation of the timeline's labels, in levels.
const MAX_TIMELINE_DEPTH: usize = 8;
/// Maximum number of rows that are unfolded at first. As many levels of the tree are unfolded as that allows.
const MAX_UNFOLDED: usize = 400;
/// Maximum number of names in each table of totals.
const MAX_NAMES: usize = 100;
/// Maximum number of uses that a span lists.
const MAX_USES: usize = 3;
/// Maximum number of characters of a name.
const MAX_NAME: usize = 100;
/// Maximum number of characters of an error's message.
const MAX_MESSAGE: usize = 300;

impl Report {
    /// Returns the report as one page: the tree, a timeline, and the totals.
    ///
    /// The page loads nothing and has no script. It adapts to a phone and to a dark theme, and every name on it is escaped.
    ///
    /// Of more than 2,000 spans, the page shows those nearest to the root and the number of the others. The totals include
    /// all spans. The page has models and tokens, but no arguments, results or other attributes.
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
        f.write_str(STYLE)?;
        f.write_str("</style>\n</head>\n<body>\n<header>\n<h1>Trace report</h1>\n<p>")?;
        write_summary(f, report)?;
        f.write_str("</p>\n</header>\n<main>\n")?;
        let all = report.nodes().count();
        if rows.len() < all {
            let (shown, all) = (grouped(rows.len() as u64), grouped(all as u64));
            write!(f, "<p class=\"note\">{shown} of {all} spans are shown, those nearest to the root. ")?;
            f.write_str("The totals include all spans.</p>\n")?;
        }
        write_figures(f, report)?;
        write_tree(f, &rows)?;
        write_timeline(f, report, &rows)?;
        write_tables(f, report)?;
        f.write_str("</main>\n</body>\n</html>\n")
    }
}

/// Writes the number of spans and the time that they cover.
fn write_summary(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let spans = report.spans().len() + report.running().len();
    f.write_str(&counted(spans as u64, "span"))?;
    let Some((start, end)) = report.window() else { return Ok(()) };
    write!(f, " in {}", duration(end - start))?;
    if let Some(began) = report.time_of(start).and_then(|began| began.round(jiff::Unit::Second).ok()) {
        write!(f, ", from <time datetime=\"{began}\">{}</time>", began.strftime("%Y-%m-%d %H:%M:%S UTC"))?;
    }
    Ok(())
}

/// Returns a duration for readers, and in seconds for programs.
fn time_element(nanos: u64) -> String {
    let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    format!("<time datetime=\"PT{seconds}.{rest:09}S\">{}</time>", duration(nanos))
}

/// Returns a cost for readers, and in picodollars for programs.
fn cost_element(sum: CostSummary) -> String {
    format!("<data value=\"{}\">{}</data>", sum.cost.picodollars(), cost(sum))
}

/// Returns the beginning of a text, escaped for use between tags and in attributes in double quotes.
fn escaped(text: &str, max: usize) -> String {
    let text = printable(text, max).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

/// Writes the figures at the top of the page.
fn write_figures(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let totals = report.totals();
    let usage = totals.total.usage;
    f.write_str("<section aria-labelledby=\"figures\">\n<h2 id=\"figures\">Cost</h2>\n<dl class=\"figures\">\n")?;
    let mut figure =
        |id, name, value: &dyn Display| writeln!(f, "<div id=\"{id}\"><dt>{name}</dt><dd>{value}</dd></div>");
    figure("total", "Total", &cost_element(totals.total))?;
    figure("tracked", "Tracked", &cost_element(totals.tracked))?;
    figure("untracked", "Untracked", &cost_element(totals.untracked))?;
    figure("input", "Tokens in", &grouped(usage.input))?;
    figure("output", "Tokens out", &grouped(usage.output))?;
    if totals.total.unpriced > 0 {
        figure("unpriced", "Uses without a price", &grouped(totals.total.unpriced))?;
    }
    if report.dropped() > 0 {
        figure("dropped", "Spans dropped", &grouped(report.dropped()))?;
    }
    f.write_str("</dl>\n")?;
    if totals.total.unpriced > 0 {
        f.write_str("<p class=\"note\">A + marks a sum that leaves out uses without a known price.</p>\n")?;
    }
    f.write_str("</section>\n")
}

/// Writes the tables of totals at the end of the page.
fn write_tables(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let totals = report.totals();
    f.write_str("<section aria-labelledby=\"totals\">\n<h2 id=\"totals\">Totals</h2>\n")?;
    let all = [("total", totals.total), ("tracked", totals.tracked), ("untracked", totals.untracked)];
    write_table(f, "all", "All", &all.map(|(name, sum)| (name.to_owned(), sum)))?;
    for (id, names) in lists(totals).into_iter().filter(|(_, names)| !names.is_empty()) {
        write_table(f, id, &format!("By {}", id.trim_end_matches('s')), &most_expensive(names, MAX_NAMES))?;
    }
    f.write_str("</section>\n")
}

/// Writes a table. A table that is wider than a phone has its own scroll bar.
fn write_table(f: &mut Formatter<'_>, id: &str, title: &str, rows: &[(String, CostSummary)]) -> fmt::Result {
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
        let (name, usage) = (escaped(name, MAX_NAME), sum.usage);
        write!(f, "<tr><th scope=\"row\"><bdi>{name}</bdi></th><td>{}</td>", cost_element(*sum))?;
        for number in [sum.uses, usage.input, usage.cached, usage.output, usage.reasoning] {
            write!(f, "<td>{}</td>", grouped(number))?;
        }
        f.write_str("</tr>\n")?;
    }
    f.write_str("</tbody></table></div>\n")
}

/// A node on the page.
struct VisibleRow<'r> {
    node: SpanNode<'r>,
    /// The number of nodes inside of this one that are not on the page, without those inside of another row.
    hidden: usize,
}

/// Returns the rows of the page: the nodes of least depth, and of the last depth those that come first. So the ancestors of
/// a row are rows too.
fn visible_rows(report: &Report) -> Vec<VisibleRow<'_>> {
    let mut nodes = report.nodes().collect::<Vec<_>>();
    nodes.sort_by_key(|node| node.depth());
    nodes.truncate(MAX_SPANS);
    nodes.sort_by_key(|node| node.index());
    let visible = nodes.iter().map(|node| node.index()).collect::<HashSet<_>>();
    let rows = nodes.into_iter().map(|node| {
        let hidden = node.children().filter(|child| !visible.contains(&child.index()));
        VisibleRow { node, hidden: hidden.map(|child| child.end() - child.index()).sum() }
    });
    rows.collect()
}

/// Returns the number of levels of the tree that are unfolded at first.
fn unfolded_levels(rows: &[VisibleRow<'_>]) -> usize {
    let rows_to = |level: &usize| rows.iter().filter(|row| element_depth(row.node) <= *level).count();
    (0..=MAX_DEPTH).take_while(|level| rows_to(level) <= MAX_UNFOLDED).count().saturating_sub(1)
}

/// Returns the nesting of a node's element.
fn element_depth(node: SpanNode<'_>) -> usize {
    node.depth().min(MAX_DEPTH)
}

/// Writes the tree. Spans with others inside of them can be folded.
fn write_tree(f: &mut Formatter<'_>, rows: &[VisibleRow<'_>]) -> fmt::Result {
    f.write_str("<section aria-labelledby=\"tree\">\n<h2 id=\"tree\">Tree</h2>\n")?;
    if rows.is_empty() {
        return f.write_str("<p>No spans.</p>\n</section>\n");
    }
    f.write_str("<p class=\"note\">The cost of a span includes the spans inside of it.</p>\n<ul class=\"tree\">\n")?;
    let unfolded = unfolded_levels(rows);
    let mut rows = rows.iter().peekable();
    let mut open = 0;
    while let Some(row) = rows.next() {
        let depth = element_depth(row.node);
        close_lists(f, &mut open, depth)?;
        let has_children = rows.peek().is_some_and(|next| next.node.depth() > row.node.depth());
        if has_children && depth < MAX_DEPTH {
            write!(f, "<li><details{}><summary>", if depth < unfolded { " open" } else { "" })?;
            write_row(f, row)?;
            f.write_str("</summary><ul>\n")?;
            open += 1;
        } else {
            f.write_str("<li><div>")?;
            write_row(f, row)?;
            f.write_str("</div></li>\n")?;
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
        return format!("<span class=\"kind\">{state}</span> <span class=\"name dim\">span {id}</span>");
    };
    let (kind, name) = (span.kind(), escaped(span.name(), MAX_NAME));
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

/// Writes a row of the tree.
fn write_row(f: &mut Formatter<'_>, row: &VisibleRow<'_>) -> fmt::Result {
    let VisibleRow { node, hidden } = *row;
    let id = node.span_id();
    write!(f, "<span class=\"row\" data-span=\"{id}\"><span class=\"label\">{}", label_element(node))?;
    if node.depth() > MAX_DEPTH {
        write!(f, " <span class=\"dim\">{} deep</span>", node.depth())?;
    }
    if node.state() == NodeState::Running {
        f.write_str(" <span class=\"mark running\">running</span>")?;
    }
    if let Some((span, failure)) = node.span().and_then(|span| Some((span, failure(span)?))) {
        let (class, failure) = (status_class(span.status()), escaped(&failure, MAX_NAME));
        write!(f, " <span class=\"mark {class}\">{failure}</span>")?;
    }
    if hidden > 0 {
        write!(f, " <span class=\"dim\">{} inside not shown</span>", counted(hidden as u64, "span"))?;
    }
    f.write_str("</span><span class=\"amounts\">")?;
    let total = node.total();
    if total.uses > 0 {
        write!(f, "<span class=\"cost\">{}</span>", cost_element(total))?;
    }
    if let Some(span) = node.span() {
        write!(f, "<span class=\"time\">{}</span>", time_element(span.nanos))?;
    }
    f.write_str("</span>")?;
    node.span().map_or(Ok(()), |span| write_details(f, span))?;
    f.write_str("</span>")
}

/// Writes uses and the error below a row of the tree.
fn write_details(f: &mut Formatter<'_>, span: &SpanRecord) -> fmt::Result {
    for entry in span.spent().iter().take(MAX_USES) {
        let (model, tokens) = (&*entry.used.model, tokens(entry.used.usage));
        // The label shows the name of the span.
        let model = (model != span.name()).then(|| format!("<bdi>{}</bdi>", escaped(model, MAX_NAME)));
        let parts = model.into_iter().chain(tokens).collect::<Vec<_>>();
        if !parts.is_empty() {
            write!(f, "<span class=\"detail\">{}</span>", parts.join(": "))?;
        }
    }
    if let Some(more) = span.spent().len().checked_sub(MAX_USES).filter(|more| *more > 0) {
        write!(f, "<span class=\"detail\">{}</span>", counted(more as u64, "more use"))?;
    }
    if let Some(message) = span.error().and_then(|error| error.message.as_deref()) {
        write!(f, "<bdi class=\"detail wrong\">{}</bdi>", escaped(message, MAX_MESSAGE))?;
    }
    Ok(())
}

/// Writes the timeline: one row a span, so that spans that ran at the same time are below each other.
fn write_timeline(f: &mut Formatter<'_>, report: &Report, rows: &[VisibleRow<'_>]) -> fmt::Result {
    let Some((start, end)) = report.window() else { return Ok(()) };
    f.write_str("<section aria-labelledby=\"timeline\">\n<h2 id=\"timeline\">Timeline</h2>\n")?;
    f.write_str("<div class=\"axis\" aria-hidden=\"true\"><div class=\"ticks\">")?;
    for quarter in 0..=4 {
        write!(f, "<span>{}</span>", duration((end - start) / 4 * quarter))?;
    }
    f.write_str("</div></div>\n<ol class=\"timeline\">\n")?;
    for VisibleRow { node, .. } in rows {
        let Some(span) = node.span() else { continue };
        let (depth, label) = (node.depth().min(MAX_TIMELINE_DEPTH), label_element(*node));
        write!(f, "<li data-span=\"{}\" style=\"--d:{depth}\"><span class=\"label\">{label}</span>", node.span_id())?;
        let from = span.start.saturating_sub(start);
        let (left, width) = (percent(from, end - start), percent(span.nanos, end - start));
        let class = [span.kind().as_str(), status_class(span.status())].join(" ");
        write!(
            f,
            "<span class=\"track\" aria-hidden=\"true\"><span class=\"bar {}\" style=\"--l:{left};--w:{width}\"></span>\
             </span>",
            class.trim_end()
        )?;
        let (from, took) = (duration(from), time_element(span.nanos));
        writeln!(f, "<span class=\"time\"><span class=\"unseen\">from {from}, for </span>{took}</span></li>")?;
    }
    f.write_str("</ol>\n</section>\n")
}

/// Returns a part of the whole, in percent. With four decimals, a bar is less than a pixel off.
fn percent(part: u64, whole: u64) -> String {
    const SCALE: u128 = 1_000_000;
    let part = (u128::from(part) * SCALE / u128::from(whole.max(1))).min(SCALE);
    format!("{}.{:04}%", part / 10_000, part % 10_000)
}
