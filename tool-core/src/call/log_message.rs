//! The log messages of running tools, and their levels.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// The level of a log message, by RFC 5424. A higher one is more severe.
///
/// ```
/// use tool_core::call::LogLevel;
///
/// assert!(LogLevel::Warning > LogLevel::Info);
/// assert_eq!(LogLevel::Emergency.to_string(), "emergency");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// Details for debugging.
    Debug,
    /// The normal course of the work.
    Info,
    /// A normal event that matters.
    Notice,
    /// Something that may become an error.
    Warning,
    /// Something failed.
    Error,
    /// A part of the program failed.
    Critical,
    /// A person must act at once.
    Alert,
    /// The program cannot be used.
    Emergency,
}

impl LogLevel {
    /// Returns the name in lower case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    pub(crate) const fn of_tracing(self) -> tracing::Level {
        match self {
            Self::Debug => tracing::Level::DEBUG,
            Self::Info | Self::Notice => tracing::Level::INFO,
            Self::Warning => tracing::Level::WARN,
            _ => tracing::Level::ERROR,
        }
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A log message of a running tool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LogMessage {
    /// The session's id; empty outside a session.
    pub session: String,
    /// The id of the call, which the model gave; empty if it has none.
    pub call_id: String,
    /// The name of the tool.
    pub tool: String,
    /// The level.
    pub level: LogLevel,
    /// The name that the tool gave the logger.
    pub logger: String,
    /// The data, redacted. Data of more than 16,384 characters of JSON are the text of their
    /// beginning.
    pub data: Value,
}
