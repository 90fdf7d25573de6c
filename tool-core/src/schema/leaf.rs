//! The assertions that a library checks: `pattern`, `format` and `multipleOf`.

use jsonschema::{Draft, PatternOptions, ValidationOptions, Validator};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::{Value, json};
use std::collections::HashMap;
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
pub(crate) struct LeafCheck {
    validator: Validator,
    /// The states of a pattern. Every one may look at every byte.
    states: usize,
    /// The steps of one check, whatever its length.
    flat: usize,
}

impl LeafCheck {
    /// Returns true if the value satisfies the assertion.
    pub(crate) fn accepts(&self, value: &Value) -> bool {
        self.validator.is_valid(value)
    }

    /// Returns the steps that checking a text of so many bytes takes.
    pub(crate) fn cost(&self, bytes: usize) -> usize {
        self.flat + bytes.saturating_mul(self.states) / 8
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
        let check = match (keyword, value.as_str()) {
            ("pattern", Some(pattern)) => pattern_check(pattern)?,
            _ => LeafCheck { validator: build(&options(), keyword, value)?, states: 1, flat: 20 },
        };
        self.states += check.states;
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
fn pattern_check(pattern: &str) -> Result<LeafCheck, String> {
    let value = Value::from(pattern);
    let linear = PatternOptions::regex().size_limit(PATTERN_BYTES).dfa_size_limit(CACHE_BYTES);
    if let Ok(validator) = build(&options().with_pattern_options(linear), "pattern", &value) {
        return Ok(LeafCheck { validator, states: states_of(pattern), flat: 10 });
    }
    let backtracking = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS).size_limit(PATTERN_BYTES);
    let options = options().with_pattern_options(backtracking.dfa_size_limit(CACHE_BYTES));
    Ok(LeafCheck { validator: build(&options, "pattern", &value)?, states: 1, flat: 2 * BACKTRACKS })
}

fn options<'a>() -> ValidationOptions<'a> {
    jsonschema::options().with_draft(Draft::Draft202012).should_validate_formats(true).offline()
}

fn build(options: &ValidationOptions<'_>, keyword: &str, value: &Value) -> Result<Validator, String> {
    options.build(&json!({keyword: value})).map_err(|error| error.to_string())
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
