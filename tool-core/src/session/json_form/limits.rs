//! Limits of a stored conversation.

/// Limits of a conversation that is read from JSON.
///
/// ```
/// use tool_core::session::{History, HistoryLimits};
///
/// let limits = HistoryLimits::default().bytes(1 << 20).messages(2_000);
/// let history = History::from_json_within(r#"{"version": 1, "messages": []}"#, limits)?;
/// assert!(history.messages().is_empty());
/// # Ok::<(), tool_core::session::HistoryError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct HistoryLimits {
    pub(crate) bytes: usize,
    pub(crate) values: usize,
    pub(crate) messages: usize,
    pub(crate) parts: usize,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self {
            bytes: 256 << 20,
            values: 4_000_000,
            messages: 100_000,
            parts: 1_000,
        }
    }
}

impl HistoryLimits {
    /// Sets the maximum number of bytes of the text. Defaults to 256 MB.
    pub fn bytes(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }

    /// Sets the maximum number of JSON values in the text, which decides the memory that they take.
    /// Defaults to 4,000,000.
    pub fn values(self, values: usize) -> Self {
        Self { values, ..self }
    }

    /// Sets the maximum number of messages. Defaults to 100,000.
    pub fn messages(self, messages: usize) -> Self {
        Self { messages, ..self }
    }

    /// Sets the maximum number of parts of a user's message. Defaults to 1,000.
    pub fn parts(self, parts: usize) -> Self {
        Self { parts, ..self }
    }
}
