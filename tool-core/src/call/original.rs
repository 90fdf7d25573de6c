//! Results and declarations in the form in which another server has sent them, for a server that
//! passes them on.

use crate::call::truncation::{SizeUnit, Truncated};
use std::fmt;
use std::sync::Arc;

/// A result as its server has sent it, as JSON.
///
/// It says more than the data and the parts of an output, which are what a model reads of it. The
/// protocol of its server decides how it is shortened.
#[doc(hidden)]
#[derive(Clone)]
pub struct Original {
    text: Arc<str>,
    shorten: Shorten,
}

/// Shortens a result to a limit. Returns `None` if it fits.
#[doc(hidden)]
pub type Shorten = fn(&str, &Truncated) -> Option<String>;

impl Original {
    /// Creates a result.
    pub fn new(text: impl Into<Arc<str>>, shorten: Shorten) -> Self {
        Self {
            text: text.into(),
            shorten,
        }
    }

    /// Creates a result that was shortened before.
    pub(crate) fn stored(text: impl Into<Arc<str>>) -> Self {
        Self::new(text, |_, _| None)
    }

    /// Returns the JSON.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Shortens the result to the limits of its tool.
    pub(crate) fn shorten(&mut self, characters: Option<usize>, bytes: usize) {
        let limits = [
            characters.map(|limit| Truncated {
                limit,
                unit: SizeUnit::Characters,
                total: None,
            }),
            Some(Truncated {
                limit: bytes,
                unit: SizeUnit::Bytes,
                total: None,
            }),
        ];
        for limit in limits.into_iter().flatten() {
            // Whatever has so few bytes fits.
            if self.text.len() > limit.limit
                && let Some(shorter) = (self.shorten)(&self.text, &limit)
            {
                self.text = shorter.into();
            }
        }
    }
}

impl fmt::Debug for Original {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Original {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// A part of an answer as its server has sent the answer: a message of a prompt, or contents of a
/// resource.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct OriginalPart {
    /// The whole answer, as JSON.
    pub answer: Arc<str>,
    /// The position of the part.
    pub at: usize,
    /// The number of parts of the answer.
    pub of: usize,
    /// The bytes of the part beside its text or its data.
    pub further_bytes: usize,
}
