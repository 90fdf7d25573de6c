//! Names, durations and amounts in words, as the terminal and the page show them.

use crate::trace::cost::{Cost, TokenUsage};
use crate::trace::record::{SpanRecord, SpanStatus};
use crate::trace::totals::{CostSummary, Totals};
use std::collections::BTreeMap;

/// A name that somebody made up, safe to show: nothing in it moves the cursor, turns the direction of writing or hides.
/// What is longer than `most` characters is cut.
pub(crate) fn shown(name: &str, most: usize) -> String {
    let mut text = String::with_capacity(name.len().min(most * 4));
    for (count, c) in name.chars().enumerate() {
        if count == most {
            text.push('…');
            break;
        }
        if is_hidden(c) { text.extend(c.escape_default()) } else { text.push(c) }
    }
    text
}

/// Controls, and what Unicode has to steer, join and hide text.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// How long, in three digits: `12.3 ms`. From ten minutes on in minutes and seconds, `12 min 05 s`.
pub(crate) fn duration(nanos: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000, "µs"), (1_000_000, "ms"), (1_000_000_000, "s")];
    if nanos < 1_000 {
        return format!("{nanos} ns");
    }
    for (unit, name) in UNITS {
        for (decimals, scale) in [(2, 100), (1, 10), (0, 1)] {
            let step = unit / scale;
            let digits = nanos.saturating_add(step / 2) / step;
            // Three digits; of seconds more, as minutes begin late.
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

/// A number with its thousands apart: `12,345`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 span`, `12 spans`.
pub(crate) fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// An amount in dollars, exactly: `0.000185`.
pub(crate) fn dollars(cost: Cost) -> String {
    cost.decimal().trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// What a sum costs, with a `+` where some of it has no known price.
pub(crate) fn cost(sum: CostSummary) -> String {
    match sum.unpriced {
        0 => sum.cost.to_string(),
        unpriced if unpriced == sum.uses => "no price".to_owned(),
        _ => format!("{}+", sum.cost),
    }
}

/// The lists of totals, with their titles.
pub(crate) fn lists(totals: &Totals) -> [(&'static str, &BTreeMap<String, CostSummary>); 5] {
    let Totals { agents, tools, models, runs, customers, .. } = totals;
    [("agents", agents), ("tools", tools), ("models", models), ("runs", runs), ("customers", customers)]
}

/// The names of a list: those that cost most, and how many more there are, with their sum.
#[allow(clippy::type_complexity)] // what it says
pub(crate) fn by_cost(
    names: &BTreeMap<String, CostSummary>,
    most: usize,
) -> (Vec<(&str, CostSummary)>, Option<(u64, CostSummary)>) {
    let mut all = names.iter().map(|(name, sum)| (name.as_str(), *sum)).collect::<Vec<_>>();
    all.sort_by_key(|(_, sum)| std::cmp::Reverse((sum.cost, sum.usage.total())));
    let rest = all.split_off(most.min(all.len()));
    let mut others = (0, CostSummary::default());
    for (_, sum) in rest {
        others.0 += 1;
        others.1.add(sum);
    }
    (all, (others.0 > 0).then_some(others))
}

/// Tokens, where there are any: `1,200 in (800 cached), 80 out (25 reasoning)`.
pub(crate) fn tokens(usage: TokenUsage) -> Option<String> {
    if usage.is_empty() {
        return None;
    }
    let of_which = |parts: &[(u64, &str)]| {
        let told = parts.iter().filter(|(tokens, _)| *tokens > 0);
        let told = told.map(|(tokens, what)| format!("{} {what}", grouped(*tokens))).collect::<Vec<_>>();
        if told.is_empty() { String::new() } else { format!(" ({})", told.join(", ")) }
    };
    let input = of_which(&[(usage.cached, "cached"), (usage.cache_written, "written to cache")]);
    let output = of_which(&[(usage.reasoning, "reasoning")]);
    Some(format!("{} in{input}, {} out{output}", grouped(usage.input), grouped(usage.output)))
}

/// How a span ended, where that is worth a word: `error TIMEOUT`.
pub(crate) fn ending(span: &SpanRecord) -> Option<String> {
    const MOST: usize = 60;
    let status = span.status().as_str();
    match (span.status(), span.error()) {
        (SpanStatus::Ok, _) => None,
        (_, Some(error)) if !error.kind.eq_ignore_ascii_case(status) => {
            Some(format!("{status} {}", shown(error.kind, MOST)))
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
    fn thousands_stand_apart() {
        let shown = [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in shown {
            assert_eq!(grouped(number), text);
        }
    }

    // THREATS
    #[test]
    fn nothing_in_a_name_steers_the_terminal_or_hides() {
        let hostile = "a\u{1b}[2Jb\r\n\tc\u{202e}d\u{200b}e\u{feff}f\u{e0041}g\u{9b}h";
        assert_eq!(shown(hostile, 200), "a\\u{1b}[2Jb\\r\\n\\tc\\u{202e}d\\u{200b}e\\u{feff}f\\u{e0041}g\\u{9b}h");
        assert_eq!(shown("Größe <b> \"x\" नमस्ते", 200), "Größe <b> \"x\" नमस्ते");
        assert_eq!(shown("abcdef", 3), "abc…");
    }
}
