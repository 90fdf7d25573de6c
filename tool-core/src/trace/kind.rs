//! What a span stands for, and how it ended.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a span stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SpanKind {
    /// An agent at work.
    Agent,
    /// A call of a tool.
    Tool,
    /// A question to a model.
    Llm,
    /// A part of the work that somebody gave a name.
    Section,
    /// An HTTP request.
    Http,
}

impl SpanKind {
    /// Its name, as in `tool:search`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Tool => "tool",
            Self::Llm => "llm",
            Self::Section => "section",
            Self::Http => "http",
        }
    }

    /// Whose cost is whose: spans of rank 1 come first. S6
    pub(crate) const fn rank(self) -> u8 {
        match self {
            Self::Agent | Self::Tool | Self::Llm => 1,
            Self::Section => 2,
            Self::Http => 3,
        }
    }
}

impl fmt::Display for SpanKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a span ended. S1
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SpanStatus {
    /// As it should.
    #[default]
    Ok,
    /// With an error.
    Error,
    /// With a panic.
    Panicked,
    /// Its future was dropped before it was done.
    Cancelled,
}

impl SpanStatus {
    /// Its name in lower case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Panicked => "panicked",
            Self::Cancelled => "cancelled",
        }
    }
}
