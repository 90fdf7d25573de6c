//! Trials as JUnit XML.

use crate::testing::trials::outcome::TrialOutcome;
use crate::testing::trials::table::{details, percent};
use std::fmt::Write as _;
use std::time::Duration;

/// Returns a document with one suite.
pub(crate) fn of(name: &str, outcomes: &[TrialOutcome]) -> String {
    let errors = outcomes.iter().filter(|trial| is_error(trial)).count();
    let failed = outcomes.iter().filter(|trial| !trial.has_passed()).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{errors}\" time=\"{}\"",
        outcomes.len(),
        failed - errors,
        seconds(outcomes.iter().map(TrialOutcome::duration).sum()),
    );
    let name = attribute(name);
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a String cannot fail.
    let _ = writeln!(xml, "<testsuites {counts}>");
    let _ = writeln!(xml, "  <testsuite name=\"{name}\" {counts} skipped=\"0\">");
    for outcome in outcomes {
        case(&mut xml, &name, outcome);
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

/// A trial that was not run as it is wrong itself.
fn is_error(outcome: &TrialOutcome) -> bool {
    !outcome.mistakes().is_empty()
}

/// Appends the test case of a trial.
fn case(xml: &mut String, suite: &str, outcome: &TrialOutcome) {
    let name = attribute(outcome.name());
    let time = seconds(outcome.duration());
    let details = details(outcome).join("\n");
    let _ = writeln!(
        xml,
        "    <testcase classname=\"{suite}\" name=\"{name}\" time=\"{time}\">"
    );
    if !outcome.has_passed() {
        let element = if is_error(outcome) {
            "error"
        } else {
            "failure"
        };
        let message = attribute(&summary(outcome));
        let details = text(&details);
        let _ = writeln!(
            xml,
            "      <{element} message=\"{message}\" type=\"trial\">{details}</{element}>"
        );
    }
    let usage = outcome.usage();
    let mut output = summary(outcome);
    let _ = write!(
        output,
        "\n{} tokens in, {} tokens out",
        usage.input, usage.output
    );
    if let Some(cost) = outcome.cost() {
        let _ = write!(output, ", {cost}");
    }
    if outcome.has_passed() && !details.is_empty() {
        output.push('\n');
        output.push_str(&details);
    }
    let _ = writeln!(xml, "      <system-out>{}</system-out>", text(&output));
    xml.push_str("    </testcase>\n");
}

fn summary(outcome: &TrialOutcome) -> String {
    if is_error(outcome) {
        return outcome.mistakes().join("; ");
    }
    format!(
        "{} of {} runs passed, needed {}",
        outcome.passed_runs(),
        outcome.repetitions,
        percent(outcome.reach())
    )
}

fn seconds(duration: Duration) -> String {
    format!("{:.3}", duration.as_secs_f64())
}

/// Returns a text for the content of an element.
fn text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars().filter(|c| is_allowed(*c)) {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            // `]]>` is not allowed in a text.
            '>' => escaped.push_str("&gt;"),
            // A reader takes it for the end of a line.
            '\r' => escaped.push_str("&#13;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// Returns a text for an attribute in double quotes. A reader makes blanks of ends of lines, unless
/// they are escaped.
fn attribute(value: &str) -> String {
    text(value)
        .replace('"', "&quot;")
        .replace('\n', "&#10;")
        .replace('\t', "&#9;")
}

/// Returns true for a character that XML 1.0 allows. Others cannot be in a document, not even
/// escaped.
fn is_allowed(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => true,
        // Readers are warned of the controls among them.
        '\u{7F}'..='\u{9F}' | '\u{FFFE}' | '\u{FFFF}' => false,
        _ => c >= ' ',
    }
}
