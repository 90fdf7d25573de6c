//! The report as one page that needs nothing else: no script, nothing from a network, and a policy that allows neither.

use crate::trace::record::SpanStatus;
use crate::trace::report::timeline::Timeline;
use crate::trace::report::tree::{NodeState, SpanNode};
use crate::trace::report::words::shown;
use crate::trace::report::{Report, words};
use crate::trace::totals::CostSummary;
use std::collections::BTreeMap;
use std::fmt;
use std::fmt::{Display, Formatter, Write};
use std::time::Duration;

const STYLE: &str = include_str!("page.css");

impl Report {
    /// The report as one page: the tree, a timeline, and the totals. It loads nothing and runs nothing, reads well on a
    /// phone and in the dark, and everything in it that somebody made up is escaped.
    ///
    /// Of more than 2,000 spans, the page has those that are least deep in the tree, and tells how many it leaves out. The
    /// figures count all. What was used is there by model and tokens; arguments, results and other attributes are not.
    pub fn to_html(&self) -> String {
        Page(self).to_string()
    }
}

struct Page<'r>(&'r Report);

impl Display for Page<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let report = self.0;
        let rows = Rows::new(report);
        f.write_str(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>Trace report</title>\n<style>\n",
        )?;
        f.write_str(STYLE)?;
        f.write_str("</style>\n</head>\n<body>\n<header>\n<h1>Trace report</h1>\n")?;
        writeln!(f, "<p>{}</p>\n</header>\n<main>", Summary(report))?;
        if rows.left_out > 0 {
            let (shown, all) = (words::grouped(count(rows.len())), words::grouped(count(rows.len() + rows.left_out)));
            writeln!(
                f,
                "<p class=\"note\">{shown} of {all} spans are shown, those nearest to their root. The figures count all.</p>"
            )?;
        }
        write!(f, "{}{}{}{}", Figures(report), Tree(&rows), Timeline { report, rows: &rows }, Tables(report))?;
        f.write_str("</main>\n</body>\n</html>\n")
    }
}

/// What the page is about.
struct Summary<'r>(&'r Report);

impl Display for Summary<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let report = self.0;
        let spans = report.spans().len() + report.running().len();
        f.write_str(&words::counted(count(spans), "span"))?;
        let (start, end) = report.window();
        if spans > 0 {
            write!(f, " in {}", words::duration(end - start))?;
            let began = jiff::Timestamp::try_from(report.epoch + Duration::from_nanos(start));
            if let Ok(began) = began.and_then(|began| began.round(jiff::Unit::Second)) {
                write!(f, ", from <time datetime=\"{began}\">{}</time>", began.strftime("%Y-%m-%d %H:%M:%S UTC"))?;
            }
        }
        Ok(())
    }
}

/// An amount of time, for people and for programs.
pub(crate) struct Time(pub(crate) u64);

impl Display for Time {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        write!(f, "<time datetime=\"PT{seconds}.{nanos:09}S\">{}</time>", words::duration(self.0))
    }
}

/// What something costs, for people, and in picodollars for programs.
struct Money(CostSummary);

impl Display for Money {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "<data value=\"{}\">{}</data>", self.0.cost.picodollars(), words::cost(self.0))
    }
}

fn count(of: usize) -> u64 {
    u64::try_from(of).unwrap_or(u64::MAX)
}

// ---- Text in the page: nothing in it is read as markup, and nothing in it hides or turns the line around.

/// How much of a name is on the page.
const NAME: usize = 100;
/// How much of an error's message is.
const MESSAGE: usize = 300;

/// Text between tags, or in an attribute in double quotes.
pub(crate) struct Text(String);

impl Text {
    pub(crate) fn name(name: &str) -> Self {
        Self(shown(name, NAME))
    }

    pub(crate) fn message(message: &str) -> Self {
        Self(shown(message, MESSAGE))
    }
}

impl Display for Text {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                _ => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

// ---- The figures at the top of the page.

pub(crate) struct Figures<'r>(pub(crate) &'r Report);

impl Display for Figures<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let totals = self.0.totals();
        let usage = totals.total.usage;
        f.write_str("<section aria-labelledby=\"figures\">\n<h2 id=\"figures\">Cost</h2>\n<dl class=\"figures\">\n")?;
        for (id, name, sum) in [
            ("total", "Total", totals.total),
            ("tracked", "Tracked", totals.tracked),
            ("untracked", "Untracked", totals.untracked),
        ] {
            writeln!(f, "<div id=\"{id}\"><dt>{name}</dt><dd>{}</dd></div>", Money(sum))?;
        }
        let mut counts = vec![("input", "Tokens in", usage.input), ("output", "Tokens out", usage.output)];
        let (unpriced, dropped) = (totals.total.unpriced, self.0.dropped());
        counts.extend((unpriced > 0).then_some(("unpriced", "Uses without a price", unpriced)));
        counts.extend((dropped > 0).then_some(("dropped", "Spans dropped", dropped)));
        for (id, name, number) in counts {
            writeln!(f, "<div id=\"{id}\"><dt>{name}</dt><dd>{}</dd></div>", words::grouped(number))?;
        }
        f.write_str("</dl>\n")?;
        if unpriced > 0 {
            f.write_str("<p class=\"note\">A + stands where a part has no known price.</p>\n")?;
        }
        f.write_str("</section>\n")
    }
}

