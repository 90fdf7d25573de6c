//! The assertions whose cost is their own: `pattern`, `format` and `multipleOf`.

use crate::json::number::{exact, is_multiple, is_multiple_of_digits};
use crate::schema::format::{self, Format};
use crate::schema::pattern::Pattern;
use serde_json::{Number, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// The states of all patterns of a schema together.
const MAX_STATES: usize = 500_000;

/// One compiled assertion.
pub(crate) enum LeafCheck {
    Format(Format),
    MultipleOf(Number),
    Pattern(Pattern),
}

impl LeafCheck {
    /// Compiles a keyword with a value.
    pub(crate) fn new(keyword: &str, value: &Value) -> Result<Self, String> {
        let check = match (keyword, value) {
            ("pattern", Value::String(pattern)) => return Pattern::new(pattern).map(Self::Pattern),
            ("format", Value::String(name)) => format::asserted(name).map(Self::Format),
            ("multipleOf", Value::Number(divisor)) => Some(Self::MultipleOf(divisor.clone())),
            _ => None,
        };
        check.ok_or_else(|| format!("{value} is not a value of `{keyword}`"))
    }

    /// Returns true if the value satisfies the assertion.
    pub(crate) fn accepts(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::MultipleOf(divisor), Value::Number(number)) => is_multiple(number, divisor),
            (Self::MultipleOf(_), _) => true,
            (_, Value::String(text)) => self.accepts_text(text),
            _ => true,
        }
    }

    /// Returns true if a whole number, given by its digits, satisfies the assertion.
    pub(crate) fn accepts_digits(&self, digits: &str) -> bool {
        match self {
            Self::MultipleOf(divisor) => is_multiple_of_digits(digits, divisor),
            Self::Format(_) | Self::Pattern(_) => true,
        }
    }

    /// Returns true if a number may have a fraction.
    pub(crate) fn takes_fractions(&self) -> bool {
        match self {
            Self::MultipleOf(divisor) => exact(divisor).is_none(),
            Self::Format(_) | Self::Pattern(_) => true,
        }
    }

    /// Returns true if the text satisfies the assertion.
    pub(crate) fn accepts_text(&self, text: &str) -> bool {
        match self {
            Self::Format(accepts) => accepts(text),
            Self::MultipleOf(_) => true,
            Self::Pattern(pattern) => pattern.is_match(text),
        }
    }

    /// Returns the steps that checking a text of so many bytes takes.
    pub(crate) fn cost(&self, bytes: usize) -> usize {
        match self {
            Self::Format(_) | Self::MultipleOf(_) => 20 + bytes / 8,
            Self::Pattern(pattern) => pattern.cost(bytes),
        }
    }

    fn states(&self) -> usize {
        if let Self::Pattern(pattern) = self {
            pattern.states()
        } else {
            1
        }
    }
}

/// The assertions of one schema. Equal ones are compiled once.
#[derive(Default)]
pub(crate) struct LeafChecks {
    checks: HashMap<(&'static str, String), Arc<LeafCheck>>,
    states: usize,
}

impl LeafChecks {
    /// Returns the check of a keyword with a value.
    pub(crate) fn get(
        &mut self,
        keyword: &'static str,
        value: &Value,
    ) -> Result<Arc<LeafCheck>, String> {
        let key = (keyword, value.to_string());
        if let Some(check) = self.checks.get(&key) {
            return Ok(Arc::clone(check));
        }
        let check = LeafCheck::new(keyword, value)?;
        self.states += check.states();
        Ok(Arc::clone(
            self.checks.entry(key).or_insert(Arc::new(check)),
        ))
    }

    /// Returns the problem with all patterns together.
    pub(crate) fn problem(&self) -> Option<String> {
        (self.states > MAX_STATES).then(|| {
            format!(
                "its patterns have {} states, expected at most {MAX_STATES}; use fewer repetitions",
                self.states
            )
        })
    }
}
