//! What is being checked, which decides how much of it a problem may show.

use super::words;
use serde_json::Value;

/// What is being checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The arguments of a call, which go back to the model that sent them.
    Arguments,
    /// Settings, which end up in logs: of texts only kind and length are shown.
    Settings,
    /// Secrets: only kinds are.
    Secrets,
}

impl Subject {
    /// What its schema is called.
    pub(crate) fn schema(self) -> &'static str {
        match self {
            Self::Arguments => "the tool's schema",
            Self::Settings => "the schema of the settings",
            Self::Secrets => "the schema of the secrets",
        }
    }

    /// What a top-level property is called.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Arguments => "parameter",
            Self::Settings => "setting",
            Self::Secrets => "secret",
        }
    }

    /// A value, as far as it may be shown.
    pub(crate) fn value(self, value: &Value) -> String {
        match (self, value) {
            (Self::Arguments, _) | (_, Value::Null) | (Self::Settings, Value::Bool(_) | Value::Number(_)) => {
                words::value(value)
            }
            (Self::Settings, Value::String(text)) => {
                format!("a text of {}", words::counted(count(text.chars().count()), "character"))
            }
            (Self::Settings, Value::Array(items)) => {
                format!("an array of {}", words::counted(count(items.len()), "item"))
            }
            (_, Value::String(_)) => "a text".to_owned(),
            (_, Value::Bool(_)) => "a boolean".to_owned(),
            (_, Value::Number(_)) => "a number".to_owned(),
            (_, Value::Array(_)) => "an array".to_owned(),
            (_, Value::Object(_)) => "an object".to_owned(),
        }
    }

    /// How much of something there is, or which side of the limit that is.
    pub(super) fn counted(self, value: &Value, noun: &str, limit: u64) -> String {
        let found = match value {
            Value::String(text) => text.chars().count(),
            Value::Array(items) => items.len(),
            _ => 0,
        };
        match self {
            Self::Secrets => if count(found) < limit { "fewer" } else { "more" }.to_owned(),
            Self::Arguments | Self::Settings => words::counted(count(found), noun),
        }
    }

    /// Whether a hint may tell which allowed value comes near to what is there.
    pub(super) fn may_guess(self) -> bool {
        self != Self::Secrets
    }
}

fn count(found: usize) -> u64 {
    u64::try_from(found).unwrap_or(u64::MAX)
}
