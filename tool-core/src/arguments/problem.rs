//! One thing that is wrong with the arguments.

use std::fmt;

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
    pub(super) fn text(&self) -> String {
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
