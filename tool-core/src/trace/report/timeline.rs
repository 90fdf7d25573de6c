//! The timeline of the page: a row a span, so that those which ran at once lie below each other.

use crate::trace::record::{SpanRecord, SpanStatus};
use crate::trace::report::html::{Label, Rows, Time};
use crate::trace::report::tree::SpanNode;
use crate::trace::report::{Report, words};
use std::fmt;
use std::fmt::{Display, Formatter};

/// How far labels are indented.
const DEEPEST: usize = 8;

pub(crate) struct Timeline<'a, 'r> {
    pub(crate) report: &'r Report,
    pub(crate) rows: &'a Rows<'r>,
}

impl Display for Timeline<'_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.report.spans().is_empty() && self.report.running().is_empty() {
            return Ok(());
        }
        let (start, end) = self.report.window();
        f.write_str("<section aria-labelledby=\"timeline\">\n<h2 id=\"timeline\">Timeline</h2>\n")?;
        f.write_str("<div class=\"axis\" aria-hidden=\"true\"><div class=\"ticks\">")?;
        for quarter in 0..=4 {
            write!(f, "<span>{}</span>", words::duration((end - start) / 4 * quarter))?;
        }
        f.write_str("</div></div>\n<ol class=\"timeline\">\n")?;
        for row in self.rows.iter() {
            if let Some(span) = row.node.span() {
                writeln!(f, "{}", Bar { node: row.node, span, start, whole: end - start })?;
            }
        }
        f.write_str("</ol>\n</section>\n")
    }
}

struct Bar<'r> {
    node: SpanNode<'r>,
    span: &'r SpanRecord,
    start: u64,
    whole: u64,
}

impl Display for Bar<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (span, id) = (self.span, self.node.span_id());
        let from = span.start.saturating_sub(self.start);
        let (left, width) = (Percent(from, self.whole), Percent(span.nanos, self.whole));
        let kind = span.kind();
        let class = match span.status() {
            SpanStatus::Ok => "",
            SpanStatus::Cancelled => " cancelled",
            SpanStatus::Error | SpanStatus::Panicked => " wrong",
        };
        write!(
            f,
            "<li data-span=\"{id}\" style=\"--d:{}\"><span class=\"label\">{}</span>",
            self.node.depth().min(DEEPEST),
            Label(self.node)
        )?;
        write!(
            f,
            "<span class=\"track\" aria-hidden=\"true\"><span class=\"bar {kind}{class}\" \
             style=\"--l:{left};--w:{width}\"></span></span>"
        )?;
        let (from, took) = (words::duration(from), Time(span.nanos));
        write!(f, "<span class=\"time\"><span class=\"unseen\">from {from}, for </span>{took}</span></li>")
    }
}

/// A part of the whole, in percent with four decimals: a bar is nowhere off by a pixel.
struct Percent(u64, u64);

impl Display for Percent {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        const SCALE: u128 = 1_000_000;
        let part = u128::from(self.0) * SCALE / u128::from(self.1.max(1));
        let part = part.min(SCALE);
        write!(f, "{}.{:04}%", part / 10_000, part % 10_000)
    }
}
