//! The totals of the page.

use super::escape::Text;
use super::{Money, words};
use crate::trace::report::Report;
use crate::trace::totals::Sum;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// How many names each table has.
const NAMES: usize = 100;

pub(super) struct Tables<'r>(pub(super) &'r Report);

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
    names: &'r BTreeMap<String, Sum>,
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

struct Line<'a>(&'a Text, Sum);

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
