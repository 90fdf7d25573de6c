//! Names, durations and amounts as the terminal and the page show them.

use crate::trace::collector::Totals;
use crate::trace::cost::{Cost, CostSummary};
use crate::trace::record::{SpanRecord, SpanStatus};
use crate::trace::redaction::is_invisible;
use crate::trace::usage::TokenUsage;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Returns the first `max` characters of a name, with invisible characters escaped and `…` where there is more.
///
/// A model or a server may have chosen the name. Nothing in it can move the cursor, hide, or turn the direction of text.
pub(crate) fn printable(name: &str, max: usize) -> String {
    let mut text = String::with_capacity(name.len().min(max * 4));
    for (count, c) in name.chars().enumerate() {
        if count == max {
            text.push('…');
            break;
        }
        if is_invisible(c) { text.extend(c.escape_default()) } else { text.push(c) }
    }
    text
}

/// Returns a duration with three digits: `12.3 ms`. From ten minutes on in minutes and seconds: `12 min 05 s`.
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
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    if hours > 0 { format!("{hours} h {minutes:02} min") } else { format!("{minutes} min {:02} s", seconds % 60) }
}

/// Returns a number with separated thousands: `12,345`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a number and a noun: `1 span`, `12 spans`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Returns the exact amount in dollars: `0.000185`.
pub(crate) fn dollars(cost: Cost) -> String {
    cost.decimal().trim_end_matches('0').trim_end_matches('.').to_owned()
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
    let Totals { agents, tools, models, runs, customers, .. } = totals;
    [("agents", agents), ("tools", tools), ("models", models), ("runs", runs), ("customers", customers)]
}

/// Returns the `max` names that cost most, and a last row for the sum of the others.
pub(crate) fn most_expensive(names: &BTreeMap<String, CostSummary>, max: usize) -> Vec<(String, CostSummary)> {
    let mut all = names.iter().collect::<Vec<_>>();
    all.sort_by_key(|(_, sum)| Reverse((sum.cost, sum.usage.total())));
    let others = all.split_off(max.min(all.len()));
    let mut rows = all.into_iter().map(|(name, sum)| (name.clone(), *sum)).collect::<Vec<_>>();
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
        let parts = parts.map(|(tokens, noun)| format!("{} {noun}", grouped(*tokens))).collect::<Vec<_>>();
        if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
    };
    let input = details(&[(usage.cached, "cached"), (usage.cache_written, "written to cache")]);
    let output = details(&[(usage.reasoning, "reasoning")]);
    (!usage.is_empty()).then(|| format!("{} in{input}, {} out{output}", grouped(usage.input), grouped(usage.output)))
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
        let shown = [(0, "0"), (1, "0.000000000001"), (185_100_000, "0.0001851"), (2_000_000_000_000, "2")];
        for (picodollars, text) in shown {
            assert_eq!(dollars(Cost::pico(picodollars)), text);
        }
        assert_eq!(dollars(Cost::pico(10_000_000_000_000)), "10");
    }

    #[test]
    fn thousands_are_separated() {
        let shown = [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in shown {
            assert_eq!(grouped(number), text);
        }
    }

    // T2
    #[test]
    fn names_cannot_control_the_terminal_or_hide_text() {
        let hostile = "a\u{1b}[2Jb\r\n\tc\u{202e}d\u{200b}e\u{feff}f\u{e0041}g\u{9b}h";
        assert_eq!(printable(hostile, 200), "a\\u{1b}[2Jb\\r\\n\\tc\\u{202e}d\\u{200b}e\\u{feff}f\\u{e0041}g\\u{9b}h");
        assert_eq!(printable("Größe <b> \"x\" नमस्ते", 200), "Größe <b> \"x\" नमस्ते");
        assert_eq!(printable("abcdef", 3), "abc…");
    }
}
