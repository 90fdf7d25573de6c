//! The text of a form in which a person decides on a call: its arguments, one a line, and the reasons.

use crate::call::approval_reason::ApprovalReason;
use crate::text::{characters, escape_invisible, truncate};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The arguments that a form shows, so that many do not make it unreadable.
const MAX_ARGUMENTS: usize = 32;
/// The most characters of one argument in a form, so that a long argument hides no other.
const MAX_ARGUMENT: usize = 200;

/// Returns the arguments in JSON as lines, `name: value`. A long one is cut, and its length is
/// named; a last line counts those that are left out. Characters that a person does not see, or that
/// change the order of others, are escaped.
pub(crate) fn argument_lines(arguments: &str) -> Vec<String> {
    // A `Value` would round an integer beyond 64 bits.
    let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(arguments) else {
        return vec![escape_invisible(&shorten(arguments))];
    };
    let mut lines = Vec::new();
    for (name, value) in members.iter().take(MAX_ARGUMENTS) {
        let line = format!("{}: {}", quoted(name), shorten(value.get()));
        lines.push(escape_invisible(&line));
    }
    let rest = members.len() - lines.len();
    if rest > 0 {
        lines.push(format!("and {rest} more"));
    }
    lines
}

/// A call as a form shows it.
pub(crate) struct ShownCall<'a> {
    pub(crate) tool: &'a str,
    pub(crate) lines: &'a [String],
    pub(crate) reasons: &'a [ApprovalReason],
    pub(crate) digest: &'a str,
}

impl ShownCall<'_> {
    /// Returns the text of the form.
    pub(crate) fn question(&self) -> String {
        let mut text = format!("Allow this call of `{}`?\n", escape_invisible(self.tool));
        if self.lines.is_empty() {
            text.push_str("\nIt has no arguments.\n");
        } else {
            text.push('\n');
        }
        for line in self.lines {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "- {line}");
        }
        if !self.reasons.is_empty() {
            text.push_str("\nReasons to ask:\n\n");
        }
        for reason in self.reasons {
            let _ = writeln!(text, "- {reason}");
        }
        let _ = write!(text, "\nArguments: {}", self.digest);
        text
    }
}

/// Quotes the name of an argument that could be read as another argument.
fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.chars().all(is_plain) {
        shorten(name)
    } else {
        shorten(&format!("{name:?}"))
    }
}

fn shorten(text: &str) -> String {
    let characters = characters(text);
    if characters <= MAX_ARGUMENT {
        text.to_owned()
    } else {
        format!("{} ({characters} characters)", truncate(text, MAX_ARGUMENT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::approval_reason::ApprovalSource;

    #[test]
    fn each_argument_has_a_line_of_its_own() {
        let lines = argument_lines(r#"{"amount":9007199254740993,"to":["a","b"]}"#);
        assert_eq!(lines, ["amount: 9007199254740993", r#"to: ["a","b"]"#]);
        assert_eq!(argument_lines("{}"), [""; 0]);
    }

    #[test]
    fn a_long_argument_is_cut_and_names_its_length() {
        let lines = argument_lines(&format!(r#"{{"a":"{}","b":1}}"#, "x".repeat(5_000)));
        assert!(lines[0].ends_with("... (5002 characters)"), "{}", lines[0]);
        assert_eq!(lines[1], "b: 1");
    }

    #[test]
    fn an_argument_cannot_make_up_another_line() {
        let lines = argument_lines("{\"a\":\"1\\nb: 2\",\"c\u{202e}: 3\\n\":\"\u{200b}\"}");
        assert_eq!(lines[0], r#"a: "1\nb: 2""#);
        assert_eq!(lines[1], r#""c\u{202e}: 3\n": "\u{200b}""#);
    }

    #[test]
    fn very_many_arguments_are_counted() {
        let members = (0..50).map(|n| format!(r#""a{n}":{n}"#));
        let members = members.collect::<Vec<_>>().join(",");
        let lines = argument_lines(&format!("{{{members}}}"));
        assert_eq!(lines.len(), MAX_ARGUMENTS + 1);
        assert_eq!(lines[MAX_ARGUMENTS], "and 18 more");
    }

    #[test]
    fn the_form_shows_values_and_reasons() {
        let lines = ["number: 12".to_owned()];
        let reasons = [ApprovalReason::new(
            ApprovalSource::Policy,
            "it costs money",
        )];
        let shown = ShownCall {
            tool: "cancel",
            lines: &lines,
            reasons: &reasons,
            digest: "sha256:00",
        };
        let expected = "Allow this call of `cancel`?\n\n- number: 12\n\nReasons to ask:\n\n- policy: it costs money\n\nArguments: sha256:00";
        assert_eq!(shown.question(), expected);
    }
}
