//! The assertions whose cost is their own: `pattern`, `format` and `multipleOf`.

use crate::json::number::is_multiple;
use crate::schema::format::{self, Format};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::{Number, Value};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The backtracks of one match of a pattern with look-around, and the steps that it counts as.
const BACKTRACKS: usize = 10_000;
/// The size of one compiled pattern in bytes.
const PATTERN_BYTES: usize = 1 << 20;
/// The cache that matching one pattern may fill, in bytes.
const CACHE_BYTES: usize = 64 << 10;
/// The states of all patterns of a schema together.
const MAX_STATES: usize = 500_000;

/// One compiled assertion.
pub(crate) enum LeafCheck {
    Format(Format),
    MultipleOf(Number),
    /// A pattern that runs in linear time. Each of its states may look at each byte.
    Linear(Box<regex::Regex>, usize),
    /// A pattern with look-around or a back-reference. Its backtracks are limited.
    Backtracking(Box<fancy_regex::Regex>),
}

impl LeafCheck {
    /// Compiles a keyword with a value.
    pub(crate) fn new(keyword: &str, value: &Value) -> Result<Self, String> {
        let check = match (keyword, value) {
            ("pattern", Value::String(pattern)) => pattern_check(pattern),
            ("format", Value::String(name)) => format::asserted(name).map(Self::Format),
            ("multipleOf", Value::Number(divisor)) => Some(Self::MultipleOf(divisor.clone())),
            _ => None,
        };
        check.ok_or_else(|| match keyword {
            "pattern" => format!("the pattern {value} is not a regular expression of ECMA-262, or is too large"),
            _ => format!("{value} is not a value of `{keyword}`"),
        })
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

    /// Returns true if the text satisfies the assertion.
    pub(crate) fn accepts_text(&self, text: &str) -> bool {
        match self {
            Self::Format(accepts) => accepts(text),
            Self::MultipleOf(_) => true,
            // An engine that panics over a pattern has no verdict, and the text is refused.
            Self::Linear(pattern, _) => catch_unwind(AssertUnwindSafe(|| pattern.is_match(text))).unwrap_or(false),
            Self::Backtracking(pattern) => {
                catch_unwind(AssertUnwindSafe(|| pattern.is_match(text).unwrap_or(false))).unwrap_or(false)
            }
        }
    }

    /// Returns the steps that checking a text of so many bytes takes.
    pub(crate) fn cost(&self, bytes: usize) -> usize {
        match self {
            Self::Format(_) | Self::MultipleOf(_) => 20 + bytes / 8,
            Self::Linear(_, states) => 10 + bytes.saturating_mul(*states) / 8,
            Self::Backtracking(_) => 2 * BACKTRACKS + bytes / 8,
        }
    }

    fn states(&self) -> usize {
        if let Self::Linear(_, states) = self { *states } else { 1 }
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
    pub(crate) fn get(&mut self, keyword: &'static str, value: &Value) -> Result<Arc<LeafCheck>, String> {
        let key = (keyword, value.to_string());
        if let Some(check) = self.checks.get(&key) {
            return Ok(Arc::clone(check));
        }
        let check = LeafCheck::new(keyword, value)?;
        self.states += check.states();
        Ok(Arc::clone(self.checks.entry(key).or_insert(Arc::new(check))))
    }

    /// Returns the problem with all patterns together.
    pub(crate) fn problem(&self) -> Option<String> {
        (self.states > MAX_STATES).then(|| {
            format!("its patterns have {} states, expected at most {MAX_STATES}; use fewer repetitions", self.states)
        })
    }
}

/// Compiles a pattern that runs in linear time, or else one with look-around, whose backtracks are limited.
fn pattern_check(pattern: &str) -> Option<LeafCheck> {
    let written = jsonschema_regex::to_rust_regex(pattern).ok()?;
    let linear = regex::RegexBuilder::new(&written).size_limit(PATTERN_BYTES).dfa_size_limit(CACHE_BYTES).build();
    if let Ok(compiled) = linear {
        return Some(LeafCheck::Linear(Box::new(compiled), states_of(pattern)));
    }
    let mut builder = fancy_regex::RegexBuilder::new(&written);
    builder.backtrack_limit(BACKTRACKS).delegate_size_limit(PATTERN_BYTES).delegate_dfa_size_limit(CACHE_BYTES);
    builder.build().ok().map(|compiled| LeafCheck::Backtracking(Box::new(compiled)))
}
/// Estimates the states of a pattern: its characters, with repetitions written out.
fn states_of(pattern: &str) -> usize {
    let parse = |unicode| ParserBuilder::new().unicode(unicode).utf8(false).build().parse(pattern).ok();
    parse(false).or_else(|| parse(true)).map_or(1_000, |parsed| states(&parsed))
}

fn states(pattern: &Hir) -> usize {
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(Class::Unicode(class)) => class.ranges().len(),
        HirKind::Class(Class::Bytes(class)) => class.ranges().len(),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min.saturating_add(1));
            states(&repetition.sub).saturating_mul(times.max(1) as usize)
        }
        HirKind::Capture(capture) => states(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().map(states).fold(1, usize::saturating_add),
    }
}
