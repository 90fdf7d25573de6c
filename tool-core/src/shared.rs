//! Parts that `tool-adapters` shares with this crate. Not public: they change without notice.

pub use crate::schema::walk::{LIST, NAMED, ONE, child, is_annotation, is_schema, percent_decoded};
pub use crate::session::metrics::prometheus::PrometheusText;
pub use crate::text::hex;

use crate::call::error::{ErrorKind, ToolError};

#[cfg(feature = "agents")]
pub use crate::agents::{agent_error, open_text, seal_text};

/// The error of a model whose caller is gone.
pub fn cancelled(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::Cancelled, message, false)
}
