//! Reports as text: the tree for a terminal, the outline on one line, and the form of names,
//! durations and amounts, which the page shares.

use crate::text::escape_invisible;
use crate::trace::collector::Totals;
use crate::trace::cost::{Cost, CostSummary};
use crate::trace::record::{NodeState, SpanKind, SpanRecord, SpanStatus};
use crate::trace::report::tree::{Report, SpanNode};
use crate::trace::usage::TokenUsage;
use std::cmp::Reverse;
use std::collections::BTreeMap;
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

const UNICODE: TreeStyle = TreeStyle {
    through: "│  ",
    branch: "├─ ",
    last: "└─ ",
    failed: "✗",
};
const ASCII: TreeStyle = TreeStyle {
    through: "|  ",
    branch: "|- ",
    last: "`- ",
    failed: "!",
};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let style = if f.alternate() { &ASCII } else { &UNICODE };
        let labels = labels(self, style);
        let widths = labels.iter().map(|label| label.chars().count());
        let width = widths
            .filter(|width| *width <= MAX_LABEL)
            .max()
            .unwrap_or(0);
        for (node, label) in self.nodes().zip(&labels) {
            let span = node.span();
            let total = node.total();
            let duration = span.map(|span| duration(span.nanos)).unwrap_or_default();
            let cost = if total.uses > 0 {
                aligned_cost(total)
            } else {
                String::new()
            };
            let running = (node.state() == NodeState::Running).then(|| "running".to_owned());
            let failure = span
                .and_then(failure)
                .map(|failure| format!("{} {failure}", style.failed));
            let notes = tokens(node.own().usage)
                .into_iter()
                .chain(running)
                .chain(failure)
                .collect::<Vec<_>>();
            let line = format!(
                "{label:width$}  {duration:>11}  {cost:>11} {}",
                notes.join("  ")
            );
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
    // For each depth above: true if the node is the last in its parent.
    let mut lasts = Vec::new();
    for node in report.nodes() {
        lasts.truncate(node.depth().min(MAX_DEPTH));
        lasts.push(
            node.parent()
                .is_none_or(|parent| node.end() == parent.end()),
        );
        let (last, above) = lasts.split_last().unwrap_or((&true, &[]));
        // Roots have no branch.
        let mut label = above
            .iter()
            .skip(1)
            .map(|last| if *last { "   " } else { style.through })
            .collect::<String>();
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
    if text.ends_with('+') {
        text
    } else {
        text + " "
    }
}

fn write_totals(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let totals = report.totals();
    let mut lines = [
        ("total", totals.total),
        ("  tracked", totals.tracked),
        ("  untracked", totals.untracked),
    ]
    .map(|(name, sum)| (name.to_owned(), Some(sum)))
    .to_vec();
    for (title, names) in lists(totals)
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
    {
        lines.push((title.to_owned(), None));
        let rows = most_expensive(names, MAX_NAMES).into_iter();
        lines.extend(
            rows.map(|(name, sum)| (format!("  {}", printable(&name, MAX_NAME)), Some(sum))),
        );
    }
    let width = lines
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    writeln!(f)?;
    for (name, sum) in lines {
        let Some(sum) = sum else {
            writeln!(f, "{name}")?;
            continue;
        };
        let cost = aligned_cost(sum);
        let uses = counted(sum.uses, "use");
        let tokens = tokens(sum.usage).unwrap_or_default();
        let line = format!("{name:width$}  {cost:>11} {uses:>9}  {tokens}");
        writeln!(f, "{}", line.trim_end())?;
    }
    let CostSummary { unpriced, uses, .. } = totals.total;
    if unpriced > 0 {
        writeln!(
            f,
            "{} of {} without a known price (+)",
            grouped(unpriced),
            counted(uses, "use")
        )?;
    }
    if report.dropped() > 0 {
        writeln!(
            f,
            "{} dropped from the buffer, included in the totals",
            counted(report.dropped(), "span")
        )?;
    }
    Ok(())
}

impl Report {
    /// Returns the tree on one line, without figures:
    /// `agent:planner > llm, tool:A > llm, tool:B > http`.
    ///
    /// `>` precedes the spans inside a span. A comma precedes the next span inside the *root*:
    /// above, `agent:planner` contains `llm`, `tool:A` and `tool:B`. Further down, several spans
    /// inside a span are in parentheses: `agent:planner > tool:A > (llm, http), tool:B`. A
    /// semicolon precedes the next root. Siblings are in the order in which they started.
    ///
    /// Agents, tools and sections are shown with kind and name, requests as `llm` or `http`. A name
    /// with characters other than letters, digits and `_ - . / :` is in quotes. A span that the
    /// report does not have is shown as `dropped`, `open` or `remote`: see [`NodeState`].
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
        line.extend(
            lists
                .into_iter()
                .filter(|(_, in_parentheses)| *in_parentheses)
                .map(|_| ')'),
        );
        line
    }
}

