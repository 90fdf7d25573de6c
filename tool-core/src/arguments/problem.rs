//! One thing that is wrong with the arguments.

use serde_json::Value;
use std::fmt;
use std::fmt::Write as _;

/// One thing that is wrong with the arguments of a call, in words for the model.
///
/// Displayed as one line: `` `/duration_minutes`: expected a number of at least 5, got 3 ``.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Problem {
    /// Where: a JSON pointer into the arguments, empty for the arguments as a whole.
    pub pointer: String,
    /// What would be right there; empty where nothing is, as for an unknown parameter.
    pub expected: String,
    /// What is there instead, shortened.
    pub got: String,
    /// What to do about it, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(pointer: impl Into<String>, expected: impl Into<String>, got: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), expected: expected.into(), got: got.into(), hint: None }
    }

    /// A property that has to be there.
    pub(crate) fn missing(pointer: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::new(pointer, expected, MISSING)
    }

    /// What a type refuses by rules of its own.
    pub(crate) fn refused(pointer: impl Into<String>, why: &str) -> Self {
        Self::new(pointer, "", format!("refused: {why}"))
    }

    /// The line as it stands under a heading that says what it is about.
    pub(crate) fn in_settings(&self) -> String {
        if self.pointer.is_empty() { self.text() } else { self.to_string() }
    }

    /// Whether it says that nothing stands at this place.
    pub(crate) fn is_missing(&self, pointer: &str) -> bool {
        self.pointer == pointer && self.got == MISSING
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The line without its place.
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

// ---- The answer to a model whose arguments do not fit.

/// How many problems are listed.
const LISTED: usize = 20;

/// The message: every problem, and arguments that would have been accepted, where some are known.
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

// ---- The name that was probably meant.

/// The known name nearest to `name`: equal but for case and separators, a beginning of one another, or a few letters
/// off. Of equally near ones the first.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = plain(name);
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in known {
        let Some(distance) = distance(&wanted, &plain(candidate)) else { continue };
        if best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, name)| name)
}

fn plain(name: &str) -> Vec<char> {
    // A name of a thousand letters is nobody's slip, and comparing it would cost its square.
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).take(80).collect()
}

/// How far apart the names are, or nothing where they are too far to suggest.
fn distance(left: &[char], right: &[char]) -> Option<usize> {
    if left.is_empty() || right.is_empty() {
        return None;
    }
    let (short, long) = if left.len() < right.len() { (left, right) } else { (right, left) };
    let edits = edits(left, right);
    if edits <= 1.max(long.len() / 3) && edits < short.len() {
        return Some(edits);
    }
    // `start` for `start_time`: worse than any slip of the pen, better than nothing.
    (short.len() >= 3 && (long.starts_with(short) || long.ends_with(short))).then_some(edits.max(4))
}

/// Insertions, deletions, replacements and swaps of neighbours.
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
