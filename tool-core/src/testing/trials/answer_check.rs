//! The checks of an answer.

use crate::testing::trials::expected_calls::SHOWN;
use crate::text::{escape_invisible, of_panic, truncate};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The verdict of a [check](crate::testing::Trial::check) of an answer: from a `bool`, from a `Result` whose
/// error says what is wrong, or from `()` if the check panics at what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckVerdict(Result<(), Option<String>>);

impl From<()> for CheckVerdict {
    fn from((): ()) -> Self {
        Self(Ok(()))
    }
}

impl From<bool> for CheckVerdict {
    fn from(is_right: bool) -> Self {
        Self(if is_right { Ok(()) } else { Err(None) })
    }
}

impl<E: Display> From<Result<(), E>> for CheckVerdict {
    fn from(verdict: Result<(), E>) -> Self {
        Self(verdict.map_err(|error| Some(error.to_string())))
    }
}

/// A check of the text of an answer.
#[derive(Clone)]
pub(crate) struct AnswerCheck {
    expectation: String,
    check: Arc<dyn Fn(&str) -> CheckVerdict + Send + Sync>,
}

impl AnswerCheck {
    pub(crate) fn new<V: Into<CheckVerdict>>(
        expectation: String,
        check: impl Fn(&str) -> V + Send + Sync + 'static,
    ) -> Self {
        Self {
            expectation,
            check: Arc::new(move |answer| check(answer).into()),
        }
    }

    /// Returns the problem of an answer.
    pub(crate) fn problem(&self, answer: &str) -> Option<String> {
        let check = AssertUnwindSafe(|| (self.check)(answer));
        let reason = match catch_unwind(check) {
            Ok(CheckVerdict(Ok(()))) => return None,
            Ok(CheckVerdict(Err(reason))) => reason,
            Err(panic) => Some(of_panic(panic)),
        };
        let expectation = escape_invisible(&self.expectation);
        let reason = reason.map_or_else(String::new, |reason| format!(": {}", shown(&reason)));
        let answer = shown(answer);
        Some(format!(
            "the answer fails the check \"{expectation}\"{reason}; the answer: \"{answer}\""
        ))
    }
}

/// Returns the beginning of a text of a model or of a check, for a person.
pub(crate) fn shown(text: &str) -> String {
    escape_invisible(&truncate(text.trim(), SHOWN))
}