// ---- The totals of the page.

/// How many names each table has.
const NAMES: usize = 100;

pub(crate) struct Tables<'r>(pub(crate) &'r Report);

impl Display for Tables<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("<section aria-labelledby=\"totals\">\n<h2 id=\"totals\">Totals</h2>\n")?;
        let totals = self.0.totals();
        let all = [("total", totals.total), ("tracked", totals.tracked), ("untracked", totals.untracked)];
        begin(f, "all", "All")?;
        for (name, sum) in all {
            write!(f, "{}", Line(&Text::name(name), sum))?;
        }
        f.write_str(END)?;
        for (title, names) in words::lists(totals) {
            if !names.is_empty() {
                write!(f, "{}", Table { title, names })?;
            }
        }
        f.write_str("</section>\n")
    }
}

const END: &str = "</tbody></table></div>\n";

/// What comes before the rows of a table. One that is wider than a phone scrolls by itself.
fn begin(f: &mut Formatter<'_>, id: &str, title: &str) -> fmt::Result {
    write!(
        f,
        "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"{title}\"><table id=\"by-{id}\">\
         <caption>{title}</caption><thead><tr><th scope=\"col\">Name</th>"
    )?;
    for title in ["Cost", "Uses", "Input", "Cached", "Output", "Reasoning"] {
        write!(f, "<th scope=\"col\">{title}</th>")?;
    }
    f.write_str("</tr></thead><tbody>\n")
}

struct Table<'r> {
    title: &'static str,
    names: &'r BTreeMap<String, CostSummary>,
}

impl Display for Table<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let title = format!("By {}", self.title.trim_end_matches('s'));
        begin(f, self.title, &title)?;
        let (most, rest) = words::by_cost(self.names, NAMES);
        for (name, sum) in most {
            write!(f, "{}", Line(&Text::name(name), sum))?;
        }
        if let Some((count, sum)) = rest {
            write!(f, "{}", Line(&Text::name(&format!("({} more)", words::grouped(count))), sum))?;
        }
        f.write_str(END)
    }
}

struct Line<'a>(&'a Text, CostSummary);

impl Display for Line<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(name, sum) = self;
        write!(f, "<tr><th scope=\"row\"><bdi>{name}</bdi></th><td>{}</td>", Money(*sum))?;
        let usage = sum.usage;
        for number in [sum.uses, usage.input, usage.cached, usage.output, usage.reasoning] {
            write!(f, "<td>{}</td>", words::grouped(number))?;
        }
        f.write_str("</tr>\n")
    }
}

// ---- Which spans are on the page, as a page with all of a long run would not open.

/// How many spans are on the page.
pub(crate) const MOST: usize = 2_000;

/// The nodes that are on the page, and how many are not.
pub(crate) struct Rows<'r> {
    nodes: Vec<Row<'r>>,
    pub(crate) left_out: usize,
}

/// A node on the page.
#[derive(Clone, Copy)]
pub(crate) struct Row<'r> {
    pub(crate) node: SpanNode<'r>,
    /// How many of those inside of it are not on the page, and inside of nothing else on it.
    pub(crate) hidden: usize,
}

impl<'r> Rows<'r> {
    /// Those that are less deep come first, and of one depth those that come first in the tree. So each is on the page
    /// together with all that it is inside of.
    pub(crate) fn new(report: &'r Report) -> Self {
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

    pub(crate) fn iter(&self) -> impl Iterator<Item = Row<'r>> {
        self.nodes.iter().copied()
    }

    pub(crate) fn len(&self) -> usize {
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

// ---- The tree of the page. Spans with others inside of them fold up.

/// How deep elements are nested: deeper spans stand below each other and say how deep they are.
const DEEPEST: usize = 16;
/// How many rows are to be seen at first: as many levels are open as that allows.
const OPEN: usize = 400;

pub(crate) struct Tree<'a, 'r>(pub(crate) &'a Rows<'r>);

impl Display for Tree<'_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("<section aria-labelledby=\"tree\">\n<h2 id=\"tree\">Tree</h2>\n")?;
        if self.0.len() == 0 {
            return f.write_str("<p>No spans.</p>\n</section>\n");
        }
        f.write_str("<p class=\"note\">Costs count what is inside of a span.</p>\n<ul class=\"tree\">\n")?;
        let open_levels = open_levels(self.0);
        let mut rows = self.0.iter().peekable();
        let mut open = 0;
        while let Some(row) = rows.next() {
            let level = level(row.node);
            close(f, &mut open, level)?;
            let has_inside = rows.peek().is_some_and(|next| next.node.depth() > row.node.depth());
            if has_inside && level < DEEPEST {
                let attribute = if level < open_levels { " open" } else { "" };
                writeln!(f, "<li><details{attribute}><summary>{}</summary><ul>", SpanLine(row))?;
                open += 1;
            } else {
                writeln!(f, "<li><div>{}</div></li>", SpanLine(row))?;
            }
        }
        close(f, &mut open, 0)?;
        f.write_str("</ul>\n</section>\n")
    }
}