fn push_label(line: &mut String, node: SpanNode<'_>) {
    let Some(span) = node.span() else {
        return line.push_str(node.state().as_str());
    };
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

/// Returns the first `max` characters of a name, with invisible characters escaped and `…` where
/// there is more.
///
/// A model or a server may have chosen the name. Nothing in it can move the cursor, hide, or turn
/// the direction of text.
pub(crate) fn printable(name: &str, max: usize) -> String {
    match name.char_indices().nth(max) {
        None => escape_invisible(name),
        Some((end, _)) => escape_invisible(name.get(..end).unwrap_or_default()) + "…",
    }
}

/// Returns a duration with three digits: `12.3 ms`. From ten minutes on in minutes and seconds:
/// `12 min 05 s`.
pub(crate) fn duration(nanos: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000, "µs"), (1_000_000, "ms"), (1_000_000_000, "s")];
    if nanos < 1_000 {
        return format!("{nanos} ns");
    }
    for (unit, name) in UNITS {
        for (decimals, scale) in [(2, 100), (1, 10), (0, 1)] {
            let step = unit / scale;
            let digits = nanos.saturating_add(step / 2) / step;
            if digits < 1_000 && decimals > 0 {
                return format!("{}.{:0decimals$} {name}", digits / scale, digits % scale);
            }
            if decimals == 0 && (digits < 600 || (digits < 1_000 && name != "s")) {
                return format!("{digits} {name}");
            }
        }
    }
    let seconds = nanos.saturating_add(500_000_000) / 1_000_000_000;
    let hours = seconds / 3_600;
    let minutes = seconds / 60 % 60;
    if hours > 0 {
        format!("{hours} h {minutes:02} min")
    } else {
        format!("{minutes} min {:02} s", seconds % 60)
    }
}

/// Returns a number with separated thousands: `12,345`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(String::from_utf8_lossy)
        .collect::<Vec<_>>()
        .join(",")
}

/// Returns a number and a noun: `1 span`, `12 spans`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    format!(
        "{} {noun}{}",
        grouped(number),
        if number == 1 { "" } else { "s" }
    )
}

/// Returns the exact amount in dollars: `0.000185`.
pub(crate) fn dollars(cost: Cost) -> String {
    cost.decimal()
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
}

/// Returns the cost of a sum, with a `+` if some of its uses have no known price.
pub(crate) fn cost(sum: CostSummary) -> String {
    match sum.unpriced {
        0 => sum.cost.to_string(),
        unpriced if unpriced == sum.uses => "no price".to_owned(),
        _ => format!("{}+", sum.cost),
    }
}

