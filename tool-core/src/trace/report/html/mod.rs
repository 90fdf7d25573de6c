//! The report as one page that needs nothing else: no script, nothing from a network, and a policy that allows neither.

mod escape;
mod figures;
mod rows;
mod tables;
mod timeline;
mod tree;

use super::{Report, words};
use figures::Figures;
use rows::Rows;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;
use tables::Tables;
use timeline::Timeline;
use tree::Tree;

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
struct Time(u64);

impl Display for Time {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        write!(f, "<time datetime=\"PT{seconds}.{nanos:09}S\">{}</time>", words::duration(self.0))
    }
}

/// What something costs, for people, and in picodollars for programs.
struct Money(crate::trace::totals::Sum);

impl Display for Money {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "<data value=\"{}\">{}</data>", self.0.cost.picodollars(), words::cost(self.0))
    }
}

fn count(of: usize) -> u64 {
    u64::try_from(of).unwrap_or(u64::MAX)
}
