//! The arguments that a trial expects of a call.

use crate::json::canonical::canonical;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// The arguments that a [`Trial`](crate::testing::Trial) expects of a call.
///
/// A JSON object names some of the arguments: each has to be equal, and the model may give others.
/// Use [`exactly`](Self::exactly) if it must not, and [`by`](Self::by) for anything else.
///
/// Arguments are compared as the tool receives them: with the defaults of the parameters, with
/// mistakes corrected that can be fixed without losing anything, and with `1` equal to `1.0`. A
/// `null` means that the argument is absent or null.
///
/// ```
/// use tool_core::serde_json::json;
/// use tool_core::testing::{ArgumentMatch, Trial};
///
/// let trial = Trial::new("books a room", "Book room 4 for Friday")
///     .must_call("find_rooms", ArgumentMatch::any())
///     .must_call("book_room", json!({"room": 4}))
///     .must_call("send_mail", ArgumentMatch::by("a mail to Ada", |mail| mail["to"] == "ada@example.com"));
/// # let _ = trial;
/// ```
#[derive(Clone, Debug)]
pub struct ArgumentMatch(Rule);

#[derive(Clone)]
enum Rule {
    Any,
    /// These members, and any others.
    Members(Value),
    Exactly(Value),
    By {
        expectation: String,
        accepts: Arc<dyn Fn(&Value) -> bool + Send + Sync>,
    },
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Members(value) => write!(f, "{value}"),
            Self::Exactly(value) => write!(f, "exactly {value}"),
            Self::By { expectation, .. } => f.write_str(expectation),
        }
    }
}

impl ArgumentMatch {
    /// Accepts any arguments.
    pub fn any() -> Self {
        Self(Rule::Any)
    }

    /// Accepts these arguments and no others, after the defaults are filled in.
    ///
    /// ```
    /// use tool_core::serde_json::json;
    /// use tool_core::testing::ArgumentMatch;
    ///
    /// let only_the_room = ArgumentMatch::exactly(json!({"room": 4}));
    /// # let _ = only_the_room;
    /// ```
    pub fn exactly(arguments: impl Into<Value>) -> Self {
        Self(Rule::Exactly(arguments.into()))
    }

    /// Accepts arguments for which a function returns true. The text says what is expected, and is
    /// shown if no call has it.
    pub fn by(
        expectation: impl Into<String>,
        accepts: impl Fn(&Value) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self(Rule::By {
            expectation: expectation.into(),
            accepts: Arc::new(accepts),
        })
    }

    /// Returns true if any arguments are accepted.
    pub(crate) fn is_any(&self) -> bool {
        match &self.0 {
            Rule::Any => true,
            Rule::Members(Value::Object(members)) => members.is_empty(),
            _ => false,
        }
    }

    /// Returns the JSON that the test names.
    pub(crate) fn named(&self) -> Option<&Value> {
        match &self.0 {
            Rule::Members(value) | Rule::Exactly(value) => Some(value),
            Rule::Any | Rule::By { .. } => None,
        }
    }

    /// Returns true if the arguments of a call are accepted. `fill` writes arguments as the tool
    /// receives them.
    pub(crate) fn accepts(&self, arguments: &Value, fill: impl Fn(&Value) -> Value) -> bool {
        match &self.0 {
            Rule::Any => true,
            Rule::Members(wanted) => has_members(wanted, arguments),
            Rule::Exactly(wanted) => canonical(&fill(wanted)) == canonical(arguments),
            Rule::By { accepts, .. } => accepts(arguments),
        }
    }
}

impl From<Value> for ArgumentMatch {
    fn from(arguments: Value) -> Self {
        Self(Rule::Members(arguments))
    }
}

impl fmt::Display for ArgumentMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Rule::Any => f.write_str("any arguments"),
            Rule::Members(value) => f.write_str(&canonical(value)),
            Rule::Exactly(value) => write!(f, "exactly {}", canonical(value)),
            Rule::By { expectation, .. } => f.write_str(expectation),
        }
    }
}

/// Returns true if a value has all that a test names of it. Arrays have the same length. The
/// recursion is bounded by the depth of what the test has written.
fn has_members(wanted: &Value, actual: &Value) -> bool {
    match (wanted, actual) {
        (Value::Object(wanted), Value::Object(actual)) => wanted.iter().all(|(name, wanted)| {
            actual
                .get(name)
                .map_or(wanted.is_null(), |actual| has_members(wanted, actual))
        }),
        (Value::Array(wanted), Value::Array(actual)) => {
            let mut pairs = wanted.iter().zip(actual);
            wanted.len() == actual.len()
                && pairs.all(|(wanted, actual)| has_members(wanted, actual))
        }
        _ => canonical(wanted) == canonical(actual),
    }
}
