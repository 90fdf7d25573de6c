//! The figures at the top of the page.

use super::{Money, words};
use crate::trace::report::Report;
use std::fmt::{self, Display, Formatter};

pub(super) struct Figures<'r>(pub(super) &'r Report);

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