/// Returns the lists of totals with their titles.
pub(crate) fn lists(totals: &Totals) -> [(&'static str, &BTreeMap<String, CostSummary>); 5] {
    let Totals {
        agents,
        tools,
        models,
        runs,
        customers,
        ..
    } = totals;
    [
        ("agents", agents),
        ("tools", tools),
        ("models", models),
        ("runs", runs),
        ("customers", customers),
    ]
}

/// Returns the `max` names that cost most, and a last row for the sum of the others.
pub(crate) fn most_expensive(
    names: &BTreeMap<String, CostSummary>,
    max: usize,
) -> Vec<(String, CostSummary)> {
    let mut all = names.iter().collect::<Vec<_>>();
    all.sort_by_key(|(_, sum)| Reverse((sum.cost, sum.usage.total())));
    let others = all.split_off(max.min(all.len()));
    let mut rows = all
        .into_iter()
        .map(|(name, sum)| (name.clone(), *sum))
        .collect::<Vec<_>>();
    if !others.is_empty() {
        let title = format!("({} more)", grouped(others.len() as u64));
        rows.push((title, others.into_iter().map(|(_, sum)| *sum).sum()));
    }
    rows
}

/// Returns the tokens, if there are any: `1,200 in (800 cached), 80 out (25 reasoning)`.
pub(crate) fn tokens(usage: TokenUsage) -> Option<String> {
    let details = |parts: &[(u64, &str)]| {
        let parts = parts.iter().filter(|(tokens, _)| *tokens > 0);
        let parts = parts
            .map(|(tokens, noun)| format!("{} {noun}", grouped(*tokens)))
            .collect::<Vec<_>>();
        if parts.is_empty() {
            String::new()
        } else {
            format!(" ({})", parts.join(", "))
        }
    };
    let audio = |tokens| (tokens, "audio");
    let image = |tokens| (tokens, "image");
    let cached = (usage.cached, "cached");
    let written = (usage.cache_written, "written to cache");
    let input = details(&[
        cached,
        written,
        audio(usage.input_audio),
        image(usage.input_image),
    ]);
    let output = details(&[
        (usage.reasoning, "reasoning"),
        audio(usage.output_audio),
        image(usage.output_image),
    ]);
    (!usage.is_empty()).then(|| {
        format!(
            "{} in{input}, {} out{output}",
            grouped(usage.input),
            grouped(usage.output)
        )
    })
}

/// Returns the status of a span that did not succeed: `error TIMEOUT`.
pub(crate) fn failure(span: &SpanRecord) -> Option<String> {
    const MAX_KIND: usize = 60;
    let status = span.status().as_str();
    match (span.status(), span.error()) {
        (SpanStatus::Ok, _) => None,
        (_, Some(error)) if !error.kind.eq_ignore_ascii_case(status) => {
            Some(format!("{status} {}", printable(error.kind, MAX_KIND)))
        }
        _ => Some(status.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits() {
        let shown = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_234, "1.23 µs"),
            (9_994, "9.99 µs"),
            (9_996, "10.0 µs"),
            (999_499, "999 µs"),
            (999_600, "1.00 ms"),
            (12_345_678, "12.3 ms"),
            (999_500_000, "1.00 s"),
            (59_940_000_000, "59.9 s"),
            (599_400_000_000, "599 s"),
            (599_500_000_000, "10 min 00 s"),
            (725_000_000_000, "12 min 05 s"),
            (7_384_000_000_000, "2 h 03 min"),
            (u64::MAX, "5124095 h 34 min"),
        ];
        for (nanos, text) in shown {
            assert_eq!(duration(nanos), text, "{nanos}");
        }
    }

    #[test]
    fn dollars_are_exact() {
        let shown = [
            (0, "0"),
            (1, "0.000000000001"),
            (185_100_000, "0.0001851"),
            (2_000_000_000_000, "2"),
        ];
        for (picodollars, text) in shown {
            assert_eq!(dollars(Cost::pico(picodollars)), text);
        }
        assert_eq!(dollars(Cost::pico(10_000_000_000_000)), "10");
    }

    #[test]
    fn tokens_are_shown_with_their_kinds() {
        let usage = TokenUsage {
            input: 1_200,
            output: 80,
            ..TokenUsage::default()
        };
        assert_eq!(tokens(usage).as_deref(), Some("1,200 in, 80 out"));
        let usage = TokenUsage {
            cached: 800,
            input_audio: 300,
            input_image: 20,
            output_audio: 60,
            ..usage
        };
        let shown = "1,200 in (800 cached, 300 audio, 20 image), 80 out (60 audio)";
        assert_eq!(tokens(usage).as_deref(), Some(shown));
        assert_eq!(tokens(TokenUsage::default()), None);
    }

    #[test]
    fn thousands_are_separated() {
        let shown = [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ];
        for (number, text) in shown {
            assert_eq!(grouped(number), text);
        }
    }

    // T2
    #[test]
    fn names_cannot_control_the_terminal_or_hide_text() {
        let hostile = "a\u{1b}[2Jb\r\n\tc\u{202e}d\u{200b}e\u{feff}f\u{e0041}g\u{9b}h";
        assert_eq!(
            printable(hostile, 200),
            "a\\u{1b}[2Jb\\r\\n\\tc\\u{202e}d\\u{200b}e\\u{feff}f\\u{e0041}g\\u{9b}h"
        );
        assert_eq!(
            printable("Größe <b> \"x\" नमस्ते", 200),
            "Größe <b> \"x\" नमस्ते"
        );
        assert_eq!(printable("abcdef", 3), "abc…");
    }
}
