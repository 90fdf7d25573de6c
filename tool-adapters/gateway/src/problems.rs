//! The problems of the gateway's files, each with its place.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Display;
use tool_core::text::escape_invisible;

/// A place in a text. Lines and characters are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// The positions of the members of a text, by their places, such as `limits.max_calls`.
pub(crate) type Positions = HashMap<String, Position>;

/// The problems of a file, each with its place, and what is read but deserves a look.
pub(crate) struct Problems {
    file: String,
    positions: RefCell<Positions>,
    /// The lines that cannot be read. What follows from them is not reported.
    broken_lines: RefCell<BTreeSet<usize>>,
    found: RefCell<Vec<Finding>>,
    /// The places that have a problem.
    places: RefCell<Vec<String>>,
}

/// A problem or a warning.
struct Finding {
    position: Option<Position>,
    is_warning: bool,
    text: String,
}

impl Problems {
    pub(crate) fn new(file: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            positions: RefCell::default(),
            broken_lines: RefCell::default(),
            found: RefCell::default(),
            places: RefCell::default(),
        }
    }

    /// Sets the positions of the places.
    pub(crate) fn set_positions(&self, positions: Positions) {
        *self.positions.borrow_mut() = positions;
    }

    /// Adds a problem. The place is a path such as `limits.max_calls`; it is empty for the whole
    /// file.
    pub(crate) fn add(&self, place: &str, problem: impl Display) {
        let position = self.positions.borrow().get(place).copied();
        let broken = self.broken_lines.borrow();
        let follows = match position {
            Some(position) => broken.contains(&position.line),
            // What is missing may be in the part that was not read.
            None => !broken.is_empty(),
        };
        if !follows {
            self.push(
                position.or_else(|| self.outer_position(place)),
                false,
                place,
                problem,
            );
        }
    }

    /// Adds a problem of a value that is missing, unless it, a part of it or the table around it
    /// could not be read.
    pub(crate) fn add_unless_reported(&self, place: &str, problem: impl Display) {
        if !self.is_reported(place) {
            self.add(place, problem);
        }
    }

    /// Returns true if a place, a part of it or the table around it has a problem.
    pub(crate) fn is_reported(&self, place: &str) -> bool {
        let is_within = |inner: &str, outer: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let is_reported =
            |reported: &String| is_within(place, reported) || is_within(reported, place);
        self.places.borrow().iter().any(is_reported)
    }

    /// Adds a problem at a position.
    pub(crate) fn add_at(&self, position: Position, place: &str, problem: impl Display) {
        self.push(Some(position), false, place, problem);
    }

    /// Adds a problem of a line that cannot be read.
    pub(crate) fn add_broken(&self, position: Position, problem: impl Display) {
        self.broken_lines.borrow_mut().insert(position.line);
        self.push(Some(position), false, "", problem);
    }

    /// Adds a warning.
    pub(crate) fn warn(&self, place: &str, warning: impl Display) {
        let position = self.outer_position(place);
        self.push(position, true, place, warning);
    }

    fn push(&self, position: Option<Position>, is_warning: bool, place: &str, text: impl Display) {
        let at = position.map_or_else(String::new, |at| format!(":{}:{}", at.line, at.column));
        if !is_warning {
            self.places.borrow_mut().push(place.to_owned());
        }
        let place = if place.is_empty() {
            String::new()
        } else {
            format!("{place}: ")
        };
        let text = escape_invisible(&format!("{}{at}: {place}{text}", self.file));
        self.found.borrow_mut().push(Finding {
            position,
            is_warning,
            text,
        });
    }

    /// Returns the position of a place, or that of the nearest table or list around it.
    fn outer_position(&self, place: &str) -> Option<Position> {
        let positions = self.positions.borrow();
        let mut place = place;
        loop {
            if let Some(position) = positions.get(place) {
                return Some(*position);
            }
            // A name may have dots of its own, so each end is tried.
            place = place.get(..place.rfind(['.', '['])?)?;
        }
    }

    /// Returns the problems, in the order of the file.
    #[cfg(test)]
    pub(crate) fn into_vec(self) -> Vec<String> {
        self.split().0
    }

    /// Returns the problems and the warnings, each in the order of the file.
    pub(crate) fn split(self) -> (Vec<String>, Vec<String>) {
        let mut found = self.found.into_inner();
        found.sort_by_key(|finding| finding.position);
        let mut problems = Vec::new();
        let mut warnings = Vec::new();
        for finding in found {
            let texts = if finding.is_warning {
                &mut warnings
            } else {
                &mut problems
            };
            texts.push(finding.text);
        }
        (problems, warnings)
    }
}

/// Returns the place of a member.
pub(crate) fn join(place: &str, name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '[' | ']' | '.');
    let name = if !name.is_empty() && name.chars().all(is_plain) {
        name.to_owned()
    } else {
        format!("{name:?}")
    };
    if place.is_empty() {
        name
    } else {
        format!("{place}.{name}")
    }
}
