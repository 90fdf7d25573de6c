//! The tree of the page. Spans with others inside of them fold up.

use super::escape::Text;
use super::rows::{Row, Rows};
use super::{Money, Time, count};
use crate::trace::kind::SpanStatus;
use crate::trace::report::{NodeState, SpanNode, words};
use std::fmt::{self, Display, Formatter};

/// How deep elements are nested: deeper spans stand below each other and say how deep they are.
const DEEPEST: usize = 16;
/// How many rows are to be seen at first: as many levels are open as that allows.
const OPEN: usize = 400;

pub(super) struct Tree<'a, 'r>(pub(super) &'a Rows<'r>);

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
                writeln!(f, "<li><details{attribute}><summary>{}</summary><ul>", Line(row))?;
                open += 1;
            } else {
                writeln!(f, "<li><div>{}</div></li>", Line(row))?;
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
pub(super) struct Label<'r>(pub(super) SpanNode<'r>);

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
struct Line<'r>(Row<'r>);

impl Display for Line<'_> {
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
