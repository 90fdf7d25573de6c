//! Parts that `tool-adapters` shares with this crate. Not public: they change without notice.

pub use crate::session::metrics::prometheus::PrometheusText;

use crate::call::error::{ErrorKind, ToolError};

#[cfg(feature = "agents")]
pub use crate::agents::{agent_error, open_text, seal_text};

/// The error of a model whose caller is gone.
pub fn cancelled(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::Cancelled, message, false)
}
