//! The problems of arguments, and the answer that reports them to a model.

use serde_json::Value;
use std::fmt;
use std::fmt::Write as _;

/// One problem of the arguments of a call, worded for a model.
///
/// Displayed as one line: `` `/duration_minutes`: expected a number of at least 5, got 3 ``.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Problem {
    /// A JSON pointer into the arguments; empty for the arguments as a whole.
    pub pointer: String,
    /// The expected value; empty if no value is accepted there, as for an unknown parameter.
    pub expected: String,
    /// The value that was sent, shortened.
    pub got: String,
    /// The way to fix it, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(pointer: impl Into<String>, expected: impl Into<String>, got: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), expected: expected.into(), got: got.into(), hint: None }
    }

    /// Reports an absent required property.
    pub(crate) fn missing(pointer: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::new(pointer, expected, MISSING)
    }

    /// Reports a value that a Rust type refuses although the schema accepts it.
    pub(crate) fn refused(pointer: impl Into<String>, reason: &str) -> Self {
        Self::new(pointer, "", format!("refused: {reason}"))
    }

    /// Returns the line for a list of settings, which names its subject itself.
    pub(crate) fn in_settings(&self) -> String {
        if self.pointer.is_empty() { self.text() } else { self.to_string() }
    }

    /// Returns true if the problem is that the value at this place is missing.
    pub(crate) fn is_missing(&self, pointer: &str) -> bool {
        self.pointer == pointer && self.got == MISSING
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the line without its place.
    pub(crate) fn text(&self) -> String {
        let mut text = match (self.expected.as_str(), self.got.as_str()) {
            ("", got) => got.to_owned(),
            (expected, MISSING) => format!("missing, expected {expected}"),
            (expected, got) => format!("expected {expected}, got {got}"),
        };
        if let Some(hint) = &self.hint {
            text.push_str(", ");
            text.push_str(hint);
        }
        text
    }
}

const MISSING: &str = "nothing";

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => write!(f, "arguments: {}", self.text()),
            pointer => write!(f, "`{pointer}`: {}", self.text()),
        }
    }
}

impl std::error::Error for Problem {}

/// The number of problems that an answer lists.
const LISTED: usize = 20;

/// Returns the answer to a model: the problems, and an example of valid arguments if one is known.
pub(crate) fn report(tool: &str, problems: &[Problem], example: Option<&Value>) -> String {
    let mut text = format!("invalid arguments for `{tool}`:");
    for problem in problems.iter().take(LISTED) {
        let place = if problem.pointer.is_empty() { "arguments" } else { &problem.pointer };
        let _ = write!(text, "\n- {place}: {}", problem.text());
    }
    if let Some(more) = problems.len().checked_sub(LISTED).filter(|more| *more > 0) {
        let _ = write!(text, "\nand {more} more");
    }
    if let Some(example) = example {
        let _ = write!(text, "\nexample of valid arguments: {example}");
    }
    text
}

/// Returns the known name that was probably meant: one that differs in case or separators, is the beginning or the end of
/// `name` or the other way round, or is a few letters off. Returns the first of several equally near names.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = letters_of(name);
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in known {
        let Some(distance) = distance(&letters, &letters_of(candidate)) else { continue };
        if best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, name)| name)
}

fn letters_of(name: &str) -> Vec<char> {
    // The comparison is quadratic, so the length of a name is bounded.
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).take(80).collect()
}

/// Returns the distance between two names, or `None` if they are too far apart for a suggestion.
fn distance(left: &[char], right: &[char]) -> Option<usize> {
    if left.is_empty() || right.is_empty() {
        return None;
    }
    let (short, long) = if left.len() < right.len() { (left, right) } else { (right, left) };
    let edits = edits(left, right);
    if edits <= 1.max(long.len() / 3) && edits < short.len() {
        return Some(edits);
    }
    // A shortened name such as `start` for `start_time` counts as farther than a typing error.
    (short.len() >= 3 && (long.starts_with(short) || long.ends_with(short))).then_some(edits.max(4))
}

/// Counts insertions, deletions, replacements and swaps of neighbours.
fn edits(left: &[char], right: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    let mut before_l = None;
    for (row, l) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        let mut before_r = None;
        for (column, r) in right.iter().enumerate() {
            let at = |cells: &[usize], position: usize| cells.get(position).copied().unwrap_or(usize::MAX - 1);
            let mut cost = (at(&last, column) + usize::from(l != r))
                .min(at(&last, column + 1).saturating_add(1))
                .min(at(&current, column).saturating_add(1));
            if before_l == Some(r) && before_r == Some(l) && column > 0 {
                cost = cost.min(at(&before_last, column - 1).saturating_add(1));
            }
            current.push(cost);
            before_r = Some(r);
        }
        before_last = std::mem::replace(&mut last, current);
        before_l = Some(l);
    }
    last.last().copied().unwrap_or(0)
}
