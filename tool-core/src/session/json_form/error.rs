//! The problems of a stored conversation.

use crate::arguments::Problem;
use std::fmt;

/// The reason why a conversation cannot be read from JSON: every problem, with its place.
///
/// ```
/// use tool_core::session::History;
///
/// let stored = r#"{"version": 1, "messages": [{"role": "system", "text": "Be brief."}, {"role": "user"}]}"#;
/// let error = History::from_json(stored).unwrap_err();
/// let places = error.problems().iter().map(|problem| problem.pointer.as_str());
/// assert_eq!(places.collect::<Vec<_>>(), ["/messages/0/role", "/messages/1/content"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryError {
    problems: Vec<Problem>,
    /// The number of problems that are not listed.
    omitted: usize,
}

/// Maximum number of problems that are listed.
const MAX_PROBLEMS: usize = 64;

impl HistoryError {
    /// Returns the problems, in the order of their places. The first 64 are listed.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    pub(crate) fn of(problem: Problem) -> Self {
        Self {
            problems: vec![problem],
            omitted: 0,
        }
    }
}

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the conversation cannot be read: ")?;
        for (place, problem) in self.problems.iter().enumerate() {
            let separator = if place == 0 { "" } else { "; " };
            write!(f, "{separator}{}", problem.in_settings())?;
        }
        if self.omitted > 0 {
            write!(f, "; and {} more", self.omitted)?;
        }
        Ok(())
    }
}

impl std::error::Error for HistoryError {}

/// The problems that were found so far.
#[derive(Default)]
pub(crate) struct FoundProblems {
    listed: Vec<Problem>,
    omitted: usize,
}

impl FoundProblems {
    pub(crate) fn add(&mut self, problem: Problem) {
        if self.listed.len() < MAX_PROBLEMS {
            self.listed.push(problem);
        } else {
            self.omitted += 1;
        }
    }

    /// Returns what was read, unless there was a problem.
    pub(crate) fn unless_any<T>(self, read: Option<T>) -> Result<T, HistoryError> {
        match read {
            Some(read) if self.listed.is_empty() => Ok(read),
            _ => Err(HistoryError {
                problems: self.listed,
                omitted: self.omitted,
            }),
        }
    }
}
