//! Completion: values that a client offers to a person who types the argument of a prompt or the
//! variable of a URI.

use crate::call::error::ToolError;
use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use std::future::ready;

/// Texts by name: the arguments of a prompt, or the variables of a URI template.
pub type TextArguments = BTreeMap<String, String>;

/// A request to complete an argument of a prompt, or a variable of a resource's URI template.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompletionRequest {
    /// The name of the argument or variable.
    pub argument: String,
    /// The text that was typed so far; may be empty.
    pub value: String,
    /// The arguments or variables that have values already.
    pub context: TextArguments,
}

impl CompletionRequest {
    /// Creates a request without other arguments.
    pub fn new(argument: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            argument: argument.into(),
            value: value.into(),
            context: TextArguments::new(),
        }
    }

    /// Sets the arguments or variables that have values already.
    #[must_use]
    pub fn context(mut self, context: TextArguments) -> Self {
        self.context = context;
        self
    }

    /// Returns all values so far, with that of the argument.
    pub(crate) fn values(&self) -> TextArguments {
        let mut values = self.context.clone();
        values.insert(self.argument.clone(), self.value.clone());
        values
    }
}

/// The prompt or resource whose argument is completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompletionTarget {
    /// A prompt, by its name.
    Prompt(String),
    /// A resource, by its URI template.
    Resource(String),
}

/// The values for an argument, the best first.
///
/// ```
/// use tool_core::tool::Completion;
///
/// let cities = ["Berlin", "Bern", "Basel"];
/// assert_eq!(Completion::matching("ber", cities).values, ["Berlin", "Bern"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Completion {
    /// The values. A client gets the first [`MAX_VALUES`](Self::MAX_VALUES).
    pub values: Vec<String>,
    /// The number of values that match, where it is known.
    pub total: Option<u64>,
    /// True where there are more values than these.
    pub has_more: bool,
}

impl Completion {
    /// The maximum number of values in an answer to a client.
    pub const MAX_VALUES: usize = 100;

    /// Creates a completion of all these values.
    pub fn new<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        let values = values.into_iter().map(Into::into).collect::<Vec<_>>();
        Self {
            total: Some(values.len() as u64),
            values,
            has_more: false,
        }
    }

    /// Creates a completion of the values that begin with `prefix` in any letter case.
    pub fn matching<T: Into<String>>(prefix: &str, values: impl IntoIterator<Item = T>) -> Self {
        let prefix = prefix.to_lowercase();
        let values = values.into_iter().map(Into::into);
        Self::new(values.filter(|value: &String| value.to_lowercase().starts_with(&prefix)))
    }

    /// Sets the number of values that match, and whether there are more than these.
    #[must_use]
    pub fn of_total(mut self, total: Option<u64>, has_more: bool) -> Self {
        (self.total, self.has_more) = (total, has_more);
        self
    }

    /// Leaves out values. The number of those that match is unknown then.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        let before = self.values.len();
        self.values.retain(|value| keep(value));
        if self.values.len() < before {
            self.total = None;
        }
    }

    /// Cuts the values to the number that a client gets.
    pub(crate) fn bounded(mut self) -> Self {
        if self.values.len() > Self::MAX_VALUES {
            self.total = self.total.max(Some(self.values.len() as u64));
            self.values.truncate(Self::MAX_VALUES);
            self.has_more = true;
        }
        self
    }

    /// Returns the number of bytes of the values.
    pub(crate) fn bytes(&self) -> usize {
        self.values.iter().map(String::len).sum()
    }
}

impl<T: Into<String>, const N: usize> From<[T; N]> for Completion {
    fn from(values: [T; N]) -> Self {
        Self::new(values)
    }
}

impl<T: Into<String>> From<Vec<T>> for Completion {
    fn from(values: Vec<T>) -> Self {
        Self::new(values)
    }
}

/// The completion of an argument that has none.
pub(crate) fn no_completion<'a>() -> BoxFuture<'a, Result<Completion, ToolError>> {
    Box::pin(ready(Ok(Completion::default())))
}