/// How many levels are open at first.
fn open_levels(rows: &Rows<'_>) -> usize {
    let mut levels = [0; DEEPEST + 1];
    for row in rows.iter() {
        if let Some(rows) = levels.get_mut(level(row.node)) {
            *rows += 1;
        }
    }
    let mut seen = 0;
    let fits = levels.iter().take_while(|rows| {
        seen += **rows;
        seen <= OPEN
    });
    fits.count().saturating_sub(1)
}

fn level(node: SpanNode<'_>) -> usize {
    node.depth().min(DEEPEST)
}

fn close(f: &mut Formatter<'_>, open: &mut usize, level: usize) -> fmt::Result {
    while *open > level {
        f.write_str("</ul></details></li>\n")?;
        *open -= 1;
    }
    Ok(())
}

/// Kind and name of a span.
pub(crate) struct Label<'r>(pub(crate) SpanNode<'r>);

impl Display for Label<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(span) = self.0.span() else {
            let (what, id) = (missing(self.0.state()), self.0.span_id());
            return write!(f, "<span class=\"kind\">{what}</span> <span class=\"name dim\">span {id}</span>");
        };
        let (kind, name) = (span.kind(), Text::name(span.name()));
        write!(f, "<span class=\"kind {kind}\">{kind}</span> <bdi class=\"name\">{name}</bdi>")
    }
}

fn missing(state: NodeState) -> &'static str {
    match state {
        NodeState::Remote => "another process",
        NodeState::Dropped => "not kept",
        NodeState::Open | NodeState::Ended | NodeState::Running => "still open",
    }
}

/// A line of the tree.
struct SpanLine<'r>(Row<'r>);

impl Display for SpanLine<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Row { node, hidden } = self.0;
        write!(f, "<span class=\"row\" data-span=\"{}\"><span class=\"label\">{}", node.span_id(), Label(node))?;
        if node.depth() > DEEPEST {
            write!(f, " <span class=\"dim\">{} deep</span>", node.depth())?;
        }
        if node.state() == NodeState::Running {
            f.write_str(" <span class=\"mark running\">running</span>")?;
        }
        if let Some((span, ending)) = node.span().and_then(|span| Some((span, words::ending(span)?))) {
            let class = if span.status() == SpanStatus::Cancelled { "cancelled" } else { "wrong" };
            write!(f, " <span class=\"mark {class}\">{}</span>", Text::name(&ending))?;
        }
        if hidden > 0 {
            write!(f, " <span class=\"dim\">{} inside not shown</span>", words::counted(count(hidden), "span"))?;
        }
        f.write_str("</span><span class=\"amounts\">")?;
        let total = node.total();
        if total.uses > 0 {
            write!(f, "<span class=\"cost\">{}</span>", Money(total))?;
        }
        if let Some(span) = node.span() {
            write!(f, "<span class=\"time\">{}</span>", Time(span.nanos))?;
        }
        write!(f, "</span>{}</span>", Details(node))
    }
}

/// What was used and what went wrong, below a line of the tree.
struct Details<'r>(SpanNode<'r>);

impl Display for Details<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        const MOST: usize = 3;
        let Some(span) = self.0.span() else { return Ok(()) };
        for spent in span.spent().iter().take(MOST) {
            let (model, tokens) = (&*spent.used.model, words::tokens(spent.used.usage));
            // The name of the span says the model already.
            let model = (model != span.name()).then(|| format!("<bdi>{}</bdi>", Text::name(model)));
            let parts = model.into_iter().chain(tokens).collect::<Vec<_>>();
            if !parts.is_empty() {
                write!(f, "<span class=\"detail\">{}</span>", parts.join(": "))?;
            }
        }
        if let Some(more) = span.spent().len().checked_sub(MOST).filter(|more| *more > 0) {
            write!(f, "<span class=\"detail\">{}</span>", words::counted(count(more), "more use"))?;
        }
        if let Some(message) = span.error().and_then(|error| error.message.as_deref()) {
            write!(f, "<bdi class=\"detail wrong\">{}</bdi>", Text::message(message))?;
        }
        Ok(())
    }
}
