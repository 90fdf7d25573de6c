//! The patterns of schemas: regular expressions of ECMA-262.

#[cfg(feature = "patterns")]
pub(crate) use engine::{Pattern, sample};
#[cfg(not(feature = "patterns"))]
pub(crate) use without_engine::{Pattern, sample};

/// The engine of the crate `regex`, and that of `fancy-regex` for patterns with look-around.
#[cfg(feature = "patterns")]
mod engine {
    use regex_syntax::ParserBuilder;
    use regex_syntax::hir::{Class, ClassUnicodeRange, Hir, HirKind};
    use serde_json::Value;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// The backtracks of one match of a pattern with look-around, and the steps that it counts as.
    const BACKTRACKS: usize = 10_000;
    /// The size of one compiled pattern in bytes.
    const PATTERN_BYTES: usize = 1 << 20;
    /// The cache that matching one pattern may fill, in bytes.
    const CACHE_BYTES: usize = 64 << 10;

    /// A compiled pattern.
    pub(crate) enum Pattern {
        /// Runs in linear time. Each of its states may look at each byte.
        Linear(Box<regex::Regex>, usize),
        /// Has look-around or a back-reference. Its backtracks are limited.
        Backtracking(Box<fancy_regex::Regex>),
    }

    impl Pattern {
        /// Compiles a pattern that runs in linear time, or else one with look-around, whose
        /// backtracks are limited.
        pub(crate) fn new(pattern: &str) -> Result<Self, String> {
            Self::compile(pattern).ok_or_else(|| {
                let shown = Value::from(pattern);
                format!(
                    "the pattern {shown} is not a regular expression of ECMA-262, or is too large"
                )
            })
        }

        fn compile(pattern: &str) -> Option<Self> {
            let written = jsonschema_regex::to_rust_regex(pattern).ok()?;
            let linear = regex::RegexBuilder::new(&written)
                .size_limit(PATTERN_BYTES)
                .dfa_size_limit(CACHE_BYTES)
                .build();
            if let Ok(compiled) = linear {
                return Some(Self::Linear(Box::new(compiled), states_of(pattern)));
            }
            let mut builder = fancy_regex::RegexBuilder::new(&written);
            builder
                .backtrack_limit(BACKTRACKS)
                .delegate_size_limit(PATTERN_BYTES)
                .delegate_dfa_size_limit(CACHE_BYTES);
            builder
                .build()
                .ok()
                .map(|compiled| Self::Backtracking(Box::new(compiled)))
        }

        /// Returns true if the pattern matches a part of the text. If the engine panics, it has no
        /// verdict, and the text is refused.
        pub(crate) fn is_match(&self, text: &str) -> bool {
            let matches = || match self {
                Self::Linear(pattern, _) => pattern.is_match(text),
                Self::Backtracking(pattern) => pattern.is_match(text).unwrap_or(false),
            };
            catch_unwind(AssertUnwindSafe(matches)).unwrap_or(false)
        }

        /// Returns the steps that a match with a text of so many bytes takes.
        pub(crate) fn cost(&self, bytes: usize) -> usize {
            match self {
                Self::Linear(_, states) => 10 + bytes.saturating_mul(*states) / 8,
                Self::Backtracking(_) => 2 * BACKTRACKS + bytes / 8,
            }
        }

        /// Returns the number of its states that count against those of a schema.
        pub(crate) fn states(&self) -> usize {
            if let Self::Linear(_, states) = self {
                *states
            } else {
                1
            }
        }
    }

    /// Estimates the states of a pattern: its characters, with repetitions written out.
    fn states_of(pattern: &str) -> usize {
        let parse = |unicode| {
            ParserBuilder::new()
                .unicode(unicode)
                .utf8(false)
                .build()
                .parse(pattern)
                .ok()
        };
        parse(false)
            .or_else(|| parse(true))
            .map_or(1_000, |parsed| states(&parsed))
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
            HirKind::Concat(parts) | HirKind::Alternation(parts) => {
                parts.iter().map(states).fold(1, usize::saturating_add)
            }
        }
    }

    /// Returns a string of about `most` bytes at most that the pattern matches, with the fewest
    /// repetitions, but one rather than none. It is best effort: assertions other than `^` and `$`
    /// may refuse it. Returns `None` for a pattern that the crate `regex` does not know.
    pub(crate) fn sample(pattern: &str, most: usize) -> Option<String> {
        sample_of(&regex_syntax::parse(pattern).ok()?, most)
    }

    fn sample_of(pattern: &Hir, most: usize) -> Option<String> {
        Some(match pattern.kind() {
            HirKind::Empty | HirKind::Look(_) => String::new(),
            HirKind::Literal(literal) => String::from_utf8(literal.0.to_vec()).ok()?,
            HirKind::Class(Class::Unicode(class)) => {
                let has = |letter: &char| {
                    class
                        .iter()
                        .any(|range| (range.start()..=range.end()).contains(letter))
                };
                let plain = ['a', '1', 'A', ' '].into_iter().find(has);
                plain
                    .or_else(|| class.iter().next().map(ClassUnicodeRange::start))?
                    .to_string()
            }
            HirKind::Class(Class::Bytes(_)) => return None,
            HirKind::Repetition(repetition) => {
                let count = if repetition.max == Some(0) {
                    0
                } else {
                    repetition.min.max(1) as usize
                };
                let once = sample_of(&repetition.sub, most)?;
                (once.len().saturating_mul(count) <= most).then(|| once.repeat(count))?
            }
            HirKind::Capture(capture) => sample_of(&capture.sub, most)?,
            HirKind::Concat(parts) => parts
                .iter()
                .map(|part| sample_of(part, most))
                .collect::<Option<_>>()?,
            HirKind::Alternation(branches) => sample_of(branches.first()?, most)?,
        })
    }
}

/// Without the feature `patterns`, a schema with a pattern is refused: what is published is
/// enforced.
#[cfg(not(feature = "patterns"))]
mod without_engine {
    use serde_json::Value;

    /// A compiled pattern. There is none.
    pub(crate) enum Pattern {}

    impl Pattern {
        pub(crate) fn new(pattern: &str) -> Result<Self, String> {
            let shown = Value::from(pattern);
            Err(format!(
                "the pattern {shown} cannot be checked; enable the feature `patterns` of `tool-core`"
            ))
        }

        pub(crate) fn is_match(&self, _: &str) -> bool {
            match *self {}
        }

        pub(crate) fn cost(&self, _: usize) -> usize {
            match *self {}
        }

        pub(crate) fn states(&self) -> usize {
            match *self {}
        }
    }

    pub(crate) fn sample(_: &str, _: usize) -> Option<String> {
        None
    }
}
