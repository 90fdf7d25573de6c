//! The table of trials, and their problems below it.

use crate::testing::trials::outcome::TrialOutcome;
use crate::text::{characters, escape_invisible, truncate};
use std::fmt;

/// The number of characters of a name in the table.
const NAME: usize = 60;

const HEAD: [&str; 7] = [
    "trial",
    "passed",
    "needed",
    "tokens in",
    "tokens out",
    "cost",
    "seconds",
];

impl fmt::Display for TrialOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&of(std::slice::from_ref(self)))
    }
}

/// Returns the table of some trials.
pub(crate) fn of(outcomes: &[TrialOutcome]) -> String {
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(outcomes.iter().map(row));
    let mut text = aligned(&rows, outcomes);
    for outcome in outcomes {
        text.push_str(&problems(outcome));
    }
    text
}

fn row(outcome: &TrialOutcome) -> [String; 7] {
    let usage = outcome.usage();
    [
        shown_name(outcome),
        format!("{} of {}", outcome.passed_runs(), outcome.repetitions),
        percent(outcome.reach),
        usage.input.to_string(),
        usage.output.to_string(),
        outcome
            .cost()
            .map_or_else(|| "unknown".to_owned(), |cost| cost.to_string()),
        format!("{:.1}", outcome.duration().as_secs_f64()),
    ]
}

fn shown_name(outcome: &TrialOutcome) -> String {
    escape_invisible(&truncate(outcome.name(), NAME))
}

pub(crate) fn percent(rate: f64) -> String {
    let percent = format!("{:.1}", rate * 100.0);
    format!("{} %", percent.trim_end_matches(".0"))
}

fn aligned(rows: &[[String; 7]], outcomes: &[TrialOutcome]) -> String {
    let width = |column: usize| {
        let widths = rows.iter().map(|row| characters(&row[column]));
        widths.max().unwrap_or_default()
    };
    let widths = std::array::from_fn::<_, 7, _>(width);
    let verdicts = outcomes
        .iter()
        .map(|outcome| if outcome.has_passed() { "ok" } else { "FAILED" });
    let mut text = String::new();
    for (row, verdict) in rows.iter().zip(std::iter::once("").chain(verdicts)) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            let padding = " ".repeat(width.saturating_sub(characters(cell)) + 2);
            line.push_str(cell);
            line.push_str(&padding);
        }
        line.push_str(verdict);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Returns the mistakes of a trial and the problems of its runs, one on a line.
fn problems(outcome: &TrialOutcome) -> String {
    let details = details(outcome);
    if details.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", shown_name(outcome));
    for line in details {
        text.push_str("  ");
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Returns the lines about a trial that are not in its row.
pub(crate) fn details(outcome: &TrialOutcome) -> Vec<String> {
    let mut lines = Vec::new();
    for mistake in &outcome.mistakes {
        lines.push(format!(
            "mistake in the trial: {}",
            escape_invisible(mistake)
        ));
    }
    for run in &outcome.runs {
        for problem in &run.problems {
            lines.push(format!("run {}: {problem}", run.number));
        }
    }
    lines
}
